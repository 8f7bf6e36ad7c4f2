"""
What LLVM's types say of memory: the space that a pointer leads to, the bytes of a value and where its parts lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import IntAttr, IntegerAttr, NoneAttr, VectorType
from xdsl.dialects.llvm import LLVMArrayType, LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute, BlockArgument, Operation

from tileas_xdsl.machine.arguments import binds_type, name_of
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.values import element_type
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.tiles.pointers import DEFAULT_BYTES, Pointer, byte_object
from tileas_xdsl.machine.tiles.tensor_maps import bind_map, map_of_argument

SPACES = {0: "global", 1: "global", 3: "shared", 5: "private", 6: "tensor", 7: "shared"}
"""State spaces by LLVM address space. A generic pointer counts as one to global memory."""

ARGUMENT_BYTES = "tileas.bytes"
"""Discardable argument attribute: how many bytes a pointer argument points to."""
DEFAULT_BYTES_WHEN_CHECKING = 1 << 26
"""The bytes of a pointer argument that says nothing; when only addresses matter there is no need to be tight."""
POINTER_BYTES = 8


def space_of(type_: Attribute) -> str:
    """The state space that a pointer type points to."""
    space = type_.addr_space if isinstance(type_, LLVMPointerType) else None
    return SPACES.get(space.data if isinstance(space, IntAttr) else 0, "global")


@binds_type(LLVMPointerType.name)
def _bind_pointer(argument: BlockArgument, given: Any, with_data: bool) -> Pointer:
    """A pointer argument points to an object of its own, or to a copy of the array given; or it is a tensor map."""
    name, map_ = name_of(argument), map_of_argument(argument)
    if map_ is not None:
        return bind_map(argument, map_, given, with_data)
    space = space_of(argument.type)
    if given is None:
        return Pointer(byte_object(name, _declared_bytes(argument, with_data), space, with_data=with_data), 0)
    data = np.ascontiguousarray(given).reshape(-1).view(np.uint8)
    base = byte_object(name, data.size, space, with_data=with_data)
    if base.data is not None:
        base.data[:] = data
    return Pointer(base, 0)


def _declared_bytes(argument: BlockArgument, with_data: bool) -> int:
    default = DEFAULT_BYTES if with_data else DEFAULT_BYTES_WHEN_CHECKING
    function = argument.block.parent_op()
    attributes = getattr(function, "arg_attrs", None)
    if attributes is None:
        return default
    size = attributes.data[argument.index].data.get(ARGUMENT_BYTES)
    return size.value.data if isinstance(size, IntegerAttr) else default


# Types --------------------------------------------------------------------------------------------------------------


def size_and_alignment(type_: Attribute, op: Operation) -> tuple[int, int]:
    """Bytes of a value of an LLVM type and its natural alignment. Raises `UnsupportedError` for opaque types."""
    if isinstance(type_, LLVMPointerType):
        return POINTER_BYTES, POINTER_BYTES
    if isinstance(type_, LLVMArrayType):
        size, alignment = size_and_alignment(type_.type, op)
        return size * type_.size.data, alignment
    if isinstance(type_, LLVMStructType):
        offsets, size, alignment = struct_layout(type_, op)
        return (size, alignment) if offsets else (0, 1)
    if isinstance(type_, VectorType):
        vector = cast("VectorType[Attribute]", type_)
        size, _ = size_and_alignment(vector.element_type, op)
        total = size * prod(vector.get_shape())
        return total, total
    element = element_type(type_)
    if element is None:
        raise UnsupportedError(op, f"uses the type {type_}, of which the machine does not know the size")
    return element.size, element.size


def struct_layout(type_: LLVMStructType, op: Operation) -> tuple[list[int], int, int]:
    """The byte offset of each field, the size and the alignment of a struct."""
    offsets: list[int] = []
    end, widest = 0, 1
    for field in type_.types:
        size, alignment = size_and_alignment(field, op)
        end = -(-end // alignment) * alignment
        offsets.append(end)
        end += size
        widest = max(widest, alignment)
    return offsets, -(-end // widest) * widest, widest


def element_offset(type_: Attribute, indices: Sequence[int], op: Operation) -> int:
    """The byte distance that the indices of a `getelementptr` on `type_` stand for."""
    size, _ = size_and_alignment(type_, op)
    offset = indices[0] * size
    for index in indices[1:]:
        if isinstance(type_, LLVMStructType):
            offset += struct_layout(type_, op)[0][index]
            type_ = type_.types.data[index]
            continue
        if not isinstance(type_, LLVMArrayType):
            raise UnsupportedError(op, f"indexes into the type {type_}, which has no parts")
        type_ = type_.type
        offset += index * size_and_alignment(type_, op)[0]
    return offset


def typed_view(pointer: Pointer, type_: Attribute, op: Operation) -> View:
    """What a load or store of `type_` through `pointer` reaches."""
    if isinstance(type_, VectorType):
        vector = cast("VectorType[Attribute]", type_)
        element = element_type(vector.element_type)
        shape: tuple[int, ...] = tuple(vector.get_shape())
    else:
        element, shape = element_type(type_), ()
    if element is None or isinstance(type_, NoneAttr):
        raise UnsupportedError(op, f"loads or stores the type {type_}, which has no numbers here")
    return pointer.view(shape, element)
