"""
What a caller passes, compared with the launch contract before anything runs: on the machine and on a GPU alike.

A caller passes arrays and numbers, in the order of the program's arguments or by name. Sizes, strides and second maps
of an array follow from it. Each problem is an `ArgumentError` that names the parameter.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, SupportsIndex

from tileas_xdsl.backend.contract import BUFFER_ALIGNMENT, Buffer, KernelContract, Number, Parameter, Pointer, TensorMap
from tileas_xdsl.dialects.array_numbers import number_in as number_in_array
from tileas_xdsl.kernels.arrays import Array, array_of, dense
from tileas_xdsl.machine.arguments import ArgumentError

SECOND_MAP = re.compile(r"_map(#\d+)?$")
"""Behind the name of an array that TMA copies and threads access: it is handed over twice."""
ROW_BYTES = 16
"""Rows of an array under a tensor map begin at multiples of this (CUDA Driver API, `cuTensorMapEncodeTiled`)."""
MOST_BLOCKS = (2**31 - 1, 65_535, 65_535)
"""Of a grid, along x, y and z (CUDA C++ Programming Guide, "Compute Capabilities")."""
Grid = tuple[int, int, int]
Extents = SupportsIndex | Sequence[SupportsIndex]
AskedGrid = Extents | Callable[[Mapping[str, Any]], Extents] | None
"""A grid as callers say it: one to three numbers, a function of the arguments by name; None if arrays tell it."""


@dataclass(frozen=True)
class Bound:
    """The arguments of one launch by name: numbers, and what is known of the arrays."""

    numbers: Mapping[str, int | float]
    arrays: Mapping[str, Array]
    values: Mapping[str, Any]
    """What the caller passed."""


def names_of(contract: KernelContract) -> list[str]:
    """What a caller passes, in order."""
    given = [each.name for each in contract.parameters if not (isinstance(each, Number) and each.of is not None)]
    names = list(dict.fromkeys(given))
    return [name for name in names if array_name(name, names) == name]


def array_name(name: str, names: Sequence[str]) -> str:
    """The array that a parameter is of: a second map has the name of the array with a suffix."""
    first = SECOND_MAP.sub("", name)
    return first if first in names else name


def in_order(contract: KernelContract, given: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """What a caller passes, in the order of `names_of`. Raises `ArgumentError` for what is missing, or too much."""
    values = _by_name(contract, given, named)
    return [values[name] for name in names_of(contract)]


def bound(contract: KernelContract, given: Sequence[Any], named: Mapping[str, Any]) -> Bound:
    """The arguments of a launch. Raises `ArgumentError`, which names the parameter, for what the contract forbids."""
    values = _by_name(contract, given, named)
    numbers: dict[str, int | float] = {}
    arrays: dict[str, Array] = {}
    for parameter in contract.parameters:
        name = array_name(parameter.name, list(values))
        if isinstance(parameter, Number):
            if parameter.of is None:
                numbers[name] = number_in(parameter, values[name])
            continue
        if name not in arrays:
            arrays[name] = _array(name, values[name])
        _require_fit(name, parameter, arrays[name], contract)
    return Bound(numbers, arrays, values)


OPTIONS = frozenset(["device", "grid", "level", "order", "seed", "stream"])
"""What `Kernel.run` and launches take by name beside the parameters of the kernel."""


def _by_name(contract: KernelContract, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    names = names_of(contract)
    listed = ", ".join(names) or "none"
    if len(given) > len(names):
        raise ArgumentError(f"{len(given)} arguments are given, and @{contract.name} takes {len(names)}: {listed}")
    values = dict(zip(names, given, strict=False))
    for name, value in named.items():
        if name not in names:
            raise ArgumentError(f"@{contract.name} has no parameter '{name}'; there are: {listed}")
        if name in values:
            raise ArgumentError(f"'{name}' is given twice")
        values[name] = value
    missing = [name for name in names if name not in values]
    if missing:
        way_out = ", and is an option, too: pass it by position" if missing[0] in OPTIONS else ""
        raise ArgumentError(f"'{missing[0]}' is missing{way_out}; @{contract.name} takes: {listed}")
    return values


def number_in(parameter: Number, value: Any) -> int | float:
    """The number that a caller passes. Raises `ArgumentError` for one that the parameter's type does not have."""
    name, kind = parameter.name, parameter.type
    if type(value) not in (int, float) and array_of(value) is not None and getattr(value, "ndim", 1) != 0:
        raise ArgumentError(f"'{name}' is a number of type {kind}, and an array is given")
    try:
        if kind.startswith(("f", "bf")):
            return float(value)
        number = operator.index(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"'{name}' is a number of type {kind}, and {type(value).__name__} is given") from None
    bits = 64 if kind == "index" else int(kind.removeprefix("i"))
    if not -(1 << (bits - 1)) <= number < 1 << bits:
        raise ArgumentError(f"'{name}' is {number}, which is no number of type {kind}")
    return number


