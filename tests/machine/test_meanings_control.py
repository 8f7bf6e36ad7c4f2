"""`cf`, `ub` and `builtin`; and what may not be unknown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.machine.support import call, machine_for
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError


def checking() -> Any:
    return machine_for(with_data=False)


# Branches -------------------------------------------------------------------------------------------------------------

BRANCH = """
func.func @f(%c: i1, %x: i32, %y: i32) -> (i32, i32) {
  cf.cond_br %c, ^then(%x, %y : i32, i32), ^else(%y : i32)
^then(%a: i32, %b: i32):
  func.return %a, %b : i32, i32
^else(%d: i32):
  cf.br ^then(%d, %d : i32, i32)
}
"""


def test_conditional_branches_take_their_own_arguments() -> None:
    assert call(BRANCH, "f", 1, 5, 6) == (5, 6)
    assert call(BRANCH, "f", 0, 5, 6) == (6, 6)


def test_a_branch_on_unknown_data_is_undecided() -> None:
    with pytest.raises(UndecidedError, match=r"cf.cond_br.*branches on data that is not computed"):
        call(BRANCH, "f", UNKNOWN, 5, 6, machine=checking())


def test_switches_compare_bits() -> None:
    text = """
    func.func @f(%s: i8, %x: i32, %y: i32) -> (i32) {
      %zero = arith.constant 0 : i32
      cf.switch %s : i8, [
        default: ^end(%zero : i32),
        3: ^end(%x : i32),
        -1: ^two(%x, %y : i32, i32),
        255: ^end(%y : i32)
      ]
    ^two(%a: i32, %b: i32):
      %c = arith.addi %a, %b : i32
      cf.br ^end(%c : i32)
    ^end(%r: i32):
      func.return %r : i32
    }"""
    module = parse(text)
    assert call(module, "f", 3, 10, 20) == 10
    assert call(module, "f", -1, 10, 20) == 30, "of two equal cases the first is taken"
    assert call(module, "f", 4, 10, 20) == 0


def test_loops_of_blocks_end_with_the_budget() -> None:
    text = "func.func @f() {\n  cf.br ^head\n^head:\n  cf.br ^head\n}"
    with pytest.raises(UndecidedError, match=r"cf.br.*is still running after 1000 steps"):
        call(text, "f", machine=machine_for(step_budget=1000))


def test_what_a_region_yields_must_be_as_many_as_the_results() -> None:
    """xDSL does not verify that of this op."""
    text = """
    func.func @f() -> i32 {
      %r = "scf.execute_region"() ({
        scf.yield
      }) : () -> i32
      func.return %r : i32
    }"""
    with pytest.raises(UnsupportedError, match=r"scf.execute_region.*has 1 results, and what is run yields 0 values"):
        call(text, "f")


def test_assertions() -> None:
    text = 'func.func @f(%c: i1) {\n  cf.assert %c, "must be so"\n  func.return\n}'
    call(text, "f", 1)
    call(text, "f", UNKNOWN, machine=checking())
    with pytest.raises(UnsupportedError, match=r'cf.assert.*fails: "must be so"'):
        call(text, "f", 0)


# Poison and conversions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "expected"), [("i8", 0), ("index", 0), ("f32", np.float32(0)), ("bf16", 0)])
def test_poison_is_zero_when_running_and_unknown_when_checking(kind: str, expected: Any) -> None:
    text = f"func.func @f() -> ({kind}) {{\n  %r = ub.poison : {kind}\n  func.return %r : {kind}\n}}"
    assert call(text, "f") == expected
    assert call(text, "f", machine=checking()) is UNKNOWN


def test_poisoned_tensors() -> None:
    text = "func.func @f() -> (KIND) {\n  %r = ub.poison : KIND\n  func.return %r : KIND\n}"
    array = call(text.replace("KIND", "tensor<2x3xf16>"), "f")
    assert (array.shape, array.dtype, array.any()) == ((2, 3), np.float16, False)
    with pytest.raises(UnsupportedError, match=r"makes a value of type tensor<\?xf16>, whose size is not known"):
        call(text.replace("KIND", "tensor<?xf16>"), "f")
    with pytest.raises(UnsupportedError, match="for which the machine has no numbers"):
        call(text.replace("KIND", "complex<f32>"), "f")


def test_unreachable_code() -> None:
    with pytest.raises(UnsupportedError, match=r"ub.unreachable.*is reached"):
        call("func.func @f() {\n  ub.unreachable\n}", "f")


def test_conversion_casts_hand_values_on() -> None:
    text = """
    func.func @f(%x: i64, %y: index) -> (index, i64) {
      %r:2 = "builtin.unrealized_conversion_cast"(%x, %y) : (i64, index) -> (index, i64)
      func.return %r#0, %r#1 : index, i64
    }"""
    assert call(text, "f", 3, 4) == (3, 4)
    text = """
    func.func @f(%x: i64) -> (i32) {
      %r:2 = "builtin.unrealized_conversion_cast"(%x) : (i64) -> (i32, i32)
      func.return %r#0 : i32
    }"""
    with pytest.raises(UnsupportedError, match="makes 2 values of 1"):
        call(text, "f", 3)


# What may not be unknown ----------------------------------------------------------------------------------------------

CHOICES = {
    "token": """
    %one = async.execute { async.yield }
    %two = async.execute { async.yield }
    %t = arith.select %c, %one, %two : !async.token
    async.await %t : !async.token
    """,
    "group": """
    %size = arith.constant 1 : index
    %one = async.create_group %size : !async.group
    %two = async.create_group %size : !async.group
    %t = arith.select %c, %one, %two : !async.group
    async.await_all %t
    """,
    "resource": """
    %one = async_region.create_resource "dma"
    %two = async_region.create_resource "dma"
    %t = arith.select %c, %one, %two : !async_region.resource
    %done = async_region.copy %a to %b on %t : memref<8xf32> to memref<8xf32>
    async.await %done : !async.token
    """,
}


@pytest.mark.parametrize("what", CHOICES)
def test_what_is_waited_for_may_not_depend_on_unknown_data(what: str) -> None:
    text = f"func.func @f(%c: i1, %a: memref<8xf32>, %b: memref<8xf32>) {{\n{CHOICES[what]}\nfunc.return\n}}"
    report = check(parse(text))
    assert report.verdict is Verdict.UNDECIDED
    (reason,) = report.undecided
    assert "'arith.select' op returns a !async" in reason
    assert "depends on what is not computed when checking" in reason


def test_a_copy_of_an_array_that_depends_on_unknown_data_is_undecided() -> None:
    text = """
    func.func @f(%c: i1, %a: memref<8xf32>, %b: memref<8xf32>, %source: memref<8xf32>) -> !async.token {
      %target = arith.select %c, %a, %b : memref<8xf32>
      %t = async_region.copy %source to %target : memref<8xf32> to memref<8xf32>
      func.return %t : !async.token
    }"""
    report = check(parse(text))
    assert report.verdict is Verdict.UNDECIDED
    assert "'async_region.copy' op" in report.undecided[0]


def test_a_token_of_a_function_without_a_body_is_undecided() -> None:
    text = """
    func.func private @start() -> !async.token
    func.func @f() {
      %t = func.call @start() : () -> !async.token
      async.await %t : !async.token
      func.return
    }"""
    report = check(parse(text))
    assert report.verdict is Verdict.UNDECIDED
    assert "'func.call' op returns a !async.token" in report.undecided[0]


def test_dynamic_indices_of_an_address_must_be_as_many_as_their_operands() -> None:
    """A constant index that is the mark of a dynamic one: xDSL does not verify that."""
    text = """
    func.func @f(%p: !llvm.ptr) {
      %q = llvm.getelementptr %p[2147483648] : (!llvm.ptr) -> !llvm.ptr, f32
      func.return
    }"""
    with pytest.raises(UnsupportedError, match=r"llvm.getelementptr.*has 1 dynamic indices and 0 operands for them"):
        check(parse(text))
