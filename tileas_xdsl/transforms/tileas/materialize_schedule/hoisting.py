"""
Rings of inner loops are made once, in front of the loops around them (counted or persistent ones), which carry their
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

from collections.abc import Sequence
from typing import TypeGuard

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.dialects.nv_tileas.pipeline import CreateIteratorOp, CreatePipelineOp
from tileas_xdsl.transforms.loops.persistent_loop import is_persistent_loop
from tileas_xdsl.transforms.rewriting.carried_values import carry_through

Loop = scf.ForOp | scf.WhileOp
CarriedIterator = tuple[CreateIteratorOp, scf.ForOp, int]
"""An iterator, the inner loop that carries it, and as which value."""


def hoist_rings(function: Operation) -> None:
    """Move each ring of `function` out of the loops around it, as far as these can carry its iterators."""
    for ring in [op for op in function.walk() if isinstance(op, CreatePipelineOp)]:
        while _is_loop(loop := ring.parent_op()) and (carried := _carried(ring, loop)) is not None:
            _hoist(ring, carried, loop)


def _is_loop(op: Operation | None) -> TypeGuard[Loop]:
    return isinstance(op, scf.ForOp) or is_persistent_loop(op)


def _carried(ring: CreatePipelineOp, loop: Loop) -> list[CarriedIterator] | None:
    """For each iterator of `ring` the inner loop that carries it, and as which value; None for other uses."""
    if ring.operands:
        return None
    found: list[CarriedIterator] = []
    for maker in _makers(ring):
        uses = list(maker.iterator.uses)
        if maker.parent_op() is not loop or len(uses) != 1:
            return None
        inner, index = uses[0].operation, uses[0].index - 3
        if not isinstance(inner, scf.ForOp) or index < 0 or inner.parent_op() is not loop:
            return None
        if inner.results[index].first_use is not None:
            return None
        found.append((maker, inner, index))
    return found


def _makers(ring: CreatePipelineOp) -> list[CreateIteratorOp]:
    users = [use.operation for end in ring.results for use in end.uses]
    return [user for user in users if isinstance(user, CreateIteratorOp)]


def _hoist(ring: CreatePipelineOp, carried: Sequence[CarriedIterator], loop: Loop) -> None:
    for op in (ring, *(maker for maker, _, _ in carried)):
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(loop))

    def turn(body: Block, entering: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if body.parent is not loop.regions[-1]:
            return entering  # A persistent loop asks there whether it goes on.
        for (_, inner, index), iterator in zip(carried, entering, strict=True):
            inner.operands[index + 3] = iterator
        return [inner.results[index] for _, inner, index in carried]

    iterators = [maker.iterator for maker, _, _ in carried]
    carry_through(loop, iterators, turn, [iterator.name_hint for iterator in iterators])
