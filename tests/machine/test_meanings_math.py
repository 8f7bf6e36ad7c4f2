"""The functions of `math` against mlir-runner, and `fma` against exact fractions."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.machine.native import Call, Function, call_natively, op_function
from tests.machine.numbers import FORMATS, bits_of, same, spaced, value_of, width_of
from tests.machine.support import call
from tests.support.ir import parse
from tileas_xdsl.machine.core.violations import UnsupportedError

EXACT = ["absf", "ceil", "floor", "round", "roundeven", "sqrt", "trunc"]
"""Functions whose result every implementation has to the bit."""
APPROXIMATE = [
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "erf", "exp", "exp2", "expm1"),
    *("log", "log10", "log1p", "log2", "rsqrt", "sin", "sinh", "tan", "tanh"),
]
BINARY = ["atan2", "copysign", "powf"]
BITS = ["absi", "ctlz", "ctpop", "cttz"]
ULPS = 3
"""How many floats the two may differ by. Neither libm nor LLVM rounds all functions correctly."""


def interesting(kind: str, generator: random.Random) -> int:
    """Edges, all sorts of bits, and numbers of ordinary size, which most functions are for."""
    width = width_of(kind)
    if kind not in FORMATS:
        return generator.choice([0, 1, (1 << width) - 1, 1 << (width - 1), generator.getrandbits(width)])
    form = FORMATS[kind]
    draw = generator.random()
    if draw < 0.3:
        return generator.choice(form.edges)
    if draw < 0.4:
        return generator.getrandbits(width)
    return form.encode(Fraction(generator.uniform(-4, 4)))


def functions_of_one_argument() -> list[Function]:
    kinds = ["f32", "f64"]
    found = [
        op_function(f"{op}_{kind}", f"math.{op} %a : {kind}", [kind], [kind])
        for op, kind in product([*EXACT, *APPROXIMATE], kinds)
    ]
    return found + [
        op_function(f"{op}_{kind}", f"math.{op} %a : {kind}", [kind], [kind])
        for op, kind in product(BITS, ["i8", "i32", "i64"])
    ]


def functions_of_several_arguments() -> list[Function]:
    found = [
        op_function(f"{op}_{kind}", f"math.{op} %a, %b : {kind}", [kind] * 2, [kind])
        for op, kind in product(BINARY, ["f32", "f64"])
    ]
    found += [
        op_function(f"fma_{kind}", f"math.fma %a, %b, %c : {kind}", [kind] * 3, [kind]) for kind in ("f32", "f64")
    ]
    found += [op_function(f"ipowi_{kind}", f"math.ipowi %a, %b : {kind}", [kind] * 2, [kind]) for kind in ("i8", "i32")]
    return found


def is_defined(function: Function, arguments: tuple[int, ...]) -> bool:
    if function.name.startswith("expm1"):
        # LLVM computes exp(x) - 1, which says little about small numbers.
        form = FORMATS[function.arguments[0]]
        return not form.is_finite(arguments[0]) or abs(form.decode(arguments[0])) > 1
    if not function.name.startswith("ipowi"):
        return True
    exponent = value_of(function.arguments[1], arguments[1])
    # A negative power of zero divides by zero; a huge one takes the native loop forever.
    return abs(exponent) < 1000 and not (arguments[0] == 0 and exponent < 0)


def tolerance(function: Function) -> int:
    op = function.name.partition("_")[0]
    return ULPS if op in APPROXIMATE or op in ("atan2", "powf") else 0


@pytest.mark.parametrize("functions", [functions_of_one_argument(), functions_of_several_arguments()], ids=["1", "2"])
def test_functions_agree_with_mlir_runner(functions: list[Function]) -> None:
    generator = random.Random(11)
    calls: list[Call] = []
    for function in functions:
        argument_lists = (tuple(interesting(k, generator) for k in function.arguments) for _ in range(1000))
        defined = [arguments for arguments in argument_lists if is_defined(function, arguments)]
        calls += [Call(function, arguments) for arguments in defined[:20]]
    module = parse("".join(function.text for function in functions))
    for one, (expected,) in zip(calls, call_natively(calls), strict=True):
        kind = one.function.results[0]
        values = [value_of(k, bits) for k, bits in zip(one.function.arguments, one.arguments, strict=True)]
        result = bits_of(kind, call(module, one.function.name, *values))
        described = (one.function.name, values, value_of(kind, result), value_of(kind, expected))
        if kind in FORMATS:
            assert spaced(kind, result, expected) <= tolerance(one.function), described
        else:
            assert same(kind, result, expected), described


@pytest.mark.parametrize("kind", FORMATS)
def test_fma_rounds_once(kind: str) -> None:
    """Many of the sums cancel, or lie near a tie: there a rounded product shows."""
    form = FORMATS[kind]
    tensor = f"tensor<?x{kind}>"
    functions = [
        op_function(name, f"math.fma %a, %b, %c : {text}", [text] * 3, [text])
        for name, text in (("f", kind), ("g", tensor))
    ]
    module = parse("".join(function.text for function in functions))
    generator = random.Random(kind)
    triples: list[list[int]] = []
    while len(triples) < 300:
        a, b = generator.getrandbits(form.width), generator.getrandbits(form.width)
        if not (form.is_finite(a) and form.is_finite(b)):
            continue
        product_bits = form.encode(-form.decode(a) * form.decode(b))
        ties = form.encode(form.decode(a) * form.decode(b) * Fraction(generator.choice([1, 3, 5]), 1 << form.mantissa))
        c = generator.choice([product_bits, ties, generator.getrandbits(form.width)])
        if form.is_finite(c):
            triples.append([a, b, c])
    results = [bits_of(kind, call(module, "f", *map(form.value, triple))) for triple in triples]
    for (a, b, c), result in zip(triples, results, strict=True):
        exact = form.decode(a) * form.decode(b) + form.decode(c)
        assert (result & ~form.sign if exact == 0 else result) == form.encode(exact), (hex(a), hex(b), hex(c))
    columns = [np.array([form.value(bits) for bits in column], form.dtype) for column in zip(*triples, strict=True)]
    array = call(module, "g", *columns)
    assert array.dtype == form.dtype
    assert [form.bits(item) for item in array] == results


def test_fma_of_numbers_that_are_not_finite() -> None:
    form = FORMATS["f64"]
    module = parse(op_function("f", "math.fma %a, %b, %c : f64", ["f64"] * 3, ["f64"]).text)
    huge, infinite = form.value(form.infinity - 1), form.value(form.infinity)
    assert call(module, "f", huge, huge, form.value(0)) == infinite
    assert call(module, "f", huge, -huge, form.value(0)) == -infinite
    assert np.isnan(call(module, "f", infinite, form.value(0), huge))
    assert call(module, "f", huge, huge, -infinite) == -infinite


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32"])
def test_functions_of_narrow_floats_are_nearest(kind: str) -> None:
    """f64's result is some 30 bits closer than these types can tell, so its rounding is the nearest float."""
    form = FORMATS[kind]
    functions = [op_function(op, f"math.{op} %a : {kind}", [kind], [kind]) for op in ("exp", "tanh", "log", "rsqrt")]
    module = parse("".join(function.text for function in functions))
    exact: dict[str, Any] = {"exp": np.exp, "tanh": np.tanh, "log": np.log, "rsqrt": lambda x: x**-0.5}
    generator = random.Random(kind)
    for op, _ in product(exact, range(50)):
        bits = form.encode(Fraction(generator.uniform(0.01, 5)))
        wide = float(form.decode(bits))
        expected = form.encode(Fraction(float(exact[op](np.float64(wide)))))
        assert bits_of(kind, call(module, op, form.value(bits))) == expected, (op, wide)


