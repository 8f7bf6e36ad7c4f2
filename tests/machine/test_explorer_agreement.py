"""
The checker against the explorer: on every program of a random corpus they find the same kinds of mistake.

What is compared is, for each program, which of race, deadlock and undrained are found:

- The explorer (`tests/machine/explorer`) finds a kind if some interleaving makes the mistake. The checker has to find
  exactly these kinds, whether one execution tells it or it has to explore, with the exceptions below.
- A mistake that the checker reports as `phase`, because a phase is the cause, counts as what it shows as
  (`Violation.symptom`). What it reports besides, `phase` without symptom, `missing-fence` and `slot`, is nothing that
  the explorer knows of, and is left out. Where that is all, the program counts as *stricter*: the phase of a barrier
  may be another one than is meant, though neither a race nor a deadlock comes of it.
- After a deadlock, what is drained is moot: where both find a deadlock, undrained is not compared.
- An arrival too many in a phase has no meaning (spec/tileas-passes.md 16.7), so what comes after it is not compared;
  but the checker has to report the phase.
- Where the checker says that it did not try all interleavings of a program in which it found a mistake, what it found
  must be right, and it may have missed other kinds; where it says undecided, nothing is compared. Of both together
  there may be 2 % in each model.

`TILEAS_CASES=full` takes 500 programs of each model, otherwise 50. The counts go to
`build/explorer-agreement-MODEL.json`.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field

import pytest

from tests.machine.explorer.explorer import Exploration, TooLargeError, explore
from tests.machine.explorer.programs import Sample, generate
from tests.machine.explorer.statements import MODELS
from tests.support.ir import ROOT, parse
from tileas_xdsl.machine.checking import check
from tileas_xdsl.machine.report import Report
from tileas_xdsl.machine.violations import ViolationKind

PROGRAMS = 500 if os.environ.get("TILEAS_CASES") == "full" else 50
COMPARED = {"race", "deadlock", "undrained"}
POSSIBLE = {
    "tokens": {"race", "deadlock", "undrained"},
    "queues": {"race", "undrained"},
    "marks": {"race", "undrained"},
    "barriers": {"race", "deadlock", "undrained"},
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
    explored: int = 0
    """Programs for which the checker needed more than one execution."""
    stricter: int = 0
    overrun: int = 0
    too_large: int = 0
    unexplored: int = 0
    undecided: int = 0
    disagreements: list[str] = field(default_factory=list[str])

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
    checked, explored = kinds_of(report) & COMPARED, set(found.verdict)
    if "deadlock" in checked & explored:
        checked, explored = checked - {"undrained"}, explored - {"undrained"}
    wrong, missed = checked - explored, explored - checked
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
    report = check(parse(sample.text), "main")
    tally.safe += not found.verdict
    tally.unsafe += bool(found.verdict)
    for kind in sorted(found.verdict):
        tally.kinds[kind] = tally.kinds.get(kind, 0) + 1
    tally.explored += report.executions > 1
    tally.stricter += not found.verdict and bool(report.findings)
    tally.overrun += found.overrun
    tally.undecided += bool(report.undecided)
    tally.unexplored += bool(report.unexplored)
    difference = disagreement(found, report)
    if difference is not None:
        way = [line for kind in found.witnesses for line in (f"{kind}:", *found.witnesses[kind])]
        facts = [f"{sample.model} {sample.seed} ({sample.family}): {difference}", sample.text, *way, str(report)]
        tally.disagreements.append("\n".join(facts))


@pytest.mark.parametrize("model", MODELS)
def test_agreement(model: str) -> None:
    tally = Tally(model)
    for seed in range(PROGRAMS):
        compare(generate(model, seed), tally)
    record = ROOT / "build" / f"explorer-agreement-{model}.json"
    record.parent.mkdir(exist_ok=True)
    record.write_text(json.dumps(asdict(tally), indent=2) + "\n")
    print(f"\n{tally}")
    assert not tally.disagreements, "\n\n".join(tally.disagreements[:3])
    assert (tally.undecided + tally.unexplored) * 50 <= tally.programs
    assert tally.too_large * 100 <= tally.programs
    # The corpus says something: programs of either sort in numbers, every kind of mistake, and some that one
    # execution does not decide.
    assert min(tally.safe, tally.unsafe) * 4 >= tally.programs
    assert set(tally.kinds) == POSSIBLE[model]
    assert (tally.explored > 0) == (model in ("queues", "barriers"))


def test_programs_follow_from_model_and_seed() -> None:
    for model in MODELS:
        samples = [generate(model, seed) for seed in range(40)]
        assert samples == [generate(model, seed) for seed in range(40)]
        assert len({sample.text for sample in samples}) > 30


def test_a_missed_mistake_is_a_disagreement() -> None:
    """The comparison can fail, in both directions."""
    safe, unsafe = Exploration(), Exploration(verdict={"race"})
    nothing = Report(["main"], (0,))
    assert disagreement(safe, nothing) is None
    assert disagreement(unsafe, nothing) == "the explorer finds race, the checker does not"
    assert disagreement(Exploration(overrun=True), nothing) == "an arrival too many is not reported"
    racy = next(report for report in map(_checked, range(40)) if "race" in kinds_of(report))
    assert disagreement(safe, racy) == "the checker finds race, the explorer does not"


def _checked(seed: int) -> Report:
    return check(parse(generate("marks", seed).text), "main")
