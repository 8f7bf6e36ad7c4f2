"""The ops of `cuda_tile`, made of the rows of `table.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.ir import Operation

from tileas_xdsl.dialects.cuda_tile.base import TileIROp, op_of
from tileas_xdsl.dialects.cuda_tile.custom import CUSTOM, TERMINATORS
from tileas_xdsl.dialects.cuda_tile.forms import parse_op, print_op
from tileas_xdsl.dialects.cuda_tile.rows import Row
from tileas_xdsl.dialects.cuda_tile.table import ROWS
from tileas_xdsl.dialects.cuda_tile.verifiers import verifier_of


def _class_of(row: Row) -> type[TileIROp]:
    written = CUSTOM.get(row.name, (parse_op, print_op) if row.form else None)
    return op_of(row, verifier_of(row), written)


OPS: Mapping[str, type[TileIROp]] = {row.name: _class_of(row) for row in ROWS}
"""Name without the dialect -> class."""


def _implied(name: str) -> Callable[[], Operation]:
    return lambda: OPS[name].create()


TERMINATORS.update({"for": _implied("continue"), "loop": _implied("continue"), "if": _implied("yield")})
TERMINATORS["entry"] = _implied("return")
TERMINATORS.update({"reduce": _implied("yield"), "scan": _implied("yield")})
