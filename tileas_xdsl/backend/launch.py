"""
The launch contract of kernels (`contract.py`), read from a module of `llvm`.

Buffers begin at a multiple of 16 bytes; sizes and strides that their types leave open follow them as numbers.
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

from tileas_xdsl.backend.contract import Buffer, KernelContract, Number, Parameter, Pointer, TensorMap
from tileas_xdsl.backend.llvm_ir.attributes import is_kernel
from tileas_xdsl.dialects.array_numbers import NAME, NUMBER, ROW_BYTES
from tileas_xdsl.dialects.tensor_maps import TensorMapError, tensor_map_of
from tileas_xdsl.dialects.upstream import address_space

TYPE = "tileas.type"
"""The attribute of a kernel's argument that says the type of a buffer."""
PERSISTENT = "tileas.persistent"
"""The attribute of a kernel whose blocks compute many programs: how many of them a multiprocessor holds."""
SHARED_BYTES = "tileas.shared_bytes"
"""The attribute of a kernel that says how much shared memory of open size it needs."""


def contracts_of(module: ModuleOp) -> Iterator[KernelContract]:
    """The contract of each kernel of a module of `llvm`."""
    dynamic = any(_is_dynamic(op) for op in module.ops)
    for op in module.ops:
        if isinstance(op, llvm.FuncOp) and is_kernel(op) and op.body.blocks:
            yield KernelContract(
                name=op.sym_name.data,
                block=_dimensions(op.attributes.get("nvvm.reqntid")),
                cluster=_dimensions(op.attributes.get("nvvm.cluster_dim")),
                dynamic_shared_bytes=_number(op, SHARED_BYTES) if dynamic else 0,
                parameters=tuple(_parameters(op)),
                persistent_blocks=_number(op, PERSISTENT),
            )


def _number(op: llvm.FuncOp, name: str) -> int | None:
    said = op.attributes.get(name)
    return cast("IntegerAttr[Any]", said).value.data if isinstance(said, IntegerAttr) else None


def _is_dynamic(op: object) -> bool:
    """Whether this is shared memory whose size the launch says: an external array without elements."""
    if not isinstance(op, llvm.GlobalOp) or op.addr_space.value.data != 3:
        return False
    return isinstance(op.global_type, llvm.LLVMArrayType) and op.global_type.size.data == 0


def _dimensions(value: Attribute | None) -> tuple[int, int, int] | None:
    if not isinstance(value, DenseArrayBase):
        return None
    given = [int(number) for number in cast("DenseArrayBase[Any]", value).iter_values()]
    x, y, z = [*given, 1, 1][:3]
    return x, y, z


def _parameters(op: llvm.FuncOp) -> Iterator[Parameter]:
    attributes: Sequence[Mapping[str, Attribute]] = [{} for _ in op.function_type.inputs]
    if isinstance(op.arg_attrs, ArrayAttr):
        attributes = [each.data for each in op.arg_attrs.data]
    for number, (type_, given) in enumerate(zip(op.function_type.inputs, attributes, strict=True)):
        named = given.get(NAME)
        hint = op.body.blocks[0].args[number].name_hint
        name = named.data if isinstance(named, StringAttr) else hint or f"argument {number}"
        yield _parameter(name, type_, given)


def _parameter(name: str, type_: Attribute, given: Mapping[str, Attribute]) -> Parameter:
    buffer, number = given.get(TYPE), given.get(NUMBER)
    if isinstance(number, StringAttr):
        return Number(name=name, type=str(type_), of=number.data)
    if isinstance(buffer, MemRefType):
        return _buffer(name, cast("MemRefType[Attribute]", buffer), given.get(ROW_BYTES))
    if "llvm.byval" in given:
        return _map(name, given)
    if isinstance(type_, llvm.LLVMPointerType):
        return Pointer(name=name, address_space=address_space(type_))
    return Number(name=name, type=str(type_))


def _map(name: str, given: Mapping[str, Attribute]) -> TensorMap:
    """A map, and what it is of where the kernel says it (`dialects.tensor_maps`)."""
    try:
        map_ = tensor_map_of(given)
    except TensorMapError as error:
        raise PassFailedException(f"error: an argument {error}") from None
    if map_ is None:
        return TensorMap(name=name)
    return TensorMap(
        name=name,
        type=str(map_.array.element_type),
        shape=tuple(_open_or(size) for size in map_.array.get_shape()),
        box=tuple(map_.box),
        swizzle=map_.swizzle,
    )


def _buffer(name: str, type_: MemRefType[Attribute], rows: Attribute | None) -> Buffer:
    strides = type_.get_strides()
    row_bytes = cast("IntegerAttr[Any]", rows).value.data if isinstance(rows, IntegerAttr) else 1
    return Buffer(
        name=name,
        type=str(type_.element_type),
        shape=tuple(_open_or(size) for size in type_.get_shape()),
        strides=tuple(strides) if strides is not None else None,
        offset=type_.get_offset(),
        row_bytes=row_bytes,
    )


def _open_or(size: int) -> int | None:
    return None if size == DYNAMIC_INDEX else size
