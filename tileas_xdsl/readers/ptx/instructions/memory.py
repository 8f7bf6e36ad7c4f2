"""
Instructions that access memory (PTX ISA, "Data Movement and Conversion Instructions": `ld`, `st`, `ldmatrix`,
`stmatrix`; "Parallel Synchronization and Communication Instructions": `atom`, `red`).

    ld.shared.v4.b32 {a, b, c, d}, [m]      a load of a vector; parts are taken where they matter
    st.shared.b32 [m], a                    a store; of what, matters where somebody asks what was loaded
    ld.global.b32 d, [m]                    an unknown number: global memory is not followed
    ld d, [m]                               of shared memory if the address is made of one there

An address without a space is resolved behind SSA (`resolving`).
"""

from __future__ import annotations

from functools import partial

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, IntegerType, UnitAttr, VectorType, i32, i64
from xdsl.ir import Attribute, SSAValue

from tileas_xdsl.dialects.extensions.llvm import BINARY_OPS, ORDERINGS, AtomicRMWOp
from tileas_xdsl.dialects.nvvm.barrier import MapaOp
from tileas_xdsl.dialects.nvvm.tcgen05 import TENSOR_ADDRESS
from tileas_xdsl.dialects.nvvm.warp_matrix import LdMatrixOp, StMatrixOp
from tileas_xdsl.readers.ptx.emission import Emission
from tileas_xdsl.readers.ptx.instructions.builder import Builder
from tileas_xdsl.readers.ptx.instructions.rows import ANY_TYPE, Call, Row
from tileas_xdsl.readers.ptx.operands import parts_of
from tileas_xdsl.readers.ptx.resolving import location_of
from tileas_xdsl.readers.ptx.steps import Constant, Register, Step

HINTS = (
    "volatile weak relaxed acquire release acq_rel cta cluster gpu sys mmio nc ca cg cs lu cv wb wt unified "
    "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate L2::evict_first "
    "L2::evict_last L2::evict_normal L2::cache_hint L2::64B L2::128B L2::256B"
)
SHARED = "shared shared::cta"
FAR = "shared::cluster"
VECTORS = "v2 v4 v8"
WIDEST = 64
"""Bits of a number; a wider one is loaded as two."""
ATOMIC = {"exch": "xchg", "and": "_and", "or": "_or", "xor": "_xor", "inc": "uinc_wrap", "dec": "udec_wrap"}
"""Operation of `atom` -> the one of `llvm.atomicrmw`; any other counts as a sum, since no number is followed."""
ATOMIC_WORDS = "add exch and or xor inc dec min max cas noftz"


def kind_of(bits: int, count: int) -> Attribute:
    """The type of a load or a store of so many numbers."""
    each = IntegerType(bits)
    return each if count == 1 else VectorType(each, [count])


# Loads ----------------------------------------------------------------------------------------------------------------


def _loaded(what: str, builder: Builder, call: Call) -> None:
    """A load whose results are parts of one access."""
    targets = parts_of(call[0])
    if call.bits > WIDEST:
        _loaded_in_halves(what, builder, call)
        return
    results = [Register("", call.bits) for _ in targets]
    builder.act(what, _make_load, [builder.address(call[1])], results=results)
    for target, result in zip(targets, results, strict=True):
        builder.write(target, result, signed=call.is_signed)


def _loaded_in_halves(what: str, builder: Builder, call: Call) -> None:
    """A load of 128 bits is one of two numbers."""
    low, high = Register("", WIDEST), Register("", WIDEST)
    builder.act(what, _make_load, [builder.address(call[1])], results=[low, high])
    above = builder.compute("shl", call.bits, builder.resized(high, call.bits), Constant(WIDEST, call.bits))
    builder.write(call[0], builder.compute("or", call.bits, builder.resized(low, call.bits), above))


