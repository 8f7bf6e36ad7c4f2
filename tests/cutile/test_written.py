"""Kernels in cuTile Python as people write them: bytes, numbers, verdicts and what is compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cutile.exports import require_cutile
from tests.cutile.launches import CASES, Case
from tests.cutile.running import converted, names_of, path_of, ran, tile_ir, wrong
from tests.support.threads_and_tiles import lowered
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.readers.tile_ir import read, write
from tileas_xdsl.tools.main import main
from tileas_xdsl.tools.python.cutile import bytecode_of_kernel

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


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
def test_a_product_of_f64_is_refused_by_name(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "f.ptx")
    assert main(["compile", path_of(CASES["gemm_f64"]), "--target", target, "--no-check", "-o", out]) != 0
    told = capsys.readouterr().err
    assert "'nv_tileaa.dot' op multiplies numbers of f64, which is not compiled yet" in told
    assert "products.py:" in told
