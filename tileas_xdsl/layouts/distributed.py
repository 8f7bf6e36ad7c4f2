"""
Distributed layouts: which element a thread holds in which register.

The inputs are `register`, `lane` (the thread's place in its warp), `warp` and `block`; the outputs are the dimensions
of the tile, `dim0` the slowest. A register holds one element, however wide. Two places may hold the same element.

Where a tile is only seen otherwise, with its dimensions in another order or with other extents, who holds an element
stays the same; the element gets other coordinates. The elements of a tile count row by row, and that number is what
other extents leave as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tileas_xdsl.layouts import f2
from tileas_xdsl.layouts.errors import LayoutError, exponent
from tileas_xdsl.layouts.linear import Basis, LinearLayout, dims

REGISTER, LANE, WARP, BLOCK = PLACES = ("register", "lane", "warp", "block")
"""The inputs of a distributed layout, from the smallest grain to the largest."""

WARP_SIZE = 32
"""Threads of a warp on every NVIDIA target (PTX ISA, warp size)."""
WARPGROUP = 4
"""Warps of a warpgroup, the first of which has a number that is a multiple of it (PTX ISA, "wgmma.mma_async")."""


def from_bases(bases: Mapping[str, Sequence[Basis]], shape: Sequence[int]) -> LinearLayout:
    """The distributed layout with these bases; places that are not named are single."""
    unknown = next((name for name in bases if name not in PLACES), None)
    if unknown is not None:
        raise LayoutError(f"'{unknown}' is none of {', '.join(PLACES)}")
    return LinearLayout.of({place: bases.get(place, ()) for place in PLACES}, dims(shape))


def blocked(
    per_thread: Sequence[int], lanes: Sequence[int], warps: Sequence[int], order: Sequence[int], shape: Sequence[int]
) -> LinearLayout:
    """
    Each thread holds a box of `per_thread` elements, a warp is a grid of `lanes`, the block one of `warps`, each
    counted along `order`, fastest dimension first. Where the tile is larger, threads hold several boxes; where it is
    smaller, several threads hold the same element.
    """
    if not len(per_thread) == len(lanes) == len(warps) == len(order) == len(shape):
        raise LayoutError(f"a blocked layout of {len(shape)} dimensions says each of its numbers for every dimension")
    if sorted(order) != list(range(len(shape))):
        raise LayoutError(f"the order {list(order)} does not name each dimension once")
    one = LinearLayout((), tuple((f"dim{axis}", 0) for axis in range(len(shape))))
    for place, grid in ((REGISTER, per_thread), (LANE, lanes), (WARP, warps)):
        for axis in order:
            one = one * LinearLayout.identity(place, f"dim{axis}", grid[axis])
    return fitted(one, shape, order)


def fitted(atom: LinearLayout, shape: Sequence[int], order: Sequence[int]) -> LinearLayout:
    """
    `atom` made to cover a tile of `shape`: repeated in registers along `order` where the tile is larger; where it is
    smaller, what lies outside wraps around, so that several places hold one element.
    """
    wrapped = _wrapped(atom, shape)
    for axis in order:
        missing = shape[axis] // wrapped.output_size(f"dim{axis}")
        wrapped = wrapped * LinearLayout.identity(REGISTER, f"dim{axis}", missing)
    return wrapped.with_outputs([f"dim{axis}" for axis in range(len(shape))]).with_inputs(PLACES)


def _wrapped(atom: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    """
    `atom` in a tile no larger than `shape`. A register that only repeats another one is left out; other places stay,
    and hold a copy.
    """
    for axis, extent in enumerate(shape):
        exponent(extent, f"the extent of dim{axis}")
    limit = {f"dim{axis}": min(extent, atom.output_size(f"dim{axis}")) for axis, extent in enumerate(shape)}
    bases: dict[str, list[Basis]] = {}
    for place in atom.input_names:
        cut = [tuple(v % e for v, e in zip(b, limit.values(), strict=True)) for b in atom.bases(place)]
        was_zero = [not any(b) for b in atom.bases(place)]
        bases[place] = [b for b, z in zip(cut, was_zero, strict=True) if place != REGISTER or any(b) or z]
    return LinearLayout.of(bases, limit)


def sliced(parent: LinearLayout, axis: int) -> LinearLayout:
    """
    The layout of what is left when dimension `axis` is reduced away: each thread keeps what it holds of the other
    dimensions. Registers that held different elements of the lost dimension only would hold one twice; they are left
    out. Lanes and warps that did so hold copies.
    """
    names = list(parent.output_names)
    if not 0 <= axis < len(names):
        raise LayoutError(f"a tile of {len(names)} dimensions has no dimension {axis}")
    kept = [name for name in names if name != names[axis]]
    rest = parent.with_outputs(kept).renamed({name: f"dim{i}" for i, name in enumerate(kept)})
    registers = [basis for basis in rest.bases(REGISTER) if any(basis)]
    bases = {place: registers if place == REGISTER else rest.bases(place) for place in PLACES}
    return LinearLayout.of(bases, dims(rest.shape))


def broadcast(layout: LinearLayout, axis: int, extent: int) -> LinearLayout:
    """The layout of the tile that repeats a tile of extent 1 along `axis`: each thread holds the copies it needs."""
    if layout.output_size(f"dim{axis}") != 1:
        raise LayoutError(f"dim{axis} has the extent {layout.output_size(f'dim{axis}')}, and 1 is what can be repeated")
    grown = layout * LinearLayout.identity(REGISTER, f"dim{axis}", extent)
    return grown.with_outputs(layout.output_names)


def transposed(layout: LinearLayout, permutation: Sequence[int]) -> LinearLayout:
    """The layout of the tile whose dimension i is dimension `permutation[i]` of this one; no element moves."""
    if sorted(permutation) != list(range(len(layout.outputs))):
        raise LayoutError(f"{list(permutation)} is no permutation of {len(layout.outputs)} dimensions")
    names = [f"dim{axis}" for axis in permutation]
    moved = layout.with_outputs(names)
    return LinearLayout(moved.inputs, tuple((f"dim{i}", bits) for i, (_, bits) in enumerate(moved.outputs)))


def representatives(layout: LinearLayout, registers: Sequence[int]) -> tuple[int, ...]:
    """For each register number the combination of `registers` that holds the same element of a thread."""
    images = layout.images(REGISTER)
    room = f2.echelon(f2.combination(images, register) for register in registers)
    chosen = [room.reduce(f2.combination(images, number))[1] for number in range(1 << len(images))]
    return tuple(f2.combination(registers, number) for number in chosen)


def spare_bits(layout: LinearLayout) -> dict[str, int]:
    """The bits of lane and warp without which every element is still held."""
    room = list(layout.images(REGISTER))
    spare = {LANE: 0, WARP: 0}
    for place in (LANE, WARP):
        for bit, image in enumerate(layout.images(place)):
            if f2.rank([*room, image]) == f2.rank(room):
                spare[place] |= 1 << bit
            else:
                room.append(image)
    return spare


def check_distributed(layout: LinearLayout) -> None:
    """Raises `LayoutError` for a layout that is not held by whole warps, or leaves out an element."""
    if layout.input_size(LANE) != WARP_SIZE:
        raise LayoutError(f"a warp has {WARP_SIZE} lanes, not {layout.input_size(LANE)}")
    if not layout.is_surjective:
        raise LayoutError("some elements are held by nobody")


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
