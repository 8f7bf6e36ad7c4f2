"""
The time of PTX on one multiprocessor (`machine/warps/`): single mechanisms, and compiled kernels beside what an H200
took (`bench/gpu/results/`).
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from math import isclose

import numpy as np
import pytest

from bench import turns
from tileas_xdsl.machine.warps.blocks import turn_cycles
from tileas_xdsl.machine.warps.code import code_of
from tileas_xdsl.machine.warps.engines import sectors, wavefronts
from tileas_xdsl.machine.warps.integers import ALL_LANES, LANES, compute, lanes_where
from tileas_xdsl.machine.warps.multiprocessor import Multiprocessor, StuckError
from tileas_xdsl.targets.measured.h200 import FIGURES, H200, INSTRUCTIONS
from tileas_xdsl.targets.warp_timing import WarpTiming

HEAD = """
.version 8.6
.target sm_90a
.address_size 64
.visible .entry f(.param .align 64 .b8 f_param_0[128], .param .u64 f_param_1)
.reqntid {threads}, 1, 1
{{
  .reg .pred %p<8>;
  .reg .b32 %r<64>;
  .reg .b64 %rd<16>;
  .shared .align 1024 .b8 s[4096];
  mov.u32 %r0, %tid.x;
  ld.param.b64 %rd0, [f_param_1];
{before}
L:
{body}
  add.s64 %rd0, %rd0, -1;
  setp.ne.b64 %p0, %rd0, 0;
  @%p0 bra L;
  ret;
}}
"""
CONTRACT = {
    "name": "f",
    "parameters": [
        {"name": "a", "kind": "tensor map", "box": [64, 64], "type": "f16"},
        {"name": "n", "kind": "number", "type": "i64"},
    ],
}


def cycles(body: str, before: str = "", threads: int = 32, timing: WarpTiming = H200) -> float:
    """Cycles a turn of a loop of `body`."""
    return turn_cycles(HEAD.format(threads=threads, before=before, body=body), CONTRACT, timing)


EMPTY = cycles("")


# Integers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "values", "result"),
    [
        ("add.s32", (2**31 - 1, 1), -(2**31)),
        ("sub.s64", (1, 2), -1),
        ("mul.wide.u32", (-1, 2), 2 * (2**32 - 1)),
        ("mul.hi.u64", (-1, 3), 2),
        ("mad.lo.s64", (3, 4, 5), 17),
        ("shr.u32", (-1, 28), 15),
        ("shr.s32", (-16, 2), -4),
        ("bfe.u32", (0b1101000, 3, 2), 1),
        ("cvt.s64.s32", (-3,), -3),
        ("cvt.u64.u32", (-1,), 2**32 - 1),
        ("rem.s32", (-7, 3), -1),
        ("div.s32", (-7, 2), -3),
        ("div.s32", (1, 0), None),
        ("selp.b32", (1, None, 1), 1),
        ("selp.b32", (1, None, None), None),
        ("setp.lt.u32", (-1, 1), 0),
        ("setp.lt.s32", (-1, 1), 1),
        ("setp.lt.and.s32", (-1, 1, 0), 0),
        ("add.rn.f32", (1, 1), None),
        ("add.s32", (None, 1), None),
    ],
)
def test_integers_are_those_of_ptx(words: str, values: tuple[int | None, ...], result: int | None) -> None:
    assert compute(words.split("."), values) == result


def test_lanes_have_numbers_of_their_own() -> None:
    found = compute(["setp", "lt", "u32"], [LANES, 3])
    assert lanes_where(found, ALL_LANES) == 0b111
    assert lanes_where(compute(["selp", "b32"], [0, 1, found]), ALL_LANES) == ALL_LANES - 0b111


# Memory ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("addresses", "size", "expected"),
    [
        (LANES * 4, 4, 1),
        (LANES * 8, 4, 2),
        (LANES * 128, 4, 32),
        (LANES * 0, 4, 1),
        (LANES * 8, 8, 2),
        (LANES * 16, 16, 4),
        (LANES * 128, 16, 32),
    ],
)
def test_words_of_one_bank_come_one_after_the_other(addresses: np.ndarray, size: int, expected: int) -> None:
    assert wavefronts(addresses, size, ALL_LANES) == expected


def test_lanes_that_are_off_touch_nothing() -> None:
    assert wavefronts(LANES * 128, 4, 0b1111) == 4
    assert sectors(LANES * 4, 4, ALL_LANES) == 4
    assert sectors(LANES * 32, 4, ALL_LANES) == 32


# Single mechanisms against what was measured --------------------------------------------------------------------------


def measured(name: str) -> float:
    """A figure of `micro_h200.json`."""
    rows = map(json.loads, (turns.RESULTS / "micro_h200.json").read_text().splitlines())
    return next(row["value"] for row in rows if row["name"] == name)


def products(count: int, columns: int, left: int = 0) -> str:
    registers = ", ".join(f"%r{number}" for number in range(1, 5))
    one = f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.f16.f16 {{{registers}}}, %rd1, %rd2, %p1, 1, 1, 0, 0;\n"
    return (
        "wgmma.fence.sync.aligned;\n"
        + one * count
        + f"wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned {left};\n"
    )


@pytest.mark.parametrize("columns", [64, 128, 256])
def test_a_group_of_products_takes_its_columns_and_a_drain(columns: int) -> None:
    found = cycles(products(4, columns), threads=128)
    assert isclose(found, measured(f"C.group4.n{columns}.ss.wg1.wait0"), rel_tol=0.2)


def test_a_group_that_is_waited_for_later_hides_its_drain() -> None:
    late, soon = (cycles(products(4, 256, left), threads=128) for left in (1, 0))
    assert isclose(late, measured("C.group4.n256.ss.wg1.wait1"), rel_tol=0.05)
    assert soon > late + 40


def test_two_warpgroups_share_the_tensor_cores() -> None:
    found = cycles(products(4, 128, 1), threads=256)
    assert isclose(found, measured("C.group4.n128.ss.wg2.wait1"), rel_tol=0.05)


def test_products_that_the_assembler_waits_for_do_not_overlap() -> None:
    ptx = HEAD.format(threads=128, before="", body=products(4, 64))
    alone = turn_cycles(ptx, CONTRACT, H200)
    assert turn_cycles(ptx, CONTRACT, H200, serialized=True) > alone + 3 * H200.wgmma_drain


@pytest.mark.parametrize("threads", [128, 256, 512])
def test_a_barrier_takes_longer_the_more_warps_there_are(threads: int) -> None:
    found = cycles("bar.sync 0;\n" * 4, threads=threads) - cycles("", threads=threads)
    assert isclose(found / 4, measured(f"F.bar_sync.{threads}"), rel_tol=0.3)


def test_shared_memory_is_read_at_its_rate() -> None:
    load = "".join(f"ld.shared.v4.b32 {{%r{n}, %r{n + 1}, %r{n + 2}, %r{n + 3}}}, [%rd1];\n" for n in (1, 5, 9, 13))
    address = "shl.b32 %r60, %r0, 4;\nmov.b64 %rd2, s;\ncvt.u64.u32 %rd3, %r60;\nadd.s64 %rd1, %rd2, %rd3;\n"
    found = cycles(load * 8, before=address, threads=256) / 32
    assert isclose(found, measured("G.ld.shared.v4.thr.w8"), rel_tol=0.1)


PHASES = """
  mov.b64 %rd1, s;
  setp.ne.b32 %p1, %r0, 0;
  @%p1 bra READY;
  mbarrier.init.shared.b64 [s], 1;
  mbarrier.init.shared.b64 [s+8], 1;
