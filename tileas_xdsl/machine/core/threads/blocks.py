"""
The warps of a block of threads, and of an agent: one agent of the machine for each, where code is written for single
threads.

    func.func @k() attributes {nvvm.reqntid = array<i32: 128>}       four warps, each runs the body

Code for tiles stays one agent, since a compiler shares it out among the threads and lets them meet where it has to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.ir import Operation, Region

from tileas_xdsl.analysis.thread_blocks import Level, block_shape_of, level_of, warp_size_of
from tileas_xdsl.dialects.upstream_models.func import is_marked_kernel
from tileas_xdsl.interfaces import FunctionOpInterface
from tileas_xdsl.machine.core.agents import Agent, Team
from tileas_xdsl.machine.core.assumptions import ONE_THREAD
from tileas_xdsl.machine.core.standings import Answer, Request, continuation
from tileas_xdsl.machine.core.synchronization import EndOfAgents
from tileas_xdsl.machine.core.threads.block_barriers import Departures, leave_block
from tileas_xdsl.machine.core.threads.earlier_grids import begin_behind_earlier_grids
from tileas_xdsl.machine.core.threads.hardware import Threads
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError

OF_THREADS = (Level.THREADS, Level.BOTH)
"""Levels of code of which each thread does something."""


def threads_of(function: Operation, given: int | None) -> Threads | None:
    """
    The threads of a block that runs `function`: what it says, else `given` in a row, else None: one thread.

    Raises `UnsupportedError` where `given` is another number than it says.
    """
    shape = block_shape_of(function) or ((given, 1, 1) if given is not None else None)
    if shape is None:
        return None
    x, y, z = shape
    if given is not None and given != x * y * z:
        raise UnsupportedError(
            function, f"says itself that {x * y * z} threads run it, not {given}; ask without a number"
        )
    return Threads(0, x * y * z, shape, warp_size_of(function))


def call_by_block(agent: Agent, function: Operation, arguments: Sequence[Any], given: int | None) -> Request:
    """
    Call `function` by all threads of a block: by `agent` alone where that is one warp or the function is code for
    tiles, else by agents of its own, one for each warp. The outcome is what it returns to the first of them.
    """
    body = body_of(function)
    threads = threads_of(function, given)
    agent.hardware = threads
    agent.shared(Departures).kernel = function
    begin_behind_earlier_grids(agent, function)
    if threads is None:
        _take_for_one_thread(agent, function, body)
    if threads is None or threads.count <= threads.per_warp or not are_counted(agent, function, body, threads):
        return agent.call(function, body, arguments)
    cohort: list[Agent] = []
    team = Team()
    for number, warp in enumerate(warps_of(threads)):
        child = agent.fork(f"warp {number}", function, _run_warp, tuple(arguments), captures=[], hardware=warp)
        join_cohort(child, cohort, team)
        agent.note(function, "fork", f"starts {child.name}", on=child)
    end = EndOfAgents(cohort)
    return agent.wait(end, function).then(_take_results, end)


def _take_for_one_thread(agent: Agent, function: Operation, body: Region) -> None:
    """Note that one thread is taken to run `function`, if that is code for single threads."""
    interface = FunctionOpInterface.of(function)
    assert interface is not None
    level, _ = agent.code.fact(_levels, function)[body]
    if level in OF_THREADS or (level is Level.PLAIN and is_marked_kernel(function)):
        agent.assume(ONE_THREAD.about(f"@{interface.function_name}"))


@continuation
def _run_warp(warp: Agent, function: Operation, _: None, arguments: Sequence[Any]) -> Answer:
    return warp.call(function, body_of(function), arguments).then(_leave)


@continuation
def _leave(warp: Agent, function: Operation, results: Sequence[Any]) -> Answer:
    """The threads of a kernel that return leave the block, as by an exit."""
    leave_block(warp, warp.current_op or function)
    return results


@continuation
def _take_results(agent: Agent, function: Operation, _: None, end: EndOfAgents) -> Answer:
    agent.note(function, "wait", f"sees the end of {len(end.agents)} warps", on=end)
    return end.agents[0].outcome or ()


def body_of(function: Operation) -> Region:
    """The body of `function`."""
    interface = FunctionOpInterface.of(function)
    assert interface is not None
    return interface.function_body


def join_cohort(child: Agent, cohort: list[Agent], team: Team | None) -> None:
    """`child` is one of `cohort`, the agents of a block, and of `team`, the warps of one agent."""
    child.cohort, child.team = cohort, team
    cohort.append(child)
    if team is not None:
        team.members.append(child)


def warps_of(threads: Threads) -> Iterator[Threads]:
    """`threads` warp by warp; the last may be smaller."""
    for first in range(0, threads.count, threads.per_warp):
        count = min(threads.per_warp, threads.count - first)
        yield Threads(threads.first + first, count, threads.shape, threads.per_warp)


def are_counted(agent: Agent, op: Operation, region: Region, threads: Threads) -> bool:
    """
    Whether the code of `region`, run by several warps, is code for single threads.

    Raises `UndecidedError` where some of it is, and some is code for tiles: which threads do that is not said.
    """
    level, for_tiles = agent.code.fact(_levels, op)[region]
    if level is Level.BOTH:
        assert for_tiles is not None
        raise UndecidedError(
            for_tiles,
            f"is done by {threads.count} threads together, beside ops of single threads (nvvm, rocdl, nvgpu); give one "
            "of the two an agent of its own, or one warp",
        )
    return level is not Level.TILES


def is_for_threads(agent: Agent, op: Operation, region: Region) -> bool:
    """Whether each thread does something of what stands in `region`, a region of `op`."""
    return agent.code.fact(_levels, op)[region][0] in OF_THREADS


def _levels(op: Operation) -> dict[Region, tuple[Level, Operation | None]]:
    return {region: level_of([region]) for region in op.regions}
