"""
Candidates on the GPU of this machine: first their numbers, then their time.

The first block of each computes what the machine of this package computes of the same program, and a whole launch what
the first candidate computed, or what the caller expects. Then launches go through sets of arrays that are together
larger than the second-level cache; the time is the median of some batches, by events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileas_xdsl.diagnostics import Error
from tileas_xdsl.kernels.binding import bound, grid_of
from tileas_xdsl.kernels.gpu import described_device
from tileas_xdsl.kernels.kernel import Device, Kernel
from tileas_xdsl.kernels.on_machine import host_arrays

TOLERANCES = {1: 0.1, 2: 1e-2, 4: 1e-3, 8: 1e-9}
"""Bytes of a float -> how far two results may be apart, relatively, whose sums went in another order."""


class WrongNumbersError(Error):
    """A kernel computes other numbers than it should; the message says in which array."""


class Measuring:
    """The GPU, and what its kernels have to compute."""

    def __init__(self, expected: Mapping[str, Any] | None) -> None:
        self.device = described_device(0)
        self._expected = {name: np.asarray(value) for name, value in (expected or {}).items()}

    def seconds(self, kernel: Kernel, values: Mapping[str, Any], grid: Any) -> float:
        """
        The median time of a launch. Raises `WrongNumbersError` for other numbers than those expected, `ArgumentError`
        for arguments that do not fit, and `GPUError`.
        """
        passed = bound(kernel.contract, (), values)
        own = host_arrays(passed)
        self._require_first_block(kernel, own, values)
        computed = {name: array.copy() for name, array in own.items()}
        arguments: dict[str, Any] = {**values, **computed}
        kernel.run(grid=grid, device="gpu", **arguments)
        if not self._expected:
            self._expected = {name: array for name, array in computed.items() if not _same(array, own[name])}
        _require_near(self._expected, computed, "")
        return kernel.seconds_on_gpu(passed, own, grid_of(kernel.contract, grid, passed))

    def _require_first_block(self, kernel: Kernel, own: Mapping[str, NDArray[Any]], values: Mapping[str, Any]) -> None:
        grid = kernel.contract.cluster or (1, 1, 1)
        ran: dict[str, Mapping[str, NDArray[Any]]] = {}
        devices: tuple[Device, Device] = ("machine", "gpu")
        for device in devices:
            arrays = {name: array.copy() for name, array in own.items()}
            arguments: dict[str, Any] = {**values, **arrays}
            ran[device] = kernel.run(grid=grid, device=device, **arguments).arrays
        _require_near(ran["machine"], ran["gpu"], " of the first block")


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return np.array_equal(one.view(np.uint8), other.view(np.uint8))


def _require_near(expected: Mapping[str, NDArray[Any]], found: Mapping[str, NDArray[Any]], where: str) -> None:
    for name, want in expected.items():
        if name not in found:
            raise WrongNumbersError(f"there is no array '{name}' among the arguments")
        most = 0.0 if want.dtype.kind in "iub" else TOLERANCES.get(found[name].dtype.itemsize, 1e-2)
        one, other = want.astype(np.float64), found[name].astype(np.float64)
        apart, size = float(np.linalg.norm(one - other)), float(np.linalg.norm(one))
        if not apart <= most * size:
            raise WrongNumbersError(f"wrong numbers in '{name}'{where}: {apart / size if size else apart:.2g} apart")
