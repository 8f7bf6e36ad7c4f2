"""Pointers at run time: an object and a byte offset. What an access covers follows from its type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import i8
from xdsl.ir import Operation

from tileas_xdsl.machine.core.memory import MemoryObject, View, row_major_strides
from tileas_xdsl.machine.core.state import Canvas, SharedPart
from tileas_xdsl.machine.core.values import ElementType
from tileas_xdsl.machine.core.violations import UnsupportedError

if TYPE_CHECKING:
    pass

DEFAULT_BYTES = 1 << 16
"""What a pointer argument that says nothing points to, where data is computed."""
BYTE = ElementType(i8, np.dtype(np.int8))


@dataclass(frozen=True, eq=False)
class Pointer:
    """The address of byte `offset` of `base`."""

    base: MemoryObject
    offset: int

    def plus(self, distance: int) -> Pointer:
        return Pointer(self.base, self.offset + distance)

    def view(self, shape: Sequence[int], element: ElementType) -> View:
        """The `shape` elements from here on, densely packed."""
        return View(self.base, self.offset, tuple(shape), row_major_strides(shape, element.size), element)

    def bytes(self, size: int) -> View:
        """The `size` bytes from here on."""
        return self.view((size,), BYTE)

    @property
    def key(self) -> tuple[int, int]:
        """Equal for equal addresses: what a barrier is known by."""
        return (self.base.serial, self.offset)


class Addresses(SharedPart):
    """
    Addresses as numbers. The low bits count bytes; the bits above them are the number of the object, in the order of
    first use, from 1 on.

    So objects lie far apart, and each is aligned to any power of two.
    """

    OFFSET_BITS = 40

    def __init__(self) -> None:
        self._objects: list[MemoryObject] = []
        self._numbers: dict[MemoryObject, int] = {}

    def draw(self, canvas: Canvas) -> None:
        canvas.sequence(self._objects)

    def of(self, base: MemoryObject) -> int:
        """The address of the first byte of `base`."""
        if base not in self._numbers:
            self._objects.append(base)
            self._numbers[base] = len(self._objects)
        return self._numbers[base] << self.OFFSET_BITS

    def number(self, pointer: Pointer) -> int:
        """`pointer` as a number."""
        return self.of(pointer.base) + pointer.offset

    def base(self, number: int) -> MemoryObject | None:
        """The object in which the address `number` lies, if there is one."""
        which = number >> self.OFFSET_BITS
        return self._objects[which - 1] if 1 <= which <= len(self._objects) else None

    def offset(self, number: int) -> int:
        """How far from the beginning of its object the address `number` lies."""
        return number & ((1 << self.OFFSET_BITS) - 1)

    def pointer(self, number: int, op: Operation) -> Pointer:
        """The pointer that is `number`. Raises `UnsupportedError` where no object has that address."""
        base = self.base(number)
        if base is None:
            raise UnsupportedError(op, f"makes a pointer of {number}, which is no address of an object here")
        return Pointer(base, self.offset(number))


def byte_object(name: str, size: int, space: str, *, with_data: bool) -> MemoryObject:
    """`size` bytes of memory, zero."""
    return MemoryObject.zeros(name, (size,), BYTE, space, with_data=with_data)
