"""Arguments that only say which elements of tiles are accessed: a proof for any mask, else each mask as it is."""

from __future__ import annotations

import pytest

from tests.support.ir import ROOT, parse
from tests.support.threads_and_tiles import VARIANTS, lowered
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.loop_bounds import masking_arguments
from tileas_xdsl.machine.arguments import find_function

MASKED_TAIL = (ROOT / "tests" / "kernels" / "people" / "masked_tail.mlir").read_text()


def stored(place: str, condition: str, *, more: str = "", mark: str = "{nv_tileas.masked}") -> str:
    """32 threads, of which those store that a mask in %n chooses."""
    return f"""func.func @f(%y: memref<64xi32>, %n: i32) attributes {{nvvm.reqntid = array<i32: 32, 1, 1>}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %thread = nvvm.read.ptx.sreg.tid.x : i32
      %own = arith.index_cast %thread : i32 to index
      {more}
      %inside = arith.cmpi {condition}, %thread, %n : i32
      scf.if %inside {{ memref.store %thread, %y[{place}] : memref<64xi32> }} {mark}
      func.return
    }}"""


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_masked_tail_is_proved_for_every_length_and_block(variant: str) -> None:
    report = check(lowered(MASKED_TAIL, variant), judge_waits=False)
    assert report.holds_for_every_trip_count, report.verdict_line


def test_stores_to_places_of_their_own_are_safe_whatever_the_mask() -> None:
    report = check(parse(stored("%own", "slt")))
    assert report.holds_for_every_trip_count


def test_a_mask_that_lets_several_threads_store_to_one_place_is_a_race() -> None:
    report = check(parse(stored("%c0", "slt")))
    assert report.kinds == ["race"]
    assert report.findings[0].arguments == {"n": 2}


def test_a_mask_that_lets_one_thread_store_raises_no_alarm() -> None:
    """With any mask all threads would store to one place; with each that there is, one does."""
    report = check(parse(stored("%c0", "eq")))
    assert report.holds_for_every_trip_count


LOOP = "scf.for %k = %c0 to %m step %c1 { memref.store %thread, %y[%own] : memref<64xi32> }"


def test_what_else_bounds_a_loop_is_no_mask() -> None:
    more = f"%m = arith.index_cast %n : i32 to index\n{LOOP}"
    _, body = find_function(parse(stored("%own", "slt", more=more)), "f")
    assert masking_arguments(body) == []


def test_a_branch_that_nothing_marks_is_no_mask() -> None:
    _, body = find_function(parse(stored("%own", "slt", mark="")), "f")
    assert masking_arguments(body) == []
