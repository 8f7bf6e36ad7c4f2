"""
`tileas try -p PASSES FILE...`: do passes keep programs right?

Each program, and each in a folder, is judged as it is and behind the passes:

    verdict    what `tileas check` says. A safe program has to stay safe, and as far proved
    numbers    what its functions leave in their arrays with the trip counts 0, 1, 3 and 8, on small integers. Behind
               the passes copies are performed eagerly, lazily and at random

A verdict holds as it says; numbers are samples. A program that the passes refuse is counted apart: it is as it was. So
is one that is unsafe as it is, of which no numbers are asked. One of which a pass leaves nothing that can be judged is
not kept: the pass raised what is no refusal, left a module that does not verify, or took a function away.

Exit status 0: all kept. 1: one was not. 2: the input is wrong; of several programs the others are judged.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
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
from tileas_xdsl.tools.errors import INPUT_ERROR, InputError, collected
from tileas_xdsl.tools.inputs import full_context
from tileas_xdsl.tools.machine_code.validation import are_close, arrays_that_differ, has_trips, made_up
from tileas_xdsl.tools.machine_input import machine_errors, read_input
from tileas_xdsl.tools.pass_pipelines import apply_passes, passes_named
from tileas_xdsl.tools.python.folders import programs_in
from tileas_xdsl.tools.rendering import report_lines, write_lines
from tileas_xdsl.tools.time_limit import add_timeout

KEPT, LOST = 0, 1
TRIPS = (0, 1, 3, 8)
"""What integer arguments are."""
ORDERS = (("eager", 0), ("lazy", 0), ("random", 0), ("random", 1))
"""The orders, with a seed each, under which a program leaves the numbers that it left before."""
NUMBERS = (bool, int, float, np.ndarray, np.generic)
"""What a function returns that can be compared."""
WORST_FIRST = (Verdict.VIOLATION, Verdict.UNDECIDED, Verdict.SAFE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="programs, or folders of programs")
    parser.add_argument("-p", "--passes", metavar="PASSES", required=True, help="PASS,PASS{option=value}: these")
    add_timeout(parser, TIMEOUT, "a check, or a run,")


def run(arguments: argparse.Namespace) -> int:
    passes, files = passes_named(arguments.passes), programs_in(arguments.files)
    tried, complaints = list[Tried](), list[InputError]()
    for file in files:
        with collected(complaints, stops=len(files) == 1):
            tried.append(_told(file, passes, arguments.timeout))
    lost = sum(each.is_lost for each in tried)
    print(f"{len(tried) - lost} of {len(tried)} programs are kept")
    if lost:
        return LOST
    return INPUT_ERROR if complaints else KEPT


def _told(file: str, passes: Sequence[ModulePass], timeout: float | None) -> Tried:
    """Try one program, and print what became of it. Raises `InputError` where it cannot be judged as it is."""
    given = read_input(file)
    with machine_errors(given.source):
        found = tried_on(given.module, passes, timeout)
    print(f"{file}: {found.line}")
    if found.is_unsafe and found.behind is not None:
        write_lines(report_lines(found.behind, given.source))
    sys.stdout.flush()
    return found


@dataclass
class Tried:
    """What became of one program: its verdict as it is and behind the passes, and its numbers."""

    before: Report
    behind: Report | None = None
    """None where there is none."""
    refusal: str = ""
    """Why the passes leave the program as it is."""
    failure: str = ""
    """Why there is nothing to be judged behind them."""
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
        return self._is_worse or bool(self.difference or self.failure)

    @property
    def _is_worse(self) -> bool:
        return self.behind is not None and _standing(self.behind) < _standing(self.before)

    @property
    def line(self) -> str:
        """One line about it: the verdict, or what became of it, and the numbers."""
        before = self.before.verdict_line
        if self.failure:
            return f"{before}; {self.failure}"
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

    Raises what `check` raises of the program as it is.
    """
    found, changed = Tried(check(module, judge_waits=False, timeout=timeout)), module.clone()
    try:
        with recorded_diagnostics():
            apply_passes(passes, changed, full_context())
        lost = lost_functions(module, changed)
        if lost:
            found.failure = f"the passes take @{', @'.join(lost)} away"
            return found
        found.behind = check(changed, judge_waits=False, timeout=timeout)
    except PassFailedException as error:
        found.refusal = str(error).splitlines()[0]
    except (ArgumentError, UndecidedError, UnsupportedError) as error:
        found.failure = f"behind the passes it has no verdict: {error}"
    except InputError as error:
        found.failure = f"the passes leave what does not verify: {error.messages[0].splitlines()[0]}"
    except Exception as error:  # of somebody's pass
        found.failure = f"the passes raise {type(error).__name__}: {error}"
    if found.behind is not None and Verdict.VIOLATION not in (found.before.verdict, found.behind.verdict):
        try:
            _compare(module, changed, found, timeout)
        except (ArgumentError, TimeUpError, UndecidedError, UnsupportedError) as error:
            found.not_compared = str(error)
    return found


def lost_functions(before: ModuleOp, behind: ModuleOp) -> list[str]:
    """The functions that can be called from outside before the passes only."""
    kept = public_functions(behind)
    return [name for name in public_functions(before) if name not in kept]


def _compare(before: ModuleOp, behind: ModuleOp, found: Tried, timeout: float | None) -> None:
    """Compare what all functions leave, until they differ. Raises what `other_numbers` raises."""
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
    What is wrong with function `name` of `behind`, with `trips` for each integer argument, for each order: a mistake, a
    run without an end, or other results and arrays than those of `before`.

    Raises `ArgumentError`, `UnsupportedError` and `UndecidedError` where `before` has no numbers here, `TimeUpError`
    where a run takes too long.
    """
    given = made_up(find_function(before, name)[1], trips)

    def left(module: ModuleOp, order: str, seed: int) -> Outcome:
        own = {key: copy(value) for key, value in given.items()}
        outcome = execute(module, name, own, order=order, seed=seed, timeout=timeout)
        if outcome.out_of_time is not None:
            raise outcome.out_of_time
        return outcome

    expected = left(before, "eager", 0)
    if expected.violations or not expected.finished:
        raise ArgumentError(f"@{name} makes a mistake as it is, with {trips} for each integer argument")
    for order, seed in ORDERS:
        wrong = _wrong(expected, left(behind, order, seed))
        if wrong:
            yield f"{wrong}: trip count {trips}, order {order}"


def _wrong(expected: Outcome, computed: Outcome) -> str:
    """What a run has done that the expected one has not; empty where it is all the same."""
    if computed.violations:
        return f"a mistake, {computed.violations[0].headline}"
    if not computed.finished:
        return "a run without an end"
    arrays = list(arrays_that_differ(expected, computed))
    results = [f"result {place}" for place, pair in enumerate(_results(expected, computed)) if not are_close(*pair)]
    return f"other numbers in {', '.join([*arrays, *results])}" if arrays or results else ""


def _results(expected: Outcome, computed: Outcome) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """What both return that are numbers, one by one."""
    for pair in zip(expected.results, computed.results, strict=False):
        numbers = [np.asarray(each) for each in pair if isinstance(each, NUMBERS)]
        if len(numbers) == 2:
            yield numbers[0], numbers[1]
