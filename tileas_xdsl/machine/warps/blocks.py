"""
What a block of threads takes, foretold from its PTX: alone on a multiprocessor (`turn_cycles`), or in a large launch,
beside others on its multiprocessor, while all multiprocessors load (`SimulatedBlocks`).

    time_of = SimulatedBlocks(code=code_of(ptx, timing), ..., numbers={"n": 128}, loops=("n",), turns=128)
    time_of(2)                                                    BlockTime(turn=1087, rest=3173, turns=128)

A block runs at two small trip counts, and what one turn more takes is taken on to the real one. Where two numbers say
how often loops turn, all four pairs of them are run, as loops may be nested. Registers that ptxas has spilled are moved
once a turn.

Cycles a turn of a block that is alone follow from PTX and its launch contract:

    tileas compile gemm.mlir --target sm_90a -o gemm.ptx      writes gemm.json, too
    turn_cycles(ptx, contract, H200)                          633 measured, 602 foretold

A turn is what one more trip takes: the difference of two runs by the difference of their trip counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import Any

from tileas_xdsl.dialects.array_numbers import number_in
from tileas_xdsl.machine.warps.code import Code, code_of
from tileas_xdsl.machine.warps.multiprocessor import Multiprocessor, run_together
from tileas_xdsl.scheduling.launches import BlockTime
from tileas_xdsl.targets.gpu_timing import GPUTiming
from tileas_xdsl.targets.warp_timing import WarpTiming

EXTENT = 1 << 14
"""Of arrays, in elements: large enough for every trip."""
EXTENTS: Mapping[str, Sequence[int]] = {}
"""The sizes of arrays that are given."""
BYTES = {"f16": 2, "bf16": 2, "f32": 4, "tf32": 4, "f64": 8, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "index": 8}
TRIPS = 12, 24
"""Two trip counts: longer than rings are deep, and apart by a multiple of 2, 3, 4 and 6 slots."""
TRIP_COUNT = "n"
"""The parameter that says how many trips a loop makes, as in the kernels of the tests."""


def turn_cycles(
    ptx: str,
    contract: Mapping[str, Any],
    timing: WarpTiming,
    *,
    serialized: bool = False,
    trips: tuple[int, int] = TRIPS,
    trip_count: str = TRIP_COUNT,
) -> float:
    """
    Cycles a turn of the kernel whose launch contract is `contract` (an entry of `kernels` in the file that `tileas
    compile` writes), with its arrays in the second-level cache. `serialized` says that the assembler waits for each
    product, as its remarks tell. Raises `PtxError`, and `StuckError` for warps that wait for ever.
    """
    code = code_of(ptx, timing, serialized=serialized)
    few, many = (run_cycles(code, contract, timing, {trip_count: count}, serialized=serialized) for count in trips)
    return (many - few) / (trips[1] - trips[0])


def run_cycles(
    code: Code,
    contract: Mapping[str, Any],
    timing: WarpTiming,
    numbers: Mapping[str, int],
    *,
    serialized: bool,
    blocks: int = 1,
    sizes: Mapping[str, Sequence[int]] = EXTENTS,
) -> float:
    """
    The cycles of `blocks` blocks of threads that share a multiprocessor and begin together. Numbers, and the sizes of
    arrays, are by the names in the contract; other numbers are 1, other sizes large.
    """
    boxes, values = _parameters(contract, numbers, sizes)
    first = Multiprocessor(code, boxes, values, timing, serialized)
    others = [Multiprocessor(code, boxes, values, timing, serialized, first) for _ in range(blocks - 1)]
    return run_together([first, *others])


def _parameters(
    contract: Mapping[str, Any], given: Mapping[str, int], sizes: Mapping[str, Sequence[int]]
) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
    """The boxes of tensor maps, the last extent in bytes, and the other parameters, by the names in PTX."""
    boxes: dict[str, tuple[int, ...]] = {}
    numbers: dict[str, int] = {}
    for place, parameter in enumerate(contract["parameters"]):
        symbol = f"{contract['name']}_param_{place}"
        if parameter["kind"] == "tensor map":
            *outer, inner = parameter["box"]
            boxes[symbol] = (prod(outer), inner * BYTES[parameter["type"]])
        elif "is" in parameter:
            numbers[symbol] = _open_number(parameter["is"], sizes.get(parameter["name"]))
        elif parameter["kind"] == "number":
            numbers[symbol] = given.get(parameter["name"], 1)
    return boxes, numbers


def _open_number(word: str, shape: Sequence[int] | None) -> int:
    """A number of an array that its type leaves open: `size 0`, `stride 1`, `offset`, `tiles 0 by 128`."""
    what, _, place = word.partition(" ")
    if what == "offset":
        return 0
    if what == "tiles":
        return 1 if shape is None else number_in(word, shape, ())
    if shape is not None:
        return shape[int(place)] if what == "size" else prod(shape[int(place) + 1 :])
    return EXTENT if what == "size" or place == "0" else 1


MOST_LOOPS = 2
"""Numbers whose loops are taken on to their real trip counts; others are run as they are."""


def timing_beside_others(gpu: GPUTiming, blocks: int, from_memory: float) -> WarpTiming:
    """
    A multiprocessor while as many of them load as `blocks` keep busy. The part `from_memory` of what is loaded comes
    from memory, later than from the cache.
    """
    alone, loaded = gpu.alone, gpu.loaded
    share = gpu.multiprocessors / max(min(blocks, gpu.multiprocessors), 1)
    return replace(
        loaded,
        tma_bytes=min(alone.tma_bytes, loaded.tma_bytes * share),
        tma_row=max(alone.tma_row, loaded.tma_row / share),
        global_bytes=min(alone.global_bytes, loaded.global_bytes * share),
        copy_bytes=min(alone.copy_bytes, loaded.copy_bytes * share),
        l2_far=alone.l2_far + from_memory * gpu.memory_latency,
    )


@dataclass(frozen=True, kw_only=True)
class SimulatedBlocks:
    """What a block takes, by the number of blocks on its multiprocessor."""

    code: Code
    contract: Mapping[str, Any]
    timing: WarpTiming
    serialized: bool
    """Whether ptxas waits for each product."""
    numbers: Mapping[str, int]
    """By the names in the contract."""
    sizes: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    """Of arrays, by name, where the type leaves them open."""
    loops: tuple[str, ...]
    """The numbers that say how often loops turn."""
    turns: int
    """Of the loop in which the block spends its time."""
    spilled: float = 0.0
    """Cycles a turn that spilled registers take."""

    def __call__(self, together: int) -> BlockTime:
        """Raises `StuckError` for warps that wait for ever."""
        grown = [name for name in self.loops if self.numbers.get(name, 0) > 0][:MOST_LOOPS]
        real = [self.numbers[name] for name in grown]
        ran = {
            corner: self._cycles(together, dict(zip(grown, corner, strict=True)))
            for corner in product(*map(_points, real))
        }
        whole = sum(_weight(corner, real, real) * cycles for corner, cycles in ran.items())
        rest = sum(_weight(corner, [0] * len(real), real) * cycles for corner, cycles in ran.items()) if grown else 0.0
        turn = max(whole - rest, 0.0) / max(self.turns, 1)
        return BlockTime(turn + together * self.spilled, max(rest, 0.0), max(self.turns, 1))

    def longer_than(self, other: SimulatedBlocks, together: int) -> float:
        """Cycles that a block takes longer than one of `other`, which has a program less, beside the turns of that."""
        grown = [name for name in self.loops if self.numbers.get(name, 0) > 0][:MOST_LOOPS]
        few, many = ({name: _points(self.numbers[name])[end] for name in grown} for end in (0, 1))
        at_few, at_many = (self._cycles(together, trips) - other._cycles(together, trips) for trips in (few, many))
        return max(2 * at_few - at_many, 0.0)  # there are twice as many turns in the second run

    def _cycles(self, together: int, trips: Mapping[str, int]) -> float:
        return run_cycles(
            self.code,
            self.contract,
            self.timing,
            {**self.numbers, **trips},
            serialized=self.serialized,
            blocks=together,
            sizes=self.sizes,
        )


def _points(real: int) -> tuple[int, int]:
    """Two trip counts to run instead of the real one."""
    return TRIPS if real > TRIPS[0] else (real, 2 * real)


def _weight(corner: Sequence[int], at: Sequence[int], real: Sequence[int]) -> float:
    """What a corner contributes to the line, or the plane, through all of them at a place."""
    return prod(_part(one, place, _points(number)) for one, place, number in zip(corner, at, real, strict=True))


def _part(one: int, place: int, points: tuple[int, int]) -> float:
    few, many = points
    upper = (place - few) / (many - few)
    return upper if one == many else 1 - upper
