"""
Agents that an agent starts: tasks, which are not joined by name, but complete promises at their ends; and forks, whose
agents all are waited for.

A task that nobody ever awaits is a mistake (`undrained`), unless it does nothing: then nothing in it could be
unfinished.

A call of an `async.func` that does nothing need not be awaited, like any task that does nothing.

A fork starts one agent for each region and number in the group. A region whose group has several agents may take one
leading `index` argument: the agent's number in its group. An agent of several warps is forked as that many, each with
the threads of one, where its region is written for single threads; code for tiles stays one agent, since a compiler
shares it out among the threads and lets them meet where it has to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, Region
from xdsl.traits import IsTerminator

from tileas_xdsl.analysis.thread_blocks import warp_size_of
from tileas_xdsl.interfaces import AgentLikeOpInterface, AsyncRegionOpInterface
from tileas_xdsl.machine.core.agents import Agent, Team
from tileas_xdsl.machine.core.assumptions import ONE_THREAD
from tileas_xdsl.machine.core.asynchronous_work import Event
from tileas_xdsl.machine.core.happens_before import Who
from tileas_xdsl.machine.core.standings import Answer, Continuation, Done, Request, continuation
from tileas_xdsl.machine.core.state import Canvas, SharedPart
from tileas_xdsl.machine.core.synchronization import EndOfAgents, EventCondition
from tileas_xdsl.machine.core.threads.blocks import are_counted, is_for_threads, join_cohort, warps_of
from tileas_xdsl.machine.core.threads.hardware import Threads
from tileas_xdsl.machine.core.violations import Misuse, Party, UnsupportedError, Violation, ViolationKind


@dataclass(frozen=True)
class Seat:
    """Which agent is to be forked: its region, its number in the group, and its warps (0: one thread)."""

    region: Region
    group: int
    number: int
    group_size: int
    warps: int = 0

    @property
    def name(self) -> str:
        return f"agent {self.group}" + (f".{self.number}" if self.group_size > 1 else "")


def seats_of(op: Operation, warps: Sequence[int] = ()) -> Iterator[Seat]:
    """The agents that `op` forks, in order; `warps` has an entry for each group, or is empty where nothing is said."""
    agents = AgentLikeOpInterface.of(op)
    assert agents is not None
    for group, (region, size) in enumerate(zip(agents.agent_regions, agents.group_sizes, strict=True)):
        yield from (Seat(region, group, number, size, warps[group] if warps else 0) for number in range(size))


def _threads_in_all(op: Operation, warps: Sequence[int], per_warp: int) -> int:
    """How many threads the agents that `op` forks stand for; one of which nothing is said stands for one."""
    agents = AgentLikeOpInterface.of(op)
    assert agents is not None
    of_each = [count * per_warp or 1 for count in warps] or [1] * len(agents.group_sizes)
    return sum(size * threads for size, threads in zip(agents.group_sizes, of_each, strict=True))


def inherited(agent: Agent, warps: Sequence[Sequence[int]]) -> list[int]:
    """The warps of an agent of each group, from what is said of its agents; -1 stands for as many as `agent` has."""
    of_agent = -(-agent.hardware.count // agent.hardware.per_warp) if agent.hardware is not None else 0
    return [next((count for count in counts if count >= 0), of_agent) for counts in warps]


def fork_and_join(
    agent: Agent,
    op: Operation,
    operands: Sequence[object],
    *,
    warps: Sequence[int] = (),
    first_warps: Sequence[int] = (),
) -> Request:
    """
    Run the regions of `op`, each by the agents of its group, and wait for the end of all of them. Agents of so many
    `warps` lie behind one another, or each begins with the one of `first_warps`.
    """
    cohort: list[Agent] = []
    per_warp = agent.code.fact(warp_size_of, op)
    total = _threads_in_all(op, warps, per_warp)
    if first_warps:
        total = max((start + count) * per_warp for start, count in zip(first_warps, warps, strict=True))
    first = 0
    for seat in seats_of(op, warps):
        agent.check_time(op)
        first = first_warps[seat.group] * per_warp if first_warps else first
        threads = Threads(first, seat.warps * per_warp, (total, 1, 1), per_warp) if seat.warps else None
        first += seat.warps * per_warp or 1
        if threads is None and is_for_threads(agent, op, seat.region):
            agent.assume(ONE_THREAD.about("each agent"))
        for name, team, hardware in _forked(agent, op, seat, threads):
            child = agent.fork(name, op, _take_seat, seat, tuple(operands), captures=[seat.region], hardware=hardware)
            join_cohort(child, cohort, team)
            agent.note(op, "fork", f"starts {child.name}", on=child)
    end = EndOfAgents(cohort)
    return agent.wait(end, op).then(_saw_end, end)


def _forked(
    agent: Agent, op: Operation, seat: Seat, threads: Threads | None
) -> Iterator[tuple[str, Team | None, Threads | None]]:
    """The agents that stand for the one of `seat`: itself, or its warps."""
    if threads is None or seat.warps == 1 or not are_counted(agent, op, seat.region, threads):
        yield seat.name, None, threads
        return
    team = Team()
    for number, warp in enumerate(warps_of(threads)):
        yield f"{seat.name}, warp {number}", team, warp


@continuation
def _saw_end(agent: Agent, op: Operation, _: None, end: EndOfAgents) -> Answer:
    agent.note(op, "wait", f"sees the end of {len(end.agents)} agents", on=end)


@continuation
def _take_seat(child: Agent, op: Operation, _: None, seat: Seat, operands: Sequence[object]) -> Answer:
    entry = seat.region.first_block
    if entry is None:
        return Done()
    agents = AgentLikeOpInterface.of(op)
    arguments = list(operands) if agents is None or agents.hands_operands_in else []
    if len(entry.args) == len(arguments) + 1 and isinstance(entry.args[0].type, IndexType):
        arguments = [seat.number, *arguments]
    if len(entry.args) != len(arguments):
        raise UnsupportedError(op, f"has {len(operands)} operands, and region {seat.group} takes {len(entry.args)}")
    return child.run_region(seat.region, arguments)


@dataclass(frozen=True)
class Task:
    """One task: the agent that runs it, the op that started it, and whether it does nothing."""

    agent: Agent
    op: Operation
    is_idle: bool


@dataclass
class Tasks(SharedPart):
    """The tasks of an execution, in the order in which they were started."""

    started: list[Task] = field(default_factory=list[Task])

    def draw(self, canvas: Canvas) -> None:
        for task in self.started:
            if not task.is_idle:
                canvas.task(task.agent, task.op)


def start_task(
    agent: Agent,
    op: Operation,
    step: Continuation,
    *data: Any,
    promises: Sequence[Event],
    regions: Sequence[Region],
) -> Agent:
    """
    Fork a task that begins at `step` with `data`, runs `regions`, sees what they capture, and will complete `promises`.
    """
    machine = agent.machine
    tasks = machine.part(Tasks).started
    if not tasks:
        machine.at_end.append(_report_unawaited)
    child = agent.fork(f"task {len(tasks)}", op, step, *data, captures=regions)
    child.started_by = op
    tasks.append(Task(child, op, all(map(does_nothing, regions))))
    for promise in promises:
        promise.task = child
    machine.happened(agent, op, "fork", f"starts {child.name}", on=child)
    return child


def does_nothing(region: Region) -> bool:
    """Whether `region` contains nothing but tasks that do nothing either."""
    return all(
        op.has_trait(IsTerminator, value_if_unregistered=False) or AsyncRegionOpInterface.of(op) is not None
        for op in region.walk()
    )


def awaited(agent: Agent, op: Operation, promise: Event, what: str = "token") -> Request:
    """Wait for `promise`, a token or a value."""
    return agent.wait(EventCondition(promise, what), op).then(_saw_promise, promise)


@continuation
def _saw_promise(agent: Agent, op: Operation, _: None, promise: Event) -> Answer:
    agent.note(op, "wait", f"sees {promise.label} complete", on=promise)


def all_awaited(agent: Agent, op: Operation, promises: Sequence[Event], what: str = "token") -> Request:
    """Wait for each of `promises`, one after the other. The outcome is their payloads."""
    return _await_rest(agent, op, None, tuple(promises), 0, what)


@continuation
def _await_rest(agent: Agent, op: Operation, _: None, promises: Sequence[Event], first: int, what: str) -> Answer:
    if first == len(promises):
        return Done([promise.payload for promise in promises])
    return awaited(agent, op, promises[first], what).then(_await_rest, promises, first + 1, what)


def end_of(child: Who) -> int:
    """The moment at which the finished task completed its promises. Nobody can learn of the moments after it."""
    return child.moment - 2


def _report_unawaited(first: Agent) -> None:
    for task in first.machine.part(Tasks).started:
        if not task.is_idle and not first.mind.knows_moment(task.agent.number, end_of(task.agent)):
            _report_unawaited_task(first, task.agent, task.op)


def _report_unawaited_task(first: Agent, child: Agent, op: Operation) -> None:
    party = Party(op, child.name, child.iteration, "starts a task that nobody awaits")
    violation = Violation(
        ViolationKind.UNDRAINED,
        "a task may be unfinished when the function ends",
        (party,),
        "an await of its token, or of something that depends on it, on every path to the end of the function",
    )
    first.machine.report(violation, Misuse(first, [child], [party]))
