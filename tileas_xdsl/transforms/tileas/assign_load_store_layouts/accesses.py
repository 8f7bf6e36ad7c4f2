"""The ops that access global memory: which tile each moves, what is known of the array, and where its atom stands."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.analysis.memory.rows import row_alignment
from tileas_xdsl.dialects.nv_tileaa import memory as nv_tileaa
from tileas_xdsl.dialects.nv_tileas import memory as nv_tileas
from tileas_xdsl.dialects.nv_tileas import pointers
from tileas_xdsl.dialects.nv_tileas.attributes import BOUND_ATOM, AtomAttr
from tileas_xdsl.dialects.nv_tileas.layout import element_bits, linear_layout
from tileas_xdsl.dialects.nv_tileas.memory import MemoryOp
from tileas_xdsl.dialects.nv_tileas.verification import space_of
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
