"""
Remove values from structured control flow: a loop no longer carries them, a branch no longer yields them.

    %r:2 = scf.for %i = ... iter_args(%t = %0, %x = %1) -> (token, f32) {        %r = scf.for ... iter_args(%x = %1)
      ...                                                                   ->     ...
      scf.yield %u, %y : token, f32                                                scf.yield %y : f32
    }                                                                            }
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, cf, scf
from xdsl.ir import Operation, SSAValue, Use
from xdsl.rewriter import Rewriter

from tileas_xdsl.analysis.value_flow import carried_to

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
    """Put an op in the place of `op` that is like it but for the results that are gone."""
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
