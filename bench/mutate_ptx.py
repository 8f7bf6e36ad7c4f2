"""
`make mutate-ptx`, or `python -m bench.mutate_ptx`: change the PTX of twenty kernels that are right, one instruction at
a time, and see whether a check notices.

Prints how many mutants of each change are found, and every one that is not: equivalent, with the reason, or undecided,
with what the check says. Status 1 where one is called safe without a reason. `--each N` takes N of each kernel (15 if
nothing is said), `--only NAME` kernels with NAME in their names, `--seed S` others.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from bench.mutation.texts import REASONS, TextMutant, mutants_of
from tests.readers.ptx.programs import KERNELS
from tests.support.ir import ROOT
from tests.support.ptx_corpus import Text, row_of, texts_in, triton_kernels

ZOO = ROOT / "examples" / "zoo"
COMPILED = (
    *("tcgen05_loop-good", "barrier_life-good", "two_rings-good", "wgmma_ring-2-good", "matmul-80", "matmul-90"),
    *("matmul_descriptors-90", "matmul_descriptors-100", "matmul_specialized-100"),
)
"""Kernels of Triton, beside the texts that lie in the repository."""
COUNTS, SECONDS = range(9), 60.0
FOUND = ("violation",)


class Outcome(StrEnum):
    """What became of a mutant."""

    FOUND = "found"
    REFUSED = "refused"
    """It is no program: the text, or the machine, says why."""
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"
    MISSED = "missed"
    """It is called safe, and nobody has said why it should be."""


@dataclass(frozen=True)
class Judged:
    """A mutant of the kernel `kernel`, and what a check says of it."""

    kernel: str
    mutant: TextMutant
    outcome: Outcome
    said: str

    def __str__(self) -> str:
        return f"{self.outcome}: {self.kernel}: {self.mutant.title}: {self.said}"


def stored() -> Iterator[Text]:
    """The kernels whose texts lie in the repository."""
    yield from texts_in(KERNELS)
    yield from (text for text in texts_in(ZOO) if text.kernel.endswith(".good"))


def kernels() -> Iterator[Text]:
    """All twenty."""
    yield from stored()
    yield from (kernel.compiled() for kernel in triton_kernels() if kernel.name in COMPILED)


def some(text: Text, count: int, seed: int) -> list[TextMutant]:
    """`count` of the mutants of a kernel."""
    every = list(mutants_of(text.ptx))
    random.Random(f"{seed} {text.kernel}").shuffle(every)
    return every[:count]


def judged(text: Text, mutant: TextMutant) -> Judged:
    """What a check says of a mutant."""
    row = row_of(replace(text, ptx=mutant.text), list(COUNTS), SECONDS)
    reason = REASONS.get((text.kernel, mutant.change, mutant.line))
    if row.verdict in FOUND:
        return Judged(text.kernel, mutant, Outcome.FOUND, ", ".join(row.kinds))
    if row.read != "yes" or row.verdict.startswith("refused"):
        said = row.read if row.read != "yes" else row.verdict
        return Judged(text.kernel, mutant, Outcome.REFUSED, said)
    if row.verdict == "undecided":
        return Judged(text.kernel, mutant, Outcome.UNDECIDED, reason or "the check cannot tell")
    return Judged(text.kernel, mutant, Outcome.MISSED if reason is None else Outcome.EQUIVALENT, reason or "")


def table(found: Sequence[Judged]) -> str:
    """A line for each change, and how many of each outcome there are."""
    counts = Counter((each.mutant.change, each.outcome) for each in found)
    lines = [f"{'':10}" + "".join(f"{outcome:>12}" for outcome in Outcome)]
    for change in sorted({each.mutant.change for each in found}):
        lines.append(f"{change:10}" + "".join(f"{counts[change, outcome]:>12}" for outcome in Outcome))
    totals = Counter(each.outcome for each in found)
    return "\n".join([*lines, f"{'all':10}" + "".join(f"{totals[outcome]:>12}" for outcome in Outcome)])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.mutate_ptx", description=__doc__)
    parser.add_argument("--each", type=int, default=15, metavar="N", help="mutants of each kernel (default: 15)")
    parser.add_argument("--only", default="", metavar="NAME", help="kernels with NAME in their names")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="which of them (default: 0)")
    parser.add_argument("--verbose", action="store_true", help="print every mutant")
    arguments = parser.parse_args()
    found: list[Judged] = []
    for text in (text for text in kernels() if arguments.only in text.kernel):
        for mutant in some(text, arguments.each, arguments.seed):
            found.append(judged(text, mutant))
            if arguments.verbose or found[-1].outcome is not Outcome.FOUND:
                print(found[-1], flush=True)
    print(table(found))
    return int(any(each.outcome is Outcome.MISSED for each in found))


if __name__ == "__main__":
    sys.exit(main())
