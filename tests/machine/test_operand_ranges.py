"""Operands outside of the ranges that PTX gives are mistakes of the program: reported, with status 1."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.tools.main import main

KERNEL = """
func.func @k(%bar: !llvm.ptr<3>, %tile: !llvm.ptr<3>, %src: !llvm.ptr<1>, %x: i32)
    attributes {{nvvm.reqntid = array<i32: {threads}>}} {{
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %size = arith.constant 16 : i32
  %ticks = arith.constant 1000 : i32
  %number = {number}
  {body}
  func.return
}}
"""
CONSTANT = "arith.constant {} : i32"
INIT = "nvvm.mbarrier.init %bar, %one : !llvm.ptr<3>, i32\n"
WAIT = "nvvm.mbarrier.try_wait.parity %bar, %zero, %ticks : !llvm.ptr<3>, i32, i32\n"
ARRIVE = "nvvm.mbarrier.arrive %bar : !llvm.ptr<3>\n"

USES = {
    "barrier": ("nvvm.barrier id = %number", [0, 7, 15], [-1, 16, 100]),
    "threads": ("nvvm.barrier id = %one number_of_threads = %number", [32], [-32, 16, 33]),
    "init": ("nvvm.mbarrier.init %bar, %number : !llvm.ptr<3>, i32", [1, 5, (1 << 20) - 1], [-1, 0, 1 << 20]),
    "arrivals": (
        "nvvm.mbarrier.init %bar, %size : !llvm.ptr<3>, i32\n"
        "%state = nvvm.mbarrier.arrive.nocomplete %bar, %number : !llvm.ptr<3>, i32 -> i64",
        [1, 15],
        [0, -1, 1 << 20],
    ),
    "bytes": (
        f"{INIT}nvvm.mbarrier.arrive.expect_tx %bar, %number : !llvm.ptr<3>, i32",
        [0, 16, (1 << 20) - 1],
        [-16, 1 << 20],
    ),
    "parity": (
        f"{INIT}{ARRIVE}nvvm.mbarrier.try_wait.parity %bar, %number, %ticks : !llvm.ptr<3>, i32, i32",
        [0, 1],
        [-1, 2, 3],
    ),
    "copy": (
        f"{INIT}nvvm.mbarrier.arrive.expect_tx %bar, %number : !llvm.ptr<3>, i32\n"
        f"nvvm.cp.async.bulk.shared.cluster.global %tile, %src, %bar, %number : !llvm.ptr<3>, <1>\n{WAIT}",
        [16, 4096],
        [8, 24],
    ),
    "store": (
        "nvvm.cp.async.bulk.global.shared.cta %src, %tile, %number : <1>, <3>\n"
        "nvvm.cp.async.bulk.commit.group\nnvvm.cp.async.bulk.wait_group 0",
        [16, 4096],
        [4, 40],
    ),
}  # fmt: skip


def kernel(use: str, number: int) -> str:
    """A kernel in which one warp, or one thread where it counts arrivals, uses `number`."""
    threads = 32 if use in ("barrier", "threads") else 1
    return KERNEL.format(threads=threads, number=CONSTANT.format(number), body=USES[use][0])


@pytest.mark.parametrize(("use", "number"), [(use, n) for use, (_, right, _) in USES.items() for n in right])
def test_what_is_in_range_is_no_mistake(use: str, number: int) -> None:
    assert "malformed" not in check(parse(kernel(use, number))).kinds


@pytest.mark.parametrize(("use", "number"), [(use, n) for use, (*_, wrong) in USES.items() for n in wrong])
def test_what_is_out_of_range_is_malformed(use: str, number: int) -> None:
    report = check(parse(kernel(use, number)))
    assert report.kinds == ["malformed"], str(report)
    assert use == "init" or "PTX ISA" in str(report)


def test_a_computed_number_is_looked_at_when_it_is_used() -> None:
    body = """
      %four = arith.constant 4 : index
      %from = arith.constant 0 : index
      %step = arith.constant 1 : index
      scf.for %i = %from to %four step %step {
        %n = arith.index_cast %i : index to i32
        %id = arith.muli %n, %number : i32
        nvvm.barrier id = %id
      }"""
    report = check(parse(KERNEL.format(threads=64, number=CONSTANT.format(6), body=body)))
    assert report.kinds == ["malformed"]
    assert "barrier 18" in str(report)


def test_two_numbers_of_threads_at_one_barrier() -> None:
    body = """
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %all = arith.constant 64 : i32
      %few = arith.constant 32 : i32
      %first = arith.cmpi ult, %tid, %few : i32
      scf.if %first {
        nvvm.barrier id = %one number_of_threads = %all
      } else {
        nvvm.barrier id = %one number_of_threads = %few
      }"""
    assert check(parse(KERNEL.format(threads=64, number=CONSTANT.format(0), body=body))).kinds == ["malformed"]


def test_fewer_than_no_groups() -> None:
    text = KERNEL.format(threads=1, number=CONSTANT.format(0), body="nvvm.cp.async.wait.group -1")
    assert check(parse(text)).kinds == ["malformed"]


def test_the_command_says_status_1(tmp_path: Path) -> None:
    path = tmp_path / "kernel.mlir"
    path.write_text(kernel("barrier", 16))
    assert main(["check", str(path)]) == 1


def test_a_kernel_that_does_not_say_how_many_threads_run_it_is_judged_as_one() -> None:
    body = "nvvm.mbarrier.init %bar, %one : !llvm.ptr<3>, i32\nnvvm.mbarrier.arrive %bar : !llvm.ptr<3>\n"
    text = KERNEL.format(threads=1, number=CONSTANT.format(0), body=body)
    assert "one thread runs" not in check(parse(text)).last_line
    unsaid = text.replace("attributes {nvvm.reqntid = array<i32: 1>}", "")
    assert "one thread runs @k" in check(parse(unsaid)).last_line
    assert "one thread runs" not in check(parse(unsaid), threads=1).last_line
