"""
What makes no sense as a problem, whatever the initiation interval: refused with the record and the reason.

Names that are unknown or given twice, numbers out of range, ops of one iteration that wait for each other in a circle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tileas_xdsl.scheduling.cycles import TimedEdge, worst_cycle
from tileas_xdsl.scheduling.exact.problem import ExactProblem, MachineLimits, RingRead, Together


class ProblemError(ValueError):
    """A problem that makes no sense, whatever the initiation interval: the message names the record and the reason."""


def check_problem(problem: ExactProblem) -> None:
    """Raise `ProblemError` for a name that is unknown or given twice, a number out of range, an impossible order."""
    if not problem.ops:
        raise ProblemError("the problem has no ops")
    _check_names(problem)
    _check_queues(problem)
    _check_numbers(problem)
    _check_order(problem)


def _check_names(problem: ExactProblem) -> None:
    machine = problem.machine
    ops = _distinct("op", (op.name for op in problem.ops))
    slots = _distinct("slot", (slot.name for slot in machine.slots))
    spaces = _distinct("space", (space.name for space in machine.spaces))
    kinds = _distinct("kind of handshake", (handshake.kind for handshake in machine.handshakes))
    _distinct("ring", (ring.name for ring in problem.rings))
    _distinct("register value", (value.name for value in problem.values))
    pools = _distinct("register pool", (pool.name for pool in machine.pools))
    for value in problem.values:
        if value.pool is not None and value.move is not None:
            raise ProblemError(f"register value '{value.name}' may be moved, and is given the pool '{value.pool}'")
    for kind, known, name, user in _names_used(problem, ops, slots, spaces, kinds, pools):
        if name not in known:
            there = ", ".join(sorted(known)) or "none"
            raise ProblemError(f"{user} names the {kind} '{name}', which the problem does not have; it has: {there}")


def _names_used(
    problem: ExactProblem,
    ops: frozenset[str],
    slots: frozenset[str],
    spaces: frozenset[str],
    kinds: frozenset[str],
    pools: frozenset[str],
) -> Iterator[tuple[str, frozenset[str], str, str]]:
    """What kind of name, which ones there are, the name, and who uses it."""
    for op in problem.ops:
        yield from (("slot", slots, use.slot, f"op '{op.name}'") for use in op.uses)
    for dependence in problem.dependences:
        user = f"the dependence {dependence.source} -> {dependence.sink}"
        yield "op", ops, dependence.source, user
        yield "op", ops, dependence.sink, user
        yield "kind of handshake", kinds, dependence.handshake, user
    for ring in problem.rings:
        user = f"ring '{ring.name}'"
        yield from (("op", ops, name, user) for name in (ring.writer, *(read.op for read in ring.readers)))
        yield "space", spaces, ring.space, user
        yield "kind of handshake", kinds, ring.handshake, user
    for value in problem.values:
        user = f"register value '{value.name}'"
        yield from (("op", ops, name, user) for name in (value.definition, *(read.op for read in value.uses)))
        if value.pool is not None:
            yield "register pool", pools, value.pool, user
        if value.move is not None:
            yield "space", spaces, value.move.space, user
            yield "kind of handshake", kinds, value.move.handshake, user
    yield from (("op", ops, name, "a queue") for queue in problem.queues for name in queue)
    yield from (("op", ops, constant.op, f"constant '{constant.name}'") for constant in problem.constants)
    for rule in problem.rules:
        if isinstance(rule, Together):
            yield from (("op", ops, name, f"rule '{rule.name}'") for name in rule.ops)


def _check_queues(problem: ExactProblem) -> None:
    for name, after in problem.arrivals.items():
        if not after:
            raise ProblemError(f"op '{name}' stands in a queue and waits for no other op, so it is never ready")


def _distinct(kind: str, names: Iterable[str]) -> frozenset[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ProblemError(f"two records have the {kind} name '{name}'")
        seen.add(name)
    return frozenset(seen)


def _check_numbers(problem: ExactProblem) -> None:
    for what, number, least in _numbers(problem):
        if number < least:
            raise ProblemError(f"{what} is {number}; the least that makes sense is {least}")
    for ring in problem.rings:
        if ring.max_copies is not None and ring.max_copies < ring.min_copies:
            raise ProblemError(f"ring '{ring.name}' asks for {ring.min_copies} copies and allows {ring.max_copies}")


def _numbers(problem: ExactProblem) -> Iterator[tuple[str, int, int]]:
    """What it is, the number, the least that makes sense."""
    yield "the number of agents", problem.agents, 1
    for op in problem.ops:
        yield f"the latency of op '{op.name}'", op.latency, 0
        yield f"the issue time of op '{op.name}'", op.issue, 0
        yield f"the number of warps of op '{op.name}'", op.min_warps, 1
        yield f"the last stage of op '{op.name}'", 0 if op.max_stage is None else op.max_stage, 0
        for use in op.uses:
            yield f"the footprint of op '{op.name}' on slot {use.slot}", use.rows, 1
            yield f"the amount of slot {use.slot} that op '{op.name}' takes", use.amount, 1
    for dependence in problem.dependences:
        yield f"the distance of the dependence {dependence.source} -> {dependence.sink}", dependence.distance, 0
    for ring in problem.rings:
        yield f"the bytes of ring '{ring.name}'", ring.bytes, 0
        yield f"the least copies of ring '{ring.name}'", ring.min_copies, 1
        yield from _numbers_of_reads(f"ring '{ring.name}'", ring.readers)
    for value in problem.values:
        yield f"the words of register value '{value.name}'", value.words, 0
        yield from _numbers_of_reads(f"register value '{value.name}'", value.uses)
        if value.move is not None:
            yield f"the bytes of the move of register value '{value.name}'", value.move.bytes, 0
            yield f"the cycles of the move of register value '{value.name}'", value.move.cycles, 0
    yield from ((f"the words of constant '{constant.name}'", constant.words, 0) for constant in problem.constants)
    yield from _numbers_of_machine(problem.machine)


def _numbers_of_reads(owner: str, reads: Iterable[RingRead]) -> Iterator[tuple[str, int, int]]:
    for read in reads:
        yield f"the hold of reader '{read.op}' of {owner}", read.hold, 0
        yield f"the distance of reader '{read.op}' of {owner}", read.distance, 0


def _numbers_of_machine(machine: MachineLimits) -> Iterator[tuple[str, int, int]]:
    yield from ((f"the capacity of slot {slot.name}", slot.capacity, 0) for slot in machine.slots)
    for space in machine.spaces:
        yield f"the bytes of the space '{space.name}'", space.bytes, 0
        yield f"the static bytes of the space '{space.name}'", space.static, 0
    yield from ((f"the cycles of the handshake '{it.kind}'", it.cycles, 0) for it in machine.handshakes)
    for pool in machine.pools:
        yield f"the words of the register pool '{pool.name}'", pool.words, 0
        yield f"the words that the register pool '{pool.name}' keeps", pool.kept, 0
    yield "the number of named barriers", machine.named_barriers, 0
    yield "the length of the queue", machine.queue, 0
    yield "the number of warps", machine.warps, 1


def _check_order(problem: ExactProblem) -> None:
    """Within one iteration no op can wait for itself."""
    edges = [
        TimedEdge(problem.positions[it.source], problem.positions[it.sink], it.latency, it.distance)
        for it in problem.dependences
        if it.distance == 0
    ]
    cycle = worst_cycle(len(problem.ops), edges, period=0)
    if cycle is None:
        return
    names = [problem.ops[edge.source].name for edge in cycle]
    total = sum(edge.latency for edge in cycle)
    raise ProblemError(
        f"the dependences {' -> '.join([*names, names[0]])} of one iteration form a cycle of {total} cycles: "
        "no op of it can start first"
    )
