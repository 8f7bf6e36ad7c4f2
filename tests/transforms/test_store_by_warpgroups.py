"""
Two warpgroups that have half of the rows of a tile each store them for themselves: neither waits for the other one.

Numbers and verdicts are those of the tiles; a barrier that is left out is found.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from tests.support.corpora import each
from tests.support.ir import parse, run_passes
from tests.transforms.test_persist_programs import computed_by_threads, expected, operands, product
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.dialects.nv_tileas.tma import TiledTmaStoreOp
from tileas_xdsl.dialects.nvvm.barrier import BarrierOp
from tileas_xdsl.dialects.nvvm.bulk import CpAsyncBulkTensorSharedCTAToGlobalOp

ROWS, COLUMNS, DEPTH = 128, 64, 64
ROAD = (
    "compute-capability=sm_90a pipeline-strategy=warp-specialize unspecialized-pipeline-num-stages=2"
    " num-warps={warps} persistent={persistent} layouts=true"
)
TO_STORES = "lower-tma-load-store-to-async"
TO_BARRIERS = (
    f"{TO_STORES},tileas-attach-tma-desc-args,convert-nv-tile-func-to-llvm,tileas-place-tiles,tileas-order-accesses"
)


def tiles(rows: int, columns: int) -> ModuleOp:
    """The product of tiles with so many rows and columns, f16 out."""
    text = product(64, DEPTH, "f16")
    extents = {"a_tile": (rows, DEPTH), "b_tile": (DEPTH, columns), "c_tile": (rows, columns)}
    for alias, shape in extents.items():
        text = re.sub(rf"!{alias} = tensor<64x64x", f"!{alias} = tensor<{shape[0]}x{shape[1]}x", text)
    return parse(text.replace("tensor<64x64xf16>", f"tensor<{rows}x{columns}xf16>"))


def lowered(
    road: str = "", *, rows: int = ROWS, columns: int = COLUMNS, warps: int = 8, stays: bool = True
) -> ModuleOp:
    """The product by so many warps behind the driver and the passes of `road`; down to threads without one."""
    options = ROAD.format(warps=warps, persistent=str(stays).lower())
    steps = f"tileir{{{options}}},{road}" if road else f"tileir{{{options} threads=true}}"
    return run_passes(tiles(rows, columns), steps)


def parts_of(module: ModuleOp) -> list[int]:
    return [op.parts for op in module.walk() if isinstance(op, TiledTmaStoreOp)]


@pytest.mark.parametrize(
    ("rows", "columns", "warps", "parts"), [(128, 64, 8, 2), (128, 256, 8, 2), (64, 64, 4, 1), (64, 256, 8, 1)]
)
def test_who_stores_what(rows: int, columns: int, warps: int, parts: int) -> None:
    """Two warpgroups that share the columns of few rows write the same boxes: one thread stores them then."""
    assert parts_of(lowered(TO_STORES, rows=rows, columns=columns, warps=warps)) == [parts]


@pytest.mark.parametrize("stays", [True, False])
def test_each_warpgroup_has_a_barrier(stays: bool) -> None:
    """What the staged tile of a block that stays has held is read by then, and its own half is written."""
    barriers = [op for op in lowered(TO_BARRIERS, stays=stays).walk() if isinstance(op, BarrierOp)]
    assert len(barriers) == 1 + stays
    assert all(op.barrier_id is not None and isinstance(op.barrier_id.owner, arith.AddiOp) for op in barriers)


@each("case", [(turns, blocks) for turns in (0, 1, 2, 3, 5) for blocks in (1, 2, 3)], 4)
def test_threads_compute_all_rows(case: tuple[int, int]) -> None:
    """Two tiles of 128 x 64, of which the second sticks out: the second warpgroup has one row of it."""
    turns, blocks = case
    given = operands(ROWS + 65, COLUMNS, DEPTH, turns, np.float16)
    module = lowered()
    for order in ("eager", "lazy", "random"):
        left = computed_by_threads(module.clone(), given, blocks, order)
        assert np.array_equal(left, expected(given, DEPTH).astype(np.float16)), order


def test_threads_are_safe_for_every_trip_count() -> None:
    report = check(lowered(stays=False))
    assert report.is_proved, str(report)


@pytest.mark.parametrize("number", [0, 1])
def test_a_barrier_that_is_left_out_is_found(number: int) -> None:
    module = lowered()
    barriers = [op for op in module.walk() if isinstance(op, BarrierOp)]
    barriers[number].detach()
    barriers[number].erase()
    report = check(module, trip_counts=[2], prove=False)
    assert report.kinds == ["race"], str(report)


def test_boxes_have_the_rows_of_a_warpgroup() -> None:
    """The host describes boxes of 64 rows, and two threads start the copies of each: in the code they stand once."""
    module = lowered()
    (function,) = [op for op in module.ops if "tensor_map" in str(op.attributes) or "arg_attrs" in op.properties]
    boxes = re.findall(r"box = array<i64: ([^>]*)>", str(function.properties["arg_attrs"]))
    assert boxes[-1] == "64, 64"
    assert sum(isinstance(op, CpAsyncBulkTensorSharedCTAToGlobalOp) for op in module.walk()) == 1


@pytest.mark.parametrize("parts", ["0", "3"])
def test_rows_that_do_not_fall_into_parts(parts: str) -> None:
    text = str(lowered(TO_STORES)).replace("warpgroups = 2 : i32", f"warpgroups = {parts} : i32")
    with pytest.raises(VerifyException, match=f"expects {parts} warpgroups to have as many rows each, of 128"):
        parse(text).verify()
