"""
`tileas try -p PASSES FILE...`: do passes keep programs right?

Each program, and each in a folder, is judged as it is and behind the passes:

    verdict    what `tileas check` says. A safe program has to stay safe, and as far proved
    numbers    what its functions leave in their arrays with the trip counts 0, 1, 3 and 8, on small integers. Behind
               the passes copies are performed eagerly, lazily and at random

A verdict holds as it says; numbers are samples. A program that the passes refuse is counted apart: it is as it was. So
is one that is unsafe as it is, of which no numbers are asked. Exit status 0: all kept. 1: one was not. 2: the input is
wrong, or a pass raised what is no refusal.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tileas_xdsl.checker.verdict.checking import TIMEOUT, check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.machine.arguments import ArgumentError, find_function, public_functions
from tileas_xdsl.machine.core.deadline import TimeUpError
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError
from tileas_xdsl.machine.running import Outcome
from tileas_xdsl.machine.running import run as execute
from tileas_xdsl.tools.inputs import full_context
from tileas_xdsl.tools.machine_code.validation import arrays_that_differ, has_trips, made_up
from tileas_xdsl.tools.machine_input import read_input
from tileas_xdsl.tools.pass_pipelines import apply_passes, passes_named
from tileas_xdsl.tools.python.folders import programs_in
from tileas_xdsl.tools.rendering import Source, report_lines, write_lines
from tileas_xdsl.tools.time_limit import add_timeout

KEPT, LOST = 0, 1
TRIPS = (0, 1, 3, 8)
"""What integer arguments are."""
ORDERS = (("eager", 0), ("lazy", 0), ("random", 0), ("random", 1))
"""The orders, with a seed each, under which a program leaves the numbers that it left before."""
WORST_FIRST = (Verdict.VIOLATION, Verdict.UNDECIDED, Verdict.SAFE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="programs, or folders of programs")
    parser.add_argument("-p", "--passes", metavar="PASSES", required=True, help="PASS,PASS{option=value}: these")
    add_timeout(parser, TIMEOUT, "a check, or a run,")


def run(arguments: argparse.Namespace) -> int:
    passes, tried = passes_named(arguments.passes), list[Tried]()
    for file in programs_in(arguments.files):
        given = read_input(file)
        found = tried_on(given.module, passes, arguments.timeout)
        tried.append(found)
        print(f"{file}: {found.line}")
        if found.is_unsafe and found.behind is not None:
            write_lines(report_lines(found.behind, Source(file, given.source.text)))
        sys.stdout.flush()
    lost = sum(each.is_lost for each in tried)
    print(f"{len(tried) - lost} of {len(tried)} programs are kept")
    return LOST if lost else KEPT


@dataclass
class Tried:
    """What became of one program: its verdict as it is and behind the passes, and its numbers."""

    before: Report
    behind: Report | None = None
    """None where the passes refuse the program."""
    refusal: str = ""
    compared: list[int] = field(default_factory=list[int])
    """The trip counts at which the numbers are the same."""
    difference: str = ""
    not_compared: str = ""
    """Why there are no numbers."""

    @property
    def is_unsafe(self) -> bool:
        """Whether the program is unsafe behind the passes only."""
        return self._is_worse and self.behind is not None and self.behind.verdict is Verdict.VIOLATION

    @property
    def is_lost(self) -> bool:
        return self._is_worse or bool(self.difference)

    @property
    def _is_worse(self) -> bool:
        return self.behind is not None and _standing(self.behind) < _standing(self.before)

    @property
    def line(self) -> str:
        """One line about it: the verdict, or what became of it, and the numbers."""
        before = self.before.verdict_line
        if self.behind is None:
            return f"refused: {self.refusal}"
        became = before if self.behind.verdict_line == before else f"{before} -> {self.behind.verdict_line}"
        if self.difference:
            return f"{became}; {self.difference}"
        if self.not_compared:
            return f"{became}; numbers not compared: {self.not_compared}"
        if not self.compared:
            return became
        return f"{became}; same numbers with the trip counts {', '.join(map(str, self.compared))}"


def _standing(report: Report) -> tuple[int, bool]:
    """How much a report promises."""
    return WORST_FIRST.index(report.verdict), report.is_proved


def tried_on(module: ModuleOp, passes: Sequence[ModulePass], timeout: float | None) -> Tried:
    """
    A program as it is and behind `passes`, which run on a copy; `timeout` are the seconds of processor time for each
    check and run.

    Raises `InputError` where a pass leaves a module that does not verify.
    """
    changed = module.clone()
    found = Tried(check(module, judge_waits=False, timeout=timeout))
    try:
        with recorded_diagnostics():
            apply_passes(passes, changed, full_context())
    except PassFailedException as error:
        found.refusal = str(error).splitlines()[0]
        return found
    found.behind = check(changed, judge_waits=False, timeout=timeout)
    if Verdict.VIOLATION not in (found.before.verdict, found.behind.verdict):
        try:
            _compare(module, changed, found, timeout)
        except (ArgumentError, TimeUpError, UndecidedError, UnsupportedError) as error:
            found.not_compared = str(error)
    return found


def _compare(before: ModuleOp, behind: ModuleOp, found: Tried, timeout: float | None) -> None:
    """Compare what all functions leave, until they differ."""
    trips = TRIPS if any(has_trips(find_function(before, name)[1]) for name in public_functions(before)) else TRIPS[:1]
    for count in trips:
        for name in public_functions(before):
            found.difference = next(other_numbers(before, behind, name, count, timeout), "")
            if found.difference:
                return
        found.compared.append(count)


def other_numbers(
    before: ModuleOp, behind: ModuleOp, name: str, trips: int, timeout: float | None = None
) -> Iterator[str]:
    """
    For each order in which function `name` of `behind` leaves other numbers in its arrays than that of `before`, with
    `trips` for each integer argument: what differs.

    Raises `ArgumentError`, `UnsupportedError` and `UndecidedError` where it has no numbers here, `TimeUpError`.
    """
    given = made_up(find_function(before, name)[1], trips)

    def left(module: ModuleOp, order: str, seed: int) -> Outcome:
        own = {key: copy(value) for key, value in given.items()}
        return execute(module, name, own, order=order, seed=seed, timeout=timeout)

    expected = left(before, "eager", 0)
    for order, seed in ORDERS:
        arrays = list(arrays_that_differ(expected, left(behind, order, seed)))
        if arrays:
            yield f"other numbers in {', '.join(arrays)}: trip count {trips}, order {order}"
