"""
Proofs of nests and of several loop counts: seconds of processor time of a whole check in this process, states and
decisions of the proof, and how many executions and steps it took. "From the start" are the steps of executions that did
not go on from where another one was put aside.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.universe import Universe

PROGRAMS = Path(__file__).parents[1] / "tests" / "checker" / "edges"
NAMES = (
    "two_args",
    "three_args",
    "gemm_causal",
    "gemm_persistent_arg",
    "state_token_wait",
    "tileas_token_lag",
    "coprime_4_7",
    "coprime_5_7",
)
TIMEOUT = 300
"""Seconds of processor time that a check may take."""


def program(name: str) -> ModuleOp:
    universe = Universe.get_multiverse()
    ctx = Context()
    for dialect, factory in universe.all_dialects.items():
        ctx.register_dialect(dialect, factory)
    path = PROGRAMS / f"{name}.mlir"
    return Parser(ctx, path.read_text(), str(path)).parse_module()


@contextmanager
def counted_steps() -> Generator[dict[bool, int]]:
    """How many steps were recorded in executions with open loops: by whether they went on from where they were put."""
    from tileas_xdsl.checker.decisions.steered_run import SteeredRun

    counts = {False: 0, True: 0}
    original = SteeredRun.step

    def step(self: SteeredRun, *arguments: Any) -> Any:
        counts[self.was_put_aside] += 1
        return original(self, *arguments)

    SteeredRun.step = step
    try:
        yield counts
    finally:
        SteeredRun.step = original


def row(name: str) -> dict[str, Any]:
    """What a check of one program takes."""
    from tileas_xdsl.checker.verdict.checking import check

    module = program(name)
    with counted_steps() as steps:
        start = process_time()
        report = check(module, timeout=TIMEOUT)
        seconds = process_time() - start
    found: dict[str, Any] = next((proof.as_data() for proof in report.proofs_by_decisions.values()), {})
    return {
        "program": name,
        "every trip count": "yes" if report.holds_for_every_trip_count else "no",
        "s": seconds,
        "states": found.get("states"),
        "decisions": found.get("decisions"),
        "executions": report.executions,
        "steps": steps[False] + steps[True],
        "of them from the start": steps[False],
    }


def measure() -> Iterator[dict[str, Any]]:
    """One row for each program."""
    row("three_args")  # So that everything is imported.
    yield from map(row, NAMES)
