"""
Random annotated loops, and what is true of them by brute force.

An `AnnotatedLoop` knows its components twice: as IR text, and as plain data (which cells of which array each touches).
From the data alone it decides, by enumerating iterations, which pairs of component instances conflict, which
schedules are legal, and how many groups may stay unfinished where. Nothing here uses the code under test.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

SIZE = 96
"""Elements of the arrays that are indexed by the induction variable; the largest subscript used is below."""

TEMPORARY = 2
"""Elements of a temporary, and of the array that iterations share."""

UNKNOWN_TRIPS = 10
"""How many iterations stand for all where the trip count is not known; more than stages and versions together."""


@dataclass(frozen=True)
class Cell:
    """`array[offset]`, or `array[iv + offset]`."""

    array: str
    offset: int
    moves: bool = False

    def index(self, iv: int) -> int:
        return self.offset + (iv if self.moves else 0)


@dataclass(frozen=True)
class Component:
    """Adds up what it reads, and writes the sum, plus a number of its own, to each cell that it writes."""

    number: int
    reads: tuple[Cell, ...]
    writes: tuple[Cell, ...]
    every_second: bool = False
    """Whether it does so only where the induction variable is even."""

    @property
    def touches(self) -> Iterator[tuple[Cell, bool]]:
        """Each cell, and whether it is written; reads come first."""
        yield from ((cell, False) for cell in self.reads)
        yield from ((cell, True) for cell in self.writes)


@dataclass(frozen=True)
class Schedule:
    stages: tuple[int, ...]
    order: tuple[int, ...]
    async_stages: tuple[int, ...]

    def is_async(self, component: int) -> bool:
        return self.stages[component] in self.async_stages

    @property
    def emission(self) -> list[int]:
        return sorted(range(len(self.order)), key=self.order.__getitem__)


@dataclass
class AnnotatedLoop:
    """A loop `for %i = lo to lo + trips * step`; `is_static` says whether the bounds are constants."""

    seed: int
    components: list[Component]
    inside: frozenset[str]
    """Temporaries that are allocated in the body; the others stand in front of the loop."""
    temporaries: tuple[str, ...]
    lower: int
    step: int
    trips: int
    is_static: bool
    schedule: Schedule = field(default_factory=lambda: Schedule((), (), ()))

    # Facts by enumeration ---------------------------------------------------------------------------------------------

    @property
    def judged_trips(self) -> int:
        return self.trips if self.is_static else UNKNOWN_TRIPS

    @cached_property
    def private(self) -> frozenset[str]:
        """Temporaries of which every iteration writes what it reads, before it reads it."""
        killed: list[str] = []
        for name in self.temporaries:
            written: set[int] = set()
            good = True
            for component in self.components:
                good &= all(cell.offset in written for cell in component.reads if cell.array == name)
                if not component.every_second:
                    written |= {cell.offset for cell in component.writes if cell.array == name}
            if good or name in self.inside:
                killed.append(name)
        return frozenset(killed)

    @cached_property
    def dependences(self) -> frozenset[tuple[int, int, int]]:
        """
        `(p, c, d)`: `c` in some iteration `j + d` comes after `p` in iteration `j` and touches the same bytes, one of
        them writing. Iterations have private temporaries of their own.
        """
        found: set[tuple[int, int, int]] = set()
        for early in self.components:
            for late in self.components:
                for cell, writes in early.touches:
                    for other, writes_too in late.touches:
                        if cell.array == other.array and (writes or writes_too):
                            found |= self._meetings(early.number, late.number, cell, other)
        return frozenset(found)

    def _meetings(self, early: int, late: int, cell: Cell, other: Cell) -> set[tuple[int, int, int]]:
        found: set[tuple[int, int, int]] = set()
        for j in range(self.judged_trips):
            for distance in range(self.judged_trips - j):
                if distance == 0 and early >= late:
                    continue
                if distance and cell.array in self.private:
                    continue
                first, second = self.lower + j * self.step, self.lower + (j + distance) * self.step
                if cell.index(first) == other.index(second):
                    found.add((early, late, distance))
        return found

    def is_legal(self, schedule: Schedule) -> bool:
        """Whether every dependence goes forward in time."""
        stages, order = schedule.stages, schedule.order
        return all(
            (stages[p], order[p]) < (stages[c] + distance, order[c]) or (p == c and distance > 0)
            for p, c, distance in self.dependences
        )

    def run(self) -> dict[str, NDArray[np.int32]]:
        """What the arrays hold after the sequential loop, from `initial_arrays` and temporaries that are 0."""
        arrays = self.initial_arrays() | {name: np.zeros(TEMPORARY, np.int32) for name in self.temporaries}
        for j in range(self.trips):
            iv = self.lower + j * self.step
            for component in self.components:
                if component.every_second and iv % 2:
                    continue
                total = 3 * component.number + 1 + sum(int(arrays[c.array][c.index(iv)]) for c in component.reads)
                for cell in component.writes:
                    arrays[cell.array][cell.index(iv)] = (total + 2**31) % 2**32 - 2**31
        return {name: arrays[name] for name in self.arrays}

    def initial_arrays(self) -> dict[str, NDArray[np.int32]]:
        """Different numbers everywhere."""
        return {
            name: np.arange(size, dtype=np.int32) * 7 + 1000 * number
            for number, (name, size) in enumerate(self.arrays.items())
        }

    # Text -------------------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """A module with one function `@f`, with bounds as arguments unless they are constants."""
        arrays = ", ".join(f"%{name}: memref<{size}xi32>" for name, size in self.arrays.items())
        bounds = "" if self.is_static else ", %lo: index, %hi: index"
        upper = self.lower + self.trips * self.step - (self.seed % self.step if self.trips else 0)
        lines = [f"func.func @f({arrays}{bounds}) {{"]
        numbers = sorted({0, 1, 2, self.step, *(cell.offset for c in self.components for cell, _ in c.touches)})
        lines += [f"  %c{number} = arith.constant {number} : index" for number in numbers]
        if self.is_static:
            lines += [f"  %lo = arith.constant {self.lower} : index", f"  %hi = arith.constant {upper} : index"]
        lines += [
            f"  %{t} = memref.alloc() : memref<{TEMPORARY}xi32>" for t in self.temporaries if t not in self.inside
        ]
        lines += [f"  scf.for %i = %lo to %hi step %c{self.step} {{"]
        lines += [f"    %{t} = memref.alloc() : memref<{TEMPORARY}xi32>" for t in sorted(self.inside)]
        if any(component.every_second for component in self.components):
            lines += ["    %odd = arith.remui %i, %c2 : index", "    %even = arith.cmpi eq, %odd, %c0 : index"]
        for component in self.components:
            lines += self._component(component)
        lines += [f"  }} {{{', '.join(self._annotations())}}}", "  func.return", "}"]
        return "\n".join(lines)

    @cached_property
    def arrays(self) -> dict[str, int]:
        """The array arguments and their sizes."""
        names = dict.fromkeys(cell.array for c in self.components for cell, _ in c.touches)
        return {name: TEMPORARY if name.startswith("G") else SIZE for name in names if name not in self.temporaries}

    def numbers(self) -> dict[str, int]:
        """The integer arguments."""
        if self.is_static:
            return {}
        upper = self.lower + self.trips * self.step - (self.seed % self.step if self.trips else 0)
        return {"lo": self.lower, "hi": upper}

    def _annotations(self) -> Iterator[str]:
        for key, values in (
            ("stage", self.schedule.stages),
            ("order", self.schedule.order),
            ("async_stages", self.schedule.async_stages),
        ):
            if values or key != "async_stages":
                yield f"software_pipeline_{key} = array<i64: {', '.join(map(str, values))}>"

    def _component(self, component: Component) -> list[str]:
        number = component.number
        before: list[str] = []
        body: list[str] = [f"%sum = arith.constant {3 * number + 1} : i32"]
        total = "%sum"

        def subscript(cell: Cell) -> str:
            if not cell.moves:
                return f"%c{cell.offset}"
            if cell.offset == 0:
                return "%i"
            name = f"%at{number}_{len(before)}"
            before.append(f"    {name} = arith.addi %i, %c{cell.offset} : index")
            return name

        for place, cell in enumerate(component.reads):
            body.append(f"%r{place} = memref.load %{cell.array}[{subscript(cell)}] : {self._type(cell.array)}")
            body.append(f"%s{place} = arith.addi {total}, %r{place} : i32")
            total = f"%s{place}"
        for cell in component.writes:
            body.append(f"memref.store {total}, %{cell.array}[{subscript(cell)}] : {self._type(cell.array)}")
        if component.every_second:
            body = ["scf.if %even {", *body, "}"]
        return [*before, "    async_queue.block {", *(f"      {line}" for line in body), "    }"]

    def _type(self, array: str) -> str:
        return f"memref<{TEMPORARY if array in self.temporaries else self.arrays[array]}xi32>"


# Making them ----------------------------------------------------------------------------------------------------------


def annotated_loop(seed: int) -> AnnotatedLoop:
    """The loop of this seed, with a schedule that is legal by enumeration."""
    rng = random.Random(seed)
    while True:
        loop = _random_loop(rng, seed)
        for _ in range(40):
            schedule = random_schedule(rng, len(loop.components))
            if loop.is_legal(schedule) and len(set(schedule.stages)) > 1:
                loop.schedule = schedule
                return loop


def random_schedule(rng: random.Random, count: int) -> Schedule:
    """Any schedule, legal or not; stages may have gaps and need not start at 0."""
    top = rng.choice([1, 2, 2, 3, 3, 4])
    base = rng.choice([0, 0, 0, 0, 1, 2])
    stages = [base + rng.randint(0, top) for _ in range(count)]
    if rng.random() < 0.7:
        stages.sort()
    order = list(range(count))
    if rng.random() < 0.7:
        rng.shuffle(order)
    async_stages = [stage for stage in sorted(set(stages)) if rng.random() < 0.6]
    return Schedule(tuple(stages), tuple(order), tuple(async_stages))


def _random_loop(rng: random.Random, seed: int) -> AnnotatedLoop:
    count = rng.choice([2, 3, 3, 4, 4, 5, 6])
    temporaries = tuple(f"T{number}" for number in range(rng.randint(1, 3)))
    shares = rng.random() < 0.3
    components: list[Component] = []
    for number in range(count):
        reads: list[Cell] = []
        writes: list[Cell] = []
        if rng.random() < 0.5 or number == 0:
            reads.append(Cell("A", rng.randint(0, 2), moves=True))
        for name in temporaries:
            if number and rng.random() < 0.45:
                reads += _cells(rng, name)
            if number < count - 1 and rng.random() < 0.4:
                writes += _cells(rng, name)
        if shares and rng.random() < 0.25:
            (reads if rng.random() < 0.5 else writes).append(Cell("G", rng.randrange(TEMPORARY)))
        if rng.random() < 0.06:
            reads.append(Cell(f"C{rng.randrange(count)}", rng.choice([0, 1]), moves=True))
        if not writes or rng.random() < 0.4:
            writes.append(Cell(f"C{number}", rng.choice([0, 0, 1]), moves=True))
        components.append(
            Component(number, tuple(dict.fromkeys(reads)), tuple(dict.fromkeys(writes)), rng.random() < 0.07)
        )
    is_static = rng.random() < 0.5
    loop = AnnotatedLoop(
        seed,
        components,
        frozenset(),
        temporaries,
        lower=rng.choice([0, 0, 1, 3, 7, 20]),
        step=rng.choice([1, 1, 1, 2, 3]),
        trips=rng.choice([0, 1, 2, 3, 3, 4, 4, 5, 5, 6, 7, 9, 12]),
        is_static=is_static,
    )
    # An allocation in the body must be written before it is read; elsewhere what an earlier iteration left is there.
    inside = frozenset(name for name in temporaries if name in loop.private and rng.random() < 0.5)
    return AnnotatedLoop(seed, components, inside, temporaries, loop.lower, loop.step, loop.trips, is_static)


def _cells(rng: random.Random, name: str) -> Sequence[Cell]:
    """One element or both."""
    if rng.random() < 0.5:
        return [Cell(name, rng.randrange(TEMPORARY))]
    return [Cell(name, offset) for offset in range(TEMPORARY)]
