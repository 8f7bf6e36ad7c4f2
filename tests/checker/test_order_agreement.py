"""
The checker against the explorer where something waits for what is counted, given or ordered apart from a barrier.

The explorer alone decides what is right. No wrong program may be called safe, no right one reported, and two of a
thousand may be left undecided. *Stricter* does not count: a phase is another one than is meant, and nothing comes of
it.

`TILEAS_CASES=full` takes 500 programs of each corpus, otherwise a sample. What came out goes to
`build/order-agreement-CORPUS.txt`.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.checker.explorer.explorer import explore
from tests.checker.explorer.orders import CORPORA, LISTINGS, generate
from tests.checker.kernel_agreement import Outcome, compare, table
from tests.support.corpora import FULL, corpus, sample
from tests.support.ir import ROOT, parse

PROGRAMS = 500
SOME = 8
"""How many of them where not all are asked for."""
MOST_STEPS = 20_000
MOST_UNDECIDED = PROGRAMS * 2 // 1000


@corpus(PROGRAMS if FULL else SOME)
@pytest.mark.parametrize("name", CORPORA)
def test_agreement(name: str) -> None:
    found = [compare(each, MOST_STEPS) for each in sample(generate(name, PROGRAMS), SOME)]
    counts = Counter(each.outcome for each in found)
    record = ROOT / "build" / f"order-agreement-{name.replace(' ', '-')}.txt"
    record.parent.mkdir(exist_ok=True)
    record.write_text(table(found) + "\n")
    print(f"\n{name}: {len(found)} programs, " + ", ".join(f"{n} {outcome}" for outcome, n in counts.items()))
    assert not counts[Outcome.MISSED] + counts[Outcome.FALSE_ALARM] + counts[Outcome.REFUSED], table(found)
    assert counts[Outcome.UNDECIDED] <= MOST_UNDECIDED, table(found)
    assert counts[Outcome.TOO_LARGE] * 100 <= len(found), table(found)
    if FULL:
        assert min(counts[Outcome.BOTH_SAFE], counts[Outcome.BOTH_WRONG]) * 5 >= len(found)


@pytest.mark.parametrize("name", LISTINGS)
def test_what_is_right_by_construction_the_explorer_finds_right(name: str) -> None:
    for each in generate(name, 40):
        if not each.changes and not each.family.startswith("open"):
            found = explore(parse(each.text), most_steps=MOST_STEPS)
            assert not found.verdict, f"{each.seed}: {found.witnesses}"


@pytest.mark.parametrize("name", LISTINGS)
def test_each_kind_of_program_is_made_right_and_wrong(name: str) -> None:
    made = generate(name, 40)
    assert made == generate(name, 40)
    assert len({each.text for each in made}) > 30
    assert {bool(each.changes) for each in made} == {True, False}
