"""
Products of matrices (PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions" and "TensorCore
5th Generation Family Instructions").

The registers of a product of `wgmma`, and those that `tcgen05.ld` fills, are one value, a tuple: asynchronous work
fills them together, and an ordinary instruction that touches one before the wait is a mistake.

    wgmma.mma_async... {d0, d1, ..}, a, b, p, 1, 1    t = nvvm.wgmma.mma_async a, b, t
    tcgen05.ld... {d0, d1, ..}, [m]                   t = nvvm.tcgen05.ld m
    mov.b32 r, d1                                     a look at t
"""

from __future__ import annotations

from functools import partial

from xdsl.dialects.builtin import IntAttr, UnitAttr, VectorType, f32, i32, i64
from xdsl.dialects.llvm import LLVMStructType
from xdsl.ir import Attribute, SSAValue

from tileas_xdsl.dialects.nvvm import tcgen05, wgmma
from tileas_xdsl.dialects.nvvm.matrix_attributes import (
    MMALayout,
    MMAShapeAttr,
    Tcgen05CollectorOp,
    Tcgen05CpMulticast,
    Tcgen05CpShape,
    Tcgen05Fence,
    Tcgen05LdStShape,
    Tcgen05MMAKind,
    Tcgen05Wait,
    WGMMAType,
)
from tileas_xdsl.dialects.nvvm.tcgen05_mma import Tcgen05MMAOp
from tileas_xdsl.readers.ptx.emission import Emission
from tileas_xdsl.readers.ptx.instructions.builder import Builder
from tileas_xdsl.readers.ptx.instructions.rows import Becomes, Call, Row
from tileas_xdsl.readers.ptx.instructions.synchronization import number_in
from tileas_xdsl.readers.ptx.operands import Address, Number, Vector, parts_of
from tileas_xdsl.readers.ptx.steps import Constant, Operand, Step
from tileas_xdsl.targets.engines import Engine

# wgmma ----------------------------------------------------------------------------------------------------------------

FACTORS = "f16 bf16 tf32 s8 u8 e4m3 e5m2"
SHAPES = tuple(f"m64n{n}k{k}" for n in range(8, 257, 8) for k in (8, 16, 32))
PRODUCT_WORDS = f"sync aligned {' '.join(SHAPES)} f32 s32 {FACTORS} satfinite"


def tuple_type(name: str, count: int) -> Attribute:
    """The type of the registers that `name` (`wgmma`, `tcgen05`) fills together."""
    if name == "tcgen05":
        return i32 if count == 1 else VectorType(i32, [count])
    kind: Attribute = {"wgmma.f16": VectorType[Attribute](i32, [1]), "wgmma.s32": i32}.get(name, f32)
    return LLVMStructType.from_type_list([i32 if name == "wgmma.f16" else kind] * count)


def multiplied(builder: Builder, call: Call) -> None:
    """A product; what A consists of does not matter where it is in registers, but that they are there does."""
    is_in_registers = isinstance(call[1], Vector)
    registers = parts_of(call[0])
    owner = builder.tuple_of(registers)
    columns, depth = extents_of(call)
    d, a, b = kinds_of(call)
    zero = call[3] == Number(0)
    descriptors = [builder.read(operand, 64) for operand in call.operands[1 + is_in_registers : 3]]
    layouts = layouts_of(builder, call, is_in_registers=is_in_registers)
    kind = tuple_type(f"wgmma.{d.value}", len(registers))

    def make(e: Emission, step: Step) -> None:
        count = len(descriptors)
        sums = e.value(step.operands[count]) if len(step.operands) > count else e.undefined(kind)
        matrices = [e.value(operand) for operand in step.operands[:count]]
        op = wgmma.WgmmaMmaAsyncOp(
            sums,
            (e.undefined(i64) if is_in_registers else matrices[0], matrices[-1]),
            MMAShapeAttr(IntAttr(64), IntAttr(columns), IntAttr(depth)),
            (a, b, d),
            accumulates=adds_to_sums(step.operands[-1], step) if builder.with_numbers else not zero,
            layouts=layouts,
        )
        if is_in_registers:
            op.attributes[wgmma.A_IN_REGISTERS] = UnitAttr()
        e.add(op)
        if step.results:
            e.give(step, [op.results[0]])

    filled = [] if owner is None else [owner]
    adds = [builder.read(call[3], 1)] if builder.with_numbers else []
    builder.act(Engine.WGMMA, make, [*descriptors, *filled, *adds], results=filled)
    if owner is not None:
        builder.forget(owner)


