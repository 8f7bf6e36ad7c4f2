"""
The proven interval of kernels with a producer and a computing agent, and the period of the program that comes of it.

Each kernel is scheduled with `exact-agents=2`, materialised, and run in time for 16 and for 32 iterations. `period` is
at most the interval. `charged` is for how many cycles of an iteration the model keeps the computing agent, `busy` for
how many it works in the timed machine, without what it waits for. Where `charged` is the interval the agent binds, and
where it is more than `busy` the model charges what the timed machine does not: `control`, which is the loop's own
arithmetic in each turn, and lanes for conversions of layout, which hide behind the access. Then the period lies below
the interval by as much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.context import Context

from bench.proven import prepared
from tests.support.scheduled_kernels import KERNELS, Kernel
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.machine.time.simulation import TimedRun, simulate
from tileas_xdsl.names import PASSES, loaders
from tileas_xdsl.scheduling.loop_problem import LOOP_CONTROL
from tileas_xdsl.scheduling.modulo.problem import TimedOp
from tileas_xdsl.scheduling.shared_loops import slot_names
from tileas_xdsl.transforms.tileas.generate_schedule import GenerateSchedulePass, plan_module

TRIPS = 32

_, COMPUTING_AGENT = slot_names(1)

STEPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tileas-generate-schedule", {"strategy": "exact", "exact_agents": 2, "exact_limit": 2}),
    ("tileas-assign-buffers", {}),
    ("tileas-materialize-schedule", {}),
)


def row(kernel: Kernel) -> dict[str, Any]:
    """The columns of one kernel."""
    module = prepared(kernel)
    asked = GenerateSchedulePass(kernel.target, **STEPS[0][1])
    with recorded_diagnostics():
        (found,) = plan_module(module.clone(), asked)
        for name, options in STEPS:
            loaders("transforms", PASSES)[name]()(compute_capability=kernel.target, **options).apply(Context(), module)
    ops = found.schedule.problem.ops
    short, long = (simulate(module, "f", kernel.arguments(trips), kernel.target) for trips in (TRIPS // 2, TRIPS))
    return {
        "kernel": kernel.name,
        "II": found.schedule.ii,
        "period": long.cycles_per_iteration,
        "charged": rows_of(ops),
        "busy": (busy(long) - busy(short)) / (TRIPS - TRIPS // 2),
        "control": rows_of([op for op in ops if op.name == LOOP_CONTROL]),
    }


def rows_of(ops: Sequence[TimedOp]) -> int:
    """Cycles for which the model keeps the computing agent."""
    return sum(use.rows for op in ops for use in op.uses if use.slot == COMPUTING_AGENT)


def busy(timed: TimedRun) -> int:
    """Cycles for which the computing agent, which is the last one, works or is served."""
    last = timed.agents[-1]
    return last.working + last.served


def measure() -> Iterator[dict[str, Any]]:
    """A row for each kernel."""
    yield from (row(kernel) for kernel in KERNELS)
