"""
Small random asynchronous programs: correct pipelines, rings and task graphs, mutants of these, and programs without any
structure.

Everything follows from the model and the seed: `generate("marks", 17)` is the same program always.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from random import Random

from tests.checker.explorer.families import FAMILIES
from tests.checker.explorer.statements import LAYOUT, Source, Stmt, fresh
from tests.checker.explorer.text import text_of

SYNCHRONISING = frozenset(LAYOUT) - {"load", "store", "loop", "call", "scope", "copy", "cp"}
"""Kinds where a mutation is more likely to break something."""
FIXED = frozenset({"init", "make", "zero", "agents"})
"""Kinds that stay where they are: a barrier, or a queue, is made once, before anybody may use it."""


@dataclass(frozen=True)
class Sample:
    """A program of the corpus."""

    model: str
    seed: int
    family: str
    """The generator that made it, and how often it was mutated."""
    text: str


def generate(model: str, seed: int) -> Sample:
    """Program number `seed` of a model."""
    rng = Random(f"{model} {seed}")
    build = rng.choice(FAMILIES[model])
    source = build(rng)
    mutations = 0
    if not build.__name__.startswith("random"):
        mutations = rng.choice((0, 0, 1, 1, 1, 2, 2))
        for _ in range(mutations):
            mutate(rng, source)
    return Sample(model, seed, f"{build.__name__}+{mutations}", text_of(source))


def lists_of(source: Source) -> Iterator[list[Stmt]]:
    """Every list of statements in the program, outermost first."""
    stack = [source.body, *source.helpers]
    while stack:
        statements = stack.pop()
        yield statements
        stack += [body for statement in statements for body in statement.bodies]


def mutate(rng: Random, source: Source) -> None:
    """One small change in place."""
    lists = [(s, n) for s in lists_of(source) for n in range(len(s)) if s[n].kind not in FIXED]
    counts = [s[n] for s in lists_of(source) for n in range(len(s)) if s[n].kind in ("init", "make")]
    if counts and rng.random() < 0.15:
        rng.choice(counts).numbers[1] = rng.randint(1, 3)
        return
    telling = [(s, n) for s, n in lists if s[n].kind in SYNCHRONISING]
    if not lists:
        return
    statements, place = rng.choice(telling if telling and rng.random() < 0.7 else lists)
    statement = statements[place]
    change = rng.choice(
        ("drop", "drop", "swap", "swap", "number", "number", "number", "use", "use", "repeat", "insert")
    )
    if (change == "use" and not statement.uses) or (change == "number" and not LAYOUT[statement.kind]):
        change = "drop"
    match change:
        case "drop":
            del statements[place]
        case "swap" if place and statements[place - 1].kind not in FIXED:
            statements[place - 1 : place + 1] = statements[place - 1 : place + 1][::-1]
        case "number":
            _change_number(rng, statement)
        case "use" if rng.random() < 0.6:
            statement.uses.pop(rng.randrange(len(statement.uses)))
        case "use":
            statement.uses[rng.randrange(len(statement.uses))] = rng.randint(1, 4)
        case "repeat" if statement.name is None and not statement.bodies:
            statements.insert(place, deepcopy(statement))
        case _:
            if not any(s.kind == "scope" for s in statements):
                statements.insert(place, fresh(rng, source.model))


def _change_number(rng: Random, statement: Stmt) -> None:
    most = LAYOUT[statement.kind]
    which = rng.randrange(len(most))
    old = statement.numbers[which]
    near = [value for value in (old - 1, old + 1) if 0 <= value <= most[which]]
    statement.numbers[which] = rng.choice(near) if near else old
