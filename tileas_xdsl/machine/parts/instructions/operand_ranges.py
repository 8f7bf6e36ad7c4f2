"""
The ranges of operands that PTX gives. What lies outside is undefined: the program is reported as malformed, and its
execution ends there. Constants and computed numbers alike are looked at when an op is executed.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.violations import end_malformed


@dataclass(frozen=True)
class Range:
    """The numbers that an operand may have: from `least` to `most`, and multiples of `step`."""

    does: str
    """What an op does with it; `{}` stands for the number."""
    least: int
    most: int | None
    section: str
    """Of PTX ISA."""
    step: int = 1

    @property
    def rule(self) -> str:
        """In words, with the source."""
        numbers = f"{self.least} or more" if self.most is None else f"{self.least} to {self.most}"
        multiples = f", in multiples of {self.step}" if self.step > 1 else ""
        return f'{numbers}{multiples} (PTX ISA, "{self.section}")'


MOST_ARRIVALS = MOST_BYTES = (1 << 20) - 1

BARRIER_NUMBER = Range("uses barrier {}", 0, 15, "barrier")
THREAD_COUNT = Range("lets {} threads meet", 32, None, "barrier", step=32)
ARRIVE_COUNT = Range("arrives {} times", 1, MOST_ARRIVALS, "mbarrier.arrive")
TX_COUNT = Range("expects or reports {} bytes", 0, MOST_BYTES, "mbarrier.expect_tx")
PARITY = Range("waits for parity {}", 0, 1, "mbarrier.try_wait")
BULK_SIZE = Range("copies {} bytes", 0, None, "cp.async.bulk", step=16)
GROUPS = Range("leaves {} groups in flight", 0, None, "cp.async.wait_group")


def require_in_range(agent: Agent, op: Operation, number: int, allowed: Range) -> None:
    """Report `op` where `number`, an operand of it, is outside of `allowed`. Raises `NoMeaningError` there."""
    if number < allowed.least or number % allowed.step or (allowed.most is not None and number > allowed.most):
        end_malformed(agent, op, allowed.does.format(number), allowed.rule)
