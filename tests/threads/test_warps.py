"""Other numbers of warps than four, in one agent and in several: numbers of tiles, and registers that do not do."""

from __future__ import annotations

from math import prod

import pytest
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Operation

from tests.support.ir import ROOT, parse, run_passes
from tests.support.threads_and_tiles import (
    AGENTS,
    BEFORE_TMA,
    ONE_AGENT,
    RIGHT,
    compared,
    lowered,
    text_of,
)
from tileas_xdsl.analysis.thread_blocks import block_shape_of
from tileas_xdsl.analysis.threads.held import held_in
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nvvm.mbarrier import MBarrierInitOp
from tileas_xdsl.dialects.nvvm.wgmma import WgmmaMmaAsyncOp
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.layouts.defaults import Instructions, of_product
from tileas_xdsl.targets.warps import FRAGMENT_REGISTERS

PRODUCT = (ROOT / "tests" / "kernels" / "gemm_128x64x16.mlir").read_text()
"""Its 128 rows are those of two warpgroups."""


@pytest.mark.parametrize("variant", [AGENTS, ONE_AGENT, BEFORE_TMA])
@pytest.mark.parametrize("warps", [1, 2, 8, 16])
def test_warps_share_a_product(variant: str, warps: int) -> None:
    """Of eight warps wgmma would want 128 rows, and there are 64: they multiply by `mma.sync`."""
    text = text_of("loaded_product")
    assert compared(text, lowered(text, variant, warps), (2,), 64) == RIGHT


def test_two_warpgroups_of_an_agent_share_a_product() -> None:
    """Each multiplies 64 rows by wgmma, and both together give a slot back."""
    threads = lowered(PRODUCT, AGENTS, 8)
    assert compared(PRODUCT, threads, (0, 1, 2, 3, 7)) == RIGHT
    (function,) = functions_in(threads)
    assert block_of(function) == 128 + 256
    assert sum(isinstance(op, WgmmaMmaAsyncOp) for op in function.walk()) == 1


def test_all_threads_of_both_warpgroups_are_waited_for() -> None:
    """A slot that one warpgroup gives back is still read by the other one: more turns than slots show it."""
    threads = lowered(PRODUCT, AGENTS, 8)
    makers = [op for op in threads.walk() if isinstance(op, MBarrierInitOp)]
    counts = [op.count.owner for op in makers if isinstance(op.count.owner, arith.ConstantOp)]
    of_both = [count for count in counts if count.value == IntegerAttr(256, i32)]
    assert of_both, "the constant of the barriers"
    for count in of_both:
        count.properties["value"] = IntegerAttr(128, i32)
    assert compared(PRODUCT, threads, (5, 7)) != RIGHT


WIDE = PRODUCT.replace("128x64xf32", "64x128xf32").replace("128x16", "64x16").replace("16x64", "16x128")
"""64 rows for one warpgroup, and columns for two."""


@pytest.mark.parametrize("variant", [AGENTS, ONE_AGENT])
def test_warpgroups_share_the_columns_where_rows_are_few(variant: str) -> None:
    threads = lowered(WIDE, variant, 8)
    (product,) = {op.shape.n.data for op in threads.walk() if isinstance(op, WgmmaMmaAsyncOp)}
    assert product == 64
    assert compared(WIDE, threads, (0, 1, 3)) == RIGHT


def test_four_warpgroups_share_rows_and_columns() -> None:
    text = WIDE.replace("64x128xf32", "128x128xf32").replace("64x16", "128x16")
    threads = lowered(text, AGENTS, 16)
    assert any(isinstance(op, WgmmaMmaAsyncOp) for op in threads.walk())
    assert compared(text, threads, (3,)) == RIGHT


@pytest.mark.parametrize("columns", [8, 32, 64])
def test_columns_that_begin_no_pattern_are_not_shared(columns: int) -> None:
    forms = of_product(64, columns, 16, 16, 8, Instructions.WGMMA)
    assert forms is not None
    assert not forms.acc.shape.is_wgmma


# Registers ------------------------------------------------------------------------------------------------------------

FITTING = [("128x64", "16", 1, 2), ("128x256", "16", 1, 8), ("128x256", "16", 4, 8)]
"""A tile of sums, K, a number of warps that does not hold it, and the one that does."""


@pytest.mark.parametrize(("tile", "k", "warps", "enough"), FITTING)
@pytest.mark.parametrize("variant", [AGENTS, ONE_AGENT, BEFORE_TMA])
def test_a_tile_that_threads_cannot_hold_is_refused_with_the_warps_that_can(
    tile: str, k: str, warps: int, enough: int, variant: str
) -> None:
    m, n = tile.split("x")
    text = PRODUCT.replace("128x64xf32", f"{tile}xf32").replace("128x16", f"{m}x{k}").replace("16x64", f"{k}x{n}")
    with pytest.raises(RefusedError, match=f"num-warps={enough},") as refusal:
        lowered(text, variant, warps)
    assert isinstance(refusal.value.diagnostics[0].op, scf.ForOp | AsyncDotOp)


def test_what_loops_hand_on_and_products_add_to_is_held_at_once() -> None:
    """
    Of attention in one warp: 64x16 sums of two products, two rows of which each thread has eight numbers, and beside
    either sum the factors of `mma.sync`.
    """
    text = (ROOT / "tests" / "kernels" / "attention_64.mlir").read_text()
    module = run_passes(parse(text), "tileir{compute-capability=sm_80 num-warps=1 layouts=true}")
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    held = [each.registers for each in held_in(module) if each.op is loop or each.op.parent_op() is loop]
    assert held == [48, 80 + FRAGMENT_REGISTERS, 48 + FRAGMENT_REGISTERS]


def block_of(function: Operation) -> int:
    """The threads of a block."""
    shape = block_shape_of(function)
    assert shape is not None
    return prod(shape)
