"""
A program with its costs, in the order in which warps issue it: made once, run many times.

That is the order in which the assembler leaves the steps of a block: whichever the rest waits for longest comes first.

A step stays behind what it needs, and accesses to memory stay in order, where one of them writes. Source: list
scheduling (Cooper and Torczon, "Engineering a Compiler", 12.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tileas_xdsl.machine.warps.costs import Costs, Order, StepCost
from tileas_xdsl.machine.warps.program import PRODUCT, Block, Program, Step, program_of
from tileas_xdsl.readers.ptx.parser import parse
from tileas_xdsl.readers.ptx.syntax import Register
from tileas_xdsl.targets.warp_timing import WarpTiming

EXPECTED = {Order.LOAD: 28.0, Order.STORE: 1.0, Order.FIXED: 1.0}
"""The latency of an access, as far as an assembler knows it."""
PRODUCT_CYCLES = 32.0
"""Cycles of a product, of which an assembler that waits for it makes room for others."""


def ordered(block: Block, costs: Costs) -> list[tuple[Step, StepCost]]:
    """The steps of `block` in the order in which a warp issues them, each with its cost."""
    steps = [(step, costs.of(step)) for step in block.steps]
    drained = costs.timing.wgmma_drain + PRODUCT_CYCLES if costs.serialized else 0.0
    before = _dependences([step for step, _ in steps], [cost for _, cost in steps], drained)
    waits = _longest_waits(steps, before)
    after: list[list[int]] = [[] for _ in steps]
    open_ = [len(needed) for needed in before]
    for index, needed in enumerate(before):
        for other in needed:
            after[other].append(index)
    ready_at = [0.0] * len(steps)
    ready = {index for index, count in enumerate(open_) if not count}
    result: list[tuple[Step, StepCost]] = []
    now = 0.0
    while ready:
        able = [index for index in ready if ready_at[index] <= now] or list(ready)
        chosen = min(able, key=lambda i: (-waits[i], i) if ready_at[i] <= now else (ready_at[i], i))
        ready.discard(chosen)
        step, cost = steps[chosen]
        result.append((step, cost))
        now = max(now, ready_at[chosen])
        for other in after[chosen]:
            open_[other] -= 1
            delay = before[other][chosen]
            ready_at[other] = max(ready_at[other], now + delay)
            if not open_[other]:
                ready.add(other)
        now += cost.slots
    return result


def _latency(cost: StepCost) -> float:
    return cost.latency or EXPECTED.get(cost.order, 0.0)


def _dependences(steps: Sequence[Step], costs: Sequence[StepCost], drained: float) -> list[dict[int, float]]:
    """Step -> the steps before it that it stays behind, and by how many cycles."""
    before: list[dict[int, float]] = [{} for _ in steps]
    writer: dict[Register, int] = {}
    readers: dict[Register, list[int]] = {}
    fixed: int | None = None
    stores: list[int] = []
    loads: list[int] = []
    last = len(steps) - 1

    def behind(index: int, other: int, cycles: float = 0.0) -> None:
        before[index][other] = max(cycles, before[index].get(other, 0.0))

    for index, step in enumerate(steps):
        for register in step.reads:
            if register in writer:
                behind(index, writer[register], _latency(costs[writer[register]]))
        for register in step.writes:
            for reader in readers.get(register, ()):
                behind(index, reader)
            if register in writer:
                behind(index, writer[register])
        order = costs[index].order
        if order is not Order.FREE and fixed is not None:
            behind(index, fixed, drained if steps[fixed].words[:2] == PRODUCT else 0.0)
        if order in (Order.STORE, Order.FIXED):
            for other in (*stores, *loads):
                behind(index, other)
        elif order is Order.LOAD:
            for other in stores:
                behind(index, other)
        if order is Order.FIXED:
            fixed, stores, loads = index, [], []
        elif order is Order.STORE:
            stores, loads = [index], []
        elif order is Order.LOAD:
            loads.append(index)
        if index == last and step.words[0] in ("bra", "ret", "exit"):
            for other in range(index):
                behind(index, other)
        for register in step.writes:
            writer[register] = index
            readers[register] = []
        for register in step.reads:
            readers.setdefault(register, []).append(index)
    return before


def _longest_waits(steps: Sequence[tuple[Step, StepCost]], before: Sequence[dict[int, float]]) -> list[float]:
    """Cycles from each step to the end of the block, if nothing else took time."""
    waits = [_latency(cost) for _, cost in steps]
    for index in range(len(steps) - 1, -1, -1):
        for other, delay in before[index].items():
            waits[other] = max(waits[other], waits[index] + max(delay, steps[other][1].slots))
    return waits


@dataclass(frozen=True)
class Code:
    """A kernel for a device. `blocks` are those of the program, by their numbers."""

    program: Program
    blocks: tuple[tuple[tuple[Step, StepCost], ...], ...]


def code_of(ptx: str, timing: WarpTiming, *, serialized: bool = False) -> Code:
    """
    The first kernel of a PTX text. `serialized` says that the assembler waits for each product of a warpgroup, as
    its remarks C7510 to C7518 tell. Raises `PtxError`.
    """
    program = program_of(parse(ptx))
    costs = Costs(program, timing, serialized=serialized)
    return Code(program, tuple(tuple(ordered(block, costs)) for block in program.blocks))
