"""
IR as lines of text that know their ops, and what two listings have in common.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from io import StringIO

from xdsl.ir import Operation
from xdsl.printer import Printer

KEPT, ADDED, REMOVED = "kept", "added", "removed"
"""What became of a line from one listing to the other."""

MOST_COMPARED = 3000
"""Lines up to which two listings are compared exactly; of longer ones, lines that are frequent count less."""


@dataclass(frozen=True)
class Listing:
    """A module as text: its lines, and on which of them each op begins (from 0)."""

    lines: tuple[str, ...]
    line_of: Mapping[Operation, int]


@dataclass(frozen=True)
class ComparedLine:
    """One line of a comparison; `number` counts the lines of the later listing, and is None for a removed line."""

    change: str
    text: str
    number: int | None


class _NotingPrinter(Printer):
    """A printer that notes where in the text each op begins."""

    def __init__(self, stream: StringIO) -> None:
        super().__init__(stream)
        self.written = stream
        self.start_of: dict[Operation, int] = {}

    def print_op(self, op: Operation) -> None:
        self.start_of[op] = self.written.tell()
        super().print_op(op)


def listed(module: Operation) -> Listing:
    """`module` as text, as `xdsl-opt` prints it. Linear in its ops."""
    stream = StringIO()
    printer = _NotingPrinter(stream)
    printer.print_op(module)
    text = stream.getvalue()
    line_of: dict[Operation, int] = {}
    line = position = 0
    for op, start in printer.start_of.items():  # in the order of the text
        line += text.count("\n", position, start)
        line_of[op] = line
        position = start
    return Listing(tuple(text.splitlines()), line_of)


def compared(before: Sequence[str], after: Sequence[str]) -> list[ComparedLine]:
    """The lines of both listings, in order. A line that moved counts as removed and added."""
    lines: list[ComparedLine] = []
    quick = max(len(before), len(after)) > MOST_COMPARED
    matcher = SequenceMatcher(None, list(before), list(after), autojunk=quick)
    for _, first, last, start, end in matcher.get_opcodes():
        if before[first:last] == after[start:end]:
            lines += [ComparedLine(KEPT, after[k], k) for k in range(start, end)]
            continue
        lines += [ComparedLine(REMOVED, text, None) for text in before[first:last]]
        lines += [ComparedLine(ADDED, after[k], k) for k in range(start, end)]
    return lines
