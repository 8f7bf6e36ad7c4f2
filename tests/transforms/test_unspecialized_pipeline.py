"""The unspecialised pipeline by meaning: equal numbers, safe, the same turns, at every trip count that matters."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ir import parse, print_custom, run_passes
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.machine.parts.rings import Rings
from tileas_xdsl.machine.running import Outcome, run
from tileas_xdsl.pipelines import TileIRPass
from tileas_xdsl.transforms.tileas.unspecialized_pipeline import UnspecializedPipelinePass

PASS = "tileas-unspecialized-pipeline"
ORDERS = [("eager", 0), ("lazy", 0), ("timed", 0), *(("random", seed) for seed in range(4))]


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
    return [turn for ring in outcome.machine.part(Rings).made for who, *turn in ring.log if who == side]


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
    """N iterations in S stages leave N - S + 1 trips, and S - 1 pieces in prologue and epilogue."""
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


# Nests ----------------------------------------------------------------------------------------------------------------


def nest(inner_bound: str, outer_stages: int, *, row_from: str = "%m") -> str:
    """Scales the rows of `%m` by a number each, which the outer loop loads `outer_stages - 1` iterations ahead."""
    last = tags(outer_stages - 1)
    return f"""
func.func @f(%n: index, %k: index, %m: memref<8x8xf32>, %out: memref<8x8xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %inner = arith.constant 5 : index
  %few = arith.constant 2 : index
  scf.for %j = %c0 to %n step %c1 {{
    %factor = memref.load {row_from}[%j, %c0] {{{tags(0)}}} : memref<8x8xf32>
    scf.for %i = %c0 to {inner_bound} step %c1 {{
      %x = memref.load %m[%j, %i] {{{tags(0)}}} : memref<8x8xf32>
      %y = arith.mulf %x, %factor {{{tags(1)}}} : f32
      memref.store %y, %out[%j, %i] {{{tags(1)}}} : memref<8x8xf32>
    }} {{{last}}}
  }}
  func.return
}}"""


@pytest.mark.parametrize("inner_bound", ["%inner", "%few", "%k"])
@pytest.mark.parametrize("outer_stages", [2, 3])
def test_both_loops_of_a_nest_are_expanded(inner_bound: str, outer_stages: int) -> None:
    """With a known inner trip count the pieces of the inner loop stand in the outer body, with their tags."""
    before = nest(inner_bound, outer_stages)
    with recorded_diagnostics() as said:
        after = print_custom(run_passes(parse(before), f"{PASS}{{num-stages=3}}"))
    assert said == []
    assert "iter_offset" not in after
    assert print_custom(run_passes(parse(after), f"{PASS}{{num-stages=3}}")) == after
    matrix = np.arange(64, dtype=np.float32).reshape(8, 8)
    for outer in (0, 1, 2, 3, 8):
        for inner in (0, 1, 4) if inner_bound == "%k" else (0,):
            given = {"n": outer, "k": inner, "m": matrix, "out": np.zeros((8, 8), np.float32)}
            old, new = (run(parse(text), "f", given) for text in (before, after))
            assert (old.arrays["out"] == new.arrays["out"]).all(), (outer, inner)


@pytest.mark.parametrize("inner_bound", ["%inner", "%k"])
def test_outer_loop_that_cannot_be_expanded_is_named_in_every_run(inner_bound: str) -> None:
    """What row `j` stores into `%out` is loaded for row `j + 1`, two iterations ahead. The inner loop is expanded."""
    before = nest(inner_bound, 3, row_from="%out").replace(
        "%factor = memref.load %out[%j", "%factor = memref.load %out[%c0"
    )
    with recorded_diagnostics() as first:
        once = print_custom(run_passes(parse(before), f"{PASS}{{num-stages=3}}"))
    with recorded_diagnostics() as second:
        twice = print_custom(run_passes(parse(once), f"{PASS}{{num-stages=3}}"))
    assert [said.message for said in first] == ["Failed to pipeline loop"] == [said.message for said in second]
    assert twice == once
    assert 'pass_status = {"tileas-unspecialized-pipeline" = 4' in once
    assert "to %n step" in once, "the outer loop is as it was"
    if inner_bound == "%inner":
        assert "earlier run" in (second[0].way_out or "")


def in_turns(depth: int, per_iteration: int, last: int) -> str:
    """A loop that fills stages of a ring in an inner loop, and drains them in another one `last` stages later."""
    return f"""
