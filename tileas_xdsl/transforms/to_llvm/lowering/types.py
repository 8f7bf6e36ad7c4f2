"""The types that stand for a type: indices have 64 bits, a buffer is a pointer and what its type leaves open."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    Signedness,
    StridedLayoutAttr,
    VectorType,
    i8,
    i64,
)
from xdsl.dialects.llvm import LLVMArrayType, LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute

from tileas_xdsl.dialects.upstream import pointer_type

FLOATS: dict[type[Attribute], int] = {BFloat16Type: 2, Float16Type: 2, Float32Type: 4, Float64Type: 8}
"""The floats, and how many bytes each has."""
BYTES = (Float8E4M3FNType, Float8E5M2Type, Float8E8M0FNUType)
"""Elements of buffers that only code of bytes accesses."""
SPACES = {
    "#gpu.address_space<global>": 1,
    "#gpu.address_space<workgroup>": 3,
    "#gpu.address_space<private>": 5,
}
"""Address spaces that have a name, by their numbers on NVIDIA's hardware."""


@dataclass(frozen=True)
class BufferType:
    """The type of a buffer: what is known of its elements. None stands for a number that only the run knows."""

    element: Attribute
    space: int
    offset: int | None
    sizes: tuple[int | None, ...]
    strides: tuple[int | None, ...] | None
    """In elements; None if the elements lie row by row without a gap."""

    @property
    def types(self) -> list[Attribute]:
        """The types of the values that stand for such a buffer: the pointer, then what is open."""
        return [pointer_type(self.space), *(i64 for number in self.numbers if number is None)]

    @property
    def numbers(self) -> tuple[int | None, ...]:
        """Offset, sizes, strides."""
        return (self.offset, *self.sizes, *(self.strides or ()))


def buffer_type(type_: Attribute) -> BufferType | None:
    """What is known of a buffer of this type; None if it is no memref, or one that no pointer can stand for."""
    if not isinstance(type_, MemRefType):
        return None
    kind = cast("MemRefType[Attribute]", type_)
    space = _space(kind.memory_space)
    element = i8 if isinstance(kind.element_type, BYTES) else number_type(kind.element_type)
    if space is None or element is None or not isinstance(kind.layout, NoneAttr | StridedLayoutAttr):
        return None
    sizes = tuple(None if size == DYNAMIC_INDEX else size for size in kind.get_shape())
    if isinstance(kind.layout, NoneAttr):
        return BufferType(element, space, 0, sizes, None)
    return BufferType(element, space, kind.layout.get_offset(), sizes, tuple(kind.layout.get_strides()))


def _space(space: Attribute) -> int | None:
    if isinstance(space, NoneAttr):
        return 0
    if isinstance(space, IntegerAttr):
        return cast("IntegerAttr[Any]", space).value.data
    return SPACES.get(str(space))


def number_type(type_: Attribute) -> Attribute | None:
    """The type for numbers and vectors of them; None for other types."""
    match type_:
        case IndexType():
            return i64
        case IntegerType(signedness=signedness) if signedness.data is Signedness.SIGNLESS:
            return type_
        case VectorType():
            vector = cast("VectorType[Any]", type_)
            element = number_type(vector.element_type)
            if element is None or vector.get_num_dims() != 1 or vector.get_num_scalable_dims():
                return None
            return vector if element == vector.element_type else VectorType(element, vector.get_shape())
        case _:
            return type_ if type(type_) in FLOATS else None


def types_for(type_: Attribute) -> tuple[Attribute, ...] | None:
    """The types of the values that stand for a value of this type; None if there are none."""
    if isinstance(type_, LLVMPointerType | LLVMArrayType | LLVMStructType):  # whose hash is that of all members
        return (type_,)
    return _types_for(type_)


@lru_cache(maxsize=1024)
def _types_for(type_: Attribute) -> tuple[Attribute, ...] | None:
    number = number_type(type_)
    if number is not None:
        return (number,)
    buffer = buffer_type(type_)
    return tuple(buffer.types) if buffer is not None else None


def element_bytes(type_: Attribute) -> int:
    """The bytes of an element in memory."""
    if isinstance(type_, IntegerType):
        return max(1, cast("IntegerType", type_).width.data // 8)
    return FLOATS[type(type_)]
