"""
Whole roads: the examples through the passes of the family, and after every pass they still compute what they say, in
every order, are safe for every trip count tried, and are text that MLIR accepts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.machine.test_examples import TRIP_COUNTS, Case, attention, product
from tests.machine.tile_programs import ORDERS, assert_no_violations
from tests.support.ir import ROOT, parse, print_custom, print_generic, run_passes
from tests.support.mlir import mlir_opt
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.running import run

CLEAN = ("tileas-optimize-pipeline-region", "tileas-remove-dead-work")
QUEUES = ("tileas-queue-to-pipeline", "tileas-materialize-async", *CLEAN)


def pipelined(stages: int) -> tuple[str, ...]:
    unspecialized = f"tileas-unspecialized-pipeline{{num-stages={stages}}}"
    return ("tileas-materialize-async", unspecialized, *CLEAN)


ROADS: dict[str, tuple[str, Callable[[int], Case], tuple[str, ...]]] = {
    "gemm_queue": ("gemm_queue", product, QUEUES),
    "attention_queue": ("attention_queue", attention, QUEUES),
    "gemm_loop": ("gemm_loop", product, pipelined(2)),
    "gemm_loop, 3 stages asked for": ("gemm_loop", product, pipelined(3)),
}

MILESTONES = [(name, steps) for name, (_, _, passes) in ROADS.items() for steps in range(1, len(passes) + 1)]
each_milestone = pytest.mark.parametrize(
    ("name", "steps"), MILESTONES, ids=[f"{name}: {ROADS[name][2][steps - 1]}" for name, steps in MILESTONES]
)


@cache
def after(name: str, steps: int) -> ModuleOp:
    """The example of the road `name` behind its first `steps` passes; dominance is verified after each."""
    example, _, passes = ROADS[name]
    return run_passes(parse((ROOT / "examples" / f"{example}.mlir").read_text()), ",".join(passes[:steps]))


@pytest.mark.parametrize("n", TRIP_COUNTS)
@each_milestone
def test_it_computes_the_same_in_every_order(name: str, steps: int, n: int) -> None:
    arguments, verify = ROADS[name][1](n)
    for order, seed in ORDERS:
        outcome = run(after(name, steps), None, arguments, order=order, seed=seed)
        assert_no_violations(outcome)
        verify(outcome)


@each_milestone
def test_it_is_safe(name: str, steps: int) -> None:
    report = check(after(name, steps), judge_waits=False)
    assert report.verdict is Verdict.SAFE, str(report)


@each_milestone
def test_the_pass_again_changes_nothing(name: str, steps: int) -> None:
    once = after(name, steps)
    assert print_custom(run_passes(once.clone(), ROADS[name][2][steps - 1])) == print_custom(once)


@each_milestone
def test_mlir_accepts_it(name: str, steps: int) -> None:
    """Nothing gets lost on the way: what mlir-opt prints reads back as the same module."""
    module = after(name, steps)
    returned = mlir_opt(print_generic(module), "--allow-unregistered-dialect", "--mlir-print-op-generic")
    assert parse(returned).is_structurally_equivalent(module)
