"""
Kernels for the joint choice of a schedule and of agents: GEMM and attention, per sub-tile, on Hopper and Blackwell.

Costs are in units of 128 cycles, rounded up, from: tensor core 4096 flops a cycle on sm_90 and 8192 on sm_100, 16
exponentials and 128 other results a cycle, TMA 64 bytes a cycle after 430 cycles. Each sub-tile of an attention kernel
has its product with K (`qk`), the row maximum, the exponentials, the row sum with the conversion of P, the rescaling of
the output and the product with V (`pv`), after Shah et al., "FlashAttention-3" (arXiv 2407.08608).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tileas_xdsl.scheduling.exact.problem import (
    MBARRIER,
    NAMED,
    SHARED,
    TENSOR,
    Constant,
    Dependence,
    ExactProblem,
    ExactRing,
    Handshake,
    MachineLimits,
    Move,
    OpSpec,
    RegisterFile,
    RegisterValue,
    RingRead,
    SlotLimit,
    Space,
)
from tileas_xdsl.targets.machine_model import SlotUse

KIB = 1024
SLOTS = tuple(SlotLimit(name) for name in ("tensor core", "exp", "alu", "tma"))


def machine(budget: int = 200, *, queue: int = 0, tensor_static: int = 0, signal: int = 1) -> MachineLimits:
    """A register file that holds any number of agents, as the sources of the figures have it: only budgets count."""
    spaces = (Space(SHARED, 232448), Space(TENSOR, 256 * KIB, tensor_static))
    signals = (Handshake(MBARRIER, signal), Handshake(NAMED, signal))
    return MachineLimits(SLOTS, spaces, signals, queue=queue, registers=RegisterFile(budget, words=1 << 20, reserve=0))


def load(name: str, rows: int, latency: int) -> OpSpec:
    return OpSpec(name, (SlotUse("tma", rows),), latency, asynchronous=True, varying_latency=True)


def product(name: str, rows: int) -> OpSpec:
    return OpSpec(name, (SlotUse("tensor core", rows),), rows, asynchronous=True, min_warps=4)


def compute(name: str, slot: str, rows: int) -> OpSpec:
    """A synchronous op, which keeps its agent."""
    return OpSpec(name, (SlotUse(slot, rows),), rows, rows, min_warps=4)


def gemm(columns: int, *, agents: int = 3) -> ExactProblem:
    """128 x `columns` x 64 with two sub-tiles of 64 rows."""
    rows = columns // 64
    ops = (load("A", 2, 6), load("B", columns // 64, 4 + columns // 64), product("mma0", rows), product("mma1", rows))
    dependences = (
        *(Dependence(tile, mma, 4 + (2 if tile == "A" else rows)) for mma in ("mma0", "mma1") for tile in "AB"),
        *(Dependence(mma, mma, rows, 1) for mma in ("mma0", "mma1")),
    )
    readers = (RingRead("mma0", rows), RingRead("mma1", rows))
    rings = (ExactRing("A", SHARED, "A", readers, 16 * KIB), ExactRing("B", SHARED, "B", readers, columns * 128))
    constants = tuple(Constant(f"acc{tile}", f"mma{tile}", columns // 2) for tile in (0, 1))
    return ExactProblem(ops, machine(), dependences, rings, constants=constants, agents=agents)


@dataclass(frozen=True)
class Costs:
    """Rows of a sub-tile of attention, and what its values take."""

    qk: int = 4
    top: int = 1
    exp: int = 4
    total: int = 1
    rescale: int = 1
    pv: int = 4
    load: int = 4
    latency: int = 8
    output_words: int = 64
    move: int = 3


HEAD_128 = Costs()
HEAD_64 = Costs(qk=2, pv=2, load=2, latency=6, output_words=32)
CYCLES = Costs(512, 64, 512, 64, 64, 512, 512, 942, move=384)


def hopper(tiles: int, costs: Costs = HEAD_128, *, crossing: bool = True, agents: int = 3, queue: int = 0,
           signal: int = 1) -> ExactProblem:  # fmt: skip
    """Attention forward on sm_90: S, P and the output in registers."""
    ops = [load("K", costs.load, costs.latency), load("V", costs.load, costs.latency)]
    dependences: list[Dependence] = []
    values: list[RegisterValue] = []
    for tile in range(tiles):
        qk, top, exp, total, rescale, pv = (f"{name}{tile}" for name in ("qk", "max", "exp", "sum", "resc", "pv"))
        ops += [product(qk, costs.qk), compute(top, "alu", costs.top), compute(exp, "exp", costs.exp)]
        ops += [compute(total, "alu", costs.total), compute(rescale, "alu", costs.rescale), product(pv, costs.pv)]
        dependences += [
            Dependence("K", qk, costs.latency), Dependence("V", pv, costs.latency), Dependence(qk, top, costs.qk),
            Dependence(top, top, costs.top, 1), Dependence(top, exp, costs.top), Dependence(exp, total, costs.exp),
            Dependence(total, total, costs.total, 1), Dependence(total, pv, costs.total),
            Dependence(top, rescale, costs.top), Dependence(rescale, pv, costs.rescale),
            Dependence(pv, rescale, costs.pv, 1),
        ]  # fmt: skip
        tile_move = Move(32 * KIB, costs.move) if crossing else None
        half_move = Move(16 * KIB, costs.move) if crossing else None
        values += [
            RegisterValue(f"S{tile}", qk, (RingRead(top, costs.top), RingRead(exp, costs.exp)), 64, tile_move),
            RegisterValue(f"E{tile}", exp, (RingRead(total, 0),), 0, half_move),
            RegisterValue(f"P{tile}", total, (RingRead(pv, costs.pv),), 32, half_move),
            RegisterValue(f"O{tile}", rescale, (RingRead(pv, 0),), 0, tile_move),
            RegisterValue(f"O'{tile}", pv, (RingRead(rescale, 0, 1),), 0, tile_move),
        ]
    rings = (
        ExactRing("K", SHARED, "K", tuple(RingRead(f"qk{tile}", costs.qk) for tile in range(tiles)), 32 * KIB),
        ExactRing("V", SHARED, "V", tuple(RingRead(f"pv{tile}", costs.pv) for tile in range(tiles)), 32 * KIB),
    )
    constants = tuple(Constant(f"O{tile}", f"pv{tile}", costs.output_words) for tile in range(tiles))
    there = machine(queue=queue, signal=signal)
    return ExactProblem(tuple(ops), there, tuple(dependences), rings, tuple(values), constants, agents)


def blackwell(tiles: int, *, exp: int = 8, exp_on_alu: int = 0, budget: int = 200, agents: int = 3) -> ExactProblem:
    """Attention forward on sm_100, sub-tiles of 128 rows: S and P share tensor memory, the output stays there."""
    ops = [load("K", 4, 8), load("V", 4, 8)]
    dependences: list[Dependence] = []
    values: list[RegisterValue] = []
    rings = [
        ExactRing("K", SHARED, "K", tuple(RingRead(f"qk{tile}", 4) for tile in range(tiles)), 32 * KIB),
        ExactRing("V", SHARED, "V", tuple(RingRead(f"pv{tile}", 4) for tile in range(tiles)), 32 * KIB),
    ]
    for tile in range(tiles):
        qk, top, power, store, rescale, pv = (f"{name}{tile}" for name in ("qk", "max", "exp", "store", "resc", "pv"))
        shared_exp = (SlotUse("alu", exp_on_alu),) if exp_on_alu else ()
        raised = compute(power, "exp", exp)
        ops += [product(qk, 4), compute(top, "alu", 2), replace(raised, uses=raised.uses + shared_exp)]
        ops += [compute(store, "alu", 3), compute(rescale, "alu", 3), product(pv, 4)]
        dependences += [
            Dependence("K", qk, 8), Dependence("V", pv, 8), Dependence(qk, top, 4), Dependence(top, top, 2, 1),
            Dependence(top, power, 2), Dependence(power, store, exp), Dependence(store, pv, 3),
            Dependence(top, rescale, 2), Dependence(rescale, pv, 3), Dependence(pv, rescale, 4, 1),
        ]  # fmt: skip
        values += [
            RegisterValue(f"S{tile}", top, (RingRead(power, exp),), 128, Move(64 * KIB, 3)),
            RegisterValue(f"P{tile}", power, (RingRead(store, 3),), 64, Move(32 * KIB, 3)),
            RegisterValue(f"O{tile}", rescale, (RingRead(rescale, 3),), 64),
        ]
        rings.append(ExactRing(f"SP{tile}", TENSOR, qk, (RingRead(pv, 4),), 64 * KIB))
    there = machine(budget, tensor_static=64 * KIB * tiles)
    return ExactProblem(tuple(ops), there, tuple(dependences), tuple(rings), tuple(values), (), agents)
