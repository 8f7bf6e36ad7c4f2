"""
`tileas explain FILE -p PASSES -o OUT.html`: one page that shows what each pass does to a program.

After each pass, those of the driver `tileir` among them: the IR with what changed, remarks beside their ops, the
verdict of the checker, and the timeline.
Exit status 0: written, and every stage is safe or undecided. 1: written, and some stage is unsafe. 2: the input is
wrong, or a pass refused it; then the page shows the stages up to there.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.universe import Universe
from xdsl.utils.arg_spec import parse_pipeline

from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.collector import seldom_collecting
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.checker.witnesses.causes import cause_with
from tileas_xdsl.diagnostics import Diagnostic, did_you_mean, op_name, recorded_diagnostics
from tileas_xdsl.machine.arguments import ArgumentError, find_function, numbers_of_block
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError
from tileas_xdsl.pipelines import TileIRPass
from tileas_xdsl.tools.argument_values import argument_values
from tileas_xdsl.tools.errors import InputError, explain, place_of
from tileas_xdsl.tools.inputs import full_context, parse_module, read_program
from tileas_xdsl.tools.machine_input import machine_errors, named_values
from tileas_xdsl.tools.output_files import write_text
from tileas_xdsl.tools.python import add_launches, of_each_launch
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
    add_launches(parser)
    parser.add_argument("-p", "--passes", metavar="PASSES", default="", help="the passes, as for xdsl-opt -p")
    parser.add_argument("-o", "--out", metavar="OUT.html", help="the file to write")
    add_run_arguments(parser)
    # Without seconds, the check is limited by its work.
    parser.set_defaults(timeout=NO_TIMEOUT)


@of_each_launch
def run(arguments: argparse.Namespace) -> int:
    with seldom_collecting():
        return _explained(arguments)


def _explained(arguments: argparse.Namespace) -> int:
    if cause_with(arguments.file) is not None and not Path(arguments.file).exists():
        raise InputError([f"error: {arguments.file} is a kind of mistake: `tileas explain-error {arguments.file}`"])
    out = _destination(arguments.out)
    target = chosen_target(arguments)
    chosen_trip_count(arguments)
    passes = passes_of(arguments.passes)
    context = full_context()
    name, text = read_program(arguments.file, target)
    module = parse_module(text, name, context)
    how = HowRun(**{each.name: getattr(arguments, each.name) for each in fields(HowRun)})
    with machine_errors(Source(name, text)):
        _require_what_is_named(module, how)
    road, error = _walk(module, context, passes, name, arguments.passes, how)
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


def _require_what_is_named(module: ModuleOp, how: HowRun) -> None:
    """Raises `ArgumentError` for a function, an argument or a value that the program as written does not take."""
    if how.function is None and not how.arg:
        return
    _, body = find_function(module, how.function_name)
    argument_values(body, named_values(how.arg, "--arg"))


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

    @property
    def function_name(self) -> str | None:
        """The name of the function, without its `@`; None where none is chosen."""
        return self.function.removeprefix("@") if self.function is not None else None


def road_of(module: ModuleOp, passes: str, how: HowRun) -> Road:
    """
    What each of the passes does to a copy of `module`; where one refuses, the stages up to there and what it said.

    Raises `InputError` for passes that do not exist, `ArgumentError` for a function or an argument that does not.
    """
    chosen = passes_of(passes)
    _require_what_is_named(module, how)
    name = place_of(module) or "<module>"
    road, _ = _walk(module.clone(), full_context(), chosen, name.partition(":")[0], passes, how)
    return road


# Passes ---------------------------------------------------------------------------------------------------------------


def passes_of(spec: str) -> list[tuple[str, ModulePass]]:
    """(how it is written, the pass) for each pass of `spec`. Raises `InputError` for one that does not exist."""
    known = Universe.get_multiverse().all_passes
    specs = list(parse_pipeline(spec))
    for wanted in specs:
        if wanted.name not in known:
            guess = did_you_mean(wanted.name, known) or "; tileas passes --all lists them"
            raise InputError([f"error: -p: there is no pass '{wanted.name}'{guess}"])
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
    spec: str,
    how: HowRun,
) -> tuple[Road, Exception | None]:
    """The stages up to the last pass that went through, and the error of the pass that did not."""
    stages: list[Stage] = []
    try:
        stages.extend(stages_of(module, context, passes, how))
    except StoppedError as stopped:
        return Road(name, spec, stages, stopped.lines), stopped.error
    return Road(name, spec, stages), None


class StoppedError(Exception):
    """A pass refused the program, or left one that does not verify."""

    def __init__(self, title: str, error: Exception) -> None:
        self.title = title
        self.error = error
        self.lines = [f"{title} stopped:", *explain(error).splitlines()]
        super().__init__("\n".join(self.lines))


def stages_of(
    module: ModuleOp, context: Context, passes: Sequence[tuple[str, ModulePass]], how: HowRun
) -> Iterator[Stage]:
    """
    The program as it is, and behind each pass, each stage as soon as it is known. `module` is rewritten.

    A driver is shown by its passes. Those that left the program as it was, and said nothing, have one line together.
    Raises `StoppedError` where a pass does not go through.
    """
    last = _stage("as written", module, [], how, None)
    yield last
    for title, step in passes:
        idle: list[str] = []
        for part_title, part in _parts(title, step, module):
            said = _applied(part_title, part, module, context)
            stage = _stage(part_title, module, said, how, last)
            if part is not step and stage.listing.lines == last.listing.lines and not said:
                idle.append(part.name)
                continue
            yield stage
            last = stage
        if isinstance(step, TileIRPass):
            yield replace(last, title=title, said=(), notes=[*last.notes, f"nothing changed in {', '.join(idle)}"])


def _parts(title: str, step: ModulePass, module: ModuleOp) -> list[tuple[str, ModulePass]]:
    """(title, pass) of each pass of a driver, else of the pass itself. Raises `StoppedError` where a driver refuses."""
    if not isinstance(step, TileIRPass):
        return [(title, step)]
    try:
        return [(f"{step.name}: {part.name}", part) for part in step.steps_on(module)]
    except Exception as error:
        raise StoppedError(title, error) from None


def _applied(title: str, step: ModulePass, module: ModuleOp, context: Context) -> list[Diagnostic]:
    """What `step` says while it rewrites `module`. Raises `StoppedError` where it does not go through."""
    with recorded_diagnostics() as said:
        try:
            PassPipeline((step,)).apply(context, module)
            module.verify()
        except Exception as error:
            raise StoppedError(title, error) from None
    return list(said)


# Stages ---------------------------------------------------------------------------------------------------------------


def _stage(title: str, module: ModuleOp, said: list[Diagnostic], how: HowRun, before: Stage | None) -> Stage:
    """The stage after a pass. What has the text of the stage before has its verdict and its picture."""
    listing = listed(module)
    if before is not None and listing.lines == before.listing.lines:
        return replace(before, title=title, listing=listing, said=said)
    report, unchecked = _checked(module, how)
    picture, undrawn = _drawn(module, how)
    notes = [note for note in (unchecked, undrawn) if note is not None]
    ops = Counter(op_name(op) for op in module.walk())
    return Stage(title, listing, ops, said, report, picture, notes)


def _checked(module: ModuleOp, how: HowRun) -> tuple[Report | None, str | None]:
    """The verdict on every block, whichever is drawn. Waits that could be weaker have no place on the page."""
    of_grid = numbers_of_block(module)
    named = [(name, value) for name, value in named_values(how.arg, "--arg") if name not in of_grid]
    fixed = {name: number for name, value in named if (number := _integer(value)) is not None}
    name, threads, timeout = how.function_name, how.threads, how.timeout
    try:
        return check(module, name, args=fixed, threads=threads, judge_waits=False, timeout=timeout), None
    except (ArgumentError, UndecidedError, UnsupportedError) as error:
        return None, f"not checked: {_reason(error)}"


def _integer(text: str) -> int | None:
    """The integer that `text` is, as `tileas check --arg` reads it."""
    try:
        return int(text, 0)
    except ValueError:
        return None


def _drawn(module: ModuleOp, how: HowRun) -> tuple[Timeline | None, str | None]:
    try:
        function, body = find_function(module, how.function_name)
        values = run_values(body, list(how.arg), how.trip_count)
        target = how.target or stated_target(function)
        timed = timed_run_of(
            module,
            function,
            values,
            target,
            threads=how.threads,
            timeout=for_a_run(how.timeout),
            programs=how.programs,
        )
        return timeline(timed), None
    except (ArgumentError, UndecidedError, UnsupportedError) as error:
        return None, f"no timeline: {_reason(error)}"


def _reason(error: ArgumentError | UndecidedError | UnsupportedError) -> str:
    if isinstance(error, ArgumentError):
        return str(error)
    place = place_of(error.op)
    return f"{f'{place}: ' if place is not None else ''}'{op_name(error.op)}' op {error.reason}"
