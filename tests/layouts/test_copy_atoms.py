"""Copy instructions: which fit a tile, how wide they are, and which is taken."""

from __future__ import annotations

import random

import pytest

from tileas_xdsl.layouts.atoms import CopyAtom, Transfer, best, box_of, into_shared, out_of_shared, score, vectors
from tileas_xdsl.layouts.distributed import blocked, from_bases
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.linear import LinearLayout, dims
from tileas_xdsl.layouts.memory import OFFSET, row_major, swizzled

ROWS = blocked((1, 8), (4, 8), (4, 1), (1, 0), (64, 64))
COLUMNS = blocked((8, 1), (8, 4), (1, 4), (0, 1), (64, 64))


def transfer(memory: LinearLayout, bits: int = 16, aligned: int = 16, capability: int = 90, **more: bool) -> Transfer:
    return Transfer(memory, bits, aligned, capability, 128, **more)


def families(atoms: list[CopyAtom]) -> list[tuple[str, int]]:
    return [(atom.family, atom.width) for atom in atoms]


# The figure of merit --------------------------------------------------------------------------------------------------


def test_worked_scores():
    assert score(4, 0, 32) == 12
    assert score(2, 0, 64) == 18
    assert score(1, 0, 0) == CopyAtom("tma_load", 0, (64, 64), 1).score == 1
    assert score(0, 3, 0) == 12


def test_of_equal_scores_fewer_registers_win_then_the_first():
    with_registers, without = CopyAtom("ldg", 16, (), 0, 4), CopyAtom("cp_async", 4, (), 1, 0)
    assert best([with_registers, without]) is without
    assert best([CopyAtom("cp_async", 16), CopyAtom("cp_async", 8)]).width == 16


# Registers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "bits", "aligned", "widths"),
    [
        (ROWS, 16, 16, [16, 8, 4, 2]),
        (ROWS, 16, 4, [4, 2]),
        (ROWS, 16, 1, [2]),
        (ROWS, 8, 16, [8, 4, 2, 1]),
        (ROWS, 64, 16, [16, 8]),
        (COLUMNS, 16, 16, [2]),
    ],
)
def test_vectors_that_a_thread_loads(layout: LinearLayout, bits: int, aligned: int, widths: list[int]):
    assert [atom.width for atom in vectors("ldg", layout, bits, aligned)] == widths


def test_no_vector_leads_from_one_row_to_the_next():
    """Rows of 4 bytes: a thread has 16 bytes of neighbours in the tile, and not in the array."""
    whole = blocked((4, 2), (32, 1), (1, 1), (1, 0), (128, 2))
    assert [atom.width for atom in vectors("ldg", whole, 16, 16)] == [4, 2]


