"""Tiles of conversions share room in shared memory where, and only where, nobody reads the earlier one any more."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import parse, run_passes
from tests.support.thread_kernels import to_threads
from tests.transforms.test_random_threads import assert_right
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp
from tileas_xdsl.transforms.to_llvm.tiles.rooms import Room, is_overwritten, room_for
from tileas_xdsl.transforms.to_llvm.tiles.shared_memory import SharedMemory

HEAD = """
!held = tensor<16x16xf32, #nv_tileas.layout<rmem, blocked<[1, 2], [4, 8], [4, 1], order = [1, 0]>>>
!lies = tensor<16x16xf32, #nv_tileas.layout<smem, linear<offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0],
  [4, 0], [8, 0]]>>>
func.func @f(%x: !held, %n: index, %some: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
"""


def stored(name: str) -> str:
    return f"  {name} = nv_tileas.alloc_tensor : () -> !lies\n  nv_tileas.copy %x, {name} : (!held, !lies) -> ()\n"


def read(name: str) -> str:
    return f"  %y_{name[1:].replace('#', '_')} = nv_tileas.convert_layout {name} : (!lies) -> !held\n"


def branch(result: str, inside: str) -> str:
    arms = f"{stored(inside)}  scf.yield {inside} : !lies\n}} else {{\n  scf.yield {inside}_no : !lies\n}}\n"
    return f"  {inside}_no = nv_tileas.create_none : () -> !lies\n  {result} = scf.if %some -> (!lies) {{\n{arms}"


def turns(result: str, first: str, body: str, yielded: str) -> str:
    head = f"  {result} = scf.for %i = %c0 to %n step %c1 iter_args(%before = {first}) -> (!lies) {{\n"
    return f"{head}{body}  scf.yield {yielded} : !lies\n}}\n"


def module_of(body: str) -> ModuleOp:
    return parse(f"{HEAD}{body}  func.return\n}}")


def rooms(body: str) -> list[int]:
    """For each tile, in order, the first tile of its room."""
    found, memory = list[Room](), SharedMemory()
    tiles = [op for op in module_of(body).walk() if isinstance(op, AllocTensorOp)]
    starts = [room_for(op, 1024, found, memory) for op in tiles]
    return [starts.index(start) for start in starts]


PRODUCT = "  %p, %done = nv_tileas.async.dot %a, %a, %x : (!lies, !lies, !held) -> (!held, !nv_tileas.token)\n"
WAIT = "  nv_tileas.async.wait %done : (!nv_tileas.token) -> ()\n"
IN_A_LOOP = "scf.for %j = %c0 to %n step %c1 {{\n{}}}\n"
CASES = {
    "one behind the other": (stored("%a") + read("%a") + stored("%b") + read("%b"), [0, 0]),
    "at the same time": (stored("%a") + stored("%b") + read("%a") + read("%b"), [0, 1]),
    "out of a branch": (branch("%r", "%a") + stored("%b") + read("%r") + read("%b"), [0, 1]),
    "out of a branch, and over": (branch("%r", "%a") + read("%r") + stored("%b") + read("%b"), [0, 0]),
    "in each turn": (IN_A_LOOP.format(stored("%a") + read("%a") + stored("%b") + read("%b")), [0, 0]),
    "handed on": (
        stored("%a") + turns("%r", "%a", read("%before") + stored("%b"), "%b") + stored("%c") + read("%r"),
        [0, 1, 2],
    ),
    "handed on beside another": (
        stored("%a") + turns("%r", "%a", read("%before") + stored("%b") + stored("%c") + read("%c"), "%b"),
        [0, 0, 2],
    ),
    "handed on to where another was": (
        stored("%a") + turns("%r", "%a", stored("%b") + read("%b") + read("%before") + stored("%c"), "%c"),
        [0, 1, 0],
    ),
    "a product that goes on": (stored("%a") + PRODUCT + stored("%b") + WAIT + stored("%c"), [0, 1, 0]),
}


@pytest.mark.parametrize("name", CASES)
def test_room_is_shared_where_nobody_reads_it_any_more(name: str) -> None:
    body, expected = CASES[name]
    assert rooms(body) == expected


# A tile and its own next turn -----------------------------------------------------------------------------------------

HANDED_ON = {
    "read in front of the store": (read("%before") + stored("%b"), "%b", False),
    "read behind the store": (stored("%b") + read("%before"), "%b", True),
    "read in front of the store, in a branch": (
        f"scf.if %some {{\n{read('%before')}}}\n{stored('%b')}",
        "%b",
        False,
    ),
    "not read": (stored("%b"), "%b", False),
}


@pytest.mark.parametrize("name", HANDED_ON)
def test_the_next_turn_stores_where_this_one_is_still_read(name: str) -> None:
    body, yielded, expected = HANDED_ON[name]
    module = module_of(stored("%a") + turns("%r", "%a", body, yielded) + read("%r"))
    inside = [op for op in module.walk() if isinstance(op, AllocTensorOp)][1]
    assert is_overwritten(inside) is expected


def test_handed_on_for_two_turns() -> None:
    head = "%r, %s = scf.for %i = %c0 to %n step %c1 iter_args(%older = %a, %old = %a) -> (!lies, !lies) {\n"
    body = read("%older") + stored("%b") + "scf.yield %old, %b : !lies, !lies\n}\n"
    module = module_of(stored("%a") + head + body)
    assert is_overwritten([op for op in module.walk() if isinstance(op, AllocTensorOp)][1])


def test_a_tile_that_is_read_too_late_is_refused() -> None:
    module = module_of(stored("%a") + turns("%r", "%a", stored("%b") + read("%before"), "%b") + read("%r"))
    with pytest.raises(RefusedError, match="still read when the next turn of the loop stores its own there"):
        run_passes(module, to_threads())


# Numbers --------------------------------------------------------------------------------------------------------------


def test_a_random_loop_whose_tiles_leave_branches() -> None:
    """Two stages behind the loop each convert a tile, and each stands in a branch of its own."""
    assert_right(35, "sm_90a", "unspecialize", (2, 3))
