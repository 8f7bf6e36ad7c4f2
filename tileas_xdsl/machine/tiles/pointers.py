"""
Pointers at run time: an object and a byte offset. What an access covers follows from its type.

A global of no bytes in shared memory stands for all that a launch may ask for.
"""

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
    is_guess: bool = False
    """Whether it stands for an address in `base` that a check does not compute (`unknown_places`)."""

    def plus(self, distance: int) -> Pointer:
        return Pointer(self.base, self.offset + distance, self.is_guess)

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


SHARED_BITS = 18
"""Of an address in shared memory, as a number within the block: what a descriptor of a matrix has room for."""
RANK_SHIFT = 24
"""Of the rank in its cluster of the block whose shared memory an address leads to, in the window of the cluster."""
LARGE, SMALL = 1024, 128
"""Bytes to a multiple of which objects in shared memory are aligned; the large ones hold at least `LARGE` bytes."""


class Addresses(SharedPart):
    """
    Addresses as numbers. The low bits count bytes; the bits above them are the number of the object, in the order of
    first use, from 1 on.

    So objects lie far apart, and each is aligned to any power of two. Objects in shared memory also have places of
    their own in its first 256 KiB: what is left of their addresses there, or in 32 bits, still tells them apart. In a
    cluster the rank of the block stands above, from bit 24 on, and what corresponds lies at one place in all blocks.
    PTX leaves open how addresses of a cluster are made up; kernels of Triton and of CUTLASS (`Sm100MmaPeerBitMask`)
    clear and turn that bit to reach the other block.
    """

    OFFSET_BITS = 40

    def __init__(self) -> None:
        self._objects: list[MemoryObject] = []
        self._numbers: dict[MemoryObject, int] = {}
        self._next_shared = LARGE

    def draw(self, canvas: Canvas) -> None:
        canvas.sequence(self._objects)

    def of(self, base: MemoryObject) -> int:
        """The address of the first byte of `base`."""
        if base not in self._numbers:
            self._objects.append(base)
            self._numbers[base] = (len(self._objects) << self.OFFSET_BITS) + self._place(base)
        return self._numbers[base]

    def _place(self, base: MemoryObject) -> int:
        """Where `base` begins in shared memory, with the rank of its block; 0 for an object elsewhere."""
        if base.space != "shared":
            return 0
        if base.peers and base is not base.peers[0]:
            return self.offset_bits(self.of(base.peers[0])) + (base.peers.index(base) << RANK_SHIFT)
        alignment = LARGE if base.size >= LARGE else SMALL
        start = -(-self._next_shared // alignment) * alignment
        self._next_shared = start + base.size
        return start

    def number(self, pointer: Pointer) -> int:
        """`pointer` as a number."""
        return self.of(pointer.base) + pointer.offset

    def base(self, number: int) -> MemoryObject | None:
        """The object in which the address `number` lies, if there is one."""
        which = number >> self.OFFSET_BITS
        if which == 0:
            return self._shared_object(number)
        return self._objects[which - 1] if which <= len(self._objects) else None

    def _shared_object(self, number: int) -> MemoryObject | None:
        """
        The object in shared memory around the byte `number` there, of the block whose rank stands above; None too where
        that is beyond what it holds.
        """
        if self._next_shared > 1 << SHARED_BITS:
            return None
        rank, place = divmod(number, 1 << RANK_SHIFT)
        for base in self._objects:
            start = self.offset_bits(self._numbers[base])
            if base.space == "shared" and start <= place < start + max(base.size, 1):
                blocks = base.peers or (base,)
                return blocks[rank] if rank < len(blocks) else None
        return None

    def offset_bits(self, number: int) -> int:
        """The low bits of the address `number`."""
        return number & ((1 << self.OFFSET_BITS) - 1)

    def offset(self, number: int) -> int:
        """How far from the beginning of its object the address `number` lies."""
        base = self.base(number)
        start = 0 if base is None else self.offset_bits(self.of(base))
        return self.offset_bits(number) - start

    def pointer(self, number: int, op: Operation) -> Pointer:
        """The pointer that is `number`. Raises `UnsupportedError` where no object has that address."""
        base = self.base(number)
        if base is None:
            raise UnsupportedError(op, f"makes a pointer of {number}, which is no address of an object here")
        return Pointer(base, self.offset(number))


def byte_object(name: str, size: int, space: str, *, with_data: bool) -> MemoryObject:
    """`size` bytes of memory, zero."""
    return MemoryObject.zeros(name, (size,), BYTE, space, with_data=with_data)
