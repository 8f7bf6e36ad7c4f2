"""The register pool of a block: `setmaxnreg` waits until its registers are free, and a warpgroup executes it as one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.machine.running import ORDERS, run

GROUP = 128
"""Threads of a warpgroup."""


def kernel(*groups: str, launch: str = "", threads: int | None = None) -> str:
    """A kernel in which warpgroup n executes `groups[n]`."""
    threads = len(groups) * GROUP if threads is None else threads
    branches = "".join(
        f"%is{n} = arith.cmpi eq, %group, %c{n} : i32\nscf.if %is{n} {{\n{body}\n}}\n" for n, body in enumerate(groups)
    )
    numbers = "".join(f"%c{n} = arith.constant {n} : i32\n" for n in range(4))
    return f"""
    func.func @k(%word: !llvm.ptr<3>) attributes {{nvvm.reqntid = array<i32: {threads}>{launch}}} {{
      %size = arith.constant {GROUP} : i32
      %both = arith.constant {2 * GROUP} : i32
      {numbers}
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %group = arith.divui %tid, %size : i32
      {branches}
      func.return
    }}
    """


def up(count: int) -> str:
    return f"nvvm.setmaxregister increase {count}"


def down(count: int) -> str:
    return f"nvvm.setmaxregister decrease {count}"


MEET = "nvvm.barrier id = %c1 number_of_threads = %size"
MEET_OTHERS = "nvvm.barrier id = %c2 number_of_threads = %size"
BOTH = "nvvm.barrier id = %c0 number_of_threads = %both"
NUMBER = ", nvvm.maxnreg = {} : i32"

FITS = {
    "what the producer gives": kernel(down(40), up(232), up(232), launch=NUMBER.format(168)),
    "consumers first": kernel(up(232), up(232), down(40), launch=NUMBER.format(168)),
    "without a stated number": kernel(down(72), up(216), up(216)),
    "what a launch of two warpgroups leaves": kernel(up(256), up(256)),
    "less than it has": kernel(up(100 // 8 * 8), down(200), up(168)),
    "two blocks on a multiprocessor": kernel(down(40), up(120), launch=", nvvm.minctasm = 3 : i32"),
    "given back, then taken again": kernel(
        f"{down(24)}\n{MEET}\n{up(128)}", f"{down(24)}\n{MEET_OTHERS}\n{up(128)}", launch=NUMBER.format(128)
    ),
    "one after the other": kernel(
        f"{up(200)}\n{MEET}\n{down(80)}\n{BOTH}", f"{BOTH}\n{up(200)}", down(40), launch=NUMBER.format(128)
    ),
}
WAITS_FOR_EVER = {
    "one unit too much": kernel(down(48), up(232), up(232), launch=NUMBER.format(168)),
    "fewer than the most": kernel(down(40), up(232), up(232), launch=NUMBER.format(160)),
    "without a stated number": kernel(down(80), up(224), up(216)),
    "no one gives": kernel(up(240), up(240), up(240)),
    "two blocks on a multiprocessor": kernel(down(40), up(136), launch=", nvvm.minctasm = 3 : i32"),
    "given behind what waits": kernel(f"{up(200)}\n{BOTH}", f"{BOTH}\n{down(24)}", launch=NUMBER.format(128)),
    "each half of it": kernel(
        *[f"{up(200)}\n{meet}\n{down(128)}" for meet in (MEET, MEET_OTHERS)], down(56), launch=NUMBER.format(128)
    ),
}
MALFORMED = {
    "one warp of four": kernel("%c32 = arith.constant 32 : i32\n%w = arith.cmpi ult, %tid, %c32 : i32\n"
                              f"scf.if %w {{\n{down(40)}\n}}", down(40)),
    "another number in one warp": kernel("%c32 = arith.constant 32 : i32\n%w = arith.cmpi ult, %tid, %c32 : i32\n"
                              f"scf.if %w {{\n{down(40)}\n}} else {{\n{down(48)}\n}}", down(40)),
    "twice, and they have not met": kernel(f"{down(128)}\n{down(40)}", down(40)),
    "some threads of a warp": kernel("%c8 = arith.constant 8 : i32\n%w = arith.cmpi ult, %tid, %c8 : i32\n"
                              f"scf.if %w {{\n{down(40)}\n}}", down(40)),
}  # fmt: skip


@pytest.mark.parametrize("name", FITS)
def test_what_fits_is_safe(name: str) -> None:
    report = check(parse(FITS[name]))
    assert report.verdict_line.startswith("safe for every trip count"), str(report)
    assert ("the most registers" in report.last_line) == ("maxnreg" not in FITS[name])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", FITS)
def test_what_fits_comes_to_its_end(name: str, order: str) -> None:
    assert run(parse(FITS[name]), "k", [np.zeros(1, np.int64)], order=order).finished


@pytest.mark.parametrize("name", WAITS_FOR_EVER)
def test_what_does_not_fit_is_a_deadlock(name: str) -> None:
    report = check(parse(WAITS_FOR_EVER[name]))
    assert report.kinds == ["deadlock"], str(report)
    assert "more free registers in the register pool" in str(report)


@pytest.mark.parametrize("name", MALFORMED)
def test_a_warpgroup_executes_it_as_one(name: str) -> None:
    assert check(parse(MALFORMED[name])).kinds == ["malformed"]


LOOP = """
%zero = arith.constant 0 : index
%one = arith.constant 1 : index
scf.for %i = %zero to %n step %one {{
  {}
}}
"""


def test_a_loop_behind_it_is_proved() -> None:
    body = LOOP.format(BOTH)
    text = kernel(down(40) + body, up(216) + body, launch=NUMBER.format(128))
    report = check(parse(text.replace("%word: !llvm.ptr<3>", "%n: index")))
    assert report.verdict_line.startswith("safe for every trip count"), str(report)


PARTITIONS = """
module attributes {{"ttg.num-warps" = 8 : i32, {launch} "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:90"}} {{
  tt.func public @k() {{
    %n = arith.constant 2 : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    scf.for %i = %zero to %n step %one : i32 {{
      ttg.warp_specialize() attributes {{{given} = array<i32: {registers}>, warpGroupStartIds = array<i32: 8, 10>}}
      default {{
        ttg.barrier local
        ttg.warp_yield
      }}
      partition0() num_warps(2) {{
        ttg.barrier local
        ttg.warp_return
      }}
      partition1() num_warps(2) {{
        ttg.warp_return
      }} : () -> ()
    }}
    tt.return
  }}
}}
"""


@pytest.mark.parametrize(
    ("registers", "launch", "kinds"),
    [
        ("232, 40, 40", "ttg.maxnreg = 168 : i32,", []),
        ("216, 72, 72", "", []),
        ("232, 48, 48", "ttg.maxnreg = 168 : i32,", ["deadlock"]),
        ("232, 40, 40", "ttg.maxnreg = 160 : i32,", ["deadlock"]),
        ("224, 80, 80", "", ["deadlock"]),
    ],
)
def test_what_triton_assigns_to_partitions_has_to_fit(registers: str, launch: str, kinds: list[str]) -> None:
    text = PARTITIONS.format(given="actualRegisters", registers=registers, launch=launch)
    report = check(parse(text))
    assert report.kinds == kinds, str(report)
    assert ("the most registers" in report.last_line) == (not kinds and not launch)


def test_what_partitions_only_request_moves_nothing() -> None:
    text = PARTITIONS.format(given="requestedRegisters", registers="240, 240", launch="")
    assert check(parse(text)).last_line == "safe for every trip count"
