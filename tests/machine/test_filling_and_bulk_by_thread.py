"""
`nvvm.st.bulk`, bulk copies with a place for each thread, the numbers of work-items, and vectors of numbers.

Filling is an ordinary write of one thread, so the others need a barrier before it and behind it. Bulk stores of many
threads read through the asynchronous proxy, and each is waited for by the thread that issues it.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.running import run

HEAD = """
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %first = arith.cmpi eq, %tid, %c0 : i32
"""
ORDERS = ("eager", "lazy", "random")
BARRIER = "nvvm.barrier0"


def block(*lines: str, arguments: str, threads: int = 64) -> str:
    """A function of so many threads."""
    shape = f"attributes {{nvvm.reqntid = array<i32: {threads}, 1, 1>}}"
    return f"func.func @f({arguments}) {shape} {{{HEAD}" + "\n".join(lines) + "\nfunc.return\n}"


# Filling --------------------------------------------------------------------------------------------------------------

FILLED = "%out: !llvm.ptr<1>, %tile: !llvm.ptr<3>"
STORE = """%mine = llvm.getelementptr %tile[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
llvm.store %c1, %mine : i32, !llvm.ptr<3>"""
FILL = """%size = arith.constant 192 : i64
scf.if %first { nvvm.st.bulk %tile, size = %size : !llvm.ptr<3> }"""
LOAD = """%v = llvm.load %mine : !llvm.ptr<3> -> i32
%to = llvm.getelementptr %out[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
llvm.store %v, %to : i32, !llvm.ptr<1>"""


def test_filling_needs_a_barrier_before_and_behind() -> None:
    assert check(parse(block(STORE, BARRIER, FILL, BARRIER, LOAD, arguments=FILLED))).is_proved
    assert check(parse(block(STORE, FILL, BARRIER, LOAD, arguments=FILLED))).kinds == ["race"]
    assert check(parse(block(STORE, BARRIER, FILL, LOAD, arguments=FILLED))).kinds == ["race"]


@pytest.mark.parametrize("order", ORDERS)
def test_what_is_filled_is_zero_and_the_rest_stays(order: str) -> None:
    given = {"out": np.full(64, 7, np.int32), "tile": np.zeros(64, np.int32)}
    outcome = run(parse(block(STORE, BARRIER, FILL, BARRIER, LOAD, arguments=FILLED)), "f", given, order=order)
    assert outcome.arrays["out"].view(np.int32)[:64].tolist() == [0] * 48 + [1] * 16


def test_a_size_that_eight_does_not_divide_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="multiples of 8"):
        check(parse(block(FILL.replace("192", "12"), arguments=FILLED)))


# Bulk stores of each thread -------------------------------------------------------------------------------------------

ROWS = "%dst: !llvm.ptr<1>, %stage: !llvm.ptr<3>, %n: i32"
ROW = "!llvm.array<4 x i32>"
COLUMN = """%bytes = arith.constant 16 : i32
%threads = arith.constant {threads} : i32
%row = llvm.getelementptr %stage[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, {row}
%next = arith.addi %tid, %c1 : i32
%turned = arith.remsi %next, %threads : i32
%other = llvm.getelementptr %stage[%turned] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, {row}
scf.for %k = %c0 to %n step %c1 : i32 {{
  llvm.store %tid, %other : i32, !llvm.ptr<3>
  {fence}
  {filled}
  %base = arith.muli %k, %threads : i32
  %place = arith.addi %base, %tid : i32
  %out = llvm.getelementptr %dst[%place] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, {row}
  nvvm.cp.async.bulk.global.shared.cta %out, %row, %bytes : <1>, <3>
  nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.wait_group {left} {{read}}
  {emptied}
}}
nvvm.cp.async.bulk.wait_group 0"""
FENCE = "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}"


def staging(*, fence: str = FENCE, filled: str = BARRIER, emptied: str = BARRIER, left: int = 0) -> str:
    """Each thread writes the row of the next one, and stores its own by a bulk copy."""
    text = COLUMN.format(threads=64, row=ROW, fence=fence, filled=filled, emptied=emptied, left=left)
    return block(text, arguments=ROWS)


def test_rows_that_threads_store_need_both_barriers_the_fence_and_the_wait() -> None:
    right = check(parse(staging()))
    assert not right.findings
    assert not right.undecided
    assert check(parse(staging(filled="")), trip_counts=[1, 2]).kinds == ["race"]
    assert check(parse(staging(emptied="")), trip_counts=[1, 2]).kinds == ["race"]
    assert check(parse(staging(left=1)), trip_counts=[1, 2]).kinds == ["race"]
    assert "missing-fence" in check(parse(staging(fence="")), trip_counts=[1, 2]).kinds


@pytest.mark.parametrize("order", ORDERS)
def test_every_row_arrives(order: str) -> None:
    given = {"dst": np.zeros(3 * 64 * 4, np.int32), "stage": np.zeros(64 * 4, np.int32), "n": 3}
    outcome = run(parse(staging()), "f", given, order=order)
    rows = outcome.arrays["dst"].view(np.int32).reshape(3, 64, 4)[:, :, 0]
    assert rows.tolist() == [[63, *range(63)]] * 3


# Numbers of work-items, vectors ---------------------------------------------------------------------------------------

WAVES = """
llvm.func @f(%lds: !llvm.ptr<3>, %out: !llvm.ptr<1>) attributes {{
    rocdl.kernel, rocdl.reqd_work_group_size = array<i32: 128, 1, 1>}} {{
  %i = rocdl.workitem.id.x : i32
  %n = rocdl.workgroup.dim.x : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %last = llvm.sub %n, %one : i32
  %j = llvm.sub %last, %i : i32
  %mine = llvm.getelementptr %lds[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %other = llvm.getelementptr %lds[%j] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  llvm.store %i, %mine : i32, !llvm.ptr<3>
  {between}
  %v = llvm.load %other : !llvm.ptr<3> -> i32
  %to = llvm.getelementptr %out[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  llvm.store %v, %to : i32, !llvm.ptr<1>
  llvm.return
}}
"""


def test_work_items_know_their_numbers() -> None:
    right = parse(WAVES.format(between="rocdl.barrier"))
    assert check(right).is_proved
    outcome = run(right, "f", {"lds": np.zeros(128, np.int32), "out": np.zeros(128, np.int32)})
    assert outcome.arrays["out"].view(np.int32)[:128].tolist() == list(range(127, -1, -1))
    assert check(parse(WAVES.format(between=""))).kinds == ["race"]


def test_a_constant_may_be_a_vector() -> None:
    text = """llvm.func @f(%p: !llvm.ptr<1>, %c: i1) {
      llvm.intr.assume %c : i1
      %v = llvm.mlir.constant(dense<[1, 2]> : vector<2xi32>) : vector<2xi32>
      llvm.store %v, %p : vector<2xi32>, !llvm.ptr<1>
      llvm.return
    }"""
    outcome = run(parse(text), "f", {"p": np.zeros(2, np.int32), "c": 1})
    assert outcome.arrays["p"].view(np.int32)[:2].tolist() == [1, 2]
    assert check(parse(text)).is_proved


def test_the_remainder_of_floats_has_the_sign_of_the_dividend() -> None:
    text = "func.func @f(%a: f32, %b: f32) -> f32 { %r = arith.remf %a, %b : f32 func.return %r : f32 }"
    assert run(parse(text), "f", {"a": -5.5, "b": 2.0}).results[0] == np.float32(-1.5)
