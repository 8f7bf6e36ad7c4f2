"""
Atomic accesses of `llvm` do not race with each other. What spins on a number in memory waits for it, and learns what
its orderings hand over (PTX ISA, "Release and Acquire Patterns"). What depends on who comes first is tried in each
order. What asks in another way, or several numbers whose orders need not agree, is undecided.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.machine.running import run

ADD = "%old = llvm.atomicrmw add %flag, %c1 acq_rel : !llvm.ptr<3>, i32"
ATOMIC_LOAD = "%now = llvm.load %flag atomic acquire {alignment = 4 : i64} : !llvm.ptr<3> -> i32"
ATOMIC_STORE = '"llvm.store"(%c1, %flag) <{ordering = 5 : i64, alignment = 4 : i64}> : (i32, !llvm.ptr<3>) -> ()'
LOAD = "%now = llvm.load %flag : !llvm.ptr<3> -> i32"
STORE = "llvm.store %c1, %flag : i32, !llvm.ptr<3>"
VOLATILE_LOAD = "%now = llvm.load volatile %flag : !llvm.ptr<3> -> i32"
VOLATILE_STORE = "llvm.store volatile %c1, %flag : i32, !llvm.ptr<3>"


def agents(*bodies: str) -> str:
    regions = ", ".join(f"{{\n{body}\n}}" for body in bodies)
    counts = "{num_agents_per_group = array<i32: 1, 1>}"
    return f"""
