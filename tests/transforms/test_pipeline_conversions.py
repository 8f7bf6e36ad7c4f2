"""
`convert-queue-to-pipeline` and `convert-pipeline-to-queue` by meaning: a phase that flips says what a count says.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tests.support.corpora import FULL, corpus, each, sample
from tests.support.counted_programs import (
    Rotation,
    balanced_program,
    random_rotation,
    rotating_program,
    wild_program,
)
from tests.support.counts import assert_same_verdict_and_numbers
from tests.support.ir import parse, print_custom, run_passes
from tests.support.meaning import run_in_order
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.async_queue import WaitOp
from tileas_xdsl.dialects.nv_tileas.pipeline import CreatePipelineOp
from tileas_xdsl.transforms.queues.convert_pipeline_to_queue.full_stages import NextTurns
from tileas_xdsl.transforms.queues.convert_pipeline_to_queue.turn_numbers import Current

THERE, BACK = "convert-queue-to-pipeline", "convert-pipeline-to-queue"
BALANCED = sample(range(120), 40)
ARGUMENTS = [{"n": n, "k": 1} for n in (0, 1, 4)]


def counts(module: ModuleOp) -> list[int | None]:
    return [op.count if isinstance(op.count, int) else None for op in module.walk() if isinstance(op, WaitOp)]


@each("first", range(0, 40, 4), 3, programs=4)
def test_rotating_programs_keep_their_meaning_there_and_back(first: int) -> None:
    for seed in range(first, first + 4):
        rotation = replace(random_rotation(seed), peeled=True, drained=True)
        before = parse(rotating_program(rotation))
        there = run_passes(before.clone(), THERE)
        assert not any(op.name.startswith("async_queue.") and op.name != "async_queue.scope" for op in there.walk())
        assert_same_verdict_and_numbers(before, there, ARGUMENTS, f"rotating {seed}, there")
        back = run_passes(there.clone(), BACK)
        assert_same_verdict_and_numbers(before, back, ARGUMENTS, f"rotating {seed}, back")
        waits = counts(before)
        assert counts(back)[: len(waits) - 1] == waits[:-1], "only the last wait forces several groups"
        again = run_passes(back.clone(), THERE)
        assert again.is_structurally_equivalent(there)


@each("first", range(0, 200, 20), 3, programs=20)
def test_wild_programs_keep_their_verdict_or_are_refused(first: int) -> None:
    """
    Hardly one in seven is a pipeline: half of them commit or wait inside a commit, and of the others most wait where
    paths meet with different numbers of unfinished groups. That what is not like that converts, the next test says.
    """
    converted = 0
    for seed in range(first, first + 20):
        before = parse(wild_program(seed, computed_ids=False, computed_counts=False))
        text = print_custom(before)
        module = before.clone()
        try:
            after = run_passes(module, THERE)
        except RefusedError:
            assert print_custom(module) == text
            continue
        converted += 1
        assert_same_verdict_and_numbers(before, after, ARGUMENTS, f"wild {seed}")
    assert 1 <= converted < 20, "a batch holds both kinds"


@corpus(1)
@pytest.mark.parametrize("seed", BALANCED)
def test_balanced_programs_are_all_pipelines_there_and_back(seed: int) -> None:
    """Equally many groups unfinished on every path, none inside another, all awaited: nothing to refuse."""
    before = parse(balanced_program(seed))
    there = run_passes(before.clone(), THERE)
    assert_same_verdict_and_numbers(before, there, ARGUMENTS, f"balanced {seed}, there")
    back = run_passes(there.clone(), BACK)
    assert_same_verdict_and_numbers(before, back, ARGUMENTS, f"balanced {seed}, back")


@corpus(len(BALANCED))
def test_a_third_of_the_balanced_programs_is_safe_and_a_third_races() -> None:
    """So that both verdicts are kept, and numbers are compared; of a small sample, a fourth."""
    arguments = {"n": 4, "k": 1}
    verdicts = [check(parse(balanced_program(seed)), "f", args=arguments, trip_counts=[0]).kinds for seed in BALANCED]
    assert min(verdicts.count([]), verdicts.count(["race"])) >= len(BALANCED) // (3 if FULL else 4)


@pytest.mark.parametrize("ahead", range(4))
def test_a_pipeline_has_a_stage_for_each_group_that_may_be_unfinished(ahead: int) -> None:
    after = run_passes(parse(rotating_program(Rotation(ahead))), THERE)
    [pipeline] = [op for op in after.walk() if isinstance(op, CreatePipelineOp)]
    assert pipeline.num_stages.value.data == ahead + 1


def test_with_a_wait_for_one_group_too_few_both_race() -> None:
    """The check that the tests above can fail: phases do not mend what counts leave open."""
    text = rotating_program(Rotation(ahead=2)).replace("async_queue.wait 0, 2 ", "async_queue.wait 0, 3 ")
    for module in (parse(text), run_passes(parse(text), "convert-queue-to-async")):
        assert "race" in check(module, "f", args={"n": 4, "k": 0}, trip_counts=[0]).kinds


def test_work_in_a_stage_is_complete_when_the_stage_is_full_and_not_before() -> None:
    """Lazily, a scope in a produce op is performed when the stage is waited for."""
    text = """
