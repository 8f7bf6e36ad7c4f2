"""
Agents as warps: whoever is in the range of an agent runs its region.

    agent_switch {num_warps = [4, 4], warp_id = [0, 4]} {A}, {B}    ->    if warp < 4: A
                                                                          if warp >= 4 and warp < 8: B
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from tileas_xdsl.analysis.value_flow import captures_of
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nvvm.registers import SetMaxRegisterOp
from tileas_xdsl.layouts.distributed import WARP_SIZE
from tileas_xdsl.transforms.to_llvm.tiles.state import Team, Threads, refusal, rule
from tileas_xdsl.transforms.to_llvm.warps import Warps, warps_of_agents


@rule(AgentSwitchOp)
def _switch(op: AgentSwitchOp, threads: Threads) -> None:
    for region, warps in zip(op.bodies, warps_of_agents(op), strict=True):
        if op.is_isolated:
            for place, argument in captures_of(op, region):
                threads.forms[argument] = threads.forms[op.operands[place]]
        body = Block()
        with threads.inside(body):
            ops = list(region.block.ops)
            if ops and isinstance(ops[0], SetMaxRegisterOp):
                # The numbers that threads compute ahead come behind it: with fewer registers they may not fit.
                threads.lower(ops.pop(0))
            _run(ops, warps, threads)
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


def _run(ops: Sequence[Operation], warps: Warps, threads: Threads) -> None:
    """The code of an agent, whose threads count themselves from 0."""
    block = threads.team
    warp, thread = block.warp, block.thread
    if warps.first:
        warp = threads.compute(arith.SubiOp, warp, warps.first)
        thread = threads.compute(arith.SubiOp, thread, warps.first * WARP_SIZE)
    anchor = threads.insert(arith.ConstantOp.from_int_and_width(0, i32))
    threads.team = Team(warps, block.lane, warp, thread, anchor)
    for op in ops:
        threads.lower(op)
    threads.team = block
    Rewriter.erase_op(anchor)


# Refusals -------------------------------------------------------------------------------------------------------------


@refusal(AgentSwitchOp)
def _moves_registers(op: AgentSwitchOp) -> tuple[str, str] | None:
    if op.max_regs is None:
        return None
    return "gives its agents registers, and no op of theirs takes them", "run convert-pipeline-to-nvvm before"
