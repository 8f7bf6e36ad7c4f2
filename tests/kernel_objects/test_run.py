"""`kernel.run`: the arguments of a launch, checked by the contract, and what the machine computes from them."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from inspect import signature
from math import prod
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tileas_xdsl as tileas
from tests.support.ir import ROOT
from tests.support.ptx import require_llvmlite
from tests.transforms.test_cluster_kernels import gemm as clustered_gemm
from tileas_xdsl.backend.contract import Buffer, KernelContract, Number, TensorMap
from tileas_xdsl.kernels import gpu
from tileas_xdsl.kernels.arrays import array_of
from tileas_xdsl.kernels.binding import OPTIONS, Grid, bound, grid_of, launched, names_of
from tileas_xdsl.kernels.kernel import Kernel
from tileas_xdsl.kernels.on_machine import Level, run_on_machine
from tileas_xdsl.machine.arguments import ArgumentError

GEMM = ROOT / "examples/gemm_loop.mlir"
SMALL = GEMM.read_text().replace("128x64", "16x16").replace("64x128", "16x8").replace("128x128", "16x8")
A, B = np.ones((32, 48), np.float16), np.full((48, 16), 2, np.float16)


@pytest.fixture(scope="module")
def small() -> Kernel:
    """A product of small tiles, whose threads run in no time."""
    require_llvmlite()
    return tileas.compile(SMALL, target="sm_80", strategy="unspecialize", check=False, cache=False)


def result() -> np.ndarray[Any, Any]:
    return np.zeros((32, 16), np.float32)


# What is computed -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["tiles", "threads"])
@pytest.mark.parametrize("trips", [0, 1, 3])
def test_the_machine_computes_for_each_block(small: Kernel, level: Any, trips: int) -> None:
    draw = np.random.default_rng(trips)
    a, b = draw.integers(-3, 4, A.shape).astype(np.float16), draw.integers(-3, 4, B.shape).astype(np.float16)
    c = result()
    done = small.run(a, b, c, n=trips, device="machine", level=level, order="random", seed=1)
    assert done.finished
    assert done.violations == ()
    expected = a[:, : 16 * trips].astype(np.float32) @ b[: 16 * trips].astype(np.float32)
    assert np.array_equal(c, expected)
    assert done.arrays["c"] is c


def test_the_grid_says_which_blocks_run(small: Kernel) -> None:
    for grid in ((1, 2), [1, 2, 1], lambda given: (1, given["c"].shape[1] // 8)):
        c = result()
        small.run(A, B, c, 3, grid=grid)
        assert np.array_equal(c[:16], np.full((16, 16), 96))
        assert not c[16:].any()


def test_a_violation_is_in_the_result() -> None:
    require_llvmlite()
    race = ROOT / "examples/double_buffer_race.mlir"
    kernel = tileas.compile(race, target="sm_80", check=False, cache=False)
    done = kernel.run(n=3, src=np.ones((3, 4), np.float32), dst=np.zeros((3, 4), np.float32), grid=1)
    assert {violation.kind for violation in done.violations} == {"race"}


def test_the_kernel_says_what_the_commands_say(small: Kernel) -> None:
    assert small.check().is_proved
    assert small.check({"n": 2}).last_line.startswith("safe, with n = 2")
    assert small.timeline({"n": 4}).cycles == small.timeline({"n": 4}, target="sm_80").cycles
    assert small.timeline({"n": 4}).cycles != small.timeline({"n": 4}, target="sm_90").cycles
    road = small.explain({"n": 4})
    passes = "tileir{compute-capability=sm_80 pipeline-strategy=unspecialize}"
    as_command = tileas.explain(small.module, passes, {"n": 4}, target="sm_80")
    assert [stage.title for stage in road.stages[:-1]] == [stage.title for stage in as_command.stages[:-1]]
    assert [stage.listing.lines for stage in road.stages] == [stage.listing.lines for stage in as_command.stages]
    picture = road.stages[-1].picture
    assert picture is not None
    assert picture.cycles == small.timeline({"n": 4}).cycles
    assert small.explain(passes="canonicalize").stages[-1].title == "canonicalize"


# What is refused ------------------------------------------------------------------------------------------------------

BAD: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "too few": ((A, B), {}, "'c' is missing; @gemm takes: a, b, c, n"),
    "too many": ((A, B, result(), 1, 2), {}, "5 arguments are given, and @gemm takes 4: a, b, c, n"),
    "an unknown name": ((A, B, result()), {"m": 1}, "@gemm has no parameter 'm'; there are: a, b, c, n"),
    "twice": ((A, B, result(), 1), {"n": 1}, "'n' is given twice"),
    "an array as a number": ((A, B, result(), A), {}, "'n' is a number of type i64, and an array is given"),
    "a text as a number": ((A, B, result(), "1"), {}, "'n' is a number of type i64, and str is given"),
    "a float as an integer": ((A, B, result(), 1.5), {}, "'n' is a number of type i64, and float is given"),
    "a number that is too large": ((A, B, result(), 1 << 64), {}, "which is no number of type i64"),
    "a number as an array": ((1, B, result(), 1), {}, "'a' is an array, and int is given"),
    "another type": (
        (A.astype(np.float32), B, result(), 1),
        {},
        "'a' has elements of type f32, and the kernel takes f16",
    ),
    "an unknown type": (
        (A.astype(np.complex64), B, result(), 1),
        {},
        "'a': no kernel takes elements of type complex64",
    ),
    "another rank": ((A[0], B, result(), 1), {}, r"'a' has the shape [48], and the kernel takes [any, any]"),
    "no elements": ((A[:0], B, result(), 1), {}, r"'a' has no elements: its shape is [0, 48]"),
    "columns": ((np.ones((48, 32), np.float16).T, B, result(), 1), {}, "the elements of a row of 'a' are 32 apart"),
    "rows apart": ((A[:, :40], B, result(), 1), {}, "'a' has the stride 48 along dimension 0, and the kernel takes 40"),
    "grid 0": ((A, B, result(), 1), {"grid": (0, 1)}, "a grid has 1 to 2,147,483,647 blocks along x, not 0"),
    "a large grid": ((A, B, result(), 1), {"grid": (1, 70_000)}, "a grid has 1 to 65,535 blocks along y, not 70,000"),
    "no grid": ((A, B, result(), 1), {"grid": "x"}, "a grid is made of integers"),
    "four extents": ((A, B, result(), 1), {"grid": (1, 1, 1, 1)}, "a grid has 1 to 3 extents, not 4"),
    "a device": ((A, B, result(), 1), {"device": "moon"}, "there is no device 'moon'"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_an_error_with_the_name(name: str, small: Kernel) -> None:
    given, named, said = BAD[name]
    with pytest.raises(ArgumentError) as caught:
        small.run(*given, **named)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, tileas.Error)


def test_a_parameter_with_the_name_of_an_option_is_passed_by_position() -> None:
    text = "func.func @f(%a: memref<4xf32>, %seed: index) {\n  func.return\n}"
    kernel = tileas.compile(text, target="sm_80", check=False, cache=False)
    with pytest.raises(ArgumentError, match="'seed' is missing, and is an option, too: pass it by position; @f takes"):
        kernel.run(np.zeros(4, np.float32), seed=1, device="machine")
    assert kernel.run(np.zeros(4, np.float32), 1, device="machine", grid=1).finished
    taken = {*signature(Kernel.run).parameters, *signature(Kernel.__call__).parameters}
    assert taken - {"self", "arguments", "named"} == OPTIONS


def test_an_array_that_may_not_be_written_is_refused(small: Kernel) -> None:
    c = result()
    c.flags.writeable = False
    with pytest.raises(ArgumentError, match="'c' is written by the kernel, and the array that is given cannot be"):
        small.run(A, B, c, n=1)
    assert not c.any()


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_arrays_of_jax_are_inputs_only(kind: str) -> None:
    """Those on the computer; numpy has no DLPack for bf16."""
    jnp = pytest.importorskip("jax.numpy", reason="needs jax")
    type_ = {"f16": jnp.float16, "bf16": jnp.bfloat16}[kind]
    text = SMALL.replace("xf16", f"x{kind}")
    kernel = tileas.compile(text, target="sm_80", strategy="unspecialize", check=False, cache=False)
    a, b, c = jnp.asarray(A, type_), jnp.asarray(B, type_), result()
    kernel.run(a, b, c, n=3, device="machine")
    assert np.array_equal(c, A.astype(np.float32) @ B.astype(np.float32))
    with pytest.raises(ArgumentError, match="'c' is written by the kernel, and the array that is given cannot be"):
        kernel.run(a, b, jnp.asarray(result()), n=3, device="machine")


def test_an_unknown_grid_has_to_be_said() -> None:
    contract = KernelContract(name="k", block=(32, 1, 1))
    with pytest.raises(ArgumentError, match="the grid of @k does not follow from its arrays"):
        grid_of(contract, None, bound(contract, (), {}))


# Persistent kernels ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def persistent() -> Kernel:
    """A product of tiles of 64 x 64, each block of which computes many."""
    require_llvmlite()
    text = GEMM.read_text().replace("128x64", "64x64").replace("64x128", "64x64").replace("128x128", "64x64")
    return tileas.compile(text, target="sm_90a", num_stages=2, persistent=True, group_programs=2, check=False)


def test_a_persistent_kernel_says_how_many_blocks_a_multiprocessor_holds(persistent: Kernel, small: Kernel) -> None:
    data = persistent.contract.as_data()
    assert data["persistent_blocks"] == 1
    assert [each["is"] for each in data["parameters"] if "is" in each] == ["tiles 0 by 64", "tiles 1 by 64"]
    assert KernelContract.from_data(data) == persistent.contract
    assert "persistent_blocks" not in small.contract.as_data()
    assert names_of(persistent.contract) == names_of(small.contract)


@pytest.mark.parametrize(("programs", "blocks"), [((1, 1, 1), 1), ((4, 2, 1), 8), ((64, 32, 1), 132)])
def test_as_many_blocks_are_launched_as_have_room(programs: Grid, blocks: int, persistent: Kernel) -> None:
    assert launched(persistent.contract, programs, 132) == (blocks, 1, 1)
    two = replace(persistent.contract, persistent_blocks=2)
    assert launched(two, programs, 132) == (min(2 * blocks, prod(programs)), 1, 1)
    assert launched(replace(two, persistent_blocks=None), programs, 132) == programs


def test_a_launch_starts_that_many(persistent: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[int, ...]] = []

    def launch(_: object, *numbers: int) -> tuple[int]:
        started.append(numbers[:3])
        return (0,)

    def device(number: int) -> gpu.Device:
        return gpu.Device(number, 1, (9, 0), 1024, 232448, multiprocessors=6)

    monkeypatch.setattr(gpu, "_driver", lambda: SimpleNamespace(cuLaunchKernel=launch))
    monkeypatch.setattr(gpu, "device", device)
    kernel = gpu.Launchable(persistent.contract, "sm_90a", bytes, 0)
    for grid in ((1, 1, 1), (2, 2, 1), (5, 7, 1)):
        kernel._fire(0, None, grid, ctypes.c_uint64(), 0)  # pyright: ignore[reportPrivateUsage]
    assert started == [(1, 1, 1), (4, 1, 1), (6, 1, 1)]


@pytest.mark.parametrize("level", ["tiles", "threads"])
def test_a_persistent_kernel_computes_all_programs(level: Level, persistent: Kernel) -> None:
    draw = np.random.default_rng(1)
    a, b = (draw.integers(-2, 3, shape).astype(np.float16) for shape in ((72, 128), (128, 136)))
    c = np.full((72, 136), 7, np.float32)
    assert not persistent.run(a, b, c, n=2, level=level, order="random").violations
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def test_a_grid_of_a_persistent_kernel_is_that_of_its_arrays(persistent: Kernel) -> None:
    a, b, c = np.zeros((64, 64), np.float16), np.zeros((64, 128), np.float16), np.ones((64, 128), np.float32)
    persistent.run(a, b, c, n=1, grid=(1, 2))
    assert not c.any()
    with pytest.raises(ArgumentError, match="computes the 1 x 2 x 1 programs of its arrays: leave out the grid"):
        persistent.run(a, b, c, n=1, grid=(2, 2))


# Contracts ------------------------------------------------------------------------------------------------------------

OPEN = Buffer(name="x", type="f32", shape=(None, None), strides=(None, None), offset=0)
STRIDES = tuple(Number(name="x", type="i64", of=f"stride {axis}") for axis in (0, 1))
MAP = TensorMap(name="x", type="f32", shape=(None, None), box=(8, 8), swizzle=0)


def test_strides_that_are_passed_may_be_any() -> None:
    x = np.zeros((8, 8), np.float32)[::2, ::2]
    bound(KernelContract(name="k", block=None, parameters=(OPEN, *STRIDES)), (x,), {})
    with pytest.raises(ArgumentError, match="'x' are 2 apart"):
        bound(KernelContract(name="k", block=None, parameters=(OPEN,)), (x,), {})


def test_rows_under_a_map_begin_at_multiples_of_16_bytes() -> None:
    contract = KernelContract(name="k", block=None, parameters=(MAP,))
    bound(contract, (np.zeros((8, 12), np.float32)[:, :8],), {})
    with pytest.raises(ArgumentError, match="rows of 'x' are 40 bytes apart: TMA takes multiples of 16"):
        bound(contract, (np.zeros((8, 10), np.float32)[:, :8],), {})
    with pytest.raises(ArgumentError, match="'x' is a tensor map, and the kernel does not say of what"):
        bound(KernelContract(name="k", block=None, parameters=(TensorMap(name="x"),)), (np.zeros((8, 8)),), {})


def test_a_second_map_is_of_the_same_array() -> None:
    contract = KernelContract(name="k", block=None, parameters=(MAP, replace(MAP, name="x_map")))
    assert list(bound(contract, (np.zeros((8, 8), np.float32),), {}).arrays) == ["x"]


# Arrays ---------------------------------------------------------------------------------------------------------------


class Exporter:
    """An array of another library: what numpy exports by DLPack."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int8, np.uint8, np.int32, np.int64, np.bool_])
