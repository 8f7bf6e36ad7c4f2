"""
The order of `wgmma` (sm_90a): matrix multiplications that a warpgroup starts and waits for.

The multiplications form a queue of groups, as copies do with `cp.async`. The fence comes before
the first one that reads registers (or accumulators) written by ordinary instructions. A and B lie
in shared memory and are named by descriptors; the accumulator is registers of all 128 threads.

    nvvm.wgmma.fence.aligned
    %d = nvvm.wgmma.mma_async %a, %b, %c, <m = 64, n = 64, k = 16>, D[<f32>, <one>], .. : !acc -> !acc
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0          // before it the registers of %d may not be touched
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.dialects.llvm import LLVMStructType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nvvm.matrix_attributes import (
    MMAIntOverflow,
    MMAIntOverflowAttr,
    MMALayout,
    MMALayoutAttr,
    MMAShapeAttr,
    WGMMAScaleIn,
    WGMMAScaleInAttr,
    WGMMAScaleOut,
    WGMMAScaleOutAttr,
    WGMMAType,
    WGMMATypeAttr,
)
from tileas_xdsl.dialects.upstream import ANY_STRUCT, I64, ClassProperty, EffectfulOp, Value, integer


@irdl_op_definition
class WgmmaFenceAlignedOp(EffectfulOp):
    """
    Order accesses to registers before the multiplications that follow.

    `nvvm.wgmma.fence.aligned`
    """

    name = "nvvm.wgmma.fence.aligned"

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class WgmmaGroupSyncAlignedOp(EffectfulOp):
    """
    Close a group of all multiplications started since the last commit.

    `nvvm.wgmma.commit.group.sync.aligned`
    """

    name = "nvvm.wgmma.commit.group.sync.aligned"

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class WgmmaWaitGroupSyncOp(EffectfulOp):
    """
    Block until at most the `group` youngest groups are unfinished. (An i64; other waits take i32.)

    `nvvm.wgmma.wait.group.sync.aligned 0`
    """

    name = "nvvm.wgmma.wait.group.sync.aligned"

    group = prop_def(integer(i64))

    assembly_format = "attr-dict $group"

    def __init__(self, group: int) -> None:
        super().__init__(properties={"group": IntegerAttr(group, i64)})


HALVES = (WGMMAType.F16, WGMMAType.BF16)
BYTES = (WGMMAType.S8, WGMMAType.U8)
FLOAT_BYTES = (WGMMAType.E4M3, WGMMAType.E5M2)

PRODUCTS: dict[WGMMAType, tuple[tuple[WGMMAType, ...], tuple[WGMMAType, ...], int]] = {
    WGMMAType.F16: ((WGMMAType.F16,), (WGMMAType.F32, WGMMAType.F16), 16),
    WGMMAType.BF16: ((WGMMAType.BF16,), (WGMMAType.F32, WGMMAType.F16), 16),
    WGMMAType.TF32: ((WGMMAType.TF32,), (WGMMAType.F32,), 8),
    WGMMAType.S8: (BYTES, (WGMMAType.S32,), 32),
    WGMMAType.U8: (BYTES, (WGMMAType.S32,), 32),
    WGMMAType.E4M3: (FLOAT_BYTES, (WGMMAType.F32, WGMMAType.F16), 32),
    WGMMAType.E5M2: (FLOAT_BYTES, (WGMMAType.F32, WGMMAType.F16), 32),
    WGMMAType.B1: ((WGMMAType.B1,), (WGMMAType.S32,), 256),
}
"""By the type of A: the types that B, and D, may have, and K."""

A_IN_REGISTERS = "tileas.a_in_registers"
"""Discardable attribute on a product: A is in registers, and its descriptor says nothing. Only checks know it."""
WIDTHS = frozenset(range(8, 257, 8))
WIDTHS_OF_INTEGERS = frozenset({8, 16, 24, 32, *range(48, 257, 16)})


@irdl_op_definition
class WgmmaMmaAsyncOp(EffectfulOp):
    """
    Start D = A * B + D by a warpgroup (128 threads): A is 64 x K and B is K x N, both in shared memory.

    `%d = nvvm.wgmma.mma_async %a, %b, %c, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>],
    B[<f16>, <one>, <col>] : !acc -> !acc`

    `%a` and `%b` are descriptors of shared memory, `%c` the accumulator. With `<zero>` for D it is not added.
    """

    name = "nvvm.wgmma.mma_async"

    inouts = operand_def(ANY_STRUCT)
    descriptor_a = operand_def(I64)
    descriptor_b = operand_def(I64)
    results_ = result_def(ANY_STRUCT)
    shape = prop_def(ClassProperty(MMAShapeAttr))
    type_a = prop_def(ClassProperty(WGMMATypeAttr), prop_name="typeA")
    type_b = prop_def(ClassProperty(WGMMATypeAttr), prop_name="typeB")
    type_d = prop_def(ClassProperty(WGMMATypeAttr), prop_name="typeD")
    scale_d = prop_def(ClassProperty(WGMMAScaleOutAttr), prop_name="scaleD")
    scale_a = prop_def(ClassProperty(WGMMAScaleInAttr), prop_name="scaleA")
    scale_b = prop_def(ClassProperty(WGMMAScaleInAttr), prop_name="scaleB")
    layout_a = prop_def(ClassProperty(MMALayoutAttr), prop_name="layoutA")
    layout_b = prop_def(ClassProperty(MMALayoutAttr), prop_name="layoutB")
    satfinite = opt_prop_def(ClassProperty(MMAIntOverflowAttr))

    assembly_format = (
        "$descriptor_a `,` $descriptor_b `,` $inouts `,` custom<Bare>($shape) `,`"
        " `D` `` `[` custom<Bare>($typeD) `,` custom<Bare>($scaleD) (`,` custom<Bare>($satfinite)^)? `]` `,`"
        " `A` `` `[` custom<Bare>($typeA) `,` custom<Bare>($scaleA) `,` custom<Bare>($layoutA) `]` `,`"
        " `B` `` `[` custom<Bare>($typeB) `,` custom<Bare>($scaleB) `,` custom<Bare>($layoutB) `]`"
        " attr-dict `:` type($inouts) `->` type($results_)"
    )

    def __init__(
        self,
        inouts: Value,
        descriptors: tuple[Value, Value],
        shape: MMAShapeAttr,
        types: tuple[WGMMAType, WGMMAType, WGMMAType],
        *,
        accumulates: bool = True,
        negated: tuple[bool, bool] = (False, False),
        layouts: tuple[MMALayout, MMALayout] = (MMALayout.ROW, MMALayout.COL),
        overflow: MMAIntOverflow | None = None,
    ) -> None:
        """`types` are those of A, B and D; `layouts`, `negated` those of A and B."""
        signs = [WGMMAScaleInAttr(WGMMAScaleIn.NEG if minus else WGMMAScaleIn.ONE) for minus in negated]
        out = WGMMAScaleOut.ONE if accumulates else WGMMAScaleOut.ZERO
        super().__init__(
            operands=[inouts, *descriptors],
            result_types=[SSAValue.get(inouts).type],
            properties={
                "shape": shape,
                "typeA": WGMMATypeAttr(types[0]),
                "typeB": WGMMATypeAttr(types[1]),
                "typeD": WGMMATypeAttr(types[2]),
                "scaleD": WGMMAScaleOutAttr(out),
                "scaleA": signs[0],
                "scaleB": signs[1],
                "layoutA": MMALayoutAttr(layouts[0]),
                "layoutB": MMALayoutAttr(layouts[1]),
                "satfinite": None if overflow is None else MMAIntOverflowAttr(overflow),
            },
        )

    def verify_(self) -> None:
        problem = self._wrong_registers() or self._wrong_product() or self._wrong_layout() or self._wrong_count()
        if problem is not None:
            raise VerifyException(f"'{self.name}' op {problem}")

    def _registers(self) -> list[Attribute]:
        assert isinstance(self.results_.type, LLVMStructType)
        return list(self.results_.type.types)

    def _wrong_registers(self) -> str | None:
        if self.inouts.type != self.results_.type:
            return "failed to verify that input struct and result struct must be the same type"
        registers = self._registers()
        other = next((kind for kind in registers if kind != registers[0]), None)
        return None if other is None else f"all elements in struct must be same type but there is '{other}'"

    def _wrong_product(self) -> str | None:
        a, b, d, shape = self.type_a.data, self.type_b.data, self.type_d.data, self.shape
        if d not in (WGMMAType.F32, WGMMAType.F16, WGMMAType.S32):
            return f"does not support the given output type {d}"
        if d is WGMMAType.S32 and WGMMAScaleIn.NEG in (self.scale_a.data, self.scale_b.data):
            return "has s32 output, scaleA and scaleB cannot be neg"
        others, sums, k = PRODUCTS.get(a, ((), (), 0))
        if b not in others or d not in sums:
            return f"{d} += {a} * {b}, it is not supported."
        if shape.m.data != 64:
            return "shape 'm' must be 64"
        if shape.k.data != k:
            return f"shape 'k' must be {k} for input type {a}"
        widths = WIDTHS_OF_INTEGERS if d is WGMMAType.S32 else WIDTHS
        if shape.n.data not in widths:
            return f"has input type {a} n is set to {shape.n.data}, it is not supported."
        return None

    def _wrong_layout(self) -> str | None:
        a, b, layouts = self.type_a.data, self.type_b.data, (self.layout_a.data, self.layout_b.data)
        if a in HALVES or layouts == (MMALayout.ROW, MMALayout.COL):
            return None
        return (
            f"given layouts layout_a = {layouts[0]} and layout_b = {layouts[1]} for input types {a} and {b} requires "
            "transpose. However, this is only supported for: f16 and bf16"
        )

    def _wrong_count(self) -> str | None:
        d, found = self.type_d.data, len(self._registers())
        expected = self.shape.n.data // (4 if d is WGMMAType.F16 else 2)
        if found != expected:
            return f"results {expected}, however output struct has {found} elements"
        saturates = self.satfinite is not None and self.satfinite.data is MMAIntOverflow.SATFINITE
        if saturates and d is not WGMMAType.S32:
            return f" `satfinite` can be only used with s32 accumulator, however the current accumulator is {d}"
        return None


WGMMA_OPS: tuple[type[Operation], ...] = (
    WgmmaFenceAlignedOp,
    WgmmaMmaAsyncOp,
    WgmmaGroupSyncAlignedOp,
    WgmmaWaitGroupSyncOp,
)
