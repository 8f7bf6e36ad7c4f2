"""Wavefronts: the rule, and the staging layouts against every memory layout that a small tile has."""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise

import pytest

from tests.layouts.random_layouts import small
from tileas_xdsl.layouts import f2
from tileas_xdsl.layouts.access import accesses
from tileas_xdsl.layouts.banks import Banks, wavefronts
from tileas_xdsl.layouts.distributed import blocked
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.fragments import MmaShape, fragment
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.layouts.staging import staging, store_staging


@pytest.mark.parametrize(
    ("addresses", "width", "expected"),
    [
        ([4 * lane for lane in range(32)], 4, 1),
        ([0] * 32, 4, 1),
        ([128 * lane for lane in range(32)], 4, 32),
        ([8 * lane for lane in range(32)], 4, 2),
        ([2 * lane for lane in range(32)], 2, 1),
        ([lane for lane in range(32)], 1, 1),
        ([8 * lane for lane in range(32)], 8, 2),
        ([16 * lane for lane in range(32)], 16, 4),
        ([128 * lane for lane in range(32)], 16, 32),
        ([32 * lane for lane in range(32)], 16, 8),
    ],
)
def test_lanes_that_go_together_want_one_word_of_a_bank(addresses: list[int], width: int, expected: int):
    assert wavefronts(addresses, width) == expected


def test_an_access_is_aligned():
    with pytest.raises(LayoutError, match="an access of 8 bytes needs an address that is a multiple"):
        wavefronts([4], 8)


TINY = Banks(count=2, width=4)
"""Few enough banks that a tile of 16 elements has rows."""


@pytest.mark.parametrize("seed", range(24))
def test_no_memory_layout_of_a_small_tile_takes_fewer_wavefronts(seed: int):
    """16 elements of 1, 2 or 4 bytes in 4 or 8 lanes, 2 banks: every choice of low bits and of rows is tried."""
    generator = random.Random(seed)
    bits, registers = ((8, 1), (8, 2), (16, 1), (16, 2), (32, 1))[seed % 5]
    source, target = (small(generator, registers, 4 - registers, 4) for _ in range(2))
    best = staging(source, target, bits, banks=TINY)
    assert best.wavefronts == min(every_layout(source, target, bits))
    assert best.conflicts == 0


def every_layout(source: LinearLayout, target: LinearLayout, bits: int) -> set[int]:
    """
    The wavefronts of every memory layout. Only the flag of low bits up to a row matters, not the order of what is above
    a vector of 16 bytes, nor that of the rows.
    """
    found: set[int] = set()
    for columns in flags(4, bits):
        memory = LinearLayout((("offset", columns),), source.outputs)
        found.add(sum(accesses(side, memory, bits, banks=TINY)[0].wavefronts for side in (source, target)))
    return found


@cache
def flags(dimension: int, bits: int) -> list[tuple[int, ...]]:
    """Memory layouts up to what makes no difference: the nested spans of the low bits of a word, and the rows."""
    in_row = {8: 3, 16: 2, 32: 1}[bits]
    inner: list[tuple[int, ...]] = [()]
    for _ in range(in_row):
        inner = [(*chain, v) for chain in inner for v in representatives(chain, dimension)]
    chosen: dict[tuple[object, ...], tuple[int, ...]] = {}
    for low in inner:
        for rows in subspaces(dimension - in_row, dimension):
            columns = (*low, *rows)
            if f2.rank(columns) == dimension:
                chosen[(*spans(low), span(rows))] = columns
    return list(chosen.values())


def representatives(chain: tuple[int, ...], dimension: int) -> list[int]:
    """One vector for each way to extend the span of a chain by one."""
    seen: set[frozenset[int]] = set()
    found: list[int] = []
    for vector in range(1, 1 << dimension):
        grown = span((*chain, vector))
        if len(grown) == 2 << len(chain) and grown not in seen:
            seen.add(grown)
            found.append(vector)
    return found


def subspaces(size: int, dimension: int) -> list[tuple[int, ...]]:
    chains: dict[frozenset[int], tuple[int, ...]] = {span(()): ()}
    for _ in range(size):
        chains = {span((*c, v)): (*c, v) for c in chains.values() for v in representatives(c, dimension)}
    return list(chains.values())


def span(vectors: tuple[int, ...]) -> frozenset[int]:
    return frozenset(f2.combination(vectors, chosen) for chosen in range(1 << len(vectors)))


def spans(chain: tuple[int, ...]) -> list[frozenset[int]]:
    return [span(chain[:size]) for size in range(1, len(chain) + 1)]


def test_all_subspaces_are_tried():
    """Gaussian binomials over F2: 155 planes and 155 spaces of dimension 3 in dimension 5."""
    assert [len(subspaces(size, 5)) for size in range(6)] == [1, 31, 155, 155, 31, 1]


# What a TMA store accepts ---------------------------------------------------------------------------------------------


def test_the_accumulator_of_wgmma_is_staged_for_a_store_without_conflicts_by_stmatrix():
    acc = fragment(MmaShape(64, 64, 16), "acc", 16, (4, 1), (64, 64))
    width, _, access = store_staging(acc, 16, matrix_stores=True)[0]
    assert (width, access.kind, access.wavefronts) == (128, "matrix", 16)


def test_the_best_swizzle_for_a_store_may_have_conflicts():
    """Without stmatrix, and with elements of 4 bytes, rows of the accumulator collide in every swizzle."""
    acc = fragment(MmaShape(64, 64, 8), "acc", 32, (4, 1), (64, 64))
    choices = store_staging(acc, 32)
    counts = [access.wavefronts for _, _, access in choices]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_swizzles_are_worth_their_while():
    columns = blocked([8, 1], [1, 32], [4, 1], [0, 1], [64, 64])
    by_width = {width: access.wavefronts for width, _, access in store_staging(columns, 32)}
    assert set(by_width) == {0, 32, 64, 128}
    assert all(a <= b for a, b in pairwise(access.wavefronts for _, _, access in store_staging(columns, 32)))
