"""
Instructions that move data or multiply, where all numbers are followed: rows in front of those of a check.

    ld.global.b32 d, [m]                                d = llvm.load (llvm.inttoptr m)
    ldmatrix.. {d0, d1}, [m]                            the registers of nvvm.ldmatrix
    mma.sync.. {d0, ..}, {a0, ..}, {b0, ..}, {c0, ..}   those of nvvm.mma.sync
    wgmma.mma_async.. {d0, ..}, {a0, ..}, b, p, 1, 1    a chain of them is one `RegisterProduct`

They are for the kernels that `tileas compile` writes (PTX ISA, as for `memory`, `copies` and `matrices`). What moves
numbers in another way is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import llvm
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, SSAValue

from tileas_xdsl.dialects.extensions.llvm_values import ExtractElementOp
from tileas_xdsl.dialects.nvvm import cp_async
from tileas_xdsl.dialects.nvvm.attributes import LoadCacheModifier
from tileas_xdsl.dialects.nvvm.matrix_attributes import MMAIntOverflow, MMALayout, MMAType, WGMMAType
from tileas_xdsl.dialects.nvvm.register_products import A_REGISTERS, K, RegisterProduct
from tileas_xdsl.dialects.nvvm.warp_matrix import HALVES, LdMatrixOp, MmaSyncOp, StMatrixOp
from tileas_xdsl.readers.ptx.emission import Emission, extracted
from tileas_xdsl.readers.ptx.instructions.builder import Builder
from tileas_xdsl.readers.ptx.instructions.copies import L2
from tileas_xdsl.readers.ptx.instructions.matrices import (
    PRODUCT_WORDS,
    adds_to_sums,
    extents_of,
    kinds_of,
    layouts_of,
    multiplied,
)
from tileas_xdsl.readers.ptx.instructions.memory import EVERYWHERE, MOVED, SHARED, kind_of
from tileas_xdsl.readers.ptx.instructions.rows import Call, Row
from tileas_xdsl.readers.ptx.instructions.synchronization import number_in
from tileas_xdsl.readers.ptx.operands import Number, Operand, Vector, parts_of
from tileas_xdsl.readers.ptx.resolving import memory_of
from tileas_xdsl.readers.ptx.steps import Constant, Register, Step
from tileas_xdsl.targets.engines import Engine

WITHOUT_NUMBERS = ("atom", "red", "ldu", "tcgen05", "cp.async.bulk.shared", "st.async", "multimem")
"""Beginnings of opcodes that move numbers, and of which no numbers are read."""
NOT_RUN = "moves or computes numbers that are not read; tileas check reads this kernel"

# Memory ---------------------------------------------------------------------------------------------------------------


def _place(e: Emission, step: Step) -> SSAValue:
    """The place in memory that an address leads to: in the space that is written, or that it is made of."""
    address = step.operands[0]
    space = step.detail or memory_of(address, {})
    return e.shared(address) if space == "shared" else e.global_place(address)


def _space(call: Call) -> str | None:
    return "shared" if call.has("shared") or call.has("shared::cta") else "global" if call.has("global") else None


def _loaded(builder: Builder, call: Call) -> None:
    targets = parts_of(call[0])
    results = [Register("", call.bits) for _ in targets]
    builder.act("numbers", _make_load, [builder.address(call[1])], results=results, detail=_space(call))
    for target, result in zip(targets, results, strict=True):
        builder.write(target, result, signed=call.is_signed)


def _make_load(e: Emission, step: Step) -> None:
    count = len(step.results)
    loaded = e.add(llvm.LoadOp(_place(e, step), kind_of(step.results[0].bits, count))).results[0]
    if count == 1:
        e.give(step, [loaded])
    else:
        e.give(step, [e.add(ExtractElementOp(loaded, e.number(place, 32))).results[0] for place in range(count)])


def _stored(builder: Builder, call: Call) -> None:
    values = [builder.read(part, call.bits) for part in parts_of(call[1])]
    builder.act("numbers", _make_store, [builder.address(call[0]), *values], detail=_space(call))


def _make_store(e: Emission, step: Step) -> None:
    pointer = _place(e, step)
    for place, value in enumerate(step.operands[1:]):
        e.add(llvm.StoreOp(e.value(value), e.further(pointer, place * value.bits // 8) if place else pointer))


def _copied(builder: Builder, call: Call) -> None:
    """`cp.async`: of so many bytes as the fourth operand says, or of none if that is a predicate; the rest is zero."""
    size = number_in(builder, call[2], "a size")
    operands = [builder.address(call[0]), builder.address(call[1])]
    for extra in call.operands[3 : len(call.operands) - call.has("L2::cache_hint")]:
        if isinstance(extra, Register) and extra.bits == 1:
            operands.append(builder.select(builder.read(extra, 1), Constant(0, 32), Constant(size, 32)))
        else:
            operands.append(builder.read(extra, 32))
    modifier = LoadCacheModifier.CG if call.has("cg") else LoadCacheModifier.CA

    def make(e: Emission, step: Step) -> None:
        into, source, *count = step.operands
        taken = e.value(count[0]) if count else None
        e.add(cp_async.CpAsyncOp(e.shared(into), e.global_place(source), size, modifier, taken))

    builder.act(Engine.CP_ASYNC, make, operands)


# Matrices of a warp ---------------------------------------------------------------------------------------------------


def _matrix_loaded(builder: Builder, call: Call) -> None:
    transposed, targets = call.has("trans"), parts_of(call[0])
    results = [Register("", 32) for _ in targets]

    def make(e: Emission, step: Step) -> None:
        _give_registers(e, step, e.add(LdMatrixOp(e.shared(step.operands[0]), len(results), transposed=transposed)).res)

    builder.act("ldmatrix", make, [builder.address(call[1])], results=results)
    _write(builder, targets, results)


def _matrix_stored(builder: Builder, call: Call) -> None:
    transposed = call.has("trans")

    def make(e: Emission, step: Step) -> None:
        place, *sources = step.operands
        e.add(StMatrixOp(e.shared(place), [e.value(source) for source in sources], transposed=transposed))

    sources = [builder.read(part, 32) for part in parts_of(call[1])]
    builder.act("stmatrix", make, [builder.address(call[0]), *sources])


def _give_registers(e: Emission, step: Step, value: SSAValue) -> None:
    """Say that the results of `step` are the registers in `value`: one alone, or a struct of them."""
    count = len(step.results)
    parts = [value] if count == 1 else [e.add(extracted(value, place)).results[0] for place in range(count)]
    e.give(step, [e.bits(part, 32) for part in parts])


def _write(builder: Builder, targets: Sequence[Operand], results: Sequence[Register]) -> None:
    for target, result in zip(targets, results, strict=True):
        builder.write(target, result)


EXTENTS = {f"m16n8k{k}": (16, 8, k) for k in (4, 8, 16, 32)}
FACTORS = {kind.value: kind for kind in (MMAType.F16, MMAType.BF16, MMAType.TF32, MMAType.S8, MMAType.U8)}
SUMS = ("f32", "f16", "s32")


def _multiplied(builder: Builder, call: Call) -> None:
    """`mma.sync` of a warp."""
    extents = EXTENTS[call.one_of(EXTENTS) or ""]
    d, a, b, _ = (word for word in call.modifiers if word in (*FACTORS, *SUMS))
    kinds = FACTORS[a], FACTORS[b]
    factor: Attribute = HALVES if kinds[0] is MMAType.F16 else i32
    total: Attribute = {"f32": f32, "f16": HALVES, "s32": i32}[d]
    overflow = None if d != "s32" else MMAIntOverflow.SATFINITE if call.has("satfinite") else MMAIntOverflow.WRAPPED
    parts = [parts_of(operand) for operand in call.operands[1:]]
    kinds_read = factor, factor, total
    results = [Register("", 32) for _ in parts_of(call[0])]

    def make(e: Emission, step: Step) -> None:
        rest = iter(step.operands)
        first, second, sums = (
            [e.read_as(next(rest), kind) for _ in part] for part, kind in zip(parts, kinds_read, strict=True)
        )
        _give_registers(e, step, e.add(MmaSyncOp(first, second, sums, extents, kinds, overflow=overflow)).res)

    operands = [builder.read(register, 32) for part in parts for register in part]
    builder.act(call.instruction.name, make, operands, results=results, kind="ask")
    _write(builder, parts_of(call[0]), results)


# Products of a warpgroup ----------------------------------------------------------------------------------------------

REGISTER_PRODUCT = "register product"


def _product(builder: Builder, call: Call) -> None:
    if builder.tuple_of(parts_of(call[0])) is None:
        raise builder.here.error("has sums in registers that other products have, too; their numbers are not read")
    if any(operand != Number(1) for operand in call.operands[4:6]):
        raise builder.here.error("has negated factors; their numbers are not read")
    (_product_of_registers if isinstance(call[1], Vector) else multiplied)(builder, call)


def _product_of_registers(builder: Builder, call: Call) -> None:
    """A product with A in registers; those that follow at once, with the same sums, are one chain with it."""
    (columns, depth), (d, a, b) = extents_of(call), kinds_of(call)
    layout = layouts_of(builder, call, is_in_registers=True)[1]
    if d is not WGMMAType.F32 or a is not b or depth != K:
        raise builder.here.error("has A in registers, and no factors of 16 bits; its numbers are not read")
    one = RegisterProduct(columns, a, 1, layout is MMALayout.COL)
    owner = builder.tuple_of(parts_of(call[0]))
    assert owner is not None
    factors = [builder.read(register, 32) for register in parts_of(call[1])]
    operands = [*factors, builder.read(call[2], 64), builder.read(call[3], 1)]
    last = builder.block.steps[-1] if builder.block.steps else None
    if last is not None and last.what == REGISTER_PRODUCT and (last.detail, last.results) == (one, [owner]):
        last.operands += operands
    else:
        builder.act(REGISTER_PRODUCT, _make_chain, [owner, *operands], results=[owner], detail=one)


def _make_chain(e: Emission, step: Step) -> None:
    sums, *rest = step.operands
    width = A_REGISTERS + 2
    parts = [rest[start : start + width] for start in range(0, len(rest), width)]
    if not all(adds_to_sums(part[-1], step) for part in parts):
        raise step.instruction.error("has A in registers, and does not add to its sums; its numbers are not read")
    product: RegisterProduct = replace(step.detail, steps=len(parts))
    a = [[e.value(register) for register in part[:A_REGISTERS]] for part in parts]
    e.give(step, e.add(product.built(e.value(sums), a, [e.value(part[A_REGISTERS]) for part in parts])).results)


NUMBERS: tuple[Row, ...] = (
    Row("ld", "d m c?", f"{EVERYWHERE} {SHARED} global", "llvm.load", _loaded, acts=True),
    Row("st", "m v c?", f"{EVERYWHERE} {SHARED} global", "llvm.store", _stored, acts=True),
    Row(
        Engine.CP_ASYNC,
        "m m a b? c?",
        f"ca cg {SHARED} global {L2}",
        "nvvm.cp.async.shared.global",
        _copied,
        acts=True,
        needs="ca cg",
    ),
    Row("ldmatrix", "v m", MOVED, "nvvm.ldmatrix", _matrix_loaded, acts=True),
    Row("stmatrix", "m v", MOVED, "nvvm.stmatrix", _matrix_stored, acts=True),
    Row(
        "mma.sync",
        "d a b c",
        f"aligned row col {' '.join(EXTENTS)} {' '.join((*FACTORS, *SUMS))} satfinite",
        "nvvm.mma.sync",
        _multiplied,
        acts=True,
    ),
    Row(
        "wgmma.mma_async",
        "v a b p c? c? c? c?",
        PRODUCT_WORDS,
        "nvvm.wgmma.mma_async, nvvm.inline_ptx",
        _product,
        acts=True,
    ),
)
