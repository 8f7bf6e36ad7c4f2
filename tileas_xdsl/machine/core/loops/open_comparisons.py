"""
Comparisons with a number that is left open, because it bounds loops (`open_counts`).

    scf.for %k = 0 to %n {
      %more = cmpi slt, %k + 2, %n       is there a turn after the next one?

What has been decided about the bound may answer it. Else it is a question, as at the head of a loop: both answers are
possible, and what is decided narrows the interval in which the bound lies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation

from tileas_xdsl.machine.core.loops.open_counts import OpenBound, OpenCounts
from tileas_xdsl.machine.core.meaning import Kind, Meaning
from tileas_xdsl.machine.core.observer import Look
from tileas_xdsl.machine.core.op_facts import Facts, TakesPerThread
from tileas_xdsl.machine.core.standings import Answer, Pause, continuation
from tileas_xdsl.machine.core.violations import UnsupportedError

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.agents import Agent


@dataclass(eq=False)
class Comparison:
    """Whether `bound` is less than `limit`, or equal to it."""

    bound: OpenBound
    limit: int
    equals: bool

    def answer(self) -> bool | None:
        """None if it is open."""
        low, high = self.bound.low, self.bound.high
        if not self.equals:
            return True if high is not None and high < self.limit else False if low >= self.limit else None
        if self.limit < low or (high is not None and self.limit > high):
            return False
        return True if low == high else None

    def decide(self, yes: bool) -> None:
        bound, limit = self.bound, self.limit
        if self.equals and yes:
            bound.low = bound.high = limit
        elif self.equals:
            bound.low += bound.low == limit
            bound.high = limit - 1 if bound.high == limit else bound.high
        elif yes:
            bound.high = limit - 1
        else:
            bound.low = limit


@dataclass(slots=True, eq=False)
class BoundLook(Look):
    """An op compares a bound that is left open with a number."""

    gap: int
    """How far that number is beyond what the bound is at least, as far as that makes a difference."""
    answer: bool | None
    """None if it is open."""


@continuation
def _decided(agent: Agent, _op: Operation, _: None, comparison: Comparison, negated: bool) -> Answer:
    # Whoever always decides not to go on comes to an end: then the bound is less, or no more than that.
    yes = not agent.observer.decides_to_go_on()
    comparison.decide(yes)
    return int(yes != negated)


def _compare(agent: Agent, op: Operation, *operands: Any) -> Answer:
    counts = agent.shared(OpenCounts)
    how = counts.comparisons[op]
    number = agent.known(operands[how.other], op, "compares with a bound of loops")
    if type(number) not in (int, bool):
        raise UnsupportedError(op, "compares a number that bounds loops with one that is not followed")
    bound = counts.bound_for(agent, how.term)
    comparison = Comparison(bound, number + how.added, how.equals)
    observer = agent.observer
    low = bound.low if how.constant is None else counts.as_drawn(bound)
    answer = comparison.answer()
    observer.looks(BoundLook(op, comparison.limit - low, answer))
    if answer is not None:
        return int(answer != how.negated)
    observer.asks(agent, op)
    return Pause().then(_decided, comparison, how.negated)


COMPARES = Meaning(Kind.SUSPENDS, _compare, facts=Facts(per_thread=TakesPerThread.ITSELF))
"""What an op does that is one of `OpenCounts.comparisons`."""