def test_dlpack_says_what_numpy_says(kind: Any) -> None:
    array = np.zeros((4, 6), kind)[1:, ::2]
    assert array_of(Exporter(array)) == array_of(array)


def test_the_interface_of_cuda_arrays_is_read() -> None:
    class Cuda:
        __cuda_array_interface__ = {"data": (4096, True), "typestr": "<f2", "shape": (2, 3), "strides": (12, 4)}

    found = array_of(Cuda())
    assert found is not None
    assert (found.address, found.shape, found.strides, found.type) == (4096, (2, 3), (6, 2), "f16")
    assert (found.device, found.is_writable) == (0, False)


def test_small_floats_have_their_own_names() -> None:
    names = {ml_dtypes.bfloat16: "bf16", ml_dtypes.float8_e4m3fn: "f8E4M3FN", ml_dtypes.float8_e5m2: "f8E5M2"}
    for kind, name in names.items():
        found = array_of(np.zeros(3, kind))
        assert found is not None
        assert found.type == name


def test_what_is_no_array() -> None:
    assert array_of([1, 2]) is None
    assert array_of(3) is None


# Clusters -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clustered() -> Kernel:
    """A product whose blocks form clusters of two, side by side along x."""
    require_llvmlite()
    return tileas.compile(clustered_gemm(), target="sm_90a", num_stages=2, num_ctas=2, check=False)


