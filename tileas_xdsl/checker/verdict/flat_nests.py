"""
Nests of which only the steps count, as one loop over all of these: for proofs in which loop counts are open.

    scf.for %t = 0 to %n {                       %all = arith.muli %n, %m
      %base = arith.muli %t, %m                  scf.for %k = 0 to %all {
      scf.for %j = 0 to %m {              ->       .. %k ..
        %k = arith.addi %base, %j                }
        .. %k ..
      }
    }

With open counts an argument may be another number in each tile. So the steps of n tiles of m are not known to be as
many as those of m tiles of n. The loop of the copy turns n * m times, which is one number for both
(`decisions.derived_counts`). The copy does the same in every call with n, m >= 0, which is what is assumed of counts:
the tile holds nothing but its steps, what the steps carry goes from each to the next, and of the tile and the step
only t * m + j is used, which is how many steps were before. The sum wraps where the product does.

A copy is made where it helps: two nests have other counts, one agent runs two of them, or a loop turns n * m times.
Then each nest of counts has to be one of these; else what a nest and a flat loop have in common would be lost.

Elsewhere the product of a turn and a count becomes what has been counted so far.

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
from tileas_xdsl.analysis.value_flow import behind_captures, yielding
from tileas_xdsl.checker.decisions.origins import Origin, origin_of
from tileas_xdsl.interfaces import AgentLikeOpInterface, end_of
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
    tiles, total = carrying(product.tiles, zero.result)
    product.op.result.replace_all_uses_with(total)
    Rewriter.erase_op(product.op)
    steps, counted = carrying(steps, total)
    step = arith.AddiOp(counted, one)
    Rewriter.insert_op(step, InsertPoint.before(end_of(steps.body.block)))
    hand_on(steps, step.result)
    hand_on(tiles, steps.results[-1])


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
    loop = scf.ForOp(zero, product.count, one, [], Region(Block([yielding(())], arg_types=[kind])))
    Rewriter.insert_op([zero, one, loop], InsertPoint.before(end_of(product.tiles.body.block)))
    return loop


def carrying(loop: scf.ForOp, first: SSAValue) -> tuple[scf.ForOp, SSAValue]:
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


def hand_on(loop: scf.ForOp, value: SSAValue) -> None:
    """Let each turn of `loop` hand `value` on as the last of what it carries."""
    end = end_of(loop.body.block)
    end.operands = [*end.operands, value]


@dataclass(frozen=True)
class _Nest:
    """Two loops, one around the other, and the products and sums that say how many steps were before."""

    tiles: scf.ForOp
    steps: scf.ForOp
    bases: Sequence[Operation]
    sums: Sequence[Operation]
    counts: tuple[SSAValue, SSAValue]
    """The arguments that bound the two."""


def with_flat_nests(
    function: Operation, body: Region, name: str, bounds: Sequence[str]
) -> tuple[Operation, Region] | None:
    """
    The function called `name`, with that `body`, and its body in a copy of its module in which nests bounded by the
    arguments `bounds` are flat. None where that is of no use.
    """
    nests = _nests(body, bounds)
    if not nests or not _is_of_use(nests, body, bounds):
        return None
    module = function.get_toplevel_object()
    assert isinstance(module, Operation)
    copied, copied_body = find_function(module.clone(), name)
    for nest in _nests(copied_body, bounds):
        _flatten(nest)
    return copied, copied_body


def _is_of_use(nests: Sequence[_Nest], body: Region, bounds: Sequence[str]) -> bool:
    counts = {argument_at(body, bound) for bound in bounds}
    products = (loop.ub.owner for loop in body.walk() if isinstance(loop, scf.ForOp))
    is_beside_flat = any(
        isinstance(op, arith.MuliOp) and all(origin_of(factor).root in counts for factor in op.operands)
        for op in products
    )
    blocks = [nest.tiles.parent for nest in nests]
    return is_beside_flat or len({nest.counts for nest in nests}) > 1 or len(set(blocks)) < len(blocks)


def _nests(body: Region, bounds: Sequence[str]) -> list[_Nest]:
    """All nests of loops bounded by arguments; none where one of them is deeper, or is not only its steps."""
    counts = {Origin(argument): argument for argument in (argument_at(body, bound) for bound in bounds)}
    loops = [op for op in body.walk() if isinstance(op, scf.ForOp) and origin_of(op.ub) in counts]
    inside = [loop for loop in loops if any(other is not loop and other.is_ancestor(loop) for other in loops)]
    found = [_nest(loop, counts) for loop in inside]
    nests = [nest for nest in found if nest is not None and nest.tiles not in inside]
    return nests if len(nests) == len(found) else []


def _nest(steps: scf.ForOp, counts: Mapping[Origin, SSAValue]) -> _Nest | None:
    tiles = steps.parent_op()
    if not isinstance(tiles, scf.ForOp) or origin_of(tiles.ub) not in counts:
        return None
    if not (counts_turns(tiles) and counts_turns(steps)) or tiles.ub.type != steps.ub.type:
        return None
    bases = [use.operation for use in tiles.body.block.args[0].uses]
    sums = [use.operation for use in steps.body.block.args[0].uses]
    turn = tiles.body.block.args[0]
    if not all(isinstance(op, arith.MuliOp) and _multiplies(op, turn, steps.ub) for op in bases):
        return None
    added = {use.operation for base in bases for use in base.results[0].uses}
    only_counts = added == set(sums) and all(isinstance(op, arith.AddiOp) for op in sums)
    if not only_counts or not _holds_only(tiles, {*bases, steps}) or not _hands_on(tiles, steps):
        return None
    both = (counts[origin_of(tiles.ub)], counts[origin_of(steps.ub)])
    return _Nest(tiles, steps, bases, sums, both)


def _multiplies(op: arith.MuliOp, turn: SSAValue, count: SSAValue) -> bool:
    factors = [operand for operand in op.operands if operand is not turn]
    return len(factors) == 1 and origin_of(factors[0]) == origin_of(count)


def _holds_only(tiles: scf.ForOp, ops: set[Operation]) -> bool:
    """Whether a tile holds nothing but `ops` and constants."""
    *others, _ = tiles.body.block.ops
    return all(op in ops or isinstance(op, arith.ConstantOp) for op in others)


def _hands_on(tiles: scf.ForOp, steps: scf.ForOp) -> bool:
    """Whether what the steps carry is what the tiles carry."""
    end = end_of(tiles.body.block)
    return tuple(steps.iter_args) == tuple(tiles.body.block.args[1:]) and tuple(end.operands) == tuple(steps.results)


def _flatten(nest: _Nest) -> None:
    tiles, steps = nest.tiles, nest.steps
    for op in list(tiles.body.block.ops):
        if isinstance(op, arith.ConstantOp):
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(tiles))
    count = arith.MuliOp(tiles.ub, steps.ub)
    body = steps.detach_region(steps.body)
    for op in nest.sums:
        op.results[0].replace_all_uses_with(body.block.args[0])
    for op in (*nest.sums, *nest.bases):
        Rewriter.erase_op(op)
    flat = scf.ForOp(tiles.lb, count, tiles.step, tiles.iter_args, body)
    flat.attributes.update(tiles.attributes)
    flat.location = steps.location
    Rewriter.insert_op([count, flat], InsertPoint.before(tiles))
    for result, other in zip(tiles.results, flat.results, strict=True):
        result.replace_all_uses_with(other)
    Rewriter.erase_op(tiles)
