"""
Programs that nobody would write on purpose, through every pass of the family: no traceback, and what is refused is as
it was but for its status.
"""

from __future__ import annotations

import re

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from tests.support.ir import parse, print_generic, run_passes
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.diagnostics import recorded_diagnostics

PASSES = [
    "tileas-queue-to-pipeline",
    "tileas-materialize-async",
    "tileas-unspecialized-pipeline{num-stages=3}",
    "tileas-optimize-pipeline-region",
    "tileir{pipeline-strategy=unspecialize}",
]
ONCE = PASSES[:4]
"""Those that change nothing the second time."""


def function(body: str, arguments: str = "%n: index, %m: memref<8x8xf32>, %go: i1, %x: f32") -> str:
    constants = "\n".join(f"  %c{k} = arith.constant {k} : index" for k in range(4))
    return f"func.func @f({arguments}) {{\n{constants}\n{body}\n  func.return\n}}"


def loop(body: str, bounds: str = "%c0 to %n step %c1") -> str:
    return f"  scf.for %i = {bounds} {{\n{body}\n  }}"


def tagged(stage: object, offset: object, order: object = None) -> str:
    extra = "" if order is None else f", order = {order}"
    return f'    "test.op"() {{stage = {stage}, iter_offset = {offset}{extra}}} : () -> ()'


LOAD = "    %v = memref.load %m[%i, %c0] : memref<8x8xf32>"
PRODUCE = """    %p, %t = nv_tileas.async.pipeline.produce_one_async %i
      attributes {stage = 0 : i32, iter_offset = 0 : i32}
      : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)"""
CONSUME = """    %r, %h = nv_tileas.async.pipeline.consume_one %t attributes {stage = 2 : i32, iter_offset = -2 : i32}
      : (!nv_tileas.token) -> (f32, !nv_tileas.token)"""
RING = """  %ring, %end = nv_tileas.async.pipeline.create_pipeline attributes {
    numStages = 1 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8
  } : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)"""
SECOND = RING.replace("%ring, %end", "%ring2, %end2")

