"""
The launch contract of kernels, for whoever calls them: what the host has to pass and to keep.

    { "name": "scale", "block": [32, 1, 1], "grid": "any", "dynamic_shared_bytes": 0,
      "parameters": [ { "name": "src", "kind": "buffer", "type": "f32", "shape": [null, 8], ... },
                      { "name": "src", "kind": "number", "type": "i64", "is": "size 0" } ] }

A `null` is a number that another parameter gives. Buffers begin at a multiple of 16 bytes.
Source: CUDA Driver API, `cuLaunchKernel`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import PassFailedException

from tileas_xdsl.backend.llvm_ir.attributes import is_kernel
from tileas_xdsl.dialects.tensor_maps import TensorMapError, tensor_map_of
from tileas_xdsl.dialects.upstream import address_space

NAME, TYPE, NUMBER = "tileas.name", "tileas.type", "tileas.number"
"""Attributes of a kernel's arguments: its name in the program, the type of the buffer, which number of it this is."""
SHARED_BYTES = "tileas.shared_bytes"
"""The attribute of a kernel that says how much shared memory of open size it needs."""
BUFFER_ALIGNMENT = 16

Contract = dict[str, Any]


def contracts_of(module: ModuleOp) -> Iterator[Contract]:
    """The contract of each kernel of a module of `llvm`."""
    dynamic = any(_is_dynamic(op) for op in module.ops)
    for op in module.ops:
        if isinstance(op, llvm.FuncOp) and is_kernel(op) and op.body.blocks:
            yield {
                "name": op.sym_name.data,
                "grid": "any",
                "block": _dimensions(op.attributes.get("nvvm.reqntid")),
                "cluster": _dimensions(op.attributes.get("nvvm.cluster_dim")),
                "dynamic_shared_bytes": _needed(op) if dynamic else 0,
                "parameters": list(_parameters(op)),
            }


def _needed(op: llvm.FuncOp) -> int | str:
    said = op.attributes.get(SHARED_BYTES)
    return cast("IntegerAttr[Any]", said).value.data if isinstance(said, IntegerAttr) else "the host's choice"


def _is_dynamic(op: object) -> bool:
    """Whether this is shared memory whose size the launch says: an external array without elements."""
    if not isinstance(op, llvm.GlobalOp) or op.addr_space.value.data != 3:
        return False
    return isinstance(op.global_type, llvm.LLVMArrayType) and op.global_type.size.data == 0


def _dimensions(value: Attribute | None) -> list[int] | None:
    if not isinstance(value, DenseArrayBase):
        return None
    given = [int(number) for number in cast("DenseArrayBase[Any]", value).iter_values()]
    return [*given, 1, 1][:3]


def _parameters(op: llvm.FuncOp) -> Iterator[Contract]:
    attributes: Sequence[Mapping[str, Attribute]] = [{} for _ in op.function_type.inputs]
    if isinstance(op.arg_attrs, ArrayAttr):
        attributes = [each.data for each in op.arg_attrs.data]
    for number, (type_, given) in enumerate(zip(op.function_type.inputs, attributes, strict=True)):
        named = given.get(NAME)
        hint = op.body.blocks[0].args[number].name_hint
        name = named.data if isinstance(named, StringAttr) else hint or f"argument {number}"
        yield {"name": name, **_kind(type_, given)}


def _kind(type_: Attribute, given: Mapping[str, Attribute]) -> Contract:
    buffer, number = given.get(TYPE), given.get(NUMBER)
    if isinstance(number, StringAttr):
        return {"kind": "number", "type": str(type_), "is": number.data}
    if isinstance(buffer, MemRefType):
        return _buffer(cast("MemRefType[Attribute]", buffer))
    if "llvm.byval" in given:
        return {"kind": "tensor map", "bytes": 128, "alignment": 64, **_map(given)}
    if isinstance(type_, llvm.LLVMPointerType):
        return {"kind": "pointer", "address_space": address_space(type_)}
    return {"kind": "number", "type": str(type_)}


def _map(given: Mapping[str, Attribute]) -> Contract:
    """What the map is of, where the kernel says it (`dialects.tensor_maps`), dimensions in the order of the array."""
    try:
        map_ = tensor_map_of(given)
    except TensorMapError as error:
        raise PassFailedException(f"error: an argument {error}") from None
    if map_ is None:
        return {}
    shape = [None if size == DYNAMIC_INDEX else size for size in map_.array.get_shape()]
    return {"type": str(map_.array.element_type), "shape": shape, "box": list(map_.box), "swizzle": map_.swizzle}


def _buffer(type_: MemRefType[Attribute]) -> Contract:
    strides = type_.get_strides()
    return {
        "kind": "buffer",
        "type": str(type_.element_type),
        "shape": [None if size == DYNAMIC_INDEX else size for size in type_.get_shape()],
        "strides": list(strides) if strides is not None else None,
        "offset": type_.get_offset(),
        "alignment": BUFFER_ALIGNMENT,
    }
