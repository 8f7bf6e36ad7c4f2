"""
Executions of proofs that are put aside at a question and go on later (`checker.decisions`, `machine.twins`): as if
they had been executed from the start.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.checker.nest_programs import nest
from tests.support.ir import parse
from tests.support.thread_kernels import threads_of
from tileas_xdsl.checker.decisions.graph import Explorer, Graph
from tileas_xdsl.checker.decisions.prove import Problem, ProofByDecisions, problem_of, prove_all_counts
from tileas_xdsl.checker.decisions.steered_run import KeepTwin, LoopHead, PutAside, SteeredRun
from tileas_xdsl.checker.snapshot.settled import EVERYTHING
from tileas_xdsl.checker.verdict.cases import Case
from tileas_xdsl.checker.verdict.deciding import Subject
from tileas_xdsl.checker.verdict.loop_bounds import bounding_arguments
from tileas_xdsl.checker.verdict.proving import _steer  # pyright: ignore[reportPrivateUsage]
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.machine.arguments import find_function
from tileas_xdsl.machine.twins import Twins

ROOT = Path(__file__).parents[2]
EDGES = ROOT / "tests" / "checker" / "edges"
PROGRAMS: Mapping[str, str] = {
    "barriers": nest(2),
    "as often as the tile says": nest(2, steps="%c0 to %t step %c1", consumer_steps="%c0 to %t step %c1"),
    "half as many steps": nest(
        2,
        before="%some = arith.divui %m, %c2 : i32",
        steps="%c0 to %some step %c1",
        consumer_before="%some = arith.divui %m, %c2 : i32",
        consumer_steps="%c0 to %some step %c1",
    ),
    "three loops": (EDGES / "three_args.mlir").read_text(),
    "tokens": (EDGES / "tileas_token_lag.mlir").read_text(),
    "states of barriers": (EDGES / "state_token_wait.mlir").read_text(),
    "queues": """
func.func @k(%v: tensor<8xf32>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 3>
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    scf.for %t = %c0 to %n step %c1 {
      scf.for %k = %c0 to %m step %c1 {
        nv_tileaa.queue.put %q, %v : (!nv_tileaa.queue<[tensor<8xf32>], depth = 3>, tensor<8xf32>) -> ()
      }
    }
  }, {
    scf.for %t = %c0 to %n step %c1 {
      scf.for %k = %c0 to %m step %c1 {
        %x = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 3>) -> tensor<8xf32>
      }
    }
  } : () -> ()
  func.return
}""",
    "groups": """
