"""
What becomes of a program that somebody types: the stages that its passes lead to, each as a part of a page, and one
line for whatever is wrong with it.

Each answer is worked out in a process of its own. It may run out of time or memory, or end at once; the server goes on.
"""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import Pipe, forkserver, get_context
from multiprocessing.process import BaseProcess
from typing import Any

from xdsl.utils.exceptions import ArgSpecParseError

from tileas_xdsl.checker.verdict.collector import seldom_collecting
from tileas_xdsl.targets.cycles import TARGETS
from tileas_xdsl.tools.errors import InputError, explain
from tileas_xdsl.tools.explain import HowRun, StoppedError, passes_of, stages_of
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.tools.timeline import TRIP_COUNT
from tileas_xdsl.views.stages import Stage, stage_html, summary_row

SECONDS = 10.0
"""Processor time for one check, and for one simulated run."""
MOST_SECONDS = 120
"""Processor time for all stages together."""
MOST_BYTES = 4 << 30
"""Memory of the process that works an answer out."""
MOST_TURNS = 4096
"""The largest trip count of a timeline: a page with more bars is slow to draw."""

Answer = dict[str, Any]
"""A stage (`cells`, `section`), or the one line that says what is wrong (`error`)."""


@dataclass(frozen=True)
class Asked:
    """What stands on the left of the page."""

    text: str
    passes: str = ""
    target: str | None = None
    """Whose cycles count; None for the target that the program names."""
    trip_count: int = TRIP_COUNT
    name: str = "program.mlir"

    @classmethod
    def of(cls, fields: Mapping[str, Any], name: str) -> Asked:
        """What a page asks for in `fields`. Raises `InputError` for what no page of ours would send."""
        text, passes, target = (fields.get(field, "") for field in ("text", "passes", "target"))
        if not all(isinstance(field, str) for field in (text, passes, target)):
            raise InputError(["error: text, passes and target are strings"])
        if target and target not in TARGETS:
            raise InputError([f"error: there is no target '{target}'; there are: {', '.join(TARGETS)}"])
        turns = str(fields.get("trip_count", TRIP_COUNT))
        if not (turns.isdecimal() and int(turns) <= MOST_TURNS):
            raise InputError([f"error: a trip count is a number from 0 to {MOST_TURNS:,}, not '{turns}'"])
        return cls(text, passes, target or None, int(turns), name)


def answers_to(asked: Asked) -> Iterator[Answer]:
    """The stages, as soon as each is known; then one line where the program or a pass is wrong."""
    try:
        passes = passes_of(asked.passes)
        module = parse_module(asked.text, asked.name, full_context())
        how = HowRun(target=asked.target, trip_count=asked.trip_count, timeout=SECONDS)
        before: Stage | None = None
        for number, stage in enumerate(stages_of(module, full_context(), passes, how)):
            yield {"cells": summary_row(number, stage), "section": stage_html(number, stage, before)}
            before = stage
    except StoppedError as stopped:
        yield {"error": f"{stopped.title}: {_first_line(stopped.error)}"}
    except (Exception, ArgSpecParseError) as error:
        yield {"error": _first_line(error)}


def _first_line(error: BaseException) -> str:
    return explain(error).partition("\n")[0]


# The process of its own -----------------------------------------------------------------------------------------------

CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(["tileas_xdsl.tools.play.warm"])


def warm_up() -> None:
    """Start the process from which those that work answers out are forked."""
    forkserver.ensure_running()


def begin(asked: Asked) -> tuple[BaseProcess, Any]:
    """A process that works the answers to `asked` out, and the end of the pipe at which they come; None comes last."""
    answers, given = Pipe(duplex=False)
    process = CONTEXT.Process(target=_work, args=(asked, given), daemon=True)
    process.start()
    given.close()
    return process, answers


def _work(asked: Asked, given: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    with suppress(BrokenPipeError), seldom_collecting():
        for answer in answers_to(asked):
            given.send(answer)
        given.send(None)
