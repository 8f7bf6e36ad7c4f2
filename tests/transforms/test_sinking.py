"""Loads of fragments that come down to their products: the same numbers, no race, and fewer registers at once."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import ROOT, parse, run_passes
from tests.support.ptx import ptx_of, require_ptxas
from tests.support.thread_kernels import BY_NAME, DOWN, assert_computes, driver_of, threads_of, tiles_of, to_threads
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.backend.ptxas import assemble
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.dialects.nvvm.mbarrier import MBarrierArriveOp
from tileas_xdsl.dialects.nvvm.warp_matrix import LdMatrixOp, MmaSyncOp
from tileas_xdsl.transforms.to_llvm.tiles import sinking

KERNEL = "gemm_64x64x16"
STRATEGIES = ("unspecialize", "warp-specialize")


@pytest.fixture
def no_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that has too few registers for anything."""
    monkeypatch.setattr(sinking, "MOST_REGISTERS", 0)


def _threads(strategy: str) -> ModuleOp:
    module = run_passes(tiles_of(KERNEL, strategy).clone(), to_threads())
    module.verify()
    verify_dominance(module)
    return module


def _most_waiting(module: ModuleOp) -> int:
    """The most loads that wait for the first product that uses them, at any place."""
    most = 0
    for op in module.walk():
        block = op.parent_block()
        if not isinstance(op, LdMatrixOp) or block is None:
            continue
        between = 0
        user = op
        while user is not None and not isinstance(user, MmaSyncOp):
            between += isinstance(user, LdMatrixOp)
            user = user.next_op
        most = max(most, between)
    return most


@pytest.mark.usefixtures("no_registers")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_numbers_and_verdicts(strategy: str) -> None:
    module = _threads(strategy)
    for trips in (0, 1, 2, 5):
        assert_computes(module, BY_NAME[KERNEL], trips, "random")
    assert check(module, trip_counts=[0, 1, 2, 5], timeout=None).verdict_line.startswith("safe")


def test_a_slot_is_given_back_behind_the_products(monkeypatch: pytest.MonkeyPatch) -> None:
    as_it_was = _threads("warp-specialize")
    monkeypatch.setattr(sinking, "MOST_REGISTERS", 0)
    module = _threads("warp-specialize")
    arrivals = [op for op in module.walk() if isinstance(op, MBarrierArriveOp)]
    behind = [op for op in arrivals if any(isinstance(user, MmaSyncOp) for user in _before(op))]
    assert behind
    assert _most_waiting(module) < _most_waiting(as_it_was)


def _before(op: MBarrierArriveOp) -> list[object]:
    block = op.parent_block()
    assert block is not None
    ops = list(block.ops)
    return list(ops[: ops.index(op)])


def test_where_there_are_registers_the_slot_is_given_back_first() -> None:
    arrivals = [op for op in threads_of(KERNEL, "warp-specialize").walk() if isinstance(op, MBarrierArriveOp)]
    assert not any(isinstance(user, MmaSyncOp) for op in arrivals for user in _before(op))


def test_a_tile_of_128_by_128_spills_little() -> None:
    """132 bytes, outside of the loop's products; with all fragments of a slot in registers it is 908."""
    tiles = run_passes(parse((ROOT / "examples/gemm_loop.mlir").read_text()), driver_of("sm_80", "warp-specialize"))
    threads = run_passes(tiles, to_threads())
    (report,) = assemble(ptx_of(threads, "sm_80", DOWN), "sm_80", require_ptxas()).kernels
    assert report.spills <= 200
