"""
Random programs of tokens, each checked against an independent oracle: reachability in its graph of happens-before.

The generator writes a program and, beside it, the graph that the meaning of each op prescribes (`async_region`): an op
starts after its issue and its dependencies, an agent's steps follow each other, a token comes after what it waits for.
Two accesses to one buffer, one of them a write, race if neither can be reached from the other; what the end of the
function cannot be reached from is undrained, unless it does nothing. The graph shares nothing with the machine.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.machine.running import run

BUFFERS = 4
KIND = "memref<2xf32>"
SEEDS = range(300)


@dataclass
class Graph:
    """Points of an execution, what comes directly before each, and the accesses made there."""

    before: list[list[int]] = field(default_factory=list)
    accesses: list[tuple[int, int, bool]] = field(default_factory=list)
    """(point, buffer, whether it writes)"""
    ends: list[int] = field(default_factory=list)
    """Points that the end of the function has to come after."""

    def point(self, *before: int) -> int:
        self.before.append(list(before))
        return len(self.before) - 1

    def past(self, point: int) -> set[int]:
        stack, seen = [point], {point}
        while stack:
            for other in self.before[stack.pop()]:
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
        return seen

    def races(self) -> bool:
        pasts = {point: self.past(point) for point, _, _ in self.accesses}
        for number, (point, buffer, writes) in enumerate(self.accesses):
            for other, other_buffer, other_writes in self.accesses[:number]:
                if buffer == other_buffer and (writes or other_writes) and point != other:
                    if other not in pasts[point] and point not in pasts[other]:
                        return True
        return False

    def undrained(self, end: int) -> bool:
        return not set(self.ends) <= self.past(end)


class Generator:
    """Writes one program. Tokens are (name, point at which it is ready)."""

    def __init__(self, seed: int, carefulness: float) -> None:
        self.random = random.Random(seed)
        self.carefulness = carefulness
        """How likely a token that could be named is."""
        self.graph = Graph()
        self.names = 0
        self.left = 9

    def name(self, stem: str) -> str:
        self.names += 1
        return f"%{stem}{self.names}"

    def some(self, tokens: list[tuple[str, int]]) -> list[tuple[str, int]]:
        return [token for token in tokens if self.random.random() < self.carefulness]

    def program(self) -> tuple[str, int]:
        """The text, and the point of the end."""
        lines, tokens, here = self.items([], self.graph.point(), depth=0, waits=True)
        returned = self.some(tokens)
        end = self.graph.point(here, *(point for _, point in returned))
        arguments = ", ".join(f"%m{number}: {KIND}" for number in range(BUFFERS))
        types = ", ".join("!async.token" for _ in returned)
        values = ", ".join(name for name, _ in returned)
        body = "\n".join(["%c0 = arith.constant 0 : index", "%one = arith.constant 1.0 : f32", *lines])
        back = f"return {values} : {types}" if returned else "return"
        return f"func.func @f({arguments}) -> ({types}) {{\n{body}\n{back}\n}}", end

    def items(
        self, tokens: list[tuple[str, int]], here: int, *, depth: int, waits: bool
    ) -> tuple[list[str], list[tuple[str, int]], int]:
        """A few ops of one agent: lines, the tokens made here, and the point after them."""
        lines: list[str] = []
        made: list[tuple[str, int]] = []
        for _ in range(self.random.randint(1, 4)):
            if self.left <= 0:
                break
            self.left -= 1
            seen = tokens + made
            choice = self.random.random()
            if choice < 0.35:
                lines.append(self.copy(seen, here, made))
            elif choice < 0.55 and depth < 3:
                lines += self.task(seen, here, made, depth)
            elif choice < 0.7 and depth < 3:
                region, here = self.issued(seen, here, made, depth)
                lines += region
            elif choice < 0.85 and waits:
                here = self.graph.point(here)
                buffer = self.random.randrange(BUFFERS)
                self.graph.accesses.append((here, buffer, True))
                lines.append(f"memref.store %one, %m{buffer}[%c0] : {KIND}")
            elif waits and seen:
                name, point = self.random.choice(seen)
                here = self.graph.point(here, point)
                lines.append(f"async.await {name} : !async.token")
        return lines, made, here

    def copy(self, tokens: list[tuple[str, int]], here: int, made: list[tuple[str, int]]) -> str:
        source, target = self.random.sample(range(BUFFERS), 2)
        edges = self.some(tokens)
        point = self.graph.point(here, *(p for _, p in edges))
        self.graph.accesses += [(point, source, False), (point, target, True)]
        self.graph.ends.append(point)
        made.append((self.name("t"), point))
        return f"{made[-1][0]} = async_region.copy {listed(edges)} %m{source} to %m{target} : {KIND} to {KIND}"

    def task(self, tokens: list[tuple[str, int]], here: int, made: list[tuple[str, int]], depth: int) -> list[str]:
        edges = self.some(tokens)
        start = self.graph.point(here, *(p for _, p in edges))
        lines, inner, end = self.items(tokens, start, depth=depth + 1, waits=True)
        end = self.graph.point(end)
        if any(does_something(line) for line in lines):
            self.graph.ends.append(end)
        return self.closed(f"async_region.region {listed(edges)}", lines, inner, [end], made)

    def issued(
        self, tokens: list[tuple[str, int]], here: int, made: list[tuple[str, int]], depth: int
    ) -> tuple[list[str], int]:
        """A region with a token argument, and where its issuer stands after it."""
        edges = self.some(tokens)
        ready = (self.name("ready"), self.graph.point(*(p for _, p in edges)))
        lines, inner, here = self.items([*tokens, ready], here, depth=depth + 1, waits=False)
        head = f"async_region.region [{', '.join([n for n, _ in edges])} as {ready[0]}]"
        return self.closed(head, lines, inner, [ready[1], here], made), here

    def closed(
        self, head: str, lines: list[str], inner: list[tuple[str, int]], ends: list[int], made: list[tuple[str, int]]
    ) -> list[str]:
        """The region with its tokens: one, or two of which the second is ready with the second group."""
        groups = [self.some(inner) for _ in range(self.random.randint(1, 2))]
        names = [self.name("t") for _ in groups]
        everything = [point for group in groups for _, point in group]
        made.append((names[0], self.graph.point(*ends, *everything)))
        for name, group in zip(names[1:], groups[1:], strict=True):
            made.append((name, self.graph.point(*ends, *(point for _, point in group))))
        results = " -> !async.token" if len(groups) > 1 else ""
        last = "async_region.yield after " + ", ".join(f"[{', '.join(n for n, _ in group)}]" for group in groups)
        return [f"{', '.join(names)} = {head}{results} {{", *lines, last, "}"]


def does_something(line: str) -> bool:
    """Whether a line is more than a part of a region around others: a region of nothing need not be waited for."""
    return not (line.endswith(("{", "}")) or line.startswith("async_region.yield"))


def listed(tokens: list[tuple[str, int]]) -> str:
    return f"[{', '.join(name for name, _ in tokens)}]" if tokens else ""


def generated(seed: int) -> tuple[str, bool, bool]:
    """A program, whether it has a race, and whether it leaves something undrained."""
    generator = Generator(seed, carefulness=(0.3, 0.7, 0.95)[seed % 3])
    text, end = generator.program()
    return text, generator.graph.races(), generator.graph.undrained(end)


@pytest.mark.parametrize("first", SEEDS[::50])
def test_the_checker_and_the_graph_agree(first: int) -> None:
    for seed in range(first, first + 50):
        text, races, undrained = generated(seed)
        report = check(parse(text))
        expected = {kind for kind, found in (("race", races), ("undrained", undrained)) if found}
        assert set(report.kinds) == expected, f"{seed}\n{text}\n{report}"
        assert report.undecided == []


def test_the_programs_are_of_all_sorts() -> None:
    verdicts = [generated(seed)[1:] for seed in SEEDS]
    assert min(verdicts.count(sort) for sort in {(a, b) for a in (False, True) for b in (False, True)}) >= 20


def test_safe_programs_give_the_same_numbers_in_every_order() -> None:
    compared = 0
    for seed in SEEDS:
        text, races, undrained = generated(seed)
        if races or undrained:
            continue
        outcomes = [run(parse(text), "f", order=order, seed=seed) for order in ("eager", "lazy", "random", "timed")]
        for outcome in outcomes[1:]:
            for name, array in outcomes[0].arrays.items():
                np.testing.assert_array_equal(outcome.arrays[name], array, err_msg=f"{seed}\n{text}")
        compared += 1
    assert compared >= 50
