"""The kernels, scheduled and expanded, run in the timed machine with a period of at most their initiation interval."""

from __future__ import annotations

import pytest

from tests.support.ir import run_passes
from tests.support.scheduled_kernels import KERNELS, Kernel
from tests.support.scheduled_loops import after, buffers, expanded, number, prepared, schedule_of, scheduled
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.machine.time.simulation import simulate

TRIPS = 16


@pytest.mark.parametrize("products", [True, False], ids=["asynchronous products", "synchronous products"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_the_period_is_at_most_the_interval(kernel: Kernel, products: bool) -> None:
    plan = f"{prepared(products, kernel.target)},{scheduled(target=kernel.target)},{buffers(kernel.target)}"
    module = after(kernel.text, plan)
    interval = number(schedule_of(module), "ii")
    with recorded_diagnostics():
        run_passes(module, expanded())
    period = simulate(module, "f", kernel.arguments(TRIPS), kernel.target).cycles_per_iteration
    assert period is not None
    assert period <= interval
