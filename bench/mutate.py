"""
`make mutate`, or `python -m bench.mutate`: break every right program of the zoo and of the examples by every single
small change, and see whether the checker notices.

Prints how many mutants of each kind are wrong and were caught, and every mutant that survives, with the reason why it
is as right as the program. Status 1 when one that is wrong was accepted, or one that is right rejected. `--every N`
takes each N-th mutant of each kind only; `--verbose` prints all of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from time import perf_counter

from rich import box
from rich.console import Console
from rich.table import Table

from bench.mutation.changes import mutants
from bench.mutation.judging import Judgement, Outcome, judge
from bench.mutation.programs import right_programs

RESULTS = Path(__file__).parents[1] / "build" / "mutation.json"
WRONG = (Outcome.MISSED, Outcome.FALSE_ALARM, Outcome.UNDECIDED, Outcome.UNJUDGED)
"""The outcomes that make the command fail."""


def judgements(every: int = 1, only: str = "", first: int = 0) -> list[Judgement]:
    """
    What becomes of each `every`-th mutant of each kind, from the `first` one on, of the programs whose name has `only`
    in it.

    Each kind is counted by itself and over all programs, so that a sample holds its share of every kind.
    """
    programs = [program for program in right_programs() if only in program.name]
    seen: Counter[str] = Counter()
    found: list[Judgement] = []
    for mutant in (mutant for program in programs for mutant in mutants(program)):
        if seen[mutant.kind] % every == first:
            found.append(judge(mutant))
        seen[mutant.kind] += 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.mutate", description=__doc__)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take each N-th mutant of each kind")
    parser.add_argument("--only", default="", metavar="NAME", help="programs with NAME in their names")
    parser.add_argument("--verbose", action="store_true", help="print every mutant")
    arguments = parser.parse_args()
    start = perf_counter()
    judged = judgements(arguments.every, arguments.only)
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    for judgement in judged:
        if arguments.verbose or judgement.outcome is not Outcome.KILLED:
            console.print(str(judgement), markup=False, soft_wrap=True)
    console.print(table(judged))
    console.print(summary(judged) + f", {perf_counter() - start:.0f} s")
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps([str(judgement) for judgement in judged], indent=1) + "\n")
    return int(any(judgement.outcome in WRONG for judgement in judged))


def table(judged: list[Judgement]) -> Table:
    """A row for each kind of change."""
    shown = Table(box=box.SIMPLE_HEAD)
    shown.add_column("change")
    for name in ("mutants", *Outcome):
        shown.add_column(str(name), justify="right")
    for kind in dict.fromkeys(judgement.mutant.kind for judgement in judged):
        counts = Counter(judgement.outcome for judgement in judged if judgement.mutant.kind == kind)
        shown.add_row(kind, str(counts.total()), *(str(counts[outcome] or "") for outcome in Outcome))
    return shown


def summary(judged: list[Judgement]) -> str:
    counts = Counter(judgement.outcome for judgement in judged)
    wrong = counts[Outcome.KILLED] + counts[Outcome.STRICTER] + counts[Outcome.MISSED]
    caught = counts[Outcome.KILLED] + counts[Outcome.STRICTER]
    share = 100 * caught / wrong if wrong else 100
    return (
        f"{len(judged)} mutants, {counts[Outcome.EQUIVALENT]} equivalent; {caught} of {wrong} others caught "
        f"({share:.1f} %), {counts[Outcome.FALSE_ALARM]} false alarms, "
        f"{counts[Outcome.UNDECIDED] + counts[Outcome.UNJUDGED]} not decided"
    )


if __name__ == "__main__":
    sys.exit(main())
