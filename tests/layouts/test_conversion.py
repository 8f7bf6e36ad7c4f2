"""
Conversions executed on threads: every pair of layouts, by every plan that there is, gives the same tile element by
element.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import numpy as np
import pytest

from tests.layouts.random_layouts import Pair, pair
from tests.support.corpora import FULL, corpus, sample
from tileas_xdsl.layouts.access import LaneAccess
from tileas_xdsl.layouts.conversion import Abilities, LayoutPlan, plans
from tileas_xdsl.layouts.distributed import REGISTER, WARP, blocked, from_bases, representatives
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.fragments import MmaShape, fragment
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.layouts.moves import Move, described, is_memory, moves
from tileas_xdsl.layouts.threads import Elements, converted, gathered, held, load, packed, shared_memory, store
from tileas_xdsl.transforms.tileas.materialize_convert_layout.query import abilities

PAIRS = range(3000)
SOME = 300
PARTS = 6
EVERYTHING = Abilities()
TARGETS = (70, 80, 90)
"""Compute capabilities: no matrix instructions, matrices are loaded, and stored, too."""
DISTRIBUTED = ("blocked", "sliced", "transposed", "broadcast", "mma", "wgmma", "ldmatrix")
SHARED_BYTE = re.compile("no thread holds a whole byte|a byte that belongs to several threads")
"""Why elements of 4 bits may have no way: a byte is the least that one thread stores."""


@cache
def outcomes(part: int) -> tuple[tuple[str, str], ...]:
    """Of each pair of a part of the corpus: its kind, and the plans that were executed."""
    members = sample(PAIRS, SOME)[part::PARTS]
    return tuple((pair(seed).kind, _execute(pair(seed), seed)) for seed in members)


def _execute(given: Pair, seed: int) -> str:
    able = abilities(TARGETS[seed % len(TARGETS)])
    try:
        found = moves(given.source, given.target, given.element_bits, able)
    except LayoutError as error:
        return "none" if given.element_bits < 8 and SHARED_BYTE.search(str(error)) else f"pair {seed}: {error}"
    generator = np.random.default_rng(seed)
    top = np.uint64((1 << given.element_bits) - 1)
    tile = generator.integers(0, 1 << 63, given.source.shape, dtype=np.uint64) * np.uint64(3) & top
    for move in found:
        assert _is_feasible(move, able, loads=is_memory(given.source)), f"pair {seed}, {described(move)}"
        if isinstance(move, LaneAccess):
            _assert_accesses(given, move, tile, seed)
        else:
            _assert_converts(given, move, tile, seed)
    best = found[0]
    if isinstance(best, LaneAccess):
        return "matrix" if best.kind != "plain" else "accessed"
    return "registers" if best.exchange is not None else "shared"


def _is_feasible(move: Move, able: Abilities, *, loads: bool) -> bool:
    """Whether the target has the instructions, the vectors and the shared memory."""
    if isinstance(move, LaneAccess):
        return move.width <= 16 and (move.kind == "plain" or (able.matrix_loads if loads else able.matrix_stores))
    staging = move.staging
    if staging is None:
        return True
    sides = _is_feasible(staging.write, able, loads=False) and _is_feasible(staging.read, able, loads=True)
    return sides and staging.bytes <= able.shared_bytes


def _assert_accesses(given: Pair, access: LaneAccess, tile: Elements, seed: int) -> None:
    """Loads bring what lies in memory into the registers; stores leave in memory what should lie there, to the byte."""
    loads = is_memory(given.source)
    registers, memory = (given.target, given.source) if loads else (given.source, given.target)
    flat = memory.with_outputs(memory.output_names[::-1]).table
    lies = packed(tile.reshape(-1)[np.array(flat)], given.element_bits)
    there = held(tile, registers)[0]
    if loads:
        read = load(lies, access, registers.input_size(REGISTER))
        got = read[..., representatives(registers, (*access.registers, *access.others))]
        assert np.array_equal(got, there), f"pair {seed}, {described(access)}"
    else:
        bytes_ = shared_memory(len(lies))
        store(bytes_, there, access)
        assert np.array_equal(bytes_, lies), f"pair {seed}, {described(access, loads=False)}"


def _assert_converts(given: Pair, plan: LayoutPlan, tile: Elements, seed: int) -> None:
    there = converted(held(tile, given.source), given.source, given.target, plan)
    assert np.array_equal(there, held(tile, given.target)), f"pair {seed}, {plan}"
    assert np.array_equal(gathered(there, given.target), tile), f"pair {seed}, {plan}"
    if plan.staging is not None:
        assert plan.staging.conflicts == 0, f"pair {seed}, {plan}"


@pytest.mark.parametrize("part", range(PARTS))
@corpus(3000 // PARTS)
def test_the_converted_tile_is_the_same_element_by_element(part: int):
    assert len(outcomes(part)) == (len(PAIRS) if FULL else SOME) // PARTS
    assert {way for _, way in outcomes(part)} <= {"registers", "shared", "accessed", "matrix", "none"}


def test_the_corpus_holds_what_it_should():
    """
    Half of it arbitrary bases; every kind of named layout, widths of 4 to 64 bits, ranks 1 to 3; conversions of both
    tags, loads and stores.
    """
    pairs = [pair(seed) for seed in PAIRS]
    assert {given.element_bits for given in pairs} == {4, 8, 16, 32, 64}
    assert {len(given.source.shape) for given in pairs} == {1, 2, 3}
    kinds = Counter(given.kind for given in pairs)
    assert kinds["bases"] == len(PAIRS) // 2
    ends = {end for kind in kinds for end in kind.split(" to ")}
    assert ends == {"bases", *DISTRIBUTED, "swizzled", "row_major"}
    ways = Counter(way for part in range(PARTS) for _, way in outcomes(part))
    assert ways["registers"] > ways.total() / 10
    assert ways["shared"] > ways.total() / 10
    assert ways["accessed"] > ways.total() / 60
    assert not FULL or ways["matrix"] > 0
    assert ways["none"] < ways.total() / 10


# Known conversions ----------------------------------------------------------------------------------------------------


def test_the_accumulator_of_one_product_is_operand_a_of_the_next():
    """Attention: P in the accumulator's fragment becomes A of the second product by renaming registers alone."""
    acc = fragment(MmaShape(64, 64, 16), "acc", 16, (4, 1), (64, 64))
    a = fragment(MmaShape(64, 64, 16), "a", 16, (4, 1), (64, 64))
    best = plans(acc, a, 16, EVERYTHING)[0]
    assert str(best) == "by renaming registers"
    assert best.cost == 0


