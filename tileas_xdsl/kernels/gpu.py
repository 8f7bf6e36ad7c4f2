"""
A kernel on a GPU, by NVIDIA's `cuda-bindings` (extra `gpu`): the code is loaded once for each GPU, a launch passes what
the contract says and waits for nothing.

What can be known before a launch is an error before it: no driver, code for another chip, arrays that are not on the
GPU, blocks and shared memory that it does not have. A kernel that faults makes the context unusable, and that shows at
a later call: it is reported once, with the name of the kernel and what finds the cause.

Source: CUDA Driver API.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import prod
from typing import Any, NoReturn, cast

import numpy as np

from tileas_xdsl.backend.contract import MAP_ALIGNMENT, MAP_BYTES, KernelContract, Number, TensorMap
from tileas_xdsl.diagnostics import Error, how_to_install
from tileas_xdsl.kernels.arrays import Array, dense
from tileas_xdsl.kernels.binding import (
    Bound,
    Grid,
    array_name,
    bound,
    grid_of,
    in_order,
    launched,
    names_of,
    number_in,
    number_of,
    require_writable,
)
from tileas_xdsl.kernels.repeated import Cells, read
from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.targets.chips import runs_on

MOST_THREADS, MOST_SHARED = 1, 97
"""`CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK`, `_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN`"""
MULTIPROCESSORS = 16
"""`CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`"""
MAJOR, MINOR = 75, 76
DYNAMIC_SHARED = 8
"""`CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`"""
WITHOUT_ASKING = 48 * 1024
"""Bytes of dynamic shared memory that a launch gets without being allowed them."""
OUT_OF_MEMORY = 2
OF_ANOTHER_CONTEXT = (201, 400, 709)
"""What a launch gives in no context or in another one than that of its function: `INVALID_CONTEXT`, `INVALID_HANDLE`,
`CONTEXT_IS_DESTROYED`."""
FAULTS = (700, 702, 714, 715, 716, 717, 718, 719)
"""What a kernel may do that ends its context: illegal addresses, timeouts, instructions and so on."""
MAP_TYPES = {"i16": 1, "i32": 3, "i64": 5, "f16": 6, "f32": 7, "f64": 8, "bf16": 9}
"""`CUtensorMapDataType`; elements of one byte are `UINT8`, 0."""
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
"""`CUtensorMapSwizzle`, by the bytes of a row."""
L2_BY_128_BYTES = 2
NUMBERS: Mapping[str, Callable[[Any], Any]] = {
    "i1": ctypes.c_bool,
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "index": ctypes.c_int64,
    "f16": lambda number: ctypes.c_uint16(int(np.float16(number).view(np.uint16))),
    "bf16": lambda number: ctypes.c_uint16(int(np.float32(number).view(np.uint32)) + 0x8000 >> 16),
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}


CACHE_BYTES = 38
"""`CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE`"""
COLD, MOST_SETS = 3, 16
"""Sets of arrays that take turns: together so many times the cache, and at most so many."""
BATCHES, BATCH_SECONDS = 5, 0.02
LEAST_LAUNCHES, MOST_LAUNCHES = 3, 2000
"""Of a batch."""


class GPUError(Error):
    """The GPU, its driver or this installation does not allow what was asked for."""


class KernelFaultError(GPUError):
    """A kernel has made the context of the GPU unusable."""


# The driver -----------------------------------------------------------------------------------------------------------


@cache
def _driver() -> Any:
    """NVIDIA's bindings of the driver, initialised. Raises `GPUError` where there are none."""
    try:
        from cuda.bindings import driver  # pyright: ignore
    except ImportError:
        raise GPUError(
            f"cuda-bindings are needed to launch a kernel, and are not installed: {how_to_install('gpu')}"
        ) from None
    found = cast("Any", driver)
    try:
        status = int(found.cuInit(0)[0])
    except RuntimeError as error:  # what cuda-pathfinder raises is one
        raise GPUError(f"there is no NVIDIA driver here: {error}") from None
    if status:
        raise GPUError(f"NVIDIA's driver cannot be used: {_text(found, status)}")
    return found


