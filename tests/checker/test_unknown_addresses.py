"""
Threads that compute an address from data, or the bytes that are left of a row: reads of what nobody writes need no
address, and sizes that every check takes to be whole need no number.
"""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.loop_bounds import made_up_extent
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.machine.arguments import find_function

GATHER = """
llvm.mlir.global internal @slots() {{addr_space = 3 : i32, alignment = 16 : i64}} : !llvm.array<32 x i32>
func.func @f(%table: !llvm.ptr<1>, %ids: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: index)
    attributes {{nvvm.reqntid = array<i32: 32>}} {{
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %shared = llvm.mlir.addressof @slots : !llvm.ptr<3>
  %mine = llvm.getelementptr %shared[%thread] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  scf.for %i = %c0 to %n step %c1 {{
    %turn = arith.index_cast %i : index to i32
    %c32 = arith.constant 32 : i32
    %first = arith.muli %turn, %c32 : i32
    %at = arith.addi %first, %thread : i32
    %from = llvm.getelementptr %ids[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %id = llvm.load %from : !llvm.ptr<1> -> i32
    %row = llvm.getelementptr {source}[%id] : ({space}, i32) -> {space}, i32
    %second = llvm.getelementptr %row[4] : ({space}) -> {space}, i8
    %x = llvm.load %second : {space} -> i32
    %to = llvm.getelementptr %y[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %x, %to : i32, !llvm.ptr<1>
    {more}
  }}
  func.return
}}
"""


def judged(more: str = "", source: str = "%table", space: str = "!llvm.ptr<1>") -> Report:
    return check(parse(GATHER.format(more=more, source=source, space=space)))


def test_a_gather_from_what_nobody_writes_is_safe_for_every_trip_count() -> None:
    report = judged()
    assert report.is_proved
    assert "indices that are data stay inside table" in report.last_line


@pytest.mark.parametrize(
    "more",
    [
        "llvm.store %x, %table : i32, !llvm.ptr<1>",
        "llvm.store %x, %row : i32, !llvm.ptr<1>",
        "llvm.store %x, %second : i32, !llvm.ptr<1>",
        "%again = llvm.load %second atomic seq_cst {alignment = 4 : i64} : !llvm.ptr<1> -> i32",
    ],
    ids=["elsewhere", "there", "behind it", "atomic"],
)
def test_where_it_lies_matters_once_something_is_written(more: str) -> None:
    report = judged(more)
    assert report.verdict is Verdict.UNDECIDED
    assert "computes an address" in str(report)


def test_a_gather_from_shared_memory_that_is_written_is_undecided() -> None:
    report = judged("llvm.store %x, %mine : i32, !llvm.ptr<3>", "%shared", "!llvm.ptr<3>")
    assert report.verdict is Verdict.UNDECIDED


TAIL = """
llvm.mlir.global internal @slots() {{addr_space = 3 : i32, alignment = 16 : i64}} : !llvm.array<128 x f32>
func.func @f(%x: memref<?xf32>, %y: !llvm.ptr<1>, %n: index) attributes {{nvvm.reqntid = array<i32: 32>}} {{
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %none = arith.constant 0 : i32
  %whole = arith.constant 16 : i32
  %number = "memref.extract_aligned_pointer_as_index"(%x) : (memref<?xf32>) -> index
  %address = arith.index_cast %number : index to i64
  %from = llvm.inttoptr %address : i64 to !llvm.ptr<1>
  %b, %o, %size, %s = memref.extract_strided_metadata %x : memref<?xf32> -> memref<f32>, index, index, index
  %lane = arith.index_cast %thread : i32 to index
  %mine = arith.muli %lane, %c4 : index
  %shared = llvm.mlir.addressof @slots : !llvm.ptr<3>
  %number_of_mine = arith.index_cast %mine : index to i32
  %slot = llvm.getelementptr %shared[%number_of_mine] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  scf.for %i = %c0 to %n step %c1 {{
    %c128 = arith.constant 128 : index
    %row = arith.muli %i, %c128 : index
    %at = arith.addi %row, %mine : index
    %last = arith.addi %at, %c3 : index
    %is_whole = arith.cmpi ult, %last, %size : index
    %left = arith.subi %size, %at : index
    %most = arith.minsi %left, %c4 : index
    %bytes = arith.muli %most, %c4 : index
    %narrow = arith.index_cast %bytes : index to i32
    %is_some = arith.cmpi ult, %at, %size : index
    %part = arith.select %is_some, %narrow, %none : i32
    %read = arith.select %is_whole, %whole, %part : i32
    %distance = arith.index_cast %at : index to i64
    %place = llvm.getelementptr %from[%distance] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    nvvm.cp.async.shared.global %slot, %place, 16, cache = cg, %read : !llvm.ptr<3>, !llvm.ptr<1>, i32
    nvvm.cp.async.commit.group
    {wait}
    %v = llvm.load %slot : !llvm.ptr<3> -> vector<4xf32>
    %to = llvm.getelementptr %y[%distance] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %v, %to : vector<4xf32>, !llvm.ptr<1>
  }}
  func.return
}}
"""


