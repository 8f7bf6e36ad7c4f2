"""
The checker against the explorer: on every program of a random corpus they find the same kinds of mistake.

What is compared is, for each program, which of race, deadlock and undrained are found:

- The explorer (`tests/checker/explorer`) finds a kind if some interleaving makes the mistake. The checker has to find
  exactly these kinds, whether one execution tells it or it has to explore, with the exceptions below.
- A mistake that the checker reports as `phase`, because a phase is the cause, counts as what it shows as
  (`Violation.symptom`). What it reports besides, `phase` without symptom, `missing-fence` and `slot`, is left out here.
  Where that is all, the program counts as *stricter*: the phase of a barrier
  may be another one than is meant, though neither a race nor a deadlock comes of it.
- After a deadlock, what is drained is moot: where both find a deadlock, undrained is not compared.
- An arrival too many in a phase has no meaning, as pending arrivals never go below 0 (PTX ISA, "mbarrier"), so what
  comes after it is not compared; but the checker has to report the phase. A member too many in a group of tokens has
  none either; the checker has to refuse it.
- Where some run ends with a phase that has its arrivals and not its bytes, the checker may find races and undrained
  work that the explorer does not: who passes a wait because the phase is *not* complete can tell that the bytes, or
  their expectation, must have come before, but happens-before is made of what completes.
- Where the checker says that it did not try all interleavings of a program in which it found a mistake, what it found
  must be right, and it may have missed other kinds; where it says undecided, nothing is compared. Of both together
  there may be 2 % in each model.

`TILEAS_CASES=full` takes 500 programs of each model, otherwise a sample of 50. The counts go to
`build/explorer-agreement-MODEL.json`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pytest
from xdsl.ir import Operation

from tests.checker.explorer.explorer import Exploration, TooLargeError, explore
from tests.checker.explorer.programs import Sample, generate
from tests.checker.explorer.statements import MODELS
from tests.support.corpora import FULL, corpus, sample
from tests.support.ir import ROOT, parse
from tileas_xdsl.checker.verdict import deciding
from tileas_xdsl.checker.verdict import interleavings as exploration
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import Event
from tileas_xdsl.machine.core.happens_before import Mind
from tileas_xdsl.machine.core.standings import Answer, Continuation
from tileas_xdsl.machine.core.synchronization import GroupCondition, MarkSequence, Phase
from tileas_xdsl.machine.core.violations import ViolationKind
from tileas_xdsl.machine.meanings import async_
from tileas_xdsl.machine.parts import rings
from tileas_xdsl.machine.parts.atomics import words

PROGRAMS = sample(range(500), 50)
DRAWN_BY_CHANCE = 0 if FULL else 2
"""Of the few programs of the corpus that nobody decides, a sample may hold so many more than its share."""

COMPARED = {"race", "deadlock", "undrained"}
POSSIBLE = {
    "tokens": {"race", "deadlock", "undrained"},
    "functions": {"race", "deadlock", "undrained"},
    "queues": {"race", "undrained"},
    "tiles": {"race", "deadlock", "undrained"},
    "words": {"race", "deadlock"},
    "marks": {"race", "undrained"},
    "barriers": {"race", "deadlock", "undrained"},
    "expectations": {"race", "deadlock", "undrained"},
}
"""What can go wrong in each model: queues and marks cannot lock."""


@dataclass
class Tally:
    """What came out for one model."""

    model: str
    programs: int = 0
    safe: int = 0
    unsafe: int = 0
    kinds: dict[str, int] = field(default_factory=dict[str, int])
    """For each kind, the programs in which the explorer found it."""
    refused: int = 0
    """Programs with a group that gets too many members."""
    explored: int = 0
    """Programs for which the checker needed more than one execution."""
    stricter: int = 0
    overrun: int = 0
    too_large: int = 0
    unexplored: int = 0
    undecided: int = 0
    disagreements: list[str] = field(default_factory=list[str])

    def count(self, found: Exploration) -> None:
        self.overrun += found.overrun
        self.safe += not found.shown
        self.unsafe += bool(found.shown)
        for kind in sorted(found.shown):
            self.kinds[kind] = self.kinds.get(kind, 0) + 1

    def count_report(self, report: Report, found: Exploration) -> None:
        self.explored += report.executions > 1
        self.stricter += not found.shown and bool(report.findings)
        self.undecided += bool(report.undecided)
        self.unexplored += bool(report.unexplored)

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kinds.items()))
        return (
            f"{self.model}: {self.programs} programs, {self.safe} safe and {self.unsafe} unsafe ({kinds}), "
            f"{self.explored} explored, {self.undecided} undecided, {len(self.disagreements)} disagreements"
        )


def kinds_of(report: Report) -> set[str]:
    """The kinds found, a mistake in a phase counting as what it shows as."""
    return {str(finding.violation.symptom or finding.violation.kind) for finding in report.findings}


def disagreement(found: Exploration, report: Report) -> str | None:
    """How the two verdicts differ, by the rules above; None where they do not."""
    if found.overrun:
        return None if ViolationKind.PHASE in report.kinds else "an arrival too many is not reported"
    if found.overfull:
        return None if ViolationKind.MALFORMED in report.kinds else "a member too many is not reported"
    checked, explored = kinds_of(report) & COMPARED, found.shown
    if "deadlock" in checked & explored:
        checked, explored = checked - {"undrained"}, explored - {"undrained"}
    wrong, missed = checked - explored, explored - checked
    if found.unbalanced:
        wrong -= {"race", "undrained"}
    if wrong:
        return f"the checker finds {', '.join(sorted(wrong))}, the explorer does not"
    if missed and not report.undecided and not report.unexplored:
        return f"the explorer finds {', '.join(sorted(missed))}, the checker does not"
    return None


def compare(sample: Sample, tally: Tally) -> None:
    tally.programs += 1
    try:
        found = explore(parse(sample.text))
    except TooLargeError:
        tally.too_large += 1
        return
    tally.count(found)
    report = check(parse(sample.text), "main")
    if ViolationKind.MALFORMED in report.kinds:
        tally.refused += 1
    else:
        tally.count_report(report, found)
    difference = disagreement(found, report)
    if difference is not None:
        way = [line for kind in found.witnesses for line in (f"{kind}:", *found.witnesses[kind])]
        facts = [f"{sample.model} {sample.seed} ({sample.family}): {difference}", sample.text, *way, str(report)]
        tally.disagreements.append("\n".join(facts))


@corpus(len(PROGRAMS))
@pytest.mark.parametrize("model", MODELS)
def test_agreement(model: str) -> None:
    tally = Tally(model)
    for seed in PROGRAMS:
        compare(generate(model, seed), tally)
    record = ROOT / "build" / f"explorer-agreement-{model}.json"
    record.parent.mkdir(exist_ok=True)
    record.write_text(json.dumps(asdict(tally), indent=2) + "\n")
    print(f"\n{tally}")
    assert not tally.disagreements, "\n\n".join(tally.disagreements[:3])
    assert (tally.undecided + tally.unexplored - DRAWN_BY_CHANCE) * 50 <= tally.programs
    assert (tally.too_large - DRAWN_BY_CHANCE) * 100 <= tally.programs
    # The corpus says something: programs of either sort in numbers, every kind of mistake, and some that one
    # execution does not decide.
    assert min(tally.safe, tally.unsafe) * 4 >= tally.programs
    assert set(tally.kinds) <= POSSIBLE[model]
    assert set(tally.kinds) == POSSIBLE[model] or not FULL
    assert (tally.explored > 0) == (model in ("queues", "tiles", "words", "barriers", "expectations"))


def test_programs_follow_from_model_and_seed() -> None:
    for model in MODELS:
        samples = [generate(model, seed) for seed in range(40)]
        assert samples == [generate(model, seed) for seed in range(40)]
        assert len({sample.text for sample in samples}) > 30


Method = Callable[..., Any]


def _complete_at_once(original: Method) -> Method:
    """Calls whose tokens and values are there when they begin."""

    def run_callee(
        child: Agent, op: Operation, _: None, callee: object, arguments: object, promises: Sequence[Event]
    ) -> Answer:
        for promise in promises:
            promise.finish(child.release())
        return original(child, op, None, callee, arguments, promises)

    return Continuation("calls complete at once", run_callee)


FAULTS: dict[str, tuple[str, object, str, Callable[[Method], Method]]] = {
    "a group is complete without its last member": (
        "tokens",
        GroupCondition,
        "holds",
        lambda _: lambda self: all(member.complete for member in self.group.members[:-1]),
    ),
    "a call is complete when it begins": ("functions", async_, "_run_callee", _complete_at_once),
    "a wait for marks covers a block more": (
        "marks",
        MarkSequence,
        "covered_by_wait",
        lambda original: lambda self, outstanding: original(self, max(outstanding - 1, 0)),
    ),
    "commits of other agents are known": ("queues", Mind, "knows_moments", lambda _: lambda self, moments: True),
    "producers come in one order": ("tiles", rings, "come_for", lambda _: lambda *_: None),
    "every access acquires and releases": ("words", words, "_ordering", lambda _: lambda _ask: 7),
    "numbers are found in one order": ("words", words, "_doubt", lambda _: lambda *_, **__: None),
    "phases are known": ("barriers", Phase, "all_known_to", lambda _: lambda self, mind: True),
    "nothing may precede a phase": ("barriers", Phase, "comes_after", lambda _: lambda self, agent, moment: True),
    "open phases stay open": ("barriers", deciding, "judge_open_phases", lambda _: lambda machine: None),
    "nothing waits for an expectation": (
        "expectations",
        Phase,
        "expects_in_time",
        lambda _: property(lambda self: True),
    ),
    "works that others wait for are not performed early": (
        "expectations",
        exploration,
        "_beginnings_of",
        lambda _: lambda work: [],
    ),
    "no step is tried later": ("barriers", exploration, "_want_reversal", lambda _: lambda *_: None),
    "who sleeps is not woken": ("barriers", exploration, "meet", lambda _: lambda one, other: False),
}
"""Faults of the checker: in which model they show, and what they replace by what."""


RARE = {
    "open phases stay open": [2286],
    "commits of other agents are known": [422],
    "works that others wait for are not performed early": [321],
}
"""Programs that show what few do."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_checker_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, place, name, replacement = FAULTS[fault]
    monkeypatch.setattr(place, name, replacement(getattr(place, name)))
    tally = Tally(model)
    for seed in (*RARE.get(fault, ()), *range(50)):
        compare(generate(model, seed), tally)
        if tally.disagreements:
            return
    pytest.fail("no program of the corpus shows the fault")


def test_a_missed_mistake_is_a_disagreement() -> None:
    """The comparison can fail, in both directions."""
    safe, unsafe = Exploration(), Exploration(verdict={"race"})
    nothing = Report(["main"], (0,))
    assert disagreement(safe, nothing) is None
    assert disagreement(unsafe, nothing) == "the explorer finds race, the checker does not"
    assert disagreement(Exploration(overfull=True), nothing) == "a member too many is not reported"
    assert disagreement(Exploration(overrun=True), nothing) == "an arrival too many is not reported"
    racy = next(report for seed in range(40) if "race" in kinds_of(report := _report_on_marks(seed)))
    assert disagreement(safe, racy) == "the checker finds race, the explorer does not"
    assert disagreement(Exploration(unbalanced=True), racy) is None


def _report_on_marks(seed: int) -> Report:
    return check(parse(generate("marks", seed).text), "main")
