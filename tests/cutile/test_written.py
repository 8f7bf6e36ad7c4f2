"""Kernels in cuTile Python as people write them: bytes, numbers, verdicts and what is compiled."""

from __future__ import annotations

import numpy as np
import pytest

import tileas_xdsl as tileas
from tests.cutile.exports import require_cutile
from tests.cutile.launches import CASES, Case
from tests.cutile.running import converted, names_of, path_of, ran, tile_ir, wrong, wrong_threads
from tests.support.ptx import require_llvmlite, require_ptxas
from tests.support.threads_and_tiles import lowered
from tileas_xdsl.backend.contract import Buffer
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.readers.tile_ir import read, write
from tileas_xdsl.tools.python.cutile import bytecode_of_kernel, exported_kernel

ORDERS = ("lazy", "random")
"""Blocks in their order, and shuffled."""
EACH = [pytest.param(case, id=case.name) for case in CASES.values()]


@pytest.fixture(autouse=True)
def _installed() -> None:
    require_cutile()


@pytest.mark.parametrize("case", EACH)
def test_bytecode_is_written_back_byte_for_byte(case: Case) -> None:
    data = bytecode_of_kernel(path_of(case))
    assert write(read(data)) == data


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("case", EACH)
def test_tile_ir_computes_what_numpy_does(case: Case, order: str) -> None:
    names = names_of(case)
    for size in case.sizes:
        launch = case.launch(size)
        assert wrong(ran(tile_ir(path_of(case, aligned=False)), launch, names, order=order), launch, names) == [], size


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("case", EACH)
def test_tiles_compute_what_numpy_does(case: Case, order: str) -> None:
    names = names_of(case)
    for size in case.sizes:
        launch = case.launch(size)
        outcome = ran(converted(path_of(case, aligned=False)), launch, names, order=order)
        assert wrong(outcome, launch, names) == [], size


@pytest.mark.parametrize("case", EACH)
def test_a_check_proves_every_trip_count(case: Case) -> None:
    report = check(converted(path_of(case)), judge_waits=False, timeout=60)
    assert report.verdict is Verdict.SAFE, str(report)
    assert report.holds_for_every_trip_count, str(report)


@pytest.mark.parametrize("name", ["gemm_transposed", "gemm_of_f4_bits", "butterflies", "linear_recurrence"])
def test_threads_are_made_whose_values_stand_in_front_of_their_uses(name: str) -> None:
    lowered(str(converted(path_of(CASES[name]))), "sm_80 warp-specialize")


RAGGED = {"vector_add": (1,), "gemm_f64": (40, 33, 17), "few_rows": (3, 100, 72), "embedding": (4, 100)}
"""Kernel -> a size whose rows are no multiples of what threads access at once elsewhere."""


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
@pytest.mark.parametrize("name", RAGGED)
def test_threads_compute_what_numpy_does(name: str, target: str) -> None:
    require_llvmlite()
    assert wrong_threads(CASES[name], RAGGED[name], target) == []


def test_a_kernel_of_many_factors_spills_none() -> None:
    require_ptxas()
    text = exported_kernel(path_of(CASES["delta_rule"])).text
    kernel = tileas.compile(text, target="sm_90a", check=False, cache=False)
    assert kernel.report.spill_bytes == 0
    assert kernel.decisions[0].startswith("@delta_rule: 8 warps compute")


def test_a_launch_refuses_rows_that_the_kernel_was_not_made_for() -> None:
    require_llvmlite()
    kernel = tileas.compile(
        exported_kernel(path_of(CASES["vector_add"])).text, target="sm_80", check=False, cache=False
    )
    assert [each.row_bytes for each in kernel.contract.parameters if isinstance(each, Buffer)] == [16, 16, 16]
    arrays = [np.zeros(18, np.float32) for _ in range(3)]
    with pytest.raises(tileas.Error, match="rows of 'X' have 72 bytes, and the kernel accesses 16 at once"):
        kernel.run(*arrays, grid=1, device="machine")
