"""
The 64-bit words by which the tensor core finds an operand in shared memory. Two instructions, two encodings.

| bits | wgmma | tcgen05 |
|---|---|---|
| 0-13 | start address >> 4 | the same |
| 16-29 | leading dimension byte offset >> 4 | the same |
| 32-45 | stride dimension byte offset >> 4 | the same |
| 46-48 | 0 | 0b001 |
| 49-51 | base offset | the same |
| 52 | 0 | leading dimension: 0 an offset, 1 an address |
| 53-60 | 0 | 0 |
| swizzle | 62-63: 0 none, 1 128 bytes, 2 64, 3 32 | 61-63: 0 none, 1 128 in chunks of 32 bytes, 2 128, 4 64, 6 32 |

References: PTX ISA, Asynchronous Warpgroup Level Matrix Shared Memory Layout, Matrix Descriptor Format; PTX ISA,
TensorCore 5th Generation, Shared Memory Descriptor.

Addresses and offsets are bytes in shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tileas_xdsl.layouts.errors import LayoutError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WGMMA_SWIZZLE = {0: 0, 128: 1, 64: 2, 32: 3}
"""Swizzle in bytes -> bits 62-63 of wgmma's descriptor."""

TCGEN05_SWIZZLE = {0: 0, 128: 2, 64: 4, 32: 6}
"""Swizzle in bytes -> bits 61-63 of tcgen05's descriptor."""

TCGEN05_SWIZZLE_128_ATOM_32 = 1
"""128 bytes whose unit is a chunk of 32 bytes, in place of 16."""

PATTERN = {32: 256, 64: 512, 128: 1024}
"""Swizzle in bytes -> after how many bytes its pattern repeats."""


@dataclass(frozen=True)
class Operand:
    """
    Where a matrix lies in shared memory: its first byte, the two strides in bytes, and the swizzle in bytes.

    `pattern` is the byte at which the pattern of the swizzle begins, in which the matrix may start anywhere.
    """

    address: int
    leading: int
    stride: int
    swizzle: int = 0
    pattern: int = 0


def wgmma_descriptor(operand: Operand) -> int:
    """The descriptor of an operand of wgmma. Raises `LayoutError` for what its fields cannot say."""
    return _common(operand) | _swizzle(operand, WGMMA_SWIZZLE) << 62


def tcgen05_descriptor(operand: Operand, *, atom_32: bool = False, absolute_leading: bool = False) -> int:
    """
    The descriptor of an operand of tcgen05.mma and tcgen05.cp. `atom_32` permutes chunks of 32 bytes, for a swizzle of
    128 only; with `absolute_leading` (sm_103a) `leading` is an address. Raises `LayoutError` for what its fields cannot
    say.
    """
    if atom_32 and operand.swizzle != 128:
        raise LayoutError(f"chunks of 32 bytes are permuted with a swizzle of 128 bytes, not of {operand.swizzle}")
    swizzle = TCGEN05_SWIZZLE_128_ATOM_32 if atom_32 else _swizzle(operand, TCGEN05_SWIZZLE)
    return _common(operand) | 0b001 << 46 | int(absolute_leading) << 52 | swizzle << 61


# Reading them ---------------------------------------------------------------------------------------------------------


def wgmma_operand(word: int) -> Operand:
    """The operand that a descriptor of wgmma names. `pattern` is where the pattern begins modulo 1024."""
    swizzle = {code: size for size, code in WGMMA_SWIZZLE.items()}[word >> 62 & 0b11]
    return _operand(word, swizzle)


def tcgen05_operand(word: int) -> Operand:
    """
    The same of tcgen05. Raises `LayoutError` for a swizzle that does not exist, for other bits than the constant ones,
    and where the leading dimension is an address.
    """
    code = word >> 61 & 0b111
    sizes = {code: size for size, code in TCGEN05_SWIZZLE.items()} | {TCGEN05_SWIZZLE_128_ATOM_32: 128}
    if word >> 46 & 0b111 != 0b001 or word >> 53 & 0xFF:
        raise LayoutError("bits 46 to 48 of a descriptor of tcgen05 are 0b001, and 53 to 60 are 0")
    if code not in sizes:
        raise LayoutError(f"a swizzle of tcgen05 is one of {', '.join(map(str, sorted(sizes)))}, not {code}")
    if word >> 52 & 1:
        raise LayoutError("the leading dimension is given as an address, and its distance is not followed")
    return _operand(word, sizes[code])


