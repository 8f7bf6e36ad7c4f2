"""Random kernels of warps: right ones, and the same with something changed. All follows from the seed."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from random import Random

from tests.checker.explorer.kernel_families import FAMILIES
from tests.checker.explorer.kernels import (
    BARRIER_KINDS,
    Do,
    Kernel,
    arrive,
    elected,
    fence,
    init,
    inval,
    load,
    peek,
    poke,
    store,
    text_of,
)

TESTS = ("test", "try")


@dataclass(frozen=True)
class KernelSample:
    """A kernel of the corpus."""

    seed: int
    family: str
    changes: tuple[str, ...]
    """What was changed in a right one."""
    text: str


def generate(seed: int) -> KernelSample:
    """Kernel number `seed`."""
    rng = Random(f"kernel {seed}")
    family = rng.choice(FAMILIES)
    kernel = family(rng)
    wanted = rng.choice((0, 0, 0, 1, 1, 1, 2))
    changes = tuple(change(rng, kernel) for _ in range(wanted))
    return KernelSample(seed, family.__name__, changes, text_of(kernel))


def change(rng: Random, kernel: Kernel) -> str:
    """One small change in place; returns what it is."""
    places = [(body, n) for body in kernel.lists() for n in range(len(body))]
    for _ in range(20):
        body, place = rng.choice(places)
        name = rng.choice(sorted(CHANGES))
        if CHANGES[name](rng, body, place):
            return f"{name} {body[place].kind if place < len(body) else 'the last'}"
    del body[place]
    return "drop"


def _drop(rng: Random, body: list[Do], place: int) -> bool:
    if body[place].kind == "load":
        return False
    del body[place]
    return True


def _swap(rng: Random, body: list[Do], place: int) -> bool:
    if not place or body[place].kind == body[place - 1].kind:
        return False
    body[place - 1 : place + 1] = body[place - 1 : place + 1][::-1]
    return True


def _repeat(rng: Random, body: list[Do], place: int) -> bool:
    body.insert(place, deepcopy(body[place]))
    return True


def _number(rng: Random, body: list[Do], place: int) -> bool:
    statement = body[place]
    match statement.kind:
        case "wait" | "spin" | "when":
            statement.n ^= 1
        case "init" | "arrive" | "no_complete" | "expect":
            statement.n = max(1, statement.n + rng.choice((-1, 1)))
        case "meet" | "meet_later":
            statement.n += rng.choice((-1, 1)) * (1 if statement.n < 32 else 32)
            statement.n = max(statement.n, 1)
        case _:
            return False
    return True


def _place(rng: Random, body: list[Do], place: int) -> bool:
    """Another barrier, or one that overlaps; another slot."""
    statement = body[place]
    if statement.kind in BARRIER_KINDS:
        statement.at = max(0, statement.at + rng.choice((-8, 8, 8, 4)))
    elif statement.kind in ("load", "store", "meet"):
        statement.at = max(0, statement.at + rng.choice((-1, 1)))
    else:
        return False
    return True


def _ignore(rng: Random, body: list[Do], place: int) -> bool:
    """Drop the answer."""
    if body[place].kind not in ("wait", "spin"):
        return False
    body[place].kind = rng.choice(TESTS)
    return True


def _relax(rng: Random, body: list[Do], place: int) -> bool:
    if body[place].kind not in ("arrive", "expect") or "on" in body[place].flags:
        return False
    body[place].flags.add("relaxed")
    return True


def _switch(rng: Random, body: list[Do], place: int) -> bool:
    if body[place].kind not in ("init", "expect") or "relaxed" in body[place].flags:
        return False
    body[place].flags = {rng.choice(("on", "off", "off"))}
    return True


def _no_complete(rng: Random, body: list[Do], place: int) -> bool:
    if body[place].kind != "arrive" or body[place].flags:
        return False
    body[place].kind = "no_complete"
    return True


def _elect(rng: Random, body: list[Do], place: int) -> bool:
    """By one thread of the warp what all did, or by all what one did."""
    statement = body[place]
    if statement.kind == "elected":
        body[place : place + 1] = statement.bodies[0]
    elif statement.kind in ("arrive", "expect", "copy"):
        body[place] = elected(statement)
    else:
        return False
    return True


def _branch(rng: Random, body: list[Do], place: int) -> bool:
    """Swap the arms."""
    if len(body[place].bodies) != 2:
        return False
    body[place].bodies.reverse()
    return True


def _insert(rng: Random, body: list[Do], place: int) -> bool:
    at = rng.choice((0, 0, 8))
    new = (init(at, 1), inval(at), arrive(at), poke(at), peek(at), poke(at + 4), load(0), store(0), fence())
    body.insert(place, rng.choice(new))
    return True


CHANGES = {
    "drop": _drop,
    "drop it": _drop,
    "swap": _swap,
    "repeat": _repeat,
    "number": _number,
    "number of": _number,
    "place": _place,
    "ignore": _ignore,
    "relax": _relax,
    "switch": _switch,
    "no complete": _no_complete,
    "elect": _elect,
    "branch": _branch,
    "insert": _insert,
}
