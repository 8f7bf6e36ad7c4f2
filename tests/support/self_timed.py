"""
How fast the order of a schedule runs by itself: each op as soon as data, memory, its agent and its units permit.

Only the orders are kept: of the acts of each agent, and of the ops on each unit of capacity 1. What must wait for what
is then a marked graph, whose period is the largest ratio of latency to iterations over its cycles (Commoner et al.,
"Marked Directed Graphs", 1971). It is never above the interval of a right schedule. Below `II - 1` it would be a
schedule of its own, so that a proof of II would be wrong, unless registers or stages bind, which this run ignores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from tileas_xdsl.scheduling.cycles import TimedEdge, largest_ratio, ratio_of
from tileas_xdsl.scheduling.exact.problem import ExactProblem
from tileas_xdsl.scheduling.exact.schedule import Act, Part, Schedule, acts_of


def self_timed_period(problem: ExactProblem, schedule: Schedule) -> Fraction:
    """Mean cycles an iteration takes, when many are run; 0 where nothing makes iterations wait for one another."""
    graph = _MarkedGraph(problem, schedule)
    nodes = 2 * len(problem.ops) + sum(1 + len(it.reads) for it in schedule.transfers)
    cycle = largest_ratio(nodes, list(graph.edges()))
    return Fraction(0) if cycle is None else ratio_of(cycle)


@dataclass(frozen=True)
class _MarkedGraph:
    """Nodes: the execution of each op, the issue of each op, and then the sides of each transfer."""

    problem: ExactProblem
    schedule: Schedule

    def execution(self, name: str) -> int:
        return self.problem.positions[name]

    def issue(self, name: str) -> int:
        return len(self.problem.ops) + self.problem.positions[name]

    def side(self, transfer: int, place: int) -> int:
        """Place 0 is the writing side, the others are the reads in their order."""
        before = sum(1 + len(it.reads) for it in self.schedule.transfers[:transfer])
        return 2 * len(self.problem.ops) + before + place

    def edges(self) -> Iterator[TimedEdge]:
        yield from self.starts()
        yield from self.dependences()
        yield from self.rings()
        yield from self.transfers()
        yield from self.agents()
        yield from self.units()

    def starts(self) -> Iterator[TimedEdge]:
        """Execution follows issue; without a queue, at once."""
        for op in self.problem.ops:
            yield TimedEdge(self.issue(op.name), self.execution(op.name), 0, 0)
            if not (op.asynchronous and self.problem.machine.queue):
                yield TimedEdge(self.execution(op.name), self.issue(op.name), 0, 0)

    def signal(self, kind: str, one: str, other: str) -> int:
        agents, places = self.schedule.agents, self.problem.positions
        return self.problem.handshake(kind) if agents[places[one]] != agents[places[other]] else 0

    def dependences(self) -> Iterator[TimedEdge]:
        for it in self.problem.dependences:
            latency = it.latency + self.signal(it.handshake, it.source, it.sink)
            yield TimedEdge(self.execution(it.source), self.execution(it.sink), latency, it.distance)

    def rings(self) -> Iterator[TimedEdge]:
        for ring, copies in zip(self.problem.rings, self.schedule.copies, strict=True):
            for read in ring.readers:
                held = read.hold + self.signal(ring.handshake, ring.writer, read.op)
                yield TimedEdge(self.execution(read.op), self.issue(ring.writer), held, copies - read.distance)

    def transfers(self) -> Iterator[TimedEdge]:
        for number, it in enumerate(self.schedule.transfers):
            value = next(value for value in self.problem.values if value.name == it.value)
            assert value.move is not None
            there = self.problem.op(value.definition).latency
            carried = value.move.cycles + self.problem.handshake(value.move.handshake)
            yield TimedEdge(self.execution(value.definition), self.side(number, 0), there, 0)
            for place, (agent, _) in enumerate(it.reads, 1):
                yield TimedEdge(self.side(number, 0), self.side(number, place), carried, 0)
                yield TimedEdge(self.side(number, place), self.side(number, 0), carried, it.copies)
                for use in value.uses:
                    if self.schedule.agents[self.problem.positions[use.op]] == agent:
                        yield TimedEdge(self.side(number, place), self.issue(use.op), value.move.cycles, use.distance)

    def agents(self) -> Iterator[TimedEdge]:
        """Each act after the one before it; the first one of a turn after the last one of the turn before."""
        for agent in range(self.schedule.agent_count):
            acts = acts_of(self.problem, self.schedule, agent)
            turns = [self.schedule.turn(agent, act.time) for act in acts]
            placed = list(zip(acts, turns, strict=True))
            for (act, turn), (after, its_turn) in pairwise(placed):
                yield TimedEdge(self.node(act, agent), self.node(after, agent), act.cycles, turn - its_turn)
            if placed:
                (last, turn), (first, its_turn) = placed[-1], placed[0]
                yield TimedEdge(self.node(last, agent), self.node(first, agent), last.cycles, turn - its_turn + 1)

    def node(self, act: Act, agent: int) -> int:
        if act.part is Part.OP:
            return len(self.problem.ops) + act.number
        readers = [reader for reader, _ in self.schedule.transfers[act.number].reads]
        return self.side(act.number, 0 if act.part is Part.WRITE else 1 + readers.index(agent))

    def units(self) -> Iterator[TimedEdge]:
        """Ops on a unit of capacity 1, in the order of their rows."""
        for slot in self.problem.machine.slots:
            if slot.capacity != 1:
                continue
            uses = [
                (op, use.rows) for op, spec in enumerate(self.problem.ops) for use in spec.uses if use.slot == slot.name
            ]
            uses.sort(key=lambda it: self.schedule.starts[it[0]] % self.schedule.ii)
            turns = [self.schedule.starts[op] // self.schedule.ii for op, _ in uses]
            for place, (op, rows) in enumerate(uses):
                after = (place + 1) % len(uses)
                wraps = after <= place
                yield TimedEdge(op, uses[after][0], rows, turns[place] - turns[after] + wraps)
