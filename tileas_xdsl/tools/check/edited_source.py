"""
An edit as lines of the file that was read: what stands there, and what is to stand there instead.

    before    nvvm.cp.async.wait.group 2
    after     nvvm.cp.async.wait.group 1

What is written is read again, and has to be the program that was checked: else there is no edit to show. For PTX see
`edited_ptx`, for Python `edited_python`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from io import StringIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.printer import Printer

from tileas_xdsl.checker.verdict.edits import Edit, Edited, Side
from tileas_xdsl.checker.verdict.mistakes import SourceEdit
from tileas_xdsl.checker.verdict.repairing import Check, Lines, attempts_in, repair
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.diagnostics import op_name, place_in
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.tools.machine_input import Input
from tileas_xdsl.tools.rendering import Source

MOST_LINES = 12
"""How many lines an edit may span: an op that is moved further is hard to follow."""
NAME = re.compile(r"%[\w$.-]+")
NAMED = re.compile(r"\s*(%[\w$.-]+) = ")
RESULTS = re.compile(r"\s*(%[\w:, %]+ = )?")


def edit_of_source(given: Input, report: Report, check: Check, fixed: Mapping[str, int]) -> SourceEdit | None:
    """
    What repairs the only mistake that `report` shows of a program that is written as IR; None if no edit was found.
    `check` checks a module as the report was made, with the arguments `fixed`.
    """
    if not any(is_written_in(given.source, party.op) for party in report.findings[0].violation.parties):
        return None
    attempts = attempts_in(given.module, report, partial(written, given.source))
    return repair(report, attempts, check, fixed)


def is_written_in(source: Source, op: Operation) -> bool:
    """Whether `source` is IR, and says `op`."""
    return _first_line_of(source, op) is not None


def written(source: Source, edit: Edit, changed: Edited) -> Lines | None:
    """The lines of `source` that `edit` changes, if with them it is the program that `changed` is."""
    lines = source.text.split("\n")
    gone = edit.moved or ((edit.at,) if edit.side is Side.INSTEAD else ())
    taken = [(_first_line_of if edit.correct else _line_of)(source, op) for op in gone]
    gap = taken[0] if edit.side is Side.INSTEAD else _gap(source, edit.at, edit.side)
    if gap is None or None in taken:
        return None
    numbers = [number for number in taken if number is not None]
    start, end = min([gap, *numbers]), max([gap, *(number + 1 for number in numbers)])
    if end - start > MOST_LINES:
        return None
    margin = _margin(lines, gap, edit.side)
    new = [lines[number].strip() for number in numbers] if edit.moved else _printed(changed.added, source)
    if edit.correct is not None:
        # Of an op with regions only the line changes on which it begins.
        new = new[:1]
    kept = [(number, lines[number]) for number in range(start, end) if number not in numbers]
    after = [line for number, line in kept if number < gap]
    after += [margin + line for line in new]
    after += [line for number, line in kept if number >= gap]
    text = "\n".join([*lines[:start], *after, *lines[end:]])
    return (start + 1, tuple(lines[start:end]), tuple(after)) if _is(text, source, changed.module) else None


def _line_of(source: Source, op: Operation) -> int | None:
    """The line, counted from 0, that holds `op`, which has no regions, and no other op."""
    line = _first_line_of(source, op)
    return None if op.regions else line


def _first_line_of(source: Source, op: Operation) -> int | None:
    """The line, counted from 0, that begins with `op`; None if none does in this file."""
    place = place_in(op.location)
    if place is None or place.filename.data != source.name:
        return None
    number, lines = place.line.data - 1, source.text.split("\n")
    if not 0 <= number < len(lines):
        return None
    begins = RESULTS.match(lines[number])
    rest = lines[number][begins.end() if begins is not None else 0 :]
    return number if rest.lstrip('"').startswith(op_name(op)) else None


def _gap(source: Source, at: Operation, side: Side) -> int | None:
    """The line, counted from 0, in front of which something stands before or after `at`."""
    if side is Side.BEFORE:
        line = _first_line_of(source, at)
        if line is not None:
            return line
        # A terminator that nobody has written stands behind the last op.
        return None if at.next_op is not None or at.prev_op is None else _gap(source, at.prev_op, Side.AFTER)
    line = _line_of(source, at)
    if line is not None:
        return line + 1
    return None if at.next_op is None else _first_line_of(source, at.next_op)


def _margin(lines: Sequence[str], gap: int, side: Side) -> str:
    """The blanks in front of a line at `gap`."""
    like = lines[gap - 1] if side is Side.AFTER and gap > 0 else lines[gap]
    if side is Side.AFTER and like.strip().startswith("}") and gap < len(lines):
        like = lines[gap]
    return like[: len(like) - len(like.lstrip())]


def _printed(ops: Sequence[Operation], source: Source) -> list[str]:
    """The `ops` as text, their operands under the names that they have in `source`."""
    stream = StringIO()
    printer = Printer(stream)
    names = {f"%{printer.print_ssa_value(value)}": _name_of(value, source) for op in ops for value in op.operands}
    start = stream.tell()
    for op in ops:
        printer.print_op(op)
        stream.write("\n")
    return NAME.sub(lambda found: names.get(found[0]) or found[0], stream.getvalue()[start:]).splitlines()


def _name_of(value: SSAValue, source: Source) -> str | None:
    """The name of `value` where it is made, if an op has no other result: the IR keeps names without their numbers."""
    line = _first_line_of(source, value.owner) if isinstance(value.owner, Operation) else None
    named = NAMED.match(source.text.split("\n")[line]) if line is not None else None
    return named[1] if named is not None else None


def _is(text: str, source: Source, module: ModuleOp) -> bool:
    """Whether `text` is the program `module`."""
    try:
        return parse_module(text, source.name, full_context()).is_structurally_equivalent(module)
    except InputError:
        return False
