"""
Cycles a turn of one block of threads, alone on a multiprocessor, foretold from PTX and its launch contract.

    tileas compile gemm.mlir --target sm_90a -o gemm.ptx      writes gemm.json, too
    turn_cycles(ptx, contract, H200)                          633 measured, 602 foretold

A turn is what one more trip takes: the difference of two runs by the difference of their trip counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from tileas_xdsl.dialects.array_numbers import number_in
from tileas_xdsl.machine.warps.code import Code, code_of
from tileas_xdsl.machine.warps.multiprocessor import Multiprocessor, run_together
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