func.func @f(%m: memref<2xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 1 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %1 = nv_tileas.async.pipeline.produce_one %p {
    async_queue.scope {
      memref.store %x, %m[%c0] : memref<2xf32>
    }
    nv_tileas.async.pipeline.yield : () -> ()
  } : (!nv_tileas.producer_token) -> !nv_tileas.producer_token
  BETWEEN
  %2 = nv_tileas.async.pipeline.consume_one %c {
    %y = memref.load %m[%c0] : memref<2xf32>
    memref.store %y, %m[%c1] : memref<2xf32>
    nv_tileas.async.pipeline.yield : () -> ()
  } : (!nv_tileas.consumer_token) -> !nv_tileas.consumer_token
  func.return
}
"""  # noqa: E501
    outcome = run_in_order(parse(text.replace("BETWEEN", "")), "f", {"x": 3.0}, "lazy")
    assert not outcome.violations
    assert outcome.arrays["m"].tolist() == [3.0, 3.0]
    early = parse(text.replace("BETWEEN", "%z = memref.load %m[%c0] : memref<2xf32>"))
    assert set(check(early).kinds) == {"race"}


# What is refused ------------------------------------------------------------------------------------------------------

GROUP = "async_queue.commit 0 { async_queue.scope {} }"
HEAD = "func.func @f(%n: index, %c0: index, %c1: index, %q: index, %b: i1) {{ {} func.return }}"

QUEUE_REFUSALS = {
    "a computed queue": ("async_queue.wait %q, 0", "is for a queue whose id is computed"),
    "a computed count": (f"{GROUP} async_queue.wait 0, %q", "waits for a computed count"),
    "a commit in a commit": (
        f"async_queue.commit 0 {{ {GROUP} }} async_queue.wait 0, 0",
        "stands in a commit to queue 0 and is for the same queue",
    ),
    "different numbers on different paths": (
        "scf.for %i = %c0 to %n step %c1 { %odd = arith.index_cast %i : index to i1 "
        f"scf.if %odd {{ {GROUP} }} async_queue.wait 0, 0 }}",
        "is reached with 0 groups of queue 0 unfinished on some path and up to 1 on others",
    ),
    "any number": (
        "scf.for %i = %c0 to %n step %c1 { %odd = arith.index_cast %i : index to i1 "
        f"scf.if %odd {{ {GROUP} }} }} async_queue.wait 0, 0",
        "is reached with 0 groups of queue 0 unfinished on some path and up to 8 on others",
    ),
    "groups for which nobody waits": (GROUP, "leaves groups of queue 0 for which nobody waits"),
}


@pytest.mark.parametrize(("body", "reason"), QUEUE_REFUSALS.values(), ids=QUEUE_REFUSALS)
def test_queues_that_are_no_pipelines_are_refused(body: str, reason: str) -> None:
    assert_refused(HEAD.format(body), THERE, reason)


CREATE = (
    "%p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, "
    "consumerGroupId = 0 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)"
)


def turn(op: str, name: str = "%t", inside: str = "", stage: str = "") -> str:
    token, end = ("%p", "producer") if op == "produce_one" else ("%c", "consumer")
    operands = f"{token}, {stage}" if stage else token
    types = f"!nv_tileas.{end}_token, index" if stage else f"!nv_tileas.{end}_token"
    return (
        f"{name} = nv_tileas.async.pipeline.{op} {operands} {{ {inside} nv_tileas.async.pipeline.yield : () -> () }} : "
        f"({types}) -> !nv_tileas.{end}_token "
    )


PRODUCE, CONSUME = turn("produce_one"), turn("consume_one", "%u")

PIPELINE_REFUSALS = {
    "another agent": (
        f"{CREATE} async.execute {{ {PRODUCE} async.yield }} {CONSUME}",
        "is run by another agent, in 'async.execute'",
    ),
    "a stage by index": (
        f"{CREATE} {turn('produce_one', stage='%q')} {CONSUME}",
        "names its stage, so the order is not seen to be FIFO",
    ),
    "no stage to consume": (f"{CREATE} {CONSUME} {PRODUCE}", "waits for a stage that only its own agent could fill"),
    "no empty slot": (
        f"{CREATE} {turn('produce_one', '%1')} {turn('produce_one', '%2')} {turn('produce_one', '%3')}",
        "waits for an empty slot when all 2 are full",
    ),
    "stages for which nobody waits": (f"{CREATE} {PRODUCE}", "is left with stages that nobody consumes"),
    "different numbers on different paths": (
        f"{CREATE} scf.if %b {{ {PRODUCE} }} {CONSUME}",
        "waits for a stage that only its own agent could fill",
    ),
    "a loop that fills more and more": (
        f"{CREATE} scf.for %i = %c0 to %n step %c1 {{ {PRODUCE} }} {CONSUME}",
        "is reached with any number of full stages",
    ),
    "a count that depends on a condition": (
        f"{CREATE} {turn('produce_one', '%1')} scf.if %b {{ {turn('produce_one', '%2')} }} "
        f"{CONSUME} scf.if %b {{ {turn('consume_one', '%v')} }}",
        "is reached with 1 full stages at one time and 2 at another",
    ),
    "handshake ops": (
        f"{CREATE} %a = nv_tileas.async.pipeline.producer_acquire %p : (!nv_tileas.producer_token) -> "
        "!nv_tileas.producer_token",
        "uses an end of a pipeline otherwise than by a produce_one or consume_one",
    ),
}


@pytest.mark.parametrize(("body", "reason"), PIPELINE_REFUSALS.values(), ids=PIPELINE_REFUSALS)
def test_pipelines_that_are_no_queues_are_refused(body: str, reason: str) -> None:
    assert_refused(HEAD.format(body), BACK, reason)


BOUNDS = "%k0 = arith.constant 0 : index %k1 = arith.constant 1 : index %k3 = arith.constant 3 : index"


def test_each_op_is_come_to_once_however_deep_the_nest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constant loops are not run through trip by trip, and no loop round by round: the work is that of the ops."""
    entered: list[Operation] = []
    enter = NextTurns.enter

    def noting(self: NextTurns, op: Operation, state: Current) -> Current:
        entered.append(op)
        return enter(self, op, state)

    monkeypatch.setattr(NextTurns, "enter", noting)
    body = ""
    for depth in range(30):
        fill, drain = turn("produce_one", f"%t{depth}"), turn("consume_one", f"%u{depth}")
        bound = "%n" if depth % 2 else "%k3"
        body = f"scf.for %i{depth} = %k0 to {bound} step %k1 {{ {fill} {body} {drain} }}"
    module = run_passes(parse(HEAD.format(f"{BOUNDS} {CREATE.replace('= 2', '= 40')} {body}")), BACK)
    assert len(entered) == len(set(entered))
    assert sorted(count for count in counts(module) if count is not None) == list(range(30))


