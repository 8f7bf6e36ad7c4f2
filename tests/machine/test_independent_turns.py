"""Loops whose turns are agents, and atomic accesses: against numpy, and what a check says of them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError
from tileas_xdsl.machine.running import run

ORDERS = ("eager", "lazy", "random")


def kernel(body: str, arguments: str = "%a: memref<64xf32>, %b: memref<64xf32>, %n: index") -> str:
    return f"""
    func.func @k({arguments}) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c64 = arith.constant 64 : index
      %f = arith.constant 2.0 : f32
      {body}
      func.return
    }}"""


DOUBLED = (
    "%x = memref.load %a[{0}] : memref<64xf32>\n%y = arith.mulf %x, %f : f32\nmemref.store %y, %b[{1}] : memref<64xf32>"
)
LOOPS = {
    "forall": "scf.forall (%i) in (%n) {{ {0} }}",
    "parallel": "scf.parallel (%i) = (%c0) to (%n) step (%c1) {{ {0} }}",
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("loop", LOOPS)
def test_turns_compute(loop: str, order: str) -> None:
    text = kernel(LOOPS[loop].format(DOUBLED.format("%i", "%i")))
    given = np.arange(64, dtype=np.float32)
    outcome = run(parse(text), "k", {"a": given, "b": np.zeros(64, np.float32), "n": 40}, order=order)
    assert not outcome.violations
    assert np.array_equal(outcome.arrays["b"], np.where(np.arange(64) < 40, 2 * given, 0))


@pytest.mark.parametrize("loop", LOOPS)
def test_turns_that_share_nothing_are_safe_and_others_race(loop: str) -> None:
    def judged(body: str) -> list[str]:
        report = check(parse(kernel(LOOPS[loop].format(body))))
        return report.kinds if report.verdict is Verdict.VIOLATION else [str(report.verdict)]

    assert judged(DOUBLED.format("%i", "%i")) == ["safe"]
    assert judged(DOUBLED.format("%i", "%c0")) == ["race"], "all turns write one element"
    read_of_another = "%j = arith.addi %i, %c1 : index\n" + DOUBLED.format("%j", "%i").replace("%b[", "%a[")
    assert judged(read_of_another) == ["race"], "a turn writes what the one before it reads"


def test_a_reduction_is_that_of_the_turns() -> None:
    body = """%s = scf.parallel (%i, %j) = (%c0, %c0) to (%n, %c2) step (%c1, %c1) init (%f) -> f32 {
      %x = memref.load %a[%i] : memref<64xf32>
      scf.reduce(%x : f32) { ^bb0(%l: f32, %r: f32): %t = arith.addf %l, %r : f32 scf.reduce.return %t : f32 }
    }
    memref.store %s, %b[%c0] : memref<64xf32>"""
    given = np.arange(64, dtype=np.float32)
    outcome = run(parse(kernel(body)), "k", {"a": given, "b": np.zeros(64, np.float32), "n": 5})
    assert outcome.arrays["b"][0] == 2 + 2 * given[:5].sum()
    assert check(parse(kernel(body))).verdict is Verdict.SAFE


def test_too_many_turns_are_not_followed() -> None:
    report = check(parse(kernel("scf.forall (%i) in (100000) { }")))
    assert report.verdict is Verdict.UNDECIDED
    assert "has 100000 turns, each an agent of its own; 4096 are followed at most" in report.undecided[0]
    with pytest.raises(UndecidedError, match="100000 turns"):
        run(parse(kernel("scf.forall (%i) in (100000) { }")), "k", {"n": 1})


def test_tensors_are_not_put_together() -> None:
    text = kernel(
        "%t = tensor.empty() : tensor<4xf32>\n%r = scf.forall (%i) in (4) shared_outs(%o = %t) -> (tensor<4xf32>) { }"
    )
    with pytest.raises(UnsupportedError, match="puts together tensors, which has no meaning here; bufferize it first"):
        check(parse(text))


# Atomic accesses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "old", "given", "new"),
    [
        ("xchg", 5, 7, 7),
        ("add", 5, 7, 12),
        ("sub", 5, 7, -2),
        ("_and", 12, 10, 8),
        ("nand", 12, 10, -9),
        ("_or", 12, 10, 14),
        ("_xor", 12, 10, 6),
        ("max", -3, 2, 2),
        ("min", -3, 2, -3),
        ("umax", -3, 2, -3),
        ("umin", -3, 2, 2),
        ("uinc_wrap", 3, 3, 0),
        ("udec_wrap", 0, 9, 9),
        ("usub_cond", 3, 9, 3),
        ("usub_sat", 3, 9, 0),
    ],
)
def test_what_is_computed(word: str, old: int, given: int, new: int) -> None:
    text = f"""func.func @k(%p: !llvm.ptr<1>, %x: i32) -> i32 {{
      %o = llvm.atomicrmw {word} %p, %x monotonic : !llvm.ptr<1>, i32
      func.return %o : i32
    }}"""
    outcome = run(parse(text), "k", {"p": np.array([old], np.int32), "x": given})
    assert outcome.results == (old,)
    assert outcome.arrays["p"].view(np.int32)[0] == new


def agents(first: str, second: str) -> str:
    return f"""func.func @k(%p: !llvm.ptr<1>, %m: memref<4xf32>, %x: i32, %f: f32) {{
      %c0 = arith.constant 0 : index
      nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1, 1>}} {{ {first} }}, {{ {second} }} : () -> ()
      func.return
    }}"""


ADD = "%o = llvm.atomicrmw add %p, %x monotonic : !llvm.ptr<1>, i32"
EXCHANGE = "%o = llvm.cmpxchg %p, %x, %x acq_rel monotonic : !llvm.ptr<1>, i32"
STORE = "llvm.store %x, %p : i32, !llvm.ptr<1>"
LOAD = "%o = llvm.load %p : !llvm.ptr<1> -> i32"
OF_MEMREF = "%o = memref.atomic_rmw addf %f, %m[%c0] : (f32, memref<4xf32>) -> f32"
STORE_OF_MEMREF = "memref.store %f, %m[%c0] : memref<4xf32>"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (ADD, ADD, []),
        (ADD, EXCHANGE, []),
        (OF_MEMREF, OF_MEMREF, []),
        (ADD, STORE, ["race"]),
        (ADD, LOAD, ["race"]),
        (EXCHANGE, STORE, ["race"]),
        (OF_MEMREF, STORE_OF_MEMREF, ["race"]),
    ],
)
def test_atomic_accesses_race_with_ordinary_ones_only(first: str, second: str, expected: list[str]) -> None:
    for one, other in ((first, second), (second, first)):
        assert check(parse(agents(one, other))).kinds == expected


def test_a_compare_and_exchange_says_whether_it_stored() -> None:
    text = """func.func @k(%p: !llvm.ptr<1>, %x: i32, %y: i32) -> (i32, i1) {
      %o = llvm.cmpxchg %p, %x, %y acq_rel monotonic : !llvm.ptr<1>, i32
      %old = "llvm.extractvalue"(%o) <{position = array<i64: 0>}> : (!llvm.struct<(i32, i1)>) -> i32
      %done = "llvm.extractvalue"(%o) <{position = array<i64: 1>}> : (!llvm.struct<(i32, i1)>) -> i1
      func.return %old, %done : i32, i1
    }"""
    outcome = run(parse(text), "k", {"p": np.array([3], np.int32), "x": 3, "y": 9})
    assert outcome.results == (3, 1)
    assert run(parse(text), "k", {"p": np.array([3], np.int32), "x": 4, "y": 9}).results == (3, 0)


def test_a_branch_on_what_was_read_is_undecided() -> None:
    text = """func.func @k(%p: !llvm.ptr<1>, %x: i32) {
      %o = llvm.atomicrmw add %p, %x monotonic : !llvm.ptr<1>, i32
      %is = arith.cmpi eq, %o, %x : i32
      scf.if %is { llvm.store %x, %p : i32, !llvm.ptr<1> }
      func.return
    }"""
    report = check(parse(text))
    assert report.verdict is Verdict.UNDECIDED
    assert "branches on what an atomic access finds in memory" in report.undecided[0]
