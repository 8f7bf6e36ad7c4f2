"""
Random scheduling problems, and the smallest initiation interval of small ones by trying all rows.

The search tries every assignment of rows at an initiation interval; stages follow from the dependences as difference
constraints, so "infeasible" means infeasible with any number of stages.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from tileas_xdsl.scheduling.cycles import TimedEdge
from tileas_xdsl.scheduling.modulo.problem import NO_LIMIT, ModuloProblem, TimedOp
from tileas_xdsl.targets.machine_model import SlotUse


def random_problem(seed: int, *, most_ops: int = 6, slots: int = 3, most_stages: int = NO_LIMIT) -> ModuloProblem:
    """Ops on one or two of `slots` slots each, some dependences, and some of them carried."""
    rng = random.Random(seed)
    count = rng.randint(3, most_ops)
    ops: list[TimedOp] = []
    for number in range(count):
        names = rng.sample(range(slots), rng.randint(1, 2))
        uses = tuple(SlotUse(f"s{name}", rng.randint(1, 4)) for name in names)
        ops.append(TimedOp(f"o{number}", uses, rng.randint(1, 8)))
    edges = [
        TimedEdge(first, second, ops[first].latency)
        for first in range(count)
        for second in range(first + 1, count)
        if rng.random() < 0.3
    ]
    for _ in range(rng.randint(0, 3)):
        first, second = sorted((rng.randrange(count), rng.randrange(count)))
        edges.append(TimedEdge(second, first, rng.randint(1, 6), rng.randint(1, 2)))
    return ModuloProblem(tuple(ops), tuple(edges), most_stages=most_stages)


def knotted_problem(seed: int) -> ModuloProblem:
    """
    A cycle of dependences through a unit that is not pipelined, and other ops that need the unit as well.

    Where the cycle binds, its ops stand at fixed distances, and what else there is has to fit into the gaps between
    them. Often it fills them in sum and into none of them alone, so that the optimum lies above every bound.
    """
    rng = random.Random(seed)
    rows = [rng.randint(1, 3) for _ in range(rng.randint(2, 3))]
    gaps = [rng.randint(0, 3) for _ in rows]
    ops = [
        TimedOp(f"r{number}", (SlotUse("unit", busy), *_arithmetic(rng, 0.4)), busy + gap)
        for number, (busy, gap) in enumerate(zip(rows, gaps, strict=True))
    ]
    around = len(ops)
    edges = [
        TimedEdge(number, (number + 1) % around, op.latency, int(number + 1 == around)) for number, op in enumerate(ops)
    ]
    room = sum(gaps)
    for number in range(rng.randint(1, 3)):
        busy = max(1, min(room, max(gaps) + rng.randint(0, 2)))
        room -= busy
        ops.append(TimedOp(f"f{number}", (SlotUse("unit", busy), *_arithmetic(rng, 0.5)), busy + rng.randint(0, 2)))
        if rng.random() < 0.6:
            edges.append(TimedEdge(rng.randrange(around), len(ops) - 1, rng.randint(1, 4)))
    if rng.random() < 0.5:
        ops.append(TimedOp("x", (SlotUse("alu", rng.randint(1, 4)),), 2))
        edges.append(TimedEdge(len(ops) - 2, len(ops) - 1, 2))
    return ModuloProblem(tuple(ops), tuple(edges))


def queued_problem(seed: int) -> ModuloProblem:
    """An agent that issues two to four works to an engine, and later waits for each of them, in an order of its own."""
    rng = random.Random(seed)
    count = rng.randint(2, 4)
    issues = [TimedOp(f"issue {number}", (SlotUse("agent", 1),), 1) for number in range(count)]
    waits = [TimedOp(f"wait {number}", (SlotUse("agent", rng.randint(1, 4)),), 4) for number in range(count)]
    rows = [rng.randint(1, 8) for _ in range(count)]
    works = [TimedOp(f"work {n}", (SlotUse("engine", busy),), busy + 12) for n, busy in enumerate(rows)]
    edges = [
        edge
        for number, work in enumerate(works)
        for edge in (
            TimedEdge(number, 2 * count + number, 1),
            TimedEdge(2 * count + number, count + number, work.latency, rng.randint(0, 1)),
        )
    ]
    edges += [
        TimedEdge(count + first, second, rng.randint(1, 20), rng.randint(1, 3))
        for first in range(count)
        for second in range(count)
        if rng.random() < 0.3
    ]
    numbers = tuple(range(2 * count, 3 * count))
    return ModuloProblem((*issues, *waits, *works), tuple(edges), most_stages=rng.randint(2, 6), works=numbers)


def _arithmetic(rng: random.Random, chance: float) -> tuple[SlotUse, ...]:
    return (SlotUse("alu", rng.randint(1, 3)),) if rng.random() < chance else ()


def mixed_problem(seed: int) -> ModuloProblem:
    """Of each two neighbouring seeds one random problem of at most 6 ops and one knotted problem."""
    return knotted_problem(seed) if seed % 2 else random_problem(seed, most_ops=6, slots=2 + seed % 3)


def optimum(problem: ModuloProblem, first: int, last: int) -> int | None:
    """The smallest feasible initiation interval from `first` to `last`, by trying everything."""
    return next((ii for ii in range(first, last + 1) if is_feasible(problem, ii)), None)


def is_feasible(problem: ModuloProblem, ii: int) -> bool:
    return any(_stages_exist(problem, ii, rows) for rows in _rows(problem, ii, [], {}))


def _rows(
    problem: ModuloProblem, ii: int, chosen: list[int], taken: dict[tuple[str, int], int]
) -> Iterator[Sequence[int]]:
    if len(chosen) == len(problem.ops):
        yield chosen
        return
    op = problem.ops[len(chosen)]
    # A schedule may be turned round the circle of rows, unless the stages are counted.
    choices = range(ii) if chosen or problem.most_stages < NO_LIMIT else range(1)
    for row in choices:
        wanted: dict[tuple[str, int], int] = {}
        for use in op.uses:
            for cycle in range(row, row + use.rows):
                key = (use.slot, cycle % ii)
                wanted[key] = wanted.get(key, 0) + use.amount
        if any(taken.get(key, 0) + amount > problem.capacities.get(key[0], 1) for key, amount in wanted.items()):
            continue
        for key, amount in wanted.items():
            taken[key] = taken.get(key, 0) + amount
        yield from _rows(problem, ii, [*chosen, row], taken)
        for key, amount in wanted.items():
            taken[key] -= amount


def _stages_exist(problem: ModuloProblem, ii: int, rows: Sequence[int]) -> bool:
    """Least stages by Bellman and Ford; they exist unless a cycle pushes itself ever later."""
    stages = [0] * len(rows)
    for _ in range(len(rows) + 1):
        changed = False
        for edge in problem.edges:
            gap = rows[edge.source] + edge.latency - rows[edge.sink]
            least = stages[edge.source] + -(-gap // ii) - edge.distance
            if least > stages[edge.sink]:
                stages[edge.sink], changed = least, True
        if not changed:
            return max(stages) < problem.most_stages
    return False
