"""
Arithmetic that compilers hide is put back exactly: what is computed is the same for every number, and what is no
quotient is left alone.
"""

from __future__ import annotations

import random

import pytest

from tests.readers.ptx.evaluation import M32, blocks_of, computed, steps_behind, stored
from tests.readers.ptx.programs import text_of, verdict
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.readers.ptx.quotients import divisor_of, restore_quotients
from tileas_xdsl.readers.ptx.reading import read_ptx
from tileas_xdsl.readers.ptx.sums import restore_remainders

EDGES = (0, 1, 2, 3, 6, 7, 8, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFD, 0xFFFFFFFF)


def magic(divisor: int, bits: int) -> tuple[int, int] | None:
    """The factor and the shift by which compilers divide by `divisor`, if the factor has at most `bits` bits."""
    for extra in range(bits):
        factor = -(-(1 << (bits + extra)) // divisor)
        if factor < 1 << bits and (factor * divisor - (1 << (bits + extra))) << bits <= 1 << (bits + extra):
            return factor, bits + extra
    return None


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_a_factor_of_compilers_gives_its_divisor(bits: int):
    draw = random.Random(bits)
    found = 0
    for divisor in (3, 5, 6, 10, 12, 24, 100, 641, 10_000, *(draw.randrange(3, 10_000) for _ in range(300))):
        known = magic(divisor, bits)
        if known is None:
            continue
        factor, shift = known
        assert divisor_of(factor, shift, bits) == divisor
        found += 1
        for x in (*((1 << bits) - edge for edge in (1, 2, 3)), *range(3), *(draw.getrandbits(bits) for _ in range(30))):
            assert x * factor >> shift == x // divisor
    assert found > 100


def test_a_factor_of_no_divisor_gives_none():
    draw = random.Random(1)
    wrong = 0
    for _ in range(1_000):
        factor, shift = draw.getrandbits(32), 32 + draw.randrange(8)
        divisor = divisor_of(factor, shift, 32)
        if divisor is None:
            wrong += 1
            continue
        for x in (*EDGES, *(draw.getrandbits(32) for _ in range(50))):
            assert x * factor >> shift == x // divisor
    assert wrong > 900


REWRITTEN = {
    "mul.hi.u32 %r4, %r1, -1431655765; shr.u32 %r9, %r4, 1;": "div.u",
    "mul.hi.u32 %r9, %r1, 1431655766;": None,
    "mul.hi.u32 %r4, %r1, -1431655765; shr.u32 %r9, %r4, 2;": "div.u",
    "mul.hi.u32 %r4, %r1, -858993459; bfe.u32 %r9, %r4, 2, 1;": "div.u",
    "mul.wide.u32 %d3, %r1, -1431655765; shr.u64 %d4, %d3, 33; cvt.u32.u64 %r9, %d4;": "div.u",
    "mul.wide.u16 %r4, %h1, -21845; shr.u32 %r9, %r4, 17;": "div.u",
    "mul.hi.u32 %r4, %r1, -1431655764; shr.u32 %r9, %r4, 1;": None,
    "shr.s32 %r4, %r1, 31; shr.u32 %r5, %r4, 25; add.s32 %r6, %r1, %r5; shr.s32 %r9, %r6, 7;": "div.s",
    "shr.s32 %r4, %r1, 31; shr.u32 %r5, %r4, 30; add.s32 %r6, %r5, %r1; and.b32 %r9, %r6, -4;": "div.s",
    "shr.s32 %r4, %r1, 31; shr.u32 %r5, %r4, 30; add.s32 %r6, %r1, %r5; and.b32 %r7, %r6, 2097148; sub.s32 %r8, %r1, "
    "%r7; shl.b32 %r9, %r8, 11;": "rem.s",
    "shr.s32 %r4, %r1, 31; shr.u32 %r5, %r4, 30; add.s32 %r6, %r1, %r5; and.b32 %r9, %r6, 2097148;": None,
    "shr.s32 %r4, %r1, 30; shr.u32 %r5, %r4, 25; add.s32 %r6, %r1, %r5; shr.s32 %r9, %r6, 7;": None,
    "not.b32 %r4, %r1; and.b32 %r9, %r4, 1;": "sub",
    "not.b32 %r4, %r1; and.b32 %r9, %r4, 20;": "sub",
    "not.b32 %r4, %r1; bfe.u32 %r9, %r4, 1, 1;": "sub",
    "not.b32 %r4, %r1; shr.u32 %r5, %r4, 28; and.b32 %r9, %r5, 31;": None,
    "mul.hi.u32 %r4, %r1, -1431655765; shr.u32 %r5, %r4, 1; mul.lo.s32 %r6, %r5, 24; mul.lo.s32 %r7, %r1, 8; "
    "sub.s32 %r8, %r7, %r6; add.s32 %r9, %r8, 5;": "rem.u",
    "div.s32 %r4, %r1, 3; shl.b32 %r5, %r1, 2; mul.lo.s32 %r6, %r4, 12; sub.s32 %r7, %r5, %r6; "
    "add.s32 %r9, %r7, %r2;": "rem.s",
    "div.u32 %r4, %r1, 3; mul.lo.s32 %r6, %r4, 13; shl.b32 %r5, %r1, 2; sub.s32 %r9, %r5, %r6;": None,
}
"""Instructions that compute %r9, and the step that is put in for some of them; None: nothing is."""


@pytest.mark.parametrize("instructions", REWRITTEN)
def test_what_is_computed_stays_the_same(instructions: str):
    draw = random.Random(5)
    body = f"{instructions} cvt.u64.u32 %d9, %r9;"
    for a in (*EDGES, *(draw.getrandbits(32) for _ in range(30))):
        b = draw.getrandbits(32)
        assert computed(body, a, b, 0, restore_quotients, restore_remainders) == computed(body, a, b, 0)


@pytest.mark.parametrize("instructions", REWRITTEN)
def test_a_quotient_is_found_where_there_is_one(instructions: str):
    body = f"{instructions} cvt.u64.u32 %d9, %r9;"
    plain = steps_behind(stored(blocks_of(body)))
    found = steps_behind(stored(blocks_of(body, restore_quotients, restore_remainders)))
    wanted = REWRITTEN[instructions]
    if wanted is None:
        assert found == plain
    else:
        assert wanted in found
        assert wanted not in plain


RING = """
  mov.u32 %r9, %tid.x; setp.ne.s32 %p9, %r9, 0; @%p9 bra END;
  ld.param.u32 %r1, [n]; mov.b32 %r2, 0; mov.b32 %r3, 0; setp.lt.s32 %p1, %r1, 1; @%p1 bra END;
LOOP:
  mul.hi.u32 %r4, %r2, -1431655765; shr.u32 %r5, %r4, 1;
  mul.lo.s32 %r6, %r5, 24; sub.s32 %r7, %r3, %r6; mov.u32 %r10, s; add.s32 %r8, %r10, %r7;
  st.shared.b32 [%r8], %r2;
  add.s32 %r3, %r3, 8; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra LOOP;
END:
"""


def test_a_ring_of_three_slots_is_proved_for_every_trip_count():
    """Its address grows by 8 each turn, and by -24 each third one: without a remainder it seems to leave the ring."""
    report = check(read_ptx(text_of(RING), "ring.ptx").module, judge_waits=False)
    assert report.is_proved
    assert str(verdict(RING, 0, 1, 7).verdict) == "safe"


def test_numbers_of_32_bits_are_compared_modulo_their_width():
    assert computed("add.s32 %r9, %r1, -1; cvt.u64.u32 %d9, %r9;", 0, 0, 0, restore_remainders) == M32
