"""Nests of which only the steps count (`flat_nests`): what the copy computes, and what is proved by it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.ir import Operation

from tests.checker.nest_programs import nest
from tests.checker.test_decisions import wrong_pairs
from tests.support.corpora import nightly
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.flat_nests import with_flat_nests
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.arguments import find_function
from tileas_xdsl.machine.running import run

EVERY = "safe for every trip count"

STORES = """
func.func @k(%out: memref<64xindex>, %n: index, %m: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  {nests}
  func.return
}}
"""
STEP = "memref.store %k, %out[%k] : memref<64xindex>"
BASE = "%first = arith.muli %t, {} : index\n"
SUM = "%k = arith.addi %first, %j : index\n"
BEFORE = "scf.for %t = %c0 to {0} step %c1 {{\n{2}scf.for %j = %c0 to {1} step %c1 {{\n{3}\n}}\n}}\n"


def counting(tiles: str, steps: str, *, inside: bool = False) -> str:
    """A nest that computes how many steps were before, in each step or once a tile."""
    base = BASE.format(steps)
    return BEFORE.format(tiles, steps, "" if inside else base, (base if inside else "") + SUM + STEP)


def carrying(tiles: str, steps: str) -> str:
    """A nest that carries that number."""
    return f"""scf.for %t = %c0 to {tiles} step %c1 iter_args(%a = %c0) -> (index) {{
  %b = scf.for %j = %c0 to {steps} step %c1 iter_args(%k = %a) -> (index) {{
    {STEP}
    %d = arith.addi %k, %c1 : index
    scf.yield %d : index
  }}
  scf.yield %b : index
}}
""".replace("scf.for %t", "%all = scf.for %t")


NESTS = {
    "once a tile": counting("%n", "%m") + counting("%m", "%n"),
    "in each step": counting("%n", "%m", inside=True) + counting("%m", "%n"),
    "carried": carrying("%n", "%m") + counting("%m", "%n"),
    "two alike": counting("%n", "%m") + counting("%n", "%m", inside=True),
    "carried and used": counting("%n", "%m") + carrying("%m", "%n") + "memref.store %all, %out[%c2] : memref<64xindex>",
}
STAY = {
    "one nest": counting("%n", "%m"),
    "the tile is used": counting("%n", "%m") + counting("%m", "%n").replace("%out[%k]", "%out[%t]"),
    "the step is used": counting("%n", "%m") + counting("%m", "%n").replace("%out[%k]", "%out[%j]"),
    "of another count": counting("%n", "%m") + counting("%m", "%n").replace("%t, %n", "%t, %m"),
    "from the second step on": counting("%n", "%m") + counting("%m", "%n").replace("%j = %c0", "%j = %c1"),
    "steps of two": counting("%n", "%m") + counting("%m", "%n").replace("%n step %c1", "%n step %c2"),
    "three deep": counting("%n", "%m") + "scf.for %i = %c0 to %m step %c1 {\n" + counting("%m", "%n") + "}",
    "something else in the tile": counting("%n", "%m")
    + counting("%m", "%n").replace("scf.for %j", "memref.store %t, %out[%t] : memref<64xindex>\nscf.for %j"),
}


def flat(text: str) -> Operation | None:
    function, body = find_function(parse(text), "k")
    copied = with_flat_nests(function, body, "k", ["n", "m"])
    return None if copied is None else copied[0]


@pytest.mark.parametrize("name", NESTS)
def test_the_copy_computes_the_same(name: str) -> None:
    module = parse(STORES.format(nests=NESTS[name]))
    copied = flat(STORES.format(nests=NESTS[name]))
    assert copied is not None
    flattened = copied.get_toplevel_object()
    assert isinstance(flattened, Operation)
    flattened.verify()
    loops = [op for op in flattened.walk() if isinstance(op, scf.ForOp)]
    assert not any(other.is_ancestor(op) for op in loops for other in loops if other is not op)
    for n, m in product((0, 1, 2, 3, 5), repeat=2):
        memories = (np.full(64, 99), np.full(64, 99))
        for each, memory in zip((module, flattened), memories, strict=True):
            assert not run(each, "k", {"out": memory, "n": n, "m": m}).violations
        assert np.array_equal(*memories), (n, m)


@pytest.mark.parametrize("name", STAY)
def test_other_nests_stay(name: str) -> None:
    assert flat(STORES.format(nests=STAY[name])) is None


# Proofs ---------------------------------------------------------------------------------------------------------------

OTHER_WAY = {"consumer_tiles": "%c0 to %m step %c1", "consumer_steps": "%c0 to %n step %c1"}
ALL = "%all = arith.muli %n, %m : i32"
AT_ONCE = {"consumer_before": ALL, "consumer_tiles": "%c0 to %c1 step %c1", "consumer_steps": "%c0 to %all step %c1"}
FEWER = "%few = arith.subi %m, %c1 : i32"


def test_n_tiles_of_m_steps_are_as_many_as_m_tiles_of_n() -> None:
    assert check(parse(nest(2, **OTHER_WAY))).verdict_line == EVERY
    assert check(parse(nest(3, **OTHER_WAY))).verdict_line == EVERY


def test_n_tiles_of_m_steps_are_as_many_as_one_of_all() -> None:
    assert check(parse(nest(2, **AT_ONCE))).verdict_line == EVERY
    report = check(parse(nest(2, **{**AT_ONCE, "consumer_before": ALL.replace("muli", "addi")})))
    assert report.verdict is Verdict.VIOLATION


@pytest.mark.parametrize(
    ("changed", "least"),
    [
        ({"consumer_steps": "%c0 to %m step %c1"}, (0, 1)),
        ({"consumer_before": FEWER, "consumer_tiles": "%c0 to %few step %c1"}, (1, 1)),
        pytest.param({"consumer_parity": "%turn"}, (1, 1), marks=nightly("a proof is tried as long as it may take")),
        ({"release": ""}, (1, 3)),
    ],
    ids=["m tiles of m", "one tile fewer", "the other parity", "no release"],
)
def test_what_is_wrong_the_other_way_round_is_found(changed: dict[str, str], least: Sequence[int]) -> None:
    text = nest(2, **{**OTHER_WAY, **changed})
    report = check(parse(text))
    assert report.verdict is Verdict.VIOLATION, str(report)
    assert sum(report.findings[0].arguments.values()) == sum(least)
    n, m = report.findings[0].arguments.values()
    assert wrong_pairs(text, [(n, m)])
