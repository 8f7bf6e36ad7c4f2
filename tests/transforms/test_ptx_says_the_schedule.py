"""
PTX says what the schedule said: a full and an empty barrier for each stage, waits for products by their age, and
fences where the memory model wants one. The matrix product of the examples, for 1 to 6 stages, in one agent and in two.

What is expected is read from the tiles, before there are threads: how many slots the rings have, and how many products
are issued between one and the wait for it.
"""

from __future__ import annotations

import re
from functools import cache

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation

from tests.support.corpora import each
from tests.support.ir import ROOT, parse, run_passes
from tests.support.ptx import assembled, ptx_of
from tests.support.thread_kernels import DOWN, to_threads
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumerReleaseOp,
    ConsumerWaitOp,
    CreatePipelineOp,
    ProduceOneAsyncOp,
    ProducerAcquireOp,
)
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.pipelines import TileIRPass

TARGET = "sm_90a"
TILE_BYTES = 128 * 64 * 2
"""Of a slot, of A as of B."""
CASES = [(strategy, stages) for strategy in ("unspecialize", "warp-specialize") for stages in range(1, 7)]


@cache
def _tiles(strategy: str, stages: int) -> ModuleOp:
    options = f"pipeline-strategy={strategy} unspecialized-pipeline-num-stages={stages} layouts=true"
    text = (ROOT / "examples" / "gemm_loop.mlir").read_text()
    return run_passes(parse(text), f"tileir{{compute-capability={TARGET} {options}}}")


@cache
def _ptx(strategy: str, stages: int) -> str:
    threads = run_passes(_tiles(strategy, stages).clone(), to_threads(TARGET))
    return ptx_of(threads, TARGET, DOWN)


@cache
def _scheduled(strategy: str, stages: int) -> ModuleOp:
    """The loop as the scheduler leaves it, before stages are taken apart."""
    driver = TileIRPass(
        compute_capability=TARGET,
        pipeline_strategy="unspecialize" if strategy == "unspecialize" else "warp-specialize",
        unspecialized_pipeline_num_stages=stages,
        layouts=True,
    )
    module = parse((ROOT / "examples" / "gemm_loop.mlir").read_text())
    for step in driver.steps():
        step.apply(Context(), module)
        if step.name == "tileas-generate-schedule":
            break
    return module


def _when(module: ModuleOp, kind: type[Operation]) -> tuple[int, int]:
    """The stage and the order of the only op of a kind."""
    (op,) = (op for op in module.walk() if isinstance(op, kind))
    stage, order = op.attributes["stage"], op.attributes["order"]
    assert isinstance(stage, IntegerAttr)
    assert isinstance(order, IntegerAttr)
    return stage.value.data, order.value.data


def _age_in_the_loop(strategy: str, stages: int) -> int:
    """
    How many products are issued between the one of an iteration and the wait for it, where all stages are busy: one for
    each stage that the wait is later, and one fewer where the wait comes before the product in the order of a slot.
    """
    scheduled = _scheduled(strategy, stages)
    issued, waited = _when(scheduled, AsyncDotOp), _when(scheduled, AsyncWaitOp)
    return waited[0] - issued[0] - (waited[0] > issued[0] and waited[1] < issued[1])


@each("case", CASES, 4)
def test_barriers(case: tuple[str, int]) -> None:
    """Two for each slot: that it is full, and that it is empty."""
    slots = sum(op.num_stages.value.data for op in _tiles(*case).walk() if isinstance(op, CreatePipelineOp))
    inits = re.findall(r"mbarrier\.init\.shared\.b64\s+\[(\S+)\]", _ptx(*case))
    assert len(inits) == len(set(inits)) == 2 * slots
    assert slots >= 2 * min(case[1], 3)


