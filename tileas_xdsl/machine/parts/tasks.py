"""
Tasks: agents that nobody joins by name, but whose completion is a promise. One that nobody ever awaits is a mistake,
unless it does nothing: like a group without operations, it has nothing that could be unfinished.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation, Region
from xdsl.traits import IsTerminator

from tileas_xdsl.interfaces import AsyncRegionOpInterface
from tileas_xdsl.machine.core.agents import Agent, Suspension
from tileas_xdsl.machine.core.asynchronous_work import Event
from tileas_xdsl.machine.core.evidence import Misuse
from tileas_xdsl.machine.core.synchronization import EventCondition
from tileas_xdsl.machine.core.violations import Party, Violation, ViolationKind

TASKS = "tasks"


def start_task(
    agent: Agent,
    op: Operation,
    body: Callable[[Agent], Suspension],
    promises: Sequence[Event],
    regions: Sequence[Region],
) -> Agent:
    """Fork a task that runs `body`, which is `regions`, sees what they capture, and will complete `promises`."""
    machine = agent.machine
    tasks: list[tuple[Agent, Operation, bool]] = machine.shared.setdefault(TASKS, [])
    if not tasks:
        machine.at_end.append(_report_unawaited)
    child = agent.fork(f"task {len(tasks)}", body, captures=regions)
    child.started_by = op
    tasks.append((child, op, all(map(does_nothing, regions))))
    for promise in promises:
        promise.task = child
    machine.happened(agent, op, "fork", f"starts {child.name}", on=child)
    return child


def does_nothing(region: Region) -> bool:
    """Whether all that is in `region` are tasks that do nothing either."""
    return all(
        op.has_trait(IsTerminator, value_if_unregistered=False) or AsyncRegionOpInterface.of(op) is not None
        for op in region.walk()
    )


def awaited(agent: Agent, op: Operation, promise: Event, what: str = "token") -> Suspension:
    """Wait for `promise`, a token or a value."""
    yield from agent.wait(EventCondition(promise, what), op)
    agent.machine.happened(agent, op, "wait", f"sees {promise.label} complete", on=promise)


def end_of(child: Agent) -> int:
    """The moment at which a task that is over kept its promises: of its last one nobody learns."""
    return child.moment - 2


def _report_unawaited(first: Agent) -> None:
    for child, op, is_idle in first.machine.shared[TASKS]:
        if is_idle or first.mind.knows_moment(child.number, end_of(child)):
            continue
        _report_unawaited_task(first, child, op)


def _report_unawaited_task(first: Agent, child: Agent, op: Operation) -> None:
    party = Party(op, child.name, child.iteration, "starts a task that nobody awaits")
    violation = Violation(
        ViolationKind.UNDRAINED,
        "a task may be unfinished when the function ends",
        (party,),
        "an await of its token, or of something that depends on it, on every path to the end of the function",
    )
    first.machine.report(violation, Misuse(first, [child], [party]))
