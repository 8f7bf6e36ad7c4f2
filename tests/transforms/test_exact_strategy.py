"""`tileas-generate-schedule{strategy=exact}`: schedules with a proof, as attributes and in `tileas schedule`."""

from __future__ import annotations

import re
import sys

import pytest
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.utils.exceptions import PassFailedException

from tests.support.ir import ROOT, parse, run_passes
from tests.transforms.test_materialize_async_pipelined import assert_same_arrays
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import how_to_install
from tileas_xdsl.machine.time.simulation import simulate
from tileas_xdsl.scheduling.modulo.validator import faults
from tileas_xdsl.tools.main import main
from tileas_xdsl.transforms.tileas.generate_schedule import SCHEDULE, GenerateSchedulePass, plan_module, scheduled_loops

GEMM = ROOT / "examples" / "gemm_loop.mlir"
PREPARE = "tileas-materialize-async,tileas-prepare-for-scheduling{compute-capability=sm_90}"


def scheduled(options: str) -> ModuleOp:
    return run_passes(
        parse(GEMM.read_text()), f"{PREPARE},tileas-generate-schedule{{compute-capability=sm_90 {options}}}"
    )


def schedule_of(module: ModuleOp) -> DictionaryAttr:
    (loop,) = scheduled_loops(module)
    found = loop.attributes[SCHEDULE]
    assert isinstance(found, DictionaryAttr)
    return found


def number(found: DictionaryAttr, name: str) -> int:
    value = found.data[name]
    assert isinstance(value, IntegerAttr)
    return value.value.data


def test_the_proof_stands_on_the_loop() -> None:
    heuristic, exact = schedule_of(scheduled("")), schedule_of(scheduled("strategy=exact"))
    assert "proof" not in heuristic.data
    proof = exact.data["proof"]
    assert isinstance(proof, StringAttr)
    assert proof.data.startswith(f"II = {number(exact, 'ii')} (proven")
    assert number(exact, "lower_bound") == number(exact, "ii") <= number(heuristic, "ii")
    assert exact.data["strategy"] == StringAttr("exact") != heuristic.data["strategy"]
    both = number(heuristic, "ii"), number(exact, "ii")
    assert exact.data["compared"] == StringAttr("heuristic {}, proven optimum {}".format(*both))


def test_slots_of_the_published_model_have_their_numbers() -> None:
    (loop,) = scheduled_loops(
        run_passes(
            parse(GEMM.read_text()),
            f"{PREPARE},tileas-generate-schedule{{compute-capability=published strategy=exact}}",
        )
    )
    found = loop.attributes[SCHEDULE]
    assert isinstance(found, DictionaryAttr)
    proof = found.data["proof"]
    assert isinstance(proof, StringAttr)
    assert proof.data.startswith("II = 16 (proven: slot 12 (tma): ")


def test_the_command_shows_both(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schedule", str(GEMM), "--strategy", "exact"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  exact: ")]
    assert line.startswith("  exact: heuristic ")
    assert ", proven optimum " in line


def test_a_missing_solver_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(PassFailedException, match=re.escape(how_to_install("exact"))):
        scheduled("strategy=exact")


def test_no_time_is_refused() -> None:
    with pytest.raises(PassFailedException, match="exact-limit=0; the solver needs at least 1 second"):
        scheduled("strategy=exact exact-limit=0")


def test_a_proven_schedule_is_safe_and_as_fast_as_it_says() -> None:
    """Expanded, it computes the product, is safe for every trip count, and its simulated period is at most II."""
    exact = number(schedule_of(scheduled("strategy=exact")), "ii")
    buffers = "tileas-assign-buffers{compute-capability=sm_90}"
    road = f"{PREPARE},tileas-generate-schedule{{compute-capability=sm_90 strategy=exact}},{buffers}"
    written = parse(GEMM.read_text())
    module = run_passes(written.clone(), f"{road},tileas-unspecialized-pipeline{{num-stages=4}}")
    for trips in (0, 1, 3, 4, 9):
        assert_same_arrays(written, module, trips)
    assert check(module, "gemm").verdict is Verdict.SAFE
    timed = simulate(module, "gemm", {"n": 12}, "sm_90")
    assert timed.violations == ()
    assert timed.cycles_per_iteration is not None
    assert timed.cycles_per_iteration <= exact


CHAINED = """
#smem = #nv_tileas.layout<smem>
!half = tensor<64x64xf16, #smem>
!sum = tensor<64x64xf32>
func.func @chained(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %d: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !sum
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!sum) {
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> !half
    %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> !half
    %dt = nv_tileaa.tiled_load %d[%k, %c0] : (memref<?x?xf16>, index, index) -> !half
    %p = nv_tileaa.dot %at, %bt, %zero : (!half, !half, !sum) -> !sum
    %h = nv_tileaa.fp_to_fp %p : (!sum) -> tensor<64x64xf16>
    %s = nv_tileaa.dot %h, %dt, %acc : (tensor<64x64xf16>, !half, !sum) -> !sum
    scf.yield %s : !sum
  }
  nv_tileaa.tiled_store %c[%c0, %c0], %r : (memref<?x?xf32>, !sum, index, index) -> ()
  func.return
}
"""
"""Three loads in the queue of one engine, which takes them in the order in which they are issued."""


def test_engines_serve_in_order() -> None:
    options = GenerateSchedulePass(compute_capability="sm_90", strategy="exact", exact_limit=2)
    (found,) = plan_module(run_passes(parse(CHAINED), PREPARE), options)
    result = found.schedule
    assert [len(works) for works in result.problem.queues] == [3, 2]
    assert faults(result.problem, result.ii, result.starts, result.copies) == []
    target = "compute-capability=sm_90"
    schedule = f"tileas-generate-schedule{{{target} strategy=exact exact-limit=2}}"
    rest = f"tileas-assign-buffers{{{target}}},tileas-materialize-schedule{{{target}}}"
    module = run_passes(parse(CHAINED), f"{PREPARE},{schedule},{rest}")
    timed = simulate(module, "chained", {"n": 16}, "sm_90")
    assert timed.cycles_per_iteration is not None
    assert timed.cycles_per_iteration <= result.ii == 384
