"""
Barriers that are found by their place in memory (`mbarrier`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.happens_before import Clock, Who, join
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.core.observer import Look
from tileas_xdsl.machine.core.state import Canvas, OwnPart, SharedPart
from tileas_xdsl.machine.core.synchronization import PhaseBarrier, Rendezvous
from tileas_xdsl.machine.core.threads.hardware import Active
from tileas_xdsl.machine.core.violations import Party


@dataclass(eq=False)
class PlacedBarrier:
    """An mbarrier in shared memory: its state, who made it, who has used it, and what fences it has behind it."""

    state: PhaseBarrier
    maker: Agent
    moment: int
    op: Operation
    family: str
    """Of the object in which it lies."""
    fenced: bool = False
    """Whether the asynchronous proxy may see it."""
    made_by: Active | None = None
    """Which threads of an agent of several warps have made it; None where it is one warp or less."""
    uses: Clock = field(default_factory=dict[int, int])
    """The moment of each agent's last use: an arrival, a wait, a test."""
    users: dict[int, Operation] = field(default_factory=dict[int, Operation])
    """What each agent did then. For messages only."""
    works: dict[AsyncWork, None] = field(default_factory=dict[AsyncWork, None])
    """Works that signal it: the last ones, of which no later one knows."""

    @property
    def is_met(self) -> bool:
        """Whether the threads of its maker have met since: only then do all of them know that it is there."""
        return self.made_by is None or self.maker.threads_met > self.moment


@dataclass(slots=True, eq=False)
class BarrierLook(Look):
    """`agent` makes, looks for or removes the barrier at byte `offset` of `base`."""

    base: MemoryObject
    offset: int
    agent: Agent


@dataclass
class PlacedBarriers(SharedPart):
    """The mbarriers of an execution."""

    at: dict[tuple[int, int], PlacedBarrier] = field(default_factory=dict["tuple[int, int]", PlacedBarrier])
    """By the serial number of the object and the byte offset in it: those that are valid."""
    ended: dict[tuple[int, int], Party] = field(default_factory=dict["tuple[int, int]", Party])
    """By the same, what has invalidated the last barrier there. For messages only."""

    def draw(self, canvas: Canvas) -> None:
        """Nothing here: `draw_places` draws them."""

    def draw_places(self, canvas: Canvas) -> None:
        for (serial, offset), barrier in self.at.items():
            canvas.placed(serial, offset, barrier)


@dataclass
class UnfencedInits(OwnPart):
    """The mbarriers that an agent has made since its last fence."""

    barriers: list[PlacedBarrier] = field(default_factory=list[PlacedBarrier])

    def draw(self, canvas: Canvas, agent: Who) -> None:
        canvas.marked(agent, self.barriers)


MADE = "barriers made"
"""
The clock of the barriers that threads have made and published by `fence.mbarrier_init`. It goes with a relaxed arrival
at the barrier of the cluster, which hands over nothing else (PTX ISA, "membar, fence": a release of the inits alone).
"""


def publish_inits(agent: Agent) -> None:
    """What barriers `agent` has made are published, to whom its arrivals tell of it."""
    join(agent.fenced.setdefault(MADE, {}), {agent.number: agent.moment})
    agent.release()


def knows_init(agent: Agent, barrier: PlacedBarrier) -> bool:
    """Whether `barrier` was made before what `agent` does now."""
    if not barrier.is_met and (agent is not barrier.maker or agent.active != barrier.made_by):
        return False
    maker, moment = barrier.maker.number, barrier.moment
    return agent.mind.knows_moment(maker, moment) or agent.fenced.get(MADE, {}).get(maker, -1) >= moment


@dataclass
class ClusterArrival(OwnPart):
    """
    The barrier of the cluster at which an agent has arrived without having waited there yet; None if there is none.
    """

    barrier: Rendezvous | None = None
    generation: int = 0

    def draw(self, canvas: Canvas, agent: Who) -> None:
        if self.barrier is not None:
            canvas.thing(self.barrier)
            canvas.literal(self.generation - self.barrier.generation)
