"""
Random loops with random schedules, and what is true of them by brute force.

A `RandomLoop` knows its ops twice: as IR text, and as plain data (which arrays each op touches where, which values it
reads from which iteration). From the data alone it decides, by enumerating iterations, whether a schedule keeps every
order that matters. Nothing here uses the code under test.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.support.scf_pipelining import LOOP, ORDER, STAGE

ARRAYS = ("A", "B")
SIZE = 96
"""Elements of each array; the largest subscript used is below."""


@dataclass(frozen=True)
class Touch:
    """An access to `array[scale * iv + offset]`."""

    array: str
    scale: int
    offset: int
    writes: bool


@dataclass
class LoopOp:
    """One op of a loop body. `text` has `{@}` where its attributes go, or nothing when the op is not at body level."""

    text: str
    reads: tuple[str, ...]
    result: str | None = None
    touches: tuple[Touch, ...] = ()
    stage: int = 0
    order: int = 0

    @property
    def has_effect(self) -> bool:
        return any(touch.writes for touch in self.touches)


@dataclass
class RandomLoop:
    """A loop `for %i = %lb to %ub step %st iter_args(%c0 = ..., ...)` over the ops, and its schedule."""

    seed: int
    element: str
    ops: list[LoopOp]
    carried: list[str]
    yielded: list[str]
    bounds: list[tuple[int, int]]
    """Pairs of lower bound and step to run it with."""
    static: bool
    stages: int = field(default=1)

    # As text

    def function(self, name: str, *, scheduled: bool, static_bounds: tuple[int, int, int] | None = None) -> str:
        """The loop in a function of two arrays and its bounds, which it ignores where `static_bounds` are given."""
        element = self.element
        array = f"memref<{SIZE}x{element}>"
        results = [element] * len(self.carried)
        arrow = f" -> ({', '.join(results)})" if results else ""
        lines = [f"func.func @{name}(%A: {array}, %B: {array}, %lb: index, %ub: index, %st: index){arrow} {{"]
        lines += [f"  %n{k} = arith.constant {k} : index" for k in range(2, 5)]
        lines += [f"  %k{k} = arith.constant {self._number(k)} : {element}" for k in range(2, 6)]
        bounds = ("%lb", "%ub", "%st")
        if static_bounds is not None:
            bounds = ("%slb", "%sub", "%sst")
            lines += [f"  {b} = arith.constant {v} : index" for b, v in zip(bounds, static_bounds, strict=True)]
        head, tail = self._head_and_tail()
        lines.append(f"  {head[0]}scf.for %i = {bounds[0]} to {bounds[1]} step {bounds[2]}{head[1]} {{")
        lines += [f"    {self._op_text(op, scheduled)}" for op in self.ops]
        if self.carried:
            lines.append(f"    scf.yield {', '.join(self.yielded)} : {', '.join(results)}")
        lines.append(f"  }} {{{LOOP}}}" if scheduled else "  }")
        lines += [f"  return {tail}", "}"]
        return "\n".join(lines)

    def _head_and_tail(self) -> tuple[tuple[str, str], str]:
        if not self.carried:
            return ("", ""), ""
        types = ", ".join([self.element] * len(self.carried))
        names = ", ".join(f"%r#{k}" for k in range(len(self.carried)))
        args = ", ".join(f"{name} = %k{2 + k}" for k, name in enumerate(self.carried))
        count = len(self.carried)
        return (f"%r:{count} = ", f" iter_args({args}) -> ({types})"), f"{names} : {types}"

    def _op_text(self, op: LoopOp, scheduled: bool) -> str:
        place = f" {{{ORDER} = {op.order} : i64, {STAGE} = {op.stage} : i64}}" if scheduled else ""
        return op.text.replace(" {@}", place)

    def _number(self, value: int) -> str:
        return f"{value}.5" if self.element == "f32" else str(value)

    # As data

    def value_dependences(self) -> list[tuple[int, int, int]]:
        """`(source, sink, distance)` of op indices, through SSA values."""
        makers = {op.result: index for index, op in enumerate(self.ops) if op.result is not None}
        edges: list[tuple[int, int, int]] = []
        for index, op in enumerate(self.ops):
            for name in op.reads:
                distance = 0
                seen: set[str] = set()
                while name in self.carried and name not in seen:
                    seen.add(name)
                    name = self.yielded[self.carried.index(name)]
                    distance += 1
                if name in makers:
                    edges.append((makers[name], index, distance))
        return edges

    def values_in_order(self) -> bool:
        """Whether every value is made before it is used."""
        return all(self._time(source, 0) < self._time(sink, d) for source, sink, d in self.value_dependences())

    def _time(self, index: int, iteration: int) -> tuple[int, int]:
        op = self.ops[index]
        return iteration + op.stage, op.order

    def memory_in_order(self, lower: int, step: int, trips: int) -> bool:
        """Whether any two accesses to one element, one of them a write, keep their order; by enumeration."""
        instances = [
            (iteration, index, touch.array, touch.scale * (lower + step * iteration) + touch.offset, touch.writes)
            for iteration in range(trips)
            for index, op in enumerate(self.ops)
            for touch in op.touches
        ]
        for first in range(len(instances)):
            j, a, array, place, writes = instances[first]
            for k, b, other_array, other_place, other_writes in instances[first + 1 :]:
                if (j, a) == (k, b) or array != other_array or place != other_place or not (writes or other_writes):
                    continue
                if not self._time(a, j) < self._time(b, k):
                    return False
        return True


def random_loop(seed: int) -> RandomLoop:
    """The loop of this seed."""
    return _Generator(seed).generate()


class _Generator:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.element = self.random.choice(["i64", "f32"])
        self.ops: list[LoopOp] = []
        self.values: list[str] = []
        self.count = 0

    def generate(self) -> RandomLoop:
        rng = self.random
        carried = [f"%c{k}" for k in range(rng.choice([0, 0, 1, 1, 2, 3]))]
        self.values += carried
        if not carried:
            self.load()
        for _ in range(rng.randint(2, 7)):
            rng.choice([self.load, self.load, self.store, self.arithmetic, self.arithmetic, self.conditional_value,
                        self.conditional_store, self.induction])()  # fmt: skip
        if not any(op.has_effect for op in self.ops):
            self.store()
        results = [op.result for op in self.ops if op.result is not None and not op.result.startswith("%x")]
        yielded = [self._yielded(name, carried, results) for name in carried]
        bounds = [(0, 1), (rng.randint(0, 3), rng.randint(1, 3))]
        loop = RandomLoop(self.seed, self.element, self.ops, carried, yielded, bounds, static=rng.random() < 0.3)
        _drop_dead(loop)
        self._schedule(loop)
        return loop

    def _yielded(self, name: str, carried: list[str], results: list[str]) -> str:
        kind = self.random.random()
        if results and kind < 0.9:
            return self.random.choice(results)
        if kind < 0.96:
            return self.random.choice(carried)
        return "%k5" if kind < 0.98 else name

    # Ops

    def _fresh(self, prefix: str) -> str:
        self.count += 1
        return f"%{prefix}{self.count}"

    def _subscript(self) -> tuple[str, tuple[str, ...], int, int]:
        """The text of a subscript, what it reads, and its scale and offset."""
        kind = self.random.random()
        if kind < 0.5:
            return "%i", (), 1, 0
        offset = self.random.randint(2, 4)
        name = self._fresh("x")
        if kind < 0.85:
            self.ops.append(LoopOp(f"{name} = arith.addi %i, %n{offset} {{@}} : index", ("%i",), name))
            return name, (name,), 1, offset
        self.ops.append(LoopOp(f"{name} = arith.muli %i, %n2 {{@}} : index", ("%i",), name))
        return name, (name,), 2, 0

    def load(self) -> None:
        index, reads, scale, offset = self._subscript()
        array, name = self.random.choice(ARRAYS), self._fresh("v")
        text = f"{name} = memref.load %{array}[{index}] {{@}} : memref<{SIZE}x{self.element}>"
        self.ops.append(LoopOp(text, ("%i", *reads), name, (Touch(array, scale, offset, False),)))
        self.values.append(name)

    def store(self) -> None:
        index, reads, scale, offset = self._subscript()
        array, value = self.random.choice(ARRAYS), self._operand()
        text = f"memref.store {value}, %{array}[{index}] {{@}} : memref<{SIZE}x{self.element}>"
        self.ops.append(LoopOp(text, ("%i", value, *reads), None, (Touch(array, scale, offset, True),)))

    def _operand(self) -> str:
        return self.random.choice(self.values[-4:]) if self.values else "%k2"

    def _combine(self, name: str, left: str, right: str) -> str:
        suffix = "f" if self.element == "f32" else "i"
        return f"{name} = arith.{self.random.choice(['add', 'mul'])}{suffix} {left}, {right}"

    def arithmetic(self) -> None:
        left, right, name = self._operand(), self.random.choice([self._operand(), "%k3"]), self._fresh("v")
        self.ops.append(LoopOp(f"{self._combine(name, left, right)} {{@}} : {self.element}", (left, right), name))
        self.values.append(name)

    def induction(self) -> None:
        if self.element != "i64":
            return self.load()
        name = self._fresh("v")
        self.ops.append(LoopOp(f"{name} = arith.index_cast %i {{@}} : index to i64", ("%i",), name))
        self.values.append(name)
        return None

    def _condition(self) -> str:
        name, limit = self._fresh("x"), self.random.randint(2, 4)
        text = f'{name} = "arith.cmpi"(%i, %n{limit}) <{{predicate = 2 : i64}}> {{@}} : (index, index) -> i1'
        self.ops.append(LoopOp(text, ("%i",), name))
        return name

    def conditional_value(self) -> None:
        condition, left, right, name = self._condition(), self._operand(), self._operand(), self._fresh("v")
        inner = self._combine(f"{name}t", left, "%k4")
        text = (
            f"{name} = scf.if {condition} -> ({self.element}) {{ {inner} : {self.element}  "
            f"scf.yield {name}t : {self.element} }} else {{ scf.yield {right} : {self.element} }} {{@}}"
        )
        self.ops.append(LoopOp(text, (condition, left, right), name))
        self.values.append(name)

    def conditional_store(self) -> None:
        """A store in a region. Where the condition is false nothing is touched; by the data it always may be."""
        condition, value = self._condition(), self._operand()
        array = self.random.choice(ARRAYS)
        text = f"scf.if {condition} {{ memref.store {value}, %{array}[%i] : memref<{SIZE}x{self.element}> }} {{@}}"
        self.ops.append(LoopOp(text, (condition, value, "%i"), None, (Touch(array, 1, 0, True),)))

    # Schedules

    def _schedule(self, loop: RandomLoop) -> None:
        """Mostly schedules in which values are made before their use; whether memory agrees is left to chance."""
        wanted = self.random.random() < 0.9
        for _ in range(60):
            self._place(loop)
            if loop.values_in_order() == wanted:
                break
        loop.stages = max(op.stage for op in loop.ops) + 1

    def _place(self, loop: RandomLoop) -> None:
        rng, most = self.random, self.random.choice([0, 1, 1, 2, 2, 2, 3, 3])
        makers = {op.result: op for op in loop.ops if op.result is not None}
        for op in loop.ops:
            earliest = max((makers[name].stage for name in op.reads if name in makers), default=0)
            op.stage = min(most, earliest + rng.choice([0, 0, 1, 1, 2]))
        ranks = list(range(len(loop.ops)))
        style = rng.random()
        if style < 0.4:
            ranks.sort(key=lambda index: (-loop.ops[index].stage, index))
        elif style < 0.7:
            rng.shuffle(ranks)
        for order, index in enumerate(ranks):
            loop.ops[index].order = order


def _drop_dead(loop: RandomLoop) -> None:
    """The ops without those that mlir-opt would fold away before it looks at the schedule."""
    while True:
        used = {name for op in loop.ops for name in op.reads} | set(loop.yielded)
        alive = [op for op in loop.ops if op.has_effect or op.result in used]
        if len(alive) == len(loop.ops):
            return
        loop.ops = alive
