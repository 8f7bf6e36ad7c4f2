"""Over-waits, waits that are stronger than they need be: they are found, and the count that is reported is exact."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from tests.checker.growing_programs import NEVER, copying
from tests.checker.looping_programs import window
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.over_waits import function_without
from tileas_xdsl.checker.verdict.report import OverWait, Report


def advice(report: Report) -> list[str]:
    return [warning.advice for warning in report.warnings]


def keeping(count: str) -> str:
    return f"%allowed = arith.addi {count}, %c0 : index"


GONE = "can go: nothing relies on it"


@pytest.mark.parametrize(("slots", "ahead"), [(2, 1), (3, 2), (5, 3)])
def test_an_exact_count_draws_no_warning(slots: int, ahead: int) -> None:
    """The wait behind the loop has nothing to wait for: the last groups are empty."""
    assert advice(check(parse(window(slots, ahead, keeping("%keep"))))) == [GONE]


@pytest.mark.parametrize(("count", "would_do"), [("%c0", 2), ("%c1", 1)])
def test_a_count_that_is_too_small_is_raised_as_far_as_it_goes(count: str, would_do: int) -> None:
    report = check(parse(window(3, 2, keeping(count))))
    number = int(count[2:])
    assert f"waits until at most {number} are in flight, where {number + would_do} would do" in advice(report)
    assert report.verdict_line == "safe for every trip count"


def test_the_cost_is_told_in_simulated_cycles() -> None:
    [warning] = [w for w in check(parse(window(3, 2, keeping("%c0")))).warnings if w.relaxation.more]
    assert isinstance(warning, OverWait)
    assert warning.cost is not None
    assert warning.cost.call == "@window(n = 8)"
    assert warning.cost.cycles > warning.cost.without > 0
    assert f"it costs {warning.cost.cycles - warning.cost.without} of {warning.cost.cycles} cycles" in str(warning)


def test_weakening_by_one_more_is_wrong() -> None:
    """The count that would do is exact: the same program with it is right, and with one more it is not."""
    assert check(parse(window(3, 2, keeping("%c2")))).findings == []
    too_weak = window(3, 2, "%allowed = arith.addi %c2, %c1 : index")
    assert check(parse(too_weak)).kinds == ["race"]


HANDED_OVER = """
func.func @hand_over(%x: !llvm.ptr<SPACE>) {
  %one = arith.constant 1.0 : f32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    llvm.store %one, %x : f32, !llvm.ptr<SPACE>
    WAIT
    rocdl.s.barrier
  }, {
    rocdl.s.barrier
    %v = llvm.load %x : !llvm.ptr<SPACE> -> f32
  } : () -> ()
  func.return
}
"""


@pytest.mark.parametrize(
    ("space", "wait", "exact"),
    [
        ("3", "rocdl.s.waitcnt 49279", True),  # lgkmcnt(0), and no wait for vmcnt
        ("3", "rocdl.s.waitcnt 112", False),  # both: vmcnt may be raised as far as one likes
        ("1", "rocdl.s.waitcnt 3952", True),  # vmcnt(0)
    ],
)
def test_a_counter_that_hands_over_the_own_accesses_of_a_wave_cannot_go(space: str, wait: str, exact: bool) -> None:
    text = HANDED_OVER.replace("SPACE", space)
    assert check(parse(text.replace("WAIT", ""))).kinds == ["race"]
    report = check(parse(text.replace("WAIT", wait)))
    assert report.verdict_line == "safe for every trip count"
    assert GONE not in advice(report)
    assert (advice(report) == []) == exact


TOKENS = """
func.func @tokens(%x: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  %n7 = arith.constant 7 : i32
  %first = async.execute {
    memref.store %n7, %x[%c0] : memref<4xi32>
    async.yield
  }
  %second = async.execute [%first] {
    memref.store %n7, %x[%c0] : memref<4xi32>
    async.yield
  }
  async.await %second : !async.token
  async.await %first : !async.token
  func.return
}
"""


def test_a_token_that_is_implied_need_not_be_awaited() -> None:
    [warning] = check(parse(TOKENS)).warnings
    assert warning.advice == GONE
    assert warning.relaxation.op.operands[0].name_hint == "first"


CP_ASYNC = """
func.func @copy(%src: !llvm.ptr<1>, %tile: !llvm.ptr<3>) {
  nvvm.cp.async.shared.global %tile, %src, 16, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.commit.group
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 0
  %v = llvm.load %tile : !llvm.ptr<3> -> f32
  func.return
}
"""
MARKS = """
func.func @copy(%src: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %other: !llvm.ptr<3>) {
  rocdl.global.load.async.lds %src, %tile, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.asyncmark
  rocdl.asyncmark
  rocdl.wait.asyncmark 0
  %v = llvm.load %tile : !llvm.ptr<3> -> f32
  func.return
}
"""
COUNTERS = """
func.func @copy(%src: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %other: !llvm.ptr<3>) {
  rocdl.global.load.async.to.lds.b32 %src, %tile, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.global.load.async.to.lds.b32 %src, %other, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.s.wait.asynccnt 0
  %v = llvm.load %tile : !llvm.ptr<3> -> f32
  rocdl.s.wait.asynccnt 0
  func.return
}
"""


@pytest.mark.parametrize("text", [CP_ASYNC, MARKS, COUNTERS], ids=["cp.async", "marks", "counters"])
def test_every_way_of_counting_is_judged(text: str) -> None:
    assert "waits until at most 0 are in flight, where 1 would do" in advice(check(parse(text)))


def test_what_is_wrong_or_was_asked_for_certain_trip_counts_is_not_judged() -> None:
    assert check(parse(window(2, 2, keeping("%c0")))).warnings == []
    assert check(parse(window(3, 2, keeping("%c0"))), trip_counts=[3]).warnings == []


def test_warnings_do_not_touch_the_verdict_and_stand_in_the_data() -> None:
    report = check(parse(copying(NEVER)))
    assert report.verdict.exit_status == 0
    [warning] = report.as_data()["warnings"]
    assert (warning["kind"], warning["more"], warning["counts"]) == ("over-wait", None, [0])


def far_ring(keep: int) -> str:
    """Copies into a ring of 12 slots, of which the loop leaves `keep` in flight: from 13 turns on they need a wait."""
    return f"""
