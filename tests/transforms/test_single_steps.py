"""Compact stages in single steps: which are taken apart, which stay, and that the meaning stays."""

from __future__ import annotations

import pytest

from tests.support.ir import ROOT, parse, run_passes
from tests.support.queue_kernels import QUEUE_KERNELS
from tests.support.scheduled_kernels import Kernel
from tests.support.thread_kernels import assert_computes, tiles_of
from tileas_xdsl.checker.verdict.checking import check

PASS = "tileas-single-steps"
STEP = "nv_tileas.async.pipeline."

QUEUED = """
#smem = #nv_tileas.layout<smem>
!t = tensor<16x16xf32, #smem>
!own = !nv_tileas.producer_token
!end = !nv_tileas.consumer_token
!tok = !nv_tileas.token
func.func @f(%a: memref<?x?xf32>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %e = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8,
    consumerGroupId = 0 : i8} : () -> (!own, !end)
  scf.for %k = %c0 to %n step %c1 {
    %p1, %f = nv_tileas.async.pipeline.produce_one_async %p, %k attributes {producer_kind = "async_copy"} {
      %o = nv_tileas.async.pipeline.producer_acquire %p, %k : (!own, index) -> !own
      %w = nv_tileas.async.pipeline.producer_write %o, %k attributes {producer_types = [!t]} {
      ^bb0(%slot: !t):
        %x = nv_tileaa.tiled_load %a[%k, %c0] : (memref<?x?xf32>, index, index) -> !t
        nv_tileas.async.pipeline.yield %x : (!t) -> ()
      } : (!own, index) -> !own
      nv_tileas.async.pipeline.yield : () -> ()
    } : (!own, index) -> (!own, !tok)
    %d = nv_tileas.async.pipeline.producer_commit %f : (!tok) -> !tok
    %h = nv_tileas.async.pipeline.consume_one %e, %k {
      %g = nv_tileas.async.pipeline.consumer_wait %e, %k : (!end, index) -> !end
      nv_tileas.async.pipeline.yield : () -> ()
    } : (!end, index) -> !end
    %v = nv_tileas.async.pipeline.consumer_read %h, %k : (!end, index) -> !t
    %e1, %r = nv_tileas.async.pipeline.consume_one_async %h : (!end) -> (!end, !tok)
    nv_tileaa.tiled_store %c[%k, %c0], %v : (memref<?x?xf32>, !t, index, index) -> ()
    %b = nv_tileas.async.pipeline.consumer_release %r : (!tok) -> !tok
    nv_tileas.async.wait %b : (!tok) -> ()
  }
  func.return
}"""


def _left(text: str) -> list[str]:
    """The compact ops that are left."""
    return [name for name in ("producer_write", "consume_one ", "consume_one_async") if f"{STEP}{name}" in text]


def test_both_sides() -> None:
    after = run_passes(parse(QUEUED), PASS)
    after.verify()
    assert _left(str(after)) == []
    for module in (parse(QUEUED), after):
        assert check(module).verdict_line == "safe for every trip count"


def test_a_second_run_changes_nothing() -> None:
    once = str(run_passes(parse(QUEUED), PASS))
    assert str(run_passes(parse(once), PASS)) == once


STAYS = {
    "a token of a fill is used twice": (
        "    %h =",
        "    nv_tileas.async.wait %f : (!tok) -> ()\n    %h =",
        ["producer_write"],
    ),
    "the owner is used": (
        "producer_commit %f : (!tok) -> !tok",
        "producer_commit %p1 : (!own) -> !own",
        ["producer_write"],
    ),
    "the write is used": (
        "      nv_tileas.async.pipeline.yield : () -> ()\n    } : (!own, index) -> (!own, !tok)",
        "      nv_tileas.async.pipeline.producer_commit %w : (!own) -> ()\n"
        "      nv_tileas.async.pipeline.yield : () -> ()\n    } : (!own, index) -> (!own, !tok)",
        ["producer_write"],
    ),
    "the token of the read is waited for": (
        "    nv_tileaa.tiled_store",
        "    nv_tileas.async.wait %r : (!tok) -> ()\n    nv_tileaa.tiled_store",
        ["consume_one ", "consume_one_async"],
    ),
    "no wait inside": (
        "      %g = nv_tileas.async.pipeline.consumer_wait %e, %k : (!end, index) -> !end\n",
        "      nv_tileas.async.wait %f : (!tok) -> ()\n",
        ["producer_write", "consume_one ", "consume_one_async"],
    ),
}
"""What stays compact: what stands in `QUEUED` in place of what, and the ops that are left."""


def test_a_wait_for_a_commit_goes_since_the_reader_waits_for_the_stage() -> None:
    text = QUEUED.replace("    %h =", "    nv_tileas.async.wait %d : (!tok) -> ()\n    %h =")
    assert text != QUEUED
    module = run_passes(parse(text), PASS)
    assert _left(str(module)) == []
    assert "async.wait" not in str(module)


