"""
The content of a timeline, independent of the format: lanes, bars, edges and marks, all in cycles.

A lane is an agent or an engine. A bar is something that takes time: a turn of an engine, a step of an agent, or time in
which an agent stands still. An edge leads from what must come first to what came after: an issue to its work, a work to
the wait that saw it complete, an arrival to the wait for its phase, a fork to its agent, an end to its join. A mark is
a violation, with the bars of its parties and of its witness.

Bars that belong to one slot of a ring have one colour, whichever lane they are in; others have that of their iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation

from tileas_xdsl.checker.witnesses.witness import witness_of
from tileas_xdsl.diagnostics import location_of, op_name
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Event
from tileas_xdsl.machine.core.happens_before import Who
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.synchronization import EndOfAgents
from tileas_xdsl.machine.core.trace import Happening
from tileas_xdsl.machine.core.violations import Violation
from tileas_xdsl.machine.time.simulated_time import ARITHMETIC, ENGINE, SCALARS, Service, Span
from tileas_xdsl.machine.time.simulation import TimedRun

AGENT, TURN, STALL, BLOCKED, STEP, SCALAR = "agent", "turn", "stall", "blocked", "step", "scalar"
"""The kinds of bars: an agent works or is served, an engine has a turn, an agent stands still, or for ever, steps."""

ISSUES, COMPLETES, ARRIVES, FORKS = "issues", "completes", "arrives", "forks"
"""The kinds of edges."""

HUES = 6
MOST_ROWS = 8
"""Rows of one lane: more works in flight share the last one."""


@dataclass(frozen=True)
class Lane:
    """A thread of control, or a unit of hardware."""

    name: str
    is_engine: bool
    rows: int = 1
    note: str = ""
    """How busy the lane was: the share of cycles in which an engine is occupied or an agent stalls."""


@dataclass
class Bar:
    """Something that takes time, from `start` until `end`; of an engine's turn the part up to `freed` occupies it."""

    number: int
    lane: int
    row: int
    kind: str
    start: int
    freed: int
    end: int
    label: str
    what: str
    """One sentence about the bar, shown when it is selected."""
    op: str
    place: str | None
    iteration: tuple[int, ...]
    slot: int | None
    hue: int | None
    marks: list[int] = field(default_factory=list[int])
    """The violations in which it takes part."""
    witness: list[int] = field(default_factory=list[int])
    """The steps of the first violation's witness that it stands for."""

    @property
    def turn(self) -> str:
        """`i3 s1`: iteration and slot, as far as there are any."""
        parts = ["i" + ".".join(map(str, self.iteration))] if self.iteration else []
        return " ".join([*parts, *([f"s{self.slot}"] if self.slot is not None else [])])


@dataclass(frozen=True)
class Edge:
    """`target` came after `source`, by their numbers."""

    source: int
    target: int
    kind: str
    start: int
    end: int
    """The cycles from which, and to which, it is drawn."""


@dataclass(frozen=True)
class Mark:
    """A violation: what it says, and where it shows."""

    kind: str
    message: str
    missing: str
    parties: tuple[str, ...]
    bars: tuple[int, ...]
    steps: tuple[tuple[str, str, int | None], ...]
    """The witness: what stands in front of a step (a number, nothing, `=>`), the step, and its bar, if there is one."""


@dataclass
class Timeline:
    """A timeline: everything that the three formats write down."""

    function: str
    target: str
    cycles: int
    until: int
    """Where the picture ends: at `cycles`, or later where somebody waits for ever."""
    per_iteration: float | None
    lanes: list[Lane]
    bars: list[Bar]
    edges: list[Edge]
    marks: list[Mark]

    def __repr__(self) -> str:
        sizes = f"{len(self.lanes)} lanes, {len(self.bars)} bars"
        return f"Timeline(@{self.function} on {self.target}: {self.cycles:,} cycles; {sizes})"


def is_same(one: Timeline, other: Timeline) -> bool:
    """Whether two pictures show the same."""
    return vars(one) == vars(other)


def timeline(run: TimedRun) -> Timeline:
    """The picture of `run`. Linear in its steps."""
    return _Builder(run).build()


