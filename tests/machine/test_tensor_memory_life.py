"""
The life of columns of tensor memory: who allocates them, who gives them back, who uses them meanwhile.

What each allocation gets depends on who comes first, unless happens-before orders them.
"""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict

SHAPE = "{shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>}"
PROGRAM = """
llvm.mlir.global internal @slots() {{addr_space = 3 : i32, alignment = 8 : i64}} : !llvm.array<2 x i32>
llvm.func @f() attributes {{nvvm.kernel, nvvm.reqntid = array<i32: 64>}} {{
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c5 = llvm.mlir.constant(5 : i32) : i32
  %c21 = llvm.mlir.constant(21 : i32) : i32
  %c32 = llvm.mlir.constant(32 : i32) : i32
  %c48 = llvm.mlir.constant(48 : i32) : i32
  %c64 = llvm.mlir.constant(64 : i32) : i32
  %c512 = llvm.mlir.constant(512 : i32) : i32
  %v = arith.constant dense<0> : vector<8xi32>
  %slot = llvm.mlir.addressof @slots : !llvm.ptr<3>
  %other = llvm.getelementptr %slot[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %warp = llvm.lshr %tid, %c5 : i32
  %lanes = llvm.shl %warp, %c21 : i32
  %first = arith.cmpi eq, %warp, %c0 : i32
  %second = arith.cmpi eq, %warp, %c1 : i32
  {body}
  llvm.return
}}
"""


def judged(body: str) -> Report:
    return check(parse(PROGRAM.format(body=body)), prove=False)


def by(warp: str, *lines: str) -> str:
    return "\n".join([f"scf.if %{warp} {{", *lines, "}"])


def allocate(columns: str, slot: str = "slot") -> str:
    return f"nvvm.tcgen05.alloc %{slot}, {columns} : !llvm.ptr<3>, i32"


def load(slot: str = "slot") -> str:
    return (
        f"%a = llvm.load %{slot} : !llvm.ptr<3> -> i32\n%t = llvm.inttoptr %a : i32 to !llvm.ptr<6>\n"
        "%own = llvm.add %a, %lanes : i32\n%mine = llvm.inttoptr %own : i32 to !llvm.ptr<6>"
    )


def store(place: str = "%mine") -> str:
    return f"nvvm.tcgen05.st {place}, %v {SHAPE} : vector<8xi32>\nnvvm.tcgen05.wait <store>"


def free(columns: str, place: str = "%t") -> str:
    return f"nvvm.tcgen05.dealloc {place}, {columns} : !llvm.ptr<6>, i32"


BEHIND = "%w = llvm.add %a, %c64 : i32\n%u = llvm.inttoptr %w : i32 to !llvm.ptr<6>"
AT_ZERO = "%z = llvm.inttoptr %c0 : i32 to !llvm.ptr<6>"
MEET = "nvvm.tcgen05.fence <before>\nnvvm.barrier0\nnvvm.tcgen05.fence <after>"
GIVE_UP = "nvvm.tcgen05.relinquish_alloc_permit"


def whole_life(columns: str, slot: str) -> list[str]:
    return [allocate(columns, slot), load(slot), store(), free(columns)]


