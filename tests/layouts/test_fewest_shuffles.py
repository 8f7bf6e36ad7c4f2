"""The number of shuffles against the least that any schedule could do, from explicit tables."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations, combinations_with_replacement, product

import pytest

from tests.layouts.random_layouts import small
from tileas_xdsl.layouts.exchange import exchange
from tileas_xdsl.layouts.linear import LinearLayout


def words_between_lanes(source: LinearLayout, target: LinearLayout, capacity: int) -> Counter[tuple[int, int]]:
    """(sender, receiver) -> the words that have to go that way, where no element is held twice."""
    registers, lanes = source.input_size("register"), source.input_size("lane")
    owner = {source.at(register=r, lane=lane): lane for r in range(registers) for lane in range(lanes)}
    elements: Counter[tuple[int, int]] = Counter()
    for lane in range(lanes):
        for r in range(target.input_size("register")):
            sender = owner[target.at(register=r, lane=lane)]
            if sender != lane:
                elements[sender, lane] += 1
    return Counter({way: -(-count // capacity) for way, count in elements.items()})


def busiest(words: Counter[tuple[int, int]]) -> int:
    """No schedule has fewer rounds than the busiest lane has words to send, or to receive."""
    load: Counter[tuple[str, int]] = Counter()
    for (sender, receiver), count in words.items():
        load["send", sender] += count
        load["receive", receiver] += count
    return max(load.values(), default=0)


@pytest.mark.parametrize("seed", range(200))
def test_no_lane_could_do_with_fewer_shuffles(seed: int):
    generator = random.Random(seed)
    registers, lanes = generator.randrange(5), generator.randrange(1, 6)
    source, target = (small(generator, registers, lanes, registers + lanes) for _ in range(2))
    bits = generator.choice((8, 16, 32, 64))
    found = exchange(source, target, bits)
    parts = max(1, bits // 32)
    assert found.shuffles == parts * busiest(words_between_lanes(source, target, max(1, 32 // bits)))


@pytest.mark.parametrize("seed", range(40))
def test_with_copies_no_choice_of_copies_does_better(seed: int):
    """
    4 lanes, elements held twice: every choice of a holder for every place, every schedule of what they then send.
    Receivers may share a word that is offered. Linear choices are as good as any of them, in every one of these cases.
    """
    generator = random.Random(seed)
    source, target = (small(generator, 1, 2, 2) for _ in range(2))
    assert exchange(source, target, 32).shuffles == exhaustive(source, target)


def exhaustive(source: LinearLayout, target: LinearLayout) -> int:
    """The fewest rounds of 32-bit words: try 0, 1, 2, .. and everything that lanes could offer and take."""
    lanes, registers = source.input_size("lane"), source.input_size("register")
    have = [{source.at(register=r, lane=lane) for r in range(registers)} for lane in range(lanes)]
    want = [{target.at(register=r, lane=lane) for r in range(registers)} for lane in range(lanes)]
    missing = [wanted - own for wanted, own in zip(want, have, strict=True)]
    if not any(missing):
        return 0
    offers = [set(words) for words in product(*(sorted(own) for own in have))]
    for rounds in range(1, 8):
        for chosen in combinations_with_replacement(offers, rounds):
            if all(_served(elements, chosen) for elements in missing):
                return rounds
    raise AssertionError("more rounds than elements")


def _served(elements: set[tuple[int, ...]], rounds: tuple[set[tuple[int, ...]], ...]) -> bool:
    """Whether each element can be taken in a round of its own (Hall's condition, few enough to try)."""
    return all(
        sum(bool(offer & set(some)) for offer in rounds) >= size
        for size in range(1, len(elements) + 1)
        for some in combinations(sorted(elements), size)
    )
