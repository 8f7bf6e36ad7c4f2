"""
The checker finds every small fault that is put into a right program, except for equivalent mutants (`bench/mutate.py`).

`TILEAS_CASES=full` takes all mutants, otherwise every 25th of each kind, from another one on with each `TILEAS_SEED`.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest

from bench import mutate
from bench.mutation import judging
from bench.mutation.changes import Mutant, mutants
from bench.mutation.judging import Outcome, judge
from bench.mutation.programs import Program, right_programs
from bench.mutation.reasons import reason
from tests.support.corpora import FULL, SEED, corpus
from tests.support.ir import ROOT, parse
from tileas_xdsl.checker.verdict.report import Report

EVERY = 1 if FULL else 25

DECIDED_WRONGLY = {Outcome.MISSED, Outcome.FALSE_ALARM, Outcome.UNDECIDED}

TASKS = """
func.func @f(%a: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  %x = arith.constant 7 : i32
  %done = async.execute {
    memref.store %x, %a[%c0] : memref<4xi32>
    async.yield
  }
  async.await %done : !async.token
  %y = memref.load %a[%c0] : memref<4xi32>
  func.return
}"""


def program(text: str, function: str = "f") -> Program:
    return Program(ROOT / "examples" / "made-up.mlir", function, parse(text), range(2))


def only(text: str, kind: str) -> Mutant:
    (found,) = [mutant for mutant in mutants(program(text)) if mutant.kind == kind]
    return found


PAGE = (ROOT / "docs" / "mutation.md").read_text()
OF_PAGE = {
    row[1]: [int(cell) if cell.strip() else 0 for cell in row[2].split("|")]
    for row in re.finditer(r"^\| (\w+) \|((?: \d* ?\|?)+)\|$", PAGE, re.MULTILINE)
}
"""Kind of change -> how many mutants, and how many of them are killed, stricter, equivalent: as the page says."""


# All of them ----------------------------------------------------------------------------------------------------------


@corpus(lambda: len(right_programs()))
def test_what_is_wrong_is_rejected_and_nothing_else() -> None:
    judged = mutate.judgements(EVERY, first=SEED % EVERY)
    wrong = [str(judgement) for judgement in judged if judgement.outcome in DECIDED_WRONGLY]
    assert not wrong, "\n".join(wrong)
    counts = Counter(judgement.outcome for judgement in judged)
    assert counts[Outcome.UNJUDGED] * 50 <= len(judged)
    assert counts[Outcome.KILLED] > 0.6 * len(judged)
    assert {judgement.mutant.kind for judgement in judged} == {
        *("drop", "count", "bytes", "parity", "slot", "swap"),
        *("switch", "life", "answer", "expectation", "turn"),
    }
    if FULL:
        became = Counter((judgement.mutant.kind, judgement.outcome) for judgement in judged)
        shown = (Outcome.KILLED, Outcome.STRICTER, Outcome.EQUIVALENT)
        assert {kind: [became[kind, outcome] for outcome in shown] for kind in OF_PAGE} == {
            kind: row[1:] for kind, row in OF_PAGE.items()
        }


def test_the_page_has_all_mutants() -> None:
    """What becomes of them it says, too; that is held where all of them are judged."""
    counts = Counter(mutant.kind for each in right_programs() for mutant in mutants(each))
    assert {kind: row[0] for kind, row in OF_PAGE.items()} == counts
    assert all(number == sum(outcomes) for number, *outcomes in OF_PAGE.values())
    assert f"All {sum(row[1] + row[2] for row in OF_PAGE.values()):,} mutants that are wrong are caught" in PAGE


NOT_EXPLORED = {
    "barrier-over-lds-transfers.good.mlir",
    "barrier-without-counters.good.mlir",
    "cleared-by-one-thread.good.mlir",
    "copy-in-two-groups.good.mlir",
    "descriptor-of-the-next-group.good.mlir",
    "external-arrays-alias.good.mlir",
    "first-block-of-causal.good.mlir",
    "read-before-grid-wait.good.mlir",
    "rows-by-thread.good.mlir",
    "scratch-of-the-block.good.mlir",
    "split-loop-tail.good.mlir",
    "stored-and-loaded-back.good.mlir",
    "weights-over-scores.good.mlir",
}
"""Right programs with ops that the explorer does not know, or with waves at barriers, or block ids."""


def test_programs_are_the_right_ones_of_zoo_and_examples() -> None:
    names = {program.path.name for program in right_programs()}
    assert {path.name for path in (ROOT / "examples" / "zoo").glob("*.good.mlir")} - names == NOT_EXPLORED
    assert {"gemm_queue.mlir", "cp_async_ring.mlir", "async_tasks.mlir"} < names
    assert "double_buffer_race.mlir" not in names


# What is changed ------------------------------------------------------------------------------------------------------


def test_a_wait_is_dropped_and_comes_too_late() -> None:
    made = [(mutant.kind, mutant.what) for mutant in mutants(program(TASKS))]
    assert made == [
        ("drop", "is dropped"),
        ("swap", "comes after 'memref.load'"),
    ]


def test_what_makes_a_phase_wait_comes_behind_the_arrival() -> None:
    text = """
      func.func @f(%bar: !llvm.ptr<3>) {
        %c4 = arith.constant 4 : i32
        nvvm.mbarrier.arrive.expect_tx %bar, %c4 : !llvm.ptr<3>, i32
        nvvm.cp.async.mbarrier.arrive %bar : !llvm.ptr<3>
        func.return
      }"""
    later, counted = [mutant for mutant in mutants(program(text)) if mutant.kind == "expectation"]
    names = [op.name for op in later.module.walk()]
    assert names.index("nvvm.mbarrier.expect_tx") == names.index("nvvm.mbarrier.arrive") + 1
    assert "noinc = true" in str(counted.module)


def test_what_stands_in_a_region_stays_when_its_op_is_dropped() -> None:
    text = """
      func.func @f(%a: memref<4xi32>) {
        %c0 = arith.constant 0 : index
        async_queue.commit 0 {
          async_queue.scope {
            %x = memref.load %a[%c0] : memref<4xi32>
          }
        }
        async_queue.wait 0, 0 {
          %y = memref.load %a[%c0] : memref<4xi32>
        }
        func.return
      }"""
    made = [mutant for mutant in mutants(program(text)) if mutant.kind == "drop" and "wait" in mutant.ops[0]]
    assert len(made) == 1
    assert [op.name for op in made[0].module.walk()].count("memref.load") == 2


def test_what_the_verifier_refuses_is_no_mutant() -> None:
    """The number of a queue may not be negative, so that of queue 0 has one mutant only."""
    text = "func.func @f() {\n  async_queue.wait 0, 0\n  func.return\n}"
    assert [(mutant.kind, mutant.what) for mutant in mutants(program(text))] == [
        ("drop", "is dropped"),
        ("count", "its count is 1 more"),
        ("slot", "its queue is 1 more"),
    ]


def test_only_the_function_that_is_checked_and_what_it_may_call_are_changed() -> None:
    text = TASKS + TASKS.replace("@f", "@g") + "\nfunc.func private @h() {\n  rocdl.asyncmark\n  func.return\n}"
    assert [mutant.ops[0] for mutant in mutants(program(text))] == [
        "async.await",
        "rocdl.asyncmark",
        "async.await",
    ]


def test_the_program_itself_is_left_alone() -> None:
    made_from = program(TASKS)
    before = str(made_from.module)
    assert len(list(mutants(made_from))) == 2
    assert str(made_from.module) == before


# Judging --------------------------------------------------------------------------------------------------------------


def test_a_dropped_wait_is_killed() -> None:
    found = judge(only(TASKS, "drop"))
    assert (found.outcome, found.checked) == (Outcome.KILLED, "race, undrained")
    assert found.explored == "race, undrained for trip count 0"


def test_a_checker_that_sees_nothing_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "check", lambda *_, **__: Report(["f"], (0,)))
    assert judge(only(TASKS, "drop")).outcome is Outcome.MISSED


def test_a_checker_that_sees_ghosts_raises_a_false_alarm() -> None:
    """As if the checker found a mistake that is none: here the explorer is made to find nothing."""
    mutant = only(TASKS, "drop")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging, "explore", lambda *_, **__: judging.Exploration())
        assert judge(mutant).outcome is Outcome.FALSE_ALARM


def test_an_explorer_that_gives_up_leaves_it_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def gives_up(*_: object, **__: object) -> None:
        raise judging.TooLargeError("more than 3 states")

    monkeypatch.setattr(judging, "explore", gives_up)
    assert judge(only(TASKS, "drop")).outcome is Outcome.UNJUDGED


def test_a_survivor_has_a_reason() -> None:
    text = TASKS.replace("  %y = memref.load %a[%c0] : memref<4xi32>\n", "  async.await %done : !async.token\n")
    first, *_ = mutants(program(text))
    assert judge(first).outcome is Outcome.EQUIVALENT
    assert "waited for again" in (reason(first) or "")
