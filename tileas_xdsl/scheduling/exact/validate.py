"""
An independent judge of schedules: it runs iterations and looks at every cycle.

It shares nothing with the formulation for the solver but the records. What is wrong is named by the kind of constraint
and told in numbers; a schedule without findings is right.

It looks at what is kept: copies of rings, bytes, values on their way, registers. It looks at how the loop is shared:
stages, who runs what, warps, barriers. And it looks at when things happen: dependences, queues, units, agents.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileas_xdsl.scheduling.exact.problem import NAMED, ComputeAgents, ExactProblem, RegisterValue, Together
from tileas_xdsl.scheduling.exact.schedule import Schedule, Transfer
from tileas_xdsl.scheduling.exact.unrolled import Breach, RowSpan, Unrolled, peak_of, register_shares


class TimingFindings(Unrolled):
    """What comes too early, and what is asked for more than there is of it."""

    def findings(self) -> Iterator[Breach]:
        yield from self.wrong_dependences()
        yield from self.wrong_queues()
        yield from self.wrong_service()
        yield from self.full_slots()
        yield from self.busy_agents()

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

    def wrong_service(self) -> Iterator[Breach]:
        for queue in self.problem.queues:
            for one in queue:
                for other in queue:
                    yield from self.unfair(one, other)

    def unfair(self, one: str, other: str) -> Iterator[Breach]:
        for mine in self.iterations:
            for its in self.iterations:
                if self.ready(one, mine) < self.ready(other, its) and self.start(one, mine) > self.start(other, its):
                    text = f"{one} of iteration {mine} is ready before {other} of iteration {its} and starts after it"
                    yield Breach("queue", text)
                    return

    def ready(self, op: str, iteration: int) -> int:
        """When all that an op depends on lets it start."""
        return max(
            self.start(it.source, iteration - it.distance) + it.latency
            for it in self.problem.dependences
            if it.sink == op != it.source
        )

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
            peak = peak_of(spans)
            if peak.amount > slot.capacity:
                yield Breach(
                    "slot", f"{slot} is asked for {peak.amount} of {slot.capacity} at {peak.start}: {peak.who}"
                )

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


class PartitionFindings(Unrolled):
    """Stages and agents that no loop of the machine has."""

    def findings(self) -> Iterator[Breach]:
        yield from self.wrong_stages()
        yield from self.wrong_agents()

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
        if self.problem.machine.registers is not None and register_shares(self.problem, self.warps()) is None:
            yield Breach("warps", f"agents of {self.warps()} warps leave less than 24 registers a thread")


class MemoryFindings(Unrolled):
    """What lies where something else lies, or beside too much else."""

    def findings(self) -> Iterator[Breach]:
        yield from self.overwritten_rings()
        yield from self.full_spaces()
        yield from self.wrong_transfers()
        yield from self.full_registers()
        yield from self.full_pools()

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

    def full_registers(self) -> Iterator[Breach]:
        if self.problem.machine.registers is None:
            return
        budgets = register_shares(self.problem, self.warps())
        for agent in range(self.schedule.agent_count):
            kept = sum(it.words for it in self.problem.constants if self.agent(it.op) == agent)
            own = [value for value in self.problem.values if value.pool is None]
            spans = [span for value in own for span in self.lives(value, agent)]
            peak = peak_of(spans)
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

    def full_pools(self) -> Iterator[Breach]:
        for pool in self.problem.machine.pools:
            spans: list[RowSpan] = []
            for value in self.problem.values:
                if value.pool == pool.name:
                    begin = self.start(value.definition, 0)
                    end = max([begin, *(self.end_of(read, 0) for read in value.uses)])
                    shifts = (self.schedule.ii * iteration for iteration in self.iterations)
                    spans += [RowSpan(begin + shift, end + shift, value.words, value.name) for shift in shifts]
            peak = peak_of(spans)
            if pool.kept + peak.amount > pool.words:
                text = f"{pool.name} needs {pool.kept + peak.amount} of {pool.words} words at {peak.start}: {peak.who}"
                yield Breach("registers", text)


JUDGES = (TimingFindings, MemoryFindings, PartitionFindings)


def validate(problem: ExactProblem, schedule: Schedule) -> tuple[Breach, ...]:
    """What is wrong with the schedule; empty if it is right."""
    misfit = _misfit(problem, schedule)
    if misfit is not None:
        return (Breach("shape", misfit),)
    return tuple(finding for judge in JUDGES for finding in judge(problem, schedule).findings())


def _misfit(problem: ExactProblem, schedule: Schedule) -> str | None:
    """Whether the schedule is one of another problem."""
    lengths = {len(schedule.starts), len(schedule.issues), len(schedule.agents)}
    if lengths != {len(problem.ops)} or len(schedule.copies) != len(problem.rings):
        return "the schedule has not one entry for each op and each ring"
    if schedule.ii < 1 or set(schedule.agents) != set(range(len(schedule.origins))):
        return "the interval is not positive, or the agents are not numbered from 0 without gaps"
    return None