func.func @k(%tile: !llvm.ptr<3>, %flag: !llvm.ptr<3>) {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  llvm.store %c0, %flag : i32, !llvm.ptr<3>
  nv_tileaa.execute attributes {counts} {regions} : () -> ()
  func.return
}}"""


def judged(*bodies: str) -> Report:
    return check(parse(agents(*bodies)))


@pytest.mark.parametrize("other", [ADD, ATOMIC_STORE, VOLATILE_STORE])
def test_atomic_accesses_do_not_race_with_each_other(other: str) -> None:
    assert judged(other, ATOMIC_LOAD).verdict is Verdict.SAFE
    assert judged(ATOMIC_LOAD, other).verdict is Verdict.SAFE
    assert judged(other, LOAD).kinds == ["race"]
    assert judged(LOAD, other).kinds == ["race"]


def test_a_volatile_access_is_an_atomic_one() -> None:
    """PTX ISA, "ld": `ld.volatile` has the semantics of `ld.relaxed` with system scope."""
    assert judged(VOLATILE_STORE, VOLATILE_LOAD).verdict is Verdict.SAFE
    assert judged(VOLATILE_STORE, LOAD).kinds == ["race"]
    assert judged(STORE, VOLATILE_LOAD).kinds == ["race"]


def test_an_atomic_load_races_with_an_ordinary_store() -> None:
    assert judged(STORE, ATOMIC_LOAD).kinds == ["race"]
    assert judged(ATOMIC_LOAD, STORE).kinds == ["race"]


def spinning(read: str, go_on: str = "%more = arith.cmpi ne, %now, %c1 : i32") -> str:
    return f"""scf.while : () -> () {{
      {read}
      {go_on}
      scf.condition(%more)
    }} do {{
      scf.yield
    }}
    %v = llvm.load %tile : !llvm.ptr<3> -> i32"""


EXCHANGED = "%pair = llvm.cmpxchg %flag, %c1, %c0 acq_rel acquire : !llvm.ptr<3>, i32"
SUCCESS = """%done = llvm.extractvalue %pair[1] : !llvm.struct<(i32, i1)>
      %more = arith.xori %done, %true : i1"""
FILL = "llvm.store %c1, %tile : i32, !llvm.ptr<3>\n"
FENCE = "llvm.fence acq_rel\n"
MEMBAR = "nvvm.memory.barrier #nvvm.mem_scope<gpu>\n"
BACK = "%back = llvm.getelementptr %flag[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32\n"


def add(ordering: str = "release", scope: str = "") -> str:
    return f"%old = llvm.atomicrmw add %flag, %c1 {scope} {ordering} : !llvm.ptr<3>, i32\n"


def load(ordering: str = "acquire", scope: str = "") -> str:
    return f"%now = llvm.load %flag atomic {scope} {ordering} {{alignment = 4 : i64}} : !llvm.ptr<3> -> i32"


def fenced(spin: str, fence: str = FENCE) -> str:
    """The spin with a fence behind it."""
    return spin.replace("%v = ", f"{fence}%v = ")


AT_LEAST_1 = "%more = arith.cmpi slt, %now, %c1 : i32"
IS_2 = "%c2 = arith.constant 2 : i32\n%more = arith.cmpi ne, %now, %c2 : i32"
WAITS = {
    "a load": (FILL + ADD, spinning(ATOMIC_LOAD)),
    "an addition of nothing": (FILL + ADD, spinning(add("acquire").replace("%old", "%now").replace("%c1", "%c0"))),
    "an exchange": (FILL + ADD, spinning(EXCHANGED, SUCCESS)),
    "a store that releases": (FILL + ATOMIC_STORE, spinning(ATOMIC_LOAD)),
    "a fence before a relaxed addition": (FILL + FENCE + add("monotonic"), spinning(ATOMIC_LOAD)),
    "a memory barrier before it": (FILL + MEMBAR + add("monotonic"), spinning(ATOMIC_LOAD)),
    "a relaxed load before a fence": (FILL + add(), fenced(spinning(load("monotonic")))),
    "volatile accesses and fences": (FILL + FENCE + VOLATILE_STORE, fenced(spinning(VOLATILE_LOAD))),
    "scopes of the block": (
        FILL + add(scope='syncscope("workgroup")'),
        spinning(load(scope='syncscope("block")')),
    ),
    "the first of two changes": (FILL + add() + add().replace("%old", "%more"), spinning(load(), AT_LEAST_1)),
    "two additions": (FILL + add() + add().replace("%old", "%more"), spinning(load(), IS_2)),
}
WRONG = {
    "a relaxed addition": ("race", FILL + add("monotonic"), spinning(ATOMIC_LOAD)),
    "a relaxed load": ("race", FILL + add(), spinning(load("monotonic"))),
    "volatile accesses without fences": ("race", FILL + VOLATILE_STORE, spinning(VOLATILE_LOAD)),
    "a fence after the relaxed addition": ("race", FILL + add("monotonic") + FENCE, spinning(ATOMIC_LOAD)),
    "the scope of one thread": ("race", FILL + add(scope='syncscope("singlethread")'), spinning(ATOMIC_LOAD)),
    "the flag is set first": ("race", add() + FILL, spinning(ATOMIC_LOAD)),
    "the tile is filled between two changes": (
        "race",
        add() + FILL + add().replace("%old", "%more"),
        spinning(load(), AT_LEAST_1),
    ),
    "no agent sets the flag": ("deadlock", FILL, spinning(ATOMIC_LOAD)),
    "the number goes past": ("deadlock", FILL + add() + add().replace("%old", "%more"), spinning(ATOMIC_LOAD)),
    "one addition is missing": ("deadlock", FILL + add(), spinning(load(), IS_2)),
}


@pytest.mark.parametrize("name", WAITS)
def test_a_spin_is_a_wait_that_learns_what_its_orderings_hand_over(name: str) -> None:
    report = judged(*WAITS[name])
    assert report.verdict is Verdict.SAFE, str(report)


@pytest.mark.parametrize("name", WRONG)
def test_a_spin_learns_no_more_than_that(name: str) -> None:
    kind, *bodies = WRONG[name]
    assert kind in judged(*bodies).kinds


LOCK = """scf.while : () -> () {
  %pair = llvm.cmpxchg %flag, %c0, %c1 acquire monotonic : !llvm.ptr<3>, i32
  %done = llvm.extractvalue %pair[1] : !llvm.struct<(i32, i1)>
  %more = arith.xori %done, %true : i1
  scf.condition(%more)
} do {
  scf.yield
}
"""
UNLOCK = '"llvm.store"(%c0, %flag) <{ordering = 5 : i64, alignment = 4 : i64}> : (i32, !llvm.ptr<3>) -> ()'


def test_a_lock_lets_one_in_after_the_other_in_any_order() -> None:
    """PTX ISA, "Release and Acquire Patterns": who takes the lock learns what its holder has done."""
    held = LOCK + FILL + UNLOCK
    assert judged(held, held).verdict is Verdict.SAFE
    assert judged(held, LOCK + FILL + UNLOCK.replace("5", "2")).kinds == ["race"]
    assert judged(held, FILL).kinds == ["race"]
    assert judged(LOCK + FILL, held).kinds == ["deadlock"]


def test_a_ticket_depends_on_who_comes_first_and_each_order_is_tried() -> None:
    ticket = "%t = llvm.atomicrmw add %flag, %c1 monotonic : !llvm.ptr<3>, i32\n"
    first = ticket + "%is = arith.cmpi eq, %t, %c0 : i32\nscf.if %is {\n" + FILL + "}"
    report = judged(first, first)
    assert report.verdict is Verdict.SAFE, str(report)
    assert report.scope.left_open == ("who comes first for the number at byte 0 of 'flag'",)
    assert judged(first, first.replace("cmpi eq", "cmpi ne")).kinds == ["race"]


def dekker(ordering: str, first: str = "%flag", second: str = "%back") -> str:
    """Says that it comes, and goes in where the other has not said so."""
    comes = f"llvm.store %c1, {first} atomic {ordering} {{alignment = 4 : i64}} : i32, !llvm.ptr<3>\n"
    asks = f"%o = llvm.load {second} atomic monotonic {{alignment = 4 : i64}} : !llvm.ptr<3> -> i32\n"
    return BACK + comes + asks + "%is = arith.cmpi eq, %o, %c0 : i32\nscf.if %is {\n" + FILL + "}"


def test_orders_of_several_numbers_need_not_agree() -> None:
    """
    In every order of the accesses one of the two stays out, but memory lets both in (PTX ISA, "Memory Consistency
    Model").
    """
    zeros = "llvm.store %c0, %flag : i32, !llvm.ptr<3>\n"
    text = agents(dekker("release"), dekker("release", "%back", "%flag"))
    more = BACK.replace("%back", "%other") + zeros.replace("%flag", "%other")
    assert check(parse(text.replace(zeros.strip(), zeros + more))).verdict is Verdict.UNDECIDED


def test_a_loop_that_counts_its_turns_is_undecided_with_a_reason() -> None:
    counting = f"""%n = scf.while (%k = %c0) : (i32) -> i32 {{
      {ATOMIC_LOAD}
      %more = arith.cmpi ne, %now, %c1 : i32
      scf.condition(%more) %k : i32
    }} do {{
    ^bb0(%k: i32):
      %next = arith.addi %k, %c1 : i32
      scf.yield %next : i32
    }}"""
    report = judged(FILL + ADD, counting)
    assert report.verdict is Verdict.UNDECIDED
    assert "an atomic access finds in memory, and who changes that is not followed" in str(report)


def test_a_number_that_the_program_has_not_stored_is_undecided_with_a_reason() -> None:
    text = agents(FILL + ADD, spinning(ATOMIC_LOAD)).replace("llvm.store %c0, %flag : i32, !llvm.ptr<3>\n", "")
    assert check(parse(text)).verdict is Verdict.UNDECIDED


HANDSHAKE = """
func.func @k(%tile: !llvm.ptr<3>, %flag: !llvm.ptr<3>, %n: index) {{
  %l0 = arith.constant 0 : index
  %l1 = arith.constant 1 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %back = llvm.getelementptr %flag[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
  llvm.store %c0, %flag : i32, !llvm.ptr<3>
  llvm.store %c0, %back : i32, !llvm.ptr<3>
  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1, 1>}} {{
    scf.for %i = %l0 to %n step %l1 {{
      %turn = arith.index_cast %i : index to i32
      %next = arith.addi %turn, %c1 : i32
      {producer}
    }}
  }}, {{
    scf.for %i = %l0 to %n step %l1 {{
      %turn = arith.index_cast %i : index to i32
      %next = arith.addi %turn, %c1 : i32
      {consumer}
    }}
  }} : () -> ()
  func.return
}}"""


def until(place: str, number: str) -> str:
    return f"""scf.while : () -> () {{
      %now = llvm.load {place} atomic acquire {{alignment = 4 : i64}} : !llvm.ptr<3> -> i32
      %more = arith.cmpi ne, %now, {number} : i32
      scf.condition(%more)
    }} do {{
      scf.yield
    }}