func.func @far(%src: memref<?xf32>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c12 = arith.constant 12 : index
  %ring = memref.alloc() : memref<12xf32, 3>
  scf.for %k = %c0 to %n step %c1 {{
    %s = arith.remui %k, %c12 : index
    async_queue.commit 0 {{
      async_queue.scope {{
        %x = memref.load %src[%k] : memref<?xf32>
        memref.store %x, %ring[%s] : memref<12xf32, 3>
      }}
    }}
    async_queue.wait 0, {keep}
  }}
  async_queue.wait 0, 0
  func.return
}}
"""


def test_who_asks_for_no_advice_gets_the_verdict_alone() -> None:
    module = parse(CP_ASYNC)
    assert check(module).warnings
    without = check(module, judge_waits=False)
    assert (without.warnings, without.verdict_line) == ([], check(module).verdict_line)


def test_advice_holds_for_every_trip_count_and_not_for_those_executed_alone() -> None:
    """Without the wait nothing goes wrong up to 12 turns; 11 in flight are right for ever."""
    [warning] = check(parse(far_ring(3))).warnings
    assert warning.advice == "waits until at most 3 are in flight, where 11 would do"
    assert check(parse(far_ring(11))).warnings == []
    assert check(parse(far_ring(12))).kinds == ["race"]


# What is advised is right under every rule ----------------------------------------------------------------------------

BULK_STORES = """
func.func @stores(%x: !llvm.ptr<1>, %tile: !llvm.ptr<3>) {
  %bytes = arith.constant 64 : i32
  nvvm.cp.async.bulk.global.shared.cta %x, %tile, %bytes : !llvm.ptr<1>, !llvm.ptr<3>
  nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.wait_group 0 {read}
  func.return
}
"""
COPIES_AT_THE_END = """
func.func @copies(%x: !llvm.ptr<1>, %tile: !llvm.ptr<3>) {
  nvvm.cp.async.shared.global %tile, %x, 16, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 0
  func.return
}
"""
MARKS_AT_THE_END = """
func.func @copies(%src: !llvm.ptr<1>, %tile: !llvm.ptr<3>) {
  rocdl.global.load.async.lds %src, %tile, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.asyncmark
  rocdl.wait.asyncmark 0
  func.return
}
"""
AT_THE_END = [BULK_STORES, COPIES_AT_THE_END, MARKS_AT_THE_END]


@pytest.mark.parametrize("text", AT_THE_END, ids=["bulk stores", "cp.async", "marks"])
def test_a_wait_that_only_drains_the_kernel_cannot_go(text: str) -> None:
    report = check(parse(text))
    assert (report.kinds, advice(report)) == ([], [])
    without = "\n".join(line for line in text.splitlines() if ".wait" not in line)
    assert check(parse(without)).kinds == ["undrained"]


def every_wait(module: ModuleOp) -> list[Operation]:
    return [op for op in module.walk() if ".wait" in op.name or op.name.endswith(("await", "_wait"))]


@pytest.mark.parametrize("text", [window(3, 2, keeping("%keep")), TOKENS, far_ring(3), CP_ASYNC, MARKS, COUNTERS])
def test_a_program_without_a_wait_that_can_go_is_safe(text: str) -> None:
    """The wait is found anew by its place among the waits, and removed from the program's text."""
    module = parse(text)
    waits = every_wait(module)
    for warning in [each for each in check(module).warnings if each.relaxation.more is None]:
        changed = parse(text)
        every_wait(changed)[waits.index(warning.relaxation.op)].detach()
        report = check(changed)
        assert (report.kinds, report.verdict_line) == ([], "safe for every trip count")


