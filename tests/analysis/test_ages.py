"""Ages against the enumeration of all runs of random programs; and, case by case, what is not counted and why."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation

from tests.analysis.flow_programs import TooManyRunsError, ages_by_enumeration, flow_program
from tests.support.corpora import corpus, sample
from tests.support.ir import parse
from tileas_xdsl.analysis.ages import Age, Ages, Commit, describe_path
from tileas_xdsl.analysis.forward_flow import Arrival, FlowClient, analyse
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.async_queue import CommitOp, WaitOp
from tileas_xdsl.interfaces import FunctionOpInterface, functions_in

PROGRAMS = sample(range(400), 40)


def planned(op: Operation) -> Sequence[Commit]:
    """The commits of `test.commit` and `test.commit_to`; the queue of the latter is unknown."""
    if op_name(op) == "test.commit":
        queue = op.attributes["queue"]
        assert isinstance(queue, IntegerAttr)
        return (Commit(op.results[0], queue.value.data),)
    if op_name(op) == "test.commit_to":
        return (Commit(op.results[0], None),)
    return ()


def function_of(module: ModuleOp, name: str = "f") -> Operation:
    named = {view.function_name: op for op in functions_in(module) if (view := FunctionOpInterface.of(op)) is not None}
    return named[name]


def ages_at_waits(text: str, name: str = "f") -> list[Age | None]:
    """The age of each `test.wait`'s token, in program order."""
    function = function_of(parse(text, allow_unregistered=True), name)
    ages = Ages(function, planned)
    return [ages.age(op.operands[0], op) for op in function.walk() if op_name(op) == "test.wait"]


def counts(text: str, name: str = "f") -> list[int | None]:
    return [None if age is None else age.count for age in ages_at_waits(text, name)]


# All runs -------------------------------------------------------------------------------------------------------------


@corpus(len(PROGRAMS))
def test_ages_are_the_least_over_all_runs():
    """Exact wherever the token is of one queue; a token of one queue or another has age 0."""
    asked = mixed = 0
    for seed in PROGRAMS:
        module = parse(flow_program(seed), allow_unregistered=True)
        function = function_of(module)
        try:
            least = ages_by_enumeration(module)
        except TooManyRunsError:
            continue
        ages = Ages(function, planned)
        for op in function.walk():
            if op_name(op) != "test.wait":
                continue
            age = ages.age(op.operands[0], op)
            assert (age is None) == (op not in least), (seed, op)
            if age is None:
                continue
            assert age.followed
            asked += 1
            if age.queue is None:
                mixed += 1
                assert age.count == 0
                continue
            assert age.count == least[op], (seed, age)
            # The path is one that attains the age: so many groups of this queue are on it, after the first.
            assert age.path is not None
            _, *rest = age.path.steps()
            assert sum(step.edge is None for step in rest) == age.count
    assert asked > 4 * len(PROGRAMS)
    assert mixed < asked // 10


# Loops ----------------------------------------------------------------------------------------------------------------

ROTATING = """
func.func @f(%lb: index, %ub: index, %step: index) {
  %0 = "test.commit"() {queue = 0} : () -> !async.token
  %1 = "test.commit"() {queue = 0} : () -> !async.token
  %2:2 = scf.for %i = %lb to %ub step %step iter_args(%a = %0, %b = %1) -> (!async.token, !async.token) {
    %c = "test.commit"() {queue = 0} : () -> !async.token
    "test.wait"(%a) : (!async.token) -> ()
    scf.yield %b, %c : !async.token, !async.token
  }
  "test.wait"(%2#0) : (!async.token) -> ()
  "test.wait"(%2#1) : (!async.token) -> ()
  func.return
}
"""


def test_rotating_tokens():
    assert counts(ROTATING) == [2, 1, 0]


def test_a_path_is_told():
    module = parse(ROTATING, allow_unregistered=True)
    function = function_of(module)
    wait = next(op for op in function.walk() if op_name(op) == "test.wait")
    age = Ages(function, planned).age(wait.operands[0], wait)
    assert age is not None
    text = describe_path(age)
    assert text.startswith("committed by ")
    assert text.count("'builtin.unregistered'") + text.count("'test.commit'") == 3


