"""
Orders: when asynchronous work is performed, and which agent steps next. A correctly synchronised program gives the same
result under each.

- `eager`: work is performed at issue, or as soon as what it depends on is complete; the youngest agent steps first.
- `lazy`: work is performed only when a wait forces it; the oldest agent steps first, as far as it gets.
- `random`: a seeded generator decides at every visible step.
- `timed`: everything happens in the order of simulated time; see `machine.time.simulated_time`.

A `Timekeeper` is the interface of simulated time: what the machine tells the clock of an execution, and the one
question that it asks.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Protocol

from xdsl.ir import Block, Operation

from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Exclusive
from tileas_xdsl.machine.core.happens_before import Who
from tileas_xdsl.machine.core.loops.open_counts import Looper, rank

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.code import Step
    from tileas_xdsl.machine.core.memory import View


class Execution(Protocol):
    """An execution, as the order knows it that decides what happens in it."""

    footprint: dict[str, bool]

    @property
    def live(self) -> Sequence[Looper]: ...

    def ready_works(self) -> list[AsyncWork]: ...

    def works_under_way(self) -> list[AsyncWork]: ...

    def work_awaited_by(self, agent: Who) -> AsyncWork | None: ...


class TimeKeeper(Protocol):
    """Keeps the time of one execution, in cycles."""

    def next(self, runnable: Sequence[Looper]) -> Looper | AsyncWork | None:
        """Of `runnable` and the works under way, what happens next; None when there is nothing."""
        ...

    def agent_added(self, agent: Who) -> None: ...

    def begin_iteration(self, agent: Who, body: Block, outside: tuple[int, ...]) -> None: ...

    def end_loop(self, agent: Who, body: Block) -> None: ...

    def touched(self, agent: Who, view: View) -> None:
        """`agent` accesses `view` by itself, and waits until that is done."""
        ...

    def step_done(self, agent: Who, step: Step, operands: Sequence[Any], outcome: Any) -> None: ...

    def happened(self, agent: Who, op: Operation, kind: str, text: str, on: object | None) -> int:
        """A step that others can see. Returns the cycle in which it takes place."""
        ...

    def work_ready(self, work: AsyncWork) -> None: ...

    def resource_freed(self, resource: Exclusive) -> None: ...


class Pauses(IntEnum):
    """Before which steps agents pause, so that another may go first: from which sight on (`code.SIGHT`)."""

    NEVER = 3
    AT_SYNCHRONISATION = 2
    AT_EVERY_EFFECT = 1


class Order(ABC):
    """Decides among what may happen next."""

    pauses: Pauses = Pauses.NEVER
    performs_at_once: bool = False
    """Whether work is performed as soon as it is ready."""
    reads_sources_at_once: bool = False
    """Whether the source of a store is read as soon as it is issued, where that is work of its own."""
    clock: TimeKeeper | None = None
    """Keeps the time, if there is any."""
    last: Looper | None = None
    """The agent that stepped last, in orders for which it decides who is next."""

    @abstractmethod
    def choose(self, machine: Execution, runnable: Sequence[Looper]) -> Looper | AsyncWork | None:
        """The agent that steps next, or the work that is performed next; None if nothing can without being forced."""

    def hopes(self) -> bool:
        """Whether a question is to be answered with yes, where no guide decides."""
        return True

    def seed_of_anything(self) -> int | None:
        """A seed for numbers that nothing defines; None where they are zeros."""
        return None


class Eager(Order):
    performs_at_once = True

    def choose(self, machine: Execution, runnable: Sequence[Looper]) -> Looper | AsyncWork | None:
        return runnable[-1] if runnable else None


class Lazy(Order):
    def choose(self, machine: Execution, runnable: Sequence[Looper]) -> Looper | AsyncWork | None:
        return runnable[0] if runnable else None


class Prompt(Order):
    """
    An agent that had to wait goes on as soon as it can, and a new agent begins at once. Otherwise the last agent goes
    on.

    So agents keep in step with each other, and the state of a loop recurs after few turns. Work is performed only when
    a wait forces it, but reads its sources at issue: of a store under way only the completion is still open.
    """

    pauses = Pauses.AT_SYNCHRONISATION
    reads_sources_at_once = True

    def choose(self, machine: Execution, runnable: Sequence[Looper]) -> Looper | AsyncWork | None:
        woken = next((agent for agent in runnable if agent.waiting_for is not None or agent.current_op is None), None)
        if woken is not None or self.last not in runnable:
            self.last = woken or next(iter(runnable), None)
        return self.last


class InStep(Order):
    """
    The agent that is least advanced goes first, by its turns in the loops of which it is open how often they turn. What
    it waits for is performed before others may step.

    The choice depends only on what a snapshot of the machine has, not on who has stepped before.
    """

    pauses = Pauses.AT_SYNCHRONISATION
    reads_sources_at_once = True

    def choose(self, machine: Execution, runnable: Sequence[Looper]) -> Looper | AsyncWork | None:
        for agent in sorted(machine.live, key=rank) if len(machine.live) > 1 else machine.live:
            if agent in runnable:
                return agent
            if agent.waiting_for is None:
                continue
            work = machine.work_awaited_by(agent)
            if work is not None:
                return work
        return None


class Random(Order):
    pauses = Pauses.AT_EVERY_EFFECT

    def __init__(self, seed: int) -> None:
        self.generator = random.Random(seed)

    def choose(self, machine: Execution, runnable: Sequence[Looper]) -> Looper | AsyncWork | None:
        ready = machine.ready_works()
        options = len(runnable) + len(ready)
        if options == 0:
            return None
        pick = self.generator.randrange(options)
        return runnable[pick] if pick < len(runnable) else ready[pick - len(runnable)]

    def hopes(self) -> bool:
        return self.generator.random() < 0.5

    def seed_of_anything(self) -> int | None:
        return self.generator.getrandbits(32)
