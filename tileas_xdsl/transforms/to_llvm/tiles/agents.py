"""
Agents as warps: whoever is in the range of an agent runs its region.

    agent_switch {num_warps = [4, 4], warp_id = [0, 4]} {A}, {B}    ->    if warp < 4: A
                                                                          if warp >= 4 and warp < 8: B

Registers go from one agent to another where the target moves them (PTX ISA, "setmaxnreg") and each agent is whole
warpgroups: `max_regs = [40, 232]` lowers those of A and raises those of B. The kernel starts with the mean, so all fit.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nvvm.attributes import SetMaxRegisterAction
from tileas_xdsl.dialects.nvvm.registers import SetMaxRegisterOp
from tileas_xdsl.layouts.distributed import WARP_SIZE
from tileas_xdsl.transforms.to_llvm.tiles.control import lower_body
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads, refusal, rule
from tileas_xdsl.transforms.to_llvm.tiles.teams import BARRIERS, Team, Warps, warps_of_agents, warps_of_block

FIRST_TO_MOVE_REGISTERS = 90
"""The first compute capability with `setmaxnreg`."""
MOVED_BY = 8
"""Numbers of registers that `setmaxnreg` takes are multiples of it."""
FEWEST, MOST = 24, 256
"""Of these numbers."""
INHERITED = -1
"""In `max_regs`: the agent keeps what the kernel starts with, so nothing is moved."""


def starting_registers(op: AgentSwitchOp, capability: int) -> int | None:
    """Registers of each thread before agents take their own; None where they keep what they have."""
    if op.max_regs is None or capability < FIRST_TO_MOVE_REGISTERS:
        return None
    registers, agents = [int(count) for count in op.max_regs.get_values()], warps_of_agents(op)
    if INHERITED in registers or len(set(registers)) == 1 or not all(warps.are_groups for warps in agents):
        return None
    if sum(warps.count for warps in agents) != warps_of_block(op).count:
        return None
    total = sum(count * warps.count for count, warps in zip(registers, agents, strict=True))
    return total // warps_of_block(op).count // MOVED_BY * MOVED_BY


@rule(AgentSwitchOp)
def _switch(op: AgentSwitchOp, threads: Threads) -> None:
    start = starting_registers(op, threads.capability)
    budgets = [None] * len(op.bodies) if op.max_regs is None else op.max_regs.get_values()
    for region, warps, budget in zip(op.bodies, warps_of_agents(op), budgets, strict=True):
        if op.is_isolated:
            for argument, given in zip(region.block.args, op.arguments, strict=True):
                threads.lowered[argument] = threads.lowered[given]
        body = Block()
        with threads.inside(body):
            if start is not None and budget is not None:
                _take_registers(threads, start, int(budget))
            _run(region, warps, threads)
            threads.insert(scf.YieldOp())
        threads.insert(scf.IfOp(_is_in(threads, warps), [], Region(body)))


def _is_in(threads: Threads, warps: Warps) -> SSAValue:
    """Whether this thread's warp is one of `warps`."""
    bounds: list[SSAValue] = []
    if warps.first:
        bounds.append(threads.compare(threads.warp, "uge", warps.first))
    if warps.first + warps.count < threads.warps or not bounds:
        bounds.append(threads.compare(threads.warp, "ult", warps.first + warps.count))
    return bounds[0] if len(bounds) == 1 else threads.compute(arith.AndIOp, bounds[0], bounds[1])


def _take_registers(threads: Threads, start: int, budget: int) -> None:
    if budget == start:
        return
    action = SetMaxRegisterAction.INCREASE if budget > start else SetMaxRegisterAction.DECREASE
    threads.insert(SetMaxRegisterOp(action, budget))


def _run(region: Region, warps: Warps, threads: Threads) -> None:
    """The code of an agent, whose threads count themselves from 0."""
    block = threads.team
    warp, thread = block.warp, block.thread
    if warps.first:
        warp = threads.compute(arith.SubiOp, warp, warps.first)
        thread = threads.compute(arith.SubiOp, thread, warps.first * WARP_SIZE)
    anchor = threads.insert(arith.ConstantOp.from_int_and_width(0, i32))
    threads.team = Team(warps, block.lane, warp, thread, anchor)
    lower_body(region.block, threads)
    threads.team = block
    Rewriter.erase_op(anchor)


# Refusals -------------------------------------------------------------------------------------------------------------


@refusal(AgentSwitchOp)
def _agents_without_warps(op: AgentSwitchOp) -> tuple[str, str] | None:
    if op.warp_id is None or op.num_warps is None:
        return "does not say which warps its agents are", "run optimize-execution-unit-mapping before"
    if any(size != 1 for size in op.group_sizes):
        return "lets several agents run one region", "give each agent a region of its own"
    wrong = [int(count) for count in (op.max_regs.get_values() if op.max_regs else ()) if not _is_taken(int(count))]
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


def _is_taken(registers: int) -> bool:
    """Whether a number of registers is one that agents may have."""
    return registers == INHERITED or (FEWEST <= registers <= MOST and registers % MOVED_BY == 0)


def _others_of(op: AgentSwitchOp) -> Sequence[Operation]:
    block = op.parent_block()
    return (
        []
        if block is None
        else [other for other in block.walk() if isinstance(other, AgentSwitchOp) and other is not op]
    )
