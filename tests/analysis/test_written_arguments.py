"""Which arguments a function may write: what a caller may hand over as an input only follows from it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.ir import ROOT, parse
from tileas_xdsl.analysis.memory.written import written_arguments
from tileas_xdsl.interfaces import functions_in

FILES = {
    "examples/gemm_loop.mlir": ["c"],
    "examples/gemm_queue.mlir": ["c"],
    "examples/annotated_copy.mlir": ["out"],
    "tests/kernels/people/adam_step.mlir": ["p", "m", "v"],
    "tests/kernels/people/quantise_rows.mlir": ["q", "s"],
    "tests/kernels/queues/chain_of_three_agents.mlir": ["c"],
}


@pytest.mark.parametrize("file", FILES)
def test_what_kernels_write(file: str) -> None:
    (function,) = functions_in(parse((ROOT / file).read_text()))
    found = written_arguments(function)
    assert found is not None
    arguments = function.regions[0].block.args
    assert [arguments[place].name_hint for place in sorted(found)] == FILES[file]


BODY = """func.func @f(%a: memref<8xf32>, %b: memref<8xf32>, %which: i1, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.load %a[%c0] : memref<8xf32>
  {}
  func.return
}}"""
STORES: dict[str, Sequence[int] | None] = {
    "": [],
    "memref.store %x, %b[%c0] : memref<8xf32>": [1],
    "%own = memref.alloc() : memref<8xf32>\n  memref.store %x, %own[%c0] : memref<8xf32>": [],
    "%one = arith.select %which, %a, %b : memref<8xf32>\n  memref.store %x, %one[%c0] : memref<8xf32>": [0, 1],
    "%v = memref.subview %b[4] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>\n"
    "  memref.store %x, %v[%c0] : memref<4xf32, strided<[1], offset: 4>>": [1],
    "scf.if %which {\n    memref.copy %a, %b : memref<8xf32> to memref<8xf32>\n  }": [1],
    "scf.for %i = %c0 to %n step %c1 iter_args(%w = %b) -> (memref<8xf32>) {\n"
    "    memref.store %x, %w[%i] : memref<8xf32>\n    scf.yield %a : memref<8xf32>\n  }": [0, 1],
    '"test.anything"(%a) : (memref<8xf32>) -> ()': None,
}


@pytest.mark.parametrize("stores", STORES)
def test_what_is_stored_where(stores: str) -> None:
    (function,) = functions_in(parse(BODY.format(stores), allow_unregistered=True))
    found = written_arguments(function)
    expected = STORES[stores]
    assert found == (None if expected is None else frozenset(expected))
