"""
How many bytes values of LLVM's types take, how they are aligned, and where their parts lie: every number at a multiple
of its own size, pointers of 8 bytes.

Source: LLVM, "Language Reference Manual", "Data Layout"; the numbers are those of NVPTX and of AMDGPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import VectorType
from xdsl.dialects.llvm import LLVMArrayType, LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute

from tileas_xdsl.dialects.scalars import scalar_bytes

POINTER_BYTES = 8


class OpaqueTypeError(Exception):
    """A type of which nobody says how large it is, or one without the parts that are asked for."""


def size_and_alignment(type_: Attribute) -> tuple[int, int]:
    """Bytes of a value of an LLVM type and its natural alignment. Raises `OpaqueTypeError`."""
    match type_:
        case LLVMPointerType():
            return POINTER_BYTES, POINTER_BYTES
        case LLVMArrayType():
            size, alignment = size_and_alignment(type_.type)
            return size * type_.size.data, alignment
        case LLVMStructType():
            offsets, size, alignment = struct_layout(type_)
            return (size, alignment) if offsets else (0, 1)
        case VectorType():
            total = size_and_alignment(type_.element_type)[0] * prod(type_.get_shape())
            return total, total
        case _:
            size = scalar_bytes(type_)
    if size is None:
        raise OpaqueTypeError(f"uses the type {type_}, of which the size is not known")
    return size, size


def struct_layout(type_: LLVMStructType) -> tuple[list[int], int, int]:
    """The byte offset of each field, the size and the alignment of a struct. Raises `OpaqueTypeError`."""
    offsets: list[int] = []
    end, widest = 0, 1
    for field in type_.types:
        size, alignment = size_and_alignment(field)
        end = -(-end // alignment) * alignment
        offsets.append(end)
        end += size
        widest = max(widest, alignment)
    return offsets, -(-end // widest) * widest, widest


def element_offset(type_: Attribute, indices: Sequence[int]) -> int:
    """The byte distance that the indices of a `getelementptr` on `type_` stand for. Raises `OpaqueTypeError`."""
    offset = indices[0] * size_and_alignment(type_)[0]
    for index in indices[1:]:
        if isinstance(type_, LLVMStructType):
            offset += struct_layout(type_)[0][index]
            type_ = type_.types.data[index]
            continue
        if not isinstance(type_, LLVMArrayType):
            raise OpaqueTypeError(f"indexes into the type {type_}, which has no parts")
        type_ = type_.type
        offset += index * size_and_alignment(type_)[0]
    return offset
