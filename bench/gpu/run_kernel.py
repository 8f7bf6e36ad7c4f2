"""
Run a kernel on a GPU, compare what it computes, time it. Stands alone: Python, numpy and NVIDIA's driver (libcuda).

    python run_kernel.py copy.cubin --arg src=random:0 --arg out=zeros --expect out=expected.npy --repeat 20

Beside the code stands its launch contract (`copy.json`), which `tileas compile` wrote: the parameters in their order,
the threads of a block. An array is `random:SEED`, `zeros` or a `.npy` file, with its shape and type in front where the
contract leaves the shape open: `7x8xf32:random:1`. A tensor map takes an array too; its box, where the
contract leaves it open, by `--box`.

Status 0: it ran, and what was expected is there. 1: something else is there. 2: it cannot be run.
Source: CUDA Driver API.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

TYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i16": np.int16, "i32": np.int32}
TYPES |= {"i64": np.int64, "index": np.int64}
NUMBERS: dict[str, Any] = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "f32": ctypes.c_float, "f64": ctypes.c_double}
MAP_TYPES = {"float16": 6, "float32": 7, "float64": 8, "int32": 3, "int64": 5}
"""`CUtensorMapDataType`, by numpy's names."""
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
"""`CUtensorMapSwizzle`, by the bytes of a row."""
MAX_DYNAMIC_SHARED = 8
"""`CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`"""
WITHOUT_ASKING = 48 * 1024
"""The bytes of dynamic shared memory that a launch gets without being allowed them."""


class Problem(Exception):
    """Why the kernel cannot be run."""


# The driver -----------------------------------------------------------------------------------------------------------


