"""Loops written as `scf.while` are proved like their twins of `scf.for`; as blocks they are checked like them."""

from __future__ import annotations

import pytest
from xdsl.dialects import cf, scf

from tests.checker.looping_programs import RIGHT_CONSUMER, RIGHT_PARITY, barriers, tokens, window
from tests.checker.test_handshake import READ, RELEASE, handshake
from tests.support.ir import parse
from tests.support.other_loops import as_blocks, as_while
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict

NONE_LEFT = "%allowed = arith.addi %c0, %c0 : index"
KEPT = "%allowed = arith.addi %keep, %c0 : index"

PROVED = {
    "a task a turn": tokens(1),
    "tasks carried for two turns": tokens(2),
    "tasks carried for three turns": tokens(3),
    "one slot": window(1, 0, NONE_LEFT),
    "two slots, one turn ahead": window(2, 1, KEPT),
    "four slots, two turns ahead": window(4, 2, KEPT),
    "five slots, three turns ahead": window(5, 3, KEPT),
    "a ring of two barriers": barriers(2, 1, RIGHT_PARITY, RIGHT_CONSUMER),
    "a pipeline of one slot": handshake(1, f"{READ}\n{RELEASE}"),
    "a pipeline of three slots": handshake(3, f"{READ}\n{RELEASE}"),
}
WRONG = {
    "a task that nobody awaits": tokens(2, wait=False),
    "a slot that is filled too early": window(2, 2, KEPT),
    "a parity that is off": barriers(2, 1, "%asked = arith.xori %bit, %c0 : i32", RIGHT_CONSUMER),
    "a slot that is given back too early": handshake(2, f"{RELEASE}\n{READ}"),
}
IN_THE_FUNCTION = [name for name, text in PROVED.items() if "async.execute" in text or "@window" in text]
"""Those whose loops blocks can replace."""


@pytest.mark.parametrize("name", PROVED)
def test_while_is_proved_like_for(name: str) -> None:
    module = parse(PROVED[name])
    twin = as_while(module)
    assert not any(isinstance(op, scf.ForOp) for op in twin.walk())
    assert check(module).verdict_line == "safe for every trip count"
    assert check(twin).verdict_line == "safe for every trip count"


@pytest.mark.parametrize("name", WRONG)
def test_while_is_wrong_where_for_is(name: str) -> None:
    module = parse(WRONG[name])
    expected = check(module)
    assert expected.verdict is Verdict.VIOLATION
    assert check(as_while(module)).kinds == expected.kinds


@pytest.mark.parametrize("name", IN_THE_FUNCTION)
def test_blocks_are_checked_like_for(name: str) -> None:
    """The trip counts that are tried; whether the others are proved depends on what is known of the branch."""
    twin = as_blocks(parse(PROVED[name]))
    assert any(isinstance(op, cf.ConditionalBranchOp) for op in twin.walk())
    report = check(twin, trip_counts=range(9))
    assert report.verdict_line == "safe for trip counts 0..8"


def test_blocks_are_wrong_where_for_is() -> None:
    module = parse(WRONG["a slot that is filled too early"])
    assert check(as_blocks(module), trip_counts=range(5)).kinds == check(module, trip_counts=range(5)).kinds != []
