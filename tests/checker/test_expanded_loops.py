"""Loops over blocks that were expanded into a prologue and a loop are proved, and traps for that proof are not."""

from __future__ import annotations

from functools import cache

import pytest
from xdsl.dialects import scf

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.any_programs import with_any_programs
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.expanded_loops import whole_count_of
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.machine.arguments import find_function

QUEUE = "!nv_tileaa.queue<[tensor<8x8xf32>], depth = 2>"
SPLIT = f"""
func.func @f(%x: memref<?x?xf32>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %far = arith.constant 20 : index
  %id = "gpu.block_id"() <{{dimension = #gpu<dim x>}}> : () -> index
  %all = "gpu.grid_dim"() <{{dimension = #gpu<dim x>}}> : () -> index
  %more = arith.cmpi slt, %id, %n : index
  %length = arith.subi %n, %id : index
  %rest = arith.subi %length, %c1 : index
  %whole = arith.divui %rest, %all : index
  %count = arith.addi %whole, %c1 : index
  %trips = arith.select %more, %count, %c0 : index
  %long = arith.cmpi uge, %trips, %c2 : index
  %shorter = arith.subi %n, %all : index
  %end = arith.select %long, %shorter, %id : index
  %late = arith.cmpi uge, %trips, %far : index
  %q = nv_tileaa.create_queue : () -> {QUEUE}
  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1, 1>}} {{
    scf.if %more {{
      %v = nv_tileaa.tiled_load %x[%c0, %id] : (memref<?x?xf32>, index, index) -> tensor<8x8xf32>
      nv_tileaa.queue.put %q, %v : ({QUEUE}, tensor<8x8xf32>) -> ()
    }}
    scf.for %k = %id to %end step %all {{
      %next = arith.addi %k, %all : index
      %v = nv_tileaa.tiled_load %x[%c0, %next] : (memref<?x?xf32>, index, index) -> tensor<8x8xf32>
      nv_tileaa.queue.put %q, %v : ({QUEUE}, tensor<8x8xf32>) -> ()
    }}
  }}, {{
    scf.for %k = %id to %n step %all {{
      %v = nv_tileaa.queue.get %q : ({QUEUE}) -> tensor<8x8xf32>
    }}
    // behind the loop
  }} : () -> ()
  func.return
}}"""


@cache
def checked(text: str) -> Report:
    return check(parse(text), judge_waits=False)


def changed(old: str, new: str) -> str:
    assert old in SPLIT
    return SPLIT.replace(old, new)


def test_it_is_proved_for_every_grid() -> None:
    report = checked(SPLIT)
    assert report.is_proved
    assert report.verdict_line == "safe for every trip count"


def test_the_copy_has_a_number_of_turns() -> None:
    op, _ = find_function(parse(SPLIT), "f")
    general = with_any_programs(op, "f")
    assert general is not None
    assert general.turns == "turns"
    assert not {"arith.divui", "arith.select"} & {each.name for each in general.op.walk()}


def test_a_loop_knows_how_many_turns_it_leaves_out() -> None:
    loops = [op for op in parse(SPLIT).walk() if isinstance(op, scf.ForOp)]
    (shorter, left_out), (whole, none) = map(whole_count_of, loops)
    assert shorter == whole
    assert (left_out, none) == (1, 0)


GET = f"%v1 = nv_tileaa.queue.get %q : ({QUEUE}) -> tensor<8x8xf32>"
PUT = f"nv_tileaa.queue.put %q, %v : ({QUEUE}, tensor<8x8xf32>) -> ()"
WRONG = {
    "one get more": changed("// behind the loop", GET),
    "one get more from turn 20 on": changed("// behind the loop", f"scf.if %late {{\n{GET}\n}}"),
    "one put less": changed("arith.subi %n, %all", "arith.subi %shorter0, %all").replace(
        "%shorter =", "%shorter0 = arith.subi %n, %all : index\n  %shorter ="
    ),
    "a first put whether there is a turn or not": changed("scf.if %more {", "scf.if %always {").replace(
        "%q = ", "%always = arith.constant true\n  %q = "
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_not_proved(name: str) -> None:
    assert not checked(WRONG[name]).is_proved


OTHERWISE = {
    "a quotient that is rounded up": ("arith.divui %rest", "arith.ceildivui %rest"),
    "a quotient of signed numbers": ("arith.divui %rest", "arith.divsi %rest"),
    "another length": ("arith.subi %length, %c1", "arith.subi %length, %c2"),
    "another number where there is no turn": ("select %more, %count, %c0", "select %more, %count, %c1"),
    "another condition": ("arith.cmpi slt, %id, %n", "arith.cmpi sle, %id, %n"),
    "another least number": ("uge, %trips, %c2", "uge, %trips, %c1"),
    "another comparison": ("uge, %trips, %c2", "ugt, %trips, %c2"),
    "another end": ("select %long, %shorter, %id", "select %long, %shorter, %c0"),
    "another step": ("arith.subi %n, %all", "arith.subi %n, %c2"),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_is_computed_otherwise_is_another_number(name: str) -> None:
    """The copy would turn as often as the loop with the other bound, which it does not."""
    op, _ = find_function(parse(changed(*OTHERWISE[name])), "f")
    assert with_any_programs(op, "f") is None


WRITTEN = changed(
    "scf.for %k = %id to %n step %all {",
    "scf.for %k = %id to %n step %all {\n%z = arith.constant dense<0.0> : tensor<8x8xf32>\n"
    "nv_tileaa.tiled_store %x[%c0, %k], %z : (memref<?x?xf32>, tensor<8x8xf32>, index, index) -> ()",
)


def test_arrays_that_the_prologue_reaches_otherwise_must_not_be_written() -> None:
    """What is loaded ahead for a later turn may be what an earlier one stores."""
    assert not checked(WRITTEN).is_proved