def _array(name: str, value: Any) -> Array:
    try:
        found = array_of(value)
    except ArgumentError as error:
        raise ArgumentError(f"'{name}': {error}") from None
    if found is None:
        raise ArgumentError(f"'{name}' is an array, and {type(value).__name__} is given")
    return found


def _require_fit(name: str, parameter: Parameter, array: Array, contract: KernelContract) -> None:
    if isinstance(parameter, Number | Pointer):
        return
    if isinstance(parameter, TensorMap) and (parameter.shape is None or parameter.type is None):
        raise ArgumentError(f"'{name}' is a tensor map, and the kernel does not say of what")
    shape = parameter.shape or ()
    if array.type != parameter.type:
        raise ArgumentError(f"'{name}' has elements of type {array.type}, and the kernel takes {parameter.type}")
    if len(array.shape) != len(shape) or any(
        want not in (None, size) for want, size in zip(shape, array.shape, strict=True)
    ):
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise ArgumentError(f"'{name}' has the shape {list(array.shape)}, and the kernel takes [{wanted}]")
    if array.address % BUFFER_ALIGNMENT and array.address:
        raise ArgumentError(f"'{name}' begins at no multiple of {BUFFER_ALIGNMENT} bytes")
    if 0 in array.shape:
        raise ArgumentError(f"'{name}' has no elements: its shape is {list(array.shape)}")
    _require_strides(name, parameter, array, contract)
    if isinstance(parameter, Buffer):
        _require_whole_rows(name, parameter, array)


def _require_whole_rows(name: str, parameter: Buffer, array: Array) -> None:
    """Rows begin, and end, at multiples of what threads access at once."""
    lengths = [("have", array.shape[-1])] if array.shape else []
    steps = zip(array.strides[:-1], array.shape[:-1], strict=True)
    lengths += [("are", stride) for stride, size in steps if size > 1]
    for word, elements in lengths:
        if elements * array.item_bytes % parameter.row_bytes:
            size = f"{elements * array.item_bytes} bytes{' apart' if word == 'are' else ''}"
            access = f"the kernel accesses {parameter.row_bytes} at once"
            raise ArgumentError(f"rows of '{name}' {word} {size}, and {access}: make them a multiple")


def _require_strides(name: str, parameter: Buffer | TensorMap, array: Array, contract: KernelContract) -> None:
    rank, packed = len(array.shape), dense(array.shape)
    passed = {each.of for each in contract.parameters if isinstance(each, Number) and each.name == parameter.name}
    for axis in reversed(range(rank)):
        stride, size = array.strides[axis], array.shape[axis]
        if size == 1:
            continue  # nobody goes along it
        if axis == rank - 1 and stride != 1 and not (isinstance(parameter, Buffer) and f"stride {axis}" in passed):
            raise ArgumentError(f"the elements of a row of '{name}' are {stride} apart: make it contiguous")
        if isinstance(parameter, TensorMap):
            if axis < rank - 1 and (stride <= 0 or stride * array.item_bytes % ROW_BYTES):
                apart = stride * array.item_bytes
                raise ArgumentError(f"rows of '{name}' are {apart} bytes apart: TMA takes multiples of {ROW_BYTES}")
            continue
        wanted = parameter.strides[axis] if parameter.strides is not None else packed[axis]
        if wanted is None:
            wanted = None if f"stride {axis}" in passed else packed[axis]
        if wanted is not None and stride != wanted:
            raise ArgumentError(
                f"'{name}' has the stride {stride} along dimension {axis}, and the kernel takes {wanted}: "
                "make it contiguous"
            )