@each("case", CASES, 4)
def test_bytes(case: tuple[str, int]) -> None:
    """Each fill of a slot announces the bytes of its tile, and starts the copies that bring them."""
    fills = [op for op in _tiles(*case).walk() if isinstance(op, ProduceOneAsyncOp)]
    ptx = _ptx(*case)
    announced = re.findall(r"mbarrier\.arrive\.expect_tx\S+ \S+ \[\S+\], (%r\d+);", ptx)
    assert len(announced) == len(fills)
    for register in announced:
        assert re.search(rf"mov\.b32\s+{register}, {TILE_BYTES};", ptx)


@each("case", CASES, 4)
def test_waits_for_products(case: tuple[str, int]) -> None:
    age = _age_in_the_loop(*case)
    counts = [int(count) for count in re.findall(r"wgmma\.wait_group\.sync\.aligned\s+(\d+)", _ptx(*case))]
    assert max(counts) == age
    assert counts[-1] == 0


def test_a_product_goes_on_while_the_one_before_is_waited_for() -> None:
    """So that the test above has something to see."""
    assert {_age_in_the_loop(*case) for case in CASES[1:4:2]} == {0, 1}


@each("case", CASES, 4)
def test_fences(case: tuple[str, int]) -> None:
    """
    One when the barriers are made; one in front of each group of products, for the registers; one between proxies,
    where threads have written what TMA stores. None for the rings: what TMA writes and wgmma reads is of one proxy.
    """
    ptx = _ptx(*case)
    assert len(re.findall(r"fence\.mbarrier_init", ptx)) == 1
    assert len(re.findall(r"wgmma\.fence", ptx)) == len(re.findall(r"wgmma\.commit_group", ptx))
    proxies = re.findall(r"fence\.proxy\S+|cp\.async\.bulk\.tensor\.2d\.(?:shared|global)", ptx)
    assert proxies.count("fence.proxy.async.shared::cta;") == 1
    assert proxies.index("fence.proxy.async.shared::cta;") > proxies.index("cp.async.bulk.tensor.2d.shared")
    assert proxies.index("fence.proxy.async.shared::cta;") < proxies.index("cp.async.bulk.tensor.2d.global")


@each("case", CASES, 4)
def test_instructions(case: tuple[str, int]) -> None:
    """
    No instruction more than the tiles ask for. A product of 128x128x64 is 2 chains of 4 `m64n128k16`, and one group.
    A box has 64 columns of f16, the 128 bytes of the swizzle: A is one box, B two. Each acquire and each wait of a
    consumer is one spin, each release one arrival, each fill one arrival with its bytes.
    """
    ptx, tiles = _ptx(*case), list(_tiles(*case).walk())

    def ops(*kinds: type[Operation]) -> int:
        return sum(isinstance(op, kinds) for op in tiles)

    def found(pattern: str) -> int:
        return len(re.findall(pattern, ptx))

    assert found(r"wgmma\.mma_async\S+m64n128k16") == found(r"wgmma\.mma_async") == 8 * ops(AsyncDotOp)
    assert found(r"wgmma\.commit_group") == ops(AsyncDotOp)
    assert found(r"cp\.async\.bulk\.tensor\.2d\.shared") * 2 == 3 * ops(ProduceOneAsyncOp)
    assert found(r"mbarrier\.try_wait\.parity") == ops(ProducerAcquireOp, ConsumerWaitOp)
    assert found(r"mbarrier\.arrive\.shared") == ops(ConsumerReleaseOp)
    assert found(r"mbarrier\.arrive\.expect_tx") == ops(ProduceOneAsyncOp)
    assert not found(r"ld\.global|st\.global|ld\.local|st\.local|ld\.shared")


@pytest.mark.parametrize("strategy", ["unspecialize", "warp-specialize"])
def test_agents_have_registers_of_their_own(strategy: str) -> None:
    ptx = _ptx(strategy, 3)
    moved = re.findall(r"setmaxnreg\.(dec|inc)\.sync\.aligned\.u32\s+(\d+)", ptx)
    if strategy == "warp-specialize":
        assembled(ptx, TARGET)
    assert moved == ([("dec", "40"), ("inc", "232")] if strategy == "warp-specialize" else [])
