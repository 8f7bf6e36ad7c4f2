"""
The part of a memory object that an access goes to.

A place is counted in the *frame* of the object: the memref type laid over it. A view shows a part of the frame; its
axes map each subscript of the view to an axis of the frame:

    %V = memref.subview %M[%i, 2] [1, 4] [1, 1]     %V[%k]  ->  axis 0 of M at [i], axis 1 at [2 + k]

Subscripts are linear forms of the induction variables (`analysis/induction.py`), or unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, FixedBitwidthType, MemRefType, NoneAttr
from xdsl.ir import Attribute, SSAValue

from tileas_xdsl.analysis.induction import AffineIndex, LoopIndices
from tileas_xdsl.analysis.memory.objects import UNKNOWN, MemoryRoot, ObjectFinder, ObjectKind, memory_sources
from tileas_xdsl.interfaces import Effect, EffectResource


@dataclass(frozen=True)
class IndexSpan:
    """The elements `index .. index + extent - 1` of one axis."""

    index: AffineIndex
    extent: int = 1


@dataclass(frozen=True)
class Frame:
    """The index space that spans are counted in: a memref type, laid over its object at a byte offset."""

    type: MemRefType[Attribute]
    byte_shift: AffineIndex = field(default_factory=AffineIndex)


@dataclass(frozen=True)
class AccessPlace:
    """
    The part of its object that an access goes to.

    `spans` has one entry for each axis of `frame`, None for an axis that is unknown. `frame` is None where only the
    objects are known.
    """

    objects: tuple[MemoryRoot, ...]
    frame: Frame | None = None
    spans: tuple[IndexSpan | None, ...] = ()


def byte_span(place: AccessPlace) -> IndexSpan | None:
    """
    The bytes of a place from the start of its object, where the layout is static and every axis is known; else None.
    """
    if place.frame is None:
        return None
    frame_type, spans = place.frame.type, place.spans
    element, shape = frame_type.element_type, frame_type.get_shape()
    if not isinstance(frame_type.layout, NoneAttr) or not isinstance(element, FixedBitwidthType):
        return None
    if element.bitwidth % 8 or DYNAMIC_INDEX in shape[1:]:
        return None
    start = place.frame.byte_shift
    for axis, span in enumerate(spans):
        if span is None:
            return None
        stride = element.size * prod(shape[axis + 1 :])
        start = start.plus(span.index.plus(AffineIndex(0, span.extent - 1)).times(stride))
    return IndexSpan(start, element.size)


# Views --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Axis:
    """Maps a view's index on its axis `source` to one axis of the frame: `offset + stride * index`."""

    offset: AffineIndex | None
    source: int | None
    stride: int
    size: int | None


@dataclass(frozen=True)
class _View:
    """What a memref value shows. `axes` is None where only the objects are known."""

    objects: tuple[MemoryRoot, ...]
    frame: Frame | None = None
    axes: tuple[_Axis, ...] | None = None


