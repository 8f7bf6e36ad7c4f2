"""The ops of `nv_tileaa` on tiles, against numpy."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.dialects.nv_tileaa_samples import SAMPLES, program
from tests.machine.support import call, machine_for
from tests.machine.tile_programs import exactly, floats, function, outcome_of, result_of, verdict_of
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.running import run

GENERATOR = np.random.default_rng(7)


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    return GENERATOR.normal(size=shape).astype(dtype)


# Arithmetic -----------------------------------------------------------------------------------------------------------

ELEMENTWISE: dict[str, tuple[int, Any]] = {
    "addf": (2, np.add),
    "subf": (2, np.subtract),
    "mulf": (2, np.multiply),
    "divf": (2, np.divide),
    "exp2": (1, lambda x: np.exp2(x.astype(np.float64))),
    "sqrt": (1, lambda x: np.sqrt(x.astype(np.float64))),
    "rsqrt": (1, lambda x: 1 / np.sqrt(x.astype(np.float64))),
    "fma": (3, lambda x, y, z: x.astype(np.float64) * y.astype(np.float64) + z.astype(np.float64)),
}
"""Op -> number of operands, and the result before it is rounded."""

FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("op", ELEMENTWISE)
def test_arithmetic(op: str, kind: str) -> None:
    count, compute = ELEMENTWISE[op]
    operands = [np.abs(numbers(4, 8, dtype=FLOATS[kind])) + FLOATS[kind](1) for _ in range(count)]
    names = "abc"[:count]
    listed = ", ".join(f"%{name}" for name in names)
    for type_, given in ((f"tensor<4x8x{kind}>", operands), (kind, [operand[1, 2] for operand in operands])):
        types = ", ".join([type_] * count)
        text = function(dict.fromkeys(names, type_), f"%r = nv_tileaa.{op} {listed} : ({types}) -> {type_}", type_)
        expected = np.asarray(compute(*map(np.asarray, given))).astype(np.float64).astype(FLOATS[kind])
        assert exactly(result_of(text, *given), expected)


@pytest.mark.parametrize("mode", ["nearest_even", "approx", "full"])
@pytest.mark.parametrize("op", ["addf", "subf", "mulf", "divf", "sqrt", "rsqrt"])
def test_modes_that_name_no_side_round_to_nearest(op: str, mode: str) -> None:
    """`approx` and `full` allow the hardware less than this; the machine has one answer."""
    count, compute = ELEMENTWISE[op]
    operands = [np.abs(numbers(64)) + np.float32(1) for _ in range(count)]
    names, tile = "ab"[:count], "tensor<64xf32>"
    listed, types = ", ".join(f"%{name}" for name in names), ", ".join([tile] * count)
    attribute = f"attributes {{rounding_mode = #nv_tileaa<rounding_mode {mode}>}}"
    body = f"%r = nv_tileaa.{op} {listed} {attribute} : ({types}) -> {tile}"
    expected = np.asarray(compute(*operands)).astype(np.float32)
    assert exactly(result_of(function(dict.fromkeys(names, tile), body, tile), *operands), expected)


DIRECTED = {
    "addf": lambda x, y: x + y,
    "subf": lambda x, y: x - y,
    "mulf": lambda x, y: x * y,
    "divf": lambda x, y: x / y,
}


def test_subnormal_numbers_are_flushed_where_asked() -> None:
    tiny, half = np.array([1e-40, -1e-40, 1e-20, 1.0], np.float32), np.array([1.0, 1.0, 1e-20, 0.5], np.float32)
    text = """func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %r = nv_tileaa.mulf %a, %b attributes {flush_to_zero} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %e = nv_tileaa.exp2 %b attributes {flush_to_zero} : (tensor<4xf32>) -> tensor<4xf32>
      func.return %r, %e : tensor<4xf32>, tensor<4xf32>
    }"""
    product, power = run(parse(text), None, {"a": tiny, "b": half}).results
    assert np.array_equal(product, [0, 0, 0, 0.5])
    assert np.signbit(product).tolist() == [False, True, False, False]
    assert np.array_equal(power, np.exp2(half))
    small = np.array([-126.0, -127.0, -149.0, 1e-40], np.float32)
    _, power = run(parse(text), None, {"a": tiny, "b": small}).results
    assert np.array_equal(power, [2.0**-126, 0, 0, 1])


@pytest.mark.parametrize("mode", ["zero", "negative_inf", "positive_inf"])
@pytest.mark.parametrize("op", DIRECTED)
def test_directed_rounding_brackets_the_exact_result(op: str, mode: str) -> None:
    """The result lies on its side of the exact one, and the next float in that direction's reverse does not."""
    attribute = f"attributes {{rounding_mode = #nv_tileaa<rounding_mode {mode}>}}"
    tile = "tensor<64xf32>"
    body = f"%r = nv_tileaa.{op} %a, %b {attribute} : ({tile}, {tile}) -> {tile}"
    a, b = numbers(64), numbers(64)
    results = result_of(function({"a": tile, "b": tile}, body, tile), a, b)
    inexact = 0
    for x, y, result in zip(a, b, results, strict=True):
        exact = DIRECTED[op](Fraction(float(x)), Fraction(float(y)))
        down = mode == "negative_inf" or (mode == "zero" and exact > 0)
        neighbour = np.nextafter(result, np.float32(np.inf if down else -np.inf))
        low, high = (result, neighbour) if down else (neighbour, result)
        assert Fraction(float(low)) <= exact <= Fraction(float(high))
        inexact += Fraction(float(result)) != exact
    assert inexact > 16, "the test must meet results that are rounded"


