"""
Questions: tests whose answer depends on timing, and on the answer to which the program branches.

A test of a barrier may always say no. It may say yes only when the phase is over, and then it acquires. So a program
with tests is all the programs that answers make of it: a test that says no does nothing, and one that says yes is a
wait. A *guide* decides each answer of an execution; a checker executes the program under every guide that makes a
difference. Without a guide an execution hopes for yes: the agent waits, and if all come to a standstill, the answer of
one that hopes is no after all.

Tests of barriers (`test.wait`, `try_wait` with a result) may always say no, also when the phase is known to be over: no
promises least, and `try_wait` has a time limit. They say yes only when the phase is over, and then acquire. An answer
that nobody uses is no; a loop that does nothing but repeat the test is a wait; so is a test whose no leads to a wait
for the same phase, next to it. Any other answer is tried both ways. `try_wait.parity`, which has no result, is the
whole loop and blocks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.synchronization import Condition

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from tileas_xdsl.machine.core.happens_before import Who

MOST_REFUSALS = 1_000
"""How often an execution without a guide says no at a standstill before that counts as a deadlock."""


class Guide(Protocol):
    """Decides the answers of one execution."""

    def poses(self, agent: Who, op: Operation) -> bool:
        """`agent` comes to the question of `op`. Returns whether it is to pause before it gets the answer."""
        ...

    def says_yes(self, agent: Who, op: Operation) -> bool:
        """Whether the answer is yes; the agent then waits until it is true."""
        ...


@dataclass
class Hope(Condition):
    """`wanted` holds, as the answer yes has it; or the answer is no after all."""

    wanted: Condition
    is_over: bool = False
    """Whether the answer is no after all."""

    def holds(self) -> bool:
        return self.is_over or self.wanted.holds()

    def helpers(self) -> Iterable[AsyncWork]:
        return self.wanted.helpers()

    def observe(self, agent: Who) -> None:
        if not self.is_over:
            self.wanted.observe(agent)

    def describe(self) -> str:
        return self.wanted.describe()

    def needed(self) -> str:
        return self.wanted.needed()

    @property
    def subject(self) -> str:
        return self.wanted.subject

    @property
    def may_pass_by(self) -> str | None:
        return self.wanted.may_pass_by

    def doubt(self) -> str | None:
        return self.wanted.doubt()


def hoping(agents: Iterable[Who]) -> list[Hope]:
    """What those of `agents` hope for whose answer is to be yes."""
    return [agent.waiting_for for agent in agents if isinstance(agent.waiting_for, Hope)]
