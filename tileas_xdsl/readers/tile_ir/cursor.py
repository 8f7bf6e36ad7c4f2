"""
Bytes in and out: varints, zigzag numbers, little-endian numbers, padding.

A `Cursor` reads a part of a file and never leaves it; a `Buffer` is what is being written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

PADDING = 0xCB
LONGEST_VARINT = 10
"""Groups of seven bits of a number of 64 bits."""


class BytecodeError(Exception):
    """The bytes are no Tile IR; the message names the offset in the file."""

    def __init__(self, offset: int, text: str) -> None:
        super().__init__(f"byte {offset} (0x{offset:x}): {text}")
        self.offset = offset


@dataclass
class Cursor:
    """Reads `data` from `pos` up to `end`; offsets are those of the file."""

    data: bytes
    pos: int
    end: int

    def again(self) -> Cursor:
        """Another cursor at the same byte."""
        return Cursor(self.data, self.pos, self.end)

    def fail(self, text: str, offset: int | None = None) -> BytecodeError:
        """The error at `offset`, or here."""
        return BytecodeError(self.pos if offset is None else offset, text)

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        if count > self.end - self.pos:
            raise self.fail(f"{count} bytes are needed, and {self.end - self.pos} are left")
        self.pos += count
        return self.data[self.pos - count : self.pos]

    def byte(self) -> int:
        """The next byte."""
        if self.pos >= self.end:
            raise self.fail("a byte is needed, and none is left")
        self.pos += 1
        return self.data[self.pos - 1]

    def flag(self) -> bool:
        """A byte that is 0 or 1."""
        start = self.pos
        value = self.byte()
        if value > 1:
            raise self.fail(f"a truth is 0 or 1, not {value}", start)
        return bool(value)

    def varint(self) -> int:
        """An unsigned number in groups of seven bits, the lowest first."""
        start = self.pos
        value = 0
        for place in range(LONGEST_VARINT):
            group = self.byte()
            value |= (group & 0x7F) << (7 * place)
            if not group & 0x80:
                if place and not group:
                    raise self.fail("a number ends with a group of zeros", start)
                if value >> 64:
                    break
                return value
        raise self.fail("a number is longer than 64 bits", start)

    def zigzag(self) -> int:
        """A signed number: its sign is the lowest bit."""
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def count(self, what: str, least: int = 1) -> int:
        """The number of `what` that follow, each of `least` bytes or more."""
        start = self.pos
        value = self.varint()
        if value * least > self.end - self.pos:
            raise self.fail(f"{value} {what} do not fit into {self.end - self.pos} bytes", start)
        return value

    def fixed(self, width: int, *, signed: bool = False) -> int:
        """A little-endian number of `width` bytes."""
        return int.from_bytes(self.take(width), "little", signed=signed)

    def numbers(self, width: int) -> list[int]:
        """A count and signed little-endian numbers of `width` bytes."""
        return [self.fixed(width, signed=True) for _ in range(self.count("numbers", width))]

    def pad(self, alignment: int) -> None:
        """Skip padding up to a multiple of `alignment`."""
        for _ in range(-self.pos % alignment):
            start = self.pos
            if (found := self.byte()) != PADDING:
                raise self.fail(f"padding is 0xcb, not 0x{found:02x}", start)

    def part(self, length: int) -> Cursor:
        """A cursor for the next `length` bytes, which this one skips."""
        start = self.pos
        self.take(length)
        return Cursor(self.data, start, start + length)

    def finish(self, what: str) -> None:
        """Refuse bytes that are left."""
        if self.pos != self.end:
            raise self.fail(f"{self.end - self.pos} bytes are left behind {what}")

    def table(self, width: int, what: str, *, to_end: bool = True) -> list[Cursor]:
        """A table: count, padding, offsets of `width` bytes, data. Each row as a cursor."""
        count = self.count(f"rows of {what}", width)
        self.pad(width)
        offsets = [self.fixed(width) for _ in range(count)]
        start = self.pos
        ends = [*offsets[1:], self.end - start] if count else []
        for place, (begin, finish) in enumerate(zip(offsets, ends, strict=True)):
            if begin > finish or finish > self.end - start or (place == 0 and begin):
                raise self.fail(f"row {place} of {what} goes from {begin} to {finish} of {self.end - start} bytes")
        if to_end and not count:
            self.finish(what)
        self.pos = self.end
        return [Cursor(self.data, start + begin, start + end) for begin, end in zip(offsets, ends, strict=True)]


@dataclass
class Buffer:
    """Bytes that are being written; offsets count from its start."""

    data: bytearray = field(default_factory=bytearray)

    def varint(self, value: int) -> None:
        """An unsigned number."""
        while value > 0x7F:
            self.data.append(value & 0x7F | 0x80)
            value >>= 7
        self.data.append(value)

    def zigzag(self, value: int) -> None:
        """A signed number."""
        self.varint(value << 1 if value >= 0 else ~(value << 1))

    def fixed(self, value: int, width: int) -> None:
        """A little-endian number."""
        self.data += (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")

    def numbers(self, values: Sequence[int], width: int) -> None:
        """A count and little-endian numbers."""
        self.varint(len(values))
        for value in values:
            self.fixed(value, width)

    def pad(self, alignment: int) -> None:
        """Padding up to a multiple of `alignment`."""
        self.data += bytes([PADDING]) * (-len(self.data) % alignment)

    def table(self, rows: Sequence[bytes], width: int) -> None:
        """A table of these rows."""
        self.varint(len(rows))
        self.pad(width)
        offset = 0
        for row in rows:
            self.fixed(offset, width)
            offset += len(row)
        for row in rows:
            self.data += row
