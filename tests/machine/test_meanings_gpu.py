"""The ops of `gpu` with asynchronous tokens: what is ordered by a token, what is not, and where the data goes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.machine.core.violations import UnsupportedError, ViolationKind
from tileas_xdsl.machine.running import run

KIND = "memref<8xf32>"


def memcpy(target: str, source: str, *tokens: str, result: str | None = None, kind: str = KIND) -> str:
    left = f"{result} = " if result else ""
    types = ", ".join([*("!gpu.async.token" for _ in tokens), kind, kind])
    segments = f"{{operandSegmentSizes = array<i32: {len(tokens)}, 1, 1>}}"
    to = "!gpu.async.token" if result else "()"
    return f'{left}"gpu.memcpy"({", ".join([*tokens, target, source])}) {segments} : ({types}) -> {to}\n'


def wait(*tokens: str, result: str | None = None) -> str:
    left, to = (f"{result} = ", "!gpu.async.token") if result else ("", "()")
    return f'{left}"gpu.wait"({", ".join(tokens)}) : ({", ".join("!gpu.async.token" for _ in tokens)}) -> {to}\n'


def alloc(name: str, *tokens: str, result: str | None = None) -> str:
    left, to = (f"{name}, {result} = ", f"({KIND}, !gpu.async.token)") if result else (f"{name} = ", KIND)
    segments = f"<{{operandSegmentSizes = array<i32: {len(tokens)}, 0, 0>}}>"
    types = ", ".join("!gpu.async.token" for _ in tokens)
    return f'{left}"gpu.alloc"({", ".join(tokens)}) {segments} : ({types}) -> {to}\n'


def dealloc(name: str, *tokens: str, result: str | None = None) -> str:
    left, to = (f"{result} = ", "!gpu.async.token") if result else ("", "()")
    segments = f"{{operandSegmentSizes = array<i32: {len(tokens)}, 1>}}"
    types = ", ".join([*("!gpu.async.token" for _ in tokens), KIND])
    return f'{left}"gpu.dealloc"({", ".join([*tokens, name])}) {segments} : ({types}) -> {to}\n'


def function(body: str) -> Any:
    return parse(f"func.func @f(%a: {KIND}, %b: {KIND}) {{\n{body}func.return\n}}")


ROUND_TRIP = (
    wait(result="%t0")
    + alloc("%d", "%t0", result="%t1")
    + memcpy("%d", "%a", "%t1", result="%t2")
    + memcpy("%b", "%d", "%t2", result="%t3")
    + dealloc("%d", "%t3", result="%t4")
    + wait("%t4")
)
"""Host to device and back, every step after the one before."""


@pytest.mark.parametrize("order", ["lazy", "eager", "random"])
def test_a_chain_of_tokens_orders_copies(order: str) -> None:
    outcome = run(function(ROUND_TRIP), "f", order=order)
    assert not outcome.violations
    assert np.array_equal(outcome.arrays["b"], outcome.arrays["a"])
    assert outcome.arrays["a"].any()


def kinds(body: str) -> list[str]:
    return check(function(body)).kinds


def test_the_chain_is_safe_and_each_missing_link_is_found() -> None:
    assert kinds(ROUND_TRIP) == []
    unordered_copies = ROUND_TRIP.replace(
        memcpy("%b", "%d", "%t2", result="%t3"),
        memcpy("%b", "%d", "%t1", result="%s") + wait("%s", "%t2", result="%t3"),
    )
    assert kinds(unordered_copies) == ["race"]
    early_end = ROUND_TRIP.replace(dealloc("%d", "%t3", result="%t4"), dealloc("%d", "%t2", result="%t4"))
    assert "race" in kinds(early_end)
    assert kinds(ROUND_TRIP.replace(wait("%t4"), "")) == ["undrained"]


def test_waits_without_a_token_block() -> None:
    start = wait(result="%t0") + memcpy("%b", "%a", "%t0", result="%t1")
    read = "%zero = arith.constant 0 : index\n%x = memref.load %b[%zero] : memref<8xf32>\n"
    assert kinds(start + wait("%t1") + read) == []
    assert kinds(start + read + wait("%t1")) == ["race"]
    assert kinds(start + wait("%t1", result="%t2") + read + wait("%t2")) == ["race"], "a token by itself does not block"


def test_ops_without_a_token_block() -> None:
    start = wait(result="%t0") + memcpy("%b", "%a", "%t0", result="%t1")
    assert kinds(start + memcpy("%a", "%b", "%t1")) == []
    assert kinds(start + memcpy("%a", "%b") + wait("%t1")) == ["race"]
    assert kinds(start + alloc("%d", "%t1") + memcpy("%d", "%b") + dealloc("%d")) == []


def test_a_buffer_is_gone_after_its_asynchronous_end() -> None:
    body = wait(result="%t0") + alloc("%d", "%t0", result="%t1") + dealloc("%d", "%t1", result="%t2")
    read = "%zero = arith.constant 0 : index\n%x = memref.load %d[%zero] : memref<8xf32>\n"
    report = check(function(body + wait("%t2") + read))
    assert report.kinds == ["malformed"]
    assert "'memref.load' touches 'd' after its end" in str(report)
    assert kinds(body + read + wait("%t2")) == ["race"]


def test_shapes_must_agree() -> None:
    text = (
        "func.func @f(%a: memref<?xf32>, %b: memref<?xf32>) {\n"
        + memcpy("%b", "%a", kind="memref<?xf32>")
        + "func.return\n}"
    )
    with pytest.raises(UnsupportedError, match=r"copies an array of shape \(3,\) to one of shape \(4,\)"):
        run(parse(text), "f", [np.zeros(3), np.zeros(4)])


@pytest.mark.parametrize("order", ["lazy", "eager"])
def test_asynchronous_copies_stay_inside_their_objects(order: str) -> None:
    text = """
    func.func @f(%a: memref<8xf32>, %b: memref<4xf32, strided<[1], offset: ?>>, %o: index) {
      %s = memref.subview %a[%o] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: ?>>
      WAIT
      COPY
      func.return
    }"""
    kind = "memref<4xf32, strided<[1], offset: ?>>"
    text = text.replace("WAIT", wait(result="%t")).replace("COPY", memcpy("%b", "%s", "%t", result="%u", kind=kind))
    (violation,) = run(parse(text), "f", [np.zeros(8), np.zeros(4), 5], order=order).violations
    assert violation.kind is ViolationKind.MALFORMED
    assert violation.parties[0].role == "reaches outside 'a': bytes 20 to 36 of 32"


def test_launches_are_refused() -> None:
    text = """
    func.func @f() {
      %one = arith.constant 1 : index
      "gpu.launch_func"(%one, %one, %one, %one, %one, %one)
        <{kernel = @kernels::@k, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0>}>
        : (index, index, index, index, index, index) -> ()
      func.return
    }"""
    with pytest.raises(UnsupportedError, match=r"gpu.launch_func.*launches a kernel"):
        run(parse(text), "f")
