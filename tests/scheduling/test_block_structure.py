"""What is chosen for a kernel of which nobody says how many warps compute: more warps where sums need them."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tileas_xdsl as tileas
from tests.scheduling.test_loaded_rings import MANY_TILES, ONE_TILE
from tests.support.ir import ROOT, parse
from tests.support.ptx import require_llvmlite
from tileas_xdsl.scheduling.block_structure import Structure, structure_of
from tileas_xdsl.tools.compile import Options

PROGRAMS = ROOT / "bench" / "gpu" / "programs"
WIDE, NARROW, LONG = (
    (PROGRAMS / f"attention_{it}.mlir").read_text() for it in ("128_128_128", "64_128_64", "64_128_128")
)
SMALL = (ROOT / "examples" / "gemm_loop.mlir").read_text()
ATTENTION = (ROOT / "tests" / "kernels" / "attention_128.mlir").read_text()
BOTH = ("gemm", Structure(num_warps=8, persistent=True))
TALL = ONE_TILE.replace("128x256", "256x128").replace("128x64", "256x64").replace("64x256", "64x128")
F32_OUT = SMALL.replace("64x128", "64x256").replace("128x128", "128x256")
ELSEWHERE = ONE_TILE.replace("%c[%row, %col]", "%c[%c1, %col]")
CASES = {
    "128x256": (ONE_TILE, "sm_90a", BOTH),
    "256x128": (TALL, "sm_90a", BOTH),
    "bf16": (ONE_TILE.replace("f16", "bf16"), "sm_90a", BOTH),
    "a result too wide to stay": (F32_OUT, "sm_90a", ("gemm", Structure(num_warps=8, persistent=False))),
    "a grid that is not known": (ELSEWHERE, "sm_90a", ("gemm", Structure(num_warps=8, persistent=False))),
    "sums of two blocks that fit": (SMALL, "sm_90a", ("gemm", Structure(num_warps=4, persistent=False, blocks=2))),
    "sums that are little work": (SMALL.replace("128", "64"), "sm_90a", None),
    "two blocks that have no room": (SMALL.replace("128x64", "128x128").replace("64x128", "128x128"), "sm_90a", None),
    "sums that fit nowhere": (ONE_TILE.replace("128x", "256x"), "sm_90a", None),
    "rows of one warpgroup": (ONE_TILE.replace("128x", "64x"), "sm_90a", None),
    "a loop of its own over tiles": (MANY_TILES, "sm_90a", None),
    "two products": (WIDE, "sm_90a", ("attention", Structure(num_warps=8, persistent=True))),
    "two products in few registers": (NARROW, "sm_90a", ("attention", Structure(4, persistent=False, blocks=2))),
    "two products, and two blocks have no room": (LONG, "sm_90a", None),
    "two products of small tiles": (ATTENTION, "sm_90a", None),
    "no warpgroups": (ONE_TILE, "sm_80", None),
    "another chip": (ONE_TILE, "sm_100a", None),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_chosen(case: str) -> None:
    text, target, expected = CASES[case]
    assert structure_of(parse(text), target) == expected


def test_who_asks_for_something_gets_it() -> None:
    module = parse(ONE_TILE)
    free = Options(target="sm_90a")
    assert free.for_module(module)[0] == Options(target="sm_90a", num_warps=8, persistent=True, blocks=1)
    for asked in (
        {"num_warps": 8},
        {"num_warps": 4},
        {"blocks": 1},
        {"blocks": 2},
        {"strategy": "unspecialize"},
        {"sub_tiles": 2},
    ):
        options = Options(target="sm_90a", **asked)  # pyright: ignore[reportArgumentType]
        assert options.for_module(module) == (options, [])


def test_what_nobody_asks_for_is_chosen_beside_what_somebody_asks_for() -> None:
    """Groups of programs, and blocks that stay or do not, fit all structures but two blocks that stay."""
    module = parse(ONE_TILE)
    grouped = Options(target="sm_90a", group_programs=8)
    assert grouped.for_module(module)[0] == replace(grouped, num_warps=8, persistent=True, blocks=1)
    short = Options(target="sm_90a", persistent=False)
    found, (line,) = short.for_module(module)
    assert found == replace(short, num_warps=8, blocks=1)
    assert line == "@gemm: 8 warps compute, since its sums are too many for 4"
    stays = Options(target="sm_90a", persistent=True)
    assert stays.for_module(module)[0] == replace(stays, num_warps=8, blocks=1)
    assert stays.for_module(parse(NARROW)) == (stays, [])


def test_a_kernel_of_large_tiles_keeps_its_sums_in_registers() -> None:
    require_llvmlite()
    kernel = tileas.compile(ONE_TILE, target="sm_90a", check=False, cache=False)
    assert (
        kernel.decisions[0]
        == "@gemm: 8 warps compute, since its sums are too many for 4, and each block computes many programs"
    )
    assert kernel.contract.block == (384, 1, 1)
    assert kernel.contract.persistent_blocks == 1
    assert kernel.report.spill_bytes in (0, None)
