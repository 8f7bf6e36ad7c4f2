"""
Tensor memory (`tcgen05`): allocation, fences, products, and transfers of registers.

A wait for loads takes and returns the registers that they fill, as tied operands of inline PTX: the intrinsic names
none, so that LLVM may compute with them before the wait; behind MLIR's translation it may.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import VectorType, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tileas_xdsl.dialects.extensions.llvm_values import ExtractElementOp
from tileas_xdsl.dialects.nvvm import tcgen05, tcgen05_mma
from tileas_xdsl.dialects.nvvm.attributes import CTAGroup
from tileas_xdsl.dialects.nvvm.matrix_attributes import (
    Tcgen05BlockScale,
    Tcgen05CollectorOp,
    Tcgen05CpMulticast,
    Tcgen05Fence,
    Tcgen05LdStShape,
    Tcgen05MMAKind,
    Tcgen05Wait,
)
from tileas_xdsl.dialects.upstream import address_space
from tileas_xdsl.transforms.to_llvm.nvvm_rules.emitting import SHARED_SPACE, Emitter, refusal, rule

GROUPS = {CTAGroup.CTA_1: 1, CTAGroup.CTA_2: 2}
KINDS = {Tcgen05MMAKind.F16: 0, Tcgen05MMAKind.TF32: 1, Tcgen05MMAKind.F8F6F4: 2, Tcgen05MMAKind.I8: 3}
COLLECTORS = {
    Tcgen05CollectorOp.DISCARD: 0,
    Tcgen05CollectorOp.LASTUSE: 1,
    Tcgen05CollectorOp.FILL: 2,
    Tcgen05CollectorOp.USE: 3,
}
"""The numbers by which the intrinsics know these (LLVM, `NVPTXAddrSpace`, `NVVMIntrinsicUtils.h`)."""


def _group(op: tcgen05.OfCTAGroupOp) -> str:
    return f"cg{GROUPS[op.group.data]}"


def _shared(pointer: SSAValue) -> str:
    return ".shared" if address_space(pointer.type) == SHARED_SPACE else ""


# Allocation and order -------------------------------------------------------------------------------------------------


@rule(tcgen05.Tcgen05AllocOp)
def _alloc(op: tcgen05.Tcgen05AllocOp, emit: Emitter) -> None:
    emit.call(f"tcgen05.alloc{_shared(op.addr)}.{_group(op)}", [op.addr, op.n_cols])


@rule(tcgen05.Tcgen05DeallocOp)
def _dealloc(op: tcgen05.Tcgen05DeallocOp, emit: Emitter) -> None:
    emit.call(f"tcgen05.dealloc.{_group(op)}", [op.taddr, op.n_cols])


@rule(tcgen05.Tcgen05RelinquishAllocPermitOp)
def _relinquish(op: tcgen05.Tcgen05RelinquishAllocPermitOp, emit: Emitter) -> None:
    emit.call(f"tcgen05.relinq.alloc.permit.{_group(op)}")


@rule(tcgen05.Tcgen05FenceOp)
def _fence(op: tcgen05.Tcgen05FenceOp, emit: Emitter) -> None:
    side = "before" if op.kind.data is Tcgen05Fence.BEFORE else "after"
    emit.call(f"tcgen05.fence.{side}.thread.sync")


@rule(tcgen05.Tcgen05WaitOp)
def _wait(op: tcgen05.Tcgen05WaitOp, emit: Emitter) -> None:
    emit.call(f"tcgen05.wait.{'ld' if op.kind.data is Tcgen05Wait.LOAD else 'st'}")


@rule(tcgen05.Tcgen05CommitOp)
def _commit(op: tcgen05.Tcgen05CommitOp, emit: Emitter) -> None:
    several = [] if op.multicast_mask is None else [op.multicast_mask]
    emit.call(f"tcgen05.commit{'.mc' if several else ''}{_shared(op.addr)}.{_group(op)}", [op.addr, *several])


# Products and transfers -----------------------------------------------------------------------------------------------


@rule(tcgen05_mma.Tcgen05MMAOp)
def _product(op: tcgen05_mma.Tcgen05MMAOp, emit: Emitter) -> None:
    place = "tensor" if isinstance(op.matrix_a.type, llvm.LLVMPointerType) else "shared"
    numbers = (KINDS[op.kind.data], GROUPS[op.cta_group.data], COLLECTORS[op.collector_op.data])
    emit.call(f"tcgen05.mma.{place}", [*op.operands, *map(emit.integer, numbers)])


@refusal(tcgen05_mma.Tcgen05MMAOp)
def _other_product(op: tcgen05_mma.Tcgen05MMAOp) -> tuple[str, str] | None:
    if op.scale_input_d is None and op.disable_output_lane is None and op.a_shift is None:
        return None
    return "scales its sum, leaves lanes out or shifts A", "write it as nvvm.inline_ptx"


BLOCKS = {
    Tcgen05BlockScale.DEFAULT: "",
    Tcgen05BlockScale.BLOCK16: ".block16",
    Tcgen05BlockScale.BLOCK32: ".block32",
}


@rule(tcgen05_mma.Tcgen05MMABlockScaleOp)
def _scaled_product(op: tcgen05_mma.Tcgen05MMABlockScaleOp, emit: Emitter) -> None:
    place = "tensor" if isinstance(op.matrix_a.type, llvm.LLVMPointerType) else "shared"
    numbers = (GROUPS[op.cta_group.data], COLLECTORS[op.collector_op.data])
    name = f"tcgen05.mma.{place}.{op.kind.data.value}.block_scale{BLOCKS[op.block_scale.data]}"
    emit.call(name, [*op.operands, *map(emit.integer, numbers)])


@rule(tcgen05.Tcgen05CpOp)
def _copy(op: tcgen05.Tcgen05CpOp, emit: Emitter) -> None:
    shape = op.shape.data.value.removeprefix("shape_")
    several = MULTICASTS[op.multicast.data]
    source = "" if op.source_format is None else f".{op.source_format.data.value}"
    emit.call(f"tcgen05.cp.{shape}{several}{source}.{_group(op)}", [op.taddr, op.smem_desc])


MULTICASTS = {
    Tcgen05CpMulticast.NONE: "",
    Tcgen05CpMulticast.WARPX2_02_13: "_warpx2_02_13",
    Tcgen05CpMulticast.WARPX2_01_23: "_warpx2_01_23",
    Tcgen05CpMulticast.WARPX4: "_warpx4",
}
"""How the intrinsics name the warps whose lanes get the same rows."""


def _transfer(op: tcgen05.LdStOp, verb: str, registers: int, each: int) -> str:
    return f"tcgen05.{verb}.{op.shape.data.value.removeprefix('shape_')}.x{registers // each}"


EACH = {Tcgen05LdStShape.SHAPE_16X128B: 2, Tcgen05LdStShape.SHAPE_16X256B: 4}
"""The registers of a thread in one step, where there are several."""


@rule(tcgen05.Tcgen05LdOp)
def _load(op: tcgen05.Tcgen05LdOp, emit: Emitter) -> SSAValue:
    name = _transfer(op, "ld", tcgen05.register_count(op.res.type), EACH.get(op.shape.data, 1))
    distance = [] if op.offset is None else [op.offset]
    return emit.call(name, [op.tmem_addr, *distance, emit.flag(value=op.pack is not None)], op.res.type)


@rule(tcgen05.Tcgen05StOp)
def _store(op: tcgen05.Tcgen05StOp, emit: Emitter) -> None:
    name = _transfer(op, "st", tcgen05.register_count(op.val.type), EACH.get(op.shape.data, 1))
    distance = [] if op.offset is None else [op.offset]
    emit.call(name, [op.tmem_addr, *distance, op.val, emit.flag(value=op.unpack is not None)])


# Registers under way --------------------------------------------------------------------------------------------------


def tie_loads(root: Operation) -> None:
    """
    Let each wait for loads return the registers that the loads in front of it in its block fill. The last wait is
    first: the wait before it, at which its loads begin, is not replaced yet.
    """
    for wait in reversed([op for op in root.walk() if isinstance(op, tcgen05.Tcgen05WaitOp)]):
        if wait.kind.data is Tcgen05Wait.LOAD:
            loads = _loads_before(wait)
            if loads:
                _tie(wait, loads)


def _loads_before(wait: tcgen05.Tcgen05WaitOp) -> list[tcgen05.Tcgen05LdOp]:
    found: list[tcgen05.Tcgen05LdOp] = []
    op = wait.prev_op
    while op is not None and not isinstance(op, tcgen05.Tcgen05WaitOp):
        if isinstance(op, tcgen05.Tcgen05LdOp):
            found.insert(0, op)
        op = op.prev_op
    return found


def _tie(wait: tcgen05.Tcgen05WaitOp, loads: list[tcgen05.Tcgen05LdOp]) -> None:
    emit = Emitter(wait)
    uses = [list(load.res.uses) for load in loads]
    registers = [register for load in loads for register in _registers(load.res, emit)]
    after = iter(
        emit.assembly("tcgen05.wait::ld.sync.aligned;", [i32] * len(registers), registers, range(len(registers)))
    )
    for load, users in zip(loads, uses, strict=True):
        joined = _joined(load.res, [next(after) for _ in range(tcgen05.register_count(load.res.type))], emit)
        for use in users:
            use.operation.operands[use.index] = joined
    Rewriter.erase_op(wait)


def _registers(vector: SSAValue, emit: Emitter) -> list[SSAValue]:
    kind: Attribute = vector.type
    if not isinstance(kind, VectorType):
        return [vector]
    count = tcgen05.register_count(cast("VectorType[Attribute]", kind))
    return [emit.insert(ExtractElementOp(vector, emit.integer(number))).results[0] for number in range(count)]


def _joined(vector: SSAValue, registers: list[SSAValue], emit: Emitter) -> SSAValue:
    kind: Attribute = vector.type
    if not isinstance(kind, VectorType):
        return registers[0]
    found: SSAValue = emit.insert(llvm.UndefOp(cast("VectorType[Attribute]", kind))).res
    for number, register in enumerate(registers):
        found = emit.insert(llvm.InsertElementOp(found, register, emit.integer(number))).results[0]
    return found
