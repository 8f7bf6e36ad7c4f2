"""
Tensor memory (`tcgen05`, sm_100a): 128 lanes of 512 columns of 32 bits, beside the tensor core of each SM.

A warp allocates columns, and gets their address in shared memory. Products (`tcgen05_mma`) accumulate there; warps load
and store it, each the lanes of its own (`32 * (warp % 4)` and up).

    nvvm.tcgen05.alloc %slot, %columns : !llvm.ptr<3>, i32
    nvvm.tcgen05.mma %d, %a, %b, %shape, %adds {..}          // asynchronous, in order
    nvvm.tcgen05.commit %done : !llvm.ptr<3>                 // all so far: an arrival at an mbarrier
    nvvm.mbarrier.try_wait.parity %done, %parity, %ticks : !llvm.ptr<3>, i32, i32
    nvvm.tcgen05.fence <after>
    %v = nvvm.tcgen05.ld %mine {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>
    nvvm.tcgen05.wait <load>                                 // before it the registers of %v may not be touched

In an address the lane stands in bits 16 to 31, and the column in the bits below.

A scale vector size is "explicit" when its field in the kind word is not zero.
"""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import UnitAttr, VectorType, i32
from xdsl.ir import Attribute, Operation
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nvvm.attributes import CTAGroup, CTAGroupAttr
from tileas_xdsl.dialects.nvvm.matrix_attributes import (
    Tcgen05CpMulticast,
    Tcgen05CpMulticastAttr,
    Tcgen05CpShape,
    Tcgen05CpShapeAttr,
    Tcgen05CpSourceFormat,
    Tcgen05CpSourceFormatAttr,
    Tcgen05Fence,
    Tcgen05FenceAttr,
    Tcgen05LdStShape,
    Tcgen05LdStShapeAttr,
    Tcgen05Wait,
    Tcgen05WaitAttr,
)
from tileas_xdsl.dialects.upstream import (
    ANY_POINTER,
    I1,
    I8,
    I16,
    I32,
    I64,
    ClassProperty,
    EffectfulOp,
    TypeConstraint,
    UpstreamOp,
    Value,
    any_type_of,
    pointer,
)

ONE_CTA = CTAGroupAttr(CTAGroup.CTA_1)
IN_TENSOR_MEMORY = pointer(6)
TENSOR_ADDRESS = "tileas.tensor_address"
"""Discardable attribute on a load: it reads where `tcgen05.alloc` has put an address."""
ANY_ADDRESS = any_type_of(ANY_POINTER, pointer(3))

LENGTHS = (2, 4, 8, 16, 32, 64, 128)


def register_count(type_: Attribute) -> int:
    """How many 32-bit registers a value of type i32, or vector of i32, takes in each thread."""
    return prod(cast("VectorType[Any]", type_).get_shape()) if isinstance(type_, VectorType) else 1


def _is_registers(type_: Attribute) -> bool:
    if not isinstance(type_, VectorType):
        return type_ == i32
    vector = cast("VectorType[Any]", type_)
    return vector.element_type == i32 and register_count(vector) in LENGTHS


REGISTERS = TypeConstraint(
    "32-bit signless integer or vector of 32-bit signless integer values of length 2/4/8/16/32/64/128", _is_registers
)


class OfCTAGroupOp(EffectfulOp):
    """Base of the ops that speak for one CTA, or for both of a pair (`group`)."""

    group = prop_def(ClassProperty(CTAGroupAttr), default_value=ONE_CTA)


# Allocation -----------------------------------------------------------------------------------------------------------


@irdl_op_definition
class Tcgen05AllocOp(OfCTAGroupOp):
    """
    Allocate columns of tensor memory (a power of 2, at least 32), and write their address to `%slot`. It waits until
    there are so many. All threads of one warp execute it.

    `nvvm.tcgen05.alloc %slot, %columns : !llvm.ptr<3>, i32`
    """

    name = "nvvm.tcgen05.alloc"

    addr = operand_def(ANY_ADDRESS)
    n_cols = operand_def(I32)

    assembly_format = "$addr `,` $n_cols attr-dict `:` type(operands)"

    def __init__(self, addr: Value, n_cols: Value, group: CTAGroup = CTAGroup.CTA_1) -> None:
        super().__init__(operands=[addr, n_cols], properties={"group": CTAGroupAttr(group)})


