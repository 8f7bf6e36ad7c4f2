"""Annotated loops as data: components that talk through scalars, with a stage and an order for each."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Component:
    """`writes = f(iteration, reads...)`, one statement of the loop."""

    reads: tuple[str, ...]
    """Temporaries in the order in which they are read; the array `A`, at the iteration, where there are none."""
    writes: str
    """A temporary `t<k>` that nobody else writes, or an output `out<k>`, written at the iteration."""
    stage: int
    order: int

    @property
    def is_output(self) -> bool:
        return self.writes.startswith("out")


@dataclass(frozen=True)
class AnnotatedLoop:
    """`for i in [lower, lower + trips)` over components in source order."""

    components: tuple[Component, ...]
    async_stages: tuple[int, ...]
    lower: int
    trips: int

    @property
    def stages(self) -> tuple[int, ...]:
        return tuple(c.stage for c in self.components)

    @property
    def order(self) -> tuple[int, ...]:
        return tuple(c.order for c in self.components)

    @property
    def temporaries(self) -> tuple[str, ...]:
        return tuple(c.writes for c in self.components if not c.is_output)

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(c.writes for c in self.components if c.is_output)

    def __str__(self) -> str:
        body = "; ".join(f"{c.writes} = f({', '.join(c.reads) or 'A'})" for c in self.components)
        return (
            f"for i in [{self.lower}, {self.lower + self.trips}): {body}   stage {list(self.stages)} "
            f"order {list(self.order)} async {list(self.async_stages)}"
        )


def loop_of(
    reads: Sequence[Sequence[int]],
    stages: Sequence[int],
    order: Sequence[int],
    async_stages: Sequence[int],
    lower: int = 0,
    trips: int = 16,
) -> AnnotatedLoop:
    """A loop whose component `k` reads what components `reads[k]` write; what nobody reads is an output."""
    read = {producer for producers in reads for producer in producers}
    places = [f"t{k}" if k in read else f"out{k}" for k in range(len(reads))]
    components = tuple(
        Component(tuple(places[p] for p in reads[k]), places[k], stages[k], order[k]) for k in range(len(reads))
    )
    return AnnotatedLoop(components, tuple(sorted(set(async_stages))), lower, trips)


RFC_EXAMPLES = {
    "two stages, synchronous": loop_of([[], [0]], [0, 1], [0, 1], []),
    "two stages": loop_of([[], [0]], [0, 1], [0, 1], [0]),
    "distance three": loop_of([[], [0]], [0, 3], [0, 1], [0]),
    "three stages, two of them asynchronous": loop_of([[], [0], [1]], [0, 1, 2], [0, 1, 2], [0, 1]),
    "two copies, one consumer": loop_of([[], [], [0, 1]], [0, 0, 3], [0, 1, 2], [0]),
    "interleaved producers": loop_of([[], [], [0, 1]], [0, 0, 3], [0, 2, 1], [0]),
}
"""The examples of TVM's RFC 0077, as far as they are single loops."""


def random_loop(seed: int) -> AnnotatedLoop:
    """
    A loop of 2 to 5 components with a legal schedule, any set of asynchronous stages, and edge trip counts.

    Legal: who reads a temporary stands behind its writer in the source, and in time: in a later stage, or in the same
    stage and later in order. Every temporary has one writer. The asynchronous stages never include the last one: TVM
    leaves its groups unfinished, so there is nothing to compare.
    """
    rng = random.Random(seed)
    size = rng.randint(2, 5)
    reads: list[list[int]] = [[]]
    for k in range(1, size):
        producers = [p for p in range(k) if rng.random() < 0.55]
        reads.append(producers or [rng.randrange(k)])
    stages = [0] * size
    for k in range(size):
        earliest = max((stages[p] for p in reads[k]), default=0)
        stages[k] = earliest + rng.choice((0, 0, 1, 1, 2, 3))
    order = list(range(size))
    for _ in range(10):
        shuffled = rng.sample(range(size), size)
        if all(stages[p] < stages[k] or shuffled[p] < shuffled[k] for k in range(size) for p in reads[k]):
            order = shuffled
            break
    candidates = sorted(set(stages) - {max(stages)})
    chosen = [stage for stage in candidates if rng.random() < 0.7]
    return loop_of(reads, stages, order, chosen, rng.choice((0, 0, 0, 1, 5)), rng.choice((1, 2, 4, 6, 8, 9)))
