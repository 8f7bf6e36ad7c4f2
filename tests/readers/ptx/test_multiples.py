"""Parameters that count elements where a loop counts tiles; numbers that pass through memory or share a register."""

from __future__ import annotations

import pytest

from tests.readers.ptx.programs import ops_of, text_of, verdict
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.readers.ptx.launch import Launch
from tileas_xdsl.readers.ptx.reading import read_ptx

BY_TILES = (
    "add.s32 %r2, %r1, 63; shr.s32 %r3, %r2, 31; shr.u32 %r4, %r3, 26; add.s32 %r5, %r2, %r4; shr.s32 %r6, %r5, 6;"
)
LOOP = "mov.b32 %r7, 0; bra T; L: bar.sync 1; add.s32 %r7, %r7, {step}; T: setp.lt.s32 %p1, %r7, {bound}; @%p1 bra L;"
LOOPS = {
    "tiles": BY_TILES + LOOP.format(step=1, bound="%r6"),
    "steps": LOOP.format(step=64, bound="%r1"),
    "ones": LOOP.format(step=1, bound="%r1"),
}
LOAD = "ld.param.u32 %r1, [n];"


def module(body: str, **launch: object):
    return read_ptx(text_of(LOAD + body), "k.ptx", lambda _: Launch(names={0: "K"}, **launch)).module  # pyright: ignore


@pytest.mark.parametrize("form", ["tiles", "steps"])
def test_a_parameter_that_bounds_a_loop_by_a_division_counts_tiles(form: str):
    report = check(module(LOOPS[form]), judge_waits=False)
    assert str(report.verdict) == "safe"
    assert "K is 64 times K_tiles" in report.scope.assumed
    assert report.arguments == ["K_tiles"]


def test_a_parameter_that_counts_turns_stays_as_it_is():
    report = check(module(LOOPS["ones"]), judge_waits=False)
    assert (str(report.verdict), report.arguments) == ("safe", ["K"])
    assert not any("times" in clause for clause in report.scope.assumed)


def test_a_number_that_is_given_is_one_of_elements():
    report = check(module(LOOPS["tiles"], fixed=frozenset({"K"})), args={"K": 100}, judge_waits=False)
    assert (str(report.verdict), report.arguments) == ("safe", ["K"])


def test_two_numbers_in_one_register_are_apart():
    packed = "mov.b64 %d1, {%r2, %r1}; mov.b64 {%r3, %r4}, %d1; "
    loop = "mov.b32 %r7, 0; L: bar.sync %r3; add.s32 %r7, %r7, 1; setp.lt.s32 %p1, %r7, %r4; @%p1 bra L;"
    report = check(module("mov.b32 %r2, 1;" + packed + loop), judge_waits=False)
    assert str(report.verdict) == "safe"
    names = ops_of(LOAD + "mov.b32 %r2, 1;" + packed + loop)
    assert not {"arith.ori", "arith.shrui", "arith.shli"} & set(names)


DISPATCH = (
    "mov.u32 %r2, %tid.x; setp.eq.s32 %p1, %r2, 0; @%p1 st.shared.b8 [s+{slot}], 1; @%p1 st.shared.b32 [s+64], %r1;"
    "bar.sync 0; shr.u32 %r3, %r2, 5; mov.b32 %r4, s; add.s32 %r5, %r4, %r3; ld.shared.b8 %r6, [%r5];"
    "setp.eq.s32 %p2, %r6, 1; @%p2 bar.sync 2, 32; @!%p2 bar.sync 3, 96;"
)
"""The first warp meets itself where its byte says so; a number that nobody loads is stored beside."""


def test_what_is_stored_beside_a_dispatch_does_not_matter():
    report = verdict(LOAD + DISPATCH.format(slot=0))
    assert not report.varies_trip_counts


STORE = (
    "mov.b64 %d1, map; mov.u32 %r1, %tid.x; setp.eq.s32 %p1, %r1, 0; ld.param.u32 %r2, [m]; mul.lo.s32 %r3, %r2, %r2;"
    "@%p1 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d1, {%r3, 0}], [s];"
    "@%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group {left};"
)


def stored(left: int, behind: str = "") -> object:
    from tileas_xdsl.readers.ptx.launch import map_from_text

    body = STORE.replace("{left}", str(left)) + behind
    parameters = ".param .align 64 .b8 map[128], .param .u32 m"
    launch = Launch(maps={(0, 0): map_from_text("f16[16x64]")})
    made = read_ptx(text_of(body, parameters=parameters), "k.ptx", lambda _: launch).module
    return check(made, trip_counts=[0, 1], judge_waits=False).verdict


def test_a_store_at_coordinates_that_are_not_known_is_followed_in_shared_memory():
    assert str(stored(0)) == "safe"
    overwritten = "@%p1 st.shared.b32 [s], 1;"
    assert str(stored(0, overwritten)) == "safe"
    assert str(stored(1, overwritten)) == "violation"


def test_a_tensor_that_is_read_as_well_is_undecided():
    load = (
        "@%p1 mbarrier.init.shared.b64 [s+2048], 1; bar.sync 0;"
        "@%p1 mbarrier.arrive.expect_tx.shared.b64 %d3, [s+2048], 2048;"
        "@%p1 cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [s], [%d1, {0, 0}], [s+2048];"
        "L: mbarrier.try_wait.parity.shared.b64 %p3, [s+2048], 0; @!%p3 bra L;"
    )
    assert str(stored(0, load)) == "undecided"
