"""
Random programs of `async_queue`, as IR text: groups, counts and whatever control flow can do to them.

    func.func @f(%n: index, %k: index, %src: memref<64xf32>, %out: memref<256xf32>)

Three kinds. *Wild* programs commit and wait as it comes: loops of constant and of unknown trips, `while` loops,
branches, commits in commits, several scopes in a group, groups without scopes, waits inside commits, computed counts
and ids. More than half of them race, and a conversion has to keep that too. *Balanced* programs use the slots just as
wildly, but a body leaves as many groups unfinished as it found, so that every path to a wait brings equally many.
*Rotating* programs are what people write: rings of slots that are filled ahead and read behind a wait; they are safe.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

SLOTS = 8
HEADER = "func.func @f(%n: index, %k: index, %src: memref<64xf32>, %out: memref<256xf32>) {"
CONSTANTS = range(9)


@dataclass
class _Writer:
    rng: random.Random
    lines: list[str] = field(default_factory=list[str])
    depth: int = 1
    names: int = 0

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def fresh(self, hint: str) -> str:
        self.names += 1
        return f"%{hint}_{self.names}"

    def open(self, text: str) -> None:
        self.line(text + " {")
        self.depth += 1

    def close(self, text: str = "}") -> None:
        self.depth -= 1
        self.line(text)

    def program(self) -> str:
        constants = [f"  %c{number} = arith.constant {number} : index" for number in CONSTANTS]
        ring = [f"  %ring = memref.alloc() : memref<{SLOTS}xf32, 3>"]
        end = ["  func.return", "}"]
        return "\n".join([HEADER, *constants, *ring, *self.lines, *end])

    def let(self, op: str, hint: str = "x") -> str:
        name = self.fresh(hint)
        self.line(f"{name} = {op}")
        return name

    def fill(self, source: str, slot: str, *, copies: bool = False) -> None:
        """A scope that brings a number into a slot: twice its value, or as it is."""
        self.open("async_queue.scope")
        x = self.let(f"memref.load %src[{source}] : memref<64xf32>")
        y = x if copies else self.let(f"arith.addf {x}, {x} : f32")
        self.line(f"memref.store {y}, %ring[{slot}] : memref<{SLOTS}xf32, 3>")
        self.close()

    def use(self, slot: str, place: str) -> None:
        """The thread adds what is in a slot to a place of the result."""
        x = self.let(f"memref.load %ring[{slot}] : memref<{SLOTS}xf32, 3>")
        old = self.let(f"memref.load %out[{place}] : memref<256xf32>")
        y = self.let(f"arith.addf {x}, {old} : f32")
        self.line(f"memref.store {y}, %out[{place}] : memref<256xf32>")


class _Wild(_Writer):
    """Statements as they come."""

    queues = 2
    computed_ids = True
    computed_counts = True
    counts: list[int]
    ivs: list[str]

    def build(self) -> str:
        self.ivs = []
        self.statements(0, in_commit=False)
        for queue in range(self.queues + 2):
            if self.rng.random() < 0.8:
                self.line(f"async_queue.wait {queue}, 0")
        return self.program()

    def statements(self, depth: int, *, in_commit: bool) -> None:
        for _ in range(self.rng.randint(1, 4)):
            self.statement(depth, in_commit=in_commit)

    def statement(self, depth: int, *, in_commit: bool) -> None:
        kinds = ["commit", "commit", "wait", "wait"]
        if in_commit:
            kinds += ["scope", "scope", "scope"]
        if depth < 3:
            kinds += ["for", "if", "for", "while"]
        getattr(self, self.rng.choice(kinds))(depth, in_commit=in_commit)

    def index(self, limit: int) -> str:
        """An index below `limit`, constant or not."""
        if self.ivs and self.rng.random() < 0.6:
            shifted = self.let(f"arith.addi {self.rng.choice(self.ivs)}, %c{self.rng.randrange(4)} : index")
            bound = self.let(f"arith.constant {limit} : index")
            return self.let(f"arith.remui {shifted}, {bound} : index")
        return f"%c{self.rng.randrange(min(limit, 9))}"

    def scope(self, depth: int, *, in_commit: bool) -> None:
        self.fill(self.index(64), self.index(SLOTS))

    def commit(self, depth: int, *, in_commit: bool) -> None:
        if self.computed_ids and self.rng.random() < 0.15:
            queue = self.let(f"arith.addi {self.index(2)}, %c2 : index", "q")
        else:
            queue = str(self.rng.randrange(self.queues))
        self.open(f"async_queue.commit {queue}")
        if self.rng.random() < 0.7:
            self.scope(depth, in_commit=True)
        elif depth < 3:
            self.statements(depth + 1, in_commit=True)
        self.close()

    def wait(self, depth: int, *, in_commit: bool) -> None:
        kind = self.rng.random()
        queue = str(self.rng.randrange(self.queues))
        if self.computed_ids and kind < 0.15:
            queue = self.let(f"arith.addi {self.index(2)}, %c2 : index", "q")
        count = str(self.rng.choice(self.counts))
        if self.computed_counts and self.rng.random() < 0.2:
            count = self.let(f"arith.subi %c2, {self.index(4)} : index", "count")
        self.open(f"async_queue.wait {queue}, {count}")
        self.use(self.index(SLOTS), self.index(64))
        if depth < 3 and self.rng.random() < 0.2:
            self.statements(depth + 1, in_commit=in_commit)
        self.close()

    def loop_bounds(self) -> tuple[str, str, str]:
        lower, step = self.rng.choice([0, 0, 1, 3]), self.rng.choice([1, 1, 2])
        if self.rng.random() < 0.5:
            return f"%c{lower}", "%n", f"%c{step}"
        return f"%c{lower}", f"%c{min(lower + self.rng.randrange(4) * step, 8)}", f"%c{step}"

    def let_loop_run(self, depth: int, induction: str, *, in_commit: bool) -> None:
        self.ivs.append(induction)
        self.statements(depth + 1, in_commit=in_commit)
        self.ivs.pop()

    def for_(self, depth: int, *, in_commit: bool) -> None:
        induction = self.fresh("i")
        lower, upper, step = self.loop_bounds()
        self.open(f"scf.for {induction} = {lower} to {upper} step {step}")
        self.let_loop_run(depth, induction, in_commit=in_commit)
        self.close()

    def while_(self, depth: int, *, in_commit: bool) -> None:
        result, before, after = self.fresh("r"), self.fresh("b"), self.fresh("i")
        lower, upper, step = self.loop_bounds()
        self.open(f"{result} = scf.while ({before} = {lower}) : (index) -> index")
        more = self.let(f"arith.cmpi slt, {before}, {upper} : index")
        if self.rng.random() < 0.3:
            self.let_loop_run(depth, before, in_commit=in_commit)
        self.line(f"scf.condition({more}) {before} : index")
        self.close("} do {")
        self.depth += 1
        self.line(f"^bb0({after}: index):")
        self.let_loop_run(depth, after, in_commit=in_commit)
        following = self.let(f"arith.addi {after}, {step} : index")
        self.line(f"scf.yield {following} : index")
        self.close()

    def if_(self, depth: int, *, in_commit: bool) -> None:
        value = self.rng.choice([*self.ivs, "%n", "%k"])
        limit = self.rng.randrange(4)
        condition = self.let(f"arith.cmpi slt, {value}, %c{limit} : index", "if")
        self.open(f"scf.if {condition}")
        self.statements(depth + 1, in_commit=in_commit)
        if self.rng.random() < 0.4:
            self.close("} else {")
            self.depth += 1
            self.statements(depth + 1, in_commit=in_commit)
        self.close()


class _Balanced(_Wild):
    """
    Statements as they come, between which the number of unfinished groups of each queue is known.

    A body of a loop or a branch ends with the number with which it began, so that paths that meet agree; nothing is
    committed or awaited inside a commit; and the end waits for everything.
    """

    unfinished: list[int]

    def build(self) -> str:
        self.unfinished = [0] * self.queues
        self.ivs = []
        for _ in range(4):
            self.statement(1, in_commit=False)
        self.reach([0] * self.queues)
        return self.program()

    def statements(self, depth: int, *, in_commit: bool) -> None:
        found = list(self.unfinished)
        for _ in range(self.rng.randint(1, 2)):
            self.statement(depth, in_commit=in_commit)
        self.reach(found)

    def reach(self, wanted: list[int]) -> None:
        """Commits what is missing, and waits for what is too much."""
        for queue, number in enumerate(wanted):
            while self.unfinished[queue] < number:
                self.commit_to(queue, 0)
            if self.unfinished[queue] > number:
                self.wait_for(queue, number, 0)

    def statement(self, depth: int, *, in_commit: bool) -> None:
        if in_commit:
            kinds = ["scope", "scope", *(["for", "if", "while"] if depth < 3 else [])]
            getattr(self, self.rng.choice(kinds))(depth, in_commit=True)
        else:
            super().statement(depth, in_commit=False)

    def commit(self, depth: int, *, in_commit: bool) -> None:
        queue = self.rng.randrange(self.queues)
        if self.unfinished[queue] < SLOTS // 2:
            self.commit_to(queue, depth)

    def commit_to(self, queue: int, depth: int) -> None:
        self.open(f"async_queue.commit {queue}")
        if self.rng.random() < 0.7 or depth == 3:
            self.scope(depth, in_commit=True)
        else:
            self.statements(depth + 1, in_commit=True)
        self.close()
        self.unfinished[queue] += 1

    def wait(self, depth: int, *, in_commit: bool) -> None:
        queue = self.rng.randrange(self.queues)
        self.wait_for(queue, self.rng.randint(0, self.unfinished[queue] + 1), depth)

    def wait_for(self, queue: int, count: int, depth: int) -> None:
        """A wait may be for more than there is, or for nothing."""
        self.unfinished[queue] = min(count, self.unfinished[queue])
        self.open(f"async_queue.wait {queue}, {count}")
        self.use(self.index(SLOTS), self.index(64))
        if depth < 3 and self.rng.random() < 0.2:
            self.statements(depth + 1, in_commit=False)
        self.close()


setattr(_Wild, "for", _Wild.for_)
setattr(_Wild, "while", _Wild.while_)
setattr(_Wild, "if", _Wild.if_)


def wild_program(
    seed: int, *, computed_ids: bool = True, computed_counts: bool = True, counts: Sequence[int] = (0, 0, 0, 1, 1, 2, 3)
) -> str:
    """The wild program of this seed, with or without computed ids and counts; constant counts are among `counts`."""
    writer = _Wild(random.Random(seed))
    writer.computed_ids, writer.computed_counts, writer.counts = computed_ids, computed_counts, list(counts)
    return writer.build()


def balanced_program(seed: int) -> str:
    """The balanced program of this seed."""
    return _Balanced(random.Random(seed)).build()


# Rotating programs ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rotation:
    """A ring that is filled `ahead` iterations before it is read."""

    ahead: int
    groups: int = 1
    """Groups that each iteration commits, each for a slot of its own."""
    queue: int = 0
    peeled: bool = True
    """Whether the first groups are committed in front of the loop, or the loop runs `ahead` iterations longer."""
    static_prologue: bool = True
    """Whether the prologue is straight-line code rather than a loop."""
    lower: int = 0
    step: int = 1
    scopes: int = 1
    """Scopes in each group."""
    predicated: bool = True
    """Whether nothing is issued behind the last iteration: groups are committed all the same."""
    copies: bool = False
    """Whether a scope only copies."""
    drained: bool = True
    """Whether there is a wait at the end, though what is left may be groups of nothing."""


def rotating_program(rotation: Rotation) -> str:
    """
    `%n` iterations; iteration `i` reads what was issued `ahead` iterations before. One group is committed in each
    iteration whether there is anything left to copy or not, so that every count is a constant.
    """
    return _Rotating(random.Random(0)).build(rotation)


def random_rotation(seed: int) -> Rotation:
    rng = random.Random(seed)
    groups = rng.choice([1, 1, 1, 2])
    return Rotation(
        ahead=rng.randint(0, 3 if groups == 1 else 1),
        groups=groups,
        queue=rng.choice([0, 0, 1, 5]),
        peeled=rng.random() < 0.8,
        static_prologue=rng.random() < 0.5,
        lower=rng.choice([0, 0, 1, 3]),
        step=rng.choice([1, 1, 2]),
        scopes=rng.choice([1, 1, 2]),
        drained=rng.random() < 0.7,
    )


def distinct_rotations(number: int) -> list[Rotation]:
    """Different rotations of all sorts, as many as asked for and the same on each call."""
    every = [
        Rotation(ahead, groups, queue, True, static, lower, step, scopes, predicated, drained=True)
        for ahead in range(4)
        for groups in (1, 2)
        for queue in (0, 1, 5)
        for static in (False, True)
        for lower in (0, 1, 3)
        for step in (1, 2)
        for scopes in (1, 2)
        for predicated in (False, True)
        if groups * (ahead + 1) * scopes <= SLOTS
    ]
    return random.Random(0).sample(every, number)


class _Rotating(_Writer):
    rotation: Rotation

    def build(self, rotation: Rotation) -> str:
        self.rotation = rotation
        ahead, lower, step = rotation.ahead, rotation.lower, rotation.step
        self.let(f"arith.constant {rotation.groups * (ahead + 1) * rotation.scopes} : index", "slots")
        upper = self.let(f"arith.muli %n, %c{step} : index")
        upper = self.let(f"arith.addi {upper}, %c{lower} : index")
        if rotation.peeled and rotation.static_prologue:
            for j in range(ahead):
                self.commits(self.let(f"arith.constant {j} : index"))
        elif rotation.peeled:
            self.open(f"scf.for %p = %c0 to %c{ahead} step %c1")
            self.commits("%p")
            self.close()
        self.open(f"scf.for %i = %c{lower} to {upper} step %c{step}")
        number = self.let(f"arith.subi %i, %c{lower} : index")
        number = self.let(f"arith.divui {number}, %c{step} : index", "j")
        self.iteration(number)
        self.close()
        if rotation.drained or not rotation.peeled:
            self.line(f"async_queue.wait {rotation.queue}, 0")
        return self.program()

    def iteration(self, number: str) -> None:
        rotation = self.rotation
        if rotation.peeled:
            self.commits(self.let(f"arith.addi {number}, %c{rotation.ahead} : index"))
            self.read(number)
            return
        self.commits(number)
        is_full = self.let(f"arith.cmpi sge, {number}, %c{rotation.ahead} : index")
        self.open(f"scf.if {is_full}")
        self.read(self.let(f"arith.subi {number}, %c{rotation.ahead} : index"))
        self.close()

    def slot(self, number: str, group: int, scope: int) -> str:
        """Each group and scope has `ahead + 1` slots of its own."""
        ring = self.rotation.ahead + 1
        turn = self.let(f"arith.remui {number}, %c{ring} : index")
        base = (group * self.rotation.scopes + scope) * ring
        return self.let(f"arith.addi {turn}, %c{base} : index", "slot")

    def commits(self, number: str) -> None:
        for group in range(self.rotation.groups):
            self.open(f"async_queue.commit {self.rotation.queue}")
            if self.rotation.predicated:
                is_there = self.let(f"arith.cmpi slt, {number}, %n : index")
                self.open(f"scf.if {is_there}")
            for scope in range(self.rotation.scopes):
                self.fill(number, self.slot(number, group, scope), copies=self.rotation.copies)
            if self.rotation.predicated:
                self.close()
            self.close()

    def read(self, number: str) -> None:
        for group in range(self.rotation.groups):
            left = self.rotation.groups * (self.rotation.ahead + 1) - 1 - group
            self.open(f"async_queue.wait {self.rotation.queue}, {left}")
            for scope in range(self.rotation.scopes):
                self.use(self.slot(number, group, scope), number)
            self.close()
