"""
Layouts of tiles that are only seen otherwise: with their dimensions in another order, or with other extents.

Who holds an element stays the same; the element gets other coordinates. The elements of a tile count row by row, and
that number is what other extents leave as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.linear import Basis, LinearLayout, dims


def permuted(layout: LinearLayout, axes: Sequence[int]) -> LinearLayout:
    """The layout of the tile whose dimension i is dimension `axes[i]` of this one."""
    shape = [layout.shape[axis] for axis in axes]
    bases = {name: [tuple(basis[axis] for axis in axes) for basis in layout.bases(name)] for name in layout.input_names}
    return LinearLayout.of(bases, dims(shape))


def reshaped(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    """The layout of the same elements, row by row, in other extents. Raises `LayoutError` for more elements or less."""
    into = dims(shape)
    if sum(size.bit_length() - 1 for size in into.values()) != layout.output_bits:
        raise LayoutError(f"{layout.shape} and {tuple(shape)} have different numbers of elements")

    def moved(basis: Basis) -> tuple[int, ...]:
        number = 0
        for extent, coordinate in zip(layout.shape, basis, strict=True):
            number = number * extent + coordinate
        found: list[int] = []
        for extent in reversed(shape):
            number, coordinate = divmod(number, extent)
            found.append(coordinate)
        return tuple(reversed(found))

    return LinearLayout.of({name: [moved(b) for b in layout.bases(name)] for name in layout.input_names}, into)
