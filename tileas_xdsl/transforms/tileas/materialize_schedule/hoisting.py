"""
Rings of inner loops are made once, in front of the loops around them and of branches in these, which carry their
iterators on.

    scf.for %t {                              %p, %c = create_pipeline
      %p, %c = create_pipeline                %in = create_iterator %p
      %in = create_iterator %p          ->    scf.for %t iter_args(%at = %in) {
      scf.for %k iter_args(%i = %in)            %next = scf.for %k iter_args(%i = %at)
    }                                           scf.yield %next
                                              }

So agents can run whole nests: the slots and phases of one tile go on where those of the tile before have ended, and the
producer may begin with the next tile while a consumer still computes this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.dialects.nv_tileas.pipeline import CreateIteratorOp, CreatePipelineOp
from tileas_xdsl.transforms.rewriting.structure import carry_through

Around = scf.ForOp | scf.WhileOp | scf.IfOp


def hoist_rings(function: Operation) -> None:
    """Move each ring of `function` out of the loops around it, and of branches in these, as far as its iterators go."""
    for ring in [op for op in function.walk() if isinstance(op, CreatePipelineOp)]:
        around = ring.parent_op()
        last = _last_iterators(ring) if _is_left(around) else None
        while last is not None and _is_left(around := ring.parent_op()):
            last = _hoist(ring, last, around)


def _is_left(op: Operation | None) -> TypeGuard[Around]:
    """Whether a ring is moved in front of an op that it stands in: a loop, or a branch inside one."""
    if not isinstance(op, scf.IfOp):
        return isinstance(op, scf.ForOp | scf.WhileOp)
    outside = op.parent_op()
    while isinstance(outside, scf.IfOp):
        outside = outside.parent_op()
    return _is_left(outside)


def _last_iterators(ring: CreatePipelineOp) -> dict[CreateIteratorOp, SSAValue] | None:
    """For each iterator of `ring` what it is behind the inner loop that carries it; None for other uses."""
    if ring.operands:
        return None
    found: dict[CreateIteratorOp, SSAValue] = {}
    for maker in _makers(ring):
        uses = list(maker.iterator.uses)
        if maker.parent is not ring.parent or len(uses) != 1:
            return None
        inner, index = uses[0].operation, uses[0].index - 3
        if not isinstance(inner, scf.ForOp) or index < 0 or inner.parent is not ring.parent:
            return None
        if inner.results[index].first_use is not None:
            return None
        found[maker] = inner.results[index]
    return found


def _makers(ring: CreatePipelineOp) -> list[CreateIteratorOp]:
    users = [use.operation for end in ring.results for use in end.uses]
    return [user for user in users if isinstance(user, CreateIteratorOp)]


def _hoist(
    ring: CreatePipelineOp, last: Mapping[CreateIteratorOp, SSAValue], around: Around
) -> dict[CreateIteratorOp, SSAValue]:
    """The ring in front of `around`, which carries the iterators on; what they are behind it."""
    home = ring.parent
    uses = [(use.operation, use.index, number) for number, maker in enumerate(last) for use in maker.iterator.uses]
    for op in (ring, *last):
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(around))

    def turn(body: Block, entering: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if body is not home:
            return entering  # The other arm of a branch; and a while loop asks there whether it goes on.
        for op, index, number in uses:
            op.operands[index] = entering[number]
        return list(last.values())

    iterators = [maker.iterator for maker in last]
    carried = carry_through(around, iterators, turn, [iterator.name_hint for iterator in iterators])
    return dict(zip(last, carried, strict=True))
