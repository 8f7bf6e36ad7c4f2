"""
Functions that are checked without a caller: views of memory, tokens, tiles of pointers and switches are made up.

A view is memory of its own, a switch (an argument of one bit) takes both values, and nothing is known of a barrier that
the caller has made.
"""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.running import run

HEAD = """
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} {
"""
TILE, POINTERS = "tensor<128xf16, #blocked>", "tensor<128x!tt.ptr<f16>, #blocked>"
VIEW, BARRIER = "!ttg.memdesc<128xf16, #shared, #smem, mutable>", "!ttg.memdesc<1xi64, #shared, #smem, mutable>"
PART = "!ttg.memdesc<128xf16, #shared, #smem, mutable, 2x128>"
COPY = f"%t = ttg.async_copy_global_to_local %p, %a : {POINTERS} -> <128xf16, #shared, #smem, mutable>"
COMMIT = "%g = ttg.async_commit_group tokens %t"
WAIT = "%w = ttg.async_wait %g {num = 0 : i32}"
LOAD = f"%x = ttg.local_load %a : {VIEW} -> {TILE}"


def checked(arguments: str, *lines: str) -> Report:
    body = "\n".join(lines)
    return check(parse(f"{HEAD}tt.func @f({arguments}) {{\n{body}\ntt.return\n}}\n}}"))


def kinds(report: Report) -> list[str]:
    return [str(finding.violation.kind) for finding in report.findings]


def test_a_view_of_the_caller_is_memory() -> None:
    arguments = f"%a: {VIEW}, %p: {POINTERS}"
    assert checked(arguments, COPY, COMMIT, WAIT, LOAD).is_proved
    assert kinds(checked(arguments, COPY, COMMIT, LOAD, WAIT)) == ["race"]


def test_two_views_of_the_caller_are_two_places_and_parts_keep_their_shape() -> None:
    other = LOAD.replace("%a", "%b").replace(VIEW, PART)
    assert checked(f"%a: {VIEW}, %b: {PART}, %p: {POINTERS}", COPY, COMMIT, other, WAIT).is_proved


def test_a_token_of_the_caller_is_complete_and_orders_nothing() -> None:
    arguments = f"%a: {VIEW}, %p: {POINTERS}, %g0: !ttg.async.token"
    wait = WAIT.replace("%g", "%g0")
    assert checked(arguments, COPY, COMMIT, wait, LOAD).is_proved
    assert kinds(checked(arguments, COPY, COMMIT, LOAD, wait)) == ["race"]


def test_a_barrier_that_the_caller_has_made_leaves_it_open() -> None:
    line = f"ttng.arrive_barrier %b, 1 : {BARRIER}"
    report = checked(f"%b: {BARRIER}", line)
    assert not report.findings
    assert "which the caller of the function makes" in report.undecided[0]


def test_a_barrier_that_is_made_where_the_caller_has_room_for_it_is_known() -> None:
    life = [
        f"ttng.init_barrier %b, 1 : {BARRIER}",
        f"ttng.arrive_barrier %b, 1 : {BARRIER}",
        "%c0 = arith.constant 0 : i32",
        f"ttng.wait_barrier %b, %c0 : {BARRIER}",
        f"ttng.inval_barrier %b : {BARRIER}",
    ]
    assert checked(f"%b: {BARRIER}", *life).is_proved
    assert kinds(checked(f"%b: {BARRIER}", *life, life[1])) == ["phase"]


@pytest.mark.parametrize("switches", ["%arrives: i1, %waits: i1", "%arrives: i1"])
def test_both_values_of_a_switch_are_checked_and_no_more(switches: str) -> None:
    """Whoever waits where nobody arrives waits for ever."""
    waits = "%waits" if "%waits" in switches else "%arrives"
    report = checked(
        switches,
        f"%b = ttg.local_alloc : () -> {BARRIER}",
        f"ttng.init_barrier %b, 1 : {BARRIER}",
        f"ttng.arrive_barrier %b, 1, %arrives : {BARRIER}",
        "%c0 = arith.constant 0 : i32",
        f"ttng.wait_barrier %b, %c0, {waits} : {BARRIER}",
        f"ttng.inval_barrier %b : {BARRIER}",
    )
    if "%waits" in switches:
        assert report.findings
        assert report.findings[0].arguments == {"arrives": 0, "waits": 1}
    else:
        assert report.is_proved
        assert not report.only_tried


def test_a_switch_beside_a_bound_is_proved_for_every_trip_count() -> None:
    loop = [
        "%c0 = arith.constant 0 : i32",
        "%c1 = arith.constant 1 : i32",
        "scf.for %i = %c0 to %n step %c1 : i32 {",
        COPY,
        COMMIT,
        "scf.if %early {",
        WAIT,
        "} else {",
        "%v = ttg.async_wait %g {num = NUMBER : i32}",
        "}",
        LOAD,
        "}",
    ]
    arguments = f"%a: {VIEW}, %p: {POINTERS}, %n: i32, %early: i1"
    right = checked(arguments, *(line.replace("NUMBER", "0") for line in loop))
    assert right.is_proved
    assert "n" in right.varied
    wrong = checked(arguments, *(line.replace("NUMBER", "1") for line in loop))
    assert "race" in kinds(wrong)
    assert wrong.findings[0].arguments == {"n": 1, "early": 0}


