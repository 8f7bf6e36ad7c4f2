"""
`kernel[grid](...)` through NVIDIA's bindings, without a GPU: a libcuda of our own stands in for NVIDIA's, whose memory
is the computer's and whose kernels are functions in C. So this tests what is passed, and nothing of a GPU.

The bindings load the driver once a process, so each test is a process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ir import ROOT
from tests.support.ptx import require_llvmlite, require_ptxas
from tests.support.stand_in_driver import stand_in_driver

HEAD = """
import dataclasses, json, sys
import numpy as np
import tileas_xdsl as tileas
from tileas_xdsl.backend.contract import Buffer, KernelContract, TensorMap
from tileas_xdsl.kernels.binding import bound, grid_of
from tileas_xdsl.kernels.gpu import Launchable

class OnGPU:
    '''An array in the memory of the stand-in, which is that of the computer.'''
    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = {
            "data": (array.ctypes.data, False), "typestr": array.dtype.str, "shape": array.shape,
            "strides": array.strides, "version": 3,
        }

def refused(call):
    try:
        call()
    except tileas.Error as error:
        print(f"{type(error).__name__}: {error}")
    else:
        print("not refused")

scale = tileas.compile(RING, function="scale", target="sm_90", check=False)
src, out = np.arange(56, dtype=np.float32).reshape(7, 8), np.zeros((7, 8), np.float32)
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_llvmlite()
    require_ptxas()
    pytest.importorskip("cuda.bindings", reason="needs cuda-bindings")
    return stand_in_driver(tmp_path_factory.mktemp("libcuda")).parent


def said(script: str, driver: Path | None, folder: Path, mood: str = "") -> list[str]:
    """
    The lines that a script prints, with the stand-in for a driver, or (None) with none. The first script compiles.
    """
    environment = {**os.environ, "TILEAS_STAND_IN": mood, "PYTHONPATH": str(ROOT)}
    environment["LD_LIBRARY_PATH"] = str(driver or folder)
    environment["TILEAS_CACHE"] = str((driver or folder) / "cache")
    text = f"RING = {str(ROOT / 'examples/cp_async_ring.mlir')!r}\n{HEAD}\n{script}"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_arrays_sizes_and_numbers_arrive(driver: Path, tmp_path: Path) -> None:
    script = """
scale[1](OnGPU(src), OnGPU(out), n=5)
print(np.array_equal(out[:5], 2 * src[:5]), out[5:].any())
out[:] = 0
scale[lambda given: (given["n"],)](src=OnGPU(src), out=OnGPU(out), n=7, stream=0x77)
print(np.array_equal(out, 2 * src))
out[:] = 0
scale(OnGPU(src), OnGPU(out), 7)  # it never asks which block it is
print(np.array_equal(out, 2 * src))
"""
    assert said(script, driver, tmp_path) == ["True False", "True", "True"]


def test_arrays_of_numpy_are_copied_there_and_back(driver: Path, tmp_path: Path) -> None:
    """`run` takes the GPU where there is one."""
    script = """
done = scale.run(src, out, 7, grid=1)
print(done, np.array_equal(done.arrays["out"], 2 * src), np.array_equal(out, 2 * src))
print(scale.run(src, out, 7, grid=1, device="machine"))
"""
    assert said(script, driver, tmp_path) == [
        "KernelRun(device='gpu', violations=()) True True",
        "KernelRun(device='machine', violations=())",
    ]


MAP = """
map_ = TensorMap(name="x", type="f32", shape=(None, None), box=(4, 8), swizzle=128)
to = Buffer(name="out", type="f32", shape=(7,), strides=(1,), offset=0)
contract = KernelContract(name="map", block=(32, 1, 1), dynamic_shared_bytes=100_000, parameters=(map_, to))
kernel = Launchable(contract, "sm_90a", lambda: b"\\x7fELF", 0)
"""


def test_maps_are_made_of_the_arrays_where_the_driver_wants_them(driver: Path, tmp_path: Path) -> None:
    """The stand-in refuses a map that is not at a multiple of 64 bytes; the bindings make it anywhere."""
    script = f"""{MAP}
for rows in range(1, 40):
    x, words = np.zeros((rows, 16), np.float32), np.zeros(7, np.float32)
    kernel.launch(bound(contract, (OnGPU(x), OnGPU(words)), {{}}), (1, 1, 1))
    assert words.tolist() == [2, 16, rows, 8, 4, 3, 100_000], words
print("right")
"""
    assert said(script, driver, tmp_path) == ["right"]