def test_expm1_of_small_numbers() -> None:
    """Against the first terms of its series."""
    for kind in ("f32", "f64"):
        form = FORMATS[kind]
        module = parse(op_function("f", f"math.expm1 %a : {kind}", [kind], [kind]).text)
        for exponent in range(-60, -10):
            x = Fraction(3, 2) * Fraction(2) ** exponent
            series = x + x**2 / 2 + x**3 / 6 + x**4 / 24 + x**5 / 120
            result = bits_of(kind, call(module, "f", form.value(form.encode(x))))
            assert spaced(kind, result, form.encode(series)) <= 1


def test_functions_take_tensors_element_by_element() -> None:
    cases = [(op, 1, "f32") for op in [*EXACT, *APPROXIMATE]] + [(op, 2, "f32") for op in BINARY]
    cases += [(op, 1, "i16") for op in BITS] + [("ipowi", 2, "i16")]
    generator = random.Random(3)
    for op, count, kind in cases:
        names = ", ".join(["%a", "%b"][:count])
        tensor = f"tensor<?x{kind}>"
        scalar = op_function("f", f"math.{op} {names} : {kind}", [kind] * count, [kind])
        array = op_function("g", f"math.{op} {names} : {tensor}", [tensor] * count, [tensor])
        module = parse(scalar.text + array.text)
        dtype = FORMATS[kind].dtype if kind in FORMATS else np.dtype(np.int16)
        columns = [[value_of(kind, interesting(kind, generator)) for _ in range(20)] for _ in range(count)]
        if op == "ipowi":
            columns[1] = [generator.randrange(6) for _ in columns[1]]
        found = call(module, "g", *(np.array(column, dtype) for column in columns))
        assert found.dtype == dtype
        expected = [bits_of(kind, call(module, "f", *row)) for row in zip(*columns, strict=True)]
        items = found if kind in FORMATS else found.tolist()
        assert all(same(kind, bits_of(kind, x), y) for x, y in zip(items, expected, strict=True)), op


def test_integer_powers() -> None:
    module = parse(op_function("f", "math.ipowi %a, %b : i8", ["i8"] * 2, ["i8"]).text)
    assert call(module, "f", 3, 5) == 243 - 256
    assert call(module, "f", -1, -3) == -1
    assert call(module, "f", -1, -2) == 1
    assert call(module, "f", 5, -1) == 0
    assert call(module, "f", 0, 0) == 1
    with pytest.raises(UnsupportedError, match=r"math.ipowi.*zero to a negative power"):
        call(module, "f", 0, -1)


def test_powers_with_integer_exponents() -> None:
    module = parse(op_function("f", "math.fpowi %a, %b : f32, i32", ["f32", "i32"], ["f32"]).text)
    assert call(module, "f", np.float32(1.5), 3) == np.float32(3.375)
    assert call(module, "f", np.float32(2), -2) == np.float32(0.25)
    assert call(module, "f", np.float32(-2), 3) == np.float32(-8)


def test_an_approximate_power_of_two_is_no_subnormal_number() -> None:
    """`ex2.approx.ftz` is the instruction for it (PTX ISA, "ex2")."""
    exact = parse(op_function("f", "math.exp2 %a : f32", ["f32"], ["f32"]).text)
    rough = parse(op_function("f", "math.exp2 %a fastmath<afn> : f32", ["f32"], ["f32"]).text)
    given = np.array([-130, -127, -126, -1, 3], np.float32)
    assert [call(rough, "f", x) for x in given] == [0, 0, 2.0**-126, 0.5, 8]
    assert [call(exact, "f", x) for x in given] == [2.0**-130, 2.0**-127, 2.0**-126, 0.5, 8]
