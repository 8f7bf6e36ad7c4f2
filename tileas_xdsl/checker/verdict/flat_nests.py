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
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.ir import Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.checker.decisions.origins import Origin, origin_of
from tileas_xdsl.checker.verdict.running_totals import counts_turns
from tileas_xdsl.machine.arguments import argument_at, find_function


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
    end = tiles.body.block.last_op
    assert end is not None
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