CUPY = """
import threading, types

class ndarray:
    '''An array of a library whose arrays are read without DLPack.'''
    def __init__(self, array):
        self.array, self.shape, self.strides, self.ndim = array, array.shape, array.strides, array.ndim
        self.dtype, self.data = array.dtype, types.SimpleNamespace(ptr=array.ctypes.data, device_id=0)
        self.__cuda_array_interface__ = OnGPU(array).__cuda_array_interface__
    def __index__(self):
        return int(self.array)

ndarray.__module__ = "cupy"
current = types.SimpleNamespace(ptr=0x77)
sys.modules["cupy"] = types.SimpleNamespace(cuda=types.SimpleNamespace(get_current_stream=lambda: current))

def doubled(rows, **options):
    a, b = np.random.default_rng(rows).random((rows, 8), np.float32), np.zeros((rows, 8), np.float32)
    scale[1](ndarray(a), ndarray(b), rows, **options)
    return np.array_equal(b, 2 * a)
"""


def test_a_launch_like_an_earlier_one_passes_its_own_addresses_and_numbers(driver: Path, tmp_path: Path) -> None:
    script = f"""{CUPY}
print([doubled(rows) for rows in (7, 3, 7, 7, 3)], len(scale._launchable._ready))
a, b = (np.arange(56, dtype=np.float32).reshape(7, 8) for _ in range(2))
for n in (0, 2, 7):
    b[:] = 0
    scale(out=ndarray(b), n=n, src=ndarray(a))
    print(np.array_equal(b[:n], 2 * a[:n]), b[n:].any())
b[:] = 0
scale[lambda given: given["n"].array + 1](ndarray(a), ndarray(b), ndarray(np.array(7)))
print(np.array_equal(b, 2 * a), len(scale._launchable._ready))
"""
    assert said(script, driver, tmp_path) == [
        "[True, True, True, True, True] 2",
        *["True False"] * 3,
        "True 2",
    ]


def test_what_does_not_fit_is_refused_behind_a_launch_that_fits(driver: Path, tmp_path: Path) -> None:
    script = f"""{CUPY}
doubled(7)
a = ndarray(src)
refused(lambda: scale[1](ndarray(np.zeros(57, np.float32)[1:].reshape(7, 8)), a, 7))
refused(lambda: scale[1](a, a, 1 << 70))
refused(lambda: scale[0](a, a, 7))
refused(lambda: scale[1](a, a, 1.5))
refused(lambda: scale[1](ndarray(src.T.copy().T), a, 7))
current.ptr = 0x78
refused(lambda: scale[1](a, a, 7))
print(doubled(7, stream=0x77))
"""
    assert said(script, driver, tmp_path) == [
        "ArgumentError: 'src' begins at no multiple of 16 bytes",
        f"ArgumentError: 'n' is {1 << 70}, which is no number of type i64",
        "ArgumentError: a grid has 1 to 2,147,483,647 blocks along x, not 0",
        "ArgumentError: 'n' is a number of type i64, and float is given",
        "ArgumentError: the elements of a row of 'src' are 7 apart: make it contiguous",
        "GPUError: @scale: cuLaunchKernel: invalid argument (1)",
        "True",
    ]


def test_threads_launch_at_the_same_time(driver: Path, tmp_path: Path) -> None:
    """Each has cells of its own, and gets the context of the GPU at its first launch."""
    script = f"""{CUPY}
sys.setswitchinterval(1e-6)
found = []
doubled(7)
work = lambda rows: found.append(all(doubled(rows) for _ in range(200)))
threads = [threading.Thread(target=work, args=(rows,)) for rows in (7, 7, 5, 7)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(found)
"""
    assert said(script, driver, tmp_path) == ["[True, True, True, True]"]


def test_a_thread_without_a_context_makes_its_maps(driver: Path, tmp_path: Path) -> None:
    script = f"""{CUPY}{MAP}
x, words = np.zeros((4, 16), np.float32), np.zeros(7, np.float32)
kernel.start(1, (ndarray(x), ndarray(words)))
words[:] = 0
thread = threading.Thread(target=kernel.start, args=(1, (ndarray(x), ndarray(words))))
thread.start()
thread.join()
print(words.tolist())
"""
    assert said(script, driver, tmp_path) == ["[2.0, 16.0, 4.0, 8.0, 4.0, 3.0, 100000.0]"]


def test_maps_follow_the_addresses_of_later_launches(driver: Path, tmp_path: Path) -> None:
    script = f"""{CUPY}{MAP}
xs = [np.zeros((4, 16), np.float32) for _ in range(3)]
words = np.zeros(7, np.float32)
for x in (*xs, *xs):
    kernel.start(1, (ndarray(x), ndarray(words)))
from cuda.bindings import driver
x = np.zeros((4, 16), np.float32)
print(int(driver.cuCtxSetCurrent(0)[0]) == 1)  # another library takes the context away
kernel.start(1, (ndarray(x), ndarray(words)))
xs.append(x)
(ready,) = kernel._ready.values()
(_, _, maps), = ready.cells.maps
print(sorted(maps._made) == sorted(x.ctypes.data for x in xs), words.tolist())
"""
    assert said(script, driver, tmp_path) == ["True", "True [2.0, 16.0, 4.0, 8.0, 4.0, 3.0, 100000.0]"]


