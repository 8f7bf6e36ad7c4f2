"""
Every way that `tileas-materialize-convert-layout` chooses becomes code: random pairs of layouts, with and without
copies of elements, between a load and a store, as threads. Small tiles are computed, large ones lowered.
"""

from __future__ import annotations

from functools import cache
from math import prod

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.layouts.random_layouts import Pair, pair
from tests.support.corpora import corpus, sample
from tests.support.ir import parse, run_passes
from tests.support.thread_kernels import TO_THREADS, passes
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr
from tileas_xdsl.layouts.forms import LinearBases
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.layouts.moves import is_memory
from tileas_xdsl.machine.running import run

CONVERSIONS, SOME, PARTS = 3000, 90, 6
LARGEST = 512
"""Elements of the largest tile that is computed."""
ELEMENTS = {8: ("i8", np.int8), 16: ("f16", np.float16), 32: ("f32", np.float32), 64: ("f64", np.float64)}
ROAD = ("tileas-materialize-convert-layout", *TO_THREADS)
TARGETS = ("sm_80", "sm_90a")


@cache
def seeds() -> tuple[int, ...]:
    """The first pairs of registers whose elements are whole bytes."""
    found: list[int] = []
    seed = 0
    while len(found) < CONVERSIONS:
        given = pair(seed)
        if given.element_bits in ELEMENTS and not is_memory(given.source) and not is_memory(given.target):
            found.append(seed)
        seed += 1
    return tuple(found)


def between_arrays(source: LinearLayout, target: LinearLayout, bits: int) -> str:
    """y = x + x, where the tile is converted from `source` to `target` in front of the addition."""
    element, _ = ELEMENTS[bits]
    extents = "x".join(map(str, source.shape))
    first, second = (
        f"tensor<{extents}x{element}, {LayoutAttr.of('rmem', form=LinearBases.of(layout))}>"
        for layout in (source, target)
    )
    array, zeros = f"memref<{extents}x{element}>", ", ".join(["%c0"] * len(source.shape))
    types, add = ", ".join(["index"] * len(source.shape)), "addi" if element == "i8" else "addf"
    return f"""func.func @f(%x: {array}, %y: {array}) {{
      %c0 = arith.constant 0 : index
      %v = nv_tileaa.tiled_load %x[{zeros}] : ({array}, {types}) -> {first}
      %w = nv_tileas.convert_layout %v : ({first}) -> {second}
      %z = arith.{add} %w, %w : {second}
      nv_tileaa.tiled_store %y[{zeros}], %z : ({array}, {second}, {types}) -> ()
      func.return
    }}"""


def as_threads(given: Pair, target: str) -> ModuleOp:
    return run_passes(parse(between_arrays(given.source, given.target, given.element_bits)), passes(ROAD, target))


def assert_doubles(module: ModuleOp, given: Pair, seed: int) -> None:
    x = (np.arange(prod(given.source.shape)) % 61).astype(ELEMENTS[given.element_bits][1]).reshape(given.source.shape)
    found = run(module, "f", {"x": x, "y": np.zeros_like(x)}, order="random", seed=seed)
    assert found.violations == (), f"pair {seed} ({given.kind}): {found.violations[0]}"
    assert np.array_equal(found.arrays["y"], x + x), f"pair {seed} ({given.kind})"


@pytest.mark.parametrize("part", range(PARTS))
@corpus(CONVERSIONS // PARTS)
def test_every_conversion_becomes_code_that_moves_each_element(part: int) -> None:
    members = sample(seeds(), SOME)[part::PARTS]
    for number, seed in enumerate(members):
        given = pair(seed)
        module = as_threads(given, TARGETS[number % len(TARGETS)])
        if prod(given.source.shape) <= LARGEST:
            assert_doubles(module, given, seed)


# Found by this test ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [44, 47], ids=["rows of one element", "copies among the registers"])
@pytest.mark.parametrize("target", TARGETS)
def test_what_was_wrong_without_a_word(seed: int, target: str) -> None:
    """
    An access crossed the end of a row of the tile, where the array goes on with other elements. Registers that are only
    renamed were counted without the copies among them.
    """
    given = pair(seed)
    for source, result in ((given.source, given.target), (given.source, given.source), (given.target, given.target)):
        same = Pair(source, result, given.element_bits, given.kind)
        assert_doubles(as_threads(same, target), same, seed)


BY_WAY_OF_MEMORY = """
!copies = tensor<4x64xf16, #nv_tileas.layout<rmem, blocked<[1, 2], [8, 4], [1, 4], order = [1, 0]>>>
!lies = tensor<4x64xf16, #nv_tileas.layout<smem, swizzle<128>>>
!rows = tensor<4x64xf16, #nv_tileas.layout<rmem, blocked<[1, 2], [1, 32], [4, 1], order = [1, 0]>>>
!m = memref<4x64xf16>
func.func @f(%x: !m, %y: !m) {
  %c0 = arith.constant 0 : index
  %v = nv_tileaa.tiled_load %x[%c0, %c0] : (!m, index, index) -> !copies
  %s = nv_tileas.convert_layout %v : (!copies) -> !lies
  %w = nv_tileas.convert_layout %s : (!lies) -> !rows
  %z = arith.addf %w, %w : !rows
  nv_tileaa.tiled_store %y[%c0, %c0], %z : (!m, !rows, index, index) -> ()
  func.return
}"""


@pytest.mark.parametrize("target", TARGETS)
def test_of_lanes_that_hold_copies_one_stores(target: str) -> None:
    """stmatrix, which whole warps issue, would store each row twice."""
    threads = run_passes(parse(BY_WAY_OF_MEMORY), passes(ROAD, target))
    x = (np.arange(4 * 64) % 61).astype(np.float16).reshape(4, 64)
    assert np.array_equal(run(threads, "f", {"x": x, "y": np.zeros_like(x)}, order="lazy").arrays["y"], x + x)
    assert check(threads, judge_waits=False, timeout=60).verdict is Verdict.SAFE
