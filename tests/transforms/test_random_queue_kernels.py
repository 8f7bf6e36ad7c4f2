"""
Random programs with queues down to threads: the numbers are those of the program, no order of the threads is wrong, and
all assemble. Nothing is refused but one agent for what several agents take.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tests.support.corpora import each
from tests.support.ir import parse, run_passes
from tests.support.ptx import assembled, ptx_of
from tests.support.random_queue_kernels import written
from tests.support.thread_kernels import DOWN
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.machine.running import run

SEVERAL = ", 2>"
"""The last agents are a group of two."""
CASES = [
    (seed, target, strategy)
    for seed in range(60)
    for target in ("sm_80", "sm_90a")
    for strategy in ("warp-specialize", "unspecialize")
    if strategy == "warp-specialize" or SEVERAL not in written(seed)
]


def _arguments(trips: int) -> dict[str, Any]:
    draw = np.random.default_rng(trips)
    rows = 16 * max(trips, 1)
    given: dict[str, Any] = {name: draw.integers(-2, 3, (rows, 16)).astype(np.float32) for name in ("x0", "x1")}
    return {**given, "c": np.zeros((rows, 32), np.float32), "n": trips}


def _threads(seed: int, target: str, strategy: str) -> ModuleOp:
    options = f"compute-capability={target} pipeline-strategy={strategy} layouts=true threads=true"
    module = run_passes(parse(written(seed)), f"tileir{{{options}}}")
    module.verify()
    verify_dominance(module)
    return module


@each("case", CASES, 8, programs=1, ids=lambda case: "-".join(map(str, case)))
def test_threads_do_what_the_program_says(case: tuple[int, str, str]) -> None:
    seed, target, _ = case
    threads = _threads(*case)
    for trips in (0, 1, 3, 6):
        expected, found = (
            run(module, "f", _arguments(trips), order=order, seed=seed)
            for module, order in ((parse(written(seed)), "eager"), (threads, "random"))
        )
        assert found.finished
        assert np.array_equal(found.arrays["c"], expected.arrays["c"])
    report = check(threads, trip_counts=[0, 1, 2, 5], prove=False, timeout=None)
    assert report.verdict_line.startswith("safe"), str(report)
    assembled(ptx_of(threads, target, DOWN), target)


def test_there_are_programs_of_all_kinds() -> None:
    texts = [written(seed) for seed in range(60)]
    assert len(set(texts)) > 50
    for kind in (SEVERAL, "array<i32: 1, 1, 1, 1, 1>", "queue.get %q0 :", "queue.get %q0[%k]", "arith.maximumf"):
        assert any(kind in text for text in texts), kind
