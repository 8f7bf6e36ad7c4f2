"""
No pass recognises a kernel: one with other names, with independent ops in another order, or with one more load chain is
prepared, scheduled and expanded as well, and computes the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.changed_kernels import permute_loop, rename_values, with_one_more_load_chain
from tests.support.corpora import each
from tests.support.ir import parse, print_custom, run_passes
from tests.support.scheduled_kernels import KERNELS, Kernel
from tests.support.scheduled_loops import (
    after,
    assert_kept,
    buffers,
    expanded,
    number,
    ops_of,
    prepared,
    schedule_of,
    scheduled,
)
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.pipeline import CreatePipelineOp
from tileas_xdsl.machine.running import run

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)


def plan(kernel: Kernel) -> str:
    return f"{prepared(target=kernel.target)},{scheduled(target=kernel.target)}"


def expansion(kernel: Kernel) -> str:
    return f"{buffers(kernel.target)},{expanded()}"


def carried_out(module: ModuleOp, passes: str) -> ModuleOp:
    with recorded_diagnostics():
        return run_passes(module, passes)


@every_kernel
def test_names_do_not_matter(kernel: Kernel) -> None:
    """The result is the same, op for op and attribute for attribute."""
    passes = f"{plan(kernel)},{expansion(kernel)}"
    renamed = parse(kernel.text)
    rename_values(renamed, "w")
    assert print_custom(renamed) != print_custom(parse(kernel.text))
    results = after(kernel.text, passes), carried_out(renamed, passes)
    for result in results:
        rename_values(result)
    assert print_custom(results[0]) == print_custom(results[1])


OTHER_INTERVALS = {
    ("gemm_128x64x16", 0): 2,
    ("gemm_64x128x32", 0): -4,
    ("chained_gemm", 0): 3,
    ("block_scaled_gemm", 0): -1,
    ("block_scaled_gemm", 1): -1,
}
"""Kernel and seed of its other order -> the cycles that the interval has more than in the order that is written."""


@each("kernel", KERNELS, 7, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_order_of_independent_ops_does_not_matter(kernel: Kernel, seed: int) -> None:
    """
    The bounds are the same. The interval may differ a little, since the arms decide between equals by program order:
    `OTHER_INTERVALS` has those that do, of none of which the interval is proven to be the least.
    """
    permuted = parse(kernel.text)
    permute_loop(permuted, seed)
    written = schedule_of(after(kernel.text, plan(kernel)))
    carried_out(permuted, plan(kernel))
    entries = schedule_of(permuted)
    assert entries.data["strategy"] == written.data["strategy"]
    assert number(entries, "mii") == number(written, "mii")
    more = number(entries, "ii") - number(written, "ii")
    assert more == OTHER_INTERVALS.get((kernel.name, seed), 0)
    carried_out(permuted, expansion(kernel))
    for trips in (0, 1, 5):
        assert_kept(parse(kernel.text), permuted, kernel, trips)
    assert check(permuted, "f").verdict is Verdict.SAFE


def with_extra(arguments: dict[str, Any], trips: int) -> dict[str, Any]:
    rows = 16 * max(trips, 1)
    extra = np.arange(rows * 16, dtype=np.float32).reshape(rows, 16)
    return {**arguments, "extra": extra, "twice": np.zeros_like(extra)}


@every_kernel
def test_one_more_load_chain_is_pipelined_too(kernel: Kernel) -> None:
    """It gets a ring, the interval is near the bounds, and what was computed before is computed still."""
    text = with_one_more_load_chain(kernel.text)
    module = after(text, plan(kernel))
    entries = schedule_of(module)
    assert entries.data["strategy"] == schedule_of(after(kernel.text, plan(kernel))).data["strategy"]
    assert number(entries, "ii") <= 1.1 * number(entries, "mii")
    assert number(entries, "stage_count") >= 2
    carried_out(module, expansion(kernel))
    assert len(ops_of(module, CreatePipelineOp)) == kernel.loads + 1
    for trips in (0, 1, 2, 5):
        before = run(parse(kernel.text), "f", kernel.arguments(trips))
        result = run(module, "f", with_extra(kernel.arguments(trips), trips))
        assert result.violations == ()
        assert before.arrays["c"].tobytes() == result.arrays["c"].tobytes()
        if trips:
            assert np.array_equal(result.arrays["twice"], 2 * result.arrays["extra"])
    assert check(module, "f").verdict is Verdict.SAFE
