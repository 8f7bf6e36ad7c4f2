"""The judge of schedules looks at how the loop is shared: stages, who runs what, warps, barriers."""

from __future__ import annotations

from collections.abc import Iterator

from tileas_xdsl.scheduling.exact.problem import NAMED, ComputeAgents, Together
from tileas_xdsl.scheduling.exact.unrolled import Breach, Unrolled, register_shares


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
