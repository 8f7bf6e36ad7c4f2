"""
Random pipelines (`random_pipelines`): nearly all are proved, what is proved is right call by call in every order, no
mutant is proved that some call shows wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from itertools import product

import numpy as np

from tests.checker.random_pipelines import FAULTS, Pipeline, calls_of, pipeline, written
from tests.support.corpora import each, sample
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.machine.running import run

BATCH = 30
TIMEOUT = 120
"""Seconds of processor time for a check: many times what one takes."""
SLOW = [seed for seed in range(10 * BATCH) if pipeline(seed).is_slow]
"""In the whole corpus only."""
MANY_CALLS = 200
"""For mutants: corners in all combinations, as far as there are so many."""


def seeds_of(batch: int) -> list[int]:
    return sample(range(batch * BATCH, (batch + 1) * BATCH), 1, slow=SLOW)


def is_proved(report: Report) -> bool:
    return report.verdict is Verdict.SAFE and report.is_proved


def wrong_calls(text: str, calls: list[dict[str, int]]) -> list[Mapping[str, int]]:
    """Those of (a sample of) `calls`, each decided by itself, that are wrong or not decided."""
    judge = partial(check, parse(text), prove=False, timeout=TIMEOUT)
    return [call for call in sample(calls, 6) if judge(args=call).verdict is not Verdict.SAFE]


def goes_wrong_in_some_order(text: str, program: Pipeline, seed: int) -> list[tuple[Mapping[str, int], str]]:
    """The calls and orders in which an execution goes wrong."""
    module, most = parse(text), 2 if program.steps == "three hundred" else 9
    memory = {name: np.zeros(1 << 20, dtype=np.float32) for name in ("src", "out")}
    short = [call for call in calls_of(program, seed) if max(call.values()) <= most]
    found: list[tuple[Mapping[str, int], str]] = []
    for call, order in product(sample(short, 2), ("lazy", "eager", "random")):
        # An argument that bounds nothing needs a number, too.
        outcome = run(module, "k", {**memory, **dict.fromkeys(program.arguments, 0), **call}, order=order, seed=seed)
        if outcome.violations or not outcome.finished:
            found.append((call, order))
    return found


@each("batch", range(10), 1, programs=BATCH)
def test_nine_of_ten_right_pipelines_are_proved_and_right_call_by_call(batch: int) -> None:
    seeds = seeds_of(batch)
    refused: dict[int, str] = {}
    for seed in seeds:
        program = pipeline(seed)
        report = check(parse(written(program)), timeout=TIMEOUT)
        assert not report.findings, f"{seed}: {program}\n{report}"
        if is_proved(report):
            assert wrong_calls(written(program), calls_of(program, seed)) == [], f"{seed}: {program}"
            assert goes_wrong_in_some_order(written(program), program, seed) == [], f"{seed}: {program}"
        else:
            refused[seed] = f"{program}: {'; '.join(report.bounded)}"
    assert len(refused) <= max(1, len(seeds) // 10), "\n".join(f"{seed}: {reason}" for seed, reason in refused.items())


@each("batch", range(10), 1, programs=BATCH * 10)
def test_no_mutant_that_a_call_shows_wrong_is_proved(batch: int) -> None:
    proved: Counter[str] = Counter()
    tried = 0
    for seed in seeds_of(batch):
        program = pipeline(seed)
        for fault in sample(FAULTS[program.kind], 2):
            text = written(program, fault)
            report = check(parse(text), trip_counts=[0, 1], prove=True, timeout=TIMEOUT)
            tried += 1
            if is_proved(report):
                proved[fault] += 1
                assert wrong_calls(text, calls_of(program, seed, MANY_CALLS)) == [], f"{seed}, {fault}: {program}"
    assert sum(proved.values()) < tried, "not all mutants are right"
