"""
Attributes of functions and their arguments in LLVM's words, and those of `nvvm` that say how a kernel is launched.

    %map: !llvm.ptr {llvm.byval = !llvm.array<16 x i64>, nvvm.grid_constant}
        ->  ptr byval([16 x i64]) "nvvm.grid_constant" %map
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>}
        ->  ptx_kernel ... #0; attributes #0 = { "nvvm.reqntid"="128" }

What is not known here is refused: an attribute that is dropped without a word may change what the program does.
Source: LLVM's language reference, "Function Attributes" and "Parameter Attributes"; "User Guide for NVPTX Back-end".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute

from tileas_xdsl.backend.llvm_ir.literals import quoted
from tileas_xdsl.backend.llvm_ir.types import type_text
from tileas_xdsl.diagnostics import refuse

ARGUMENT_FLAGS = frozenset(
    f"llvm.{word}"
    for word in (
        *("inreg", "nest", "noalias", "nofree", "nonnull", "noundef", "returned", "signext", "zeroext"),
        *("readonly", "writeonly", "readnone"),
    )
)
ARGUMENT_NUMBERS = {
    "llvm.align": "align {}",
    "llvm.dereferenceable": "dereferenceable({})",
    "llvm.dereferenceable_or_null": "dereferenceable_or_null({})",
}
ARGUMENT_TYPES = frozenset(f"llvm.{word}" for word in ("byval", "byref", "sret", "inalloca", "preallocated"))
GRID_CONSTANT = "nvvm.grid_constant"

FUNCTION_FLAGS = {
    "convergent": "convergent",
    "no_unwind": "nounwind",
    "no_inline": "noinline",
    "always_inline": "alwaysinline",
    "will_return": "willreturn",
    "optimize_none": "optnone",
}
KEYWORDS = frozenset(FUNCTION_FLAGS.values()) | {"noreturn", "norecurse", "nofree", "nosync", "mustprogress"}
"""The words that are attributes of their own; any other that is passed through is a string to LLVM."""
KERNEL = "nvvm.kernel"
KERNEL_LISTS = ("nvvm.reqntid", "nvvm.maxntid", "nvvm.cluster_dim")
KERNEL_NUMBERS = ("nvvm.maxnreg", "nvvm.minctasm", "nvvm.cluster_max_blocks")
KERNEL_FLAGS = ("nvvm.blocksareclusters",)

ELSEWHERE = frozenset(
    (
        *("sym_name", "function_type", "CConv", "linkage", "visibility_", "sym_visibility", "arg_attrs", "res_attrs"),
        *("passthrough", "dso_local", "unnamed_addr"),
    )
)
"""What is written elsewhere, or says nothing of a module of its own."""

CONVENTIONS = {
    "ccc": "",
    "fastcc": "fastcc ",
    "coldcc": "coldcc ",
    "ptx_kernelcc": "ptx_kernel ",
    "ptx_devicecc": "ptx_device ",
    "amdgpu_kernelcc": "amdgpu_kernel ",
}


def argument(given: Mapping[str, Attribute], op: llvm.FuncOp) -> str:
    """The words behind the type of an argument, each with a blank before it."""
    return "".join(f" {word}" for name, value in given.items() if (word := _of_argument(name, value, op)))


def _of_argument(name: str, value: Attribute, op: llvm.FuncOp) -> str | None:
    if name in ARGUMENT_FLAGS:
        return name.removeprefix("llvm.")
    if name in ARGUMENT_NUMBERS and isinstance(value, IntegerAttr):
        return ARGUMENT_NUMBERS[name].format(cast("IntegerAttr[Any]", value).value.data)
    if name in ARGUMENT_TYPES:
        return f"{name.removeprefix('llvm.')}({type_text(value, op)})"
    if name == GRID_CONSTANT:
        return f'"{name}"'
    if not name.startswith(("llvm.", "nvvm.")):
        return None
    refuse(op, f"has the argument attribute '{name}', which LLVM IR has no text for here", "leave it out")


def convention(op: llvm.FuncOp) -> str:
    """The calling convention, with a blank behind it; a kernel has its own."""
    word = "ptx_kernelcc" if is_kernel(op) else op.CConv.convention.data
    if word not in CONVENTIONS:
        refuse(op, f"has the calling convention '{word}'", f"use one of {', '.join(CONVENTIONS)}")
    return CONVENTIONS[word]


def is_kernel(op: llvm.FuncOp) -> bool:
    """Whether the host launches this function."""
    return KERNEL in op.attributes or op.CConv.convention.data == "ptx_kernelcc"


def function(op: llvm.FuncOp) -> str:
    """What stands in the function's group of attributes; empty if nothing does."""
    words = [word for name, value in (op.properties | op.attributes).items() if (word := _of_function(name, value, op))]
    if op.passthrough is not None:
        words += [_passed_through(entry, op) for entry in op.passthrough.data]
    return " ".join(words)


def _of_function(name: str, value: Attribute, op: llvm.FuncOp) -> str | None:
    if name in FUNCTION_FLAGS:
        return FUNCTION_FLAGS[name]
    if name in KERNEL_LISTS and isinstance(value, DenseArrayBase):
        numbers = ",".join(str(number) for number in cast("DenseArrayBase[Any]", value).iter_values())
        return f'"{name}"="{numbers}"'
    if name in KERNEL_NUMBERS and isinstance(value, IntegerAttr):
        return f'"{name}"="{cast("IntegerAttr[Any]", value).value.data}"'
    if name in KERNEL_FLAGS and isinstance(value, UnitAttr):
        return f'"{name}"'
    is_foreign = "." in name and not name.startswith(("llvm.", "nvvm."))
    if name in ELSEWHERE or name == KERNEL or is_foreign:
        return None
    refuse(op, f"has the attribute '{name} = {value}', which LLVM IR has no text for here", "leave it out")


def _passed_through(entry: Attribute, op: llvm.FuncOp) -> str:
    match entry:
        case StringAttr():
            return entry.data if entry.data in KEYWORDS else quoted(entry.data)
        case ArrayAttr(data=(StringAttr(data=name), StringAttr(data=value))):
            return f"{quoted(name)}={quoted(value)}"
        case _:
            refuse(op, f"passes '{entry}' through", "pass strings, or pairs of strings")