def _operand(word: int, swizzle: int) -> Operand:
    address, leading, stride = ((word >> start & 0x3FFF) << 4 for start in (0, 16, 32))
    return Operand(address, leading, stride, swizzle, (word >> 49 & 0b111) << 7)


@dataclass(frozen=True)
class Runs:
    """Bytes of shared memory: runs of `length` from `start` on, `counts` of them, `steps` apart, in each dimension."""

    start: int
    counts: tuple[int, ...]
    steps: tuple[int, ...]
    length: int


CHUNK = 16
"""Bytes that no layout takes apart."""
ROWS = 8
"""Rows of a core matrix, and of the pattern of a swizzle."""


def bytes_of(operand: Operand, rows: int, row_bytes: int, *, k_major: bool = True) -> Runs:
    """
    The bytes that an instruction reads of `operand`: `rows` rows of M or N, each of `row_bytes` along K; or, where M or
    N is the contiguous dimension (not `k_major`), `rows` rows of K with `row_bytes` along M or N.

    With a swizzle these are whole patterns, of which the instruction may read a part: one step along K of several.
    (PTX ISA, "Strides"; the canonical layouts are those that CUTLASS gives in `mma_sm90_desc.hpp`.)
    """
    groups = -(-rows // ROWS)
    if operand.swizzle == 0:
        chunks = -(-row_bytes // CHUNK)
        steps = (operand.stride, operand.leading) if k_major else (operand.leading, operand.stride)
        return Runs(operand.address, (groups, chunks), steps, ROWS * CHUNK)
    period = PATTERN[operand.swizzle]
    start = operand.address - (operand.address - operand.pattern) % period
    if k_major:
        return Runs(start, (groups,), (operand.stride,), period)
    across = -(-row_bytes // operand.swizzle)
    return Runs(start, (groups, across), (operand.stride, operand.leading), period)


def addresses_of(
    operand: Operand, rows: int, depth: int, element_bytes: int, *, k_major: bool = True
) -> NDArray[np.int64]:
    """
    The byte address of each element of `operand`: `rows` rows of M or N, `depth` elements along K. All of them lie in
    `bytes_of` it. (The canonical layouts, as above; how a swizzle permutes: `swizzled_addresses`.)
    """
    import numpy as np  # which descriptors alone need not wait for

    row, place = np.indices((rows, depth), np.int64)
    along, across = (place * element_bytes, row) if k_major else (row * element_bytes, place)
    group, within = across // ROWS, across % ROWS
    if operand.swizzle == 0:
        chunks, groups = (operand.leading, operand.stride) if k_major else (operand.stride, operand.leading)
        inside = within * CHUNK + along % CHUNK
        return operand.address + along // CHUNK * chunks + group * groups + inside
    plain = operand.address + group * operand.stride + within * operand.swizzle
    plain = plain + (along if k_major else along // operand.swizzle * operand.leading + along % operand.swizzle)
    return np.asarray(swizzled_addresses(plain, operand.swizzle, operand.pattern))


def swizzled_addresses(addresses: Any, swizzle: int, pattern: int = 0) -> Any:
    """
    Where what has these addresses lies behind a swizzle of so many bytes whose pattern begins at byte `pattern`: bits
    4, 5 and 6 of the address, as many as the width has, are xored with bits 7, 8 and 9.
    """
    chunks = max(swizzle // CHUNK, 1) - 1
    return addresses ^ ((addresses - pattern >> 7 & chunks) << 4)


# Their fields ---------------------------------------------------------------------------------------------------------


def _common(operand: Operand) -> int:
    fields = (
        (operand.address, 0, "start address"),
        (operand.leading, 16, "leading dimension byte offset"),
        (operand.stride, 32, "stride dimension byte offset"),
    )
    word = 0
    for value, start, what in fields:
        word |= _encoded(value, what) << start
    return word | _base_offset(operand) << 49


def _encoded(value: int, what: str) -> int:
    if value % 16 or not 0 <= value < 1 << 18:
        raise LayoutError(f"the {what} {value} is no multiple of 16 bytes below {1 << 18}")
    return value >> 4


def _swizzle(operand: Operand, code: dict[int, int]) -> int:
    if operand.swizzle not in code:
        raise LayoutError(f"a swizzle has 32, 64 or 128 bytes, or 0 for none, not {operand.swizzle}")
    return code[operand.swizzle]


def _base_offset(operand: Operand) -> int:
    """0 where the pattern of the swizzle begins at a multiple of its length, else in which 128 bytes of it it does."""
    period = PATTERN.get(operand.swizzle)
    return 0 if period is None or operand.pattern % period == 0 else operand.pattern >> 7 & 0b111