@pytest.mark.parametrize("why", STAYS)
def test_what_stays_compact(why: str) -> None:
    old, new, left = STAYS[why]
    assert old in QUEUED
    module = run_passes(parse(QUEUED.replace(old, new)), PASS)
    module.verify()
    assert _left(str(module)) == left


OTHER_RING = """
  %q, %z = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 64 : i32, producerGroupId = 0 : i8,
    consumerGroupId = 0 : i8} : () -> (!own, !end)
"""


def test_stages_that_are_committed_together_stay_together() -> None:
    """Of two that one commit publishes, one is waited for by itself: both stay, and the consumer's side goes."""
    fill = QUEUED[QUEUED.index("    %p1, %f") : QUEUED.index("    %d =")]
    other = fill.replace("%p1, %f", "%p2, %f2").replace("%p,", "%q,")
    text = QUEUED.replace("    %d =", f"{other}    nv_tileas.async.wait %f2 : (!tok) -> ()\n    %d =")
    text = text.replace("producer_commit %f : (!tok)", "producer_commit %f, %f2 : (!tok, !tok)")
    text = text.replace("  scf.for", f"{OTHER_RING}  scf.for")
    module = run_passes(parse(text), PASS)
    module.verify()
    assert _left(str(module)) == ["producer_write"]
    assert str(module).count(f"{STEP}producer_write") == 2


def test_a_release_that_a_branch_hands_on() -> None:
    """The other arm has a token already; this one gets one that stands for nothing, also where that is waited for."""
    take = QUEUED[QUEUED.index("    %h =") : QUEUED.index("    nv_tileas.async.wait %b")]
    branch = f"""    %some = arith.cmpi sle, %c0, %k : index
    %u = scf.if %some -> (!tok) {{
{take}      scf.yield %b : !tok
    }} else {{
      %none = nv_tileas.create_none : () -> !tok
      scf.yield %none : !tok
    }}
"""
    text = QUEUED.replace(take, branch).replace("    nv_tileas.async.wait %b : (!tok) -> ()\n", "")
    module = run_passes(parse(text), PASS)
    module.verify()
    assert _left(str(module)) == []
    assert check(module, trip_counts=[0, 1, 2, 5]).verdict_line.startswith("safe")
    used = text.replace("    }\n  }\n", "    }\n    nv_tileas.async.wait %u : (!tok) -> ()\n  }\n")
    assert used != text
    module = run_passes(parse(used), PASS)
    assert _left(str(module)) == []
    assert check(module, trip_counts=[0, 1, 2, 5]).verdict_line.startswith("safe")


@pytest.mark.parametrize("kernel", QUEUE_KERNELS, ids=lambda kernel: kernel.name)
def test_numbers_stay(kernel: Kernel) -> None:
    for strategy in ("unspecialize", "warp-specialize"):
        module = run_passes(tiles_of(kernel.name, strategy, "sm_90a").clone(), PASS)
        for trips in (0, 1, 3, 7):
            assert_computes(module, kernel, trips, "random")


def test_programs_without_compact_stages_stay_as_they_are() -> None:
    module = parse((ROOT / "examples" / "gemm_loop.mlir").read_text())
    before = str(module)
    assert str(run_passes(module, PASS)) == before


def test_a_release_whose_token_a_loop_carries() -> None:
    text = QUEUED.replace("scf.for %k = %c0 to %n step %c1 {", "%none = nv_tileas.create_none : () -> !tok\n  LOOP")
    text = text.replace("LOOP", "%last = scf.for %k = %c0 to %n step %c1 iter_args(%old = %none) -> (!tok) {")
    carried = text.replace("nv_tileas.async.wait %b : (!tok) -> ()", "scf.yield %b : !tok")
    assert _left(str(run_passes(parse(carried), PASS))) == []
    waited = carried.replace("  func.return", "  nv_tileas.async.wait %last : (!tok) -> ()\n  func.return")
    assert _left(str(run_passes(parse(waited), PASS))) == []


def test_a_commit_whose_token_a_loop_carries_to_a_wait() -> None:
    """The agent that loads waits for its last copy, which takes the stage of whoever reads it as well."""
    text = QUEUED.replace("scf.for %k = %c0 to %n step %c1 {", "%none = nv_tileas.create_none : () -> !tok\n  LOOP")
    text = text.replace("LOOP", "%last = scf.for %k = %c0 to %n step %c1 iter_args(%old = %none) -> (!tok) {")
    commit = next(line for line in text.splitlines() if "producer_commit %f" in line)
    named = f"{commit}\n    %full = nv_tileas.async.token_to_async %{commit.split('%')[1].split()[0]} : (!tok) -> !tok"
    text = text.replace(commit, named).replace("nv_tileas.async.wait %b : (!tok) -> ()", "scf.yield %full : !tok")
    waited = text.replace("  func.return", "  nv_tileas.async.wait %last : (!tok) -> ()\n  func.return")
    module = run_passes(parse(waited), PASS)
    module.verify()
    assert _left(str(module)) == []
    assert check(module, trip_counts=[0, 1, 2, 5]).verdict_line.startswith("safe")
