"""
What integer ops compute (`upstream_models/integers.py`): each domain has a rule for every function, or a reason; the
rules hold against numpy on random operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation
from xdsl.utils.test_value import create_ssa_value

from tileas_xdsl.analysis.exact_counts.cases import FORMS, CallCase, TurnsAtHand
from tileas_xdsl.analysis.exact_counts.linear import LinearForm
from tileas_xdsl.analysis.induction import INDICES, AffineIndex
from tileas_xdsl.analysis.value_range import RANGES, Range
from tileas_xdsl.checker.decisions.demand import DEMAND
from tileas_xdsl.checker.decisions.derived_counts import COUNTS
from tileas_xdsl.checker.decisions.limits import LIMITS, SIGNS
from tileas_xdsl.checker.verdict.bound_formulas import FORMULAS
from tileas_xdsl.dialects.upstream_models.integers import (
    EXACT,
    FUNCTIONS,
    OPS,
    Domain,
    Function,
    IntegerFunction,
    Rounding,
)
from tileas_xdsl.machine.core.moving_numbers import MOVING, IrregularError, Moving, rule_of

DOMAINS: dict[str, Domain[Any]] = {
    "ranges": RANGES,
    "indices": INDICES,
    "forms of guards": FORMS,
    "formulas of bounds": FORMULAS,
    "numbers that move on": MOVING,
    "demand": DEMAND,
    "signs": SIGNS,
    "limits": LIMITS,
    "derived counts": COUNTS,
}
ROUNDS = 60


def by_numpy(what: IntegerFunction, *operands: int) -> int:
    """What numpy makes of integers of 64 bits, none of which overflows."""
    numbers = [np.int64(each) for each in operands]
    return int(ORACLES[what.function](what, *numbers))


def _quotient(what: IntegerFunction, a: Any, b: Any) -> Any:
    if what.rounding is Rounding.UP:
        return np.negative(np.floor_divide(np.negative(a), b))
    return np.floor_divide(a, b) if what.rounding is Rounding.DOWN else (a - np.fmod(a, b)) // b


def _plain(compute: Callable[..., Any]) -> Callable[..., Any]:
    def of_operands(_what: IntegerFunction, *operands: Any) -> Any:
        return compute(*operands)

    return of_operands


ORACLES: dict[Function, Callable[..., Any]] = {
    Function.SUM: _plain(np.add),
    Function.DIFFERENCE: _plain(np.subtract),
    Function.PRODUCT: _plain(np.multiply),
    Function.QUOTIENT: _quotient,
    Function.REMAINDER: _plain(np.fmod),
    Function.AND: _plain(np.bitwise_and),
    Function.OR: _plain(np.bitwise_or),
    Function.XOR: _plain(np.bitwise_xor),
    Function.LEFT: _plain(np.left_shift),
    Function.RIGHT: _plain(np.right_shift),
    Function.LEAST: _plain(np.minimum),
    Function.GREATEST: _plain(np.maximum),
    **dict.fromkeys((Function.EXTENDED, Function.RESIZED, Function.TRUNCATED), _plain(np.positive)),
}
COMPUTED = [what for what in OPS if what.function in ORACLES]
CASTS = (Function.EXTENDED, Function.RESIZED, Function.TRUNCATED)
named = pytest.mark.parametrize("what", COMPUTED, ids=lambda what: OPS[what][0].name)


def second(what: IntegerFunction, random: Random) -> int:
    """A second operand for which the function is defined, and small."""
    if what.function in (Function.LEFT, Function.RIGHT):
        return random.randrange(6)
    return (
        random.randrange(1, 9) if what.function in (Function.QUOTIENT, Function.REMAINDER) else random.randrange(-9, 9)
    )


def operands_of(what: IntegerFunction, random: Random) -> list[int]:
    """Random operands, which are the same read as signed and as unsigned where that matters."""
    found = [random.randrange(-60, 60)] if what.function in CASTS else [random.randrange(-60, 60), second(what, random)]
    return found if what.signed else [abs(each) for each in found]


def op_with(what: IntegerFunction, constants: dict[int, int]) -> Operation:
    """An op that computes `what` of 32 bits; operands of known value are constants."""
    count = 1 if what.function in CASTS else 2
    values = [
        arith.ConstantOp.from_int_and_width(constants[n], 32).result if n in constants else create_ssa_value(i32)
        for n in range(count)
    ]
    return OPS[what][0].create(operands=values, result_types=[i32])


# Tables ---------------------------------------------------------------------------------------------------------------


def test_each_integer_op_of_arith_has_its_row() -> None:
    others = ("constant", "bitcast", "uitofp", "sitofp", "fptoui", "fptosi", "extended")
    integer = {
        op
        for op in arith.Arith.operations
        if not op.name.endswith("f") and not any(word in op.name for word in others) and "num" not in op.name
    }
    assert integer - set(FUNCTIONS) == {op for op in integer if op.name in ("arith.maximumf", "arith.minimumf")}
    assert len([op for op in FUNCTIONS if op.name.startswith("arith.")]) == 27


@pytest.mark.parametrize("name", DOMAINS)
def test_no_function_is_unknown_without_a_reason(name: str) -> None:
    domain = DOMAINS[name]
    assert set(domain.rules) | set(domain.unknown) == set(Function)
    assert not set(domain.rules) & set(domain.unknown)
    assert all(reason.strip() for reason in domain.unknown.values())


# Domains --------------------------------------------------------------------------------------------------------------


def rounds(what: IntegerFunction, salt: str) -> Iterator[tuple[Random, list[int]]]:
    for seed in range(ROUNDS):
        random = Random(f"{salt} {what} {seed}")
        yield random, operands_of(what, random)


@named
def test_exact_numbers(what: IntegerFunction) -> None:
    if what.function in CASTS:
        return
    for _, operands in rounds(what, "exact"):
        assert EXACT[what](*operands) == by_numpy(what, *operands)


@named
def test_formulas_are_exact(what: IntegerFunction) -> None:
    for _, operands in rounds(what, "formulas"):
        assert FORMULAS.rules[what.function](what, *operands) == by_numpy(what, *operands)


@named
def test_a_range_holds_every_number(what: IntegerFunction) -> None:
    rule = RANGES.rules.get(what.function)
    for random, operands in rounds(what, "ranges") if rule is not None else ():
        least = [each - random.randrange(5) * random.randrange(2) for each in operands]
        if what.function in (Function.QUOTIENT, Function.REMAINDER, Function.LEFT, Function.RIGHT):
            least[1] = operands[1]
        assert rule is not None
        found = rule(what, *(Range(low, high + 4 * (low < high)) for low, high in zip(least, operands, strict=True)))
        assert found.low <= by_numpy(what, *operands) <= found.high


@named
def test_a_linear_form_is_the_number_in_each_iteration(what: IntegerFunction) -> None:
    rule = INDICES.rules.get(what.function)
    for random, operands in rounds(what, "indices") if rule is not None else ():
        assert rule is not None
        growth = random.randrange(3)
        forms = [AffineIndex(operands[0], operands[0], growth), *map(AffineIndex.constant, operands[1:])]
        form: AffineIndex | None = rule(what, *forms)
        if form is None:
            continue
        for iteration in range(5):
            number = by_numpy(what, operands[0] + growth * iteration, *operands[1:])
            turn = 0
            if form.turn is not None:
                inner = form.turn.number
                turn = (inner.low + inner.per_iteration * iteration) % form.turn.slots
                turn = form.turn.scale * (turn - form.turn.slots if turn and number < 0 else turn)
            assert form.low <= number - form.per_iteration * iteration - turn <= form.high


@named
def test_a_form_of_a_guard_is_the_number(what: IntegerFunction) -> None:
    rule = FORMS.rules.get(what.function)
    for random, operands in rounds(what, "forms") if rule is not None else ():
        assert rule is not None
        constants = {n: number for n, number in enumerate(operands) if n or random.randrange(3) == 0}
        op = op_with(what, constants)
        case: CallCase | None = CallCase()
        for value, number in zip(op.operands, operands, strict=True):
            assert case is not None
            case = case.assume(LinearForm.of(value), Range(number - random.randrange(3), number))
        assert case is not None
        form = rule(case, op, TurnsAtHand())
        if form is not None:
            given = dict(zip(op.operands, operands, strict=True))
            total = form.constant + sum(factor * given[atom] for atom, factor in form.terms)  # pyright: ignore[reportArgumentType]
            assert total == by_numpy(what, *operands)


@named
def test_numbers_move_on_as_the_rule_says(what: IntegerFunction) -> None:
    rule = rule_of(what)
    for random, operands in rounds(what, "moving") if rule is not None else ():
        assert rule is not None
        shifts = [random.choice((0, 1, 8, 64, 1 << 9)), *(0 for _ in operands[1:])]
        try:
            (shift,) = rule(op_with(what, {}), [Moving(x, (d,)) for x, d in zip(operands, shifts, strict=True)])
        except IrregularError:
            continue
        first = by_numpy(what, *operands)
        for later in range(4) if operands[0] >= 0 or what.signed else ():
            moved = [x + later * d for x, d in zip(operands, shifts, strict=True)]
            assert by_numpy(what, *moved) == first + later * shift


@named
def test_a_number_is_needed_modulo_its_demand(what: IntegerFunction) -> None:
    rule = DEMAND.rules.get(what.function)
    for random, operands in rounds(what, "demand") if rule is not None and what.function not in CASTS else ():
        assert rule is not None
        number, other = abs(operands[0]), abs(operands[1]) + 1
        wanted = random.choice((1, 2, 3, 4, 6, 8))
        modulus = rule(other, wanted)
        again = number + modulus * random.randrange(1, 4)
        difference = by_numpy(what, again, other) - by_numpy(what, number, other)
        assert difference % wanted == 0
        if what.function in (Function.AND, Function.REMAINDER):
            assert difference == 0


@named
def test_signs_and_limits_hold(what: IntegerFunction) -> None:
    sign, limit = SIGNS.rules.get(what.function), LIMITS.rules.get(what.function)
    for random, operands in rounds(what, "limits"):
        number = by_numpy(what, *operands)
        if sign is not None and (sign if what.signed else all)(each >= 0 for each in operands):
            assert number >= 0
        if limit is None or number < 0 or (min(operands) < 0 and sign is all):
            continue
        op = op_with(what, {1: operands[1]} if len(operands) > 1 and random.randrange(2) else {})
        known = [each if each < 0 else each + random.randrange(3) for each in operands]
        if what.function in (Function.QUOTIENT, Function.RIGHT) or random.randrange(2):
            known = [known[0], *operands[1:]]
        found = limit(op, *known)
        assert found is None or number <= found


@named
def test_a_derived_count_reads_as_it_is_computed(what: IntegerFunction) -> None:
    written = COUNTS.rules.get(what.function)
    for _, operands in rounds(what, "counts") if written is not None else ():
        assert written is not None
        number, constant = abs(operands[0]), abs(operands[1]) + 1
        factor = 1 << constant if what.function in (Function.LEFT, Function.RIGHT) else constant
        added = factor - 1 if what.rounding is Rounding.UP else 0
        text = written.format(number + added, factor).replace("/", "//").replace("mod", "%")
        assert eval(text) == by_numpy(what, number, constant)
