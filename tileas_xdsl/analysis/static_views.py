"""
Views of a buffer (casts and subviews) whose types follow from the type of the buffer.

    %t = memref.alloc() : memref<16xf32>                  with %t at an offset of 32 elements:
    %s = memref.subview %t[4] [8] [1]                       memref<8xf32, strided<[1], offset: 36>>
    %c = memref.cast %s to memref<?xf32, ...>               memref<?xf32, strided<[1], offset: 36>>

A pass that replaces `%t` by another buffer can give each of its views the new type (`type_of_view`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntAttr, MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, Operation, SSAValue, Use

from tileas_xdsl.analysis.memory.places import kept_axes

View = memref.CastOp | memref.SubviewOp


def as_view(op: object) -> View | None:
    """`op` where it makes a view of a ranked memref whose type follows from its source; else None."""
    if isinstance(op, memref.CastOp):
        ranked = isinstance(op.source.type, MemRefType) and isinstance(op.dest.type, MemRefType)
        return op if ranked and strides_of(_type(op.source)) is not None else None
    if isinstance(op, memref.SubviewOp):
        return op if kept_axes(op) is not None and strides_of(_type(op.source)) is not None else None
    return None


def buffer_behind(value: SSAValue) -> SSAValue:
    """The buffer that `value` is a view of; `value` itself where it is no view."""
    while (view := as_view(value.owner)) is not None:
        value = view.source
    return value


def uses_by_any_name(value: SSAValue) -> Iterator[Use]:
    """The uses of `value` and of its views, including the ops that make the views."""
    stack = [value]
    while stack:
        for use in list(stack.pop().uses):
            yield use
            if as_view(use.operation) is not None:
                stack.append(use.operation.results[0])


def strides_of(kind: MemRefType[Attribute]) -> tuple[int | None, Sequence[int | None]] | None:
    """
    The offset and the strides of a memref, in elements, each None where it is dynamic. None in place of both for a
    layout that is neither strided nor the default one.
    """
    if isinstance(kind.layout, StridedLayoutAttr):
        return kind.layout.get_offset(), kind.layout.get_strides()
    if not isinstance(kind.layout, NoneAttr):
        return None
    strides: list[int | None] = []
    size: int | None = 1
    for extent in reversed(kind.get_shape()):
        strides.insert(0, size)
        size = None if size is None or extent == DYNAMIC_INDEX else size * extent
    return 0, strides


def strided(kind: MemRefType[Attribute], offset: int | None, strides: Sequence[int | None]) -> MemRefType[Attribute]:
    """`kind` with the given offset and strides."""
    layout = StridedLayoutAttr(strides, NoneAttr() if offset is None else IntAttr(offset))
    return MemRefType(kind.element_type, kind.get_shape(), layout, kind.memory_space)


def type_of_view(view: View) -> MemRefType[Attribute]:
    """The type that the result of `view` must have, given the present type of its source."""
    found = strides_of(_type(view.source))
    assert found is not None
    offset, strides = found
    if isinstance(view, memref.CastOp):
        return strided(_type(view.dest), offset, strides)
    kept = kept_axes(view)
    assert kept is not None
    steps = view.static_strides.get_values()
    for start, stride in zip(view.static_offsets.get_values(), strides, strict=True):
        known = offset is not None and stride is not None and start != DYNAMIC_INDEX
        offset = offset + int(start) * stride if known and offset is not None and stride is not None else None
    mine = [
        None if stride is None or step == DYNAMIC_INDEX else stride * int(step)
        for stride, step, axis in zip(strides, steps, kept, strict=True)
        if axis is not None
    ]
    return strided(_type(view.result), offset, mine)


def _type(value: SSAValue) -> MemRefType[Attribute]:
    return cast(MemRefType[Attribute], value.type)


def axes_by_name(value: SSAValue) -> list[int | None] | None:
    """
    For each axis of the buffer behind `value` the axis of `value` that runs along it; None for an axis that is dropped.

    None for the whole where a view has steps other than 1.
    """
    view = as_view(value.owner)
    if view is None:
        return list(range(_type(value).get_num_dims()))
    axes = axes_by_name(view.source)
    if axes is None or isinstance(view, memref.CastOp):
        return axes
    kept = kept_axes(view)
    if kept is None or any(step != 1 for step in view.static_strides.get_values()):
        return None
    return [None if axis is None else kept[axis] for axis in axes]


def views_behind(op: Operation) -> list[View]:
    """The views that lead to the operands of `op`, each once, those nearer to a buffer first."""
    found: dict[View, None] = {}
    for operand in op.operands:
        chain: list[View] = []
        while (view := as_view(operand.owner)) is not None:
            chain.append(view)
            operand = view.source
        found.update(dict.fromkeys(reversed(chain)))
    return list(found)
