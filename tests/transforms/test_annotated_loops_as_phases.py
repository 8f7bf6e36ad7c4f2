"""
Annotated loops as queues, as phases of pipelines, and as queues again: the same numbers, and safe; symbolic bounds too.

How many groups a wait forces depends on the trip count there, so the phases hold guards (`analysis/exact_counts`).
"""

from __future__ import annotations

import pytest
from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tests.support.annotated_loops import AnnotatedLoop, annotated_loop
from tests.support.corpora import each
from tests.support.ir import parse, print_custom, run_passes
from tests.transforms.test_inject_software_pipeline_random import assert_computes, pipelined, verdict
from tileas_xdsl.analysis.exact_counts import CallCase, LinearForm, Question
from tileas_xdsl.analysis.exact_counts.cases import TurnsAtHand
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.async_queue import CommitOp
from tileas_xdsl.dialects.nv_tileas.pipeline import CreatePipelineOp

THERE, BACK = "convert-queue-to-pipeline", "convert-pipeline-to-queue"
LOOPS_A_BATCH = 10
BATCHES = range(51)
"""500 loops: some batches have fewer."""

REFUSED_AS_PHASES = ("op is reached with", "waits for a stage that only its own agent could fill")
"""On the way back, and only there. 5 of 500 find more stages full on one path than on another; 9 produce too late."""
REFUSED_AS_TOKENS = ("waits for a task while",)
"""On the way back, and only there. 18 of 500 wait for a task while an older one may be unfinished: no FIFO can."""


def queued_loops(batch: int) -> list[AnnotatedLoop]:
    """Loops with bounds that are arguments, of which some stage is asynchronous."""
    loops = map(annotated_loop, range(batch * LOOPS_A_BATCH * 3, (batch + 1) * LOOPS_A_BATCH * 3))
    return [loop for loop in loops if not loop.is_static and has_queues(loop)][:LOOPS_A_BATCH]


def has_queues(loop: AnnotatedLoop) -> bool:
    return any(isinstance(op, CommitOp) for op in pipelined(loop).walk())


@each("batch", BATCHES, 2, programs=LOOPS_A_BATCH)
def test_symbolic_loops_keep_their_numbers_as_phases_and_back(batch: int) -> None:
    loops = queued_loops(batch)
    refused: list[str] = []
    for loop in loops:
        expected = loop.run()
        try:
            there = run_passes(pipelined(loop), THERE)
            back = run_passes(there.clone(), BACK)
        except RefusedError as error:
            refused.append(str(error))
            continue
        for module in (there, back):
            assert_computes(module, loop, "lazy", expected)
            assert verdict(module, loop) is Verdict.SAFE, f"seed {loop.seed}\n{print_custom(module)}"
    assert len(refused) <= 2, "one in forty is refused; a batch may hold two"
    assert all(any(reason in error for reason in REFUSED_AS_PHASES) for error in refused), refused


@each("batch", BATCHES, 2, programs=LOOPS_A_BATCH)
def test_symbolic_loops_keep_their_numbers_as_tokens_and_back(batch: int) -> None:
    """
    Beside phases, the same loops take the road of tokens. Refused, with the reason, is what would wait for a younger
    task of a queue before an older one.
    """
    refused: list[str] = []
    for loop in queued_loops(batch):
        expected = loop.run()
        there = run_passes(pipelined(loop), "convert-queue-to-async")
        modules = [there]
        try:
            modules.append(run_passes(there.clone(), "convert-async-to-queue"))
        except RefusedError as error:
            refused.append(str(error))
        for module in modules:
            assert_computes(module, loop, "lazy", expected)
            assert verdict(module, loop) is Verdict.SAFE, f"seed {loop.seed}\n{print_custom(module)}"
    assert len(refused) <= 3, "one in twenty-five is refused; a batch may hold several"
    assert all(any(reason in error for reason in REFUSED_AS_TOKENS) for error in refused), refused


SIMPLE = """
func.func @f(%A: memref<?xf32>, %D: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %B = memref.alloc() : memref<1xf32, 3>
  scf.for %i = %c0 to %n step %c1 {
    async_queue.block {
      %v = memref.load %A[%i] : memref<?xf32>
      memref.store %v, %B[%c0] : memref<1xf32, 3>
    }
    async_queue.block {
      %v = memref.load %B[%c0] : memref<1xf32, 3>
      %w = arith.addf %v, %one : f32
      memref.store %w, %D[%i] : memref<?xf32>
    }
  } {software_pipeline_stage = array<i64: 0, 2>, software_pipeline_order = array<i64: 0, 1>,
     software_pipeline_async_stages = array<i64: 0>}
  func.return
}
"""


@pytest.mark.parametrize("passes", [THERE, f"{THERE},{BACK}"])
def test_a_pipelined_loop_with_a_symbolic_bound_is_safe_for_every_trip_count(passes: str) -> None:
    module = run_passes(parse(SIMPLE), f"inject-software-pipeline,{passes}")
    report = check(module)
    assert report.holds_for_every_trip_count, report


def test_a_queue_that_is_never_waited_for_in_a_loop_gets_a_ring() -> None:
    text = """
    func.func @f(%A: memref<64xi32>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %one = arith.constant 1 : i32
      scf.for %i = %c0 to %n step %c1 {
        async_queue.commit 0 { async_queue.scope { memref.store %one, %A[%i] : memref<64xi32> } }
      }
      async_queue.wait 0, 0
      func.return
    }
    """
    module = run_passes(parse(text), f"{THERE}{{most-stages=3}}")
    (pipeline,) = (op for op in module.walk() if isinstance(op, CreatePipelineOp))
    assert pipeline.num_stages.value.data == 3
    for trips in (0, 1, 2, 3, 4, 9):
        assert check(module, args={"n": trips}).verdict is Verdict.SAFE


# The facts ------------------------------------------------------------------------------------------------------------


def test_guards_follow_from_what_is_known_of_a_quotient() -> None:
    """`(n - 1) / 3 + 1 >= 3` says that a loop to `n - 6` in steps of 3 runs."""
    module = parse("""
    func.func @f(%n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %c6 = arith.constant 6 : index
      %less = arith.subi %n, %c1 : index
      %whole = arith.divui %less, %c3 : index
      %trips = arith.addi %whole, %c1 : index
      %runs = arith.cmpi slt, %c0, %n : index
      %three = arith.cmpi uge, %trips, %c3 : index
      %end = arith.subi %n, %c6 : index
      %again = arith.cmpi slt, %c0, %end : index
      func.return
    }
    """)
    some, three, again = (op.result for op in module.walk() if isinstance(op, arith.CmpiOp))
    not_empty = answer(CallCase(), some, 0)
    case = answer(not_empty, three, 1)
    assert case.decide(again, TurnsAtHand()) is True
    assert isinstance(not_empty.decide(again, TurnsAtHand()), Question)


def answer(case: CallCase, condition: SSAValue, number: int) -> CallCase:
    """The calls with that answer to what `condition` asks; answers are in the order of the numbers."""
    found = case.decide(condition, TurnsAtHand())
    assert isinstance(found, Question)
    after = case.assume(found.form, found.answers[number])
    assert after is not None
    return after


def test_forms_are_equal_where_their_terms_are() -> None:
    one, other = LinearForm.of("n"), LinearForm.of("m")
    assert one + other - one == other
    assert (one + 3).times(2) - one - one == LinearForm(constant=6)
    assert (one - one).as_constant == 0