AGAIN = [
    line.replace("%a", "%a2").replace("%t ", "%t2 ").replace("%own", "%own2").replace("%mine", "%mine2")
    for line in (allocate("%c32"), load(), store())
] + [free("%c32", "%t2")]
"""A second life of columns in one warp."""
RIGHT = {
    "each warp uses what it gets": [
        by("first", *whole_life("%c32", "slot")),
        by("second", *whole_life("%c64", "other")),
    ],
    "each has to wait for the other": [
        by("first", *whole_life("%c512", "slot")),
        by("second", *whole_life("%c512", "other")),
    ],
    "allocations in order give fixed columns": [
        by("first", allocate("%c32"), AT_ZERO, store("%z")),
        MEET,
        by("second", allocate("%c64", "other")),
        MEET,
        by("first", load(), free("%c32")),
        by("second", load("other"), free("%c64")),
    ],
    "the permit is given up last": [by("first", allocate("%c32"), GIVE_UP, load(), store(), free("%c32"))],
    "others are done before columns are given back": [
        by("first", allocate("%c32")),
        MEET,
        load(),
        store(),
        MEET,
        by("first", free("%c32")),
    ],
    "columns are allocated again": [by("first", *whole_life("%c64", "slot"), *AGAIN)],
    "columns are allocated again in parts, by two warps": [
        by("first", *whole_life("%c64", "slot"), *AGAIN),
        by("second", *whole_life("%c32", "other")),
    ],
}
WRONG = {
    "a warp takes its columns for the first ones": (
        [
            by("first", allocate("%c32"), AT_ZERO, store("%z"), load(), free("%c32")),
            by("second", *whole_life("%c64", "other")),
        ],
        "race",
    ),
    "the same, written the other way round": (
        [
            by("second", *whole_life("%c64", "other")),
            by("first", allocate("%c32"), AT_ZERO, store("%z"), load(), free("%c32")),
        ],
        "race",
    ),
    "columns are given back while others use them": (
        [by("first", allocate("%c32")), MEET, load(), store(), by("first", free("%c32"))],
        "race",
    ),
    "columns are used after they were given back": (
        [by("first", allocate("%c32"), load(), free("%c32"), store())],
        "malformed",
    ),
    "columns that nobody has allocated are used": (
        [by("first", allocate("%c32"), load(), BEHIND, store("%u"), free("%c32"))],
        "malformed",
    ),
    "columns are given back twice": ([by("first", allocate("%c32"), load(), free("%c32"), free("%c32"))], "malformed"),
    "others are given back": ([by("first", allocate("%c64"), load(), free("%c32"))], "malformed"),
    "columns are kept": ([by("first", allocate("%c32"))], "undrained"),
    "a number of columns that there is not": ([by("first", allocate("%c48"))], "malformed"),
    "an allocation after the permit is given up": ([by("first", GIVE_UP, allocate("%c32"))], "malformed"),
    "one that may come after": ([by("first", *whole_life("%c32", "slot")), by("second", GIVE_UP)], "malformed"),
    "the address is read without a barrier": (
        [by("first", allocate("%c32")), by("second", load(), store()), MEET, by("first", load(), free("%c32"))],
        "race",
    ),
    "the address is read without a barrier by the warp that runs first": (
        [by("second", allocate("%c32")), by("first", load(), store()), MEET, by("second", load(), free("%c32"))],
        "race",
    ),
    "the address is given back without a barrier by the warp that runs first": (
        [by("second", allocate("%c32")), by("first", load(), free("%c32"))],
        "race",
    ),
    "two allocations that never fit": (
        [by("first", allocate("%c512"), allocate("%c32", "other"), load(), free("%c512"))],
        "deadlock",
    ),
    "each holds what the other needs": (
        [
            by(
                name,
                "%c256 = llvm.mlir.constant(256 : i32) : i32",
                allocate("%c256", slot),
                load(slot),
                store(),
                allocate("%c256", slot),
                free("%c256"),
                "%b = llvm.load %{slot} : !llvm.ptr<3> -> i32".replace("{slot}", slot),
                "%q = llvm.inttoptr %b : i32 to !llvm.ptr<6>",
                free("%c256", "%q"),
            )
            for name, slot in (("first", "slot"), ("second", "other"))
        ],
        "deadlock",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_safe(name: str) -> None:
    report = judged("\n".join(RIGHT[name]))
    assert report.verdict is Verdict.SAFE, report


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found(name: str) -> None:
    lines, kind = WRONG[name]
    report = judged("\n".join(lines))
    assert report.verdict is Verdict.VIOLATION, report
    assert kind in report.kinds
