"""
How many stages a search must allow, and up to which initiation interval it goes.

*Stages.* "Infeasible" has to mean: with any number of stages. Take a schedule and the stages in which something starts.
If two neighbours of them are further apart than every distance and every latency reaches, then nothing above the gap
is bound to what is below: no edge leads back across the gap, since its distance would bound it. So all above can move
one stage down. That breaks no edge, keeps every row (hence slots, issue order and registers at each row), and no
lifetime becomes longer. Hence a schedule exists in which no gap is wider, and it has at most
`1 + (points - 1) * widest gap` stages, and one more where the row of one op is given.

*Intervals.* In the serial interval one iteration runs at a time. What does not fit there fits nowhere for the reasons
that are met in practice (two values that never fit the registers together); results say "up to the serial II".
"""

from __future__ import annotations

from collections.abc import Iterator

from tileas_xdsl.scheduling.exact.problem import ExactProblem


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