READY:
  bar.sync 0;
  mov.b32 %r1, 0;
  setp.gt.u32 %p2, %r0, 31;
  cvt.u32.u64 %r3, %rd1;
  add.s32 %r4, %r3, 8;
  setp.eq.b32 %p3, %r0, 0;
  setp.eq.b32 %p4, %r0, 32;
"""
HAND_OVER = """
  @%p2 bra SECOND;
  @%p3 mbarrier.arrive.shared.b64 %rd4, [s];
W1: mbarrier.try_wait.parity.shared.b64 %p5, [%r4], %r1;
  @!%p5 bra W1;
  bra NEXT;
SECOND:
W2: mbarrier.try_wait.parity.shared.b64 %p5, [%r3], %r1;
  @!%p5 bra W2;
  @%p4 mbarrier.arrive.shared.b64 %rd4, [s+8];
NEXT:
  xor.b32 %r1, %r1, 1;
"""


def test_two_warps_hand_over_in_turns() -> None:
    found = cycles(HAND_OVER, before=PHASES, threads=64) / 2
    assert isclose(found, measured("F.pingpong.try_wait.warp"), rel_tol=0.45)


def test_a_wait_for_an_arrival_that_never_comes_is_told() -> None:
    never = HAND_OVER.replace("@%p4 mbarrier.arrive.shared.b64 %rd4, [s+8];", "")
    with pytest.raises(StuckError, match="warp 0 in block"):
        cycles(never, before=PHASES, threads=64)


LOADS = """
  @%p1 bra WAIT;
  mbarrier.arrive.expect_tx.shared.b64 %rd4, [s], 8192;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s+1024], [%rd5, {%r9, %r9}], [s];
