"""The judge of schedules looks at what is kept: copies of rings, bytes, values on their way, registers."""

from __future__ import annotations

from collections.abc import Iterator

from tileas_xdsl.scheduling.exact.problem import RegisterValue
from tileas_xdsl.scheduling.exact.schedule import Transfer
from tileas_xdsl.scheduling.exact.unrolled import Breach, RowSpan, Unrolled, peak_of, register_shares


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
