"""Agents take turns where the numbers of their stages are never the same, and a check of the queue knows it."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import parse, run_passes
from tests.support.threads_and_tiles import text_of
from tileas_xdsl.analysis.stage_turns import residue, take_turns
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.dialects.nv_tileaa.queue import GetOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumerReadOp

NUMBERS = {
    "0": ("", "%c0", 0),
    "5": ("%c5 = arith.constant 5 : index", "%c5", 1),
    "any": ("", "%m", None),
    "2 m": ("%a = arith.muli %m, %c2 : index", "%a", 0),
    "2 m + 1": ("%a = arith.muli %c2, %m : index\n%b = arith.addi %a, %c1 : index", "%b", 1),
    "2 m - 1": ("%a = arith.muli %c2, %m : index\n%b = arith.subi %a, %c1 : index", "%b", 1),
    "3 m": ("%c3 = arith.constant 3 : index\n%a = arith.muli %m, %c3 : index", "%a", None),
    "m - m": ("%a = arith.subi %m, %m : index", "%a", None),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_left_of_a_number_divided_by_two(name: str) -> None:
    ops, value, expected = NUMBERS[name]
    body = f"""
func.func @f(%m: index) -> index {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  {ops}
  func.return {value} : index
}}"""
    last = next(iter(parse(body).body.ops)).regions[0].block.last_op
    assert last is not None
    assert residue(last.operands[0], 2) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([], True),
        ([("%k = %c1 to %n step %c2", "%k = %c0 to %n step %c2")], False),
        ([("%k = %c1 to %n step %c2", "%k = %c1 to %n step %c1")], False),
        ([("%k = %c0 to %n step %c2", "%k = %n to %n step %c2")], False),
    ],
)
def test_turns_are_seen_in_loops(changes: list[tuple[str, str]], expected: bool) -> None:
    gets = [op for op in _changed(changes).walk() if isinstance(op, GetOp)]
    assert take_turns({number: [get.index] for number, get in enumerate(gets)}) is expected


def test_one_agent_and_agents_that_name_nothing_take_no_turns() -> None:
    gets = [op for op in _changed([]).walk() if isinstance(op, GetOp)]
    assert not take_turns({0: [gets[0].index]})
    assert not take_turns({0: [gets[0].index], 1: [None]})
    assert not take_turns({0: [gets[0].index, gets[1].index], 1: [gets[1].index]})


def test_turns_stay_turns_in_pipelines() -> None:
    module = run_passes(_changed([]), "tileas-queue-to-pipeline")
    reads = [op for op in module.walk() if isinstance(op, ConsumerReadOp)]
    assert take_turns({number: [read.stage] for number, read in enumerate(reads)})
    assert check(module).is_proved


@pytest.mark.parametrize("name", ["queue_in_turn", "products_in_turn"])
def test_queues_that_are_taken_in_turn_are_safe(name: str) -> None:
    assert check(parse(text_of(name))).is_proved


def test_an_agent_that_skips_its_turn_blocks_the_queue() -> None:
    report = check(_changed([("%k = %c1 to %n step %c2", "%k = %c1 to %c1 step %c2")]))
    assert report.verdict is Verdict.VIOLATION


def test_agents_that_name_the_same_stages_have_to_take_all() -> None:
    """Both take the even ones: the odd ones stay where they are."""
    report = check(_changed([("%k = %c1 to %n step %c2", "%k = %c0 to %n step %c2")]))
    assert report.verdict is Verdict.VIOLATION


def _changed(changes: list[tuple[str, str]]) -> ModuleOp:
    text = text_of("queue_in_turn")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse(text)
