"""
What `make test` runs of a family: of a parametrised test that is too long to be run whole each time.

A family that takes S seconds of processor time gets sqrt(S) / 4 seconds of each run: one of 4 seconds gets 0.5, one of
64 seconds gets 2. A short family runs whole. The members of a run are

    one part of the family     the next seed takes the next part; as many seeds as there are parts take every member
    members for lost values    each kernel, target, strategy or number of stages of the family occurs in every run

Where one member alone is long, it takes turns: it runs with one of several seeds. A test without parameters is a family
of one. The seconds are those of `tests/durations.json`. A family that it does not know is short, until `make durations`
has measured it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from itertools import count
from pathlib import Path

SHARE = 0.25
"""The seconds that a run takes of a family of 1 second."""

FEW_NUMBERS = 8
"""An axis of more integers than this one has seeds of programs: each is like the other."""

LONG = 1.2
"""Seconds of processor time. A shorter member is not too much for a run."""

Axes = Mapping[str, object]
"""A member of a family: its value on each axis."""


def chosen(name: str, members: Sequence[Axes], seconds: float, seed: int) -> set[int]:
    """The numbers of the members of a family that a run takes. The family takes `seconds` if it runs whole."""
    parts = parts_of(len(members), seconds)
    generator = random.Random(name)
    order = list(range(max(parts, len(members))))
    generator.shuffle(order)
    part = {number for number in order[seed % parts :: parts] if number < len(members)}
    if not part:
        return part
    later = list(range(len(members)))
    random.Random(f"{name} {seed}").shuffle(later)
    return part | covering(members, part, later)


def parts_of(members: int, seconds: float) -> int:
    """
    How many parts a family has. Each has a member, except where the members are long: then some parts are empty, and a
    run takes at most `LONG` seconds on average.
    """
    if seconds <= allowed(seconds):
        return 1
    return min(math.ceil(seconds / allowed(seconds)), max(members, math.ceil(seconds / LONG)))


def allowed(seconds: float) -> float:
    """The seconds that a run may take of a family that takes `seconds`."""
    return math.sqrt(seconds) * SHARE


def covering(members: Sequence[Axes], part: Collection[int], order: Sequence[int]) -> set[int]:
    """Members with the values that `part` lacks: always the one that has most of them, the first in `order`."""
    wanted = values_that_repeat(members)
    for number in part:
        wanted -= members[number].items()
    added: set[int] = set()
    while wanted:
        best = max(order, key=lambda number: len(wanted & members[number].items()))
        wanted -= members[best].items()
        added.add(best)
    return added


def values_that_repeat(members: Sequence[Axes]) -> set[tuple[str, object]]:
    """(axis, value) of the axes that are a few values each, of which others are combinations: no names, no seeds."""
    found: set[tuple[str, object]] = set()
    for axis in {axis: None for member in members for axis in member}:
        values = {member[axis] for member in members if axis in member}
        seeds = len(values) > FEW_NUMBERS and all(isinstance(value, int) for value in values)
        if len(values) * 2 <= len(members) and not seeds:
            found |= {(axis, value) for value in values}
    return found


def axes_of(parameters: Mapping[str, object], indices: Mapping[str, int]) -> Axes:
    """The values of a member's parameters. The parts of a tuple are axes; what cannot be compared is its place."""
    found: dict[str, object] = {}
    for name, value in parameters.items():
        parts = [(f"{name} {n}", part) for n, part in zip(count(), value)] if isinstance(value, tuple) else []
        for axis, part in parts or [(name, value)]:
            is_plain = part is None or isinstance(part, (str, int, float, Enum, Path, type))
            found[axis] = part if is_plain else ("place", indices.get(name, 0))
    return found
