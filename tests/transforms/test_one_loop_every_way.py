"""
One synchronous loop, every way: the GEMM and attention at 2, 3, 4 and 6 stages, in one agent and in several, with one
computing agent and, where TileAS' rule asks for them, with two. Equal numbers, safe for every trip count, and no slower
than the schedule says.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp

from tests.support.corpora import each
from tests.support.ir import parse, print_custom, run_passes
from tests.support.kernel_references import TOLERANCE
from tests.support.scheduled_kernels import KERNELS
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp
from tileas_xdsl.machine.running import run
from tileas_xdsl.machine.time.simulation import simulate

NAMED = {kernel.name: kernel for kernel in KERNELS}
WAYS = list(
    product(("gemm_128x64x16", "attention_128"), ("unspecialize", "warp-specialize"), (2, 3, 4, 6), (1, 2)),
)
"""Kernel, strategy, the most stages, and into how many sub-tiles products are split."""
GENEROUS = 1000
"""Seconds of processor time for a proof: it never depends on the speed of the machine."""
TILES = 40
"""The trip count whose cycles are simulated: far more than there are stages."""


def intervals(module: ModuleOp) -> list[int]:
    """The initiation intervals of the schedules."""
    found: list[int] = []
    for op in module.walk():
        schedule = op.attributes.get("nv_tileas.schedule")
        if isinstance(schedule, DictionaryAttr):
            interval = schedule.data["ii"]
            assert isinstance(interval, IntegerAttr)
            found.append(interval.value.data)
    return found


@each("way", WAYS, 4, ids=str)
def test_one_loop_becomes_a_right_and_quick_program(way: tuple[str, str, int, int]) -> None:
    name, strategy, stages, sub_tiles = way
    kernel = NAMED[name]
    options = f"unspecialized-pipeline-num-stages={stages} sub-tiles={sub_tiles}"
    with recorded_diagnostics() as said:
        module = run_passes(
            parse(kernel.text), f"tileir{{compute-capability=sm_90 pipeline-strategy={strategy} {options}}}"
        )
    verify_dominance(module)
    agents = sum(len(op.regions) for op in module.walk() if isinstance(op, AgentSwitchOp))
    assert agents == 0 if strategy == "unspecialize" else 2 <= agents <= 1 + sub_tiles
    for trips in (0, 1, stages - 1, stages, stages + 1, 9):
        expected = kernel.reference(kernel.arguments(trips))
        for order, seed in (("eager", 0), ("lazy", 0), ("random", 1)):
            done = run(module, "f", kernel.arguments(trips), order=order, seed=seed)
            assert done.violations == (), f"{trips} trips\n{print_custom(module)}"
            np.testing.assert_allclose(done.arrays["c"], expected, rtol=TOLERANCE, atol=TOLERANCE)
    report = check(module, "f", timeout=GENEROUS)
    assert report.verdict is Verdict.SAFE, f"{report}\n{print_custom(module)}"
    assert report.holds_for_every_trip_count, str(report)
    failed = [str(diagnostic) for diagnostic in said if "Failed to pipeline loop" in str(diagnostic)]
    assert failed == []
    timed = simulate(module, "f", {"n": TILES}, "sm_90")
    assert timed.cycles_per_iteration is not None
    assert timed.cycles_per_iteration <= min(intervals(module))