def _make_load(e: Emission, step: Step) -> None:
    bits, count = step.results[0].bits, len(step.results)
    pointer = e.shared(step.operands[0])
    if count > 1 and any(map(e.is_live, step.results)):
        for place, result in enumerate(step.results):
            part = pointer if place == 0 else e.further(pointer, place * bits // 8)
            e.bind(result, e.add(llvm.LoadOp(part, kind_of(bits, 1))).results[0])
        return
    load = e.add(llvm.LoadOp(pointer, kind_of(bits, count)))
    if location_of(step.operands[0]) in e.tensor_addresses:
        load.attributes[TENSOR_ADDRESS] = UnitAttr()
    if count == 1:
        e.give(step, [load.results[0]])


def _parameter(builder: Builder, call: Call) -> None:
    """`ld.param`: numbers that a launch passes, by their addresses."""
    address = builder.address(call[1])
    for number, target in enumerate(parts_of(call[0])):
        result = Register("", call.bits)
        distance = number * call.bits // 8
        builder.act("at", None, [address], results=[result], kind="parameter", detail=distance)
        builder.write(target, result, signed=call.is_signed)


def _unknown(builder: Builder, call: Call) -> None:
    builder.write_unknown(call[0])


def _nothing(_builder: Builder, _call: Call) -> None:
    """What is not followed, and gives no number."""


# Stores ---------------------------------------------------------------------------------------------------------------


def _stored(what: str, builder: Builder, call: Call) -> None:
    values = [builder.read(part, call.bits) for part in parts_of(call[1])]
    builder.act(what, _make_store, [builder.address(call[0])], stored=values)


def _make_store(e: Emission, step: Step) -> None:
    count, bits = len(step.stored), step.stored[0].bits
    pointer = e.shared(step.operands[0])
    values = [e.stored(step, value) for value in step.stored]
    if count == 1:
        e.add(llvm.StoreOp(values[0] if values[0] is not None else e.undefined(IntegerType(bits)), pointer))
    elif all(value is None for value in values):
        e.add(llvm.StoreOp(e.undefined(kind_of(bits, count)), pointer))
    else:
        for place, value in enumerate(values):
            part = pointer if place == 0 else e.further(pointer, place * bits // 8)
            e.add(llvm.StoreOp(value if value is not None else e.undefined(IntegerType(bits)), part))


# Atomics --------------------------------------------------------------------------------------------------------------


def _atomic(builder: Builder, call: Call) -> None:
    """`atom` and `red` on shared memory: one access; what is read is unknown."""
    returns = call.instruction.words[0] == "atom"
    place = call[1] if returns else call[0]
    builder.act("atomic", _make_atomic, [builder.address(place)], detail=(call.one_of(ATOMIC_WORDS.split()), call.bits))
    if returns:
        builder.write_unknown(call[0])


def _make_atomic(e: Emission, step: Step) -> None:
    word, bits = step.detail
    kind = IntegerType(bits)
    computes = BINARY_OPS.index(ATOMIC.get(word, "add"))
    e.add(
        AtomicRMWOp.create(
            operands=[e.shared(step.operands[0]), e.undefined(kind)],
            result_types=[kind],
            properties={"bin_op": IntegerAttr(computes, i64), "ordering": IntegerAttr(ORDERINGS["monotonic"], i64)},
        )
    )


# Matrices -------------------------------------------------------------------------------------------------------------

COUNTS = {"x1": 1, "x2": 2, "x4": 4}
MOVED = f"sync aligned m8n8 {' '.join(COUNTS)} trans shared shared::cta b16"
"""Modifiers of `ldmatrix` and `stmatrix`."""


def _count(call: Call) -> int:
    return COUNTS[call.one_of(COUNTS) or "x1"]


def _matrix_loaded(builder: Builder, call: Call) -> None:
    builder.act("ldmatrix", _make_ldmatrix, [builder.address(call[1])], detail=(_count(call), call.has("trans")))
    builder.write_unknown(call[0])


def _make_ldmatrix(e: Emission, step: Step) -> None:
    count, transposed = step.detail
    e.add(LdMatrixOp(e.shared(step.operands[0]), count, transposed=transposed))


def _matrix_stored(builder: Builder, call: Call) -> None:
    for part in parts_of(call[1]):
        builder.read(part, 32)
    builder.act("stmatrix", _make_stmatrix, [builder.address(call[0])], detail=(_count(call), call.has("trans")))


def _make_stmatrix(e: Emission, step: Step) -> None:
    count, transposed = step.detail
    sources: list[SSAValue] = [e.undefined(i32)] * count
    e.add(StMatrixOp(e.shared(step.operands[0]), sources, transposed=transposed))


# Places ---------------------------------------------------------------------------------------------------------------


def _mapped(builder: Builder, call: Call) -> None:
    """`mapa`: in a cluster of one the address itself."""
    bits = call.bits
    address, rank = builder.read(call[1], bits), builder.read(call[2], 32)
    if builder.blocks_of_cluster == 1:
        builder.write(call[0], address)
        return
    result = Register("", bits)
    builder.act("mapa", _make_mapa, [address, rank], results=[result], kind="ask")
    builder.write(call[0], result)


def _make_mapa(e: Emission, step: Step) -> None:
    place = e.add(MapaOp(e.shared(step.operands[0]), e.value(step.operands[1]))).results[0]
    e.give(step, [e.add(llvm.PtrToIntOp(place, IntegerType(step.results[0].bits))).results[0]])


def _rank_of(builder: Builder, call: Call) -> None:
    """`getctarank`"""
    if builder.blocks_of_cluster == 1:
        builder.write(call[0], Constant(0, 32))
    else:
        builder.write_unknown(call[0])


EVERYWHERE = f"{HINTS} {ANY_TYPE} {VECTORS}"

MEMORY: tuple[Row, ...] = (
    Row("ld.param", "d m", EVERYWHERE + " param param::entry param::func", "an argument", _parameter),
    Row(
        "ld",
        "d m",
        f"{EVERYWHERE} {SHARED} {FAR}",
        "llvm.load",
        partial(_loaded, "load"),
        acts=True,
        needs=f"{SHARED} {FAR}",
    ),
    Row(
        "ld",
        "d m c?",
        f"{EVERYWHERE} global const local global::cluster",
        "an unknown number",
        _unknown,
        needs="global const local",
    ),
    Row("ld", "d m c?", EVERYWHERE, "llvm.load", partial(_loaded, "generic load"), acts=True),
    Row("ldu", "d m", f"{EVERYWHERE} global", "an unknown number", _unknown),
    Row("st.param", "m v", EVERYWHERE + " param param::func", "nothing", _nothing),
    Row(
        "st",
        "m v",
        f"{EVERYWHERE} {SHARED} {FAR}",
        "llvm.store",
        partial(_stored, "store"),
        acts=True,
        needs=f"{SHARED} {FAR}",
    ),
    Row("st", "m v c?", f"{EVERYWHERE} global local", "nothing", _nothing, needs="global local"),
    Row("st", "m v c?", EVERYWHERE, "llvm.store", partial(_stored, "generic store"), acts=True),
    Row(
        "atom",
        "d m a b?",
        f"{HINTS} {ANY_TYPE} {SHARED} {ATOMIC_WORDS}",
        "llvm.atomicrmw",
        _atomic,
        acts=True,
        needs=SHARED,
    ),
    Row(
        "red", "m a", f"{HINTS} {ANY_TYPE} {SHARED} {ATOMIC_WORDS}", "llvm.atomicrmw", _atomic, acts=True, needs=SHARED
    ),
    Row("atom", "d m a b? c?", f"{EVERYWHERE} global {ATOMIC_WORDS}", "an unknown number", _unknown, needs="global"),
    Row("red", "m a c?", f"{EVERYWHERE} global {ATOMIC_WORDS}", "nothing", _nothing, needs="global"),
    Row(
        "ldmatrix",
        "v m",
        MOVED,
        "nvvm.ldmatrix",
        _matrix_loaded,
        acts=True,
    ),
    Row(
        "stmatrix",
        "m v",
        MOVED,
        "nvvm.stmatrix",
        _matrix_stored,
        acts=True,
    ),
    Row("mapa", "d a b", "shared::cluster u32 u64", "nvvm.mapa", _mapped),
    Row("getctarank", "d a", "shared::cluster u32 u64", "an unknown number", _rank_of),
)
