"""Constants, trip counts and linear forms."""

from __future__ import annotations

import pytest
from xdsl.dialects import scf
from xdsl.ir import SSAValue

from tests.support.ir import parse
from tileas_xdsl.analysis.induction import (
    AffineIndex,
    LoopIndices,
    RotatingIndex,
    constant_integer,
    signed,
    static_trip_count,
    trip_count_of,
)


def result_of(line: str) -> SSAValue:
    """The result of the last op of a module of `line`."""
    op = parse(line).body.block.last_op
    assert op is not None
    return op.results[0]


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("%c = arith.constant 7 : index", 7),
        ("%c = arith.constant -3 : i64", -3),
        ("%c = arith.constant 200 : i8", -56),
        ("%c = arith.constant true", -1),
        ("%c = arith.constant 1.0 : f32", None),
        ("%c = arith.constant dense<1> : vector<2xi32>", None),
        ("%z = arith.constant 1 : i32 %c = arith.addi %z, %z : i32", None),
    ],
)
def test_constants_are_read_as_signed_numbers(line: str, number: int | None) -> None:
    assert constant_integer(result_of(line)) == number


@pytest.mark.parametrize(
    ("number", "width", "expected"),
    [(127, 8, 127), (128, 8, -128), (-129, 8, 127), (256, 8, 0), (1, 1, -1), (5, 3, -3)],
)
def test_numbers_wrap_in_twos_complement(number: int, width: int, expected: int) -> None:
    assert signed(number, width) == expected


def test_trip_counts_agree_with_range() -> None:
    for lower in range(-4, 5):
        for upper in range(-4, 12):
            for step in (1, 2, 3, 7):
                assert trip_count_of(lower, upper, step) == len(range(lower, upper, step))


def loop_with(bounds: str, body: str = "") -> scf.ForOp:
    module = parse(
        "func.func @f(%n: index) { %c0 = arith.constant 0 : index %c2 = arith.constant 2 : index "
        f"%c9 = arith.constant 9 : index scf.for %i = {bounds} {{ {body} }} func.return }}"
    )
    return next(op for op in module.walk() if isinstance(op, scf.ForOp))


@pytest.mark.parametrize(
    ("bounds", "trips"),
    [
        ("%c0 to %c9 step %c2", 5),
        ("%c9 to %c0 step %c2", 0),
        ("%c0 to %n step %c2", None),
        ("%c0 to %c9 step %c0", None),
    ],
)
def test_a_trip_count_is_known_with_constant_bounds_and_a_positive_step(bounds: str, trips: int | None) -> None:
    assert static_trip_count(loop_with(bounds)) == trips


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("%v = arith.addi %i, %c9 : index", AffineIndex(11, 11, 2)),
        ("%v = arith.muli %c9, %i : index", AffineIndex(18, 18, 18)),
        ("%v = arith.subi %c9, %i : index", AffineIndex(7, 7, -2)),
        ("%w = arith.index_cast %i : index to i64 %v = arith.index_cast %w : i64 to index", AffineIndex(2, 2, 2)),
        ("%v = arith.muli %i, %c0 : index", AffineIndex()),
        ("%v = arith.muli %i, %i : index", None),
        ("%v = arith.remui %i, %c2 : index", AffineIndex(turn=RotatingIndex(AffineIndex(2, 2, 2), 2))),
        ("%v = arith.remsi %i, %c9 : index", AffineIndex(turn=RotatingIndex(AffineIndex(2, 2, 2), 9))),
        ("%v = arith.andi %i, %c9 : index", None),
        (
            "%c7 = arith.constant 7 : index %v = arith.andi %i, %c7 : index",
            AffineIndex(turn=RotatingIndex(AffineIndex(2, 2, 2), 8)),
        ),
        ("%v = arith.remui %i, %c0 : index", None),
        ("%v = arith.remui %i, %n : index", None),
        ("%w = arith.muli %i, %i : index %v = arith.remui %w, %c9 : index", AffineIndex(0, 8)),
        ("%w = arith.muli %i, %i : index %v = arith.remsi %w, %c9 : index", AffineIndex(-8, 8)),
        ("%w = arith.remui %i, %c9 : index %v = arith.remui %w, %c2 : index", AffineIndex(0, 1)),
        # Below 0, remui takes the number for another one, unless the slots divide two to the width.
        ("%w = arith.subi %i, %c9 : index %v = arith.remui %w, %c9 : index", AffineIndex(0, 8)),
        (
            "%w = arith.subi %i, %c9 : index %v = arith.remui %w, %c2 : index",
            AffineIndex(turn=RotatingIndex(AffineIndex(-7, -7, 2), 2)),
        ),
        (
            "%w = arith.subi %i, %c9 : index %v = arith.remsi %w, %c9 : index",
            AffineIndex(turn=RotatingIndex(AffineIndex(-7, -7, 2), 9, -8)),
        ),
        (
            "%w = arith.remui %i, %c9 : index %x = arith.muli %w, %c2 : index %v = arith.addi %x, %c9 : index",
            AffineIndex(9, 9, turn=RotatingIndex(AffineIndex(2, 2, 2), 9, 0, 2)),
        ),
        ("%w = arith.remui %i, %c9 : index %v = arith.subi %w, %w : index", AffineIndex(-8, 8)),
    ],
)
def test_linear_forms_count_iterations_from_zero(body: str, expected: AffineIndex | None) -> None:
    """The loop starts at 2 and goes in steps of 2."""
    loop = loop_with("%c2 to %n step %c2", body)
    *_, last, _ = loop.body.block.ops
    assert LoopIndices(loop).index_of(last.results[0]) == expected


def test_a_nested_loop_makes_an_interval() -> None:
    body = "scf.for %j = %c2 to %c9 step %c2 { %v = arith.muli %j, %c2 : index }"
    loop = loop_with("%c0 to %n step %c2", body)
    inner = next(op for op in loop.body.walk() if isinstance(op, scf.ForOp))
    product = inner.body.block.first_op
    assert product is not None
    assert LoopIndices(loop).index_of(product.results[0]) == AffineIndex(4, 16)


def test_a_chain_of_thousands_of_additions_needs_no_recursion() -> None:
    lines = [f"%v{k + 1} = arith.addi %v{k}, %c2 : index" for k in range(5000)]
    loop = loop_with("%c0 to %n step %c2", "\n".join(["%v0 = arith.addi %i, %c2 : index", *lines]))
    *_, last, _ = loop.body.block.ops
    assert LoopIndices(loop).index_of(last.results[0]) == AffineIndex(10_002, 10_002, 2)
