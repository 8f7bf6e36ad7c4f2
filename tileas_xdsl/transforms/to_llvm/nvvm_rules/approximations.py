"""
Functions that may be approximated (`afn`), where PTX has an instruction that LLVM chooses for no single op.

`ex2.approx.f32` scales its operand and its result to give subnormal numbers, in four instructions; with `.ftz` it is
one (PTX ISA, "ex2").
"""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import f32
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.transforms.to_llvm.nvvm_rules.emitting import Emitter, rule


def is_approximate(op: Operation) -> bool:
    """Whether `op` is a function of f32 that the instruction is for."""
    if not isinstance(op, llvm.FExp2Op) or op.res.type != f32:
        return False
    return FastMathFlag.APPROX_FUNC in op.fastmathFlags.data


@rule(llvm.FExp2Op)
def _exp2(op: llvm.FExp2Op, emit: Emitter) -> SSAValue:
    return emit.call("ex2.approx.ftz.f", [op.arg], f32)