def test_the_turns_of_a_loop_that_never_runs_are_turns() -> None:
    """They are rewritten like all others, and count nothing."""
    never = f"scf.for %i = %k0 to %k0 step %k1 {{ {PRODUCE} }}"
    module = run_passes(parse(HEAD.format(f"{BOUNDS} {CREATE} {never} {turn('produce_one', '%v')} {CONSUME}")), BACK)
    assert counts(module) == [0]


def test_a_prologue_of_many_trips_is_counted() -> None:
    fill = f"%many = arith.constant 300 : index scf.for %i = %k0 to %many step %k1 {{ {PRODUCE} }}"
    drain = f"scf.for %j = %c0 to %n step %c1 {{ {CONSUME} {turn('produce_one', '%v')} }}"
    text = HEAD.format(f"{BOUNDS} {CREATE.replace('= 2', '= 300')} {fill} {drain} ")
    assert_refused(text, BACK, "is left with stages that nobody consumes")
    assert_refused(text.replace("= 300 : i32", "= 299 : i32"), BACK, "waits for an empty slot when all 299 are full")


def assert_refused(text: str, spec: str, reason: str) -> None:
    module = parse(text)
    before = print_custom(module)
    with pytest.raises(RefusedError) as refusal:
        run_passes(module, spec)
    assert reason in str(refusal.value)
    assert "help: " in str(refusal.value)
    assert print_custom(module) == before
