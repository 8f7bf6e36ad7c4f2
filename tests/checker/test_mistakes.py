"""Violations with one cause are one mistake; those of independent mistakes stay apart."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp

from examples.zoo.exhibits import SMALL_TRIP_COUNTS, Exhibit, checked, exhibits
from examples.zoo.in_ttgir import NOT_IN_TTGIR
from tests.support.exchanged_agents import exchanges
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.mistakes import mistakes_of
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.front_door import parse

ALL = exhibits()
IN_TTGIR = [exhibit for exhibit in ALL if exhibit.name not in NOT_IN_TTGIR]
AT_LEAST = 0.97
"""Of the programs with one mistake, so many in one have to show one."""


def reports(*, ttgir: bool) -> list[Report]:
    if ttgir:
        return [checked(exhibit.bad.with_suffix(".ttgir"), SMALL_TRIP_COUNTS) for exhibit in IN_TTGIR]
    return [exhibit.report_on_bad for exhibit in ALL]


@pytest.mark.parametrize("ttgir", [False, True], ids=["mlir", "ttgir"])
def test_one_planted_mistake_is_one(ttgir: bool) -> None:
    numbers = [len(report.mistakes) for report in reports(ttgir=ttgir)]
    assert min(numbers) == 1
    assert numbers.count(1) >= AT_LEAST * len(numbers)
    assert max(numbers) <= 2


@pytest.mark.parametrize("exhibit", ALL, ids=lambda exhibit: exhibit.name)
def test_every_finding_belongs_to_one_mistake(exhibit: Exhibit) -> None:
    report = exhibit.report_on_bad
    told = [id(finding) for mistake in report.mistakes for finding in mistake.findings]
    assert sorted(told) == sorted(map(id, report.findings))
    data = report.as_data()["mistakes"]
    assert sorted(place for each in data for place in (each["first"], *each["also"])) == list(range(len(told)))


MORE_BY_ORDER = {"elected-in-every-warp": "with another order a phase of 'empty' is passed before any of 'full'"}
"""Exhibits of which another order of agents shows more mistakes, and why."""


@pytest.mark.parametrize("exhibit", ALL, ids=lambda exhibit: exhibit.name)
def test_the_order_of_findings_changes_no_mistake(exhibit: Exhibit) -> None:
    """As far as one call is concerned: an earlier call comes first."""
    report = exhibit.report_on_bad
    calls = list(dict.fromkeys(finding.call for finding in report.findings))
    turned = sorted(reversed(report.findings), key=lambda finding: calls.index(finding.call))
    assert mistakes_of(turned) == report.mistakes


@pytest.mark.parametrize("exhibit", ALL, ids=lambda exhibit: exhibit.name)
def test_the_order_of_agents_changes_no_number_of_mistakes(exhibit: Exhibit) -> None:
    text = exhibit.bad.read_text()
    for exchange in exchanges(text):
        with exchange.on_machine():
            report = check(exchange.of(text), trip_counts=SMALL_TRIP_COUNTS, judge_waits=False)
        more = exhibit.name in MORE_BY_ORDER
        assert 0 <= len(report.mistakes) - len(exhibit.report_on_bad.mistakes) <= more, exchange.name


# Two mistakes ---------------------------------------------------------------------------------------------------------


def renamed(text: str, suffix: str) -> ModuleOp:
    """The program with other names of its functions and of what it allocates."""
    return parse(re.sub(r"@([A-Za-z_][\w.]*)", rf"@\1_{suffix}", text))


def behind_each_other(first: str, second: str) -> ModuleOp | None:
    """One function that does what the two programs do, one after the other; None where one of them has several."""
    one, two = renamed(first, "one"), renamed(second, "two")
    functions = [[op for op in module.walk() if isinstance(op, FuncOp) and op.body.blocks] for module in (one, two)]
    if [len(each) for each in functions] != [1, 1] or any(len(each[0].body.blocks) != 1 for each in functions):
        return None
    ahead, behind = functions[0][0], functions[1][0]
    if ahead.attributes != behind.attributes or ahead.function_type.outputs or behind.function_type.outputs:
        return None
    block, other = ahead.body.block, behind.body.block
    for argument in other.args:
        argument.replace_all_uses_with(block.insert_arg(argument.type, len(block.args)))
    last = block.last_op
    assert last is not None
    last.detach()
    for op in list(other.ops):
        op.detach()
        block.add_op(op)
    ahead.function_type = FunctionType.from_lists([each.type for each in block.args], [])
    behind.detach()
    for op in list(two.body.block.ops):
        op.detach()
        one.body.block.insert_op_before(op, ahead)
    one.verify()
    return one


RACES = [exhibit for exhibit in ALL if set(exhibit.report_on_bad.kinds) == {"race"}]
"""An execution goes on behind a race, so that it comes to what is put behind."""
PAIRS = [
    (one, two, both)
    for one, two in pairwise(RACES)
    if (both := behind_each_other(one.bad.read_text(), two.bad.read_text())) is not None
]


@pytest.mark.parametrize(("one", "two", "both"), PAIRS, ids=lambda each: each.name if isinstance(each, Exhibit) else "")
def test_two_mistakes_behind_each_other_are_two(one: Exhibit, two: Exhibit, both: ModuleOp) -> None:
    report = check(both, trip_counts=(1, 2, 4), judge_waits=False)
    assert len(report.mistakes) == 2, str(report)
    alone = [len(each.report_on_bad.mistakes) for each in (one, two)]
    assert alone == [1, 1]


def test_there_are_pairs() -> None:
    assert len(PAIRS) >= 15


def test_what_two_functions_do_is_two_mistakes() -> None:
    text = next(exhibit for exhibit in ALL if exhibit.name == "commit-after-wait").bad.read_text()
    one, two = renamed(text, "one"), renamed(text, "two")
    for op in list(two.body.block.ops):
        op.detach()
        one.body.block.add_op(op)
    report = check(one, trip_counts=SMALL_TRIP_COUNTS)
    assert [mistake.first.function[-4:] for mistake in report.mistakes] == ["_one", "_two"]
    assert [len(mistake.also) for mistake in report.mistakes] == [1, 1]


# What comes first -----------------------------------------------------------------------------------------------------


def of_zoo(name: str) -> Report:
    return next(exhibit for exhibit in ALL if exhibit.name == name).report_on_bad


def test_the_cause_comes_first_and_then_what_is_noticed() -> None:
    (mistake,) = of_zoo("copy-cluster-parity").mistakes
    assert mistake.first.violation.symptom == "race"
    assert [str(each.violation.kind) for each in mistake.also] == ["deadlock", "undrained", "phase"]


def test_the_earlier_iteration_comes_first() -> None:
    """A copy races with the read behind it, and only one turn later with the next copy."""
    (mistake,) = of_zoo("offset-that-wraps").mistakes
    assert [each.violation.message[:16] for each in mistake.findings] == ["read after write", "write after writ"]


def test_a_blocked_agent_that_would_arrive_is_no_second_mistake() -> None:
    """The other barrier lacks an arrival only because the agent that makes it stands still at the first one."""
    (mistake,) = of_zoo("unexpected-bytes").mistakes
    assert all("'full'" in each.violation.message for each in mistake.findings)


def test_a_weak_wait_is_one_mistake_on_two_arrays() -> None:
    (mistake,) = of_zoo("interleaved-prologue").mistakes
    assert {array for each in mistake.findings for array in ("'sa'", "'sb'") if array in each.violation.message} == {
        "'sa'",
        "'sb'",
    }