@pytest.mark.parametrize("seed", range(20))
def test_each_vector_is_one_that_some_thread_could_load(seed: int):
    """By enumeration: the elements of a lane split into blocks of neighbours, each within one row."""
    generator = random.Random(seed)
    steps = [[1 << k, 0] for k in range(3)] + [[0, 1 << k] for k in range(5)]
    generator.shuffle(steps)
    layout = from_bases({"register": steps[:3], "lane": steps[3:]}, (8, 32))
    found = max(atom.width for atom in vectors("ldg", layout, 16, 16))
    assert found == max(width for width in (2, 4, 8, 16) if _loads_blocks(layout, width // 2))


def _loads_blocks(layout: LinearLayout, elements: int) -> bool:
    for lane in range(layout.input_size("lane")):
        held = {layout.at(register=r, lane=lane) for r in range(layout.input_size("register"))}
        for row, column in held:
            start = column // elements * elements
            if any((row, other) not in held for other in range(start, start + elements)):
                return False
    return True


def test_elements_of_a_byte_that_two_threads_hold_have_no_atom():
    layout = blocked((1, 1), (1, 32), (1, 1), (1, 0), (1, 32))
    with pytest.raises(LayoutError, match="share a byte that belongs to several threads"):
        vectors("ldg", layout, 4, 16)


# Shared memory --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "bits", "width", "box"),
    [
        ((128, 64), 16, 128, (128, 64)),
        ((64, 128), 16, 128, (64, 64)),
        ((64, 128), 16, 64, (64, 32)),
        ((64, 32), 16, 32, (64, 16)),
        ((64, 128), 16, 0, (64, 128)),
        ((2, 8, 64), 8, 64, (2, 8, 64)),
        ((512, 64), 16, 128, None),
        ((64, 4), 16, 0, None),
    ],
)
def test_boxes(shape: tuple[int, ...], bits: int, width: int, box: tuple[int, ...] | None):
    assert box_of(swizzled(shape, bits, width), bits) == box


def test_what_tma_does_not_write():
    assert box_of(row_major((64, 64), (0, 1)), 16) is None
    odd = LinearLayout.of(
        {OFFSET: [(0, 2), (0, 1), *((0, 4 << k) for k in range(4)), *((1 << k, 0) for k in range(6))]}, dims((64, 64))
    )
    assert box_of(odd, 16) is None
    assert transfer(odd).neighbours == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, [("tma_load", 0), ("cp_async", 16), ("cp_async", 8), ("cp_async", 4), ("ldg", 16)]),
        ({"by_tma": False}, [("cp_async", 16), ("cp_async", 8), ("cp_async", 4), ("ldg", 16)]),
        ({"capability": 80, "aligned": 8}, [("cp_async", 8), ("cp_async", 4), ("ldg", 8)]),
        ({"capability": 80, "aligned": 2}, [("ldg", 2)]),
        ({"capability": 75}, [("ldg", 16)]),
    ],
)
def test_ways_into_shared_memory(arguments: dict[str, int], expected: list[tuple[str, int]]):
    assert families(into_shared(transfer(swizzled((128, 64), 16, 128), **arguments))) == expected


def test_the_engine_is_preferred_and_registers_are_the_last_resort():
    ways = into_shared(transfer(swizzled((128, 64), 16, 128)))
    assert best(ways).family == "tma_load"
    assert [way.score for way in ways] == [1, 128, 128, 128, 136]
    assert best(out_of_shared(transfer(swizzled((128, 64), 16, 128), capability=80))).family == "stg"


@pytest.mark.parametrize("seed", range(20))
def test_neighbours_by_enumeration(seed: int):
    generator = random.Random(seed)
    steps = [(0, 1 << k) for k in range(4)] + [(1 << k, 0) for k in range(4)]
    low, high = steps[: seed % 5], steps[seed % 5 :]
    generator.shuffle(high)
    one, other = generator.sample(range(len(high)), 2)
    high[one] = tuple(a ^ b for a, b in zip(high[one], high[other], strict=True))  # type: ignore[assignment]
    memory = LinearLayout.of({OFFSET: [*low, *high]}, dims((16, 16)))
    count = max(c for c in (1, 2, 4, 8, 16) if _in_order(memory, c))
    assert transfer(memory, bits=8).neighbours == count


def _in_order(memory: LinearLayout, count: int) -> bool:
    for start in range(0, 256, count):
        row, column = memory.at(offset=start)
        if column % count or any(memory.at(offset=start + k) != (row, column + k) for k in range(count)):
            return False
    return True


# Names ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("atom", "capability", "label"),
    [
        (CopyAtom("ldg", 16), 75, "sm70_ldg_128_f16"),
        (CopyAtom("ldg", 16), 90, "sm90_ldg_128_f16"),
        (CopyAtom("cp_async", 4), 86, "sm80_cp_async_4_f16"),
        (CopyAtom("tma_load", 0, (64, 64)), 90, "sm90_tma_load_2d_f16"),
        (CopyAtom("tma_store", 0, (2, 64, 64)), 100, "sm90_tma_store_3d_f16"),
    ],
)
def test_names(atom: CopyAtom, capability: int, label: str):
    assert atom.label(capability, "f16") == label
