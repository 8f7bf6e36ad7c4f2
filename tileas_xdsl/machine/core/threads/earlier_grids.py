"""
Grids that run before a kernel, and may still run beside it (PTX ISA, "griddepcontrol").

    griddepcontrol.launch_dependents     in the earlier grid: the next one may start, though this one has not ended
    griddepcontrol.wait                  in the next grid: all earlier grids are complete, and what they wrote is seen

A kernel that waits may have been launched early. Until its wait the earlier grids may write any global memory, and may
read it. So they count as one agent that writes all of it before the wait: each access to global memory has to come
behind the wait, in the thread that waits or ordered behind it. Tensor maps are parameters, and exempt. Where memory is
not followed (Triton's IR), all of it is one object, and each access a read.

A kernel that lets dependent grids start and does not wait itself is launched in the usual order, or reads nothing that
an earlier grid writes: its verdict names that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import i8
from xdsl.ir import Operation

from tileas_xdsl.analysis.threads.grid_dependence import first_wait_of
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import GRIDS_COMPLETE
from tileas_xdsl.machine.core.happens_before import Access, Knowledge, Proxy
from tileas_xdsl.machine.core.memory import MemoryObject, View
from tileas_xdsl.machine.core.state import Canvas, SharedPart
from tileas_xdsl.machine.core.values import ElementType

GLOBAL = "global"
BEGIN = 0
"""The moment at which an earlier grid writes."""


@dataclass
class EarlierGrids(SharedPart):
    """What runs before the kernel; no agent where the kernel does not wait for it."""

    agent: Agent | None = None
    wait: Operation | None = None
    unfollowed: MemoryObject | None = None
    """Global memory as a whole, where accesses to it are not followed."""

    def draw(self, canvas: Canvas) -> None:
        if self.agent is not None:
            canvas.moment(self.agent, BEGIN)
        if self.unfollowed is not None:
            canvas.thing(self.unfollowed)

    def first_access(self, base: MemoryObject) -> Access | None:
        """What an earlier grid may do to `base`; None where it cannot, or the kernel does not wait for it."""
        if self.agent is None or self.wait is None or base.space != GLOBAL or base.mapped is not None:
            return None
        region, does = base.whole().region, "waits for what may write"
        return Access(region, True, Proxy.UNSPECIFIED, self.wait, self.agent, None, BEGIN, (), 0, does=does)


def begin_behind_earlier_grids(agent: Agent, kernel: Operation) -> None:
    """`agent` begins to run `kernel`: if that waits somewhere, earlier grids may still run."""
    grids = agent.shared(EarlierGrids)
    wait = agent.code.fact(first_wait_of, kernel)
    if wait is None or grids.agent is not None:
        return
    grids.wait = wait
    grids.agent = Agent(agent.machine, "an earlier grid", None)
    agent.machine.agents.append(grids.agent)
    agent.machine.before_first_access = grids.first_access


def wait_for_earlier_grids(agent: Agent, op: Operation) -> None:
    """`agent` waits until all earlier grids are complete."""
    grids = agent.shared(EarlierGrids)
    if grids.agent is not None:
        agent.learn(Knowledge({grids.agent.number: BEGIN}))
        agent.note(op, "wait", "sees all earlier grids complete", on=grids.agent)


def launch_dependents(agent: Agent) -> None:
    """`agent` lets dependent grids start; so earlier grids may have let this one."""
    if agent.shared(EarlierGrids).agent is None:
        agent.assume(GRIDS_COMPLETE)


def touch_unfollowed(agent: Agent, op: Operation) -> None:
    """`agent` accesses global memory, or issues an access to it, at a place that is not followed."""
    grids = agent.shared(EarlierGrids)
    if grids.agent is None:
        return
    if grids.unfollowed is None:
        grids.unfollowed = MemoryObject("global memory", (1,), ElementType(i8, np.dtype(np.int8)), GLOBAL)
    base = grids.unfollowed
    agent.touch(View(base, 0, (1,), (1,), base.element), op, write=False, proxy=Proxy.UNSPECIFIED)
