"""
Operands of the tensor core: which registers of a thread one instruction takes of a tile, and the descriptors by which
`wgmma` and `tcgen05` find tiles in shared memory.

    A[128, 64] f16, 4 warps along M, m16n8k16      row 1, step 2 along K: the registers of (64, 32), (64, 33), ..

    A  128 x 64 f16, K contiguous, swizzle of 128 bytes     row r of step k    r * 128 + 32 * k bytes behind the tile
    B  64 x 128 f16, N contiguous, swizzle of 128 bytes     step k             2048 * k, the other half 8192 behind

The tile is boxes as TMA writes them: rows as wide as the swizzle, one behind the other, and box behind box. Eight rows
are one pattern. (PTX ISA, "Strides" and "Matrix Descriptor Format"; CUTLASS, `mma_sm90_desc.hpp`.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from tileas_xdsl.analysis.threads.tiles import Tile
from tileas_xdsl.dialects.nv_tileas.layout import form_of
from tileas_xdsl.dialects.nvvm.attributes import ShflKind
from tileas_xdsl.layouts.descriptors import PATTERN, ROWS, Operand, wgmma_descriptor
from tileas_xdsl.layouts.distributed import LANE, REGISTER, WARP, WARPGROUP
from tileas_xdsl.layouts.forms import Mma, Swizzled
from tileas_xdsl.layouts.fragments import atom
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.layouts.memory import OFFSET
from tileas_xdsl.transforms.to_llvm.tiles.exchanges import shuffled
from tileas_xdsl.transforms.to_llvm.tiles.places import linear
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads
from tileas_xdsl.transforms.to_llvm.tiles.values import SharedTile

Encoding = Callable[[Operand], int]
"""How the descriptor of an operand is encoded: that of wgmma, or that of tcgen05."""
WORD_BITS = 32
ADDRESS_BITS = 18
UNIT = 4
"""Bits of an address that a descriptor leaves out."""
UNIT_BYTES = 1 << UNIT
"""What stands where a stride says nothing."""


@dataclass(frozen=True)
class Matrix:
    """A tile in shared memory as an operand: `outer` is its dimension M or N, the other one is K."""

    tile: Tile
    outer: int
    swizzle: int

    @staticmethod
    def of(tile: Tile, outer: int) -> Matrix | str:
        """The operand that a tile is; else why it is none."""
        form = form_of(tile.type)
        if not isinstance(form, Swizzled) or form.width not in PATTERN or len(tile.layout.shape) != 2:
            return f"reads {tile.type} on the tensor core, which takes tiles in swizzled shared memory"
        found = Matrix(tile, outer, form.width)
        if tile.layout.shape[found.inner] * tile.bits < 8 * form.width:
            return f"reads {tile.type} on the tensor core, whose rows are narrower than the swizzle"
        if tile.layout.shape[1 - found.inner] % ROWS:
            return f"reads {tile.type} on the tensor core, which takes {ROWS} rows at a time"
        return found

    @property
    def inner(self) -> int:
        """The dimension along which elements are neighbours."""
        return 0 if self.tile.layout.bases(OFFSET)[0][0] else 1

    @property
    def is_k_major(self) -> bool:
        """Whether neighbours are so along K."""
        return self.inner != self.outer

    def bytes_to(self, outer: int, k: int) -> int:
        """How far behind the first byte of the tile an element lies; `outer` or `k` begins a pattern."""
        coordinates = (outer, k) if self.outer == 0 else (k, outer)
        (offset,) = _offsets(self.tile.layout).at(dim0=coordinates[0], dim1=coordinates[1])
        return offset * self.tile.bits // 8

    def constant(self, encode: Encoding) -> int:
        """All of a descriptor but the address, as a signed number of 64 bits."""
        box = self.tile.layout.shape[1 - self.inner] * self.swizzle * len(self.tile.repeats)
        leading = UNIT_BYTES if self.is_k_major else box
        word = encode(Operand(0, leading, ROWS * self.swizzle, self.swizzle))
        return word - (1 << 64) if word >> 63 else word


@cache
def _offsets(layout: LinearLayout) -> LinearLayout:
    """From coordinates to offsets."""
    return layout.pseudo_inverse()


class Descriptors:
    """
    The descriptors of an operand of the products that are built now.

    Only the low word of one depends on where the tile lies: 14 bits of the address, and no sum of them and a distance
    is carried further. Of a slot that word is the one of the first slot, which is computed once, and a multiple of its
    number: between two turns the tensor core waits for nothing longer than that. Distances are added to the whole
    descriptor: the assembler then has the next one in other registers while an instruction still reads its own.
    """

    def __init__(
        self,
        threads: Threads,
        matrix: Matrix,
        held: SharedTile,
        form: Mma | None = None,
        encode: Encoding = wgmma_descriptor,
    ) -> None:
        """`form` is that of the sum where warpgroups share it out; None where one thread multiplies for all."""
        self._threads, self._matrix, self._form = threads, matrix, form
        self._high, low = divmod(matrix.constant(encode), 1 << WORD_BITS)
        if held.slot is None or held.slot[0].bytes % UNIT_BYTES:
            self._first = self._whole(self._low_word(held.pointer, low))
            return
        slots, number = held.slot
        key = Descriptors, slots.start, matrix, form
        first = threads.once(key, lambda: self._low_word(threads.at_shared(slots.start), low))
        assert first is not None
        behind = threads.compute(arith.MuliOp, number, slots.bytes >> UNIT)
        self._first = self._whole(threads.compute(arith.AddiOp, first, behind))

    def _low_word(self, pointer: SSAValue, low: int) -> SSAValue:
        """That of a tile at `pointer`: what it says besides, and the address."""
        threads, own = self._threads, self._of_warpgroup()
        if own is not None:
            pointer = threads.shifted(pointer, own)
        address = threads.result(llvm.PtrToIntOp(pointer, i32))
        within = threads.compute(arith.AndIOp, address, (1 << ADDRESS_BITS) - 1)
        return threads.compute(arith.OrIOp, threads.compute(arith.ShRUIOp, within, UNIT), low)

    def _of_warpgroup(self) -> SSAValue | None:
        """
        Where the part of this thread's warpgroup begins: of A 64 rows for each along M, of B the columns of an
        instruction for each along N. The number comes from the first lane, so that the assembler knows it to be that
        of the whole warp: descriptors are uniform registers.
        """
        images = [] if self._form is None else self._parts_of_groups(self._form)
        if not any(images):
            return None
        threads, by_warp = self._threads, {LANE: [], WARP: [0] * (WARPGROUP.bit_length() - 1) + images}

        def build() -> SSAValue | None:
            own = linear(threads, by_warp)
            return None if own is None else shuffled(threads, own, ShflKind.IDX, threads.number(0))

        return threads.once((Descriptors, tuple(images)), build)

    def _parts_of_groups(self, form: Mma) -> list[int]:
        """For each bit of a warpgroup's number, along M first: by how many bytes it moves the part."""
        along = form.warps[0] // WARPGROUP, form.warps[1]
        own, extent = self._matrix.outer, (form.shape.m, form.shape.n)[self._matrix.outer]
        return [
            self._matrix.bytes_to(extent << bit, 0) if axis == own else 0
            for axis, groups in enumerate(along)
            for bit in range(groups.bit_length() - 1)
        ]

    def at(self, outer: int, k: int) -> SSAValue:
        """That of the part which begins at a row or column, and a step along K."""
        distance = self._matrix.bytes_to(outer, k) >> UNIT
        return self._threads.compute(arith.AddiOp, self._first, distance) if distance else self._first

    def _whole(self, word: SSAValue) -> SSAValue:
        """The descriptor with that low word."""
        wide = self._threads.result(arith.ExtUIOp(word, i64))
        return self._threads.compute(arith.OrIOp, wide, self._high << WORD_BITS)


@dataclass(frozen=True)
class Fragments:
    """Where the fragments of an operand begin, and the registers in one."""

    registers: dict[tuple[int, int], int]
    """Coordinates of thread 0 -> its register."""
    inside: tuple[tuple[int, int], ...]
    """The coordinates in a fragment, register by register."""
    steps: tuple[int, int]
    """Rows and columns from one fragment of a warp to its next."""

    @staticmethod
    def of(tile: Tile, form: Mma, operand: str, steps: tuple[int, int]) -> Fragments:
        """The fragments of a tile."""
        layout = tile.layout
        places = {(at[0], at[1]): r for r in range(tile.count) for at in [layout.at(register=r)]}
        one = atom(form.shape, operand, tile.bits)
        inside = tuple((at[0], at[1]) for r in range(one.input_size(REGISTER)) for at in [one.at(register=r)])
        return Fragments(places, inside, steps)

    def numbers(self, row: int, column: int) -> list[int]:
        """The element numbers of a fragment."""
        first = row * self.steps[0], column * self.steps[1]
        return [self.registers[first[0] + down, first[1] + across] for down, across in self.inside]
