"""
Whether an iteration writes everything that it reads of a buffer before it reads it (a kill analysis).

If so, no content of the buffer is live from one iteration to the next, and each iteration may have a version of its
own. Input: the ops of one iteration, in program order. Output: the first read that some iteration may do before it has
written all of what is read.

Only certain writes enter the kill set: a store that no branch can skip, at subscripts that are fixed or run densely
through a loop with constant bounds; `memref.copy` and `linalg.fill` onto the whole buffer, or onto a subview at fixed
offsets. Writes add up: two halves make a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from tileas_xdsl.analysis.component_conflicts import leaves
from tileas_xdsl.analysis.induction import AffineIndex, LoopIndices, constant_integer, static_trip_count
from tileas_xdsl.analysis.memory.accesses import AccessReader, BodyAccess
from tileas_xdsl.analysis.memory.places import AccessPlace, Frame, IndexSpan
from tileas_xdsl.analysis.static_views import axes_by_name, buffer_behind
from tileas_xdsl.dialects.async_queue import QueueScope
from tileas_xdsl.dialects.upstream_models.vector import vector_extents


@dataclass(frozen=True)
class _Interval:
    """Positions `low .. high` on one axis, relative to a base; only intervals with one base can be compared."""

    base: object
    low: int
    high: int


Box = tuple[_Interval, ...]


@dataclass(frozen=True)
class _Write:
    """
    A certain write: where it stands, and the box that it fills over all trips of the loops around it, if it is dense.
    """

    op: Operation
    box: Box | None
    memory: SSAValue
    """The name by which the buffer is written."""
    subscripts: tuple[SSAValue, ...]


def first_uncovered_read(loop: scf.ForOp, components: Sequence[Operation], buffer: SSAValue) -> Operation | None:
    """
    The first op that may read bytes of `buffer` that its iteration of `loop` has not written; None if there is none.
    """
    buffer_type = _type_of(buffer)
    indices = LoopIndices(loop)
    reader = AccessReader(indices)
    written: list[_Write] = []
    for component in components:
        for op, _ in leaves(component):
            mine = [access for access in reader.accesses_of(op) if _touches(access, buffer)]
            for access in mine:
                if (access.opaque or not access.writes) and not _is_covered(access, op, written, buffer_type, loop):
                    return op
            if any(access.writes for access in mine) and _is_certain(op, loop):
                written.extend(_certain_writes(op, buffer, indices, mine))
    return None


def _type_of(buffer: SSAValue) -> MemRefType[Attribute]:
    return cast(MemRefType[Attribute], buffer.type)


def _touches(access: BodyAccess, buffer: SSAValue) -> bool:
    return access.opaque or any(item.key is None or item.key is buffer for item in access.place.objects)


def _enclosing_loops(op: Operation, loop: scf.ForOp) -> Iterator[Operation]:
    """The ops around `op` inside the body of `loop`, without blocks and scopes."""
    node = op.parent_op()
    while node is not None and node is not loop:
        if not isinstance(node, QueueScope):
            yield node
        node = node.parent_op()


def _is_certain(op: Operation, loop: scf.ForOp) -> bool:
    """Whether every iteration of `loop` runs `op`."""
    return all(isinstance(node, scf.ForOp) and static_trip_count(node) for node in _enclosing_loops(op, loop))


# What is written ------------------------------------------------------------------------------------------------------


def _certain_writes(
    op: Operation, buffer: SSAValue, indices: LoopIndices, accesses: Sequence[BodyAccess]
) -> Iterator[_Write]:
    """The certain writes of `op`, given its `accesses` to `buffer`."""
    written = _written_by(op)
    if written is None or buffer_behind(written[0]) is not buffer:
        return
    memory, subscripts, extents = written
    (place,) = [access.place for access in accesses if access.writes]
    box = _box_at(place, _type_of(buffer))
    if box is not None and not _is_filled(place, memory, _dense_box(subscripts, extents, indices), bool(subscripts)):
        box = None
    yield _Write(op, box, memory, subscripts)


def _is_filled(place: AccessPlace, memory: SSAValue, dense: Box | None, has_subscripts: bool) -> bool:
    """
    Whether a write of `memory` fills everything between the ends of `place`.

    Only its subscripts may vary, in steps of 1 (then `dense` has their bounds), and not the offset of a view.
    """
    axes = axes_by_name(memory)
    if axes is None or dense is None:
        return False
    for span, axis in zip(place.spans, axes, strict=True):
        assert span is not None
        side = dense[axis] if has_subscripts and axis is not None else None
        varies = span.index.high - span.index.low
        if varies != (0 if side is None else side.high - side.low - (span.extent - 1)):
            return False
    return True


def _written_by(op: Operation) -> tuple[SSAValue, tuple[SSAValue, ...], tuple[int, ...]] | None:
    """
    The memory that `op` certainly writes, as subscripts of the first element and the extents; no subscripts mean all of
    it.
    """
    match op:
        case memref.CopyOp():
            return op.destination, (), ()
        case linalg.FillOp():
            return op.operands[-1], (), ()
        case memref.StoreOp():
            return op.memref, tuple(op.indices), (1,) * len(op.indices)
        case vector.StoreOp():
            return op.base, tuple(op.indices), vector_extents(op.vector.type, len(op.indices))
        case vector.TransferWriteOp() if (
            op.mask is None
            and op.permutation_map.data.is_minor_identity()
            and all(is_inside.value.data for is_inside in op.in_bounds)
        ):
            return op.source, tuple(op.indices), vector_extents(op.vector.type, len(op.indices))
        case _:
            return None


def _box_at(place: AccessPlace, buffer_type: MemRefType[Attribute]) -> Box | None:
    """The box from the least to the greatest element of a place in a buffer, where known; else None."""
    if place.frame != Frame(buffer_type):
        return None
    known = [span for span in place.spans if span is not None]
    return tuple(map(_interval, known)) if len(known) == len(place.spans) else None


def _dense_box(subscripts: Sequence[SSAValue], extents: Sequence[int], indices: LoopIndices) -> Box | None:
    """The box that a store at `subscripts` writes over all trips of the loops around it; None if that has holes."""
    intervals: list[_Interval] = []
    runners: dict[SSAValue, None] = {}
    for subscript, extent in zip(subscripts, extents, strict=True):
        index = indices.index_of(subscript)
        if index is None:
            return None
        if index.low != index.high:
            runner = _dense_runner(subscript)
            if runner is None or runner in runners:
                return None
            runners[runner] = None
        intervals.append(_interval(IndexSpan(index, extent)))
    return tuple(intervals)


def _dense_runner(subscript: SSAValue) -> SSAValue | None:
    """The induction variable from which `subscript` differs by a constant, where it runs in steps of 1; else None."""
    while isinstance(subscript, OpResult) and isinstance(subscript.op, arith.AddiOp):
        left, right = subscript.op.operands
        if constant_integer(left) is None and constant_integer(right) is None:
            return None
        subscript = left if constant_integer(right) is not None else right
    if not isinstance(subscript, BlockArgument):
        return None
    loop = subscript.block.parent_op()
    if not isinstance(loop, scf.ForOp) or subscript.index != 0 or constant_integer(loop.step) != 1:
        return None
    return subscript


def _interval(span: IndexSpan) -> _Interval:
    index: AffineIndex = span.index
    is_constant = not any(index.rate) and not index.terms and index.turn is None
    base = None if is_constant else (index.rate, index.terms, index.turn)
    return _Interval(base, index.low, index.high + span.extent - 1)


# What is covered ------------------------------------------------------------------------------------------------------


def _is_covered(
    access: BodyAccess,
    op: Operation,
    written: Sequence[_Write],
    buffer_type: MemRefType[Attribute],
    loop: scf.ForOp,
) -> bool:
    place, shape = access.place, buffer_type.get_shape()
    if access.opaque or len(place.objects) != 1:
        return False
    around = dict.fromkeys(_enclosing_loops(op, loop))
    boxes: list[Box] = []
    for write in written:
        if any(node in around for node in _enclosing_loops(write.op, loop)):
            # In one loop with the read a write covers only what it writes in the same trip.
            if isinstance(op, memref.LoadOp) and (write.memory, write.subscripts) == (op.memref, tuple(op.indices)):
                return True
        elif write.box is not None:
            boxes.append(write.box)
    if place.frame != Frame(buffer_type):
        return _covers_everything(boxes, shape)
    wanted = tuple(
        _Interval(None, 0, size - 1) if span is None else _interval(span)
        for span, size in zip(place.spans, shape, strict=True)
    )
    return not _remainder([wanted], boxes, shape)


def _covers_everything(boxes: Sequence[Box], shape: Sequence[int]) -> bool:
    whole = tuple(_Interval(None, 0, size - 1) for size in shape)
    return not _remainder([whole], boxes, shape)


def _remainder(wanted: list[Box], boxes: Sequence[Box], shape: Sequence[int]) -> list[Box]:
    """The part of `wanted` that `boxes` do not cover. A read at an in-bounds subscript lies within the whole axis."""
    for box in boxes:
        wanted = [piece for want in wanted for piece in _without(want, box, shape)]
        if not wanted:
            break
    return wanted


def _without(want: Box, box: Box, shape: Sequence[int]) -> list[Box]:
    """`want` without `box`, as disjoint boxes; `want` itself where the two cannot be compared."""
    pieces: list[Box] = []
    rest = list(want)
    for axis, (mine, other) in enumerate(zip(want, box, strict=True)):
        if other.base is None and other.low <= 0 and other.high >= shape[axis] - 1 >= 0:
            continue
        if mine.base != other.base or mine.high < other.low or other.high < mine.low:
            return [want]
        if mine.low < other.low:
            pieces.append(tuple(_replaced(rest, axis, mine.low, other.low - 1)))
        if mine.high > other.high:
            pieces.append(tuple(_replaced(rest, axis, other.high + 1, mine.high)))
        rest[axis] = _Interval(mine.base, max(mine.low, other.low), min(mine.high, other.high))
    return pieces


def _replaced(box: Sequence[_Interval], axis: int, low: int, high: int) -> list[_Interval]:
    return [_Interval(interval.base, low, high) if index == axis else interval for index, interval in enumerate(box)]
