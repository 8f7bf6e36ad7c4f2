"""
Would the checker notice if a pass had forgotten a wait? One change in the materialised GEMM and attention: it is found,
or the program is as right as before.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tests.support.corpora import each
from tests.support.ir import print_custom
from tests.support.kernel_references import TOLERANCE
from tests.support.mutated_agents import KINDS, Mutation, mutated, mutations
from tests.support.scheduled_kernels import KERNELS
from tests.transforms.test_computing_agents import passes
from tests.transforms.test_scheduled_loops import after
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.running import run

NAMED = {kernel.name: kernel for kernel in KERNELS}
PROGRAMS = {
    "gemm": ("gemm_128x64x16", 1),
    "gemm, two computing agents": ("gemm_128x64x16", 2),
    "attention": ("attention_64", 1),
    "attention, two computing agents": ("attention_128", 2),
}
ORDERS = [("eager", 0), ("lazy", 0), ("timed", 0), *(("random", seed) for seed in range(5))]


@cache
def materialized(name: str) -> ModuleOp:
    kernel, sub_tiles = PROGRAMS[name]
    return after(NAMED[kernel].text, passes(sub_tiles, stages=3))


MOST = 120
"""No fewer than the mutants of each program."""


def test_each_program_has_a_mutant_for_every_op_that_orders_agents() -> None:
    for name in PROGRAMS:
        found = mutations(materialized(name))
        assert {mutation.kind for mutation in found} == set(KINDS)
        assert 30 < len(found) <= MOST


@each("number", range(len(PROGRAMS) * MOST), 12)
def test_a_mutant_is_caught_or_as_right_as_the_program(number: int) -> None:
    name = list(PROGRAMS)[number % len(PROGRAMS)]
    found = mutations(materialized(name))
    mutation = found[number // len(PROGRAMS) % len(found)]
    mutant = mutated(materialized(name), mutation)
    if mutant is None:
        return
    try:
        report = check(mutant, "f")
    except UnsupportedError:
        return
    if report.verdict is not Verdict.SAFE:
        assert report.findings, f"undecided: {report}"
        return
    assert_equivalent(name, mutation, mutant)


def assert_equivalent(name: str, mutation: Mutation, mutant: ModuleOp) -> None:
    """Nothing goes wrong in any run that is tried: the change may stand."""
    kernel = NAMED[PROGRAMS[name][0]]
    for trips in (0, 1, 2, 3, 5):
        expected = kernel.reference(kernel.arguments(trips))
        for order, seed in ORDERS:
            done = run(mutant, "f", kernel.arguments(trips), order=order, seed=seed)
            assert done.violations == (), f"accepted: {mutation}\n{print_custom(mutant)}"
            np.testing.assert_allclose(done.arrays["c"], expected, rtol=TOLERANCE, atol=TOLERANCE)
