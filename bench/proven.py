"""
The heuristic interval of the kernels in `tests/kernels/`, and of 300 random loops, over the proven one.

Each kernel is prepared for its target; `ratio` is the heuristic interval over the least that has a schedule, `proof s`
the solver's deterministic seconds for the refutation of every smaller one, at most 10. Where these do not suffice the
least interval that is not refuted stands under `from`, and there is no ratio. The last rows are about the random loops,
50 in each: up to 12 ops, all proven; `equal` says how many have the ratio 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from bench.throughput import context
from tests.support.scheduled_kernels import KERNELS, Kernel
from tests.support.scheduling_problems import random_problem
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.names import PASSES, loaders
from tileas_xdsl.scheduling.exact.result import NoSchedule
from tileas_xdsl.scheduling.exact.search import Limits
from tileas_xdsl.scheduling.modulo.problem import ModuloProblem
from tileas_xdsl.scheduling.modulo.schedule import ModuloSchedule, Strategy
from tileas_xdsl.scheduling.modulo.search import schedule
from tileas_xdsl.scheduling.proven import ProvenSchedule, proven_schedule
from tileas_xdsl.transforms.tileas.generate_schedule import GenerateSchedulePass, plan_module

LOOPS, GROUP = 300, 50

LIMITS = Limits(seconds=10, explain=False, phases=False)


def prepared(kernel: Kernel) -> ModuleOp:
    """The kernel before it is scheduled."""
    module = Parser(context(), kernel.text).parse_module()
    steps = (("tileas-materialize-async", {}), ("tileas-prepare-for-scheduling", {"compute_capability": kernel.target}))
    with recorded_diagnostics():
        for name, options in steps:
            loaders("transforms", PASSES)[name]()(**options).apply(Context(), module)
    return module


def heuristic(kernel: Kernel) -> ModuloSchedule:
    """The schedule that `tileas-generate-schedule` finds for the loop of the kernel."""
    (found,) = plan_module(prepared(kernel), GenerateSchedulePass(compute_capability=kernel.target))
    return found.schedule


def proof(start: ModuloSchedule) -> ProvenSchedule:
    found = proven_schedule(start, LIMITS)
    assert not isinstance(found, NoSchedule), "the search starts from a schedule"
    return found


def row(kernel: Kernel) -> dict[str, Any]:
    """The columns of one kernel."""
    start = heuristic(kernel)
    found = proof(start)
    least = found.result.lower_bound
    columns: dict[str, Any] = {"kernel": kernel.name, "heuristic": start.ii}
    if found.result.proven:
        columns |= {"proven": found.result.ii, "ratio": f"{start.ii / found.result.ii:.3f}"}
    else:
        columns |= {"known": found.result.ii, "from": least}
    return {**columns, "proof s": found.result.trail.seconds}


def random_loop(seed: int) -> ModuloProblem:
    return random_problem(seed, most_ops=12, slots=4)


def random_loops(seeds: range) -> dict[str, Any]:
    """How many of these loops have the ratio 1, and the longest proof."""
    equal, longest = 0, 0.0
    for seed in seeds:
        start = schedule(random_loop(seed), Strategy.COST_BASED)
        found = proof(start)
        assert found.result.proven
        equal += start.ii == found.result.ii
        longest = max(longest, found.result.trail.seconds)
    name = f"random loops {seeds.start}-{seeds.stop - 1}"
    return {"kernel": name, "equal": equal, "proof s": longest}


def measure() -> Iterator[dict[str, Any]]:
    """A row for each kernel, then one for each group of random loops."""
    yield from (row(kernel) for kernel in KERNELS)
    yield from (random_loops(range(first, first + GROUP)) for first in range(0, LOOPS, GROUP))