# Names ----------------------------------------------------------------------------------------------------------------


def _short(op: Operation) -> str:
    """The last part of the name of an op: `dot` of `nv_tileaa.dot`."""
    return op_name(op).rpartition(".")[2]


def slot_of(views: Sequence[View]) -> int | None:
    """The slot in which one of `views` lies: of a ring, or the leading index into an array in shared memory."""
    for view in views:
        if view.base.slot is not None:
            return view.base.slot
    for view in views:
        box = view.region.box
        if view.base.space in ("shared", "tensor") and box is not None and len(box) > 1 and view.base.shape[0] > 1:
            low, high = box[0]
            if high == low + 1:
                return low
    return None


def _name_of(view: View) -> str:
    """What the bytes under `view` are called: `ring[1]`."""
    base = view.base
    slot = slot_of([view])
    name = (
        base.name.partition(" of ")[2].replace("pipeline ", "").replace("queue ", "") if base.slot is not None else ""
    )
    name = (name or base.name).strip("'")
    return name if slot is None else f"{name}[{slot}]"


# Building -------------------------------------------------------------------------------------------------------------


class _Builder:
    def __init__(self, run: TimedRun) -> None:
        self.run = run
        self.machine = run.machine
        self.clock = run.clock
        self.end = run.cycles
        self.lanes: list[Lane] = []
        self.bars: list[Bar] = []
        self.edges: dict[Edge, None] = {}
        self.of_span: dict[Span, int] = {}
        self.of_work: dict[AsyncWork, int] = {}
        self.at: dict[tuple[int, int, str], int] = {}
        """(agent, time, what it says) -> the bar of a step that others can see."""
        self.of_op: dict[tuple[int, str, tuple[int, ...]], list[int]] = {}
        """(op, agent, iteration) -> bars."""

    def build(self) -> Timeline:
        self._add_agents()
        self._add_engines()
        self._add_blocked()
        self._connect_works()
        self._connect_agents()
        marks = [self._mark(number, violation) for number, violation in enumerate(self.run.violations)]
        run = self.run
        return Timeline(
            run.function,
            run.target,
            run.cycles,
            max(self.end, 1),
            run.cycles_per_iteration,
            self.lanes,
            self.bars,
            list(self.edges),
            marks,
        )

    def _add(
        self,
        place: tuple[int, int],
        kind: str,
        times: tuple[int, int, int],
        text: tuple[str, str],
        by: Span | Service | tuple[Operation, Who, tuple[int, ...]],
        slot: int | None = None,
        *,
        coloured: bool = True,
    ) -> Bar:
        """Add a bar in the row of the lane that `place` says, with a label and what it stands for as its `text`."""
        op, agent, iteration = by if isinstance(by, tuple) else (by.op, by.agent, by.iteration)
        number = slot if slot is not None else (iteration[-1] if iteration else None)
        hue = number % HUES if number is not None and coloured else None
        bar = Bar(len(self.bars), *place, kind, *times, *text, op_name(op), location_of(op), iteration, slot, hue)
        self.bars.append(bar)
        self.of_op.setdefault((id(op), agent.name, iteration), []).append(bar.number)
        return bar

    # Lanes ----------------------------------------------------------------------------------------------------------

    def _add_agents(self) -> None:
        spans: dict[Who, list[Span]] = {agent: [] for agent in self.machine.agents}
        for span in self.clock.spans:
            spans[span.agent].append(span)
        self.lane_of = {agent: number for number, agent in enumerate(spans)}
        for (agent, mine), use in zip(spans.items(), self.run.agents, strict=True):
            self.lanes.append(Lane(agent.name, False, note=f"stalled {_percent(use.stalled, self.end)}"))
            for span in mine:
                self._add_span(span, self.lane_of[agent])
        for stall in self.clock.stalls:
            what = f"stands still for {stall.end - stall.start:,} cycles: {stall.on}"
            times = (stall.start, stall.end, stall.end)
            by = (stall.op, stall.agent, stall.iteration)
            self._add((self.lane_of[stall.agent], 0), STALL, times, (stall.on, what), by, coloured=False)

    def _add_span(self, span: Span, lane: int) -> None:
        slot = slot_of(span.views)
        times = (span.start, span.end, span.end)
        if span.kind == SCALARS:
            what = f"{span.count} operation{'s' * (span.count != 1)} on scalars"
            bar = self._add((lane, 0), SCALAR, times, ("", what), span, coloured=False)
        elif span.kind in (ENGINE, ARITHMETIC):
            what = f"{op_name(span.op)}{f', by the {span.text}' if span.text else ''}"
            bar = self._add((lane, 0), AGENT, times, (_short(span.op), what), span, slot)
        else:
            bar = self._add((lane, 0), STEP, times, (_short(span.op), span.text), span, slot, coloured=False)
            self.at[span.agent.number, span.start, span.text] = bar.number
        self.of_span[span] = bar.number

    def _add_engines(self) -> None:
        turns: dict[str, list[Service]] = {}
        for service in self.clock.services:
            if service.engine is not None:
                turns.setdefault(service.engine, []).append(service)
        shares = {engine.name: _percent(engine.busy, self.end) for engine in self.run.engines}
        for name, services in turns.items():
            lane = len(self.lanes)
            free: list[int] = []
            for service in services:
                self._add_turn(service, lane, _row(free, service))
            self.lanes.append(Lane(name, True, max(len(free), 1), f"busy {shares.get(name, '0 %')}"))

    def _add_turn(self, service: Service, lane: int, row: int) -> None:
        work = service.work
        label = _name_of(service.views[0]) if work is not None and service.views else _short(service.op)
        what = work.label if work is not None else op_name(service.op)
        if service.size:
            what += f", {service.size:,} bytes"
        if service.start > service.asked:
            what += f"; waited {service.start - service.asked:,} cycles for the {service.engine}"
        times = (service.start, service.freed, service.complete)
        bar = self._add((lane, row), TURN, times, (label, what), service, slot_of(service.views))
        if work is not None:
            self.of_work[work] = bar.number

    def _add_blocked(self) -> None:
        """Agents that wait for ever: to the end of the picture, and a bit further."""
        blocked = [agent for agent in self.machine.live if agent.waiting_for is not None]
        if not blocked:
            return
        until = self.end + max(self.end // 8, 20)
        for agent in blocked:
            op = agent.waiting_at or agent.current_op
            condition = agent.waiting_for
            if op is None or condition is None:
                continue
            times = (self.clock.time_of(agent), until, until)
            what = f"waits for ever: {condition.describe()}"
            by = (op, agent, agent.iteration)
            self._add((self.lane_of[agent], 0), BLOCKED, times, (condition.subject, what), by, coloured=False)
        self.end = until

    # Edges ----------------------------------------------------------------------------------------------------------

    def _edge(self, source: int, target: int, kind: str, start: int | None = None, end: int | None = None) -> None:
        first, second = self.bars[source], self.bars[target]
        start = first.end if start is None else start
        self.edges[Edge(source, target, kind, start, second.start if end is None else end)] = None

    def _connect_works(self) -> None:
        """An issue with its work, and a work with the first wait of each agent that saw it complete."""
        for span, number in self.of_span.items():
            work = span.about
            if isinstance(work, AsyncWork) and work in self.of_work:
                self._edge(number, self.of_work[work], ISSUES, start=span.start)
        waits = _Waits(self.machine.trace.happenings)
        for work, number in self.of_work.items():
            for agent, moment in work.observers.items():
                wait = waits.that_saw(work, agent, moment, self.bars[number].end)
                target = self._bar_of(wait) if wait is not None else None
                if target is not None:
                    self._edge(number, target, COMPLETES)

    def _connect_agents(self) -> None:
        """Arrivals with the waits of others for their phase, forks with their agents, ends with their joins."""
        arrivals: dict[tuple[int, int], list[tuple[int, int]]] = {}
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for span, number in self.of_span.items():
            first.setdefault(span.agent.number, number)
            last[span.agent.number] = number
        for step in self.machine.trace.happenings:
            bar = self._bar_of(step)
            if bar is None:
                continue
            if step.kind == "arrive":
                arrivals.setdefault((id(step.on), step.turn), []).append((step.agent, bar))
            elif step.kind == "fork" and isinstance(step.on, Agent) and step.on.number in first:
                child = first[step.on.number]
                self._edge(bar, child, FORKS, self.bars[bar].start)
            elif step.kind == "wait" and isinstance(step.on, EndOfAgents):
                for agent in step.on.agents:
                    if agent.number in last:
                        self._edge(last[agent.number], bar, FORKS)
            elif step.kind == "wait":
                for agent, source in arrivals.get((id(step.on), step.turn), ()):
                    if agent != step.agent:
                        self._edge(source, bar, ARRIVES, self.bars[source].start)

    def _bar_of(self, step: Happening) -> int | None:
        if step.time is None:
            return None
        if step.kind == "complete" and isinstance(step.on, AsyncWork):
            return self.of_work.get(step.on)
        return self.at.get((step.agent, step.time, step.text))

    # Violations -----------------------------------------------------------------------------------------------------

    def _mark(self, number: int, violation: Violation) -> Mark:
        bars: list[int] = []
        for party in violation.parties:
            # A work and its issue have the same op, agent and iteration: both belong to the violation.
            bars += self.of_op.get((id(party.op), party.agent, party.iteration), [])
        for bar in bars:
            self.bars[bar].marks.append(number)
        steps: list[tuple[str, str, int | None]] = []
        witness = witness_of(violation)
        for label, step in witness.numbered() if witness is not None else ():
            bar = self._step_bar(step, violation) if isinstance(step, Happening) else None
            text = f"{step.who}: {step.does}" if isinstance(step, Happening) else str(step)
            steps.append((label, text, bar))
            if bar is not None and number == 0 and label.rstrip(".").isdigit():
                self.bars[bar].witness.append(int(label.rstrip(".")))
        parties = tuple(map(str, violation.parties))
        kind = str(violation.kind)
        return Mark(kind, violation.message, violation.missing, parties, tuple(dict.fromkeys(bars)), tuple(steps))

    def _step_bar(self, step: Happening, violation: Violation) -> int | None:
        if step.kind != "access":
            return self._bar_of(step)
        found = self.of_op.get((id(step.op), step.agent_name, step.iteration), [])
        turns = [bar for bar in found if self.bars[bar].kind == TURN]
        return next(iter(turns or found), None)


def _row(free: list[int], service: Service) -> int:
    """The first row that is free at the start of `service`, which then takes it until it is complete."""
    for row, until in enumerate(free):
        if until <= service.start:
            free[row] = service.complete
            return row
    if len(free) < MOST_ROWS:
        free.append(service.complete)
        return len(free) - 1
    row = min(range(len(free)), key=free.__getitem__)
    free[row] = service.complete
    return row


def _percent(part: int, whole: int) -> str:
    return f"{round(100 * part / whole) if whole else 0} %"


class _Waits:
    """The waits of each agent, by the moment of the agent from which on it knows what they tell."""

    def __init__(self, happenings: Sequence[Happening]) -> None:
        self.by_moment: dict[tuple[int, int], list[Happening]] = {}
        for step in happenings:
            if step.kind == "wait":
                self.by_moment.setdefault((step.agent, step.moment), []).append(step)

    def that_saw(self, work: AsyncWork, agent: int, moment: int, complete: int) -> Happening | None:
        """The wait by which `agent`, at its moment `moment`, came to know that `work` was complete."""
        steps = [s for s in self.by_moment.get((agent, moment), []) if s.time is not None and s.time >= complete]
        return next((step for step in steps if _tells_of(step, work)), next(iter(steps), None))


def _tells_of(step: Happening, work: AsyncWork) -> bool:
    """Whether the wait was for a completion that `work` itself signals."""
    if isinstance(step.on, Event):
        return work in step.on.knowledge.works
    if any(step.on is barrier for barrier, _ in work.phases):
        return any(step.on is barrier and step.turn == phase for barrier, phase in work.phases)
    return any(step.on is channel for channel in work.channels)
