"""
A deadline: the processor time after which an execution, or a whole check, ends with what is known by then.

    deadline = Deadline.after(15)
    deadline.has_passed()          asked by the machine every few hundred steps, and by whoever works for long

Processor time rather than time on the clock, so that what comes out depends less on what else the computer does.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from time import process_time

from xdsl.ir import Operation

from tileas_xdsl.machine.core.violations import UndecidedError


@dataclass(frozen=True)
class Deadline:
    """A moment in the processor time of this process; `seconds` is the limit as somebody has set it, for messages."""

    seconds: float = inf
    at: float = inf

    @staticmethod
    def after(seconds: float | None) -> Deadline:
        """The deadline in `seconds` from now; None is none."""
        return NO_DEADLINE if seconds is None else Deadline(seconds, process_time() + seconds)

    def has_passed(self) -> bool:
        return self.at != inf and process_time() >= self.at

    def halfway(self) -> Deadline:
        """A deadline when half of the time that is left has passed."""
        return self if self.at == inf else Deadline(self.seconds, (process_time() + self.at) / 2)

    def __str__(self) -> str:
        """The limit in words: `15 s of processor time`."""
        return f"{self.seconds:g} s of processor time"


NO_DEADLINE = Deadline()


class TimeUpError(UndecidedError):
    """An execution was ended at its deadline."""

    def __init__(self, op: Operation, deadline: Deadline) -> None:
        self.deadline = deadline
        super().__init__(op, f"is still running after {deadline}; give it more by --timeout, or smaller bounds")
