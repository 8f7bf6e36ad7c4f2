"""What an iteration has certainly written before it reads it (`analysis/overwritten.py`)."""

from __future__ import annotations

import pytest
from xdsl.dialects import memref, scf

from tests.support.ir import parse
from tileas_xdsl.analysis.overwritten import first_uncovered_read

PROGRAM = """
func.func @f(%A: memref<4x4xi32>, %v: i32, %p: i1, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %B = memref.alloc() : memref<4x4xi32>
  scf.for %i = %c0 to %n step %c1 {{
    {body}
  }}
  func.return
}}"""


def store(first: str, second: str) -> str:
    return f"memref.store %v, %B[{first}, {second}] : memref<4x4xi32>\n"


def load(first: str, second: str, name: str = "r") -> str:
    return f"%{name} = memref.load %B[{first}, {second}] : memref<4x4xi32>\n"


def loop(name: str, lower: str, upper: str, body: str, step: str = "%c1") -> str:
    return f"scf.for %{name} = {lower} to {upper} step {step} {{\n{body}}}\n"


ALL = loop("x", "%c0", "%c4", loop("y", "%c0", "%c4", store("%x", "%y")))
HALVES = loop("x", "%c0", "%c2", loop("y", "%c0", "%c4", store("%x", "%y"))) + loop(
    "x", "%c2", "%c4", loop("y", "%c0", "%c4", store("%x", "%y"))
)
COPY = '"memref.copy"(%A, %B) : (memref<4x4xi32>, memref<4x4xi32>) -> ()\n'
READ_ALL = loop("s", "%c0", "%c4", loop("t", "%c0", "%c4", load("%s", "%t")))
UNKNOWN = '"memref.copy"(%B, %A) : (memref<4x4xi32>, memref<4x4xi32>) -> ()\n'

COVERED = {
    "one element": store("%c1", "%c2") + load("%c1", "%c2"),
    "moving element": store("%c1", "%i") + load("%c1", "%i"),
    "all": ALL + READ_ALL,
    "two halves": HALVES + READ_ALL,
    "copy": COPY + READ_ALL + load("%i", "%i", "q"),
    "row": loop("x", "%c0", "%c4", store("%c2", "%x")) + load("%c2", "%i"),
    "row as a whole": ALL + UNKNOWN,
    "same trip": loop("x", "%c0", "%c4", store("%x", "%x") + load("%x", "%x")),
    "shifted by a constant": loop("x", "%c0", "%c3", f"%z = arith.addi %x, %c1 : index\n{store('%c0', '%z')}")
    + load("%c0", "%c3"),
    "in a commit": "async_queue.commit 0 {\nasync_queue.scope {\n"
    + store("%c0", "%c0")
    + "}\n}\n"
    + load("%c0", "%c0"),
}
UNCOVERED = {
    "another element": store("%c1", "%c2") + load("%c2", "%c1"),
    "read first": load("%c1", "%c2") + store("%c1", "%c2"),
    "another moving element": f"%j = arith.addi %i, %c1 : index\n{store('%c1', '%i')}{load('%c1', '%j')}",
    "under a condition": f"scf.if %p {{\n{store('%c0', '%c0')}}}\n" + load("%c0", "%c0"),
    "in a loop of unknown length": loop("x", "%c0", "%n", store("%c0", "%c0")) + load("%c0", "%c0"),
    "a diagonal": loop("x", "%c0", "%c4", store("%x", "%x")) + READ_ALL,
    "every second": loop("x", "%c0", "%c4", store("%c0", "%x"), "%c2") + load("%c0", "%c1"),
    "doubled": loop("x", "%c0", "%c2", f"%z = arith.muli %x, %c2 : index\n{store('%c0', '%z')}") + load("%c0", "%c1"),
    "all but one": loop("x", "%c0", "%c4", loop("y", "%c0", "%c3", store("%x", "%y"))) + READ_ALL,
    "whole after half": HALVES.split("scf.for %x = %c2", 1)[0] + UNKNOWN,
    "another trip": loop("x", "%c0", "%c4", f"%z = arith.subi %c3, %x : index\n{store('%x', '%x')}{load('%z', '%z')}"),
    "a slot of a ring": f"%z = arith.remui %i, %c2 : index\n{store('%c0', '%z')}" + load("%c0", "%c0"),
    "a call": "func.call @g(%B) : (memref<4x4xi32>) -> ()\n",
}


def uncovered(body: str) -> bool:
    text = PROGRAM.format(body=f"async_queue.block {{\n{body}}}\nscf.yield")
    module = parse("func.func private @g(memref<4x4xi32>) -> ()\n" + text)
    alloc = next(op for op in module.walk() if isinstance(op, memref.AllocOp))
    outer = next(op for op in module.walk() if isinstance(op, scf.ForOp))
    first = outer.body.block.first_op
    assert first is not None
    return first_uncovered_read(outer, [first], alloc.memref) is not None


@pytest.mark.parametrize("case", COVERED)
def test_covered(case: str) -> None:
    assert not uncovered(COVERED[case])


@pytest.mark.parametrize("case", UNCOVERED)
def test_uncovered(case: str) -> None:
    assert uncovered(UNCOVERED[case])
