"""
Instructions that compute floats (PTX ISA, "Floating-Point Instructions", "Half Precision Floating-Point Instructions",
"Comparison and Selection Instructions": `setp`, "Data Movement and Conversion Instructions": `cvt`).

    fma.rn.f32 d, a, b, c            bits of math.fma (a as f32), (b as f32), (c as f32)
    cvt.rn.f16x2.f32 d, a, b         b in the low half, a in the high one

Registers hold bits; an op reads them as floats and gives bits again (`Emission.read_as`). Approximations (`.approx`,
`.full`) give the nearest number. What flushes subnormal numbers (`.ftz`) has no row but `ex2`. Only a reading that
follows all numbers has these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import cast

from xdsl.dialects import arith, math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerType, VectorType, bf16, f16, f32, f64
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.readers.ptx.emission import Emission
from tileas_xdsl.readers.ptx.instructions.builder import Builder
from tileas_xdsl.readers.ptx.instructions.computing import shifted_by
from tileas_xdsl.readers.ptx.instructions.rows import INTEGERS, Call, Row
from tileas_xdsl.readers.ptx.operands import both
from tileas_xdsl.readers.ptx.steps import Operand, Register, Step
from tileas_xdsl.readers.ptx.syntax import BITS

KINDS: Mapping[str, Attribute] = {
    "f16": f16,
    "bf16": bf16,
    "f32": f32,
    "f64": f64,
    "f16x2": VectorType(f16, [2]),
    "bf16x2": VectorType(bf16, [2]),
}
"""Type of PTX -> how its bits are read."""
Compute = Callable[..., Operation]


def _given(builder: Builder, what: str, operands: list[Operand], bits: int, make: Callable[..., SSAValue]) -> Register:
    """The bits of what `make` computes, which is asked for it with the emission and the step."""
    result = Register("", bits)

    def made(e: Emission, step: Step) -> None:
        e.give(step, [e.bits(make(e, step), bits)])

    builder.act(what, made, operands, results=[result], kind="ask")
    return result


def _function(compute: Compute, builder: Builder, call: Call) -> None:
    """A function of floats of one type."""
    kind = KINDS[call.types[-1]]

    def make(e: Emission, step: Step) -> SSAValue:
        return e.add(compute(*(e.read_as(operand, kind) for operand in step.operands))).results[0]

    operands = [builder.read(operand, call.bits) for operand in call.operands[1:]]
    builder.write(call[0], _given(builder, call.instruction.name, operands, call.bits, make))


def _power_of_two(value: SSAValue) -> Operation:
    return math.Exp2Op(value, FastMathFlagsAttr([FastMathFlag.APPROX_FUNC]))


def _reciprocal(builder: Builder, call: Call) -> None:
    kind = KINDS[call.types[-1]]

    def make(e: Emission, step: Step) -> SSAValue:
        one = e.once(("one", kind), lambda: arith.ConstantOp(FloatAttr(1.0, cast("AnyFloat", kind))))
        return e.add(arith.DivfOp(one, e.read_as(step.operands[0], kind))).results[0]

    builder.write(call[0], _given(builder, "rcp", [builder.read(call[1], call.bits)], call.bits, make))


# Comparisons ----------------------------------------------------------------------------------------------------------

ORDERED = {"eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "num": "ord", "nan": "uno"}
COMPARED = {**ORDERED, **{f"{word}u": f"u{kind[1:]}" for word, kind in ORDERED.items() if word not in ("num", "nan")}}
"""Comparison of PTX -> the predicate of `arith.cmpf`: with `u` it holds where a number is NaN."""


def _compared(builder: Builder, call: Call) -> None:
    kind = KINDS[call.types[-1]]
    how = COMPARED[call.one_of(COMPARED) or "eq"]

    def make(e: Emission, step: Step) -> SSAValue:
        a, b = (e.read_as(operand, kind) for operand in step.operands)
        return e.add(arith.CmpfOp(a, b, how)).results[0]

    holds = _given(builder, "setp", [builder.read(operand, call.bits) for operand in call.operands[1:3]], 1, make)
    yes, no = both(call[0])
    builder.write(yes, holds)
    if no is not None:
        builder.write(no, builder.negated(holds))


# Conversions ----------------------------------------------------------------------------------------------------------


def _converted(builder: Builder, call: Call) -> None:
    """Between two types, of which one is a float; of a signed integer the sign counts."""
    into, of = call.types
    value = builder.read(call[1], BITS[of], signed=of.startswith("s"))
    builder.write(call[0], _resized(builder, value, into, of), signed=into.startswith("s"))


def _resized(builder: Builder, value: Operand, into: str, of: str) -> Register:
    target = KINDS.get(into) or IntegerType(BITS[into])
    source = KINDS.get(of) or IntegerType(BITS[of])
    compute = _conversion(into, of)

    def make(e: Emission, step: Step) -> SSAValue:
        return e.add(compute(e.read_as(step.operands[0], source), target)).results[0]

    return _given(builder, "cvt", [value], BITS[into], make)


def _conversion(into: str, of: str) -> Compute:
    if into in KINDS and of in KINDS:
        return arith.ExtFOp if BITS[into] > BITS[of] else arith.TruncFOp
    if into in KINDS:
        return arith.SIToFPOp if of.startswith("s") else arith.UIToFPOp
    return arith.FPToSIOp if into.startswith("s") else arith.FPToUIOp


def _packed(builder: Builder, call: Call) -> None:
    """Two floats in the halves of a register, the first one high."""
    into, of = call.types
    half = into.removesuffix("x2")
    high, low = (_resized(builder, builder.read(each, 32), half, of) for each in call.operands[1:3])
    wide_high, wide_low = (builder.resized(each, 32) for each in (high, low))
    moved = shifted_by(builder, wide_high, 16, left=True, arithmetic=False)
    builder.write(call[0], builder.compute("or", 32, moved, wide_low))


# The rows -------------------------------------------------------------------------------------------------------------

SCALARS, ANY = "f16 bf16 f32 f64", " ".join(KINDS)
NEAREST, ROUGHLY = "rn", "rn approx full"
ANY_INTEGER = f"{INTEGERS} u8 s8"
"""Rounding that a row knows: to the nearest; or less exact, for which the nearest is given."""


def _binary(opcode: str, modifiers: str, compute: Compute) -> Row:
    return Row(opcode, "d a b", modifiers, f"arith.{opcode}f", partial(_function, compute), needs=ANY)


def _unary(opcode: str, modifiers: str, what: str, compute: Compute) -> Row:
    return Row(opcode, "d a", modifiers, what, partial(_function, compute), needs=ANY)


FLOATS: tuple[Row, ...] = (
    _binary("add", f"{NEAREST} {ANY}", arith.AddfOp),
    _binary("sub", f"{NEAREST} {ANY}", arith.SubfOp),
    _binary("mul", f"{NEAREST} {ANY}", arith.MulfOp),
    _binary("div", f"{ROUGHLY} {SCALARS}", arith.DivfOp),
    Row("max", "d a b", f"NaN {ANY}", "arith.maximumf", partial(_function, arith.MaximumfOp), needs="NaN"),
    Row("min", "d a b", f"NaN {ANY}", "arith.minimumf", partial(_function, arith.MinimumfOp), needs="NaN"),
    Row("max", "d a b", ANY, "arith.maxnumf", partial(_function, arith.MaxnumfOp), needs=ANY),
    Row("min", "d a b", ANY, "arith.minnumf", partial(_function, arith.MinnumfOp), needs=ANY),
    Row("fma", "d a b c", f"{NEAREST} {ANY}", "math.fma", partial(_function, math.FmaOp), needs=ANY),
    _unary("neg", ANY, "arith.negf", arith.NegfOp),
    _unary("abs", ANY, "math.absf", math.AbsFOp),
    _unary("sqrt", f"{ROUGHLY} {SCALARS}", "math.sqrt", math.SqrtOp),
    _unary("rsqrt", f"{ROUGHLY} {SCALARS}", "math.rsqrt", math.RsqrtOp),
    _unary("lg2", "approx f32", "math.log2", math.Log2Op),
    _unary("sin", "approx f32", "math.sin", math.SinOp),
    _unary("cos", "approx f32", "math.cos", math.CosOp),
    _unary("tanh", f"approx {SCALARS}", "math.tanh", math.TanhOp),
    _unary("ex2", "approx ftz f32", "math.exp2", _power_of_two),
    Row("rcp", "d a", f"{ROUGHLY} f32 f64", "arith.divf", _reciprocal, needs="f32 f64"),
    Row("setp", "d a b", f"{' '.join(COMPARED)} {SCALARS}", "arith.cmpf", _compared, needs=SCALARS),
    Row("cvt", "d a b", "rn f16x2 bf16x2 f32", "arith.truncf", _packed, needs="f16x2 bf16x2"),
    Row(
        "cvt",
        "d a",
        f"rn rzi {SCALARS} {ANY_INTEGER}",
        "arith.extf, arith.truncf, arith.sitofp, arith.uitofp, arith.fptosi, arith.fptoui",
        _converted,
        needs=SCALARS,
    ),
)
