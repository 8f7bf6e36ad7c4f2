"""
Functions without an instruction, by what the target has: `ex2`, division, and polynomials. No library is linked.

    exp x     2^(x log2 e)
    tanh x    1 - 2 / (exp 2x + 1); near 0 a polynomial
    erf x     1 - p(t) exp(-x^2) with t = 1 / (1 + 0.3275911 |x|); near 0 a polynomial
    log2 x    the exponent, and 2 atanh((m - 1) / (m + 1)) log2 e of the mantissa m; `log`, `log10`, `log1p` by it

They are computed in f32. For `exp` the relative error is below 2^-22 (2 + |x|); `log`, and those by it, are within
2^-21 of the result, or of 1 where that is larger; `tanh` and `erf` within 2^-20. Infinities, zeros and NaN give what
IEEE 754 asks for.

Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26 (erf), 4.1.27 (log).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import e, inf, log, log2, nan, pi, sqrt
from typing import Any, cast

from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr, TensorType, f32, i32
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
        arms = (each if isinstance(each, SSAValue) else self.number(each) for each in (yes, no))
        return self._threads.result(arith.SelectOp(condition, *arms))

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


FORMULAS: dict[type[Operation], Callable[[Formulas, SSAValue], SSAValue]] = {
    math.ExpOp: Formulas.exp,
    math.TanhOp: Formulas.tanh,
    math.ErfOp: Formulas.erf,
    math.Log2Op: Formulas.log2,
    math.LogOp: Formulas.log,
    math.Log10Op: Formulas.log10,
    math.Log1pOp: Formulas.log1p,
}


@rule(*FORMULAS)
def _approximated(op: Operation, threads: Threads) -> None:
    source, result = op.operands[0], op.results[0]
    if not isinstance(source.type, TensorType):
        threads.give(result, _of_number(op, threads, threads.of(source)))
        return
    tile = tile_of(result.type)
    assert tile is not None
    held = elements(threads, threads.registers(source))
    threads.give(result, packed(threads, tile, [_of_number(op, threads, number) for number in held]))


def _of_number(op: Operation, threads: Threads, number: SSAValue) -> SSAValue:
    formula, kind = FORMULAS[type(op)], number.type
    if isinstance(kind, Float32Type):
        return formula(Formulas(threads), number)
    wide = threads.result(arith.ExtFOp(number, f32))
    return threads.result(arith.TruncFOp(formula(Formulas(threads), wide), cast(Any, kind)))


@refusal(*FORMULAS)
def _computes_otherwise(op: Operation) -> tuple[str, str] | None:
    tiles = [tile_of(value.type) for value in (op.operands[0], op.results[0])]
    kind: Attribute = op.operands[0].type if tiles[0] is None else tiles[0].element
    if isinstance(kind, Float64Type):
        return "is computed in f32, and its numbers are f64", "convert them to f32"
    if None not in tiles and len({tile.layout for tile in tiles if tile is not None}) > 1:
        return "computes on tiles in different layouts", "convert one of them by nv_tileas.convert_layout"
    return None
