"""
Functions without an instruction, by what the target has: `ex2`, division, and polynomials. No library is linked.

    exp x     2^(x log2 e)
    tanh x    1 - 2 / (exp 2x + 1); near 0 a polynomial
    erf x     1 - p(t) exp(-x^2) with t = 1 / (1 + 0.3275911 |x|); near 0 a polynomial
    log2 x    the exponent, and 2 atanh((m - 1) / (m + 1)) log2 e of the mantissa m; `log`, `log10`, `log1p` by it
    sin x     polynomials of x less the nearest multiple of pi / 2, which is taken off in three parts; `cos`, `tan`
    atan2     pi / 4 and a polynomial of (a - 1) / (a + 1) for a quotient a near 1; quadrants by the signs
    pow x, y  2^(y log2 |x|), with the sign of an odd power; `sinh` and `cosh` by `exp`

They are computed in f32. For `exp` the relative error is below 2^-22 (2 + |x|); `log`, and those by it, are within
2^-21 of the result, or of 1 where that is larger; `tanh`, `erf` and `atan2` within 2^-20; `sin` and `cos` within 2^-20
up to 10^5, and somewhere in their range behind that; `pow` within 2^-20 (2 + |y log2 x|). Infinities, zeros and NaN
give what IEEE 754 asks for.

Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26 (erf), 4.1.27 (log), 4.3.97 (sin), 4.4.42
(atan); Cody and Waite, Software Manual for the Elementary Functions, 1980 (parts of pi / 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import e, inf, log, log2, nan, pi, sqrt
from typing import Any, cast

from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.analysis.threads.tiles import tile_of
from tileas_xdsl.transforms.to_llvm.tiles.packing import elements, packed
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads, refusal, rule

NEAR_ZERO = 2.0**-4
"""Up to where polynomials stand for `tanh` and `erf`."""
LEAST_NORMAL, SCALE = 2.0**-126, 23
MANTISSA, BIAS, ONE_BITS = 23, 127, 0x3F800000
ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


class Formulas:
    """What is built of numbers in f32."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads

    def number(self, value: float) -> SSAValue:
        return self._threads.result(arith.ConstantOp(FloatAttr(value, f32)))

    def _two(self, kind: type[Any], a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        a, b = (each if isinstance(each, SSAValue) else self.number(each) for each in (a, b))
        return self._threads.result(kind(a, b))

    def add(self, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        return self._two(arith.AddfOp, a, b)

    def subtract(self, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        return self._two(arith.SubfOp, a, b)

    def multiply(self, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        return self._two(arith.MulfOp, a, b)

    def divide(self, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        return self._two(arith.DivfOp, a, b)

    def absolute(self, x: SSAValue) -> SSAValue:
        return self._threads.result(math.AbsFOp(x))

    def where(self, word: str, a: SSAValue, b: float, yes: SSAValue | float, no: SSAValue | float) -> SSAValue:
        """`yes` where a compares with b as the word says, else `no`."""
        condition = self._threads.result(arith.CmpfOp(a, self.number(b), word))
        return self.select(condition, yes, no)

    def polynomial(self, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
        """The sum of the coefficients times 1, x, x^2, ..."""
        *rest, last = coefficients
        found = self.number(last)
        for coefficient in reversed(rest):
            found = self._threads.result(math.FmaOp(found, x, self.number(coefficient)))
        return found

    def odd(self, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
        """The sum of the coefficients times x, x^3, x^5, ..."""
        return self.multiply(x, self.polynomial(self.multiply(x, x), coefficients))

    def exp(self, x: SSAValue) -> SSAValue:
        return self._threads.result(math.Exp2Op(self.multiply(x, log2(e))))

    def tanh(self, x: SSAValue) -> SSAValue:
        grown = self.add(self.exp(self.multiply(x, 2.0)), 1.0)
        far = self.subtract(1.0, self.divide(2.0, grown))
        return self.where("olt", self.absolute(x), NEAR_ZERO, self.odd(x, (1.0, -1 / 3, 2 / 15)), far)

    def erf(self, x: SSAValue) -> SSAValue:
        size = self.absolute(x)
        t = self.divide(1.0, self.add(self.multiply(size, 0.3275911), 1.0))
        fallen = self.exp(self.subtract(0.0, self.multiply(size, size)))
        of_size = self.subtract(1.0, self.multiply(self.multiply(t, self.polynomial(t, ERF)), fallen))
        far = self.where("olt", x, 0.0, self.subtract(0.0, of_size), of_size)
        scale = 2 / sqrt(pi)
        near = self.odd(x, (scale, -scale / 3, scale / 10))
        return self.where("olt", size, NEAR_ZERO, near, self.where("uno", x, 0.0, x, far))

    def log2(self, x: SSAValue) -> SSAValue:
        threads = self._threads
        normal = self.where("olt", x, LEAST_NORMAL, self.multiply(x, 2.0**SCALE), x)
        bits = threads.result(llvm.BitcastOp(normal, i32))
        exponent = threads.compute(arith.SubiOp, threads.compute(arith.ShRUIOp, bits, MANTISSA), BIAS)
        mantissa_bits = threads.compute(arith.OrIOp, threads.compute(arith.AndIOp, bits, (1 << MANTISSA) - 1), ONE_BITS)
        mantissa = threads.result(llvm.BitcastOp(mantissa_bits, f32))
        whole = threads.result(arith.SIToFPOp(exponent, f32))
        whole = self.where("olt", x, LEAST_NORMAL, self.subtract(whole, float(SCALE)), whole)
        whole = self.where("ogt", mantissa, sqrt(2), self.add(whole, 1.0), whole)
        mantissa = self.where("ogt", mantissa, sqrt(2), self.multiply(mantissa, 0.5), mantissa)
        t = self.divide(self.subtract(mantissa, 1.0), self.add(mantissa, 1.0))
        part = self.odd(t, [2 * log2(e) / n for n in (1, 3, 5, 7, 9)])
        found = self.add(whole, part)
        found = self.where("oeq", x, inf, inf, found)
        found = self.where("oeq", x, 0.0, -inf, found)
        return self.where("ult", x, 0.0, nan, found)

    def log(self, x: SSAValue) -> SSAValue:
        return self.multiply(self.log2(x), log(2))

    def log10(self, x: SSAValue) -> SSAValue:
        return self.multiply(self.log2(x), log(2) / log(10))

    def log1p(self, x: SSAValue) -> SSAValue:
        near = self.multiply(x, self.polynomial(x, (1.0, -1 / 2, 1 / 3, -1 / 4, 1 / 5)))
        return self.where("olt", self.absolute(x), NEAR_ZERO / 2, near, self.log(self.add(x, 1.0)))

    def fma(self, a: SSAValue, b: SSAValue | float, c: SSAValue | float) -> SSAValue:
        """a * b + c, rounded once."""
        b, c = (each if isinstance(each, SSAValue) else self.number(each) for each in (b, c))
        return self._threads.result(math.FmaOp(a, b, c))

    def select(self, condition: SSAValue, yes: SSAValue | float, no: SSAValue | float) -> SSAValue:
        """`yes` where a condition holds."""
        one, other = (each if isinstance(each, SSAValue) else self.number(each) for each in (yes, no))
        return self._threads.result(arith.SelectOp(condition, one, other))

    # Angles -----------------------------------------------------------------------------------------------------------

    def _quadrant(self, x: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The nearest multiple of pi / 2, as a number of quarter turns, and what is left of the angle."""
        turns = self._threads.result(math.FloorOp(self.fma(x, 2 / pi, 0.5)))
        rest = x
        for part in HALF_PI:
            rest = self.fma(turns, -part, rest)
        rest = self.where("olt", self.absolute(rest), 1.0, rest, 0.0)
        return self._threads.result(arith.FPToSIOp(turns, i32)), rest

    def _wave(self, x: SSAValue, ahead: int) -> SSAValue:
        """The sine of an angle, some quarter turns ahead."""
        threads = self._threads
        turns, rest = self._quadrant(x)
        quarter = threads.compute(arith.AddiOp, turns, ahead)
        square = self.multiply(rest, rest)
        sine, cosine = self.multiply(rest, self.polynomial(square, SINE)), self.polynomial(square, COSINE)
        is_odd = threads.compare(threads.compute(arith.AndIOp, quarter, 1), "ne", 0)
        is_behind = threads.compare(threads.compute(arith.AndIOp, quarter, 2), "ne", 0)
        found = self.select(is_odd, cosine, sine)
        return self.select(is_behind, self.subtract(0.0, found), found)

    def sin(self, x: SSAValue) -> SSAValue:
        return self.where("oeq", x, 0.0, x, self._finite(x, self._wave(x, 0)))

    def cos(self, x: SSAValue) -> SSAValue:
        return self._finite(x, self._wave(x, 1))

    def tan(self, x: SSAValue) -> SSAValue:
        return self.divide(self.sin(x), self.cos(x))

    def _finite(self, x: SSAValue, found: SSAValue) -> SSAValue:
        """No number where the angle is none."""
        return self.where("olt", self.absolute(x), inf, found, nan)

    def atan2(self, y: SSAValue, x: SSAValue) -> SSAValue:
        threads = self._threads
        tall, wide = self.absolute(y), self.absolute(x)
        is_steep = threads.result(arith.CmpfOp(tall, wide, "ogt"))
        least, most = self.select(is_steep, wide, tall), self.select(is_steep, tall, wide)
        ratio = self.where("oeq", most, 0.0, 0.0, self.divide(least, most))
        both_far = threads.result(arith.AndIOp(self._is_far(tall), self._is_far(wide)))
        ratio = self.select(both_far, 1.0, ratio)
        turned = self.divide(self.subtract(ratio, 1.0), self.add(ratio, 1.0))
        is_near_one = threads.result(arith.CmpfOp(ratio, self.number(sqrt(2) - 1), "ogt"))
        near = self.odd(self.select(is_near_one, turned, ratio), [(-1.0) ** n / (2 * n + 1) for n in range(8)])
        angle = self.add(near, self.select(is_near_one, pi / 4, 0.0))
        angle = self.select(is_steep, self.subtract(pi / 2, angle), angle)
        angle = self.select(self._is_negative(x), self.subtract(pi, angle), angle)
        angle = self.select(self._is_negative(y), self.subtract(0.0, angle), angle)
        return self.where("uno", x, 0.0, x, self.where("uno", y, 0.0, y, angle))

    def _is_far(self, size: SSAValue) -> SSAValue:
        return self._threads.result(arith.CmpfOp(size, self.number(inf), "oeq"))

    def _is_negative(self, x: SSAValue) -> SSAValue:
        """Whether the sign bit is set."""
        return self._threads.compare(self._threads.result(llvm.BitcastOp(x, i32)), "slt", 0)

    # Powers -----------------------------------------------------------------------------------------------------------

    def sinh(self, x: SSAValue) -> SSAValue:
        size = self.absolute(x)
        half = self.exp(self.subtract(size, log(2)))
        far = self.subtract(half, self.divide(0.25, half))
        signed = self.where("olt", x, 0.0, self.subtract(0.0, far), far)
        return self.where("olt", size, 0.5, self.odd(x, (1.0, 1 / 6, 1 / 120, 1 / 5040)), signed)

    def cosh(self, x: SSAValue) -> SSAValue:
        half = self.exp(self.subtract(self.absolute(x), log(2)))
        return self.add(half, self.divide(0.25, half))

    def pow(self, x: SSAValue, y: SSAValue) -> SSAValue:
        threads = self._threads
        size = threads.result(math.Exp2Op(self.multiply(y, self.log2(self.absolute(x)))))
        size = self.where("oeq", self.absolute(x), 1.0, self.where("uno", y, 0.0, y, 1.0), size)
        halved = self.multiply(y, 0.5)
        is_whole = threads.result(arith.CmpfOp(threads.result(math.FloorOp(y)), y, "oeq"))
        is_even = threads.result(arith.CmpfOp(threads.result(math.FloorOp(halved)), halved, "oeq"))
        signed = self.select(is_even, size, self.subtract(0.0, size))
        below = self.select(is_whole, signed, self.where("oeq", x, -inf, size, nan))
        found = self.select(
            self._is_negative(x), self.where("oeq", x, 0.0, self.select(is_whole, signed, size), below), size
        )
        found = self.where("oeq", x, 1.0, 1.0, found)
        return self.where("oeq", y, 0.0, 1.0, found)


HALF_PI = (1.5703125, 4.837512969970703125e-4, 7.54978995489188e-8)
"""Parts of pi / 2: the first two have few bits, so that their products with whole numbers up to 2^16 are exact."""
SINE = (1.0, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880)
COSINE = (1.0, -1 / 2, 1 / 24, -1 / 720, 1 / 40320, -1 / 3628800)
"""Of the square of an angle up to pi / 4."""

FORMULAS: dict[type[Operation], Callable[..., SSAValue]] = {
    math.ExpOp: Formulas.exp,
    math.TanhOp: Formulas.tanh,
    math.ErfOp: Formulas.erf,
    math.Log2Op: Formulas.log2,
    math.LogOp: Formulas.log,
    math.Log10Op: Formulas.log10,
    math.Log1pOp: Formulas.log1p,
    math.SinOp: Formulas.sin,
    math.CosOp: Formulas.cos,
    math.TanOp: Formulas.tan,
    math.SinhOp: Formulas.sinh,
    math.CoshOp: Formulas.cosh,
    math.Atan2Op: Formulas.atan2,
    math.PowFOp: Formulas.pow,
}


@rule(*FORMULAS)
def _approximated(op: Operation, threads: Threads) -> None:
    result = op.results[0]
    tile = tile_of(result.type)
    if tile is None:
        threads.give(result, _of_numbers(op, threads, [threads.of(operand) for operand in op.operands]))
        return
    held = [elements(threads, threads.registers(operand)) for operand in op.operands]
    numbers = [_of_numbers(op, threads, row) for row in zip(*held, strict=True)]
    threads.give(result, packed(threads, tile, numbers))


def _of_numbers(op: Operation, threads: Threads, numbers: Sequence[SSAValue]) -> SSAValue:
    formula, kind = FORMULAS[type(op)], numbers[0].type
    if isinstance(kind, Float32Type):
        return formula(Formulas(threads), *numbers)
    wide = [threads.result(arith.ExtFOp(number, f32)) for number in numbers]
    return threads.result(arith.TruncFOp(formula(Formulas(threads), *wide), cast(Any, kind)))


@refusal(*FORMULAS)
def _computes_otherwise(op: Operation) -> tuple[str, str] | None:
    tiles = [tile_of(value.type) for value in (*op.operands, op.results[0])]
    kind: Attribute = op.operands[0].type if tiles[0] is None else tiles[0].element
    if isinstance(kind, Float64Type):
        return "is computed in f32, and its numbers are f64", "convert them to f32"
    if None not in tiles and len({tile.layout for tile in tiles if tile is not None}) > 1:
        return "computes on tiles in different layouts", "convert one of them by nv_tileas.convert_layout"
    return None
