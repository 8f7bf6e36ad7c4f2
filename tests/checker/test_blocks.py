"""
Ids of blocks and extents of grids: one that decides nothing is proved with one execution, in every block; one that
decides something is an argument, or is tried and said to be only tried.
"""

from __future__ import annotations

import random

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.machine.arguments import ArgumentError

EVERY = "safe for every trip count"
CTA = "%cta = nvvm.read.ptx.sreg.ctaid.x : i32"
GRID = f"{CTA}\n%grid = nvvm.read.ptx.sreg.nctaid.x : i32"
COUNTED = "scf.for %k = %c0 to %n step %c1 : i32"
OVER_BLOCKS = "scf.for %t = %cta to %n step %grid iter_args(%k = %c0) -> (i32) : i32"
NEXT = "%next = arith.addi %k, %c1 : i32\nscf.yield %next : i32"
RELEASE = "nvvm.mbarrier.arrive %e : !llvm.ptr<3>"


def ring(
    before: str = "",
    *,
    loops: tuple[str, str] = (COUNTED, COUNTED),
    source: str = "%at = arith.addi %k, %c0 : i32",
    target: str = "%to = arith.addi %k, %c0 : i32",
    release: str = RELEASE,
    last: str = "",
) -> str:
    """Two agents hand tiles over in a ring of two slots, from `src[%at]`; of each a number is stored at `out[%to]`."""
    slot = """
      %s = arith.remui %k, %c2 : i32
      %r = arith.divui %k, %c2 : i32
      %bit = arith.andi %r, %c1 : i32
      %turn = arith.xori %bit, %c1 : i32
      %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %slot = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
"""
    producer, consumer = loops
    return f"""
func.func @k(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %ring: !llvm.ptr<3>, %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>,
             %n: i32) {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c256 = arith.constant 256 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  scf.for %s = %c0 to %c2 step %c1 : i32 {{
    %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %f, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %e, %c1 : !llvm.ptr<3>, i32
  }}
  nvvm.fence.mbarrier.init
  {before}
  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1, 1>}} {{
    {producer} {{
      {slot}
      {source}
      %tile = llvm.getelementptr %src[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
      nvvm.mbarrier.try_wait.parity %e, %turn, %ticks : !llvm.ptr<3>, i32, i32
      nvvm.mbarrier.arrive.expect_tx %f, %bytes : !llvm.ptr<3>, i32
      nvvm.cp.async.bulk.shared.cluster.global %slot, %tile, %f, %bytes : !llvm.ptr<3>, <1>
      {last}
    }}
  }}, {{
    {consumer} {{
      {slot}
      {target}
      nvvm.mbarrier.try_wait.parity %f, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %v = llvm.load %slot : !llvm.ptr<3> -> f32
      %o = llvm.getelementptr %out[%to] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      llvm.store %v, %o : f32, !llvm.ptr<1>
      nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
      {release}
      {last}
    }}
  }} : () -> ()
  func.return
}}
"""


def persistent(name: str = "t", release: str = RELEASE, upper: str = "%n") -> str:
    """The same as a loop over blocks, which counts its turns beside."""
    over = OVER_BLOCKS.replace("%n", upper)
    return ring(
        GRID,
        loops=(f"%x = {over}", f"%y = {over}"),
        source=f"%at = arith.addi %{name}, %c0 : i32",
        target=f"%to = arith.addi %{name}, %c0 : i32",
        release=release,
        last=NEXT,
    )


def by_block(to: str, factor: str) -> str:
    return f"%m = arith.muli %cta, {factor} : i32\n%{to} = arith.addi %m, %k : i32"


# (a) An id that decides nothing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", ["%c256", "%n"])
def test_an_id_that_only_says_where_in_global_memory_is_proved_at_once(factor: str) -> None:
    plain = check(parse(ring()))
    report = check(parse(ring(CTA, source=by_block("at", factor), target=by_block("to", factor))))
    assert report.verdict_line == plain.verdict_line == EVERY
    assert report.executions == plain.executions
    assert "blocks do not race with each other" in report.scope.assumed
    assert report.scope.tried == ()


