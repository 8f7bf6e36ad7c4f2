"""
What stands in for a GPU and for torch: a driver that only says its target, and tensors that have a type and a shape.

Triton asks its driver for the target, the device and the stream of a launch, and a tensor for `dtype`, `shape`,
`stride()` and `data_ptr()` (`triton.runtime.driver`, `triton.runtime.jit`).
"""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import Any

from tileas_xdsl.tools.errors import InputError

ALIGNED = 1 << 12
"""The address of every tensor: as aligned as those of torch."""

DTYPES = {
    "i1": ("bool", 1),
    **{f"i{bits}": (f"int{bits}", bits // 8) for bits in (8, 16, 32, 64)},
    **{f"u{bits}": (f"uint{bits}", bits // 8) for bits in (8, 16, 32, 64)},
    "fp16": ("float16", 2),
    "bf16": ("bfloat16", 2),
    "fp32": ("float32", 4),
    "fp64": ("float64", 8),
    "fp8e4nv": ("float8_e4m3fn", 1),
    "fp8e5": ("float8_e5m2", 1),
}
"""Triton's name of a type -> torch's name, and bytes of an element."""


@dataclass(frozen=True)
class DType:
    """The type of elements, called as torch calls it."""

    name: str
    itemsize: int

    @property
    def is_floating_point(self) -> bool:
        return "float" in self.name

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Tensor:
    """A tensor in row-major order without elements."""

    dtype: DType
    shape: tuple[int, ...]

    def stride(self, axis: int | None = None) -> Any:
        """Elements from one index to the next, of one axis or of all."""
        strides = tuple(accumulate(self.shape[:0:-1], mul, initial=1))[::-1] if self.shape else ()
        return strides if axis is None else strides[axis]

    def data_ptr(self) -> int:
        return ALIGNED

    def numel(self) -> int:
        """The number of elements."""
        return self.stride(0) * self.shape[0] if self.shape else 1


def tensor(dtype: str, *shape: int) -> Tensor:
    """
    A tensor for launches that are only checked: `tensor("fp16", 512, 512)`. It has no elements.

    `dtype` is what Triton calls it in signatures (`fp16`, `i32`), or torch. Raises `InputError` for another.
    """
    known = {**DTYPES, **{theirs: (theirs, size) for theirs, size in DTYPES.values()}}
    if dtype not in known:
        raise InputError([f"error: '{dtype}' is no type of elements; there are: {', '.join(DTYPES)}"])
    return Tensor(DType(*known[dtype]), shape)


class Driver:
    """A driver of Triton that has a target, and no device to run anything on."""

    def __init__(self, target: Any, name: str) -> None:
        self._target = target
        self._name = name

    def get_current_target(self) -> Any:
        return self._target

    def get_current_device(self) -> str:
        """What Triton keeps compiled kernels under: no device of a real driver is called that."""
        return f"checked for {self._name}"

    def get_current_stream(self, _device: object = None) -> int:
        return 0

    def get_active_torch_device(self) -> str:
        return "cpu"


@contextmanager
def driver_for(target: Any, name: str) -> Generator[None]:
    """Inside, Triton believes that there is a device of `target`. Afterwards it has the driver that it had."""
    from triton.runtime.driver import driver as configured  # pyright: ignore

    config: Any = configured
    before = config._active
    config.set_active(Driver(target, name))
    try:
        with warnings.catch_warnings():
            # Whether products and sums are fused does not matter to a check.
            warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")
            yield
    finally:
        config._active = before
