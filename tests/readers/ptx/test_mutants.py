"""Texts of PTX with one instruction changed: none is called safe without a reason."""

from __future__ import annotations

import pytest

from bench.mutate_ptx import Outcome, judged, stored
from bench.mutation.texts import REASONS, TextMutant, mutants_of
from tests.readers.ptx.programs import text_of
from tests.support.corpora import each
from tests.support.ptx_corpus import Text

STORED = list(stored())
CASES = [(text, mutant) for text in STORED for mutant in mutants_of(text.ptx)]
BODY = """
  mbarrier.init.shared.b64 [s], 1;
  mbarrier.arrive.shared.b64 %d1, [s+8];
  mbarrier.arrive.expect_tx.shared.b64 _, [s], 64;
WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [s], 0;
  @!%p1 bra WAIT;
  // bar.sync 3;
  cp.async.wait_group 1;
"""


REGISTER = ".reg .b32 %mutated;"


def changed(change: str) -> list[str]:
    """What is changed so in `BODY`: the lines that differ."""
    before = text_of(BODY).splitlines()
    mutants = [mutant for mutant in mutants_of(text_of(BODY)) if mutant.change == change]
    return [
        next(line.strip() for line in mutant.text.splitlines() if line.strip() and line not in [*before, REGISTER])
        for mutant in mutants
    ]


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        ("groups", ["cp.async.wait_group 2;"]),
        ("count", ["add.s32 %mutated, 1, 1; mbarrier.init.shared.b64 [s], %mutated;"]),
        ("bytes", ["shr.u32 %mutated, 64, 1; mbarrier.arrive.expect_tx.shared.b64 _, [s], %mutated;"]),
        ("yes", ["WAIT: setp.eq.u32 %p1, 0, 0;"]),
    ],
)
def test_a_change_is_what_its_name_says(change: str, lines: list[str]):
    assert changed(change) == lines


def test_what_stands_in_a_comment_is_not_changed():
    dropped = [mutant.instruction for mutant in mutants_of(text_of(BODY)) if mutant.change == "drop"]
    assert [name.split()[0] for name in dropped] == [
        "mbarrier.init.shared.b64",
        "mbarrier.arrive.shared.b64",
        "mbarrier.arrive.expect_tx.shared.b64",
        "cp.async.wait_group",
    ]


def test_there_are_enough_mutants_and_each_reason_is_of_one():
    assert len(CASES) >= 300
    known = {(text.kernel, mutant.change, mutant.line) for text, mutant in CASES}
    assert known.issuperset(key for key in REASONS if key[0] in {text.kernel for text in STORED})


@each("case", CASES, 6, ids=lambda case: f"{case[0].kernel}-{case[1].change}-{case[1].line}")
def test_no_mutant_is_called_safe_without_a_reason(case: tuple[Text, TextMutant]):
    found = judged(*case)
    assert found.outcome is not Outcome.MISSED, found
