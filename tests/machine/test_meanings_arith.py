"""
The arithmetic of `arith` against three oracles: Python's integers, exact fractions, and mlir-runner.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from tests.machine.native import Call, Function, call_natively, op_function
from tests.machine.numbers import FORMATS, bits_of, same, value_of, width_of
from tests.machine.support import call, machine_for
from tests.support.ir import parse
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.tiles.numerics import to_float

# Integers against Python's --------------------------------------------------------------------------------------------


def toward_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def upward(a: int, b: int) -> int:
    return -((-a) // b)


SIGNED: dict[str, Callable[[int, int], int]] = {
    "addi": operator.add,
    "subi": operator.sub,
    "muli": operator.mul,
    "andi": operator.and_,
    "ori": operator.or_,
    "xori": operator.xor,
    "divsi": toward_zero,
    "remsi": lambda a, b: a - b * toward_zero(a, b),
    "floordivsi": operator.floordiv,
    "ceildivsi": upward,
    "minsi": min,
    "maxsi": max,
    "shrsi": operator.rshift,
}
UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "divui": operator.floordiv,
    "remui": operator.mod,
    "ceildivui": upward,
    "minui": min,
    "maxui": max,
    "shli": operator.lshift,
    "shrui": operator.rshift,
}
DIVISIONS = {"divsi", "remsi", "floordivsi", "ceildivsi", "divui", "remui", "ceildivui"}
SHIFTS = {"shli", "shrui", "shrsi"}
PREDICATES: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "slt": operator.lt,
    "sle": operator.le,
    "sgt": operator.gt,
    "sge": operator.ge,
    "ult": operator.lt,
    "ule": operator.le,
    "ugt": operator.gt,
    "uge": operator.ge,
}
KINDS = ["i1", "i3", "i4", "i8", "i13", "i16", "i32", "i33", "i64", "i128", "index"]
TENSOR_KINDS = ["i1", "i4", "i8", "i13", "i32", "i64", "index"]


def as_signed(kind: str, bits: int) -> int:
    width = width_of(kind)
    return bits - (1 << width) if bits >> (width - 1) else bits


def expected_integer(op: str, kind: str, a: int, b: int) -> int:
    """The result's bits, from Python's integers of any size."""
    width = width_of(kind)
    if op in SIGNED:
        right = b if op in SHIFTS else as_signed(kind, b)
        return SIGNED[op](as_signed(kind, a), right) % (1 << width)
    return UNSIGNED[op](a, b) % (1 << width)


def tensor_of(kind: str, values: list[int]) -> Any:
    dtype = {1: np.bool_, 4: np.int8, 8: np.int8, 13: np.int16, 32: np.int32, 64: np.int64}[width_of(kind)]
    return np.array([value_of(kind, value) for value in values], dtype)


def elements(kind: str, array: Any) -> list[int]:
    return [bits_of(kind, item) for item in array.tolist()]


@cache
def integer_module() -> ModuleOp:
    """Every integer op at every type, on scalars and on tensors."""
    functions = []
    for op, kind in product([*SIGNED, *UNSIGNED], KINDS):
        functions.append(op_function(f"{op}_{kind}", f"arith.{op} %a, %b : {kind}", [kind, kind], [kind]).text)
        if kind in TENSOR_KINDS:
            tensor = f"tensor<?x{kind}>"
            text = f"arith.{op} %a, %b : {tensor}"
            functions.append(op_function(f"{op}_t{kind}", text, [tensor, tensor], [tensor]).text)
    for predicate, kind in product(PREDICATES, KINDS):
        text = f"arith.cmpi {predicate}, %a, %b : {kind}"
        functions.append(op_function(f"{predicate}_{kind}", text, [kind, kind], ["i1"]).text)
    return parse("".join(functions))


@st.composite
def integer_pairs(draw: st.DrawFn, kinds: list[str]) -> tuple[str, int, int]:
    """A type and two bit patterns of it, the edges of its range among them in numbers."""
    kind = draw(st.sampled_from(kinds))
    width = width_of(kind)
    top = (1 << width) - 1
    edges = sorted({0, 1, top, top >> 1, (top >> 1) + 1, min(2, top)})
    bits = st.one_of(st.sampled_from(edges), st.integers(0, top))
    return kind, draw(bits), draw(bits)


@settings(max_examples=1500, deadline=None, derandomize=True)
@given(op=st.sampled_from([*SIGNED, *UNSIGNED]), pair=integer_pairs(KINDS))
def test_integers_agree_with_pythons(op: str, pair: tuple[str, int, int]) -> None:
    kind, a, b = pair
    if op in DIVISIONS and b == 0:
        return
    if op in SHIFTS:
        b %= width_of(kind)
    result = call(integer_module(), f"{op}_{kind}", value_of(kind, a), value_of(kind, b))
    assert bits_of(kind, result) == expected_integer(op, kind, a, b)


@settings(max_examples=600, deadline=None, derandomize=True)
@given(predicate=st.sampled_from(list(PREDICATES)), pair=integer_pairs(KINDS))
def test_integer_comparisons_agree_with_pythons(predicate: str, pair: tuple[str, int, int]) -> None:
    kind, a, b = pair
    result = call(integer_module(), f"{predicate}_{kind}", value_of(kind, a), value_of(kind, b))
    read = as_signed if predicate.startswith("s") else lambda _kind, bits: bits
    assert bool(result) is PREDICATES[predicate](read(kind, a), read(kind, b))


@pytest.mark.parametrize("op", [*SIGNED, *UNSIGNED])
def test_integer_tensors_are_computed_element_by_element(op: str) -> None:
    generator = random.Random(op)
    for kind in TENSOR_KINDS:
        width = width_of(kind)
        top = (1 << width) - 1
        left = [0, top, top >> 1, (top >> 1) + 1, *(generator.getrandbits(width) for _ in range(20))]
        right = [generator.getrandbits(width) for _ in left]
        if op in DIVISIONS:
            right = [bits or 1 for bits in right]
        if op in SHIFTS:
            right = [bits % width for bits in right]
        result = call(integer_module(), f"{op}_t{kind}", tensor_of(kind, left), tensor_of(kind, right))
        assert isinstance(result, np.ndarray)
        assert result.dtype == tensor_of(kind, left).dtype
        expected = [expected_integer(op, kind, a, b) for a, b in zip(left, right, strict=True)]
        assert elements(kind, result) == expected, kind


@pytest.mark.parametrize("op", sorted(DIVISIONS))
def test_dividing_by_zero_is_refused(op: str) -> None:
    with pytest.raises(UnsupportedError, match=f"arith.{op}.*divides by zero"):
        call(integer_module(), f"{op}_i32", 3, 0)
    with pytest.raises(UnsupportedError, match="divides by zero"):
        call(integer_module(), f"{op}_ti32", tensor_of("i32", [1, 2]), tensor_of("i32", [1, 0]))


@pytest.mark.parametrize("op", sorted(SHIFTS))
def test_shifting_too_far_is_poison(op: str) -> None:
    assert call(integer_module(), f"{op}_i8", -1, 8) == 0
    assert call(integer_module(), f"{op}_i8", -1, -1) == 0
    assert call(integer_module(), f"{op}_i8", -1, 8, machine=machine_for(with_data=False)) is UNKNOWN
    array = call(integer_module(), f"{op}_ti8", tensor_of("i8", [0xFF, 0xFF]), tensor_of("i8", [8, 0]))
    assert array.tolist() == [0, -1]


def test_an_overflowing_signed_quotient_wraps() -> None:
    assert call(integer_module(), "divsi_i8", -128, -1) == -128
    assert call(integer_module(), "remsi_i8", -128, -1) == 0
    lowest = tensor_of("i64", [1 << 63])
    minus = tensor_of("i64", [(1 << 64) - 1])
    assert call(integer_module(), "divsi_ti64", lowest, minus).tolist() == [-(1 << 63)]


EXTENDED = ["addui_extended", "mului_extended", "mulsi_extended"]


@pytest.mark.parametrize(("op", "kind"), list(product(EXTENDED, ["i1", "i8", "i13", "i32", "i64"])))
def test_extended_arithmetic_keeps_every_bit(op: str, kind: str) -> None:
    width = width_of(kind)
    if op == "addui_extended":
        text, high = f"arith.{op} %a, %b : {kind}, i1", "i1"
    else:
        text, high = f"arith.{op} %a, %b : {kind}", kind
    module = parse(op_function("f", text, [kind, kind], [kind, high]).text)
    generator = random.Random(op + kind)
    for _ in range(50):
        a, b = generator.getrandbits(width), generator.getrandbits(width)
        low_part, high_part = call(module, "f", value_of(kind, a), value_of(kind, b))
        read = as_signed if op == "mulsi_extended" else lambda _kind, bits: bits
        x, y = read(kind, a), read(kind, b)
        total = x + y if op == "addui_extended" else x * y
        assert bits_of(kind, low_part) == total % (1 << width)
        assert bits_of(high, high_part) == (total >> width) % (1 << width_of(high))


@pytest.mark.parametrize("kind", ["i8", "i64"])
def test_extended_arithmetic_on_tensors(kind: str) -> None:
    tensor, flags = f"tensor<?x{kind}>", "tensor<?xi1>"
    add = op_function("f", f"arith.addui_extended %a, %b : {tensor}, {flags}", [tensor] * 2, [tensor, flags])
    multiply = op_function("g", f"arith.mulsi_extended %a, %b : {tensor}", [tensor] * 2, [tensor] * 2)
    module = parse(add.text + multiply.text)
    width = width_of(kind)
    left, right = [(1 << width) - 1, 5, 1 << (width - 1)], [1, 7, 1 << (width - 1)]
    arrays = tensor_of(kind, left), tensor_of(kind, right)
    totals, carries = call(module, "f", *arrays)
    assert elements(kind, totals) == [(a + b) % (1 << width) for a, b in zip(left, right, strict=True)]
    assert carries.tolist() == [a + b >= 1 << width for a, b in zip(left, right, strict=True)]
    low, high = call(module, "g", *arrays)
    products = [as_signed(kind, a) * as_signed(kind, b) for a, b in zip(left, right, strict=True)]
    assert elements(kind, low) == [p % (1 << width) for p in products]
    assert elements(kind, high) == [(p >> width) % (1 << width) for p in products]


@pytest.mark.parametrize(
    ("op", "source", "target", "bits", "expected"),
    [
        ("trunci", "i32", "i8", 0xFFFFFF80, 0x80),
        ("trunci", "i8", "i1", 3, 1),
        ("trunci", "i128", "i64", (1 << 64) + 5, 5),
        ("extsi", "i8", "i32", 0x80, 0xFFFFFF80),
        ("extsi", "i1", "i8", 1, 0xFF),
        ("extsi", "i13", "i64", 0x1FFF, (1 << 64) - 1),
        ("extui", "i8", "i32", 0x80, 0x80),
        ("extui", "i1", "i8", 1, 1),
        ("extui", "i64", "i128", (1 << 64) - 1, (1 << 64) - 1),
        ("index_cast", "i32", "index", 0xFFFFFFFF, (1 << 64) - 1),
        ("index_cast", "index", "i32", (1 << 32) + 7, 7),
        ("index_cast", "i1", "index", 1, (1 << 64) - 1),
    ],
)
def test_integers_change_their_width(op: str, source: str, target: str, bits: int, expected: int) -> None:
    text = op_function("f", f"arith.{op} %a : {source} to {target}", [source], [target]).text
    assert bits_of(target, call(text, "f", value_of(source, bits))) == expected


# Floats against fractions ---------------------------------------------------------------------------------------------

EXACT: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "addf": operator.add,
    "subf": operator.sub,
    "mulf": operator.mul,
    "divf": operator.truediv,
}


@cache
def float_module() -> ModuleOp:
    functions = []
    for op, kind in product([*EXACT, "maximumf", "minimumf", "maxnumf", "minnumf"], FORMATS):
        for name, text in ((kind, kind), (f"t{kind}", f"tensor<?x{kind}>")):
            functions.append(op_function(f"{op}_{name}", f"arith.{op} %a, %b : {text}", [text, text], [text]).text)
    return parse("".join(functions))


@pytest.mark.parametrize(("op", "kind"), list(product(EXACT, FORMATS)))
def test_float_arithmetic_rounds_once(op: str, kind: str) -> None:
    generator = random.Random(op + kind)
    form = FORMATS[kind]
    checked = 0
    lefts, rights, results = [], [], []
    for _ in range(400):
        a = generator.getrandbits(form.width)
        # Half of the pairs have close exponents: that is where rounding shows.
        near = (a & ~form.sign) + generator.randint(-4, 4) * (1 << form.mantissa) + generator.getrandbits(form.mantissa)
        b = near % form.infinity if generator.random() < 0.5 else generator.getrandbits(form.width)
        if not form.is_finite(a) or not form.is_finite(b) or (op == "divf" and form.decode(b) == 0):
            continue
        exact = EXACT[op](form.decode(a), form.decode(b))
        result = bits_of(kind, call(float_module(), f"{op}_{kind}", form.value(a), form.value(b)))
        lefts.append(form.value(a))
        rights.append(form.value(b))
        results.append(result)
        if exact:
            assert result == form.encode(exact), (hex(a), hex(b))
            checked += 1
    assert checked > 200
    arrays = [np.array(side, form.dtype) for side in (lefts, rights)]
    found = call(float_module(), f"{op}_t{kind}", *arrays)
    assert found.dtype == form.dtype
    assert [form.bits(item) for item in found] == results


@pytest.mark.parametrize("kind", FORMATS)
def test_maxima_and_minima_at_zeros_and_nans(kind: str) -> None:
    form = FORMATS[kind]
    zero, minus_zero, one, nan = (form.value(bits) for bits in (0, form.sign, form.bits(1.0), form.edges[-1]))

    def result(op: str, a: Any, b: Any) -> int:
        scalar = bits_of(kind, call(float_module(), f"{op}_{kind}", a, b))
        array = call(float_module(), f"{op}_t{kind}", np.array([a], form.dtype), np.array([b], form.dtype))
        assert same(kind, scalar, form.bits(array[0]))
        return scalar

    for a, b in ((zero, minus_zero), (minus_zero, zero)):
        assert result("maximumf", a, b) == 0
        assert result("minimumf", a, b) == form.sign
    assert result("maximumf", minus_zero, minus_zero) == form.sign
    assert result("minimumf", zero, zero) == 0
    for a, b in ((one, nan), (nan, one)):
        assert form.is_nan(result("maximumf", a, b))
        assert form.is_nan(result("minimumf", a, b))
        assert result("maxnumf", a, b) == result("minnumf", a, b) == form.bits(1.0)


@pytest.mark.parametrize(("source", "target"), [("f64", kind) for kind in FORMATS] + [("f32", "bf16"), ("f32", "f16")])
def test_narrowing_floats_rounds_once(source: str, target: str) -> None:
    """Near ties of the target: where rounding through a type in between goes wrong."""
    if source == target:
        return
    narrow, wide = FORMATS[target], FORMATS[source]
    module = parse(op_function("f", f"arith.truncf %a : {source} to {target}", [source], [target]).text)
    generator = random.Random(source + target)
    checked = 0
    for _ in range(300):
        low = generator.randrange(narrow.infinity - 1)
        tie = (narrow.decode(low) + narrow.decode(low + 1)) / 2
        bits = wide.encode(tie) + generator.choice([-1, 0, 1])
        if wide.is_finite(bits) and bits >= 0:
            result = bits_of(target, call(module, "f", wide.value(bits)))
            assert result == narrow.encode(wide.decode(bits)), hex(bits)
            checked += 1
    assert checked > 250


SMALL_FLOATS = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3", "float8_e3m4", "float6_e2m3fn", "float4_e2m1fn"]


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_small_floats_are_the_nearest_of_all(name: str) -> None:
    """Against a search among all values of the type; ties go to the even mantissa."""
    dtype = np.dtype(getattr(ml_dtypes, name))
    width = {"float8": 8, "float6": 6, "float4": 4}[name.partition("_")[0]]
    codes = np.arange(1 << (width - 1), dtype=np.uint8).view(dtype)
    finite = [(Fraction(float(value)), code) for code, value in enumerate(codes) if np.isfinite(float(value))]
    greatest = finite[-1][0]
    generator = random.Random(name)
    for _ in range(300):
        number = generator.choice([generator.uniform(0, float(greatest)), float(generator.choice(finite)[0]) / 2])
        lower, upper = generator.sample(finite, 2)
        for wide in (number, float((lower[0] + upper[0]) / 2), float(Fraction(number) + Fraction(1, 1 << 45))):
            exact = Fraction(wide)
            if exact > greatest:
                continue
            _, _, code = min((abs(exact - value), code & 1, code) for value, code in finite)
            assert int(np.asarray(to_float(np.float64(wide), dtype)).view(np.uint8)) == code, wide


@pytest.mark.parametrize(("op", "source", "target"), list(product(["sitofp", "uitofp"], ["i1", "i16", "i64"], FORMATS)))
def test_integers_become_the_nearest_floats(op: str, source: str, target: str) -> None:
    form = FORMATS[target]
    module = parse(op_function("f", f"arith.{op} %a : {source} to {target}", [source], [target]).text)
    width = width_of(source)
    generator = random.Random(op + source + target)
    tie = (1 << 60) + (1 << 36) + 1  # a tie of f32 but for the last bit, which f64 has no room for
    for bits in [0, 1, (1 << width) - 1, 1 << (width - 1), tie, *(generator.getrandbits(width) for _ in range(100))]:
        bits %= 1 << width
        number = as_signed(source, bits) if op == "sitofp" else bits
        result = bits_of(target, call(module, "f", value_of(source, bits)))
        assert result == form.encode(Fraction(number)), number


@pytest.mark.parametrize(("op", "source", "target"), list(product(["fptosi", "fptoui"], FORMATS, ["i1", "i8", "i64"])))
def test_floats_become_integers_towards_zero(op: str, source: str, target: str) -> None:
    form = FORMATS[source]
    module = parse(op_function("f", f"arith.{op} %a : {source} to {target}", [source], [target]).text)
    width = width_of(target)
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if op == "fptosi" else (0, (1 << width) - 1)
    generator = random.Random(op + source + target)
    numbers = [form.encode(Fraction(generator.randint(4 * low, 4 * high), 4)) for _ in range(100)]
    for bits in [*form.edges, *numbers]:
        result = bits_of(target, call(module, "f", form.value(bits)))
        whole = int(form.decode(bits)) if form.is_finite(bits) else None
        fits = whole is not None and low <= whole <= high
        assert result == (whole % (1 << width) if fits and whole is not None else 0), hex(bits)
        if not fits:
            checking = machine_for(with_data=False)
            assert call(module, "f", form.value(bits), machine=checking) is UNKNOWN


@pytest.mark.parametrize(
    ("source", "target", "bits"),
    [
        ("f32", "i32", 0x80000001),
        ("i32", "f32", 0x7F800000),
        ("f16", "bf16", 0x3C01),
        ("i64", "f64", 1 << 63),
        ("bf16", "i16", 0xFFFF),
        ("i16", "i16", 0x8000),
        ("index", "i64", 1 << 63),
        ("i1", "i1", 1),
    ],
)
def test_bitcasts_keep_the_bits(source: str, target: str, bits: int) -> None:
    text = op_function("f", f"arith.bitcast %a : {source} to {target}", [source], [target]).text
    assert bits_of(target, call(text, "f", value_of(source, bits))) == bits


def test_bitcasts_of_tensors_and_memrefs() -> None:
    text = (
        "func.func @f(%a: tensor<2xf32>) -> (tensor<2xi32>) {\n  %r = arith.bitcast %a : tensor<2xf32> to tensor<2xi32>"
    )
    result = call(text + "\n  func.return %r : tensor<2xi32>\n}", "f", np.array([1.0, -0.0], np.float32))
    assert result.tolist() == [0x3F800000, -(1 << 31)]
    text = """
    func.func @f(%x: f32) -> (i32) {
      %m = memref.alloc() : memref<f32>
      memref.store %x, %m[] : memref<f32>
      %i = arith.bitcast %m : memref<f32> to memref<i32>
      %r = memref.load %i[] : memref<i32>
      func.return %r : i32
    }"""
    assert call(text, "f", np.float32(1)) == 0x3F800000


# Constants and selection ----------------------------------------------------------------------------------------------


def constant(text: str, **options: Any) -> Any:
    kind = text.rpartition(" : ")[2] if " : " in text else "i1"
    module = f"func.func @f() -> ({kind}) {{\n  %r = arith.constant {text}\n  func.return %r : {kind}\n}}"
    return call(module, "f", machine=machine_for(**options))


def test_scalar_constants() -> None:
    assert constant("true") == 1
    assert constant("200 : i8") == -56
    assert constant("-1 : index") == -1
    number = constant("0.1 : f32")
    assert isinstance(number, np.float32)
    assert number == np.float32(0.1)
    assert FORMATS["bf16"].bits(constant("0.1 : bf16")) == 0x3DCD
    assert FORMATS["f64"].bits(constant("0x7FF0000000000000 : f64")) == FORMATS["f64"].infinity


def test_dense_constants() -> None:
    array = constant("dense<[[1, 2], [3, -4]]> : tensor<2x2xi8>")
    assert array.dtype == np.int8
    assert array.tolist() == [[1, 2], [3, -4]]
    assert constant("dense<true> : tensor<3xi1>").tolist() == [True] * 3
    assert constant("dense<-1> : tensor<2xi4>").tolist() == [-1, -1]
    assert constant("dense<1.5> : vector<2xbf16>").dtype == FORMATS["bf16"].dtype
    assert constant("dense<7> : tensor<i64>").shape == ()
    assert constant("dense<[1.5]> : tensor<1xf16>").tolist() == [1.5]
    assert not array.flags.writeable
    assert constant("dense<0> : tensor<2xi8>", with_data=False) is UNKNOWN
    assert constant("3 : i8", with_data=False) == 3


def test_selection() -> None:
    text = """
    func.func @f(%c: i1, %x: f32, %y: f32) -> (f32) {
      %r = arith.select %c, %x, %y : f32
      func.return %r : f32
    }"""
    assert call(text, "f", 1, np.float32(2), np.float32(3)) == 2
    assert call(text, "f", 0, np.float32(2), np.float32(3)) == 3
    checking = machine_for(with_data=False)
    assert call(text, "f", UNKNOWN, np.float32(2), np.float32(3), machine=checking) is UNKNOWN


def test_unknown_operands_give_unknown_results() -> None:
    for machine in (machine_for(), machine_for(with_data=False)):
        assert call(integer_module(), "addi_i32", UNKNOWN, 1, machine=machine) is UNKNOWN


def test_quiet_floats() -> None:
    """Overflow, division by zero and NaN are results; Python's warnings would fail this test."""
    f32 = FORMATS["f32"]
    huge, zero = f32.value(f32.infinity - 1), f32.value(0)
    assert bits_of("f32", call(float_module(), "mulf_f32", huge, huge)) == f32.infinity
    assert bits_of("f32", call(float_module(), "divf_f32", huge, zero)) == f32.infinity
    assert f32.is_nan(bits_of("f32", call(float_module(), "divf_f32", zero, zero)))
    array = np.array([huge, zero])
    assert np.isinf(call(float_module(), "mulf_tf32", array, array)[0])


