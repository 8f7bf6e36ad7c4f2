"""Addresses as numbers, and accesses to a few neighbouring elements, as lowered copies use them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.machine.core.violations import UnsupportedError, ViolationKind
from tileas_xdsl.machine.running import run

POINTER = """
  %number = "memref.extract_aligned_pointer_as_index"({memref}) : ({type}) -> index
  %address = arith.index_cast %number : index to i64
  %start = llvm.inttoptr %address : i64 to !llvm.ptr
"""


def loads(body: str, result: str = "%v") -> float:
    text = f"func.func @f(%m: memref<4x8xf32>) -> f32 {{\n{body}\nfunc.return {result} : f32\n}}"
    numbers = np.arange(32, dtype=np.float32).reshape(4, 8)
    (value,) = run(parse(text), "f", {"m": numbers}).results
    return float(value)


def test_the_address_of_a_buffer_leads_to_its_elements() -> None:
    body = POINTER.format(memref="%m", type="memref<4x8xf32>")
    body += "%p = llvm.getelementptr %start[11] : (!llvm.ptr) -> !llvm.ptr, f32\n%v = llvm.load %p : !llvm.ptr -> f32"
    assert loads(body) == 11


def test_arithmetic_on_addresses_moves_the_pointer() -> None:
    body = POINTER.format(memref="%m", type="memref<4x8xf32>")
    body += """
      %bytes = arith.constant 20 : i64
      %further = arith.addi %address, %bytes : i64
      %p = llvm.inttoptr %further : i64 to !llvm.ptr
      %back = llvm.ptrtoint %p : !llvm.ptr to i64
      %again = llvm.inttoptr %back : i64 to !llvm.ptr
      %v = llvm.load %again : !llvm.ptr -> f32"""
    assert loads(body) == 5


def test_a_view_has_the_address_of_its_buffer_and_an_offset() -> None:
    kind = "memref<2x3xf32, strided<[8, 1], offset: 10>>"
    body = f"%s = memref.subview %m[1, 2] [2, 3] [1, 1] : memref<4x8xf32> to {kind}\n"
    body += POINTER.format(memref="%s", type=kind)
    body += f"""
      %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %s
        : {kind} -> memref<f32>, index, index, index, index, index
      %distance = arith.index_cast %offset : index to i64
      %p = llvm.getelementptr %start[%distance] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %v = llvm.load %p : !llvm.ptr -> f32"""
    assert loads(body) == 10


def test_two_buffers_have_two_addresses_and_races_are_seen_through_them() -> None:
    text = """
    func.func @f(%a: memref<8xf32>, %b: memref<8xf32, 3>) {
      %c0 = arith.constant 0 : index
      %x = "memref.extract_aligned_pointer_as_index"(%a) : (memref<8xf32>) -> index
      %xi = arith.index_cast %x : index to i64
      %xp = llvm.inttoptr %xi : i64 to !llvm.ptr<1>
      %y = "memref.extract_aligned_pointer_as_index"(%b) : (memref<8xf32, 3>) -> index
      %yi = arith.index_cast %y : index to i64
      %yp = llvm.inttoptr %yi : i64 to !llvm.ptr<3>
      nvvm.cp.async.shared.global %yp, %xp, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
      nvvm.cp.async.commit.group
      nvvm.cp.async.wait.group WAIT
      %v = memref.load %b[%c0] : memref<8xf32, 3>
      nvvm.cp.async.wait.group 0
      func.return
    }"""
    assert check(parse(text.replace("WAIT", "0"))).kinds == []
    assert check(parse(text.replace("WAIT", "1"))).kinds == ["race"]


def test_a_number_that_is_no_address_is_refused() -> None:
    text = """
    func.func @f() {
      %n = arith.constant 7 : i64
      %p = llvm.inttoptr %n : i64 to !llvm.ptr
      func.return
    }"""
    with pytest.raises(UnsupportedError, match="makes a pointer of 7, which is no address of an object here"):
        run(parse(text), "f")


def test_vectors_are_neighbouring_elements() -> None:
    text = """
    func.func @f(%m: memref<4x8xf32>, %i: index, %j: index) -> f32 {
      %c0 = arith.constant 0 : index
      %v = vector.load %m[%i, %j] : memref<4x8xf32>, vector<4xf32>
      %sum = arith.addf %v, %v : vector<4xf32>
      vector.store %sum, %m[%c0, %c0] : memref<4x8xf32>, vector<4xf32>
      %x = memref.load %m[%c0, %c0] : memref<4x8xf32>
      func.return %x : f32
    }"""
    numbers = np.arange(32, dtype=np.float32).reshape(4, 8)
    outcome = run(parse(text), "f", {"m": numbers, "i": 2, "j": 3})
    assert outcome.arrays["m"][0].tolist() == [38, 40, 42, 44, 4, 5, 6, 7]


def test_vectors_move_with_an_asynchronous_scope() -> None:
    text = """
    func.func @f(%m: memref<8xf32>, %s: memref<8xf32, 3>) {
      %c4 = arith.constant 4 : index
      async_queue.commit 0 {
        async_queue.scope {
          %v = vector.load %m[%c4] : memref<8xf32>, vector<4xf32>
          vector.store %v, %s[%c4] : memref<8xf32, 3>, vector<4xf32>
        }
      }
      %early = memref.load %s[%c4] : memref<8xf32, 3>
      async_queue.wait 0, 0
      func.return
    }"""
    assert check(parse(text)).kinds == ["race"]
    arrays = {"m": np.arange(8, dtype=np.float32), "s": np.zeros(8, np.float32)}
    outcome = run(parse(text.replace("%early = memref.load %s[%c4] : memref<8xf32, 3>", "")), "f", arrays)
    assert outcome.arrays["s"].tolist() == [0, 0, 0, 0, 4, 5, 6, 7]


TRANSFER = """
func.func @f(%m: memref<8xf32>, %s: memref<8xf32, 3>, %z: f32, %i: index) {
  async_queue.commit 0 {
    async_queue.scope {
      %v = vector.transfer_read %m[%i], %z : memref<8xf32>, vector<4xf32>
      %w = arith.addf %v, %v : vector<4xf32>
      vector.transfer_write %w, %s[%i] : vector<4xf32>, memref<8xf32, 3>
    }
  }
  async_queue.wait 0, 0
  %last = vector.transfer_read %m[%i], %z : memref<8xf32>, vector<4xf32>
  %c0 = arith.constant 0 : index
  vector.transfer_write %last, %m[%c0] : vector<4xf32>, memref<8xf32>
  func.return
}"""


@pytest.mark.parametrize(
    ("place", "written", "read"),
    [
        (0, [0, 2, 4, 6, 0, 0, 0, 0], [0, 1, 2, 3]),
        (4, [0, 0, 0, 0, 8, 10, 12, 14], [4, 5, 6, 7]),
        (6, [0, 0, 0, 0, 0, 0, 12, 14], [6, 7, 9, 9]),
        (9, [0, 0, 0, 0, 0, 0, 0, 0], [9, 9, 9, 9]),
    ],
)
def test_transfers_read_padding_and_write_nothing_outside(place: int, written: list[int], read: list[int]) -> None:
    arrays = {"m": np.arange(8, dtype=np.float32), "s": np.zeros(8, np.float32)}
    outcome = run(parse(TRANSFER), "f", {**arrays, "z": 9, "i": place})
    assert outcome.arrays["s"].tolist() == written
    assert outcome.arrays["m"].tolist() == [*read, 4, 5, 6, 7]
    assert check(parse(TRANSFER), args={"i": place}).kinds == []


def test_transfers_that_say_that_they_stay_inside_have_to() -> None:
    text = TRANSFER.replace("%z : memref<8xf32>, v", "%z {in_bounds = [true]} : memref<8xf32>, v")
    arrays = {"m": np.arange(8, dtype=np.float32), "s": np.zeros(8, np.float32)}
    (violation,) = run(parse(text), "f", {**arrays, "z": 9, "i": 6}).violations
    assert violation.kind is ViolationKind.MALFORMED
    assert violation.parties[0].role == "reaches outside 'm': 4 elements from index 6 on, of 8"


def test_a_transfer_races_as_a_store_does() -> None:
    text = TRANSFER.replace("async_queue.wait 0, 0", "").replace("func.return", "async_queue.wait 0, 0\nfunc.return")
    assert check(parse(text), args={"i": 0}).kinds == ["race"]
    assert check(parse(text), args={"i": 4}).kinds == []
