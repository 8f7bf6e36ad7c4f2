"""
Values of structured control flow, removed and added. Removed: a loop no longer carries them, a branch no longer yields
them.

    %r:2 = scf.for %i = ... iter_args(%t = %0, %x = %1) -> (token, f32) {        %r = scf.for ... iter_args(%x = %1)
      ...                                                                   ->     ...
      scf.yield %u, %y : token, f32                                                scf.yield %y : f32
    }                                                                            }

Added: what used to be a variable becomes one more result. Enters an op of `scf` and the values that a rewrite keeps
track of in front of it; leaves the op rebuilt, with one more result for each value, and IR in its blocks that hands
them on:

    scf.for %i = ... { }      ->   %r = scf.for %i = ... iter_args(%a = %entering) -> (T) { ... scf.yield %leaving }
    scf.if %c { }             ->   %r = scf.if %c -> (T) { ... scf.yield %leaving } else { ... scf.yield %leaving }

The rewrite says what happens in a block: given the values that enter it, it returns those that leave.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, cf, scf
from xdsl.ir import Attribute, Block, Operation, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.value_flow import carried_to, yielding
from tileas_xdsl.interfaces import end_of

Body = Callable[[Block, Sequence[SSAValue]], Sequence[SSAValue]]
"""Rewrites a block of the op: values that enter -> values that leave, defined in front of the terminator."""


Names = str | Sequence[str | None] | None
"""Name hints of new arguments and results: one for all, one for each, or none."""


def loop_over(first: SSAValue, end: SSAValue, step: SSAValue, ops: Sequence[Operation]) -> scf.ForOp:
    """A counted loop that carries nothing, with `ops` for its body, which leave their block; it stands nowhere yet."""
    for op in ops:
        op.detach()
    return scf.ForOp(first, end, step, [], ending(ops, arg_types=[first.type]))


def ending(ops: Sequence[Operation] = (), *values: SSAValue, arg_types: Sequence[Attribute] = ()) -> Block:
    """A body of structured control flow: `ops`, and behind them what hands `values` to the op around."""
    return Block([*ops, yielding(values)], arg_types=arg_types)


def carry_through(op: Operation, entering: Sequence[SSAValue], body: Body, names: Names = None) -> list[SSAValue]:
    """
    Rebuild `op` (an `scf.for`, `while`, `if`, `index_switch` or `execute_region`) so that it carries values; returns
    what they are behind it.

    Loops enter their first block with `entering`, renamed, and what leaves a block has the types of `entering`; the
    other ops enter each block with `entering` as it is, and all their blocks leave values of the same types.
    """
    if isinstance(op, scf.IfOp) and op.false_region.first_block is None:
        op.false_region.add_block(ending())
    is_loop = isinstance(op, scf.ForOp | scf.WhileOp)
    leaving: Sequence[SSAValue] = entering
    for region in op.regions:
        block = region.block
        leaving = body(block, _arguments(block, leaving, names) if is_loop else entering)
        terminator = end_of(block)
        terminator.operands = [*terminator.operands, *leaving]
    inits = entering if is_loop else ()
    rebuilt = type(op).create(
        operands=[*op.operands, *inits],
        result_types=[*op.result_types, *(value.type for value in leaving)],
        properties=op.properties,
        attributes=op.attributes,
        location=op.location,
        regions=[op.detach_region(region) for region in list(op.regions)],
    )
    _put_in_place(op, rebuilt)
    carried: list[SSAValue] = list(rebuilt.results[len(op.results) :])
    _name(carried, names)
    return carried


def _arguments(block: Block, values: Sequence[SSAValue], names: Names) -> list[SSAValue]:
    """New block arguments that stand for `values`."""
    arguments: list[SSAValue] = [block.insert_arg(value.type, len(block.args)) for value in values]
    _name(arguments, names)
    return arguments


def _name(values: Sequence[SSAValue], names: Names) -> None:
    each = [names] * len(values) if names is None or isinstance(names, str) else names
    for value, name in zip(values, each, strict=True):
        value.name_hint = name


def _put_in_place(op: Operation, rebuilt: Operation) -> None:
    """Replace `op` by `rebuilt`, which has its results first."""
    Rewriter.insert_op(rebuilt, InsertPoint.before(op))
    for old, new in zip(op.results, rebuilt.results, strict=False):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    Rewriter.erase_op(op)


CARRIERS = (scf.ForOp, scf.WhileOp, scf.IfOp, scf.IndexSwitchOp, scf.ExecuteRegionOp)
"""The ops whose results are what their regions yield."""


def remove_values(function: Operation, is_gone: Callable[[SSAValue], bool]) -> None:
    """
    Take the values for which `is_gone` holds out of every op of `function` that carries them.

    What carries them is what `analysis.value_flow` knows. No other op may use such a value any more; one that makes
    one stays, and has no use for it.
    """
    ops = [op for op in function.walk() if op is not function]
    for op in ops:
        _drop_operands(op, is_gone)
    for op in reversed(ops):
        if isinstance(op, arith.SelectOp) and is_gone(op.result):
            Rewriter.erase_op(op)
        elif isinstance(op, CARRIERS) and any(map(is_gone, op.results)):
            _drop_results(op, is_gone)
    for op in function.walk():
        for region in op.regions:
            for block in region.blocks:
                for argument in [argument for argument in block.args if is_gone(argument)]:
                    block.erase_arg(argument)


def _drop_operands(op: Operation, is_gone: Callable[[SSAValue], bool]) -> None:
    carried = [is_gone(operand) and carried_to(Use(op, index)) is not None for index, operand in enumerate(op.operands)]
    if not any(carried) or isinstance(op, arith.SelectOp):
        return
    if isinstance(op, cf.ConditionalBranchOp):
        then_arguments = [value for value in op.then_arguments if not is_gone(value)]
        else_arguments = [value for value in op.else_arguments if not is_gone(value)]
        branch = cf.ConditionalBranchOp(op.cond, op.then_block, then_arguments, op.else_block, else_arguments)
        Rewriter.replace_op(op, branch)
        return
    op.operands = [operand for operand, gone in zip(op.operands, carried, strict=True) if not gone]


def _drop_results(op: Operation, is_gone: Callable[[SSAValue], bool]) -> None:
    """Replace `op` by one that is like it without the results that are gone."""
    kept = [result for result in op.results if not is_gone(result)]
    regions = [op.detach_region(region) for region in list(op.regions)]
    slim = type(op).create(
        operands=op.operands,
        result_types=[result.type for result in kept],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
        location=op.location,
        successors=op.successors,
        regions=regions,
    )
    block = op.parent
    assert block is not None
    block.insert_op_before(slim, op)
    for old, new in zip(kept, slim.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    Rewriter.erase_op(op)
