"""
Mistakes of a program that are none of the other kinds: what an op does at run time is not defined. They are violations
with a witness and status 1, not inputs that cannot be read.
"""

from __future__ import annotations

import ast

import pytest

from tests.support.ir import ROOT, parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.core.violations import MistakeError, UnsupportedError

HEAD = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %z = arith.constant 0 : i32
  %one = arith.constant 1 : i32
"""


def function(body: str, arguments: str = "") -> str:
    return f"func.func @f({arguments}) {{{HEAD}{body}\n  func.return\n}}"


def group(size: str) -> str:
    """A group of `size` that two tasks are added to."""
    return f"""
  %g = async.create_group {size} : !async.group
  %s = async.execute {{ async.yield }}
  %t = async.execute {{ async.yield }}
  %r = async.add_to_group %s, %g : !async.token
  %q = async.add_to_group %t, %g : !async.token
  async.await_all %g"""


MADE = "nvvm.mbarrier.init %full, {} : !llvm.ptr<3>, i32"
BUFFER = "%b = memref.alloc() : memref<4xf32>\n{}memref.dealloc %b : memref<4xf32>\n{}"
ENDED = "memref.dealloc %b : memref<4xf32>"
LOADED = "%v = memref.load %b[%c0] : memref<4xf32>"
FAILS = 'cf.assert %is, "n is small"'

CASES = {
    "too many members of a group": (group("%c1"), group("%c2"), "", "adds a member to a group of 1"),
    "a barrier for no arrival": (MADE.format("%z"), MADE.format("%one"), "%full: !llvm.ptr<3>", "for 0 arrivals"),
    "a buffer that ends twice": (BUFFER.format("", ENDED), BUFFER.format("", ""), "", "ends 'b' a second time"),
    "a buffer that is read after its end": (
        BUFFER.format("", LOADED),
        BUFFER.format(LOADED + "\n", ""),
        "",
        "touches 'b' after its end",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_found_with_a_witness(name: str) -> None:
    wrong, right, arguments, role = CASES[name]
    report = check(parse(function(wrong, arguments)))
    assert report.verdict is Verdict.VIOLATION
    assert report.kinds == ["malformed"]
    (finding,) = report.findings
    assert role in finding.violation.parties[0].role
    assert finding.violation.missing
    assert finding.witness is not None
    assert finding.as_data()["witness"]
    assert check(parse(function(right, arguments))).verdict is Verdict.SAFE


def test_a_mistake_in_a_later_turn_names_the_call_and_the_iteration() -> None:
    """An assertion about the induction variable fails in turn 5."""
    text = function(
        f"""
  %five = arith.constant 5 : index
  scf.for %k = %c0 to %n step %c1 {{
    %is = arith.cmpi ult, %k, %five : index
    {FAILS}
  }}""",
        "%n: index",
    )
    report = check(parse(text))
    assert report.kinds == ["malformed"]
    assert report.findings[0].arguments == {"n": 6}
    assert report.findings[0].violation.parties[0].iteration == (5,)
    assert check(parse(text), trip_counts=range(6)).verdict is Verdict.SAFE


def test_what_this_tool_does_not_know_is_no_mistake() -> None:
    """A function without a body may be called, and has no meaning where a task calls it."""
    text = function("%t = async.call @outside() : () -> !async.token", "").replace(
        "func.func @f", "async.func private @outside() -> !async.token\nfunc.func @f"
    )
    with pytest.raises(UnsupportedError) as error:
        check(parse(text))
    assert not isinstance(error.value, MistakeError)


def test_each_mistake_says_what_the_op_asks_for() -> None:
    """The last part of a reason is the rule: without one the report would name nothing that is missing."""
    raised = [
        (path, node)
        for path in (ROOT / "tileas_xdsl" / "machine").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "MistakeError"
    ]
    assert len(raised) > 15
    for path, call in raised:
        reason = ast.unparse(call.args[1])
        assert "; " in reason or isinstance(call.args[1], ast.Name), f"{path}:{call.lineno}"