@irdl_op_definition
class Tcgen05DeallocOp(OfCTAGroupOp):
    """
    Give columns back, as they were allocated. All must be given back before the kernel ends.

    `nvvm.tcgen05.dealloc %address, %columns : !llvm.ptr<6>, i32`
    """

    name = "nvvm.tcgen05.dealloc"

    taddr = operand_def(IN_TENSOR_MEMORY)
    n_cols = operand_def(I32)

    assembly_format = "$taddr `,` $n_cols attr-dict `:` type(operands)"

    def __init__(self, taddr: Value, n_cols: Value, group: CTAGroup = CTAGroup.CTA_1) -> None:
        super().__init__(operands=[taddr, n_cols], properties={"group": CTAGroupAttr(group)})


@irdl_op_definition
class Tcgen05RelinquishAllocPermitOp(OfCTAGroupOp):
    """
    Promise that the CTA will allocate no more.

    `nvvm.tcgen05.relinquish_alloc_permit`
    """

    name = "nvvm.tcgen05.relinquish_alloc_permit"

    assembly_format = "attr-dict"

    def __init__(self, group: CTAGroup = CTAGroup.CTA_1) -> None:
        super().__init__(properties={"group": CTAGroupAttr(group)})


# Order ----------------------------------------------------------------------------------------------------------------


@irdl_op_definition
class Tcgen05FenceOp(EffectfulOp):
    """
    Order accesses to tensor memory across a synchronisation of threads: `before` those that come earlier in this
    thread, `after` those that come later.

    `nvvm.tcgen05.fence <before>`
    """

    name = "nvvm.tcgen05.fence"

    kind = prop_def(ClassProperty(Tcgen05FenceAttr))

    assembly_format = "custom<Bare>($kind) attr-dict"

    def __init__(self, kind: Tcgen05Fence) -> None:
        super().__init__(properties={"kind": Tcgen05FenceAttr(kind)})


@irdl_op_definition
class Tcgen05WaitOp(EffectfulOp):
    """
    Block until all loads (or stores) of tensor memory are complete that the thread has started.

    `nvvm.tcgen05.wait <load>`
    """

    name = "nvvm.tcgen05.wait"

    kind = prop_def(ClassProperty(Tcgen05WaitAttr))

    assembly_format = "custom<Bare>($kind) attr-dict"

    def __init__(self, kind: Tcgen05Wait) -> None:
        super().__init__(properties={"kind": Tcgen05WaitAttr(kind)})


@irdl_op_definition
class Tcgen05CommitOp(OfCTAGroupOp):
    """
    Let an mbarrier track all products, copies and shifts that the thread has started: their completion is an arrival.

    `nvvm.tcgen05.commit %done : !llvm.ptr<3>`

    With `multicast_mask` it arrives at the mbarriers of several CTAs of the cluster.
    """

    name = "nvvm.tcgen05.commit"

    addr = operand_def(ANY_ADDRESS)
    multicast_mask = opt_operand_def(I16)

    assembly_format = "$addr (`,` `multicast_mask` `=` $multicast_mask^)? attr-dict `:` type(operands)"

    def __init__(self, addr: Value, multicast_mask: Value | None = None, group: CTAGroup = CTAGroup.CTA_1) -> None:
        super().__init__(operands=[addr, multicast_mask], properties={"group": CTAGroupAttr(group)})


# Transfers ------------------------------------------------------------------------------------------------------------


@irdl_op_definition
class Tcgen05ShiftOp(OfCTAGroupOp):
    """
    Start moving all rows but the last, of 32 bytes each, one row down.

    `nvvm.tcgen05.shift %address : !llvm.ptr<6>`
    """

    name = "nvvm.tcgen05.shift"

    taddr = operand_def(IN_TENSOR_MEMORY)

    assembly_format = "$taddr attr-dict `:` type(operands)"


