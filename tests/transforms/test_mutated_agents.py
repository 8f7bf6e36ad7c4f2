"""
Would the checker notice if a pass had forgotten a wait? One change in the materialised GEMM and attention: it is found,
or the program is as right as before, for a reason that is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.corpora import FULL, SEED, corpus, draw
from tests.support.ir import ROOT, print_custom, run_passes
from tests.support.kernel_references import TOLERANCE
from tests.support.mutated_agents import KINDS, Mutation, mutated, mutations, why_it_stands
from tests.support.scheduled_kernels import KERNELS
from tests.support.scheduled_loops import after
from tests.transforms.test_computing_agents import decided, passes
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.running import run

NAMED = {kernel.name: kernel for kernel in KERNELS}
PROGRAMS = {
    "gemm": ("gemm_128x64x16", 1),
    "gemm, two computing agents": ("gemm_128x64x16", 2),
    "attention": ("attention_64", 1),
    "attention, two computing agents": ("attention_128", 2),
}
COUNTED = {
    "gemm": {"mutants": 39, "no program": 3, "malformed": 8, "unsafe": 9, "stands": 19},
    "gemm, two computing agents": {"mutants": 60, "no program": 8, "malformed": 12, "unsafe": 16, "stands": 24},
    "attention": {"mutants": 84, "no program": 10, "malformed": 18, "unsafe": 21, "stands": 35},
    "attention, two computing agents": {"mutants": 162, "no program": 15, "malformed": 34, "unsafe": 44, "stands": 69},
}
"""Program -> how many mutants it has, and what becomes of them; docs/passes/materialize-schedule.md has their sums."""
CASES = [f"{name}: {number}" for name, counts in COUNTED.items() for number in range(counts["mutants"])]
TRIPS = (0, 1, 2, 3, 4, 9)
"""Around the three stages, and more than two rounds of their rings."""
GENEROUS = 1000
"""Seconds of processor time: of two mutants thousands of interleavings are tried before one goes wrong."""
ORDERS = [("eager", 0), ("lazy", 0), ("timed", 0), *(("random", seed) for seed in range(5))]


@cache
def materialized(name: str) -> ModuleOp:
    kernel, sub_tiles = PROGRAMS[name]
    road, _, last = passes(sub_tiles, stages=3).rpartition(",")
    return run_passes(decided(after(NAMED[kernel].text, road), dual=sub_tiles == 2), last)


@cache
def mutations_of(name: str) -> list[Mutation]:
    return mutations(materialized(name))


def judged(name: str, mutation: Mutation) -> str:
    """What becomes of the mutant: a row of `COUNTED`."""
    mutant = mutated(materialized(name), mutation)
    if mutant is None:
        return "no program"
    report = check(mutant, "f", timeout=GENEROUS)
    if "malformed" in report.kinds:
        return "malformed"
    if report.verdict is Verdict.SAFE:
        assert report.holds_for_every_trip_count, f"{mutation}: {report}"
        return "stands"
    assert report.findings, f"{mutation} is neither right nor wrong: {report}"
    return "unsafe"


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_has_a_mutant_for_every_op_that_orders_agents(name: str) -> None:
    found = mutations_of(name)
    assert {mutation.kind for mutation in found} == set(KINDS)
    assert len(found) == COUNTED[name]["mutants"]


def parts() -> list[Any]:
    """(program, numbers of mutants): whole programs in a full run, otherwise a sample of single mutants."""
    if FULL:
        wholes = [(name, range(counts["mutants"])) for name, counts in COUNTED.items()]
        return [pytest.param(name, whole, id=name, marks=corpus(len(whole))) for name, whole in wholes]
    drawn = [case.rpartition(": ") for case in draw(CASES, 16, SEED)]
    return [pytest.param(name, [int(number)], id=f"{name}-{number}", marks=corpus(1)) for name, _, number in drawn]


@pytest.mark.parametrize(("name", "numbers"), parts())
def test_a_mutant_is_caught_or_as_right_as_the_program(name: str, numbers: Sequence[int]) -> None:
    found: Counter[str] = Counter()
    for mutation in (mutations_of(name)[number] for number in numbers):
        found[verdict := judged(name, mutation)] += 1
        if verdict == "stands":
            assert why_it_stands(materialized(name), mutation), f"accepted: {mutation}"
        if verdict == "undecided":
            assert COUNTED[name]["undecided"], f"neither accepted nor refuted: {mutation}"
        if verdict in ("stands", "undecided"):
            assert_runs_right(name, mutation)
    if len(numbers) == COUNTED[name]["mutants"]:
        found["mutants"] = len(numbers)
        assert found == Counter(COUNTED[name])


def assert_runs_right(name: str, mutation: Mutation) -> None:
    """The mutant computes the same in every run that is tried."""
    mutant = mutated(materialized(name), mutation)
    assert mutant is not None
    kernel = NAMED[PROGRAMS[name][0]]
    for trips in TRIPS:
        expected = kernel.reference(kernel.arguments(trips))
        for order, seed in ORDERS:
            done = run(mutant, "f", kernel.arguments(trips), order=order, seed=seed)
            assert done.violations == (), f"not refuted: {mutation}\n{print_custom(mutant)}"
            np.testing.assert_allclose(done.arrays["c"], expected, rtol=TOLERANCE, atol=TOLERANCE)


def test_the_documentation_has_the_sums() -> None:
    sums = {key: sum(counts[key] for counts in COUNTED.values()) for key in COUNTED["gemm"]}
    page = (ROOT / "docs" / "passes" / "materialize-schedule.md").read_text()
    for meaning, number in sums.items():
        assert f"| {MEANINGS[meaning]} | {number} |" in page


MEANINGS = {
    "mutants": "mutants",
    "no program": "no program: a value is used before it is made, or nothing is behind which the op could go",
    "malformed": "rejected as malformed: a stage is committed or released twice, or without a wait",
    "unsafe": "rejected with a witness",
    "stands": "as right as the program",
}
"""What becomes of mutants, in the words of the documentation."""
