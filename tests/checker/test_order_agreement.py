"""
The checker against the explorer where something waits for what is counted, given or ordered apart from a barrier.

The explorer alone decides what is right. No wrong program may be called safe, no right one reported, and two of each
corpus may be left undecided. *Stricter* does not count: a phase is another one than is meant, and nothing comes of
it.

`TILEAS_CASES=full` takes 500 programs of each corpus, otherwise a sample. What came out goes to
`build/order-agreement-CORPUS.txt`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.checker.explorer.explorer import explore
from tests.checker.explorer.orders import CORPORA, LISTINGS, generate
from tests.checker.kernel_agreement import Outcome, compare, table
from tests.support.corpora import FULL, corpus, sample
from tests.support.ir import ROOT, parse
from tileas_xdsl.machine.core import happens_before
from tileas_xdsl.machine.core.threads import block_barriers
from tileas_xdsl.machine.meanings import async_
from tileas_xdsl.machine.meanings.nvvm import synchronization
from tileas_xdsl.machine.parts import tensor_core, tensor_memory
from tileas_xdsl.machine.parts.instructions.register_pool import RegisterPool

PROGRAMS = 500
SOME = 8
"""How many of them where not all are asked for."""
MOST_STEPS = 20_000
MOST_UNDECIDED = 2


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


Says = Callable[..., Any]


def says(answer: object) -> Says:
    return lambda *_: answer


FAULTS: dict[str, tuple[str, object, str, Says]] = {
    "returned threads are waited for": ("returns", block_barriers, "_do_not_wait_for", says(None)),
    "registers are not moved": ("register pools", RegisterPool, "needs", says(0)),
    "a warpgroup need not meet": ("register pools", synchronization, "note_executed", says(None)),
    "no order leaves the pool dry": ("register pools", RegisterPool, "may_run_dry", says(False)),
    "ranks are what they are in one order": ("ranks and columns", async_, "come_for", says(None)),
    "columns are what they are in one order": ("ranks and columns", tensor_memory, "come_for", says(None)),
    "all works of the tensor core are in order": ("pairs of tcgen05", tensor_core.Started, "precedes", says(True)),
    "none are": ("pairs of tcgen05", tensor_core.Started, "precedes", says(False)),
    "tensor memory needs no fence": ("pairs of tcgen05", happens_before, "_lacks_tensor_fence", says(False)),
}
"""Faults of the checker: in which corpus they show, and what is made to say what."""
RARE = {"no order leaves the pool dry": 258, "columns are what they are in one order": 160}
"""Programs that show what few do."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_checker_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, place, function, answer = FAULTS[fault]
    monkeypatch.setattr(place, function, answer)
    wrong = {Outcome.MISSED, Outcome.FALSE_ALARM, Outcome.REFUSED}
    made = generate(name, max(100, RARE.get(fault, 0) + 1))
    likely = [made[RARE[fault]]] if fault in RARE else made
    assert any(compare(each, MOST_STEPS).outcome in wrong for each in likely)
