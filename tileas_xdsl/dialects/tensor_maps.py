"""
What a tensor map says, as an attribute on the argument of a kernel that is one.

    %a: !llvm.ptr {tileas.tensor_map = {array = memref<?x?xf16>, box = array<i64: 64, 64>, swizzle = 128 : i64}}

The host makes the map of an array whose rows are dense (CUDA Driver API, `cuTensorMapEncodeTiled`). `array` and `box`
count dimensions as the array does, the outermost first; the coordinates of a copy count them the other way round, as
PTX does. A box lies in shared memory row behind row, its chunks of 16 bytes permuted by the `swizzle`, in bytes (0:
none). What sticks out of the array is read as zero, and not written.

The machine moves boxes by it, and the launch contract hands it to the host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DictionaryAttr,
    FixedBitwidthType,
    IntegerAttr,
    MemRefType,
    i64,
)
from xdsl.ir import Attribute

TENSOR_MAP = "tileas.tensor_map"
SWIZZLES = (0, 32, 64, 128)
"""Bytes of a row within which chunks are permuted; 0 for none."""
MOST_DIMENSIONS = 5
MOST_ELEMENTS = 256
"""Of a box, along one dimension."""
CHUNK = 16
"""Bytes of which rows of boxes, and of arrays, are multiples."""


class TensorMapError(ValueError):
    """Why an attribute is no tensor map; the text follows the name of the argument."""


@dataclass(frozen=True)
class TensorMap:
    """A map of arrays of type `array`: boxes of `box` elements, with a `swizzle` in bytes."""

    array: MemRefType[Attribute]
    box: tuple[int, ...]
    swizzle: int = 0

    def __post_init__(self) -> None:
        problem = self._problem()
        if problem is not None:
            raise TensorMapError(problem)

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""
        element = self.array.element_type
        assert isinstance(element, FixedBitwidthType)
        return element.size

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of the box."""
        return self.box[-1] * self.element_bytes

    @property
    def box_bytes(self) -> int:
        """Bytes of the box, those that lie outside of the array among them: what a load reports to its barrier."""
        return prod(self.box) * self.element_bytes

    @property
    def attribute(self) -> DictionaryAttr:
        """The map as it stands on an argument."""
        box = DenseArrayBase.from_list(i64, self.box)
        return DictionaryAttr({"array": self.array, "box": box, "swizzle": IntegerAttr(self.swizzle, i64)})

    def _problem(self) -> str | None:
        rank, element = len(self.array.get_shape()), self.array.element_type
        if not isinstance(element, FixedBitwidthType) or element.bitwidth % 8:
            return f"has elements of type {element}, which are no whole bytes"
        if not 1 <= rank <= MOST_DIMENSIONS:
            return f"has {rank} dimensions; a tensor map has 1 to {MOST_DIMENSIONS}"
        if len(self.box) != rank or not all(0 < extent <= MOST_ELEMENTS for extent in self.box):
            return f"has a box that is not {rank} numbers from 1 to {MOST_ELEMENTS}"
        if self.swizzle not in SWIZZLES:
            return f"has a swizzle of {self.swizzle} bytes; there are {', '.join(map(str, SWIZZLES))}"
        row = self.array.get_shape()[-1]
        if rank > 1 and row != DYNAMIC_INDEX and row * self.element_bytes % CHUNK:
            return f"has rows of {row * self.element_bytes} bytes, which is no multiple of {CHUNK}"
        if self.row_bytes % CHUNK:
            return f"has boxes with rows of {self.row_bytes} bytes, which is no multiple of {CHUNK}"
        if self.swizzle and self.row_bytes > self.swizzle:
            return f"has boxes with rows of {self.row_bytes} bytes, and a swizzle takes rows of up to {self.swizzle}"
        return None


def tensor_map_of(attributes: Mapping[str, Attribute]) -> TensorMap | None:
    """
    The tensor map that the attributes of an argument describe; None where they describe none.

    Raises `TensorMapError` for an attribute that is none.
    """
    given = attributes.get(TENSOR_MAP)
    if given is None:
        return None
    fields: Mapping[str, Attribute] = given.data if isinstance(given, DictionaryAttr) else {}
    array, box, swizzle = fields.get("array"), fields.get("box"), fields.get("swizzle", IntegerAttr(0, i64))
    known = isinstance(array, MemRefType) and isinstance(box, DenseArrayBase) and isinstance(swizzle, IntegerAttr)
    if not known or not fields.keys() <= {"array", "box", "swizzle"}:
        raise TensorMapError(
            f"has a {TENSOR_MAP} that is not {{array = memref<?x?xf16>, box = array<i64: 64, 64>, swizzle = 128 : i64}}"
        )
    extents: Sequence[int] = [int(extent) for extent in cast("DenseArrayBase[Any]", box).get_values()]
    kind = cast("MemRefType[Attribute]", array)
    return TensorMap(kind, tuple(extents), cast("IntegerAttr[Any]", swizzle).value.data)
