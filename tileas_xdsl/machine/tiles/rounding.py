"""
Rounding towards a side: what a `rounding_mode` other than nearest makes of a result.

The nearest float is computed first, as always. Where it lies on the wrong side of the exact number it moves on by one
float; which side it lies on is decided on rational numbers, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isfinite
from typing import Any, cast

import numpy as np

from tileas_xdsl.machine.tiles.numerics import is_array, quietly

Residual = Callable[[Fraction, Sequence[Fraction]], Fraction]
"""Given a candidate for the result and the operands: positive when the candidate is too high, negative when too low."""

TOWARDS_ZERO, UPWARDS, DOWNWARDS = "zero", "positive_inf", "negative_inf"

RESIDUALS: dict[str, Residual] = {
    "sum": lambda result, x: result - (x[0] + x[1]),
    "difference": lambda result, x: result - (x[0] - x[1]),
    "product": lambda result, x: result - x[0] * x[1],
    "quotient": lambda result, x: (result * x[1] - x[0]) * (1 if x[1] > 0 else -1),
    "product and sum": lambda result, x: result - (x[0] * x[1] + x[2]),
    "root": lambda result, x: result * result - x[0],
    "inverse root": lambda result, x: result * result * x[0] - 1,
    "conversion": lambda result, x: result - x[0],
}
"""By what is computed. An exponential has none: its results are not rational."""


@quietly
def rounded(nearest: Any, mode: str | None, residual: Residual | None, operands: tuple[Any, ...]) -> Any:
    """`nearest` (scalar or array) rounded in the other direction where `mode` asks for one."""
    if mode not in (TOWARDS_ZERO, UPWARDS, DOWNWARDS) or residual is None:
        return nearest
    results = np.array(nearest)
    spread = [np.broadcast_to(np.asarray(operand), results.shape) for operand in operands]
    for place in np.ndindex(results.shape):
        results[place] = _moved(results[place], mode, residual, [float(operand[place]) for operand in spread])
    return results if is_array(nearest) else results[()]


def _moved(nearest: Any, mode: str, residual: Residual, operands: list[float]) -> Any:
    value = float(nearest)
    if not all(map(isfinite, operands)) or np.isnan(value):
        return nearest
    side = _side(value, residual, operands)
    down = mode == DOWNWARDS or (mode == TOWARDS_ZERO and value > 0)
    up = mode == UPWARDS or (mode == TOWARDS_ZERO and value < 0)
    if (down and side > 0) or (up and side < 0):
        return np.nextafter(nearest, _far_out(np.asarray(nearest).dtype, -1 if down else 1))
    return nearest


def _side(value: float, residual: Residual, operands: list[float]) -> Fraction | int:
    if not isfinite(value):
        # An overflow. A division by zero is exact.
        return 0 if _divides_by_zero(residual, operands) else (1 if value > 0 else -1)
    return residual(Fraction(value), [Fraction(operand) for operand in operands])


def _divides_by_zero(residual: Residual, operands: list[float]) -> bool:
    return residual in (RESIDUALS["quotient"], RESIDUALS["inverse root"]) and operands[-1] == 0


def _far_out(dtype: np.dtype[Any], sign: int) -> Any:
    """The float furthest out on one side: an infinity where the type has one."""
    import ml_dtypes

    infinity = np.array(np.inf).astype(dtype)
    furthest = infinity if np.isinf(infinity) else cast(Any, ml_dtypes.finfo)(dtype).max
    return np.asarray(furthest if sign > 0 else -furthest).astype(dtype)[()]
