"""
`tileas explain FILE -p PASSES -o OUT.html`: one page that shows what each pass does to a program.

After each pass: the IR with what changed, remarks beside their ops, the verdict of the checker, and the timeline.
Exit status 0: written, and every stage is safe or undecided. 1: written, and some stage is unsafe. 2: the input is
wrong, or a pass refused it; then the page shows the stages up to there.
"""

from __future__ import annotations

import argparse
import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.universe import Universe
from xdsl.utils.arg_spec import parse_pipeline

from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.collector import seldom_collecting
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.diagnostics import op_name, recorded_diagnostics
from tileas_xdsl.machine.arguments import ArgumentError, find_function, numbers_of_block
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError
from tileas_xdsl.tools.argument_values import argument_values
from tileas_xdsl.tools.errors import InputError, explain, place_of
from tileas_xdsl.tools.inputs import full_context, parse_module, read_text
from tileas_xdsl.tools.machine_input import asked_function, machine_errors, named_values
from tileas_xdsl.tools.output_files import write_text
from tileas_xdsl.tools.rendering import Source
from tileas_xdsl.tools.time_limit import NO_TIMEOUT, for_a_run
from tileas_xdsl.tools.timeline import (
    TRIP_COUNT,
    add_run_arguments,
    chosen_trip_count,
    run_values,
    timed_run_of,
)
from tileas_xdsl.tools.times import chosen_target, stated_target
from tileas_xdsl.views.listing import listed
from tileas_xdsl.views.stages import Road, Stage, road_html
from tileas_xdsl.views.timeline import Timeline, timeline

EXPLAINED, UNSAFE = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the program; - is standard input")
    parser.add_argument("-p", "--passes", metavar="PASSES", default="", help="the passes, as for xdsl-opt -p")
    parser.add_argument("-o", "--out", metavar="OUT.html", help="the file to write")
    add_run_arguments(parser)
    # Without seconds, the check is limited by its work.
    parser.set_defaults(timeout=NO_TIMEOUT)


def run(arguments: argparse.Namespace) -> int:
    with seldom_collecting():
        return _explained(arguments)


def _explained(arguments: argparse.Namespace) -> int:
    out = _destination(arguments.out)
    chosen_target(arguments)
    chosen_trip_count(arguments)
    passes = _passes(arguments.passes)
    name = "<stdin>" if arguments.file == "-" else arguments.file
    context = full_context()
    text = read_text(arguments.file)
    module = parse_module(text, name, context)
    with machine_errors(Source(name, text)):
        _require_what_is_named(module, arguments)
    road, error = _walk(module, context, passes, name, arguments)
    write_text(str(out), road_html(road))
    for stage in road.stages:
        cycles = f"{stage.picture.cycles:,} cycles" if stage.picture is not None else "no timeline"
        verdict = stage.report.verdict_line if stage.report is not None else "not checked"
        print("\n  ".join([f"{stage.title}: {verdict}, {cycles}", *stage.notes]))
    if error is not None:
        raise error
    unsafe = any(stage.report is not None and stage.report.verdict is Verdict.VIOLATION for stage in road.stages)
    return UNSAFE if unsafe else EXPLAINED


def _destination(out: str | None) -> Path:
    if out is None:
        raise InputError(["error: say what to write: -o something.html"])
    if Path(out).suffix != ".html":
        raise InputError([f"error: -o {out}: the file must be called something.html"])
    return Path(out)


def _require_what_is_named(module: ModuleOp, arguments: argparse.Namespace) -> None:
    """Raises `ArgumentError` for a function, an argument or a value that the program as written does not take."""
    if arguments.function is None and not arguments.arg:
        return
    _, body = find_function(module, asked_function(arguments))
    argument_values(body, named_values(arguments.arg, "--arg"))


@dataclass(frozen=True, kw_only=True)
class HowRun:
    """The options of a check and of a simulated run, as the command takes them."""

    function: str | None = None
    arg: Sequence[str] = ()
    trip_count: int = TRIP_COUNT
    target: str | None = None
    threads: int | None = None
    programs: Sequence[int] | None = None
    timeout: float | None = NO_TIMEOUT


def road_of(module: ModuleOp, passes: str, how: HowRun) -> Road:
    """
    What each of the passes does to a copy of `module`; where one refuses, the stages up to there and what it said.

    Raises `InputError` for passes that do not exist, `ArgumentError` for a function or an argument that does not.
    """
    arguments = argparse.Namespace(**vars(how), passes=passes)
    chosen = _passes(passes)
    _require_what_is_named(module, arguments)
    name = place_of(module) or "<module>"
    road, _ = _walk(module.clone(), full_context(), chosen, name.partition(":")[0], arguments)
    return road