def extents_of(call: Call) -> tuple[int, int]:
    """N and K of a product of `wgmma`."""
    shape = call.one_of(SHAPES)
    assert shape is not None
    columns, depth = map(int, shape.removeprefix("m64n").split("k"))
    return columns, depth


def kinds_of(call: Call) -> tuple[WGMMAType, WGMMAType, WGMMAType]:
    """What D, A and B consist of."""
    d, a, b = (WGMMAType(word) for word in call.modifiers if word in (*FACTORS.split(), "f32", "s32"))
    return d, a, b


def adds_to_sums(predicate: Operand, step: Step) -> bool:
    """Whether D is added to, as an operand says. Raises `PtxError` where that is no constant."""
    if not isinstance(predicate, Constant):
        raise step.instruction.error("adds to its sums or not by a number that is no constant")
    return bool(predicate.value)


def layouts_of(builder: Builder, call: Call, *, is_in_registers: bool) -> tuple[MMALayout, MMALayout]:
    """Those of A and B; the flags that transpose are the last operands, and A in registers has none."""
    flags = [bool(number_in(builder, operand, "a flag")) for operand in call.operands[6:8]]
    if is_in_registers:
        flags.insert(0, False)
    a, b = flags if len(flags) == 2 else (False, False)
    return MMALayout.COL if a else MMALayout.ROW, MMALayout.ROW if b else MMALayout.COL


def _ordered(builder: Builder, call: Call) -> None:
    fences = call.instruction.words[1] == "fence"

    def make(e: Emission, _step: Step) -> None:
        e.add(wgmma.WgmmaFenceAlignedOp() if fences else wgmma.WgmmaGroupSyncAlignedOp())

    builder.act("wgmma order", make)


def _waited(builder: Builder, call: Call) -> None:
    groups = number_in(builder, call[0], "a number of groups")

    def make(e: Emission, _step: Step) -> None:
        e.add(wgmma.WgmmaWaitGroupSyncOp(groups))

    builder.act("wgmma wait", make)


# tcgen05: tensor memory -----------------------------------------------------------------------------------------------


def _fenced_before(row: Becomes) -> Becomes:
    """
    `row`, of an instruction that accesses tensor memory. The patterns of PTX ISA between threads have fences of tensor
    memory. They also say that ops which synchronise other memory synchronise tensor memory. A kernel without these
    fences, such as Triton's, is assumed to rely on these ops: a fence is before each access, and after each wait.
    """

    def fenced(builder: Builder, call: Call) -> None:
        if builder.orders_tensor_memory:
            _tensor_fenced(Tcgen05Fence.AFTER, builder, call)
        row(builder, call)

    return fenced


def _allocated(builder: Builder, call: Call) -> None:
    def make(e: Emission, step: Step) -> None:
        e.add(tcgen05.Tcgen05AllocOp(e.shared(step.operands[0]), e.value(step.operands[1])))

    builder.act("tcgen05.alloc", make, [builder.address(call[0]), builder.read(call[1], 32)])


def _deallocated(builder: Builder, call: Call) -> None:
    def make(e: Emission, step: Step) -> None:
        e.add(tcgen05.Tcgen05DeallocOp(e.tensor(step.operands[0]), e.value(step.operands[1])))

    builder.act("tcgen05.dealloc", make, [builder.read(call[0], 32), builder.read(call[1], 32)])


def _relinquished(builder: Builder, _call: Call) -> None:
    def make(e: Emission, _step: Step) -> None:
        e.add(tcgen05.Tcgen05RelinquishAllocPermitOp())

    builder.act("tcgen05.relinquish", make)


TRANSFERS = {"16x64b", "16x128b", "16x256b", "32x32b", "16x32bx2"}
REPEATS = tuple(f"x{1 << power}" for power in range(8))


def _transfer_shape(call: Call) -> Tcgen05LdStShape:
    return Tcgen05LdStShape(f"shape_{call.one_of(TRANSFERS)}")


