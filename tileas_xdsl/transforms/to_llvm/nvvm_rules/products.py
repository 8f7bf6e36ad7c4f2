"""
Matrix products: of a warpgroup (`wgmma`), with their order, and of a warp (`ldmatrix`, `stmatrix`, `mma.sync`).

Waits for `wgmma` take and return the accumulators that are used behind them, as tied operands of inline PTX; also those
that are still being filled, to which nothing is done. The intrinsic names no registers, so that LLVM may compute with
them before the wait; behind MLIR's translation it may.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, f32, i32, i64
from xdsl.dialects.llvm import LLVMStructType
from xdsl.ir import SSAValue

from tileas_xdsl.dialects.nvvm import wgmma
from tileas_xdsl.dialects.nvvm.matrix_attributes import (
    MMAIntOverflow,
    MMALayout,
    MMAType,
    WGMMAScaleIn,
    WGMMAScaleOut,
    WGMMAType,
)
from tileas_xdsl.dialects.nvvm.warp_matrix import HALVES, INTEGERS, LdMatrixOp, MmaSyncOp, StMatrixOp
from tileas_xdsl.transforms.to_llvm.nvvm_rules.emitting import Emitter, refusal, rule


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


TRANSPOSABLE = (WGMMAType.F16, WGMMAType.BF16)
"""Types whose operands may lie in shared memory either way."""
WARPGROUP_INTEGERS = (WGMMAType.S8, WGMMAType.U8, WGMMAType.B1)
"""Types whose operands cannot be negated."""


@rule(wgmma.WgmmaFenceAlignedOp)
def _fence(_op: wgmma.WgmmaFenceAlignedOp, emit: Emitter) -> None:
    emit.call("wgmma.fence.sync.aligned")


@rule(wgmma.WgmmaGroupSyncAlignedOp)
def _commit(_op: wgmma.WgmmaGroupSyncAlignedOp, emit: Emitter) -> None:
    emit.call("wgmma.commit_group.sync.aligned")


@rule(wgmma.WgmmaWaitGroupSyncOp)
def _wait(op: wgmma.WgmmaWaitGroupSyncOp, emit: Emitter) -> None:
    emit.call("wgmma.wait_group.sync.aligned", [emit.integer(op.group.value.data, i64)])


@rule(wgmma.WgmmaMmaAsyncOp)
def _product(op: wgmma.WgmmaMmaAsyncOp, emit: Emitter) -> SSAValue:
    """No intrinsic does it. The accumulator is read and written, so each register of it goes in where it comes out."""
    assert isinstance(op.inouts.type, LLVMStructType)
    types = list(op.inouts.type.types)
    before = [emit.part(op.inouts, number, type_) for number, type_ in enumerate(types)]
    a, b = _Descriptor.of(op.descriptor_a), _Descriptor.of(op.descriptor_b)
    inputs = [a.base, b.base, *before]
    return emit.assembled(_instruction(op, len(types), (a, b)), op.inouts.type, inputs, range(len(types)))


@dataclass(frozen=True)
class _Descriptor:
    """
    A descriptor, and how far it is behind another one. The distance is added next to the instruction, so that LLVM
    computes no descriptor of the number of its slot alone: ptxas would put each into the same registers, which the
    instruction before has to have read first.
    """

    base: SSAValue
    distance: int = 0

    @staticmethod
    def of(descriptor: SSAValue) -> _Descriptor:
        """What a descriptor is made of."""
        owner = descriptor.owner
        if not isinstance(owner, llvm.AddOp) or not isinstance(owner.rhs.owner, llvm.ConstantOp):
            return _Descriptor(descriptor)
        distance = owner.rhs.owner.value
        return (
            _Descriptor(owner.lhs, distance.value.data)
            if isinstance(distance, IntegerAttr)
            else _Descriptor(descriptor)
        )

    def prepared(self, name: str, operand: str) -> tuple[str, str]:
        """The lines in front of the instruction that make it, and how the instruction calls it."""
        if not self.distance:
            return "", operand
        return f".reg .b64 {name};\nadd.s64 {name}, {operand}, {self.distance};\n", name


@refusal(wgmma.WgmmaMmaAsyncOp)
def _other_registers(op: wgmma.WgmmaMmaAsyncOp) -> tuple[str, str] | None:
    assert isinstance(op.inouts.type, LLVMStructType)
    expected = f32 if op.type_d.data is WGMMAType.F32 else i32
    found = op.inouts.type.types.data[0]
    if found == expected:
        return None
    holds = ", two f16 in each" if op.type_d.data is WGMMAType.F16 else ""
    return f"accumulates in registers of type '{found}'", f"make them {expected}{holds}"


def _instruction(op: wgmma.WgmmaMmaAsyncOp, registers: int, descriptors: tuple[_Descriptor, _Descriptor]) -> str:
    shape, a = op.shape, op.type_a.data
    types = ".".join(kind.data.value for kind in (op.type_d, op.type_a, op.type_b))
    name = f"wgmma.mma_async.sync.aligned.m{shape.m.data}n{shape.n.data}k{shape.k.data}.{types}"
    if a is WGMMAType.B1:
        name += ".and.popc"
    if op.satfinite is not None and op.satfinite.data is MMAIntOverflow.SATFINITE:
        name += ".satfinite"
    accumulator = ", ".join(f"${number}" for number in range(registers))
    (make_a, left), (make_b, right) = (
        each.prepared(f"descriptor_{name}", f"${registers + number}")
        for number, (name, each) in enumerate(zip("ab", descriptors, strict=True))
    )
    words = [f"{{{accumulator}}}", left, right, "p"]
    if a not in WARPGROUP_INTEGERS:
        words += ["-1" if scale.data is WGMMAScaleIn.NEG else "1" for scale in (op.scale_a, op.scale_b)]
    if a in TRANSPOSABLE:
        words += [str(int(op.layout_a.data is MMALayout.COL)), str(int(op.layout_b.data is MMALayout.ROW))]
    adds = int(op.scale_d.data is WGMMAScaleOut.ONE)
    return f"{{\n{make_a}{make_b}.reg .pred p;\nsetp.ne.b32 p, {adds}, 0;\n{name} {', '.join(words)};\n}}"
