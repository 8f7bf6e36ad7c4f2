"""
`tileas timeline FILE -o OUT`: run a function in simulated time, and draw what its agents and engines did.

`OUT` says by its name what is written: `.svg` a picture, `.html` a page that scrolls and scales, `.json` a trace for
Perfetto. With `--view slots` it is what lies in each slot of shared memory, with `--view queues` what is in each queue
of groups; both as `.svg` or `.html`. Exit status 0: drawn. 1: drawn, and the picture marks a race, a deadlock or
another mistake. 2: the input is wrong.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
from xdsl.ir import Operation, Region

from tileas_xdsl.checker.verdict.deciding import report_at_end_of
from tileas_xdsl.checker.verdict.long_loops import TurnsOfLoops
from tileas_xdsl.checker.verdict.loop_bounds import bounding_arguments
from tileas_xdsl.checker.verdict.report import Finding
from tileas_xdsl.checker.witnesses.investigator import Investigator
from tileas_xdsl.machine.arguments import argument_names, find_function
from tileas_xdsl.machine.core.deadline import TimeUpError
from tileas_xdsl.machine.core.violations import UndecidedError
from tileas_xdsl.machine.time.simulation import TimedRun, simulate
from tileas_xdsl.tools.argument_values import argument_values, name_given
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.machine_input import (
    add_programs,
    add_threads,
    asked_function,
    machine_errors,
    named_values,
    read_input,
)
from tileas_xdsl.tools.output_files import write_text
from tileas_xdsl.tools.ptx import add_launch
from tileas_xdsl.tools.python import add_launches, of_each_launch
from tileas_xdsl.tools.rendering import LABEL, findings_lines, write_lines
from tileas_xdsl.tools.time_limit import TIMEOUT, add_timeout
from tileas_xdsl.tools.times import add_target, chosen_target, stated_target
from tileas_xdsl.views.queues import queues_chart
from tileas_xdsl.views.slots import SlotUses, slots_chart
from tileas_xdsl.views.timeline import timeline

DRAWN, VIOLATED = 0, 1
TRIP_COUNT = 8
LEAST_WIDTH = 300
VIEWS = LANES, SLOTS, QUEUES = "lanes", "slots", "queues"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the program; - is standard input")
    add_launches(parser)
    parser.add_argument("-o", "--out", metavar="OUT", help="the file to write: something.svg, .html or .json")
    parser.add_argument(
        "--view",
        choices=VIEWS,
        default=LANES,
        help="lanes: what agents and engines do; slots: what lies in each slot of shared memory, over iterations; "
        f"queues: which groups are in each queue, and how old they are (default: {LANES})",
    )
    add_run_arguments(parser)
    parser.add_argument("--width", type=int, metavar="PX", help="width of an SVG (default: as the bars need)")
    add_launch(parser)


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a simulated run: function, trip count, arguments and target."""
    parser.add_argument("--function", metavar="F", help="which function; may be left out if there is only one")
    parser.add_argument(
        "--arg",
        metavar="NAME=V",
        action="append",
        default=[],
        help="value of an argument, as for tileas run; arrays only matter where control flow depends on them",
    )
    parser.add_argument(
        "--trip-count",
        type=int,
        default=TRIP_COUNT,
        metavar="N",
        help="the value of arguments that bound loops, or the trip count of a loop with a larger step, unless --arg "
        f"says (default: {TRIP_COUNT})",
    )
    add_threads(parser)
    add_programs(parser, "the block that is drawn takes over as many as it asks for (default: 1)")
    add_target(parser)
    add_timeout(parser, TIMEOUT, "a simulated run, or the check of a function,")


@of_each_launch
def run(arguments: argparse.Namespace) -> int:
    write = _writer(arguments.out, arguments.width, arguments.view)
    target, trip_count = chosen_target(arguments), chosen_trip_count(arguments)
    given = read_input(arguments.file, arguments=arguments)
    with machine_errors(given.source):
        function, body = find_function(given.module, given.function or asked_function(arguments))
        values = run_values(body, arguments.arg, trip_count)
        stated = target or stated_target(function)
        timed = timed_run_of(
            given.module,
            function,
            values,
            stated,
            SlotUses if arguments.view == SLOTS else Investigator,
            threads=arguments.threads,
            timeout=arguments.timeout,
            programs=arguments.programs,
        )
    write_text(arguments.out, write(timed))
    picture = timeline(timed)
    findings = [Finding(timed.function, scalars(body, values), violation) for violation in timed.violations]
    lines = findings_lines(findings, given.source)
    from tileas_xdsl.views.timeline.style import headline

    if not findings and timed.machine.indeterminacies:
        lines += [[("another interleaving may differ, and go wrong: tileas check tries them", LABEL)]]
    write_lines([*lines, [(f"{arguments.out}: ", "bold"), (headline(picture), "")]])
    return VIOLATED if findings else DRAWN