def test_what_a_wait_passes_on_is_used_without_it() -> None:
    """A wait whose results are no operands of it is part of the program: there is none without it."""
    module = parse(TOKENS)
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    first = every_wait(module)[0]
    copied = function_without(function, function.body, first)
    assert copied is not None
    assert len(every_wait(module)) == 2
    assert [op.name for op in copied[1].walk()].count("async.await") == 1


PIPELINED = """
func.func @doubled(%src: !llvm.ptr<1>, %tile: !llvm.ptr<3>) {
  nvvm.cp.async.shared.global %tile, %src, 16, cache = ca : !llvm.ptr<3>, !llvm.ptr<1> loc("kernel.py":7:9)
  nvvm.cp.async.commit.group loc("kernel.py":7:9)
  nvvm.cp.async.wait.group 0 loc("kernel.py":WAIT)
  nvvm.cp.async.wait.group 0 loc("kernel.py":9:5)
  %v = llvm.load %tile : !llvm.ptr<3> -> f32 loc("kernel.py":11:5)
  func.return loc("kernel.py":11:5)
}
"""


@pytest.mark.parametrize(("place", "by_compiler"), [("7:9", True), ("8:5", False)])
def test_a_wait_in_the_place_of_the_copy_that_it_is_for_was_put_in_by_a_compiler(place: str, by_compiler: bool) -> None:
    """Either wait can go; the one at the place of a copy is not the user's."""
    report = check(parse(PIPELINED.replace("WAIT", place)))
    assert [(str(each.place), each.by_compiler) for each in report.warnings] == [
        (f"kernel.py:{place}", by_compiler),
        ("kernel.py:9:5", False),
    ]
    assert ("'nvvm.cp.async.wait.group', which the compiler put in, can go" in str(report.warnings[0])) == by_compiler
    assert report.as_data()["warnings"][0]["by_compiler"] == by_compiler
