"""The fragments against the formulas of the PTX ISA, written out a second time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.fragments import MmaShape, atom, fragment, matrix_addresses, matrix_fragment

Place = Callable[[int, int], tuple[int, int]]
"""(lane, number of the element i) -> row and column, as the PTX ISA has it."""


def m16n8k16_a(lane: int, i: int) -> tuple[int, int]:
    group, thread = lane >> 2, lane % 4
    row = group if 0 <= i < 2 or 4 <= i < 6 else group + 8
    column = thread * 2 + (i & 1) if i < 4 else thread * 2 + (i & 1) + 8
    return row, column


def m16n8k16_b(lane: int, i: int) -> tuple[int, int]:
    group, thread = lane >> 2, lane % 4
    return (thread * 2 + (i & 1) if i < 2 else thread * 2 + (i & 1) + 8), group


def accumulator(lane: int, i: int) -> tuple[int, int]:
    group, thread = lane >> 2, lane % 4
    return (group if i < 2 else group + 8), thread * 2 + (i & 1)


def m16n8k8_a_f16(lane: int, i: int) -> tuple[int, int]:
    group, thread = lane >> 2, lane % 4
    return (group if i < 2 else group + 8), thread * 2 + (i & 1)


def m16n8k8_b_f16(lane: int, i: int) -> tuple[int, int]:
    group, thread = lane >> 2, lane % 4
    return thread * 2 + i, group


def m16n8k8_a_tf32(lane: int, i: int) -> tuple[int, int]:
    group, thread = lane >> 2, lane % 4
    return (group if i in (0, 2) else group + 8), (thread if i in (0, 1) else thread + 4)


def m16n8k8_b_tf32(lane: int, i: int) -> tuple[int, int]:
    group, thread = lane >> 2, lane % 4
    return (thread if i == 0 else thread + 4), group


def m16n8k32_a(lane: int, i: int) -> tuple[int, int]:
    group, thread = lane >> 2, lane % 4
    row = group if 0 <= i < 4 or 8 <= i < 12 else group + 8
    column = thread * 4 + (i & 3) if i < 8 else thread * 4 + (i & 3) + 16
    return row, column


def m16n8k32_b(lane: int, i: int) -> tuple[int, int]:
    group, thread = lane >> 2, lane % 4
    return (thread * 4 + (i & 3) if i < 4 else thread * 4 + (i & 3) + 16), group


@pytest.mark.parametrize(
    ("k", "operand", "bits", "count", "place"),
    [
        (16, "a", 16, 8, m16n8k16_a),
        (16, "b", 16, 4, m16n8k16_b),
        (16, "acc", 16, 4, accumulator),
        (8, "a", 16, 4, m16n8k8_a_f16),
        (8, "b", 16, 2, m16n8k8_b_f16),
        (8, "a", 32, 4, m16n8k8_a_tf32),
        (8, "b", 32, 2, m16n8k8_b_tf32),
        (32, "a", 8, 16, m16n8k32_a),
        (32, "b", 8, 8, m16n8k32_b),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_mma_sync(k: int, operand: str, bits: int, count: int, place: Place):
    found = atom(MmaShape(16, 8, k), operand, bits)
    assert found.input_size("register") == count
    for lane in range(32):
        for i in range(count):
            assert found.at(register=i, lane=lane) == place(lane, i)


@pytest.mark.parametrize("lane", range(32))
def test_mma_sync_of_f64(lane: int):
    """m8n8k4: one element of A and of B a lane, and two of a row of C."""
    shape = MmaShape(8, 8, 4)
    a, b, c = (atom(shape, operand, 64) for operand in ("a", "b", "acc"))
    assert [each.input_size("register") for each in (a, b, c)] == [1, 1, 2]
    assert a.at(lane=lane) == (lane >> 2, lane % 4)
    assert b.at(lane=lane) == (lane % 4, lane >> 2)
    assert [c.at(register=i, lane=lane) for i in (0, 1)] == [(lane >> 2, lane % 4 * 2 + i) for i in (0, 1)]


@pytest.mark.parametrize("n", [8, 16, 32, 64, 128, 256])
def test_wgmma_accumulator(n: int):
    """
    D fragment of wgmma.mma_async.m64nNkK: row 16 * warp + lane / 4 (+ 8), column 8 * (i / 4) + 2 * (lane % 4) + i %
    2.
    """
    found = atom(MmaShape(64, n, 16), "acc", 16)
    assert found.input_size("register") == n // 2
    for thread in range(128):
        for i in range(n // 2):
            row = (thread // 32) * 16 + (thread % 32) // 4 + 8 * ((i // 2) % 2)
            column = (i // 4) * 8 + (thread % 4) * 2 + i % 2
            assert found.at(register=i, lane=thread % 32, warp=thread // 32) == (row, column)


@pytest.mark.parametrize(("bits", "k"), [(32, 8), (16, 16), (8, 32), (4, 64)])
def test_wgmma_a_in_registers_is_that_of_mma_sync_in_each_warp(bits: int, k: int):
    found = atom(MmaShape(64, 64, k), "a", bits)
    one = atom(MmaShape(16, 8, k), "a", bits)
    for warp in range(4):
        for lane in range(32):
            for i in range(one.input_size("register")):
                row, column = one.at(register=i, lane=lane)
                assert found.at(register=i, lane=lane, warp=warp) == (row + 16 * warp, column)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_ldmatrix(count: int, transposed: bool):
    """
    Thread t holds row t / 4, columns 2 * (t % 4) and the next, of each matrix; with .trans, of the transposed one.
    """
    found = matrix_fragment(count, transposed)
    for lane in range(32):
        for i in range(2 * count):
            row, column, matrix = found.at(register=i, lane=lane)
            assert matrix == i // 2
            assert ((column, row) if transposed else (row, column)) == (lane // 4, 2 * (lane % 4) + i % 2)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_lanes_give_the_addresses_of_rows(count: int):
    found = matrix_addresses(count)
    for lane in range(8 * count):
        assert found.at(lane=lane) == (lane % 8, lane // 8)


def test_a_grid_of_warps_shares_operands():
    a = fragment(MmaShape(16, 8, 16), "a", 16, (2, 2), (64, 64))
    b = fragment(MmaShape(16, 8, 16), "b", 16, (2, 2), (64, 64))
    acc = fragment(MmaShape(16, 8, 16), "acc", 16, (2, 2), (64, 64))
    for warp in range(4):
        assert acc.at(warp=warp) == (a.at(warp=warp)[0], b.at(warp=warp)[1])
    assert all(layout.is_surjective for layout in (a, b, acc))


def test_warp_groups_stand_along_m():
    found = fragment(MmaShape(64, 64, 16), "acc", 16, (8, 1), (128, 64))
    assert found.at(warp=4) == (64, 0)
    assert found.is_injective
    assert found.is_surjective


@pytest.mark.parametrize(
    ("shape", "operand", "bits", "message"),
    [
        (MmaShape(64, 12, 16), "acc", 16, "WGMMA N must be a multiple of 8"),
        (MmaShape(64, 24, 16), "acc", 16, "N of m64n24k16 is 24, and layouts over bits need a power of two"),
        (MmaShape(64, 264, 16), "acc", 16, "up to 256"),
        (MmaShape(64, 64, 32), "a", 16, "K is 16"),
        (MmaShape(16, 8, 4), "a", 16, "K is 8 or 16"),
        (MmaShape(16, 16, 16), "a", 16, "mma.sync has N = 8"),
        (MmaShape(32, 8, 16), "a", 16, "M is 16"),
        (MmaShape(64, 64, 16), "b", 16, "B of wgmma is read from shared memory"),
        (MmaShape(16, 8, 16), "c", 16, "'c' is none of the operands a, b, acc"),
        (MmaShape(16, 8, 16), "a", 128, "have at most 64 bits"),
        (MmaShape(16, 8, 16), "a", 64, "m16n8k16 is no instruction for elements of 64 bits: m8n8k4 is that of 64"),
        (MmaShape(8, 8, 4), "b", 32, "m8n8k4 is no instruction for elements of 32 bits: m8n8k4 is that of 64"),
        (MmaShape(8, 8, 8), "a", 64, "m8n8k8 is no instruction: M is 16"),
        (MmaShape(16, 8, 16), "a", 6, "the width of an element in bits is 6"),
    ],
)
def test_instructions_that_do_not_exist_are_refused(shape: MmaShape, operand: str, bits: int, message: str):
    with pytest.raises(LayoutError, match=message):
        atom(shape, operand, bits)


def test_wgmma_needs_warp_groups():
    with pytest.raises(LayoutError, match="warp groups of 4 warps, not by 2"):
        fragment(MmaShape(64, 64, 16), "acc", 16, (2, 1), (64, 64))


def test_ldmatrix_moves_1_2_or_4_matrices():
    with pytest.raises(LayoutError, match="not 3"):
        matrix_fragment(3)