class Driver:
    """libcuda, with the primary context of the first device; a call that fails raises `Problem`."""

    def __init__(self) -> None:
        name = os.environ.get("TILEAS_LIBCUDA", "libcuda.so.1")
        try:
            self._library = ctypes.CDLL(name)
        except OSError as error:
            raise Problem(f"there is no NVIDIA driver here: {error}") from None
        self("cuInit", ctypes.c_uint(0))
        device = ctypes.c_int()
        self("cuDeviceGet", ctypes.byref(device), ctypes.c_int(0))
        self._device = device
        context = ctypes.c_void_p()
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self("cuCtxSetCurrent", context)

    def __call__(self, function: str, *arguments: Any) -> None:
        status = getattr(self._library, function)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self._library.cuGetErrorString(ctypes.c_int(status), ctypes.byref(text))
            raise Problem(f"{function}: {(text.value or b'unknown error').decode()} ({status})")

    def device_name(self) -> str:
        """What the device is called."""
        name = ctypes.create_string_buffer(256)
        self("cuDeviceGetName", name, ctypes.c_int(256), self._device)
        return name.value.decode()

    def function(self, code: bytes, name: str) -> ctypes.c_void_p:
        """A kernel of PTX or a cubin; the driver compiles PTX, and its complaint is in the error."""
        log = ctypes.create_string_buffer(1 << 14)
        options = (ctypes.c_int * 2)(5, 6)  # the buffer for errors, and its size
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        image = code if code.startswith(b"\x7fELF") else code + b"\0"
        try:
            self("cuModuleLoadDataEx", ctypes.byref(module), image, ctypes.c_uint(2), options, values)
        except Problem as problem:
            raise Problem(f"{problem} {log.value.decode().strip()}".strip()) from None
        self("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def upload(self, array: np.ndarray[Any, Any]) -> ctypes.c_uint64:
        """The address of a copy of an array on the device."""
        address = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(array.nbytes, 1)))
        self("cuMemcpyHtoD_v2", address, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))
        return address

    def download(self, address: ctypes.c_uint64, array: np.ndarray[Any, Any]) -> None:
        """Copy from the device into an array."""
        self("cuMemcpyDtoH_v2", ctypes.c_void_p(array.ctypes.data), address, ctypes.c_size_t(array.nbytes))

    def tensor_map(
        self,
        address: ctypes.c_uint64,
        array: np.ndarray[Any, Any],
        box: list[int],
        swizzle: int,
        kind: int | None = None,
    ) -> Any:
        """
        A tensor map of an array: boxes of its elements, and how a box lies in shared memory. `kind` is the
        `CUtensorMapDataType` of elements that numpy has no type for.
        """
        rank = array.ndim
        space = ctypes.create_string_buffer(128 + 64)
        found = (ctypes.c_char * 128).from_buffer(space, -ctypes.addressof(space) % 64)
        shape = (ctypes.c_uint64 * rank)(*reversed(array.shape))
        strides = (ctypes.c_uint64 * max(rank - 1, 1))(*list(reversed(array.strides))[1:])
        sizes, steps = (ctypes.c_uint32 * rank)(*reversed(box)), (ctypes.c_uint32 * rank)(*[1] * rank)
        of_elements = ctypes.c_int(MAP_TYPES[array.dtype.name] if kind is None else kind)
        words = [ctypes.c_int(word) for word in (0, SWIZZLES[swizzle], 2, 0)]  # no interleaving, L2 by 128 bytes, zeros
        self(
            "cuTensorMapEncodeTiled",
            found,
            of_elements,
            ctypes.c_uint(rank),
            address,
            shape,
            strides,
            sizes,
            steps,
            *words,
        )
        return found

    def allow_shared(self, function: ctypes.c_void_p, size: int) -> None:
        """More than 48 KiB of dynamic shared memory have to be asked for."""
        if size > WITHOUT_ASKING:
            self("cuFuncSetAttribute", function, ctypes.c_int(MAX_DYNAMIC_SHARED), ctypes.c_int(size))

    def launch(
        self, function: ctypes.c_void_p, grid: list[int], block: list[int], shared: int, values: list[Any]
    ) -> None:
        """Start the kernel and wait for nothing."""
        pointers = (ctypes.c_void_p * max(len(values), 1))(*[ctypes.addressof(value) for value in values])
        sizes = [ctypes.c_uint(number) for number in (*grid, *block, shared)]
        self("cuLaunchKernel", function, *sizes, ctypes.c_void_p(), pointers, ctypes.c_void_p())

    def synchronise(self) -> None:
        """Wait for all that was started."""
        self("cuCtxSynchronize")

    def event(self) -> ctypes.c_void_p:
        """A moment in the order of what was started."""
        event = ctypes.c_void_p()
        self("cuEventCreate", ctypes.byref(event), ctypes.c_uint(0))
        self("cuEventRecord", event, ctypes.c_void_p())
        return event

    def milliseconds(self, first: ctypes.c_void_p, last: ctypes.c_void_p) -> float:
        """The time from one event to another."""
        self("cuEventSynchronize", last)
        time = ctypes.c_float()
        self("cuEventElapsedTime", ctypes.byref(time), first, last)
        return time.value


# Arguments ------------------------------------------------------------------------------------------------------------


