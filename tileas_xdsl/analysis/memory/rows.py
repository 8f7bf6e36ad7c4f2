"""
Rows of arrays in global memory: the bytes of which they are known to begin, and to end, at a multiple.

    memref<?x?xf16>                              16, unless the argument says another number (`tileas.row_bytes`)
    memref<64x60xf16>                            8
    memref<?x?xf16, strided<[?, ?]>>             1: neighbours of a row are apart

Arrays begin at a multiple of 16 bytes: allocations on the device begin at one of 256 (CUDA C++ Programming Guide,
"Device Memory Accesses").
"""

from __future__ import annotations

from math import gcd, prod
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntAttr, IntegerAttr, MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tileas_xdsl.dialects.array_numbers import ROW_BYTES, said_of
from tileas_xdsl.dialects.nv_tileaa.types import ArrayType
from tileas_xdsl.dialects.tiles.traits import LeadsToOperand

WIDEST = 16
"""Bytes of the widest access (PTX ISA, "Data Movement and Conversion Instructions: ld")."""


def row_alignment(base: SSAValue, bits: int, assumed: int = WIDEST) -> int:
    """
    The bytes of which the rows of the array behind `base` begin, and end, at a multiple: `assumed` where types leave it
    open and the argument says nothing. 1 where elements of a row are not neighbours.
    """
    array = array_behind(base)
    strides = _strides(array.type)
    assumed = min(assumed, promised_rows(array))
    if strides is None:
        return assumed
    *outer, inner = strides
    if inner != 1:
        return 1
    known = gcd(WIDEST, *(stride * bits // 8 for stride in outer if stride is not None))
    return known if None not in outer else gcd(known, assumed)


def promised_rows(array: SSAValue) -> int:
    """The bytes that an argument of a function says of its rows; `WIDEST` where it says nothing."""
    said = said_of(array).get(ROW_BYTES) if isinstance(array, BlockArgument) else None
    return cast("IntegerAttr[Any]", said).value.data if isinstance(said, IntegerAttr) else WIDEST


def array_behind(base: SSAValue) -> SSAValue:
    """The array that a view leads to; the view itself where none is found."""
    while not isinstance(base.type, MemRefType | ArrayType):
        owner = base.owner
        if not isinstance(owner, Operation) or not owner.has_trait(LeadsToOperand):
            break
        base = owner.operands[0]
    return base


def has_open_rows(array: SSAValue) -> bool:
    """Whether the type of an array leaves open where its rows begin and end."""
    strides = _strides(array.type)
    return strides is None or None in strides


def _strides(array: Attribute) -> list[int | None] | None:
    """
    The distances, in elements, that decide where rows begin and end: those of the axes, with the extent of the last
    one and the offset in front; None instead of one that is open, or where there is no array.
    """
    if not isinstance(array, MemRefType | ArrayType) or array.get_num_dims() == 0:
        return None
    shape = [None if extent == DYNAMIC_INDEX else extent for extent in array.get_shape()]
    offset, strides = _stated(cast(Attribute, array))
    return [shape[-1], offset, *(strides if strides is not None else map(_product, _suffixes(shape)))]


def _suffixes(shape: list[int | None]) -> list[list[int | None]]:
    return [shape[axis + 1 :] for axis in range(len(shape))]


def _product(extents: list[int | None]) -> int | None:
    known = [extent for extent in extents if extent is not None]
    return prod(known) if len(known) == len(extents) else None


def _stated(array: Attribute) -> tuple[int | None, list[int | None] | None]:
    """The offset and the strides that a type states; no strides for a dense array."""
    if isinstance(array, ArrayType):
        strides = array.get_strides()
        return 0, None if strides is None else [None if s == DYNAMIC_INDEX else s for s in strides]
    memref = cast(MemRefType[Attribute], array)
    layout, unknown = memref.layout, list[int | None]([None] * memref.get_num_dims())
    if isinstance(layout, NoneAttr):
        return 0, None
    if not isinstance(layout, StridedLayoutAttr):
        return None, unknown
    offset = layout.offset.data if isinstance(layout.offset, IntAttr) else None
    return offset, [s.data if isinstance(s, IntAttr) else None for s in layout.strides.data]
