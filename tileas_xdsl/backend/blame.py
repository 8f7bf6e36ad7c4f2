"""
Which op LLVM has no instruction for.

LLVM names a node of its own graph, or an intrinsic, or nothing, and its process is over. So each kind of op is put into
a function of its own, and translated alone: the first that ends LLVM again is the one.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator

from tileas_xdsl.backend.code_generation import generate
from tileas_xdsl.backend.llvm_ir import llvm_ir_of
from tileas_xdsl.backend.llvm_ir.instructions import CONSTANTS
from tileas_xdsl.backend.nvptx import CodeTarget

NO_CANDIDATES = (ModuleOp, llvm.FuncOp, llvm.GlobalOp, llvm.CallOp, llvm.AllocaOp)
"""Ops that name others, or that always have code."""


def culprit(module: ModuleOp, chip: CodeTarget) -> tuple[Operation, str] | None:
    """The first op in the program that has no code on `chip` even alone, and LLVM's reason; None if there is none."""
    candidates = list(_one_of_each_kind(module))
    if not candidates:
        return None
    generated = generate([llvm_ir_of(_alone(op)) for op in candidates], chip)
    if generated.reason is None:
        return None
    return candidates[len(generated.outputs)], generated.reason


def has_code(op: Operation, chip: CodeTarget) -> bool:
    """Whether `op` alone has code on `chip`."""
    return generate([llvm_ir_of(_alone(op))], chip).reason is None


def _one_of_each_kind(module: ModuleOp) -> Iterator[Operation]:
    seen: set[tuple[object, ...]] = set()
    for op in module.walk():
        if isinstance(op, NO_CANDIDATES) or type(op) in CONSTANTS or op.has_trait(IsTerminator):
            continue
        kind = (op.name, tuple(_described(value) for value in op.operands), tuple(op.properties.items()))
        if kind not in seen:
            seen.add(kind)
            yield op


def _described(value: SSAValue) -> tuple[Attribute, object]:
    """What of an operand decides about the instruction: its type, and its number where that is constant."""
    owner = value.owner
    is_number = isinstance(owner, llvm.ConstantOp)
    return value.type, owner.value if is_number else None


def _alone(op: Operation) -> ModuleOp:
    """A module with one function that takes the operands of `op`, does it, and returns its result."""
    free = [value for value in dict.fromkeys(op.operands) if not isinstance(value.owner, llvm.ConstantOp)]
    block = Block(arg_types=[value.type for value in free])
    mapped: dict[SSAValue, SSAValue] = dict(zip(free, block.args, strict=True))
    for value in op.operands:
        if isinstance(value.owner, llvm.ConstantOp):
            constant = value.owner.clone()
            block.add_op(constant)
            mapped[value] = constant.result
    copy = op.clone(mapped)
    block.add_op(copy)
    block.add_op(llvm.ReturnOp(*copy.results))
    result = copy.results[0].type if copy.results else llvm.LLVMVoidType()
    type_ = llvm.LLVMFunctionType([value.type for value in free], result)
    return ModuleOp([llvm.FuncOp("alone", type_, llvm.LinkageAttr("external"), body=Region(block))])
