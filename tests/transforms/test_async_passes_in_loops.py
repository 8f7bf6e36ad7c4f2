"""
The passes over tokens in loops and branches, at every edge of the trip count, dynamic bounds, other steps than one.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ir import parse, print_custom
from tests.support.token_meaning import ORDERS, changed, numbers_of
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.running import run

PASSES = (
    "async-simplify",
    "async-join-regions{siblings=true}",
    "async-split-regions",
    "async-reuse-buffers",
    "async-region-to-execute",
    "async-split-regions,async-reuse-buffers,async-join-regions,async-simplify,async-region-to-execute,async-simplify",
)
HEAD = """
func.func @f(%a: memref<16xf32>, %b: memref<16xf32>, %n: index, %low: index, %step: index, %c: i1) -> !async.token {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %start = async_region.region {
    memref.store %one, %a[%c0] : memref<16xf32>
    async_region.yield
  }
"""
BODIES = {
    "a chain of regions that a loop carries": """
  %last = scf.for %i = %low to %n step %step iter_args(%before = %start) -> (!async.token) {
    %read, %v, %w = async_region.region [%before] -> (f32, !async.value<f32>) {
      %x = memref.load %a[%c0] : memref<16xf32>
      %y = arith.addf %x, %one : f32
      async_region.yield %x, %y : f32, f32
    }
    %stored = async_region.region [%read] (%w as %u: !async.value<f32>) {
      %z = arith.addf %v, %u : f32
      memref.store %z, %a[%c0] : memref<16xf32>
      async_region.yield
    }
    %copied = async_region.copy [%stored] %a to %b : memref<16xf32> to memref<16xf32>
    scf.yield %copied : !async.token
  }
  return %last : !async.token""",
    "buffers of each iteration": """
  %last = scf.for %i = %low to %n step %step iter_args(%before = %start) -> (!async.token) {
    %x = memref.alloc() : memref<16xf32>
    %y, %there = async_region.alloc : memref<16xf32>
    %in = async_region.copy [%before] %a to %x : memref<16xf32> to memref<16xf32>
    %out = async_region.copy [%in] %x to %b : memref<16xf32> to memref<16xf32>
    %more = async_region.copy [%out, %there] %b to %y : memref<16xf32> to memref<16xf32>
    %back = async_region.region [%more] {
      %v = memref.load %y[%c1] : memref<16xf32>
      %w = arith.addf %v, %one : f32
      memref.store %w, %a[%c1] : memref<16xf32>
      async_region.yield
    }
    scf.yield %back : !async.token
  }
  return %last : !async.token""",
    "parts, in a nest of loops": """
  %last = scf.for %i = %low to %n step %step iter_args(%outer = %start) -> (!async.token) {
    %inner = scf.for %j = %c0 to %i step %c1 iter_args(%before = %outer) -> (!async.token) {
      %all, %early = async_region.region [%before as %ready] -> !async.token {
        %p = async_region.copy [%ready] %a to %b : memref<16xf32> to memref<16xf32>
        %q = async_region.region [%p] {
          memref.store %one, %a[%i] : memref<16xf32>
          async_region.yield
        }
        async_region.yield after [%q], [%p]
      }
      %use = async_region.region [%early] {
        %x = memref.load %b[%c0] : memref<16xf32>
        %y = arith.addf %x, %one : f32
        memref.store %y, %b[%c0] : memref<16xf32>
        async_region.yield
      }
      %both = async_region.region [%all, %use] {
        async_region.yield
      }
      scf.yield %both : !async.token
    }
    scf.yield %inner : !async.token
  }
  return %last : !async.token""",
    "a group, and a branch": """
  async.await %start : !async.token
  %trips = arith.ceildivsi %n, %c1 : index
  %group = async.create_group %trips : !async.group
  scf.for %i = %c0 to %n step %c1 {
    %t = async_region.region {
      %x = memref.load %a[%i] : memref<16xf32>
      %inner = async_region.region {
        memref.store %x, %b[%i] : memref<16xf32>
        async_region.yield
      }
      async_region.yield after [%inner]
    }
    %rank = async.add_to_group %t, %group : !async.token
  }
  async.await_all %group
  %last = scf.if %c -> (!async.token) {
    %t = async_region.copy %a to %b : memref<16xf32> to memref<16xf32>
    scf.yield %t : !async.token
  } else {
    %t = async_region.region [%start as %ready] {
      %u = async_region.copy [%ready] %b to %a : memref<16xf32> to memref<16xf32>
      async_region.yield after [%u]
    }
    scf.yield %t : !async.token
  }
  return %last : !async.token""",
}
BOUNDS = [(0, 0, 1), (1, 0, 1), (2, 0, 1), (5, 0, 1), (3, 2, 1), (2, 3, 1), (9, 1, 3), (10, 1, 3)]
"""Upper bound, lower bound, step."""


@pytest.mark.parametrize("passes", PASSES)
@pytest.mark.parametrize("name", BODIES)
def test_what_loops_do_stays(name: str, passes: str) -> None:
    text = f"{HEAD}{BODIES[name]}\n}}"
    module, after = parse(text), changed(text, passes)
    for number, (upper, lower, step) in enumerate(BOUNDS):
        integers = {"n": upper, "low": lower, "step": step, "c": number % 2}
        report = check(after, "f", args=integers)
        assert report.verdict is Verdict.SAFE, f"{integers}: {report}\n{print_custom(after)}"
        given = {**integers, "a": np.arange(16, dtype=np.float32), "b": np.zeros(16, np.float32)}
        expected = numbers_of(run(module, "f", given))
        for order, seed in ORDERS:
            assert numbers_of(run(after, "f", given, order=order, seed=seed)) == expected, f"{integers}, {order} {seed}"


@pytest.mark.parametrize("name", BODIES)
def test_the_programs_are_safe(name: str) -> None:
    module = parse(f"{HEAD}{BODIES[name]}\n}}")
    for upper, lower, step in BOUNDS:
        report = check(module, "f", args={"n": upper, "low": lower, "step": step})
        assert report.verdict is Verdict.SAFE, str(report)