def test_a_mistake_beside_such_an_id_is_found() -> None:
    text = ring(CTA, source=by_block("at", "%c256"), target=by_block("to", "%c256"), release="")
    assert check(parse(text)).kinds == ["deadlock"]


# (b) An id in a bound or a branch -------------------------------------------------------------------------------------

BOUNDED = "%m = arith.addi %cta, %c1 : i32"
UP_TO_ID = COUNTED.replace("%n", "%m")


def test_an_id_in_a_bound_is_an_argument() -> None:
    right = check(parse(ring(f"{CTA}\n{BOUNDED}", loops=(UP_TO_ID, UP_TO_ID))))
    assert (right.verdict_line, right.scope.tried) == (EVERY, ())
    wrong = check(parse(ring(f"{CTA}\n{BOUNDED}", loops=(UP_TO_ID, UP_TO_ID), release="")))
    assert wrong.kinds == ["deadlock"]
    assert wrong.findings[0].arguments == {"ctaid.x": 2}


def test_one_agent_more_often_than_the_other_in_some_block() -> None:
    assert check(parse(ring(f"{CTA}\n{BOUNDED}", loops=(UP_TO_ID, COUNTED)))).verdict is Verdict.VIOLATION


def test_an_id_in_a_branch_beside_a_trip_count_is_tried_and_said_to_be() -> None:
    branch = "%b = arith.cmpi eq, %cta, %c2 : i32\nscf.if %b {{\n  {}\n}}"
    report = check(parse(ring(f"{CTA}\n{branch.format('')}")))
    assert report.verdict_line == "safe for every n, with ctaid.x in 0..3"
    assert not report.holds_for_every_trip_count
    assert report.as_data()["every_trip_count"] is False
    assert report.as_data()["scope"]["tried"] == {"ctaid.x": [0, 1, 2, 3]}
    stuck = branch.format("nvvm.mbarrier.try_wait.parity %full, %c0, %ticks : !llvm.ptr<3>, i32, i32")
    assert check(parse(ring(f"{CTA}\n{stuck}"))).verdict is Verdict.VIOLATION


def test_blocks_are_tried_until_the_time_is_up() -> None:
    branch = "%b = arith.cmpi eq, %cta, %c2 : i32\nscf.if %b {\n}"
    said: list[str] = []
    report = check(parse(ring(f"{CTA}\n{branch}")), steps=3_000, tell=said.append)
    assert report.verdict is Verdict.UNDECIDED
    assert len(report.undecided) == 1
    assert "is still running after 3,000 steps" in report.undecided[0]
    assert not any("ctaid.x = 3" in each for each in said)


# (c) Loops over blocks ------------------------------------------------------------------------------------------------


def test_a_loop_over_blocks_is_proved_for_any_number_of_turns() -> None:
    report = check(parse(persistent()))
    assert (report.verdict_line, report.scope.tried) == (EVERY, ())
    assert check(parse(persistent(release=""))).kinds == ["deadlock"]


def test_slots_by_the_number_of_the_tile_are_wrong_with_three_blocks() -> None:
    """In a grid of one block tiles are numbered like turns; in one of two, slot 0 is used in every turn."""
    over = "scf.for %k = %cta to %n step %grid : i32"
    report = check(parse(ring(GRID, loops=(over, over))))
    assert report.verdict is Verdict.VIOLATION
    assert report.findings[0].arguments["nctaid.x"] == 3


def test_turns_over_blocks_that_reach_into_the_next_tile_are_not_taken_to_be_apart() -> None:
    """Where a turn writes to out[t + 1] and out[t], two turns meet in a grid of one block, and in no other."""
    text = persistent().replace("%out[%to]", "%out[%to, 1]").replace("-> !llvm.ptr<1>, f32", "-> !llvm.ptr<1>, !pair")
    report = check(parse(text.replace("!pair", "!llvm.array<1 x f32>")))
    assert not report.holds_for_every_trip_count