def _text(driver: Any, status: int) -> str:
    error, said = driver.cuGetErrorString(driver.CUresult(status))
    return f"{said.decode() if not int(error) and said else 'unknown error'} ({status})"


@dataclass(frozen=True)
class Lost:
    """What has made a context unusable; none as long as `said` is empty."""

    said: list[str] = field(default_factory=list[str])


LOST = Lost()


def _call(kernel: str, function: str, *arguments: Any) -> Any:
    """
    What a function of the driver gives. Raises `KernelFaultError` where a kernel has ended the context, and `GPUError`
    for anything else.
    """
    _require_use()
    status, *rest = getattr(_driver(), function)(*arguments)
    if int(status):
        _raise_for(kernel, function, int(status))
    return rest[0] if len(rest) == 1 else tuple(rest)


def _require_use() -> None:
    """Raises `KernelFaultError` if a kernel has ended the context."""
    if LOST.said:
        raise KernelFaultError(f"the GPU cannot be used by this process any more, since {LOST.said[0]}")


def _raise_for(kernel: str, function: str, status: int, log: str = "") -> NoReturn:
    text = _text(_driver(), status) + (f": {log}" if log else "")
    if status in FAULTS:
        LOST.said.append(f"@{kernel} or a kernel before it has faulted: {text}")
        raise KernelFaultError(
            f"@{kernel} or a kernel before it has faulted: {text}; `tileas check` of its program may find the cause"
        )
    raise GPUError(f"@{kernel}: {function}: {text}")


@dataclass(frozen=True)
class Device:
    """A GPU: its primary context and what it has."""

    number: int
    context: Any
    capability: tuple[int, int]
    threads: int
    shared_bytes: int
    multiprocessors: int


@cache
def device(number: int) -> Device:
    """The GPU with that number. Raises `GPUError` where there is none."""
    driver = _driver()
    status, handle = driver.cuDeviceGet(number)
    if int(status):
        raise GPUError(f"there is no GPU {number} here: {_text(driver, int(status))}")
    context = _call("?", "cuDevicePrimaryCtxRetain", handle)
    words = driver.CUdevice_attribute
    major, minor, *others = (
        int(_call("?", "cuDeviceGetAttribute", words(attribute), handle))
        for attribute in (MAJOR, MINOR, MOST_THREADS, MOST_SHARED, MULTIPROCESSORS)
    )
    return Device(number, context, (major, minor), *others)


def described_device(number: int) -> str:
    """What a GPU is called. Raises `GPUError` where there is none."""
    device(number)
    return _call("?", "cuDeviceGetName", 64, number).partition(b"\0")[0].decode()