# Everything against mlir-runner ---------------------------------------------------------------------------------------


def native_functions() -> list[Function]:
    """Ops whose results LLVM defines for all arguments that `argument_pairs` makes."""
    functions: list[Function] = []
    for op, kind in product([*SIGNED, *UNSIGNED], ["i8", "i32", "i64", "index"]):
        functions.append(op_function(f"{op}_{kind}", f"arith.{op} %a, %b : {kind}", [kind] * 2, [kind]))
    for predicate, kind in product(PREDICATES, ["i8", "i64"]):
        functions.append(
            op_function(f"{predicate}_{kind}", f"arith.cmpi {predicate}, %a, %b : {kind}", [kind] * 2, ["i1"])
        )
    for op, kind in product(["mului_extended", "mulsi_extended"], ["i8", "i32"]):
        functions.append(op_function(f"{op}_{kind}", f"arith.{op} %a, %b : {kind}", [kind] * 2, [kind] * 2))
    for op, kind in product([*EXACT, "maximumf", "minimumf", "maxnumf", "minnumf"], ["f32", "f64"]):
        functions.append(op_function(f"{op}_{kind}", f"arith.{op} %a, %b : {kind}", [kind] * 2, [kind]))
    for predicate, kind in product(FLOAT_PREDICATES, ["f32", "bf16"]):
        functions.append(
            op_function(f"{predicate}_{kind}", f"arith.cmpf {predicate}, %a, %b : {kind}", [kind] * 2, ["i1"])
        )
    for op, source, target in NATIVE_CASTS:
        functions.append(
            op_function(f"{op}_{source}_{target}", f"arith.{op} %a : {source} to {target}", [source], [target])
        )
    for kind in ("f32", "f64", "f16"):
        functions.append(op_function(f"negf_{kind}", f"arith.negf %a : {kind}", [kind], [kind]))
    return functions


