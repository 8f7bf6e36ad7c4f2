"""
The warps that run a function or an agent of it, and what of agents cannot be lowered to warps.

    func.func @f() attributes {nvvm.reqntid = array<i32: 256, 1, 1>}   warps 0 to 7
    agent_switch {num_warps = [4, 4], warp_id = [0, 4]}                agent 0: warps 0 to 3; agent 1: warps 4 to 7

A layout counts the warps of its agent from 0. Threads of an agent meet at a named barrier of their own: barrier 0 is
the block's (PTX ISA, "bar, barrier": a CTA has the barriers 0 to 15).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import func, scf
from xdsl.ir import Operation

from tileas_xdsl.analysis.thread_blocks import block_shape_of
from tileas_xdsl.analysis.threads.registers import (
    FEWEST,
    INHERITED,
    MOST,
    MOVED_BY,
    is_taken,
    launch_of,
)
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.tiles.functions import KernelFunction
from tileas_xdsl.interfaces import AgentLikeOpInterface
from tileas_xdsl.layouts.distributed import WARP_SIZE, WARPGROUP
from tileas_xdsl.targets.chips import Feature, can

THREADS = "nvvm.reqntid"
"""The attribute that says the extents of a function's blocks."""
BARRIERS = 16
"""Named barriers of a block."""


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
    def first_thread(self) -> int:
        """The number in the block of their first thread."""
        return self.first * WARP_SIZE

    @property
    def are_groups(self) -> bool:
        """Whether they are whole warpgroups."""
        return self.first % WARPGROUP == 0 and self.count % WARPGROUP == 0


def warps_of_kernel(function: func.FuncOp) -> Warps:
    """The warps of a block, as the function says. Raises `RefusedError` where it does not, or says too few."""
    shape = block_shape_of(function)
    if shape is None:
        before = "run convert-nv-tile-func-to-llvm before"
        refuse(function, f"does not say by {THREADS} how many threads run it", before)
    if shape[1:] != (1, 1) or prod(shape) % WARP_SIZE:
        refuse(function, f"is run by blocks of {shape} threads", "give it whole warps in a row")
    warps, switch = Warps(0, shape[0] // WARP_SIZE), switch_in(function)
    if switch is not None and warps_of_block(switch).count > warps.count:
        words = f"is run by blocks of {shape[0]} threads, and its agents have {warps_of_block(switch).threads}"
        refuse(function, words, f"leave {THREADS} to convert-nv-tile-func-to-llvm")
    return warps


# Agents ---------------------------------------------------------------------------------------------------------------


def switch_in(function: KernelFunction) -> AgentSwitchOp | None:
    """The op that gives the agents of a function warps; None where there are no agents."""
    return next((op for op in function.body.walk() if isinstance(op, AgentSwitchOp)), None)


def warps_of_agents(op: AgentSwitchOp) -> list[Warps]:
    """The warps of each region."""
    assert op.warp_id is not None
    assert op.num_warps is not None
    numbers = zip(op.warp_id.get_values(), op.num_warps.get_values(), strict=True)
    return [Warps(int(first), int(count), number + 1) for number, (first, count) in enumerate(numbers)]


def groups_of_agents(op: AgentSwitchOp) -> list[Sequence[Warps]]:
    """The warpgroups of each region with barriers of their own; none where there is one, or too few barriers."""
    agents = warps_of_agents(op)
    found: list[Sequence[Warps]] = []
    number = len(agents) + 1
    for warps in agents:
        count = warps.count // WARPGROUP if warps.are_groups and warps.count > WARPGROUP else 0
        count = count if number + count <= BARRIERS else 0
        found.append([Warps(warps.first + each * WARPGROUP, WARPGROUP, number + each) for each in range(count)])
        number += count
    return found


def warps_of_block(op: AgentSwitchOp) -> Warps:
    """All warps: those between agents, and behind the last one up to a whole group, have nothing to do."""
    last = max(warps.first + warps.count for warps in warps_of_agents(op))
    return Warps(0, -(-last // WARPGROUP) * WARPGROUP)


def starting_registers(function: KernelFunction, capability: int, blocks: int = 1) -> int | None:
    """
    Registers of each thread before agents take their own; None where they keep what they have.

    Where the function does not say it, these are as many as one of the agents takes, up to an even share of the
    multiprocessor that holds `blocks` blocks. Raises `RefusedError` where the agents take more together: they would
    wait for registers that nobody gives.
    """
    op = switch_in(function)
    if op is None or op.max_regs is None or not can(capability, Feature.SETMAXNREG):
        return None
    registers, agents = [int(count) for count in op.max_regs.get_values()], warps_of_agents(op)
    block = warps_of_block(op)
    if INHERITED in registers or not all(warps.are_groups for warps in agents):
        return None
    if sum(warps.count for warps in agents) != block.count:
        return None
    launch = launch_of(function, block.threads, blocks)
    started = launch.each if launch.is_stated else min(launch.each, max(registers))
    mean = sum(count * warps.count for count, warps in zip(registers, agents, strict=True)) / block.count
    if mean > started:
        words = f"starts with {started} registers a thread, and its agents take {mean:g} on the average"
        refuse(function, words, "give the agents fewer by max_regs")
    return started


# Refusals -------------------------------------------------------------------------------------------------------------


def refuse_agents(function: KernelFunction) -> None:
    """Raises `RefusedError` on the first op that forks agents which cannot be warps of their own."""
    for op in function.body.walk():
        if isinstance(op, AgentSwitchOp):
            problem = problem_of_agents(op)
            if problem is not None:
                refuse(op, *problem)
        elif AgentLikeOpInterface.of(op) is not None:
            refuse(op, "forks agents that have no warps", "run the driver with pipeline-strategy=warp-specialize")


def problem_of_agents(op: AgentSwitchOp) -> tuple[str, str] | None:
    """Why the agents that an op forks cannot be warps, and the way out; None where they can."""
    if op.warp_id is None or op.num_warps is None:
        return "does not say which warps its agents are", "run optimize-execution-unit-mapping before"
    if any(size != 1 for size in op.group_sizes):
        return "lets several agents run one region", "give each agent a region of its own"
    wrong = [int(count) for count in (op.max_regs.get_values() if op.max_regs else ()) if not is_taken(int(count))]
    if wrong:
        return (
            f"gives an agent {wrong[0]} registers a thread",
            f"give it a multiple of {MOVED_BY} from {FEWEST} to {MOST}, or {INHERITED}",
        )
    if isinstance(op.parent_op(), scf.ForOp | scf.IfOp | AgentSwitchOp):
        return "stands in a loop, a branch or an agent", "let the function fork its agents once"
    if len(op.bodies) >= BARRIERS:
        return f"has {len(op.bodies)} agents, and barriers for {BARRIERS - 1}", "use fewer agents"
    if _others_of(op):
        return "is not the only one of its function", "fork all agents at once"
    return None


def _others_of(op: AgentSwitchOp) -> Sequence[Operation]:
    block = op.parent_block()
    if block is None:
        return []
    return [other for other in block.walk() if isinstance(other, AgentSwitchOp) and other is not op]
