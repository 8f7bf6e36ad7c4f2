"""Garbled bytecode is refused in one line that names the byte, or read: never a traceback, never without end."""

from __future__ import annotations

import random

import pytest

from tests.cutile.exports import EXPORTS, exported
from tests.support.corpora import each
from tileas_xdsl.readers.tile_ir import MAGIC, BytecodeError, read, write

SEEDS = range(10_000)
PARTS = 20
NAMES = list(EXPORTS)


def garbled(data: bytes, seed: int) -> bytes:
    """`data` with some bytes changed, cut out, doubled, or the end missing."""
    choice = random.Random(seed)
    changed = bytearray(data)
    for _ in range(choice.randrange(1, 4)):
        place = choice.randrange(len(changed))
        match choice.randrange(5):
            case 0:
                changed[place] = choice.randrange(256)
            case 1:
                changed[place] ^= 1 << choice.randrange(8)
            case 2:
                del changed[place : place + choice.randrange(1, 5)]
            case 3:
                changed[place:place] = choice.randbytes(choice.randrange(1, 5))
            case _:
                del changed[place:]
        if not changed:
            changed.append(0x7F)
    return bytes(changed)


@each("part", range(PARTS), 2, programs=len(SEEDS) // PARTS)
def test_garbled_files_get_one_line_each(part: int) -> None:
    refused = 0
    for seed in SEEDS[part::PARTS]:
        data = garbled(exported(NAMES[seed % len(NAMES)]), seed)
        error = refusal(data)
        if error is None:
            assert write(read(data)) == data, "what is read although it is garbled is written identically, too"
        else:
            refused += 1
            assert "\n" not in str(error)
            assert str(error).startswith(f"byte {error.offset} (0x{error.offset:x}): ")
            assert 0 <= error.offset <= len(data)
    assert refused > 400


def refusal(data: bytes) -> BytecodeError | None:
    try:
        read(data)
    except BytecodeError as error:
        return error
    return None


def patched(data: bytes, offset: int, byte: int) -> bytes:
    return data[:offset] + bytes([byte]) + data[offset + 1 :]


def test_what_is_no_tile_ir_is_refused() -> None:
    with pytest.raises(BytecodeError, match=r"byte 0 .*this is no Tile IR"):
        read(b"module {}")


def test_an_unknown_version_is_refused_by_name() -> None:
    with pytest.raises(BytecodeError, match=r"version 13\.9 is unknown; 13\.1 to 13\.5 are known"):
        read(MAGIC + bytes([13, 9, 0, 0, 0]))


def test_an_unknown_section_is_refused_by_number_and_offset() -> None:
    with pytest.raises(BytecodeError, match=r"byte 12 \(0xc\): section 9 is unknown; 1 to 7 are known"):
        read(MAGIC + bytes([13, 3, 0, 0, 9, 0, 0]))


def test_a_missing_section_is_refused() -> None:
    with pytest.raises(BytecodeError, match=r"section 1 \(String\) is missing"):
        read(MAGIC + bytes([13, 3, 0, 0, 0]))


def test_an_unknown_opcode_is_refused_by_number_and_offset() -> None:
    data = exported("double")
    place = data.index(bytes([0x44, 0x07, 0x06]))
    with pytest.raises(BytecodeError, match=rf"byte {place} \(0x{place:x}\): opcode 126 is unknown"):
        read(patched(data, place, 126))


def test_an_op_of_a_later_version_is_refused_by_name() -> None:
    data = exported("double", (13, 1))
    place = data.index(bytes([0x44, 0x07, 0x06]))
    with pytest.raises(BytecodeError, match=r"opcode 110 \('atan2'\) is of 13.2, and the file of 13.1"):
        read(patched(data, place, 110))


def test_a_value_that_comes_later_is_refused() -> None:
    data = exported("double")
    place = data.index(bytes([0x44, 0x07, 0x06, 0x04, 0x08, 0x10, 0x00, 0x00])) + 7
    with pytest.raises(BytecodeError, match=rf"byte {place} .*value 99 is none of the 4 values so far"):
        read(patched(data, place, 99))


def test_bytes_behind_the_end_are_refused() -> None:
    with pytest.raises(BytecodeError, match="1 bytes are left behind the end of the file"):
        read(exported("double") + b"\x00")