"""


def say(place: str, number: str) -> str:
    return f"llvm.store {number}, {place} atomic release {{alignment = 4 : i64}} : i32, !llvm.ptr<3>"


PRODUCER = until("%back", "%turn") + FILL + say("%flag", "%next")
CONSUMER = until("%flag", "%next") + "%v = llvm.load %tile : !llvm.ptr<3> -> i32\n" + say("%back", "%next")


def test_agents_hand_a_tile_on_in_a_loop_by_two_counters() -> None:
    report = check(parse(HANDSHAKE.format(producer=PRODUCER, consumer=CONSUMER)))
    assert report.verdict is Verdict.SAFE, str(report)
    assert report.bounded, "a proof does not follow what memory holds"
    early = say("%back", "%next") + "\n" + CONSUMER.replace(say("%back", "%next"), "")
    assert "race" in check(parse(HANDSHAKE.format(producer=PRODUCER, consumer=early)), trip_counts=range(3)).kinds
    stuck = PRODUCER.replace("%turn :", "%next :")
    assert "deadlock" in check(parse(HANDSHAKE.format(producer=stuck, consumer=CONSUMER))).kinds


@pytest.mark.parametrize("order", ["eager", "lazy", "random"])
def test_a_run_waits_in_a_spin(order: str) -> None:
    text = HANDSHAKE.format(producer=PRODUCER, consumer=CONSUMER)
    given = {"flag": np.zeros(2, np.int32), "tile": np.zeros(1, np.int32), "n": 3}
    outcome = run(parse(text), "k", given, order=order)
    assert not outcome.violations
    assert outcome.arrays["flag"].tolist() == [3, 3]


@pytest.mark.parametrize("order", ["eager", "lazy", "random"])
def test_atomic_accesses_have_their_numbers(order: str) -> None:
    text = f"""
func.func @f(%flag: !llvm.ptr<3>, %out: !llvm.ptr<1>) {{
  %c1 = arith.constant 1 : i32
  {ATOMIC_STORE}
  {ADD}
  {ATOMIC_LOAD}
  llvm.store %now, %out : i32, !llvm.ptr<1>
  func.return
}}"""
    outcome = run(parse(text), "f", {"flag": np.zeros(4, np.int32), "out": np.zeros(4, np.int32)}, order=order)
    assert outcome.arrays["out"].view(np.int32)[0] == 2
