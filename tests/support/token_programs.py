"""
Random programs of tokens without mistakes: tasks that write slots, and a thread that waits for them and reads.

Each program is one function `@f(%n: index, %c: i1, %src: memref<64xf32>, %out: memref<64xf32>)` made of *pieces*, each
with memory of its own: rings that a loop keeps filled some iterations ahead, with one to three rings in one loop and
waits in any order; graphs of tasks that depend on each other; groups; tasks started in one of two branches.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

TOKEN = "!async.token"
VIEW = "memref<1xf32, strided<[1], offset: 3>>"


@dataclass(frozen=True)
class TokenProgram:
    """The text of a program, which may be called with any `n` up to 6."""

    seed: int
    text: str


@dataclass
class _Ring:
    """A buffer of `ahead + 1` slots that tasks fill `ahead` iterations before the thread reads."""

    name: str
    ahead: int
    tokens: list[str]


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.head: list[str] = []
        self.lines: list[str] = []
        self.names = 0
        self.reads = 0

    def program(self, pieces: Sequence[str]) -> str:
        for piece in pieces:
            getattr(self, piece)()
        constants = [f"%c{number} = arith.constant {number} : index" for number in range(8)]
        body = "\n".join([*constants, *self.head, *self.lines])
        signature = "%n: index, %c: i1, %src: memref<64xf32>, %out: memref<64xf32>"
        return f"func.func @f({signature}) {{\n{body}\nfunc.return\n}}"

    # Lines

    def name(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def value(self, text: str) -> str:
        name = self.name()
        self.lines.append(f"{name} = {text}")
        return name

    def buffer(self, slots: int) -> str:
        name = self.name()
        self.head.append(f"{name} = memref.alloc() : memref<{slots}xf32>")
        return name

    def task(self, buffer: str, slots: int, slot: str, source: str, after: Sequence[str] = ()) -> str:
        """A task that copies an element of `%src` to a slot; `source` names the element."""
        if slots == 1 and self.random.random() < 0.2:
            view = self.value(
                "memref.subview %src[3] [1] [1] : memref<64xf32> to memref<1xf32, strided<[1], offset: 3>>"
            )
            dependencies = f"[{', '.join(after)}] " if after else ""
            types = "memref<1xf32, strided<[1], offset: 3>> to memref<1xf32>"
            return self.value(f"async_region.copy {dependencies}{view} to {buffer} : {types}")
        dependencies = f" [{', '.join(after)}]" if after else ""
        inner = self.name()
        return self.value(
            f"async.execute{dependencies} {{\n"
            f"{inner} = memref.load %src[{source}] : memref<64xf32>\n"
            f"memref.store {inner}, {buffer}[{slot}] : memref<{slots}xf32>\n"
            "async.yield\n}"
        )

    def wait(self, *tokens: str) -> None:
        self.lines += [f"async.await {token} : {TOKEN}" for token in tokens]

    def read(self, buffer: str, slots: int, slot: str) -> None:
        """The thread reads a slot into a place of its own in `%out`, adding to what is there."""
        value = self.value(f"memref.load {buffer}[{slot}] : memref<{slots}xf32>")
        self.reads = (self.reads + 1) % 64
        place = self.value(f"arith.constant {self.reads} : index")
        old = self.value(f"memref.load %out[{place}] : memref<64xf32>")
        total = self.value(f"arith.addf {old}, {value} : f32")
        self.lines.append(f"memref.store {total}, %out[{place}] : memref<64xf32>")

    # Pieces

    def rings(self) -> None:
        """A loop over one to three rings, perhaps inside another loop."""
        outer = self.random.random() < 0.3
        rings = [_Ring(self.buffer(ahead + 1), ahead, []) for ahead in self.depths()]
        if outer:
            self.lines.append(f"scf.for {self.name()} = %c0 to %c2 step %c1 {{")
        for step in range(max(ring.ahead for ring in rings)):
            for ring in rings:
                if step < ring.ahead:
                    ring.tokens.append(self.task(ring.name, ring.ahead + 1, f"%c{step}", f"%c{step}"))
        self.loop(rings)
        if outer:
            self.lines.append("}")

    def depths(self) -> list[int]:
        return [self.random.randint(1, 3) for _ in range(self.random.choice([1, 1, 2, 3]))]

    def loop(self, rings: list[_Ring]) -> None:
        result, counter = self.name(), self.name()
        carried = [(ring, [self.name() for _ in ring.tokens]) for ring in rings]
        inits = ", ".join(
            f"{name} = {token}" for ring, names in carried for name, token in zip(names, ring.tokens, strict=True)
        )
        count = sum(ring.ahead for ring in rings)
        types = ", ".join([TOKEN] * count)
        upper = self.random.choice(["%n", "%n", "%c4"])
        self.lines.append(
            f"{result}:{count} = scf.for {counter} = %c0 to {upper} step %c1 iter_args({inits}) -> ({types}) {{"
        )
        yielded: dict[str, str] = {}
        for ring in self.shuffled(rings):
            ahead = self.value(f"arith.addi {counter}, %c{ring.ahead} : index")
            slots = self.value(f"arith.constant {ring.ahead + 1} : index")
            slot = self.value(f"arith.remui {ahead}, {slots} : index")
            yielded[ring.name] = self.task(ring.name, ring.ahead + 1, slot, ahead)
        self.consume(carried, counter)
        last = [name for ring, names in carried for name in [*names[1:], yielded[ring.name]]]
        self.lines += [f"scf.yield {', '.join(last)} : {types}", "}"]
        number = 0
        drains: list[str] = []
        for ring in rings:
            drains += [f"{result}#{number + index}" for index in range(ring.ahead)]
            number += ring.ahead
        self.wait(*drains)

    def consume(self, carried: list[tuple[_Ring, list[str]]], counter: str) -> None:
        for ring, names in self.shuffled(carried):
            self.wait(names[0])
            slots = self.value(f"arith.constant {ring.ahead + 1} : index")
            self.read(ring.name, ring.ahead + 1, self.value(f"arith.remui {counter}, {slots} : index"))

    def shuffled(self, items: list) -> list:
        return self.random.sample(items, len(items))

    def graph(self) -> None:
        """Tasks, some after others, waited for in any order."""
        started: list[tuple[str, str]] = []
        for index in range(self.random.randint(2, 5)):
            buffer = self.buffer(1)
            after = [token for token, _ in started if self.random.random() < 0.25]
            started.append((self.task(buffer, 1, "%c0", f"%c{index}", after), buffer))
            if self.random.random() < 0.3:
                token, ready = self.random.choice(started)
                self.wait(token)
                self.read(ready, 1, "%c0")
        for token, buffer in self.shuffled(started):
            self.wait(token)
            if self.random.random() < 0.8:
                self.read(buffer, 1, "%c0")

    def group(self) -> None:
        """Tasks that are waited for together, some before the others are started."""
        size = self.random.randint(1, 3)
        group = self.value(f"async.create_group %c{size} : !async.group")
        buffers = [self.buffer(1) for _ in range(size)]
        for index, buffer in enumerate(buffers):
            token = self.task(buffer, 1, "%c0", f"%c{index}")
            self.value(f"async.add_to_group {token}, {group} : {TOKEN}")
        other = self.buffer(1)
        late = self.task(other, 1, "%c0", "%c5")
        self.lines.append(f"async.await_all {group}")
        for buffer in buffers:
            self.read(buffer, 1, "%c0")
        self.wait(late)
        self.read(other, 1, "%c0")

    def branch(self) -> None:
        """A task that is started in one of two branches, and perhaps another one in only one of them."""
        buffer, other, token = self.buffer(1), self.buffer(1), self.name()
        before = self.task(other, 1, "%c0", "%c6")
        self.lines.append(f"{token} = scf.if %c -> ({TOKEN}) {{")
        for arm in range(2):
            if arm == 1:
                self.lines.append("} else {")
            inner = self.task(buffer, 1, "%c0", f"%c{arm}")
            if self.random.random() < 0.4:
                private = self.buffer(1)
                self.wait(self.task(private, 1, "%c0", "%c7"))
                self.read(private, 1, "%c0")
            self.lines.append(f"scf.yield {inner} : {TOKEN}")
        self.lines.append("}")
        for waited, ready in self.shuffled([(token, buffer), (before, other)]):
            self.wait(waited)
            self.read(ready, 1, "%c0")


PIECES = ("rings", "rings", "graph", "graph", "group", "branch")


def token_program(seed: int) -> TokenProgram:
    """The program of this seed."""
    rng = random.Random(seed)
    pieces = [rng.choice(PIECES) for _ in range(rng.randint(1, 2))]
    return TokenProgram(seed, _Writer(seed).program(pieces))
