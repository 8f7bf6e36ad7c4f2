"""A thread that returns from the kernel leaves the block: barriers of the block wait for the others."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.machine.running import ORDERS, run

KERNEL = """
llvm.func @reverse(%shared: !llvm.ptr<3>, %out: !llvm.ptr<1>)
    attributes {{nvvm.kernel, nvvm.reqntid = array<i32: 96>}} {{
  %zero = llvm.mlir.constant(0 : i32) : i32
  %count = llvm.mlir.constant({staying} : i32) : i32
  %last = llvm.mlir.constant({last} : i32) : i32
  %whole = llvm.mlir.constant({whole_warps} : i32) : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %stays = llvm.icmp "ult" %tid, %count : i32
  llvm.cond_br %stays, ^work, ^leave
^work:
  %mine = llvm.getelementptr %shared[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  llvm.store %tid, %mine : i32, !llvm.ptr<3>
  {barrier}
  %other = llvm.sub %last, %tid : i32
  %theirs = llvm.getelementptr %shared[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %v = llvm.load %theirs : !llvm.ptr<3> -> i32
  %to = llvm.getelementptr %out[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  llvm.store %v, %to : i32, !llvm.ptr<1>
  {end}
^leave:
  llvm.return
}}
"""
BLOCK = "nvvm.barrier0"
COUNTED = "nvvm.barrier id = %zero number_of_threads = %whole"


def kernel(staying: int, barrier: str, end: str = "llvm.return") -> str:
    """A kernel of 96 threads of which the first `staying` meet at `barrier`, and the others return before it."""
    whole_warps = -(-staying // 32) * 32
    return KERNEL.format(staying=staying, last=staying - 1, whole_warps=whole_warps, barrier=barrier, end=end)


@pytest.mark.parametrize("staying", [1, 16, 32, 40, 64, 80, 95])
@pytest.mark.parametrize("barrier", [BLOCK, COUNTED])
@pytest.mark.parametrize("end", ["llvm.return", "llvm.br ^leave"])
def test_the_others_are_not_waited_for(staying: int, barrier: str, end: str) -> None:
    assert check(parse(kernel(staying, barrier, end))).verdict_line.startswith("safe")


@pytest.mark.parametrize("order", ORDERS)
def test_those_that_stay_exchange_what_they_hold(order: str) -> None:
    shared, out = np.zeros(96, np.int32), np.full(96, -1, np.int32)
    outcome = run(parse(kernel(40, BLOCK)), "reverse", [shared, out], order=order)
    assert not outcome.violations
    assert outcome.arrays["out"].tolist() == [*range(39, -1, -1), *[-1] * 56]


@pytest.mark.parametrize("staying", [40, 64])
def test_without_the_barrier_they_race(staying: int) -> None:
    assert check(parse(kernel(staying, ""))).kinds == ["race"]


def test_a_barrier_that_counts_those_who_have_returned_waits_for_ever() -> None:
    barrier = "%all = llvm.mlir.constant(96 : i32) : i32\nnvvm.barrier id = %zero number_of_threads = %all"
    assert check(parse(kernel(64, barrier))).kinds == ["deadlock"]


def test_a_warp_that_only_waits_elsewhere_is_waited_for() -> None:
    text = kernel(64, BLOCK).replace(
        "^leave:\n", "^leave:\n  %two = llvm.mlir.constant(2 : i32) : i32\n  nvvm.barrier id = %two\n"
    )
    assert check(parse(text)).kinds == ["deadlock"]


def test_the_return_of_a_function_that_is_called_is_no_exit() -> None:
    text = """
    llvm.func @helper(%tid: i32) {
      %c8 = llvm.mlir.constant(8 : i32) : i32
      %few = llvm.icmp "ult" %tid, %c8 : i32
      llvm.cond_br %few, ^leave, ^meet
    ^meet:
      nvvm.barrier0
      llvm.return
    ^leave:
      llvm.return
    }
    llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      llvm.call @helper(%tid) : (i32) -> ()
      llvm.return
    }
    """
    assert check(parse(text), function="k").kinds == ["deadlock"]


def test_a_number_of_threads_is_not_all_that_are_left() -> None:
    """Who arrives for two warps meets who waits for all: whether these are two depends on who has returned by then."""
    text = """
    llvm.func @k() attributes {{nvvm.kernel, nvvm.reqntid = array<i32: {threads}>}} {{
      %c1 = llvm.mlir.constant(1 : i32) : i32
      %c5 = llvm.mlir.constant(5 : i32) : i32
      %c64 = llvm.mlir.constant(64 : i32) : i32
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %warp = llvm.lshr %tid, %c5 : i32
      %first = llvm.icmp "ult" %warp, %c1 : i32
      %second = llvm.icmp "eq" %warp, %c1 : i32
      scf.if %first {{
        nvvm.barrier.arrive id = %c1 number_of_threads = %c64
        nvvm.barrier0
      }}
      scf.if %second {{
        nvvm.barrier id = %c1
        nvvm.barrier0
      }}
      llvm.return
    }}
    """
    assert check(parse(text.format(threads=64))).verdict_line.startswith("safe")
    assert check(parse(text.format(threads=96))).kinds == ["malformed"]
