"""
Numbers as bit patterns, and exact rounding: the arithmetic against which the machine's is held.

Floats are decoded to fractions and rounded from fractions by the definition of round-to-nearest-even, without numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class Format:
    """A binary floating-point format of IEEE's kind."""

    name: str
    width: int
    mantissa: int
    """Stored bits of the mantissa."""
    dtype: np.dtype[Any]

    @property
    def bias(self) -> int:
        return (1 << (self.width - self.mantissa - 2)) - 1

    @property
    def infinity(self) -> int:
        """The bits of +infinity."""
        return ((1 << (self.width - self.mantissa - 1)) - 1) << self.mantissa

    @property
    def sign(self) -> int:
        return 1 << (self.width - 1)

    def is_nan(self, bits: int) -> bool:
        return (bits & ~self.sign) > self.infinity

    def is_finite(self, bits: int) -> bool:
        return (bits & ~self.sign) < self.infinity

    def decode(self, bits: int) -> Fraction:
        """The exact value of finite `bits`."""
        magnitude = bits & ~self.sign
        exponent, fraction = magnitude >> self.mantissa, magnitude & ((1 << self.mantissa) - 1)
        if exponent:
            fraction += 1 << self.mantissa
        power = max(exponent, 1) - self.bias - self.mantissa
        value = fraction * Fraction(2) ** power
        return -value if bits & self.sign else value

    def encode(self, exact: Fraction) -> int:
        """The bits of the float nearest to `exact`, ties to even; zero is positive."""
        magnitude = abs(exact)
        if magnitude == 0:
            return 0
        # The spacing of the floats around the magnitude, as a power of two.
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        if Fraction(2) ** exponent > magnitude:
            exponent -= 1
        spacing = max(exponent, 1 - self.bias) - self.mantissa
        steps = round(magnitude / Fraction(2) ** spacing)  # Python rounds fractions half to even
        lowest = 1 - self.bias - self.mantissa
        # Counting floats from zero upwards: the exponent field absorbs the carry of the mantissa.
        bits = steps + ((spacing - lowest) << self.mantissa)
        bits = min(bits, self.infinity)
        return bits | self.sign if exact < 0 else bits

    def value(self, bits: int) -> Any:
        """The run-time value: a numpy scalar."""
        return np.array(bits, f"uint{self.width}").view(self.dtype)[()]

    def bits(self, value: Any) -> int:
        return int(np.asarray(value, self.dtype).view(f"uint{self.width}"))

    @property
    def edges(self) -> list[int]:
        """Zeros, ones, the least and greatest subnormal and normal numbers, infinities, a NaN."""
        one = self.bias << self.mantissa
        positive = [
            0,
            1,
            (1 << self.mantissa) - 1,
            1 << self.mantissa,
            one - 1,
            one,
            one + 1,
            one + (1 << self.mantissa),
        ]
        positive += [self.infinity - 1, self.infinity]
        return [*positive, *(bits | self.sign for bits in positive), self.infinity + (1 << (self.mantissa - 1))]


FORMATS = {
    "f16": Format("f16", 16, 10, np.dtype(np.float16)),
    "bf16": Format("bf16", 16, 7, np.dtype(ml_dtypes.bfloat16)),
    "f32": Format("f32", 32, 23, np.dtype(np.float32)),
    "f64": Format("f64", 64, 52, np.dtype(np.float64)),
}


def width_of(kind: str) -> int:
    return 64 if kind == "index" else int(kind.lstrip("bif"))


def value_of(kind: str, bits: int) -> Any:
    """The run-time value of a scalar of type `kind`, as the machine holds it."""
    if kind in FORMATS:
        return FORMATS[kind].value(bits)
    width = width_of(kind)
    return bits - (1 << width) if width > 1 and bits >> (width - 1) else bits


def bits_of(kind: str, value: Any) -> int:
    """The bits of a run-time value, which must have the form that scalars of type `kind` have."""
    if kind in FORMATS:
        assert isinstance(value, np.generic), type(value)
        assert value.dtype == FORMATS[kind].dtype, value.dtype
        return FORMATS[kind].bits(value)
    assert isinstance(value, int), type(value)
    width = width_of(kind)
    assert (0 <= value <= 1) if width == 1 else (-(1 << (width - 1)) <= value < 1 << (width - 1))
    return value & ((1 << width) - 1)


def same(kind: str, first: int, second: int) -> bool:
    """Whether two bit patterns are the same number; all NaNs are."""
    if kind in FORMATS and FORMATS[kind].is_nan(first):
        return FORMATS[kind].is_nan(second)
    return first == second


def spaced(kind: str, first: int, second: int) -> int:
    """How many floats lie between two, signs aside; 0 for two NaNs."""
    if same(kind, first, second):
        return 0
    sign = FORMATS[kind].sign
    places = [-(bits - sign) if bits & sign else bits for bits in (first, second)]
    return abs(places[0] - places[1])
