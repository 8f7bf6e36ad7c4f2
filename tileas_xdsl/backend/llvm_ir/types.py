"""
The types of the `llvm` dialect in LLVM's words.

    !llvm.ptr<3>                    ptr addrspace(3)
    vector<4xf32>             ->    <4 x float>
    !llvm.struct<(i32, i1)>         { i32, i1 }
    !llvm.array<2 x bf16>           [2 x bfloat]

Source: LLVM's language reference, "Type System".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    NoneType,
    Signedness,
    VectorType,
)
from xdsl.ir import Attribute, Operation

from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.upstream import address_space

FLOATS: dict[type[Attribute], str] = {
    BFloat16Type: "bfloat",
    Float16Type: "half",
    Float32Type: "float",
    Float64Type: "double",
}


def type_text(type_: Attribute, op: Operation) -> str:
    """The word for a type; a type that LLVM IR does not have is refused, and `op` is blamed."""
    text = _known(type_, op)
    if text is None:
        refuse(op, f"uses the type '{type_}', which LLVM IR does not have", "lower it to the types of LLVM first")
    return text


def _known(type_: Attribute, op: Operation) -> str | None:
    match type_:
        case IntegerType(signedness=signedness, width=width) if signedness.data is Signedness.SIGNLESS:
            return f"i{width.data}"
        case llvm.LLVMPointerType():
            space = address_space(type_)
            return f"ptr addrspace({space})" if space else "ptr"
        case llvm.LLVMVoidType() | NoneType():
            return "void"
        case VectorType():
            return _vector(cast("VectorType[Any]", type_), op)
        case llvm.LLVMArrayType(size=size, type=element):
            return f"[{size.data} x {type_text(element, op)}]"
        case llvm.LLVMStructType(struct_name=name, types=types) if not name.data:
            return _struct([type_text(each, op) for each in types])
        case _:
            return FLOATS.get(type(type_))


def _vector(type_: VectorType[Any], op: Operation) -> str | None:
    if type_.get_num_dims() != 1 or type_.get_num_scalable_dims():
        return None
    return f"<{type_.get_shape()[0]} x {type_text(type_.element_type, op)}>"


def _struct(members: Sequence[str]) -> str:
    return f"{{ {', '.join(members)} }}" if members else "{}"
