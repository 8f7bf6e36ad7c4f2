"""
Control: loops and branches become blocks.

    scf.for %i = %lb to %ub step %s               br ^test(%lb, %init)
        iter_args(%a = %init) {                   ^test(%i, %a): cond_br %i < %ub, ^body, ^behind
      ...                                  ->     ^body: ...; br ^test(%i + %s, %b)
      scf.yield %b }                              ^behind: ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.dialects import cf, func, llvm, scf
from xdsl.dialects.builtin import IntegerAttr, SymbolRefAttr
from xdsl.ir import Block, Operation, SSAValue

from tileas_xdsl.transforms.to_llvm.lowering.state import RULES, Lowering, refusal, rule
from tileas_xdsl.transforms.to_llvm.lowering.threads import copied
from tileas_xdsl.transforms.to_llvm.lowering.types import types_for


def lower_ops(block: Block, low: Lowering) -> None:
    """Lower the ops of a block, up to the one that hands over control where that is not lowered by itself."""
    for op in block.ops:
        lower_op(op, low)


def lower_op(op: Operation, low: Lowering) -> None:
    """Lower one op by its rule; ops of `nvvm` and `llvm` stay."""
    with low.standing_for(op):
        RULES.get(type(op), copied)(op, low)


# Blocks ---------------------------------------------------------------------------------------------------------------


def lower_blocks(blocks: Sequence[Block], low: Lowering) -> None:
    """
    Lower the blocks of a body, each before those that it leads to: what a block uses has been lowered then. Blocks that
    nothing leads to go.
    """
    first, *rest = _in_order(blocks[0])
    low.blocks[first] = low.block
    for block in rest:
        found = low.new_block(low.all_types(block.args))
        low.blocks[block] = found
        low.bind(block.args, found.args)
    for block in (first, *rest):
        low.block = low.blocks[block]
        lower_ops(block, low)


def _in_order(first: Block) -> list[Block]:
    """Reverse postorder."""
    done: list[Block] = []
    seen = {first}
    stack: list[tuple[Block, Iterator[Block]]] = [(first, _successors(first))]
    while stack:
        block, following = stack[-1]
        successor = next((each for each in following if each not in seen), None)
        if successor is None:
            done.append(block)
            stack.pop()
        else:
            seen.add(successor)
            stack.append((successor, _successors(successor)))
    return done[::-1]


def _successors(block: Block) -> Iterator[Block]:
    return iter(block.last_op.successors if block.last_op is not None else ())


@rule(cf.BranchOp)
def _branch(op: cf.BranchOp, low: Lowering) -> None:
    low.insert(llvm.BrOp(low.blocks[op.successor], *low.all_parts(op.arguments)))


@rule(cf.ConditionalBranchOp)
def _conditional_branch(op: cf.ConditionalBranchOp, low: Lowering) -> None:
    then, otherwise = low.blocks[op.then_block], low.blocks[op.else_block]
    condition = low.of(op.cond)
    _conditionally(low, condition, then, low.all_parts(op.then_arguments), otherwise, low.all_parts(op.else_arguments))


def _conditionally(
    low: Lowering, condition: SSAValue, then: Block, given: list[SSAValue], otherwise: Block, other: list[SSAValue]
) -> None:
    low.insert(llvm.CondBrOp(condition, then, given, otherwise, other))


# Structures -----------------------------------------------------------------------------------------------------------


@rule(scf.IfOp)
def _if(op: scf.IfOp, low: Lowering) -> None:
    behind = Block(arg_types=low.all_types(op.results))
    then = low.new_block()
    has_else = bool(op.false_region.blocks)
    otherwise = low.new_block() if has_else else behind
    _conditionally(low, low.of(op.cond), then, [], otherwise, [])
    _branch_of_if(op.true_region.block, then, behind, low)
    if has_else:
        _branch_of_if(op.false_region.block, otherwise, behind, low)
    _go_on(op.results, behind, low)


def _branch_of_if(body: Block, block: Block, behind: Block, low: Lowering) -> None:
    low.block = block
    lower_ops(body, low)
    low.insert(llvm.BrOp(behind, *low.all_parts(_handed_over(body))))


def _handed_over(body: Block) -> Sequence[SSAValue]:
    last = body.last_op
    return last.operands if isinstance(last, scf.YieldOp) else ()


def _go_on(results: Sequence[SSAValue], behind: Block, low: Lowering) -> None:
    """What follows stands in the block behind; that one comes last in the text."""
    low.region.add_block(behind)
    low.block = behind
    low.bind(results, behind.args)


@rule(scf.ForOp)
def _for(op: scf.ForOp, low: Lowering) -> None:
    test = low.new_block([*low.all_types([op.lb]), *low.all_types(op.iter_args)])
    body = low.new_block()
    behind = Block()
    upper, step = low.of(op.ub), low.of(op.step)
    low.insert(llvm.BrOp(test, low.of(op.lb), *low.all_parts(op.iter_args)))
    low.block = test
    low.bind(op.body.block.args, test.args)
    counter = test.args[0]
    word = llvm.ICmpPredicateFlag.ULT if "unsignedCmp" in op.properties else llvm.ICmpPredicateFlag.SLT
    goes_on = low.result(llvm.ICmpOp(counter, upper, IntegerAttr(word.to_int(), 64)))
    _conditionally(low, goes_on, body, [], behind, [])
    low.block = body
    lower_ops(op.body.block, low)
    following = low.result(llvm.AddOp(counter, step))
    low.insert(llvm.BrOp(test, following, *low.all_parts(_handed_over(op.body.block))))
    low.region.add_block(behind)
    low.block = behind
    low.bind(op.results, test.args[1:])


@rule(scf.WhileOp)
def _while(op: scf.WhileOp, low: Lowering) -> None:
    before, after = op.before_region.block, op.after_region.block
    test = low.new_block(low.all_types(before.args))
    body = low.new_block(low.all_types(after.args))
    behind = Block(arg_types=low.all_types(op.results))
    low.insert(llvm.BrOp(test, *low.all_parts(op.arguments)))
    low.block = test
    low.bind(before.args, test.args)
    lower_ops(before, low)
    condition = cast(scf.ConditionOp, before.last_op)
    values = low.all_parts(condition.args)
    _conditionally(low, low.of(condition.condition), body, values, behind, values)
    low.block = body
    low.bind(after.args, body.args)
    lower_ops(after, low)
    low.insert(llvm.BrOp(test, *low.all_parts(_handed_over(after))))
    _go_on(op.results, behind, low)


@rule(scf.YieldOp, scf.ConditionOp)
def _handed_over_by_its_parent(_op: Operation, _low: Lowering) -> None:
    """Whoever runs the block takes the operands."""


@refusal(scf.IfOp, scf.ForOp, scf.WhileOp)
def _bodies_of_many_blocks(op: Operation) -> tuple[str, str] | None:
    if all(len(region.blocks) <= 1 for region in op.regions):
        return None
    return "has a body of several blocks", "give it one, or none of them a body"


# Functions ------------------------------------------------------------------------------------------------------------


@rule(func.ReturnOp)
def _return(op: func.ReturnOp, low: Lowering) -> None:
    low.insert(llvm.ReturnOp(*low.all_parts(op.arguments)))


@rule(func.CallOp)
def _call(op: func.CallOp, low: Lowering) -> None:
    types = low.all_types(op.res)
    callee = SymbolRefAttr(op.callee.root_reference.data)
    call = llvm.CallOp(callee, *low.all_parts(op.arguments), return_type=next(iter(types), None))
    low.insert(call)
    low.bind(op.res, call.results)


@refusal(func.CallOp, func.ReturnOp)
def _several_results(op: Operation) -> tuple[str, str] | None:
    handed = op.operands if isinstance(op, func.ReturnOp) else op.results
    if len([kind for value in handed for kind in types_for(value.type) or ()]) <= 1:
        return None
    return "hands over more than one number", "hand over one, or write the others to memory"
