"""
A product of a turn and a count is what has been counted so far (`verdict.flat_nests`): the copy computes the same,
and programs that are right by such products are proved.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from xdsl.dialects import arith

from tests.checker.nest_programs import PARTS, nest
from tests.checker.test_traps_of_nests import ARRIVE, assert_found, assert_proved, at_place, reason_against, where
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.flat_nests import with_running_totals
from tileas_xdsl.machine.arguments import find_function
from tileas_xdsl.machine.running import run

TOTAL = "%total = arith.muli %t, %m : i32\n"


def by_products(text: str) -> str:
    """The program with the number of the step computed from the tile and the step in it, instead of carried."""
    number = f"{TOTAL}%kk = arith.addi %total, %j : i32\n"
    text = text.replace("%s = arith.remui %k,", f"{number}%s = arith.remui %kk,")
    return text.replace("arith.divui %k,", "arith.divui %kk,")


# The copy -------------------------------------------------------------------------------------------------------------

STORES = """
func.func @k(%out: memref<64xindex>, %n: index, %m: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %t = %c0 to %n step %c1 {{
    {tile}
  }}
  func.return
}}
"""
AT = "%first = arith.muli %t, %m : index\n"
STEPS = "scf.for %j = %c0 to %m step %c1 {{\n{first}%p = arith.addi %first, %j : index\n{store}\n}}"
STORE = "%v = arith.addi %p, %t : index\nmemref.store %v, %out[%p] : memref<64xindex>"
TILES = {
    "before the steps": AT + STEPS.format(first="", store=STORE),
    "in the steps": STEPS.format(first=AT, store=STORE),
    "behind the steps": STEPS.format(first="%first = arith.muli %t, %c2 : index\n", store=STORE).replace(
        "%m step", "%c2 step"
    )
    + f"\n{AT}memref.store %first, %out[%t] : memref<64xindex>",
    "twice": AT + STEPS.format(first=AT.replace("first", "other"), store=STORE.replace("%t :", "%other :")),
    "steps of two": AT + STEPS.format(first="", store=STORE).replace("%m step %c1", "%m step %c2"),
    "from the second step on": AT + STEPS.format(first="", store=STORE).replace("%c0 to %m", "%c1 to %m"),
    "in a branch": "%is = arith.cmpi ult, %c1, %t : index\nscf.if %is {\n"
    + AT
    + STEPS.format(first="", store=STORE)
    + "\n}",
    "two values carried": AT
    + STEPS.format(first="", store=STORE + "\n%c = arith.addi %b, %p : index\nscf.yield %c : index")
    .replace("scf.for %j", "%all = scf.for %j")
    .replace("step %c1 {", "step %c1 iter_args(%b = %t) -> (index) {")
    + "\nmemref.store %all, %out[%t] : memref<64xindex>",
}


@pytest.mark.parametrize("tile", TILES)
def test_the_copy_computes_the_same(tile: str) -> None:
    module = parse(STORES.format(tile=TILES[tile]))
    function, _ = find_function(module, "k")
    copied = with_running_totals(function, "k", ["n", "m"])
    assert copied is not None
    counting = copied[0].get_toplevel_object()
    assert counting is not None
    counting.verify()
    argument = copied[1].blocks[0].args[2]
    assert not any(isinstance(op, arith.MuliOp) and argument in op.operands for op in counting.walk())
    for n, m in product((0, 1, 2, 3, 5), repeat=2):
        memories = [np.full(64, 99) for _ in range(2)]
        for each, memory in zip((module, counting), memories, strict=True):
            assert not run(each, "k", {"out": memory, "n": n, "m": m}).violations
        assert np.array_equal(*memories), (n, m)


@pytest.mark.parametrize(
    "tile",
    [
        "%u = arith.addi %t, %c1 : index\n%first = arith.muli %u, %m : index",
        "%u = arith.addi %m, %c1 : index\n%first = arith.muli %t, %u : index",
        "%first = arith.muli %t, %t : index",
        "%small = arith.index_cast %m : index to i32\n%u = arith.index_cast %t : index to i32\n"
        "%first = arith.muli %u, %small : i32",
    ],
)
def test_other_products_stay(tile: str) -> None:
    module = parse(STORES.format(tile=tile))
    assert with_running_totals(find_function(module, "k")[0], "k", ["n", "m"]) is None


def test_a_tile_loop_that_does_not_count_its_turns_keeps_its_products() -> None:
    for changed in ("%t = %c1 to %n step %c1", "%t = %c0 to %n step %c2"):
        text = STORES.format(tile=TILES["in the steps"]).replace("%t = %c0 to %n step %c1", changed)
        assert with_running_totals(find_function(parse(text), "k")[0], "k", ["n", "m"]) is None


def test_a_product_of_an_agent_in_a_tile_stays() -> None:
    agents = "nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1>}"
    module = parse(STORES.format(tile=f"{agents} {{\n{TILES['in the steps']}\n}} : () -> ()"))
    assert with_running_totals(find_function(module, "k")[0], "k", ["n", "m"]) is None


# Proofs ---------------------------------------------------------------------------------------------------------------


def test_slots_and_parities_by_the_tile_and_the_step() -> None:
    assert_proved(by_products(nest(2)))
    assert_found(by_products(nest(2)).replace("%total, %j", "%total, %c0", 1), 1, 2)


def test_a_product_with_the_number_of_tiles_is_another_number() -> None:
    text = by_products(nest(2)).replace("muli %t, %m", "muli %t, %n")
    report = check(parse(text), trip_counts=[0, 1], prove=True, timeout=60)
    assert report.findings
    assert not report.is_proved


def test_the_product_is_what_a_carried_number_has_become() -> None:
    """One more arrival where the two differ: they never do, unless the carried number counts something else."""
    differs = where(f"{TOTAL}%is = arith.cmpi ne, %total, %k0", ARRIVE)
    assert_proved(nest(2, consumer_after_tile=differs))
    assert_found(nest(2, consumer_after_tile=differs.replace("%k0", "%k1")), 2, 2)


def test_rows_of_an_argument_do_not_overlap() -> None:
    row = at_place(f"{TOTAL}%place = arith.addi %total, %j")
    store = row + "llvm.store %one, %p : f32, !llvm.ptr<1>"
    assert_proved(nest(2, read=store))
    looks = at_place(f"{TOTAL}%place = arith.addi %total, %c0") + "%seen = llvm.load %p : !llvm.ptr<1> -> f32\n"
    assert_found(nest(2, read=store, copy=looks + PARTS["copy"]), 1, 2)


def test_other_products_are_refused() -> None:
    later = f"%u = arith.addi %t, %c1 : i32\n{TOTAL.replace('%t,', '%u,')}%place = arith.addi %total, %j"
    store = at_place(later) + "llvm.store %one, %p : f32, !llvm.ptr<1>"
    assert "'arith.muli' takes 'm', which also bounds loops that are left open" in reason_against(nest(2, read=store))
