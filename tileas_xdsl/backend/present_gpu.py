"""
The chip of the GPU in this machine, which NVIDIA's driver knows.

The driver alone is asked, through ctypes: to load NVIDIA's Python packages would take longer than to compile a kernel.
Source: CUDA Driver API, "Device Management".
"""

from __future__ import annotations

import ctypes
import os
import sys

from tileas_xdsl.targets.chips import PTX_VERSIONS

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
MAJOR, MINOR = 75, 76
"""`CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`."""


def present_chip() -> str | None:
    """The chip whose code runs on the first GPU of this machine and uses most of it; None where there is no GPU."""
    capability = present_capability()
    return chip_of(*capability) if capability is not None else None


def chip_of(major: int, minor: int) -> str | None:
    """
    The best chip that PTX is written for and that a GPU of that compute capability runs: its own, with `a` where there
    is one, else the nearest older one of its generation. None if there is none.
    """
    own = f"sm_{major}{minor}"
    if f"{own}a" in PTX_VERSIONS:
        return f"{own}a"
    older = [f"sm_{major}{below}" for below in range(minor, -1, -1)]
    return next((name for name in older if name in PTX_VERSIONS), None)


def present_capability() -> tuple[int, int] | None:
    """The compute capability, major and minor, of the first GPU of this machine; None where there is none."""
    try:
        driver = ctypes.CDLL(os.environ.get("TILEAS_LIBCUDA", LIBRARY))
    except OSError:
        return None
    device, numbers = ctypes.c_int(), (ctypes.c_int(), ctypes.c_int())
    if driver.cuInit(ctypes.c_uint(0)) or driver.cuDeviceGet(ctypes.byref(device), ctypes.c_int(0)):
        return None
    for number, attribute in zip(numbers, (MAJOR, MINOR), strict=True):
        if driver.cuDeviceGetAttribute(ctypes.byref(number), ctypes.c_int(attribute), device):
            return None
    return numbers[0].value, numbers[1].value
