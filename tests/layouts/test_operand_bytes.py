"""Descriptors of matrices are read as they are made; the bytes that they name are those of the canonical layouts."""

from __future__ import annotations

from itertools import product

import pytest

from tileas_xdsl.layouts.descriptors import (
    PATTERN,
    Operand,
    Runs,
    bytes_of,
    tcgen05_descriptor,
    tcgen05_operand,
    wgmma_descriptor,
    wgmma_operand,
)
from tileas_xdsl.layouts.errors import LayoutError

SWIZZLES = (0, 32, 64, 128)
OPERANDS = [Operand(4096, 256, 1024, swizzle) for swizzle in SWIZZLES]


@pytest.mark.parametrize("operand", OPERANDS)
def test_a_descriptor_is_read_as_it_was_made(operand: Operand) -> None:
    for read in (wgmma_operand(wgmma_descriptor(operand)), tcgen05_operand(tcgen05_descriptor(operand))):
        assert (read.address, read.leading, read.stride, read.swizzle) == (4096, 256, 1024, operand.swizzle)
        assert read.pattern == 0


@pytest.mark.parametrize("swizzle", [64, 128])
def test_the_base_offset_says_where_the_pattern_begins(swizzle: int) -> None:
    shifted = Operand(4096 + 256, 16, 1024, swizzle, pattern=4096 + 128)
    assert wgmma_operand(wgmma_descriptor(shifted)).pattern % PATTERN[swizzle] == 128 % PATTERN[swizzle]


REFUSED = {
    "bits 46 to 48": 4611686293305360384,
    "a swizzle of tcgen05": 0b001 << 46 | 3 << 61,
    "given as an address": 0b001 << 46 | 1 << 52,
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_is_no_descriptor_of_tcgen05(reason: str) -> None:
    with pytest.raises(LayoutError, match=reason):
        tcgen05_operand(REFUSED[reason])


def all_bytes(runs: Runs) -> set[int]:
    found: set[int] = set()
    for place in product(*map(range, runs.counts)):
        start = runs.start + sum(number * step for number, step in zip(place, runs.steps, strict=True))
        found |= set(range(start, start + runs.length))
    return found


def swizzled(address: int, swizzle: int) -> int:
    """The address behind the swizzle: chunks of 16 bytes within rows of 128 are permuted by the number of the row."""
    bits = {0: 0, 32: 0b1, 64: 0b11, 128: 0b111}[swizzle]
    return address ^ ((address >> 7 & bits) << 4)


def canonical_k_major(operand: Operand, rows: int, chunks: int) -> set[int]:
    """
    CUTLASS, mma_sm90_desc.hpp, in chunks of 16 bytes: `((8,n),2):((w,SBO),1)` with a swizzle of w chunks; without one
    `((8,n),2):((1,SBO),LBO)`.
    """
    across = operand.swizzle or 16
    found: set[int] = set()
    for row, chunk in product(range(rows), range(chunks)):
        step = 16 if operand.swizzle else operand.leading
        address = operand.address + row % 8 * across + row // 8 * operand.stride + chunk * step
        place = swizzled(address, operand.swizzle)
        found |= set(range(place, place + 16))
    return found


@pytest.mark.parametrize("rows", [8, 64, 128])
@pytest.mark.parametrize("swizzle", SWIZZLES)
def test_bytes_with_k_contiguous(swizzle: int, rows: int) -> None:
    stride = PATTERN.get(swizzle, 256)
    operand = Operand(8192, 128, stride, swizzle)
    named = all_bytes(bytes_of(operand, rows, 32))
    read = canonical_k_major(operand, rows, 2)
    assert read <= named
    steps = range(0, swizzle or 32, 32)
    every_step = set[int]()
    for step in steps:
        advanced = Operand(8192 + step, 128, stride, swizzle)
        every_step |= canonical_k_major(advanced, rows, 2)
        assert all_bytes(bytes_of(advanced, rows, 32)) == named
    assert every_step == named


@pytest.mark.parametrize("swizzle", SWIZZLES)
def test_bytes_with_m_contiguous(swizzle: int) -> None:
    """`((1,n),(8,k)):((X,SBO),(1,LBO))` without a swizzle, `((w,n),(8,k)):((1,LBO),(w,SBO))` with one of w chunks."""
    operand = Operand(8192, 4096, 2048, swizzle)
    named = all_bytes(bytes_of(operand, 16, 128, k_major=False))
    read: set[int] = set()
    for k, chunk in product(range(16), range(8)):
        if swizzle == 0:
            address = operand.address + chunk * operand.stride + k % 8 * 16 + k // 8 * operand.leading
        else:
            width = swizzle // 16
            address = operand.address + chunk % width * 16 + chunk // width * operand.leading
            address += k % 8 * swizzle + k // 8 * operand.stride
        place = swizzled(address, swizzle)
        read |= set(range(place, place + 16))
    assert read == named
