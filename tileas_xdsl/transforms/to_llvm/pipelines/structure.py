"""
Loops, branches and agents around pipelines: they hand on numbers where they handed on iterators and tokens.

    scf.for .. iter_args(%it = %it0)           scf.for .. iter_args(%slot = %c0, %parity = %c0)
    agent_switch %p, %c {max_regs = ..}   ->   agent_switch { nvvm.setmaxregister  decrease 40; .. }, ..

Agents stay agents, since tiles are theirs: `convert-nv-tileas-to-llvm` makes them branches on the number of the warp.

*Alone.* An agent of which only the first thread does anything leaves its loops to that thread.

    scf.for %k .. {                                scf.if %is_first {
      %slot = ..                                     scf.for %k .. {
      scf.if %is_first {                               %slot = ..
        try_wait; expect_tx; tma_load        ->        try_wait; expect_tx; tma_load
      }                                              }
    }                                              }

A warp whose other lanes come along through the loop has to wait for them at the end of each branch: a product whose
operands TMA brings took 7 percent longer so on an H200.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from tileas_xdsl.analysis.memory.effects import only_computes
from tileas_xdsl.analysis.threads.filling import is_by_tma
from tileas_xdsl.analysis.threads.products import is_in_tensor_memory
from tileas_xdsl.analysis.threads.registers import INHERITED
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nvvm.attributes import SetMaxRegisterAction
from tileas_xdsl.dialects.nvvm.registers import SetMaxRegisterOp, ThreadIdXOp
from tileas_xdsl.transforms.to_llvm.pipelines.state import PipelineCode, rule
from tileas_xdsl.transforms.to_llvm.warps import warps_of_agents


def leave_to_first(block: Block, first: SSAValue) -> None:
    """Let only the first thread run what stands behind `first` in `block`, if no other thread does anything there."""
    assert isinstance(first.owner, Operation)
    rest = list(_behind(first.owner))
    branches = [op for outer in rest for op in outer.walk() if _is_of(op, first)]
    if not branches or not all(_is_idle(op, first) for op in rest):
        return
    body = Block()
    for op in rest:
        op.detach()
        body.add_op(op)
    body.add_op(scf.YieldOp())
    block.add_op(scf.IfOp(first, [], Region(body)))
    for branch in branches:
        _inlined(branch)


def _behind(op: Operation) -> Iterator[Operation]:
    while (following := op.next_op) is not None:
        yield following
        op = following


def _is_of(op: Operation, first: SSAValue) -> TypeGuard[scf.IfOp]:
    """Whether an op is a branch of the first thread."""
    return isinstance(op, scf.IfOp) and op.cond is first and not op.results and not op.false_region.blocks


def _is_idle(op: Operation, first: SSAValue) -> bool:
    """Whether threads other than the first do nothing in an op but to count."""
    if _is_of(op, first) or op.has_trait(IsTerminator):
        return True
    if isinstance(op, scf.ForOp | scf.IfOp | scf.WhileOp):
        return all(_is_idle(inner, first) for region in op.regions for block in region.blocks for inner in block.ops)
    return only_computes(op)


def _inlined(branch: scf.IfOp) -> None:
    """The ops of a branch that is always taken, in its place."""
    block = branch.true_region.block
    assert block.last_op is not None
    Rewriter.erase_op(block.last_op)
    Rewriter.inline_block(block, InsertPoint.before(branch))
    Rewriter.erase_op(branch)


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