def test_bytes_that_are_left_of_a_row_keep_no_proof_back() -> None:
    assert check(parse(TAIL.format(wait="nvvm.cp.async.wait.group 0"))).is_proved


def test_the_copy_is_seen_all_the_same() -> None:
    assert check(parse(TAIL.format(wait=""))).findings


GUARDED = """
func.func @f(%x: memref<?xi32>, %y: !llvm.ptr<1>, %n: index) attributes {{nvvm.reqntid = array<i32: 32>}} {{
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0 : i32
  %number = "memref.extract_aligned_pointer_as_index"(%x) : (memref<?xi32>) -> index
  %address = arith.index_cast %number : index to i64
  %from = llvm.inttoptr %address : i64 to !llvm.ptr<1>
  %b, %o, %size, %s = memref.extract_strided_metadata %x : memref<?xi32> -> memref<i32>, index, index, index
  %lane = arith.index_cast %thread : i32 to index
  scf.for %i = %c0 to %n step %c1 {{
    %row = arith.muli %i, %c128 : index
    %at = arith.addi %row, %lane : index
    %inside = arith.cmpi ult, %at, %size : index
    %distance = arith.index_cast %at : index to i64
    {body}
  }}
  func.return
}}
"""
PLACE = "%p = llvm.getelementptr %from[%distance] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32"
PACKED = f"""
    %v = scf.if %inside -> (i32) {{
      {PLACE}
      %four = llvm.load %p {{alignment = 16 : i64}} : !llvm.ptr<1> -> vector<4xi32>
      %one = llvm.extractelement %four[%zero : i32] : vector<4xi32>
      scf.yield %one : i32
    }} else {{
      scf.yield %zero : i32
    }}
    %to = llvm.getelementptr %y[%distance] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    llvm.store %v, %to : i32, !llvm.ptr<1>
"""
COUNTED = f"""
    scf.if %inside {{
      {PLACE}
      %found = llvm.atomicrmw add %p, %thread monotonic : !llvm.ptr<1>, i32
    }}
"""
SCALAR = f"""
    %v = scf.if %inside -> (i32) {{
      {PLACE}
      %one = llvm.load %p : !llvm.ptr<1> -> i32
      scf.yield %one : i32
    }} else {{
      scf.yield %zero : i32
    }}
    %to = llvm.getelementptr %y[%distance] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    llvm.store %v, %to : i32, !llvm.ptr<1>
"""
ASKED = f"""
    scf.if %inside {{
      {PLACE}
      %found = llvm.atomicrmw add %p, %thread monotonic : !llvm.ptr<1>, i32
      %to = llvm.getelementptr %y[%distance] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
      llvm.store %found, %to : i32, !llvm.ptr<1>
    }}
"""
MET = """
    scf.if %inside {
      nvvm.barrier0
    }
"""


@pytest.mark.parametrize("body", [PACKED, COUNTED], ids=["packed numbers", "a count"])
def test_accesses_that_a_tail_leaves_out_bound_no_loop(body: str) -> None:
    assert check(parse(GUARDED.format(body=body))).is_proved


