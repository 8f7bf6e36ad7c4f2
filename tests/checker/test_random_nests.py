"""
Random nests (`random_nests`): nearly all are proved, what is proved is right call by call, no wrong mutant is proved.
"""

from __future__ import annotations

from collections import Counter

from tests.checker.random_nests import FAULTS, faulty, pairs_for, parts_of, program
from tests.support.corpora import each, sample
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict

BATCH = 30
TIMEOUT = 120
"""Seconds of processor time for a proof: many times what one takes."""


def wrong_calls(text: str, seed: int) -> list[tuple[int, int]]:
    """Those of (a sample of) the calls `pairs_for(seed)`, each decided by itself, that are wrong or not decided."""
    module, pairs = parse(text), sample(pairs_for(seed), 8)
    reports = {pair: check(module, args=dict(zip("nm", pair, strict=True)), prove=False) for pair in pairs}
    return [pair for pair, report in reports.items() if report.verdict is not Verdict.SAFE]


def is_proved(report: Report) -> bool:
    return report.verdict is Verdict.SAFE and report.is_proved


@each("batch", range(10), 1, programs=BATCH)
def test_nine_of_ten_right_nests_are_proved_and_right_call_by_call(batch: int) -> None:
    seeds = sample(range(batch * BATCH, (batch + 1) * BATCH), 1)
    refused: dict[int, str] = {}
    for seed in seeds:
        report = check(parse(program(seed)), timeout=TIMEOUT)
        assert not report.findings, f"{seed}: {parts_of(seed)[2]}\n{report}"
        if is_proved(report):
            assert wrong_calls(program(seed), seed) == [], f"{seed}: {parts_of(seed)[2]}"
        else:
            refused[seed] = f"{parts_of(seed)[2]}: {'; '.join(report.bounded)}"
    assert len(refused) <= max(1, len(seeds) // 10), "\n".join(f"{seed}: {reason}" for seed, reason in refused.items())


@each("batch", range(10), 1, programs=BATCH * len(FAULTS))
def test_no_mutant_that_a_call_shows_wrong_is_proved(batch: int) -> None:
    seeds = sample(range(batch * BATCH, (batch + 1) * BATCH), 1)
    proved: Counter[str] = Counter()
    for seed in seeds:
        for fault in sample(list(FAULTS), 3):
            report = check(parse(faulty(seed, fault)), trip_counts=[0, 1], prove=True, timeout=TIMEOUT)
            if is_proved(report):
                proved[fault] += 1
                assert wrong_calls(faulty(seed, fault), seed) == [], f"{seed}, {fault}: {parts_of(seed)[2]}"
    assert sum(proved.values()) < len(seeds) * len(FAULTS), "not all mutants are right"
