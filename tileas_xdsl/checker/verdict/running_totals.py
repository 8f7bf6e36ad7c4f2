"""
The product of a turn and a count, as what has been counted so far: for proofs in which the count is open.

    scf.for %t = 0 to %n {                    scf.for %t = 0 to %n iter_args(%all = 0) {
      %all = arith.muli %t, %m          ->      %next = scf.for %j = 0 to %m iter_args(%sum = %all) {
      scf.for %j = 0 to %m {                      .. %all ..
        .. %all ..                                scf.yield %sum + 1
      }                                         }
    }                                           scf.yield %next }

An execution with open counts decides anew in each tile how often the inner loop turns, and a number that is not decided
cannot be multiplied. But the loops around it can be counted: in a call the inner loop turns m times in each of the t
tiles that are over, so their turns together are t * m. It is the same number in every call with m >= 0, which is what
is assumed of counts; so what is proved of the copy holds for the function. Where a tile has no such loop, the copy has
one that only counts. A sum wraps where the product does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.checker.decisions.origins import Origin, behind_captures, origin_of
from tileas_xdsl.interfaces import AgentLikeOpInterface
from tileas_xdsl.machine.arguments import argument_at, find_function

NumberType = IndexType | IntegerType[Any, Any]


@dataclass(frozen=True)
class _Product:
    """`op` multiplies the induction variable of `tiles` and a count."""

    op: arith.MuliOp
    tiles: scf.ForOp
    count: SSAValue
    """The operand that is the count."""


def with_running_totals(function: Operation, name: str, bounds: Sequence[str]) -> tuple[Operation, Region] | None:
    """
    The function called `name` and its body in a copy of its module, where products of a turn and one of the arguments
    `bounds` are totals. None where it has no such product.
    """
    if not any(isinstance(op, arith.MuliOp) and _turn_and_count(op) for op in function.walk()):
        return None
    module = function.get_toplevel_object()
    assert isinstance(module, Operation)
    copied, body = find_function(module.clone(), name)
    counts = {bound: argument_at(body, bound) for bound in bounds}
    products = [op for op in body.walk() if _product(op, counts) is not None]
    for op in products:
        # Loops are replaced where they get a total more, so each product is looked at anew.
        product = _product(op, counts)
        assert product is not None
        _count_instead(product)
    return (copied, body) if products else None


# What is a product ----------------------------------------------------------------------------------------------------


def _product(op: Operation, counts: Mapping[str, SSAValue]) -> _Product | None:
    found = _turn_and_count(op) if isinstance(op, arith.MuliOp) else None
    if found is None or not isinstance(op, arith.MuliOp) or not isinstance(op.result.type, IndexType | IntegerType):
        return None
    tiles, count = found
    is_count = any(origin_of(count) == Origin(argument) for argument in counts.values())
    can_be_counted = op.result.type == count.type and not tiles.is_ancestor(count.owner) and _is_of(op, tiles)
    return _Product(op, tiles, count) if is_count and can_be_counted else None


def _is_of(op: Operation, loop: scf.ForOp) -> bool:
    """Whether the agent that runs `loop` executes `op`, which stands in it."""
    parent = op.parent_op()
    while parent is not None and parent is not loop:
        if AgentLikeOpInterface.of(parent) is not None:
            return False
        parent = parent.parent_op()
    return parent is loop


def _turn_and_count(op: arith.MuliOp) -> tuple[scf.ForOp, SSAValue] | None:
    """The loop of which one operand is the turn, from 0 on one by one, and the other operand."""
    for turn, count in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        origin = origin_of(turn)
        loop = origin.root.owner.parent_op() if isinstance(origin.root.owner, Block) else None
        if isinstance(loop, scf.ForOp) and origin == Origin(loop.body.block.args[0]) and counts_turns(loop):
            return loop, count
    return None


def counts_turns(loop: scf.ForOp) -> bool:
    """Whether its induction variable is the number of its turn."""
    return _constant(loop.lb) == 0 and _constant(loop.step) == 1


def _constant(value: SSAValue) -> int | None:
    return constant_integer(behind_captures(value))


# How it is counted ----------------------------------------------------------------------------------------------------


def _count_instead(product: _Product) -> None:
    kind = cast("NumberType", product.op.result.type)
    steps = _steps_of(product) or _only_counting(product)
    one = arith.ConstantOp(IntegerAttr(1, kind))
    zero = arith.ConstantOp(IntegerAttr(0, kind))
    Rewriter.insert_op(zero, InsertPoint.before(product.tiles))
    Rewriter.insert_op(one, InsertPoint.at_start(steps.body.block))
    tiles, total = _carrying(product.tiles, zero.result)
    product.op.result.replace_all_uses_with(total)
    Rewriter.erase_op(product.op)
    steps, counted = _carrying(steps, total)
    step = arith.AddiOp(counted, one)
    Rewriter.insert_op(step, InsertPoint.before(_yield_of(steps)))
    _hand_on(steps, step.result)
    _hand_on(tiles, steps.results[-1])


def _steps_of(product: _Product) -> scf.ForOp | None:
    """The loop that runs in every tile and turns as often as the count says."""
    count = origin_of(product.count)
    for op in product.tiles.body.block.ops:
        if isinstance(op, scf.ForOp) and counts_turns(op) and origin_of(op.ub) == count:
            return op
    return None


def _only_counting(product: _Product) -> scf.ForOp:
    """Such a loop, made at the end of each tile."""
    kind = cast("NumberType", product.count.type)
    zero, one = (arith.ConstantOp(IntegerAttr(number, kind)) for number in (0, 1))
    loop = scf.ForOp(zero, product.count, one, [], Region(Block([scf.YieldOp()], arg_types=[kind])))
    Rewriter.insert_op([zero, one, loop], InsertPoint.before(_yield_of(product.tiles)))
    return loop


def _carrying(loop: scf.ForOp, first: SSAValue) -> tuple[scf.ForOp, SSAValue]:
    """`loop` with one value more that it carries, and what that is in a turn. What it is in the next is still open."""
    body = loop.detach_region(loop.body)
    carried = body.block.insert_arg(first.type, len(body.block.args))
    longer = scf.ForOp(loop.lb, loop.ub, loop.step, [*loop.iter_args, first], body)
    longer.attributes.update(loop.attributes)
    longer.location = loop.location
    Rewriter.insert_op(longer, InsertPoint.before(loop))
    for result, other in zip(loop.results, longer.results, strict=False):
        result.replace_all_uses_with(other)
    Rewriter.erase_op(loop)
    return longer, carried


def _hand_on(loop: scf.ForOp, value: SSAValue) -> None:
    end = _yield_of(loop)
    Rewriter.replace_op(end, scf.YieldOp(*end.operands, value))


def _yield_of(loop: scf.ForOp) -> scf.YieldOp:
    end = loop.body.block.last_op
    assert isinstance(end, scf.YieldOp)
    return end
