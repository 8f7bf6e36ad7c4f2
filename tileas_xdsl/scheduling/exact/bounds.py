"""
Lower bounds of the initiation interval (II). Each has a witness, which says why no schedule is faster.

- A slot of capacity `c` gives `c * II` rows to an iteration (ResMII).
- A footprint longer than II on a slot of capacity 1 would meet that of the next iteration.
- Around a cycle of dependences, `II * distance` must cover the latency (RecMII).

Rau, "Iterative Modulo Scheduling" (MICRO 1994), has the first and the last.

The horizon says how many stages a search must allow, and up to which initiation interval it goes.

*Stages.* "Infeasible" has to mean: with any number of stages. Take a schedule and the stages in which something starts.
If two neighbours of them are further apart than every distance and every latency reaches, then nothing above the gap
is bound to what is below: no edge leads back across the gap, since its distance would bound it. So all above can move
one stage down. That breaks no edge, keeps every row (hence slots, issue order and registers at each row), and no
lifetime becomes longer. Hence a schedule exists in which no gap is wider, and it has at most
`1 + (points - 1) * widest gap` stages, and one more where the row of one op is given.

*Intervals.* In the serial interval one iteration runs at a time. What does not fit there fits nowhere for the reasons
that are met in practice (two values that never fit the registers together); results say "up to the serial II".

A schedule at one interval is one at every larger interval, where nothing asks that something come soon enough.

Give each stage `longer - ii` more rows, at its end, in which nothing starts: every op keeps its stage and its row. Then

- what came late enough still does: of two ops whose distance in time is not negative, the later one is in the same
  stage or in a later one, and time between stages only grows;
- a row that there was holds no more than before: what reaches into a later stage reaches no further into it;
- a row that is new holds no more than the last one that there was: what lies there lay there, too.

This is so for slots of any capacity, and for registers. It fails where a latency is negative, so that one op must
follow another one soon enough, where an iteration must end in time, and where an issue may be ahead of its execution by
so many cycles only. (Hence two ops exactly 3 cycles apart on one unit fit intervals of 2 and 4 and not of 3.) An engine
that serves in order goes on to do so where each of its ops is ready so many cycles after one other op, the same for
all: two ops stay in their order.

So where schedules stretch, the refutation of one interval refutes every smaller one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tileas_xdsl.scheduling.cycles import TimedEdge, largest_ratio
from tileas_xdsl.scheduling.exact.problem import Dependence, ExactProblem, SlotLimit
from tileas_xdsl.scheduling.exact.schedule import Schedule


def schedules_stretch(problem: ExactProblem) -> bool:
    """Whether each schedule of the problem is one at every larger interval."""
    machine = problem.machine
    is_free = machine.queue == 0 and machine.ceiling is None and not problem.serial
    is_alone = problem.agents == 1 and all(it.latency >= 0 for it in problem.dependences)
    return is_free and is_alone and all(_stays_in_order(problem, queue) for queue in problem.queues)


def _stays_in_order(problem: ExactProblem, queue: tuple[str, ...]) -> bool:
    found = [problem.arrivals[name] for name in queue]
    return all(len(each) == 1 for each in found) and len({(it.latency, it.distance) for (it,) in found}) == 1


def stretched(schedule: Schedule, longer: int) -> Schedule:
    """A schedule of one agent at a larger interval."""
    (origin,) = schedule.origins
    places = [divmod(start - origin, schedule.ii) for start in schedule.starts]
    starts = tuple(origin + longer * stage + row for stage, row in places)
    return replace(schedule, ii=longer, starts=starts, issues=starts)


@dataclass(frozen=True)
class SlotWitness:
    """The ops that fill a slot, each with the rows times the amount that it takes."""

    slot: SlotLimit
    demands: tuple[tuple[str, int], ...]

    @property
    def bound(self) -> int:
        return -(-sum(rows for _, rows in self.demands) // self.slot.capacity)

    def __str__(self) -> str:
        ops = ", ".join(f"{name} {rows}" for name, rows in self.demands)
        of = "" if self.slot.capacity == 1 else f" of {self.slot.capacity} a cycle"
        return f"{self.slot}: {ops}{of}"


@dataclass(frozen=True)
class FootprintWitness:
    """An op that holds a slot of capacity 1 for so long."""

    slot: SlotLimit
    op: str
    rows: int

    @property
    def bound(self) -> int:
        return self.rows

    def __str__(self) -> str:
        return f"{self.slot}: {self.op} holds it for {self.rows}"


@dataclass(frozen=True)
class CycleWitness:
    """A cycle of dependences that is carried from iteration to iteration."""

    ops: tuple[str, ...]
    latency: int
    distance: int

    @property
    def bound(self) -> int:
        return -(-self.latency // self.distance)

    def __str__(self) -> str:
        over = "an iteration" if self.distance == 1 else f"{self.distance} iterations"
        return f"cycle {' -> '.join([*self.ops, self.ops[0]])}: {self.latency} in {over}"


Witness = SlotWitness | FootprintWitness | CycleWitness


@dataclass(frozen=True)
class ProvenBounds:
    """The lower bounds of a problem. A bound without a witness is 1."""

    slots: tuple[SlotWitness, ...]
    """One for each slot that is used, the tightest first; of equal ones the first in the machine."""
    footprint: FootprintWitness | None
    cycle: CycleWitness | None

    @property
    def res_mii(self) -> int:
        return max((witness.bound for witness in self.slots), default=1)

    @property
    def rec_mii(self) -> int:
        return 1 if self.cycle is None else max(1, self.cycle.bound)

    @property
    def mii(self) -> int:
        """The least initiation interval that no witness forbids."""
        return max((witness.bound for witness in self.witnesses), default=1)

    @property
    def witnesses(self) -> tuple[Witness, ...]:
        return tuple(self._witnesses())

    @property
    def binding(self) -> tuple[Witness, ...]:
        """All that forbid `mii - 1`; none where `mii` is 1, which needs no witness."""
        mii = self.mii
        return tuple(witness for witness in self.witnesses if witness.bound == mii > 1)

    def _witnesses(self) -> Iterator[Witness]:
        yield from self.slots
        if self.footprint is not None:
            yield self.footprint
        if self.cycle is not None:
            yield self.cycle


def bounds_of(problem: ExactProblem) -> ProvenBounds:
    """The bounds of a checked problem whose slots are large enough for each op on its own."""
    slots = sorted(_slot_witnesses(problem), key=lambda witness: -witness.bound)
    return ProvenBounds(tuple(slots), _longest_footprint(problem), _worst_recurrence(problem))


def _slot_witnesses(problem: ExactProblem) -> Iterator[SlotWitness]:
    for slot in problem.machine.slots:
        rows = [(op.name, sum(it.rows * it.amount for it in op.uses if it.slot == slot.name)) for op in problem.ops]
        demands = tuple((name, demand) for name, demand in rows if demand)
        if demands and slot.capacity:
            yield SlotWitness(slot, demands)


def _longest_footprint(problem: ExactProblem) -> FootprintWitness | None:
    """The first of the longest: by `max`."""
    alone = [
        FootprintWitness(slot, op.name, use.rows)
        for op in problem.ops
        for use in op.uses
        if (slot := problem.slot(use.slot)).capacity == 1
    ]
    return max(alone, key=lambda witness: witness.rows, default=None)


def _worst_recurrence(problem: ExactProblem) -> CycleWitness | None:
    cycle = largest_ratio(len(problem.ops), [edge_of(problem, dependence) for dependence in problem.dependences])
    if cycle is None:
        return None
    names = tuple(problem.ops[edge.source].name for edge in cycle)
    return CycleWitness(names, sum(edge.latency for edge in cycle), sum(edge.distance for edge in cycle))


def edge_of(problem: ExactProblem, dependence: Dependence) -> TimedEdge:
    """The difference constraint of a dependence whose ends share an agent; nodes are places in program order."""
    source, sink = problem.positions[dependence.source], problem.positions[dependence.sink]
    return TimedEdge(source, sink, dependence.latency, dependence.distance)


def stages_needed(problem: ExactProblem, ii: int, agents: int) -> int:
    """So many stages are as good as any number of them."""
    furthest = max((abs(cycles) for cycles in _spans(problem, agents)), default=0)
    widest_gap = -(-furthest // ii) + 2 + max(_distances(problem), default=0)
    return 2 + (_points(problem, agents) - 1) * widest_gap


def serial_ii(problem: ExactProblem, agents: int) -> int:
    """An initiation interval in which an iteration can run from its first op to its last, signals included."""
    longest = {op.name: max([op.latency, op.issue, *(use.rows for use in op.uses)]) for op in problem.ops}
    for it in problem.dependences:
        longest[it.source] = max(longest[it.source], it.latency)
    for reads in (*(ring.readers for ring in problem.rings), *(value.uses for value in problem.values)):
        for read in reads:
            longest[read.op] = max(longest[read.op], read.hold)
    signals = sum(_signals(problem)) if agents > 1 else 0
    moves = sum(value.move.cycles for value in problem.values if value.move is not None) * agents if agents > 1 else 0
    return max(1, sum(longest.values()) + signals + moves)


def _points(problem: ExactProblem, agents: int) -> int:
    """All that has a time: executions, issues apart from them, and the two sides of moves."""
    ops = len(problem.ops)
    queued = sum(op.asynchronous for op in problem.ops) if problem.machine.queue else 0
    moved = sum(value.move is not None for value in problem.values) * (1 + agents) if agents > 1 else 0
    return ops + queued + moved


def _spans(problem: ExactProblem, agents: int) -> Iterator[int]:
    """Cycles that a constraint between two points spans, with the signal and the move that it may need."""
    signal = max(_signals(problem), default=0) if agents > 1 else 0
    move = max((value.move.cycles for value in problem.values if value.move is not None), default=0)
    yield problem.machine.queue
    yield from (abs(it.latency) + signal for it in problem.dependences)
    yield from (op.latency + move + signal for op in problem.ops)
    for reads in (*(ring.readers for ring in problem.rings), *(value.uses for value in problem.values)):
        yield from (read.hold + move + signal for read in reads)


def _distances(problem: ExactProblem) -> Iterator[int]:
    yield from (it.distance for it in problem.dependences)
    for reads in (*(ring.readers for ring in problem.rings), *(value.uses for value in problem.values)):
        yield from (read.distance for read in reads)


def _signals(problem: ExactProblem) -> Iterator[int]:
    yield from (problem.handshake(it.handshake) for it in problem.dependences)
    yield from (problem.handshake(ring.handshake) for ring in problem.rings for _ in ring.readers)
    yield from (problem.handshake(it.move.handshake) for it in problem.values if it.move is not None)
