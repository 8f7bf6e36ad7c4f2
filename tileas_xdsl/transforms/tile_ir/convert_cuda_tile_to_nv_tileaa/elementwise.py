"""
Ops that compute element by element: the ops of `arith`, `math` and `nv_tileaa` that do the same.

What `arith` rounds to the nearest is taken from there; another rounding, and subnormal numbers that are flushed, are
said by ops of `nv_tileaa`. Integers that promise not to overflow are computed without the promise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    FloatTF32Type,
    IntegerAttr,
    IntegerType,
    TensorType,
    UnitAttr,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation

from tileas_xdsl.dialects.cuda_tile.attributes import ConstantAttr
from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.elements import number_of
from tileas_xdsl.dialects.cuda_tile.types import integer_width
from tileas_xdsl.dialects.extensions.arith import RemFOp, extended, with_booleans
from tileas_xdsl.dialects.nv_tileaa import elementwise
from tileas_xdsl.dialects.nv_tileaa.attributes import RoundingMode, RoundingModeAttr
from tileas_xdsl.dialects.nv_tileaa.types import element_type_of
from tileas_xdsl.dialects.scalars import scalar_of
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.state import Conversion, converts, tile_shape

extended(arith.Arith)
Kind = type[IRDLOperation]

NEAREST = "nearest_even"


def made_by(kind: Kind, operands: Sequence[SSAValue]) -> Operation:
    """An op of `arith` or `math` as its own constructor makes it."""
    return cast("Callable[..., Operation]", kind)(*operands)


# Floats ---------------------------------------------------------------------------------------------------------------

ARITHMETIC: Mapping[str, tuple[Kind | None, Kind]] = {
    "addf": (arith.AddfOp, elementwise.AddFOp),
    "subf": (arith.SubfOp, elementwise.SubFOp),
    "mulf": (arith.MulfOp, elementwise.MulFOp),
    "divf": (arith.DivfOp, elementwise.DivFOp),
    "fma": (None, elementwise.FmaOp),
    "sqrt": (None, elementwise.SqrtOp),
    "rsqrt": (None, elementwise.RsqrtOp),
    "exp2": (None, elementwise.Exp2Op),
}
"""What rounds to the nearest, and what rounds and flushes as it says."""


@converts(*ARITHMETIC)
def _arithmetic(to: Conversion, op: TileIROp) -> None:
    plain, general = ARITHMETIC[op.ROW.name]
    operands = [to.value(operand) for operand in op.operands]
    said = _rounding(op)
    if op.flag("flush_to_zero"):
        said["flush_to_zero"] = UnitAttr()
    if not said and plain is not None:
        to.give(op, to.result(made_by(plain, operands)))
        return
    to.give(op, to.result(general.create(operands=operands, result_types=[operands[0].type], properties=said)))


def _rounding(op: TileIROp) -> dict[str, Attribute]:
    """The rounding that an op says: `approx` and `full` are left to the target, which divides within 2 ulp."""
    word = op.word("rounding_mode")
    if word in ("", NEAREST):
        return {}
    return {"rounding_mode": RoundingModeAttr(RoundingMode(word))}


FUNCTIONS: Mapping[str, Kind] = {
    "exp": math.ExpOp,
    "log": math.LogOp,
    "log2": math.Log2Op,
    "sin": math.SinOp,
    "cos": math.CosOp,
    "tan": math.TanOp,
    "sinh": math.SinhOp,
    "cosh": math.CoshOp,
    "tanh": math.TanhOp,
    "absf": math.AbsFOp,
    "ceil": math.CeilOp,
    "floor": math.FloorOp,
    "atan2": math.Atan2Op,
    "pow": math.PowFOp,
    "negf": arith.NegfOp,
    "remf": RemFOp,
}


@converts(*FUNCTIONS)
def _function(to: Conversion, op: TileIROp) -> None:
    operands = [to.value(operand) for operand in op.operands]
    to.give(op, to.result(made_by(FUNCTIONS[op.ROW.name], operands)))


@converts("maxf", "minf")
def _extreme(to: Conversion, op: TileIROp) -> None:
    if op.flag("flush_to_zero"):
        to.refuse(op, "flushes subnormal numbers, which only arithmetic does below", "leave flush_to_zero out")
    numbers: Mapping[str, tuple[Kind, Kind]] = {
        "maxf": (arith.MaxnumfOp, arith.MaximumfOp),
        "minf": (arith.MinnumfOp, arith.MinimumfOp),
    }
    kind = numbers[op.ROW.name][int(op.flag("propagate_nan"))]
    to.give(op, to.result(made_by(kind, [to.value(operand) for operand in op.operands])))


# Integers -------------------------------------------------------------------------------------------------------------

INTEGRAL: Mapping[str, Kind] = {
    "addi": arith.AddiOp,
    "subi": arith.SubiOp,
    "muli": arith.MuliOp,
    "shli": arith.ShLIOp,
    "andi": arith.AndIOp,
    "ori": arith.OrIOp,
    "xori": arith.XOrIOp,
    "mulhii": elementwise.MulHiUIOp,
}
BY_SIGN: Mapping[str, tuple[Kind, Kind]] = {
    "remi": (arith.RemSIOp, arith.RemUIOp),
    "maxi": (arith.MaxSIOp, arith.MaxUIOp),
    "mini": (arith.MinSIOp, arith.MinUIOp),
    "shri": (arith.ShRSIOp, arith.ShRUIOp),
}
QUOTIENTS: Mapping[tuple[str, str], Kind] = {
    ("signed", "zero"): arith.DivSIOp,
    ("unsigned", "zero"): arith.DivUIOp,
    ("signed", "positive_inf"): arith.CeilDivSIOp,
    ("unsigned", "positive_inf"): arith.CeilDivUIOp,
    ("signed", "negative_inf"): arith.FloorDivSIOp,
    ("unsigned", "negative_inf"): arith.DivUIOp,
}


def _same(to: Conversion, op: TileIROp, kind: Kind) -> None:
    operands = [to.value(operand) for operand in op.operands]
    to.give(op, to.result(kind.create(operands=operands, result_types=[operands[0].type])))


@converts(*INTEGRAL)
def _integral(to: Conversion, op: TileIROp) -> None:
    operands = [to.value(operand) for operand in op.operands]
    kind = INTEGRAL[op.ROW.name]
    to.give(op, to.result(kind.build(operands=operands, result_types=[operands[0].type])))


@converts(*BY_SIGN)
def _by_sign(to: Conversion, op: TileIROp) -> None:
    _same(to, op, BY_SIGN[op.ROW.name][int(op.word("signedness") == "unsigned")])


@converts("divi")
def _divide(to: Conversion, op: TileIROp) -> None:
    if (count := to.tiles_of_extent(op)) is not None:
        to.indices[op.results[0]] = count
        return
    _same(to, op, QUOTIENTS[op.word("signedness"), op.word("rounding")])


@converts("negi", "absi")
def _from_zero(to: Conversion, op: TileIROp) -> None:
    value = to.value(op.operands[0])
    negated = to.result(arith.SubiOp(to.constant(0, value.type), value))
    absolute = op.ROW.name == "absi"
    to.give(op, to.result(arith.MaxSIOp(value, negated)) if absolute else negated)


# Comparing, choosing, converting --------------------------------------------------------------------------------------

WORDS = {
    "equal": "eq",
    "not_equal": "ne",
    "less_than": "lt",
    "less_than_or_equal": "le",
    "greater_than": "gt",
    "greater_than_or_equal": "ge",
}


@converts("cmpi")
def _compare(to: Conversion, op: TileIROp) -> None:
    word = WORDS[op.word("comparison_predicate")]
    sign = "" if word in ("eq", "ne") else "s" if op.word("signedness") == "signed" else "u"
    lhs, rhs = (to.value(operand) for operand in op.operands)
    to.give(op, compared(to, lhs, rhs, sign + word))


def compared(to: Conversion, lhs: SSAValue, rhs: SSAValue, predicate: str) -> SSAValue:
    """For each element of two tiles of integers, whether a predicate (`slt`) holds."""
    said = {"predicate": IntegerAttr(arith.CMPI_COMPARISON_OPERATIONS.index(predicate), i64)}
    kind = with_booleans(lhs.type)
    return to.result(arith.CmpiOp.create(operands=[lhs, rhs], result_types=[kind], properties=said))


@converts("cmpf")
def _compare_floats(to: Conversion, op: TileIROp) -> None:
    word = op.word("comparison_ordering")[0] + WORDS[op.word("comparison_predicate")]
    lhs, rhs = (to.value(operand) for operand in op.operands)
    to.give(op, compared_floats(to, lhs, rhs, word))


def compared_floats(to: Conversion, lhs: SSAValue, rhs: SSAValue, predicate: str) -> SSAValue:
    """For each element of two tiles of floats, whether a predicate (`olt`) holds."""
    said: dict[str, Attribute] = {
        "predicate": IntegerAttr(arith.CMPF_COMPARISON_OPERATIONS.index(predicate), i64),
        "fastmath": arith.FastMathFlagsAttr("none"),
    }
    kind = with_booleans(lhs.type)
    return to.result(arith.CmpfOp.create(operands=[lhs, rhs], result_types=[kind], properties=said))


@converts("select")
def _select(to: Conversion, op: TileIROp) -> None:
    to.give(op, to.result(arith.SelectOp(*[to.value(operand) for operand in op.operands])))


def _converted(to: Conversion, op: TileIROp, kind: Kind) -> None:
    to.give(op, to.result(kind.create(operands=[to.value(op.operands[0])], result_types=[to.type(op.results[0].type)])))


CONVERSIONS: Mapping[str, tuple[Kind, Kind]] = {
    "exti": (arith.ExtSIOp, arith.ExtUIOp),
    "itof": (arith.SIToFPOp, arith.UIToFPOp),
    "ftoi": (arith.FPToSIOp, arith.FPToUIOp),
}


@converts(*CONVERSIONS)
def _convert(to: Conversion, op: TileIROp) -> None:
    if op.flag("saturating"):
        to.refuse(op, "saturates, and conversions below do not", "clamp the numbers before")
    _converted(to, op, CONVERSIONS[op.ROW.name][int(op.word("signedness") == "unsigned")])


@converts("trunci")
def _truncate(to: Conversion, op: TileIROp) -> None:
    _converted(to, op, arith.TruncIOp)


@converts("ftof")
def _resize(to: Conversion, op: TileIROp) -> None:
    source, result = to.value(op.operands[0]), to.type(op.results[0].type)
    if source.type != result:
        made = elementwise.FpToFpOp.create(operands=[source], result_types=[result], properties=_rounding(op))
        source = to.result(made)
    if isinstance(scalar_of(op.results[0].type), FloatTF32Type):
        source = _rounded_to_tf32(to, op, source)
    to.give(op, source)


NARROW = (Float16Type, BFloat16Type, Float8E4M3FNType, Float8E5M2Type)
"""Floats that are floats of tf32, too."""
TF32_DROPS = 13
"""Bits of an f32 that a tf32 has not."""


def _rounded_to_tf32(to: Conversion, op: TileIROp, value: SSAValue) -> SSAValue:
    """Numbers of f32 as those of tf32 nearest to them, ties to even."""
    before = scalar_of(op.operands[0].type)
    if isinstance(before, NARROW):
        return value
    if not isinstance(before, Float32Type):
        to.refuse(op, f"rounds {before} to tf32, by way of f32 twice", "convert to f32 first")
    bits = reread(to, value, i32)

    def number(of: int) -> SSAValue:
        return to.constant(of, bits.type)

    drops = number(TF32_DROPS)
    is_odd = to.result(arith.AndIOp(to.result(arith.ShRUIOp(bits, drops)), number(1)))
    half = to.result(arith.AddiOp(is_odd, number((1 << TF32_DROPS - 1) - 1)))
    rounded = truncated_to_tf32(to, reread(to, to.result(arith.AddiOp(bits, half)), f32))
    is_nan = compared_floats(to, value, value, "uno")
    return to.result(arith.SelectOp(is_nan, value, rounded))


def truncated_to_tf32(to: Conversion, value: SSAValue) -> SSAValue:
    """Numbers of f32 without the bits that those of tf32 have not."""
    bits = reread(to, value, i32)
    return reread(to, to.result(arith.AndIOp(bits, to.constant(-(1 << TF32_DROPS), bits.type))), f32)


def reread(to: Conversion, value: SSAValue, element: Attribute) -> SSAValue:
    """The bits of a number or of a tile as those of another type."""
    kind = TensorType(element, tile_shape(value)) if isinstance(value.type, TensorType) else element
    return to.result(elementwise.BitcastOp.create(operands=[value], result_types=[kind]))


BITS: Mapping[str, Kind] = {
    "bitcast": elementwise.BitcastOp,
    "ptr_to_ptr": elementwise.BitcastOp,
    "int_to_ptr": elementwise.IntToPtrOp,
    "ptr_to_int": elementwise.PtrToIntOp,
}


@converts(*BITS)
def _reread(to: Conversion, op: TileIROp) -> None:
    _converted(to, op, BITS[op.ROW.name])


# Constants and facts --------------------------------------------------------------------------------------------------


@converts("constant")
def _constant(to: Conversion, op: TileIROp) -> None:
    value = op.properties["value"]
    assert isinstance(value, ConstantAttr)
    if not value.is_uniform:
        to.refuse(op, "has numbers that differ, which would have to lie somewhere", "load them from an array")
    number = number_of(value.type.element_type, value.elements()[0])
    if integer_width(value.type.element_type) == 1:
        number = -number if number > 0 and isinstance(to.type(op.results[0].type), TensorType) else number
    to.give(op, to.constant(number, to.type(op.results[0].type)))


@converts("assume")
def _assume(to: Conversion, op: TileIROp) -> None:
    """What is assumed has been proved or is undefined: layouts and loops need none of it."""


def resized(to: Conversion, value: SSAValue, kind: TensorType[IntegerType]) -> SSAValue:
    """A tile of integers that count elements, in another width."""
    before, after = element_type_of(value.type), kind.element_type
    assert isinstance(before, IntegerType)
    if before == after:
        return value
    made = arith.ExtUIOp if before.bitwidth < after.bitwidth else arith.TruncIOp
    return to.result(made.create(operands=[value], result_types=[kind]))
