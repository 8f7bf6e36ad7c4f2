"""
The search for the smallest initiation interval, and the refinement by constraints.

The initiation interval goes up one by one from the largest bound: feasibility is not monotone, so bisection could miss
the smallest. Far from the bound that is risked: it goes up twice as far each time, and back by bisection.
What a round finds is compared with the budget of memory. Where rings take too much, the next round limits their copies;
each such limit is a dependence from the last reader back to the writer. When the rounds are used up, the serial
schedule is what is left.

The serial schedule has one op after the other, in one stage: Kahn's algorithm over the dependences of one iteration,
ready ops in program order. No search, no table, no ranking: the initiation interval is the sum of all latencies.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from tileas_xdsl.scheduling.cycles import TimedEdge
from tileas_xdsl.scheduling.modulo.arms import LoopFacts, gallop
from tileas_xdsl.scheduling.modulo.attempt import Attempt
from tileas_xdsl.scheduling.modulo.bounds import Bounds, bounds_of, positive_cycle, span_of_one_stage
from tileas_xdsl.scheduling.modulo.distances import topological_order
from tileas_xdsl.scheduling.modulo.placement import EVERY_ARM, place
from tileas_xdsl.scheduling.modulo.problem import NO_LIMIT, ModuloProblem, RingDemand
from tileas_xdsl.scheduling.modulo.queues import keeps_queues
from tileas_xdsl.scheduling.modulo.schedule import ModuloSchedule, Strategy

SERIAL_ARM = "SERIAL"


def serial_schedule(problem: ModuloProblem, bounds: Bounds) -> ModuloSchedule:
    """The serial schedule of `problem`. Raises `DependenceCycleError` where the ops wait for each other in a circle."""
    starts = [0] * len(problem.ops)
    cycle = 0
    for op in topological_order(problem):
        ready = (starts[e.source] + e.latency for e in problem.incoming[op] if e.distance == 0)
        cycle = starts[op] = max(cycle, *ready, 0)
        cycle += problem.ops[op].rows
    end = max((starts[op] + max(problem.ops[op].latency, problem.ops[op].rows) for op in range(len(starts))), default=0)
    ii = _shortest(problem, starts, max(end, bounds.res.value, bounds.rec.value, 1))
    return ModuloSchedule(problem, ii, tuple(starts), Strategy.SERIAL, bounds, (SERIAL_ARM,) * len(starts))


def _shortest(problem: ModuloProblem, starts: Sequence[int], ii: int) -> int:
    """`ii`, or more where a dependence between iterations asks for it."""
    for edge in problem.edges:
        if edge.distance > 0:
            ii = max(ii, -(-(starts[edge.source] + edge.latency - starts[edge.sink]) // edge.distance))
    assert positive_cycle(problem, ii) is None
    return ii


ROUNDS = 10
"""Rounds of the refinement, where nobody says otherwise."""

MOST_STEPS = 4096
"""How far from the bound on initiation intervals are tried."""

NEAR, LEAST_NEAR = 80_000, 8
"""
So many initiation intervals from the first one on are tried one by one, times the square of the ops, for so long each
takes; and at least.
"""


class InfeasibleError(ValueError):
    """No schedule exists, or none was found; the text says which slot, pool, cycle or budget stands in the way."""


@dataclass(frozen=True)
class SearchLimits:
    """How much is tried."""

    rounds: int = ROUNDS
    steps: int = MOST_STEPS
    arms: Collection[str] = EVERY_ARM


def schedule(
    problem: ModuloProblem, strategy: Strategy, limits: SearchLimits | None = None, threshold: int = 0
) -> ModuloSchedule:
    """
    A schedule of `problem` under `strategy`, which is SERIAL, COST_BASED or FAST. Where the table has more rows than
    `threshold`, time is counted in coarser units; 0 never does that.

    Raises `DependenceCycleError` for ops of one iteration that wait for each other, `InfeasibleError` where even one
    copy of every ring is too much.
    """
    limits = limits or SearchLimits()
    refuse_too_small_a_budget(problem)
    if strategy is Strategy.SERIAL or not problem.ops:
        return serial_schedule(problem, bounds_of(problem))
    unit = 1 if threshold <= 0 else -(-bounds_of(problem).mii // threshold)
    if unit > 1:
        return _refined(problem, schedule(coarsened(problem, unit), strategy, limits), unit)
    current = with_limited_rings(problem)
    for number in range(1, limits.rounds + 1):
        bounds = bounds_of(current)
        attempt = smallest(current, bounds, limits)
        if attempt is None:
            break
        if strategy is Strategy.COST_BASED:
            shorten_lives(attempt)
        starts = tuple(attempt.table.starts[op] for op in range(len(problem.ops)))
        arms = tuple(attempt.arms[op] for op in range(len(problem.ops)))
        found = ModuloSchedule(problem, attempt.ii, starts, strategy, bounds, arms, rounds=number)
        if number > 1:
            found = replace(found, budget=_missing_bytes(found))
        tighter = _with_fewer_copies(current, found)
        if tighter is None:
            return found
        current = tighter
    return replace(serial_schedule(problem, bounds_of(problem)), rounds=limits.rounds, is_truncated=True)


def smallest(problem: ModuloProblem, bounds: Bounds, limits: SearchLimits) -> Attempt | None:
    """
    The complete attempt at the smallest initiation interval that the arms find, or None. Where an iteration has one
    stage, the intervals that are too small for it are not tried: all arms would fail at each of them.
    """
    facts = LoopFacts(problem)
    found: dict[int, Attempt] = {}

    def is_feasible(ii: int) -> bool:
        attempt = place(facts, ii, limits.arms)
        if attempt is not None:
            found[ii] = attempt
        return attempt is not None

    first, end = max(bounds.mii, span_of_one_stage(problem)), bounds.mii + limits.steps
    far = min(first + max(LEAST_NEAR, NEAR // len(problem.ops) ** 2), end)
    ii = next(filter(is_feasible, range(first, far)), None)
    if ii is None and far < end:
        ii = gallop(is_feasible, far, end - 1)
    return None if ii is None else found[ii]


def coarsened(problem: ModuloProblem, unit: int) -> ModuloProblem:
    """`problem` in units of `unit` cycles: durations and latencies are rounded up, so its schedules hold in cycles."""

    def up(cycles: int) -> int:
        return -(-cycles // unit)

    return replace(
        problem,
        ops=tuple(
            replace(op, uses=tuple(replace(use, rows=up(use.rows)) for use in op.uses), latency=up(op.latency))
            for op in problem.ops
        ),
        edges=tuple(replace(edge, latency=up(edge.latency)) for edge in problem.edges),
        rings=tuple(
            replace(ring, readers=tuple(replace(use, hold=up(use.hold)) for use in ring.readers))
            for ring in problem.rings
        ),
        ceiling=problem.ceiling // unit,
    )


def _refined(problem: ModuloProblem, coarse: ModuloSchedule, unit: int) -> ModuloSchedule:
    """The schedule of `problem` that `coarse` stands for."""
    starts = tuple(start * unit for start in coarse.starts)
    return replace(coarse, problem=problem, ii=coarse.ii * unit, starts=starts, bounds=bounds_of(problem))


# Memory ---------------------------------------------------------------------------------------------------------------


def refuse_too_small_a_budget(problem: ModuloProblem) -> None:
    """Raises `InfeasibleError` where one copy of every ring does not fit."""
    for space, limit in problem.space_bytes.items():
        rings = [ring for ring in problem.rings if ring.space == space]
        total = sum(ring.bytes for ring in rings)
        if total > limit:
            sizes = ", ".join(f"{ring.name} {ring.bytes}" for ring in rings)
            raise InfeasibleError(
                f"{space} memory lacks {total - limit} bytes: one copy of each ring takes {total} of {limit} ({sizes})"
            )


def with_limited_rings(problem: ModuloProblem) -> ModuloProblem:
    """`problem` with a dependence for each ring whose copies are limited."""
    edges = [edge for ring in problem.rings if ring.most_copies < NO_LIMIT for edge in reuse_edges(ring)]
    return replace(problem, edges=(*problem.edges, *edges)) if edges else problem


def reuse_edges(ring: RingDemand) -> list[TimedEdge]:
    """A copy is written again only when its readers, `most_copies` iterations earlier, are done."""
    reason = f"{ring.most_copies} copies of {ring.name}"
    return [
        TimedEdge(use.op, ring.writer, use.hold, ring.most_copies - use.distance, reason)
        for use in ring.readers
        if ring.most_copies - use.distance > 0 or use.op != ring.writer
    ]


def _with_fewer_copies(problem: ModuloProblem, found: ModuloSchedule) -> ModuloProblem | None:
    """
    None where the rings of `found` fit. Else the problem with limits for them: from the copies that they take now, the
    largest ring of a space that overflows loses one after the other until the rest fits.
    """
    copies = dict(enumerate(found.copies))
    overflow = False
    for space, limit in problem.space_bytes.items():
        members = [number for number, ring in enumerate(problem.rings) if ring.space == space]
        total = sum(copies[number] * problem.rings[number].bytes for number in members)
        while total > limit:
            overflow = True
            shrinkable = [number for number in members if copies[number] > 1]
            number = max(shrinkable, key=lambda number: (copies[number], problem.rings[number].bytes, -number))
            copies[number] -= 1
            total -= problem.rings[number].bytes
    if not overflow:
        return None
    rings = tuple(
        replace(ring, most_copies=min(ring.most_copies, copies[number])) for number, ring in enumerate(problem.rings)
    )
    added = [edge for ring in rings for edge in reuse_edges(ring)]
    return replace(problem, rings=rings, edges=(*problem.edges, *added))


def _missing_bytes(found: ModuloSchedule) -> str:
    """What one more copy of the smallest ring would lack, in each space where that does not fit."""
    texts: list[str] = []
    for space, limit in found.problem.space_bytes.items():
        rings = [ring for ring in zip(found.problem.rings, found.copies, strict=True) if ring[0].space == space]
        taken = sum(ring.bytes * copies for ring, copies in rings)
        smallest = min((ring for ring, _ in rings), key=lambda ring: ring.bytes, default=None)
        if smallest is not None and taken + smallest.bytes > limit:
            texts.append(
                f"rings take {taken} of {limit} bytes of {space} memory; one more copy of {smallest.name} "
                f"({smallest.bytes}) lacks {taken + smallest.bytes - limit}"
            )
    return "; ".join(texts)


# Lives ----------------------------------------------------------------------------------------------------------------


def shorten_lives(attempt: Attempt) -> None:
    """
    Start each op as late as those that depend on it allow, from the last one to the first, where that keeps it in a
    free row: so rings hold fewer copies, and fewer stages overlap. Ops without any that depend on them stay.
    """
    problem, table = attempt.problem, attempt.table
    grouped = {op for group in problem.groups for op in group}
    for op in sorted(table.starts, key=lambda op: (-table.starts[op], op)):
        if op in grouped or not any(edge.distance == 0 for edge in problem.outgoing[op]):
            continue
        start, arm = table.starts[op], attempt.arms[op]
        latest = attempt.latest(op)
        table.remove(op)
        better = sorted(table.fitting(op, max(start, latest - attempt.ii + 1), latest), reverse=True)
        table.enter(op, next((cycle for cycle in better if _is_served(attempt, op, cycle)), start))
        attempt.arms[op] = arm


def _is_served(attempt: Attempt, op: int, start: int) -> bool:
    """Whether the engines still serve their works in order if `op` starts at `start`."""
    problem = attempt.problem
    works = (op, *(edge.sink for edge in problem.outgoing[op]))
    if not any(work in queue for queue in problem.queues for work in works):
        return True
    return keeps_queues(problem, {**attempt.table.starts, op: start}, attempt.ii)