@pytest.mark.parametrize("level", ["tiles", "threads"])
def test_a_kernel_of_clusters_computes_all_blocks(level: Level, clustered: Kernel) -> None:
    assert clustered.contract.cluster == (2, 1, 1)
    draw = np.random.default_rng(2)
    a, b = (draw.integers(-2, 3, shape).astype(np.float16) for shape in ((128, 32), (32, 128)))
    c = np.full((128, 128), 7, np.float32)
    assert not clustered.run(a, b, c, n=2, grid=(2, 2), level=level).violations
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def test_clusters_that_the_target_does_not_have_are_refused() -> None:
    with pytest.raises(tileas.Error, match="num-ctas=3: a power of two up to 8 is needed"):
        tileas.compile(clustered_gemm(), target="sm_90a", num_ctas=3, check=False)


def test_blocks_that_ask_for_their_rank_alone_are_not_run() -> None:
    text = """func.func @f(%a: memref<4xi32>) {
      %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
      %place = arith.index_cast %rank : i32 to index
      memref.store %rank, %a[%place] : memref<4xi32>
      func.return
    }"""
    of_four = Buffer(name="a", type="i32", shape=(4,), strides=(1,), offset=0)
    contract = KernelContract(name="f", block=(1, 1, 1), parameters=(of_four,))
    passed = bound(contract, (np.zeros(4, np.int32),), {})
    with pytest.raises(ArgumentError, match=r"they ask for 'cluster\.ctarank': run it on a GPU"):
        run_on_machine(tileas.parse(text), "f", passed, (4, 1, 1))
