"""
Simulated time, in cycles: when each agent takes its next step, when each engine is free, and what took how long.

Each agent has a clock, and lanes of its own for arithmetic. An engine serves requests first come, first served: a work
occupies its engine for its size divided by the engine's rate, and is complete one latency later (`targets.cycles`). An
agent that makes an access or a product itself waits until it is complete; one that issues asynchronous work goes on.

    main          issue | issue | stall on the load ........ | product
    tma                 [ occupied ][ occupied ] latency ... |
    tensor core                                              [ occupied ]

The order `timed` always chooses the earliest event, so the machine sees all events in the order of time.

Work joins the queue of its engine when all that it depends on is complete, not when it is issued; engines are first
come, first served; an agent has lanes for arithmetic of its own, and agents do not compete for issue slots. Copies hit
the second-level cache. Numbers that no document gives are called estimates in the tables.

The accesses in the body of an asynchronous producer, and the body of an asynchronous scope, are paid for by their work
and not by the agent.

What asynchronous work costs, and what an agent's own steps do, is said by `analysis.costs.op_costs`, with the extents
of a run where types leave them open:

    asynchronous work          bytes / rate of its engine; of a matrix product its operations
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import ceil, prod
from typing import TYPE_CHECKING, Any

from xdsl.ir import Block, Operation

from tileas_xdsl.analysis.costs import op_costs
from tileas_xdsl.analysis.costs.op_costs import FREE, Cost, Costs, access_costs, conflict_cycles, costs_of, shape_of
from tileas_xdsl.analysis.natural_loops import loop_with_turns_from
from tileas_xdsl.dialects.scalars import is_number, packed_bits
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Exclusive
from tileas_xdsl.machine.core.meaning import Kind
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.orders import Execution, Order, Pauses, TimeKeeper
from tileas_xdsl.targets.cycles import TimingTable

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.code import Step
    from tileas_xdsl.machine.core.happens_before import Who
    from tileas_xdsl.machine.core.loops.open_counts import Looper


def product_cost(op: Operation, operands: Sequence[Any], table: TimingTable) -> Cost | None:
    """The cost of a matrix product on these run-time operands; None for any other op."""
    if costs_of(op) is not Costs.PRODUCT:
        return None
    shapes = [
        value.shape if isinstance(value, View) else shape_of(ssa.type)
        for ssa, value in zip(op.operands[:2], operands[:2], strict=True)
    ]
    return op_costs.product_cost(op, shapes, table)


def own_cost(op: Operation, kind: Kind, results: Sequence[Any], table: TimingTable) -> Cost:
    """The cost of what the agent computes itself in a step of `kind` that gave `results`: views, or computed values."""
    if kind not in (Kind.PURE, Kind.EFFECT):
        return FREE
    computed = [
        ssa.type
        for ssa, value in zip(op.results, results, strict=True)
        if not isinstance(value, View) and is_number(ssa.type)
    ]
    return op_costs.own_cost(op, computed, table)


def work_cost(work: AsyncWork, table: TimingTable) -> Cost:
    """The cost of asynchronous work that is ready. Work that moves nothing is a signal."""
    product = op_costs.typed_product_cost(work.op, table)
    if product is not None:
        return product
    size = bytes_of(work)
    if not size:
        return Cost(None, 0, table.signal)
    rate = table.copy_rate(work.engine)
    return Cost(work.engine, rate.occupancy(size), rate.latency)


def bytes_of(work: AsyncWork) -> int:
    """The bytes that `work` reads or the bytes that it writes, whichever are more."""
    written = sum(bytes_under(touch.view) for touch in work.touches if touch.is_write)
    read = sum(bytes_under(touch.view) for touch in work.touches if not touch.is_write)
    return max(read, written)


def bytes_under(view: View) -> int:
    """The bytes of a view as hardware holds them: elements narrower than a byte are packed."""
    return ceil(prod(view.shape) * packed_bits(view.element.attribute) / 8)


SCALARS, ARITHMETIC, ENGINE, ISSUE, SIGNAL = "scalars", "arithmetic", "engine", "issue", "signal"
"""What an agent spends time on: the kinds of a `Span`."""

MOST_VIEWS = 4
"""How many of the views that something touches are kept, for pictures."""

DELEGATED = ""
"""In place of a memory space: what asynchronous work pays for."""

ISSUES = frozenset({"issue", "fork", "init", "expect", "commit"})
"""Happenings that cost an instruction; the others cost a signal."""


@dataclass(slots=True, eq=False)
class Span:
    """What one agent did from `start` until `end`."""

    agent: Who
    op: Operation
    """The first op, where one span stands for several operations on scalars."""
    iteration: tuple[int, ...]
    kind: str
    start: int
    end: int
    text: str = ""
    count: int = 1
    """How many operations it stands for."""
    about: object | None = None
    """The work, barrier, queue or agent that a step is about that others can see."""
    views: tuple[View, ...] = ()
    """Some of the views that it touches."""


@dataclass(slots=True, eq=False)
class Service:
    """One service of an engine: of asynchronous work, or of an access or product that an agent makes itself."""

    engine: str | None
    """None for work that only signals."""
    op: Operation
    agent: Who
    """The agent that issued it, or waits for it."""
    iteration: tuple[int, ...]
    work: AsyncWork | None
    asked: int
    """The cycle in which it could have started on a free engine."""
    start: int
    freed: int
    """The cycle from which on the engine is free again."""
    complete: int
    size: int = 0
    """Bytes moved."""
    views: tuple[View, ...] = ()
    """Some of the views that it touches, written ones first."""


@dataclass(slots=True, eq=False)
class Stall:
    """An agent stood still from `start` until `end`."""

    agent: Who
    op: Operation
    iteration: tuple[int, ...]
    start: int
    end: int
    on: str
    """What it waited for: a barrier, a queue, a token, an engine that was busy."""
    cause: Service | Span | None
    """The service or step that ended it."""


@dataclass(slots=True, eq=False)
class LoopRun:
    """One run of a loop by one agent: when its iterations began, and when it was over."""

    agent: Who
    op: Operation
    outside: tuple[int, ...]
    starts: list[int] = field(default_factory=list[int])
    end: int = 0

    @property
    def durations(self) -> list[int]:
        """Cycles of each iteration."""
        return [after - before for before, after in zip(self.starts, [*self.starts[1:], self.end], strict=False)]


class SimulatedClock:
    """The clocks of one execution, and the record of what they showed."""

    def __init__(self, table: TimingTable) -> None:
        self.table = table
        self.present = 0
        """The cycle of the present event."""
        self.spans: list[Span] = []
        self.services: list[Service] = []
        self.stalls: list[Stall] = []
        self.loops: list[LoopRun] = []
        self._now: dict[int, int] = {}
        self._free: dict[str, int] = {}
        self._taken: dict[Exclusive, int] = {}
        self._flying: list[tuple[int, int, Service]] = []
        """Works under way, by the cycle in which they are complete."""
        self._parked: list[AsyncWork] = []
        """Works that wait for a resource that is held."""
        self._touched: dict[int, dict[str, int]] = {}
        self._views: dict[int, list[View]] = {}
        self._last_turn: dict[str, Service] = {}
        self._open_loops: dict[tuple[int, Block], LoopRun] = {}
        self._awake: set[int] = set()
        self._latest: dict[int, Span] = {}
        self._cause: Service | Span | None = None

    # Who comes next -------------------------------------------------------------------------------------------------

    def time_of(self, agent: Who) -> int:
        return self._now.get(agent.number, 0)

    @property
    def end(self) -> int:
        """The cycle in which the last agent and the last work are done."""
        return max([0, *self._now.values(), *(service.complete for service in self.services)])

    def next(self, runnable: Sequence[Looper]) -> Looper | AsyncWork | None:
        """
        The earliest event that can happen. Of several at once: works before agents, then the agent that was made first.
        """
        self._wake(runnable)
        agent = min(runnable, key=lambda agent: (self.time_of(agent), agent.number), default=None)
        while self._flying and (agent is None or self._flying[0][0] <= self.time_of(agent)):
            time, _, service = heappop(self._flying)
            work = service.work
            assert work is not None
            if not work.can_start:
                self._parked.append(work)
                continue
            self.present, self._cause = time, service
            return work
        if agent is not None:
            self.present, self._cause = self.time_of(agent), self._latest.get(agent.number)
            self._awake.discard(agent.number)
        return agent

    def _wake(self, runnable: Sequence[Looper]) -> None:
        """The agents whose conditions hold now go on at the present cycle."""
        waiting = [agent for agent in runnable if agent.waiting_for is not None]
        self._awake.intersection_update(agent.number for agent in waiting)
        for agent in waiting:
            if agent.number in self._awake:
                continue
            self._awake.add(agent.number)
            condition = agent.waiting_for
            assert condition is not None
            self._stand_still(agent, agent.waiting_at, self.present, condition.subject, self._cause)

    def _stand_still(self, agent: Who, op: Operation | None, until: int, on: str, cause: Service | Span | None) -> None:
        start = self.time_of(agent)
        if until <= start:
            return
        assert op is not None
        self.stalls.append(Stall(agent, op, agent.iteration, start, until, on, cause))
        self._now[agent.number] = until

    # What agents do -------------------------------------------------------------------------------------------------

    def agent_added(self, agent: Who) -> None:
        """A new agent begins when it is forked."""
        self._now[agent.number] = self.time_of(agent.parent) if agent.parent is not None else 0

    def begin_iteration(self, agent: Who, body: Block, outside: tuple[int, ...]) -> None:
        if agent.recording is not None:
            return
        run = self._open_loops.get((agent.number, body))
        if run is None:
            run = self._open_loops[agent.number, body] = LoopRun(agent, loop_with_turns_from(body), outside)
            self.loops.append(run)
        run.starts.append(self.time_of(agent))

    def end_loop(self, agent: Who, body: Block) -> None:
        run = self._open_loops.pop((agent.number, body), None)
        if run is not None:
            run.end = self.time_of(agent)

    def touched(self, agent: Who, view: View) -> None:
        """`agent` itself reads or writes what is under `view`, in the step that it is in."""
        spaces = self._touched.setdefault(agent.number, {})
        space = DELEGATED if agent.delegates else view.base.space
        spaces[space] = spaces.get(space, 0) + bytes_under(view)
        views = self._views.setdefault(agent.number, [])
        if len(views) < MOST_VIEWS:
            views.append(view)

    def happened(self, agent: Who, op: Operation, kind: str, text: str, on: object | None) -> int:
        """Charge a step that others can see; returns the cycle in which it takes place."""
        if kind == "complete":
            return self.present
        time = self.present = self.time_of(agent)
        if kind != "finish":
            cycles = self.table.instruction if kind in ISSUES else self.table.signal
            self._spend(agent, op, ISSUE if kind in ISSUES else SIGNAL, cycles, text, on)
            self._cause = self._latest[agent.number]
        return time

    def step_done(self, agent: Who, step: Step, operands: Sequence[Any], outcome: Any) -> None:
        """Charge a step that has just been run, except for what `happened` has charged for it."""
        touched = self._touched.pop(agent.number, {})
        views = tuple(self._views.pop(agent.number, ()))
        if agent.recording is not None:
            return
        for cost in self._costs(step, operands, outcome, touched):
            if cost.engine is not None:
                self._be_served(agent, step.op, cost, sum(touched.values()), views)
            elif cycles := cost.occupancy + cost.latency:
                self._spend(agent, step.op, ARITHMETIC if cost.latency else SCALARS, cycles, views=views)

    def _costs(self, step: Step, operands: Sequence[Any], outcome: Any, touched: dict[str, int]) -> list[Cost]:
        if step.kind is not Kind.SYNC:
            product = product_cost(step.op, operands, self.table)
            if product is not None:
                return [product]
        if touched.pop(DELEGATED, 0) and not touched:
            return []
        accesses = access_costs(touched, self.table, conflict_cycles(step.op))
        if accesses and not step.reads_tiles:
            # The arithmetic on what an access brings hides behind it.
            return accesses
        results = (outcome,) if len(step.results) == 1 else outcome if step.results else ()
        return [*accesses, own_cost(step.op, step.kind, results, self.table)]

    def _be_served(self, agent: Who, op: Operation, cost: Cost, size: int, views: tuple[View, ...]) -> None:
        """The agent waits until the engine is free, and then until its request is complete."""
        assert cost.engine is not None
        before = self._last_turn.get(cost.engine)
        asked, start = self.time_of(agent), max(self.time_of(agent), self._free.get(cost.engine, 0))
        self._stand_still(agent, op, start, f"{cost.engine}: busy", before)
        freed = self._free[cost.engine] = start + cost.occupancy
        done = freed + cost.latency
        turn = Service(cost.engine, op, agent, agent.iteration, None, asked, start, freed, done, size, views)
        self.services.append(turn)
        self._last_turn[cost.engine] = turn
        self._spend(agent, op, ENGINE, cost.occupancy + cost.latency, cost.engine, views=views)

    def _spend(
        self,
        agent: Who,
        op: Operation,
        kind: str,
        cycles: int,
        text: str = "",
        about: object | None = None,
        views: tuple[View, ...] = (),
    ) -> None:
        start = self.time_of(agent)
        self._now[agent.number] = end = start + cycles
        last = self._latest.get(agent.number)
        if last is not None and kind == SCALARS == last.kind and (last.end, last.iteration) == (start, agent.iteration):
            last.end, last.count = end, last.count + 1
            return
        span = Span(agent, op, agent.iteration, kind, start, end, text, about=about, views=views)
        self._latest[agent.number] = span
        self.spans.append(span)

    # What engines do ------------------------------------------------------------------------------------------------

    def work_ready(self, work: AsyncWork) -> None:
        """Put `work` into the queue of its engine."""
        if work.resource is not None and not work.resource.is_free:
            self._parked.append(work)
            return
        cost = work_cost(work, self.table)
        start = max(self.present, self._free.get(cost.engine, 0) if cost.engine is not None else 0)
        if work.resource is not None:
            start = max(start, self._taken.get(work.resource, 0))
        freed = start + cost.occupancy
        complete = freed + cost.latency
        if cost.engine is not None:
            self._free[cost.engine] = freed
        if work.resource is not None:
            self._taken[work.resource] = complete
        service = Service(
            cost.engine,
            work.op,
            work.issuer,
            work.iteration,
            work,
            asked=self.present,
            start=start,
            freed=freed,
            complete=complete,
            size=bytes_of(work),
            views=tuple(t.view for t in sorted(work.touches[:MOST_VIEWS], key=lambda touch: not touch.is_write)),
        )
        self.services.append(service)
        if cost.engine is not None:
            self._last_turn[cost.engine] = service
        heappush(self._flying, (complete, work.serial, service))

    def resource_freed(self, resource: Exclusive) -> None:
        """Put the works that waited for `resource` into the queues of their engines."""
        held_up = [work for work in self._parked if work.resource is resource]
        self._parked = [work for work in self._parked if work.resource is not resource]
        for work in held_up:
            self.work_ready(work)


class Timed(Order):
    """The order `timed`: the earliest event comes next."""

    pauses = Pauses.AT_EVERY_EFFECT

    def __init__(self, table: TimingTable) -> None:
        self.clock: TimeKeeper | None = SimulatedClock(table)

    def choose(self, machine: Execution, runnable: Sequence[Looper]) -> Looper | AsyncWork | None:
        assert self.clock is not None
        return self.clock.next(runnable)
