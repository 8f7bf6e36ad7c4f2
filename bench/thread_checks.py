"""
How long the check of thread code takes, and what it says: for each variant of the kernels in `tests/kernels/`,
processor seconds of `check` with its default limits, without advice on waits.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tests.support.thread_kernels import threads_of
from tests.threads.test_synchronisation import TABLE
from tileas_xdsl.checker.verdict.checking import check

VARIANTS = tuple(json.loads(TABLE.read_text()))
"""Kernel, target and strategy."""


def measure(variants: Sequence[str] = VARIANTS) -> Iterator[dict[str, Any]]:
    """A row for each variant: seconds, and the verdict without what it assumes."""
    for variant in variants:
        name, target, strategy = variant.split()
        module = threads_of(name, strategy, target)
        start = time.process_time()
        report = check(module, judge_waits=False)
        seconds = time.process_time() - start
        yield {"variant": variant, "seconds": round(seconds, 1), "verdict": report.verdict_line.partition(";")[0]}
