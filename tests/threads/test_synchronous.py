"""Under the strategy `none` loops stay as they are, down to threads: these compute what the kernel is for, safely."""

from __future__ import annotations

from itertools import product

from tests.support.corpora import each
from tests.support.ir import parse, run_passes
from tests.support.scheduled_kernels import KERNELS, Kernel
from tests.support.thread_kernels import assert_computes
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.dialects.nvvm.mbarrier import MBarrierInitOp
from tileas_xdsl.machine.running import ORDERS

REFUSED = ("gemm_16x8x8", "block_scaled_gemm")
"""A product that is too small, and one with scale factors."""
CASES = [(kernel, target) for kernel, target in product(KERNELS, ("sm_80", "sm_90a")) if kernel.name not in REFUSED]


def name_of(case: tuple[Kernel, str]) -> str:
    kernel, target = case
    return f"{kernel.name}-{target}"


SLOW = [case for case in CASES if name_of(case) == "three_loads-sm_80"]
"""Whose check alone takes more than 20 seconds: its tiles are in three loops."""


@each("case", CASES, 3, ids=name_of, slow=SLOW)
def test_loops_that_nobody_overlaps(case: tuple[Kernel, str]) -> None:
    kernel, target = case
    road = f"tileir{{compute-capability={target} pipeline-strategy=none layouts=true threads=true}}"
    threads = run_passes(parse(kernel.text), road)
    assert not any(isinstance(op, MBarrierInitOp) for op in threads.walk())
    for trips, order in product((0, 1, 2, 3, 5), ORDERS):
        assert_computes(threads, kernel, trips, order)
    report = check(threads, judge_waits=False)
    assert report.verdict is Verdict.SAFE, str(report)
