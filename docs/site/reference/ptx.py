"""Reference of the instructions of PTX that are read: the table of the reader, row by row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from docs.site.reference.docstrings import cell
from tileas_xdsl.readers.ptx.instructions.computing import ONLY_COMPUTES
from tileas_xdsl.readers.ptx.instructions.rows import Row
from tileas_xdsl.readers.ptx.lowering import BRANCHES, HARMLESS_CALLS, TABLE

MOST_ALIKE = 8


def codes(words: Sequence[str]) -> str:
    """Words as code, one behind the other."""
    return ", ".join(f"`{word}`" for word in words)


HEAD = f"""\
# Instructions of PTX

What each instruction becomes where it matters to a check. Modifiers come in any order. [Check any kernel](../ptx.md)
says what is done with them.

- {codes(BRANCHES)} become branches: to a label, to one of several, to the end.
- Calls of {codes(HARMLESS_CALLS)} are left out; others are refused.
- Others of these opcodes only compute, and give unknown numbers: {codes(sorted(ONLY_COMPUTES))}.
- Every other one is refused, by its name, its first line, and how often it occurs.
"""


def ptx_page() -> str:
    """The table, in the order of the alphabet."""
    head = ["| instruction | modifiers | becomes |", "|---|---|---|"]
    rows = sorted(TABLE.rows, key=lambda row: (row.opcode, row.needs))
    return "\n".join([HEAD, *head, *map(line, rows)]) + "\n"


def line(row: Row) -> str:
    """One row of the table."""
    modifiers = " ".join(listed(row.modifiers.split()))
    words = [f"`{word}`" if "." in word else word for word in row.what.split(", ")]
    return f"| `{row.opcode}` | {cell(modifiers)} | {cell(', '.join(words))} |"


def listed(modifiers: Sequence[str]) -> Iterator[str]:
    """Modifiers; of those that differ in their numbers only, as shapes do, the first and the last."""
    for _, group in groupby(modifiers, lambda word: re.sub(r"\d+", "0", word)):
        alike = [f"`.{word}`" for word in group]
        yield from alike if len(alike) <= MOST_ALIKE else (alike[0], "to", alike[-1])
