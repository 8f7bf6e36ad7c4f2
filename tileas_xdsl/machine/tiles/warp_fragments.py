"""
Matrices in the registers of a warp: which element lies in which register of which lane.

It is asked of the layouts of the fragments, which the PTX manual's tables are compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from tileas_xdsl.layouts.distributed import LANE, REGISTER, WARP_SIZE
from tileas_xdsl.layouts.fragments import MmaShape, atom
from tileas_xdsl.machine.core.threads.hardware import of_threads


def of_lanes(value: Any) -> Sequence[Any]:
    """What each lane has of a value."""
    return of_threads(value, WARP_SIZE)


@cache
def places(shape: MmaShape, operand: str, bits: int) -> Any:
    """(lane, element of the lane) -> row-major index in the matrix of an operand."""
    fragment = atom(shape, operand, bits).with_inputs([REGISTER, LANE])
    columns = fragment.output_size("dim1")
    count = fragment.input_size(REGISTER)
    coordinates = [[fragment.at(register=r, lane=lane) for r in range(count)] for lane in range(WARP_SIZE)]
    return np.array([[row * columns + column for row, column in of_lane] for of_lane in coordinates])


def matrix_of(
    registers: Sequence[Any], dtype: np.dtype[Any], shape: MmaShape, operand: str, extents: tuple[int, int]
) -> Any:
    """The matrix of `extents` that the lanes hold in `registers`, as elements of `dtype`."""
    held = [_bits_of_lanes(register).view(dtype) for register in registers]
    elements = np.concatenate([part.reshape(WARP_SIZE, -1) for part in held], axis=1)
    matrix = np.empty(extents[0] * extents[1], dtype)
    matrix[places(shape, operand, 8 * dtype.itemsize)] = elements
    return matrix.reshape(extents)


def _bits_of_lanes(register: Any) -> Any:
    """A register of all lanes as bytes."""
    values = [np.atleast_1d(value) for value in of_lanes(register)]
    array = np.array(values)
    return np.ascontiguousarray(array.astype(np.int32) if array.dtype.kind in "iu" else array).view(np.uint8)