@pytest.mark.parametrize("body", [SCALAR, ASKED, MET], ids=["a number", "what a count was", "a barrier"])
def test_an_extent_that_may_decide_more_is_named(body: str) -> None:
    report = check(parse(GUARDED.format(body=body)))
    assert not report.is_proved
    assert "bounds a loop by an extent" in str(report)


CARRIED = """
    %z:2 = scf.for %j = %c0 to %c128 step %c1 iter_args(%p = %size, %k = {first}) -> (index, index) {{
      %is_first = arith.cmpi eq, %k, %c0 : index
      scf.if %is_first {{
        nvvm.barrier0
      }}
      scf.yield %p, %k : index, index
    }}
"""


@pytest.mark.parametrize(("first", "decides"), [("%i", False), ("%size", True)], ids=["a turn", "an extent"])
def test_each_value_that_a_loop_carries_is_followed_by_itself(first: str, decides: bool) -> None:
    """An extent is carried as well, in another place than what decides; or it is what decides."""
    body = CARRIED.format(first=first)
    function, _ = find_function(parse(GUARDED.format(body=body)), "f")
    assert (made_up_extent(function) is not None) == decides


BATCH = """
func.func @f(%c: memref<4x?x?xf32>, %n: index) attributes {{nvvm.reqntid = array<i32: 32>}} {{
  %lane = nvvm.read.ptx.sreg.tid.x : i32
  %thread = arith.index_cast %lane : i32 to index
  %batch = arith.constant {batch} : index
  %base, %offset, %sizes:3, %strides:3 = "memref.extract_strided_metadata"(%c)
      : (memref<4x?x?xf32>) -> (memref<f32>, index, index, index, index, index, index, index)
  %rows = arith.muli %batch, %strides#0 : index
  %at = arith.addi %rows, %thread : index
  %address = "memref.extract_aligned_pointer_as_index"(%c) : (memref<4x?x?xf32>) -> index
  %number = arith.index_cast %address : index to i64
  %array = llvm.inttoptr %number : i64 to !llvm.ptr<1>
  %c4 = arith.constant 4 : index
  %bytes = arith.muli %at, %c4 : index
  %distance = arith.index_cast %bytes : index to i64
  %to = llvm.getelementptr %array[%distance] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
  %x = arith.constant 1.0 : f32
  llvm.store %x, %to : f32, !llvm.ptr<1>
  func.return
}}
"""


@pytest.mark.parametrize(("batch", "verdict"), [(3, Verdict.SAFE), (-1, Verdict.VIOLATION)])
def test_addresses_of_an_array_with_open_extents_do_not_wrap(batch: int, verdict: Verdict) -> None:
    """With extents of 2^30 the last of four batches would begin 3 * 2^62 bytes behind the first."""
    report = check(parse(BATCH.format(batch=batch)))
    assert report.verdict is verdict


SIZED = TAIL.replace("%read = arith.select %is_whole, %whole, %part : i32", "{read}").replace(
    "%y: !llvm.ptr<1>,", "%y: !llvm.ptr<1>, %data: !llvm.ptr<1>,"
)
READ_BY_DATA = """%id = llvm.load %data : !llvm.ptr<1> -> i32
    %known = arith.cmpi ult, %id, %whole : i32
    %read = arith.select %known, %whole, %none : i32"""


def sized(wait: str, more: str = "") -> Report:
    """How many bytes a copy reads is in memory."""
    text = SIZED.format(read=READ_BY_DATA, wait=wait)
    return check(parse(text.replace("    %v = ", f"    {more}\n    %v = ")))


def test_how_many_bytes_are_read_of_what_nobody_writes_makes_no_difference() -> None:
    report = sized("nvvm.cp.async.wait.group 0")
    assert report.is_proved
    assert "indices that are data stay inside x;" in report.last_line
    assert sized("").findings


def test_how_many_bytes_are_read_matters_where_something_is_written() -> None:
    report = sized("nvvm.cp.async.wait.group 0", "llvm.store %none, %from : i32, !llvm.ptr<1>")
    assert report.verdict is Verdict.UNDECIDED
    assert "from data that is not computed" in str(report)
