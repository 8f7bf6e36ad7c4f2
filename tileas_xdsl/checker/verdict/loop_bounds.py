"""
What loop bounds and branches are computed from: integer arguments, and extents of arrays that the types leave open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import arith, llvm, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, ShapedType, i1
from xdsl.ir import BlockArgument, Operation, Region, SSAValue, Use

from tileas_xdsl.analysis.memory.tail_guards import is_tail_guard
from tileas_xdsl.analysis.value_flow import names_behind
from tileas_xdsl.checker.verdict.loop_lengths import called_function
from tileas_xdsl.checker.verdict.steering import steers
from tileas_xdsl.dialects.nv_tileas import MASKED
from tileas_xdsl.interfaces import LoopLikeOpInterface
from tileas_xdsl.machine.arguments import argument_at, argument_names, is_integer_scalar
from tileas_xdsl.machine.core.meaning import facts_of
from tileas_xdsl.machine.core.op_facts import Tells


def bounding_arguments(body: Region) -> list[str]:
    """Names of the integer arguments from which a loop bound or a branch is computed, in order."""
    block = body.first_block
    assert block is not None
    return [
        name
        for name, argument in zip(argument_names(body), block.args, strict=True)
        if is_integer_scalar(argument.type) and _decides_control(argument)
    ]


def masking_arguments(body: Region) -> list[str]:
    """Names of those of them that decide nothing but which elements of tiles are accessed, in order."""
    return [
        name
        for name in bounding_arguments(body)
        if all(MASKED in use.operation.attributes for use in deciding_uses(argument_at(body, name)))
    ]


def switching_arguments(body: Region) -> list[str]:
    """Names of the arguments of one bit that decide what runs, or whether an op of Triton's does anything, in order."""
    block = body.first_block
    assert block is not None
    return [
        name
        for name, argument in zip(argument_names(body), block.args, strict=True)
        if argument.type == i1 and (_decides_control(argument) or steers(argument))
    ]


def arguments_behind(body: Region, op: Operation, operand: int) -> list[str]:
    """Names of the integer arguments from which operand number `operand` of `op` is computed, in order."""
    block = body.first_block
    assert block is not None
    return [
        name
        for name, argument in zip(argument_names(body), block.args, strict=True)
        if any(use.operation is op and use.index == operand for use in _reached_uses(argument))
    ]


def _is_passed_to_a_call(value: SSAValue) -> bool:
    return any(facts_of(use.operation).calls for use in value.uses)


def bounds_loops_by_an_extent(op: Operation) -> bool:
    """Whether a loop bound or a branch comes from an extent that `op` tells and that the types leave open."""
    if facts_of(op).tells is not Tells.EXTENTS or not any(
        _decides_control(r) or _is_passed_to_a_call(r) for r in op.results
    ):
        return False
    kind = op.operands[0].type
    return not isinstance(kind, ShapedType) or DYNAMIC_INDEX in kind.get_shape()


def made_up_extent(function: Operation) -> Operation | None:
    """The first op around `function`, in it or in what it may call, that tells an open extent which bounds a loop."""
    return next((op for op in function.get_toplevel_object().walk() if bounds_loops_by_an_extent(op)), None)


def has_loops_as_long_as_others(body: Region) -> bool:
    """Whether some loop turns as often as the induction variable of another one says."""
    loops = (op for op in body.walk() if isinstance(op, scf.ForOp))
    return any(
        isinstance(loop.ub, BlockArgument) and loop.ub.index == 0 and isinstance(loop.ub.block.parent_op(), scf.ForOp)
        for loop in loops
    )


def deciding_uses(value: SSAValue) -> Iterator[Use]:
    """The uses that decide what runs, of `value` and of all that is computed from it."""
    return (use for use in _reached_uses(value) if use.index < facts_of(use.operation).deciding)


def _decides_control(argument: SSAValue) -> bool:
    return any(True for _ in deciding_uses(argument))


def _reached_uses(argument: SSAValue) -> Iterator[Use]:
    """The uses of `argument`, and of all that is computed from it."""
    stack, seen = [argument], {argument}
    while stack:
        for use in stack.pop().uses:
            yield use
            for value in _flows_to(use):
                if value not in seen:
                    seen.add(value)
                    stack.append(value)


def _flows_to(use: Use) -> Sequence[SSAValue]:
    """The values that the used value may reach: results, and the block arguments that receive it."""
    op, index = use.operation, use.index
    if isinstance(op, arith.CmpiOp) and is_tail_guard(op):
        return []
    carried = names_behind(use)
    if carried is not None:
        return carried
    values: list[SSAValue] = [*op.results, *_given_to_a_block(op, index)]
    callee = called_function(op)
    if callee is not None:
        values.extend(callee.blocks[0].args[index : index + 1])
    loop = LoopLikeOpInterface.of(op)
    if loop is not None:
        values.extend(loop.carried_arguments)
    return values


def _given_to_a_block(op: Operation, index: int) -> Sequence[BlockArgument]:
    """The argument of another block that operand `index` of a branch of `llvm` is given to."""
    match op:
        case llvm.BrOp():
            return op.successor.args[index : index + 1]
        case llvm.CondBrOp() if index:
            split = 1 + len(op.then_arguments)
            block, place = (op.then_block, index - 1) if index < split else (op.else_block, index - split)
            return block.args[place : place + 1]
        case _:
            return ()
