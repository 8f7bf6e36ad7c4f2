"""
Arrays in `.npy` files: read, compared with what a run left behind, and written, all or none.

numpy knows no bf16 and no fp8: in a file such elements are bytes without a type, and whoever reads them says which.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.tools.output_files import write_files

Array = NDArray[Any]
NUMBERS = "biuf"
"""Kinds of dtypes that a file can hold as numbers."""
BYTES = "V"
"""The kind of a small float in a file."""


def load(file: str) -> Array:
    """
    The array in `file`. Raises `ArgumentError` for a file that holds no array, `OSError` for one that cannot be read.
    """
    try:
        return np.load(file, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ArgumentError(f"{file} is no array of numbers in numpy's .npy format ({error})") from None


def as_numbers(array: Array, wanted: np.dtype[Any] | None, file: str) -> Array:
    """`array` with its elements as numbers; bytes are read as `wanted`. Raises `ArgumentError` for anything else."""
    dtype = array.dtype
    if dtype.kind in NUMBERS:
        return array
    if dtype.kind == BYTES and dtype.names is None and wanted is not None and dtype.itemsize == wanted.itemsize:
        return array.view(wanted)
    raise ArgumentError(f"{file} holds elements of type {dtype}, which are no numbers here")


def widened(array: Array) -> Array:
    """`array` with elements that numpy prints and lists by itself: small floats become f32, which holds them all."""
    return array if _is_numpys_own(array.dtype) else array.astype(np.float32)


def storable(array: Array) -> Array:
    """`array` with elements that every numpy can read: small floats as bytes, which is what is in the file anyway."""
    if _is_numpys_own(array.dtype):
        return array
    return array.view(np.dtype((np.void, array.dtype.itemsize)))


def _is_numpys_own(dtype: np.dtype[Any]) -> bool:
    """
    Whether numpy itself defines the dtype. Its kind does not tell: some small floats of `ml_dtypes` have the kind of
    numpy's floats.
    """
    return dtype.type.__module__.partition(".")[0] == "numpy"


# Comparing ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expectation:
    """What an array is to be, up to `atol + rtol * |expected|` in each element; two nans count as equal."""

    file: str
    array: Array
    rtol: float
    atol: float

    def difference(self, actual: Array) -> str | None:
        """How `actual` differs: where first, how often, by how much at most. None where it does not."""
        expected = as_numbers(self.array, actual.dtype, self.file)
        if expected.shape != actual.shape:
            return f"it has shape {actual.shape}, and {self.file} has {expected.shape}"
        wrong = ~self._close(actual, expected)
        count = int(np.count_nonzero(wrong))
        if not count:
            return None
        first = tuple(int(i) for i in np.argwhere(wrong)[0])
        return (
            f"{count} of {actual.size} elements differ from {self.file}; the first, at {list(first)}, is "
            f"{widened(actual)[first]} and should be {widened(expected)[first]}; the greatest difference is "
            f"{np.max(np.abs(_double(actual) - _double(expected))[wrong]):g}"
        )

    def _close(self, actual: Array, expected: Array) -> NDArray[np.bool_]:
        exact = not (self.rtol or self.atol)
        if exact and actual.dtype.kind in "biu" and expected.dtype.kind in "biu":
            return np.asarray(actual == expected)
        return np.isclose(_double(actual), _double(expected), rtol=self.rtol, atol=self.atol, equal_nan=True)


def _double(array: Array) -> NDArray[np.float64]:
    return array.astype(np.float64)


# Writing --------------------------------------------------------------------------------------------------------------


def write_arrays(files: Mapping[str, Array]) -> None:
    """
    Write each array to its file; all files or none.

    Raises `OSError`, which names the file, for a place that cannot be written.
    """
    write_files({file: partial(_save, array) for file, array in files.items()})


def _save(array: Array, stream: BinaryIO) -> None:
    np.save(stream, storable(array), allow_pickle=False)
