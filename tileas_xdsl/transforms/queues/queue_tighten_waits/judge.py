"""
The largest count that a wait may have, found by asking the checker (`checker/verdict/checking.py`), on a copy of the
program.

A count is good where the program is then proved safe for every interleaving and every trip count, and the largest good
one is looked for: by a binary search with a few trip counts, in which counts that are too large mostly show, and then
by proofs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation

from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.dialects.async_queue import WaitOp
from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.machine.core.violations import UnsupportedError

FEW_TRIPS = tuple(range(5))
"""Trip counts that are tried before a proof. Most counts that are too large already go wrong here."""

NEVER_BLOCKS = 1 << 20
"""A count so large that the wait never blocks."""

MOST_UNPROVED = 8
"""By how much a count is raised at most where a few trip counts do without the wait and the proof does not."""


@dataclass(frozen=True)
class Fault:
    """A mistake in a program, or the reason why it is not proved right."""

    text: str
    op: Operation | None = None
    """The op at which the execution could not go on, if that is it."""
    is_mistake: bool = False
    """Whether something goes wrong, and is not only unproved."""


@dataclass(frozen=True)
class Gain:
    """How far a wait may be weakened: `count` groups may stay unfinished, or, without a count, the wait may go."""

    count: int | None
    text: str


@dataclass(frozen=True)
class Judge:
    """Asks the checker about `module`, a copy that is the judge's own, in which `functions` tell what is safe."""

    module: Operation
    functions: Sequence[str]
    capture: str

    def fault(self, *, prove: bool = True) -> Fault | None:
        """
        What is wrong with the program as it is now, or with `prove` why it is not proved right; None where all is
        well. Without `prove` a few trip counts are tried.
        """
        faults = (self._fault_of(name, prove) for name in self.functions)
        return next((fault for fault in faults if fault is not None), None)

    def fault_with(self, wait: WaitOp, count: int, *, prove: bool = True) -> Fault | None:
        """What is wrong, as `fault` says it, if `count` were the count of `wait`. The copy keeps its old count."""
        old = wait.properties["count"]
        set_count(wait, count)
        try:
            return self.fault(prove=prove)
        finally:
            wait.properties["count"] = old

    def tighten(self, wait: WaitOp, old: int) -> Gain | None:
        """The largest count above `old` of one wait that is proved safe; the copy has it from now on."""
        most, fault = self._largest_plausible(wait, old)
        for count in range(most, old, -1):
            doubt = self.fault_with(wait, count)
            if doubt is not None:
                fault = doubt.text
                continue
            set_count(wait, count)
            if count == NEVER_BLOCKS:
                return Gain(None, f"removed: all is as safe without waiting for all but {old} groups")
            return Gain(count, f"raised from {old} to {count}; with {count + 1}: {fault}")
        return None

    def _largest_plausible(self, wait: WaitOp, old: int) -> tuple[int, str]:
        """The largest count that goes well for a few trip counts, and what goes wrong with the next one."""
        fault = self.fault_with(wait, NEVER_BLOCKS, prove=False)
        if fault is None:
            doubt = self.fault_with(wait, NEVER_BLOCKS)
            return (NEVER_BLOCKS, "") if doubt is None else (old + MOST_UNPROVED, doubt.text)
        good, bad = old, old + 1
        while (fault := self.fault_with(wait, bad, prove=False)) is None:
            good, bad = bad, old + 2 * (bad - old)
        reason = fault.text
        while bad - good > 1:
            middle = (good + bad) // 2
            fault = self.fault_with(wait, middle, prove=False)
            if fault is None:
                good = middle
            else:
                bad, reason = middle, fault.text
        return good, reason

    def _fault_of(self, function: str, prove: bool) -> Fault | None:
        try:
            trips = None if prove else FEW_TRIPS
            asked = check(self.module, function, trip_counts=trips, capture=self.capture, judge_waits=False)
            return _doubt(asked, prove)
        except ArgumentError as error:
            return Fault(str(error))
        except UnsupportedError as error:
            return Fault(str(error), error.op)


def set_count(wait: WaitOp, count: int) -> None:
    """Let `wait`, whose count is a constant, leave `count` groups unfinished."""
    wait.properties["count"] = IntegerAttr(count, i64)


def _doubt(report: Report, prove: bool) -> Fault | None:
    """Why `report` says less than that all is well, for every trip count where `prove` is set; None where it does."""
    if report.findings:
        finding = report.findings[0]
        return Fault(f"{finding.violation.message}, {finding.call}", is_mistake=True)
    if report.verdict is Verdict.SAFE and (report.is_proved or not prove):
        return None
    text = next(iter([*report.undecided, *report.bounded]), report.verdict_line)
    return Fault(text, next(iter(report.stopped_at), None))
