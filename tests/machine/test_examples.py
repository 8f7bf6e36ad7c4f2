"""
The examples compute what they say, whatever the order in which asynchronous work is performed, and are found safe.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.machine.tile_programs import ORDERS, assert_no_violations
from tests.support.ir import ROOT, parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.running import Outcome, run

TRIP_COUNTS = (0, 1, 2, 3, 7)

Expectation = Callable[[Outcome], None]
Case = tuple[dict[str, Any], Expectation]
"""Arguments, and what must hold of the outcome."""


@cache
def example(name: str) -> ModuleOp:
    path = ROOT / "examples" / name
    return parse(path.read_text(), name=str(path))


def product(n: int) -> Case:
    """Small integers: sums in f32 are exact, so equal means equal."""
    generator = np.random.default_rng(n)
    a = generator.integers(-3, 4, (128, 64 * n)).astype(np.float16)
    b = generator.integers(-3, 4, (64 * n, 128)).astype(np.float16)

    def verify(outcome: Outcome) -> None:
        expected = a.astype(np.float32) @ b.astype(np.float32)
        assert n == 0 or expected.any()
        assert np.array_equal(outcome.arrays["c"], expected)

    return {"a": a, "b": b, "c": np.full((128, 128), 5.0), "n": n}, verify


def attention(n: int) -> Case:
    """Weights go through f16 before the second product; without keys there is nothing to divide by."""
    generator = np.random.default_rng(n)
    q = generator.normal(size=(64, 64)).astype(np.float16)
    k = generator.normal(size=(64 * n, 64)).astype(np.float16)
    v = generator.normal(size=(64 * n, 64)).astype(np.float16)

    def verify(outcome: Outcome) -> None:
        result = outcome.arrays["o"]
        if n == 0:
            assert np.isnan(result).all()
            return
        scores = q.astype(np.float64) @ k.astype(np.float64).T / 8
        weights = np.exp(scores - scores.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
        np.testing.assert_allclose(result, weights @ v.astype(np.float64), rtol=0, atol=1e-3)

    return {"q": q, "kt": np.ascontiguousarray(k.T), "v": v, "o": np.zeros((64, 64)), "n": n}, verify


def doubled_rows(n: int) -> Case:
    rows = np.random.default_rng(n).integers(-9, 10, (n, 8)).astype(np.float32)

    def verify(outcome: Outcome) -> None:
        assert np.array_equal(outcome.arrays["out"], 2 * rows)

    return {"src": rows, "out": np.full((n, 8), 5.0), "n": n}, verify


def sum_of_rows(n: int) -> Case:
    rows = np.random.default_rng(n).integers(-9, 10, (n, 16)).astype(np.float32)

    def verify(outcome: Outcome) -> None:
        assert np.array_equal(outcome.arrays["totals"], rows.sum(1))
        assert outcome.results == (rows.sum(),)

    return {"rows": rows, "totals": np.full(n, 5.0), "n": n}, verify


def dots_and_bias(n: int) -> Case:
    generator = np.random.default_rng(n)
    a, b, c, bias = (generator.integers(-4, 5, shape).astype(np.float32) for shape in ((8, 4), (4, 8), (4, 8), (8,)))

    def verify(outcome: Outcome) -> None:
        assert np.array_equal(outcome.results[0], a @ b + a @ c + bias)

    return {"a": a, "b": b, "c": c, "bias": bias}, verify


def doubled_numbers(n: int) -> Case:
    numbers = np.random.default_rng(n).integers(-9, 10, 66).astype(np.float32)

    def verify(outcome: Outcome) -> None:
        result = outcome.arrays["out"]
        assert np.array_equal(result[:n], 2 * numbers[:n])
        assert np.all(result[n:] == 5)

    return {"src": numbers, "out": np.full(64, 5.0, np.float32), "n": n}, verify


EXAMPLES: dict[tuple[str, str], Callable[[int], Case]] = {
    ("gemm_loop.mlir", "gemm"): product,
    ("gemm_queue.mlir", "gemm"): product,
    ("attention_queue.mlir", "attention"): attention,
    ("cp_async_ring.mlir", "scale"): doubled_rows,
    ("cp_async_ring.mlir", "double_buffered"): doubled_rows,
    ("async_tasks.mlir", "sum"): sum_of_rows,
    ("four_ways_counts.mlir", "double"): doubled_numbers,
    ("four_ways_tokens.mlir", "double"): doubled_numbers,
    ("four_ways_marks.mlir", "double"): doubled_numbers,
    ("four_ways_phases.mlir", "double"): doubled_numbers,
    ("async_regions.mlir", "dots"): dots_and_bias,
}

each_example = pytest.mark.parametrize(
    ("file", "function", "make"),
    [(file, function, make) for (file, function), make in EXAMPLES.items()],
    ids=[f"{file.removesuffix('.mlir')}-{function}" for file, function in EXAMPLES],
)


@pytest.mark.parametrize("n", TRIP_COUNTS)
@each_example
def test_example_computes_the_same_in_every_order(
    file: str, function: str, make: Callable[[int], Case], n: int
) -> None:
    arguments, verify = make(n)
    for order, seed in ORDERS:
        outcome = run(example(file), function, arguments, order=order, seed=seed)
        assert_no_violations(outcome)
        verify(outcome)


@each_example
def test_example_is_safe(file: str, function: str, make: Callable[[int], Case]) -> None:
    report = check(example(file), function)
    assert report.verdict is Verdict.SAFE, str(report)


FILES = sorted(path.name for path in (ROOT / "examples").glob("*.mlir"))


@pytest.mark.parametrize("file", [file for file in FILES if "_race" not in file])
def test_every_right_example_is_proved_for_every_trip_count(file: str) -> None:
    report = check(example(file))
    assert report.is_proved
    assert report.verdict_line.startswith("safe for every trip count"), str(report)


@pytest.mark.parametrize("file", [file for file in FILES if "_race" in file])
def test_every_wrong_example_is_found(file: str) -> None:
    assert check(example(file)).verdict is Verdict.VIOLATION


MUTANTS: dict[str, tuple[str, str, str, str, str]] = {
    "a count that is one too high": (
        "cp_async_ring.mlir",
        "scale",
        "async_queue.wait 0, 2",
        "async_queue.wait 0, 3",
        "race",
    ),
    "two slots where three are used": (
        "cp_async_ring.mlir",
        "scale",
        "%c3 = arith.constant 3",
        "%c3 = arith.constant 2",
        "race",
    ),
    "no wait for the rows' tasks": ("async_tasks.mlir", "sum", "  async.await_all %group\n", "", "race"),
    "a task that does not wait for the first": (
        "async_tasks.mlir",
        "sum",
        "async.execute [%cleared]",
        "async.execute",
        "race",
    ),
    "a region that does not wait for the transfer back": (
        "async_regions.mlir",
        "dots",
        " after [%back]",
        "",
        "undrained",
    ),
    "a launch that does not wait for the bias": (
        "async_regions.mlir",
        "dots",
        "%y_moved, %z_moved]",
        "%y_moved]",
        "race",
    ),
    "a consumer that takes one tile too many": (
        "gemm_queue.mlir",
        "gemm",
        "%product = scf.for %k = %c0 to %n step",
        "%more = arith.addi %n, %c1 : index\n    %product = scf.for %k = %c0 to %more step",
        "deadlock",
    ),
    "a producer that puts one tile too many": (
        "gemm_queue.mlir",
        "gemm",
        "    scf.for %k = %c0 to %n step",
        "    %more = arith.addi %n, %c1 : index\n    scf.for %k = %c0 to %more step",
        "undrained",
    ),
}
"""What goes wrong -> file, function, the change to its text, and the kind of mistake."""


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_example_is_rejected(name: str) -> None:
    file, function, old, new, kind = MUTANTS[name]
    text = (ROOT / "examples" / file).read_text()
    assert text.count(old) == 1
    report = check(parse(text.replace(old, new)), function)
    assert report.verdict is Verdict.VIOLATION
    assert kind in {finding.violation.kind.value for finding in report.findings}
