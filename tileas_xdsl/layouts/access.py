"""
How the threads that hold a tile load it from shared memory, or store it there, with the fewest wavefronts.

Three kinds of instructions: plain loads and stores of 1 to 16 bytes a lane, and ldmatrix or stmatrix, with or without
transposition. Which are possible follows from the two layouts: a plain access of 2**k elements needs the low k bits of
the offset to lead to elements of one thread; a matrix access needs rows of 16 bytes that are spread over four
neighbouring lanes (or, transposed, over eight lanes, 4 apart).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tileas_xdsl.layouts import f2
from tileas_xdsl.layouts.banks import SHARED, Banks, wavefronts
from tileas_xdsl.layouts.distributed import LANE, REGISTER, WARP, spare_bits
from tileas_xdsl.layouts.errors import LayoutError, exponent
from tileas_xdsl.layouts.linear import LinearLayout

VECTOR_BITS = 128
"""The most that one lane loads or stores at once."""

MATRICES = 4
"""The most matrices that one ldmatrix or stmatrix moves."""


@dataclass(frozen=True)
class LaneAccess:
    """
    One side of a transfer between registers and shared memory.

    `offsets` leads from (register, lane, warp) to the offset in elements, `registers` is the basis of the register
    numbers that one instruction moves for a lane, lowest offset first, and `others` that of the instructions.
    """

    kind: str
    """`plain`, `matrix` or `matrix.trans`."""
    offsets: LinearLayout
    registers: tuple[int, ...]
    others: tuple[int, ...]
    element_bits: int
    banks: Banks = SHARED

    @property
    def width(self) -> int:
        """The bytes that a lane addresses at once."""
        return 16 if self.kind != "plain" else max(1, (self.element_bits << len(self.registers)) // 8)

    @cached_property
    def instructions(self) -> tuple[int, ...]:
        """The first register number of each instruction."""
        return tuple(f2.combination(self.others, number) for number in range(1 << len(self.others)))

    @cached_property
    def wavefronts(self) -> int:
        """
        The wavefronts of one warp for the whole tile. They are the same for each instruction: xor moves no conflict.
        """
        return len(self.instructions) * self._of_one()

    def _of_one(self) -> int:
        if self.kind == "plain":
            return wavefronts(self.addresses(0, 0), self.width, self.banks)
        return self.matrices * wavefronts(self.row_addresses(0, 0, 0), 16, self.banks)

    @property
    def matrices(self) -> int:
        """How many matrices of 8 rows an instruction moves; 0 for plain accesses."""
        if self.kind == "plain":
            return 0
        return 1 << (len(self.registers) - exponent(32 // self.element_bits, "a register in elements"))

    @cached_property
    def lanes(self) -> int:
        """How many lanes a warp has."""
        return self.offsets.input_size(LANE)

    def offset(self, register: int, lane: int, warp: int) -> int:
        """Where the element of a register lies, in elements."""
        return self._places[REGISTER][register] ^ self._places[LANE][lane] ^ self._places[WARP][warp]

    @cached_property
    def _places(self) -> Mapping[str, Sequence[int]]:
        """Where each register, lane and warp leads by itself: an element lies at their sum."""
        return {name: f2.table(self.offsets.images(name)) for name in (REGISTER, LANE, WARP)}

    def block(self, register: int, lane: int, warp: int) -> int:
        """Where the elements begin that a lane accesses in the plain instruction which begins with `register`."""
        return self.offset(register, lane, warp) >> len(self.registers) << len(self.registers)

    def register_in_block(self, register: int, lane: int, warp: int, element: int) -> int:
        """The register for element number `element` of the block: where lanes differ in it, a select decides."""
        first = self.offset(register, lane, warp) & ((1 << len(self.registers)) - 1)
        return register ^ f2.combination(self.registers, first ^ element)

    @property
    def needs_select(self) -> bool:
        """Whether lanes or warps differ in the register that holds the same element of a block."""
        low = (1 << len(self.registers)) - 1
        places = (*self.offsets.images(LANE), *self.offsets.images(WARP))
        return self.kind == "plain" and any(image & low for image in places)

    def addresses(self, register: int, warp: int) -> list[int]:
        """The byte that each lane addresses in the plain instruction that begins with `register`."""
        return [self.block(register, lane, warp) * self.element_bits // 8 for lane in range(self.lanes)]

    def row_addresses(self, register: int, matrix: int, warp: int) -> list[int]:
        """The first byte of each of the 8 rows of a matrix of the instruction that begins with `register`."""
        start = register ^ self.matrix_register(matrix)
        if self.kind == "matrix":
            places = [(start, 4 * row) for row in range(8)]
        else:
            places = [(start ^ (self.registers[0] if row & 1 else 0), row >> 1) for row in range(8)]
        return [self.offset(r, lane, warp) * self.element_bits // 8 for r, lane in places]

    def word_register(self, element: int) -> int:
        """What is added to a register to get another element of its 32-bit word."""
        return f2.combination(self.registers, element)

    def matrix_register(self, matrix: int) -> int:
        """The first register of a matrix."""
        in_word = exponent(32 // self.element_bits, "a register in elements")
        return f2.combination(self.registers[in_word:], matrix)


def accesses(
    layout: LinearLayout, memory: LinearLayout, element_bits: int, *, matrix: bool = False, banks: Banks = SHARED
) -> list[LaneAccess]:
    """
    The ways to move the tile between the registers of `layout` and `memory`, fewest wavefronts first, then fewest
    instructions. `matrix` says whether the target has ldmatrix (stmatrix). Raises `LayoutError` where there is none:
    several threads would write parts of one byte.
    """
    offsets = layout.with_inputs([REGISTER, LANE, WARP]).into_places_of(memory)
    found = [
        *_plain(offsets, element_bits, banks),
        *(_matrix(offsets, element_bits, banks) if matrix else []),
    ]
    if not found:
        raise LayoutError(f"elements of {element_bits} bits share a byte that belongs to several threads")
    return sorted(found, key=lambda access: (access.wavefronts, len(access.instructions)))


def store_accesses(
    layout: LinearLayout, memory: LinearLayout, element_bits: int, *, matrix: bool = False, banks: Banks = SHARED
) -> list[LaneAccess]:
    """
    Those of `accesses` that store. Of lanes that hold copies one stores, and stmatrix is issued by whole warps (PTX
    ISA, "stmatrix"): it would store rows several times.
    """
    stores_once = not spare_bits(layout)[LANE]
    return accesses(layout, memory, element_bits, matrix=matrix and stores_once, banks=banks)


def _plain(offsets: LinearLayout, element_bits: int, banks: Banks) -> list[LaneAccess]:
    """The widest vectors, and those of at least a byte below them."""
    registers = offsets.images(REGISTER)
    chain: list[int] = []
    room = f2.echelon(registers)
    while element_bits << len(chain) < VECTOR_BITS:
        rest, used = room.reduce(1 << len(chain))
        if rest or len(chain) == offsets.output_bits:
            break
        chain.append(used)
    widths = [k for k in range(len(chain), -1, -1) if element_bits << k >= 8]
    return [_access("plain", offsets, chain[:k], element_bits, banks) for k in widths]


def _access(
    kind: str, offsets: LinearLayout, registers: Sequence[int], element_bits: int, banks: Banks, clear: int = 0
) -> LaneAccess:
    """The access that moves `registers` at once. Registers that hold what others hold, too, are left out."""
    images = offsets.images(REGISTER)
    units = [_cleared(unit, images, registers, clear) for unit in f2.units(len(images))]
    others = f2.extension([*registers, *f2.kernel(images)], units)
    moved = (*registers, *others[: exponent(MATRICES, "matrices")]) if kind != "plain" else tuple(registers)
    return LaneAccess(kind, offsets, moved, others[len(moved) - len(registers) :], element_bits, banks)


def _cleared(register: int, images: Sequence[int], words: Sequence[int], bits: int) -> int:
    """The register in which the same lane has the element at offset 0 of the word that holds that of `register`."""
    return register ^ f2.combination(words, f2.combination(images, register) & ((1 << bits) - 1))


def _matrix(offsets: LinearLayout, element_bits: int, banks: Banks) -> list[LaneAccess]:
    if offsets.input_size(LANE) != 32 or element_bits > 32 or 1 << offsets.output_bits < 8 * 128 // element_bits:
        return []
    straight = _straight(offsets, element_bits, banks)
    return [*([straight] if straight is not None else []), *_transposed(offsets, element_bits, banks)]


def _straight(offsets: LinearLayout, element_bits: int, banks: Banks) -> LaneAccess | None:
    """Rows of 16 bytes are spread over lanes 4i .. 4i + 3, 4 bytes each."""
    in_word = exponent(32 // element_bits, "a register in elements")
    registers, lanes = offsets.images(REGISTER), offsets.images(LANE)
    words = [f2.solve(registers, 1 << bit) for bit in range(in_word)]
    if None in words or lanes[:2] != (1 << in_word, 2 << in_word):
        return None
    found = _access("matrix", offsets, [w for w in words if w is not None], element_bits, banks, clear=in_word)
    outside = [f2.combination(registers, register) for register in (*found.registers[in_word:], *found.others)]
    moves = [*lanes[2:], *offsets.images(WARP), *outside]
    return None if any(image & ((4 << in_word) - 1) for image in moves) else found


def _transposed(offsets: LinearLayout, element_bits: int, banks: Banks) -> list[LaneAccess]:
    """Rows of 8 elements of 16 bits are spread over lanes i, i + 4, ..; a lane's two registers come from two rows."""
    registers, lanes = offsets.images(REGISTER), offsets.images(LANE)
    moves = [*lanes[:2], *offsets.images(WARP), *registers]
    if element_bits != 16 or lanes[2:] != (1, 2, 4) or any(image & 7 for image in moves):
        return []
    first = [unit for unit, image in zip(f2.units(len(registers)), registers, strict=True) if image]
    return [_access("matrix.trans", offsets, [unit], element_bits, banks) for unit in first]