LIBRARIES = """
class Elsewhere:
    '''An array on a GPU that another library exports by DLPack.'''
    def __init__(self, array, number=0):
        self.array, self.number = array, number
    def __dlpack_device__(self):
        return 2, self.number
    def __dlpack__(self, **_):
        return self.array.__dlpack__()

class OfJax(Elsewhere):
    def block_until_ready(self):
        print("waited for")

OfJax.__module__ = "jaxlib._jax"
known = Launchable(dataclasses.replace(scale.contract, written=("out",)), "sm_90", scale._image, 0)
"""


def test_arrays_that_may_not_be_written_are_inputs_only(driver: Path, tmp_path: Path) -> None:
    script = f"""{LIBRARIES}
known.start(1, (OfJax(src), OnGPU(out), 7))
print(np.array_equal(out, 2 * src))
refused(lambda: known.start(1, (OnGPU(src), OfJax(out), 7)))
frozen = OnGPU(out)
frozen.__cuda_array_interface__["data"] = (out.ctypes.data, True)
refused(lambda: known.start(1, (OnGPU(src), frozen, 7)))
"""
    line = "ArgumentError: 'out' is written by the kernel, and the array that is given cannot be"
    assert said(script, driver, tmp_path) == ["waited for", "True", "waited for", line, line]


def test_a_contract_says_what_is_written(tmp_path: Path) -> None:
    require_llvmlite()
    script = """
kernel = tileas.compile(RING.replace("cp_async_ring", "gemm_queue"), target="sm_90a", check=False)
print(kernel.contract.written, KernelContract.from_data(kernel.contract.as_data()) == kernel.contract)
print(scale.contract.written, "written" in scale.contract.as_data())
"""
    assert said(script, None, tmp_path) == ["('c',) True", "None False"]


def test_arrays_are_on_one_gpu(driver: Path, tmp_path: Path) -> None:
    script = f"""{LIBRARIES}
refused(lambda: scale[1](Elsewhere(src), Elsewhere(out, 1), n=5))
refused(lambda: scale[1](Elsewhere(src, 1), Elsewhere(out, 1), n=5))
"""
    apart, absent = said(script, driver, tmp_path)
    assert apart == "ArgumentError: 'src' is on GPU 0, and 'out' on GPU 1"
    assert absent.startswith("GPUError: there is no GPU 1 here: ")


LAUNCHES = {
    "an array of the host": (
        "scale[1](src, OnGPU(out), n=5)",
        "ArgumentError: 'src' is in memory of the host: kernel.run(...) copies it to the GPU and back",
    ),
    "grid 0": (
        "scale[0](OnGPU(src), OnGPU(out), n=5)",
        "ArgumentError: a grid has 1 to 2,147,483,647 blocks along x, not 0",
    ),
    "a grid above the limits": (
        "scale[1, 70_000](OnGPU(src), OnGPU(out), n=5)",
        "ArgumentError: a grid has 1 to 65,535 blocks along y, not 70,000",
    ),
    "another type": (
        "scale[1](OnGPU(src.astype(np.float64)), OnGPU(out), n=5)",
        "ArgumentError: 'src' has elements of type f64, and the kernel takes f32",
    ),
    "no elements": (
        "scale[1](OnGPU(src[:0]), OnGPU(out), n=5)",
        "ArgumentError: 'src' has no elements: its shape is [0, 8]",
    ),
    "rows apart": (
        "scale[1](OnGPU(np.zeros((7, 12), np.float32)[:, :8]), OnGPU(out), n=5)",
        "ArgumentError: 'src' has the stride 12 along dimension 0, and the kernel takes 8: make it contiguous",
    ),
    "columns": (
        "scale[1](OnGPU(np.zeros((8, 7), np.float32).T), OnGPU(out), n=5)",
        "ArgumentError: the elements of a row of 'src' are 7 apart: make it contiguous",
    ),
    "another shape": (
        "scale[1](OnGPU(src[:, :4].copy()), OnGPU(out), n=5)",
        "ArgumentError: 'src' has the shape [7, 4], and the kernel takes [any, 8]",
    ),
    "misaligned": (
        "scale[1](OnGPU(np.zeros(57, np.float32)[1:].reshape(7, 8)), OnGPU(out), n=5)",
        "ArgumentError: 'src' begins at no multiple of 16 bytes",
    ),
    "a stream that is none": (
        "scale[1](OnGPU(src), OnGPU(out), n=5, stream='x')",
        "ArgumentError: a stream is the handle of one, or an object of torch or cupy, not str",
    ),
    "refused by the driver": (
        "scale[1](OnGPU(src), OnGPU(out), n=8)",
        "GPUError: @scale: cuLaunchKernel: invalid argument (1)",
    ),
    "threads": (
        "Launchable(dataclasses.replace(scale.contract, block=(2048, 1, 1)), 'sm_90', bytes, 0)"
        ".launch(bound(scale.contract, (OnGPU(src), OnGPU(out), 5), {}), (1, 1, 1))",
        "GPUError: a block of @scale has 2,048 threads, and this GPU takes 1,024",
    ),
    "shared memory": (
        "Launchable(dataclasses.replace(scale.contract, dynamic_shared_bytes=230_000), 'sm_90', bytes, 4_000)"
        ".launch(bound(scale.contract, (OnGPU(src), OnGPU(out), 5), {}), (1, 1, 1))",
        "GPUError: a block of @scale has 234,000 bytes of shared memory, and this GPU 232,448",
    ),
}


