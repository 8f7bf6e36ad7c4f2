"""
Preconditions: what a caller promises of integer arguments, as in `K >= 64`, `K % 64 == 0`, `N >= K` or `M == N`.

A promised argument becomes a formula of what the promise leaves free, in a copy of the function:

    func(%K)                         func(%K)
    ... %K ...               ->      %m = %K * 64 + 64
                                     ... %m ...

All numbers from 0 up of the copy's argument are all numbers of the argument that keep the promise. So whatever is
executed or proved of the copy holds for the function under its preconditions, and for no other call.

There are no upper bounds: a proof is for every number from the least one on.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.machine.arguments import ArgumentError, argument_at, argument_names, find_function, is_integer_scalar

FORMS = "K >= 1, K % 64 == 0, N >= K or M == N"
"""What a precondition may look like."""


@dataclass(frozen=True)
class Numbers:
    """The numbers of an argument: `first + step * n`, for n from 0 up, and multiples of other arguments."""

    step: int = 1
    first: int = 0
    others: tuple[tuple[str, int], ...] = ()
    """Names of other arguments, and by what each is multiplied."""
    has_least: bool = False
    """Whether a precondition says which number is the least; else it is taken to be the first from 0 up."""

    def number(self, n: int, scalars: Mapping[str, int]) -> int:
        """Number `n`, where the other arguments are those of `scalars`."""
        return self.first + self.step * n + sum(factor * scalars.get(name, 0) for name, factor in self.others)


def as_called(numbers: Mapping[str, Numbers], scalars: Mapping[str, int]) -> dict[str, int]:
    """The scalars that a caller gives, where the arguments `numbers` count them."""
    called = dict(scalars)
    for name, each in numbers.items():
        if name in called:
            called[name] = each.number(called[name], called)
    return called


@dataclass(frozen=True)
class Sum:
    """`constant + factor * name + ...`"""

    constant: int = 0
    factors: tuple[tuple[str, int], ...] = ()

    def plus(self, other: Sum, times: int = 1) -> Sum:
        """This and `times` the other."""
        factors = dict(self.factors)
        for name, factor in other.factors:
            factors[name] = factors.get(name, 0) + times * factor
        left = tuple((name, factor) for name, factor in factors.items() if factor)
        return Sum(self.constant + times * other.constant, left)

    def without(self, name: str) -> Sum:
        """What is left beside `name`."""
        return replace(self, factors=tuple(each for each in self.factors if each[0] != name))


@dataclass(frozen=True)
class Precondition:
    """One condition: a sum that is not negative, or zero, or leaves a rest."""

    text: str
    total: Sum
    is_zero: bool = False
    """Whether the sum is 0; else it is at least 0."""
    modulus: int = 0
    """If this is not 0, the sum is a multiple of it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The arguments that it is about, the one on the left first."""
        return tuple(name for name, _ in self.total.factors)

    def holds(self, scalars: Mapping[str, int]) -> bool:
        """Whether a call with `scalars`, which name all the arguments that it is about, keeps it."""
        total = self.total.constant + sum(factor * scalars[name] for name, factor in self.total.factors)
        if self.modulus:
            return total % self.modulus == 0
        return total == 0 if self.is_zero else total >= 0


# Reading --------------------------------------------------------------------------------------------------------------


def parse_preconditions(texts: Iterable[str]) -> list[Precondition]:
    """The conditions of `texts`, each one or several joined by `and`. Raises `ArgumentError`."""
    return [condition for text in texts for condition in _parsed(text)]


def _parsed(text: str) -> list[Precondition]:
    try:
        tree = ast.parse(_without_percent_signs(text), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _not_read(text) from None
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    return [_condition(part, text) for part in parts]


def _without_percent_signs(text: str) -> str:
    """`%K >= 1` as `K >= 1`: a sign before a name that follows no other operand is that of MLIR."""
    words: list[str] = []
    for word in text.split():
        begins = not words or words[-1] in ("and", "*", "+", "-", "<", "<=", ">", ">=", "==")
        words.append(word.removeprefix("%") if begins and len(word) > 1 else word)
    return " ".join(words)


def _not_read(text: str) -> ArgumentError:
    return ArgumentError(f"the precondition '{text}' is not read; write one as {FORMS}, several joined by 'and'")


def _condition(tree: ast.expr, text: str) -> Precondition:
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
        raise _not_read(text)
    left, (right,), (relation,) = tree.left, tree.comparators, tree.ops
    words = ast.unparse(tree)
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod):
        modulus = _sum(left.right, text)
        if not isinstance(relation, ast.Eq) or modulus.factors or modulus.constant < 1:
            raise _not_read(text)
        return _about_something(Precondition(words, _difference(left.left, right, text), modulus=modulus.constant))
    match relation:
        case ast.Eq():
            return _about_something(Precondition(words, _difference(left, right, text), is_zero=True))
        case ast.GtE():
            return _about_something(Precondition(words, _difference(left, right, text)))
        case ast.Gt():
            return _about_something(Precondition(words, _difference(left, right, text).plus(Sum(-1))))
        case ast.LtE():
            return _about_something(Precondition(words, _difference(right, left, text)))
        case ast.Lt():
            return _about_something(Precondition(words, _difference(right, left, text).plus(Sum(-1))))
        case _:
            raise _not_read(text)


def _about_something(condition: Precondition) -> Precondition:
    if not condition.names:
        raise ArgumentError(f"the precondition '{condition.text}' is about no argument; write one as {FORMS}")
    return condition


def _difference(left: ast.expr, right: ast.expr, text: str) -> Sum:
    return _sum(left, text).plus(_sum(right, text), -1)


def _sum(tree: ast.expr, text: str) -> Sum:
    match tree:
        case ast.Name(id=name):
            return Sum(0, ((name, 1),))
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return Sum(number)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Sum().plus(_sum(operand, text), -1)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _sum(left, text).plus(_sum(right, text))
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _sum(left, text).plus(_sum(right, text), -1)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            parts = sorted((_sum(left, text), _sum(right, text)), key=lambda part: len(part.factors))
            if not parts[0].factors:
                return Sum().plus(parts[1], parts[0].constant)
        case _:
            pass
    raise _not_read(text)


STATED = re.compile(r"^[ \t]*(?://|#)[ \t]*tileas:[ \t]*assume[ \t]+(.+?)[ \t]*$", re.MULTILINE)


def stated_in(text: str) -> list[str]:
    """The preconditions that comments of a source state: `// tileas: assume K >= 1`, or behind `#` in Python."""
    return STATED.findall(text)


def left_by(fixed: Mapping[str, int], conditions: Iterable[Precondition]) -> list[Precondition]:
    """The conditions that arguments with a number leave open. Raises `ArgumentError` for one that they do not keep."""
    left: list[Precondition] = []
    for condition in conditions:
        if not fixed.keys() >= set(condition.names):
            left.append(condition)
        elif not condition.holds(fixed):
            given = ", ".join(f"{name} = {fixed[name]}" for name in condition.names)
            raise ArgumentError(f"{given} does not keep the precondition '{condition.text}'")
    return left


# Which numbers keep them ----------------------------------------------------------------------------------------------


def numbers_of(conditions: Sequence[Precondition]) -> dict[str, Numbers]:
    """
    The numbers of each argument that `conditions` are about, in an order in which none depends on a later one.

    Raises `ArgumentError` for what no number keeps, for upper bounds, and for what is no formula of one argument.
    """
    alone: dict[str, list[Precondition]] = {}
    found: dict[str, Numbers] = {}
    for condition in conditions:
        if len(condition.names) == 1:
            alone.setdefault(condition.names[0], []).append(condition)
    for condition in conditions:
        if len(condition.names) > 1:
            name, numbers = _in_terms_of_others(condition)
            if name in found or name in alone:
                raise ArgumentError(
                    f"'{condition.text}' and another precondition are about {name}: state one in terms of the others"
                )
            found[name] = numbers
    found = {**{name: _of_one(name, about) for name, about in alone.items()}, **found}
    return _in_order(found)


def _in_terms_of_others(condition: Precondition) -> tuple[str, Numbers]:
    """The argument that `condition` is solved for, and its numbers."""
    for name, factor in condition.total.factors:
        if condition.modulus or abs(factor) != 1 or (factor < 0 and not condition.is_zero):
            continue
        rest = Sum().plus(condition.total.without(name), -factor)
        return name, Numbers(0 if condition.is_zero else 1, rest.constant, rest.factors, has_least=True)
    raise ArgumentError(
        f"the precondition '{condition.text}' gives no argument in terms of the others; write it as {FORMS}"
    )


def _of_one(name: str, conditions: Sequence[Precondition]) -> Numbers:
    """The numbers from the least on that keep all of `conditions`, which are about `name` alone."""
    step, rest = 1, 0
    exact: int | None = None
    bounds = [_least(condition) for condition in conditions if not condition.is_zero and not condition.modulus]
    least = max(bounds, default=0)
    text = " and ".join(condition.text for condition in conditions)
    for condition in conditions:
        ((_, factor),) = condition.total.factors
        if condition.modulus:
            step, rest = _both((step, rest), _class_of(condition, factor), text)
        elif condition.is_zero:
            number, left = divmod(-condition.total.constant, factor)
            if left or exact not in (None, number):
                raise _kept_by_none(text)
            exact = number
    if exact is None:
        return Numbers(step, least + (rest - least) % step, has_least=bool(bounds))
    if exact % step != rest or (bounds and exact < least):
        raise _kept_by_none(text)
    return Numbers(0, exact, has_least=True)


def _least(condition: Precondition) -> int:
    ((name, factor),) = condition.total.factors
    if factor < 0:
        raise ArgumentError(
            f"'{condition.text}' is an upper bound, and a proof is for every number of {name}; leave it out, or try "
            f"the numbers up to it with --trip-counts"
        )
    return -(condition.total.constant // factor)


def _class_of(condition: Precondition, factor: int) -> tuple[int, int]:
    """The modulus and the rest of `factor * n + constant = 0`, modulo that of `condition`."""
    modulus, constant = condition.modulus, condition.total.constant
    common = gcd(factor, modulus)
    if constant % common:
        raise _kept_by_none(condition.text)
    modulus, factor, constant = modulus // common, factor // common, constant // common
    return modulus, -constant * pow(factor, -1, modulus) % modulus


def _both(one: tuple[int, int], other: tuple[int, int], text: str) -> tuple[int, int]:
    """The modulus and the rest of the numbers that are in both classes (Chinese remainder theorem)."""
    (step, rest), (modulus, wanted) = one, other
    common = gcd(step, modulus)
    if (wanted - rest) % common:
        raise _kept_by_none(text)
    times = (wanted - rest) // common * pow(step // common, -1, modulus // common)
    both = step // common * modulus
    return both, (rest + step * times) % both


def _kept_by_none(text: str) -> ArgumentError:
    return ArgumentError(f"no number keeps the precondition '{text}'")


def _in_order(numbers: Mapping[str, Numbers]) -> dict[str, Numbers]:
    """The same, each behind those that it depends on."""
    ordered: dict[str, Numbers] = {}
    while len(ordered) < len(numbers):
        ready = [
            name
            for name, each in numbers.items()
            if name not in ordered and all(other not in numbers or other in ordered for other, _ in each.others)
        ]
        if not ready:
            left = ", ".join(name for name in numbers if name not in ordered)
            raise ArgumentError(
                f"the preconditions of {left} depend on each other: state them in terms of one argument"
            )
        ordered |= {name: numbers[name] for name in ready}
    return ordered


# The copy -------------------------------------------------------------------------------------------------------------


def counting(function: Operation, name: str, numbers: Mapping[str, Numbers]) -> tuple[Operation, Region]:
    """
    A copy of `function`, called `name`, in a copy of its module, whose arguments count the numbers of `numbers`.

    Raises `ArgumentError` for an argument that is no integer, and where two of a formula have different types.
    """
    module = function.get_toplevel_object()
    assert isinstance(module, Operation)
    copy, body = find_function(module.clone(), name)
    entry = body.blocks[0]
    values = dict(zip(argument_names(body), entry.args, strict=True))
    place: Operation | None = None
    computed: dict[str, SSAValue] = {}
    for argument, each in numbers.items():
        _must_be_alike(body, argument, each)
        terms = [(values[argument], each.step)]
        terms += [(computed.get(other, values[other]), factor) for other, factor in each.others]
        ops, result = _computed(each.first, terms, values[argument])
        own = values[argument]
        own.replace_uses_with_if(result, lambda use, ops=ops: use.operation not in ops)
        Rewriter.insert_op(ops, _after(place, entry))
        place, computed[argument] = ops[-1], result
    return copy, body


def _after(place: Operation | None, entry: Block) -> InsertPoint:
    return InsertPoint.at_start(entry) if place is None else InsertPoint.after(place)


def _must_be_alike(body: Region, argument: str, numbers: Numbers) -> None:
    own = argument_at(body, argument).type
    for name in (argument, *(other for other, _ in numbers.others)):
        kind = argument_at(body, name).type
        if not is_integer_scalar(kind):
            raise ArgumentError(f"the argument '{name}' is a {kind}; preconditions are about integers")
        if kind != own:
            raise ArgumentError(f"'{argument}' is a {own} and '{name}' a {kind}: a precondition relates one type")


def _computed(first: int, terms: Sequence[tuple[SSAValue, int]], like: SSAValue) -> tuple[list[Operation], SSAValue]:
    """`first` and the multiples of `terms`, in ops that compute it."""
    kind = cast("Any", like.type)
    total = arith.ConstantOp.from_int_and_width(first, kind)
    ops: list[Operation] = [total]
    result: SSAValue = total.result
    for value, factor in terms:
        by = arith.ConstantOp.from_int_and_width(factor, kind)
        product = arith.MuliOp(value, by.result)
        added = arith.AddiOp(result, product.result)
        ops += [by, product, added]
        result = added.result
    return ops, result