WAIT:
W1: mbarrier.try_wait.parity.shared.b64 %p5, [%r3], %r1;
  @!%p5 bra W1;
  xor.b32 %r1, %r1, 1;
"""


def test_a_transfer_takes_its_latency() -> None:
    near = replace(H200, l2_far=0.0)
    map_ = PHASES + "  mov.b64 %rd5, f_param_0;\n  mov.b32 %r9, 0;\n"
    found = cycles(LOADS, before=map_, timing=near)
    assert isclose(found, measured("A.lat.64x64.l2"), rel_tol=0.2)
    assert cycles(LOADS, before=map_) == pytest.approx(found + H200.l2_far, abs=1)


def test_lanes_that_part_meet_again() -> None:
    body = "setp.gt.u32 %p3, %r0, 7;\n@%p3 bra B;\nadd.s32 %r5, %r5, 1;\nB:\n"
    assert cycles(body) > EMPTY + H200.branch
    together = body.replace("7;", "70;", 1)
    assert cycles(body) > cycles(together)


def test_a_nest_of_functions_with_scaling_is_slower_where_predicates_are_few() -> None:
    chains = "".join(f"ex2.approx.f32 %r{n}, %r{n};\n" for n in range(10, 20))
    few = "".join(f"setp.eq.b32 %p{n}, %r0, {n};\n" for n in range(1, 6))
    uses = "".join(f"selp.b32 %r{n}, 1, 0, %p{n - 20};\n" for n in range(21, 26))
    assert cycles(few + chains + uses) > cycles(few + uses + chains) + 50


# Figures --------------------------------------------------------------------------------------------------------------


def test_every_figure_says_where_it_comes_from() -> None:
    kinds = {figure.source.partition(":")[0].partition(".")[0] for figure in FIGURES.values()}
    assert kinds <= {"fitted", "derived", *"ABCDEFG"}
    assert all(timing.source for timing in INSTRUCTIONS.values())


@pytest.mark.parametrize("name", [name for name, figure in FIGURES.items() if figure.source[1] == "."])
def test_a_measured_figure_is_the_one_that_was_measured(name: str) -> None:
    figure = FIGURES[name]
    assert isclose(figure.value, measured(figure.source), rel_tol=0.06)


# Compiled kernels -----------------------------------------------------------------------------------------------------

SAMPLE = ("gemm_64x64x16.sm_90a.warp-specialize", "elementwise.sm_80.unspecialize", "reduction.sm_90a.unspecialize")


@pytest.mark.parametrize("name", SAMPLE)
def test_the_kept_cycles_are_what_the_model_foretells(name: str) -> None:
    variant = next(one for one in turns.variants() if one.name == name)
    assert turns.foretold(variant) == pytest.approx(turns.kept()[name], abs=0.1)


def errors(*, held_out: bool) -> list[float]:
    cycles_ = turns.kept()
    return sorted(abs(cycles_[one.name] / one.measured - 1) for one in turns.variants() if one.held_out == held_out)


def test_foretold_cycles_are_near_the_measured_ones() -> None:
    found = sorted([*errors(held_out=False), *errors(held_out=True)])
    assert len(found) == 82
    assert found[len(found) // 2] <= 0.10
    assert found[-1] <= 0.35


def test_they_are_near_for_kernels_that_nothing_was_fitted_to() -> None:
    found = errors(held_out=True)
    assert found[len(found) // 2] <= 0.15


def test_a_ring_under_load_is_foretold_within_15_per_cent() -> None:
    wrong = [abs(cycles_ / measured_ - 1) for _, measured_, cycles_ in turns.rings()]
    assert len(wrong) == 30
    assert sorted(wrong)[-2] <= 0.15


def test_a_ring_gets_faster_with_each_slot() -> None:
    rows = {name: cycles_ for name, _, cycles_ in turns.rings()}
    slots = [rows[f"J.pipe1.bN.wait1.S{count}.all"] for count in (2, 3, 4, 5, 6)]
    assert all(before >= after for before, after in pairwise(slots))


def test_a_multiprocessor_without_a_loop_ends() -> None:
    ptx = HEAD.format(threads=32, before="", body="").replace("@%p0 bra L;", "")
    assert Multiprocessor(code_of(ptx, H200), {}, {}, H200, serialized=False).run() > 0
