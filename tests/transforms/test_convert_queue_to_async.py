"""
`convert-queue-to-async` by meaning: the tokens wait for what the counts waited for, no more and no less.

More than half of the wild programs race: a conversion that waited longer would mend some of them, and one that waited
less would break others.
"""

from __future__ import annotations

import pytest

from tests.support.corpora import each
from tests.support.counted_programs import Rotation, random_rotation, rotating_program, wild_program
from tests.support.counts import assert_same_verdict_and_numbers
from tests.support.ir import parse, print_custom, run_passes
from tests.support.meaning import assert_same_meaning
from tests.support.mlir import mlir_opt
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.async_ import AwaitOp, ExecuteOp
from tileas_xdsl.dialects.async_queue import QueueScope

PASS = "convert-queue-to-async"
TRIPS = (0, 1, 2, 5)


@each("first", range(0, 200, 20), 2, programs=20)
def test_wild_programs_keep_their_verdict_and_their_numbers(first: int) -> None:
    for seed in range(first, first + 20):
        before = parse(wild_program(seed))
        after = run_passes(before.clone(), PASS)
        assert not any(isinstance(op, QueueScope) for op in after.walk())
        assert_same_verdict_and_numbers(before, after, [{"n": n, "k": 1} for n in (0, 1, 4)], f"wild {seed}")


@each("first", range(0, 40, 5), 3, programs=5)
def test_rotating_programs_keep_their_meaning(first: int) -> None:
    for seed in range(first, first + 5):
        before = parse(rotating_program(random_rotation(seed)))
        after = run_passes(before.clone(), PASS)
        assert_same_meaning(before, after, "f", [{"n": n, "k": 0} for n in TRIPS])


@pytest.mark.parametrize("ahead", range(4))
def test_a_rotating_loop_carries_one_token_for_each_iteration_ahead(ahead: int) -> None:
    after = run_passes(parse(rotating_program(Rotation(ahead, static_prologue=False))), PASS)
    loop = [op for op in after.walk() if op.name == "scf.for"][-1]
    assert len(loop.results) == ahead
    waits = [op for op in loop.walk() if isinstance(op, AwaitOp)]
    assert len(waits) == 1, "one group is forced in each iteration, so one token is awaited"


def test_groups_are_not_put_in_order() -> None:
    """FIFO is an order of completions: no task that does something depends on another."""
    for seed in range(20):
        after = run_passes(parse(wild_program(seed)), PASS)
        for op in after.walk():
            if isinstance(op, ExecuteOp) and op.dependencies:
                assert op.body.block.first_op is op.body.block.last_op


def test_mlir_accepts_the_result() -> None:
    texts = [print_custom(run_passes(parse(wild_program(seed)), PASS)) for seed in range(12)]
    mlir_opt("\n// -----\n".join(texts), "--split-input-file")


# What is refused ------------------------------------------------------------------------------------------------------


