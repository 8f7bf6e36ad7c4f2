"""
Element by element: each thread computes on what it holds. Registers that hold several elements are computed with whole
where the op is the same on vectors; conversions to another width take them apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float8E5M2Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
    VectorType,
    f16,
    f32,
    i8,
    i16,
    i32,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.analysis.threads.tiles import SMALL_FLOATS, Tile, tile_of
from tileas_xdsl.dialects.nv_tileaa import elementwise
from tileas_xdsl.dialects.nv_tileaa.attributes import RoundingModeAttr
from tileas_xdsl.dialects.nv_tileaa.structure import SplatOp
from tileas_xdsl.dialects.upstream_models.integers import Function, ops_of_arith
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.transforms.to_llvm.tiles.control import same
from tileas_xdsl.transforms.to_llvm.tiles.packing import cast_bits, elements, packed, vector_of
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads, refusal, rule
from tileas_xdsl.transforms.to_llvm.tiles.values import Registers

KEPT: tuple[type[Operation], ...] = (
    *(arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp, arith.NegfOp, arith.MaximumfOp, arith.MinimumfOp),
    *(arith.MaxnumfOp, arith.MinnumfOp, math.FmaOp, math.Exp2Op, math.SqrtOp, math.RsqrtOp, math.AbsFOp),
    *ops_of_arith(Function.SUM, Function.DIFFERENCE, Function.PRODUCT, Function.AND, Function.OR, Function.XOR),
    *ops_of_arith(Function.LEFT, Function.RIGHT),
)
"""Ops that are the same on a number, a vector of them and a tile."""
TAKEN_APART: tuple[type[Operation], ...] = (
    *(arith.ExtFOp, arith.TruncFOp, arith.SIToFPOp, arith.UIToFPOp, arith.FPToSIOp, arith.FPToUIOp),
    *(arith.BitcastOp, arith.CmpfOp, math.FloorOp, math.CeilOp),
    *(op for op in ops_of_arith(*Function) if op not in KEPT),
)
"""Ops that are done for each element by itself."""
ELSEWHERE: dict[type[Operation], Callable[..., Operation]] = {
    elementwise.AddFOp: arith.AddfOp,
    elementwise.SubFOp: arith.SubfOp,
    elementwise.MulFOp: arith.MulfOp,
    elementwise.DivFOp: arith.DivfOp,
    elementwise.FmaOp: math.FmaOp,
    elementwise.Exp2Op: math.Exp2Op,
    elementwise.SqrtOp: math.SqrtOp,
    elementwise.RsqrtOp: math.RsqrtOp,
}
"""Ops of tiles that another dialect has for numbers."""


def _is_tile(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType)


def _result_tile(op: Operation) -> Tile:
    tile = tile_of(op.results[0].type)
    assert tile is not None
    return tile


def _columns(threads: Threads, op: Operation, *, whole: bool) -> list[list[SSAValue]]:
    """The operands: registers, or elements, in columns; a number is the same in all of them."""
    columns: list[list[SSAValue]] = []
    for operand in op.operands:
        if _is_tile(operand):
            held = threads.registers(operand)
            columns.append(list(held.values) if whole else elements(threads, held))
    length = len(columns[0])
    found = iter(columns)
    return [next(found) if _is_tile(operand) else [threads.of(operand)] * length for operand in op.operands]


def _each(
    threads: Threads, op: Operation, build: Callable[[list[SSAValue], Attribute], SSAValue], *, whole: bool
) -> None:
    """What `build` makes of each row of registers or elements."""
    tile = _result_tile(op)
    kind = tile.register if whole else tile.number
    values = [build(list(row), kind) for row in zip(*_columns(threads, op, whole=whole), strict=True)]
    threads.give(op.results[0], Registers(tile, tuple(values)) if whole else packed(threads, tile, values))


@rule(*KEPT, *TAKEN_APART)
def _computed(op: Operation, threads: Threads) -> None:
    if not _is_tile(op.results[0]):
        same(op, threads)
        return

    if is_small(op.operands[0].type) and isinstance(op, arith.ExtFOp):
        _widen(op, threads)
        return

    def build(operands: list[SSAValue], kind: Attribute) -> SSAValue:
        copy = type(op).create(
            operands=operands, result_types=[kind], properties=dict(op.properties), attributes=_kept(op)
        )
        return threads.result(copy)

    _each(threads, op, build, whole=type(op) in KEPT)


def _widen(op: Operation, threads: Threads) -> None:
    """Floats of 8 bits become wider ones."""
    before = cast("TensorType[Attribute]", op.operands[0].type).element_type
    _each(threads, op, lambda operands, kind: widened(threads, operands[0], before, kind), whole=False)


def _kept(op: Operation) -> dict[str, Attribute]:
    return {name: value for name, value in op.attributes.items() if name != "stage" and "." not in name}


@rule(*ELSEWHERE)
def _computed_elsewhere(op: Operation, threads: Threads) -> None:
    if isinstance(op, elementwise.DivFOp) and _rounds_roughly(op) and _is_tile(op.result) and not op.flush_to_zero:
        _divide_roughly(op, threads)
        return

    def build(operands: list[SSAValue], _: Attribute) -> SSAValue:
        return _computed_number(op, threads, operands)

    if _is_tile(op.results[0]):
        _each(threads, op, build, whole=True)
        return
    threads.give(op.results[0], build([threads.of(operand) for operand in op.operands], op.results[0].type))


def _computed_number(op: Operation, threads: Threads, operands: list[SSAValue]) -> SSAValue:
    make, flushes = ELSEWHERE[type(op)], "flush_to_zero" in op.properties
    if isinstance(op, elementwise.Exp2Op) and flushes:  # of a subnormal number it rounds to 1
        return threads.result(_approximate(make(*operands)))
    if flushes:
        operands = [_flushed(threads, operand) for operand in operands]
    made = make(*operands)
    if isinstance(op, elementwise.DivFOp) and _rounds_roughly(op):
        made = _approximate(made)
    return _flushed(threads, threads.result(made)) if flushes else threads.result(made)


def _divide_roughly(op: elementwise.DivFOp, threads: Threads) -> None:
    """Where a thread divides several numbers by one, such as those of a row, it multiplies them by its reciprocal."""
    inverses: dict[SSAValue, SSAValue] = {}
    often = Counter(threads.registers(op.rhs).values)

    def build(operands: list[SSAValue], kind: Attribute) -> SSAValue:
        number, divisor = operands
        if often[divisor] == 1 or kind != f32:
            return threads.result(_approximate(arith.DivfOp(number, divisor)))
        if divisor not in inverses:
            one = threads.result(arith.ConstantOp(FloatAttr(1.0, f32)))
            inverses[divisor] = threads.result(_approximate(arith.DivfOp(one, divisor)))
        return threads.result(arith.MulfOp(number, inverses[divisor]))

    _each(threads, op, build, whole=True)


def _rounds_roughly(op: elementwise.DivFOp) -> bool:
    return op.rounding_mode is not None and op.rounding_mode.data.value in ROUGH


def _approximate(made: Operation) -> Operation:
    """
    The op with the flag for an approximation: `div.approx`, and for `math.exp2` on f32 `ex2.approx.ftz`, which flushes.
    """
    made.properties["fastmath"] = arith.FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])
    return made


LEAST_NORMAL = 2.0**-126
"""The least number of f32 that is not subnormal."""


def _flushed(threads: Threads, value: SSAValue) -> SSAValue:
    """A zero of the same sign instead of a subnormal number."""
    least, zero = (threads.result(arith.ConstantOp(FloatAttr(number, f32))) for number in (LEAST_NORMAL, 0.0))
    is_subnormal = threads.result(arith.CmpfOp(threads.result(math.AbsFOp(value)), least, "olt"))
    return threads.result(arith.SelectOp(is_subnormal, threads.result(arith.MulfOp(value, zero)), value))


ROUGH = ("approx", "full")
"""The roundings that need not be to the nearest number."""
WITHIN_REACH = ("nearest_even", *ROUGH)
"""The roundings that the nearest number satisfies."""


@refusal(*ELSEWHERE)
def _rounds_otherwise(op: Operation) -> tuple[str, str] | None:
    mode = op.properties.get("rounding_mode")
    if isinstance(mode, RoundingModeAttr) and mode.data.value not in WITHIN_REACH:
        return f"rounds as {mode} says", "leave the rounding mode out: to the nearest"
    kind = op.operands[0].type
    element = cast("TensorType[Attribute]", kind).element_type if _is_tile(op.operands[0]) else kind
    if "flush_to_zero" in op.properties and element != f32:
        return f"flushes subnormal numbers of {element}", "flush those of f32 only"
    return no_numbers(op)


@rule(elementwise.BitcastOp)
def _reread(op: elementwise.BitcastOp, threads: Threads) -> None:
    """The same bits of each element."""
    if not _is_tile(op.result):
        threads.give(op.result, cast_bits(threads, threads.of(op.source), op.result.type))
        return
    _each(threads, op, lambda operands, kind: cast_bits(threads, operands[0], kind), whole=False)


@refusal(elementwise.BitcastOp)
def _of_addresses(op: elementwise.BitcastOp) -> tuple[str, str] | None:
    kinds = [getattr(tile_of(value.type), "bits", None) for value in (op.source, op.result)]
    return None if kinds == [8, 8] else no_numbers(op)


@rule(elementwise.FpToFpOp)
def _converted(op: elementwise.FpToFpOp, threads: Threads) -> None:
    if not _is_tile(op.result):
        threads.give(op.result, _resized(threads, threads.of(op.operands[0]), op.result.type))
        return
    if is_small(op.operands[0].type):
        _widen(op, threads)
        return
    if is_small(op.result.type):
        _narrow(op, threads)
        return
    _each(threads, op, lambda operands, kind: _resized(threads, operands[0], kind), whole=False)


def _narrow(op: elementwise.FpToFpOp, threads: Threads) -> None:
    """Wider floats become ones of 8 bits."""
    after = cast("TensorType[Attribute]", op.result.type).element_type
    form = E5M2 if isinstance(after, Float8E5M2Type) else E4M3
    _each(threads, op, lambda operands, _: narrowed(threads, _single(threads, operands[0]), form), whole=False)


def _single(threads: Threads, value: SSAValue) -> SSAValue:
    return value if value.type == f32 else threads.result(arith.ExtFOp(value, f32))


def _resized(threads: Threads, value: SSAValue, kind: Attribute) -> SSAValue:
    before, after = cast(Any, value.type).bitwidth, cast(Any, kind).bitwidth
    if before == after:
        return value
    return threads.result((arith.ExtFOp if after > before else arith.TruncFOp)(value, kind))


@refusal(elementwise.FpToFpOp)
def _between_equal_widths(op: elementwise.FpToFpOp) -> tuple[str, str] | None:
    kinds = [getattr(tile_of(v.type), "element", v.type) for v in (op.operands[0], op.results[0])]
    before, after = (cast(Any, kind).bitwidth for kind in kinds)
    if is_small(op.results[0].type) and before in (16, 32) and _is_tile(op.result):
        return None
    if before == after and kinds[0] != kinds[1]:
        return f"converts {kinds[0]} to {kinds[1]}, neither of which has all numbers of the other", "go through f32"
    return no_numbers(op)


# Constants ------------------------------------------------------------------------------------------------------------


@rule(arith.ConstantOp)
def _constant(op: arith.ConstantOp, threads: Threads) -> None:
    if not _is_tile(op.result):
        same(op, threads)
        return
    tile, value = _result_tile(op), op.value
    assert isinstance(value, DenseIntOrFPElementsAttr)
    numbers = cast("list[float]", list(cast("DenseIntOrFPElementsAttr[Any]", value).iter_values()))
    number = threads.result(arith.ConstantOp(cast(Any, scalar(numbers[0], tile.element))))
    threads.give(op.result, splat(threads, tile, number))


def scalar(value: float, kind: Attribute) -> Attribute:
    """A number as an attribute of an element type."""
    if isinstance(kind, IntegerType):
        return IntegerAttr(int(value), cast("IntegerType", kind))
    return FloatAttr(value, cast(Any, kind))


def splat(threads: Threads, tile: Tile, number: SSAValue) -> Registers:
    """The tile that has one number everywhere."""
    register = number if tile.packed == 1 else vector_of(threads, [number] * tile.packed)
    return Registers(tile, (register,) * (tile.count // tile.packed))


@refusal(arith.ConstantOp)
def _is_no_splat(op: arith.ConstantOp) -> tuple[str, str] | None:
    if isinstance(op.result.type, VectorType) or not _is_tile(op.result):
        return None
    value = op.value
    if not isinstance(value, DenseIntOrFPElementsAttr) or not value.is_splat():
        return "is a tile of different numbers, which would have to lie somewhere", "load it from an array"
    return no_numbers(op)


@rule(SplatOp)
def _splat(op: SplatOp, threads: Threads) -> None:
    threads.give(op.results[0], splat(threads, _result_tile(op), threads.of(op.operands[0])))


@refusal(SplatOp)
def _of_a_small_float(op: SplatOp) -> tuple[str, str] | None:
    return no_numbers(op)


# Layouts of operands --------------------------------------------------------------------------------------------------


def layouts_of(op: Operation) -> list[LinearLayout]:
    """Those of all tiles of an op."""
    tiles = [tile_of(value.type) for value in (*op.operands, *op.results)]
    return [tile.layout for tile in tiles if tile is not None]


@refusal(*KEPT, *TAKEN_APART)
def _in_different_layouts(op: Operation) -> tuple[str, str] | None:
    if any(layout != layouts_of(op)[0] for layout in layouts_of(op)):
        return "computes on tiles in different layouts", "convert one of them by nv_tileas.convert_layout"
    return no_numbers(op)


# Floats of 8 bits: bytes, whose bits become an f16, exactly -----------------------------------------------------------
#
#     f8E5M2       an f16 without its lower 8 bits                   bits << 8
#     f8E4M3FN     its exponents mean 8 less in an f16               ((bits & 0x80) << 8 | (bits & 0x7f) << 7) * 256

NAN = 0x7E00
"""Of f16."""
SIGN, REST = 0x80, 0x7F
"""The bits of a byte; all of the second set are the one that f8E4M3FN has for no number."""
SHIFTED = 256.0
"""2 to the difference of the biases, 15 - 7."""


def is_small(kind: Attribute) -> bool:
    """Whether a type is a float of 8 bits, or a tile of such."""
    element = cast("TensorType[Attribute]", kind).element_type if isinstance(kind, TensorType) else kind
    return isinstance(element, SMALL_FLOATS)


def widened(threads: Threads, byte: SSAValue, before: Attribute, after: Attribute) -> SSAValue:
    """The float that a byte of the type `before` is, in the type `after`."""
    bits = threads.result(arith.ExtUIOp(byte, i16))
    half = _shifted(threads, bits, 8) if isinstance(before, Float8E5M2Type) else _of_e4m3(threads, bits)
    if after == f16:
        return half
    single = threads.result(arith.ExtFOp(half, f32))
    if cast(Any, after).bitwidth == 32:
        return single
    return threads.result(
        (arith.ExtFOp if cast(Any, after).bitwidth > 32 else arith.TruncFOp)(single, cast(Any, after))
    )


def _shifted(threads: Threads, bits: SSAValue, by: int) -> SSAValue:
    moved = threads.result(arith.ShLIOp(bits, _halfword(threads, by)))
    return cast_bits(threads, moved, f16)


def _of_e4m3(threads: Threads, bits: SSAValue) -> SSAValue:
    sign = threads.result(arith.AndIOp(bits, _halfword(threads, SIGN)))
    rest = threads.result(arith.AndIOp(bits, _halfword(threads, REST)))
    high = threads.result(arith.ShLIOp(sign, _halfword(threads, 8)))
    low = threads.result(arith.ShLIOp(rest, _halfword(threads, 7)))
    small = cast_bits(threads, threads.result(arith.OrIOp(high, low)), f16)
    value = threads.result(arith.MulfOp(small, threads.result(arith.ConstantOp(FloatAttr(SHIFTED, f16)))))
    is_nan = threads.result(arith.CmpiOp(rest, _halfword(threads, REST), "eq"))
    nan = cast_bits(threads, _halfword(threads, NAN), f16)
    return threads.result(arith.SelectOp(is_nan, nan, value))


def _halfword(threads: Threads, value: int) -> SSAValue:
    return threads.number(value, i16)


@dataclass(frozen=True)
class SmallForm:
    """A float of 8 bits: how it is rounded from an f32."""

    mantissa: int
    """Bits of the mantissa."""
    bias: int
    most: int
    """The bits of the largest number."""
    beyond: int
    """What larger numbers, and those that are none, become: no number, or infinity."""
    none: int
    """The bits of what is no number."""


E4M3 = SmallForm(mantissa=3, bias=7, most=0x7E, beyond=0x7F, none=0x7F)
E5M2 = SmallForm(mantissa=2, bias=15, most=0x7B, beyond=0x7C, none=0x7E)
SINGLE_MANTISSA, SINGLE_BIAS, INFINITY_BITS, MAGNITUDE = 23, 127, 0x7F800000, 0x7FFFFFFF


def narrowed(threads: Threads, value: SSAValue, form: SmallForm) -> SSAValue:
    """
    The byte that an f32 is, rounded to the nearest, of two the even one.

    Bits below the mantissa are rounded as an integer, whose carry goes into the exponent. A number that is subnormal
    in 8 bits is added to one whose last place is theirs: its mantissa is the rounded number.
    """
    compute, number = threads.compute, threads.number
    bits = cast_bits(threads, value, i32)
    size = compute(arith.AndIOp, bits, MAGNITUDE)
    shift = SINGLE_MANTISSA - form.mantissa
    last = compute(arith.AndIOp, compute(arith.ShRUIOp, size, shift), 1)
    rounded = compute(arith.AddiOp, compute(arith.AddiOp, size, (1 << shift - 1) - 1), last)
    normal = compute(arith.ShRUIOp, rounded, shift)
    normal = compute(arith.SubiOp, normal, SINGLE_BIAS - form.bias << form.mantissa)
    step = 2.0 ** (SINGLE_MANTISSA + 1 - form.bias - form.mantissa)
    raised = threads.result(
        arith.AddfOp(cast_bits(threads, size, f32), threads.result(arith.ConstantOp(FloatAttr(step, f32))))
    )
    lifted = compute(arith.AndIOp, cast_bits(threads, raised, i32), (1 << SINGLE_MANTISSA) - 1)
    is_subnormal = threads.compare(size, "ult", 1 - form.bias + SINGLE_BIAS << SINGLE_MANTISSA)
    found = threads.result(arith.SelectOp(is_subnormal, lifted, normal))
    is_beyond = threads.compare(found, "sgt", form.most)
    found = threads.result(arith.SelectOp(is_beyond, number(form.beyond), found))
    is_none = threads.compare(size, "ugt", INFINITY_BITS)
    found = threads.result(arith.SelectOp(is_none, number(form.none), found))
    sign = compute(arith.AndIOp, compute(arith.ShRUIOp, bits, 24), SIGN)
    return threads.result(arith.TruncIOp(compute(arith.OrIOp, found, sign), i8))


def no_numbers(op: Operation) -> tuple[str, str] | None:
    """Why an op cannot compute on floats of 8 bits: only what makes wider ones of them, or chooses, can."""
    small = [value for value in (*op.operands, *op.results) if is_small(value.type)]
    widens = isinstance(op, arith.ExtFOp | elementwise.FpToFpOp) and not is_small(op.results[0].type)
    if not small or widens or isinstance(op, arith.SelectOp):
        return None
    return f"computes on {small[0].type}", "convert it to f16 by arith.extf first, and keep results in f16 or wider"