func.func @k(%x: memref<?xf32>, %s: memref<2xf32, 3>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    async_queue.wait 0, 1
    async_queue.commit 0 {
      async_queue.scope {
        %v = memref.load %x[%i] : memref<?xf32>
        memref.store %v, %s[%c0] : memref<2xf32, 3>
      }
    }
    async_queue.wait 0, 0
  }
  func.return
}""",
}


def problem(text: str) -> Problem:
    op, body = find_function(parse(text), None)
    names = bounding_arguments(body)
    case = Case("k", Subject(op, body), {}, names, Report(["k"], ()), lambda _: None)
    return problem_of(body, names, partial(_steer, case))


class Wanderer:
    """Decides at random, or as `decisions` say, keeps the states that it has seen, and a twin of each."""

    def __init__(self, decisions: list[bool]) -> None:
        self.decisions = decisions
        self.states: list[tuple[Any, ...]] = []
        self.twins: list[PutAside] = []

    @property
    def compares_places(self) -> bool:
        return True

    def decided(self) -> bool | None:
        return None

    def goes_on(self, question: LoopHead, keep_twin: KeepTwin) -> bool:
        snapshot = question.snapshot
        self.states.append((question.agent, question.op, question.went_wrong, snapshot.shape, snapshot.numbers))
        twin = keep_twin()
        assert twin is not None
        self.twins.append(twin)
        number = len(self.states) - 1
        return number < len(self.decisions) and self.decisions[number]


def steered(of: Problem, guide: Wanderer) -> SteeredRun:
    return SteeredRun(
        guide,
        of.opened.loops,
        of.opened.comparisons,
        of.demands,
        EVERYTHING,
        as_slots_turn=True,
        gathers_leftovers=True,
    )


def said(run: SteeredRun, begin: int = 0) -> list[str]:
    """What the entries of a run are about."""
    return [f"{type(entry).__name__} {getattr(entry, 'op', '')!s:.60}" for entry in run.entries[begin:]]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_twin_goes_on_as_its_original_and_leaves_it_alone(name: str) -> None:
    of = problem(PROGRAMS[name])
    draw = random.Random(name)
    decisions = [draw.random() < 0.8 for _ in range(24)]
    guide = Wanderer(decisions)
    run = steered(of, guide)
    is_right = of.execute(of.opened, run, None)
    assert guide.states
    for number in sorted({*draw.sample(range(len(guide.twins)), k=min(3, len(guide.twins))), len(guide.twins) - 1}):
        twin = guide.twins[number]
        later = twin.run.guide = Wanderer(decisions[number:])
        assert of.execute(of.opened, twin.run, twin) is is_right
        assert later.states == guide.states[number:]
        assert len(twin.run.entries) > 0
        assert said(twin.run) == said(run, len(run.entries) - len(twin.run.entries))
        assert twin.run.contest.found == run.contest.found


def proof_and_steps(of: Problem, monkeypatch: pytest.MonkeyPatch) -> tuple[ProofByDecisions, int]:
    """The proof, and how many steps were executed for it."""
    steps = 0
    original = SteeredRun.step

    def step(self: SteeredRun, *arguments: Any) -> Any:
        nonlocal steps
        steps += 1
        return original(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(SteeredRun, "step", step)
        return prove_all_counts(of), steps


def test_a_twin_is_no_larger_after_many_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each product adds to the one before, and is of a group that has been waited for: neither keeps the old ones."""
    copied: list[int] = []
    original = Twins.of

    def of(self: Twins, thing: Any) -> Any:
        twin = original(self, thing)
        copied.append(self.filled)
        return twin

    monkeypatch.setattr(Twins, "of", of)
    prove_all_counts(problem(str(threads_of("gemm_64x64x16", "warp-specialize", "sm_90a"))))
    # A turn leaves an empty group of each of four warps.
    assert copied[-1] - copied[-9] < 8 * 10


@pytest.mark.parametrize("name", PROGRAMS)
def test_proofs_are_the_same_with_executions_from_the_start(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of = problem(PROGRAMS[name])
    proof, steps = proof_and_steps(of, monkeypatch)

    def nothing(*_: object) -> None:
        return None

    monkeypatch.setattr(Graph, "put_aside", nothing)
    from_the_start, all_steps = proof_and_steps(of, monkeypatch)
    assert replace(proof, executions=0) == replace(from_the_start, executions=0)
    assert steps < all_steps


@pytest.mark.parametrize("name", PROGRAMS)
def test_proofs_are_the_same_with_executions_to_the_end(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all that follows is known, an execution need not go on."""
    of = problem(PROGRAMS[name])
    proof, steps = proof_and_steps(of, monkeypatch)

    def goes_on(_: Explorer) -> None:
        return None

    monkeypatch.setattr(Explorer, "_end_here", goes_on)
    to_the_end, all_steps = proof_and_steps(of, monkeypatch)
    assert proof == to_the_end
    assert steps <= all_steps


def test_executions_of_a_nest_end_where_all_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    merged: list[Explorer] = []
    original = Explorer.take_visits

    def take_visits(self: Explorer, run: SteeredRun) -> None:
        merged.extend([self] if self.is_merged else [])
        original(self, run)

    monkeypatch.setattr(Explorer, "take_visits", take_visits)
    prove_all_counts(problem(PROGRAMS["barriers"]))
    assert merged


def test_steps_grow_with_the_states_and_not_with_their_square(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ring of twice as many slots has about twice as many states. From the start, the way to each is as long."""
    (few, steps), (many, more_steps) = (
        proof_and_steps(
            problem(nest(slots, steps="%c0 to %c1024 step %c1", consumer_steps="%c0 to %c1024 step %c1")), monkeypatch
        )
        for slots in (2, 4)
    )
    assert more_steps / steps < 1.5 * many.states / few.states
