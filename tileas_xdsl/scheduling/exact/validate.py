"""
An independent judge of schedules: it runs iterations and looks at every cycle.

It shares nothing with the formulation for the solver but the records. What is wrong is named by the kind of constraint
and told in numbers; a schedule without findings is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tileas_xdsl.scheduling.exact.problem import (
    NAMED,
    ComputeAgents,
    ExactProblem,
    OpSpec,
    RegisterValue,
    RingRead,
    Together,
)
from tileas_xdsl.scheduling.exact.schedule import Schedule, Transfer


@dataclass(frozen=True)
class Breach:
    """One thing that is wrong with a schedule."""

    kind: str
    """Such as `slot` or `ring`."""
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass(frozen=True)
class RowSpan:
    """What is held from one cycle until before another one, and how much of it."""

    start: int
    end: int
    amount: int
    who: str


def validate(problem: ExactProblem, schedule: Schedule) -> tuple[Breach, ...]:
    """What is wrong with the schedule; empty if it is right."""
    misfit = _misfit(problem, schedule)
    if misfit is not None:
        return (Breach("shape", misfit),)
    return tuple(_Unrolled(problem, schedule).findings())


def _misfit(problem: ExactProblem, schedule: Schedule) -> str | None:
    """Whether the schedule is one of another problem."""
    lengths = {len(schedule.starts), len(schedule.issues), len(schedule.agents)}
    if lengths != {len(problem.ops)} or len(schedule.copies) != len(problem.rings):
        return "the schedule has not one entry for each op and each ring"
    if schedule.ii < 1 or set(schedule.agents) != set(range(len(schedule.origins))):
        return "the interval is not positive, or the agents are not numbered from 0 without gaps"
    return None


class _Unrolled:
    """So many iterations of a schedule that each constraint between any two of them is met."""

    def __init__(self, problem: ExactProblem, schedule: Schedule) -> None:
        self.problem, self.schedule = problem, schedule
        self.place = {op.name: number for number, op in enumerate(problem.ops)}
        transfers = [time for it in schedule.transfers for time in (it.write, *(read for _, read in it.reads))]
        times = [*schedule.starts, *schedule.issues, *transfers]
        reads = [read for it in problem.rings for read in it.readers] + [it for v in problem.values for it in v.uses]
        far = max([*(it.distance for it in problem.dependences), *(read.distance for read in reads), 0])
        long = max([*(use.rows for op in problem.ops for use in op.uses), *(read.hold for read in reads), 0])
        ahead = max([*schedule.copies, *(it.copies for it in schedule.transfers), 0])
        self.iterations = range((max(times) - min(times) + long) // schedule.ii + far + ahead + 3)

    # Times ------------------------------------------------------------------------------------------------------------

    def start(self, op: str, iteration: int) -> int:
        return self.schedule.starts[self.place[op]] + self.schedule.ii * iteration

    def issue(self, op: str, iteration: int) -> int:
        return self.schedule.issues[self.place[op]] + self.schedule.ii * iteration

    def agent(self, op: str) -> int:
        return self.schedule.agents[self.place[op]]

    def signal(self, kind: str, one: str, other: str) -> int:
        """Cycles of a signal between two ops, none on one agent."""
        if self.agent(one) == self.agent(other):
            return 0
        return next(it.cycles for it in self.problem.machine.handshakes if it.kind == kind)

    def spec(self, op: str) -> OpSpec:
        return self.problem.ops[self.place[op]]

    # All findings -----------------------------------------------------------------------------------------------------

    def findings(self) -> Iterator[Breach]:
        yield from self.wrong_dependences()
        yield from self.wrong_queues()
        yield from self.full_slots()
        yield from self.busy_agents()
        yield from self.overwritten_rings()
        yield from self.full_spaces()
        yield from self.wrong_transfers()
        yield from self.full_registers()
        yield from self.full_pools()
        yield from self.wrong_stages()
        yield from self.wrong_agents()

    def wrong_dependences(self) -> Iterator[Breach]:
        for it in self.problem.dependences:
            for iteration in self.iterations:
                ready = self.start(it.source, iteration) + it.latency + self.signal(it.handshake, it.source, it.sink)
                later = iteration + it.distance
                needed = [self.start(it.sink, later)]
                if not self.same_unit(it.source, it.sink):
                    needed.append(self.issue(it.sink, later))
                if min(needed) < ready:
                    text = f"{it.sink} of iteration {later} starts at {min(needed)}, {it.source} is ready at {ready}"
                    yield Breach("dependence", text)
                    break

    def same_unit(self, one: str, other: str) -> bool:
        """Whether a unit executes both in the order in which one agent issues them."""
        first, second = self.spec(one), self.spec(other)
        common = any(mine.slot == its.slot for mine in first.uses for its in second.uses)
        both = first.asynchronous and second.asynchronous
        return both and common and self.agent(one) == self.agent(other)

    def wrong_queues(self) -> Iterator[Breach]:
        for op in self.problem.ops:
            waits = self.start(op.name, 0) - self.issue(op.name, 0)
            most = self.problem.machine.queue if op.asynchronous else 0
            if not 0 <= waits <= most:
                yield Breach("queue", f"{op.name} waits {waits} cycles after its issue, where 0 to {most} are possible")
        for one in self.problem.ops:
            for other in self.problem.ops:
                if one.name != other.name and self.same_unit(one.name, other.name):
                    yield from self.overtaking(one.name, other.name)

    def overtaking(self, one: str, other: str) -> Iterator[Breach]:
        for mine in self.iterations:
            for its in self.iterations:
                first = self.issue(one, mine) < self.issue(other, its)
                if first and self.start(one, mine) > self.start(other, its):
                    text = (
                        f"{one} of iteration {mine} is issued before {other} of iteration {its} and executes after it"
                    )
                    yield Breach("queue", text)
                    return

    def full_slots(self) -> Iterator[Breach]:
        for slot in self.problem.machine.slots:
            spans = [
                RowSpan(at, at + use.rows, use.amount, op.name)
                for op in self.problem.ops
                for use in op.uses
                if use.slot == slot.name
                for iteration in self.iterations
                for at in [self.start(op.name, iteration)]
            ]
            peak = _peak(spans)
            if peak.amount > slot.capacity:
                yield Breach(
                    "slot", f"{slot} is asked for {peak.amount} of {slot.capacity} at {peak.start}: {peak.who}"
                )

    # Agents -----------------------------------------------------------------------------------------------------------

    def busy_agents(self) -> Iterator[Breach]:
        for agent in range(self.schedule.agent_count):
            busy = sorted(self.activities(agent), key=lambda span: (span.start, span.end))
            latest = RowSpan(-1, -1, 0, "")
            for span in busy:
                if span.start < latest.end:
                    until = f"agent {agent} is kept by {latest.who} until {latest.end}"
                    yield Breach("issue", f"{until} and starts {span.who} at {span.start}")
                    break
                latest = max(latest, span, key=lambda it: it.end)

    def activities(self, agent: int) -> Iterator[RowSpan]:
        for iteration in self.iterations:
            for op in self.problem.ops:
                if self.agent(op.name) == agent:
                    at = self.issue(op.name, iteration)
                    yield RowSpan(at, at + op.issue, 1, op.name)
            for it in self.schedule.transfers:
                cycles, shift = self.cycles_of(it), self.schedule.ii * iteration
                if it.sender == agent:
                    yield RowSpan(it.write + shift, it.write + shift + cycles, 1, f"writing {it.value}")
                for reader, read in it.reads:
                    if reader == agent:
                        yield RowSpan(read + shift, read + shift + cycles, 1, f"reading {it.value}")

    def cycles_of(self, transfer: Transfer) -> int:
        move = self.value(transfer.value).move
        return 0 if move is None else move.cycles

    def value(self, name: str) -> RegisterValue:
        return next(it for it in self.problem.values if it.name == name)

    # Memory -----------------------------------------------------------------------------------------------------------

    def overwritten_rings(self) -> Iterator[Breach]:
        for ring, copies in zip(self.problem.rings, self.schedule.copies, strict=True):
            most = copies if ring.max_copies is None else ring.max_copies
            if not ring.min_copies <= copies <= most:
                yield Breach("ring", f"{ring.name} has {copies} copies, outside of {ring.min_copies} to {most}")
            for read in ring.readers:
                free = self.end_of(read, 0) + self.signal(ring.handshake, ring.writer, read.op)
                again = self.issue(ring.writer, copies)
                if again < free:
                    text = (
                        f"{ring.name} with {copies} copies is written again at {again}; {read.op} needs it until {free}"
                    )
                    yield Breach("ring", text)
                if self.start(read.op, read.distance) < self.start(ring.writer, 0):
                    yield Breach("ring", f"{read.op} reads {ring.name} before {ring.writer} writes it")

    def end_of(self, read: RingRead, iteration: int) -> int:
        """When the reader of what an iteration wrote is done with it."""
        return self.start(read.op, iteration + read.distance) + read.hold

    def full_spaces(self) -> Iterator[Breach]:
        for space in self.problem.machine.spaces:
            rings = zip(self.problem.rings, self.schedule.copies, strict=True)
            taken = space.static + sum(ring.bytes * copies for ring, copies in rings if ring.space == space.name)
            for it in self.schedule.transfers:
                move = self.value(it.value).move
                if move is not None and move.space == space.name:
                    taken += move.bytes * it.copies
            if taken > space.bytes:
                yield Breach("bytes", f"{space.name} memory holds {taken} of {space.bytes} bytes")

    # Register values --------------------------------------------------------------------------------------------------

    def wrong_transfers(self) -> Iterator[Breach]:
        there = {it.value: it for it in self.schedule.transfers}
        for value in self.problem.values:
            home = self.agent(value.definition)
            abroad = {self.agent(read.op) for read in value.uses} - {home}
            for read in value.uses:
                if self.start(read.op, read.distance) < self.start(value.definition, 0):
                    yield Breach("dependence", f"{read.op} uses {value.name} before {value.definition} starts")
            transfer = there.pop(value.name, None)
            if abroad and value.move is None:
                yield Breach("agents", f"{value.name} is used by agents {sorted(abroad)} and cannot leave agent {home}")
            elif (abroad or transfer) and (
                transfer is None or transfer.sender != home or {agent for agent, _ in transfer.reads} != abroad
            ):
                yield Breach("transfer", f"{value.name} goes from agent {home} to {sorted(abroad)}: not as recorded")
            elif transfer is not None:
                yield from self.wrong_times_of(transfer, value)
        yield from (Breach("transfer", f"{name} is moved and is no value of the problem") for name in there)

    def wrong_times_of(self, transfer: Transfer, value: RegisterValue) -> Iterator[Breach]:
        assert value.move is not None
        signal = next(it.cycles for it in self.problem.machine.handshakes if it.kind == value.move.handshake)
        ready = self.start(value.definition, 0) + self.spec(value.definition).latency
        written = transfer.write + value.move.cycles + signal
        again = transfer.write + self.schedule.ii * transfer.copies
        if transfer.write < ready:
            yield Breach("transfer", f"{value.name} is written at {transfer.write} and there at {ready}")
        for agent, read in transfer.reads:
            done = read + value.move.cycles
            if read < written:
                yield Breach("transfer", f"agent {agent} reads {value.name} at {read}; it is written at {written}")
            if again < done + signal:
                yield Breach("transfer", f"{value.name} is written again at {again}, and read until {done + signal}")
            for use in value.uses:
                if self.agent(use.op) == agent and self.issue(use.op, use.distance) < done:
                    yield Breach("transfer", f"{use.op} uses {value.name} before agent {agent} has read it at {done}")

    def full_pools(self) -> Iterator[Breach]:
        for pool in self.problem.machine.pools:
            spans: list[RowSpan] = []
            for value in self.problem.values:
                if value.pool == pool.name:
                    begin = self.start(value.definition, 0)
                    end = max([begin, *(self.end_of(read, 0) for read in value.uses)])
                    shifts = (self.schedule.ii * iteration for iteration in self.iterations)
                    spans += [RowSpan(begin + shift, end + shift, value.words, value.name) for shift in shifts]
            peak = _peak(spans)
            if pool.kept + peak.amount > pool.words:
                text = f"{pool.name} needs {pool.kept + peak.amount} of {pool.words} words at {peak.start}: {peak.who}"
                yield Breach("registers", text)

    def full_registers(self) -> Iterator[Breach]:
        if self.problem.machine.registers is None:
            return
        budgets = _budgets(self.problem, self.warps())
        for agent in range(self.schedule.agent_count):
            kept = sum(it.words for it in self.problem.constants if self.agent(it.op) == agent)
            own = [value for value in self.problem.values if value.pool is None]
            spans = [span for value in own for span in self.lives(value, agent)]
            peak = _peak(spans)
            if budgets is not None and kept + peak.amount > budgets[agent]:
                text = f"agent {agent} needs {kept + peak.amount} of {budgets[agent]} words at {peak.start}: {peak.who}"
                yield Breach("registers", text)

    def lives(self, value: RegisterValue, agent: int) -> Iterator[RowSpan]:
        """Where the value of each iteration lies in registers of the agent."""
        transfer = next((it for it in self.schedule.transfers if it.value == value.name), None)
        ends = [self.end_of(read, 0) for read in value.uses if self.agent(read.op) == agent]
        if self.agent(value.definition) == agent:
            begin = self.taken(value.definition)
            ends += [begin] if transfer is None else [transfer.write + self.cycles_of(transfer)]
        elif ends and transfer is not None:
            begin = next((read for reader, read in transfer.reads if reader == agent), 0)
            ends.append(begin + self.cycles_of(transfer))
        else:
            return
        for iteration in self.iterations:
            shift = self.schedule.ii * iteration
            yield RowSpan(begin + shift, max(ends) + shift, value.words, value.name)

    def taken(self, op: str) -> int:
        """When the result of an op of iteration 0 gets its registers."""
        file = self.problem.machine.registers
        return self.issue(op, 0) if file is not None and file.taken_at_issue else self.start(op, 0)

    # Stages -----------------------------------------------------------------------------------------------------------

    def wrong_stages(self) -> Iterator[Breach]:
        stages = self.schedule.local_stages
        groups: dict[tuple[str, int], set[int]] = {}
        for op, stage, agent in zip(self.problem.ops, stages, self.schedule.agents, strict=True):
            if op.max_stage is not None and stage > op.max_stage:
                yield Breach("stage", f"{op.name} is in stage {stage}; the last one for it is {op.max_stage}")
            if op.group is not None:
                groups.setdefault((op.group, agent), set()).add(stage)
        for (group, _), found in groups.items():
            if len(found) > 1:
                yield Breach("stage", f"the ops of group {group} are in the stages {sorted(found)}")
        first = min(self.schedule.starts)
        length = max(self.start(op.name, 0) + op.latency for op in self.problem.ops) - first
        ceiling = self.problem.machine.ceiling
        if ceiling is not None and length > ceiling:
            yield Breach("stage", f"an iteration takes {length} cycles; the machine allows {ceiling}")
        if self.problem.serial and length > self.schedule.ii:
            yield Breach(
                "stage", f"an iteration takes {length} cycles, and the next one begins after {self.schedule.ii}"
            )
        for op, issue, agent in zip(self.problem.ops, self.schedule.issues, self.schedule.agents, strict=True):
            if issue < self.schedule.origins[agent]:
                yield Breach("stage", f"{op.name} is issued before the loop of agent {agent} begins")

    # The partition ----------------------------------------------------------------------------------------------------

    def wrong_agents(self) -> Iterator[Breach]:
        count = self.schedule.agent_count
        if count > self.problem.agents:
            yield Breach("agents", f"there are {count} agents where {self.problem.agents} are allowed")
        if self.problem.agents > 1 and count > 1:
            yield from self.wrong_producer()
        for rule in self.problem.rules:
            yield from self.broken(rule)
        signals = sum(self.named_signals())
        if signals > self.problem.machine.named_barriers:
            yield Breach("barriers", f"{signals} named barriers of {self.problem.machine.named_barriers}")
        yield from self.too_many_warps()

    def wrong_producer(self) -> Iterator[Breach]:
        varying = {op.name for op in self.problem.ops if op.varying_latency}
        first = {op.name for op in self.problem.ops if self.agent(op.name) == 0}
        if varying and varying != first:
            yield Breach("agents", f"agent 0 runs {sorted(first)}; the ops of varying latency are {sorted(varying)}")

    def broken(self, rule: Together | ComputeAgents) -> Iterator[Breach]:
        if isinstance(rule, Together):
            if len({self.agent(op) for op in rule.ops}) > 1:
                yield Breach("agents", f"rule '{rule.name}': {', '.join(rule.ops)} are on several agents")
            return
        producers = any(op.varying_latency for op in self.problem.ops) and self.schedule.agent_count > 1
        compute = self.schedule.agent_count - producers
        if self.problem.agents > 1 and compute > rule.count:
            yield Breach("agents", f"rule '{rule.name}': there are {compute} agents that compute")

    def named_signals(self) -> Iterator[bool]:
        for it in self.problem.dependences:
            yield it.handshake == NAMED and self.agent(it.source) != self.agent(it.sink)
        for ring in self.problem.rings:
            for read in ring.readers:
                yield ring.handshake == NAMED and self.agent(ring.writer) != self.agent(read.op)
        for it in self.schedule.transfers:
            move = self.value(it.value).move
            yield move is not None and move.handshake == NAMED

    def warps(self) -> list[int]:
        most = [
            max(op.min_warps for op in self.problem.ops if self.agent(op.name) == agent)
            for agent in range(self.schedule.agent_count)
        ]
        return [1 if warps == 1 else (warps + 3) // 4 * 4 for warps in most]

    def too_many_warps(self) -> Iterator[Breach]:
        end = 0
        for warps in self.warps():
            while end % warps:
                end += 1
            end += warps
        while end % 4:
            end += 1
        if end > self.problem.machine.warps:
            yield Breach("warps", f"the agents take {end} warps of {self.problem.machine.warps}")
        if self.problem.machine.registers is not None and _budgets(self.problem, self.warps()) is None:
            yield Breach("warps", f"agents of {self.warps()} warps leave less than 24 registers a thread")


def _peak(spans: Iterable[RowSpan]) -> RowSpan:
    """The first cycle at which most is held, with the amount and who holds it."""
    held = [span for span in spans if span.start < span.end]
    events = sorted([(span.end, -span.amount) for span in held] + [(span.start, span.amount) for span in held])
    now, best, when = 0, 0, 0
    for time, change in events:
        now += change
        if now > best:
            best, when = now, time
    who = sorted({span.who for span in held if span.start <= when < span.end})
    return RowSpan(when, when + 1, best, ", ".join(who))


def _budgets(problem: ExactProblem, warps: list[int]) -> list[int] | None:
    """Words for the values of each agent: the producer has its own share, the others divide the rest."""
    file = problem.machine.registers
    assert file is not None
    produces = problem.agents > 1 and len(warps) > 1 and any(op.varying_latency for op in problem.ops)
    rest, others = file.words, warps
    if produces:
        rest, others = rest - warps[0] * 32 * file.producer, warps[1:]
    each = min(256, rest // (32 * sum(others)) // 8 * 8)
    if rest < 0 or each < 24:
        return None
    compute = max(0, min(file.budget, each - file.reserve))
    return ([max(0, file.producer - file.reserve)] if produces else []) + [compute] * len(others)