def test_directed_rounding_of_roots_products_and_conversions() -> None:
    two = np.array([2.0, 3.0], np.float32)
    down = "attributes {rounding_mode = #nv_tileaa<rounding_mode negative_inf>}"
    up = "attributes {rounding_mode = #nv_tileaa<rounding_mode positive_inf>}"
    tile = "tensor<2xf32>"
    for op, sign in (("sqrt", 1), ("rsqrt", -1)):
        low = result_of(function({"a": tile}, f"%r = nv_tileaa.{op} %a {down} : ({tile}) -> {tile}", tile), two)
        high = result_of(function({"a": tile}, f"%r = nv_tileaa.{op} %a {up} : ({tile}) -> {tile}", tile), two)
        assert np.array_equal(np.nextafter(low, np.float32(np.inf)), high)
        exact = [Fraction(2) ** sign, Fraction(3) ** sign]
        assert all(Fraction(float(x)) ** 2 < e for x, e in zip(low, exact, strict=True))
        assert all(Fraction(float(x)) ** 2 > e for x, e in zip(high, exact, strict=True))

    body = f"%r = nv_tileaa.fp_to_fp %a {up} : (tensor<3xf32>) -> tensor<3xf8E5M2>"
    narrow = result_of(function({"a": "tensor<3xf32>"}, body, "tensor<3xf8E5M2>"), np.array([1.0, 1.01, -1.01]))
    assert narrow.astype(np.float32).tolist() == [1.0, 1.25, -1.0]

    body = f"%r = nv_tileaa.mulf %a, %a {down.replace('negative_inf', 'zero')} : ({tile}, {tile}) -> {tile}"
    overflow = result_of(function({"a": tile}, body, tile), np.array([1e30, 2.0], np.float32))
    assert overflow.tolist() == [float(np.finfo(np.float32).max), 4.0]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("f32", "f16"),
        ("f32", "bf16"),
        ("f32", "f8E4M3FN"),
        ("f16", "f8E5M2"),
        ("f16", "f32"),
        ("f8E4M3FN", "f32"),
        ("f32", "f4E2M1FN"),
    ],
)
def test_fp_to_fp_rounds_as_ml_dtypes_does(source: str, target: str) -> None:
    dtypes = {
        **FLOATS,
        "f8E4M3FN": ml_dtypes.float8_e4m3fn,
        "f8E5M2": ml_dtypes.float8_e5m2,
        "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    }
    given = numbers(64).astype(dtypes[source])
    body = f"%r = nv_tileaa.fp_to_fp %a : (tensor<64x{source}>) -> tensor<64x{target}>"
    result = result_of(function({"a": f"tensor<64x{source}>"}, body, f"tensor<64x{target}>"), given)
    assert exactly(result, given.astype(np.float32).astype(dtypes[target]))


def test_clampf_keeps_or_replaces_nan() -> None:
    tile = "tensor<4xf32>"
    x = np.array([-5, 0.5, 5, np.nan], np.float32)
    low, high = np.full(4, -1, np.float32), np.full(4, 1, np.float32)
    for attribute, last in (("", -1.0), ("attributes {propagate_nan = true} ", np.nan)):
        body = f"%r = nv_tileaa.clampf %x, %l, %h {attribute}: ({tile}, {tile}, {tile}) -> {tile}"
        result = result_of(function({"x": tile, "l": tile, "h": tile}, body, tile), x, low, high)
        assert exactly(result, np.array([-1, 0.5, 1, last], np.float32))


def test_mulhiui_and_bitcast() -> None:
    a = np.array([-1, 2, 1 << 30, 7], np.int32)
    body = "%r = nv_tileaa.mulhiui %a, %a : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>"
    wide = a.view(np.uint32).astype(np.uint64)
    expected = ((wide * wide) >> np.uint64(32)).astype(np.uint32).view(np.int32)
    assert exactly(result_of(function({"a": "tensor<4xi32>"}, body, "tensor<4xi32>"), a), expected)
    text = function({"a": "i64"}, "%r = nv_tileaa.mulhiui %a, %a : (i64, i64) -> i64", "i64")
    assert result_of(text, -1) == -2

    body = "%r = nv_tileaa.bitcast %a : (tensor<4xf32>) -> tensor<4xi32>"
    x = numbers(4)
    assert exactly(result_of(function({"a": "tensor<4xf32>"}, body, "tensor<4xi32>"), x), x.view(np.int32))
    text = function({"a": "f16"}, "%r = nv_tileaa.bitcast %a : (f16) -> i16", "i16")
    assert result_of(text, 1.0) == 0x3C00


# Structure ------------------------------------------------------------------------------------------------------------

A = floats(8, 4)
STRUCTURE: dict[str, tuple[str, str, Any]] = {
    "view": (
        "%r = nv_tileaa.view %a : (tensor<8x4xf32>) -> tensor<2x4x4xf32>",
        "tensor<2x4x4xf32>",
        A.reshape(2, 4, 4),
    ),
    "expand_dims": (
        "%r = nv_tileaa.expand_dims %a : (tensor<8x4xf32>) -> tensor<1x8x1x4xf32>",
        "tensor<1x8x1x4xf32>",
        A.reshape(1, 8, 1, 4),
    ),
    "permute": (
        "%r = nv_tileaa.permute %a attributes {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>",
        "tensor<4x8xf32>",
        A.T,
    ),
    "cat": (
        "%r = nv_tileaa.cat %a, %a attributes {axis = 1 : i32} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>",
        "tensor<8x8xf32>",
        np.hstack([A, A]),
    ),
    "extract of a row": (
        "%i = arith.constant 3 : index\n%r = nv_tileaa.extract %a[%i] : (tensor<8x4xf32>, index) -> tensor<4xf32>",
        "tensor<4xf32>",
        A[3],
    ),
    "extract of an element": (
        "%i = arith.constant 3 : index\n%r = nv_tileaa.extract %a[%i, %i] : (tensor<8x4xf32>, index, index) -> f32",
        "f32",
        A[3, 3],
    ),
    "extract_slice": (
        "%i = arith.constant 1 : index\n%j = arith.constant 2 : index\n"
        "%r = nv_tileaa.extract_slice %a[%i, %j] sizes(%j, %i) strides(%j, %i) "
        ": (tensor<8x4xf32>, index, index, index, index, index, index) -> tensor<2x1xf32>",
        "tensor<2x1xf32>",
        A[1:5:2, 2:3],
    ),
    "extract_slice at constants": (
        "%r = nv_tileaa.extract_slice %a attributes {static_offsets = array<i64: 2, 0>, "
        "static_strides = array<i64: 3, 1>} : (tensor<8x4xf32>) -> tensor<2x4xf32>",
        "tensor<2x4xf32>",
        A[2:6:3],
    ),
    "splat and broadcast": (
        "%i = arith.constant 3 : index\n%x = nv_tileaa.extract %a[%i, %i] : (tensor<8x4xf32>, index, index) -> f32\n"
        "%s = nv_tileaa.splat %x : (f32) -> tensor<1x4xf32>\n"
        "%r = nv_tileaa.broadcast %s : (tensor<1x4xf32>) -> tensor<2x4xf32>",
        "tensor<2x4xf32>",
        np.full((2, 4), A[3, 3]),
    ),
}


@pytest.mark.parametrize("name", STRUCTURE)
def test_structure(name: str) -> None:
    body, type_, expected = STRUCTURE[name]
    assert exactly(result_of(function({"a": "tensor<8x4xf32>"}, body, type_), A), expected)


@pytest.mark.parametrize("name", [name for name in STRUCTURE if name != "splat and broadcast"])
def test_structure_of_a_tile_in_shared_memory(name: str) -> None:
    """The tile comes from a load into shared memory: what names bytes gives a view of them, what computes a value."""
    body, type_, expected = STRUCTURE[name]
    smem = "tensor<8x4xf32, #nv_tileas.layout<smem>>"
    load = """%z = arith.constant 0 : index
    %a = nv_tileaa.tiled_load %m[%z, %z] : (memref<8x4xf32>, index, index) -> tensor<8x4xf32>
    """
    body = (load + body).replace("tensor<8x4xf32>", smem)
    assert exactly(result_of(function({"m": "memref<8x4xf32>"}, body, type_), A), expected)


def test_slices_and_indices_must_lie_inside() -> None:
    body = "%r = nv_tileaa.extract_slice %a[%i, %i] : (tensor<8x4xf32>, index, index) -> tensor<2x4xf32>"
    text = function({"a": "tensor<8x4xf32>", "i": "index"}, body, "tensor<2x4xf32>")
    assert exactly(result_of(text, A, 0), A[:2])
    with pytest.raises(UnsupportedError, match="takes elements 1 to 4 of axis 1, which has 4"):
        result_of(text, A, 1)
    body = "%r = nv_tileaa.extract %a[%i] : (tensor<8x4xf32>, index) -> tensor<4xf32>"
    with pytest.raises(UnsupportedError, match="takes index 8 of axis 0, which has 8"):
        result_of(function({"a": "tensor<8x4xf32>", "i": "index"}, body, "tensor<4xf32>"), A, 8)


# Regions over elements ------------------------------------------------------------------------------------------------

GENERATE = """%r = nv_tileaa.generate {
^bb0(%i: tensor<i32>, %j: tensor<i32>):
  $work
  nv_tileaa.yield %x : (tensor<i32>) -> ()
} : () -> tensor<4x8xi32>"""


@pytest.mark.parametrize(
    "body",
    [
        "%c = arith.constant dense<10> : tensor<i32>\n%t = arith.muli %i, %c : tensor<i32>\n"
        "%x = arith.addi %t, %j : tensor<i32>",
        # A branch on the coordinates: once for each element.
        """%c = arith.constant dense<10> : tensor<i32>
        %big = arith.constant true
        %x = scf.if %big -> (tensor<i32>) {
          %t = arith.muli %i, %c : tensor<i32>
          %s = arith.addi %t, %j : tensor<i32>
          scf.yield %s : tensor<i32>
        } else {
          scf.yield %j : tensor<i32>
        }""",
    ],
    ids=["arithmetic", "with a branch"],
)
def test_generate(body: str) -> None:
    text = function({}, GENERATE, "tensor<4x8xi32>", work=body)
    i, j = np.indices((4, 8))
    assert exactly(result_of(text), (10 * i + j).astype(np.int32))


MAXIMUM = "%s = arith.maximumf %x, %y : f32"
FIRST_MINUS_SECOND = "%s = nv_tileaa.subf %x, %y : (f32, f32) -> f32"
SCALED_SUM = "%t = arith.mulf %y, %k : f32\n%s = arith.addf %x, %t : f32"
BRANCHING_MAXIMUM = """%c = arith.cmpf ogt, %x, %y : f32
%s = scf.if %c -> (f32) {
  scf.yield %x : f32
} else {
  scf.yield %y : f32
}"""

REDUCTIONS: dict[str, tuple[str, Any]] = {
    "maximum": (MAXIMUM, lambda x, y, _: np.maximum(x, y)),
    "first minus second": (FIRST_MINUS_SECOND, lambda x, y, _: x - y),
    "with a value from outside": (SCALED_SUM, lambda x, y, k: x + y * k),
    "branching": (BRANCHING_MAXIMUM, lambda x, y, _: np.maximum(x, y)),
}


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduce_and_scan(name: str, axis: int) -> None:
    combiner, compute = REDUCTIONS[name]
    k = np.float32(2)
    result = "tensor<4xf32>" if axis == 0 else "tensor<8xf32>"
    region = f"{{\n^bb0(%x: f32, %y: f32):\n{combiner}\nnv_tileaa.yield %s : (f32) -> ()\n}}"
    body = f"%r = nv_tileaa.reduce %a attributes {{axis = {axis} : i32}} {region} : (tensor<8x4xf32>) -> {result}"
    slices = [np.take(A, n, axis) for n in range(A.shape[axis])]
    running = [slices[0]]
    for following in slices[1:]:
        running.append(compute(running[-1], following, k))
    arguments = {"a": "tensor<8x4xf32>", "k": "f32"}
    assert exactly(result_of(function(arguments, body, result), A, k), running[-1])

    tile = "tensor<8x4xf32>"
    scan = f"%r = nv_tileaa.scan %a attributes {{axis = {axis} : i32}} {region} : ({tile}) -> {tile}"
    assert exactly(result_of(function(arguments, scan, tile), A, k), np.stack(running, axis))
    back = scan.replace(": i32}", ": i32, reverse}", 1)
    turned = np.flip(result_of(function(arguments, back, tile), np.flip(A, axis), k), axis)
    assert exactly(turned, np.stack(running, axis))


def test_reduce_to_a_scalar_and_exclusive_scan() -> None:
    region = f"{{\n^bb0(%x: f32, %y: f32):\n{MAXIMUM}\nnv_tileaa.yield %s : (f32) -> ()\n}}"
    body = f"%r = nv_tileaa.reduce %a attributes {{axis = 0 : i32}} {region} : (tensor<8xf32>) -> f32"
    assert result_of(function({"a": "tensor<8xf32>"}, body, "f32"), floats(8)) == 0.0
    body = (
        f"%r = nv_tileaa.scan %a attributes {{axis = 0 : i32, inclusive = false}} {region} "
        ": (tensor<8xf32>) -> tensor<8xf32>"
    )
    with pytest.raises(UnsupportedError, match="scans exclusively"):
        result_of(function({"a": "tensor<8xf32>"}, body, "tensor<8xf32>"), floats(8))


# Products -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["f16", "bf16", "f8E4M3FN", "f8E5M2", "f32"])
def test_dot_accumulates_in_the_type_of_c(kind: str) -> None:
    dtype = {**FLOATS, "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}[kind]
    a, b, c = floats(8, 4, dtype=dtype), floats(4, 8, dtype=dtype), floats(8, 8) + 4096
    types = {"a": f"tensor<8x4x{kind}>", "b": f"tensor<4x8x{kind}>", "c": "tensor<8x8xf32>"}
    body = f"%r = nv_tileaa.dot %a, %b, %c : ({', '.join(types.values())}) -> tensor<8x8xf32>"
    expected = a.astype(np.float32) @ b.astype(np.float32) + c
    assert exactly(result_of(function(types, body, "tensor<8x8xf32>"), a, b, c), expected)


@pytest.mark.parametrize("of_a", ["signed", "unsigned"])
@pytest.mark.parametrize("of_b", ["signed", "unsigned"])
def test_dot_of_integers_reads_bits_as_told_and_wraps(of_a: str, of_b: str) -> None:
    a = GENERATOR.integers(-128, 128, (2, 8, 16)).astype(np.int8)
    b = GENERATOR.integers(-128, 128, (2, 16, 8)).astype(np.int8)
    c = np.full((2, 8, 8), np.iinfo(np.int32).max - 5, np.int32)
    types = {"a": "tensor<2x8x16xi8>", "b": "tensor<2x16x8xi8>", "c": "tensor<2x8x8xi32>"}
    body = (
        f"%r = nv_tileaa.dot %a, %b, %c attributes {{signedness_a = #nv_tileaa<signedness {of_a}>, "
        f"signedness_b = #nv_tileaa<signedness {of_b}>}} : ({', '.join(types.values())}) -> tensor<2x8x8xi32>"
    )
    wide_a = a.astype(np.int64) if of_a == "signed" else a.view(np.uint8).astype(np.int64)
    wide_b = b.astype(np.int64) if of_b == "signed" else b.view(np.uint8).astype(np.int64)
    expected = (wide_a @ wide_b + c).astype(np.int32)
    assert exactly(result_of(function(types, body, "tensor<2x8x8xi32>"), a, b, c), expected)


@pytest.mark.parametrize("transposed", [False, True], ids=["sfb K'xN", "sfb NxK'"])
def test_dot_with_scales(transposed: bool) -> None:
    a = floats(8, 64, dtype=ml_dtypes.float4_e2m1fn)
    b = floats(64, 16, dtype=ml_dtypes.float4_e2m1fn)
    sfa = np.exp2(GENERATOR.integers(-2, 3, (8, 2))).astype(ml_dtypes.float8_e8m0fnu)
    sfb = np.exp2(GENERATOR.integers(-2, 3, (2, 16))).astype(ml_dtypes.float8_e8m0fnu)
    c = floats(8, 16)
    types = {
        "a": "tensor<8x64xf4E2M1FN>",
        "b": "tensor<64x16xf4E2M1FN>",
        "c": "tensor<8x16xf32>",
        "s": "tensor<8x2xf8E8M0FNU>",
        "t": "tensor<16x2xf8E8M0FNU>" if transposed else "tensor<2x16xf8E8M0FNU>",
    }
    body = f"%r = nv_tileaa.dot %a, %b, %c sfa(%s) sfb(%t) : ({', '.join(types.values())}) -> tensor<8x16xf32>"
    expected = c.astype(np.float64)
    for k in range(64):
        left = a[:, k].astype(np.float64) * sfa[:, k // 32].astype(np.float64)
        right = b[k].astype(np.float64) * sfb[k // 32].astype(np.float64)
        expected = expected + np.outer(left, right)
    result = result_of(function(types, body, "tensor<8x16xf32>"), a, b, c, sfa, sfb.T if transposed else sfb)
    assert exactly(result, expected.astype(np.float32))


def test_narrow_accumulators_are_summed_in_f32_and_rounded_once() -> None:
    """36 * 63 + 0.25 is no f16; what is left after -2268 is added shows in which type the sum was made."""
    a = np.full((8, 64), 6).astype(ml_dtypes.float4_e2m1fn)
    b = np.full((64, 8), 6).astype(ml_dtypes.float4_e2m1fn)
    a[:, -1], b[-1, :] = 0.5, 0.5
    scale = np.ones((8, 2)).astype(ml_dtypes.float8_e8m0fnu)
    types = {
        "a": "tensor<8x64xf4E2M1FN>",
        "b": "tensor<64x8xf4E2M1FN>",
        "c": "tensor<8x8xf16>",
        "s": "tensor<8x2xf8E8M0FNU>",
        "t": "tensor<8x2xf8E8M0FNU>",
    }
    body = f"%r = nv_tileaa.dot %a, %b, %c sfa(%s) sfb(%t) : ({', '.join(types.values())}) -> tensor<8x8xf16>"
    result = result_of(function(types, body, "tensor<8x8xf16>"), a, b, np.full((8, 8), -2268.0), scale, scale)
    assert exactly(result, np.full((8, 8), 0.25, np.float16))


# Memory ---------------------------------------------------------------------------------------------------------------

ARRAY = (np.arange(80, dtype=np.float32)).reshape(8, 10)


def test_load_and_store_of_elements_and_tiles() -> None:
    body = """%t0 = nv_tileaa.create_mem_token : () -> $tok
    %v, %t1 = nv_tileaa.load %a[%i, %i] token(%t0) : (memref<8x10xf32>, index, index, $tok) -> (f32, $tok)
    %w = nv_tileaa.load %a[%i, %i] : (memref<8x10xf32>, index, index) -> tensor<2x4xf32>
    %t2 = nv_tileaa.join_mem_token %t0, %t1 : ($tok, $tok) -> $tok
    %t3 = nv_tileaa.store %b[%i, %i], %w token(%t2) : (memref<8x10xf32>, tensor<2x4xf32>, index, index, $tok) -> $tok
    %c0 = arith.constant 0 : index
    nv_tileaa.store %b[%c0, %c0], %v : (memref<8x10xf32>, f32, index, index) -> ()"""
    arguments = {"a": "memref<8x10xf32>", "b": "memref<8x10xf32>", "i": "index"}
    outcome = outcome_of(function(arguments, body, tok="!nv_tileaa.mem_token"), ARRAY, np.zeros((8, 10)), 3)
    expected = np.zeros((8, 10), np.float32)
    expected[3:5, 3:7] = ARRAY[3:5, 3:7]
    expected[0, 0] = ARRAY[3, 3]
    assert exactly(outcome.arrays["b"], expected)


def test_an_element_must_lie_inside() -> None:
    body = "%r = nv_tileaa.load %a[%i, %i] : (memref<8x10xf32>, index, index) -> f32"
    with pytest.raises(AssertionError, match=r"reaches outside 'a': axis 0 from element 8"):
        result_of(function({"a": "memref<8x10xf32>", "i": "index"}, body, "f32"), ARRAY, 8)


TILED_LOADS: dict[str, tuple[str, str, Any]] = {
    "an array": ("memref<8x10xf32>", "%r = nv_tileaa.tiled_load %a[%i, %j] : ($A, index, index) -> $T", None),
    "a view by tiles": (
        "memref<8x10xf32>",
        """%v = nv_tileaa.block_tile %a attributes {tileSizes = array<i64: 4, 4>,
             dimGroups = [array<i64: 0>, array<i64: 1>]} : ($A) -> !nv_tileaa.tiled_view<4x4xf32>
           %r = nv_tileaa.tiled_load %v[%i, %j] : (!nv_tileaa.tiled_view<4x4xf32>, index, index) -> $T""",
        None,
    ),
    "axes exchanged": (
        "memref<10x8xf32>",
        """%v = nv_tileaa.block_tile %a attributes {tileSizes = array<i64: 4, 4>,
             dimGroups = [array<i64: 1>, array<i64: 0>]} : ($A) -> !nv_tileaa.tiled_view<4x4xf32>
           %r = nv_tileaa.tiled_load %v[%i, %j] : (!nv_tileaa.tiled_view<4x4xf32>, index, index) -> $T""",
        np.ascontiguousarray(ARRAY.T),
    ),
    "an array of strides": (
        "!nv_tileaa.memref<8x10xf32, 1, strides = [1, 8]>",
        "%r = nv_tileaa.tiled_load %a[%i, %j] : ($A, index, index) -> $T",
        None,
    ),
}


@pytest.mark.parametrize("i", [0, 1, 2, -1])
@pytest.mark.parametrize("j", [0, 2])
@pytest.mark.parametrize("name", TILED_LOADS)
def test_tiled_load_reads_zero_beyond_the_array(name: str, i: int, j: int) -> None:
    type_, body, given = TILED_LOADS[name]
    text = function({"a": type_, "i": "index", "j": "index"}, body, "tensor<4x4xf32>", A=type_, T="tensor<4x4xf32>")
    expected = np.zeros((20, 20), np.float32)
    expected[4:12, 4:14] = ARRAY
    tile = expected[4 + 4 * i : 8 + 4 * i, 4 + 4 * j : 8 + 4 * j]
    assert exactly(result_of(text, ARRAY if given is None else given, i, j), tile)


def test_axes_of_the_array_taken_together() -> None:
    """Axis 0 of a tile walks through axes 0 and 1 of the array, which do not lie evenly in memory together."""
    view = "!nv_tileaa.tiled_view<8x2xf32>"
    body = f"""%v = nv_tileaa.block_tile %a attributes {{tileSizes = array<i64: 8, 2>,
      dimGroups = [array<i64: 0, 2>, array<i64: 1>]}} : (memref<4x4x3xf32>) -> {view}
    %r = nv_tileaa.tiled_load %v[%i, %j] : ({view}, index, index) -> tensor<8x2xf32>"""
    array = floats(4, 4, 3)
    text = function({"a": "memref<4x4x3xf32>", "i": "index", "j": "index"}, body, "tensor<8x2xf32>")
    flat = np.zeros((16, 4), np.float32)
    flat[:12] = array.transpose(0, 2, 1).reshape(12, 4)
    for i in (0, 1):
        for j in (0, 1):
            assert exactly(result_of(text, array, i, j), flat[8 * i : 8 * i + 8, 2 * j : 2 * j + 2])


def test_a_tile_of_lower_rank_has_unit_extents_in_front() -> None:
    body = "%r = nv_tileaa.tiled_load %a[%i, %i, %i] : (memref<2x8x8xf32>, index, index, index) -> tensor<4x4xf32>"
    array = floats(2, 8, 8)
    text = function({"a": "memref<2x8x8xf32>", "i": "index"}, body, "tensor<4x4xf32>")
    assert exactly(result_of(text, array, 1), array[1, 4:, 4:])


def test_in_bounds_is_a_promise() -> None:
    body = (
        "%r = nv_tileaa.tiled_load %a[%i, %j] attributes {in_bounds = array<i1: false, true>} "
        ": (memref<8x10xf32>, index, index) -> tensor<4x4xf32>"
    )
    text = function({"a": "memref<8x10xf32>", "i": "index", "j": "index"}, body, "tensor<4x4xf32>")
    assert exactly(result_of(text, ARRAY, 2, 0), np.zeros((4, 4), np.float32))
    with pytest.raises(AssertionError, match=r"reaches outside 'a': axis 1 from element 8"):
        result_of(text, ARRAY, 0, 2)


def test_masks_fallbacks_and_what_a_store_leaves_alone() -> None:
    mask = (np.indices((4, 4)).sum(0) % 2).astype(np.bool_)
    body = """%w = nv_tileaa.tiled_load %a[%i, %i] mask(%m) other(%o) : ($A, index, index, $M, $T) -> $T
    nv_tileaa.tiled_store %b[%i, %i], %w mask(%m) : ($A, $T, index, index, $M) -> ()"""
    types = {"A": "memref<8x10xf32>", "M": "tensor<4x4xi1>", "T": "tensor<4x4xf32>"}
    arguments = {"a": types["A"], "b": types["A"], "m": types["M"], "o": types["T"], "i": "index"}
    text = function(arguments, body + "\n%r = nv_tileaa.addf %w, %w : ($T, $T) -> $T", types["T"], **types)
    other = np.full((4, 4), 0.5, np.float32)
    outcome = outcome_of(text, ARRAY, -ARRAY, mask, other, 1)
    loaded = np.where(mask, ARRAY[4:8, 4:8], other)
    assert exactly(outcome.results[0], loaded + loaded)
    expected = -ARRAY
    expected[4:8, 4:8] = np.where(mask, loaded, expected[4:8, 4:8])
    assert exactly(outcome.arrays["b"], expected)

    outcome = outcome_of(text, ARRAY, -ARRAY, mask, other, 2)
    assert exactly(outcome.arrays["b"], -ARRAY), "a tile beyond the array stores nothing"


def test_pointers() -> None:
    """Row pointers by arithmetic on a tile of addresses; a guard against addresses beyond the array."""
    body = """%rows = nv_tileaa.generate {
    ^bb0(%i: tensor<i32>, %j: tensor<i32>):
      %c = arith.constant dense<3> : tensor<i32>
      %t = arith.muli %i, %c : tensor<i32>
      %x = arith.addi %t, %j : tensor<i32>
      nv_tileaa.yield %x : (tensor<i32>) -> ()
    } : () -> tensor<4x2xi32>
    %q = nv_tileaa.addptr %p, %start : ($P, index) -> $P
    %s = nv_tileaa.splat %q : ($P) -> tensor<4x1x$P>
    %w = nv_tileaa.broadcast %s : (tensor<4x1x$P>) -> tensor<4x2x$P>
    %all = nv_tileaa.addptr %w, %rows : (tensor<4x2x$P>, tensor<4x2xi32>) -> tensor<4x2x$P>
    %m = nv_tileaa.generate {
    ^bb0(%i: tensor<i32>, %j: tensor<i32>):
      %row = tensor.extract %i[] : tensor<i32>
      %three = arith.constant 3 : i32
      %x = arith.cmpi slt, %row, %three : i32
      nv_tileaa.yield %x : (i1) -> ()
    } : () -> tensor<4x2xi1>
    %v = nv_tileaa.load %all mask(%m) : (tensor<4x2x$P>, tensor<4x2xi1>) -> tensor<4x2xf32>
    nv_tileaa.store %all, %v mask(%m) : (tensor<4x2x$P>, tensor<4x2xf32>, tensor<4x2xi1>) -> ()
    %x = nv_tileaa.load %q : ($P) -> f32
    nv_tileaa.store %p, %x : ($P, f32) -> ()
    %first = nv_tileaa.load %p : ($P) -> f32"""
    text = function(
        {"p": "!nv_tileaa.ptr<f32, 1>", "start": "index"},
        body,
        "tensor<4x2xf32>, f32",
        returned="%v, %first",
        P="!nv_tileaa.ptr<f32, 1>",
    )
    memory = np.arange(10, dtype=np.float32)
    tile, first = result_of(text, memory, 2)
    assert exactly(tile, np.array([[2, 3], [5, 6], [8, 9], [0, 0]], np.float32))
    assert first == 2.0
    with pytest.raises(AssertionError, match="reaches outside 'p'"):
        result_of(text, memory, 3)


def test_make_memref_and_addresses_as_numbers() -> None:
    body = """%n = nv_tileaa.ptr_to_int %p : ($P) -> i64
    %step = arith.constant 8 : i64
    %m = arith.addi %n, %step : i64
    %q = nv_tileaa.int_to_ptr %m : (i64) -> $P
    %a = nv_tileaa.make_memref %q offset(%one) sizes(%two) strides(%four)
      : ($P, index, index, index) -> !nv_tileaa.memref<?x2xf32, 1, strides = [?, 1]>
    %z = arith.constant 0 : index
    %r = nv_tileaa.tiled_load %a[%z, %z]
      : (!nv_tileaa.memref<?x2xf32, 1, strides = [?, 1]>, index, index) -> tensor<2x2xf32>"""
    arguments = {"p": "!nv_tileaa.ptr<f32, 1>", "one": "index", "two": "index", "four": "index"}
    text = function(arguments, body, "tensor<2x2xf32>", P="!nv_tileaa.ptr<f32, 1>")
    memory = np.arange(16, dtype=np.float32)
    assert exactly(result_of(text, memory, 1, 2, 4), np.array([[3, 4], [7, 8]], np.float32))
    text = function({"n": "i64"}, "%q = nv_tileaa.int_to_ptr %n : (i64) -> !nv_tileaa.ptr<f32, 1>")
    with pytest.raises(UnsupportedError, match="no address of one object"):
        result_of(text, 5)


# Control --------------------------------------------------------------------------------------------------------------

PREDICATES = {
    "#nv_tileaa.div_by<4>": ([8, 4, -4, 0], [8, 4, 2, 0]),
    "#nv_tileaa.div_by<4, every 2 along 0>": ([8, 1, 4, 3], [8, 1, 2, 3]),
    "#nv_tileaa.bounded<-1, 5>": ([-1, 5, 0, 0], [-2, 0, 0, 0]),
    "#nv_tileaa.bounded<?, 5>": ([-9, 5, 0, 0], [0, 6, 0, 0]),
    "#nv_tileaa.same_elements<[2]>": ([3, 3, 1, 1], [3, 1, 1, 1]),
}


@pytest.mark.parametrize("predicate", PREDICATES)
def test_assume_is_checked_when_running(predicate: str) -> None:
    body = f"%r = nv_tileaa.assume %a attributes {{predicates = [{predicate}]}} : (tensor<4xi32>) -> tensor<4xi32>"
    text = function({"a": "tensor<4xi32>"}, body, "tensor<4xi32>")
    right, wrong = PREDICATES[predicate]
    assert result_of(text, np.array(right)).tolist() == right
    with pytest.raises(AssertionError, match=r"assumes .*, which does not hold"):
        result_of(text, np.array(wrong))
    assert verdict_of(text).verdict is Verdict.SAFE


def test_assert_and_print(capsys: pytest.CaptureFixture[str]) -> None:
    body = """nv_tileaa.assert %c attributes {message = "not all"} : (tensor<2xi1>) -> ()
    nv_tileaa.print %n attributes {format = "n ="} : (index) -> ()"""
    text = function({"c": "tensor<2xi1>", "n": "index"}, body)
    outcome_of(text, np.array([True, True]), 5)
    assert capsys.readouterr() == ("", "n = 5\n")
    with pytest.raises(AssertionError, match=r'fails: "not all"'):
        outcome_of(text, np.array([True, False]), 5)


def test_programs_functions_and_pragmas() -> None:
    text = """nv_tileaa.func @f() -> (index, i32, i1, f32) {
      %x = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
      %n = nv_tileaa.get_num_programs attributes {axis = 2 : i32} : () -> i32
      %next = nv_tileaa.cancel_next_program_id : () -> !nv_tileaa.program_id
      %more = nv_tileaa.is_valid_program_id %next : (!nv_tileaa.program_id) -> i1
      %p = nv_tileaa.pragma attributes {ocgEnterDirectives = ["a"]} {
        %one = arith.constant 1.0 : f32
        nv_tileaa.yield %one : (f32) -> ()
      } : () -> f32
      nv_tileaa.return %x, %n, %more, %p : (index, i32, i1, f32) -> ()
    }"""
    assert result_of(text) == (0, 1, False, 1.0)


# Values, views and checks ---------------------------------------------------------------------------------------------


def test_upstream_arithmetic_reads_slots_and_shared_tiles() -> None:
    """A get with a computation in its region, on tiles in shared memory."""
    text = """func.func @f(%v: tensor<8xf32>, %out: memref<8xf32>) {
      %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[$S, $S], depth = 2>
      nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
        %z = arith.constant 0 : index
        %m = memref.alloc() : memref<8xf32>
        nv_tileaa.store %m[%z], %v : (memref<8xf32>, tensor<8xf32>, index) -> ()
        %s = nv_tileaa.tiled_load %m[%z] : (memref<8xf32>, index) -> $S
        nv_tileaa.queue.put %q, %s, %s : (!nv_tileaa.queue<[$S, $S], depth = 2>, $S, $S) -> ()
      }, {
        %sum = nv_tileaa.queue.get %q {
        ^bb0(%x: $S, %y: $S):
          %s = arith.addf %x, %y : $S
          nv_tileaa.queue.yield %s : ($S) -> ()
        } : (!nv_tileaa.queue<[$S, $S], depth = 2>) -> $S
        %z = arith.constant 0 : index
        nv_tileaa.tiled_store %out[%z], %sum : (memref<8xf32>, $S, index) -> ()
      } : () -> ()
      func.return
    }""".replace("$S", "tensor<8xf32, #nv_tileas.layout<smem>>")
    for order in ("eager", "lazy", "random"):
        outcome = outcome_of(text, floats(8), np.zeros(8), order=order)
        assert exactly(outcome.arrays["out"], 2 * floats(8))
    assert verdict_of(text).verdict is Verdict.SAFE


def test_two_agents_that_store_to_one_tile_race() -> None:
    text = """func.func @f(%out: memref<8xf32>, %v: tensor<4xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
        nv_tileaa.tiled_store %out[%c0], %v : (memref<8xf32>, tensor<4xf32>, index) -> ()
      }, {
        nv_tileaa.tiled_store %out[$N], %v : (memref<8xf32>, tensor<4xf32>, index) -> ()
      } : () -> ()
      func.return
    }"""
    assert verdict_of(text.replace("$N", "%c1")).verdict is Verdict.SAFE
    report = verdict_of(text.replace("$N", "%c0"))
    assert [finding.violation.kind.value for finding in report.findings] == ["race"]


def test_tile_data_are_not_computed_when_checking() -> None:
    body = "%r = nv_tileaa.addf %a, %a : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>"
    text = function({"a": "tensor<8xf32>"}, body, "tensor<8xf32>")
    assert call(text, "f", UNKNOWN, machine=machine_for(with_data=False)) is UNKNOWN
    text = function({"a": "f32"}, "%r = nv_tileaa.splat %a : (f32) -> tensor<8xf32>", "tensor<8xf32>")
    assert call(text, "f", np.float32(1), machine=machine_for(with_data=False)) is UNKNOWN


def test_a_branch_on_tile_data_is_undecided() -> None:
    body = """%z = arith.constant 0 : index
    %x = nv_tileaa.extract %a[%z] : (tensor<8xi1>, index) -> i1
    scf.if %x {
    }"""
    report = verdict_of(function({"a": "tensor<8xi1>"}, body))
    assert report.verdict is Verdict.UNDECIDED
    assert "branches on" in report.undecided[0]


SCOPED = """func.func @f(%a: memref<6xf32>, %b: memref<8xf32>) {
  %z = arith.constant 0 : index
  async_queue.commit 0 {
    async_queue.scope {
      %t = nv_tileaa.tiled_load %a[%z] : (memref<6xf32>, index) -> TILE
      nv_tileaa.tiled_store %b[%z], %t : (memref<8xf32>, TILE, index) -> ()
    }
  }
  async_queue.wait 0, 0
  func.return
}"""


@pytest.mark.parametrize("order", ["eager", "lazy", "random"])
def test_loads_and_stores_of_tiles_in_an_asynchronous_scope_are_done_when_it_is(order: str) -> None:
    text = SCOPED.replace("TILE", "tensor<8xf32>")
    module = parse(text)
    assert check(module).verdict is Verdict.SAFE
    outcome = run(module, "f", {"a": floats(6), "b": np.full(8, 9, np.float32)}, order=order)
    assert exactly(outcome.arrays["b"], np.concatenate([floats(6), np.zeros(2, np.float32)]))


def test_a_tile_in_a_scope_is_read_and_written_until_the_wait() -> None:
    text = SCOPED.replace("TILE", "tensor<8xf32>")
    for array in "ab":
        size = {"a": 6, "b": 8}[array]
        early = f"%x = arith.constant 1.0 : f32 memref.store %x, %{array}[%z] : memref<{size}xf32>"
        assert check(parse(text.replace("async_queue.wait", f"{early} async_queue.wait"))).kinds == ["race"]


def test_other_ops_on_tiles_have_no_place_in_an_asynchronous_scope() -> None:
    text = SCOPED.replace("TILE", "tensor<8xf32, #nv_tileas.layout<smem>>")
    with pytest.raises(UnsupportedError, match="works on memory inside an asynchronous scope"):
        outcome_of(text, floats(6), floats(8))


def test_tiled_view_arguments() -> None:
    view = "!nv_tileaa.tiled_view<4x4xf32>"
    body = f"%r = nv_tileaa.tiled_load %a[%i, %i] : ({view}, index, index) -> tensor<4x4xf32>"
    text = function({"a": view, "i": "index"}, body, "tensor<4x4xf32>")
    assert exactly(result_of(text, ARRAY, 1), ARRAY[4:8, 4:8])
    with pytest.raises(ArgumentError, match=r"'a' : .* is a view of an array: give the array"):
        result_of(text, None, 1)
    with pytest.raises(ArgumentError, match="tiles of rank 2, and the array given has shape"):
        result_of(text, floats(8), 1)
    assert verdict_of(text, i=3).verdict is Verdict.SAFE


# Completeness ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_no_sample_makes_a_traceback(name: str) -> None:
    """Samples run on default arguments or are refused in words; a check always comes to a verdict, or says why not."""
    module = parse(program(name))
    scalars = {"i": 1, "n": 1}
    arguments = {n: v for n, v in scalars.items() if f"%{n}: index" in program(name)}
    for attempt in (lambda: run(module, None, arguments), lambda: check(module, args=arguments)):
        with suppress(ArgumentError, UnsupportedError):
            attempt()
