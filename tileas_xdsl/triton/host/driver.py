"""
What stands in for Triton's driver: it says which target there is, and there is no device to run anything on.

Triton asks its driver for the target, the device and the stream of a launch (`triton.runtime.driver`); code around a
launch asks for the properties of the device.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from tileas_xdsl.targets.chips import CHIPS
from tileas_xdsl.triton.host.anything import thing_named
from tileas_xdsl.triton.host.tensors import GPU, Device

MULTIPROCESSORS = 132
REGISTERS = 65536
"""Of a multiprocessor."""
CLOCK, BUS = 1_980_000, 5120
"""Of the memory, in kHz, and the bits of its bus."""


class Driver:
    """A driver of Triton that has a target, and no device to run anything on."""

    def __init__(self, target: Any, name: str) -> None:
        self._target = target
        self._name = name
        self.utils = SimpleNamespace(get_device_properties=lambda *_device: properties_of(target))  # pyright: ignore

    def get_current_target(self) -> Any:
        return self._target

    def get_current_device(self) -> str:
        """What Triton keeps compiled kernels under: no device of a real driver is called that."""
        return f"checked for {self._name}"

    def get_current_stream(self, _device: object = None) -> int:
        return 0

    def get_active_torch_device(self) -> Device:
        return GPU

    def get_device_interface(self) -> Any:
        """Instead of `torch.cuda`."""
        return thing_named("device")

    def set_current_device(self, _device: object) -> None:
        """There is none."""


def properties_of(target: Any) -> Mapping[str, int]:
    """What a device of `target` has; what chips of one capability have in different number is that of a Hopper."""
    shared = next((chip.shared_bytes for chip in CHIPS.values() if chip.capability == target.arch), 64 * 1024)
    return {
        "max_shared_mem": shared,
        "multiprocessor_count": MULTIPROCESSORS,
        "max_num_regs": REGISTERS,
        "warpSize": target.warp_size,
        "sm_clock_rate": CLOCK,
        "mem_clock_rate": CLOCK,
        "mem_bus_width": BUS,
    }


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
