"""Ops of xDSL answer our interfaces through models, which are loaded when the first of them is asked."""

from __future__ import annotations

import subprocess
import sys

from tests.support.ir import ROOT, parse
from tileas_xdsl.interfaces import AsyncOpInterface, FunctionOpInterface, LoopLikeOpInterface, functions_in

PROGRAM = """
func.func @f(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0) -> (index) {
    %b = arith.addi %a, %i : index
    scf.yield %b : index
  }
  %t = "gpu.wait"() : () -> !gpu.async.token
  "gpu.wait"(%t) : (!gpu.async.token) -> ()
  func.return
}"""


def test_functions_loops_and_waits_of_xdsl_answer() -> None:
    module = parse(PROGRAM)
    (function,) = functions_in(module)
    ops = list(function.regions[0].block.ops)
    loop = LoopLikeOpInterface.of(ops[2])
    assert loop is not None
    assert list(loop.init_values) == [ops[0].results[0]]
    assert [argument.name_hint for argument in loop.carried_arguments] == ["a"]
    assert [value.name_hint for value in loop.yielded_values] == ["b"]
    first, second = (AsyncOpInterface.of(op) for op in ops[3:5])
    assert first is not None
    assert second is not None
    assert list(second.async_dependencies) == [first.async_token]
    assert (first.only_waits, second.only_waits) == (False, True)
    assert second.remove_async_dependency(ops[3].results[0])
    assert not second.async_dependencies
    assert FunctionOpInterface.of(ops[2]) is None
    assert LoopLikeOpInterface.of(function) is None


def test_the_models_are_loaded_when_they_are_asked_for() -> None:
    program = """
import sys
from tileas_xdsl import universe
from tileas_xdsl.interfaces import FunctionOpInterface
assert not any(name.startswith("tileas_xdsl.dialects") for name in sys.modules)
from xdsl.dialects.func import FuncOp
assert FunctionOpInterface.of(FuncOp("f", ((), ()))).function_name == "f"
assert "tileas_xdsl.dialects.upstream_models.func" in sys.modules
assert "xdsl.dialects.gpu" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)
