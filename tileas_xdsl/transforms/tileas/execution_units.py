"""
Which warps run which agent.

    agent_switch {num_warps = [4, 1, 8]}  ->  agent_switch {num_warps = [4, 1, 8], warp_id = [0, 4, 8],
                                                            agent_strides = [4, 4, 8]}

PropagateExecutionUnit writes the warps of an agent on what runs in it; OptimizeExecutionUnitMapping gives each agent
its first warp. The warps of an agent lie together and begin at a multiple of their number, so that a warpgroup is one
of the hardware's. What is left free in between is the difference of an agent's stride and its warps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, i32
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.traits import SymbolTable

from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.nv_tileas.agents import INHERIT, AgentSwitchOp, warp_budget
from tileas_xdsl.interfaces import CallOpInterface, FunctionOpInterface
from tileas_xdsl.targets.warps import WARP_GROUP, block_warps, first_warps

INCONSISTENT = (
    "inconsistent numWarps in the agent switch, maybe it is called in different agents with different numWarps"
)
TOO_MANY = "agent warp count exceeds module budget"
"""TileAS' own texts, byte for byte (docs/verbatim.md)."""

NUM_WARPS = "nv_tileas.num_warps"
"""The warps of the agent that an op runs in."""


@dataclass(frozen=True)
class PropagateExecutionUnitPass(ModulePass):
    """
    Write the warps of each agent on the loops and branches that it runs, and on the functions that it calls.

    Rewrites
        `nv_tileas.num_warps` on `scf.for`, `scf.if` and functions; nothing else.

    Requires
        Verified IR. Agents of which nothing says how many warps they have get four.

    Refuses
        A function that is called in agents with different numbers of warps, with TileAS' own text.
    """

    name = "propagate-execution-unit"

    DESCRIPTION: ClassVar[str] = "propagate the numWarps for each agent"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found: dict[Operation, int] = {}
        for switch in _switches(op):
            for region, warps in zip(switch.bodies, warps_of_groups(switch), strict=True):
                for inner in region.walk():
                    _collect(inner, warps, found)
        for marked, warps in found.items():
            marked.attributes[NUM_WARPS] = IntegerAttr(warps, i32)


def _collect(op: Operation, warps: int, found: dict[Operation, int]) -> None:
    """Note what runs with `warps` warps: `op` itself, or the function that it calls, with all in it."""
    stack = [op]
    while stack:
        current = stack.pop()
        is_function = FunctionOpInterface.of(current) is not None
        if not is_function and not isinstance(current, scf.ForOp | scf.IfOp):
            callee = _callee(current)
            stack += [] if callee is None else [callee]
            continue
        is_new = current not in found
        if found.setdefault(current, warps) != warps:
            refuse(current, INCONSISTENT, "call it in agents of one size, or a copy for each", verbatim=True)
        if is_function and is_new:
            # Once: functions may call each other in a circle.
            stack += [inner for inner in current.walk() if inner is not current]


def _callee(op: Operation) -> Operation | None:
    call = CallOpInterface.of(op)
    return None if call is None or not call.callee_name else SymbolTable.lookup_symbol(op, call.callee_name)


@dataclass(frozen=True)
class OptimizeExecutionUnitMappingPass(ModulePass):
    """
    Give each agent its warps.

    Rewrites
        `num_warps`, `warp_id` and `agent_strides` of every `agent_switch`, an entry an agent, in the order of the
        regions. An agent begins at a multiple of its warps; the last stride goes to a multiple of four. Agents lie in
        the order of the regions, or the one with the most warps first where that leaves out holes.

    Requires
        Verified IR. Agents of which nothing says how many warps they have get four. Running it again changes nothing.

    Refuses
        Agents that take more warps than the launch has, with TileAS' own text, and the two numbers.
    """

    name = "optimize-execution-unit-mapping"

    DESCRIPTION: ClassVar[str] = "Optimize the numWarps and warpId alignment for each agent"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        planned = [(switch, _agents(switch)) for switch in _switches(op)]
        for switch, agents in planned:
            if (total := block_warps(agents)) > (most := warp_budget(switch)):
                way_out = f"the agents take {total} of {most} warps, holes between them included; give them fewer"
                refuse(switch, TOO_MANY, way_out, verbatim=True)
        for switch, agents in planned:
            _map(switch, agents)


def _switches(module: ModuleOp) -> list[AgentSwitchOp]:
    return [op for op in module.walk() if isinstance(op, AgentSwitchOp)]


def warps_of_groups(switch: AgentSwitchOp) -> list[int]:
    """The warps of an agent of each group; four where nothing says."""
    return [max(warps) if max(warps) != INHERIT else WARP_GROUP for warps in switch.warps_per_group()]


def _agents(switch: AgentSwitchOp) -> list[int]:
    groups = zip(warps_of_groups(switch), switch.group_sizes, strict=True)
    return [warps for warps, size in groups for _ in range(size)]


def _map(switch: AgentSwitchOp, agents: Sequence[int]) -> None:
    starts = first_warps(agents)
    strides = [_next(start, starts, block_warps(agents)) - start for start in starts]
    switch.num_warps = DenseArrayBase.from_list(i32, list(agents))
    switch.warp_id = DenseArrayBase.from_list(i32, starts)
    switch.agent_strides = DenseArrayBase.from_list(i32, strides)


def _next(start: int, starts: Sequence[int], end: int) -> int:
    """Where the agent behind the one at `start` begins; `end` behind the last."""
    return min((other for other in starts if other > start), default=end)