INPUTS = {
    "nothing": "builtin.module {\n}",
    "a declaration": "func.func private @f(index)",
    "an empty function": "func.func @f() {\n  func.return\n}",
    "a function of several blocks": """
func.func @f(%go: i1) {
  cf.cond_br %go, ^bb1, ^bb2
^bb1:
  cf.br ^bb2
^bb2:
  func.return
}""",
    "a module in a module": """
builtin.module {
  func.func @f() {
    func.return
  }
}
func.func @f() {
  func.return
}""",
    "a loop of nothing": function(loop("")),
    "a loop that never runs": function(loop(LOAD, "%c3 to %c1 step %c1")),
    "a step of zero": function(loop(f"{LOAD}\n{PRODUCE}\n{CONSUME}", "%c0 to %c3 step %c0")),
    "a loop over its own bound": function(
        loop(loop(LOAD.replace("%i", "%j"), "%c0 to %i step %c1").replace("for %i", "for %j"))
    ),
    "an op that nobody knows": function(
        loop('    %u = "my.op"(%i) {stage = 0 : i32, iter_offset = 0 : i32} : (index) -> f32')
    ),
    "an op that nobody knows, with a loop in it": function(
        '  "my.op"() ({\n' + loop(PRODUCE + "\n" + CONSUME) + "\n  }) : () -> ()"
    ),
    "a pipeline op in a region that nobody knows": function(
        RING
        + loop(
            '    "my.op"() ({\n'
            "      nv_tileas.async.pipeline.produce_one %ring, %i attributes {producer_types = [f32]}\n"
            "        : (!nv_tileas.producer_token, index) -> ()\n    }) : () -> ()"
        )
    ),
    "stages that are no numbers": function(loop(tagged('"first"', '"now"'))),
    "stages of any type": function(loop(f"{tagged('0 : i64', '0 : index')}\n{tagged('1 : i8', '-1 : i64')}")),
    "a stage below zero": function(loop(tagged("-1 : i32", "1 : i32"))),
    "a stage without offset among those with": function(
        loop(f'{tagged("0 : i32", "0 : i32")}\n    "test.op"() {{stage = 1 : i32}} : () -> ()')
    ),
    "an offset without a stage": function(loop('    "test.op"() {iter_offset = -1 : i32} : () -> ()')),
    "orders twice": function(
        loop(f"{tagged('0 : i32', '0 : i32', '0 : i32')}\n{tagged('1 : i32', '-1 : i32', '0 : i32')}")
    ),
    "orders that are no numbers": function(loop(tagged("0 : i32", "0 : i32", '"last"'))),
    "a terminator with a stage": function(
        "  scf.for %i = %c0 to %n step %c1 {\n"
        + LOAD
        + "\n    scf.yield {stage = 1 : i32, iter_offset = -1 : i32}\n  }"
    ),
    "a token index of nothing": function(loop(f"{PRODUCE}\n{CONSUME}") + " {token_iter_idx = 7 : i32}"),
    "a token index that is no number": function(loop(f"{PRODUCE}\n{CONSUME}") + ' {token_iter_idx = "last"}'),
    "a while loop with everything in it": function(f"""
  %last = scf.while (%more = %go) : (i1) -> i1 {{
    scf.condition(%more) %more : i1
  }} do {{
  ^bb0(%again: i1):
    %i = arith.addi %n, %c1 : index
{PRODUCE}
{CONSUME}
    scf.yield %again : i1
  }}"""),
    "a loop in the condition of a while loop": function(f"""
  %last = scf.while (%more = %go) : (i1) -> i1 {{
{loop(f"{PRODUCE}{chr(10)}{CONSUME}")}
    scf.condition(%more) %more : i1
  }} do {{
  ^bb0(%again: i1):
    {tagged("1 : i32", "-1 : i32")}
    scf.yield %again : i1
  }}"""),
    "a parallel loop": function(
        '  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({\n  ^bb0(%i: index):\n'
        f'{LOAD}\n    "scf.reduce"() : () -> ()\n  }}) : (index, index, index) -> ()'
    ),
    "a consumer of a token of nothing": function(
        "  %none = nv_tileas.create_none : () -> !nv_tileas.token\n" + loop(CONSUME.replace("%t ", "%none "))
    ),
    "a commit of two pipelines, one of them in another loop": function(
        f"""{RING}
{SECOND}
  %other = nv_tileas.async.pipeline.produce_one %ring2, %c0 attributes {{producer_types = [f32]}}
    : (!nv_tileas.producer_token, index) -> !nv_tileas.producer_token
  scf.for %i = %c0 to %n step %c1 {{
    %one = nv_tileas.async.pipeline.produce_one %ring, %i attributes {{producer_types = [f32]}}
      : (!nv_tileas.producer_token, index) -> !nv_tileas.producer_token
    nv_tileas.async.pipeline.producer_commit %one, %other
      : (!nv_tileas.producer_token, !nv_tileas.producer_token) -> ()
  }}"""
    ),
    "a pipeline that nobody drains": function(
        RING
        + loop(
            "    nv_tileas.async.pipeline.produce_one %ring, %i attributes {producer_types = [f32]} "
            ": (!nv_tileas.producer_token, index) -> ()"
        )
    ),
    "a consumer that changes pipelines": function(
        f"""{RING}
{SECOND}
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%e = %end) -> (!nv_tileas.consumer_token) {{
    %got = nv_tileas.async.pipeline.consume_one %e, %i attributes {{consumer_types = [f32]}}
      : (!nv_tileas.consumer_token, index) -> !nv_tileas.consumer_token
    scf.yield %end2 : !nv_tileas.consumer_token
  }}"""
    ),
    "loops that swap what they carry": function(
        f"""  %a, %b = scf.for %i = %c0 to %n step %c1 iter_args(%u = %x, %w = %x) -> (f32, f32) {{
{LOAD}
    %s = arith.addf %u, %v {{stage = 1 : i32, iter_offset = -1 : i32}} : f32
    scf.yield %w, %s : f32, f32
  }}"""
    ),
    "a queue that nobody reads, one that nobody fills": """
!queue = !nv_tileaa.queue<[tensor<4xf32>], depth = 2>
func.func @f(%n: index) {
  %q = nv_tileaa.create_queue : () -> !queue
  %r = nv_tileaa.create_queue : () -> !queue
  %x = arith.constant dense<1.0> : tensor<4xf32>
  nv_tileaa.queue.put %q, %x : (!queue, tensor<4xf32>) -> ()
  %y = nv_tileaa.queue.get %r : (!queue) -> tensor<4xf32>
  func.return
}""",
    "a queue handed to somebody": """
!queue = !nv_tileaa.queue<[tensor<4xf32>], depth = 2>
func.func private @take(!queue)
func.func @f() {
  %q = nv_tileaa.create_queue : () -> !queue
  func.call @take(%q) : (!queue) -> ()
  func.return
}""",
    "agents in agents": function(
        """  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1>} {
  ^bb0:
    nv_tileaa.execute attributes {num_agents_per_group = array<i32: 2>} {
    ^bb0:
    } : () -> ()
  } : () -> ()"""
    ),
    "a consume region in a consume region": function(
        f"""{RING}
  nv_tileas.async.pipeline.consume_one %end, %c0 {{
    nv_tileas.async.pipeline.consume_one %end, %c1 {{
      %dead = arith.addf %x, %x : f32
      nv_tileas.async.pipeline.yield : () -> ()
    }} : (!nv_tileas.consumer_token, index) -> ()
    nv_tileas.async.pipeline.yield : () -> ()
  }} : (!nv_tileas.consumer_token, index) -> ()"""
    ),
    "a status that is no number": function("").replace(
        ") {", ') attributes {nv_tileas.pass_status = {"tileas-unspecialized-pipeline" = "bad"}} {', 1
    ),
    "a status that is no dictionary": function("").replace(
        ") {", " ) attributes {nv_tileas.pass_status = 4 : i32} {", 1
    ),
}


