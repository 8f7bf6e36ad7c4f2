"""The checker against the explorer on random kernels of warps."""

from __future__ import annotations

from collections import Counter

from tests.checker.explorer.kernel_programs import KernelSample, generate
from tests.checker.kernel_agreement import Comparison, Outcome, compare, outcome, table
from tests.support.corpora import corpus, sample
from tileas_xdsl.checker.verdict.report import Verdict

KERNELS = range(3_000)
SOME = 60
"""How many of them where not all are asked for."""


def test_outcomes() -> None:
    """The comparison can fail, in both directions."""
    assert outcome(False, Verdict.SAFE, "safe") is Outcome.BOTH_SAFE
    assert outcome(True, Verdict.SAFE, "safe") is Outcome.MISSED
    assert outcome(True, Verdict.VIOLATION, "race") is Outcome.BOTH_WRONG
    assert outcome(False, Verdict.VIOLATION, "race") is Outcome.FALSE_ALARM
    assert outcome(False, Verdict.VIOLATION, "refused: op") is Outcome.REFUSED
    assert outcome(True, Verdict.UNDECIDED, "undecided") is Outcome.UNDECIDED
    sample = KernelSample(7, "ring", ("drop wait",), "")
    text = table([Comparison(sample, Outcome.MISSED, "race", "safe")])
    assert "1 wrong, called safe" in text
    assert "1 race (ring: drop wait): 7" in text


@corpus(len(KERNELS))
def test_agreement() -> None:
    """No wrong kernel is called safe, no right one reported, and few are undecided."""
    found = [compare(generate(seed)) for seed in sample(KERNELS, SOME)]
    counts = Counter(each.outcome for each in found)
    assert counts[Outcome.BOTH_SAFE]
    assert counts[Outcome.BOTH_WRONG]
    assert not counts[Outcome.MISSED] + counts[Outcome.FALSE_ALARM] + counts[Outcome.REFUSED], table(found)
    assert counts[Outcome.UNDECIDED] * 100 <= 5 * len(found), table(found)
