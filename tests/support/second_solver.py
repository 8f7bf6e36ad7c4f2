"""
Second opinions on whether an interval has a schedule: z3 on integers, and enumeration of all rows.

Both are written from the definition of a schedule and share nothing with the formulation for CP-SAT. One agent, no ops
that wait between issue and execution, slots of capacity 1, dependences, rings; for z3 engines that serve in order, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import combinations, product
from typing import Any

from tileas_xdsl.scheduling.exact.problem import ExactProblem


def z3_says(problem: ExactProblem, ii: int, steps: int = 5_000_000) -> bool | None:
    """Whether there is a schedule with that interval, of any number of stages; None: no answer in so many steps."""
    import z3

    solver = z3.Solver()
    solver.set("rlimit", steps)
    row = {op.name: z3.Int(f"row {op.name}") for op in problem.ops}
    time = {op.name: row[op.name] + ii * z3.Int(f"stage {op.name}") for op in problem.ops}
    solver.add([z3.And(it >= 0, it < ii) for it in row.values()])
    solver.add([time[it.sink] + ii * it.distance >= time[it.source] + it.latency for it in problem.dependences])
    for slot in problem.machine.slots:
        uses = [(op.name, use.rows) for op in problem.ops for use in op.uses if use.slot == slot.name]
        solver.add([rows <= ii for _, rows in uses])
        for place, (one, rows) in enumerate(uses):
            for other, others in uses[:place]:
                apart = row[one] - row[other]
                behind = z3.If(apart >= 0, apart, apart + ii)
                solver.add(behind >= others, behind <= ii - rows)
    solver.add(_memory(problem, ii, time))
    solver.add(_in_order(problem, ii, time))
    answer = solver.check()
    return None if answer == z3.unknown else answer == z3.sat


def _memory(problem: ExactProblem, ii: int, time: dict[str, object]) -> list[object]:
    import z3

    taken = {space.name: z3.IntVal(space.static) for space in problem.machine.spaces}
    found: list[object] = []
    for ring in problem.rings:
        copies = z3.Int(f"copies {ring.name}")
        taken[ring.space] = taken[ring.space] + ring.bytes * copies
        found.append(copies >= 1)
        for read in ring.readers:
            end = time[read.op] + read.hold + ii * read.distance  # pyright: ignore
            found.append(time[ring.writer] + ii * copies >= end)  # pyright: ignore
            found.append(time[read.op] + ii * read.distance >= time[ring.writer])  # pyright: ignore
    return found + [taken[space.name] <= space.bytes for space in problem.machine.spaces]


def _in_order(problem: ExactProblem, ii: int, time: dict[str, Any]) -> list[object]:
    """No whole number of turns lies strictly between how much later one op is ready and how much later it starts."""
    import z3

    choose: Callable[..., Any] = z3.If  # pyright: ignore

    def ready(name: str) -> Any:
        waits = [it for it in problem.dependences if it.sink == name != it.source]
        times = [time[it.source] + it.latency - ii * it.distance for it in waits]
        return reduce(lambda one, other: choose(one > other, one, other), times)

    found: list[object] = []
    for queue in problem.queues:
        for one, other in combinations(queue, 2):
            came, went = ready(other) - ready(one), time[other] - time[one]
            least, most = choose(came < went, came, went), choose(came < went, went, came)
            found.append((most - 1) / ii * ii <= least)
    return found


def all_rows_say(problem: ExactProblem, ii: int) -> bool:
    """Whether some choice of rows and of copies has stages; the first op stands in row 0."""
    names = [op.name for op in problem.ops]
    for rest in product(range(ii), repeat=len(names) - 1):
        rows = dict(zip(names, (0, *rest), strict=True))
        if _fits_slots(problem, ii, rows) and any(_has_stages(problem, ii, rows, it) for it in _copies(problem)):
            return True
    return False


def _fits_slots(problem: ExactProblem, ii: int, rows: dict[str, int]) -> bool:
    taken: set[tuple[str, int]] = set()
    for op in problem.ops:
        for use in op.uses:
            for cycle in range(use.rows):
                cell = (use.slot, (rows[op.name] + cycle) % ii)
                if cell in taken:
                    return False
                taken.add(cell)
    return True


def _copies(problem: ExactProblem) -> list[tuple[int, ...]]:
    """All numbers of copies that fit the one space of the problem."""
    (space,) = problem.machine.spaces
    most = [space.bytes // ring.bytes for ring in problem.rings]
    found = list(product(*(range(1, count + 1) for count in most)))
    return [it for it in found if sum(r.bytes * n for r, n in zip(problem.rings, it, strict=True)) <= space.bytes]


def _has_stages(problem: ExactProblem, ii: int, rows: dict[str, int], copies: tuple[int, ...]) -> bool:
    """Longest paths over whole stages: none may grow for ever."""
    edges = [(it.source, it.sink, it.latency - ii * it.distance) for it in problem.dependences]
    for ring, count in zip(problem.rings, copies, strict=True):
        for read in ring.readers:
            edges.append((read.op, ring.writer, read.hold + ii * (read.distance - count)))
            edges.append((ring.writer, read.op, -ii * read.distance))
    stage = dict.fromkeys(rows, 0)
    for _ in range(len(rows) + 1):
        changed = False
        for source, sink, gap in edges:
            least = stage[source] - ((rows[sink] - rows[source] - gap) // ii)
            if stage[sink] < least:
                stage[sink], changed = least, True
        if not changed:
            return True
    return False
