"""
A GEMM of sm_90a at the level of `nvvm` (`tests/support/warpgroup_gemm.py`): its numbers, what a check says of it and of
what is left out, and its machine code.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tests.support.corpora import each
from tests.support.ir import parse, print_generic, run_passes
from tests.support.llvm_ir import assert_prints_as_mlir_translates
from tests.support.mlir import mlir_opt
from tests.support.ptx import assembled, ptx_of
from tests.support.warpgroup_gemm import TILE, warpgroup_gemm
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.dialects.nvvm import barrier, bulk, fence, mbarrier, wgmma
from tileas_xdsl.machine.running import run
from tileas_xdsl.tools import main as command

DOWN = "convert-to-llvm{threads=160},convert-nvvm-to-llvm"


@cache
def _kernel(stages: int, *, blocks: bool = False) -> ModuleOp:
    module = parse(warpgroup_gemm(stages, blocks=blocks))
    module.verify()
    return module


# Numbers --------------------------------------------------------------------------------------------------------------


def assert_computes(
    stages: int, extents: tuple[int, int, int], order: str = "random", block: tuple[int, int] | None = None
) -> None:
    """C = A * B, exactly: the numbers are small integers. `block` is the tile that is computed, else there is one."""
    m, n, k = extents
    rng = np.random.default_rng(k)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((m, max(k, 8)), (max(k, 8), n)))
    before = np.full((m, n), -1, np.float32)
    given = {"a": a, "b": b, "c": before, "tiles": -(-k // TILE)}
    if block is not None:
        given |= {"ctaid.y": block[0], "ctaid.x": block[1]}
    outcome = run(_kernel(stages, blocks=block is not None), "gemm", given, order=order, seed=k)
    assert not outcome.violations
    rows, columns = (slice(TILE * place, TILE * place + TILE) for place in block or (0, 0))
    expected = before.copy()
    expected[rows, columns] = a[rows, :k].astype(np.float32) @ b[:k, columns].astype(np.float32)
    assert np.array_equal(outcome.arrays["c"], expected)


@pytest.mark.parametrize("tiles", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_numbers(stages: int, tiles: int) -> None:
    """No turn at all, fewer than stages, as many, more."""
    assert_computes(stages, (TILE, TILE, TILE * tiles))


@pytest.mark.parametrize("order", ["eager", "lazy", "random"])
@pytest.mark.parametrize("extents", [(40, 56, 104), (64, 24, 72), (1, 8, 8), (63, 64, 192)])
def test_numbers_of_tiles_that_stick_out(extents: tuple[int, int, int], order: str) -> None:
    assert_computes(2, extents, order)


@pytest.mark.parametrize("block", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_numbers_of_a_grid(block: tuple[int, int]) -> None:
    assert_computes(2, (100, 88, 136), block=block)


def test_the_command_runs_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tensor maps take arrays of the types that they map."""
    kernel, result = tmp_path / "gemm.mlir", tmp_path / "c.npy"
    kernel.write_text(warpgroup_gemm(2))
    ones = ["--arg", "a=64x128:1", "--arg", "b=128x64:1", "--arg", "c=64x64:zeros", "--arg", "tiles=2"]
    assert command.main(["run", str(kernel), *ones, "--out", f"c={result}"]) == 0, capsys.readouterr().err
    assert (np.load(result) == 128).all()


# Verdicts -------------------------------------------------------------------------------------------------------------


def test_it_is_safe_for_every_trip_count() -> None:
    report = check(_kernel(2), timeout=None)
    assert report.verdict_line == "safe for every trip count", str(report)


SYNCHRONISING = (
    *(mbarrier.MBarrierInitOp, mbarrier.MBarrierArriveExpectTxOp, mbarrier.MBarrierArriveOp),
    *(mbarrier.MBarrierTryWaitParityOp, barrier.Barrier0Op, barrier.BarrierOp),
    *(fence.FenceMbarrierInitOp, fence.FenceProxyOp, bulk.CpAsyncBulkCommitGroupOp, bulk.CpAsyncBulkWaitGroupOp),
    *(wgmma.WgmmaFenceAlignedOp, wgmma.WgmmaGroupSyncAlignedOp, wgmma.WgmmaWaitGroupSyncOp),
)
"""What can be left out or altered."""
NUMBERS = {mbarrier.MBarrierInitOp: "count", mbarrier.MBarrierArriveExpectTxOp: "bytes"}


def _sites(module: ModuleOp) -> list[Operation]:
    return [op for op in module.walk() if isinstance(op, SYNCHRONISING)]


def _mutants() -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for number, op in enumerate(_sites(_kernel(2))):
        found.append((number, "drop"))
        if type(op) in NUMBERS:
            found.append((number, NUMBERS[type(op)]))
        elif isinstance(op, mbarrier.MBarrierTryWaitParityOp):
            found.append((number, "parity"))
        elif isinstance(op, wgmma.WgmmaWaitGroupSyncOp):
            found.append((number, "one more"))
    return found


def _altered(number: int, change: str) -> ModuleOp:
    module = _kernel(2).clone()
    op = _sites(module)[number]
    if change == "drop":
        Rewriter.erase_op(op)
    elif isinstance(op, wgmma.WgmmaWaitGroupSyncOp):
        Rewriter.replace_op(op, wgmma.WgmmaWaitGroupSyncOp(1))
    else:
        block = op.parent_block()
        assert block is not None
        other = arith.ConstantOp(IntegerAttr(16 if change == "bytes" else 1, i32))
        changed = (arith.XOrIOp if change == "parity" else arith.AddiOp)(op.operands[1], other.result)
        block.insert_ops_before([other, changed], op)
        op.operands[1] = changed.results[0]
    return module


@each("mutant", _mutants(), 8, ids=lambda mutant: f"{mutant[0]}-{mutant[1]}")
def test_what_is_left_out_is_found(mutant: tuple[int, str]) -> None:
    report = check(_altered(*mutant), trip_counts=[0, 1, 2, 3, 5], timeout=None)
    assert report.verdict_line.startswith("unsafe"), f"{mutant}: {report.verdict_line}"


# Machine code ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stages", [1, 2, 4])
def test_it_assembles_without_spills(stages: int) -> None:
    ptx = ptx_of(_kernel(stages, blocks=True).clone(), "sm_90a", DOWN)
    assert 0 < assembled(ptx, "sm_90a").registers <= 128
    assert ptx.count("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16") == 4
    assert ".local" not in ptx, "tensor maps stay parameters"
    assert ptx.count("mbarrier.init") == 2 * stages


@pytest.mark.parametrize("stages", [1, 3])
def test_our_llvm_ir_is_that_of_mlir(stages: int) -> None:
    lowered = run_passes(_kernel(stages).clone(), DOWN)
    verify_dominance(lowered)
    assert_prints_as_mlir_translates(lowered, "default<O1>")


def test_mlir_reads_it() -> None:
    """Every op is one that MLIR knows: it comes back in its custom form, unquoted."""
    text = mlir_opt(print_generic(_kernel(2)))
    assert not re.findall(r'^\s*(?:%.* = )?"', text, re.MULTILINE)