FLOAT_PREDICATES = ["false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"]
FLOAT_PREDICATES += ["ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"]
NATIVE_CASTS = [
    ("trunci", "i32", "i8"),
    ("extsi", "i8", "i64"),
    ("extui", "i8", "i64"),
    ("index_cast", "i32", "index"),
    ("index_cast", "index", "i32"),
    ("sitofp", "i64", "f32"),
    ("sitofp", "i64", "f64"),
    ("uitofp", "i32", "f32"),
    ("uitofp", "i64", "f64"),
    ("extf", "f32", "f64"),
    ("extf", "f16", "f32"),
    ("extf", "bf16", "f32"),
    ("truncf", "f64", "f32"),
    ("truncf", "f32", "f16"),
    ("truncf", "f32", "bf16"),
    ("bitcast", "f32", "i32"),
]


def interesting(kind: str, generator: random.Random) -> int:
    width = width_of(kind)
    if kind in FORMATS and generator.random() < 0.6:
        return generator.choice(FORMATS[kind].edges)
    if generator.random() < 0.4:
        top = (1 << width) - 1
        return generator.choice([0, 1, top, top >> 1, (top >> 1) + 1])
    return generator.getrandbits(width)


def is_defined(function: Function, arguments: tuple[int, ...]) -> bool:
    """Whether LLVM says what comes out."""
    op = function.name.partition("_")[0]
    kind = function.arguments[0]
    width = width_of(kind)
    if op in DIVISIONS:
        least, minus_one = 1 << (width - 1), (1 << width) - 1
        return arguments[1] != 0 and arguments != (least, minus_one)
    if op in SHIFTS:
        return arguments[1] < width
    if op in ("maxnumf", "minnumf"):
        return not all(FORMATS[kind].decode(a) == 0 for a in arguments if FORMATS[kind].is_finite(a))
    return True


def test_arithmetic_agrees_with_mlir_runner() -> None:
    generator = random.Random(7)
    calls: list[Call] = []
    functions = native_functions()
    for function in functions:
        while sum(c.function is function for c in calls[-12:]) < 12:
            arguments = tuple(interesting(kind, generator) for kind in function.arguments)
            if is_defined(function, arguments):
                calls.append(Call(function, arguments))
    module = parse("".join(function.text for function in functions))
    for one, expected in zip(calls, call_natively(calls), strict=True):
        function = one.function
        values = [value_of(kind, bits) for kind, bits in zip(function.arguments, one.arguments, strict=True)]
        outcome = call(module, function.name, *values)
        outcomes = outcome if len(function.results) > 1 else (outcome,)
        for kind, value, bits in zip(function.results, outcomes, expected, strict=True):
            assert same(kind, bits_of(kind, value), bits), (
                function.name,
                [hex(a) for a in one.arguments],
                value,
                hex(bits),
            )
