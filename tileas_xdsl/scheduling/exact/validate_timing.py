"""The judge of schedules looks at when things happen: dependences, queues, units, agents."""

from __future__ import annotations

from collections.abc import Iterator

from tileas_xdsl.scheduling.exact.unrolled import Breach, RowSpan, Unrolled, peak_of


class TimingFindings(Unrolled):
    """What comes too early, and what is asked for more than there is of it."""

    def findings(self) -> Iterator[Breach]:
        yield from self.wrong_dependences()
        yield from self.wrong_queues()
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
