"""
A schedule as a Chrome trace: one lane for each slot, one bar for each op that takes it, one cycle a microsecond.

The arguments of a bar say its stage, its position in the kernel, its latency, and the dependences that reach it with
the latency that they ask for and the one that they got. Nothing reads it back.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from tileas_xdsl.scheduling.loop_problem import LoopProblem
from tileas_xdsl.scheduling.modulo.schedule import ModuloSchedule


class SlotBar(TypedDict):
    """One complete event of the Chrome trace format."""

    name: str
    ph: str
    ts: int
    dur: int
    pid: int
    tid: str
    args: dict[str, int | str | list[str]]


def trace_events(found: Sequence[tuple[LoopProblem, ModuloSchedule]]) -> list[SlotBar]:
    """The bars of all loops, each loop a process."""
    bars: list[SlotBar] = []
    for loop, (problem, result) in enumerate(found):
        for number, op in enumerate(problem.problem.ops):
            waits = [
                f"{problem.problem.ops[edge.source].name}: {edge.latency} of "
                f"{result.starts[number] + result.ii * edge.distance - result.starts[edge.source]}"
                for edge in problem.problem.incoming[number]
            ]
            details: dict[str, int | str | list[str]] = {
                "stage": result.stage(number),
                "order": result.order[number],
                "latency": op.latency,
                "after": waits,
            }
            bars += [
                SlotBar(
                    name=op.name, ph="X", ts=result.starts[number], dur=use.rows, pid=loop, tid=use.slot, args=details
                )
                for use in op.uses
            ]
    return bars


def write_trace(path: str, found: Sequence[tuple[LoopProblem, ModuloSchedule]]) -> None:
    """Write the trace of `found` to the file `path`."""
    Path(path).write_text(json.dumps({"traceEvents": trace_events(found), "displayTimeUnit": "ns"}, indent=1) + "\n")
