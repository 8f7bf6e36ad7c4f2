"""
Resources: mutual exclusion without order (`async_region.create_resource`).

Work takes its resource when it is performed and gives it back at once. A launch holds its resource from the start of
its body until it is complete. Whoever finds the resource free may take it next. Taking it after another teaches nothing
about what that one did, so accesses that conflict still need a token.

The order in which a resource is taken matters only where a launch waits while it holds one. Such a launch *brings in*
each resource of which it knows a use at its completion that it did not know at its start: it held its own resource
until that use was over. If these edges between resources form a cycle (an edge from a resource to itself is one),
another order might deadlock: then one execution does not speak for all, and the machine notes a doubt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.ir import Operation

from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Event
from tileas_xdsl.machine.core.happens_before import Mind, Who
from tileas_xdsl.machine.core.standings import Answer, Request, continuation
from tileas_xdsl.machine.core.state import Canvas, SharedPart
from tileas_xdsl.machine.core.synchronization import Condition

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.execution import Machine


@dataclass(frozen=True)
class Holding:
    """A launch that holds a resource: its agent, its op, and the completion with which it gives the resource back."""

    agent: Agent
    op: Operation
    completion: Event


@dataclass(eq=False)
class Resource:
    """A resource: at most one work or launch holds it at a time."""

    name: str
    """Its name in the program, and a number that tells it from others of that name."""
    holding: Holding | None = None
    takings: list[tuple[Who, int]] = field(default_factory=list[tuple[Who, int]])
    """The launches that took it, each with the moment at which it did."""
    performed: list[AsyncWork] = field(default_factory=list[AsyncWork])
    """The works that were performed on it."""
    brings_in: dict[Resource, None] = field(default_factory=dict["Resource", None])
    """The resources for which somebody waited while it held this one."""

    @property
    def is_free(self) -> bool:
        return self.holding is None

    def describe(self) -> str:
        """`resource 'dma 0', which 'async_region.launch' of task 1 holds until it is complete`."""
        if self.holding is None:
            return f"resource '{self.name}'"
        holder = self.holding
        return f"resource '{self.name}', which '{op_name(holder.op)}' of {holder.agent.name} holds until it is complete"

    def in_the_way(self) -> Iterable[AsyncWork]:
        """Works that must complete before the resource is free."""
        return self.holding.completion.unfinished() if self.holding is not None else ()

    def used_between(self, before: Mind, after: Mind) -> bool:
        """Whether `after` knows of a use of which `before` did not know."""
        launches = any(
            after.knows_moment(agent.number, moment) and not before.knows_moment(agent.number, moment)
            for agent, moment in self.takings
        )
        return launches or any(after.knows_work(work) and not before.knows_work(work) for work in self.performed)

    def leads_to(self, other: Resource) -> bool:
        """Whether a path of at least one edge of `brings_in` leads from here to `other`."""
        stack, seen = list(self.brings_in), set(self.brings_in)
        while stack:
            resource = stack.pop()
            if resource is other:
                return True
            fresh = [r for r in resource.brings_in if r not in seen]
            seen.update(fresh)
            stack.extend(fresh)
        return False


@dataclass
class Resources(SharedPart):
    """The resources of an execution."""

    count: int = 0
    """How many have been made."""
    held: dict[Resource, None] = field(default_factory=dict[Resource, None])
    """Those that somebody has held."""

    def draw(self, canvas: Canvas) -> None:
        if self.held:
            canvas.refuse("resources held, which cannot be compared from iteration to iteration")


@dataclass
class ResourceCondition(Condition):
    """A resource is free. The agent whose wait this ends takes it at once."""

    resource: Resource
    holding: Holding

    def holds(self) -> bool:
        return self.resource.is_free

    def helpers(self) -> Iterable[AsyncWork]:
        return self.resource.in_the_way()

    def observe(self, agent: Who) -> None:
        self.resource.holding = self.holding
        self.resource.takings.append((agent, agent.moment))

    def describe(self) -> str:
        return self.resource.describe()

    @property
    def subject(self) -> str:
        return f"resource '{self.resource.name}'"

    @property
    def may_pass_by(self) -> str | None:
        return self.resource.name


@dataclass(frozen=True, eq=False)
class Use:
    """One launch holds `resource`; the call gives it back."""

    resource: Resource
    holding: Holding
    before: Mind
    """What the launch knew when it asked for the resource."""

    def __call__(self) -> None:
        resource, holder = self.resource, self.holding
        agent, machine = holder.agent, holder.agent.machine
        machine.shares(resource.name, alone=True)
        machine.happened(agent, holder.op, "free", f"gives resource '{resource.name}' back", on=resource)
        _judge(machine, resource, holder, self.before)
        resource.holding = None
        machine.resource_freed(resource)


def make_resource(machine: Machine, label: str) -> Resource:
    """A new resource, free."""
    made = machine.part(Resources)
    made.count += 1
    return Resource(f"{label} {made.count - 1}")


def hold(agent: Agent, resource: Resource, op: Operation, completion: Event) -> Request:
    """Wait until `resource` is free, and hold it for the launch `op` until `completion`."""
    use = Use(resource, Holding(agent, op, completion), Mind(dict(agent.clock), {}))
    return agent.wait(ResourceCondition(resource, use.holding), op).then(_take, use)


@continuation
def _take(agent: Agent, op: Operation, _: None, use: Use) -> Answer:
    machine, resource = agent.machine, use.resource
    machine.part(Resources).held[resource] = None
    agent.resource = resource
    machine.shares(resource.name, alone=True)
    machine.happened(agent, op, "take", f"takes resource '{resource.name}'", on=resource)
    use.holding.completion.when_complete(use)


def _judge(machine: Machine, resource: Resource, holding: Holding, before: Mind) -> None:
    """
    Note the resources for which `holding` waited while it held its own. A cycle of them is a doubt: another order might
    deadlock.
    """
    known = holding.completion.knowledge
    own = holding.agent.number
    if not known.works and before.knows_moments({a: m for a, m in known.clock.items() if a != own}):
        return
    after = Mind(known.clock, {}, known.works)
    for other in machine.part(Resources).held:
        if other in resource.brings_in or not other.used_between(before, after):
            continue
        resource.brings_in[other] = None
        if other is resource or other.leads_to(resource):
            reason = f"holds resource '{resource.name}' while it waits for an operation on resource '{other.name}'"
            machine.doubt(holding.op, f"{reason}, which in another order may wait for the first")
