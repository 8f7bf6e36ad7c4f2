"""The ops that access global memory: which tile each moves, what is known of the array, and where its atom stands."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntAttr, MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.dialects.nv_tileaa import memory as nv_tileaa
from tileas_xdsl.dialects.nv_tileaa.types import ArrayType
from tileas_xdsl.dialects.nv_tileas import memory as nv_tileas
from tileas_xdsl.dialects.nv_tileas import pointers
from tileas_xdsl.dialects.nv_tileas.attributes import BOUND_ATOM, AtomAttr
from tileas_xdsl.dialects.nv_tileas.layout import element_bits, linear_layout
from tileas_xdsl.dialects.nv_tileas.memory import MemoryOp
from tileas_xdsl.dialects.nv_tileas.verification import space_of
from tileas_xdsl.dialects.tiles.traits import LeadsToOperand
from tileas_xdsl.layouts.atoms import VECTOR_BYTES
from tileas_xdsl.layouts.linear import LinearLayout


@dataclass(frozen=True, eq=False)
class Access:
    """A load from global memory or a store to it, of a tile with a layout to the bit."""

    op: Operation
    base: SSAValue
    tile: SSAValue
    is_load: bool
    in_rows: bool
    """Whether the tile begins at a multiple of its extents, and no element of it is masked."""

    @property
    def layout(self) -> LinearLayout:
        layout = linear_layout(self.tile.type)
        assert layout is not None, "`access_of` gives those with a layout"
        return layout

    @property
    def element_bits(self) -> int:
        bits = element_bits(self.tile.type)
        assert bits is not None, "`access_of` gives those with a layout"
        return bits

    @property
    def is_shared(self) -> bool:
        """Whether the tile lies in shared memory."""
        return space_of(self.tile.type) == "smem"

    @property
    def atom(self) -> Attribute | None:
        """The atom that is bound, None where none is."""
        return self.op.atom if isinstance(self.op, MemoryOp) else self.op.attributes.get(BOUND_ATOM)

    def bind(self, atom: AtomAttr) -> None:
        """Put the atom where its op says it."""
        if isinstance(self.op, MemoryOp):
            self.op.atom = atom
        else:
            self.op.attributes[BOUND_ATOM] = atom

    def aligned(self, assumed: int) -> int:
        """
        The bytes of which each row of the tile is known to begin at a multiple; `assumed` where types leave it open.
        """
        return min(row_alignment(self.base, self.element_bits, assumed), VECTOR_BYTES) if self.in_rows else 1


def access_of(op: Operation) -> Access | None:
    """The access that an op is, None for any other op, and for tiles whose layout does not say the bits."""
    access = _access_of(op)
    if access is None or linear_layout(access.tile.type) is None or element_bits(access.tile.type) == 1:
        return None
    return access if space_of(access.tile.type) in ("rmem", "smem") else None


def _access_of(op: Operation) -> Access | None:
    match op:
        case nv_tileaa.TiledLoadOp() | nv_tileaa.TiledStoreOp():
            return Access(op, op.base, op.value, isinstance(op, nv_tileaa.TiledLoadOp), op.mask is None)
        case nv_tileaa.LoadOp() | nv_tileaa.StoreOp():
            return Access(op, op.base, op.value, isinstance(op, nv_tileaa.LoadOp), False)
        case nv_tileas.TiledLoadOp():
            return Access(op, op.view, op.tile, True, not op.mask and not op.offsets)
        case nv_tileas.AsyncTiledLoadOp():
            return Access(op, op.view, op.destination, True, not op.mask and not op.offsets)
        case nv_tileas.TiledStoreOp():
            return Access(op, op.view, op.value, False, not op.mask and not op.offsets)
        case pointers.LoadOp():
            return Access(op, op.pointer, op.value, True, False)
        case pointers.AsyncLoadOp():
            return Access(op, op.pointer, op.destination, True, False)
        case pointers.StoreOp() | pointers.AsyncStoreOp():
            return Access(op, op.pointer, op.value, False, False)
        case pointers.GatherLoadOp():
            return Access(op, op.base, op.tile, True, False)
        case pointers.ScatterStoreOp():
            return Access(op, op.base, op.value, False, False)
        case _:
            return None


# What is known of an array --------------------------------------------------------------------------------------------


def row_alignment(base: SSAValue, bits: int, assumed: int) -> int:
    """
    The bytes of which the rows of the array behind `base` begin, and end, at a multiple. Arrays begin at a multiple of
    16 bytes: allocations on the device begin at one of 256 (CUDA C++ Programming Guide, device memory accesses). 1
    where elements of a row are not neighbours.
    """
    strides = _strides(_array_behind(base))
    if strides is None:
        return assumed
    *outer, inner = strides
    if inner != 1:
        return 1
    known = gcd(VECTOR_BYTES, *(stride * bits // 8 for stride in outer if stride is not None))
    return known if None not in outer else gcd(known, assumed)


def _array_behind(base: SSAValue) -> Attribute:
    """The type of the array that a view leads to; its own type where none is found."""
    while not isinstance(base.type, MemRefType | ArrayType):
        owner = base.owner
        if not isinstance(owner, Operation) or not owner.has_trait(LeadsToOperand):
            break
        base = owner.operands[0]
    return cast(Attribute, base.type)


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
