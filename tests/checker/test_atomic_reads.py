"""
Atomic loads and stores of `llvm` do not race with other atomic accesses, and what spins on them is undecided: who
changes a number in memory is not followed.
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
SPINS = {
    "a load": spinning(ATOMIC_LOAD),
    "a volatile load": spinning(VOLATILE_LOAD),
    "an addition of nothing": spinning("%now = llvm.atomicrmw add %flag, %c0 acquire : !llvm.ptr<3>, i32"),
    "an exchange": spinning(EXCHANGED, SUCCESS),
}


@pytest.mark.parametrize("name", SPINS)
def test_what_spins_on_a_number_in_memory_is_undecided_with_a_reason(name: str) -> None:
    fills = f"llvm.store %c1, %tile : i32, !llvm.ptr<3>\n{ADD}"
    report = judged(fills, SPINS[name])
    assert report.verdict is Verdict.UNDECIDED, str(report)
    assert "an atomic access finds in memory, and who changes that is not followed" in str(report)


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
