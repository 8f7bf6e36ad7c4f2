"""
Broken programs get a message, never a traceback of ours, and what is accepted round-trips.

Each case takes a sample of an op, in generic form, and exchanges a type, a number or the properties at random.
`mutant(number)` makes the same program at every run.
"""

from __future__ import annotations

import random
import re
from functools import cache

from xdsl.utils.exceptions import ParseError, VerifyException

from tests.dialects.nv_tileaa_samples import SAMPLES, TYPES, program
from tests.support.corpora import each
from tests.support.ir import assert_round_trips, parse, print_generic

CASES_A_BATCH = 50

STRANGE_TYPES = [
    *("f32", "i32", "i1", "i64", "index", "none", "tensor<f32>", "tensor<?x4xf32>", "tensor<0xf32>", "tensor<*xf32>"),
    *("vector<4xf32>", "complex<f32>", "tuple<f32>", "memref<f32>", "memref<*xf32>", "(f32) -> f32"),
    *("tensor<8xf32, 3 : i32>", "!nv_tileaa.tiled_view<f32>", "!nv_tileaa.memref<?xf32, 1, strides = [?]>"),
]
STRANGE_NUMBERS = [-1, 0, 1, 2, 3, 5, 8, 100, 2**40, 2**63]

WRITTEN_TYPE = re.compile("|".join(map(re.escape, sorted({*TYPES.values(), "f32", "i32", "index"}, key=len)[::-1])))
WRITTEN_NUMBER = re.compile(r"(?<=[: ,\[])-?\d+(?=[ ,>\]])")
PROPERTIES = re.compile(r'(?<!func"\(\) )<\{[^}]*\}>')
"""Of our ops only: xDSL itself fails on a `func.func` without properties."""


@cache
def generic_samples() -> list[str]:
    return [print_generic(parse(program(name))) for name in SAMPLES]


def exchange(text: str, pattern: re.Pattern[str], new: str, choose: random.Random) -> str:
    """`text` with one occurrence of `pattern` replaced, or all occurrences of the same text."""
    found = list(pattern.finditer(text))
    if not found:
        return text
    match = choose.choice(found)
    if choose.random() < 0.5:
        return pattern.sub(lambda other: new if other.group() == match.group() else other.group(), text)
    return text[: match.start()] + new + text[match.end() :]


def mutant(number: int) -> str:
    choose = random.Random(number)
    text = choose.choice(generic_samples())
    if choose.random() < 0.3:
        text = exchange(text, WRITTEN_NUMBER, str(choose.choice(STRANGE_NUMBERS)), choose)
    if choose.random() < 0.8:
        text = exchange(text, WRITTEN_TYPE, choose.choice([*TYPES.values(), *STRANGE_TYPES]), choose)
    if choose.random() < 0.2:
        text = PROPERTIES.sub(lambda match: choose.choice(["", match.group()]), text)
    return text


@each("batch", range(100), 10, programs=CASES_A_BATCH)
def test_mutants_are_refused_politely_or_round_trip(batch: int) -> None:
    refused = 0
    for number in range(batch * CASES_A_BATCH, (batch + 1) * CASES_A_BATCH):
        text = mutant(number)
        try:
            parse(text)
        except (ParseError, VerifyException):
            refused += 1
            continue
        assert_round_trips(text)
    assert 0 < refused < CASES_A_BATCH
