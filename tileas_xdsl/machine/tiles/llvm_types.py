"""
What LLVM's types say of memory: the space that a pointer leads to, the bytes of a value and where its parts lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import IntAttr, IntegerAttr, NoneAttr, VectorType
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, BlockArgument, Operation

from tileas_xdsl.dialects import llvm_sizes
from tileas_xdsl.dialects.llvm_sizes import OpaqueTypeError
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
    try:
        return llvm_sizes.size_and_alignment(type_)
    except OpaqueTypeError as error:
        raise UnsupportedError(op, str(error)) from None


def element_offset(type_: Attribute, indices: Sequence[int], op: Operation) -> int:
    """The byte distance that the indices of a `getelementptr` on `type_` stand for. Raises `UnsupportedError`."""
    try:
        return llvm_sizes.element_offset(type_, indices)
    except OpaqueTypeError as error:
        raise UnsupportedError(op, str(error)) from None


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
