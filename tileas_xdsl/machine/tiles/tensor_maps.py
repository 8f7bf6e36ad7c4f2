"""
Tensor maps as values, and the numbers that copies move by them.

An argument that says what it maps (`tileas.tensor_map`, see `dialects.tensor_maps`) points to 128 bytes, which nobody
reads as such, and stands for an array. A box is cut out of the array at coordinates, which may lie outside; its rows
lie in shared memory one behind the other, permuted as hardware does it: by bits of their addresses, so that a tile that
does not begin where the pattern of its swizzle does is permuted all the same. (CUDA Driver API,
`cuTensorMapEncodeTiled`; CUDA C++ Programming Guide, "TMA Swizzle".)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import BlockArgument

from tileas_xdsl.dialects.tensor_maps import CHUNK, TensorMap, TensorMapError, tensor_map_of
from tileas_xdsl.layouts.descriptors import swizzled_addresses
from tileas_xdsl.machine.arguments import ArgumentError, default_array, dynamic_sizes_missing, name_of
from tileas_xdsl.machine.core.memory import MemoryObject, View
from tileas_xdsl.machine.core.values import ElementType, element_type
from tileas_xdsl.machine.tiles.pointers import Pointer, byte_object

Array = NDArray[Any]

DESCRIPTOR_BYTES = 128
EXTENT_WHEN_CHECKING = 1 << 16
ALIGNMENT = 128
"""Of a box in shared memory, in bytes (PTX ISA, "cp.async.bulk.tensor")."""


@dataclass(frozen=True)
class Mapped:
    """What a descriptor maps: boxes of an array."""

    map_: TensorMap
    array: View


def described(pointer: Pointer) -> Mapped | None:
    """What the descriptor at `pointer` maps; None where nothing is said of it."""
    return pointer.base.mapped if pointer.offset == 0 else None


# Arguments ------------------------------------------------------------------------------------------------------------


def map_of_argument(argument: BlockArgument) -> TensorMap | None:
    """What an argument says of the tensor map that it is. Raises `ArgumentError` where that is none."""
    attributes: Any = getattr(argument.block.parent_op(), "arg_attrs", None)
    if attributes is None:
        return None
    try:
        return tensor_map_of(attributes.data[argument.index].data)
    except TensorMapError as error:
        raise ArgumentError(f"argument '{name_of(argument)}' {error}") from None


def bind_map(argument: BlockArgument, map_: TensorMap, given: Any, with_data: bool) -> Pointer:
    """The value of an argument that is a tensor map: of a copy of the array given."""
    name = name_of(argument)
    element = element_type(map_.array.element_type)
    if element is None:
        raise ArgumentError(f"argument '{name}' maps elements of {map_.array.element_type}, which have no numbers here")
    shape = _shape(argument, map_, given, with_data)
    if not with_data:
        array = MemoryObject(f"array of '{name}'", shape, element)
    else:
        contents = default_array(shape, element, argument.index) if given is None else np.asarray(given)
        _must_be_mappable(name, shape, element)
        array = MemoryObject.from_array(name, contents.astype(element.dtype), element)
    descriptor = byte_object(name, DESCRIPTOR_BYTES, "global", with_data=with_data)
    descriptor.mapped = Mapped(map_, array.whole())
    return Pointer(descriptor, 0)


def _shape(argument: BlockArgument, map_: TensorMap, given: Any, with_data: bool) -> tuple[int, ...]:
    static = map_.array.get_shape()
    if given is not None:
        shape = tuple(np.shape(given))
        fits = len(shape) == len(static) and all(s in (DYNAMIC_INDEX, g) for s, g in zip(static, shape, strict=True))
        if not fits:
            name = name_of(argument)
            raise ArgumentError(f"argument '{name}' maps a {map_.array}, and the array given has shape {shape}")
        return shape
    if with_data and DYNAMIC_INDEX in static:
        raise dynamic_sizes_missing(map_.array, static, name_of(argument))
    return tuple(EXTENT_WHEN_CHECKING if extent == DYNAMIC_INDEX else extent for extent in static)


def _must_be_mappable(name: str, shape: Sequence[int], element: ElementType) -> None:
    """As the driver has it: no extent is 0, and strides are multiples of 16 bytes."""
    row = shape[-1] * element.size
    if 0 in shape:
        raise ArgumentError(f"argument '{name}' is an array without elements, of which there is no tensor map")
    if len(shape) > 1 and row % CHUNK:
        raise ArgumentError(f"argument '{name}' has rows of {row} bytes; a tensor map takes multiples of {CHUNK}")


# Boxes ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Box:
    """The box of `map_` whose first element has these `coordinates` in `array`, the outermost first."""

    map_: TensorMap
    array: View
    coordinates: tuple[int, ...]

    def read(self) -> Array:
        """Its elements; zeros where it sticks out."""
        found = np.zeros(self.map_.box, self.array.element.dtype)
        found[self._within_box()] = self.array.array()[self._within_array()]
        return found

    def write(self, elements: Array) -> None:
        """Put `elements` into the array, but for what sticks out."""
        self.array.array()[self._within_array()] = elements[self._within_box()]

    def _within_array(self) -> tuple[slice, ...]:
        """Its part of the array, along each dimension."""
        spans = zip(self.coordinates, self.map_.box, self.array.shape, strict=True)
        return tuple(
            slice(min(max(start, 0), size), min(max(start + extent, 0), size)) for start, extent, size in spans
        )

    def _within_box(self) -> tuple[slice, ...]:
        """The same part, counted from its own beginning."""
        spans = zip(self._within_array(), self.coordinates, strict=True)
        return tuple(slice(max(part.start - start, 0), max(part.stop - start, 0)) for part, start in spans)


def permuted(plain: Array, address: int, swizzle: int) -> Array:
    """The bytes of a box as they lie from `address` on; `plain` is the box row behind row."""
    found = np.empty_like(plain)
    found[_places(len(plain), address, swizzle)] = plain
    return found


def straightened(held: Array, address: int, swizzle: int) -> Array:
    """The bytes of a box row behind row, of those that lie from `address` on."""
    return held[_places(len(held), address, swizzle)]


def _places(count: int, address: int, swizzle: int) -> Array:
    addresses = np.arange(address, address + count)
    return np.asarray(swizzled_addresses(addresses, swizzle) - address)
