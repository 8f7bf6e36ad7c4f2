"""
Memory layouts: which element lies at which offset of a tile in shared or global memory.

The input is `offset`, counted in elements, the outputs are the dimensions of the tile. So sub-byte elements need no
rule of their own: element i of b bits lies in bits i*b .. i*b + b of the memory, lowest first.

A *swizzle* of 32, 64 or 128 bytes permutes the 16-byte chunks of a row of that many bytes by the number of the row,
so that a column of chunks touches all banks: address bits 4, 5 and 6 (as many as the width has) are xored with bits
7, 8 and 9 (CUDA Driver API, CUtensorMapSwizzle; CuTe's `Sw<3,4,3>` for 128 bytes).

A float of 6 bits has a byte, in registers and in shared memory, as the tensor core takes it in registers (PTX ISA,
`mma`, `.kind::f8f6f4`). So `reinterpret-to-i8` keeps the shape of such a tile. TMA packs 16 of them into 12 bytes and
leaves 4 empty (`.b6x16_p32`); layouts do not say that, so no load or store of them is one of TMA. No product of them
gets fragments.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tileas_xdsl.layouts.cute import CuteLayout, Swizzle, printed_as_cute
from tileas_xdsl.layouts.errors import LayoutError, exponent
from tileas_xdsl.layouts.linear import LinearLayout

OFFSET = "offset"

SWIZZLES = {0: Swizzle(0, 4, 3), 32: Swizzle(1, 4, 3), 64: Swizzle(2, 4, 3), 128: Swizzle(3, 4, 3)}
"""Width in bytes, 0 for none -> what happens to the bits of a byte address."""


def row_major(shape: Sequence[int], order: Sequence[int] | None = None) -> LinearLayout:
    """Elements one after the other, along `order`, fastest dimension first; the last dimension first when None."""
    fastest_first = range(len(shape) - 1, -1, -1) if order is None else order
    if sorted(fastest_first) != list(range(len(shape))):
        raise LayoutError(f"the order {list(fastest_first)} does not name each of {len(shape)} dimensions once")
    one = LinearLayout(((OFFSET, ()),), tuple((f"dim{axis}", 0) for axis in range(len(shape))))
    for axis in fastest_first:
        one = one * LinearLayout.identity(OFFSET, f"dim{axis}", shape[axis])
    return one


def swizzled(
    shape: Sequence[int], element_bits: int, width: int, order: Sequence[int] | None = None, times: int = 1
) -> LinearLayout:
    """
    A tile as TMA writes it with a swizzle of `width` bytes: cut along its fastest dimension into boxes as wide as the
    swizzle (one after the other in memory), rows packed, chunks permuted. Rows narrower than the swizzle are packed as
    they are, as threads may write them and TMA does not. Each box lies there `times` times, one copy behind the other.
    Raises `LayoutError` for a width that no hardware has.
    """
    if width not in SWIZZLES:
        raise LayoutError(f"a swizzle has 32, 64 or 128 bytes, or 0 for none, not {width}")
    fastest_first = tuple(range(len(shape) - 1, -1, -1)) if order is None else tuple(order)
    return _swizzled(tuple(shape), element_bits, width, fastest_first, times)


@lru_cache(maxsize=1024)
def _swizzled(
    shape: tuple[int, ...], element_bits: int, width: int, fastest_first: tuple[int, ...], times: int
) -> LinearLayout:
    """The same layouts are asked for again and again: for each copy, and by several passes."""
    if not width or not shape:
        return row_major(shape, fastest_first)
    row = 8 * width // element_bits
    inner = fastest_first[0]
    in_box = [min(extent, row) if axis == inner else extent for axis, extent in enumerate(shape)]
    boxes = [extent // box for extent, box in zip(shape, in_box, strict=True)]
    copies = LinearLayout.zeros(OFFSET, f"dim{inner}", times)
    cut = row_major(in_box, fastest_first) * copies * row_major(boxes, fastest_first)
    return _permuted(cut, SWIZZLES[width], element_bits)


def _permuted(layout: LinearLayout, swizzle: Swizzle, element_bits: int) -> LinearLayout:
    """`layout` with its offsets read through the swizzle. The map undoes itself: no bit that it reads is changed."""
    bits = len(layout.images(OFFSET))
    unit = exponent(element_bits, "the width of an element in bits") - 3

    def moved(bit: int) -> int:
        address = (1 << (bit + unit)) if bit + unit >= 0 else 0
        changed = swizzle(address)
        return changed >> unit if address and unit >= 0 else (changed << -unit if address else 1 << bit)

    through = LinearLayout.of({OFFSET: [(moved(bit) % (1 << bits),) for bit in range(bits)]}, {OFFSET: 1 << bits})
    return through.then(layout)


def from_cute(notation: CuteLayout, shape: Sequence[int]) -> LinearLayout:
    """
    The memory layout whose elements lie where CuTe says: coordinates are `shape`, colexicographic. Raises
    `LayoutError` where offsets are no permutation, so that some offset would hold nothing or two elements.
    """
    offsets = notation.linear().flattened("index", OFFSET)
    if not (offsets.is_injective and offsets.is_surjective):
        raise LayoutError(f"{notation} does not put one element at each offset")
    sizes = LinearLayout((), tuple((f"dim{i}", exponent(e, f"the extent of dim{i}")) for i, e in enumerate(shape)))
    if sizes.output_bits != len(offsets.columns):
        raise LayoutError(f"{notation} has {notation.size} coordinates, and the tile {1 << sizes.output_bits} elements")
    coordinates = LinearLayout((("index", tuple(1 << bit for bit in range(sizes.output_bits))),), sizes.outputs)
    return offsets.inverse().then(coordinates)


def as_cute(layout: LinearLayout) -> CuteLayout:
    """Shape and strides, from coordinates to offsets. Raises `LayoutError` where strides cannot say it."""
    return printed_as_cute(layout.inverse())


def in_units(layout: LinearLayout, element_bits: int, unit_bits: int) -> LinearLayout:
    """
    The layout with its offsets counted in units of `unit_bits`, which divide an element: each unit of an element leads
    to the element. With wider units than elements, `LayoutError`.
    """
    if unit_bits > element_bits:
        raise LayoutError(f"a unit of {unit_bits} bits holds several elements of {element_bits} bits")
    parts = exponent(element_bits, "the width of an element in bits") - exponent(unit_bits, "the width of a unit")
    images = (*(0,) * parts, *layout.images(OFFSET))
    return LinearLayout(((OFFSET, images),), layout.outputs)


def check_memory(layout: LinearLayout) -> None:
    """Raises `LayoutError` for a layout that leaves out an element or holds one twice."""
    if not layout.is_surjective:
        raise LayoutError("some elements lie nowhere")
    if not layout.is_injective:
        raise LayoutError("some elements lie at two offsets")