def test_what_cannot_be_launched_is_one_line(driver: Path, tmp_path: Path) -> None:
    script = "\n".join(f"refused(lambda: {call})" for call, _ in LAUNCHES.values())
    assert said(script, driver, tmp_path) == [line for _, line in LAUNCHES.values()]


MOODS = {
    "no device": "GPUError: there is no GPU 0 here: no CUDA-capable device is detected (100)",
    "out of memory": "GPUError: the memory of the GPU does not suffice for 'src': 224 bytes",
}


@pytest.mark.parametrize("mood", MOODS)
def test_what_this_gpu_does_not_allow_is_one_line(mood: str, driver: Path, tmp_path: Path) -> None:
    script = 'refused(lambda: scale.run(src, out, 7, grid=1, device="gpu"))'
    assert said(script, driver, tmp_path, mood) == [MOODS[mood]]


def test_code_for_another_chip_is_refused_unless_the_driver_compiles_it(driver: Path, tmp_path: Path) -> None:
    """PTX is for later chips too, machine code for later ones of its generation, what has a suffix for one chip."""
    script = """
scale[1](OnGPU(src), OnGPU(out), 7)  # its PTX: the GPU is of another generation
print(np.array_equal(out, 2 * src))
for target in ("sm_90a", "sm_120"):
    kernel = Launchable(scale.contract, target, scale._image, 0, scale._text)
    refused(lambda: kernel.start(1, (OnGPU(src), OnGPU(out), 7)))
refused(lambda: Launchable(scale.contract, "sm_90", scale._image, 0).start(1, (OnGPU(src), OnGPU(out), 7)))
"""
    line = "GPUError: @scale is compiled for {}, and this GPU is sm_100: leave out target=, or say sm_100"
    assert said(script, driver, tmp_path, "another chip") == [
        "True",
        *(line.format(target) for target in ("sm_90a", "sm_120", "sm_90")),
    ]


def test_a_kernel_that_faults_is_reported_once_with_its_name(driver: Path, tmp_path: Path) -> None:
    script = """
refused(lambda: scale.run(src, out, 7, grid=1, device="gpu"))
refused(lambda: scale[1](OnGPU(src), OnGPU(out), n=5))
print(scale.run(src, out, 7, grid=1, device="machine").device)
"""
    fault = "@scale or a kernel before it has faulted: an illegal memory access was encountered (700)"
    assert said(script, driver, tmp_path, "fault") == [
        f"KernelFaultError: {fault}; `tileas check` of its program may find the cause",
        f"KernelFaultError: the GPU cannot be used by this process any more, since {fault}",
        "machine",
    ]


def test_without_a_driver_it_is_said_and_the_machine_computes(driver: Path, tmp_path: Path) -> None:
    script = """
try:
    scale.run(src, out, 7, grid=1, device="gpu")
except tileas.Error as error:
    print(str(error).partition(":")[0])
print(scale.run(src, out, 7, grid=1).device)
"""
    assert said(script, None, tmp_path) == ["there is no NVIDIA driver here", "machine"]


def test_without_the_bindings_the_extra_is_named(tmp_path: Path) -> None:
    require_llvmlite()
    script = """
sys.modules["cuda.bindings"] = None
refused(lambda: scale.run(src, out, 7, grid=1, device="gpu"))
"""
    line = "GPUError: cuda-bindings are needed to launch a kernel, and are not installed: pip install -e '.[gpu]'"
    assert said(script, None, tmp_path) == [line]
