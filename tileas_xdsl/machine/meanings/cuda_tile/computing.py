"""
Arithmetic of `cuda_tile`, element by element.

A float is rounded once; `approx` and `full` round to nearest. Functions are computed in f64. With `flush_to_zero`
subnormal operands and results are zeros of their sign. What an op leaves undefined stops the run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FloatTF32Type, IntAttr, i1
from xdsl.ir import Attribute

from tileas_xdsl.dialects.cuda_tile.attributes import BoundedAttr, ConstantAttr, DivByAttr, SameElementsAttr
from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.elements import bits_per_element, number_of
from tileas_xdsl.dialects.cuda_tile.types import integer_width, plain
from tileas_xdsl.dialects.upstream_models.integers import truncating_quotient, truncating_remainder
from tileas_xdsl.machine.core.violations import MistakeError, UnsupportedError
from tileas_xdsl.machine.meanings.cuda_tile.values import (
    computes,
    element_type_of,
    filled,
    numbers_of,
    shape_of,
)
from tileas_xdsl.machine.tiles.numerics import (
    RESIDUALS,
    Array,
    as_signed,
    as_unsigned,
    bits_of,
    choose,
    float_to_integer,
    flushed,
    from_bits,
    fused_multiply_add,
    integer_to_float,
    is_array,
    rounded,
    to_float,
    to_type,
)
from tileas_xdsl.machine.tiles.pointers import Pointer
from tileas_xdsl.machine.tiles.tiles import PointerTile

# Constants and facts --------------------------------------------------------------------------------------------------


@computes("constant")
def _constant(op: TileIROp) -> Any:
    value = op.properties["value"]
    assert isinstance(value, ConstantAttr)
    element, shape = value.type.element_type, value.type.get_shape()
    found = [number_of(element, bits) for bits in value.elements()]
    if value.is_uniform:
        return filled(op, element, shape, found[0])
    return np.array(found, numbers_of(op, element).dtype).reshape(shape)


@computes("assume")
def _assume(op: TileIROp, value: Any) -> Any:
    fact = op.properties["predicate"]
    known = _known_numbers(value)
    if known is not None and not _holds(fact, known):
        raise MistakeError(op, f"assumes {fact}, which does not hold; what it assumes")
    return value


def _known_numbers(value: Any) -> Array | None:
    match value:
        case Pointer():
            return np.asarray(value.offset)
        case PointerTile():
            return np.asarray(value.offsets)
        case _ if is_array(value):
            return value.astype(np.int64) if value.dtype.kind in "biu" else None
        case _:
            return None


def _holds(fact: Attribute, known: Array) -> bool:
    match fact:
        case DivByAttr():
            every, along = _bound(fact.every), _bound(fact.along)
            if every is not None and along is not None:
                known = np.take(known, range(0, known.shape[along], every), along)
            return bool(np.all(known % fact.divisor.data == 0))
        case BoundedAttr():
            lower, upper = _bound(fact.lower), _bound(fact.upper)
            above = lower is None or bool(np.all(known >= lower))
            return above and (upper is None or bool(np.all(known <= upper)))
        case SameElementsAttr():
            return all(_alike(known, axis, group) for axis, group in enumerate(plain(fact.groups)))
        case _:
            return True


def _bound(attribute: Attribute) -> int | None:
    match attribute:
        case IntAttr():
            return attribute.data
        case _:
            return None


def _alike(known: Array, axis: int, group: int) -> bool:
    firsts = [place // group * group for place in range(known.shape[axis])]
    return bool(np.array_equal(np.take(known, firsts, axis), known))


# Floats ---------------------------------------------------------------------------------------------------------------

ARITHMETIC: dict[str, tuple[Callable[..., Any], str]] = {
    "addf": (np.add, "sum"),
    "subf": (np.subtract, "difference"),
    "mulf": (np.multiply, "product"),
    "divf": (np.divide, "quotient"),
    "fma": (fused_multiply_add, "product and sum"),
}


def _with_flush(op: TileIROp, compute: Callable[..., Any], *arrays: Array) -> Array:
    if not op.flag("flush_to_zero"):
        return np.asarray(compute(*arrays))
    return flushed(np.asarray(compute(*map(flushed, arrays))))


def _arithmetic(name: str) -> None:
    function, residual = ARITHMETIC[name]

    @computes(name)
    def _compute(op: TileIROp, *arrays: Array) -> Array:
        def once(*operands: Array) -> Array:
            nearest = np.asarray(function(*operands))
            return np.asarray(rounded(nearest, op.word("rounding_mode"), RESIDUALS[residual], operands))

        return _with_flush(op, once, *arrays)


for _name in ARITHMETIC:
    _arithmetic(_name)


def _one_over_root(x: Array) -> Array:
    return 1 / np.sqrt(x)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "atan2": np.arctan2,
    "pow": np.power,
    "remf": np.fmod,
    "rsqrt": _one_over_root,
    "ceil": np.ceil,
    "floor": np.floor,
}
"""What is computed in f64 and rounded once."""


def _function(name: str) -> None:
    @computes(name)
    def _compute(op: TileIROp, *arrays: Array) -> Array:
        def wide(*operands: Array) -> Array:
            result = FUNCTIONS[name](*(operand.astype(np.float64) for operand in operands))
            return np.asarray(to_float(np.asarray(result), arrays[0].dtype))

        return _with_flush(op, wide, *arrays)


for _name in FUNCTIONS:
    _function(_name)


@computes("sqrt")
def _sqrt(op: TileIROp, x: Array) -> Array:
    def root(operand: Array) -> Array:
        nearest = np.asarray(to_float(np.asarray(np.sqrt(operand.astype(np.float64))), operand.dtype))
        return np.asarray(rounded(nearest, op.word("rounding_mode"), RESIDUALS["root"], (operand,)))

    return _with_flush(op, root, x)


@computes("absf")
def _absf(_op: TileIROp, x: Array) -> Array:
    return np.copysign(x, np.ones_like(x))


@computes("negf")
def _negf(_op: TileIROp, x: Array) -> Array:
    return np.negative(x)


@computes("fpowi")
def _fpowi(op: TileIROp, x: Array, n: Array) -> Array:
    exponent = as_signed(n, element_type_of(op.operands[1])).astype(np.float64)
    return np.asarray(to_float(np.power(x.astype(np.float64), exponent), x.dtype))


@computes("maxf", "minf")
def _extreme(op: TileIROp, x: Array, y: Array) -> Array:
    """The larger or smaller number, where +0 is above -0; of a NaN and a number the number, or NaN if asked for."""
    is_max = op.ROW.name == "maxf"

    def compute(a: Array, b: Array) -> Array:
        first = (a > b) | ((a == b) & ~np.signbit(a)) if is_max else (a < b) | ((a == b) & np.signbit(a))
        chosen = np.where(first | np.isnan(b), a, b)
        if op.flag("propagate_nan"):
            return np.where(np.isnan(a) | np.isnan(b), np.full_like(a, np.nan), chosen)
        return chosen

    return _with_flush(op, compute, x, y)


# Integers -------------------------------------------------------------------------------------------------------------


def _as_read(op: TileIROp, array: Array, name: str = "signedness") -> Array:
    element = element_type_of(op.operands[0])
    return as_unsigned(array, element) if op.word(name) == "unsigned" else as_signed(array, element)


def _checked(op: TileIROp, low: Any, high: Any, exact: Array) -> None:
    if np.any((exact < low) | (exact > high)):
        raise MistakeError(op, f"overflows, and promises '{op.word('overflow')}'; numbers that fit")


def _wrapping(name: str, function: Callable[[Any, Any], Any]) -> None:
    @computes(name)
    def _compute(op: TileIROp, x: Array, y: Array) -> Array:
        element = element_type_of(op.results[0])
        width = bits_per_element(element)
        if op.word("overflow") in ("no_signed_wrap", "no_wrap"):
            exact = function(as_signed(x, element).astype(object), as_signed(y, element).astype(object))
            _checked(op, -(1 << (width - 1)), (1 << (width - 1)) - 1, np.asarray(exact))
        if op.word("overflow") in ("no_unsigned_wrap", "no_wrap"):
            exact = function(as_unsigned(x, element).astype(object), as_unsigned(y, element).astype(object))
            _checked(op, 0, (1 << width) - 1, np.asarray(exact))
        return to_type(np.asarray(function(x.astype(np.int64), y.astype(np.int64))), element)


for _name, _function_of in (("addi", np.add), ("subi", np.subtract), ("muli", np.multiply)):
    _wrapping(_name, _function_of)


def _amounts(op: TileIROp, y: Array) -> Array:
    element = element_type_of(op.operands[1])
    amounts = as_unsigned(y, element)
    if np.any(amounts >= bits_per_element(element)):
        raise MistakeError(op, "shifts by as many bits as the number has, or more; an amount below the width")
    return amounts


@computes("shli")
def _shift_left(op: TileIROp, x: Array, y: Array) -> Array:
    element = element_type_of(op.results[0])
    return to_type(as_unsigned(x, element) << _amounts(op, y), element)


@computes("shri")
def _shift_right(op: TileIROp, x: Array, y: Array) -> Array:
    element = element_type_of(op.results[0])
    left = _as_read(op, x)
    return to_type(np.asarray(left >> _amounts(op, y).astype(left.dtype)), element)


@computes("negi")
def _negi(op: TileIROp, x: Array) -> Array:
    element = element_type_of(op.results[0])
    return to_type(np.negative(as_signed(x, element)), element)


@computes("absi")
def _absi(op: TileIROp, x: Array) -> Array:
    element = element_type_of(op.results[0])
    return to_type(np.abs(as_signed(x, element)), element)


@computes("mulhii")
def _upper_half(op: TileIROp, x: Array, y: Array) -> Array:
    element = element_type_of(op.results[0])
    exact = as_unsigned(x, element).astype(object) * as_unsigned(y, element).astype(object)
    return to_type(np.asarray(exact >> bits_per_element(element), dtype=object), element)


def _divisors(op: TileIROp, x: Array, y: Array) -> tuple[Array, Array]:
    left, right = _as_read(op, x), _as_read(op, y)
    if np.any(right == 0):
        raise MistakeError(op, "divides by 0; a divisor that is another number")
    least = -(1 << (bits_per_element(element_type_of(op.results[0])) - 1))
    if op.word("signedness") == "signed" and np.any((left == least) & (right == -1)):
        raise MistakeError(op, "divides the least number by -1; a quotient that fits")
    return left, right


@computes("divi")
def _divide(op: TileIROp, x: Array, y: Array) -> Array:
    left, right = _divisors(op, x, y)
    match op.word("rounding"):
        case "positive_inf":
            quotient = left // right + (left % right != 0).astype(left.dtype)
        case "negative_inf":
            quotient = left // right
        case _:
            quotient = truncating_quotient(left, right) if left.dtype.kind == "i" else left // right
    return to_type(np.asarray(quotient), element_type_of(op.results[0]))


@computes("remi")
def _remainder(op: TileIROp, x: Array, y: Array) -> Array:
    left, right = _as_read(op, x), _as_read(op, y)
    if np.any(right == 0):
        raise MistakeError(op, "divides by 0; a divisor that is another number")
    rest = truncating_remainder(left, right) if left.dtype.kind == "i" else left % right
    return to_type(np.asarray(rest), element_type_of(op.results[0]))


@computes("maxi", "mini")
def _extreme_integer(op: TileIROp, x: Array, y: Array) -> Array:
    choose = np.maximum if op.ROW.name == "maxi" else np.minimum
    return to_type(np.asarray(choose(_as_read(op, x), _as_read(op, y))), element_type_of(op.results[0]))


BITWISE: dict[str, Callable[..., Any]] = {"andi": np.bitwise_and, "ori": np.bitwise_or, "xori": np.bitwise_xor}


@computes(*BITWISE)
def _bitwise(op: TileIROp, x: Array, y: Array) -> Array:
    return np.asarray(BITWISE[op.ROW.name](x, y))


# Comparing, choosing, converting --------------------------------------------------------------------------------------

PREDICATES: dict[str, Callable[..., Any]] = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less_than": np.less,
    "less_than_or_equal": np.less_equal,
    "greater_than": np.greater,
    "greater_than_or_equal": np.greater_equal,
}


@computes("cmpi")
def _compare_integers(op: TileIROp, x: Array, y: Array) -> Array:
    return np.asarray(PREDICATES[op.word("comparison_predicate")](_as_read(op, x), _as_read(op, y)))


@computes("cmpf")
def _compare_floats(op: TileIROp, x: Array, y: Array) -> Array:
    unordered = np.isnan(x) | np.isnan(y)
    holds = PREDICATES[op.word("comparison_predicate")](x, y)
    return np.asarray(holds | unordered if op.word("comparison_ordering") == "unordered" else holds & ~unordered)


@computes("select")
def _select(op: TileIROp, condition: Array, x: Any, y: Any) -> Any:
    if isinstance(x, Pointer):
        return x if condition else y
    if isinstance(x, PointerTile):
        if x.base is not y.base:
            raise UnsupportedError(op, "chooses between pointers into two objects; choose between what is loaded")
        return PointerTile(x.base, np.where(condition, x.offsets, y.offsets))
    return choose(condition, x, y)


@computes("exti")
def _extend(op: TileIROp, x: Array) -> Array:
    return to_type(_as_read(op, x), element_type_of(op.results[0]))


@computes("trunci")
def _truncate(op: TileIROp, x: Array) -> Array:
    return to_type(as_signed(x, element_type_of(op.operands[0])), element_type_of(op.results[0]))


@computes("itof")
def _to_float(op: TileIROp, x: Array) -> Array:
    return np.asarray(integer_to_float(_as_read(op, x), numbers_of(op, element_type_of(op.results[0])).dtype))


@computes("ftoi")
def _to_integer(op: TileIROp, x: Array) -> Array:
    element = element_type_of(op.results[0])
    width = bits_per_element(element)
    is_signed = op.word("signedness") == "signed"
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if is_signed else (0, (1 << width) - 1)
    wide = x.astype(np.float64)
    found, fits = float_to_integer(wide, low, high)
    if op.flag("saturating"):
        found = np.where(fits, found, np.where(wide > 0, high, np.where(np.isnan(wide), 0, low)).astype(found.dtype))
    elif not np.all(fits):
        raise MistakeError(op, "makes an integer of a float that does not fit; a float in the range of the integer")
    return to_type(np.asarray(found), element)


@computes("ftof")
def _convert(op: TileIROp, x: Array) -> Array:
    element = element_type_of(op.results[0])
    if isinstance(element, FloatTF32Type):
        return _to_tf32(x.astype(np.float32))
    result = np.asarray(to_float(x, numbers_of(op, element).dtype))
    return np.asarray(rounded(result, op.word("rounding_mode"), RESIDUALS["conversion"], (x,)))


def _to_tf32(x: Array) -> Array:
    """The nearest numbers with 10 bits behind the point: ties to even."""
    bits = x.view(np.uint32)
    odd = (bits >> 13) & 1
    nearest = ((bits + 0xFFF + odd) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(x), nearest, x)


@computes("bitcast")
def _bitcast(op: TileIROp, x: Array) -> Array:
    source, target = element_type_of(op.operands[0]), element_type_of(op.results[0])
    return from_bits(bits_of(x, source, numbers_of(op, source)), target, numbers_of(op, target))


@computes("offset")
def _offset(op: TileIROp, pointer: Any, distance: Array) -> Any:
    size = pointee_bytes(op, element_type_of(op.operands[0]))
    distances = as_signed(distance, element_type_of(op.operands[1]))
    if isinstance(pointer, Pointer):
        return pointer.plus(int(distances) * size)
    return PointerTile(pointer.base, pointer.offsets + distances * size)


def pointee_bytes(op: TileIROp, pointer: Attribute) -> int:
    """Bytes of what a pointer leads to; an i1 is a byte."""
    pointee = getattr(pointer, "pointee", None)
    assert pointee is not None
    return 1 if pointee == i1 else numbers_of(op, pointee).size


@computes("iota")
def _count(op: TileIROp) -> Array:
    element = element_type_of(op.results[0])
    assert integer_width(element) is not None
    return to_type(np.arange(shape_of(op.results[0])[0], dtype=np.int64), element)


@computes("ptr_to_ptr")
def _same_address(_op: TileIROp, pointer: Any) -> Any:
    return pointer