def array_of(text: str, parameter: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The array that a text stands for, checked against what the contract says of the parameter."""
    if text.endswith(".npy"):
        array = np.ascontiguousarray(np.load(text))
    else:
        shape, kind = shape_of(text, parameter)
        array = np.zeros(shape, TYPES[kind])
        if "random" in text:
            seed = text.rpartition("random:")[2]
            if not seed.isdecimal():
                raise Problem(f"'{text}' has no seed: write random:0")
            array = np.random.default_rng(int(seed)).standard_normal(shape).astype(TYPES[kind])
    expected = parameter.get("shape")
    if expected is not None and not fits(array.shape, expected):
        raise Problem(f"'{parameter['name']}' has the shape {list(array.shape)}, and the kernel takes {expected}")
    return array


def shape_of(text: str, parameter: dict[str, Any]) -> tuple[list[int], str]:
    """Shape and type in front of a text, or else those of the parameter."""
    front = text.partition("random")[0].partition("zeros")[0].rstrip(":")
    if front:
        *sizes, kind = front.split("x")
        if kind not in TYPES or not all(size.isdecimal() for size in sizes):
            raise Problem(f"'{text}' is no array: write 7x8xf32:random:0, 7x8xf32:zeros or a .npy file")
        return [int(size) for size in sizes], kind
    shape, kind = parameter.get("shape"), parameter.get("type")
    if shape is None or None in shape or kind not in TYPES:
        raise Problem(f"'{parameter['name']}' has an open shape: write it in front, as in 7x8xf32:{text}")
    return shape, kind


def fits(shape: tuple[int, ...], expected: list[int | None]) -> bool:
    """Whether a shape is the expected one, where None is any size."""
    return len(shape) == len(expected) and all(want in (None, size) for size, want in zip(shape, expected, strict=True))


def named(entries: list[str], option: str) -> dict[str, str]:
    """`NAME=TEXT` entries by name."""
    found: dict[str, str] = {}
    for entry in entries:
        name, sign, text = entry.partition("=")
        if not sign:
            raise Problem(f"{option} {entry}: write NAME=VALUE")
        found[name] = text
    return found


def sizes(text: str) -> list[int]:
    """`64x128` or `4,1,1` as numbers."""
    try:
        return [int(part) for part in text.replace(",", "x").split("x")]
    except ValueError:
        raise Problem(f"'{text}' is no list of sizes: write 64x128") from None


class Arguments:
    """The values of a kernel's parameters, in order, and the arrays behind them on both sides."""

    def __init__(self, driver: Driver, kernel: dict[str, Any], options: argparse.Namespace) -> None:
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}
        self.addresses: dict[str, ctypes.c_uint64] = {}
        self.values: list[Any] = []
        given, boxes, swizzles = (named(getattr(options, key), f"--{key}") for key in ("arg", "box", "swizzle"))
        unknown = sorted(set(given) - {parameter["name"] for parameter in kernel["parameters"]})
        if unknown:
            raise Problem(f"there is no parameter '{unknown[0]}'")
        for parameter in kernel["parameters"]:
            self.values.append(self._value(driver, parameter, given, boxes, swizzles))

    def _value(
        self,
        driver: Driver,
        parameter: dict[str, Any],
        given: dict[str, str],
        boxes: dict[str, str],
        swizzles: dict[str, str],
    ) -> Any:
        name, kind = parameter["name"], parameter["kind"]
        if "is" in parameter:
            return ctypes.c_int64(self._open_number(name, parameter["is"]))
        if name not in given:
            raise Problem(f"'{name}' has no value: give it by --arg {name}=...")
        if kind == "number":
            return number_of(given[name], parameter)
        array = array_of(given[name], parameter)
        self.arrays[name] = array
        self.addresses[name] = driver.upload(array)
        if kind != "tensor map":
            return self.addresses[name]
        box = sizes(boxes[name]) if name in boxes else parameter.get("box")
        if box is None:
            raise Problem(f"the tensor map '{name}' has no box: give it by --box {name}=64x64")
        swizzle = int(swizzles.get(name, parameter.get("swizzle", 0)))
        if swizzle not in SWIZZLES or array.dtype.name not in MAP_TYPES:
            raise Problem(f"there is no tensor map of {array.dtype} with a swizzle of {swizzle} bytes")
        return driver.tensor_map(self.addresses[name], array, box, swizzle)

    def _open_number(self, name: str, word: str) -> int:
        """A number of an array that its type leaves open: `size 0`, `stride 1`, `offset`, `tiles 1 by 64`."""
        array = self.arrays[name]
        what, _, place = word.partition(" ")
        if what == "offset":
            return 0
        if what == "tiles":
            axis, _, extent = place.split(" ")
            return -(-array.shape[int(axis)] // int(extent))
        return array.shape[int(place)] if what == "size" else array.strides[int(place)] // array.itemsize


def number_of(text: str, parameter: dict[str, Any]) -> Any:
    """A number as the kernel takes it."""
    kind = NUMBERS.get(parameter["type"])
    if kind is None:
        raise Problem(f"'{parameter['name']}' is of type {parameter['type']}, which is not passed here")
    try:
        return kind(float(text) if parameter["type"].startswith("f") else int(text))
    except ValueError:
        raise Problem(f"'{text}' is no number for '{parameter['name']}'") from None


# The command ----------------------------------------------------------------------------------------------------------


def kernel_of(options: argparse.Namespace) -> dict[str, Any]:
    """The contract of the kernel that is to run."""
    file = Path(options.contract) if options.contract is not None else Path(options.code).with_suffix(".json")
    try:
        kernels = json.loads(file.read_text())["kernels"]
    except (OSError, ValueError, KeyError) as error:
        raise Problem(f"{file} is no launch contract: {error}") from None
    chosen = [kernel for kernel in kernels if options.kernel in (None, kernel["name"])]
    if len(chosen) != 1:
        names = ", ".join(kernel["name"] for kernel in kernels)
        raise Problem(f"say by --kernel which kernel is to run: {names}")
    return chosen[0]


def shared_bytes(kernel: dict[str, Any], asked: int | None) -> int:
    """The dynamic shared memory of a launch: what was asked for, else what the contract says."""
    said = kernel.get("dynamic_shared_bytes", 0)
    if asked is not None:
        return asked
    if not isinstance(said, int):
        raise Problem("the contract leaves the size of dynamic shared memory open: give it by --shared")
    return said


def run(options: argparse.Namespace) -> int:
    """Run, compare, time; the exit status."""
    kernel = kernel_of(options)
    block = sizes(options.block) if options.block is not None else kernel["block"]
    if block is None:
        raise Problem("the contract says nothing of the threads of a block: give them by --block")
    driver = Driver()
    function = driver.function(Path(options.code).read_bytes(), kernel["name"])
    shared = shared_bytes(kernel, options.shared)
    driver.allow_shared(function, shared)
    arguments = Arguments(driver, kernel, options)
    grid = [*sizes(options.grid), 1, 1][:3]
    launch = (function, grid, [*block, 1, 1][:3], shared, arguments.values)
    driver.launch(*launch)
    driver.synchronise()
    for name, address in arguments.addresses.items():
        driver.download(address, arguments.arrays[name])
    print(f"{kernel['name']} on {driver.device_name()}")
    same = compared(arguments, options)
    for name, file in named(options.save, "--save").items():
        np.save(file, arguments.arrays[name])
    if options.repeat:
        first = driver.event()
        for _ in range(options.repeat):
            driver.launch(*launch)
        time = driver.milliseconds(first, driver.event()) / options.repeat
        print(f"{time * 1000:.1f} microseconds a run, the mean of {options.repeat}")
    return 0 if same else 1


def compared(arguments: Arguments, options: argparse.Namespace) -> bool:
    """Whether all arrays are as expected; a line for each."""
    same = True
    for name, file in named(options.expect, "--expect").items():
        if name not in arguments.arrays:
            raise Problem(f"--expect {name}: there is no such array")
        expected, found = np.load(file), arguments.arrays[name]
        if expected.shape != found.shape:
            raise Problem(f"{file} has the shape {list(expected.shape)}, and '{name}' {list(found.shape)}")
        difference = float(np.max(np.abs(found.astype(np.float64) - expected.astype(np.float64)), initial=0.0))
        fine = difference <= options.tolerance  # NaN is not
        print(f"{name}: {'as expected' if fine else 'NOT as expected'}, the largest difference is {difference:g}")
        same = same and fine
    return same


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Run a kernel on a GPU, compare what it computes, time it.")
    parser.add_argument("code", metavar="CODE", help="PTX or a cubin")
    parser.add_argument("--contract", metavar="FILE", help="the launch contract (default: CODE with the suffix .json)")
    parser.add_argument("--kernel", metavar="NAME", help="which kernel (default: the only one)")
    parser.add_argument("--grid", default="1", metavar="X,Y,Z", help="blocks (default: 1)")
    parser.add_argument("--block", metavar="X,Y,Z", help="threads of a block (default: as in the contract)")
    parser.add_argument("--shared", type=int, metavar="BYTES", help="dynamic shared memory (default: the contract's)")
    for option, what in (
        ("arg", "a parameter: a number, random:SEED, zeros, or a .npy file"),
        ("box", "the box of a tensor map, as in a=64x64"),
        ("swizzle", "the swizzle of a tensor map in bytes, as in a=128"),
        ("expect", "a .npy file with what an array has to be behind the run"),
        ("save", "where an array goes behind the run"),
    ):
        parser.add_argument(f"--{option}", action="append", default=[], metavar="NAME=VALUE", help=what)
    parser.add_argument("--tolerance", type=float, default=0.0, metavar="T", help="largest difference (default: 0)")
    parser.add_argument("--repeat", type=int, default=0, metavar="N", help="runs to time (default: 0)")
    try:
        return run(parser.parse_args())
    except (Problem, OSError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
