"""
Random loops over tiles down to threads, PTX and machine code, for the targets of both families: by cp.async and
mma.sync, by TMA and wgmma. The machine runs the threads lane by lane, and they compute what the loop does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tests.support.corpora import each
from tests.support.ir import parse, run_passes
from tests.support.ptx import ptx_of, require_ptxas
from tests.support.random_tile_kernels import kernel_arguments, random_kernel
from tests.support.thread_kernels import DOWN, driver_of, to_threads
from tileas_xdsl.backend.ptxas import assemble
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.machine.running import run

PROGRAMS = range(50)
STRATEGIES = ("unspecialize", "warp-specialize")
CASES = [
    (seed, target, STRATEGIES[(seed + shift) % 2])
    for seed in PROGRAMS
    for shift, target in enumerate(("sm_80", "sm_90a"))
]


def _threads(text: str, target: str, strategy: str) -> ModuleOp:
    with recorded_diagnostics():
        tiles = run_passes(parse(text), driver_of(target, strategy))
    return run_passes(tiles, to_threads(target))


def _with_maps(module: ModuleOp, given: dict[str, Any]) -> dict[str, Any]:
    """An array that is used by TMA and otherwise is handed over twice."""
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    names = [argument.name_hint or "" for argument in function.body.block.args]
    return {name: np.copy(given[name.removesuffix("_map")]) for name in names}


def assert_right(seed: int, target: str, strategy: str, trips: Sequence[int]) -> ModuleOp:
    """The threads of a random loop compute what it does; returns them."""
    text = random_kernel(seed)
    threads = _threads(text, target, strategy)
    for times in trips:
        expected = run(parse(text), "f", kernel_arguments(times)).arrays
        found = run(threads, "f", _with_maps(threads, kernel_arguments(times)), order="random", seed=seed).arrays
        for name in ("c", "o"):
            assert np.array_equal(found[name], expected[name]), (times, name)
    return threads


@each("case", CASES, 4, ids=lambda case: "-".join(map(str, case)))
def test_random_kernels_become_machine_code(case: tuple[int, str, str]) -> None:
    seed, target, strategy = case
    threads = assert_right(seed, target, strategy, (0, 1, 2 + seed % 3, 5))
    (report,) = assemble(ptx_of(threads, target, DOWN), target, require_ptxas()).kernels
    assert report.registers <= 255
