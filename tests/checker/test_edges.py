"""
Programs at the edges of the model, in `edges/`: what is wrong is found, and what is right is not reported.

The first line of each says what it should get: a kind of violation, `unsafe` for any kind, `safe`, `undecided`, or
`decide`, where a docstring says how and why. A program that the checker does not judge so yet stands in one of
the lists below, which only shrink: the test fails when it turns out right and is still listed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.utils.exceptions import ParseError

from tests.support.corpora import nightly
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.machine.core.violations import UnsupportedError

EDGES = Path(__file__).parent / "edges"
EXPECTATION = "// expect:"

NOT_READ_YET = frozenset([])
"""They use ops, forms or clusters that have no meaning here yet."""

NOT_YET: frozenset[str] = frozenset()
"""They are judged wrongly, refused, or take more than 20 seconds."""

THREADS = {"tid_deadlock": 64, "tid_specialised": 64}
"""Programs that do not say how many threads run them, and what to give them: without it they are undecided."""

PROGRAMS = sorted(path.stem for path in EDGES.glob("*.mlir"))


LONG = {"coprime_5_7": "rings of 5 and 7 slots have 35 turns before a state recurs; coprime_4_7 is like it"}
"""Program -> why its check takes more than 20 seconds."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[nightly(LONG[name])] if name in LONG else [])
        for name in PROGRAMS
        if name not in NOT_READ_YET | NOT_YET
    ],
)
def test_is_judged_as_it_says(name: str) -> None:
    text = (EDGES / f"{name}.mlir").read_text()
    expected = expectation(text)
    said = verdict(text, THREADS.get(name))
    assert said == {expected} or expected in said or (expected == "unsafe" and is_violation(said)), said


@pytest.mark.parametrize("name", sorted(THREADS))
def test_code_that_asks_for_the_thread_is_undecided_without_threads(name: str) -> None:
    report = check(parse((EDGES / f"{name}.mlir").read_text()))
    assert report.verdict is Verdict.UNDECIDED
    assert "nothing says how many there are" in report.undecided[0]


def test_the_lists_name_programs() -> None:
    assert set(PROGRAMS) >= NOT_READ_YET | NOT_YET


def expectation(text: str) -> str:
    """What the first line of a program asks for."""
    first = text.splitlines()[0]
    assert first.startswith(EXPECTATION), first
    return first.removeprefix(EXPECTATION).split(";")[0].strip()


def verdict(text: str, threads: int | None = None) -> set[str]:
    """`safe`, `undecided`, `refused`, or the kinds of what is found and of what wrong phases show as."""
    try:
        report = check(parse(text), threads=threads)
    except (UnsupportedError, ArgumentError, ParseError):
        return {"refused"}
    if report.verdict is not Verdict.VIOLATION:
        return {str(report.verdict)}
    found = [finding.violation for finding in report.findings]
    return {str(kind) for violation in found for kind in (violation.kind, violation.symptom) if kind is not None}


def is_violation(said: set[str]) -> bool:
    return not said & {"safe", "undecided", "refused"}