# (d) Elsewhere --------------------------------------------------------------------------------------------------------


def test_an_id_in_a_shared_address_is_tried() -> None:
    own = "%own = llvm.getelementptr %ring[%cta] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32"
    report = check(parse(ring(f"{CTA}\n{own}")))
    assert report.verdict_line == "safe for every n, with ctaid.x in 0..3"


def test_a_parity_from_an_id_is_wrong_in_every_second_block() -> None:
    parity = "%p = arith.andi %cta, %c1 : i32\n%q = arith.addi %p, %k : i32\n%at = arith.addi %q, %c0 : i32"
    wait = "nvvm.mbarrier.try_wait.parity %e, %turn, %ticks"
    text = ring(CTA, source=f"{parity}\n%odd = arith.xori %turn, %p : i32").replace(
        wait, wait.replace("turn", "odd"), 1
    )
    report = check(parse(text))
    assert report.verdict is Verdict.VIOLATION
    assert report.findings[0].arguments["ctaid.x"] == 1


# Against blocks that are spelt out ------------------------------------------------------------------------------------


def two_stores(seed: int, block: str) -> str:
    """Two agents that store to one array, each at a sum of products of the id, with nothing that orders them."""
    draw = random.Random(seed)
    ops, value = [block], "%cta"
    for number in range(2):
        value = value if number and draw.random() < 0.5 else "%cta"
        for depth in range(draw.randint(0 if number else 1, 3)):
            op = draw.choice(["addi", "muli", "addi", "divui", "remui", "andi"])
            least = 1 if op in ("divui", "remui") else 0
            name = f"%v{number}_{depth}"
            ops.append(f"{name} = arith.{op} {value}, %c{draw.randint(least, 3)} : i32")
            value = name
        ops.append(f"%i{number} = arith.addi {value}, %c{draw.randint(0, 3)} : i32")
    place = "%p = llvm.getelementptr %out[%i{}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32"
    first, second = (f"{place.format(number)}\nllvm.store %c1, %p : i32, !llvm.ptr<1>" for number in range(2))
    constants = "\n".join(f"%c{number} = arith.constant {number} : i32" for number in range(4))
    return f"""
func.func @two(%out: !llvm.ptr<1>) {{
  {constants}
  {chr(10).join(ops)}
  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1, 1>}} {{
    {first}
  }}, {{
    {second}
  }} : () -> ()
  func.return
}}
"""


@pytest.mark.parametrize("seed", range(40))
def test_what_is_said_of_every_block_holds_in_each(seed: int) -> None:
    report: Report = check(parse(two_stores(seed, CTA)))
    apart = [check(parse(two_stores(seed, f"%cta = arith.constant {block} : i32"))).kinds == [] for block in range(12)]
    if report.holds_for_every_trip_count:
        assert all(apart), str(report)
    elif report.verdict is Verdict.VIOLATION:
        assert not all(apart), str(report)
    else:
        assert all(apart[: max(report.scope.tried[0][1]) + 1])


def test_an_id_that_is_given_is_not_tried() -> None:
    stuck = "nvvm.mbarrier.try_wait.parity %full, %c0, %ticks : !llvm.ptr<3>, i32, i32"
    text = ring(f"{CTA}\n%b = arith.cmpi eq, %cta, %c2 : i32\nscf.if %b {{\n{stuck}\n}}")
    assert check(parse(text), args={"ctaid.x": 1}).verdict_line == "safe for every n, with ctaid.x = 1"
    assert check(parse(text), args={"ctaid.x": 2}).verdict is Verdict.VIOLATION
    with pytest.raises(ArgumentError, match=r"there is no argument 'ctaid\.y'"):
        check(parse(text), args={"ctaid.y": 1})