def test_a_loop_that_may_not_run_counts_nothing_and_one_that_does_counts_each_trip():
    text = """
    func.func @f(%n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c5 = arith.constant 5 : index
      %t = "test.commit"() {queue = 0} : () -> !async.token
      scf.for %i = %c0 to %n step %c1 {
        "test.wait"(%t) : (!async.token) -> ()
        %u = "test.commit"() {queue = 0} : () -> !async.token
      }
      "test.wait"(%t) : (!async.token) -> ()
      scf.for %i = %c0 to %c5 step %c1 {
        %u = "test.commit"() {queue = 0} : () -> !async.token
      }
      "test.wait"(%t) : (!async.token) -> ()
      scf.for %i = %c5 to %c5 step %c1 {
        "test.wait"(%t) : (!async.token) -> ()
      }
      func.return
    }
    """
    assert counts(text) == [0, 0, 5, None]


def test_a_long_constant_loop_runs_at_least_once():
    text = """
    func.func @f() {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %many = arith.constant 100000 : index
      %t = "test.commit"() {queue = 0} : () -> !async.token
      scf.for %i = %c0 to %many step %c1 {
        %u = "test.commit"() {queue = 0} : () -> !async.token
      }
      "test.wait"(%t) : (!async.token) -> ()
      func.return
    }
    """
    assert counts(text) == [1]


# Queues that cannot be told apart -------------------------------------------------------------------------------------


def test_a_token_of_one_queue_or_another_has_age_zero():
    text = """
    func.func @f(%c: i1) {
      %t = "test.commit"() {queue = 0} : () -> !async.token
      %u = "test.commit"() {queue = 1} : () -> !async.token
      %v = "test.commit"() {queue = 1} : () -> !async.token
      %w = arith.select %c, %t, %u : !async.token
      %x = scf.if %c -> (!async.token) {
        scf.yield %t : !async.token
      } else {
        scf.yield %u : !async.token
      }
      "test.wait"(%x) : (!async.token) -> ()
      "test.wait"(%u) : (!async.token) -> ()
      "test.wait"(%w) : (!async.token) -> ()
      func.return
    }
    """
    chosen, known, selected = ages_at_waits(text)
    assert chosen is not None
    assert (chosen.queue, chosen.count, chosen.followed) == (None, 0, True)
    assert known is not None
    assert (known.queue, known.count) == (1, 1)
    assert selected is not None
    assert (selected.queue, selected.count, selected.followed) == (None, 0, True)


def test_a_chosen_token_of_one_queue_has_the_lesser_age():
    text = """
    func.func @f(%c: i1) {
      %t = "test.commit"() {queue = 0} : () -> !async.token
      %u = "test.commit"() {queue = 0} : () -> !async.token
      %v = arith.select %c, %t, %u : !async.token
      %w = "test.commit"() {queue = 0} : () -> !async.token
      "test.wait"(%v) : (!async.token) -> ()
      func.return
    }
    """
    assert counts(text) == [1]


def test_groups_of_unknown_queues_are_not_counted():
    text = """
    func.func @f() {
      %t = "test.commit"() {queue = 0} : () -> !async.token
      %u = "test.commit_to"() : () -> !async.token
      %v = "test.commit_to"() : () -> !async.token
      "test.wait"(%t) : (!async.token) -> ()
      "test.wait"(%u) : (!async.token) -> ()
      func.return
    }
    """
    assert counts(text) == [0, 0]


def test_tokens_from_where_nobody_looked_are_not_followed():
    text = """
    func.func private @outside() -> !async.token
    func.func @f(%t: !async.token, %m: memref<!async.token>) {
      %u = func.call @outside() : () -> !async.token
      %v = memref.load %m[] : memref<!async.token>
      "test.wait"(%t) : (!async.token) -> ()
      "test.wait"(%u) : (!async.token) -> ()
      "test.wait"(%v) : (!async.token) -> ()
      func.return
    }
    """
    ages = ages_at_waits(text)
    assert [age is not None and age.followed for age in ages] == [False, False, False]


def test_a_recursive_call_is_not_followed():
    text = """
    func.func @f(%c: i1) -> !async.token {
      %t = "test.commit"() {queue = 0} : () -> !async.token
      %u = func.call @f(%c) : (i1) -> !async.token
      "test.wait"(%t) : (!async.token) -> ()
      "test.wait"(%u) : (!async.token) -> ()
      func.return %t : !async.token
    }
    """
    mine, other = ages_at_waits(text)
    assert mine is not None
    assert (mine.count, mine.followed) == (0, True)
    assert other is not None
    assert not other.followed


def test_work_of_others_is_not_counted():
    text = """
    func.func @f() {
      %t = "test.commit"() {queue = 0} : () -> !async.token
      %task = async.execute {
        %u = "test.commit"() {queue = 0} : () -> !async.token
        "test.wait"(%t) : (!async.token) -> ()
        async.yield
      }
      "test.wait"(%t) : (!async.token) -> ()
      func.return
    }
    """
    assert counts(text) == [1, 0]


