"""Numbers: `arith`, `math` and `ub`. Indices are integers of 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects import arith, llvm, math, ub
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.dialects.extensions import llvm_values as values
from tileas_xdsl.dialects.extensions.arith import IndexCastUIOp
from tileas_xdsl.dialects.upstream_models.integers import EXACT, OPS, Function, IntegerFunction
from tileas_xdsl.transforms.to_llvm.building import constant, integer
from tileas_xdsl.transforms.to_llvm.lowering.state import Lowering, refusal, rule
from tileas_xdsl.transforms.to_llvm.lowering.types import number_type

BINARY: dict[type[Operation], Callable[..., Operation]] = {
    **{ops[0]: ops[1] for what, ops in OPS.items() if what in EXACT and len(ops) == 2},
    arith.AddfOp: llvm.FAddOp,
    arith.SubfOp: llvm.FSubOp,
    arith.MulfOp: llvm.FMulOp,
    arith.DivfOp: llvm.FDivOp,
    arith.MaximumfOp: values.MaximumOp,
    arith.MinimumfOp: values.MinimumOp,
    arith.MaxnumfOp: llvm.VectorFMaxOp,
    arith.MinnumfOp: llvm.VectorFMinOp,
}
"""Ops of two operands that LLVM has as they are."""


@rule(*BINARY)
def _binary(op: Operation, low: Lowering) -> None:
    low.give(op.results[0], low.result(_with_flags(op, BINARY[type(op)](*map(low.of, op.operands)))))


def _with_flags(op: Operation, made: Operation) -> Operation:
    """What is made of `op`, with its flags of fast arithmetic."""
    flags = op.properties.get("fastmath")
    if isinstance(flags, arith.FastMathFlagsAttr):
        made.properties["fastmathFlags"] = llvm.FastMathAttr(tuple(flags.data))
    return made


def _absolute(value: SSAValue) -> Operation:
    return llvm.FAbsOp(value, value.type)


UNARY: dict[type[Operation], Callable[..., Operation]] = {
    arith.NegfOp: llvm.FNegOp,
    math.AbsFOp: _absolute,
    math.CeilOp: llvm.FCeilOp,
    math.FloorOp: llvm.FFloorOp,
    math.SqrtOp: llvm.FSqrtOp,
    math.Exp2Op: llvm.FExp2Op,
    math.ExpOp: llvm.FExpOp,
    math.LogOp: llvm.FLogOp,
    math.Log2Op: llvm.FLog2Op,
    math.SinOp: llvm.FSinOp,
    math.CosOp: llvm.FCosOp,
}


@rule(*UNARY)
def _unary(op: Operation, low: Lowering) -> None:
    made = UNARY[type(op)](low.of(op.operands[0]))
    low.give(op.results[0], low.result(_with_flags(op, made) if isinstance(op, math.Exp2Op) else made))


@rule(math.RsqrtOp)
def _inverse_root(op: math.RsqrtOp, low: Lowering) -> None:
    """LLVM has no inverse root of its own."""
    root = low.result(llvm.FSqrtOp(low.of(op.operand)))
    one = low.result(llvm.ConstantOp(_ones(op.operand.type), op.operand.type))
    low.give(op.result, low.result(llvm.FDivOp(one, root)))


def _ones(type_: Attribute) -> Attribute:
    if not isinstance(type_, VectorType):
        return FloatAttr(1.0, cast("AnyFloat", type_))
    vector = cast("VectorType[Any]", type_)
    return cast(Attribute, DenseIntOrFPElementsAttr.from_list(vector, [1.0] * vector.element_count()))


@rule(math.FmaOp)
def _fma(op: math.FmaOp, low: Lowering) -> None:
    low.give(op.results[0], low.result(llvm.FMAOp(low.of(op.a), low.of(op.b), low.of(op.c))))


# Constants ------------------------------------------------------------------------------------------------------------


@rule(arith.ConstantOp)
def _constant(op: arith.ConstantOp, low: Lowering) -> None:
    type_ = number_type(op.result.type)
    assert type_ is not None
    low.give(op.result, low.result(constant(llvm.ConstantOp, _of_type(op.value, type_), type_)))


def _of_type(value: Attribute, type_: Attribute) -> Attribute:
    """The constant with integers instead of indices."""
    if isinstance(value, IntegerAttr) and isinstance(type_, IntegerType):
        return integer(cast("IntegerAttr[Any]", value).value.data, cast("IntegerType", type_))
    if isinstance(value, DenseIntOrFPElementsAttr) and isinstance(type_, VectorType):
        dense = cast("DenseIntOrFPElementsAttr[Any]", value)
        return dense if dense.type == type_ else DenseIntOrFPElementsAttr(cast(Any, type_), dense.data)
    return cast(Attribute, value)


@refusal(arith.ConstantOp)
def _constant_of_other_kinds(op: arith.ConstantOp) -> tuple[str, str] | None:
    if isinstance(op.value, IntegerAttr | FloatAttr | DenseIntOrFPElementsAttr):
        return None
    return f"is the constant '{op.value}', which LLVM has no number for", "use integers, floats and vectors of them"


@rule(ub.PoisonOp)
def _poison(op: ub.PoisonOp, low: Lowering) -> None:
    type_ = number_type(op.result.type)
    assert type_ is not None
    low.give(op.result, low.result(values.PoisonOp(type_)))


# Comparisons and choices ----------------------------------------------------------------------------------------------


@rule(arith.CmpiOp)
def _compare_integers(op: arith.CmpiOp, low: Lowering) -> None:
    """The predicates have the same numbers in both dialects."""
    low.give(
        op.result, low.result(llvm.ICmpOp(low.of(op.lhs), low.of(op.rhs), IntegerAttr(op.predicate.value.data, 64)))
    )


@rule(arith.CmpfOp)
def _compare_floats(op: arith.CmpfOp, low: Lowering) -> None:
    predicate = llvm.FCmpPredicateFlag.from_int(op.predicate.value.data)
    low.give(op.result, low.result(llvm.FCmpOp(low.of(op.lhs), low.of(op.rhs), predicate)))


EXTREMES: dict[type[Operation], llvm.ICmpPredicateFlag] = {
    op: flag
    for function, signed, flag in (
        (Function.LEAST, True, llvm.ICmpPredicateFlag.SLT),
        (Function.GREATEST, True, llvm.ICmpPredicateFlag.SGT),
        (Function.LEAST, False, llvm.ICmpPredicateFlag.ULT),
        (Function.GREATEST, False, llvm.ICmpPredicateFlag.UGT),
    )
    for op in OPS[IntegerFunction(function, signed)]
}
"""Which comparison says that the first operand is the result."""


@rule(*EXTREMES)
def _extreme(op: Operation, low: Lowering) -> None:
    a, b = map(low.of, op.operands)
    low.give(op.results[0], _choose(low, _compare(low, EXTREMES[type(op)], a, b), a, b))


@refusal(arith.SelectOp, *EXTREMES)
def _choice_by_lanes(op: Operation) -> tuple[str, str] | None:
    if not any(isinstance(value.type, VectorType) for value in op.operands):
        if all(number_type(value.type) is not None for value in op.operands):
            return None
    return "chooses between vectors or buffers", "choose between numbers"


@rule(arith.SelectOp)
def _select(op: arith.SelectOp, low: Lowering) -> None:
    low.give(op.result, _choose(low, *map(low.of, op.operands)))


def _choose(low: Lowering, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
    return low.result(llvm.SelectOp(condition, a, b))


def _compare(low: Lowering, word: llvm.ICmpPredicateFlag, a: SSAValue, b: SSAValue) -> SSAValue:
    return low.result(llvm.ICmpOp(a, b, IntegerAttr(word.to_int(), 64)))


# Quotients that round up or down --------------------------------------------------------------------------------------


@rule(arith.CeilDivUIOp)
def _ceiling_unsigned(op: arith.CeilDivUIOp, low: Lowering) -> None:
    """a / b, and one more where something is left."""
    a, b = low.of(op.lhs), low.of(op.rhs)
    quotient = low.result(llvm.UDivOp(a, b))
    rest = low.result(llvm.URemOp(a, b))
    more = low.result(llvm.ZExtOp(_is_not_zero(low, rest), a.type))
    low.give(op.result, low.result(llvm.AddOp(quotient, more)))


@rule(arith.FloorDivSIOp, arith.CeilDivSIOp)
def _rounded_signed(op: arith.FloorDivSIOp | arith.CeilDivSIOp, low: Lowering) -> None:
    """LLVM rounds towards zero: one less where that was up, one more where it was down."""
    a, b = low.of(op.lhs), low.of(op.rhs)
    quotient = low.result(llvm.SDivOp(a, b))
    inexact = _is_not_zero(low, low.result(llvm.SRemOp(a, b)))
    zero = _zero(low, a)
    negative = _compare(low, llvm.ICmpPredicateFlag.SLT, low.result(llvm.XOrOp(a, b)), zero)
    if isinstance(op, arith.FloorDivSIOp):
        corrected, build = negative, llvm.SubOp
    else:
        corrected, build = low.result(llvm.XOrOp(negative, low.integer(1, IntegerType(1)))), llvm.AddOp
    step = low.result(llvm.ZExtOp(low.result(llvm.AndOp(inexact, corrected)), a.type))
    low.give(op.result, low.result(build(quotient, step)))


def _is_not_zero(low: Lowering, value: SSAValue) -> SSAValue:
    return _compare(low, llvm.ICmpPredicateFlag.NE, value, _zero(low, value))


def _zero(low: Lowering, value: SSAValue) -> SSAValue:
    return low.integer(0, cast(IntegerType, value.type))


@refusal(arith.CeilDivUIOp, arith.FloorDivSIOp, arith.CeilDivSIOp)
def _quotients_of_vectors(op: Operation) -> tuple[str, str] | None:
    if isinstance(op.operands[0].type, VectorType):
        return "rounds quotients of vectors", "divide numbers"
    return None


# Conversions ----------------------------------------------------------------------------------------------------------

CONVERSIONS: dict[type[Operation], Callable[..., Operation]] = {
    **{ops[0]: ops[1] for what, ops in OPS.items() if what.function in (Function.EXTENDED, Function.TRUNCATED)},
    arith.ExtFOp: llvm.FPExtOp,
    arith.TruncFOp: llvm.FPTruncOp,
    arith.SIToFPOp: llvm.SIToFPOp,
    arith.UIToFPOp: values.UIToFPOp,
    arith.FPToSIOp: values.FPToSIOp,
    arith.FPToUIOp: values.FPToUIOp,
    arith.BitcastOp: llvm.BitcastOp,
}


@rule(*CONVERSIONS)
def _convert(op: Operation, low: Lowering) -> None:
    type_ = number_type(op.results[0].type)
    low.give(op.results[0], low.result(CONVERSIONS[type(op)](low.of(op.operands[0]), type_)))


@rule(arith.IndexCastOp, IndexCastUIOp)
def _index_cast(op: Operation, low: Lowering) -> None:
    value = low.of(op.operands[0])
    type_ = number_type(op.results[0].type)
    assert type_ is not None
    before, after = _width(value.type), _width(type_)
    if before == after:
        low.give(op.results[0], value)
    else:
        widen = llvm.ZExtOp if isinstance(op, IndexCastUIOp) else llvm.SExtOp
        build = llvm.TruncOp if before > after else widen
        low.give(op.results[0], low.result(build(value, type_)))


def _width(type_: Attribute) -> int:
    element = cast("VectorType[Any]", type_).element_type if isinstance(type_, VectorType) else type_
    return 64 if isinstance(element, IndexType) else cast(IntegerType, element).width.data
