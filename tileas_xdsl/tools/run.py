"""
`tileas run FILE`: run a function on numbers, and show what it returns and what it leaves in its arrays.

Exit status 0: it ran (and is as expected). 1: it has a race or a deadlock, or differs from what `--expect` says. 2: the
input or an argument is wrong. 3: the time was up; then it says where the agents stand. Output files are written only
with status 0, all of them or none.

`--expect` compares exactly unless a tolerance is given; two NaNs are equal. Where anything differs, nothing is written.
A failed run prints no arrays. What the order of the agents decides is named: another order may give other numbers. An
op that takes a tile outside of its array is named, too: a shape or a trip count may be wrong.

In `.npy` files bf16 and fp8 are raw bytes: numpy's format has no name for them. `--may-alias A,B` lets both begin at
the same byte.

Of `%x_0` and `%x_1`, which xDSL reads as `x` both, the names are `x#0` and `x#1`. Without `ctaid` the block that runs
is number 0 of 1. Behind a pointer there is what the file holds, or zeros. A number that the element type cannot hold is
refused; floats are rounded.

With `--order timed` the cycles of each loop, engine and agent are printed, and the stalls, longest first; without
`--target` the cycles are those of the target that the IR names. JSON has them under `time`, with `most_in_flight`: how
many works, tasks and further agents were under way at one time.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, Region

from tileas_xdsl.checker.verdict.report import Finding
from tileas_xdsl.checker.witnesses.investigator import Investigator
from tileas_xdsl.interfaces import FunctionOpInterface
from tileas_xdsl.machine.arguments import (
    ArgumentError,
    argument_at,
    argument_names,
    find_function,
    is_argument,
    is_scalar,
)
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.deadline import TimeUpError
from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.core.violations import Party
from tileas_xdsl.machine.running import ORDERS
from tileas_xdsl.machine.running import run as run_on_machine
from tileas_xdsl.machine.time.simulation import TimedRun, timed_run
from tileas_xdsl.tools.argument_values import argument_values, name_given
from tileas_xdsl.tools.array_files import Expectation, load, widened, write_arrays
from tileas_xdsl.tools.errors import OUT_OF_TIME, InputError
from tileas_xdsl.tools.machine_input import (
    Input,
    add_capture,
    add_programs,
    add_threads,
    asked_function,
    machine_errors,
    named_values,
    print_json,
    read_input,
)
from tileas_xdsl.tools.ptx import add_launch
from tileas_xdsl.tools.python import add_launches, of_each_launch
from tileas_xdsl.tools.rendering import LABEL, Line, Source, findings_lines, write_lines
from tileas_xdsl.tools.time_limit import TIMEOUT, add_timeout
from tileas_xdsl.tools.times import add_target, chosen_target, stated_target, timing_lines

Array = NDArray[Any]
RESULT = re.compile(r"result\d+")
RAN, FAILED = 0, 1
"""Exit statuses; 2, for wrong input, is the command's own."""
MOST_AGENTS = 8
"""The number of agents of which is said where they stand when the time is up."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the program; - is standard input")
    add_launches(parser)
    parser.add_argument("--function", metavar="F", help="which function; may be left out if there is only one")
    parser.add_argument(
        "--arg",
        metavar="NAME=V",
        action="append",
        default=[],
        help="value of an argument, by name or number: a number, zeros, iota, random:SEED or FILE.npy, with AxB: in "
        "front for dynamic sizes; arrays not named get small integers",
    )
    parser.add_argument("--order", choices=ORDERS, default="lazy", help="when asynchronous work is performed")
    add_target(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of --order random (default: 0)")
    add_capture(parser)
    parser.add_argument(
        "--out", metavar="NAME=F.npy", action="append", default=[], help="write an array argument, or result0, ..."
    )
    parser.add_argument(
        "--expect", metavar="NAME=F.npy", action="append", default=[], help="compare an array argument, or result0, ..."
    )
    add_threads(parser)
    add_programs(parser, "a block is started for each that no other has taken over (default: 1)")
    parser.add_argument("--rtol", type=tolerance, default=0.0, metavar="R", help="relative tolerance of --expect")
    parser.add_argument("--atol", type=tolerance, default=0.0, metavar="A", help="absolute tolerance of --expect")
    add_timeout(parser, TIMEOUT, "the run")
    parser.add_argument("--format", choices=["text", "json"], default="text", help="text (the default) or json")
    add_launch(parser)


class Watcher(Investigator):
    """Explains mistakes, and notes what a run does outside of its arrays, where that is allowed."""

    def __init__(self) -> None:
        self.beyond: dict[Operation, str] = {}
        """An op -> which array its tile does not reach, and when it did not for the first time."""

    def outside(self, agent: Agent, op: Operation, array: MemoryObject) -> None:
        extents = "x".join(map(str, array.shape))
        party = Party(op, agent.name, agent.iteration, f"takes a tile that lies outside of {array.name} ({extents})")
        self.beyond.setdefault(op, str(party))


@dataclass(frozen=True)
class Run:
    """The outcome of a run, and how it differs from what was expected."""

    function: str
    arrays: dict[str, Array]
    """Results and final contents of array arguments, by name."""
    findings: list[Finding]
    differences: dict[str, str | None]
    """Name of each array in `--expect` -> how the array differs from the file, or None where it does not."""
    times: TimedRun | None = None
    """How long it took, with `--order timed`."""
    out_of_time: TimeUpError | None = None
    """What stopped it when the time was up; None where it ended by itself."""
    standing: tuple[str, ...] = ()
    """Where its agents stood then."""
    left_open: tuple[str, ...] = ()
    """What another order of the agents may decide otherwise, and the numbers with it."""
    beyond: tuple[str, ...] = ()
    """The ops that were about tiles outside of their arrays, and when."""

    @property
    def status(self) -> int:
        if self.out_of_time is not None and not self.findings:
            return OUT_OF_TIME
        return FAILED if self.findings or any(self.differences.values()) else RAN

    @property
    def verdict(self) -> str:
        if self.findings:
            kinds = dict.fromkeys(str(finding.violation.kind) for finding in self.findings)
            return f"failed: {', '.join(kinds)}"
        if self.out_of_time is not None:
            return f"stopped after {self.out_of_time.deadline}"
        differing = [name for name, difference in self.differences.items() if difference is not None]
        if differing:
            return f"differs: {', '.join(differing)}"
        return "ran, and is as expected" if self.differences else "ran"


@of_each_launch
def run(arguments: argparse.Namespace) -> int:
    target = chosen_target(arguments)
    given = read_input(arguments.file, arguments=arguments, with_numbers=True)
    with machine_errors(given.source):
        function, body = find_function(given.module, given.function or asked_function(arguments))
        values = argument_values(body, [*named_values(arguments.arg, "--arg"), *_launched(body, arguments)])
        out = _destinations(body, arguments.out, "--out")
        _require_different_files(out)
        expected = {
            name: Expectation(file, load(file), arguments.rtol, arguments.atol)
            for name, file in _destinations(body, arguments.expect, "--expect").items()
        }
        target = target or stated_target(function)
        done = _run(given, function, body, values, arguments, target, {**dict.fromkeys(out), **expected})
    if done.status == RAN:
        write_arrays({file: done.arrays[name] for name, file in out.items()})
    if arguments.format == "json":
        print_json(_as_data(done, arguments))
    else:
        write_lines(_as_lines(done, given.source))
    return done.status


# What is asked for ----------------------------------------------------------------------------------------------------


def _launched(body: Region, arguments: argparse.Namespace) -> list[tuple[str, str]]:
    """(NAME, V) of the arguments of a launch for which nothing is given: arrays of its extents get small integers."""
    given = {name for name, _ in named_values(arguments.arg, "--arg")}
    values = arguments.launched.values if arguments.launched is not None else ()
    own = [(name, value) for name, value in values if name not in given and is_argument(body, name)]
    return [(name, value if is_scalar(argument_at(body, name).type) else f"{value}:random:0") for name, value in own]


def _destinations(body: Region, texts: list[str], option: str) -> dict[str, str]:
    """Name of an array (as `Run.arrays` has it) -> file."""
    files: dict[str, str] = {}
    names = argument_names(body)
    for name, file in named_values(texts, option):
        if not file.endswith(".npy"):
            raise InputError([f"error: {option} {name}={file}: the file must be called something.npy"])
        is_result = RESULT.fullmatch(name) is not None and name not in names
        known = name if is_result else names[argument_at(body, name).index]
        if known in files:
            raise InputError([f"error: {option} {name} is given twice"])
        files[known] = file
    return files


def _require_different_files(out: dict[str, str]) -> None:
    """Raises `InputError` where two arrays would go to one file."""
    places = [Path(file).resolve() for file in out.values()]
    for number, (name, file) in enumerate(out.items()):
        if places[number] in places[:number]:
            raise InputError([f"error: --out {name}={file}: another array goes to that file"])


def tolerance(text: str) -> float:
    """The number that `text` is. Raises `ArgumentTypeError` for what is no number from 0 up."""
    try:
        number = float(text)
    except ValueError:
        number = nan
    if not 0 <= number < inf:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 0 up")
    return number


# Running --------------------------------------------------------------------------------------------------------------


def _run(
    given: Input,
    function: Operation,
    body: Region,
    values: dict[str, Any],
    arguments: argparse.Namespace,
    target: str,
    named: dict[str, Expectation | None],
) -> Run:
    """
    Run `function` and compare what `named` names with what is expected of it, where something is.

    Raises `ArgumentError` for a name in `named` that is no array here, what the machine raises for what it cannot run.
    """
    name, watcher = _name_of(function), Watcher()
    outcome = run_on_machine(
        given.module,
        name,
        values,
        order=arguments.order,
        seed=arguments.seed,
        capture=arguments.capture,
        target=target,
        threads=arguments.threads,
        programs=arguments.programs or (arguments.launched and arguments.launched.grid),
        observer=watcher,
        timeout=arguments.timeout,
    )
    stopped = outcome.out_of_time
    times = timed_run(name, outcome.machine) if arguments.order == "timed" and stopped is None else None
    scalars = {name_given(body, place): value for place, value in values.items() if np.ndim(value) == 0}
    findings = [Finding(name, scalars, violation) for violation in outcome.violations]
    if stopped is not None:
        return Run(name, {}, findings, {}, None, stopped, _standing(outcome.machine))
    arrays = {**{f"result{i}": np.asarray(result) for i, result in enumerate(outcome.results)}, **outcome.arrays}
    differences: dict[str, str | None] = {}
    if not findings:
        for wanted, expectation in named.items():
            if wanted not in arrays:
                raise ArgumentError(f"'{wanted}' is no array here; there are: {', '.join(arrays) or 'none'}")
            if expectation is not None:
                differences[wanted] = expectation.difference(arrays[wanted])
    left_open, beyond = tuple(outcome.machine.left_open), tuple(watcher.beyond.values())
    return Run(name, arrays, findings, differences, times, left_open=left_open, beyond=beyond)


def _standing(machine: Machine) -> tuple[str, ...]:
    """Where the agents that have not ended stand, the oldest first."""
    lines: list[str] = []
    for agent in machine.live[:MOST_AGENTS]:
        op = agent.waiting_at or agent.current_op
        does = f"waits for {agent.waiting_for.describe()}" if agent.waiting_for is not None else "is what it does"
        if op is not None:
            lines.append(str(Party(op, agent.name, agent.iteration, does)))
    more = len(machine.live) - MOST_AGENTS
    return (*lines, f"and {more} more agents") if more > 0 else tuple(lines)


def _name_of(function: Operation) -> str:
    interface = FunctionOpInterface.of(function)
    assert interface is not None
    return interface.function_name


# What people and programs read ----------------------------------------------------------------------------------------


def _as_lines(done: Run, source: Source) -> list[Line]:
    """Violations; where there are none results and arrays, and how they differ. The verdict last."""
    lines = findings_lines(done.findings, source)
    if not done.findings:
        for name, array in done.arrays.items():
            lines += [[(text, "")] for text in _array_text(name, array).splitlines()]
    for name, difference in done.differences.items():
        if difference is not None:
            lines.append([(f"{name}: ", "bold"), (difference, "")])
    if done.times is not None:
        lines += [[], *timing_lines(done.times), []]
    lines += [[("stands: ", LABEL), (text, "")] for text in done.standing]
    lines += [[("warning: ", LABEL), (f"{text}; do shapes and trip counts fit?", "")] for text in done.beyond]
    lines += [[("open: ", LABEL), (f"{text}; another order may give other numbers", "")] for text in done.left_open]
    return [*lines, [(done.verdict, "bold green" if done.status == RAN else "bold red")]]


def _array_text(name: str, array: Array) -> str:
    if array.ndim == 0:
        return f"{name} = {widened(array)[()]}"
    shape = "x".join(map(str, array.shape))
    return f"{name} : {shape}x{array.dtype} =\n{np.array2string(widened(array), max_line_width=100)}"


def _as_data(done: Run, arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "file": arguments.file,
        "function": done.function,
        "order": arguments.order,
        "seed": arguments.seed,
        "capture": arguments.capture,
        "verdict": done.verdict,
        "arrays": {
            name: {"type": str(array.dtype), "shape": list(array.shape), "data": widened(array).tolist()}
            for name, array in done.arrays.items()
        },
        "findings": [finding.as_data() for finding in done.findings],
        "differences": done.differences,
        "open": list(done.left_open),
        "warnings": list(done.beyond),
        **({"stands": list(done.standing)} if done.out_of_time is not None else {}),
        **({"time": done.times.as_data()} if done.times is not None else {}),
    }