def _writer(out: str | None, width: int | None, view: str) -> Callable[[TimedRun], str]:
    """
    The function that writes a view of a run in the format of the file name `out`. Raises `InputError` for a name that
    says nothing, and for a format that the view does not have.
    """
    if width is not None and width < LEAST_WIDTH:
        raise InputError([f"error: --width {width}: at least {LEAST_WIDTH} pixels are needed"])
    writers = _lanes_writers(width) if view == LANES else _chart_writers(view, width)
    *others, last = (f"something{suffix}" for suffix in writers)
    names = f"{', '.join(others)} or {last}"
    if out is None:
        raise InputError([f"error: say what to write: -o {names}"])
    writer = writers.get(Path(out).suffix)
    if writer is None:
        of_view = "" if view == LANES else f" with --view {view}"
        raise InputError([f"error: -o {out}: the file must be called {names}{of_view}"])
    return writer


def _lanes_writers(width: int | None) -> dict[str, Callable[[TimedRun], str]]:
    def svg(run: TimedRun) -> str:
        from tileas_xdsl.views.timeline.svg import timeline_svg

        return timeline_svg(timeline(run), width)

    def html(run: TimedRun) -> str:
        from tileas_xdsl.views.timeline.html import timeline_html

        return timeline_html(timeline(run))

    def trace(run: TimedRun) -> str:
        from tileas_xdsl.views.timeline.chrome import chrome_trace

        return json.dumps(chrome_trace(timeline(run)), indent=1) + "\n"

    return {".svg": svg, ".html": html, ".json": trace}


def _chart_writers(view: str, width: int | None) -> dict[str, Callable[[TimedRun], str]]:
    from tileas_xdsl.views.charts import Chart, chart_html, chart_svg

    def chart(run: TimedRun) -> Chart:
        found = slots_chart(run) if view == SLOTS else queues_chart(run)
        if not found.rows:
            nothing = "fills no slot of shared memory" if view == SLOTS else "commits no group to a queue"
            raise InputError([f"error: --view {view}: @{run.function} {nothing}; leave out --view to see its lanes"])
        return found

    return {".svg": lambda run: chart_svg(chart(run), width), ".html": lambda run: chart_html(chart(run))}


def chosen_trip_count(arguments: argparse.Namespace) -> int:
    """What `--trip-count` says. Raises `InputError` for a number below 0."""
    if arguments.trip_count < 0:
        raise InputError([f"error: --trip-count {arguments.trip_count}: a loop runs 0 times or more"])
    return arguments.trip_count


def run_values(body: Region, texts: list[str], trip_count: int) -> dict[str, Any]:
    """
    Name of an argument, or of an id or extent of the grid -> its value, with `trip_count` for the arguments that bound
    loops and are not given; a larger number where a loop would not turn twice with that, as one that goes on by 64.
    """
    values = argument_values(body, named_values(texts, "--arg"))
    given = {name_given(body, place): value for place, value in values.items()}
    numbers = dict.fromkeys((name for name in bounding_arguments(body) if name not in given), trip_count)
    return {**_that_turn(body, numbers, given), **given}


def _that_turn(body: Region, numbers: dict[str, int], given: Mapping[str, Any]) -> dict[str, int]:
    """`numbers`, or larger ones for arguments that bound a loop which would turn less than twice."""
    trip_count = max(numbers.values(), default=0)
    names = [*numbers]
    turns = TurnsOfLoops(body, names, {name: value for name, value in given.items() if isinstance(value, int)})
    found = dict(numbers)
    for loop in turns.counts if trip_count > 1 else ():
        if turns.most_of(loop, [[*found.values()]]) < 2:
            # The largest number with which it turns that often has no part of a step left over.
            found |= {name: number - 1 for name, number in turns.numbers_for(loop, trip_count + 1) if name in found}
    return found


class Launch(TypedDict, total=False):
    """How many threads and programs there are, and how much time."""

    threads: int | None
    programs: Sequence[int] | None
    timeout: float | None


def timed_run_of(
    module: Operation,
    function: Operation,
    values: Mapping[str, Any],
    target: str,
    observed_by: Callable[[], Investigator] = Investigator,
    **launch: Unpack[Launch],
) -> TimedRun:
    """
    The run that is drawn: on addresses and synchronisation alone where that suffices, else on data, too. Each has an
    observer that `observed_by` makes; `simulate` describes `launch`.

    Raises what the machine raises.
    """
    from tileas_xdsl.interfaces import FunctionOpInterface

    interface = FunctionOpInterface.of(function)
    assert interface is not None
    name = interface.function_name
    has_arrays = any(np.ndim(value) > 0 for value in values.values())

    def simulated(*, with_data: bool) -> TimedRun:
        checks, observer = [report_at_end_of(function)], observed_by()
        return simulate(
            module,
            name,
            values,
            target,
            with_data=with_data,
            at_end=checks,
            observer=observer,
            **launch,
        )

    if not has_arrays:
        try:
            return simulated(with_data=False)
        except TimeUpError:
            raise
        except UndecidedError:
            pass
    return simulated(with_data=True)


def scalars(body: Region, values: Mapping[str, Any]) -> dict[str, int]:
    """The numbers among `values`, in the order of the arguments, those of the grid behind them."""
    names = argument_names(body)
    named = sorted(values, key=lambda name: names.index(name) if name in names else len(names))
    return {name: values[name] for name in named if np.ndim(values[name]) == 0}
