"""Products of other numbers of warps than four, in one agent and in several: the numbers are those of the tiles."""

from __future__ import annotations

from math import prod

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Operation

from tests.support.ir import ROOT
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
from tileas_xdsl.dialects.nvvm.mbarrier import MBarrierInitOp
from tileas_xdsl.dialects.nvvm.wgmma import WgmmaMmaAsyncOp
from tileas_xdsl.interfaces import functions_in

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


def block_of(function: Operation) -> int:
    """The threads of a block."""
    shape = block_shape_of(function)
    assert shape is not None
    return prod(shape)
