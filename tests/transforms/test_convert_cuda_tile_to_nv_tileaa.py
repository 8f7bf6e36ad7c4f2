"""
`convert-cuda-tile-to-nv-tileaa` by meaning: kernels in cuTile Python give the same bits before and after, at ragged
sizes, and what pipelines them finds the loads that it finds in tile programs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.transforms.common_subexpression_elimination import OperationInfo

from tests.cutile.exports import exported
from tests.cutile.launches import CASES as WRITTEN
from tests.cutile.running import converted as converted_kernel
from tests.cutile.running import path_of
from tests.support.ir import parse, run_passes
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.cuda_tile.structure import EntryOp
from tileas_xdsl.dialects.nv_tileaa.atomics import GatherLoadOp
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileaa.structure import BroadcastOp, SplatOp
from tileas_xdsl.dialects.tiles.types import extents
from tileas_xdsl.machine.arguments import argument_names
from tileas_xdsl.machine.running import ORDERS, run
from tileas_xdsl.readers.tile_ir import read
from tileas_xdsl.tools.main import main
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.coordinates import share_coordinates

Array = NDArray[Any]
RANDOM = np.random.default_rng(11)
CONVERT = "convert-cuda-tile-to-nv-tileaa"


def normal(*shape: int, dtype: Any = np.float32) -> Array:
    return RANDOM.standard_normal(shape).astype(dtype)


def converted(name: str, divisor: int = 1) -> ModuleOp:
    module = read(exported(name, divisor=divisor))
    run_passes(module, CONVERT)
    return module


def flat(arguments: Sequence[Any]) -> list[Any]:
    """What cuTile passes: for each array its address, extents and strides."""
    words: list[Any] = []
    for each in arguments:
        words.append(each)
        if isinstance(each, np.ndarray):
            array = cast(Array, each)
            words += [*array.shape, *(stride // array.itemsize for stride in array.strides)]
    return words


def both(name: str, programs: tuple[int, ...], *arguments: Any) -> tuple[list[Array], list[Array]]:
    """The arrays after all programs of a kernel have run, as Tile IR and converted."""
    words = flat(arguments)
    before = run(read(exported(name, divisor=1)), None, words, programs=programs)
    module = converted(name)
    (function,) = [op for op in module.walk() if isinstance(op, FuncOp)]
    given = {f"arg{place}": word for place, word in enumerate(words)}
    known = {each: given[each] for each in argument_names(function.body) if each in given}
    after = run(module, None, known, programs=programs)
    assert before.violations == after.violations == ()
    return list(before.arrays.values()), list(after.arrays.values())


def bits(array: Array) -> bytes:
    return np.ascontiguousarray(array).tobytes()


F16, BF16, F8 = np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn


def product(rows: int, inner: int, columns: int, dtype: Any, result: Any) -> list[Array]:
    return [normal(rows, inner, dtype=dtype), normal(inner, columns, dtype=dtype), np.zeros((rows, columns), result)]


def scaled(rows: int, inner: int, columns: int) -> list[Any]:
    a, b, d = product(rows, inner, columns, F8, np.float32)
    sa, sb = (
        RANDOM.integers(120, 134, shape).astype(np.uint8).view(ml_dtypes.float8_e8m0fnu)
        for shape in ((rows, inner // 32), (inner // 32, columns))
    )
    return [a, sa, b, sb, d]


def heads(queries: int, keys: int) -> list[Any]:
    q, k, v = normal(2, queries, 32, dtype=F16), normal(2, keys, 32, dtype=F16), normal(2, keys, 32, dtype=F16)
    return [q, k, v, np.zeros_like(q), np.float32(0.2)]


def integers(size: int, low: int = -1000) -> Array:
    return RANDOM.integers(low, 1000, size).astype(np.int32)


def in_bytes(size: int, dtype: Any) -> list[Array]:
    return [normal(size, dtype=dtype), np.zeros(size * np.dtype(dtype).itemsize, np.uint8), np.zeros(size, dtype)]


CASES: list[tuple[str, tuple[int, ...], list[Any]]] = [
    *[("double", (-(-n // 4),), [normal(n)]) for n in (4, 7, 16)],
    ("matmul_f16", (2, 2), product(200, 104, 136, F16, F16)),
    ("matmul_f16", (1, 1), product(16, 1, 8, F16, F16)),
    ("matmul_f16", (2, 1), product(256, 128, 128, F16, F16)),
    ("matmul_bf16", (2, 1), product(70, 50, 64, BF16, np.float32)),
    ("matmul_f8", (2, 1), product(70, 50, 64, F8, np.float32)),
    ("multiplied_f16", (1,), product(32, 64, 16, F16, F16)),
    ("multiplied_f64", (1,), product(32, 64, 16, np.float64, np.float64)),
    ("scaled", (2, 1), scaled(200, 96, 100)),
    *[("softmax", (3,), [normal(3, n, dtype=F16), np.zeros((3, n), F16)]) for n in (256, 200, 1)],
    ("elementwise", (2,), [normal(100), normal(100), np.zeros(100, np.float32), np.float32(0.3)]),
    ("integers", (2,), [integers(300), integers(300, 1), np.zeros(300, np.int32)]),
    ("shapes", (2, 2), [normal(32, 64, dtype=F16), np.zeros((64, 32), F16)]),
    *[("row_sums", (2,), [normal(16, n), np.zeros(16, np.float32), np.zeros(16, np.int32)]) for n in (100, 64)],
    *[("running_sums", (1,), [normal(16, n), np.zeros((16, n), np.float32)]) for n in (90, 32, 5)],
    *[("sums_behind", (1,), [normal(16, n), np.zeros((16, n), np.float32)]) for n in (32, 5)],
    *[(name, (2,), in_bytes(60, dtype)) for name, dtype in (("bytes_of", np.float32), ("halves_of", F16))],
    ("single", (3,), [np.zeros(10, np.float32)]),
    ("windows", (5,), [normal(36), np.zeros(40, np.float32)]),
    ("by_row", (1,), [normal(40, 64), RANDOM.permutation(40)[:32].astype(np.int32), np.zeros((40, 64), np.float32)]),
    ("added", (8,), [normal(8, 100), np.zeros((4, 100), np.float32)]),
    ("gathered", (2,), [normal(50, 60), RANDOM.integers(0, 60, 64).astype(np.int32), np.zeros((64, 64), np.float32)]),
    *[("controlled", (2,), [np.abs(normal(128)) * 20, np.zeros(128, np.float32), n]) for n in (0, 1, 5)],
    ("attention", (2, 2), heads(128, 128)),
    ("attention", (1, 2), heads(40, 33)),
    ("attention_causal", (2, 2), heads(128, 128)),
]


@pytest.mark.parametrize(("name", "programs", "arguments"), CASES, ids=lambda each: each if str(each) == each else "")
def test_the_bits_are_the_same(name: str, programs: tuple[int, ...], arguments: list[Any]) -> None:
    before, after = both(name, programs, *arguments)
    assert [bits(array) for array in before] == [bits(array) for array in after]


def test_a_product_is_that_of_numpy() -> None:
    a, b, d = product(200, 104, 136, F16, F16)
    _, (*_, result) = both("matmul_f16", (2, 2), a, b, d)
    assert np.allclose(result, a.astype(np.float32) @ b.astype(np.float32), rtol=2e-3, atol=2e-2)


def test_a_product_of_f32_has_the_bits_of_f32_and_not_those_of_tf32() -> None:
    a, b, d = product(32, 64, 16, np.float32, np.float32)
    _, (*_, result) = both("multiplied_f32", (1,), a, b, d)
    assert np.allclose(result, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-5)
    dots = [op for op in converted("multiplied_f32").walk() if isinstance(op, DotOp)]
    assert len(dots) == 3
    for low, high in ((10, 0), (0, 10)):
        _, (*_, result) = both("multiplied_f32", (1,), a + low, b + high, d)
        assert np.allclose(result, (a + low).astype(np.float64) @ (b + high), rtol=1e-5, atol=1e-4)


def test_rows_are_padded_with_what_the_view_says() -> None:
    x = normal(3, 200, dtype=F16) - F16(9)
    _, (_, y) = both("softmax", (3,), x, np.zeros_like(x))
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    assert np.allclose(y, e / e.sum(axis=1, keepdims=True), rtol=2e-3, atol=1e-4)


# What pipelining finds ------------------------------------------------------------------------------------------------

BY_HAND = """
#smem = #nv_tileas.layout<smem>
!rows = memref<?x?xf16, strided<[?, 1]>>
func.func @matmul_f16(%A: !rows, %B: !rows, %D: !rows, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %i = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %j = nv_tileaa.get_program_id attributes {axis = 1 : i32} : () -> index
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %a = nv_tileaa.tiled_load %A[%i, %k] : (!rows, index, index) -> tensor<128x64xf16, #smem>
    %b = nv_tileaa.tiled_load %B[%k, %j] : (!rows, index, index) -> tensor<64x128xf16, #smem>
    %d = nv_tileaa.dot %a, %b, %acc : (tensor<128x64xf16, #smem>, tensor<64x128xf16, #smem>, tensor<128x128xf32>)
      -> tensor<128x128xf32>
    scf.yield %d : tensor<128x128xf32>
  }
  %h = nv_tileaa.fp_to_fp %sum : (tensor<128x128xf32>) -> tensor<128x128xf16>
  nv_tileaa.tiled_store %D[%i, %j], %h : (!rows, tensor<128x128xf16>, index, index) -> ()
  func.return
}
"""


def decisions(text: str, target: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What compiling decides, without places."""
    file = folder / "program.mlir"
    file.write_text(text)
    assert main(["compile", str(file), "--target", target, "-o", str(folder / "out.mlir")]) == 0
    return [re.sub(r"^\S+: ", "", line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
def test_a_product_is_scheduled_as_a_tile_program_is(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from_python = decisions(str(converted("matmul_f16", 16)), target, tmp_path, capsys)
    assert from_python == decisions(BY_HAND, target, tmp_path, capsys)
    assert any("stages" in line for line in from_python)


def test_pipelines_of_a_product_compute_the_same_in_every_order() -> None:
    a, b, d = product(128, 200, 128, F16, F16)
    module = parse(str(converted("matmul_f16")))
    run_passes(module, "tileir{pipeline-strategy=warp-specialize compute-capability=sm_90a}")
    for order in ORDERS:
        outcome = run(module, None, {"arg0": a, "arg5": b, "arg10": d}, programs=(1, 1), order=order)
        assert outcome.violations == ()
        expected = a.astype(np.float32) @ b.astype(np.float32)
        assert np.allclose(outcome.arrays["arg10"], expected, rtol=2e-3, atol=2e-2), order


@pytest.mark.parametrize("name", ["double", "matmul_f16", "softmax", "running_sums", "attention", "shapes", "integers"])
def test_a_check_proves_what_is_converted_for_every_trip_count(name: str) -> None:
    report = check(converted(name), judge_waits=False)
    assert report.verdict is Verdict.SAFE
    assert "every trip count" in str(report)


def test_operands_of_products_lie_in_shared_memory() -> None:
    (dot,) = [op for op in converted("matmul_f16").walk() if isinstance(op, DotOp)]
    assert all("smem" in str(value.type) for value in (dot.a, dot.b))


# Refusals -------------------------------------------------------------------------------------------------------------

LOOP = """
cuda_tile.module @m {{
  entry @k(%x: tile<ptr<f32>>, %n: tile<i32>) {{
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    {body}
    return
  }}
}}
"""


def test_an_unsigned_bound_counts_on() -> None:
    body = """
    %half = constant <f32: 0.5> : tile<f32>
    %total = for unsigned %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %half) -> (tile<f32>) {
      %t = addf %s, %half : tile<f32>
      continue %t : tile<f32>
    }
    %done = store_ptr_tko weak %x, %total : tile<ptr<f32>>, tile<f32> -> token
    """
    module = parse(LOOP.format(body=body))
    run_passes(module, CONVERT)
    assert "arith.index_castui" in str(module)
    for n in (0, 1, 5):
        outcome = run(module, None, {"x": np.zeros(1, np.float32), "n": n})
        assert outcome.arrays["x"][0] == np.float32(0.5 + n / 2)


def test_bytes_and_sums_from_behind_are_those_of_numpy() -> None:
    x, raw, y = in_bytes(64, np.float32)
    _, (_, found, changed) = both("bytes_of", (2,), x, raw, y)
    own = x.view(np.uint8)
    assert np.array_equal(found.view(np.uint8), np.where(own & 1, own, own | 128))
    assert np.array_equal(changed, (own ^ 1).view(np.float32))
    z = normal(16, 20)
    _, (_, sums) = both("sums_behind", (1,), z, np.zeros_like(z))
    assert np.allclose(sums, np.cumsum(z[:, ::-1], axis=1)[:, ::-1], rtol=1e-4, atol=1e-4)


def test_what_has_no_counterpart_is_named() -> None:
    module = parse(LOOP.format(body="%p = alloca num_elem = 64, alignment = 16 : tile<ptr<f32>>"))
    before = str(module)
    with pytest.raises(RefusedError, match="has no counterpart in nv_tileaa") as refused:
        run_passes(module, CONVERT)
    assert "run the kernel as it is" in str(refused.value)
    assert str(module) == before


def test_a_module_that_is_refused_keeps_its_entry() -> None:
    module = parse(LOOP.format(body="%y = constant <i32: [1, 2]> : tile<2xi32>"))
    with pytest.raises(RefusedError, match="has numbers that differ"):
        run_passes(module, CONVERT)
    assert any(isinstance(op, EntryOp) for op in module.walk())


def test_coordinates_are_computed_once_of_what_tiles_repeat() -> None:
    module = converted_kernel(path_of(WRITTEN["ragged_attention"]))
    casts = [op for op in module.walk() if isinstance(op, arith.IndexCastOp)]
    assert {len(extents(op.result.type)) for op in casts} == {0, 1}
    blocks = {op.parent for op in module.walk() if op.parent is not None}
    for block in blocks:
        wide = [OperationInfo(op) for op in block.ops if isinstance(op, SplatOp | BroadcastOp | arith.ExtSIOp)]
        assert len(set(wide)) == len(wide)


def test_a_number_is_widened_as_it_was_before_it_became_a_coordinate() -> None:
    function = parse("""
func.func @f(%n: i32, %x: memref<?xf32>) {
  %wide = nv_tileaa.splat %n : (i32) -> tensor<8xi32>
  %long = arith.extsi %wide : tensor<8xi32> to tensor<8xi64>
  %at = arith.index_cast %long : tensor<8xi64> to tensor<8xindex>
  %unsigned = arith.extui %wide : tensor<8xi32> to tensor<8xi64>
  %other = arith.index_cast %unsigned : tensor<8xi64> to tensor<8xindex>
  %v = nv_tileaa.gather_load %x[%at] : (memref<?xf32>, tensor<8xindex>) -> tensor<8xf32>
  %w = nv_tileaa.gather_load %x[%other] : (memref<?xf32>, tensor<8xindex>) -> tensor<8xf32>
  func.return
}""").body.block.first_op
    assert isinstance(function, FuncOp)
    share_coordinates(function)
    function.verify()
    first, second = (op for op in function.walk() if isinstance(op, GatherLoadOp))
    splat = first.indices[0].owner
    assert isinstance(splat, SplatOp)
    assert isinstance(splat.operands[0].owner, arith.IndexCastOp)
    cast_ = second.indices[0].owner
    assert isinstance(cast_, arith.IndexCastOp)
    assert isinstance(cast_.input.owner, arith.ExtUIOp)