REFUSALS = {
    "a count without a limit": (
        """
func.func @f(%n: index, %k: index, %c0: index, %c1: index) {
  scf.for %i = %c0 to %n step %c1 {
    async_queue.commit 0 { async_queue.scope {} }
  }
  async_queue.wait 0, %k
  func.return
}
""",
        "'async_queue.wait' op waits for a computed count that may be any number",
    ),
    "a window that is too long": (
        """
func.func @f(%n: index, %c0: index, %c1: index) {
  scf.for %i = %c0 to %n step %c1 {
    async_queue.commit 0 { async_queue.scope {} }
    async_queue.wait 0, 100
  }
  async_queue.wait 0, 0
  func.return
}
""",
        "a window of more than 64 tokens",
    ),
    "an id without a limit": (
        """
func.func @f(%q: index) {
  async_queue.commit %q { async_queue.scope {} }
  async_queue.wait %q, 0
  func.return
}
""",
        "'async_queue.commit' op commits to a queue whose id may be any number",
    ),
    "another agent": (
        """
func.func @f() {
  %t = async.execute {
    async_queue.commit 0 { async_queue.scope {} }
    async.yield
  }
  async_queue.wait 0, 0
  func.return
}
""",
        "is run by another agent, in 'async.execute'",
    ),
    "a callee with queues": (
        """
func.func @g() {
  async_queue.wait 0, 0
  func.return
}
func.func @h() {
  func.call @g() : () -> ()
  func.return
}
func.func @f() {
  async_queue.commit 0 { async_queue.scope {} }
  func.call @h() : () -> ()
  func.return
}
""",
        "'func.call' op calls @h, which uses queues as well",
    ),
    "a callee that cannot be seen": (
        """
func.func private @g()
func.func @f() {
  async_queue.commit 0 { async_queue.scope {} }
  func.call @g() : () -> ()
  async_queue.wait 0, 0
  func.return
}
""",
        "calls @g, which has no body here",
    ),
    "a graph of blocks": (
        """
func.func @f() {
  async_queue.commit 0 { async_queue.scope {} }
  cf.br ^bb1
^bb1:
  async_queue.wait 0, 0
  func.return
}
""",
        "stands in a graph of blocks",
    ),
    "a loop of another dialect": (
        """
func.func @f() {
  affine.for %i = 0 to 4 {
    async_queue.commit 0 { async_queue.scope {} }
  }
  async_queue.wait 0, 0
  func.return
}
""",
        "stands in 'affine.for', whose control flow is not followed",
    ),
    "a loop that is still to be pipelined": (
        """
func.func @f(%a: index, %b: index, %c: index) {
  scf.for %i = %a to %b step %c {
    async_queue.block { async_queue.commit 0 { async_queue.scope {} } }
  } {software_pipeline_stage = array<i64: 0>, software_pipeline_order = array<i64: 0>}
  async_queue.wait 0, 0
  func.return
}
""",
        "stands in a loop that is still to be pipelined",
    ),
    "an address that the scope may change": (
        """
func.func @f(%table: memref<8xindex>, %c0: index) {
  async_queue.commit 0 {
    async_queue.scope {
      %i = memref.load %table[%c0] : memref<8xindex>
      memref.store %c0, %table[%i] : memref<8xindex>
    }
  }
  async_queue.wait 0, 0
  func.return
}
""",
        "'async_queue.scope' op loads what an address or a branch in it depends on from memory that it may write",
    ),
}


@pytest.mark.parametrize(("text", "reason"), REFUSALS.values(), ids=REFUSALS)
def test_refusals_name_op_reason_and_way_out_and_change_nothing(text: str, reason: str) -> None:
    module = parse(text)
    before = print_custom(module)
    with pytest.raises(RefusedError) as refusal:
        run_passes(module, PASS)
    assert reason in str(refusal.value)
    assert "help: " in str(refusal.value)
    assert print_custom(module) == before


def test_an_index_that_is_loaded_and_only_stored_is_data() -> None:
    text = """
func.func @f(%from: memref<8xindex>, %to: memref<8xindex>, %c0: index) {
  async_queue.commit 0 {
    async_queue.scope {
      %i = memref.load %from[%c0] : memref<8xindex>
      memref.store %i, %to[%c0] : memref<8xindex>
    }
  }
  async_queue.wait 0, 0
  func.return
}
"""
    before = parse(text)
    assert_same_meaning(before, run_passes(before.clone(), PASS), "f", [{"c0": 3}])


def test_a_wait_for_a_queue_of_which_nothing_is_known() -> None:
    text = """
func.func @f(%from: memref<8xf32>, %to: memref<8xf32>, %c0: index, %id: index) {
  async_queue.commit 0 {
    async_queue.scope {
      %x = memref.load %from[%c0] : memref<8xf32>
      memref.store %x, %to[%c0] : memref<8xf32>
    }
  }
  async_queue.wait %id, 0
  async_queue.wait 0, 0
  func.return
}
"""
    before = parse(text)
    assert_same_meaning(before, run_passes(before.clone(), PASS), "f", [{"c0": 3, "id": 0}, {"c0": 3, "id": 7}])


def test_a_function_without_queues_stays() -> None:
    module = parse("func.func @f(%a: memref<4xf32>) { func.return }")
    before = print_custom(module)
    assert print_custom(run_passes(module, PASS)) == before