def test_bytes_of_an_accumulator_take_shuffles_to_become_operand_a():
    """With 8-bit elements the fragments differ: 4 columns a register in place of 2."""
    acc = fragment(MmaShape(64, 64, 32), "acc", 8, (4, 1), (64, 64))
    a = fragment(MmaShape(64, 64, 32), "a", 8, (4, 1), (64, 64))
    best = plans(acc, a, 8, EVERYTHING)[0]
    assert best.exchange is not None
    assert best.exchange.shuffles == 8


def test_rows_to_columns_go_through_shared_memory_without_conflicts():
    rows = blocked([1, 4], [8, 4], [4, 1], [1, 0], [64, 64])
    columns = blocked([4, 1], [4, 8], [1, 4], [0, 1], [64, 64])
    best = plans(rows, columns, 32, EVERYTHING)[0]
    assert best.tag == 1
    assert str(best) == "through 16384 bytes of shared memory, 32 + 32 wavefronts a warp"


def test_ldmatrix_is_used_where_it_saves_wavefronts():
    """Rows of B are stored by vectors along N, and its fragment wants pairs along K."""
    rows = blocked([1, 8], [4, 8], [4, 1], [1, 0], [16, 64])
    operand = fragment(MmaShape(16, 8, 16), "b", 16, (4, 1), (16, 64))
    with_it, without = (
        plans(rows, operand, 16, Abilities(matrix_loads=able, matrix_stores=False))[-1] for able in (True, False)
    )
    assert with_it.staging is not None
    assert without.staging is not None
    assert with_it.staging.read.kind == "matrix.trans"
    assert with_it.staging.wavefronts < without.staging.wavefronts


@pytest.mark.parametrize(
    ("source", "target", "bits", "reasons"),
    [
        (
            from_bases({"lane": [(1,), (2,), (4,), (8,), (16,)], "warp": [(32,)]}, [64]),
            from_bases({"lane": [(2,), (1,), (4,), (8,), (32,)], "warp": [(16,)]}, [64]),
            4,
            "elements would have to go to another warp; no thread holds a whole byte",
        ),
        (
            from_bases({"lane": [(1,), (2,), (4,), (8,), (16,)], "block": [(32,)]}, [64]),
            from_bases({"lane": [(1,), (2,), (4,), (8,), (32,)], "block": [(16,)]}, [64]),
            32,
            "elements would have to go to another block; blocks share no shared memory",
        ),
    ],
)
def test_a_conversion_without_a_plan_says_what_no_plan_could_do(
    source: LinearLayout, target: LinearLayout, bits: int, reasons: str
):
    with pytest.raises(LayoutError, match=reasons):
        plans(source, target, bits, EVERYTHING)


def test_shared_memory_may_be_too_small():
    rows = blocked([1, 4], [8, 4], [4, 1], [1, 0], [64, 64])
    columns = blocked([4, 1], [4, 8], [1, 4], [0, 1], [64, 64])
    with pytest.raises(LayoutError, match="staging takes 16384 bytes of shared memory, and there are 8192"):
        plans(rows, columns, 32, Abilities(shared_bytes=8192))


def test_threads_notice_a_lost_element():
    layout = from_bases({"lane": [(1,), (2,), (4,), (8,), (16,)]}, [64])
    with pytest.raises(LayoutError, match="held by nobody"):
        gathered(np.zeros((1, 1, 32, 1), dtype=np.uint64), layout)
    twice = from_bases({"register": [(0,)], "lane": [(1,), (2,), (4,), (8,), (16,)]}, [32])
    with pytest.raises(LayoutError, match="different values of one element"):
        gathered(np.arange(64, dtype=np.uint64).reshape(1, 1, 32, 2), twice)
    assert twice.input_size(WARP) == 1
