"""
`cuda_tile` on the machine against numpy: kernels in cuTile Python at ragged sizes, and each op that computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cutile.exports import exported
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.running import Outcome, run
from tileas_xdsl.readers.tile_ir import read

Array = NDArray[Any]
RANDOM = np.random.default_rng(7)


def of_array(array: Array) -> list[Any]:
    """The arguments that cuTile passes for an array: its address, extents and strides in elements."""
    return [array, *array.shape, *(stride // array.itemsize for stride in array.strides)]


def launched(name: str, programs: Sequence[int], *arguments: Any, order: str = "lazy") -> list[Array]:
    """The arrays after all programs of a kernel have run."""
    flat = [each for argument in arguments for each in (of_array(argument) if is_array(argument) else [argument])]
    outcome = run(read(exported(name, divisor=1)), None, flat, programs=tuple(programs), order=order)
    assert outcome.violations == ()
    shapes = [argument.shape for argument in arguments if is_array(argument)]
    return [array.reshape(shape) for array, shape in zip(outcome.arrays.values(), shapes, strict=True)]


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def normal(*shape: int, dtype: Any = np.float32) -> Array:
    return RANDOM.standard_normal(shape).astype(dtype)


# Kernels --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [4, 7, 16])
def test_double(size: int) -> None:
    x = normal(size)
    (result,) = launched("double", [-(-size // 4)], x)
    assert np.array_equal(result, x * 2)


@pytest.mark.parametrize("shape", [(256, 128, 64), (200, 136, 104), (16, 8, 1)])
def test_matmul_of_ragged_extents(shape: tuple[int, int, int]) -> None:
    rows, columns, inner = shape
    a, b = normal(rows, inner, dtype=np.float16), normal(inner, columns, dtype=np.float16)
    grid = -(-rows // 128), -(-columns // 128)
    *_, d = launched("matmul_f16", grid, a, b, np.zeros((rows, columns), np.float16))
    assert np.allclose(d, a.astype(np.float32) @ b.astype(np.float32), rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
def test_matmul_of_other_types(dtype: Any) -> None:
    a, b = normal(70, 50, dtype=dtype), normal(50, 64, dtype=dtype)
    name = "matmul_bf16" if dtype == ml_dtypes.bfloat16 else "matmul_f8"
    *_, d = launched(name, (2, 1), a, b, np.zeros((70, 64), np.float32))
    assert np.allclose(d, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("columns", [256, 200, 1])
def test_softmax_of_rows_shorter_than_the_tile(columns: int) -> None:
    x = normal(3, columns, dtype=np.float16)
    _, y = launched("softmax", [3], x, np.zeros_like(x))
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(axis=1, keepdims=True))
    assert np.allclose(y, e / e.sum(axis=1, keepdims=True), rtol=1e-3, atol=1e-4)


def test_elementwise_functions() -> None:
    x, y = normal(100), normal(100)
    *_, z = launched("elementwise", [2], x, y, np.zeros_like(x), np.float32(0.25))
    a, b = x.astype(np.float64), y.astype(np.float64)
    low = np.minimum(np.tanh(a) + np.sin(b) * np.cos(a), np.sqrt(np.abs(a)) / (1 + np.exp(-b)))
    expected = np.where(low > 0.25, np.floor(a), np.ceil(b)) - np.log2(1 + a * a) + np.arctan2(a, b)
    assert np.allclose(z, expected, rtol=1e-5, atol=1e-5)


def test_integers_wrap_and_divide_as_python_does() -> None:
    x = RANDOM.integers(-1000, 1000, 300).astype(np.int32)
    y = RANDOM.integers(1, 1000, 300).astype(np.int32)
    *_, z = launched("integers", [2], x, y, np.zeros_like(x))
    mixed = (x // 7 + x % 5) ^ (y << 3) | (y >> 1) & ~x
    mixed = np.maximum(mixed, -x) * -(-y // 3) - np.abs(y) + x.astype(np.float32).view(np.int32)
    assert np.array_equal(z, np.where((x < y) & (x != 0), mixed, mixed.astype(np.int8).astype(np.int32)))


def test_transposed_and_cut_tiles() -> None:
    x = normal(32, 64, dtype=np.float16)
    _, y = launched("shapes", (2, 2), x, np.zeros((64, 32), np.float16))
    assert np.array_equal(y, x.T)


def test_sums_and_places_of_the_largest() -> None:
    x = normal(16, 100)
    _, sums, places = launched("row_sums", [2], x, np.zeros(16, np.float32), np.zeros(16, np.int32))
    padded = np.pad(x, ((0, 0), (0, 28))).reshape(16, 2, 64)
    assert np.allclose(sums, x.sum(axis=1), rtol=1e-5, atol=1e-5)
    assert np.array_equal(places, padded.sum(axis=1).argmax(axis=1))


def test_running_sums() -> None:
    x = normal(16, 90)
    _, y = launched("running_sums", [1], x, np.zeros_like(x))
    assert np.allclose(y, np.cumsum(x, axis=1), rtol=1e-4, atol=1e-4)


def test_rows_by_index_and_lanes_outside() -> None:
    table, rows = normal(50, 60), RANDOM.integers(0, 60, 64).astype(np.int32)
    *_, out = launched("gathered", [2], table, rows, np.zeros((64, 64), np.float32))
    expected = np.full((64, 64), -1.0, np.float32)
    inside = rows < 50
    expected[inside, :60] = table[rows[inside]]
    assert np.array_equal(out, expected * 2)


def test_locks_and_counts() -> None:
    x = RANDOM.integers(0, 256, 384).astype(np.int32)
    _, bins, lock, sums = launched(
        "locked", [3], x, np.zeros(256, np.int32), np.zeros(1, np.int32), np.zeros(128, np.int32)
    )
    assert np.array_equal(bins, np.bincount(x, minlength=256))
    assert np.array_equal(sums, x.reshape(3, 128).sum(axis=0))
    assert lock[0] == 0


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_loops_that_break_and_kernels_that_return(limit: int, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.abs(normal(128)) * 20
    _, y = launched("controlled", [2], x, np.zeros_like(x), limit)
    expected = np.zeros_like(x)
    for block in range(min(2, limit)):
        tile, turns = x[64 * block : 64 * block + 64].copy(), 0
        while True:
            tile, turns = tile * np.float32(0.5), turns + 1
            if tile.max() < 1.0:
                break
            if turns % 2 == 0:
                continue
            tile = tile + np.float32(0.25)
        for k in range(limit):
            tile = tile if k == turns else tile + np.float32(k)
        expected[64 * block : 64 * block + 64] = tile
        assert f"block {block} iterations {turns}" in capsys.readouterr().err or limit != 1
    assert np.array_equal(y, expected)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    q, k, v = (normal(2, 128, 32, dtype=np.float16) for _ in range(3))
    name = "attention_causal" if causal else "attention"
    *_, out = launched(name, (2, 2), q, k, v, np.zeros_like(q), np.float32(0.2))
    scores = 0.2 * (q.astype(np.float32) @ k.astype(np.float32).transpose(0, 2, 1))
    if causal:
        scores = np.where(np.tril(np.ones((128, 128), bool)), scores, -np.inf)
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    expected = (p / p.sum(axis=-1, keepdims=True)) @ v.astype(np.float32)
    assert np.allclose(out, expected, rtol=1e-2, atol=1e-2)


def test_windows_that_overlap() -> None:
    x = normal(36)
    _, y = launched("windows", [5], x, np.zeros(40, np.float32))
    padded = np.pad(x, (0, 12))
    expected = np.concatenate([padded[8 * i : 8 * i + 8] + padded[8 * i + 8 : 8 * i + 16] for i in range(5)])
    assert np.array_equal(y, expected)


def test_views_by_row() -> None:
    table, rows = normal(40, 64), RANDOM.permutation(40)[:32].astype(np.int32)
    *_, out = launched("by_row", [1], table, rows, np.zeros_like(table))
    expected = np.zeros_like(table)
    expected[rows] = table[rows]
    assert np.array_equal(out, expected)


def test_reductions_into_memory() -> None:
    x = normal(8, 100)
    _, sums = launched("added", [8], x, np.zeros((4, 100), np.float32))
    assert np.allclose(sums, x.reshape(2, 4, 100).sum(axis=0), rtol=1e-6)


def test_scaled_products() -> None:
    a, b = normal(128, 64, dtype=ml_dtypes.float8_e4m3fn), normal(64, 128, dtype=ml_dtypes.float8_e4m3fn)
    sa = (2.0 ** RANDOM.integers(-2, 3, (128, 2))).astype(ml_dtypes.float8_e8m0fnu)
    sb = (2.0 ** RANDOM.integers(-2, 3, (2, 128))).astype(ml_dtypes.float8_e8m0fnu)
    *_, d = launched("scaled", (1, 1), a, sa, b, sb, np.zeros((128, 128), np.float32))
    left = a.astype(np.float32) * np.repeat(sa.astype(np.float32), 32, 1)
    right = b.astype(np.float32) * np.repeat(sb.astype(np.float32), 32, 0)
    assert np.allclose(d, left @ right, rtol=1e-5, atol=1e-4)


# Single ops -----------------------------------------------------------------------------------------------------------


def computed(body: str, kind: str, *arrays: Array) -> Array:
    """What `body` makes `%r` of the tiles `%a`, `%b`, .. of the given arrays, which are of one length."""
    outcome = computed_to_its_end(body, kind, *arrays)
    assert outcome.violations == ()
    return outcome.arrays["rp"]


def computed_to_its_end(body: str, kind: str, *arrays: Array) -> Outcome:
    size = len(arrays[0])
    views: list[str] = []
    loads: list[str] = []
    for name, array in zip("abc", arrays, strict=False):
        of = KINDS[array.dtype.name]
        views.append(f"%{name}p: tile<ptr<{of}>>")
        loads += pointers(name, of, size)
        loads.append(
            f"%{name}, %{name}t = load_ptr_tko weak %{name}l : tile<{size}xptr<{of}>> -> tile<{size}x{of}>, token"
        )
    out = pointers("r", kind, size)
    store = f"%rt = store_ptr_tko weak %rl, %r : tile<{size}xptr<{kind}>>, tile<{size}x{kind}> -> token"
    arguments = ", ".join([*views, f"%rp: tile<ptr<{kind}>>"])
    lines = "\n".join([f"%n = iota : tile<{size}xi32>", *loads, *out, body.replace("N", str(size)), store])
    module = parse(f"cuda_tile.module @m {{\nentry @k({arguments}) {{\n{lines}\n}}\n}}")
    return run(module, None, [*arrays, np.zeros(size, NAMES[kind])])


def pointers(name: str, of: str, size: int) -> list[str]:
    return [
        f"%{name}1 = reshape %{name}p : tile<ptr<{of}>> -> tile<1xptr<{of}>>",
        f"%{name}N = broadcast %{name}1 : tile<1xptr<{of}>> -> tile<{size}xptr<{of}>>".replace("N", "s"),
        f"%{name}l = offset %{name}s, %n : tile<{size}xptr<{of}>>, tile<{size}xi32> -> tile<{size}xptr<{of}>>",
    ]


NAMES = {"f32": np.float32, "f16": np.float16, "f64": np.float64, "i32": np.int32, "i64": np.int64, "i8": np.int8}
KINDS = {np.dtype(value).name: name for name, value in NAMES.items()}

FLOATS = np.array([0.0, -0.0, 1.5, -2.25, 3.0, np.inf, -np.inf, np.nan], np.float32)
OTHERS = np.array([-0.0, 0.0, np.nan, 0.5, -3.0, 1.0, -np.inf, 2.0], np.float32)
INTEGERS = np.array([0, 1, -1, 7, -7, 2**31 - 1, -(2**31), 12345], np.int32)
DIVISORS = np.array([3, -2, 5, 2, 3, 7, 2, -100], np.int32)

UNARY: dict[str, Callable[[Array], Array]] = {
    "absf": np.abs,
    "negf": np.negative,
    "ceil": np.ceil,
    "floor": np.floor,
    "cosh": np.cosh,
    "sinh": np.sinh,
    "tan": np.tan,
    "log": np.log,
    "exp2": np.exp2,
    "sqrt": np.sqrt,
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_float(name: str) -> None:
    with np.errstate(all="ignore"):
        expected = UNARY[name](FLOATS.astype(np.float64)).astype(np.float32)
    found = computed(f"%r = {name} %a : tile<Nxf32>", "f32", FLOATS)
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.array_equal(np.signbit(found[:5]), np.signbit(expected[:5]))


BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "remf": np.fmod,
    "pow": np.power,
    "atan2": np.arctan2,
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("kind", ["f32", "f16", "f64"])
def test_functions_of_two_floats(name: str, kind: str) -> None:
    a, b = FLOATS.astype(NAMES[kind]), OTHERS.astype(NAMES[kind])
    with np.errstate(all="ignore"):
        expected = BINARY[name](a.astype(np.float64), b.astype(np.float64)).astype(NAMES[kind])
    found = computed(f"%r = {name} %a, %b : tile<Nx{kind}>", kind, a, b)
    assert np.array_equal(found, expected, equal_nan=True)


def test_zeros_and_nans_of_extremes() -> None:
    largest = computed("%r = maxf %a, %b : tile<Nxf32>", "f32", FLOATS, OTHERS)
    assert np.array_equal(largest, [0.0, 0.0, 1.5, 0.5, 3.0, np.inf, -np.inf, 2.0])
    assert not np.signbit(largest[:2]).any()
    least = computed("%r = minf %a, %b propagate_nan : tile<Nxf32>", "f32", FLOATS, OTHERS)
    assert np.array_equal(least, [0.0, 0.0, np.nan, -2.25, -3.0, 1.0, -np.inf, np.nan], equal_nan=True)
    assert np.signbit(least[:2]).all()


def test_subnormal_numbers_are_flushed_where_asked() -> None:
    tiny = np.array([1e-40, -1e-40, 1e-20, 1.0], np.float32)
    halves = np.array([1.0, 1.0, 1e-20, 0.5], np.float32)
    found = computed("%r = mulf %a, %b flush_to_zero : tile<Nxf32>", "f32", tiny, halves)
    assert np.array_equal(found, np.array([0.0, -0.0, 0.0, 0.5], np.float32))
    assert np.signbit(found[1])
    assert computed("%r = mulf %a, %b : tile<Nxf32>", "f32", tiny, halves)[0] == np.float32(1e-40)


def test_rounding_to_a_side() -> None:
    one, tiny = np.ones(1, np.float32), np.full(1, 1e-10, np.float32)
    for word, expected in (("positive_inf", np.nextafter(one, np.float32(2))), ("zero", one), ("nearest_even", one)):
        found = computed(f"%r = addf %a, %b rounding<{word}> : tile<Nxf32>", "f32", one, tiny)
        assert np.array_equal(found, expected), word


INTEGRAL: dict[str, Callable[[Array, Array], Array]] = {
    "addi %a, %b": np.add,
    "subi %a, %b": np.subtract,
    "muli %a, %b": np.multiply,
    "andi %a, %b": np.bitwise_and,
    "ori %a, %b": np.bitwise_or,
    "xori %a, %b": np.bitwise_xor,
    "maxi %a, %b signed": np.maximum,
    "mini %a, %b unsigned": lambda a, b: np.minimum(a.view(np.uint32), b.view(np.uint32)).view(np.int32),
    "divi %a, %b signed": lambda a, b: np.trunc(a.astype(np.float64) / b).astype(np.int64).astype(np.int32),
    "divi %a, %b signed rounding<negative_inf>": np.floor_divide,
    "divi %a, %b signed rounding<positive_inf>": lambda a, b: -(-a.astype(np.int64) // b),
    "divi %a, %b unsigned": lambda a, b: (a.view(np.uint32) // b.view(np.uint32)).view(np.int32),
    "remi %a, %b signed": np.fmod,
    "mulhii %a, %b": lambda a, b: (
        (a.view(np.uint32).astype(np.uint64) * b.view(np.uint32).astype(np.uint64)) >> np.uint64(32)
    ).astype(np.uint32),
}


@pytest.mark.parametrize("op", INTEGRAL)
def test_functions_of_two_integers(op: str) -> None:
    with np.errstate(all="ignore"):
        expected = INTEGRAL[op](INTEGERS, DIVISORS).astype(np.int64).astype(np.int32)
    assert np.array_equal(computed(f"%r = {op} : tile<Nxi32>", "i32", INTEGERS, DIVISORS), expected)


def test_shifts_and_conversions() -> None:
    amounts = np.array([0, 1, 2, 3, 4, 5, 31, 8], np.int32)
    left = computed("%r = shli %a, %b : tile<Nxi32>", "i32", INTEGERS, amounts)
    assert np.array_equal(left, (INTEGERS.astype(np.int64) << amounts).astype(np.int32))
    right = computed("%r = shri %a, %b unsigned : tile<Nxi32>", "i32", INTEGERS, amounts)
    assert np.array_equal(right.view(np.uint32), INTEGERS.view(np.uint32) >> amounts.astype(np.uint32))
    wide = computed("%r = exti %a unsigned : tile<Nxi32> -> tile<Nxi64>", "i64", INTEGERS)
    assert np.array_equal(wide, INTEGERS.view(np.uint32).astype(np.int64))
    narrow = computed("%r = trunci %a : tile<Nxi32> -> tile<Nxi8>", "i8", INTEGERS)
    assert np.array_equal(narrow, INTEGERS.astype(np.int8))
    floats = computed("%r = itof %a signed : tile<Nxi32> -> tile<Nxf32>", "f32", INTEGERS)
    assert np.array_equal(floats, INTEGERS.astype(np.float32))
    whole = computed("%r = ftoi %a signed : tile<Nxf32> -> tile<Nxi32>", "i32", FLOATS[:4])
    assert np.array_equal(whole, [0, 0, 1, -2])
    most = computed("%r = ftoi %a signed saturating : tile<Nxf32> -> tile<Nxi32>", "i32", FLOATS)
    assert np.array_equal(most, [0, 0, 1, -2, 3, 2**31 - 1, -(2**31), 0])
    bits = computed("%r = bitcast %a : tile<Nxf32> -> tile<Nxi32>", "i32", FLOATS)
    assert np.array_equal(bits, FLOATS.view(np.int32))


def test_bits_are_packed_from_the_lowest_on() -> None:
    bits = np.array([1, 0, 1, 1, 0, 0, 0, 1] * 2, np.int8)
    there_and_back = "\n".join(
        [
            "%t = trunci %a : tile<Nxi8> -> tile<Nxi1>",
            "%p = pack %t : tile<Nxi1> -> tile<2xi8>",
            "%u = unpack %p : tile<2xi8> -> tile<Nxi1>",
            "%r = exti %u unsigned : tile<Nxi1> -> tile<Nxi8>",
        ]
    )
    assert np.array_equal(computed(there_and_back, "i8", bits), bits)
    packed = "%t = trunci %a : tile<Nxi8> -> tile<Nxi1>\n%p = pack %t : tile<Nxi1> -> tile<2xi8>\n"
    repeated = "%q = reshape %p : tile<2xi8> -> tile<2x1xi8>\n%b = broadcast %q : tile<2x1xi8> -> tile<2x8xi8>\n"
    numbers = computed(f"{packed}{repeated}%r = reshape %b : tile<2x8xi8> -> tile<Nxi8>", "i8", bits)
    assert set(numbers.view(np.uint8).tolist()) == {0b10001101}


def test_tf32_has_ten_bits_behind_the_point() -> None:
    x = np.array([1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-12, np.inf], np.float32)
    body = "%t = ftof %a : tile<Nxf32> -> tile<Nxtf32>\n%r = ftof %t : tile<Nxtf32> -> tile<Nxf32>"
    assert np.array_equal(computed(body, "f32", x), np.array([1, 1 + 2**-9, 1, np.inf], np.float32))


def test_comparisons_with_nan() -> None:
    def holds(word: str) -> list[int]:
        body = f"%c = cmpf {word} %a, %b : tile<Nxf32> -> tile<Nxi1>\n%r = exti %c unsigned : tile<Nxi1> -> tile<Nxi32>"
        return computed(body, "i32", FLOATS, OTHERS).tolist()

    assert holds("less_than ordered") == [0, 0, 0, 1, 0, 0, 0, 0]
    assert holds("less_than unordered") == [0, 0, 1, 1, 0, 0, 0, 1]
    assert holds("not_equal unordered") == [0, 0, 1, 1, 1, 1, 0, 1]


# What is not defined --------------------------------------------------------------------------------------------------

UNDEFINED = {
    "%r = divi %a, %b signed : tile<Nxi32>": "divides by 0",
    "%r = remi %a, %b signed : tile<Nxi32>": "divides by 0",
    "%r = addi %a, %a overflow<no_signed_wrap> : tile<Nxi32>": "overflows, and promises 'no_signed_wrap'",
    "%r = assume bounded<0, ?>, %a : tile<Nxi32>": "assumes #cuda_tile.bounded<0, ?>, which does not hold",
    "%r = assume div_by<8>, %a : tile<Nxi32>": "which does not hold",
    "%r = shli %a, %a : tile<Nxi32>": "shifts by as many bits as the number has",
}


@pytest.mark.parametrize("body", UNDEFINED)
def test_what_is_undefined_stops_the_run(body: str) -> None:
    outcome = computed_to_its_end(body, "i32", INTEGERS, np.zeros(8, np.int32))
    (violation,) = outcome.violations
    assert UNDEFINED[body] in str(violation.parties[0])


# Tokens in a check ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["double", "matmul_f16", "softmax", "controlled", "locked", "gathered", "attention"])
def test_a_check_leaves_kernels_of_open_extents_open(name: str) -> None:
    report = check(read(exported(name, divisor=64)), judge_waits=False)
    assert report.verdict is Verdict.UNDECIDED


def test_keys_that_nothing_pads_are_found() -> None:
    """Tiles of 32 keys: where there are 16 more, scores of none are summed."""
    assert check(read(exported("attention")), judge_waits=False).kinds == ["malformed"]


def test_a_check_says_which_extents_it_has_tried() -> None:
    report = check(read(exported("matmul_f16")), judge_waits=False)
    assert "makes an array whose extents are open: only those of 256 are tried" in str(report)


def test_a_check_does_not_follow_what_other_blocks_meet() -> None:
    assert "meets accesses of other blocks" in str(check(read(exported("locked")), judge_waits=False))


TV = "tensor_view<64xf32, strides=[1]>"
PV = f"partition_view<tile=(16), {TV}>"
LOAD, STORE = f"{PV}, tile<i32> -> tile<16xf32>, token", f"tile<16xf32>, {PV}, tile<i32> -> token"
SMALL = """
cuda_tile.module @m {{
  entry @k(%x: tile<ptr<f32>>) {{
    %turns = constant <i32: 3> : tile<i32>
    %t = make_token : token
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %two = constant <i32: 2> : tile<i32>
    %array = make_tensor_view %x, shape = [64], strides = [1] : {tv}
    %view = make_partition_view %array : {pv}
{body}
    return
  }}
}}
"""


def judged(*lines: str) -> Any:
    body = "\n".join(lines).replace("LOAD", LOAD).replace("STORE", STORE)
    return check(parse(SMALL.format(tv=TV, pv=PV, body=body)), judge_waits=False)


def load(name: str, at: str, token: str) -> str:
    return f"%{name}, %{name}t = load_view_tko weak %view[%{at}] token = %{token} : LOAD"


def store(name: str, value: str, at: str, token: str) -> str:
    return f"%{name} = store_view_tko weak %{value}, %view[%{at}] token = %{token} : STORE"


JOINED = "%j = join_tokens %at, %bt : token"
SAFE = {
    "a store behind its load": [load("a", "zero", "t"), store("s", "a", "zero", "at")],
    "two loads in no order": [load("a", "zero", "t"), load("b", "zero", "t")],
    "tiles apart": [load("a", "zero", "t"), store("s", "a", "one", "t")],
    "behind both": [load("a", "zero", "t"), load("b", "zero", "t"), JOINED, store("s", "a", "zero", "j")],
    "a load behind a store": [load("a", "zero", "t"), store("s", "a", "zero", "at"), load("b", "zero", "s")],
}
RACES = {
    "a store that takes no token of its load": [load("a", "zero", "t"), store("s", "a", "zero", "t")],
    "behind one of two": [load("a", "zero", "t"), load("b", "zero", "t"), store("s", "a", "zero", "at")],
    "two stores": [load("a", "one", "t"), store("s", "a", "zero", "at"), store("u", "a", "zero", "at")],
    "a load that overtakes a store": [
        load("a", "zero", "t"),
        store("s", "a", "zero", "at"),
        load("b", "zero", "at"),
    ],
}


@pytest.mark.parametrize("name", SAFE)
def test_what_tokens_order_is_safe(name: str) -> None:
    report = judged(*SAFE[name])
    assert report.verdict is Verdict.SAFE, str(report)


@pytest.mark.parametrize("name", RACES)
def test_what_no_token_orders_is_a_race(name: str) -> None:
    report = judged(*RACES[name])
    assert report.verdict is Verdict.VIOLATION
    assert report.kinds == ["race"]


LOOP = """
    %last = for %i in (%zero to %turns, step %one) : tile<i32> iter_values(%c = %t) -> (token) {{
      %a, %at = load_view_tko weak %view[%two] token = {before} : LOAD
      %s = store_view_tko weak %a, %view[%two] token = %at : STORE
      continue {after} : token
    }}
"""


def test_a_token_that_a_loop_carries_orders_its_iterations() -> None:
    assert judged(LOOP.format(before="%c", after="%s")).verdict is Verdict.SAFE


@pytest.mark.parametrize(("before", "after"), [("%t", "%s"), ("%c", "%at"), ("%c", "%c")])
def test_a_token_that_a_loop_drops_leaves_a_race(before: str, after: str) -> None:
    assert judged(LOOP.format(before=before, after=after)).kinds == ["race"]


def test_a_loop_bounded_by_an_argument_is_left_open() -> None:
    text = SMALL.format(tv=TV, pv=PV, body=LOOP.format(before="%c", after="%s").replace("%turns", "%n"))
    text = (
        text.replace("LOAD", LOAD).replace("STORE", STORE).replace("tile<ptr<f32>>)", "tile<ptr<f32>>, %n: tile<i32>)")
    )
    assert check(parse(text), judge_waits=False).verdict is Verdict.UNDECIDED
