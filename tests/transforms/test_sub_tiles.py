"""
Products split into two sub-tiles along their rows: same numbers, and what cannot be split stays whole and says why.
"""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from tests.support.ir import parse, print_custom, run_passes
from tests.support.kernel_references import TOLERANCE
from tests.support.materialize_async import ORDERS
from tests.support.scheduled_kernels import KERNELS, Kernel
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.tiles.types import extents
from tileas_xdsl.machine.running import run
from tileas_xdsl.scheduling.modulo.validator import faults
from tileas_xdsl.transforms.tileas.generate_schedule import GenerateSchedulePass, plan_module

NAMED = {kernel.name: kernel for kernel in KERNELS}
SPLIT = [NAMED["attention_128"], NAMED["gemm_128x64x16"]]


def prepared(text: str, sub_tiles: int = 2, target: str = "sm_90", products: bool = True) -> ModuleOp:
    options = f"compute-capability={target} sub-tiles={sub_tiles} async-products={str(products).lower()}"
    with recorded_diagnostics():
        return run_passes(parse(text), f"tileas-materialize-async,tileas-prepare-for-scheduling{{{options}}}")


def expanded(module: ModuleOp, target: str = "sm_90") -> ModuleOp:
    spec = (
        f"tileas-generate-schedule{{compute-capability={target}}},tileas-assign-buffers{{compute-capability={target}}},"
        "tileas-unspecialized-pipeline{num-stages=4}"
    )
    with recorded_diagnostics():
        return run_passes(module, spec)


def rows_of(module: ModuleOp) -> list[int]:
    """The rows of each product."""
    return [extents(op.results[0].type)[0] for op in module.walk() if isinstance(op, DotOp | AsyncDotOp)]


@pytest.mark.parametrize("kernel", SPLIT, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("products", [True, False], ids=["asynchronous products", "synchronous products"])
def test_two_sub_tiles_compute_the_same_and_are_safe(kernel: Kernel, products: bool) -> None:
    module = prepared(kernel.text, products=products)
    whole = rows_of(prepared(kernel.text, 1, products=products))
    assert rows_of(module) == [rows // 2 for rows in whole for _ in range(2)]
    (found,) = plan_module(module, GenerateSchedulePass(compute_capability="sm_90"))
    result = found.schedule
    assert faults(found.problem.problem, result.ii, result.starts, result.copies) == []
    expanded(module)
    for trips in (0, 1, 2, 3, 7):
        expected = kernel.reference(kernel.arguments(trips))
        for order, seed in ORDERS:
            done = run(module, "f", kernel.arguments(trips), order=order, seed=seed)
            assert done.violations == ()
            np.testing.assert_allclose(done.arrays["c"], expected, rtol=TOLERANCE, atol=TOLERANCE)
    report = check(module, "f")
    assert report.verdict is Verdict.SAFE, f"{report}\n{print_custom(module)}"


def test_sub_tiles_shorten_the_cycle_of_attention() -> None:
    """
    At 128 keys of 128 dimensions the wait for a product of one half takes half as long. The interval is then the work
    of the agent instead of the tensor core's: one agent overlaps iterations as well as halves.
    """
    text = NAMED["attention_128"].text.replace("x16x", "x128x").replace("<16x", "<128x")
    found = [
        plan_module(prepared(text, count), GenerateSchedulePass(compute_capability="sm_90"))[0].schedule
        for count in (1, 2)
    ]
    assert found[1].bounds.rec.value < 0.6 * found[0].bounds.rec.value
    assert [schedule.bounds.res.reason.split(":")[0] for schedule in found] == ["slot tensor core", "slot agent"]
    assert all(schedule.ii < 1.03 * schedule.bounds.mii for schedule in found)


@pytest.mark.parametrize(("target", "rows"), [("sm_80", 64), ("sm_90", 64), ("sm_100", 128), ("sm_120", 64)])
def test_sub_tiles_have_the_rows_of_an_instruction(target: str, rows: int) -> None:
    """128 rows are two times 64, and on a target whose instruction takes 128 they stay whole."""
    assert rows_of(prepared(NAMED["gemm_128x64x16"].text, target=target))[0] == rows
    doubled = NAMED["gemm_128x64x16"].text.replace("128x", "256x")
    assert rows_of(prepared(doubled, target=target)) == [128, 128]
    assert rows_of(prepared(NAMED["gemm_64x64x16"].text, target=target)) == [64]


def hinted(count: int) -> str:
    hint = f"attributes {{tileas.max_num_slices_for_non_reduce_axis = {count} : i32}} :"
    return NAMED["gemm_128x64x16"].text.replace("%at, %bt, %acc :", f"%at, %bt, %acc {hint}")


@pytest.mark.parametrize(("count", "option", "products"), [(1, 2, 1), (2, 1, 2), (0, 2, 2), (0, 1, 1)])
def test_a_hint_on_the_product_goes_before_the_option(count: int, option: int, products: int) -> None:
    assert len(rows_of(prepared(hinted(count), option))) == products


def test_splitting_twice_is_splitting_once() -> None:
    module = prepared(NAMED["gemm_128x64x16"].text.replace("128x", "256x"), products=False)
    text = print_custom(module)
    options = "compute-capability=sm_90 sub-tiles=2 async-products=false"
    assert print_custom(run_passes(module, f"tileas-prepare-for-scheduling{{{options}}}")) == text


NEEDS_ALL = """
    %most = nv_tileaa.reduce %sum attributes {axis = 0 : i32} {
    ^bb0(%x: f32, %y: f32):
      %greater = arith.maximumf %x, %y : f32
      nv_tileaa.yield %greater : (f32) -> ()
    } : (!c) -> tensor<64xf32>
    scf.yield %sum"""
STORES = """
    nv_tileaa.tiled_store %c[%c0, %c0], %sum : (memref<?x?xf32>, !c, index, index) -> ()
    scf.yield %sum"""


@pytest.mark.parametrize(("more", "op"), [(NEEDS_ALL, "nv_tileaa.reduce"), (STORES, "nv_tileaa.tiled_store")])
def test_what_needs_all_rows_keeps_the_product_whole_and_is_named(more: str, op: str) -> None:
    text = NAMED["gemm_128x64x16"].text.replace("    scf.yield %sum", more.removeprefix("\n"))
    module = run_passes(parse(text), "tileas-materialize-async")
    options = "compute-capability=sm_90 async-products=false"
    with recorded_diagnostics() as said:
        run_passes(module, f"tileas-prepare-for-scheduling{{{options} sub-tiles=2}}")
    assert [diagnostic.message for diagnostic in said] == [f"stays one tile: '{op}' op needs all rows at once"]
    assert print_custom(module) == print_custom(prepared(text, 1, products=False))


def test_another_number_of_sub_tiles_is_refused() -> None:
    with pytest.raises(PassFailedException, match="sub-tiles=3; choose one of 1, 2"):
        prepared(NAMED["gemm_128x64x16"].text, 3)
