"""Spearman's rank correlation: whether two rows of numbers put things in the same order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """1 for the same order, -1 for the opposite one; equal numbers share a rank. 0 for fewer than two, or all equal."""
    one, other = _ranks(first), _ranks(second)
    if len(one) < 2 or not one.std() or not other.std():
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])


def _ranks(numbers: Sequence[float]) -> NDArray[np.float64]:
    """The place of each number in their order, from 0; the mean of the places of equal ones."""
    values = np.asarray(numbers, dtype=np.float64)
    below = (values[:, None] > values[None, :]).sum(axis=1)
    equal = (values[:, None] == values[None, :]).sum(axis=1)
    return below + (equal - 1) / 2
