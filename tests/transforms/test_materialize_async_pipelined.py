"""
What becomes of a materialised loop: pipelined, it has the copies of all stages but one in flight; every later pass and
mlir-opt read it.
"""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import ROOT, parse, print_generic, run_passes
from tests.support.materialize_async import (
    ARRAYS,
    LOAD_A,
    ORDERS,
    PASS,
    TRIPS,
    assert_kept,
    gemm,
    loops_of,
    materialized,
    program,
    tagged,
)
from tests.support.mlir import mlir_opt
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.machine.running import Outcome, run

# In flight ------------------------------------------------------------------------------------------------------------


def copies_in_flight(outcome: Outcome) -> list[int]:
    """The works that are issued and not complete when each wait for a stage begins, in the order of the waits."""
    under_way: set[object] = set()
    most = 0
    found: list[int] = []
    for step in outcome.trace.happenings:
        if step.kind == "issue":
            under_way.add(step.on)
            most = len(under_way)
        elif step.kind == "complete":
            under_way.discard(step.on)
        elif step.kind == "wait" and isinstance(step.op, AsyncWaitOp) and "pipeline_stage" in step.op.attributes:
            found.append(most)
            most = len(under_way)
    return found


@pytest.mark.parametrize("stages", [2, 3, 4, 6])
def test_copies_in_flight_are_one_less_than_the_stages(stages: int) -> None:
    """
    The wait stands before the consumers and in their stage. Anywhere earlier it would serialise the copies.
    """
    text = (ROOT / "examples" / "gemm_loop.mlir").read_text()
    before, after = parse(text), materialized(text)
    tagged(after, stages)
    with recorded_diagnostics() as said:
        run_passes(after, f"tileas-unspecialized-pipeline{{num-stages={stages}}}")
    assert said == []
    for trips in (0, 1, 2, 3, 7):
        assert_same_arrays(before, after, trips)
    report = check(after, "gemm")
    assert report.verdict is Verdict.SAFE
    trips = 10
    in_flight = copies_in_flight(run(after, "gemm", gemm(trips), order="lazy"))
    steady = in_flight[: trips - stages + 1]
    assert steady == [2 * (stages - 1)] * (trips - stages + 1), "two tiles for each iteration in flight"


def assert_same_arrays(before: ModuleOp, after: ModuleOp, trips: int) -> None:
    for order, seed in ORDERS:
        first, second = (run(module, "gemm", gemm(trips), order=order, seed=seed) for module in (before, after))
        assert second.violations == ()
        assert (first.arrays["c"] == second.arrays["c"]).all()


def test_whole_road_of_the_gemm_loop() -> None:
    """Through the region optimiser too, and mlir-opt reads what comes out."""
    text = (ROOT / "examples" / "gemm_loop.mlir").read_text()
    spec = f"{PASS},tileas-unspecialized-pipeline{{num-stages=2}},tileas-optimize-pipeline-region"
    after = materialized(text, spec)
    for trips in (0, 1, 3):
        assert_same_arrays(parse(text), after, trips)
    mlir_opt(print_generic(after), "--allow-unregistered-dialect")


@pytest.mark.parametrize("name", ["gemm_queue", "attention_queue", "gemm_loop"])
def test_output_is_read_by_mlir_opt(name: str) -> None:
    after = materialized((ROOT / "examples" / f"{name}.mlir").read_text())
    mlir_opt(print_generic(after), "--allow-unregistered-dialect")


NEST = program("""    %w = nv_tileaa.tiled_load %b[%i, %c0] : (memref<64x4xf32>, index, index) -> !shared
    %next = scf.for %j = %c0 to %i step %c1 iter_args(%inner = %acc) -> (!tile) {
      %x = nv_tileaa.tiled_load %a[%c0, %j] : (memref<4x64xf32>, index, index) -> !shared
      %r = nv_tileaa.dot %x, %w, %inner : (!shared, !shared, !tile) -> !tile
      scf.yield %r : !tile
    }""")


def test_nested_loops_are_pipelined_from_the_inside() -> None:
    """The inner loop first, while it is still one; then the outer one with all that became of it."""
    before, after = parse(NEST), materialized(NEST)
    with recorded_diagnostics() as said:
        run_passes(after, "tileas-unspecialized-pipeline{num-stages=2}")
    assert said == []
    kernels = [loop for loop in loops_of(after) if any("stage" in op.attributes for op in loop.body.block.ops)]
    assert len(kernels) == len(loops_of(after)) >= 2
    for n in TRIPS:
        assert_kept(before, after, {"n": n, **ARRAYS})
    assert check(after, "f", trip_counts=TRIPS).verdict is Verdict.SAFE


STORING = program(f"""{LOAD_A}
    %sum_so_far = nv_tileaa.dot %x, %x, %acc : (!shared, !shared, !tile) -> !tile
    nv_tileaa.tiled_store %out[%c0, %c0], %acc : (memref<4x4xf32>, !tile, index, index) -> ()
    %next = arith.addf %sum_so_far, %acc : !tile""")


def test_store_elsewhere_does_not_keep_a_loop_from_being_pipelined() -> None:
    """The slot that the product reads is no memory that the store could write."""
    before, after = parse(STORING), materialized(STORING)
    with recorded_diagnostics() as said:
        run_passes(after, "tileas-unspecialized-pipeline{num-stages=2}")
    assert said == []
    for n in TRIPS:
        assert_kept(before, after, {"n": n, **ARRAYS})
