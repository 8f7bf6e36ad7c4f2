"""
Programs as trees of statements, before they are text: so that one set of mutations serves all models.

Numbers in statements. A *place* is three of them, (base, depth, shift): the number `base` or, inside a loop and with a
depth, `base + (i + shift) mod depth`, which is how rings and versions of a buffer are addressed.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from random import Random

MODELS = ("tokens", "functions", "queues", "tiles", "words", "marks", "barriers", "expectations")
ON_POINTERS = ("words", "marks", "barriers", "expectations")
"""The models whose programs take pointers; the others take memrefs."""
CELLS = 4
"""Elements of an array; 32 bits each."""


@dataclass
class Stmt:
    """One statement. What `numbers` and `uses` mean depends on the kind: see `LAYOUT`."""

    kind: str
    numbers: list[int] = field(default_factory=list[int])
    bodies: list[list[Stmt]] = field(default_factory=list["list[Stmt]"])
    name: int | None = None
    """The token or group that the statement defines."""
    uses: list[int] = field(default_factory=list[int])
    """The tokens and groups that it uses. Those that are not in scope are left out of the text."""


@dataclass
class Source:
    """A program before it is text."""

    model: str
    body: list[Stmt]
    helpers: list[list[Stmt]] = field(default_factory=list["list[Stmt]"])


BARRIERS = 4
VALUE = 1000
"""Added to the name of a call: the name of the value that it promises beside its token."""
GIVEN = -1
"""What an asynchronous function calls the token that it is given."""
RETURNS = (("token", "value"), ("token",), ("value",))
"""What each asynchronous helper returns."""

LAYOUT: dict[str, tuple[int, ...]] = {
    "load": (1, 3, 2, 2),  # array, place
    "store": (1, 3, 2, 2),
    "loop": (3,),  # trips
    "agents": (),  # one member a body
    "task": (),
    "await": (),
    "group": (3,),  # size
    "add": (),
    "await_all": (),
    "carry": (3,),  # trips
    "async_call": (2, 3, 2, 2),  # helper, place that it gets
    "commit": (1, 2, 2),  # place of the queue
    "scope": (),
    "wait": (1, 2, 2, 3),  # place of the queue, count
    "make": (1, 2),  # queue of tiles, depth (at least 1)
    "put": (1,),  # queue
    "get": (1,),
    "zero": (),
    "bump": (2,),  # ordering: relaxed, release, both
    "ticket": (2, 2),  # ordering, the number with which the body is executed
    "until": (3, 1, 1),  # number, whether a larger one will do, whether it acquires
    "copy": (3, 2, 2, 3, 2, 2),  # place of the source, place of the target
    "mark": (),
    "wait_marks": (3,),  # count
    "call": (1,),  # helper
    "init": (2, 3),  # barrier, count
    "arrive": (3, 2, 2, 2),  # place of the barrier, count (at least 1)
    "arrive_expect": (3, 2, 2, 2),  # place of the barrier, words
    "expect": (3, 2, 2, 2),
    "wait_phase": (3, 2, 2, 1, 2),  # place of the barrier, parity, depth of the ring that the parity goes round
    "bulk": (3, 2, 2, 3, 3, 2, 2, 2),  # place of the target, source, place of the barrier, words
    "cp": (3, 2, 2, 3),  # place of the target, source
    "arrive_behind": (3, 2, 2, 1),  # place of the barrier, whether the init count counts it
}
"""For each kind its numbers, as the largest value that a mutation gives each."""

PLACES: dict[str, tuple[int, ...]] = {
    "load": (1,),
    "store": (1,),
    "commit": (0,),
    "wait": (0,),
    "async_call": (1,),
    "copy": (0, 3),
    "arrive": (0,),
    "arrive_expect": (0,),
    "expect": (0,),
    "wait_phase": (0,),
    "bulk": (0, 4),
    "cp": (0,),
    "arrive_behind": (0,),
}
"""Where the places begin among the numbers."""

BARRIER_AT = {"arrive": 0, "arrive_expect": 0, "expect": 0, "wait_phase": 0, "bulk": 4, "arrive_behind": 0}
"""Where the place of a barrier begins among the numbers."""

VOCABULARY: dict[str, tuple[str, ...]] = {
    "tokens": ("task", "await", "await", "load", "store", "load", "store", "loop"),
    "functions": ("async_call", "async_call", "task", "await", "await", "load", "store", "loop"),
    "queues": ("commit", "commit", "wait", "load", "store", "loop"),
    "tiles": ("put", "put", "get", "get", "load", "store"),
    "words": ("bump", "bump", "until", "load", "store"),
    "marks": ("copy", "copy", "mark", "mark", "wait_marks", "load", "store", "call"),
    "barriers": ("arrive", "wait_phase", "load", "store", "arrive_expect", "bulk", "expect"),
    "expectations": ("arrive", "wait_phase", "load", "arrive_expect", "bulk", "expect", "cp", "arrive_behind"),
}
"""What is found in a random program, some of it more often."""


# Building blocks ------------------------------------------------------------------------------------------------------


def at(base: int, depth: int = 0, shift: int = 0) -> list[int]:
    return [base, depth, shift]


def load(array: int, place: list[int]) -> Stmt:
    return Stmt("load", [array, *place])


def store(array: int, place: list[int]) -> Stmt:
    return Stmt("store", [array, *place])


def loop(trips: int, body: list[Stmt]) -> Stmt:
    return Stmt("loop", [trips], [body])


def agents(*bodies: list[Stmt]) -> Stmt:
    return Stmt("agents", [1] * len(bodies), list(bodies))


def task(name: int, body: list[Stmt], after: list[int]) -> Stmt:
    return Stmt("task", [], [body], name, list(after))


def async_call(name: int, helper: int, place: list[int], after: list[int] | None = None) -> Stmt:
    """A call whose token is `name`, and whose value `VALUE + name`; it may await the first of `after` itself."""
    return Stmt("async_call", [helper, *place], name=name, uses=list(after or []))


def awaits(*names: int) -> list[Stmt]:
    return [Stmt("await", uses=[name]) for name in names]


def commit(queue: list[int], *bodies: list[Stmt]) -> Stmt:
    """One group of a scope for each of `bodies`."""
    return Stmt("commit", list(queue), [[Stmt("scope", [], [body]) for body in bodies]])


def wait(queue: list[int], count: int, body: list[Stmt]) -> Stmt:
    return Stmt("wait", [*queue, count], [body])


def put(queue: int) -> Stmt:
    return Stmt("put", [queue])


def get(queue: int) -> Stmt:
    return Stmt("get", [queue])


def until(number: int, *, or_more: bool = False) -> Stmt:
    return Stmt("until", [number, int(or_more), 1])


def copy(source: list[int], target: list[int]) -> Stmt:
    return Stmt("copy", [*source, *target])


def wait_marks(count: int) -> Stmt:
    return Stmt("wait_marks", [count])


def arrive(barrier: list[int], count: int = 1) -> Stmt:
    return Stmt("arrive", [*barrier, count])


def wait_phase(barrier: list[int], parity: int, depth: int = 0) -> Stmt:
    return Stmt("wait_phase", [*barrier, parity, depth])


def fetch(target: list[int], barrier: list[int]) -> list[Stmt]:
    """Copy a word asynchronously, announced to a barrier."""
    return [Stmt("arrive_expect", [*barrier, 1]), Stmt("bulk", [*target, 0, *barrier, 1])]


def barriers_of(statement: Stmt) -> range:
    """The numbers of the barriers that a statement uses, in any turn of a loop."""
    if statement.kind not in BARRIER_AT:
        return range(0)
    base, depth, _ = statement.numbers[BARRIER_AT[statement.kind] :][:3]
    return range(base, base + max(depth, 1))


def inits(*counts: int) -> list[Stmt]:
    """Barriers 0, 1, ... with these counts; those that are left over, which a mutation may turn to, have count 1."""
    return [Stmt("init", [barrier, count]) for barrier, count in enumerate((*counts, 1, 1, 1, 1)[:BARRIERS])]


def maybe_unrolled(rng: Random, statement: Stmt) -> list[Stmt]:
    """A loop, or, half of the times, its iterations one after the other."""
    if rng.random() < 0.5:
        return [statement]
    (trips,), (body,) = statement.numbers, statement.bodies
    return [_in_iteration(deepcopy(s), i) for i in range(trips) for s in body]


def _in_iteration(statement: Stmt, iteration: int) -> Stmt:
    numbers = statement.numbers
    for place in PLACES.get(statement.kind, ()):
        base, depth, shift = numbers[place : place + 3]
        if depth:
            numbers[place : place + 3] = at(base + (iteration + shift) % depth)
    if statement.kind == "wait_phase" and numbers[4]:
        numbers[3:] = [(numbers[3] + iteration // numbers[4]) % 2, 0]
    for body in statement.bodies:
        for inner in body:
            _in_iteration(inner, iteration)
    return statement


def some_accesses(rng: Random, most: int = 2) -> list[Stmt]:
    return [
        Stmt(rng.choice(("load", "load", "store")), [rng.randrange(2), *at(rng.randrange(3))])
        for _ in range(rng.randint(1, most))
    ]


def conflict(one: list[Stmt], other: list[Stmt]) -> bool:
    """Whether accesses of two straight lists meet."""
    return any(
        a.numbers[:2] == b.numbers[:2] and "store" in (a.kind, b.kind)
        for a in one
        for b in other
        if {a.kind, b.kind} <= {"load", "store"}
    )


def fresh(rng: Random, model: str) -> Stmt:
    """A random statement without body."""
    kind = rng.choice([kind for kind in VOCABULARY[model] if kind not in BODIED])
    numbers = [rng.randint(0, most) for most in LAYOUT[kind]]
    for place in PLACES.get(kind, ()):
        numbers[place + 1 : place + 3] = [0, 0]
    if kind in ("arrive", "arrive_expect", "arrive_behind", "expect", "wait_phase"):
        numbers[0] %= 2
    if kind == "bulk":
        numbers[4] %= 2
    return Stmt(kind, numbers, uses=[rng.randint(1, 3)] if kind == "await" else [])


BODIED = frozenset({"task", "loop", "commit", "wait", "scope", "agents", "carry", "ticket"})