def require_writable(contract: KernelContract, arrays: Mapping[str, Array]) -> None:
    """Raises `ArgumentError` for an array that the kernel writes and nobody may, such as one of jax."""
    for name in contract.written or ():
        if name in arrays and not arrays[name].is_writable:
            raise ArgumentError(f"'{name}' is written by the kernel, and the array that is given cannot be")


def require_whole_clusters(contract: KernelContract, grid: Grid) -> None:
    """Raises `ArgumentError` for a grid that is no multiple of the kernel's clusters."""
    for axis, blocks, cluster in zip("xyz", grid, contract.cluster or (1, 1, 1), strict=True):
        if blocks % cluster:
            clusters = f"clusters of @{contract.name} have {cluster} blocks along {axis}"
            raise ArgumentError(f"{clusters}, and the grid {blocks}, which is no multiple")


def number_of(parameter: Number, array: Array) -> int:
    """The number of an array that a parameter is: `size 0`, `stride 1`, `offset`, `tiles 1 by 64`."""
    return number_in_array(parameter.of or "offset", array.shape, array.strides)


# The grid -------------------------------------------------------------------------------------------------------------


def grid_of(contract: KernelContract, asked: AskedGrid, arguments: Bound) -> Grid:
    """
    The blocks along x, y and z: `asked` is a number, a sequence, a function of the arguments by name, or None, where
    it follows from the arrays. Raises `ArgumentError` for none, too many, and where it does not follow.
    """
    extents = extents_in(asked, arguments.values)
    if extents is None:
        return _checked(contract, _derived(contract, arguments))
    grid = _checked(contract, extents)
    if contract.persistent_blocks is not None and grid != (
        derived := _checked(contract, _derived(contract, arguments))
    ):
        counts = " x ".join(map(str, derived))
        raise ArgumentError(f"@{contract.name} computes the {counts} programs of its arrays: leave out the grid")
    return grid


def launched(contract: KernelContract, grid: Grid, multiprocessors: int) -> Grid:
    """The blocks that are launched for the programs of a grid: as many as have room, where each computes many."""
    if contract.persistent_blocks is None:
        return grid
    return min(prod(grid), contract.persistent_blocks * multiprocessors), 1, 1


def extents_in(asked: AskedGrid, values: Mapping[str, Any]) -> list[int] | None:
    """
    The one to three numbers that a caller says, or computes from the arguments by name; None if arrays tell the grid.
    Raises `ArgumentError` for what is no grid.
    """
    found = asked(dict(values)) if callable(asked) else asked
    if found is None:
        return None
    numbers = list(found) if isinstance(found, Sequence) else [found]
    if not 1 <= len(numbers) <= 3:
        raise ArgumentError(f"a grid has 1 to 3 extents, not {len(numbers)}")
    try:
        return [operator.index(number) for number in numbers]
    except TypeError:
        raise ArgumentError(f"a grid is made of integers, and {found!r} is given") from None


def _derived(contract: KernelContract, arguments: Bound) -> list[int]:
    if contract.programs is None:
        raise ArgumentError(f"the grid of @{contract.name} does not follow from its arrays: say it, as in grid=(4, 8)")
    return [
        1 if axis is None else -(-arguments.arrays[axis.array].shape[axis.dimension] // axis.extent)
        for axis in contract.programs
    ]


def _checked(contract: KernelContract, numbers: Sequence[int]) -> Grid:
    x, y, z = [*numbers, 1, 1][:3]
    for axis, number, most in zip("xyz", (x, y, z), MOST_BLOCKS, strict=True):
        if not 1 <= number <= most:
            raise ArgumentError(f"a grid has 1 to {most:,} blocks along {axis}, not {number:,}")
    require_whole_clusters(contract, (x, y, z))
    return x, y, z
