"""
Proxy fences: those that a program writes, `fence.proxy.async` and what becomes it (PTX ISA, "membar/fence"), and those
that Triton's compiler puts in between TTGIR and LLVM, so that program code need not.

A pass of Triton's (`ProxyFenceInsertion`) puts a `fence.proxy.async` before an access of the asynchronous proxy where
it finds a generic access to the bytes before it: in the same partition of warps, or in the function before the fork of
the partitions. It does not look into other partitions. So an asynchronous access counts as fenced for what its own
agent has done, and for what was known where that was forked. For what another partition does, the program has to write
the fence.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.happens_before import Clock, Who, join
from tileas_xdsl.machine.core.state import Canvas, OwnPart
from tileas_xdsl.machine.parts.placed_barriers import UnfencedInits


def fence_proxies(agent: Agent, op: Operation, spaces: Sequence[str]) -> None:
    """Order generic accesses of `spaces` before asynchronous ones, and initialisations of barriers with them."""
    agent.fence_proxies(spaces)
    if "shared" in spaces:
        fence_inits(agent)
    agent.note(op, "fence", f"orders generic before asynchronous accesses ({', '.join(spaces)})")


def fence_inits(agent: Agent) -> None:
    """The barriers that `agent` has made so far may be signalled by asynchronous work."""
    made = agent.part(UnfencedInits)
    for barrier in made.barriers:
        barrier.fenced = True
    made.barriers = []


SHARED = "shared"


@dataclass
class KnownAtFork(OwnPart):
    """What was known when an agent was forked, and after each join of its own partitions."""

    clock: Clock = field(default_factory=dict[int, int])

    def draw(self, canvas: Canvas, agent: Who) -> None:
        for number, moment in sorted(self.clock.items()):
            for other in canvas.live:
                if other.number == number:
                    canvas.moment(other, moment)


def note_known(agent: Agent) -> None:
    """All that `agent` knows now lies before its partitions, or before itself, and is fenced where it has to be."""
    join(agent.part(KnownAtFork).clock, agent.clock)


@contextmanager
def fenced_by_compiler(agent: Agent) -> Generator[None]:
    """Inside, accesses of the asynchronous proxy find what the compiler sees fenced. Others do not learn of it."""
    written = agent.fenced.get(SHARED)
    fenced: Clock = dict(written) if written is not None else {}
    join(fenced, agent.part(KnownAtFork).clock)
    fenced[agent.number] = agent.moment
    agent.fenced[SHARED] = fenced
    try:
        yield
    finally:
        if written is None:
            del agent.fenced[SHARED]
        else:
            agent.fenced[SHARED] = written
