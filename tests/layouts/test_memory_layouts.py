"""Memory layouts, swizzles and descriptors, from the tables of the manuals."""

from __future__ import annotations

import pytest

from tileas_xdsl.layouts.descriptors import Operand, tcgen05_descriptor, wgmma_descriptor
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.layouts.memory import check_memory, in_units, row_major, swizzled


@pytest.mark.parametrize("bits", [4, 8, 16, 32, 64])
@pytest.mark.parametrize("width", [32, 64, 128])
def test_a_swizzle_permutes_chunks_of_16_bytes(bits: int, width: int):
    """
    Chunk c of the row r of `width` bytes lies where the chunk c xor (r * width / 128) would, modulo the chunks a row.
    """
    columns = 8 * width // bits
    layout = swizzled((16, columns), bits, width)
    place = layout.inverse()
    for row in range(16):
        for column in range(columns):
            byte = column * bits // 8
            chunk = (byte // 16) ^ ((row * width // 128) % (width // 16))
            expected = row * width + chunk * 16 + byte % 16
            assert place.at(dim0=row, dim1=column)[0] * bits // 8 == expected


def test_tiles_wider_than_the_swizzle_are_cut_into_boxes():
    layout = swizzled((8, 128), 16, 128)
    assert layout.at(offset=8 * 64) == (0, 64)
    check_memory(layout)


def test_the_order_turns_a_tile():
    assert row_major((4, 8), (0, 1)).at(offset=1) == (1, 0)
    assert swizzled((64, 8), 16, 128, (0, 1)).at(offset=64) == (8, 1)


def test_no_swizzle_is_row_major():
    assert swizzled((8, 64), 16, 0) == row_major((8, 64))


def test_offsets_are_counted_in_smaller_units_too():
    bytes_of = in_units(row_major((4, 8)), 16, 8)
    assert bytes_of.at(offset=3) == (0, 1)
    nibbles = in_units(row_major((4, 8)), 8, 4)
    assert nibbles.at(offset=5) == (0, 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: swizzled((8, 64), 16, 16), "a swizzle has 32, 64 or 128 bytes, or 0 for none, not 16"),
        (lambda: row_major((8, 8), (0, 0)), "does not name each of 2 dimensions once"),
        (lambda: row_major((8, 12)), "the extent of offset is 12"),
        (lambda: in_units(row_major((8,)), 4, 8), "a unit of 8 bits holds several elements of 4 bits"),
        (lambda: check_memory(LinearLayout.of({"offset": [(1,)]}, {"dim0": 4})), "some elements lie nowhere"),
        (lambda: check_memory(LinearLayout.of({"offset": [(1,), (1,)]}, {"dim0": 2})), "lie at two offsets"),
    ],
)
def test_what_is_no_memory_layout_is_refused(make, message: str):
    with pytest.raises(LayoutError, match=message):
        make()


# Descriptors ----------------------------------------------------------------------------------------------------------


def field(word: int, low: int, high: int) -> int:
    return word >> low & ((1 << (high - low + 1)) - 1)


@pytest.mark.parametrize(("swizzle", "code"), [(0, 0), (128, 1), (64, 2), (32, 3)])
def test_wgmma_descriptor(swizzle: int, code: int):
    """PTX ISA, Matrix Descriptor Format of wgmma: three values of two bits; no constant."""
    word = wgmma_descriptor(Operand(0x12340, leading=0x800, stride=0x400, swizzle=swizzle))
    assert field(word, 0, 13) == 0x1234
    assert field(word, 16, 29) == 0x80
    assert field(word, 32, 45) == 0x40
    assert field(word, 46, 48) == 0
    assert field(word, 49, 51) == 0
    assert field(word, 52, 61) == 0
    assert field(word, 62, 63) == code
    assert (field(word, 14, 15), field(word, 30, 31)) == (0, 0)


@pytest.mark.parametrize(
    ("swizzle", "atom_32", "code"), [(0, False, 0), (128, True, 1), (128, False, 2), (64, False, 4), (32, False, 6)]
)
def test_tcgen05_descriptor(swizzle: int, atom_32: bool, code: int):
    """PTX ISA, Shared Memory Descriptor of tcgen05: five values of three bits; 0b001 in bits 46-48."""
    word = tcgen05_descriptor(Operand(0x12340, leading=0x800, stride=0x400, swizzle=swizzle), atom_32=atom_32)
    assert field(word, 0, 13) == 0x1234
    assert field(word, 16, 29) == 0x80
    assert field(word, 32, 45) == 0x40
    assert field(word, 46, 48) == 0b001
    assert field(word, 49, 51) == 0
    assert field(word, 52, 52) == 0
    assert field(word, 53, 60) == 0
    assert field(word, 61, 63) == code


def test_the_leading_dimension_may_be_an_address():
    operand = Operand(0, leading=0x400, stride=0x400, swizzle=128)
    assert tcgen05_descriptor(operand, absolute_leading=True) == tcgen05_descriptor(operand) | 1 << 52


@pytest.mark.parametrize(
    ("swizzle", "pattern", "base"), [(128, 0x1000, 0), (128, 0x1080, 1), (64, 0x300, 6), (0, 0x80, 0)]
)
def test_the_base_offset_says_where_the_pattern_begins(swizzle: int, pattern: int, base: int):
    operand = Operand(0x1000, 16, 1024, swizzle, pattern)
    assert field(wgmma_descriptor(operand), 49, 51) == base
    assert field(tcgen05_descriptor(operand), 49, 51) == base


def test_a_k_major_tile_of_64_halves():
    """The well-known constant part of a 128-byte swizzled operand: leading 16 bytes, stride 1024 bytes."""
    assert wgmma_descriptor(Operand(0, 16, 1024, 128)) == 4611686293305360384


@pytest.mark.parametrize(
    ("operand", "message"),
    [
        (Operand(8, 16, 16), "the start address 8 is no multiple of 16 bytes"),
        (Operand(0, 1 << 18, 16), "leading dimension byte offset 262144"),
        (Operand(0, 16, 16, 16), "a swizzle has 32, 64 or 128 bytes"),
    ],
)
def test_what_the_fields_cannot_say_is_refused(operand: Operand, message: str):
    for descriptor in (wgmma_descriptor, tcgen05_descriptor):
        with pytest.raises(LayoutError, match=message):
            descriptor(operand)


def test_chunks_of_32_bytes_need_the_widest_swizzle():
    with pytest.raises(LayoutError, match="with a swizzle of 128 bytes, not of 64"):
        tcgen05_descriptor(Operand(0, 16, 16, 64), atom_32=True)
