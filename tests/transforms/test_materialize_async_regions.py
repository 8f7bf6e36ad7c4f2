"""
MaterializeAsync on pipelines that are there before it: what the queue rewrite leaves, and region forms written by hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.corpora import each
from tests.support.ir import ROOT, parse, print_custom, run_passes
from tests.support.materialize_async import (
    BUFFER,
    PASS,
    PRODUCE,
    PRODUCE_BY_STEPS,
    SMEM,
    TRIPS,
    assert_kept,
    assert_meaning_and_idempotence,
    attention,
    attribute,
    created,
    gemm,
    loops_of,
    materialized,
    numbers,
    ops_of,
    single_agent,
    staged_names,
    tagged,
)
from tests.support.meaning import assert_same_meaning
from tests.support.queue_programs import queue_program
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import failed_softly, recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumeOneAsyncOp,
    ConsumeOneOp,
    ConsumerReleaseOp,
    ProduceOneAsyncOp,
    ProducerCommitOp,
)
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp

# Region forms ---------------------------------------------------------------------------------------------------------


EXAMPLES = [
    ("gemm_queue", "gemm", gemm, f"tileas-queue-to-pipeline,{PASS}"),
    ("gemm_queue", "gemm", gemm, f"tileas-queue-to-pipeline,{PASS},tileas-optimize-pipeline-region"),
    ("gemm_queue", "gemm", gemm, PASS),
    ("attention_queue", "attention", attention, f"tileas-queue-to-pipeline,{PASS}"),
]


@pytest.mark.parametrize(("name", "function", "arguments", "spec"), EXAMPLES)
@pytest.mark.parametrize("trips", [0, 1, 4])
def test_examples_with_queues(name: str, function: str, arguments: Any, spec: str, trips: int) -> None:
    text = (ROOT / "examples" / f"{name}.mlir").read_text()
    after = materialized(text, spec)
    assert_same_meaning(parse(text), after, function, [arguments(trips)], ["eager", "lazy", "random:0", "random:1"])
    once = print_custom(after)
    assert print_custom(run_passes(after, PASS)) == once


def test_both_halves_of_the_gemm_have_one_commit_and_one_release() -> None:
    """The queues of the GEMM are filled and drained in step, so an iteration commits once and releases once."""
    text = (ROOT / "examples" / "gemm_queue.mlir").read_text()
    after = materialized(text, f"tileas-queue-to-pipeline,{PASS}")
    (commit,), (release,) = ops_of(after, ProducerCommitOp), ops_of(after, ConsumerReleaseOp)
    assert len(commit.operands) == len(release.operands) == 2
    producer, consumer = loops_of(after)
    assert not any(isinstance(op, AsyncWaitOp) for op in producer.body.block.ops), "each copy would be awaited"
    assert any(isinstance(op, AsyncWaitOp) for op in consumer.body.block.ops)
    assert [attribute(op, "producer_kind") for op in ops_of(after, ProduceOneAsyncOp)] == ["tma", "tma"]


@each("seed", range(240), 12)
def test_random_queue_program(seed: int) -> None:
    queues = queue_program(seed)
    after = materialized(queues.text, f"tileas-queue-to-pipeline,{PASS}")
    assert_same_meaning(parse(queues.text), after, "f", queues.argument_sets, ["eager", "lazy", "random:0", "random:1"])
    once = print_custom(after)
    assert print_custom(run_passes(after, PASS)) == once


def test_leftover_queues_are_rewritten_first() -> None:
    """The pass on queues is the queue rewrite and then the pass."""
    text = (ROOT / "examples" / "attention_queue.mlir").read_text()
    assert print_custom(materialized(text)) == print_custom(materialized(text, f"tileas-queue-to-pipeline,{PASS}"))


# Hand-written region forms --------------------------------------------------------------------------------------------

CONSUMERS = {
    "abstract": """    %v, %d = nv_tileas.async.pipeline.consume_one %c, %i : (!c, index) -> (!slot, !c)
    %next = arith.addf %v, %acc : !tile""",
    "of its slot argument": """    %v, %d = nv_tileas.async.pipeline.consume_one %c, %i attributes {
      consumer_types = [!slot]
    } {
    ^bb0(%slot: !slot):
      %square = arith.mulf %slot, %slot : !slot
      nv_tileas.async.pipeline.yield %square : (!slot) -> ()
    } : (!c, index) -> (!slot, !c)
    %next = arith.addf %v, %acc : !tile""",
    "by all steps, with computation inside": """    %v = nv_tileas.async.pipeline.consume_one %c, %i {
      %unrelated = arith.addf %x, %x : !tile
      %got = nv_tileas.async.pipeline.consumer_wait %c, %i : (!c, index) -> !c
      %r, %done = nv_tileas.async.pipeline.consumer_read %got, %i : (!c, index) -> (!slot, !c)
      %double = arith.addf %r, %unrelated : !slot
      %free = nv_tileas.async.pipeline.consumer_release %done : (!c) -> !c
      nv_tileas.async.pipeline.yield %double : (!slot) -> ()
    } : (!c, index) -> !slot
    %next = arith.addf %v, %acc : !tile""",
    "by two reads": """    %v, %w, %d = nv_tileas.async.pipeline.consume_one %c, %i {
      %got = nv_tileas.async.pipeline.consumer_wait %c, %i : (!c, index) -> !c
      %r = nv_tileas.async.pipeline.consumer_read %got, %i : (!c, index) -> !slot
      %double = arith.addf %r, %r : !slot
      %s = nv_tileas.async.pipeline.consumer_read %got, %i : (!c, index) -> !slot
      nv_tileas.async.pipeline.yield %double, %s : (!slot, !slot) -> ()
    } : (!c, index) -> (!slot, !slot, !c)
    %mid = arith.mulf %v, %w : !tile
    nv_tileas.async.pipeline.consumer_release %d : (!c) -> ()
    %next = arith.addf %mid, %acc : !tile""",
}


@pytest.mark.parametrize("producer", [PRODUCE, PRODUCE_BY_STEPS])
@pytest.mark.parametrize("name", CONSUMERS)
def test_hand_written_forms(producer: str, name: str) -> None:
    after = assert_meaning_and_idempotence(single_agent(f"{producer}\n{CONSUMERS[name]}"), out=BUFFER)
    for kind in (ProduceOneAsyncOp, ConsumeOneAsyncOp, ProducerCommitOp, ConsumerReleaseOp):
        assert len(ops_of(after, kind)) == 1, kind


@pytest.mark.parametrize("name", CONSUMERS)
@pytest.mark.parametrize(("depth", "stages"), [(1, 2), (2, 2), (2, 3), (5, 4), (1, 3), (2, 4)])
def test_hand_written_forms_can_be_pipelined(name: str, depth: int, stages: int) -> None:
    """
    The loop is pipelined where the ring has a slot for each stage in flight; else it stays, with the remark and the
    bit.
    """
    before = parse(single_agent(f"{PRODUCE}\n{CONSUMERS[name]}", depth=depth))
    after = materialized(print_custom(before))
    if stages > 2:
        tagged(after, stages)
    fits = depth >= stages - 1
    with recorded_diagnostics() as said:
        run_passes(after, f"tileas-unspecialized-pipeline{{num-stages={stages}}}")
    assert [record.message for record in said] == ["Failed to pipeline loop"] * (not fits)
    assert failed_softly(next(iter(after.ops)), "tileas-unspecialized-pipeline") == (not fits)
    for n in TRIPS:
        assert_kept(before, after, {"n": n, "out": BUFFER})
    assert check(after, "f", trip_counts=TRIPS).verdict is Verdict.SAFE


ITERATED = """
!slot = tensor<4xf32>
!p = !nv_tileas.producer_token
!c = !nv_tileas.consumer_token
!it = !nv_tileas.pipeline_iter<!slot>
func.func @f(%n: index, %out: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : !slot
PIPELINE
  %pi = nv_tileas.async.pipeline.create_iterator %p : (!p) -> !it
  %ci = nv_tileas.async.pipeline.create_iterator %c : (!c) -> !it
  %sum, %pe, %ce = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x, %pa = %pi, %ca = %ci) -> (!slot, !it, !it) {
    %p1 = nv_tileas.async.pipeline.produce_one %p, %pa attributes {producer_types = [!slot]} {
    ^bb0(%s: !slot):
      nv_tileas.async.pipeline.yield %acc : (!slot) -> ()
    } : (!p, !it) -> !p
    %v = nv_tileas.async.pipeline.consume_one %c, %ca attributes {consumer_types = [!slot]} {
    ^bb0(%a: !it):
      %got = nv_tileas.async.pipeline.consumer_wait %c, %a : (!c, !it) -> !c
      %r = nv_tileas.async.pipeline.consumer_read %got, %a : (!c, !it) -> !slot
      nv_tileas.async.pipeline.yield %r : (!slot) -> ()
    } : (!c, !it) -> !slot
    %next = arith.addf %v, %x : !slot
    %pn = nv_tileas.async.pipeline.inc_iter %pa : (!it) -> !it
    %cn = nv_tileas.async.pipeline.inc_iter %ca : (!it) -> !it
    scf.yield %next, %pn, %cn : !slot, !it, !it
  }
  nv_tileaa.store %out[%c0], %sum : (memref<4xf32>, !slot, index) -> ()
  func.return
}"""

COMPACT = """
func.func @f(%n: index, %out: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<4xf32>) {
    %p, %t = nv_tileas.async.pipeline.produce_one %i attributes {KIND} {
    ^bb0(%slot: tensor<4xf32>):
      nv_tileas.async.pipeline.yield %acc : (tensor<4xf32>) -> ()
    } : (index) -> (tensor<4xf32>, !nv_tileas.token)
    %v, %d = nv_tileas.async.pipeline.consume_one %t : (!nv_tileas.token) -> (tensor<4xf32>, !nv_tileas.token)
    %next = arith.addf %v, %x : tensor<4xf32>
    scf.yield %next : tensor<4xf32>
  }
  nv_tileaa.store %out[%c0], %sum : (memref<4xf32>, tensor<4xf32>, index) -> ()
  func.return
}"""


def test_iterator_argument_of_a_consumer_is_its_stage() -> None:
    after = assert_meaning_and_idempotence(ITERATED.replace("PIPELINE", created("p", "c", 2)), out=BUFFER)
    assert len(ops_of(after, ConsumeOneAsyncOp)) == 1


def test_compact_forms_and_a_family_that_is_there() -> None:
    """An implicit pipeline, whose tokens are all `!nv_tileas.token`. The family that somebody wrote stays."""
    listed = 'producer_types = [tensor<4xf32>], producer_kind = "async_copy", num_stages = 2 : i32'
    after = assert_meaning_and_idempotence(COMPACT.replace("KIND", listed), out=BUFFER)
    (producer,) = ops_of(after, ProduceOneAsyncOp)
    assert attribute(producer, "producer_kind") == "async_copy"
    assert attribute(producer, "num_stages") == 2
    assert len(ops_of(after, ConsumeOneAsyncOp)) == 1


LEFT_ALONE = {
    "the release is in a branch": CONSUMERS["abstract"].replace("%next", "%mid")
    + """
    %first = arith.cmpi eq, %i, %c1 : index
    scf.if %first {
      nv_tileas.async.pipeline.consumer_release %d : (!c) -> ()
    } else {
      nv_tileas.async.pipeline.consumer_release %d : (!c) -> ()
    }
    %next = arith.addf %mid, %x : !tile""",
    "the wait is in front of it": """    %got = nv_tileas.async.pipeline.consumer_wait %c, %i : (!c, index) -> !c
    %v, %d = nv_tileas.async.pipeline.consumer_read %got, %i : (!c, index) -> (!slot, !c)
    nv_tileas.async.pipeline.consumer_release %d : (!c) -> ()
    %next = arith.addf %v, %acc : !tile""",
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_consumer_that_is_no_site_is_left_alone(name: str) -> None:
    """The producer beside it is rewritten all the same, and awaited before it."""
    after = assert_meaning_and_idempotence(single_agent(f"{PRODUCE}\n{LEFT_ALONE[name]}"), out=BUFFER)
    assert ops_of(after, ConsumeOneAsyncOp) == []
    assert len(ops_of(after, ProduceOneAsyncOp)) == 1
    (loop,) = loops_of(after)
    wait = next(op for op in loop.body.block.ops if isinstance(op, AsyncWaitOp))
    assert wait.next_op is not None
    assert wait.next_op.name.startswith("nv_tileas.async.pipeline.consume")


def test_producer_that_puts_what_was_read_is_in_the_stage_of_the_reader() -> None:
    """A relay: what goes into the second pipeline comes out of the first, so it cannot be in stage 0."""
    relay = f"""{PRODUCE}
{CONSUMERS["abstract"].replace("%next", "%mid")}
    %q1 = nv_tileas.async.pipeline.produce_one %q, %i attributes {{producer_types = [!slot]}} {{
    ^bb0(%slot: !slot):
      nv_tileas.async.pipeline.yield %mid : (!slot) -> ()
    }} : (!p, index) -> !p
    %w, %e = nv_tileas.async.pipeline.consume_one %k, %i : (!c, index) -> (!slot, !c)
    %next = arith.addf %w, %v : !tile"""
    after = assert_meaning_and_idempotence(single_agent(relay, before=created("q", "k", 2)), out=BUFFER)
    ops = ops_of(after, ProduceOneAsyncOp, ConsumeOneOp)
    assert [attribute(op, "pipeline_stage") for op in ops] == [0, 1, 1, 2]


# Views ----------------------------------------------------------------------------------------------------------------

FORWARD = """    %v, %d = nv_tileas.async.pipeline.consume_one %c, %i : (!c, index) -> (!slot, !c)
    %q1 = nv_tileas.async.pipeline.produce_one %q, %i attributes {producer_types = [!slot]} {
    ^bb0(%slot: !slot):
      nv_tileas.async.pipeline.yield %v : (!slot) -> ()
    } : (!p, index) -> !p
    nv_tileas.async.pipeline.consumer_release %d : (!c) -> ()
    %w, %e = nv_tileas.async.pipeline.consume_one %k, %i : (!c, index) -> (!slot, !c)
    %r = nv_tileas.convert_layout %w : (!slot) -> !tile
    nv_tileas.async.pipeline.consumer_release %e : (!c) -> ()
    %next = arith.addf %r, %acc : !tile"""


@pytest.mark.parametrize("depth", [1, 2])
def test_slot_that_is_copied_into_another_one_is_released_behind_the_copy(depth: int) -> None:
    """The copy reads a borrowed slot, so it is awaited at once: the release must not overtake it."""
    produce = PRODUCE.replace("yield %t", "yield %shared").replace(
        "    %p1", "    %shared = nv_tileas.convert_layout %t : (!tile) -> !slot\n    %p1"
    )
    text = single_agent(f"{produce}\n{FORWARD}", depth=depth, before=created("q", "k", 2), payload=SMEM)
    after = assert_meaning_and_idempotence(text, out=BUFFER)
    (loop,) = loops_of(after)
    forwarding = [op for op in loop.body.block.ops if isinstance(op, ProduceOneAsyncOp)][1]
    ops = list(loop.body.block.ops)
    behind = [op.name.rpartition(".")[2] for op in ops[ops.index(forwarding) + 1 :]]
    assert behind[:3] == ["producer_commit", "token_to_async", "wait"]
    assert behind.count("consumer_release") == 1


ASYNC_READER = """    %v, %d = nv_tileas.async.pipeline.consume_one %c, %i : (!c, index) -> (!slot, !c)
    %buffer = nv_tileas.alloc_tensor : () -> !slot
    %copied = nv_tileas.async.copy %v, %buffer : (!slot, !slot) -> !nv_tileas.token
