"""Functions and globals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from xdsl.dialects import func, llvm, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Region

from tileas_xdsl.backend.launch import TYPE
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.array_numbers import NAME, NUMBER, ROW_BYTES
from tileas_xdsl.dialects.tensor_maps import TENSOR_MAP
from tileas_xdsl.transforms.to_llvm.lowering.control import lower_blocks
from tileas_xdsl.transforms.to_llvm.lowering.state import start
from tileas_xdsl.transforms.to_llvm.lowering.types import buffer_type, types_for

KERNEL, BLOCK = "nvvm.kernel", "nvvm.reqntid"
BY_VALUE: dict[str, Attribute] = {
    "llvm.byval": llvm.LLVMArrayType(16, i64),
    "llvm.align": IntegerAttr(128, i64),
    "nvvm.grid_constant": UnitAttr(),
}
"""Of a parameter that is a tensor map: 128 bytes, which are read where the launch has put them (CUDA C++ Programming
Guide, "__grid_constant__"). A map needs an alignment of 64 bytes only, but would then lie in two lines of 128 bytes;
CUDA 13 aligns its `CUtensorMap` to 128, too."""


def refuse_function(op: func.FuncOp, *, is_kernel: bool) -> None:
    """Refuse what of a function's own type LLVM does not have."""
    types = [*op.function_type.inputs.data, *op.function_type.outputs.data]
    unknown = next((type_ for type_ in types if types_for(type_) is None), None)
    if unknown is not None:
        refuse(
            op, f"hands over a '{unknown}', which nothing in LLVM stands for", "hand over numbers, buffers, pointers"
        )
    if is_kernel and op.function_type.outputs.data:
        refuse(op, "returns values, and nobody waits for those of a kernel", "write them to memory")


def lowered_function(op: func.FuncOp, threads: int) -> llvm.FuncOp:
    """The function of `llvm`; a kernel of `threads` threads a block, if that is not 0 and it says no other number."""
    inputs = [type_ for given in op.function_type.inputs.data for type_ in types_for(given) or ()]
    outputs = [type_ for given in op.function_type.outputs.data for type_ in types_for(given) or ()]
    type_ = llvm.LLVMFunctionType(inputs, outputs[0] if outputs else llvm.LLVMVoidType())
    attributes: dict[str, Attribute] = {name: value for name, value in op.attributes.items() if "." in name}
    if threads:
        attributes = {BLOCK: DenseArrayBase.from_list(i32, [threads, 1, 1]), **attributes, KERNEL: UnitAttr()}
    linkage = llvm.LinkageAttr("external")
    described = ArrayAttr(DictionaryAttr(each) for each in _descriptions(op)) if threads else None
    properties: dict[str, Attribute | None] = {"arg_attrs": described}
    body = _body(op, inputs)
    return llvm.FuncOp(op.sym_name.data, type_, linkage, body=body, other_props=properties, extra_attrs=attributes)


def _descriptions(op: func.FuncOp) -> Iterator[dict[str, Attribute]]:
    """What the host is told of each argument of a kernel."""
    for position, argument in enumerate(op.body.blocks[0].args):
        name = StringAttr(argument.name_hint or f"argument {position}")
        kind = buffer_type(argument.type)
        if kind is None:
            yield {NAME: name, **_own_attributes(op, position)}
            continue
        own = _own_attributes(op, position)
        rows = {ROW_BYTES: own[ROW_BYTES]} if ROW_BYTES in own else {}
        yield {NAME: name, TYPE: argument.type, **rows}
        words = ["offset", *(f"size {k}" for k in range(len(kind.sizes)))]
        words += [f"stride {k}" for k in range(len(kind.strides or ()))]
        for word, number in zip(words, kind.numbers, strict=True):
            if number is None:
                yield {NAME: name, NUMBER: StringAttr(word)}


def _own_attributes(op: func.FuncOp, position: int) -> Mapping[str, Attribute]:
    """What is said of an argument that stays one. A tensor map is passed by value, and nobody writes to it."""
    given: Mapping[str, Attribute] = op.arg_attrs.data[position].data if op.arg_attrs is not None else {}
    return {**BY_VALUE, **given} if TENSOR_MAP in given else given


def _body(op: func.FuncOp, inputs: list[Attribute]) -> Region:
    if not op.body.blocks:
        return Region()
    low = start(inputs)
    first = op.body.blocks[0]
    low.bind(first.args, low.block.args)
    assert len(low.all_types(first.args)) == len(inputs)
    lower_blocks(list(op.body.blocks), low)
    return low.region


def lowered_global(op: memref.GlobalOp) -> llvm.GlobalOp:
    """The global of `llvm`."""
    kind = buffer_type(op.type)
    assert kind is not None
    type_: Attribute = kind.element
    for size in reversed(kind.sizes):
        type_ = llvm.LLVMArrayType(size or 0, type_)
    value = op.initial_value if isinstance(op.initial_value, DenseIntOrFPElementsAttr) else None
    alignment = cast("IntegerAttr[Any]", op.alignment).value.data if op.alignment is not None else 16
    return llvm.GlobalOp(
        type_,
        op.sym_name,
        "internal",
        kind.space,
        constant=True if op.constant is not None else None,
        value=value,
        alignment=alignment,
    )
