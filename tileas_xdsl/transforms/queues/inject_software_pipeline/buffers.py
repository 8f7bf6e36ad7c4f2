"""
The buffers of a pipelined loop: which are private to its iterations, how many versions each needs, how its uses get
their version.

A buffer is *private* when nothing outside the loop uses it, but for its deallocation, and every iteration writes what
it reads of it; an allocation in the body always is. What counts is the use, not the place: the RFC's own listings
allocate outside the loop. Only private buffers get versions:

    %b = memref.alloc() : memref<8xf32>            %b = memref.alloc() : memref<3x8xf32>
    memref.store %v, %b[%k]                  ->    memref.store %v, %b[%version, %k]
    memref.copy %a, %b                             %s = memref.subview %b[%version, 0] [1, 8] [1, 1]
                                                   memref.copy %a, %s

Casts and subviews are other names of a buffer; they become views of the version, with types that follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import memref, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
)
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.component_conflicts import ComponentTouch, meets_later
from tileas_xdsl.analysis.induction import static_trip_count
from tileas_xdsl.analysis.overwritten import first_uncovered_read
from tileas_xdsl.analysis.static_views import as_view, strided, strides_of, type_of_view, uses_by_any_name
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.async_queue_annotations import Annotations
from tileas_xdsl.scheduling.async_pipeline.model import Meeting, version_count
from tileas_xdsl.transforms.queues.inject_software_pipeline.components import DoubleBuffer, LoopBody, placements_of

INDEXED = (memref.LoadOp, memref.StoreOp, memref.AtomicRMWOp, vector.LoadOp, vector.StoreOp)
"""Ops that take subscripts: the version becomes the first one."""

WHOLE = (
    memref.CopyOp,
    memref.DimOp,
    vector.TransferReadOp,
    vector.TransferWriteOp,
    LinalgStructuredOperation,
)
"""Ops that take a buffer of any layout: they get a view of the version."""


@dataclass(frozen=True)
class Buffers:
    """The buffers of a loop: versions of the private ones, and what keeps others from being private."""

    versions: dict[SSAValue, int]
    """The private buffers, and how many versions each has."""
    uncovered: dict[SSAValue, Operation]
    """Buffers that only the loop uses, and a read of each that the same iteration need not have written."""


def find_buffers(body: LoopBody, annotations: Annotations, touches: Sequence[ComponentTouch]) -> Buffers:
    """
    Decide which buffers are private, and their versions.

    Raises `RefusedError` where a buffer needs several versions and has a use that cannot be given one of them, and for
    a `double_buffer_scope` that names no private buffer.
    """
    found = Buffers({}, {})
    touched = dict.fromkeys(touch.buffer for touch in touches)
    for buffer in (buffer for buffer in touched if buffer is not None):
        if not _is_only_used_in(buffer, body.loop):
            continue
        if buffer not in body.allocations:
            uncovered = first_uncovered_read(body.loop, body.components, buffer)
            if uncovered is not None:
                found.uncovered[buffer] = uncovered
                continue
        found.versions[buffer] = _versions_of(buffer, body, annotations, touches)
    for request in body.double_buffers:
        buffer = _requested(request, touches, found)
        found.versions[buffer] = max(found.versions[buffer], 2)
    for buffer, count in found.versions.items():
        if count > 1:
            _check_uses(buffer, count, body.loop)
    return found


def _is_only_used_in(buffer: SSAValue, loop: scf.ForOp) -> bool:
    return (
        isinstance(buffer, OpResult)
        and isinstance(buffer.op, memref.AllocOp)
        and all(isinstance(use.operation, memref.DeallocOp) or loop.is_ancestor(use.operation) for use in buffer.uses)
    )


def _versions_of(buffer: SSAValue, body: LoopBody, annotations: Annotations, touches: Sequence[ComponentTouch]) -> int:
    """The number of versions that the schedule asks for; without double buffering."""
    trips = static_trip_count(body.loop)
    mine = [touch for touch in touches if touch.buffer is buffer]
    meetings = [
        Meeting(writer.component, other.component, not other.writes and not other.late)
        for writer in mine
        if writer.writes and not writer.late
        for other in mine
        if meets_later(other, writer, trips)
    ]
    return version_count(placements_of(annotations), meetings)


def _requested(request: DoubleBuffer, touches: Sequence[ComponentTouch], found: Buffers) -> SSAValue:
    """The buffer that a `double_buffer_scope` means: of those written in the block, the one of that number."""
    written = [touch for touch in touches if touch.writes and touch.component in request.components and not touch.late]
    places = list(dict.fromkeys(touch.place.objects for touch in written))
    if request.index >= len(places):
        refuse(
            request.block,
            f"has double_buffer_scope = {request.index}: Index of the buffer exceeds the size of the write regions of "
            f"the block, which writes {len(places)} buffers",
            "count the buffers that the block writes from 0, in the order of the first writes",
        )
    buffer = next(t.buffer for t in written if t.place.objects == places[request.index])
    if buffer is None or buffer not in found.versions:
        refuse(
            request.block,
            f"has double_buffer_scope = {request.index}, and that buffer is not private to the iterations of the loop",
            "allocate it in the loop, or write all of it in each iteration before reading it and use it nowhere else",
        )
    return buffer


def _check_uses(buffer: SSAValue, count: int, loop: scf.ForOp) -> None:
    """Raises `RefusedError` on a use that cannot be given a version."""
    users: dict[Operation, list[SSAValue]] = {}
    for use in uses_by_any_name(buffer):
        users.setdefault(use.operation, []).append(use.operation.operands[use.index])
    for op in [op for op in loop.walk() if op in users]:
        in_its_place = isinstance(op, INDEXED) and users[op] == [op.operands[_memref_operand(op)]]
        if in_its_place or isinstance(op, WHOLE) or as_view(op) is not None:
            continue
        refuse(
            op,
            f"uses a buffer that needs {count} versions, and can't be given one of them",
            "access the buffer, or a memref.cast or memref.subview of it, by memref and vector loads, stores and "
            "transfers, memref.copy or linalg ops",
        )
    buffer_type = cast(MemRefType[Attribute], buffer.type)
    if not isinstance(buffer_type.layout, NoneAttr | StridedLayoutAttr):
        refuse(
            loop,
            f"has a buffer of type {buffer_type} that needs {count} versions, and its layout can't get another axis",
            "allocate the buffer with the identity layout or with strides",
        )


def _memref_operand(op: Operation) -> int:
    return 0 if isinstance(op, memref.LoadOp | vector.LoadOp) else 1


# Versions in the IR ---------------------------------------------------------------------------------------------------


def versioned_type(buffer_type: MemRefType[Attribute], count: int) -> MemRefType[Attribute]:
    """The type with a leading axis of `count` versions, each as far from the next as it is large."""
    layout = buffer_type.layout
    shape = buffer_type.get_shape()
    if isinstance(layout, StridedLayoutAttr):
        strides = layout.get_strides()
        first = strides[0] if strides else 1
        whole = None if first is None or shape[0] == DYNAMIC_INDEX else first * shape[0]
        layout = StridedLayoutAttr([whole, *strides], layout.get_offset())
    return MemRefType(buffer_type.element_type, [count, *shape], layout, buffer_type.memory_space)


def allocate_versions(buffer: SSAValue, count: int) -> SSAValue:
    """Put an allocation of `count` versions in front of that of `buffer`; deallocations follow. Returns the new one."""
    old = buffer.owner
    assert isinstance(old, memref.AllocOp)
    new_type = versioned_type(cast(MemRefType[Attribute], buffer.type), count)
    new = memref.AllocOp(old.dynamic_sizes, old.symbol_operands, new_type, old.alignment)
    new.attributes.update(old.attributes)
    new.location = old.location
    new.memref.name_hint = buffer.name_hint
    Rewriter.insert_op(new, InsertPoint.before(old))
    for use in list(buffer.uses):
        if isinstance(use.operation, memref.DeallocOp):
            use.operation.operands = [new.memref]
    return new.memref


@dataclass
class VersionUse:
    """Rewrites the uses of one buffer in one copy of a component to one version."""

    buffer: SSAValue
    versioned: SSAValue
    index: SSAValue | int
    """A number, or the value that computes it."""
    before: Operation
    """The op in front of which views of the version are made."""
    _view: SSAValue | None = field(default=None, init=False)

    def rewrite(self, op: Operation, index: SSAValue) -> None:
        """Let `op`, which uses the buffer, use the version; `index` is the number of it as a value."""
        operands = list(op.operands)
        if isinstance(op, INDEXED) and operands[_memref_operand(op)] is self.buffer:
            place = _memref_operand(op)
            operands[place : place + 1] = [self.versioned, index]
        else:
            operands = [self.view() if operand is self.buffer else operand for operand in operands]
        op.operands = operands
        _retype(op)

    def view(self) -> SSAValue:
        """The version as a buffer of the old shape; made when asked for, once."""
        if self._view is None:
            self._view = self._make_view()
        return self._view

    def _make_view(self) -> SSAValue:
        old_type = cast(MemRefType[Attribute], self.buffer.type)
        new_type = cast(MemRefType[Attribute], self.versioned.type)
        shape = old_type.get_shape()
        sizes: list[SSAValue | int] = list(shape)
        alloc = self.versioned.owner
        assert isinstance(alloc, memref.AllocOp)
        dynamic = iter(alloc.dynamic_sizes)
        sizes = [next(dynamic) if size == DYNAMIC_INDEX else size for size in shape]
        found = strides_of(new_type)
        assert found is not None
        offset, (whole, *strides) = found
        start = (
            None if offset is None or whole is None or not isinstance(self.index, int) else offset + self.index * whole
        )
        view = memref.SubviewOp.get(
            self.versioned,
            [self.index, *(0 for _ in shape)],
            [1, *sizes],
            [1] * (len(shape) + 1),
            strided(old_type, start, strides),
        )
        view.location = self.before.location
        Rewriter.insert_op(view, InsertPoint.before(self.before))
        return view.result


def _retype(op: Operation) -> None:
    """Let the type of a view, and of its views, follow that of its source."""
    view = as_view(op)
    if view is None:
        return
    value = Rewriter.replace_value_with_new_type(view.results[0], type_of_view(view))
    for use in list(value.uses):
        _retype(use.operation)
