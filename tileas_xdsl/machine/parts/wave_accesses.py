"""
What a wave of an AMD GPU has in flight of its own accesses, and who waits for them (LLVM, "User Guide for AMDGPU
Backend": "Memory Model", wait counters).

- Loads and stores of a wave are in flight until a counter has fallen to 0, or the compiler waits for a value that was
  loaded, before its first use. `s.barrier` orders none of them: what is still in flight there may take place after it.
- LDS transfers of the synchronous model count as ordinary writes of the wave: before the wave touches their bytes, the
  compiler waits for them and for those that are older, for they complete in order.
- On gfx9 one counter counts loads and stores.

`s.waitcnt` counts stores to global memory with the transfers, as gfx9 does; loads are not counted, which can only make
a wait complete less.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation

from tileas_xdsl.dialects.rocdl import barriers
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.happens_before import Access, Who, observe
from tileas_xdsl.machine.core.state import Canvas, OwnPart

LDS, LOADS, STORES = "LDS", "loads", "stores"
EVERYTHING = (LDS, LOADS, STORES)
"""Kinds of accesses, each with a counter: those of LDS, loads from other memory, stores to it."""

UNORDERED_BARRIERS = (barriers.SBarrierOp, barriers.BarrierSignalOp)


@dataclass
class WaitedFor(OwnPart):
    """Kind of accesses -> the moment of the agent up to which it has waited for its own ones."""

    moments: dict[str, int] = field(default_factory=dict[str, int])

    def draw(self, canvas: Canvas, agent: Who) -> None:
        for kind in EVERYTHING:
            canvas.moment(agent, self.moments.get(kind, -1))


def wait_for_own(agent: Agent, kinds: Iterable[str]) -> None:
    """`agent` has waited for all its accesses of `kinds` so far."""
    kinds = tuple(kinds)
    if not kinds:
        return
    waited = agent.part(WaitedFor).moments
    for kind in kinds:
        waited[kind] = agent.moment
    # Later accesses must not pass for waited for.
    agent.moment += 1
    agent.clock[agent.number] = agent.moment


def leave_in_flight(agent: Agent) -> None:
    """
    `agent` has passed something that orders no access: its accesses for which nobody has waited may take place now, so
    that nobody who learnt what it knew before knows of them.
    """
    if len(agent.cohort) == 1:
        return
    for access in agent.accesses():
        if _is_in_flight(agent, access):
            access.moment = agent.moment


def _is_in_flight(agent: Agent, access: Access) -> bool:
    waited = agent.part(WaitedFor).moments.get(_kind_of(access), -1)
    if access.moment <= waited:
        return False
    return access.is_write or agent.code.fact(_is_used_late, access.op)


def _kind_of(access: Access) -> str:
    if access.region.base.space == "shared":
        return LDS
    return STORES if access.is_write else LOADS


def _is_used_late(load: Operation) -> bool:
    """
    Whether what `load` loads is used only behind the next barrier, so that the compiler need not wait for it before. A
    load without a use is none: the compiler removes it.
    """
    uses = [use.operation for result in load.results for use in result.uses]
    block = load.parent
    if block is None or not uses:
        return False
    return not any(_stands_before_a_barrier(use, load, block) for use in uses)


def _stands_before_a_barrier(use: Operation, load: Operation, block: Block) -> bool:
    """Whether `use` stands in `block` behind `load`, and no barrier between the two."""
    around = block.find_ancestor_op_in_block(use)
    if around is None:
        return False
    op = load.next_op
    while op is not None and op is not around:
        if _has_a_barrier(op):
            return False
        op = op.next_op
    return op is around and (around is use or not _has_a_barrier(around))


def _has_a_barrier(op: Operation) -> bool:
    return any(isinstance(inner, UNORDERED_BARRIERS) for inner in op.walk())


def wait_for_transfers(agent: Agent, works: Iterable[AsyncWork]) -> None:
    """`agent` waits for `works` at once, as the compiler makes it do; they depend on nothing but time."""
    found = [work for work in works if agent.number not in work.observers]
    for work in found:
        agent.perform(work)
    observe(agent, found)