def without_status(text: str) -> str:
    """The text without what a pass may leave behind when it gives up, and without SSA names."""
    text = re.sub(r",? ?\"?nv_tileas\.pass_status\"? = \{[^}]*\}", "", text)
    return re.sub(r" ?\{\}", "", re.sub(r",? ?\"?nv_tileas\.not_pipelinable\"?", "", text))


@pytest.mark.parametrize("spec", PASSES)
@pytest.mark.parametrize("name", INPUTS)
def test_no_traceback_and_nothing_touched_when_refused(name: str, spec: str) -> None:
    module = parse(INPUTS[name], allow_unregistered=True)
    before = print_generic(module)
    with recorded_diagnostics():
        refusal = outcome(module, spec)
        if refusal is not None:
            assert refusal
            # The driver leaves what the passes before the refusing one have made.
            assert spec not in ONCE or without_status(print_generic(module)) == without_status(before)
            return
        verify_dominance(module)
        once = print_generic(module)
        if spec in ONCE:
            run_passes(module, spec)
            assert print_generic(module) == once


def outcome(module: ModuleOp, spec: str) -> str | None:
    """What the pass says when it refuses, None when it does not; everything else passes through."""
    try:
        run_passes(module, spec)
    except PassFailedException as refusal:
        return str(refusal)
    return None


# Numbers that are large, and nests that are deep ----------------------------------------------------------------------

QUEUE_PASSES = [
    "convert-queue-to-async",
    "convert-queue-to-pipeline",
    "convert-queue-to-nvvm",
    "convert-queue-to-rocdl",
    "queue-per-slot",
    "queue-tighten-waits",
    "erase-async-queue",
]
GROUP = "  async_queue.commit 0 {\n  }\n"
FEW_GROUPS = ["erase-async-queue", "queue-tighten-waits"]
"""Passes for which it does not matter how many groups a wait leaves unfinished."""


def without_a_word(module: ModuleOp, spec: str) -> str | None:
    with recorded_diagnostics():
        return outcome(module, spec)


@pytest.mark.parametrize("spec", QUEUE_PASSES)
@pytest.mark.parametrize("count", [5000, 2**31 - 1, 2**63 - 1])
def test_a_wait_that_leaves_very_many_groups_takes_neither_time_nor_memory(count: int, spec: str) -> None:
    drain = "  async_queue.wait 0, 0\n"
    module = parse(function(loop(f"{GROUP}  async_queue.wait 0, {count}\n") + f"\n{drain}"))
    before = print_generic(module)
    refusal = without_a_word(module, spec)
    assert (refusal is None) == (spec in FEW_GROUPS), "dropped, the wait would be missed from that trip count on"
    assert refusal is None or ("async_queue.wait" in refusal and print_generic(module) == before)


@pytest.mark.parametrize("spec", QUEUE_PASSES)
def test_queues_may_have_large_numbers_and_counts_that_no_path_reaches(spec: str) -> None:
    queue = 2**31
    body = f"  async_queue.commit {queue} {{\n  }}\n  async_queue.wait {queue}, 1000\n  async_queue.wait {queue}, 0"
    module = parse(function(body))
    assert without_a_word(module, spec) is None


@pytest.mark.parametrize("spec", QUEUE_PASSES)
def test_commits_that_nest_deeply_take_no_longer_than_others(spec: str) -> None:
    """Twice as deep took twice as long twenty times over."""
    depth = 40
    module = parse(function("  async_queue.commit 0 {\n" * depth + "  }\n" * depth + "  async_queue.wait 0, 0"))
    refusal = without_a_word(module, spec)
    assert refusal is None or spec in ("convert-queue-to-pipeline", "convert-queue-to-async", "queue-per-slot"), refusal


def test_a_mark_that_leaves_very_many_is_refused() -> None:
    text = "func.func @f() {\n  rocdl.asyncmark\n  rocdl.wait.asyncmark 32767\n  func.return\n}"
    refusal = without_a_word(parse(text), "convert-rocdl-marks-to-counters{target=gfx942}")
    assert refusal is not None
    assert "leaves 32767 groups unfinished, and no more than 1023 are told apart" in refusal
    assert without_a_word(parse(text), "rocdl-elide-marks") is None


def test_a_function_that_calls_itself_for_ever_cannot_be_checked() -> None:
    text = "func.func @f() {\n  func.call @f() : () -> ()\n  func.return\n}"
    refusal = without_a_word(parse(text), "check-async")
    assert refusal is not None
    assert "'func.call' op calls @f, and calls nest too deeply\n" in refusal