def _tensor_loaded(builder: Builder, call: Call) -> None:
    registers = parts_of(call[0])
    shape, pack = _transfer_shape(call), call.has("pack::16b")
    offset = number_in(builder, call[2], "a distance") if len(call.operands) > 2 else None
    owner = builder.tuple_of(registers)
    filled = [] if owner is None else [owner]

    def make(e: Emission, step: Step) -> None:
        distance = None if offset is None else e.number(offset, 64)
        place = e.tensor(step.operands[0])
        op = tcgen05.Tcgen05LdOp(place, shape, len(registers), distance, pack=pack)
        e.add(op)
        if step.results:
            e.give(step, [op.results[0]])

    builder.act("tcgen05.ld", make, [builder.address(call[1])], results=filled)
    builder.loads_tensors = True
    if owner is not None:
        builder.forget(owner)
    else:
        builder.write_unknown(call[0])


def _tensor_stored(builder: Builder, call: Call) -> None:
    source = call.operands[-1]
    registers = parts_of(source)
    shape, unpack = _transfer_shape(call), call.has("unpack::16b")
    offset = number_in(builder, call[1], "a distance") if len(call.operands) > 2 else None
    for register in registers:
        builder.read(register, 32)

    def make(e: Emission, step: Step) -> None:
        distance = None if offset is None else e.number(offset, 64)
        value = e.undefined(tuple_type("tcgen05", len(registers)))
        e.add(tcgen05.Tcgen05StOp(e.tensor(step.operands[0]), value, shape, distance, unpack=unpack))

    builder.act("tcgen05.st", make, [builder.address(call[0])])


def _tensor_waited(kind: Tcgen05Wait, builder: Builder, call: Call) -> None:
    def make(e: Emission, _step: Step) -> None:
        e.add(tcgen05.Tcgen05WaitOp(kind))

    builder.act("tcgen05.wait", make)
    if kind is Tcgen05Wait.LOAD:
        builder.loads_tensors = False
    if builder.orders_tensor_memory:
        _tensor_fenced(Tcgen05Fence.BEFORE, builder, call)


def _tensor_fenced(kind: Tcgen05Fence, builder: Builder, _call: Call) -> None:
    def make(e: Emission, _step: Step) -> None:
        e.add(tcgen05.Tcgen05FenceOp(kind))

    builder.act("tcgen05.fence", make)


# tcgen05: products ----------------------------------------------------------------------------------------------------

COLLECTORS = {f"collector::a::{word.value}": word for word in Tcgen05CollectorOp}
KINDS = {f"kind::{kind.value}": kind for kind in Tcgen05MMAKind}


def _tensor_multiplied(builder: Builder, call: Call) -> None:
    """Whether D is added to does not matter: it is written either way."""
    a_is_in_tensor_memory = isinstance(call[1], Address)
    a = builder.address(call[1]) if a_is_in_tensor_memory else builder.read(call[1], 64)
    operands = [builder.address(call[0]), a, builder.read(call[2], 64), builder.read(call[3], 32)]
    kind = KINDS[call.one_of(KINDS) or "kind::f16"]
    collector = COLLECTORS.get(call.one_of(COLLECTORS) or "", Tcgen05CollectorOp.DISCARD)

    def make(e: Emission, step: Step) -> None:
        d, first, second, shape = step.operands
        matrix: SSAValue = e.tensor(first) if a_is_in_tensor_memory else e.value(first)
        factors = (e.tensor(d), matrix, e.value(second), e.value(shape), e.number(1, 1))
        e.add(Tcgen05MMAOp(factors, kind, collector=collector))

    builder.act("tcgen05.mma", make, operands)


def _tensor_committed(builder: Builder, call: Call) -> None:
    operands = [builder.address(call[0])]
    if call.has("multicast::cluster"):
        operands.append(builder.read(call[1], 16))

    def make(e: Emission, step: Step) -> None:
        mask = e.value(step.operands[1]) if len(step.operands) > 1 else None
        e.add(tcgen05.Tcgen05CommitOp(e.shared(step.operands[0]), mask))

    builder.act("tcgen05.commit", make, operands)


CP_SHAPES = {shape.value.removeprefix("shape_"): shape for shape in Tcgen05CpShape}
CP_MULTICASTS = {f"warpx2::{pair}": Tcgen05CpMulticast(f"warpx2_{pair}") for pair in ("02_13", "01_23")} | {
    "warpx4": Tcgen05CpMulticast.WARPX4
}


def _tensor_copied(builder: Builder, call: Call) -> None:
    shape = CP_SHAPES[call.one_of(CP_SHAPES) or "128x256b"]
    multicast = CP_MULTICASTS.get(call.one_of(CP_MULTICASTS) or "", Tcgen05CpMulticast.NONE)

    def make(e: Emission, step: Step) -> None:
        e.add(tcgen05.Tcgen05CpOp(e.tensor(step.operands[0]), e.value(step.operands[1]), shape, multicast))

    builder.act("tcgen05.cp", make, [builder.address(call[0]), builder.read(call[1], 64)])


