"""
Lower bounds of the initiation interval, each with what binds.

    ResMII    a slot or pool that serves all ops of an iteration needs so many cycles
    RecMII    a cycle of dependences: its latency, divided by the iterations that it spans
    FineMII   ops of which any two exclude each other, on whichever slots, start one after the other
    DepMII    an op that may start in the first S stages only, and at the earliest in some cycle

No schedule has a smaller II than any of them: the first two are Rau's (MICRO 1994). For the third: where two ops share
a slot that serves one, their footprints are disjoint for at least the shorter of the two there; so ops that exclude
each other in pairs take at least the sum of their shortest footprints. The fourth: a start below `S * II`.

FineMII is the weight of ops that exclude each other in pairs, DepMII follows from the stages in which an op may start;
so neither exceeds the true minimum. The published gate G2 refuses an op with a `max_depth` above 1 in the four
published arms; the ejection arm takes it for a number of stages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tileas_xdsl.scheduling.cycles import TimedEdge, worst_cycle
from tileas_xdsl.scheduling.modulo.distances import earliest_starts, topological_order
from tileas_xdsl.scheduling.modulo.problem import NO_LIMIT, ModuloProblem


@dataclass(frozen=True)
class Bound:
    """One lower bound. `reason` completes "II is at least ... because of"."""

    name: str
    value: int
    reason: str
    ops: tuple[int, ...] = ()


@dataclass(frozen=True)
class Bounds:
    """The four bounds of one problem."""

    res: Bound
    rec: Bound
    fine: Bound
    dep: Bound

    @property
    def all(self) -> tuple[Bound, ...]:
        return (self.res, self.rec, self.fine, self.dep)

    @property
    def mii(self) -> int:
        """The largest of them, and 1."""
        return max(1, *(bound.value for bound in self.all))

    @property
    def binding(self) -> Bound:
        """The bound that is the largest; the first of several."""
        return max(self.all, key=lambda bound: bound.value)


def bounds_of(problem: ModuloProblem) -> Bounds:
    """The bounds of `problem`. Raises `DependenceCycleError` where no II is feasible."""
    topological_order(problem)
    return Bounds(res_mii(problem), rec_mii(problem), fine_mii(problem), dep_mii(problem))


# Resources ------------------------------------------------------------------------------------------------------------


def res_mii(problem: ModuloProblem) -> Bound:
    """The slot or pool with the most to do in one iteration."""
    demand: dict[str, int] = {}
    users: dict[str, list[int]] = {}
    for number, op in enumerate(problem.ops):
        for use in op.uses:
            demand[use.slot] = demand.get(use.slot, 0) + use.rows * use.amount
            users.setdefault(use.slot, []).append(number)
    best = Bound("ResMII", 0, "no slot is used")
    for slot, total in demand.items():
        capacity = problem.capacity(slot)
        value = -(-total // capacity)
        if value > best.value:
            shares = ", ".join(_share(problem, op, slot) for op in users[slot])
            best = Bound("ResMII", value, f"slot {slot}{_of(capacity)}: {shares}", tuple(users[slot]))
    return best


def _of(capacity: int) -> str:
    return "" if capacity == 1 else f" (serves {capacity})"


def _share(problem: ModuloProblem, op: int, slot: str) -> str:
    rows = sum(use.rows * use.amount for use in problem.ops[op].uses if use.slot == slot)
    return f"{problem.ops[op].name} {rows}"


def fine_mii(problem: ModuloProblem) -> Bound:
    """The heaviest set of ops that exclude each other which a greedy search finds; any such set is a lower bound."""
    chosen: list[int] = []
    by_slot: dict[str, list[int]] = {}
    for number, op in enumerate(problem.ops):
        for use in op.uses:
            if use.rows:
                by_slot.setdefault(use.slot, []).append(number)
    best: tuple[int, list[int]] = (0, [])
    seeds = {min(ops, key=lambda op: (-problem.ops[op].rows, op)) for ops in by_slot.values()}
    for seed in sorted(seeds):
        chosen = [seed]
        neighbours = {op for use in problem.ops[seed].uses for op in by_slot.get(use.slot, ())} - {seed}
        for op in sorted(neighbours, key=lambda op: (-_shortest(problem, op), op)):
            if all(_exclude(problem, op, other) for other in chosen):
                chosen.append(op)
        total = sum(_shortest(problem, op) for op in chosen)
        if total > best[0]:
            best = (total, chosen)
    names = ", ".join(f"{problem.ops[op].name} {_shortest(problem, op)}" for op in best[1])
    return Bound("FineMII", best[0], f"ops that exclude each other: {names}", tuple(best[1]))


def _shortest(problem: ModuloProblem, op: int) -> int:
    return min((use.rows for use in problem.ops[op].uses if use.rows), default=0)


def _exclude(problem: ModuloProblem, first: int, second: int) -> bool:
    """Whether the two take more of some slot together than it has."""
    return any(
        mine.slot == theirs.slot
        and mine.rows
        and theirs.rows
        and mine.amount + theirs.amount > problem.capacity(mine.slot)
        for mine in problem.ops[first].uses
        for theirs in problem.ops[second].uses
    )


# Dependences ----------------------------------------------------------------------------------------------------------


def rec_mii(problem: ModuloProblem) -> Bound:
    """The cycle of dependences with the largest latency for each iteration that it spans."""
    value, cycle = 0, ()
    while (found := positive_cycle(problem, value)) is not None:
        latency = sum(edge.latency for edge in found)
        distance = sum(edge.distance for edge in found)
        value, cycle = -(-latency // distance), found
    if not cycle:
        return Bound("RecMII", 0, "no cycle of dependences")
    return Bound("RecMII", value, f"the cycle {described_cycle(problem, cycle)}", tuple(e.source for e in cycle))


def described_cycle(problem: ModuloProblem, cycle: Sequence[TimedEdge]) -> str:
    """`a -> b -> a: 20 cycles over 2 iterations`."""
    names = " -> ".join(problem.ops[edge.source].name for edge in (*cycle, cycle[0]))
    latency, distance = sum(edge.latency for edge in cycle), sum(edge.distance for edge in cycle)
    return f"{names}: {latency} cycles over {distance} iteration{'' if distance == 1 else 's'}"


def positive_cycle(problem: ModuloProblem, ii: int) -> tuple[TimedEdge, ...] | None:
    """
    A cycle whose latency is more than `ii` cycles for each iteration that it spans, or None. Cycles within one
    iteration have been refused before.
    """
    if all(edge.distance == 0 for edge in problem.edges):
        return None
    return worst_cycle(len(problem.ops), problem.edges, ii)


MOST_FOR_SLOTS = 128
"""Up to so many ops the earliest starts take slots into account; paths between all pairs are needed for it."""


def dep_mii(problem: ModuloProblem) -> Bound:
    """The op that starts too late for the stages in which it may start."""
    best = Bound("DepMII", 0, "no op is limited to some stages")
    limits = [problem.stage_limit(number) for number in range(len(problem.ops))]
    if all(limit >= NO_LIMIT for limit in limits):
        return best
    for number, earliest in enumerate(earliest_on_slots(problem)):
        limit = limits[number]
        if limit >= NO_LIMIT:
            continue
        value = -(-(earliest + 1) // limit)
        if value > best.value:
            name = problem.ops[number].name
            stages = "stage" if limit == 1 else f"{limit} stages"
            reason = f"{name} starts in cycle {earliest} at the earliest, and in the first {stages}"
            best = Bound("DepMII", value, reason, (number,))
    return best


def earliest_on_slots(problem: ModuloProblem) -> list[int]:
    """
    The earliest start of each op over the dependences of one iteration, and over slots that serve one op: all ops
    before it that take such a slot take it one after the other, and from each of them it is still some way.
    """
    earliest = earliest_starts(problem)
    if len(problem.ops) > MOST_FOR_SLOTS:
        return earliest
    paths = _paths(problem)
    for op in topological_order(problem):
        for edge in problem.incoming[op]:
            if edge.distance == 0:
                earliest[op] = max(earliest[op], earliest[edge.source] + edge.latency)
        earliest[op] = max(earliest[op], *_behind_slots(problem, earliest, paths[op]).values(), 0)
    return earliest


def _paths(problem: ModuloProblem) -> list[dict[int, int]]:
    """For each op those before it in its iteration, each with the least number of cycles between their starts."""
    paths: list[dict[int, int]] = [{} for _ in problem.ops]
    for op in topological_order(problem):
        for edge in problem.incoming[op]:
            if edge.distance == 0:
                for before, length in (*paths[edge.source].items(), (edge.source, 0)):
                    paths[op][before] = max(paths[op].get(before, 0), length + edge.latency)
    return paths


def span_of_one_stage(problem: ModuloProblem) -> int:
    """
    An II below which nothing fits into one stage; 0 where ops may start in more.

    All ops of an iteration start within II cycles. So on a slot that serves one op the last one is over before the
    first one of the next iteration starts, which is II cycles behind the first: the slot spans no more than II. How far
    an op is from the first op of its slot follows from what is before it; and all that are no nearer take their rows
    from there on.
    """
    if len(problem.ops) > MOST_FOR_SLOTS or any(problem.stage_limit(op) != 1 for op in range(len(problem.ops))):
        return 0
    paths = _paths(problem)
    slots: dict[str, dict[int, int]] = {}
    for number, op in enumerate(problem.ops):
        for use in op.uses:
            if use.rows and problem.capacity(use.slot) == 1:
                slots.setdefault(use.slot, {})[number] = use.rows
    return max((_span(problem, paths, rows) for rows in slots.values()), default=0)


def _span(problem: ModuloProblem, paths: Sequence[dict[int, int]], rows: dict[int, int]) -> int:
    """The least number of cycles from the start of the first of the ops of a slot to the end of the last."""
    since = dict.fromkeys(rows, 0)
    """Op -> cycles from the start of the first one on; of ops that are behind one of the slot."""
    for op in topological_order(problem):
        before = {other: length for other, length in paths[op].items() if other in since}
        if before:
            direct = max(since[other] + length for other, length in before.items())
            since[op] = max(since.get(op, 0), direct, *_behind_slots(problem, since, before).values())
    span = total = 0
    for op in sorted(rows, key=lambda op: (-since[op], op)):
        total += rows[op]
        span = max(span, since[op] + total)
    return span


def _behind_slots(
    problem: ModuloProblem, earliest: Sequence[int] | Mapping[int, int], paths: dict[int, int]
) -> dict[str, int]:
    """Slot -> when an op may start whose distances from the ops before it are `paths`."""
    users: dict[str, list[tuple[int, int]]] = {}
    for before in paths:
        for use in problem.ops[before].uses:
            if use.rows and problem.capacity(use.slot) == 1:
                users.setdefault(use.slot, []).append((before, use.rows))
    return {
        slot: min(earliest[op] for op, _ in taken)
        + sum(rows for _, rows in taken)
        + min(paths[op] - rows for op, rows in taken)
        for slot, taken in users.items()
        if all(paths[op] >= rows for op, rows in taken)
    }
