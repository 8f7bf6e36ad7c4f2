"""
Edits of the text of PTX that was checked: the text is read again with an edit, and the kernel that it holds then is
the one that is checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tileas_xdsl.checker.verdict.mistakes import SourceEdit
from tileas_xdsl.checker.verdict.repairing import Attempt, Check, Effort, repair
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.diagnostics import place_in
from tileas_xdsl.machine.core.trace import Happening
from tileas_xdsl.readers.ptx.parser import parse
from tileas_xdsl.readers.ptx.reading import Locations
from tileas_xdsl.readers.ptx.syntax import Function, Instruction
from tileas_xdsl.tools.check.edited_python import with_lines
from tileas_xdsl.tools.check.ptx_edits import Case, Span, edits
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.rendering import Source

MOST_EDITS = 40
"""How many edits are tried: for each the text is read."""
EFFORT = Effort(least=800_000, one_call=50_000)

Reader = Callable[[str], ModuleOp]
"""The module of a text of PTX, of which all else is known. Raises `InputError`."""


def edit_of_ptx(
    source: Source, report: Report, read: Reader, check: Check, fixed: Mapping[str, int]
) -> SourceEdit | None:
    """
    What repairs the only mistake that `report` shows of the PTX `source`; None if no edit was found. `check` checks a
    module as the report was made, with the arguments `fixed`. The edit names the file of the PTX if the report names
    another one, from which it was compiled.
    """
    edit = repair(report, _attempts(source, report, read), check, fixed, EFFORT)
    if edit is None:
        return None
    first = place_in(report.mistakes[0].first.violation.parties[0].op.location)
    is_told_here = first is not None and first.filename.data == source.name
    return edit if is_told_here or not Path(source.name).is_file() else replace(edit, file=source.name)


def _attempts(source: Source, report: Report, read: Reader) -> Iterator[Attempt]:
    """Changes of the text that may repair the first mistake of `report`."""
    first, also = report.mistakes[0].first, report.mistakes[0].also
    module = parse(source.text)
    kernel = next((each for each in module.kernels if each.name == first.function), None)
    if kernel is None or not kernel.body:
        return
    lines = _Lines(kernel, Locations(source.name, module.files))
    steps = first.witness.steps if first.witness is not None else ()
    about = [step.op for step in steps if isinstance(step, Happening)]
    about += [party.op for finding in also for party in finding.violation.parties]
    parties = lines.of(party.op for party in first.violation.parties)
    case = Case(source.text, kernel.body, first.violation, parties, lines.of(about))
    for edit in islice(edits(case), MOST_EDITS):
        yield Attempt(_read(read, with_lines(source.text, edit)), lambda edit=edit: edit)


class _Lines:
    """On which lines of the PTX of a kernel the instructions are that became an op."""

    def __init__(self, kernel: Function, locations: Locations) -> None:
        self._known: dict[object, list[Instruction]] = {}
        for each in kernel.body:
            if isinstance(each, Instruction):
                self._known.setdefault(locations.of(each), []).append(each)

    def of(self, ops: Iterable[Operation]) -> list[Span]:
        """The first and the last line for each op, each pair once."""
        return list(dict.fromkeys(span for op in ops if (span := self._span(op)) is not None))

    def _span(self, op: Operation) -> Span | None:
        """Several instructions may have become of one line of a source: those count that are named most like `op`."""
        words = set(re.split(r"[._]", op.name))
        found = self._known.get(op.location, [])
        most = max((len(words & set(each.words)) for each in found), default=0)
        lines = [each.line for each in found if len(words & set(each.words)) == most]
        return (lines[0], lines[-1]) if lines else None


def _read(read: Reader, text: str) -> ModuleOp | None:
    """The module of a text; None if it is no program."""
    try:
        return read(text)
    except InputError:
        return None
