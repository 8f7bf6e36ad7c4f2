"""
A deadline: the steps, or the processor time, after which an execution or a whole check ends with what is known by then.

    deadline = Deadline.after(seconds=15)          of processor time
    deadline = Deadline.after(steps=2_500_000)     the same on every computer
    deadline.spend(256)                            counts steps that were made
    deadline.has_passed()                          asked by the machine every few hundred steps, and by proofs

    with ended_by_interrupt(): check(module)       the first Ctrl-C is a deadline, the second one ends the process

The steps are those of the machine. What else takes long is counted as the number of steps that take as long: the
things that a snapshot draws, the objects of an execution that is put aside, the steps that a proof compares. So where a
check ends does not depend on the computer, nor on what else that does.
"""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from threading import current_thread, main_thread
from time import process_time

from xdsl.ir import Operation

from tileas_xdsl.machine.core.violations import UndecidedError


@dataclass
class Interruption:
    """Whether the user has asked for what is known by now."""

    wanted: bool = False


INTERRUPTION = Interruption()
"""Signals belong to the process, and so does this."""


@contextmanager
def ended_by_interrupt() -> Generator[Interruption]:
    """
    Inside, the first Ctrl-C lets every deadline pass, so that a check ends with what is known by then. The second one
    raises `KeyboardInterrupt`, as ever. In a thread that is not the main one, which gets no signals, nothing changes.
    """
    if current_thread() is not main_thread():
        yield INTERRUPTION
        return
    before = signal.getsignal(signal.SIGINT)

    def stop(_signal: int, _frame: object) -> None:
        INTERRUPTION.wanted = True
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, stop)
    try:
        yield INTERRUPTION
    finally:
        INTERRUPTION.wanted = False
        signal.signal(signal.SIGINT, before)


@dataclass(eq=False)
class Meter:
    """The steps that were made so far."""

    spent: int = 0


@dataclass(frozen=True)
class Deadline:
    """A moment in the steps of a check and in the processor time of this process."""

    seconds: float = inf
    """The limit as the caller has set it, for messages."""
    at: float = inf
    """The processor time at which it passes."""
    steps: float = inf
    """The limit as the caller has set it, for messages."""
    until: float = inf
    """The number of steps at which it passes."""
    meter: Meter = field(default_factory=Meter)

    @staticmethod
    def after(seconds: float | None = None, steps: float | None = None) -> Deadline:
        """The deadline in `seconds` from now, or after `steps`, whatever comes first; None is no limit."""
        seconds = inf if seconds is None else seconds
        steps = inf if steps is None else steps
        return Deadline(seconds, process_time() + seconds, steps, steps)

    def spend(self, steps: int) -> None:
        """Count what takes as long as `steps` steps of the machine."""
        self.meter.spent += steps

    def has_passed(self) -> bool:
        return INTERRUPTION.wanted or self.meter.spent >= self.until or (self.at != inf and process_time() >= self.at)

    def part(self, share: Fraction) -> Deadline:
        """A deadline when that `share` of the steps and of the time that is left has passed."""
        spent, now = self.meter.spent, process_time()
        at, until = (start + (end - start) * float(share) for start, end in ((now, self.at), (spent, self.until)))
        return Deadline(self.seconds, at, self.steps, until, self.meter)

    def halfway(self) -> Deadline:
        """A deadline when half of the steps and of the time that is left has passed."""
        return self.part(Fraction(1, 2))

    @property
    def way_out(self) -> str:
        """What gives more of what has run out: `give it more by --steps`."""
        return "let it run" if INTERRUPTION.wanted else f"give it more by {self._option}"

    @property
    def _option(self) -> str:
        return "--steps" if self.meter.spent >= self.until else "--timeout"

    def __str__(self) -> str:
        """The limit that has run out, in words: `2,500,000 steps`, `15 s of processor time`, `Ctrl-C`."""
        if INTERRUPTION.wanted:
            return "Ctrl-C"
        return f"{self.steps:,.0f} steps" if self._option == "--steps" else f"{self.seconds:g} s of processor time"


NO_DEADLINE = Deadline()


class TimeUpError(UndecidedError):
    """An execution was ended at its deadline."""

    def __init__(self, op: Operation, deadline: Deadline) -> None:
        self.deadline = deadline
        super().__init__(op, f"is still running after {deadline}; {deadline.way_out}, or smaller bounds")
