"""
What the ops of `async_region` do; the package `dialects.async_region` has the rules and their source.

A token is an `Event`, a promise an event with a payload, a plain result that is not there yet a `LateValue`. A region
with a token argument is run by whoever issues it; any other region, and every launch, is a task. Memory and transfers
are asynchronous works: reserving memory writes all of it, so that touching it without the token is a race.

Work of `async_region` looks at its operands when its dependencies are complete, whatever `capture` says: before, there
may be nothing to look at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import BlockArgument, SSAValue

from tileas_xdsl.dialects import async_region
from tileas_xdsl.dialects.async_ import ValueType
from tileas_xdsl.dialects.async_region.regions import BodyOp
from tileas_xdsl.machine.arguments import binds_type
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Event, Touch
from tileas_xdsl.machine.core.code import per_op
from tileas_xdsl.machine.core.late_values import LateValue, seen_by_work
from tileas_xdsl.machine.core.meaning import issues, sync, terminators
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.resources import Resource, hold, make_resource
from tileas_xdsl.machine.core.standings import Answer, Done, Request, continuation
from tileas_xdsl.machine.meanings.memref import allocate, same_shape
from tileas_xdsl.machine.parts.tasks import all_awaited, start_task

terminators(async_region.YieldOp)


# Resources ----------------------------------------------------------------------------------------------------------


@sync(async_region.CreateResourceOp)
def _create_resource(agent: Agent, op: async_region.CreateResourceOp) -> Resource:
    label = op.label.data if op.label is not None else op.resource.name_hint or "resource"
    return make_resource(agent.machine, label)


# Regions and launches -----------------------------------------------------------------------------------------------


@dataclass
class _Results:
    """The results of one execution of a region or launch: its tokens, and its values as promises or late ones."""

    tokens: list[Event]
    values: list[Any] = field(default_factory=list[Any])

    @staticmethod
    def of(op: BodyOp) -> _Results:
        """The results of `op` with no token complete, and without the values."""
        return _Results([Event(f"{op.name} #{number}") for number in range(1 + len(op.partial_tokens))])

    def promise(self, op: BodyOp) -> Event:
        """Make another promise, which completes with token 0."""
        promise = Event(f"value of {op.name}")
        promise.follow(self.tokens[0])
        return promise

    def complete_with(self, before: Sequence[Event], groups: Sequence[Sequence[Event]]) -> None:
        """Token 0 waits for `before` and all `groups`, token k > 0 for `before` and group k."""
        for token, group in zip(self.tokens[1:], groups[1:], strict=True):
            token.follow(Event.all_of([*before, *group]))
        self.tokens[0].follow(Event.all_of([*before, *(token for group in groups for token in group)]))

    def handed_out(self) -> Any:
        """The results as a meaning returns them."""
        results = (*self.tokens, *self.values)
        return results[0] if len(results) == 1 else results


@per_op
def _promised(op: BodyOp) -> list[bool]:
    """Which of the values are returned as promises of what the body yields."""
    pairs = zip(op.values, _terminator_of(op).values.types, strict=True)
    return [result.type == ValueType(yielded) for result, yielded in pairs]


@issues(async_region.RegionOp)
def _region(agent: Agent, op: async_region.RegionOp, *operands: Any) -> Answer:
    return agent.settled(operands, op).then(_begin_region)


@continuation
def _begin_region(agent: Agent, op: async_region.RegionOp, edges: list[Any]) -> Answer:
    if op.async_region_token(0) is not None:
        return _issue_body(agent, op, edges)
    count = len(op.dependencies)
    return _start_body(agent, op, edges[:count], op.promises, edges[count:], None)


@issues(async_region.LaunchOp)
def _launch(agent: Agent, op: async_region.LaunchOp, *operands: Any) -> Answer:
    return agent.settled(operands[: len(op.dependencies)], op).then(_begin_launch, operands)


@continuation
def _begin_launch(agent: Agent, op: async_region.LaunchOp, edges: list[Event], operands: Sequence[Any]) -> Answer:
    count = len(edges)
    passed = operands[count : count + len(op.captures)]
    return _start_body(agent, op, edges, op.captures, passed, operands[-1] if op.resource is not None else None)


def _issue_body(agent: Agent, op: async_region.RegionOp, edges: Sequence[Event]) -> Request:
    """
    Run the body of a region with a token argument at once, by the agent that issues the region. The body only issues
    more work.
    """
    ready = Event.all_of(edges, f"argument of {op.name}")
    return agent.run_region(op.body, [ready]).then(_settle_tokens).then(_hand_out, ready)


@continuation
def _hand_out(agent: Agent, op: async_region.RegionOp, body: _Yielded, ready: Event) -> Answer:
    values, groups = body.values, body.groups
    results = _Results.of(op)
    for value, promised in zip(values, _promised(agent, op), strict=True):
        results.values.append(results.promise(op) if promised else value)
        if promised:
            results.values[-1].payload = value
    results.complete_with([ready, Event.completed(agent.release())], groups)
    return results.handed_out()


def _start_body(
    agent: Agent, op: BodyOp, edges: Sequence[Event], names: Sequence[SSAValue], passed: Sequence[Any], resource: Any
) -> Any:
    """
    Start the body of `op` as a task: for launches, and for regions without a token argument.

    The task waits for `edges`, takes `passed` (the operands `names`) with promises unwrapped, and holds `resource`,
    unless that is None, until the op is complete.
    """
    results = _Results.of(op)
    results.values = [results.promise(op) if promised else LateValue(op) for promised in _promised(agent, op)]

    promises = [*results.tokens, *(value for value in results.values if isinstance(value, Event))]
    task = _Task(results, tuple(edges), tuple(names), tuple(passed), resource)
    child = start_task(agent, op, _await_edges, task, promises=promises, regions=[op.body])
    for value in results.values:
        if isinstance(value, LateValue):
            value.maker = child
            agent.makes_late_values(numbers=True)
    return results.handed_out()


@dataclass(frozen=True, eq=False)
class _Task:
    """The data of the task of a region or launch; the fields are those of `_start_body`."""

    results: _Results
    edges: tuple[Event, ...]
    names: tuple[SSAValue, ...]
    passed: tuple[Any, ...]
    resource: Any


@continuation
def _await_edges(child: Agent, op: BodyOp, _: None, task: _Task) -> Answer:
    return all_awaited(child, op, task.edges).then(_unwrap, task).then(_take_resource, task)


@continuation
def _unwrap(child: Agent, op: BodyOp, _: Any, task: _Task) -> Answer:
    return _unwrap_from(child, op, task, ())


def _unwrap_from(child: Agent, op: BodyOp, task: _Task, arguments: tuple[Any, ...]) -> Request:
    """The values of the body arguments after `arguments`: the payloads of promises, everything else as it is."""
    for name, value in list(zip(task.names, task.passed, strict=True))[len(arguments) :]:
        if isinstance(name.type, ValueType):
            return child.settled([value], op).then(_await_promise, task, arguments)
        arguments = (*arguments, value)
    return Done(arguments)


@continuation
def _await_promise(child: Agent, op: BodyOp, settled: list[Event], task: _Task, arguments: tuple[Any, ...]) -> Answer:
    return all_awaited(child, op, settled, "value").then(_add_argument, task, arguments)


@continuation
def _add_argument(child: Agent, op: BodyOp, payloads: list[Any], task: _Task, arguments: tuple[Any, ...]) -> Answer:
    return _unwrap_from(child, op, task, (*arguments, *payloads))


@continuation
def _take_resource(child: Agent, op: BodyOp, arguments: tuple[Any, ...], task: _Task) -> Answer:
    held = Done() if task.resource is None else child.settled([task.resource], op).then(_hold, task)
    return held.then(_run_body, task, arguments)


@continuation
def _hold(child: Agent, op: BodyOp, settled: list[Resource], task: _Task) -> Answer:
    return hold(child, settled[0], op, task.results.tokens[0])


@continuation
def _run_body(child: Agent, op: BodyOp, _: None, task: _Task, arguments: tuple[Any, ...]) -> Answer:
    return child.run_region(op.body, arguments).then(_settle_tokens).then(_complete, task)


@continuation
def _complete(child: Agent, _op: BodyOp, body: _Yielded, task: _Task) -> Answer:
    for given, value in zip(task.results.values, body.values, strict=True):
        if isinstance(given, LateValue):
            given.put(value)
        else:
            given.payload = value
    task.results.complete_with([Event.completed(child.release())], body.groups)


@dataclass(frozen=True)
class _Yielded:
    """What a body yields: its values, and its tokens by groups."""

    values: Sequence[Any]
    groups: Sequence[Sequence[Event]]


def _terminator_of(op: BodyOp) -> async_region.YieldOp:
    terminator = op.body.block.last_op
    assert isinstance(terminator, async_region.YieldOp)
    return terminator


@continuation
def _settle_tokens(agent: Agent, op: BodyOp, yielded: Sequence[Any]) -> Answer:
    terminator = _terminator_of(op)
    count = len(terminator.values)
    return agent.settled(yielded[count:], terminator).then(_group_tokens, tuple(yielded[:count]))


@continuation
def _group_tokens(_agent: Agent, op: BodyOp, tokens: list[Event], values: tuple[Any, ...]) -> Answer:
    groups: list[list[Event]] = []
    for group in _terminator_of(op).token_groups:
        groups.append(tokens[: len(group)])
        tokens = tokens[len(group) :]
    return _Yielded(values, groups)


# Memory and transfers -----------------------------------------------------------------------------------------------


@issues(async_region.AllocOp)
def _alloc(agent: Agent, op: async_region.AllocOp, *operands: Any) -> Answer:
    count = len(op.dependencies)
    return agent.settled(operands[:count], op).then(_issue_alloc, operands[count:])


@continuation
def _issue_alloc(agent: Agent, op: async_region.AllocOp, edges: list[Event], sizes: Sequence[Any]) -> Answer:
    kind = op.buffer.type
    label = f"{op.name} of '{op.buffer.name_hint or 'buffer'}'"
    if not any(isinstance(size, LateValue) for size in sizes):
        view = allocate(agent, op, kind, sizes)
        work = agent.issue(op, [Touch(view, True)], None, label=label, engine="memory", dependencies=edges)
        return view, agent.event_of(work, op.name)
    buffer = LateValue(op)

    def look(work: AsyncWork) -> list[Touch]:
        view = allocate(agent, op, kind, [seen_by_work(size, work, agent) for size in sizes])
        buffer.maker = work
        buffer.put(view)
        return [Touch(view, True)]

    work = agent.issue(op, [], None, label=label, engine="memory", dependencies=edges, look=look, needs=sizes)
    buffer.maker = work
    agent.makes_late_values(numbers=True)
    return buffer, agent.event_of(work, op.name)


class _Copying:
    """One copy: looks at its operands when it is performed."""

    def __init__(self, agent: Agent, op: async_region.CopyOp, operands: Sequence[Any]) -> None:
        self.agent = agent
        self.op = op
        self.operands = operands
        """Source, destination, and the resource, if there is one."""
        self.views: tuple[View, View] | None = None

    @property
    def label(self) -> str:
        target = self.operands[1]
        return f"{self.op.name} to '{target.base.name}'" if isinstance(target, View) else self.op.name

    def look(self, work: AsyncWork) -> list[Touch]:
        source, target, *resource = (seen_by_work(operand, work, self.agent) for operand in self.operands)
        work.resource = resource[0] if resource else None
        self.views = same_shape(self.agent, self.op, source, target)
        for view in self.views:
            self.agent.check_bounds(view, self.op)
        return [Touch(self.views[0], False), Touch(self.views[1], True)]

    def move(self) -> None:
        assert self.views is not None
        machine = self.agent.machine
        machine.write(self.views[1], machine.read(self.views[0]))


@issues(async_region.CopyOp)
def _copy(agent: Agent, op: async_region.CopyOp, *operands: Any) -> Answer:
    count = len(op.dependencies)
    return agent.settled(operands[:count], op).then(_issue_copy, operands[count:])


@continuation
def _issue_copy(agent: Agent, op: async_region.CopyOp, edges: list[Event], operands: Sequence[Any]) -> Answer:
    copying = _Copying(agent, op, operands)
    resource = operands[-1] if op.resource is not None else None
    work = agent.issue(
        op,
        [],
        copying.move,
        label=copying.label,
        dependencies=edges,
        resource=resource if isinstance(resource, Resource) else None,
        look=copying.look,
        needs=copying.operands,
    )
    return agent.event_of(work, op.name)


# Arguments of functions ---------------------------------------------------------------------------------------------


@binds_type(async_region.ResourceType.name)
def _resource_argument(argument: BlockArgument, _given: Any, _with_data: bool) -> Resource:
    """A resource of the caller's: each argument is another one, and free."""
    return Resource(f"{argument.name_hint or 'argument'} {argument.index}")
