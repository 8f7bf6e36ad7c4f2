"""The unspecialised pipeline by meaning: equal numbers, safe, the same turns, at every trip count that matters."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ir import parse, print_custom, run_passes
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.machine.checking import check
from tileas_xdsl.machine.report import Verdict
from tileas_xdsl.machine.running import Outcome, run
from tileas_xdsl.pipelines import TileIRPass
from tileas_xdsl.transforms.unspecialized_pipeline import UnspecializedPipelinePass

PASS = "tileas-unspecialized-pipeline"
ORDERS = [("eager", 0), ("lazy", 0), *(("random", seed) for seed in range(4))]


def tags(stage: int) -> str:
    return f"stage = {stage} : i32, iter_offset = {-stage} : i32"


def summing(stages: int, depth: int | None, *, bounds: str = "%c0 to %n step %c1") -> str:
    """Sums what an implicit pipeline brings; the consumer is `stages - 1` iterations behind the producer."""
    last = tags(stages - 1)
    slots = "" if depth is None else f"num_stages = {depth} : i32, "
    return f"""
func.func @f(%n: index, %out: memref<32xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %i = {bounds} iter_args(%acc = %zero) -> (f32) {{
    %p, %t = nv_tileas.async.pipeline.produce_one_async %i attributes {{{slots}producer_types = [f32], {tags(0)}}}
      : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
    %v, %held = nv_tileas.async.pipeline.consume_one %t attributes {{{last}}}
      : (!nv_tileas.token) -> (f32, !nv_tileas.token)
    %next = arith.addf %acc, %v : f32
    memref.store %next, %out[%i] : memref<32xf32>
    nv_tileas.async.pipeline.consumer_release %held : (!nv_tileas.token) -> ()
    scf.yield %next : f32
  }}
  func.return
}}"""


def turns(outcome: Outcome, side: str) -> list[tuple[int, int, int]]:
    """The (stage, slot, phase) that one side took, in order."""
    return [turn for ring in outcome.machine.shared.get("rings", []) for who, *turn in ring.log if who == side]


def assert_same(before: str, after: str, trips: int) -> None:
    arguments = {"n": trips, "out": np.zeros(32, np.float32)}
    for order, seed in ORDERS:
        old, new = (run(parse(text), "f", arguments, order=order, seed=seed) for text in (before, after))
        assert (old.arrays["out"] == new.arrays["out"]).all(), (trips, order, seed)
        assert new.violations == ()
        for side in ("producer", "consumer"):
            assert turns(old, side) == turns(new, side), (trips, order, side)


@pytest.mark.parametrize("stages", [2, 3, 4, 6])
@pytest.mark.parametrize("bounds", ["%c0 to %n step %c1", "%c1 to %n step %c1", "%c1 to %n step %c3"])
def test_meaning_is_kept(stages: int, bounds: str) -> None:
    before = summing(stages, None, bounds=bounds)
    after = print_custom(run_passes(parse(before), f"{PASS}{{num-stages={stages}}}"))
    assert "scf.if" in after
    assert "pass_status" not in after
    for trips in sorted({0, 1, stages - 1, stages, stages + 1, 11}):
        assert_same(before, after, trips)
    report = check(parse(after))
    assert report.verdict is Verdict.SAFE, str(report)


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_ring_holds_what_is_in_flight(stages: int) -> None:
    """The consumer comes first in the kernel, so `stages - 1` slots are enough, and fewer are not."""
    for depth in range(1, stages + 2):
        before = summing(stages, depth)
        with recorded_diagnostics() as remarks:
            after = print_custom(run_passes(parse(before), f"{PASS}{{num-stages={stages}}}"))
        enough = depth >= stages - 1
        assert [remark.message for remark in remarks] == ([] if enough else ["Failed to pipeline loop"])
        assert ("pass_status" in after) is not enough
        assert check(parse(after)).verdict is Verdict.SAFE
        for trips in (0, 1, stages, 7):
            assert_same(before, after, trips)


@pytest.mark.parametrize("trips", range(9))
def test_constant_bounds(trips: int) -> None:
    """From S - 1 iterations on the loop is expanded without a guard."""
    before = summing(3, None).replace("%zero =", f"%k = arith.constant {trips} : index\n  %zero =")
    before = before.replace("to %n step", "to %k step")
    with recorded_diagnostics() as remarks:
        after = print_custom(run_passes(parse(before), f"{PASS}{{num-stages=3}}"))
    assert "scf.if" not in after
    assert len(remarks) == (trips < 2)
    assert_same(before, after, trips)


@pytest.mark.parametrize(("iterations", "stages", "trips", "pieces"), [(8, 3, 6, 2), (8, 2, 7, 1)])
def test_worked_numbers(iterations: int, stages: int, trips: int, pieces: int) -> None:
    """spec/tileas-passes.md section 22, D11."""
    before = summing(stages, None).replace("%zero =", f"%k = arith.constant {iterations} : index\n  %zero =")
    before = before.replace("to %n step", "to %k step")
    after = print_custom(run_passes(parse(before), f"{PASS}{{num-stages={stages}}}"))
    prologue, _, rest = after.partition("scf.for")
    kernel, _, epilogue = rest.partition("    }\n")
    assert f"to %c{trips} step %c1" in kernel
    assert [part.count("produce_one_async") for part in (prologue, kernel, epilogue)] == [pieces, 1, 0]
    assert [part.count("consume_one") for part in (prologue, kernel, epilogue)] == [0, 1, pieces]


@pytest.mark.parametrize("iterations", [0, 1, 2, 5])
def test_nested_loop_is_expanded_inside_the_outer_one(iterations: int) -> None:
    inner = summing(2, 2)
    start, end = inner.index("  %sum = scf.for"), inner.index("  func.return")
    nest = inner[:start] + "  scf.for %j = %c0 to %c3 step %c1 {\n" + inner[start:end] + "  }\n" + inner[end:]
    after = print_custom(run_passes(parse(nest), PASS))
    assert after.count("scf.for") == 2
    assert_same(nest, after, iterations)
    assert check(parse(after)).verdict is Verdict.SAFE


def test_second_run_changes_nothing() -> None:
    once = print_custom(run_passes(parse(summing(3, 4)), f"{PASS}{{num-stages=3}}"))
    assert print_custom(run_passes(parse(once), f"{PASS}{{num-stages=3}}")) == once


@pytest.mark.parametrize("stages", [0, 1])
def test_one_stage_is_an_early_exit(stages: int) -> None:
    """Not even the status of an earlier run is touched."""
    stale = 'attributes {nv_tileas.pass_status = {"tileas-unspecialized-pipeline" = 4 : i32}} {'
    text = summing(2, None).replace(") {", f") {stale}", 1)
    before = print_custom(parse(text))
    assert print_custom(run_passes(parse(text), f"{PASS}{{num-stages={stages}}}")) == before


def test_status_of_an_earlier_run_is_cleared() -> None:
    stale = 'attributes {nv_tileas.pass_status = {"tileas-unspecialized-pipeline" = 4 : i32}} {'
    text = summing(2, None).replace(") {", f") {stale}", 1)
    assert "pass_status" not in print_custom(run_passes(parse(text), PASS))


def test_defaults() -> None:
    """The pass takes 2 stages by default, the driver 4 (20 #17)."""
    assert UnspecializedPipelinePass().num_stages == 2
    assert TileIRPass().unspecialized_pipeline_num_stages == 4
