"""
A kernel on the machine of this package: its program on the arrays of a launch, without a GPU.

At the level of `tiles` the program as it was written runs, at that of `threads` what its threads became, block after
block. What it leaves in the arrays is written into those of the caller, as a launch would.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tileas_xdsl.dialects.array_numbers import numbers_of
from tileas_xdsl.kernels.binding import Bound, Grid, array_name
from tileas_xdsl.machine.arguments import ArgumentError, argument_names, find_function, numbers_of_block
from tileas_xdsl.machine.core.threads.cluster_calls import Shape, cluster_shape_of, crosses_blocks
from tileas_xdsl.machine.core.violations import Violation
from tileas_xdsl.machine.running import array_row, run
from tileas_xdsl.tabular import Tabular

Level = Literal["tiles", "threads"]
MULTIPROCESSORS = 2
"""Of the machine, for kernels that launch as many blocks as there is room for."""


@dataclass(frozen=True)
class KernelRun(Tabular):
    """What a run left: the arrays by name, as numpy has them, and the mistakes that the machine came across."""

    device: str
    arrays: Mapping[str, NDArray[Any]] = field(repr=False)
    violations: tuple[Violation, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """A row for each array: its shape, type, and the span of its numbers."""
        return [array_row(name, array) for name, array in self.arrays.items()]

    def to_dict(self) -> dict[str, Any]:
        """The arrays as lists, and the violations."""
        return {
            "device": self.device,
            "arrays": {name: array.tolist() for name, array in self.arrays.items()},
            "violations": [violation.sentence for violation in self.violations],
        }

    @property
    def finished(self) -> bool:
        """Whether the kernel came to its end."""
        return not any(violation.stuck for violation in self.violations)


def run_on_machine(
    module: ModuleOp, name: str, arguments: Bound, grid: Grid, *, order: str = "lazy", seed: int = 0
) -> KernelRun:
    """
    Run the function `name` for each block of `grid`, and write what it leaves into the caller's arrays.

    Raises `ArgumentError` for arrays that are not in memory of the host, or that may not be written.
    """
    own = host_arrays(arguments)
    given: dict[str, Any] = {**arguments.numbers, **own}
    function, body = find_function(module, name)
    computed = numbers_of(function)
    names = [name for place, name in enumerate(argument_names(body)) if place not in computed]
    passed = {argument: given[array_name(argument, list(given))] for argument in names}
    violations: list[Violation] = []
    cluster = _cluster_of(function)
    for numbers, programs in _turns(numbers_of_block(function), grid, cluster):
        outcome = run(module, name, {**passed, **numbers}, order=order, seed=seed, programs=programs)
        violations += outcome.violations
        for argument, left in outcome.arrays.items():
            _write_back(array_name(argument, list(own)), own, left)
        if violations:
            break
    return KernelRun("machine", own, tuple(violations))


def host_arrays(arguments: Bound) -> dict[str, NDArray[Any]]:
    """The arrays as numpy has them, the same memory. Raises `ArgumentError` for one that is not the host's."""
    return {key: _host_array(key, value) for key, value in arguments.values.items() if key in arguments.arrays}


def _cluster_of(function: Operation) -> Shape:
    """
    The extents of the clusters that the machine runs as a whole. Raises `ArgumentError` for a function whose blocks ask
    for their place in a cluster and are run one by one.
    """
    if crosses_blocks(function):
        return cluster_shape_of(function)
    asked = next((name for name in numbers_of_block(function) if name.partition(".")[0] in OF_CLUSTERS), None)
    if asked is not None:
        raise ArgumentError(f"the machine runs its blocks one by one, and they ask for '{asked}': run it on a GPU")
    return ALONE


def _turns(known: Sequence[str], grid: Grid, cluster: Shape) -> Iterator[tuple[dict[str, int], Grid | None]]:
    """
    The numbers of the block and the extents of the grid for each run: one for all programs, where the function asks
    which program it is, and one for each block where it reads registers. Where the blocks of a `cluster` follow each
    other there is one run for the cluster: the machine tells its blocks apart.
    """
    stems = {name.partition(".")[0] for name in known}
    if stems & {"program_id", "num_programs"}:
        yield {}, grid
        return
    firsts = (range(0, extent, step) for extent, step in zip(reversed(grid), reversed(cluster), strict=True))
    for block in itertools.product(*firsts) if stems else [(0, 0, 0)]:
        numbers = dict(zip("xyz", reversed(block), strict=True))
        extents = dict(zip("xyz", grid, strict=True))
        own = [name for name in known if name.partition(".")[0] not in OF_CLUSTERS]
        yield {name: (extents if name.partition(".")[0] in EXTENTS else numbers)[name[-1]] for name in own}, None


EXTENTS = ("nctaid", "grid_dim")
"""What the machine calls the number of blocks, in IR of `nvvm` and of `gpu`."""
OF_CLUSTERS = ("cluster", "clusterid", "nclusterid")
"""How the names of ids and extents begin that the machine works out itself."""
ALONE = (1, 1, 1)
"""The extents of a cluster of one block."""


def _write_back(name: str, own: Mapping[str, NDArray[Any]], left: NDArray[Any]) -> None:
    array = own[name]
    if array.flags.writeable:
        np.copyto(array, left.view(array.dtype))  # integers of IR have no sign
    elif not np.array_equal(array.view(np.uint8), left.view(np.uint8)):
        raise ArgumentError(f"'{name}' is written by the kernel, and the array that is given cannot be")


def _host_array(name: str, value: Any) -> NDArray[Any]:
    """The array in memory of the host as numpy has it: the same memory, whichever library made it."""
    if isinstance(value, np.ndarray):
        return cast("NDArray[Any]", value)
    kind, _ = value.__dlpack_device__() if hasattr(value, "__dlpack_device__") else (None, 0)
    if kind is None or int(kind) not in (1, 3):
        raise ArgumentError(f"'{name}' is on a GPU, and the machine computes on arrays of the host")
    word = str(getattr(value, "dtype", ""))
    special = SPECIAL.get(word)
    if word in SMALL_FLOATS:  # numpy has no DLPack for these; jax, whose types are numpy's, gives it the same memory
        return np.asarray(value)
    if special is not None:  # torch gives them as the integers of their size
        torch_name, kind_of_numpy = special
        import torch  # pyright: ignore[reportMissingImports]

        integers = value.detach().view(getattr(torch, torch_name))  # pyright: ignore
        return np.from_dlpack(integers).view(kind_of_numpy)
    return np.from_dlpack(value.detach() if hasattr(value, "detach") else value)


SPECIAL: dict[str, tuple[str, Any]] = {
    "torch.bfloat16": ("int16", ml_dtypes.bfloat16),
    "torch.float8_e4m3fn": ("uint8", ml_dtypes.float8_e4m3fn),
    "torch.float8_e5m2": ("uint8", ml_dtypes.float8_e5m2),
}
"""Element types of torch that numpy does not have: the integers of their size, and those of ml_dtypes."""
SMALL_FLOATS = {np.dtype(kind).name for _, kind in SPECIAL.values()}
