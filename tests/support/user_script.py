# pyright: strict
"""A script of a user: each name of the front door, and the type of what it gives."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_type

import numpy as np

import tileas_xdsl as tileas
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.kernels.on_machine import KernelRun
from tileas_xdsl.kernels.tuning.result import Tuning
from tileas_xdsl.machine.running import Outcome
from tileas_xdsl.machine.time.simulation import TimedRun
from tileas_xdsl.tools.passes import PassList
from tileas_xdsl.views.dependences import WaitGraph
from tileas_xdsl.views.layouts import ShownLayout
from tileas_xdsl.views.schedule import Schedules
from tileas_xdsl.views.stages import Road
from tileas_xdsl.views.timeline.shown import ShownTimeline


def blocks(given: Mapping[str, Any]) -> tuple[int, int]:
    return given["n"], 1


def use(file: Path) -> None:
    module = tileas.parse(file)
    a, b, c = np.ones((64, 64), np.float16), np.ones((64, 64), np.float16), np.zeros((64, 64), np.float32)
    assert_type(tileas.check(tileas.transform(module, "tileas-remove-dead-work"), {"n": 2}), Report)
    assert_type(tileas.run(module, [a, b, c, 1]), Outcome)
    assert_type(tileas.simulate(module, {"n": 2}, target="sm_90"), TimedRun)
    assert_type(tileas.timeline(module, {"n": 2}), ShownTimeline)
    assert_type(tileas.schedule(module), Schedules)
    assert_type(tileas.explain(module, "tileas-remove-dead-work"), Road)
    assert_type(tileas.tokens(module), WaitGraph)
    assert_type(tileas.passes(), PassList)
    assert_type(tileas.layout("smem, swizzle<128>"), ShownLayout)
    kernel = tileas.compile(module, target="sm_90a", check=False)
    assert_type(kernel, tileas.Kernel)
    assert_type(kernel.run(a, b, c, n=1, device="machine"), KernelRun)
    assert_type(kernel.explain({"n": 2}), Road)
    kernel[1](a, b, c, n=1)
    kernel[1, 2](a, b, c, n=1, stream=None)
    kernel[blocks](a, b, c, n=1)
    kernel.run(a, b, c, n=1, grid=lambda given: (len(given["c"]) // 64, 1))
    print(kernel.contract.block, [loop.cycles for loop in kernel.report.loops], kernel.ptx.count("wgmma"))
    found = tileas.tune(module, {"num_stages": [2, 3]}, {"a": a, "b": b, "c": c, "n": 1}, compiled=1, measure=False)
    assert_type(found, Tuning)
    print(found.best, found.kernel.report.registers, found.rows(), found.to_dict(), found.correlation)
    try:
        tileas.load("absent.cubin")
    except tileas.Error as error:
        print(error)