func.func @f(%n: index, %out: memref<32xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %some = arith.constant {per_iteration} : index
  %zero = arith.constant 0.0 : f32
  %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {{
    numStages = {depth} : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8
  }} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) {{
    %first = arith.muli %i, %some : index
    scf.for %j = %c0 to %some step %c1 {{
      %turn = arith.addi %first, %j : index
      %i32 = arith.index_cast %turn : index to i32
      %v = arith.sitofp %i32 : i32 to f32
      nv_tileas.async.pipeline.produce_one %p, %turn attributes {{producer_types = [f32]}} {{
      ^bb0(%slot: f32):
        nv_tileas.async.pipeline.yield %v : (f32) -> ()
      }} : (!nv_tileas.producer_token, index) -> ()
    }} {{{tags(0)}}}
    %next = scf.for %j = %c0 to %some step %c1 iter_args(%part = %acc) -> (f32) {{
      %turn = arith.addi %first, %j : index
      %got, %read = nv_tileas.async.pipeline.consume_one %c, %turn
        : (!nv_tileas.consumer_token, index) -> (f32, !nv_tileas.consumer_token)
      %more = arith.addf %part, %got : f32
      nv_tileas.async.pipeline.consumer_release %read : (!nv_tileas.consumer_token) -> ()
      scf.yield %more : f32
    }} {{{tags(last)}}}
    scf.yield %next : f32
  }}
  memref.store %sum, %out[%c0] : memref<32xf32>
  func.return
}}"""


@pytest.mark.parametrize(("depth", "last", "expanded"), [(3, 2, False), (4, 1, True), (1, 1, True)])
def test_a_ring_that_inner_loops_take_turns_on(depth: int, last: int, expanded: bool) -> None:
    """Nobody counts the stages of an inner loop, so the loops only overlap as far as they keep their turns."""
    before = in_turns(depth, 1 if depth == 1 else 2, last)
    with recorded_diagnostics() as said:
        after = print_custom(run_passes(parse(before), f"{PASS}{{num-stages=3}}"))
    assert [remark.message for remark in said] == ([] if expanded else ["Failed to pipeline loop"])
    for trips in (0, 1, 2, 5):
        assert_same(before, after, trips)
    assert check(parse(after)).verdict is Verdict.SAFE


def test_second_run_changes_nothing() -> None:
    once = print_custom(run_passes(parse(summing(3, 4)), f"{PASS}{{num-stages=3}}"))
    assert print_custom(run_passes(parse(once), f"{PASS}{{num-stages=3}}")) == once


@pytest.mark.parametrize("stages", [0, 1])
def test_one_stage_only_clears_the_status_of_an_earlier_run(stages: int) -> None:
    """A bit that stays would keep a later pass away from a function in which nothing failed."""
    stale = 'attributes {nv_tileas.pass_status = {"tileas-unspecialized-pipeline" = 4 : i32}} {'
    text = summing(2, None)
    before = print_custom(parse(text))
    assert (
        print_custom(run_passes(parse(text.replace(") {", f") {stale}", 1)), f"{PASS}{{num-stages={stages}}}"))
        == before
    )


def test_status_of_an_earlier_run_is_cleared() -> None:
    stale = 'attributes {nv_tileas.pass_status = {"tileas-unspecialized-pipeline" = 4 : i32}} {'
    text = summing(2, None).replace(") {", f") {stale}", 1)
    assert "pass_status" not in print_custom(run_passes(parse(text), PASS))


def test_defaults() -> None:
    """The pass takes 2 stages by default, the driver hands on 4."""
    assert UnspecializedPipelinePass().num_stages == 2
    assert TileIRPass().unspecialized_pipeline_num_stages == 4


STORE_OF_A_SLOT = """
#smem = #nv_tileas.layout<smem>
!slot = tensor<1x4xf32, #smem>
func.func @f(%in: memref<8x4xf32>, %out: memref<8x4xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 8 : index
  %slot = nv_tileas.alloc_tensor : () -> !slot
  scf.for %i = %c0 to %n step %c1 {{
    %x = nv_tileas.tiled_load %in[%i, %c0] attributes {{{first}}}
      : (memref<8x4xf32>, index, index) -> tensor<1x4xf32>
    nv_tileas.copy %x, %slot attributes {{{first}}} : (tensor<1x4xf32>, !slot) -> ()
    nv_tileas.tiled_store %out[%i, %c0], %slot attributes {{{last}}} : (memref<8x4xf32>, !slot, index, index) -> ()
  }}
  func.return
}}"""


@pytest.mark.parametrize(("stage", "expanded"), [(1, True), (2, False)])
def test_a_slot_that_a_store_still_reads_is_not_filled_anew(stage: int, expanded: bool) -> None:
    """The stored value is a view: two stages behind, the store would find the tile of the iteration after its own."""
    before = STORE_OF_A_SLOT.format(first=tags(0), last=tags(stage))
    with recorded_diagnostics() as said:
        after = print_custom(run_passes(parse(before), f"{PASS}{{num-stages=3}}"))
    assert [remark.message for remark in said] == ([] if expanded else ["Failed to pipeline loop"])
    arguments = {"in": np.arange(32, dtype=np.float32).reshape(8, 4), "out": np.zeros((8, 4), np.float32)}
    assert (run(parse(after), "f", arguments).arrays["out"] == arguments["in"]).all()