def _module(kernel: str, code: bytes) -> Any:
    """Machine code as the driver loads it, or PTX as it compiles it; what it says of PTX is in the error."""
    driver, said = _driver(), bytearray(1 << 12)
    _require_use()
    options = [driver.CUjit_option.CU_JIT_ERROR_LOG_BUFFER, driver.CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
    status, module = driver.cuModuleLoadDataEx(code, len(options), options, [said, len(said)])
    if int(status):
        log = " ".join(said.partition(b"\0")[0].decode(errors="replace").split())
        _raise_for(kernel, "cuModuleLoadDataEx", int(status), log)
    return module


def _bytes_of(array: Array) -> int:
    return prod(array.shape) * array.item_bytes


# Launches -------------------------------------------------------------------------------------------------------------


class Launchable:
    """The code of one kernel, which is loaded for each GPU on which it is launched."""

    def __init__(
        self,
        contract: KernelContract,
        target: str,
        code: Callable[[], bytes],
        static_shared: int,
        ptx: Callable[[], bytes] | None = None,
    ) -> None:
        self._contract, self._target, self._code, self._static_shared = contract, target, code, static_shared
        self._ptx = ptx
        self._functions: dict[int, Any] = {}
        self._names = names_of(contract)
        self._ready: dict[Hashable, Ready] = {}
        self._grids: dict[Hashable, Grid] = {}
        self._shape = (*(contract.block or (1, 1, 1)), contract.dynamic_shared_bytes or 0)

    def in_order(self, given: Sequence[Any], named: Mapping[str, Any]) -> Sequence[Any]:
        """What a caller passes, in the order of the parameters. Raises `ArgumentError` for what is missing."""
        behind = self._names[len(given) :]
        if len(behind) == len(named) and all(map(named.__contains__, behind)):
            return [*given, *map(named.__getitem__, behind)]
        return in_order(self._contract, given, named)

    def start(self, asked: Any, values: Sequence[Any], stream: Any = None) -> None:
        """
        Start the kernel on arrays and numbers in the order of `names_of`, with a grid as `grid_of` takes it.

        A launch like an earlier one is not compared with the contract again; see `repeated`. Raises what `launch`
        raises.
        """
        found = read(values)
        if found is None:
            passed = bound(self._contract, values, {})
            self.launch(passed, grid_of(self._contract, asked, passed), stream)
            return
        kinds, contents = found
        ready = self._ready.get(kinds)
        if ready is None or not ready.cells.fill(contents):
            ready = self._ready_for(kinds, values)
        grid = ready.grid if asked is None else self._grids.get(asked) if type(asked) in (int, tuple) else None
        if grid is None:
            grid = self._grid(asked, values)
        where = _current_stream(ready.library, ready.number) if stream is None else _handle(stream)
        self._fire(ready.number, ready.function, grid, ready.cells.pointers, where)

    def launch(self, arguments: Bound, grid: Grid, stream: Any = None) -> None:
        """
        Start the kernel on the caller's stream (None: the current one of torch or cupy, whose the first array is).

        Raises `ArgumentError` for arrays that are not on one GPU, and `GPUError`.
        """
        number = _number_of_device(arguments.arrays)
        require_writable(self._contract, arguments.arrays)
        function = self._function(number)
        where = _current_stream(_library(arguments.values.values()), number) if stream is None else _handle(stream)
        cells = self._cells(arguments)
        self._fire(number, function, grid, cells.pointers, where)

    def _fire(self, number: int, function: Any, grid: Grid, pointers: Any, stream: int) -> None:
        """Launch; where the thread is in another context, the driver says so, and it gets that of the GPU."""
        name, room = self._contract.name, ctypes.addressof(pointers)
        _require_use()
        if self._contract.persistent_blocks is not None:
            grid = launched(self._contract, grid, device(number).multiprocessors)
        (status,) = _driver().cuLaunchKernel(function, *grid, *self._shape, stream, room, 0)
        if int(status) in OF_ANOTHER_CONTEXT:
            _call(name, "cuCtxSetCurrent", device(number).context)
            (status,) = _driver().cuLaunchKernel(function, *grid, *self._shape, stream, room, 0)
        if int(status):
            _raise_for(name, "cuLaunchKernel", int(status))

    def _ready_for(self, kinds: Hashable, values: Sequence[Any]) -> Ready:
        passed = bound(self._contract, values, {})
        number = _number_of_device(passed.arrays)
        require_writable(self._contract, passed.arrays)
        function = self._function(number)  # which gives this thread its context, in which maps are made
        ready = Ready(
            cells=self._cells(passed),
            number=number,
            function=function,
            grid=grid_of(self._contract, None, passed) if self._contract.programs is not None else None,
            library=_library(values),
        )
        if len(self._ready) >= MOST_READY:
            self._ready.clear()
        self._ready[kinds] = ready
        return ready

    def _grid(self, asked: Any, values: Sequence[Any]) -> Grid:
        if callable(asked):
            asked = asked(dict(zip(self._names, values, strict=True)))
            known = self._grids.get(asked) if type(asked) in (int, tuple) else None
            if known is not None:
                return known
        grid = grid_of(self._contract, asked, bound(self._contract, values, {}))
        if type(asked) in (int, tuple) and len(self._grids) < MOST_READY:
            self._grids[asked] = grid
        return grid

    def run(self, arguments: Bound, grid: Grid) -> None:
        """Run the kernel on copies of arrays of numpy, wait for it, and copy back what it computed."""
        name = self._contract.name
        with self._copied(arguments) as copies:
            self.launch(copies, grid)
            _call(name, "cuCtxSynchronize")
            for key, copy in copies.arrays.items():
                known = arguments.arrays[key]
                array = np.empty(known.shape, arguments.values[key].dtype)
                _call(name, "cuMemcpyDtoH", array.ctypes.data, copy.address, array.nbytes)
                if known.is_writable:
                    np.copyto(arguments.values[key], array)

    def seconds(self, arguments: Bound, grid: Grid) -> float:
        """The median time of a launch on copies of arrays of numpy; sets of them that no cache holds take turns."""
        name, size = self._contract.name, sum(_bytes_of(array) for array in arguments.arrays.values())
        cache = int(_call(name, "cuDeviceGetAttribute", _driver().CUdevice_attribute(CACHE_BYTES), 0))
        count = min(max(-(-COLD * cache // max(size, 1)), 1), MOST_SETS)
        with ExitStack() as stack:
            sets = [stack.enter_context(self._copied(arguments)) for _ in range(count)]
            number, function = 0, self._function(0)
            held = [self._cells(each) for each in sets]
            starts = [partial(self._fire, number, function, grid, cells.pointers, 0) for cells in held]
            first, last = (_call(name, "cuEventCreate", 0) for _ in range(2))

            def batch(launches: int) -> float:
                _call(name, "cuEventRecord", first, 0)
                for turn in range(launches):
                    starts[turn % len(starts)]()
                _call(name, "cuEventRecord", last, 0)
                _call(name, "cuEventSynchronize", last)
                return float(_call(name, "cuEventElapsedTime", first, last)) / 1e3 / launches

            batch(len(starts))
            launches = int(min(max(BATCH_SECONDS / max(batch(len(starts)), 1e-6), LEAST_LAUNCHES), MOST_LAUNCHES))
            return sorted(batch(launches) for _ in range(BATCHES))[BATCHES // 2]

    @contextmanager
    def _copied(self, arguments: Bound) -> Generator[Bound]:
        """The arguments with their arrays on the GPU, where they stay for as long as the context."""
        name = self._contract.name
        self._function(0)
        copies: dict[str, Array] = {}
        try:
            for key, known in arguments.arrays.items():
                array = np.ascontiguousarray(arguments.values[key])
                address = self._allocated(key, array.nbytes)
                copies[key] = replace(known, address=address, strides=dense(known.shape), device=0)
                _call(name, "cuMemcpyHtoD", address, array.ctypes.data, array.nbytes)
            yield replace(arguments, arrays=copies, values={})
        finally:
            for copy in copies.values():
                with suppress(GPUError):
                    _call(name, "cuMemFree", copy.address)

    def _allocated(self, key: str, size: int) -> int:
        status, address = _driver().cuMemAlloc(size)
        if int(status) == OUT_OF_MEMORY:
            raise GPUError(f"the memory of the GPU does not suffice for '{key}': {size:,} bytes")
        if int(status):
            raise GPUError(f"@{self._contract.name}: cuMemAlloc: {_text(_driver(), int(status))}")
        return int(address)

    def _function(self, number: int) -> Any:
        gpu = device(number)
        current = _call(self._contract.name, "cuCtxGetCurrent")
        if int(current) != int(gpu.context):
            _call(self._contract.name, "cuCtxSetCurrent", gpu.context)
        if number not in self._functions:
            self._functions[number] = self._loaded(gpu)
        return self._functions[number]

    def _loaded(self, gpu: Device) -> Any:
        contract = self._contract
        if contract.block is None:
            raise GPUError(f"@{contract.name} does not say how many threads a block has: compile it with threads=")
        threads, shared = prod(contract.block), contract.dynamic_shared_bytes
        if threads > gpu.threads:
            raise GPUError(f"a block of @{contract.name} has {threads:,} threads, and this GPU takes {gpu.threads:,}")
        if shared is None:
            raise GPUError(f"@{contract.name} does not say how much dynamic shared memory it needs")
        total = shared + self._static_shared
        if total > gpu.shared_bytes:
            raise GPUError(
                f"a block of @{contract.name} has {total:,} bytes of shared memory, and this GPU {gpu.shared_bytes:,}"
            )
        with _while_a_graph_is_captured():
            module = _module(contract.name, self._code_for(gpu))
            function = _call(contract.name, "cuModuleGetFunction", module, contract.name.encode())
        if shared > WITHOUT_ASKING:
            attribute = _driver().CUfunction_attribute(DYNAMIC_SHARED)
            _call(contract.name, "cuFuncSetAttribute", function, attribute, shared)
        return function

    def _code_for(self, gpu: Device) -> bytes:
        """What the driver loads: machine code that the GPU runs, else PTX. Raises `GPUError` if neither is for it."""
        by_itself, by_driver = runs_on(self._target, gpu.capability)
        if by_itself:
            return self._code()
        if by_driver and self._ptx is not None:
            return self._ptx()
        here = f"sm_{gpu.capability[0]}{gpu.capability[1]}"
        made = f"@{self._contract.name} is compiled for {self._target}, and this GPU is {here}"
        raise GPUError(f"{made}: leave out target=, or say {here}")

    def _cells(self, arguments: Bound) -> Cells:
        """The cells of a launch with these arguments."""
        places = {name: place for place, name in enumerate(self._names)}
        addresses: list[tuple[int, Any]] = []
        numbers: list[tuple[int, Callable[[Any], Any], Any]] = []
        maps: list[tuple[int, int, Callable[[int], Any]]] = []
        held: list[Any] = []
        where: list[int] = []
        for index, parameter in enumerate(self._contract.parameters):
            name = array_name(parameter.name, list(arguments.arrays))
            if isinstance(parameter, TensorMap):
                map_at = _Maps(self._contract.name, parameter, arguments.arrays[name])
                maps.append((places[name], index, map_at))
                where.append(map_at(arguments.arrays[name].address))
                continue
            if not isinstance(parameter, Number):
                cell = ctypes.c_uint64(arguments.arrays[name].address)
                addresses.append((places[name], cell))
            elif parameter.of is not None:
                cell = NUMBERS[parameter.type](number_of(parameter, arguments.arrays[name]))
            else:
                cell = NUMBERS[parameter.type](arguments.numbers[name])
                numbers.append((places[name], _word_of(parameter), cell))
            held.append(cell)
            where.append(ctypes.addressof(cell))
        pointers = (ctypes.c_void_p * max(len(where), 1))(*where)
        return Cells(pointers=pointers, addresses=addresses, maps=maps, numbers=numbers, kept=held)


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A launch with arguments of certain kinds."""

    cells: Cells
    number: int
    """Of the GPU."""
    function: Any
    grid: Grid | None
    """The one that follows from the arrays, if one does."""
    library: str
    """Whose current stream it is."""


def _word_of(parameter: Number) -> Callable[[Any], Any]:
    """What makes the word that is passed of a number."""
    made = NUMBERS[parameter.type]
    if isinstance(made, type) and parameter.type != "i1":
        return lambda value: number_in(parameter, value)
    return lambda value: made(number_in(parameter, value)).value


class _Maps:
    """The tensor maps of arrays that differ in their addresses alone."""

    def __init__(self, kernel: str, parameter: TensorMap, array: Array) -> None:
        self._kernel, self._parameter, self._array = kernel, parameter, array
        self._made: dict[int, tuple[int, Any]] = {}

    def __call__(self, address: int) -> int:
        """Where the tensor map of the array at `address` is."""
        found = self._made.get(address)
        if found is None:
            if len(self._made) >= MOST_MAPS:
                self._made.clear()
            array = replace(self._array, address=address)
            made = _encoded(self._kernel, self._parameter, array)
            found = self._made[address] = (ctypes.addressof(made), made)
        return found[0]


MOST_READY = 256
"""Kinds of arguments, and grids, for which a kernel keeps what it passes."""
MOST_MAPS = 256
"""Of a parameter are kept: the arrays of a loop are the same again and again."""
ENCODE = ctypes.CFUNCTYPE(
    ctypes.c_int,
    *(ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_uint64),
    *((ctypes.c_void_p,) * 4 + (ctypes.c_int,) * 4),
)
"""`cuTensorMapEncodeTiled`. The driver wants the map at a multiple of 64 bytes, and the bindings make it anywhere, so
they are asked for the function alone."""


@cache
def _encode() -> Any:
    found, *_ = _call("?", "cuGetProcAddress", b"cuTensorMapEncodeTiled", CUDA_12, 0)
    return ENCODE(int(found))


CUDA_12 = 12000
"""The version in which the function came."""


def _encoded(kernel: str, parameter: TensorMap, array: Array) -> Any:
    """The tensor map of an array, in memory that begins where a map may."""
    rank = len(array.shape)
    room = ctypes.create_string_buffer(MAP_BYTES + MAP_ALIGNMENT)
    made = (ctypes.c_char * MAP_BYTES).from_buffer(room, -ctypes.addressof(room) % MAP_ALIGNMENT)
    strides = [stride * array.item_bytes for stride in reversed(array.strides[:-1])]
    words = (
        ctypes.addressof(made),
        MAP_TYPES.get(array.type, 0),
        rank,
        array.address,
        (ctypes.c_uint64 * rank)(*reversed(array.shape)),
        (ctypes.c_uint64 * max(rank - 1, 1))(*strides),
        (ctypes.c_uint32 * rank)(*reversed(parameter.box or ())),
        (ctypes.c_uint32 * rank)(*[1] * rank),
        0,  # no interleaving
        SWIZZLES[parameter.swizzle or 0],
        L2_BY_128_BYTES,
        0,  # what lies outside is read as zeros
    )
    status = _encode()(*words)
    if status in OF_ANOTHER_CONTEXT and array.device is not None:
        _call(kernel, "cuCtxSetCurrent", device(array.device).context)
        status = _encode()(*words)
    if status:
        raise GPUError(f"@{kernel}: there is no tensor map of '{parameter.name}': {_text(_driver(), status)}")
    return made


@contextmanager
def _while_a_graph_is_captured() -> Generator[None]:
    """Let this thread do what touches no stream, such as to load code, while one of its streams is captured."""
    relaxed = _driver().CUstreamCaptureMode(RELAXED)
    before = _call("?", "cuThreadExchangeStreamCaptureMode", relaxed)
    try:
        yield
    finally:
        _driver().cuThreadExchangeStreamCaptureMode(before)


RELAXED = 2
"""`CU_STREAM_CAPTURE_MODE_RELAXED`"""


def _number_of_device(arrays: Mapping[str, Array]) -> int:
    on_host = next((name for name, array in arrays.items() if array.device is None), None)
    if on_host is not None:
        raise ArgumentError(f"'{on_host}' is in memory of the host: kernel.run(...) copies it to the GPU and back")
    numbers = {array.device: name for name, array in arrays.items()}
    if len(numbers) > 1:
        (first, one), (second, other), *_ = numbers.items()
        raise ArgumentError(f"'{one}' is on GPU {first}, and '{other}' on GPU {second}")
    return next((number for number in numbers if number is not None), 0)


def _library(values: Iterable[Any]) -> str:
    """The first of torch and cupy that made one of the values; empty if neither did."""
    libraries = (type(value).__module__.partition(".")[0] for value in values)
    return next((library for library in libraries if library in CURRENT_STREAMS), "")


def _current_stream(library: str, number: int) -> int:
    return CURRENT_STREAMS[library](number) if library else 0


def _stream_of_torch(number: int) -> int:
    torch = sys.modules["torch"]
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # what `current_stream` makes an object of
    return raw(number) if raw is not None else int(torch.cuda.current_stream(number).cuda_stream)


CURRENT_STREAMS: Mapping[str, Callable[[int], int]] = {
    "torch": _stream_of_torch,
    "cupy": lambda _: int(sys.modules["cupy"].cuda.get_current_stream().ptr),
}


def _handle(stream: Any) -> int:
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    if isinstance(stream, int):
        return stream
    raise ArgumentError(f"a stream is the handle of one, or an object of torch or cupy, not {type(stream).__name__}")
