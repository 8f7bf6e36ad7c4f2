"""Views that are the array itself are looked through, and others are not; the numbers stay."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects import func, scf

from tests.support.ir import parse, run_passes
from tileas_xdsl.machine.running import run

PASS = "tileas-fold-views"
VIEWED = """
!view = !nv_tileaa.tiled_view<8x16xf32, gmem>
!t = tensor<8x16xf32>
func.func @f(%a: memref<?x?xf32>, %c: memref<?x?xf32>, %i: index, %j: index) {
  %v = nv_tileaa.block_tile %a attributes {tileSizes = array<i64: 8, 16>, dimGroups = [array<i64: 0>, array<i64: 1>]}
    : (memref<?x?xf32>) -> !view
  %w = nv_tileaa.block_tile %c attributes {tileSizes = array<i64: 8, 16>, dimGroups = [array<i64: 0>, array<i64: 1>]}
    : (memref<?x?xf32>) -> !view
  %x = nv_tileaa.tiled_load %v[%i, %j] : (!view, index, index) -> !t
  nv_tileaa.tiled_store %w[%i, %j], %x : (!view, !t, index, index) -> ()
  func.return
}"""


@pytest.mark.parametrize("place", [(0, 0), (1, 1), (2, 0), (0, 2)])
def test_loads_and_stores_go_to_the_array(place: tuple[int, int]) -> None:
    """Also where tiles stick out of it."""
    before, after = parse(VIEWED), run_passes(parse(VIEWED), PASS)
    after.verify()
    assert "block_tile" not in str(after)
    a = np.arange(19 * 41, dtype=np.float32).reshape(19, 41)
    first, second = [
        run(module, "f", {"a": a.copy(), "c": np.zeros_like(a), "i": place[0], "j": place[1]}).arrays["c"]
        for module in (before, after)
    ]
    assert np.array_equal(first, second)
    assert first.any()


SQUARE = VIEWED.replace("8x16", "8x8").replace("8, 16", "8, 8")
STAYS = {
    "axes in another order": SQUARE.replace("[array<i64: 0>, array<i64: 1>]", "[array<i64: 1>, array<i64: 0>]"),
    "from outside": """
!view = !nv_tileaa.tiled_view<16xf32, gmem>
func.func @f(%v: !view, %i: index) {
  %x = nv_tileaa.tiled_load %v[%i] : (!view, index) -> tensor<16xf32>
  func.return
}""",
    "axes taken together": """
!view = !nv_tileaa.tiled_view<16xf32, gmem>
func.func @f(%a: memref<?x?xf32>, %c: memref<?x?xf32>, %i: index, %j: index) {
  %v = nv_tileaa.block_tile %a attributes {tileSizes = array<i64: 16>, dimGroups = [array<i64: 0, 1>]}
    : (memref<?x?xf32>) -> !view
  %x = nv_tileaa.tiled_load %v[%i] : (!view, index) -> tensor<16xf32>
  func.return
}""",
}


@pytest.mark.parametrize("why", STAYS)
def test_views_of_another_kind_stay(why: str) -> None:
    module = parse(STAYS[why])
    before = str(module)
    assert str(run_passes(module, PASS)) == before


def test_a_view_that_somebody_else_uses_stays() -> None:
    text = VIEWED.replace(
        "  func.return", "  %y = nv_tileaa.tiled_load %v[%i, %j] : (!view, index, index) -> !t\n  func.return"
    )
    other = text.replace("func.func @f", "func.func private @g(!view)\nfunc.func @f").replace(
        "  func.return", "  func.call @g(%v) : (!view) -> ()\n  func.return"
    )
    assert "block_tile" not in str(run_passes(parse(text), PASS))
    module = run_passes(parse(other), PASS)
    assert str(module).count("block_tile") == 1


ADDED = """
!view = !nv_tileaa.tiled_view<8x16xf32>
!t = tensor<8x16xf32>
func.func @f(%a: memref<?x?xf32>, %t: !t, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    %is = arith.cmpi eq, %k, %c1 : index
    scf.if %is {
      %v = nv_tileaa.block_tile %a attributes {tileSizes = array<i64: 8, 16>,
        dimGroups = [array<i32: 0>, array<i32: 1>]} : (memref<?x?xf32>) -> !view
      %old = nv_tileaa.tiled_atomic_rmw %v[%k, %c0], %t attributes {rmw_mode = #nv_tileaa<rmw_mode add>}
        : (!view, !t, index, index) -> !t
    }
  }
  func.return
}"""


def test_a_view_for_an_atomic_update_stands_in_front_of_its_loop() -> None:
    after = run_passes(parse(ADDED), PASS)
    (view,) = (op for op in after.walk() if op.name == "nv_tileaa.block_tile")
    assert isinstance(view.parent_op(), func.FuncOp)
    given = np.ones((8, 16), np.float32)
    before, behind = (
        run(module, "f", {"a": np.zeros((32, 16), np.float32), "t": given, "n": 3}).arrays["a"]
        for module in (parse(ADDED), after)
    )
    assert np.array_equal(before, behind)
    assert before.sum() == given.size


@pytest.mark.parametrize("around", ["if", "for"])
def test_a_view_of_what_a_loop_carries_stays_in_it(around: str) -> None:
    text = ADDED.replace("scf.for %k = %c0 to %n step %c1 {", "scf.for %k = %c0 to %n step %c1 iter_args(%b = %a)")
    text = text.replace("iter_args(%b = %a)", "iter_args(%b = %a) -> (memref<?x?xf32>) {")
    text = text.replace("block_tile %a", "block_tile %b").replace(
        "    }\n  }", "    }\n  scf.yield %b : memref<?x?xf32>\n  }"
    )
    if around == "for":
        text = text.replace("scf.if %is {", "scf.for %j = %c0 to %c1 step %c1 {")
    after = run_passes(parse(text), PASS)
    (view,) = (op for op in after.walk() if op.name == "nv_tileaa.block_tile")
    outside = view.parent_op()
    assert isinstance(outside, scf.IfOp) if around == "if" else isinstance(outside, scf.ForOp) and outside.iter_args