MULTICASTS: dict[Tcgen05CpShape, tuple[tuple[Tcgen05CpMulticast, ...], str]] = {
    Tcgen05CpShape.SHAPE_128X256B: ((Tcgen05CpMulticast.NONE,), "Invalid multicast type for tcgen05.cp Op"),
    Tcgen05CpShape.SHAPE_128X128B: ((Tcgen05CpMulticast.NONE,), "Invalid multicast type for tcgen05.cp Op"),
    Tcgen05CpShape.SHAPE_4X256B: ((Tcgen05CpMulticast.NONE,), "Invalid multicast type for tcgen05.cp Op"),
    Tcgen05CpShape.SHAPE_64X128B: (
        (Tcgen05CpMulticast.WARPX2_01_23, Tcgen05CpMulticast.WARPX2_02_13),
        "Shape 64x128b requires multicast warpx2_01_23 or warpx2_02_13 for tcgen05.cp Op",
    ),
    Tcgen05CpShape.SHAPE_32X128B: (
        (Tcgen05CpMulticast.WARPX4,),
        "Shape 32x128b requires multicast warpx4 for tcgen05.cp Op",
    ),
}
"""By the shape of a copy: how it may be spread over the warps, and what is said of others."""


@irdl_op_definition
class Tcgen05CpOp(OfCTAGroupOp):
    """
    Start copying a matrix from shared memory, which a descriptor names, to tensor memory.

    `nvvm.tcgen05.cp %address, %descriptor {shape = #nvvm.tcgen05_cp_shape<shape_128x256b>}`
    """

    name = "nvvm.tcgen05.cp"

    taddr = operand_def(IN_TENSOR_MEMORY)
    smem_desc = operand_def(I64)
    shape = prop_def(ClassProperty(Tcgen05CpShapeAttr))
    multicast = prop_def(
        ClassProperty(Tcgen05CpMulticastAttr), default_value=Tcgen05CpMulticastAttr(Tcgen05CpMulticast.NONE)
    )
    source_format = opt_prop_def(ClassProperty(Tcgen05CpSourceFormatAttr), prop_name="srcFormat")

    assembly_format = "$taddr `,` $smem_desc attr-dict"

    def __init__(
        self,
        taddr: Value,
        smem_desc: Value,
        shape: Tcgen05CpShape,
        multicast: Tcgen05CpMulticast = Tcgen05CpMulticast.NONE,
        source_format: Tcgen05CpSourceFormat | None = None,
        group: CTAGroup = CTAGroup.CTA_1,
    ) -> None:
        super().__init__(
            operands=[taddr, smem_desc],
            properties={
                "group": CTAGroupAttr(group),
                "shape": Tcgen05CpShapeAttr(shape),
                "multicast": Tcgen05CpMulticastAttr(multicast),
                "srcFormat": None if source_format is None else Tcgen05CpSourceFormatAttr(source_format),
            },
        )

    def verify_(self) -> None:
        allowed, refusal = MULTICASTS[self.shape.data]
        if self.multicast.data not in allowed:
            raise VerifyException(refusal)


LEAST_REGISTERS = {Tcgen05LdStShape.SHAPE_16X128B: 2, Tcgen05LdStShape.SHAPE_16X256B: 4}
"""Registers of a thread for one step of a transfer, where it is more than one."""


class LdStOp(EffectfulOp):
    """Base of the transfers between registers and tensor memory, by all threads of a warp."""

    shape = prop_def(ClassProperty(Tcgen05LdStShapeAttr))

    def _verify_transfer(self, count: int, what: str, *, has_offset: bool, takes_any_offset: bool) -> None:
        shape, halves = self.shape.data, Tcgen05LdStShape.SHAPE_16X32BX2
        if shape is halves and not has_offset:
            raise VerifyException("shape 16x32bx2 requires offset argument")
        if shape is not halves and has_offset and not takes_any_offset:
            raise VerifyException("offset argument is only supported for shape 16x32bx2")
        if count < LEAST_REGISTERS.get(shape, 1):
            raise VerifyException(f"invalid {what} length {count} for shape {shape} in {self.name[5:]} Op")


