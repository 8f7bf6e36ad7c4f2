"""
Mutants of Tile IR: a token that is dropped, a `join_tokens` short of one, an access one tile off. A model of a few
lines says which of them race; each of these is found, and no other one is called a race.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import pytest

from tests.machine.test_cuda_tile import judged, load, store
from tileas_xdsl.checker.verdict.report import Verdict

TILES = ("zero", "one")


@dataclass(frozen=True)
class Step:
    """An access of one tile, which takes the tokens of earlier ones."""

    kind: str
    tile: str
    after: tuple[int, ...] = ()

    def meets(self, other: Step) -> bool:
        return self.tile == other.tile and "store" in (self.kind, other.kind)


def ordered(kinds: Sequence[tuple[str, str]]) -> list[Step]:
    """The accesses, each behind all that it meets."""
    steps: list[Step] = []
    for kind, tile in kinds:
        step = Step(kind, tile)
        steps.append(replace(step, after=tuple(number for number, one in enumerate(steps) if one.meets(step))))
    return steps


RIGHT = ordered(
    [
        ("load", "zero"),
        ("load", "one"),
        ("store", "zero"),
        ("load", "zero"),
        ("load", "zero"),
        ("store", "one"),
        ("store", "zero"),
        ("load", "one"),
        ("store", "one"),
        ("load", "zero"),
    ]
)


def races(steps: Sequence[Step]) -> bool:
    """Whether two accesses meet that no chain of tokens orders."""
    before = list[set[int]]()
    for step in steps:
        before.append({each for number in step.after for each in (number, *before[number])})
    return any(steps[i].meets(steps[j]) and i not in before[j] for i, j in combinations(range(len(steps)), 2))


def lines_of(steps: Sequence[Step]) -> Iterator[str]:
    """The ops of a program."""
    tokens: list[str] = []
    for number, step in enumerate(steps):
        taken = [tokens[each] for each in step.after] or ["t"]
        if len(taken) > 1:
            yield f"%j{number} = join_tokens {', '.join(f'%{token}' for token in taken)} : token"
        token = f"j{number}" if len(taken) > 1 else taken[0]
        yield (
            load(f"a{number}", step.tile, token) if step.kind == "load" else store(f"s{number}", "a0", step.tile, token)
        )
        tokens.append(f"a{number}t" if step.kind == "load" else f"s{number}")


def mutants() -> Iterator[tuple[str, list[Step]]]:
    """What is wrong with it, and the program."""
    for number, step in enumerate(RIGHT):
        changed = {f"without {token}": replace(step, after=without(step.after, token)) for token in step.after}
        changed |= {f"behind {token} alone": replace(step, after=(token,)) for token in step.after}
        changed["one tile off"] = replace(step, tile=TILES[1 - TILES.index(step.tile)])
        for what, other in changed.items():
            yield f"{number} {what}", [*RIGHT[:number], other, *RIGHT[number + 1 :]]


def without(tokens: tuple[int, ...], token: int) -> tuple[int, ...]:
    return tuple(each for each in tokens if each != token)


MUTANTS = dict(mutants())
WRONG = [name for name, steps in MUTANTS.items() if races(steps)]


def test_the_program_is_right_and_most_mutants_are_not() -> None:
    assert judged(*lines_of(RIGHT)).verdict is Verdict.SAFE
    assert len(WRONG) >= 20
    assert len(WRONG) < len(MUTANTS)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_a_race_where_the_model_says_so(name: str) -> None:
    report = judged(*lines_of(MUTANTS[name]))
    assert report.kinds == (["race"] if name in WRONG else []), str(report)
