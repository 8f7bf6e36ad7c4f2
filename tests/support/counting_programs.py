"""
Random programs that commit groups of copies to queues and wait for them by counting, and what is true of their counts
by running through all their paths.

A program is a tree of commits, waits, loops and branches. Every copy goes to a cell of its own, and every wait is
followed by a read of the oldest copies that it promises: of the (N + 1)-th newest group of its queue, if there is one.
So a program is safe as it stands, and a wait that leaves one group more unfinished is a race. Which way branches go and
how often loops run is read off the argument `bits`, anew each time, so any combination of ways occurs for some `bits`.

Nothing here uses the code under test: `paths` runs the tree itself.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

CELLS = 512
"""Cells of shared memory: more than any path copies to."""

OPEN_TRIP_BITS = 3
"""An open loop runs 0 to 7 times: often enough for the oldest group that a wait can be for."""


@dataclass(frozen=True)
class Commit:
    """A group of queue `queue` with `copies` copies, and one more where a bit says so, if `chance`."""

    queue: int
    copies: int
    chance: bool = False


@dataclass(frozen=True)
class Wait:
    """Number `site` of the waits; leaves `count` groups of `queue` unfinished."""

    site: int
    queue: int
    count: int


@dataclass(frozen=True)
class Loop:
    """Runs `trips` times, or as often as `OPEN_TRIP_BITS` bits say."""

    trips: int | None
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Branch:
    """Goes one way or the other, as a bit says."""

    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


Statement = Commit | Wait | Loop | Branch


@dataclass
class Program:
    """A tree, and how many queues and waits it has. Every queue is drained at the end."""

    statements: tuple[Statement, ...]
    queues: int
    waits: int

    def text(self, only: int | None = None, *, too_new: bool = False) -> str:
        """
        The program as a function `@f`; with the wait `only` and what it protects alone, if one is named. With `too_new`
        every read is of the oldest group that its wait does *not* promise.
        """
        return _Writer(self, only, too_new).text()

    def paths(self, most: int = 4000) -> Iterator[Path]:
        """All ways through the program, at most so many."""
        choices: list[tuple[int, int]] = []
        for _ in range(most):
            path = _Walker(self, [taken for taken, _ in choices]).walk()
            yield path
            choices = path.choices
            while choices and choices[-1][0] + 1 == choices[-1][1]:
                choices.pop()
            if not choices:
                return
            taken, options = choices.pop()
            choices.append((taken + 1, options))


def waits_in(statements: tuple[Statement, ...]) -> Iterator[Wait]:
    """The waits among `statements` and inside them, in program order."""
    for statement in statements:
        match statement:
            case Wait():
                yield statement
            case Loop(_, body):
                yield from waits_in(body)
            case Branch(then, otherwise):
                yield from waits_in((*then, *otherwise))
            case Commit():
                pass


def least_groups_since(program: Program, most_paths: int) -> dict[int, int | None] | None:
    """
    For each wait that some path reaches the least number of groups of all queues that were closed since the one that it
    is for; None where no path has one. None altogether where there are more than `most_paths` paths.
    """
    waits = {wait.site: wait for wait in waits_in(program.statements)}
    found: dict[int, int | None] = {}
    for number, path in enumerate(program.paths(most_paths + 1)):
        if number == most_paths:
            return None
        for visit in path.visits:
            wait = waits[visit.site]
            since = (visit.groups_since(wait.queue, wait.count), found.get(wait.site))
            found[wait.site] = min((n for n in since if n is not None), default=None)
    return found


def random_program(
    seed: int, *, queues: int = 3, chance: bool = False, size: int = 5, least_copies: int = 0
) -> Program:
    """
    A program of `size` to twice as many statements. Groups have at least `least_copies` copies; with `chance` their
    number is open.
    """
    return _Generator(random.Random(seed), queues, chance, least_copies).program(size)


class _Generator:
    def __init__(self, rng: random.Random, queues: int, chance: bool, least_copies: int) -> None:
        self.rng, self.queues, self.chance, self.least_copies = rng, rng.randint(1, queues), chance, least_copies
        self.waits = 0
        self.open_loops = 1
        """How many more loops may have an open number of trips: each multiplies the number of paths."""

    def program(self, size: int) -> Program:
        statements = self._block(self.rng.randint(size, 2 * size), depth=2)
        return Program(statements, self.queues, self.waits)

    def _block(self, length: int, depth: int) -> tuple[Statement, ...]:
        return tuple(self._statement(depth) for _ in range(length))

    def _statement(self, depth: int) -> Statement:
        kind = self.rng.random()
        if depth and kind < 0.15:
            return self._loop(depth)
        if depth and kind < 0.25:
            then, otherwise = self.rng.randint(1, 2), self.rng.randint(0, 1)
            return Branch(self._block(then, depth - 1), self._block(otherwise, depth - 1))
        if kind < 0.5:
            self.waits += 1
            return Wait(self.waits - 1, self.rng.randrange(self.queues), self.rng.randint(0, 3))
        chance = self.chance and self.rng.random() < 0.3
        return Commit(self.rng.randrange(self.queues), self.rng.randint(self.least_copies, 2), chance)

    def _loop(self, depth: int) -> Loop:
        trips: int | None = self.rng.choice((0, 1, 2, 3))
        if self.open_loops and self.rng.random() < 0.6:
            self.open_loops -= 1
            trips = None
        return Loop(trips, self._block(self.rng.randint(1, 3), depth - 1))


# Paths ----------------------------------------------------------------------------------------------------------------


@dataclass
class Visit:
    """A wait on some path: what was issued when control came to it."""

    site: int
    groups: list[int]
    """The queue of every group so far, oldest first."""
    copies: list[int]
    """How many copies had been issued when each of these groups was closed."""
    issued: int
    """How many copies have been issued now."""

    def groups_since(self, queue: int, count: int) -> int | None:
        """How many groups were closed since the (count + 1)-th newest of `queue`; None where there is none."""
        own = [place for place, group in enumerate(self.groups) if group == queue]
        return len(self.groups) - own[-count - 1] - 1 if len(own) > count else None

    def copies_since(self, count: int) -> int | None:
        """How many copies were issued since the (count + 1)-th newest group of all; None where there is none."""
        return self.issued - self.copies[-count - 1] if len(self.groups) > count else None


@dataclass
class Path:
    """One way through a program."""

    bits: int = 0
    """The argument that makes the program take it."""
    visits: list[Visit] = field(default_factory=list[Visit])
    choices: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """What was taken, and of how many options."""


class _Walker:
    """Walks one path: the choices given, then the first option of each further one."""

    def __init__(self, program: Program, given: list[int]) -> None:
        self.program, self.given = program, given
        self.path = Path()
        self.tick = 0
        self.groups: list[int] = []
        self.copies: list[int] = []
        self.issued = 0

    def walk(self) -> Path:
        self._run(self.program.statements)
        return self.path

    def _choose(self, width: int) -> int:
        place = len(self.path.choices)
        taken = self.given[place] if place < len(self.given) else 0
        self.path.choices.append((taken, 1 << width))
        self.path.bits |= taken << self.tick
        self.tick += width
        return taken

    def _run(self, statements: tuple[Statement, ...]) -> None:
        for statement in statements:
            match statement:
                case Commit(queue, copies, chance):
                    self.issued += copies + (self._choose(1) if chance else 0)
                    self.groups.append(queue)
                    self.copies.append(self.issued)
                case Wait(site):
                    self.path.visits.append(Visit(site, list(self.groups), list(self.copies), self.issued))
                case Loop(trips, body):
                    for _ in range(self._choose(OPEN_TRIP_BITS) if trips is None else trips):
                        self._run(body)
                case Branch(then, otherwise):
                    self._run(then if self._choose(1) else otherwise)


# Text -----------------------------------------------------------------------------------------------------------------

SHARED = f"memref<{CELLS}xf32, 3>"
GLOBAL = f"memref<{CELLS}xf32>"
INDICES = f"memref<{CELLS}xindex>"
NUMBER = "memref<1xindex>"


class _Writer:
    def __init__(self, program: Program, only: int | None, too_new: bool) -> None:
        self.program, self.only, self.newer = program, only, int(too_new)
        self.lines: list[str] = []
        self.names = 0

    def text(self) -> str:
        self._line(f"func.func @f(%src: {GLOBAL}, %ring: {SHARED}, %out: {GLOBAL}, %bits: i64) {{")
        for number in range(5):
            self._line(f"%c{number} = arith.constant {number} : index")
        # Where the next copy goes, the next bit, the next read; and for each queue its groups and their first cells.
        for name in ("next", "tick", "reads", *(f"groups{queue}" for queue in range(self.program.queues))):
            self._line(f"%{name} = memref.alloc() : {NUMBER}", f"memref.store %c0, %{name}[%c0] : {NUMBER}")
        for queue in range(self.program.queues):
            self._line(f"%first{queue} = memref.alloc() : {INDICES}", f"%size{queue} = memref.alloc() : {INDICES}")
        self._block(self.program.statements)
        for queue in range(self.program.queues):
            self._line(f"async_queue.wait {queue}, 0")
        self._line("func.return", "}")
        return "\n".join(self.lines)

    def _line(self, *lines: str) -> None:
        self.lines.extend(lines)

    def _name(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def _op(self, text: str) -> str:
        """An op with one result, which gets a name."""
        name = self._name()
        self._line(f"{name} = {text}")
        return name

    def _load(self, number: str) -> str:
        return self._op(f"memref.load %{number}[%c0] : {NUMBER}")

    def _advance(self, number: str, by: str) -> str:
        """Adds to one of the numbers in memory; what it was before."""
        old = self._load(number)
        new = self._op(f"arith.addi {old}, {by} : index")
        self._line(f"memref.store {new}, %{number}[%c0] : {NUMBER}")
        return old

    def _choose(self, width: int) -> str:
        """The next bits, as an index."""
        place = self._op(f"arith.index_cast {self._advance('tick', f'%c{width}')} : index to i64")
        shifted = self._op(f"arith.shrui %bits, {place} : i64")
        mask = self._op(f"arith.constant {(1 << width) - 1} : i64")
        return self._op(f"arith.index_cast {self._op(f'arith.andi {shifted}, {mask} : i64')} : i64 to index")

    def _block(self, statements: tuple[Statement, ...]) -> None:
        for statement in statements:
            match statement:
                case Commit():
                    self._commit(statement)
                case Wait():
                    if self.only in (None, statement.site):
                        self._wait(statement)
                case Loop(trips, body):
                    upper = self._choose(OPEN_TRIP_BITS) if trips is None else f"%c{trips}"
                    self._line(f"scf.for {self._name()} = %c0 to {upper} step %c1 {{")
                    self._block(body)
                    self._line("}")
                case Branch(then, otherwise):
                    condition = self._op(f"arith.cmpi ne, {self._choose(1)}, %c0 : index")
                    self._line(f"scf.if {condition} {{")
                    self._block(then)
                    self._line("} else {")
                    self._block(otherwise)
                    self._line("}")

    def _commit(self, commit: Commit) -> None:
        more = self._choose(1) if commit.chance else "%c0"
        size = self._op(f"arith.addi %c{commit.copies}, {more} : index")
        first = self._advance("next", size)
        group = self._advance(f"groups{commit.queue}", "%c1")
        self._line(f"memref.store {first}, %first{commit.queue}[{group}] : {INDICES}")
        self._line(f"memref.store {size}, %size{commit.queue}[{group}] : {INDICES}")
        self._line(f"async_queue.commit {commit.queue} {{")
        for number in range(commit.copies):
            self._copy(self._op(f"arith.addi {first}, %c{number} : index"))
        if commit.chance:
            self._line(f"scf.if {self._op(f'arith.cmpi ne, {more}, %c0 : index')} {{")
            self._copy(self._op(f"arith.addi {first}, %c{commit.copies} : index"))
            self._line("}")
        self._line("}")

    def _copy(self, cell: str) -> None:
        self._line("async_queue.scope {")
        value = self._op(f"memref.load %src[{cell}] : {GLOBAL}")
        self._line(f"memref.store {value}, %ring[{cell}] : {SHARED}", "}")

    def _wait(self, wait: Wait) -> None:
        """Waits, and reads all copies of the oldest group that is not among those left unfinished."""
        self._line(f"async_queue.wait {wait.queue}, {wait.count} attributes {{site = {wait.site} : i64}} {{")
        groups = self._load(f"groups{wait.queue}")
        place = wait.count + 1 - self.newer
        self._line(f"scf.if {self._op(f'arith.cmpi uge, {groups}, %c{place} : index')} {{")
        group = self._op(f"arith.subi {groups}, %c{place} : index")
        first = self._op(f"memref.load %first{wait.queue}[{group}] : {INDICES}")
        size = self._op(f"memref.load %size{wait.queue}[{group}] : {INDICES}")
        counter = self._name()
        self._line(f"scf.for {counter} = %c0 to {size} step %c1 {{")
        value = self._op(f"memref.load %ring[{self._op(f'arith.addi {first}, {counter} : index')}] : {SHARED}")
        self._line(f"memref.store {value}, %out[{self._advance('reads', '%c1')}] : {GLOBAL}")
        self._line("}", "}", "}")
