"""Facts about a memref value: the buffer behind it, its address space, the layout of its elements, its alignment."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FixedBitwidthType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
)
from xdsl.ir import Attribute, BlockArgument, SSAValue

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.interfaces import FunctionOpInterface

GENERIC, GLOBAL, SHARED = 0, 1, 3
"""Address spaces, by their numbers on both NVIDIA and AMD hardware. A memref that names none is taken for global."""

BASE_ALIGNMENT = 16
"""The alignment, in bytes, that the start of every buffer is taken to have: allocators and kernel arguments give it."""

_VIEWS = (
    memref.CastOp,
    memref.MemorySpaceCastOp,
    memref.AssumeAlignmentOp,
    memref.SubviewOp,
    memref.ReinterpretCastOp,
    memref.ExpandShapeOp,
    memref.CollapseShapeOp,
    memref.ViewOp,
)


def memref_type(value: SSAValue) -> MemRefType[Attribute]:
    """The type of `value`, which is a ranked memref."""
    kind = value.type
    assert isinstance(kind, MemRefType)
    return cast("MemRefType[Attribute]", kind)


def space_of(value: SSAValue) -> int | None:
    """The number of the address space that a memref names; None for one without a number."""
    match memref_type(value).memory_space:
        case NoneAttr():
            return GENERIC
        case IntegerAttr() as number:
            return number.value.data
        case other:
            return {"#gpu.address_space<workgroup>": SHARED, "#gpu.address_space<global>": GLOBAL}.get(str(other))


def element_bytes(value: SSAValue) -> int | None:
    """The size of an element of a memref; None where it is no whole number of bytes."""
    element = memref_type(value).element_type
    if not isinstance(element, FixedBitwidthType) or element.bitwidth % 8:
        return None
    return element.size


def strides_and_offset(value: SSAValue) -> tuple[Sequence[int | None], int | None] | None:
    """Strides and offset in elements, None for each that is only known at run time; None for other layouts."""
    kind = memref_type(value)
    if not isinstance(kind.layout, NoneAttr | StridedLayoutAttr):
        return None
    strides = kind.get_strides()
    return None if strides is None else (strides, kind.get_offset())


def buffer_behind(value: SSAValue) -> SSAValue | str | None:
    """The allocation, function argument or global (by name) of which `value` shows a part; None where unknown."""
    while isinstance(value.owner, _VIEWS):
        value = value.owner.operands[0]
    if isinstance(value, BlockArgument):
        return value if FunctionOpInterface.of(value.block.parent_op()) is not None else None
    match value.owner:
        case memref.AllocOp() | memref.AllocaOp():
            return value
        case memref.GetGlobalOp() as op:
            return op.name_.string_value()
        case _:
            return None


def may_overlap(first: SSAValue, second: SSAValue) -> bool:
    """Whether two memrefs may share bytes. Different arguments of a function do not, as everywhere here."""
    if _lies_shared(first) != _lies_shared(second):
        return False
    buffers = buffer_behind(first), buffer_behind(second)
    return None in buffers or buffers[0] == buffers[1]


def _lies_shared(value: SSAValue) -> bool:
    while isinstance(value.owner, _VIEWS):
        value = value.owner.operands[0]
    return space_of(value) == SHARED


# Alignment ----------------------------------------------------------------------------------------------------------


def alignment(value: SSAValue) -> int:
    """A power of two, at most `BASE_ALIGNMENT`, that divides the address of the first element of `value`."""
    owner = value.owner
    match owner:
        case memref.CastOp() | memref.MemorySpaceCastOp() | memref.AssumeAlignmentOp():
            return alignment(owner.operands[0])
        case memref.SubviewOp():
            return _subview_alignment(owner)
        case memref.ExpandShapeOp() | memref.CollapseShapeOp():
            return alignment(owner.operands[0])
        case memref.ViewOp():
            return gcd(_start_alignment(owner.source), divisor_of(owner.byte_shift))
        case memref.ReinterpretCastOp():
            return gcd(_start_alignment(owner.source), _own_alignment(value))
        case _:
            return _own_alignment(value)


def _start_alignment(value: SSAValue) -> int:
    """
    A power of two, at most `BASE_ALIGNMENT`, that divides the address of offset 0 of `value`: the start of its buffer,
    or of a `memref.view`.
    """
    while isinstance(value.owner, _VIEWS):
        if isinstance(value.owner, memref.ViewOp):
            return alignment(value)
        value = value.owner.operands[0]
    return BASE_ALIGNMENT


def _own_alignment(value: SSAValue) -> int:
    layout, size = strides_and_offset(value), element_bytes(value)
    if layout is None or size is None:
        return 1
    return gcd(BASE_ALIGNMENT, size if layout[1] is None else layout[1] * size)


def _subview_alignment(op: memref.SubviewOp) -> int:
    layout, size = strides_and_offset(op.source), element_bytes(op.source)
    if layout is None or size is None:
        return 1
    found, rest = alignment(op.source), iter(op.offsets)
    for static, stride in zip(op.static_offsets.get_values(), layout[0], strict=True):
        factor = divisor_of(next(rest)) if static == DYNAMIC_INDEX else int(static)
        found = gcd(found, size * factor * stride) if stride is not None else gcd(found, size if factor else 0)
    return found


def divisor_of(value: SSAValue) -> int:
    """A number that divides `value`, 0 for the constant 0: what is known of where an index can point."""
    number = constant_integer(value)
    if number is not None:
        return abs(number)
    owner = value.owner
    if isinstance(value, BlockArgument):
        loop = value.block.parent_op()
        if not isinstance(loop, scf.ForOp) or value.index != 0:
            return 1
        return gcd(divisor_of(loop.lb), divisor_of(loop.step))
    match owner:
        case arith.MuliOp(lhs=lhs, rhs=rhs):
            return divisor_of(lhs) * divisor_of(rhs)
        case arith.AddiOp(lhs=lhs, rhs=rhs) | arith.SubiOp(lhs=lhs, rhs=rhs):
            return gcd(divisor_of(lhs), divisor_of(rhs))
        case _:
            return 1


def aligned_at(value: SSAValue, indices: Sequence[SSAValue]) -> int:
    """A power of two, at most `BASE_ALIGNMENT`, that divides the address of the element of `value` at `indices`."""
    layout, size = strides_and_offset(value), element_bytes(value)
    if layout is None or size is None:
        return 1
    found = alignment(value)
    for index, stride in zip(indices, layout[0], strict=True):
        divisor = divisor_of(index)
        found = gcd(found, size * divisor * stride) if stride is not None else gcd(found, size if divisor else 0)
    return found


def row_alignment(value: SSAValue) -> int:
    """A power of two, at most `BASE_ALIGNMENT`, that divides the address of every row of `value`."""
    layout, size = strides_and_offset(value), element_bytes(value)
    if layout is None or size is None:
        return 1
    found = alignment(value)
    for stride in layout[0][:-1]:
        found = gcd(found, size if stride is None else size * stride)
    return found


def extent(value: SSAValue) -> int | None:
    """
    The number of bytes from the first element of a memref to the end of the last; None where it depends on run time.
    """
    layout, size, shape = strides_and_offset(value), element_bytes(value), memref_type(value).get_shape()
    if layout is None or size is None or None in layout[0] or DYNAMIC_INDEX in shape:
        return None
    return size * (1 + sum((n - 1) * stride for n, stride in zip(shape, layout[0], strict=True) if stride is not None))
