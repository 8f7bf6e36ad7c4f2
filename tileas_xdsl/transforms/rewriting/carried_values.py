"""
Carrying values through structured control flow: what used to be a variable becomes one more result.

Enters an op of `scf` and the values that a rewrite keeps track of in front of it; leaves the op rebuilt, with one more
result for each value, and IR in its blocks that hands them on:

    scf.for %i = ... { }      ->   %r = scf.for %i = ... iter_args(%a = %entering) -> (T) { ... scf.yield %leaving }
    scf.if %c { }             ->   %r = scf.if %c -> (T) { ... scf.yield %leaving } else { ... scf.yield %leaving }

The rewrite says what happens in a block: given the values that enter it, it returns those that leave.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

Body = Callable[[Block, Sequence[SSAValue]], Sequence[SSAValue]]
"""Rewrites a block of the op: values that enter -> values that leave, defined in front of the terminator."""


Names = str | Sequence[str | None] | None
"""Name hints of new arguments and results: one for all, one for each, or none."""


def loop_over(first: SSAValue, end: SSAValue, step: SSAValue, ops: Sequence[Operation]) -> scf.ForOp:
    """A counted loop that carries nothing, with `ops` for its body, which leave their block; it stands nowhere yet."""
    body = Block(arg_types=[first.type])
    for op in ops:
        op.detach()
    body.add_ops([*ops, scf.YieldOp()])
    return scf.ForOp(first, end, step, [], body)


def carry_through(op: Operation, entering: Sequence[SSAValue], body: Body, names: Names = None) -> list[SSAValue]:
    """
    Rebuild `op` (an `scf.for`, `while`, `if`, `index_switch` or `execute_region`) so that it carries values; returns
    what they are behind it.

    Loops enter their first block with `entering`, renamed, and what leaves a block has the types of `entering`; the
    other ops enter each block with `entering` as it is, and all their blocks leave values of the same types.
    """
    if isinstance(op, scf.IfOp) and op.false_region.first_block is None:
        op.false_region.add_block(Block([scf.YieldOp()]))
    is_loop = isinstance(op, scf.ForOp | scf.WhileOp)
    leaving: Sequence[SSAValue] = entering
    for region in op.regions:
        block = region.block
        leaving = body(block, _arguments(block, leaving, names) if is_loop else entering)
        terminator = block.last_op
        assert terminator is not None, "blocks of structured control flow have terminators"
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
