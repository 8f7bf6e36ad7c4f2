"""
Tasks: agents that are not joined by name, but complete promises at their ends.

A task that nobody ever awaits is a mistake (`undrained`), unless it does nothing: then nothing in it could be
unfinished.

A call of an `async.func` that does nothing need not be awaited, like any task that does nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Operation, Region
from xdsl.traits import IsTerminator

from tileas_xdsl.interfaces import AsyncRegionOpInterface
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import Event
from tileas_xdsl.machine.core.evidence import Misuse
from tileas_xdsl.machine.core.standings import Answer, Continuation, Done, Request, continuation
from tileas_xdsl.machine.core.state import Canvas, SharedPart
from tileas_xdsl.machine.core.synchronization import EventCondition
from tileas_xdsl.machine.core.violations import Party, Violation, ViolationKind


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
    agent.machine.happened(agent, op, "wait", f"sees {promise.label} complete", on=promise)


def all_awaited(agent: Agent, op: Operation, promises: Sequence[Event], what: str = "token") -> Request:
    """Wait for each of `promises`, one after the other. The outcome is their payloads."""
    return _await_rest(agent, op, None, tuple(promises), 0, what)


@continuation
def _await_rest(agent: Agent, op: Operation, _: None, promises: Sequence[Event], first: int, what: str) -> Answer:
    if first == len(promises):
        return Done([promise.payload for promise in promises])
    return awaited(agent, op, promises[first], what).then(_await_rest, promises, first + 1, what)


def end_of(child: Agent) -> int:
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
