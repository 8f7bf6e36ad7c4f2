"""
`tileas schedule FILE`: when each op of each loop runs, why, and what it takes; as text, or drawn.

The passes of `-p` run first, by default those that make loops schedulable for the target. `OUT` says by its name what
is written: `.svg`, `.html` or `.json`. Exit status 0: shown. 2: the input is wrong, or there is nothing to schedule.

`OUT` is `.svg` for the reservation table, `.html` for table and report. With `--strategy exact` both intervals are
shown, and for each op both places. `--agents` is the most agents that may share the loop (1, 2, 3 or `auto`),
`--exact-limit` the solver's deterministic seconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline
from xdsl.universe import Universe
from xdsl.utils.exceptions import ArgSpecParseError, PassFailedException

from tileas_xdsl.scheduling.modulo.schedule import EXACT
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import full_context, read_module
from tileas_xdsl.tools.output_files import write_text
from tileas_xdsl.transforms.tileas.generate_schedule import STRATEGIES, GenerateSchedulePass, plan_module
from tileas_xdsl.transforms.tileas.generate_schedule.exact import AGENTS
from tileas_xdsl.views.schedule import Schedules, ShownSchedule, schedule_html, schedule_json, schedule_svg

TARGET = "sm_90"

WRITERS: dict[str, Callable[[Sequence[ShownSchedule]], str]] = {
    "svg": schedule_svg,
    "html": schedule_html,
    "json": schedule_json,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the program; - is standard input")
    parser.add_argument("-p", "--passes", metavar="PASSES", help="passes to run first (default: those that prepare)")
    parser.add_argument("-o", "--out", metavar="OUT", help="write a picture or data: something.svg, .html or .json")
    parser.add_argument("--target", default=TARGET, metavar="T", help=f"the machine model (default: {TARGET})")
    parser.add_argument("--num-stages", type=int, default=4, metavar="N", help="the most stages (default: 4)")
    parser.add_argument("--strategy", default="cost-based", choices=STRATEGIES, help="default: cost-based")
    parser.add_argument(
        "--agents",
        metavar="N",
        choices=tuple(map(str, AGENTS)),
        help="the most agents under --strategy exact: 1, 2, 3 or auto (default: 1)",
    )
    parser.add_argument(
        "--exact-limit", type=int, default=10, metavar="S", help="deterministic seconds of the solver (default: 10)"
    )


def run(arguments: argparse.Namespace) -> int:
    write = _writer(arguments.out)
    how = HowScheduled(
        target=arguments.target,
        strategy=arguments.strategy,
        num_stages=arguments.num_stages,
        agents=arguments.agents,
        exact_limit=arguments.exact_limit,
        passes=arguments.passes,
    )
    found = schedules_of(read_module(arguments.file), arguments.file, how)
    if write is not None:
        write_text(arguments.out, write(found.loops))
    print(found)
    return 0


@dataclass(frozen=True, kw_only=True)
class HowScheduled:
    """The options of the command."""

    target: str = TARGET
    strategy: str = "cost-based"
    num_stages: int = 4
    agents: str | None = None
    exact_limit: int = 10
    passes: str | None = None
    """What runs first; None for the passes that make loops schedulable for the target."""


def schedules_of(module: ModuleOp, name: str, how: HowScheduled) -> Schedules:
    """
    The schedules of the loops of `module`, on which the passes run first.

    Raises `InputError`, with the program's `name`, for options that do not exist, and where there is no loop.
    """
    if how.strategy not in STRATEGIES:
        raise InputError([f"error: there is no strategy '{how.strategy}'; choose one of {', '.join(STRATEGIES)}"])
    if how.agents is not None and how.strategy != EXACT:
        raise InputError([f"error: --agents {how.agents}: agents are chosen with --strategy {EXACT} only"])
    preparing = f"tileas-materialize-async,tileas-prepare-for-scheduling{{compute-capability={how.target}}}"
    passes = preparing if how.passes is None else how.passes
    options = GenerateSchedulePass(
        compute_capability=how.target,
        strategy=how.strategy,
        num_stages=max(1, how.num_stages),
        exact_agents=int(how.agents) if how.agents is not None and how.agents.isdigit() else how.agents or 1,
        exact_limit=max(1, how.exact_limit),
    )
    try:
        if passes:
            PassPipeline.parse_spec(Universe.get_multiverse().all_passes, passes).apply(full_context(), module)
        found = tuple(ShownSchedule(loop.problem, loop.schedule, loop.agents) for loop in plan_module(module, options))
    except (PassFailedException, ArgSpecParseError) as error:
        raise InputError([str(error)]) from None
    if not found:
        raise InputError([f"{name}: error: no loop to schedule\n  help: schedules are made of innermost loops"])
    return Schedules(found)


def _writer(out: str | None) -> Callable[[Sequence[ShownSchedule]], str] | None:
    if out is None:
        return None
    suffix = Path(out).suffix.removeprefix(".")
    if suffix not in WRITERS:
        raise InputError([f"error: -o {out}: the name does not end in .svg, .html or .json"])
    return WRITERS[suffix]