@irdl_op_definition
class Tcgen05LdOp(LdStOp):
    """
    Start loading tensor memory to registers. The registers may be used after `tcgen05.wait <load>`.

    `%v = nvvm.tcgen05.ld %address {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>`

    With `pack` two 16-bit elements of neighbouring columns become one register. 16x32bx2 takes the distance of its
    second half in columns (a constant).
    """

    name = "nvvm.tcgen05.ld"

    tmem_addr = operand_def(IN_TENSOR_MEMORY)
    offset = opt_operand_def(I64)
    res = result_def(REGISTERS)
    pack = opt_prop_def(ClassProperty(UnitAttr))

    assembly_format = "$tmem_addr (`,` $offset^)? (`pack` $pack^)? attr-dict `:` type($res)"

    def __init__(
        self,
        tmem_addr: Value,
        shape: Tcgen05LdStShape,
        registers: int,
        offset: Value | None = None,
        *,
        pack: bool = False,
    ) -> None:
        super().__init__(
            operands=[tmem_addr, offset],
            result_types=[i32 if registers == 1 else VectorType(i32, [registers])],
            properties={"shape": Tcgen05LdStShapeAttr(shape), "pack": UnitAttr() if pack else None},
        )

    def verify_(self) -> None:
        count = register_count(self.res.type)
        self._verify_transfer(count, "result type", has_offset=self.offset is not None, takes_any_offset=False)


@irdl_op_definition
class Tcgen05StOp(LdStOp):
    """
    Start storing registers to tensor memory; `tcgen05.wait <store>` waits for it.

    `nvvm.tcgen05.st %address, %v {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>`

    With `unpack` a register becomes two 16-bit elements of neighbouring columns.
    """

    name = "nvvm.tcgen05.st"

    tmem_addr = operand_def(IN_TENSOR_MEMORY)
    val = operand_def(REGISTERS)
    offset = opt_operand_def(I64)
    unpack = opt_prop_def(ClassProperty(UnitAttr))

    assembly_format = "$tmem_addr `,` $val (`,` $offset^)? (`unpack` $unpack^)? attr-dict `:` type($val)"

    def __init__(
        self,
        tmem_addr: Value,
        val: Value,
        shape: Tcgen05LdStShape,
        offset: Value | None = None,
        *,
        unpack: bool = False,
    ) -> None:
        super().__init__(
            operands=[tmem_addr, val, offset],
            properties={"shape": Tcgen05LdStShapeAttr(shape), "unpack": UnitAttr() if unpack else None},
        )

    def verify_(self) -> None:
        count = register_count(self.val.type)
        self._verify_transfer(count, "input", has_offset=self.offset is not None, takes_any_offset=True)


# Descriptors ----------------------------------------------------------------------------------------------------------


@irdl_op_definition
class Tcgen05MmaSmemDescOp(UpstreamOp):
    """
    Pack a descriptor of a matrix in shared memory. Address and offsets are given as they stand in it: divided by 16.

    `%d = nvvm.tcgen05.mma_smem_desc(%start, %lbo, %sbo, %base, %mode, %swizzle) : (i32, i32, i32, i8, i1, i8) -> i64`
    """

    name = "nvvm.tcgen05.mma_smem_desc"
    FIELDS: ClassVar = ((14, 0), (14, 16), (14, 32), (3, 49), (1, 52), (3, 61))
    """(bits, lowest bit) of each operand in the descriptor."""

    start_addr = operand_def(I32)
    leading_dim_offset = operand_def(I32)
    stride_dim_offset = operand_def(I32)
    base_offset = operand_def(I8)
    leading_dim_mode = operand_def(I1)
    swizzle_mode = operand_def(I8)
    res = result_def(I64)

    traits = traits_def(Pure())

    assembly_format = "`(` operands `)` attr-dict `:` `(` type(operands) `)` `->` type($res)"


TCGEN05_OPS: tuple[type[Operation], ...] = (
    Tcgen05AllocOp,
    Tcgen05DeallocOp,
    Tcgen05RelinquishAllocPermitOp,
    Tcgen05FenceOp,
    Tcgen05WaitOp,
    Tcgen05CommitOp,
    Tcgen05ShiftOp,
    Tcgen05CpOp,
    Tcgen05LdOp,
    Tcgen05StOp,
    Tcgen05MmaSmemDescOp,
)
