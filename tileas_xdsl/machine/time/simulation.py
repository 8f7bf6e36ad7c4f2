"""
How long a program takes: `simulate(module, function, arguments, target)`.

The machine runs under the order `timed`, without data unless they are asked for. The result has the cycles of an
iteration, the utilisation of each engine, and where agents stall and on what. The numbers follow from the tables in
`targets`: they are meant for comparing one schedule with another, not as measurements.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from statistics import median
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.diagnostics import location_of, op_name
from tileas_xdsl.machine.arguments import (
    apart_from_grid,
    bind_arguments,
    find_function,
    symbolic_arguments,
    threads_given,
)
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.calling import execute_to_mistake
from tileas_xdsl.machine.core.deadline import Deadline
from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.happens_before import Who
from tileas_xdsl.machine.core.observer import NOBODY, AnyObserver
from tileas_xdsl.machine.core.violations import Violation
from tileas_xdsl.machine.parts.programs import extents_given, first_block
from tileas_xdsl.machine.time.simulated_time import ENGINE, SimulatedClock, Timed
from tileas_xdsl.tabular import Tabular
from tileas_xdsl.targets.cycles import timing_table

DIGITS = re.compile(r"\d+")

LONGEST_PATTERN = 64
"""Iterations after which a settled loop is looked for to repeat itself."""


@dataclass(frozen=True)
class EngineUse:
    """How busy one engine was."""

    name: str
    turns: int
    busy: int
    """Cycles in which it was occupied."""
    size: int
    """Bytes moved."""

    def share(self, cycles: int) -> float:
        """Utilisation: the part of `cycles` in which it was occupied."""
        return self.busy / cycles if cycles else 0.0


@dataclass(frozen=True)
class AgentUse:
    """What one agent did with its time, in cycles."""

    name: str
    working: int
    """Cycles of its own work: scalars, arithmetic on tiles, issuing and signalling."""
    served: int
    """Cycles of accesses and products that it made itself, and waited for."""
    stalled: int


@dataclass(frozen=True)
class StallSum:
    """The sum of all stalls of one agent at one op."""

    agent: str
    op: Operation
    on: str
    """What it waited for. Numbers that differ from one stall to the next are replaced: `full[*] of pipeline 'p'`."""
    times: int
    cycles: int

    @property
    def place(self) -> str:
        return location_of(self.op) or op_name(self.op)


@dataclass(frozen=True)
class LoopTime:
    """One loop as one agent ran it, all its runs together."""

    agent: str
    op: Operation
    runs: int
    iterations: int
    cycles: int
    """Cycles of all runs together."""
    steady: float
    """Cycles per iteration in the steady state (`steady_cycles`), the median of all runs."""

    @property
    def place(self) -> str:
        return location_of(self.op) or op_name(self.op)


@dataclass
class TimedRun(Tabular):
    """An execution with its times."""

    target: str
    function: str
    machine: Machine = field(repr=False)
    clock: SimulatedClock = field(repr=False)
    results: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        steady = self.cycles_per_iteration
        each = "" if steady is None else f", {steady:,.0f} an iteration"
        return f"TimedRun(@{self.function} on {self.target}: {self.cycles:,} cycles{each})"

    def rows(self) -> list[dict[str, Any]]:
        """A row for each engine that did something."""
        return [
            {
                "engine": use.name,
                "turns": use.turns,
                "busy cycles": use.busy,
                "share": use.share(self.cycles),
                "bytes": use.size,
            }
            for use in self.engines
        ]

    def to_dict(self) -> dict[str, Any]:
        """The times and the engines."""
        return {
            "function": self.function,
            "target": self.target,
            "cycles": self.cycles,
            "cycles_per_iteration": self.cycles_per_iteration,
            "most_in_flight": self.most_in_flight,
            "violations": [violation.sentence for violation in self.violations],
            "engines": self.rows(),
        }

    @property
    def violations(self) -> tuple[Violation, ...]:
        return tuple(self.machine.violations.values())

    @property
    def cycles(self) -> int:
        """From the first step to the end of the last agent and the last work."""
        return self.clock.end

    @property
    def cycles_per_iteration(self) -> float | None:
        """
        Cycles per iteration of the loop in which most of the time is spent; None without loops, or if the program got
        stuck.
        """
        loops = self.loops if not any(violation.stuck for violation in self.violations) else []
        return max(loops, key=lambda loop: (loop.iterations * loop.steady, loop.iterations)).steady if loops else None

    @property
    def most_in_flight(self) -> int:
        """How many asynchronous works, tasks and other agents were under way at one time, beside the function."""
        changes = [
            change
            for service in self.clock.services
            if service.work is not None
            for change in ((service.asked, 1), (service.complete, -1))
        ]
        lives: dict[Who, tuple[int, int]] = {}
        for part in (*self.clock.spans, *self.clock.stalls):
            begin, end = lives.get(part.agent, (part.start, part.end))
            lives[part.agent] = min(begin, part.start), max(end, part.end)
        for agent, (begin, end) in lives.items():
            if agent.parent is not None:
                changes += [(begin, 1), (end, -1)]
        # At one cycle, what ends does so before something else begins.
        return max(accumulate(change for _, change in sorted(changes)), default=0)

    @property
    def engines(self) -> list[EngineUse]:
        """Every engine that did something, in order of first use."""
        services = self.clock.services
        names = dict.fromkeys(s.engine for s in services if s.engine is not None and s.freed > s.start)
        uses: list[EngineUse] = []
        for name in names:
            turns = [s for s in services if s.engine == name]
            uses.append(EngineUse(name, len(turns), sum(s.freed - s.start for s in turns), sum(s.size for s in turns)))
        return uses

    @property
    def agents(self) -> list[AgentUse]:
        """Every agent, in the order in which they were made."""
        working: dict[Who, int] = dict.fromkeys(self.machine.agents, 0)
        served, stalled = dict(working), dict(working)
        for span in self.clock.spans:
            sums = served if span.kind == ENGINE else working
            sums[span.agent] += span.end - span.start
        for stall in self.clock.stalls:
            stalled[stall.agent] += stall.end - stall.start
        return [AgentUse(agent.name, working[agent], served[agent], stalled[agent]) for agent in working]

    @property
    def stalls(self) -> list[StallSum]:
        """Where agents stood still, the longest first."""
        found: dict[tuple[str, Operation], list[tuple[str, int]]] = {}
        for stall in self.clock.stalls:
            found.setdefault((stall.agent.name, stall.op), []).append((stall.on, stall.end - stall.start))
        sums = [
            StallSum(agent, op, _common([on for on, _ in times]), len(times), sum(cycles for _, cycles in times))
            for (agent, op), times in found.items()
        ]
        return sorted(sums, key=lambda stall: -stall.cycles)

    @property
    def loops(self) -> list[LoopTime]:
        """Every loop of which an iteration was run, in the order in which they were entered."""
        found: dict[tuple[str, Operation], list[list[int]]] = {}
        for run in self.clock.loops:
            if run.end >= run.starts[0] and run.durations:
                found.setdefault((run.agent.name, run.op), []).append(run.durations)
        return [
            LoopTime(
                agent,
                op,
                len(runs),
                sum(map(len, runs)),
                sum(map(sum, runs)),
                float(median(map(steady_cycles, runs))),
            )
            for (agent, op), runs in found.items()
        ]

    def as_data(self) -> dict[str, Any]:
        """The numbers, for JSON."""
        return {
            "target": self.target,
            "cycles": self.cycles,
            "cycles_per_iteration": self.cycles_per_iteration,
            "most_in_flight": self.most_in_flight,
            "loops": [
                {
                    "agent": loop.agent,
                    "place": loop.place,
                    "runs": loop.runs,
                    "iterations": loop.iterations,
                    "cycles": loop.cycles,
                    "cycles_per_iteration": loop.steady,
                }
                for loop in self.loops
            ],
            "engines": [
                {
                    "engine": engine.name,
                    "turns": engine.turns,
                    "busy": engine.busy,
                    "bytes": engine.size,
                    "utilisation": engine.share(self.cycles),
                }
                for engine in self.engines
            ],
            "agents": [
                {"agent": use.name, "working": use.working, "served": use.served, "stalled": use.stalled}
                for use in self.agents
            ],
            "stalls": [
                {
                    "agent": stall.agent,
                    "place": stall.place,
                    "op": op_name(stall.op),
                    "on": stall.on,
                    "times": stall.times,
                    "cycles": stall.cycles,
                }
                for stall in self.stalls
            ],
        }


def steady_cycles(durations: Sequence[int]) -> float:
    """
    Cycles per iteration once a loop has settled, from the durations of its iterations.

    A pipelined loop may settle into a pattern of several iterations: short ones make up for a long one, turn by turn of
    its rings. So the mean over the shortest pattern that the later half repeats is taken; where it repeats none, the
    median of the later half.
    """
    count = len(durations)
    later = count - count // 2
    for length in range(1, min(count // 2, LONGEST_PATTERN) + 1):
        seen = durations[-max(later, 2 * length) :]
        if seen[length:] == seen[:-length]:
            return sum(seen[-length:]) / length
    return float(median(durations[-later:]))


def _common(texts: list[str]) -> str:
    """
    The text that `texts` have in common, with `*` for numbers that differ; otherwise the first text and how many more
    there are.
    """
    different = list(dict.fromkeys(texts))
    if len(different) == 1:
        return different[0]
    patterns = list(dict.fromkeys(DIGITS.sub("*", text) for text in different))
    return patterns[0] if len(patterns) == 1 else f"{patterns[0]}, and {len(patterns) - 1} more"


def timed_run(function: str, machine: Machine, results: tuple[Any, ...] = ()) -> TimedRun:
    """The times of an execution that `machine` made under the order `timed`."""
    clock = machine.clock
    assert isinstance(clock, SimulatedClock)
    return TimedRun(clock.table.target, function, machine, clock, results)


def simulate(
    module: Operation,
    function: str | None = None,
    arguments: Mapping[str, Any] | None = None,
    target: str = "generic",
    *,
    with_data: bool = False,
    capture: str = "completion",
    threads: int | None = None,
    programs: Sequence[int] | None = None,
    at_end: Sequence[Callable[[Agent], None]] = (),
    observer: AnyObserver = NOBODY,
    timeout: float | None = None,
) -> TimedRun:
    """
    Run `function` of `module` under the order `timed`, with the cycles of `target`.

    `arguments` are numbers by name, with `with_data` arrays too; without data open extents of arrays are 1024. Ids and
    extents of the grid may be among them (`ctaid.x`); those that are not are the ones of block 0 of 1. The
    checks `at_end` are made when the function has ended; a function that does not say how many threads run it has
    `threads`, or one; `observer` watches. `programs` are the extents of a grid of programs, of which one block runs:
    the first, which takes over as many of the others as it asks for. `timeout` is in seconds of processor time.

    Violations, a deadlock among them, are in the result, not raised. Raises `ValueError` for a target without a table,
    `ArgumentError` for arguments that do not fit, `UndecidedError` where control flow depends on data that are not
    computed, `TimeUpError` where the time is up first, `UnsupportedError` for ops without a meaning.
    """
    op, body = find_function(module, function)
    machine = Machine(
        Timed(timing_table(target)),
        with_data=with_data,
        capture=capture,
        threads=threads_given(threads),
        observer=observer,
        deadline=Deadline.after(timeout),
    )
    machine.at_end.extend(at_end)
    numbers, given = apart_from_grid(op, arguments or {})
    machine.grid = first_block(extents_given(op, programs, numbers), numbers)
    values = bind_arguments(body, given, with_data=True) if with_data else symbolic_arguments(body, given)
    return timed_run(_name_of(op), machine, execute_to_mistake(machine, op, values))


def _name_of(op: Operation) -> str:
    from tileas_xdsl.interfaces import FunctionOpInterface

    interface = FunctionOpInterface.of(op)
    assert interface is not None
    return interface.function_name