def _unknown(builder: Builder, call: Call) -> None:
    """A product from registers to registers."""
    builder.write_unknown(call[0])


ONE_CTA = "cta_group::1"
MOVES = f"sync aligned {' '.join(TRANSFERS)} {' '.join(REPEATS)} b32"

MATRICES: tuple[Row, ...] = (
    Row("wgmma.fence", "", "sync aligned", "nvvm.wgmma.fence.aligned", _ordered, acts=True),
    Row("wgmma.commit_group", "", "sync aligned", "nvvm.wgmma.commit.group.sync.aligned", _ordered, acts=True),
    Row("wgmma.wait_group", "a", "sync aligned", "nvvm.wgmma.wait.group.sync.aligned", _waited, acts=True),
    Row(
        "wgmma.mma_async",
        "v a b p c? c? c? c?",
        PRODUCT_WORDS,
        "nvvm.wgmma.mma_async",
        multiplied,
        acts=True,
    ),
    Row("tcgen05.alloc", "m a", f"{ONE_CTA} sync aligned shared::cta b32", "nvvm.tcgen05.alloc", _allocated, acts=True),
    Row("tcgen05.dealloc", "a b", f"{ONE_CTA} sync aligned b32", "nvvm.tcgen05.dealloc", _deallocated, acts=True),
    Row(
        "tcgen05.relinquish_alloc_permit",
        "",
        f"{ONE_CTA} sync aligned",
        "nvvm.tcgen05.relinquish_alloc_permit",
        _relinquished,
        acts=True,
    ),
    Row("tcgen05.ld", "v m c?", f"{MOVES} pack::16b", "nvvm.tcgen05.ld", _fenced_before(_tensor_loaded), acts=True),
    Row("tcgen05.st", "m c? v", f"{MOVES} unpack::16b", "nvvm.tcgen05.st", _fenced_before(_tensor_stored), acts=True),
    Row(
        "tcgen05.wait::ld",
        "",
        "sync aligned",
        "nvvm.tcgen05.wait",
        partial(_tensor_waited, Tcgen05Wait.LOAD),
        acts=True,
    ),
    Row(
        "tcgen05.wait::st",
        "",
        "sync aligned",
        "nvvm.tcgen05.wait",
        partial(_tensor_waited, Tcgen05Wait.STORE),
        acts=True,
    ),
    Row(
        "tcgen05.fence::before_thread_sync",
        "",
        "",
        "nvvm.tcgen05.fence",
        partial(_tensor_fenced, Tcgen05Fence.BEFORE),
        acts=True,
    ),
    Row(
        "tcgen05.fence::after_thread_sync",
        "",
        "",
        "nvvm.tcgen05.fence",
        partial(_tensor_fenced, Tcgen05Fence.AFTER),
        acts=True,
    ),
    Row(
        "tcgen05.mma",
        "m a b c p",
        f"{ONE_CTA} {' '.join(KINDS)} {' '.join(COLLECTORS)}",
        "nvvm.tcgen05.mma",
        _fenced_before(_tensor_multiplied),
        acts=True,
    ),
    Row(
        "tcgen05.commit",
        "m a?",
        f"{ONE_CTA} mbarrier::arrive::one shared::cluster multicast::cluster b64",
        "nvvm.tcgen05.commit",
        _tensor_committed,
        acts=True,
    ),
    Row(
        "tcgen05.cp",
        "m a",
        f"{ONE_CTA} {' '.join(CP_SHAPES)} {' '.join(CP_MULTICASTS)}",
        "nvvm.tcgen05.cp",
        _fenced_before(_tensor_copied),
        acts=True,
    ),
    Row(
        "mma.sync",
        "d a b c",
        "aligned row col m16n8k4 m16n8k8 m16n8k16 m16n8k32 m16n8k64 m16n8k128 m16n8k256 m8n8k4 m8n8k16 m8n8k32 "
        "m8n8k128 f16 bf16 tf32 f32 f64 s32 u32 s8 u8 s4 u4 b1 e4m3 e5m2 satfinite and xor popc kind::f8f6f4",
        "an unknown number",
        _unknown,
    ),
)