WAIT
    %r = nv_tileas.convert_layout %buffer : (!slot) -> !tile
    nv_tileas.async.pipeline.consumer_release %d : (!c) -> ()
    %next = arith.addf %r, %acc : !tile"""
SHARED_PRODUCE = f"""    %shared = nv_tileas.convert_layout %t : (!tile) -> !slot
{PRODUCE.replace("yield %t", "yield %shared")}"""


def test_asynchronous_reader_is_through_at_its_wait() -> None:
    """The release goes behind the wait for the copy out of the slot."""
    body = ASYNC_READER.replace("WAIT", "    nv_tileas.async.wait %copied : (!nv_tileas.token) -> ()")
    after = assert_meaning_and_idempotence(single_agent(f"{SHARED_PRODUCE}\n{body}", payload=SMEM), out=BUFFER)
    (release,) = ops_of(after, ConsumerReleaseOp)
    (loop,) = loops_of(after)
    ops = list(loop.body.block.ops)
    (wait,) = (op for op in ops if isinstance(op, AsyncWaitOp) and op.operands[0].name_hint == "copied")
    assert ops.index(wait) < ops.index(release)


def test_view_that_nobody_awaits_keeps_its_consumer_as_it_is() -> None:
    """Where the reads end is not known, so the release stays where it was put."""
    after = materialized(single_agent(f"{SHARED_PRODUCE}\n{ASYNC_READER.replace('WAIT', '')}", payload=SMEM))
    assert ops_of(after, ConsumeOneAsyncOp) == []
    assert len(ops_of(after, ProduceOneAsyncOp)) == 1


# Who may be kept waiting ----------------------------------------------------------------------------------------------


SKEWED = """
func.func @f(%n: index, %out: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %a = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<4xf32>], depth = 1>
  %b = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<4xf32>], depth = 1>
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    nv_tileaa.queue.put %b, %x : (!nv_tileaa.queue<[tensor<4xf32>], depth = 1>, tensor<4xf32>) -> ()
    scf.for %i = %c0 to %n step %c1 {
      nv_tileaa.queue.put %a, %x : (!nv_tileaa.queue<[tensor<4xf32>], depth = 1>, tensor<4xf32>) -> ()
      nv_tileaa.queue.put %b, %x : (!nv_tileaa.queue<[tensor<4xf32>], depth = 1>, tensor<4xf32>) -> ()
    }
  }, {
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<4xf32>) {
      %v = nv_tileaa.queue.get %a : (!nv_tileaa.queue<[tensor<4xf32>], depth = 1>) -> tensor<4xf32>
      %w = nv_tileaa.queue.get %b : (!nv_tileaa.queue<[tensor<4xf32>], depth = 1>) -> tensor<4xf32>
      %s = arith.addf %v, %w : tensor<4xf32>
      %next = arith.addf %s, %acc : tensor<4xf32>
      scf.yield %next : tensor<4xf32>
    }
    %rest = nv_tileaa.queue.get %b : (!nv_tileaa.queue<[tensor<4xf32>], depth = 1>) -> tensor<4xf32>
    nv_tileaa.store %out[%c0], %sum : (memref<4xf32>, tensor<4xf32>, index) -> ()
  } : () -> ()
  func.return
}"""


def test_commits_of_queues_that_are_out_of_step_stay_apart() -> None:
    """
    The producer is one tile of `b` ahead. With one commit for both queues it would wait for a slot of `b` before it
    publishes `a`, and the consumer for `a` before it takes `b`.
    """
    after = materialized(SKEWED, f"tileas-queue-to-pipeline,{PASS}")
    assert_same_meaning(parse(SKEWED), after, "f", [{"n": n} for n in TRIPS])
    assert [len(op.operands) for op in ops_of(after, ProducerCommitOp) if op.results] == [1, 1]


GROUP_OF_TWO = """
#smem = #nv_tileas.layout<smem>
func.func @f(%n: index, %m: memref<4x64xf32>, %out: memref<2x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 2>} {
  ^bb0(%number: index):
    %zero = arith.constant dense<0.0> : tensor<1x4xf32>
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<1x4xf32>) {
      %t = nv_tileaa.tiled_load %m[%number, %i] : (memref<4x64xf32>, index, index) -> tensor<1x4xf32>
      %next = arith.addf %t, %acc : tensor<1x4xf32>
      scf.yield %next : tensor<1x4xf32>
    }
    nv_tileaa.tiled_store %out[%number, %c0], %sum : (memref<2x4xf32>, tensor<1x4xf32>, index, index) -> ()
  } : () -> ()
  func.return
}"""


def test_each_agent_of_a_group_has_stages_of_its_own() -> None:
    after = assert_meaning_and_idempotence(GROUP_OF_TWO, m=numbers(4, 64), out=np.zeros((2, 4), np.float32))
    assert staged_names(after) == ["t"]
