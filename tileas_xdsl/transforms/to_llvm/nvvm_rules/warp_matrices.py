"""Matrices of a warp: `ldmatrix`, `stmatrix` and `mma.sync`."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.llvm import LLVMStructType

from tileas_xdsl.dialects.nvvm.matrix_attributes import MMAIntOverflow, MMALayout, MMAType
from tileas_xdsl.dialects.nvvm.warp_matrix import HALVES, INTEGERS, LdMatrixOp, MmaSyncOp, StMatrixOp
from tileas_xdsl.transforms.to_llvm.nvvm_rules.emitting import Emitter, rule


def _moved(op: LdMatrixOp | StMatrixOp, count: int) -> str:
    trans = ".trans" if op.layout.data is MMALayout.COL else ""
    return f"matrix.sync.aligned.m8n8.x{count}{trans}.b16.p3"


@rule(LdMatrixOp)
def _load(op: LdMatrixOp, emit: Emitter) -> Any:
    return emit.call(f"ld{_moved(op, op.num.value.data)}", [op.ptr], op.res.type)


@rule(StMatrixOp)
def _store(op: StMatrixOp, emit: Emitter) -> None:
    emit.call(f"st{_moved(op, len(op.sources))}", [op.ptr, *op.sources])


@rule(MmaSyncOp)
def _multiply(op: MmaSyncOp, emit: Emitter) -> Any:
    m, n, k = op.extents
    words = [f"mma.m{m}n{n}k{k}.row.col", *_types(op)]
    return emit.call(".".join(words), op.operands, op.res.type)


def _types(op: MmaSyncOp) -> list[str]:
    """The types that are part of the intrinsic's name: those of the sums for f16, else those of the factors."""
    a, b = op.type_a.data, op.type_b.data
    if a is MMAType.F16:
        result = cast(LLVMStructType, op.res.type).types.data[0]
        return ["f16" if kind == HALVES else "f32" for kind in (result, op.c[0].type)]
    saturates = op.overflow is not None and op.overflow.data is MMAIntOverflow.SATFINITE
    words = ["satfinite"] if a in INTEGERS and saturates else []
    return [*words, a.value] if a is b else [*words, a.value, b.value]
