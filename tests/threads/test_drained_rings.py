"""Tiles over rings that are empty for good: the same numbers in fewer bytes, and a barrier that is needed."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from tests.support.ir import parse, run_passes
from tests.support.thread_kernels import BY_DESCRIPTOR
from tests.support.threads_and_tiles import REFUSED, RIGHT, compared, judged_threads
from tileas_xdsl.analysis.threads.drained import IN_STEP
from tileas_xdsl.analysis.threads.places import Place, packed_with_rings, place_of
from tileas_xdsl.dialects.nv_tileas.pipeline import CreatePipelineOp
from tileas_xdsl.dialects.nvvm.barrier import BarrierOp
from tileas_xdsl.dialects.nvvm.registers import SetMaxRegisterOp

PRODUCT = """
#smem = #nv_tileas.layout<smem>
!a = tensor<64x64xf16, #smem>
!b = tensor<64x128xf16, #smem>
!c = tensor<64x128xf32>
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> !b
    %sum = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
    scf.yield %sum : !c
  }
  nv_tileaa.tiled_store %c[%c0, %c0], %r : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}"""
"""Its rings have two slots or more; with the 32,768 bytes of the result they are too many for three blocks."""
TURNS = (0, 1, 2, 3, 4)


def agents_of(text: str, blocks: int) -> ModuleOp:
    """The program in agents that fill and empty rings, for so many blocks a multiprocessor."""
    options = f"compute-capability=sm_90a pipeline-strategy=warp-specialize layouts=true blocks={blocks}"
    kernels = f"convert-nv-tile-func-to-llvm{{compute-capability=sm_90a blocks={blocks}}}"
    return run_passes(parse(text), f"tileas-fold-views,tileir{{{options}}},{BY_DESCRIPTOR},{kernels}")


def places_of(module: ModuleOp) -> list[Place]:
    made = run_passes(module, "tileas-place-tiles{compute-capability=sm_90a}")
    return [place for op in made.walk() if (place := place_of(op)) is not None]


def threads_of(text: str, blocks: int) -> ModuleOp:
    options = f"compute-capability=sm_90a pipeline-strategy=warp-specialize layouts=true threads=true blocks={blocks}"
    return run_passes(parse(text), f"tileir{{{options}}}")


def test_the_result_lies_over_the_rings() -> None:
    assert [place.over_rings for place in places_of(agents_of(PRODUCT, 3))] == [1]
    assert [place.over_rings for place in places_of(agents_of(PRODUCT, 1))] == [0], "there is room for both"


def test_agents_share_the_registers_that_a_block_has() -> None:
    threads = threads_of(PRODUCT, 3)
    assert "nvvm.minctasm = 3" in str(threads)
    assert [op.reg_count.value.data for op in threads.walk() if isinstance(op, SetMaxRegisterOp)] == [40, 120]


def test_the_numbers_stay() -> None:
    assert compared(PRODUCT, threads_of(PRODUCT, 3), TURNS, 256) == RIGHT


def test_the_threads_that_have_read_wait_for_each_other() -> None:
    """Without their barrier one warp stores where another one still multiplies."""
    threads = threads_of(PRODUCT, 3)
    barriers = [op for op in threads.walk() if isinstance(op, BarrierOp)]
    assert len(barriers) == 2, "before the result is stored over the rings, and before TMA reads it"
    Rewriter.erase_op(barriers[0])
    assert judged_threads(threads, 60) not in (RIGHT, REFUSED)


# When rings are empty -------------------------------------------------------------------------------------------------


def rings_of(module: ModuleOp) -> list[CreatePipelineOp]:
    return [op for op in module.walk() if isinstance(op, CreatePipelineOp)]


def test_rings_of_a_plain_loop_are_in_step() -> None:
    assert all(IN_STEP in ring.attributes for ring in rings_of(agents_of(PRODUCT, 1)))


def test_a_ring_of_which_nobody_says_that_it_is_in_step_keeps_its_bytes() -> None:
    module = agents_of(PRODUCT, 3)
    del rings_of(module)[0].attributes[IN_STEP]
    assert [place.over_rings for place in places_of(module)] == [0]


IN_A_LOOP = (
    PRODUCT.replace("  %r = scf.for", "  scf.for %i = %c0 to %n step %c1 {\n  %r = scf.for")
    .replace("  nv_tileaa.tiled_store %c[%c0, %c0]", "  nv_tileaa.tiled_store %c[%i, %c0]")
    .replace("  func.return", "  }\n  func.return")
)


def test_a_ring_that_is_filled_again_keeps_its_bytes() -> None:
    assert all(not place.over_rings for place in places_of(agents_of(IN_A_LOOP, 3)))


QUEUE = """
#smem = #nv_tileas.layout<smem>
!x = tensor<64x64xf16, #smem>
!r = tensor<64x64xf16>
!queue = !nv_tileaa.queue<[!x], depth = 2>
func.func @f(%a: memref<?x?xf16>, %c: memref<?x?xf16>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !queue
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>, max_regs = array<i32: 40, 232>} {
    scf.for %k = %c0 to %n step %c1 {
      %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> !x
      nv_tileaa.queue.put %q[%k], %at : (!queue, index, !x) -> ()
    }
  }, {
    %zero = arith.constant dense<0.0> : !r
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!r) {
      %at = nv_tileaa.queue.get %q[%k] : (!queue, index) -> !x
      %held = nv_tileas.convert_layout %at : (!x) -> !r
      %next = arith.addf %acc, %held : !r
      scf.yield %next : !r
    }
    nv_tileaa.tiled_store %c[%c0, %c0], %sum : (memref<?x?xf16>, !r, index, index) -> ()
  } : () -> ()
  func.return
}"""


def test_of_queues_nobody_says_how_often_they_are_filled() -> None:
    assert all(IN_STEP not in ring.attributes for ring in rings_of(agents_of(QUEUE, 1)))


# Packing --------------------------------------------------------------------------------------------------------------


def place(number: int, size: int) -> Place:
    return Place(number=number, bytes=size)


@pytest.mark.parametrize(
    ("limit", "over", "found"),
    [
        (300, [0, 1], [(0, 0), (0, 128)]),
        (200, [0, 1], [(1, 0), (1, 128)]),
        (200, [1], [(0, 0), (1, 0)]),
        (200, [], [(0, 0), (0, 128)]),
    ],
    ids=["room for all", "both over rings", "one of them", "none may"],
)
def test_tiles_lie_over_rings_where_there_is_no_other_room(
    limit: int, over: list[int], found: list[tuple[int, int]]
) -> None:
    places = packed_with_rings([place(0, 128), place(1, 128)], lambda _one, _other: True, limit, over)
    assert [(each.over_rings, each.offset) for each in places] == found


def test_bytes_over_rings_are_others_than_those_beside() -> None:
    beside, over = place(0, 128), Place(number=1, bytes=128, over_rings=1)
    assert not beside.overlaps(over)
    assert place_attribute_round_trip(over) == over


def place_attribute_round_trip(one: Place) -> Place:
    op = next(iter(parse("%x = arith.constant 0 : i32").ops))
    op.attributes["nv_tileas.place"] = one.attribute
    found = place_of(op)
    assert found is not None
    return found
