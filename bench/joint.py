"""
The proven interval of kernels with a producer and a computing agent, and the period of the program that comes of it.

Each kernel is scheduled with `exact-agents=2`, materialised, and run in time for 32 iterations. `period` is at most the
interval. Where it is less by a cycle or more the model charges what the timed machine does not: the loop's own
arithmetic in each turn, and lanes for conversions of layout, which hide behind the access.
"""

from __future__ import annotations

from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr

from bench.proven import prepared
from tests.support.scheduled_kernels import KERNELS, Kernel
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.machine.time.simulation import simulate
from tileas_xdsl.names import PASSES, loaders
from tileas_xdsl.transforms.tileas.generate_schedule import SCHEDULE, scheduled_loops

TRIPS = 32

STEPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tileas-generate-schedule", {"strategy": "exact", "exact_agents": 2, "exact_limit": 2}),
    ("tileas-assign-buffers", {}),
    ("tileas-materialize-schedule", {}),
)


def row(kernel: Kernel) -> dict[str, Any]:
    """The columns of one kernel."""
    module = prepared(kernel)
    with recorded_diagnostics():
        for name, options in STEPS:
            loaders("transforms", PASSES)[name]()(compute_capability=kernel.target, **options).apply(Context(), module)
    entries = scheduled_loops(module)[0].attributes[SCHEDULE]
    assert isinstance(entries, DictionaryAttr)
    interval = entries.data["ii"]
    assert isinstance(interval, IntegerAttr)
    timed = simulate(module, "f", kernel.arguments(TRIPS), kernel.target)
    return {"kernel": kernel.name, "II": interval.value.data, "period": timed.cycles_per_iteration}


def measure() -> list[dict[str, Any]]:
    """A row for each kernel."""
    return [row(kernel) for kernel in KERNELS]
