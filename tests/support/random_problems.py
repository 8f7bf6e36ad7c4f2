"""Random problems for the exact scheduler, small enough to be decided twice: one agent, slots, rings, dependences."""

from __future__ import annotations

import random
from dataclasses import replace

from tileas_xdsl.scheduling.exact.problem import (
    SHARED,
    Dependence,
    ExactProblem,
    ExactRing,
    MachineLimits,
    OpSpec,
    RegisterFile,
    RegisterValue,
    RingRead,
    SlotLimit,
    Space,
)
from tileas_xdsl.targets.machine_model import SlotUse


def random_problem(
    seed: int, ops: tuple[int, int] = (5, 10), rows: int = 6, *, registers: bool = False
) -> ExactProblem:
    """
    Ops with one or two uses on a few slots, edges forward and carried ones, one op that must follow another at once.

    Memory and registers are enough for one iteration at a time, so that there is always a schedule.
    """
    generator = random.Random(f"exact {seed}")
    slots = tuple(SlotLimit(f"u{number}") for number in range(generator.randint(2, 4)))
    count = generator.randint(*ops)
    specs = tuple(_op(generator, f"o{number}", slots, rows) for number in range(count))
    dependences = tuple(_edges(generator, specs))
    rings = tuple(_rings(generator, specs, dependences))
    least = sum(ring.bytes * (1 + max(read.distance for read in ring.readers)) for ring in rings)
    space = Space(SHARED, least + generator.randint(0, 2))
    values = tuple(_values(generator, specs, dependences)) if registers else ()
    words = sum(it.words * (1 + max(read.distance for read in it.uses)) for it in values)
    file = RegisterFile(words, reserve=0) if registers else None
    return ExactProblem(specs, MachineLimits(slots, (space,), registers=file), dependences, rings, values)


def with_queues(problem: ExactProblem) -> ExactProblem:
    """
    The same with each unit an engine that serves its ops in order, each behind an op that issues it. The issue waits
    for what the op depends on; so does the op for what an earlier iteration does. Nothing has to come soon enough.
    """
    dependences = tuple(it for it in problem.dependences if it.latency >= 0)
    users = (tuple(op.name for op in problem.ops if op.uses[0].slot == slot.name) for slot in problem.machine.slots)
    queues = tuple(queue for queue in users if len(queue) > 1)
    issues = {name: f"issue of {name}" for queue in queues for name in queue}
    waits = [replace(it, sink=issues.get(it.sink, it.sink)) for it in dependences]
    carried = [it for it in dependences if it.distance and it.sink in issues]
    ops = (*problem.ops, *(OpSpec(issue) for issue in issues.values()))
    begun = [Dependence(issue, name, 1) for name, issue in issues.items()]
    return replace(problem, ops=ops, dependences=(*waits, *carried, *begun), rings=(), queues=queues)


def _op(generator: random.Random, name: str, slots: tuple[SlotLimit, ...], rows: int) -> OpSpec:
    chosen = generator.sample(slots, generator.choice([1, 1, 2]))
    uses = tuple(SlotUse(slot.name, generator.randint(1, rows)) for slot in chosen)
    return OpSpec(name, uses, max(use.rows for use in uses) + generator.randint(0, 2), asynchronous=True)


def _edges(generator: random.Random, ops: tuple[OpSpec, ...]) -> list[Dependence]:
    edges: list[Dependence] = []
    for sink in range(1, len(ops)):
        for source in sorted(generator.sample(range(sink), min(sink, generator.choice([1, 1, 2])))):
            edges.append(Dependence(ops[source].name, ops[sink].name, ops[source].latency))
    for _ in range(generator.randint(1, 3)):
        sink, source = sorted((generator.randrange(len(ops)), generator.randrange(len(ops))))
        distance = generator.randint(1, 2)
        edges.append(Dependence(ops[source].name, ops[sink].name, ops[source].latency, distance))
    followers = [it for it in edges if it.distance == 0 and [e.sink for e in edges].count(it.sink) == 1]
    if followers:
        edge = generator.choice(followers)
        edges.append(Dependence(edge.sink, edge.source, -edge.latency - generator.randint(0, 1)))
    return edges


def _rings(generator: random.Random, ops: tuple[OpSpec, ...], edges: tuple[Dependence, ...]) -> list[ExactRing]:
    latency = {op.name: op.latency for op in ops}
    rings: list[ExactRing] = []
    for writer in generator.sample([op.name for op in ops[:-1]], min(2, len(ops) - 1)):
        reads = tuple(
            RingRead(it.sink, latency[it.sink], it.distance) for it in edges if it.source == writer and it.latency > 0
        )
        if reads:
            rings.append(ExactRing(writer, SHARED, writer, reads, generator.randint(1, 3)))
    return rings


def _values(generator: random.Random, ops: tuple[OpSpec, ...], edges: tuple[Dependence, ...]) -> list[RegisterValue]:
    values: list[RegisterValue] = []
    for op in ops[:-1]:
        reads = tuple(RingRead(it.sink, 1, it.distance) for it in edges if it.source == op.name and it.latency > 0)
        if reads:
            values.append(RegisterValue(op.name, op.name, reads, generator.randint(1, 3)))
    return values


NOT_MONOTONE = ExactProblem(
    (OpSpec("a", (SlotUse("unit", 1),), 3), OpSpec("b", (SlotUse("unit", 1),), 1)),
    MachineLimits((SlotLimit("unit"),), (Space(SHARED, 0),)),
    (Dependence("a", "b", 3), Dependence("b", "a", -3)),
)
"""Two ops of one row on one unit that start exactly 3 cycles apart: 2 and 4 rows have a schedule, 3 have none."""
