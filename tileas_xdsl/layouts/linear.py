"""
A layout is a linear map over F2: the bits of a place in, the bits of the element's coordinates out.

    LinearLayout.of({"register": [(0, 1)], "lane": [(0, 2), (1, 0)]}, {"dim0": 2, "dim1": 4})

says of 4 lanes with 2 registers each which element of a 2x4 tile they hold. Each input has a *basis*: the coordinates
to which its bits 1, 2, 4, ... lead; those of any other place are the exclusive or of the bases of its bits. So extents
are powers of two. Inputs and outputs have names and an order, which is that of the packed vectors: the first is in the
low bits.

The algebra follows Zhou et al. (arXiv 2505.23819); the terms are those of linear algebra.

They are linear over F2, so extents are powers of two; padding and other layouts are refused, not approximated. The
dimension of `order` that comes first is the fastest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tileas_xdsl.layouts import f2
from tileas_xdsl.layouts.errors import LayoutError, exponent

Basis = tuple[int, ...]
"""The coordinates to which one bit of an input leads, one number an output."""


@dataclass(frozen=True)
class LinearLayout:
    """The map itself. Equal layouts have the same names in the same order, and the same bases."""

    inputs: tuple[tuple[str, tuple[int, ...]], ...]
    """Name -> the packed image of each of its bits."""
    outputs: tuple[tuple[str, int], ...]
    """Name -> how many bits it has."""

    # Making one -----------------------------------------------------------------------------------------------------

    @staticmethod
    def of(bases: Mapping[str, Sequence[Sequence[int]]], sizes: Mapping[str, int]) -> LinearLayout:
        """The layout with these bases, whose outputs have these sizes. Raises `LayoutError` for what is none."""
        outputs = tuple((name, exponent(size, f"the extent of {name}")) for name, size in sizes.items())
        pack = LinearLayout((), outputs).packed
        return LinearLayout(tuple((name, tuple(map(pack, its))) for name, its in bases.items()), outputs)

    @staticmethod
    def identity(source: str, target: str, size: int) -> LinearLayout:
        """Place i holds element i."""
        bits = exponent(size, f"the extent of {source}")
        return LinearLayout(((source, f2.units(bits)),), ((target, bits),))

    @staticmethod
    def zeros(source: str, target: str, size: int) -> LinearLayout:
        """Every place holds element 0: copies."""
        return LinearLayout(((source, (0,) * exponent(size, f"the extent of {source}")),), ((target, 0),))

    # Reading it -----------------------------------------------------------------------------------------------------

    @property
    def input_names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.inputs)

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.outputs)

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """The packed images of all input bits, in order."""
        return tuple(image for _, images in self.inputs for image in images)

    @cached_property
    def table(self) -> tuple[int, ...]:
        """The packed image of every packed place."""
        return f2.table(self.columns)

    @property
    def output_bits(self) -> int:
        return sum(bits for _, bits in self.outputs)

    def images(self, name: str) -> tuple[int, ...]:
        """The packed images of the bits of an input; () for an input that the layout does not have."""
        return next((images for own, images in self.inputs if own == name), ())

    def bases(self, name: str) -> tuple[Basis, ...]:
        """The images of the bits of an input as coordinates."""
        return tuple(self.unpacked(image) for image in self.images(name))

    def input_size(self, name: str) -> int:
        """How many values an input has; 1 for one that the layout does not have."""
        return 1 << len(self.images(name))

    def output_size(self, name: str) -> int:
        """The extent of an output; 1 for one that the layout does not have."""
        return 1 << next((bits for own, bits in self.outputs if own == name), 0)

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the outputs, in order."""
        return tuple(1 << bits for _, bits in self.outputs)

    @property
    def is_surjective(self) -> bool:
        """Whether every element has a place."""
        return f2.rank(self.columns) == self.output_bits

    @property
    def is_injective(self) -> bool:
        """Whether no element has two places."""
        return f2.rank(self.columns) == len(self.columns)

    def packed(self, coordinates: Sequence[int]) -> int:
        """Coordinates as one vector. Raises `LayoutError` where one lies outside its output."""
        if len(coordinates) != len(self.outputs):
            raise LayoutError(f"{tuple(coordinates)} are not coordinates in {len(self.outputs)} dimensions")
        vector, start = 0, 0
        for (name, bits), value in zip(self.outputs, coordinates, strict=True):
            if not 0 <= value < 1 << bits:
                raise LayoutError(f"{value} lies outside {name}, which has the extent {1 << bits}")
            vector, start = vector | value << start, start + bits
        return vector

    def unpacked(self, vector: int) -> Basis:
        """The coordinates that make up a vector."""
        coordinates: list[int] = []
        for _, bits in self.outputs:
            coordinates.append(vector & ((1 << bits) - 1))
            vector >>= bits
        return tuple(coordinates)

    def at(self, **places: int) -> Basis:
        """The coordinates of the element at a place; inputs that are not named are 0. Raises `LayoutError` outside."""
        outside = next((name for name, place in places.items() if not 0 <= place < self.input_size(name)), None)
        if outside is not None:
            raise LayoutError(f"there is no {outside} {places[outside]}, only {self.input_size(outside)} of them")
        chosen, start = 0, 0
        for name, images in self.inputs:
            chosen, start = chosen | places.get(name, 0) << start, start + len(images)
        return self.unpacked(f2.combination(self.columns, chosen))

    def __str__(self) -> str:
        outputs = ", ".join(f"{name}: {1 << bits}" for name, bits in self.outputs)
        lines = [f"{name} = {[list(basis) for basis in self.bases(name)]}" for name, _ in self.inputs]
        return f"({outputs}) from {', '.join(lines) or 'nothing'}"

    # Names and order ------------------------------------------------------------------------------------------------

    def with_outputs(self, names: Sequence[str]) -> LinearLayout:
        """
        The layout into the outputs `names` alone, in that order: a transposition, or what is left of a tile when the
        other dimensions are reduced away.
        """
        sizes = dict(self.outputs)
        missing = [name for name in names if name not in sizes]
        if missing:
            raise LayoutError(f"a layout of {', '.join(sizes)} has no dimension {missing[0]}")
        kept = [self.output_names.index(name) for name in names]
        target = LinearLayout((), tuple((name, sizes[name]) for name in names))

        def moved(image: int) -> int:
            coordinates = self.unpacked(image)
            return target.packed([coordinates[index] for index in kept])

        inputs = tuple((name, tuple(map(moved, images))) for name, images in self.inputs)
        return LinearLayout(inputs, target.outputs)

    def with_inputs(self, names: Sequence[str]) -> LinearLayout:
        """
        The layout from the inputs `names` alone, in that order, the others being 0; one that is not there has size 1.
        """
        return LinearLayout(tuple((name, self.images(name)) for name in names), self.outputs)

    def renamed(self, names: Mapping[str, str]) -> LinearLayout:
        """The layout with other names for inputs and outputs."""
        return LinearLayout(
            tuple((names.get(name, name), images) for name, images in self.inputs),
            tuple((names.get(name, name), bits) for name, bits in self.outputs),
        )

    def flattened(self, source: str, target: str) -> LinearLayout:
        """The same map with all inputs packed into one, and all outputs."""
        return LinearLayout(((source, self.columns),), ((target, self.output_bits),))

    def into(self, sizes: Mapping[str, int]) -> LinearLayout:
        """
        The layout into larger outputs: one that is named there grows to that extent, new ones are added behind. No
        place moves. Raises `LayoutError` for an output that would shrink.
        """
        wanted = {**{name: 1 << bits for name, bits in self.outputs}, **sizes}
        shrunk = next((name for name, bits in self.outputs if wanted[name] < 1 << bits), None)
        if shrunk is not None:
            raise LayoutError(f"{shrunk} has the extent {self.output_size(shrunk)}, not {wanted[shrunk]}")
        missing = (0,) * (len(wanted) - len(self.outputs))
        return LinearLayout.of({name: [(*b, *missing) for b in self.bases(name)] for name, _ in self.inputs}, wanted)

    # The algebra ----------------------------------------------------------------------------------------------------

    def then(self, after: LinearLayout) -> LinearLayout:
        """
        The composition: first this map, then `after`, whose inputs are this one's outputs by name. Raises `LayoutError`
        where an output leads outside of them.
        """
        sizes = {name: len(images) for name, images in after.inputs}
        unknown = next((name for name, bits in self.outputs if bits > sizes.get(name, 0)), None)
        if unknown is not None:
            raise LayoutError(f"{unknown} has the extent {self.output_size(unknown)}, more than what follows can read")
        wires = [after.images(name)[bit] for name, bits in self.outputs for bit in range(bits)]
        inputs = tuple((name, tuple(f2.combination(wires, i) for i in images)) for name, images in self.inputs)
        return LinearLayout(inputs, after.outputs)

    def inverse(self) -> LinearLayout:
        """From coordinates to places. Raises `LayoutError` unless each element has exactly one place."""
        if not self.is_injective:
            raise LayoutError("a layout that holds an element twice has no inverse")
        return self.pseudo_inverse()

    def pseudo_inverse(self) -> LinearLayout:
        """
        From coordinates to one of the places that hold the element: the one that uses the earliest bits. Raises
        `LayoutError` for a layout that does not cover its tile.
        """
        solved = f2.inverse(self.columns, self.output_bits)
        if solved is None:
            raise LayoutError("a layout that does not cover its tile has no inverse")
        outputs = tuple((name, len(images)) for name, images in self.inputs)
        return LinearLayout(_split(self.outputs, solved), outputs)

    def into_places_of(self, other: LinearLayout) -> LinearLayout:
        """
        The map from places of this layout to places of `other` that hold the same element: `other`'s inverse after this
        map. Raises `LayoutError` where `other` does not hold it.
        """
        if self.outputs != other.outputs:
            raise LayoutError(f"layouts of {_words(self.outputs)} and {_words(other.outputs)} are not of one tile")
        room = f2.echelon(other.columns)
        solved = [room.reduce(image) for image in self.columns]
        if any(rest for rest, _ in solved):
            raise LayoutError("the other layout does not hold every element of this one")
        outputs = tuple((name, len(images)) for name, images in other.inputs)
        return LinearLayout(_split_like(self.inputs, [used for _, used in solved]), outputs)

    def __mul__(self, outer: LinearLayout) -> LinearLayout:
        """
        The product: `outer` says where the copies of this layout's tile lie. Names in both are joined, this layout's
        bits below; names in one alone stay as they are.
        """
        own, its = dict(self.outputs), dict(outer.outputs)
        names = [*own, *(name for name in its if name not in own)]
        joined = LinearLayout((), tuple((name, own.get(name, 0) + its.get(name, 0)) for name in names))

        def inner_image(image: int) -> int:
            at = dict(zip(own, self.unpacked(image), strict=True))
            return joined.packed([at.get(name, 0) for name in names])

        def outer_image(image: int) -> int:
            at = dict(zip(its, outer.unpacked(image), strict=True))
            return joined.packed([at.get(name, 0) << own.get(name, 0) for name in names])

        inputs = [*self.input_names, *(name for name in outer.input_names if name not in self.input_names)]
        images = {n: (*map(inner_image, self.images(n)), *map(outer_image, outer.images(n))) for n in inputs}
        return LinearLayout(tuple(images.items()), joined.outputs)

    def divided_by(self, inner: LinearLayout) -> LinearLayout | None:
        """The quotient q with `inner * q == self`, names in this layout's order; None where there is none."""
        sizes = {name: self.output_size(name) // inner.output_size(name) for name in self.output_names}
        if any(name not in self.input_names for name in inner.input_names) or 0 in sizes.values():
            return None
        if any(name not in sizes for name in inner.output_names):
            return None
        bases: dict[str, list[Basis]] = {}
        for name in self.input_names:
            rest = self.bases(name)[len(inner.images(name)) :]
            scaled = [self._scaled_down(basis, inner) for basis in rest]
            if None in scaled:
                return None
            bases[name] = [basis for basis in scaled if basis is not None]
        quotient = LinearLayout.of(bases, sizes)
        product = inner * quotient
        same = product.with_outputs(self.output_names).with_inputs(self.input_names)
        return quotient if same == self else None

    def _scaled_down(self, basis: Basis, inner: LinearLayout) -> Basis | None:
        scales = [inner.output_size(name) for name in self.output_names]
        if any(value % scale for value, scale in zip(basis, scales, strict=True)):
            return None
        return tuple(value // scale for value, scale in zip(basis, scales, strict=True))


def _split(parts: Sequence[tuple[str, int]], images: Sequence[int]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """`images` cut into pieces with so many bits each."""
    pieces: list[tuple[str, tuple[int, ...]]] = []
    start = 0
    for name, bits in parts:
        pieces.append((name, tuple(images[start : start + bits])))
        start += bits
    return tuple(pieces)


def _split_like(
    inputs: Iterable[tuple[str, tuple[int, ...]]], images: Sequence[int]
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return _split([(name, len(own)) for name, own in inputs], images)


def _words(outputs: Iterable[tuple[str, int]]) -> str:
    return " x ".join(f"{name}: {1 << bits}" for name, bits in outputs)


def dims(shape: Sequence[int]) -> dict[str, int]:
    """`dim0`, `dim1`, ... -> the extents of a tile."""
    return {f"dim{axis}": extent for axis, extent in enumerate(shape)}
