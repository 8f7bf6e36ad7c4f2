"""Persistent programs: each program is computed once, by however many blocks, and rings go on from one to the next."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from tests.support.ir import ROOT, parse, print_custom, run_passes
from tileas_xdsl.backend.launch import PERSISTENT
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.nv_tileas.memory import AsyncTiledLoadOp
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp
from tileas_xdsl.dialects.nv_tileas.tma import TiledTmaStoreOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.dialects.nvvm.bulk import CpAsyncBulkWaitGroupOp
from tileas_xdsl.machine.running import run

PASS = "tileas-persist-programs"
COUNTED = """
!t = tensor<EXTENTSxf32>
func.func @f(%c: memref<?x?xf32>) {
  %one = arith.constant dense<1.0> : !t
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> KIND
  %col = nv_tileaa.get_program_id attributes {axis = 1 : i32} : () -> KIND
  CASTS
  scf.for %k = %c0 to %c1 step %c1 {
    %old = nv_tileaa.tiled_load %c[%i, %j] : (memref<?x?xf32>, index, index) -> !t
    %new = arith.addf %old, %one : !t
    nv_tileaa.tiled_store %c[%i, %j], %new : (memref<?x?xf32>, !t, index, index) -> ()
  }
  func.return
}"""
"""Each program adds 1 to its tile."""


def counted(extents: str = "1x1", kind: str = "i32") -> str:
    text = COUNTED.replace("EXTENTS", extents).replace("KIND", kind)
    if kind == "index":
        return text.replace("  CASTS\n", "").replace("%i,", "%row,").replace("%j]", "%col]")
    casts = f"%i = arith.index_cast %row : {kind} to index %j = arith.index_cast %col : {kind} to index"
    return text.replace("CASTS", casts)


def persistent(text: str, rows: int = 0, blocks: int = 1) -> ModuleOp:
    return run_passes(parse(text), f"{PASS}{{rows={rows} blocks={blocks}}}")


def computed(module: ModuleOp, arrays: dict[str, Any], blocks: int, **options: Any) -> NDArray[Any]:
    """What as many blocks leave in `c`; the machine computes the numbers of arrays as a launch does."""
    found = run(module, "f", arrays, programs=(blocks,), **options)
    assert not found.violations
    return found.arrays["c"]


GRIDS = [(1, 1), (1, 5), (5, 1), (3, 2), (4, 4), (7, 3), (9, 2)]


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: "x".join(map(str, grid)))
@pytest.mark.parametrize("rows", [0, 1, 2, 8])
@pytest.mark.parametrize("kind", ["i32", "index"])
def test_each_program_is_computed_once(kind: str, rows: int, grid: tuple[int, int]) -> None:
    module = persistent(counted(kind=kind), rows)
    for blocks in {1, 2, 5, grid[0] * grid[1], 40}:
        assert np.array_equal(computed(module, {"c": np.zeros(grid, np.float32)}, blocks), np.ones(grid))


def test_tiles_at_the_edges_count() -> None:
    """An array of 9 x 7 elements has 3 x 4 tiles of 4 x 2."""
    left = computed(persistent(counted("4x2", "index")), {"c": np.zeros((9, 7), np.float32)}, 2)
    assert np.array_equal(left, np.ones((9, 7)))


def test_programs_come_in_groups_of_rows() -> None:
    text = (
        counted(kind="index")
        .replace("%c: memref<?x?xf32>", "%c: memref<?x?xf32>, %x: memref<?xf32>")
        .replace("%one = arith.constant dense<1.0> : !t", "%one = arith.constant dense<1.0> : tensor<1xf32>")
        .replace(
            "%new = arith.addf %old, %one : !t",
            """%next = nv_tileaa.tiled_load %x[%c0] : (memref<?xf32>, index) -> tensor<1xf32>
    %more = arith.addf %next, %one : tensor<1xf32>
    nv_tileaa.tiled_store %x[%c0], %more : (memref<?xf32>, tensor<1xf32>, index) -> ()
    %new = nv_tileaa.expand_dims %next : (tensor<1xf32>) -> !t""",
        )
    )
    arrays = {"c": np.zeros((6, 4), np.float32), "x": np.zeros(1, np.float32)}
    left = computed(persistent(text, 2), arrays, 1)
    assert left[:4].tolist() == [[0, 2, 4, 6], [1, 3, 5, 7], [8, 10, 12, 14], [9, 11, 13, 15]]


# What stays ----------------------------------------------------------------------------------------------------------

GEMM = (ROOT / "examples" / "gemm_loop.mlir").read_text()
STAYS = {
    "an id that is computed with": counted(kind="index").replace(
        "  scf.for", "  %more = arith.addi %row, %row : index\n  scf.for"
    ).replace("%c[%row, %col], %new", "%c[%more, %col], %new"),
    "no ids": re.sub(r"nv_tileaa.get_program_id .*", "arith.constant 0 : index", GEMM),
    "the number of programs": counted(kind="index").replace(
        "  scf.for", "  %rows = nv_tileaa.get_num_programs attributes {axis = 0 : i32} : () -> index\n  scf.for"
    ),
    "no loop": counted(kind="index").replace("scf.for %k = %c0 to %c1 step %c1 {", "").replace("  }\n", "", 1),
    "agents": (ROOT / "examples" / "gemm_queue.mlir").read_text(),
}  # fmt: skip


@pytest.mark.parametrize("why", STAYS)
def test_what_has_no_known_programs_stays(why: str) -> None:
    module = parse(STAYS[why])
    before = print_custom(module)
    assert print_custom(run_passes(module, PASS)) == before


def test_twice_is_once() -> None:
    once = persistent(GEMM, 8)
    assert print_custom(run_passes(once.clone(), PASS)) == print_custom(once)


@pytest.mark.parametrize(("options", "said"), [("rows=-1", "one row or more"), ("blocks=0", "at least 1 block")])
def test_options_that_make_no_sense(options: str, said: str) -> None:
    with pytest.raises(PassFailedException, match=said):
        run_passes(parse(GEMM), f"{PASS}{{{options}}}")


def test_a_function_says_how_many_blocks_a_multiprocessor_holds() -> None:
    (function,) = persistent(GEMM, blocks=2).ops
    assert str(function.attributes[PERSISTENT]) == "2 : i32"


# Products ------------------------------------------------------------------------------------------------------------


def product(tile: int = 16, depth: int = 16, out: str = "f32") -> str:
    """A product of `tile` rows and columns, in steps of `depth`."""
    text = GEMM.replace("@gemm", "@f").replace("128x64x", f"{tile}x{depth}x").replace("64x128x", f"{depth}x{tile}x")
    text = text.replace("128x128x", f"{tile}x{tile}x")
    if out == "f16":
        store = "  nv_tileaa.tiled_store %c[%row, %col], %product"
        text = text.replace(store, f"  %out = arith.truncf %product : !c_tile to tensor<{tile}x{tile}xf16>\n{store}")
        text = text.replace(
            "%c[%row, %col], %product : (memref<?x?xf32>, !c_tile",
            f"%c[%row, %col], %out : (memref<?x?xf16>, tensor<{tile}x{tile}xf16>",
        ).replace("%c: memref<?x?xf32>", "%c: memref<?x?xf16>")
    return text  # fmt: skip


def operands(rows: int, columns: int, depth: int, turns: int, kind: Any = np.float32) -> dict[str, Any]:
    draw = np.random.default_rng(turns)
    a, b = (
        draw.integers(-2, 3, shape).astype(np.float16)
        for shape in ((rows, depth * max(turns, 1)), (depth * max(turns, 1), columns))
    )
    return {"a": a, "b": b, "c": np.full((rows, columns), 7, kind), "n": turns}  # fmt: skip


def expected(given: dict[str, Any], depth: int) -> NDArray[Any]:
    used = depth * given["n"]
    return given["a"][:, :used].astype(np.float32) @ given["b"][:used].astype(np.float32)


@pytest.mark.parametrize("strategy", ["none", "unspecialize", "warp-specialize"])
def test_a_product_has_the_same_numbers_in_every_order(strategy: str) -> None:
    options = f"compute-capability=sm_90a pipeline-strategy={strategy} persistent=true group-programs=2"
    module = run_passes(parse(product()), f"tileir{{{options}}}")
    for turns in (0, 1, 2, 3, 4, 7):
        for order in ("eager", "lazy", "random"):
            for blocks in (1, 2):
                given = operands(40, 32, 16, turns)
                left = computed(module, given, blocks, order=order, seed=turns)
                assert np.array_equal(left, expected(given, 16)), (turns, order, blocks)


def test_the_rings_of_a_product_are_made_once() -> None:
    """In front of the loop over the programs; each agent has one, and carries its iterators on."""
    options = "compute-capability=sm_90a pipeline-strategy=warp-specialize persistent=true"
    module = run_passes(parse(product()), f"tileir{{{options}}}")
    (function,) = module.ops
    front = [op.name for op in function.regions[0].block.ops]
    assert front.count("nv_tileas.async.pipeline.create_pipeline") == 2
    loops = [op for op in module.walk() if isinstance(op, scf.ForOp) and op.body.block.args[0].name_hint == "program"]
    assert [len(loop.iter_args) for loop in loops] == [2, 2]


def test_a_product_is_safe_for_some_programs_and_turns() -> None:
    options = "compute-capability=sm_90a pipeline-strategy=warp-specialize persistent=true"
    report = check(run_passes(parse(product()), f"tileir{{{options}}}"), trip_counts=range(4))
    assert report.verdict.value == "safe", str(report)


# Threads -------------------------------------------------------------------------------------------------------------

TO_THREADS = (
    "tileir{{compute-capability=sm_90a pipeline-strategy=warp-specialize unspecialized-pipeline-num-stages=2"
    " persistent=true group-programs={rows} layouts=true threads=true}}"
)
STORED = TO_THREADS.replace(" layouts=true threads=true", " layouts=true")


def threads(text: str, rows: int = 0) -> ModuleOp:
    return run_passes(parse(text), TO_THREADS.format(rows=rows))


def computed_by_threads(module: ModuleOp, given: dict[str, Any], blocks: int, order: str) -> NDArray[Any]:
    left = given["c"]
    for block in range(blocks):
        numbers = {"block_id.x": block, "grid_dim.x": blocks}
        found = run(module, "f", {**given, **numbers, "c": left}, order=order, seed=block)
        assert not found.violations, found.violations[0]
        left = found.arrays["c"]
    return left


@pytest.mark.parametrize(
    ("turns", "blocks", "order"), [(0, 1, "lazy"), (1, 2, "random"), (3, 1, "random"), (2, 2, "eager")]
)
def test_threads_compute_all_programs(turns: int, blocks: int, order: str) -> None:  # fmt: skip
    """Three tiles of 64 x 64 along one axis, the last of which sticks out."""
    given = operands(64, 136, 64, turns, np.float16)
    left = computed_by_threads(threads(product(64, 64, "f16")), given, blocks, order)
    assert np.array_equal(left, expected(given, 64).astype(np.float16))


def test_two_warpgroups_compute_all_programs() -> None:
    """Each of them has 64 of the 128 rows of a tile; both wait for their product in the turn that starts it."""
    text = GEMM.replace("@gemm", "@f").replace("64x128x", "64x64x").replace("128x128x", "128x64x")
    road = TO_THREADS.format(rows=0).replace("stages=2", "stages=4 num-warps=8")
    given = operands(136, 64, 64, 3)
    left = computed_by_threads(run_passes(parse(text), road), given, 1, "random")
    assert np.array_equal(left, expected(given, 64))


def test_the_next_program_waits_for_the_store_of_the_last_one() -> None:
    """In front of what fills its memory again; what is stored last is waited for behind the loop."""
    module = run_passes(parse(product(64, 64, "f16")), f"{STORED.format(rows=0)},lower-tma-load-store-to-async")
    (store,) = [op for op in module.walk() if isinstance(op, TiledTmaStoreOp)]
    assert isinstance(store.next_op, scf.YieldOp)
    (loop,) = [op for op in module.walk() if isinstance(op, scf.ForOp) and op.body.block is store.parent]
    waits = [op for op in module.walk() if isinstance(op, AsyncWaitOp)]
    assert isinstance(store.source.owner, AllocTensorOp)
    assert store.source.owner.parent is loop.parent
    (last,) = [wait for wait in waits if wait.parent is loop.parent]
    assert loop.is_before_in_block(last)
    inside = [wait for wait in waits if wait.token in loop.body.block.args]
    assert len(inside) == 1
    assert not any(isinstance(op, AsyncTiledLoadOp) for op in module.walk())
    assert check(module, trip_counts=range(3)).verdict.value == "safe"


def test_at_the_end_it_is_enough_that_the_tile_has_been_read() -> None:
    """A launch ends when all is stored; in the loop the next store may go to the same place."""
    waits = [op for op in threads(product(64, 64, "f16")).walk() if isinstance(op, CpAsyncBulkWaitGroupOp)]
    assert [wait.read is not None for wait in waits] == [False, True]
    alone = run_passes(parse(product(64, 64, "f16")), TO_THREADS.format(rows=0).replace("persistent=true ", ""))
    assert [op.read is not None for op in alone.walk() if isinstance(op, CpAsyncBulkWaitGroupOp)] == [True]


def without_waits(module: ModuleOp, which: Sequence[int]) -> ModuleOp:
    """The same with some of the waits for stores left out: 0 is that of the next program, 1 that behind the loop."""
    waits = [op for op in module.walk() if isinstance(op, AsyncWaitOp) and op.token.name_hint == "stored"]
    assert len(waits) == 2
    for number in which:
        waits[number].detach()
        waits[number].erase()
    return module


def test_a_wait_that_is_left_out_is_found() -> None:
    """The tile is written while TMA reads it: of tiles that is a race, and threads are not made of it."""
    road = f"{STORED.format(rows=0)},lower-tma-load-store-to-async"
    module = without_waits(run_passes(parse(product(64, 64, "f16")), road), [0])
    assert check(module, trip_counts=range(3)).verdict.value == "violation"
    rest = "tileas-attach-tma-desc-args,convert-nv-tile-func-to-llvm,tileas-place-tiles,tileas-order-accesses"
    with pytest.raises(RefusedError, match="may still be at, and nobody waits for that in between"):
        run_passes(module, rest)
