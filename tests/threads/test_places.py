"""Tiles share bytes where, and only where, nobody reads the earlier one any more; several at a time take turns."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import parse, run_passes
from tests.support.thread_kernels import assert_no_code
from tests.transforms.test_random_threads import assert_right
from tileas_xdsl.analysis.threads.liveness import Liveness
from tileas_xdsl.analysis.threads.places import Apart, Place, packed, place_of, turns_of, webs_of
from tileas_xdsl.analysis.threads.products import Underway
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp, CopyOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp

HEAD = """
!held = tensor<16x16xf32, #nv_tileas.layout<rmem, blocked<[1, 2], [4, 8], [4, 1], order = [1, 0]>>>
!lies = tensor<16x16xf32, #nv_tileas.layout<smem, linear<offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0],
  [4, 0], [8, 0]]>>>
func.func @f(%x: !held, %n: index, %some: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
"""
PLENTY = 1 << 16


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


def module_of(body: str, head: str = "") -> ModuleOp:
    return parse(f"{head}{HEAD}{body}  func.return\n}}")


def places(body: str, limit: int = PLENTY, head: str = "") -> list[tuple[int, int]]:
    """For each web, in order, its offset in tiles, and how many slots it has."""
    (function,) = module_of(body, head).ops
    webs = webs_of(function)
    liveness = Liveness(name for web in webs for name in web.names)
    slots = [turns_of(web, liveness).slots for web in webs]
    sizes = [Place.of(number, web.tile, count) for number, (web, count) in enumerate(zip(webs, slots, strict=True))]
    found = packed(sizes, Apart(webs, liveness, Underway(function)), limit)
    return [(place.offset // 1024, place.slots) for place in found]


PRODUCT = "  %p, %done = nv_tileas.async.dot %a, %a, %x : (!lies, !lies, !held) -> (!held, !nv_tileas.token)\n"
WAIT = "  nv_tileas.async.wait %done : (!nv_tileas.token) -> ()\n"
IN_A_LOOP = "scf.for %j = %c0 to %n step %c1 {{\n{}}}\n"
CASES = {
    "one behind the other": (stored("%a") + read("%a") + stored("%b") + read("%b"), [(0, 1), (0, 1)]),
    "at the same time": (stored("%a") + stored("%b") + read("%a") + read("%b"), [(0, 1), (1, 1)]),
    "out of a branch": (branch("%r", "%a") + stored("%b") + read("%r") + read("%b"), [(0, 1), (1, 1)]),
    "out of a branch, and over": (branch("%r", "%a") + read("%r") + stored("%b") + read("%b"), [(0, 1), (0, 1)]),
    "handed on by one yield": (
        "  %no = nv_tileas.create_none : () -> !lies\n  %p, %q = scf.if %some -> (!lies, !lies) {\n"
        "  %a = nv_tileas.alloc_tensor : () -> !lies\n  %b = nv_tileas.alloc_tensor : () -> !lies\n"
        "  scf.yield %a, %b : !lies, !lies\n  } else {\n  scf.yield %no, %no : !lies, !lies\n  }\n"
        "  nv_tileas.copy %x, %p : (!held, !lies) -> ()\n  nv_tileas.copy %x, %q : (!held, !lies) -> ()\n"
        + read("%p")
        + read("%q"),
        [(0, 2)],
    ),
    "in each turn": (IN_A_LOOP.format(stored("%a") + read("%a") + stored("%b") + read("%b")), [(0, 1), (0, 1)]),
    "read in each turn, made in front": (
        stored("%a") + IN_A_LOOP.format(read("%a") + stored("%b") + read("%b")),
        [(0, 1), (1, 1)],
    ),
    "handed on, read in front of the store": (
        stored("%a") + turns("%r", "%a", read("%before") + stored("%b"), "%b") + stored("%c") + read("%r"),
        [(0, 1), (1, 1)],
    ),
    "handed on, read behind the store": (
        stored("%a") + turns("%r", "%a", stored("%b") + read("%before"), "%b") + read("%r"),
        [(0, 2)],
    ),
    "handed on, read in front of the store, in a branch": (
        stored("%a") + turns("%r", "%a", f"scf.if %some {{\n{read('%before')}}}\n{stored('%b')}", "%b"),
        [(0, 1)],
    ),
    "handed on, and not read": (stored("%a") + turns("%r", "%a", stored("%b"), "%b"), [(0, 1)]),
    "handed on beside another": (
        stored("%a") + turns("%r", "%a", read("%before") + stored("%b") + stored("%c") + read("%c"), "%b") + read("%r"),
        [(0, 1), (1, 1)],
    ),
    "beside one that is handed on later": (
        stored("%a") + turns("%r", "%a", stored("%b") + read("%b") + read("%before") + stored("%c"), "%c"),
        [(0, 1), (1, 1)],
    ),
    "a product that goes on": (
        stored("%a") + PRODUCT + stored("%b") + WAIT + stored("%c"),
        [(0, 1), (1, 1), (0, 1)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bytes_are_shared_where_nobody_reads_them_any_more(name: str) -> None:
    body, expected = CASES[name]
    assert places(body) == expected


def test_a_tile_of_two_turns_ago_takes_a_third_slot() -> None:
    head = "%r, %s = scf.for %i = %c0 to %n step %c1 iter_args(%older = %a, %old = %a) -> (!lies, !lies) {\n"
    body = stored("%b") + read("%older") + read("%old") + "scf.yield %old, %b : !lies, !lies\n}\n"
    assert places(stored("%a") + head + body) == [(0, 3)]


SMALL = """
!small = tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>
!part = tensor<8x16xf32, #nv_tileas.layout<rmem, blocked<[1, 1], [4, 8], [2, 2], order = [1, 0]>>>
"""


def test_places_of_other_sizes_overlap_only_where_they_have_to() -> None:
    body = "%h = nv_tileas.create_none : () -> !part\n" + stored("%a") + read("%a")
    body += "%s = nv_tileas.alloc_tensor : () -> !small\nnv_tileas.copy %h, %s : (!part, !small) -> ()\n"
    assert places(body, head=SMALL) == [(0, 1), (1, 1)]
    assert places(body, limit=1024, head=SMALL) == [(0, 1), (0, 1)]


def test_slots_of_few_rows_begin_at_multiples_of_the_swizzle() -> None:
    """128 bytes a row: TMA's pattern begins at multiples of 1,024, and the tile has 256."""
    (function,) = parse("""
    func.func @f() {
      %a = nv_tileas.alloc_tensor : () -> tensor<2x32xf32, #nv_tileas.layout<smem, swizzle<128>>>
      func.return
    }""").ops
    (web,) = webs_of(function)
    two = Place.of(0, web.tile, 2)
    assert (two.align, two.bytes, two.extent) == (1024, 1024, 2048)


# The pass -------------------------------------------------------------------------------------------------------------

PASS = "tileas-place-tiles"


def test_a_place_is_said_and_read() -> None:
    module = run_passes(module_of(stored("%a") + read("%a")), PASS)
    (room,) = [op for op in module.walk() if isinstance(op, AllocTensorOp)]
    assert "nv_tileas.place = {number = 0 : i32, offset = 0 : i32, bytes = 1024 : i32, slots = 1 : i32}" in str(module)
    assert place_of(room) == Place(number=0, bytes=1024)


def test_a_second_run_changes_nothing() -> None:
    body = stored("%a") + turns("%r", "%a", stored("%b") + read("%before"), "%b") + read("%r")
    once = run_passes(module_of(body), PASS)
    assert str(run_passes(once.clone(), PASS)) == str(once)


IN_TURN = """
!b = tensor<16x64xf16, #nv_tileas.layout<smem, swizzle<128>>>
!a = tensor<64x16xf16, #nv_tileas.layout<smem, swizzle<32>>>
!c = tensor<64x64xf32, #nv_tileas.layout<rmem, mma<m64n64k16, operand = acc, warps = 4>>>
!h = tensor<64x16xf16, #nv_tileas.layout<rmem, blocked<[1, 8], [16, 2], [4, 1], order = [1, 0]>>>
func.func @f(%b: !b, %h: !h, %zero: !c, %n: index) attributes {nvvm.reqntid = array<i32: 128, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = nv_tileas.create_none : () -> !nv_tileas.token
  %r, %t = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero, %before = %none) -> (!c, !nv_tileas.token) {
    %a = nv_tileas.alloc_tensor : () -> !a
    nv_tileas.copy %h, %a : (!h, !a) -> ()
    %next, %done = nv_tileas.async.dot %a, %b, %sum : (!a, !b, !c) -> (!c, !nv_tileas.token)
    scf.yield %next, %YIELDED : !c, !nv_tileas.token
  }
  func.return
}
"""


def test_a_product_of_the_turn_before_is_waited_for() -> None:
    module = run_passes(parse(IN_TURN.replace("YIELDED", "done")), PASS)
    (wait,) = [op for op in module.walk() if isinstance(op, AsyncWaitOp)]
    assert wait.token.name_hint == "before"
    assert wait.next_op is not None
    assert wait.next_op.name == "nv_tileas.copy"


def test_a_product_that_nobody_can_wait_for_is_refused() -> None:
    module = parse(IN_TURN.replace("YIELDED", "none"))
    assert_no_code(module, [PASS], "sm_90a", "may still be reading, and no token of it is at hand")


# Numbers --------------------------------------------------------------------------------------------------------------


def test_a_random_loop_whose_tiles_leave_branches() -> None:
    """Two stages behind the loop each convert a tile, and each stands in a branch of its own."""
    assert_right(35, "sm_90a", "unspecialize", (2, 3))


def test_what_no_op_reads_is_not_stored() -> None:
    """A loop hands the tiles on, and no iteration reads one."""
    unread = stored("%a") + turns("%r", "%a", stored("%b"), "%b")
    assert copies_behind(unread) == 0
    assert copies_behind(unread + read("%r")) == 2
    assert copies_behind(stored("%a") + turns("%r", "%a", stored("%b") + read("%before"), "%b")) == 2


def copies_behind(body: str) -> int:
    """How many copies into shared memory are left."""
    placed = run_passes(module_of(body), "tileas-place-tiles")
    return sum(isinstance(op, CopyOp) for op in placed.walk())
