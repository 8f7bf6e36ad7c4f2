"""
The threads that run code together: a block, or the warps of one of its agents.

    agent_switch {num_warps = [4, 4], warp_id = [0, 4]}      agent 0: warps 0 to 3; agent 1: warps 4 to 7

A layout counts the warps of its agent from 0. Threads of an agent meet at a named barrier of their own: barrier 0 is
the block's (PTX ISA, "bar, barrier": a CTA has the barriers 0 to 15).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.analysis.pipeline_root import PipelineRoots
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumerReleaseOp, ProduceOneAsyncOp, ProduceOneOp
from tileas_xdsl.layouts.distributed import WARP_SIZE
from tileas_xdsl.transforms.to_llvm.tiles.filling import is_by_tma
from tileas_xdsl.transforms.to_llvm.tiles.rooms import Room

BARRIERS = 16
"""Named barriers of a block."""
GROUP = 4
"""Warps of a warpgroup, which is aligned to as many."""


@dataclass(frozen=True)
class Warps:
    """Neighbouring warps of a block."""

    first: int
    count: int
    number: int = 0
    """Of the barrier at which they meet: 0 is that of all warps, n that of agent n - 1."""

    @property
    def threads(self) -> int:
        return self.count * WARP_SIZE

    @property
    def are_groups(self) -> bool:
        """Whether they are whole warpgroups."""
        return self.first % GROUP == 0 and self.count % GROUP == 0


@dataclass
class Team:
    """Warps that run the code that is being built, and the numbers that each of their threads knows of itself."""

    warps: Warps
    lane: SSAValue
    """The number of the thread in its warp, i32; the same for the two below."""
    warp: SSAValue
    """The number of the warp among those of the team."""
    thread: SSAValue
    anchor: Operation
    """The op before which goes what is the same in all turns of loops."""
    own: dict[Hashable, SSAValue | None] = field(default_factory=dict[Hashable, "SSAValue | None"])
    """Numbers of the thread that have been computed ahead, by what they are."""
    rooms: list[Room] = field(default_factory=list[Room])
    """Room for conversions of layouts."""


# Agents ---------------------------------------------------------------------------------------------------------------


def switch_in(function: func.FuncOp) -> AgentSwitchOp | None:
    """The op that gives the agents of a function warps; None where there are no agents."""
    return next((op for op in function.body.walk() if isinstance(op, AgentSwitchOp)), None)


def warps_of_agents(op: AgentSwitchOp) -> list[Warps]:
    """The warps of each region."""
    assert op.warp_id is not None
    assert op.num_warps is not None
    numbers = zip(op.warp_id.get_values(), op.num_warps.get_values(), strict=True)
    return [Warps(int(first), int(count), number + 1) for number, (first, count) in enumerate(numbers)]


def warps_of_block(op: AgentSwitchOp) -> Warps:
    """All warps: those between agents, and behind the last one up to a whole group, have nothing to do."""
    last = max(warps.first + warps.count for warps in warps_of_agents(op))
    return Warps(0, -(-last // GROUP) * GROUP)


@dataclass(frozen=True)
class Arrivals:
    """How often each barrier of a ring is arrived at in a turn."""

    full: int
    empty: int


class Participants:
    """
    Who fills and who empties the rings of a function: each of their threads arrives once a turn. Of those that fill by
    TMA only one does; the bytes count besides.
    """

    def __init__(self, function: func.FuncOp, roots: PipelineRoots, block: Warps) -> None:
        self._producers: dict[Hashable, dict[int, int]] = {}
        self._consumers: dict[Hashable, dict[int, int]] = {}
        switch = switch_in(function)
        regions = {} if switch is None else dict(zip(switch.bodies, warps_of_agents(switch), strict=True))
        for op in function.body.walk():
            if not isinstance(op, ProduceOneAsyncOp | ProduceOneOp | ConsumerReleaseOp):
                continue
            warps, root = block, roots.of_op(op)
            region = op.parent_region()
            while region is not None and region not in regions:
                region = region.parent_region()
            if region is not None:
                warps = regions[region]
            sides = self._consumers if isinstance(op, ConsumerReleaseOp) else self._producers
            if root is not None:
                sides.setdefault(root.key, {})[warps.number] = 1 if is_by_tma(op) else warps.threads

    def arrivals(self, ring: Hashable) -> Arrivals:
        """Of the two barriers of a slot."""
        full, empty = (sum(sides.get(ring, {}).values()) for sides in (self._producers, self._consumers))
        return Arrivals(max(1, full), max(1, empty))