def test_a_function_may_have_several_results() -> None:
    text = f"""{HEAD}
      tt.func private @pair(%a: i32) -> (i32, i32) attributes {{noinline = true}} {{ tt.return %a, %a : i32, i32 }}
      tt.func public @f(%n: i32) {{
        %c1 = arith.constant 1 : i32
        %x:2 = tt.call @pair(%n) : (i32) -> (i32, i32)
        scf.for %i = %c1 to %x#1 step %c1 : i32 {{ }}
        tt.return
      }}
    }}"""
    assert check(parse(text)).is_proved


def test_either_of_two_buffers_may_be_selected() -> None:
    arguments = f"%c: i1, %b: {VIEW}, %p: {POINTERS}"
    select = [f"%o = ttg.local_alloc : () -> {VIEW}", f"%a = arith.select %c, %b, %o : {VIEW}"]
    other = LOAD.replace("%a", "%b")
    assert checked(arguments, *select, COPY, COMMIT, WAIT, other).is_proved
    wrong = checked(arguments, *select, COPY, COMMIT, other, WAIT)
    assert kinds(wrong) == ["race"]
    assert wrong.findings[0].arguments == {"c": 1}


def test_a_token_that_data_select_orders_nothing_either_way() -> None:
    select = "%z = arith.select %d, %g, %g0 : !ttg.async.token"
    data = "%d = tt.load %q : !tt.ptr<i1>"
    arguments = f"%a: {VIEW}, %p: {POINTERS}, %q: !tt.ptr<i1>, %g0: !ttg.async.token"
    assert checked(arguments, data, COPY, COMMIT, select, WAIT.replace("%g", "%z"), LOAD).is_proved


def test_a_region_that_is_executed_gives_results() -> None:
    region = f"%a, %k = scf.execute_region -> ({VIEW}, i32) no_inline {{ scf.yield %b, %n : {VIEW}, i32 }}"
    loop = ["%c1 = arith.constant 1 : i32", "scf.for %i = %c1 to %k step %c1 : i32 {", COPY, COMMIT, WAIT, LOAD, "}"]
    assert checked(f"%b: {VIEW}, %p: {POINTERS}, %n: i32", region, *loop).is_proved
    loop[4] = WAIT.replace("0", "1")
    assert kinds(checked(f"%b: {VIEW}, %p: {POINTERS}, %n: i32", region, *loop))[:1] == ["race"]


def test_what_is_copied_to_memory_of_the_caller_may_be_waited_for_there() -> None:
    assert checked(f"%a: {VIEW}, %p: {POINTERS}", COPY, COMMIT).is_proved
    own = f"%a = ttg.local_alloc : () -> {VIEW}"
    assert kinds(checked(f"%p: {POINTERS}", own, COPY, COMMIT)) == ["undrained"]


def test_a_dimension_that_is_not_there_is_refused() -> None:
    whole = "!ttg.memdesc<128x64xf32, #ttng.tensor_memory_encoding<blockM = 128>, #ttng.tensor_memory, mutable>"
    line = f"%s = ttng.tmem_subslice %a {{offset = 0 : i32, dim = 2 : i32}} : {whole} -> {whole}"
    with pytest.raises(UnsupportedError, match="cuts dimension 2 of a view that has 2"):
        checked(f"%a: {whole}", line)


def test_a_ring_before_its_lowering_is_refused_by_name() -> None:
    rings = "!ttg.memdesc<2x128xf16, #shared, #smem, mutable>"
    with pytest.raises(UnsupportedError, match="dump the module behind nvws-lower-warp-group"):
        checked(f"%a: {rings}", f"%r = nvws.aref.create %a : <[{rings}]>")


def test_a_tile_has_no_numbers_in_a_run() -> None:
    """What a run cannot compute is refused by the op, with a way out."""
    text = f"{HEAD}tt.func @f() {{\n%m = ttg.local_alloc : () -> {VIEW}\n%x = ttg.local_load %m : {VIEW} -> {TILE}"
    module = parse(f"{text}\ntt.return\n}}\n}}")
    assert check(module).verdict is Verdict.SAFE
    with pytest.raises(UnsupportedError, match=r"'ttg.local_load' op accesses 'm', .* no numbers in a run; check the"):
        run(module, None)


@pytest.mark.parametrize("name", ["%arg0", "%0"])
def test_numbered_arguments_are_called_as_in_python(name: str) -> None:
    loop = (
        f"%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\nscf.for %i = %c0 to {name} step %c1 : i32 {{\n}}"
    )
    report = checked(f'{name}: i32 loc("turns"("kernel.py":3:0))', loop)
    assert report.arguments == ["turns"]
    assert report.last_line == "safe for every trip count; assumed: turns >= 0"
    assert checked('%n: i32 loc("turns"("kernel.py":3:0))', loop.replace(name, "%n")).arguments == ["n"]