class PlaceFinder:
    """Finds the places of the effects in one loop body; caches facts about views."""

    def __init__(self, indices: LoopIndices, objects: ObjectFinder) -> None:
        self._indices = indices
        self._objects = objects
        self._views: dict[SSAValue, _View] = {}

    def place_of(self, effect: Effect) -> AccessPlace:
        """The place that `effect` goes to."""
        if effect.target is None:
            return AccessPlace((UNKNOWN,))
        if isinstance(effect.target, EffectResource):
            return AccessPlace((MemoryRoot(ObjectKind.RESOURCE, effect.target),))
        view = self._view(effect.target)
        if view.frame is None or view.axes is None:
            return AccessPlace(view.objects)
        spans = tuple(self._span(axis, effect) for axis in view.axes)
        return AccessPlace(view.objects, view.frame, spans)

    def _span(self, axis: _Axis, effect: Effect) -> IndexSpan | None:
        if axis.offset is None:
            return None
        if axis.source is None:
            return IndexSpan(axis.offset)
        if effect.indices is None:
            return None if axis.size is None else IndexSpan(axis.offset, (axis.size - 1) * axis.stride + 1)
        if (index := self._indices.index_of(effect.indices[axis.source])) is None:
            return None
        extent = 1 if effect.extents is None else effect.extents[axis.source]
        return IndexSpan(axis.offset.plus(index.times(axis.stride)), (extent - 1) * axis.stride + 1)

    def _view(self, value: SSAValue) -> _View:
        if value not in self._views:
            self._views[value] = self._find_view(value)
        return self._views[value]

    def _find_view(self, value: SSAValue) -> _View:
        match value.owner:
            case memref.CastOp(source=source) | memref.MemorySpaceCastOp(source=source):
                view = self._view(source)
                return view if isinstance(source.type, MemRefType) else _View(view.objects)
            case memref.SubviewOp() as op:
                return self._subview(op)
            case memref.ViewOp() as op:
                return self._typed_view(op)
            case _:
                objects = self._objects.objects_of(value)
        value_type = _memref_type(value)
        if value_type is None or not _is_origin(value, objects):
            return _View(objects)
        return _View(objects, Frame(value_type), _whole_axes(value_type))

    def _subview(self, op: memref.SubviewOp) -> _View:
        source = self._view(op.source)
        if source.axes is None or (kept := kept_axes(op)) is None:
            return _View(source.objects)
        offsets = self._static_or_dynamic(op.static_offsets.get_values(), op.offsets)
        strides = self._static_or_dynamic(op.static_strides.get_values(), op.strides)
        sizes = op.static_sizes.get_values()
        axes: list[_Axis] = []
        for axis in source.axes:
            if axis.source is None:
                axes.append(axis)
                continue
            offset, stride = offsets[axis.source], strides[axis.source]
            factor = stride.as_constant if stride is not None else None
            if axis.offset is None or offset is None or factor is None or factor <= 0:
                axes.append(_Axis(None, None, 1, None))
                continue
            size = int(sizes[axis.source])
            position = axis.offset.plus(offset.times(axis.stride))
            known = None if size == DYNAMIC_INDEX else size
            axes.append(_Axis(position, kept[axis.source], axis.stride * factor, known))
        return _View(source.objects, source.frame, tuple(axes))

    def _static_or_dynamic(self, static: Sequence[int], dynamic: Sequence[SSAValue]) -> list[AffineIndex | None]:
        """The forms of a mixed list, in which the dynamic values fill the gaps of the static ones."""
        rest = iter(dynamic)
        return [
            self._indices.index_of(next(rest)) if number == DYNAMIC_INDEX else AffineIndex.constant(int(number))
            for number in static
        ]

    def _typed_view(self, op: memref.ViewOp) -> _View:
        objects = self._objects.objects_of(op.source)
        shift, result_type = self._indices.index_of(op.byte_shift), _memref_type(op.result)
        if shift is None or result_type is None or not _is_origin(op.source, objects):
            return _View(objects)
        return _View(objects, Frame(result_type, shift), _whole_axes(result_type))


def _is_origin(value: SSAValue, objects: Sequence[MemoryRoot]) -> bool:
    """Whether `value` is itself an object, one and the same in every iteration or a new one in each."""
    return memory_sources(value) is None and not (len(objects) == 1 and objects[0].is_anything)


def _memref_type(value: SSAValue) -> MemRefType[Attribute] | None:
    value_type = value.type
    return cast(MemRefType[Attribute], value_type) if isinstance(value_type, MemRefType) else None


def _whole_axes(memref_type: MemRefType[Attribute]) -> tuple[_Axis, ...]:
    return tuple(
        _Axis(AffineIndex(), axis, 1, None if size == DYNAMIC_INDEX else size)
        for axis, size in enumerate(memref_type.get_shape())
    )


def kept_axes(op: memref.SubviewOp) -> list[int | None] | None:
    """
    For each axis of the source the axis of the result, None where it is dropped; None where the types do not decide.
    """
    sizes = op.static_sizes.get_values()
    result_type = _memref_type(op.result)
    assert result_type is not None
    dropped = len(sizes) - result_type.get_num_dims()
    unit = [size == 1 for size in sizes]
    if dropped and sum(unit) != dropped:
        return None
    kept: list[int | None] = []
    for is_unit in unit:
        kept.append(None if dropped and is_unit else sum(axis is not None for axis in kept))
    return kept
