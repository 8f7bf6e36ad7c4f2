"""
An independent judge of schedules. It shares nothing with the schedulers but the records of the problem.

It counts row by row what the ops of all iterations take, walks every dependence, follows every ring copy by copy, and
sums bytes. What it finds is text that says what is wrong, where, and by how much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tileas_xdsl.scheduling.modulo.problem import NO_LIMIT, ModuloProblem


def faults(problem: ModuloProblem, ii: int, starts: Sequence[int], copies: Sequence[int] | None = None) -> list[str]:
    """
    What is wrong with the schedule that starts op `k` in cycle `starts[k]`; nothing for a right one. `copies` gives
    the depth of each ring; None asks that some depth within the limits be enough.
    """
    if ii < 1:
        return [f"an initiation interval of {ii}"]
    if len(starts) != len(problem.ops):
        return [f"{len(starts)} starts for {len(problem.ops)} ops"]
    return [
        *_starts(problem, ii, starts),
        *_dependences(problem, ii, starts),
        *_reservations(problem, ii, starts),
        *_queues(problem, ii, starts),
        *_rings(problem, ii, starts, copies),
        *_groups(problem, ii, starts),
    ]


def _starts(problem: ModuloProblem, ii: int, starts: Sequence[int]) -> Iterator[str]:
    for number, op in enumerate(problem.ops):
        begin = starts[number]
        if begin < 0:
            yield f"{op.name} starts in cycle {begin}, before its iteration"
        for limit in (problem.most_stages, op.constraints.max_depth or NO_LIMIT):
            if begin >= limit * ii:
                yield f"{op.name} starts in stage {begin // ii}, and {limit} stages are allowed"
        if begin + op.latency > problem.ceiling:
            yield f"{op.name} is over in cycle {begin + op.latency}, beyond the ceiling of {problem.ceiling}"


def _dependences(problem: ModuloProblem, ii: int, starts: Sequence[int]) -> Iterator[str]:
    for edge in problem.edges:
        ready = starts[edge.source] + edge.latency
        begins = starts[edge.sink] + edge.distance * ii
        if begins < ready:
            source, sink = problem.ops[edge.source].name, problem.ops[edge.sink].name
            yield f"dependence {source} -> {sink} (distance {edge.distance}) broken by {ready - begins} cycles"


def _reservations(problem: ModuloProblem, ii: int, starts: Sequence[int]) -> Iterator[str]:
    rows: dict[tuple[str, int], int] = {}
    for number, op in enumerate(problem.ops):
        for use in op.uses:
            for cycle in range(starts[number], starts[number] + use.rows):
                key = (use.slot, cycle % ii)
                rows[key] = rows.get(key, 0) + use.amount
    reported: set[str] = set()
    for (slot, row), taken in rows.items():
        there = problem.capacities.get(slot, 1)
        if taken > there and slot not in reported:
            reported.add(slot)
            yield f"slot {slot} is taken {taken} times in row {row}, and serves {there}"


def _queues(problem: ModuloProblem, ii: int, starts: Sequence[int]) -> Iterator[str]:
    for queue in problem.queues:
        ready = {
            work: max(
                starts[edge.source] + edge.latency - edge.distance * ii
                for edge in problem.edges
                if edge.sink == work != edge.source
            )
            for work in queue
        }
        most = (max(starts) + max(ready.values())) // ii + 1
        for one in queue:
            for other in queue:
                for turns in range(-most, most + 1):
                    if ready[one] < ready[other] + turns * ii and starts[one] > starts[other] + turns * ii:
                        first, second = problem.ops[one].name, problem.ops[other].name
                        yield f"{first} is ready before {second} of {turns} iterations later and is served after it"
                        break


def _rings(problem: ModuloProblem, ii: int, starts: Sequence[int], copies: Sequence[int] | None) -> Iterator[str]:
    used: dict[str, int] = {}
    for number, ring in enumerate(problem.rings):
        needed = 1
        for use in ring.readers:
            # Copy k is free for iteration k + depth once the reader of iteration k is done with it.
            done = starts[use.op] + use.hold + ii * use.distance
            while starts[ring.writer] + ii * needed < done:
                needed += 1
        given = needed if copies is None else copies[number]
        if given < needed:
            yield f"ring {ring.name} has {given} copies, and {needed} are live at once"
        if given > ring.most_copies:
            yield f"ring {ring.name} has {given} copies, and may have {ring.most_copies}"
        used[ring.space] = used.get(ring.space, 0) + given * ring.bytes
    for space, total in used.items():
        limit = problem.space_bytes.get(space)
        if limit is not None and total > limit:
            yield f"{space} memory: rings take {total} bytes of {limit}"


def _groups(problem: ModuloProblem, ii: int, starts: Sequence[int]) -> Iterator[str]:
    for group in problem.groups:
        stages = {starts[op] // ii for op in group}
        if len(stages) > 1:
            names = ", ".join(problem.ops[op].name for op in group)
            yield f"the group {names} lies in stages {', '.join(map(str, sorted(stages)))}"
