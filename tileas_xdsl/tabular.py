"""
Results that are tables: the same rows for a notebook, for pandas (where it is installed) and as plain data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from tileas_xdsl.diagnostics import Error

Row = Mapping[str, Any]


class MissingPackageError(Error):
    """A package that only some users need is not installed."""


class Tabular:
    """A result with `rows`, all with the same columns."""

    def rows(self) -> Sequence[Row]:
        """The rows of the table: columns by name."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data, which `json` writes."""
        return {"rows": [dict(row) for row in self.rows()]}

    def to_frame(self) -> Any:
        """The rows as a `pandas.DataFrame`. Raises `MissingPackageError` where there is no pandas."""
        try:
            import pandas  # pyright: ignore
        except ImportError:
            raise MissingPackageError("to_frame needs pandas, which is not installed: pip install pandas") from None
        rows = self.rows()
        return pandas.DataFrame(list(rows), columns=list(rows[0]) if rows else None)  # pyright: ignore

    def _repr_html_(self) -> str:
        return f"<b>{escape(repr(self))}</b>{table_html(self.rows())}"


def table_html(rows: Sequence[Row]) -> str:
    """A table of HTML; empty for no rows."""
    if not rows:
        return ""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_written(value))}</td>" for value in row.values()) + "</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _written(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if type(value) is int else str(value)
