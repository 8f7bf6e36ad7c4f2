"""
Processor time of reading and checking the TTGIR of kernels in `tests/triton`, with the proof for every trip count.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.tools.inputs import full_context, parse_module

TEXTS = Path(__file__).parents[1] / "tests" / "triton" / "ttgir"
KERNELS = (
    *("barrier_life-good", "store_ring-2-good", "copy_ring-3-good", "tcgen05_loop-good", "fenced_stores-good"),
    *("wgmma_ring-2-good", "wgmma_ring-4-good", "wgmma_ring-4-5", "two_rings-1"),
    *("matmul-80", "matmul-90", "matmul-100", "matmul_descriptors-90", "matmul_descriptors-100"),
    *("matmul_specialized-100", "matmul_persistent-90", "matmul-950", "mover_ring-3-good", "matmul_cluster-90"),
    *("attention-90", "attention-100", "attention_causal-90"),
)


def measure() -> list[dict[str, Any]]:
    """A row for each kernel: its lines, the seconds of both steps, and the verdict."""
    return [_row(name) for name in KERNELS]


def _row(name: str) -> dict[str, Any]:
    text = (TEXTS / f"{name}.ttgir").read_text()
    began = time.process_time()
    module = parse_module(text, name, full_context())
    read = time.process_time()
    report = check(module)
    checked = time.process_time()
    lines = sum(not line.startswith("#") for line in text.splitlines())
    return {
        "kernel": name,
        "lines": lines,
        "read s": read - began,
        "check s": checked - read,
        "verdict": report.verdict_line,
    }
