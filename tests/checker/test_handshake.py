"""
The handshake of a TileAS pipeline in loops with iterators: one producer agent, two consumer agents.

The producer acquires a slot, writes it and commits it; each consumer waits for it, reads it and releases it. A slot is
free again when both have released it.
"""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.parts.rings import Rings
from tileas_xdsl.machine.running import run

TILE = "tensor<8x4xf16, #smem>"
PRODUCER = "!nv_tileas.producer_token"
CONSUMER = "!nv_tileas.consumer_token"
ITERATOR = f"!nv_tileas.pipeline_iter<{TILE}>"
RELEASE = f"%free = nv_tileas.async.pipeline.consumer_release %done : ({CONSUMER}) -> {CONSUMER}"
READ = f"%use = nv_tileas.convert_layout %v : ({TILE}) -> tensor<8x4xf16>"


def handshake(depth: int, consumer_body: str) -> str:
    """The looped handshake; `consumer_body` stands between the read of a stage and the end of its region."""
    return f"""
#smem = #nv_tileas.layout<smem>
func.func @handshake(%n: index, %tile: {TILE}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %c = nv_tileas.async.pipeline.create_pipeline
    attributes {{numStages = {depth} : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8}}
    : () -> ({PRODUCER}, {CONSUMER})
  %ip = nv_tileas.async.pipeline.create_iterator %p : ({PRODUCER}) -> {ITERATOR}
  %ic = nv_tileas.async.pipeline.create_iterator %c : ({CONSUMER}) -> {ITERATOR}
  nv_tileas.async.pipeline.agent_switch %p, %ip, %c, %ic attributes {{num_agents_per_group = array<i32: 1, 2>}} {{
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%it = %ip) -> ({ITERATOR}) {{
      %p1, %done = nv_tileas.async.pipeline.produce_one_async %p, %it {{
        %own = nv_tileas.async.pipeline.producer_acquire %p, %it : ({PRODUCER}, {ITERATOR}) -> {PRODUCER}
        %full = nv_tileas.async.pipeline.producer_write %own, %it {{
          nv_tileas.async.pipeline.yield %tile : ({TILE}) -> ()
        }} : ({PRODUCER}, {ITERATOR}) -> {PRODUCER}
        %published = nv_tileas.async.pipeline.producer_commit %full : ({PRODUCER}) -> {PRODUCER}
        nv_tileas.async.pipeline.yield : () -> ()
      }} : ({PRODUCER}, {ITERATOR}) -> ({PRODUCER}, !nv_tileas.token)
      %next = nv_tileas.async.pipeline.inc_iter %it : ({ITERATOR}) -> {ITERATOR}
      scf.yield %next : {ITERATOR}
    }}
  }}, {{
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%it = %ic) -> ({ITERATOR}) {{
      %c1t = nv_tileas.async.pipeline.consume_one %c, %it {{
        %got = nv_tileas.async.pipeline.consumer_wait %c, %it : ({CONSUMER}, {ITERATOR}) -> {CONSUMER}
        %v, %done = nv_tileas.async.pipeline.consumer_read %got, %it : ({CONSUMER}, {ITERATOR}) -> ({TILE}, {CONSUMER})
        {consumer_body}
        nv_tileas.async.pipeline.yield : () -> ()
      }} : ({CONSUMER}, {ITERATOR}) -> {CONSUMER}
      %next = nv_tileas.async.pipeline.inc_iter %it : ({ITERATOR}) -> {ITERATOR}
      scf.yield %next : {ITERATOR}
    }}
  }} : ({PRODUCER}, {ITERATOR}, {CONSUMER}, {ITERATOR}) -> ()
  func.return
}}
"""


@pytest.mark.parametrize("depth", range(1, 9))
def test_handshake_is_safe_at_every_depth(depth: int) -> None:
    report = check(parse(handshake(depth, f"{READ}\n{RELEASE}")), trip_counts=range(2 * depth + 3))
    assert report.verdict is Verdict.SAFE, str(report)


@pytest.mark.parametrize("depth", range(1, 9))
def test_one_dropped_release_deadlocks(depth: int) -> None:
    """The release of iteration 1 is left out: the producer waits for that slot when it comes round again."""
    dropped = f"""
        {READ}
        %is_one = arith.cmpi eq, %i, %c1 : index
        scf.if %is_one {{
        }} else {{
          {RELEASE}
        }}"""
    report = check(parse(handshake(depth, dropped)), trip_counts=[depth + 2])
    assert report.kinds == ["deadlock"]
    finding = report.findings[0].violation
    producer = next(party for party in finding.parties if party.agent == "agent 0")
    assert producer.op.name == "nv_tileas.async.pipeline.producer_acquire"
    assert producer.iteration == (depth + 1,)
    assert f"empty[{1 % depth}]" in producer.role
    assert "2 of 2 arrivals missing" in producer.role


def test_release_before_the_read_is_a_race() -> None:
    report = check(parse(handshake(3, f"{RELEASE}\n{READ}")))
    assert report.kinds == ["race"]
    violation = report.findings[0].violation
    assert {party.op.name for party in violation.parties} == {
        "nv_tileas.convert_layout",
        "nv_tileas.async.pipeline.producer_write",
    }
    assert report.findings[0].arguments == {"n": 4}
    assert violation.witness is not None
    assert violation.witness.steps


@pytest.mark.parametrize("order", ["eager", "lazy", "timed", *(f"random:{seed}" for seed in range(5))])
def test_slots_and_phases_do_not_depend_on_the_order(order: str) -> None:
    name, _, seed = order.partition(":")
    module = parse(handshake(3, f"{READ}\n{RELEASE}"))
    outcome = run(module, "handshake", {"n": 7}, order=name, seed=int(seed or 0))
    assert outcome.violations == ()
    (ring,) = outcome.machine.part(Rings).made
    turns = [(k, slot, phase) for side, k, slot, phase in ring.log if side == "producer"]
    assert turns == [(k, k % 3, (k // 3) & 1) for k in range(7)]
    consumed = [(k, slot, phase) for side, k, slot, phase in ring.log if side == "consumer"]
    assert sorted(consumed) == sorted(2 * turns)
