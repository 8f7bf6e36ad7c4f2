"""CuTe's notation: read, printed, and what it means by CuTe's own definition."""

from __future__ import annotations

import pytest

from tileas_xdsl.layouts.cute import CuteLayout, read_cute
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.fragments import MmaShape, atom
from tileas_xdsl.layouts.memory import as_cute, from_cute, row_major, swizzled

PUBLISHED = [
    "8:1",
    "(2,4):(4,1)",
    "(4,(2,2)):(2,(1,8))",
    "((2,2),(2,2)):((1,4),(2,8))",
    "((4,2),4):((8,4),1)",
    "(8,64):(64,1)",
    "Sw<3,4,3> o (8,64):(64,1)",
    "((4,8),(2,2)):((32,1),(16,8))",
]
"""Layouts of powers of two as CuTe's documentation and headers print them."""


@pytest.mark.parametrize("text", PUBLISHED)
def test_notation_is_printed_as_it_was_read(text: str):
    assert str(read_cute(text)) == text


@pytest.mark.parametrize("text", PUBLISHED)
def test_the_linear_map_is_the_sum_of_digits_times_strides(text: str):
    notation = read_cute(text)
    flat = notation.linear().flattened("index", "offset")
    assert [flat.at(index=i)[0] for i in range(notation.size)] == [notation(i) for i in range(notation.size)]


def test_a_worked_example():
    """(4,(2,2)):(2,(1,8)) of CuTe's introduction, its table written out by hand, row by row."""
    notation = read_cute("(4,(2,2)):(2,(1,8))")
    table = [[notation(row + 4 * column) for column in range(4)] for row in range(4)]
    assert table == [[0, 1, 8, 9], [2, 3, 10, 11], [4, 5, 12, 13], [6, 7, 14, 15]]


@pytest.mark.parametrize(
    ("shape", "operand", "bits", "published", "extents"),
    [
        (MmaShape(16, 8, 8), "a", 16, "((4,8),(2,2)):((32,1),(16,8))", (16, 8)),
        (MmaShape(16, 8, 8), "b", 16, "((4,8),2):((16,1),8)", (8, 8)),
        (MmaShape(16, 8, 16), "a", 16, "((4,8),(2,2,2)):((32,1),(16,8,128))", (16, 16)),
        (MmaShape(16, 8, 16), "b", 16, "((4,8),(2,2)):((16,1),(8,64))", (8, 16)),
        (MmaShape(16, 8, 16), "acc", 16, "((4,8),(2,2)):((32,1),(16,8))", (16, 8)),
        (MmaShape(16, 8, 32), "a", 8, "((4,8),(4,2,2)):((64,1),(16,8,256))", (16, 32)),
        (MmaShape(16, 8, 32), "b", 8, "((4,8),(4,2)):((32,1),(8,128))", (8, 32)),
        (MmaShape(64, 64, 16), "acc", 16, "((4,8,4),(2,2,8)):((128,1,16),(64,8,512))", (64, 64)),
        (MmaShape(64, 64, 16), "a", 16, "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))", (64, 16)),
    ],
    ids=str,
)
def test_fragments_are_those_of_cute_headers(
    shape: MmaShape, operand: str, bits: int, published: str, extents: tuple[int, int]
):
    """
    CUTLASS, cute/atom/mma_traits_sm80.hpp, _sm89 and _sm90_gmma: (thread, value) to the column-major index of the
    matrix; B as N x K.
    """
    notation = read_cute(published)
    fragment = atom(shape, operand, bits)
    threads = fragment.input_size("lane") * fragment.input_size("warp")
    for thread in range(threads):
        for value in range(notation.size // threads):
            at = fragment.at(register=value, lane=thread % 32, warp=thread // 32)
            row, column = at if operand != "b" else at[::-1]
            assert notation(thread + threads * value) == row + extents[0] * column


def test_memory_layouts_are_read_and_printed():
    assert str(as_cute(row_major((8, 64)))) == "(8,64):(64,1)"
    assert str(as_cute(row_major((4, 8, 2), (0, 1, 2)))) == "(4,8,2):(1,4,32)"
    assert from_cute(read_cute("(8,64):(64,1)"), (8, 64)) == row_major((8, 64))
    assert from_cute(read_cute("Sw<3,3,3> o (8,64):(64,1)"), (8, 64)) == swizzled((8, 64), 16, 128)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(2,3):(1,2)", "an extent is 3, and layouts over bits need a power of two"),
        ("(4,2):(3,1)", "a stride is 3"),
        ("(2,2):(1,1)", "carry: two digits meet in one bit"),
        ("(2,2):(1", r"'\)' is missing"),
        ("(2,2)", "':' is missing"),
        ("(2,2):(1,(2,4))", "not nested alike"),
        ("(2,2):(1,2) 3", "goes on behind the strides, with '3'"),
        ("two:1", "'two:1' is not understood"),
        ("Sw<3,4,2> o 8:1", "the shift is at least 3"),
        (":1", "stands where a number"),
        ("", "it ends early"),
    ],
)
def test_the_rest_of_cute_is_refused_by_name(text: str, message: str):
    with pytest.raises(LayoutError, match=message):
        read_cute(text).linear()


def test_a_swizzle_has_no_strides():
    with pytest.raises(LayoutError, match="several bits of the offset at once"):
        as_cute(swizzled((8, 64), 16, 128))


def test_offsets_with_gaps_are_no_memory_layout():
    with pytest.raises(LayoutError, match="does not put one element at each offset"):
        from_cute(CuteLayout(8, 2), (8,))
    with pytest.raises(LayoutError, match="has 8 coordinates, and the tile 16 elements"):
        from_cute(CuteLayout(8, 1), (16,))
