"""
Loops, branches and agents around pipelines: they hand on numbers where they handed on iterators and tokens.

    scf.for .. iter_args(%it = %it0)           scf.for .. iter_args(%slot = %c0, %parity = %c0)
    agent_switch %p, %c {max_regs = ..}   ->   agent_switch { nvvm.setmaxregister  decrease 40; .. }, ..

Agents stay agents, since tiles are theirs: `convert-nv-tileas-to-llvm` makes them branches on the number of the warp.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from tileas_xdsl.analysis.threads.filling import is_by_tma
from tileas_xdsl.analysis.threads.products import is_in_tensor_memory
from tileas_xdsl.analysis.threads.registers import INHERITED
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nvvm.attributes import SetMaxRegisterAction
from tileas_xdsl.dialects.nvvm.registers import SetMaxRegisterOp, ThreadIdXOp
from tileas_xdsl.transforms.to_llvm.pipelines.alone import leave_to_first
from tileas_xdsl.transforms.to_llvm.pipelines.state import PipelineCode, rule
from tileas_xdsl.transforms.to_llvm.warps import warps_of_agents


@rule(scf.ForOp, scf.WhileOp, scf.IfOp, scf.ConditionOp, scf.YieldOp)
def _structure(op: Operation, code: PipelineCode) -> None:
    code.rebuild(op, op.attributes)


# Agents ---------------------------------------------------------------------------------------------------------------


@rule(AgentSwitchOp)
def _switch(op: AgentSwitchOp, code: PipelineCode) -> None:
    budgets = [INHERITED] * len(op.bodies) if op.max_regs is None else list(op.max_regs.get_values())
    outside = code.warps, code.first
    bodies: list[Region] = []
    for region, warps, budget in zip(op.bodies, warps_of_agents(op), budgets, strict=True):
        if op.is_isolated:
            code.bind(region.block.args, code.all_parts(op.arguments))
        block = Block()
        with code.inside(block):
            _take_registers(code, int(budget))
            code.warps = warps
            code.first = first_of(code) if _one_thread_acts(region) else None
            code.lower_body(region.block)
        if code.first is not None:
            leave_to_first(block, code.first)
        bodies.append(Region(block))
    code.warps, code.first = outside
    made = AgentSwitchOp([], bodies, op.group_sizes)
    made.properties |= {name: op.properties[name] for name in ("num_warps", "warp_id") if name in op.properties}
    made.attributes |= op.attributes
    made.location = op.location
    code.insert(made)


def _take_registers(code: PipelineCode, budget: int) -> None:
    """An agent that keeps its number says so, too: for the assembler whole warpgroups take the branch then."""
    if code.registers is None or budget == INHERITED:
        return
    action = SetMaxRegisterAction.DECREASE if budget < code.registers else SetMaxRegisterAction.INCREASE
    code.insert(SetMaxRegisterOp(action, budget))


def _one_thread_acts(region: Region) -> bool:
    return any(is_by_tma(op) or (isinstance(op, AsyncDotOp) and is_in_tensor_memory(op)) for op in region.walk())


def first_of(code: PipelineCode) -> SSAValue:
    """Whether this thread is the first of those that run what is built now, i1."""
    thread = code.result(ThreadIdXOp())
    first = code.compare(thread, "eq", code.warps.first_thread)
    thread.name_hint, first.name_hint = "thread", "is_first"
    return first