# Passes ---------------------------------------------------------------------------------------------------------------


def _passes(spec: str) -> list[tuple[str, ModulePass]]:
    """(how it is written, the pass) for each pass of `spec`. Raises `InputError` for one that does not exist."""
    known = Universe.get_multiverse().all_passes
    specs = list(parse_pipeline(spec))
    for wanted in specs:
        if wanted.name not in known:
            near = difflib.get_close_matches(wanted.name, known, n=1)
            way_out = f"did you mean '{near[0]}'?" if near else "tileas passes --all lists them"
            raise InputError([f"error: -p: there is no pass '{wanted.name}'; {way_out}"])
    passes: list[tuple[str, ModulePass]] = []
    for wanted in specs:
        try:
            passes.append((str(wanted), known[wanted.name]().from_pass_spec(wanted)))
        except Exception as error:
            # xDSL has no type of its own for options that do not fit.
            raise InputError([f"error: -p: {error}"]) from None
    return passes


def _walk(
    module: ModuleOp,
    context: Context,
    passes: list[tuple[str, ModulePass]],
    name: str,
    arguments: argparse.Namespace,
) -> tuple[Road, Exception | None]:
    """The stages up to the last pass that went through, and the error of the pass that did not."""
    stages = [_stage("as written", module, [], arguments, None)]
    for title, step in passes:
        with recorded_diagnostics() as said:
            try:
                PassPipeline((step,)).apply(context, module)
                module.verify()
            except Exception as error:
                stopped = [f"{title} stopped:", *explain(error).splitlines()]
                return Road(name, arguments.passes, stages, stopped), error
        stages.append(_stage(title, module, list(said), arguments, stages[-1]))
    return Road(name, arguments.passes, stages), None


# Stages ---------------------------------------------------------------------------------------------------------------


def _stage(title: str, module: ModuleOp, said: list[Any], arguments: argparse.Namespace, before: Stage | None) -> Stage:
    """The stage after a pass. What has the text of the stage before has its verdict and its picture."""
    listing = listed(module)
    if before is not None and listing.lines == before.listing.lines:
        return replace(before, title=title, listing=listing, said=said)
    report, unchecked = _checked(module, arguments)
    picture, undrawn = _drawn(module, arguments)
    notes = [note for note in (unchecked, undrawn) if note is not None]
    ops = Counter(op_name(op) for op in module.walk())
    return Stage(title, listing, ops, said, report, picture, notes)


def _checked(module: ModuleOp, arguments: argparse.Namespace) -> tuple[Report | None, str | None]:
    """The verdict on every block, whichever is drawn."""
    of_grid = numbers_of_block(module)
    named = [(name, value) for name, value in named_values(arguments.arg, "--arg") if name not in of_grid]
    fixed = {name: number for name, value in named if (number := _integer(value)) is not None}
    name, threads, timeout = asked_function(arguments), arguments.threads, arguments.timeout
    try:
        return check(module, name, args=fixed, threads=threads, timeout=timeout), None
    except (ArgumentError, UndecidedError, UnsupportedError) as error:
        return None, f"not checked: {_reason(error)}"


def _integer(text: str) -> int | None:
    """The integer that `text` is, as `tileas check --arg` reads it."""
    try:
        return int(text, 0)
    except ValueError:
        return None


def _drawn(module: ModuleOp, arguments: argparse.Namespace) -> tuple[Timeline | None, str | None]:
    try:
        function, body = find_function(module, asked_function(arguments))
        values = run_values(body, arguments.arg, arguments.trip_count)
        target = arguments.target or stated_target(function)
        timed = timed_run_of(
            module,
            function,
            values,
            target,
            threads=arguments.threads,
            timeout=for_a_run(arguments.timeout),
            programs=arguments.programs,
        )
        return timeline(timed), None
    except (ArgumentError, UndecidedError, UnsupportedError) as error:
        return None, f"no timeline: {_reason(error)}"


def _reason(error: ArgumentError | UndecidedError | UnsupportedError) -> str:
    if isinstance(error, ArgumentError):
        return str(error)
    place = place_of(error.op)
    return f"{f'{place}: ' if place is not None else ''}'{op_name(error.op)}' op {error.reason}"
