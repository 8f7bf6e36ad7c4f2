"""
What is known of an array of whichever library: where it begins, its sizes, strides, element type and device.

Arrays of numpy are read as they are, those of other libraries by DLPack (torch gives bf16 and f8 by it alone), else by
`__cuda_array_interface__`. Nothing is copied, and nothing waited for but arrays of jax that are still being made.

Sources: DLPack, "dlpack.h"; Numba, "CUDA Array Interface (Version 3)".
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from tileas_xdsl.machine.arguments import ArgumentError

CPU, CUDA, PINNED, MANAGED = 1, 2, 3, 13
"""`DLDeviceType`"""
NO_STREAM = -1
"""What a producer of DLPack is told so that it waits for nothing."""


@dataclass(frozen=True, kw_only=True)
class Array:
    """An array as a kernel sees it."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In elements."""
    type: str
    """Of an element, as the IR writes it: `f16`, `bf16`, `f8E4M3FN`, `i32`."""
    item_bytes: int
    device: int | None
    """The number of the GPU; None for memory of the host."""
    is_writable: bool = True


def array_of(value: Any) -> Array | None:
    """What is known of `value`; None where it is no array. Raises `ArgumentError` for an array of unknown elements."""
    if isinstance(value, np.ndarray):
        return _of_numpy(cast("np.ndarray[Any, Any]", value))
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return _of_dlpack(value)
    if hasattr(value, "__cuda_array_interface__"):
        return _of_interface(value.__cuda_array_interface__)
    return None


# numpy ----------------------------------------------------------------------------------------------------------------

NAMES = {
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "bfloat16": "bf16",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e5m2": "f8E5M2",
    "bool": "i1",
    **{f"{sign}int{bits}": f"i{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
"""Names of element types: numpy's (and those of ml_dtypes) to the IR's, whose integers have no sign."""


def _of_numpy(value: np.ndarray[Any, Any]) -> Array:
    size = value.dtype.itemsize
    if any(stride % size for stride in value.strides):
        raise ArgumentError(f"an array of {value.dtype} has strides that are no multiples of its elements")
    return Array(
        address=value.ctypes.data,
        shape=value.shape,
        strides=tuple(stride // size for stride in value.strides),
        type=_named(value.dtype.name),
        item_bytes=size,
        device=None,
        is_writable=value.flags.writeable,
    )


def _named(name: str) -> str:
    found = NAMES.get(name)
    if found is None:
        raise ArgumentError(f"no kernel takes elements of type {name}; there are: {', '.join(NAMES)}")
    return found


# DLPack ---------------------------------------------------------------------------------------------------------------


class _Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("number", ctypes.c_int32)]


class _Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("rank", ctypes.c_int32),
        ("type", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


CODES = {0: "i{}", 1: "i{}", 2: "f{}", 4: "bf{}", 6: "i1", 10: "f8E4M3FN", 12: "f8E5M2"}
"""`DLDataTypeCode` -> the IR's name, with the bits in it."""

_pointer_of: Callable[..., int] = ctypes.pythonapi.PyCapsule_GetPointer
ctypes.pythonapi.PyCapsule_GetPointer.restype = ctypes.c_void_p
ctypes.pythonapi.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _of_dlpack(value: Any) -> Array:
    try:
        kind, number = value.__dlpack_device__()
    except (BufferError, RuntimeError, TypeError, ValueError) as error:  # an array without memory, for one
        raise ArgumentError(f"an array of {type(value).__name__} cannot be handed over: {error}") from None
    on_host = int(kind) in (CPU, PINNED)
    if not on_host and int(kind) not in (CUDA, MANAGED):
        raise ArgumentError(f"an array is on a device of DLPack's kind {int(kind)}: neither a GPU nor the CPU")
    made_by_jax = type(value).__module__.startswith("jax")
    try:
        if made_by_jax:
            value.block_until_ready()  # it computes on streams that no caller knows
        elif getattr(value, "requires_grad", False):
            value = value.detach()
        capsule = value.__dlpack__() if on_host or made_by_jax else value.__dlpack__(stream=NO_STREAM)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ArgumentError(f"an array of {type(value).__name__} cannot be handed over: {error}") from None
    tensor = _Tensor.from_address(_pointer_of(capsule, b"dltensor"))
    shape = tuple(tensor.shape[axis] for axis in range(tensor.rank))
    strides = tuple(tensor.strides[axis] for axis in range(tensor.rank)) if tensor.strides else dense(shape)
    code, bits = int(tensor.type.code), int(tensor.type.bits)
    if code not in CODES or tensor.type.lanes != 1:
        raise ArgumentError(f"no kernel takes elements of DLPack's type {code} with {bits} bits")
    return Array(
        address=(tensor.data or 0) + tensor.byte_offset,
        shape=shape,
        strides=strides,
        type=CODES[code].format(bits),
        item_bytes=max(bits // 8, 1),
        device=None if on_host else int(number),
        is_writable=not made_by_jax,
    )


# The interface of CUDA arrays -----------------------------------------------------------------------------------------


def _of_interface(interface: Any) -> Array:
    address, is_read_only = interface["data"]
    kind = np.dtype(interface["typestr"])
    shape = tuple(interface["shape"])
    strides = interface.get("strides")
    return Array(
        address=address or 0,
        shape=shape,
        strides=tuple(stride // kind.itemsize for stride in strides) if strides is not None else dense(shape),
        type=_named(kind.name),
        item_bytes=kind.itemsize,
        device=0,
        is_writable=not is_read_only,
    )


def dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of an array whose elements lie one behind the other, the last dimension first."""
    strides: list[int] = []
    size = 1
    for extent in reversed(shape):
        strides.append(size)
        size *= extent
    return tuple(reversed(strides))
