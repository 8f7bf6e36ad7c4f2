"""What the device copies of `nvgpu` do: asynchronous, by groups of a thread that finish in order."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import parse
from tests.support.meaning import run_in_order
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.running import run

ORDERS = ("eager", "lazy", "random:0", "random:1", "random:2")
SOURCE = np.arange(1, 33, dtype=np.float32).reshape(8, 4)
COPY = "nvgpu.device_async_copy %src[%c{0}, %c0], %ring[%c{0}, %c0], 4 : memref<8x4xf32> to memref<4x4xf32, 3>"
GROUP = "%t{0} = {copy}\n%g{0} = nvgpu.device_async_create_group %t{0}\n"
WAIT = "nvgpu.device_async_wait"


def group(row: int) -> str:
    return GROUP.format(row, copy=COPY.format(row))


def read(row: int) -> str:
    return (
        f"%x{row} = memref.load %ring[%c{row}, %c3] : memref<4x4xf32, 3>\n"
        f"memref.store %x{row}, %out[%c{row}] : memref<8xf32>\n"
    )


def program(body: str) -> ModuleOp:
    constants = "\n".join(f"%c{number} = arith.constant {number} : index" for number in range(9))
    return parse(
        "func.func @f(%src: memref<8x4xf32>, %out: memref<8xf32>, %x: f32) {\n"
        f"%ring = memref.alloc() : memref<4x4xf32, 3>\n{constants}\n{body}\nfunc.return\n}}"
    )


def kinds(module: ModuleOp) -> list[str]:
    return sorted({str(finding.violation.kind) for finding in check(module).findings})


def outputs(body: str, order: str = "lazy", x: float = 0.0) -> list[float]:
    outcome = run_in_order(program(body), "f", {"src": SOURCE, "out": np.zeros(8, np.float32), "x": x}, order)
    assert not outcome.violations
    return outcome.arrays["out"].tolist()


# When copies are complete ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
def test_a_copy_is_there_behind_the_wait_for_its_group(order: str):
    assert outputs(f"{group(1)} {WAIT} %g1\n{read(1)}", order)[1] == SOURCE[1, 3]


@pytest.mark.parametrize(
    "early",
    [
        read(1),
        "memref.store %x, %ring[%c1, %c2] : memref<4x4xf32, 3>",
        "memref.store %x, %src[%c1, %c2] : memref<8x4xf32>",
    ],
)
def test_who_touches_a_copy_before_its_group_is_complete_races(early: str):
    assert kinds(program(f"{group(1)} {early}\n{WAIT} %g1")) == ["race"]


def test_groups_finish_in_order_so_a_younger_one_stands_for_the_older():
    body = f"{group(0)} {group(1)} {WAIT} %g1\n{read(0)} {read(1)}"
    assert kinds(program(body)) == []
    assert outputs(body)[:2] == SOURCE[:2, 3].tolist()


def test_a_wait_for_an_older_group_leaves_the_younger_one_unfinished():
    start = f"{group(0)} {group(1)} {WAIT} %g0\n"
    assert kinds(program(f"{start} {read(0)} {WAIT} %g1")) == []
    assert kinds(program(f"{start} {read(1)} {WAIT} %g1")) == ["race"]


@pytest.mark.parametrize("left", range(4))
def test_num_groups_counts_from_the_youngest_whatever_the_token(left: int):
    groups = "".join(group(row) for row in range(3))
    for row in range(3):
        body = f"{groups} {WAIT} %g0 {{numGroups = {left} : i32}}\n{read(row)} {WAIT} %g2"
        assert kinds(program(body)) == ([] if row < 3 - left else ["race"])


def test_an_empty_group_counts():
    empty = "%e = nvgpu.device_async_create_group {}\n"
    body = f"{group(0)} {empty} {WAIT} %g0 {{numGroups = 1 : i32}}\n{read(0)}"
    assert kinds(program(body)) == []
    assert kinds(program(body.replace(empty, ""))) == ["race", "undrained"]


def test_a_copy_in_no_group_is_covered_by_no_wait():
    both = f"%t0 = {COPY.format(0)}\n%t1 = {COPY.format(1)}\n"
    grouped = f"{both}%g = nvgpu.device_async_create_group %t0, %t1\n{WAIT} %g"
    assert kinds(program(grouped)) == []
    assert kinds(program(grouped.replace("%t0, %t1", "%t0"))) == ["undrained"]
    assert kinds(program(grouped.replace(f"{WAIT} %g", ""))) == ["undrained"]


def test_a_copy_reads_its_source_at_issue_only_where_that_is_asked_for():
    body = f"{group(1)} memref.store %x, %src[%c1, %c3] : memref<8x4xf32>\n{WAIT} %g1\n{read(1)}"
    assert check(program(body), capture="issue").verdict is Verdict.SAFE
    arguments = {"src": SOURCE.copy(), "x": -1.0}
    assert run(program(body), "f", arguments, order="lazy", capture="issue").arrays["out"][1] == SOURCE[1, 3]


# What copies move -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("elements", range(5))
def test_what_is_not_read_becomes_zero(order: str, elements: int):
    copy = COPY.format(2).replace("], 4 :", f"], 4, %c{elements} {{bypassL1}} :")
    fill = "".join(f"memref.store %x, %ring[%c2, %c{c}] : memref<4x4xf32, 3>\n" for c in range(4))
    reads = "".join(
        f"%y{c} = memref.load %ring[%c2, %c{c}] : memref<4x4xf32, 3>\nmemref.store %y{c}, %out[%c{c}] : memref<8xf32>\n"
        for c in range(4)
    )
    body = f"{fill} {GROUP.format(2, copy=copy)} {WAIT} %g2\n{reads}"
    assert kinds(program(body)) == []
    assert outputs(body, order, x=7)[:4] == [*SOURCE[2, :elements].tolist(), *[0.0] * (4 - elements)]


def test_what_reads_nothing_may_have_an_address_outside():
    outside = COPY.format(2).replace("%src[%c2", "%src[%c8")
    nothing = GROUP.format(2, copy=outside.replace("], 4 :", "], 4, %c0 :"))
    assert outputs(f"{nothing} {WAIT} %g2\n{read(2)}")[2] == 0
    something = program(GROUP.format(2, copy=outside.replace("], 4 :", "], 4, %c1 :")))
    (violation,) = run(something, "f", {"src": SOURCE, "out": np.zeros(8, np.float32), "x": 0}).violations
    assert violation.parties[0].role.startswith("reaches outside 'src'")


def test_copies_of_both_dialects_share_the_groups_of_the_thread():
    mixed = f"%t0 = {COPY.format(0)}\nnvvm.cp.async.commit.group\n{group(1)} nvvm.cp.async.wait.group 1\n{read(0)}"
    assert kinds(program(f"{mixed} {WAIT} %g1")) == []
    assert kinds(program(f"{mixed} {read(1)} {WAIT} %g1")) == ["race"]


# Every trip count -----------------------------------------------------------------------------------------------------

LOOP = """
func.func @f(%n: index, %src: memref<?x4xf32>, %out: memref<?xf32>) {
  %ring = memref.alloc() : memref<2x4xf32, 3>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = nvgpu.device_async_copy %src[%c0, %c0], %ring[%c0, %c0], 4 : memref<?x4xf32> to memref<2x4xf32, 3>
  %g = nvgpu.device_async_create_group %t
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%a = %g) -> (!nvgpu.device.async.token) {
    %next = arith.addi %i, %c1 : index
    %fill = arith.remui %next, %c2 : index
    %use = arith.remui %i, %c2 : index
    %u = nvgpu.device_async_copy %src[%next, %c0], %ring[%fill, %c0], 4 : memref<?x4xf32> to memref<2x4xf32, 3>
    %h = nvgpu.device_async_create_group %u
    nvgpu.device_async_wait %a
    %x = memref.load %ring[%use, %c0] : memref<2x4xf32, 3>
    memref.store %x, %out[%i] : memref<?xf32>
    scf.yield %h : !nvgpu.device.async.token
  }
  nvgpu.device_async_wait %last
  func.return
}
"""


def test_a_loop_that_rotates_tokens_is_proved_for_every_trip_count():
    assert check(parse(LOOP)).verdict_line == "safe for every trip count"


@pytest.mark.parametrize("token", ["%a", "%last"])
def test_a_wait_too_few_is_found_in_the_same_loop(token: str):
    assert check(parse(LOOP.replace(f"{WAIT} {token}\n", "\n"))).verdict is Verdict.VIOLATION


def test_a_token_that_is_carried_along_and_never_changes_does_not_hinder_the_proof():
    text = LOOP.replace("func.return", f"{WAIT} %g\nfunc.return")
    assert check(parse(text)).verdict_line == "safe for every trip count"


def test_a_loop_in_which_more_and_more_is_under_way_is_proved():
    """The last token stands for all groups before it."""
    text = """
      func.func @f(%n: index, %src: memref<?x4xf32>) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %g = nvgpu.device_async_create_group {}
        %last = scf.for %i = %c0 to %n step %c1 iter_args(%a = %g) -> (!nvgpu.device.async.token) {
          %buffer = memref.alloc() : memref<4xf32, 3>
          %u = nvgpu.device_async_copy %src[%i, %c0], %buffer[%c0], 4 : memref<?x4xf32> to memref<4xf32, 3>
          %h = nvgpu.device_async_create_group %u
          scf.yield %h : !nvgpu.device.async.token
        }
        nvgpu.device_async_wait %last
        func.return
      }
    """
    report = check(parse(text))
    assert report.verdict is Verdict.SAFE
    assert report.verdict_line == "safe for every trip count"


# What has no meaning --------------------------------------------------------------------------------------------------

NO_MEANING = {
    "a wait for a copy": (f"%t = {COPY.format(0)}\n{WAIT} %t", "waits for a copy, and only groups can be waited for"),
    "a group of a group": (
        f"{group(0)} %h = nvgpu.device_async_create_group %g0",
        "makes a group of a group",
    ),
    "a copy in two groups": (
        f"{group(0)} %h = nvgpu.device_async_create_group %t0",
        "names a copy that is in a group already, or of another thread",
    ),
    "more elements than there are": (
        COPY.format(0).replace("], 4 :", "], 4, %c5 :").replace("nvgpu", "%t = nvgpu", 1),
        "reads 5 of 4 elements",
    ),
    "a group of another thread": (
        f"{group(0)} %e = async.execute {{ {WAIT} %g0\nasync.yield }}\nasync.await %e : !async.token",
        'waits for a group of main; a wait in that thread (PTX ISA, "cp.async.wait_group")',
    ),
}


@pytest.mark.parametrize(("body", "reason"), NO_MEANING.values(), ids=NO_MEANING)
def test_what_has_no_meaning_is_refused(body: str, reason: str):
    report = check(program(body))
    assert report.kinds == ["malformed"]
    assert reason.partition(";")[0] in str(report)


# What checking knows of memory ----------------------------------------------------------------------------------------

OVERWRITTEN = """
func.func @f(%src: memref<4xi32>, %b: memref<4xi32, 3>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  memref.store %zero, %b[%c0] : memref<4xi32, 3>
  BEGIN
  %v = memref.load %b[%c0] : memref<4xi32, 3>
  %is = arith.cmpi ne, %v, %zero : i32
  scf.if %is {
    %t = nvgpu.device_async_copy %src[%c0], %b[%c0], 1 : memref<4xi32> to memref<4xi32, 3>
  }
  func.return
}
"""
COPIED = (
    "%u = nvgpu.device_async_copy %src[%c0], %b[%c0], 1 : memref<4xi32> to memref<4xi32, 3>\n"
    f"%g = nvgpu.device_async_create_group %u\n{WAIT} %g"
)
SCOPED = "async_queue.commit 0 { async_queue.scope { memref.store %zero, %b[%c0] : memref<4xi32, 3> } }\n" + (
    "async_queue.wait 0, 0"
)


@pytest.mark.parametrize("begin", [COPIED, SCOPED])
def test_what_asynchronous_work_overwrites_is_known_no_more(begin: str):
    """Otherwise the branch would be taken for one that is never taken, and the mistake in it be missed."""
    assert check(parse(OVERWRITTEN.replace("BEGIN", ""))).verdict is Verdict.SAFE
    report = check(parse(OVERWRITTEN.replace("BEGIN", begin)))
    assert report.verdict is Verdict.UNDECIDED
    assert "branches on data that is not computed when checking" in str(report)