# Graphs of blocks and regions of unknown ops --------------------------------------------------------------------------


def test_a_graph_of_blocks():
    text = """
    func.func @f(%c: i1) {
      %0 = "test.commit"() {queue = 0} : () -> !async.token
      %1 = "test.commit"() {queue = 0} : () -> !async.token
      cf.br ^head(%0, %1 : !async.token, !async.token)
    ^head(%a: !async.token, %b: !async.token):
      "test.wait"(%a) : (!async.token) -> ()
      cf.cond_br %c, ^body, ^exit
    ^body:
      %d = "test.commit"() {queue = 0} : () -> !async.token
      cf.br ^head(%b, %d : !async.token, !async.token)
    ^exit:
      "test.wait"(%b) : (!async.token) -> ()
      "test.wait"(%0) : (!async.token) -> ()
      func.return
    }
    """
    assert counts(text) == [1, 0, 1]


def test_an_unknown_region_runs_any_number_of_times():
    text = """
    func.func @f() {
      %t = "test.commit"() {queue = 0} : () -> !async.token
      "test.region"() ({
        "test.wait"(%t) : (!async.token) -> ()
        %u = "test.commit"() {queue = 0} : () -> !async.token
      }) : () -> ()
      "test.wait"(%t) : (!async.token) -> ()
      func.return
    }
    """
    assert counts(text) == [0, 0]


# Commits of async_queue and nvgpu -------------------------------------------------------------------------------------


def waits_of(text: str) -> list[list[tuple[str, int, bool]]]:
    """For each `async_queue.wait`, in program order: for each commit before it its queue, age, and whether known."""
    function = function_of(parse(text))
    ages = Ages(function)
    return [
        [(str(op), age.count, age.queue is not None) for op, age in ages.at(wait).items() if isinstance(op, CommitOp)]
        for wait in function.walk()
        if isinstance(wait, WaitOp)
    ]


def test_the_age_of_a_commit_is_that_of_its_latest_group():
    text = """
    func.func @f(%n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      async_queue.commit 0
      async_queue.commit 1
      scf.for %i = %c0 to %n step %c1 {
        async_queue.commit 0 {
          async_queue.wait 0, 0
        }
        async_queue.wait 0, 0
      }
      func.return
    }
    """
    inside, after = waits_of(text)
    # The wait inside comes before its own group, which is the one of the iteration before, or none yet.
    assert [count for _, count, _ in inside] == [0, 0, 0]
    assert [count for _, count, _ in after] == [1, 0, 0]


def test_a_computed_queue_is_itself_while_it_is_computed_once():
    text = """
    func.func @f(%n: index, %q: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      async_queue.commit %q
      async_queue.commit 0
      async_queue.commit %q
      async_queue.wait %q, 0
      scf.for %i = %c0 to %n step %c1 {
        async_queue.commit %i
        async_queue.commit %i
        async_queue.wait %i, 0
      }
      func.return
    }
    """
    outside, inside = waits_of(text)
    assert [(count, known) for _, count, known in outside] == [(1, True), (0, True), (0, True)]
    assert [(count, known) for _, count, known in inside][3:] == [(0, False), (0, False)]


# The driver, for any client -------------------------------------------------------------------------------------------


class _Fewest(FlowClient[int]):
    """The least number of commits on any path."""

    def leave(self, op: Operation, state: int) -> int:
        return state + len(planned(op))

    def join(self, arrivals: Sequence[Arrival[int]]) -> int:
        return min(arrival.state for arrival in arrivals)


@pytest.mark.parametrize(("text", "expected"), [(ROTATING, 2), ("func.func @f() {\nfunc.return\n}", 0)])
def test_a_client_of_its_own(text: str, expected: int):
    flow = analyse(function_of(parse(text, allow_unregistered=True)), _Fewest(), 0)
    assert flow.end == expected


def test_a_function_that_never_returns_has_no_end():
    text = """
    func.func @f() {
      %t = "test.commit"() {queue = 0} : () -> !async.token
      cf.br ^loop
    ^loop:
      %u = "test.commit"() {queue = 0} : () -> !async.token
      cf.br ^loop
    }
    """
    function = function_of(parse(text, allow_unregistered=True))
    flow = analyse(function, _Fewest(), 0)
    assert flow.end is None
    assert list(flow.before.values()) == [0, 1, 1, 2]
