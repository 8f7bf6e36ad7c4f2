"""The driver with layouts: after the conversions are made every tile has one, and programs are as right as before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, TensorType

from tests.support.corpora import each
from tests.support.ir import ROOT, context, parse, print_custom, run_passes
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.dialects.nv_tileas.attributes import bound_atom
from tileas_xdsl.dialects.nv_tileas.layout import element_bits, form_of
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp, CopyOp
from tileas_xdsl.machine.running import run
from tileas_xdsl.pipelines import TileIRPass
from tileas_xdsl.transforms.tileas.assign_load_store_layouts.accesses import access_of
from tileas_xdsl.transforms.tileas.generate_schedule import SCHEDULE, scheduled_loops

KERNELS = sorted((ROOT / "tests/kernels").glob("*.mlir"))
EXAMPLES = [ROOT / f"examples/{name}.mlir" for name in ("gemm_loop", "gemm_queue", "attention_queue")]
PROGRAMS = [*KERNELS, *EXAMPLES]


def compiled(path: Path, strategy: str = "none", target: str = "sm_90") -> ModuleOp:
    options = f"compute-capability={target} pipeline-strategy={strategy} layouts=true"
    return run_passes(parse(path.read_text()), f"tileir{{{options}}}")


def target_of(path: Path) -> str:
    return "sm_100" if "block_scaled" in path.stem else "sm_90"


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_tile_has_a_layout_every_conversion_a_plan_every_access_an_atom(path: Path):
    module = compiled(path, target=target_of(path))
    tiles = 0
    for op in module.walk():
        blocks = [argument for region in op.regions for block in region.blocks for argument in block.args]
        for value in (*op.results, *blocks):
            if isinstance(value.type, TensorType) and element_bits(value.type) is not None:
                assert form_of(value.type) is not None, op
                tiles += 1
        if isinstance(op, ConvertLayoutOp):
            assert op.atom_plan is not None, op
        if access_of(op) is not None:
            assert bound_atom(op) is not None, op
    assert tiles > 4


@pytest.mark.parametrize("strategy", ["unspecialize", "warp-specialize"])
@each("path", PROGRAMS, 9, ids=lambda path: path.stem)
def test_verdicts_are_those_of_before(path: Path, strategy: str):
    module = compiled(path, strategy, target_of(path))
    assert check(module).verdict_line == check(parse(path.read_text())).verdict_line == "safe for every trip count"


COSTS = {
    "attention_128": (425, 425),
    "attention_64": (309, 309),
    "block_scaled_gemm": (182, 179),
    "chained_gemm": (154, 154),
    "convolution": (149, 149),
    "elementwise": (462, 462),
    "gemm_128x64x16": (166, 166),
    "gemm_16x8x8": (126, 126),
    "gemm_64x128x32": (215, 215),
    "gemm_64x64x16": (149, 149),
    "layer_norm": (488, 488),
    "reduction": (133, 133),
    "stencil": (527, 527),
    "three_loads": (366, 366),
    "gemm_loop": (530, 530),
}
"""Program -> its interval without and with layouts. What differs has its cause beside it."""


@pytest.mark.parametrize("path", [path for path in PROGRAMS if path.stem in COSTS], ids=lambda path: path.stem)
def test_what_layouts_cost_in_an_interval(path: Path):
    found: list[int] = []
    for layouts in ("false", "true"):
        options = f"compute-capability={target_of(path)} pipeline-strategy=unspecialize layouts={layouts}"
        (loop,) = scheduled_loops(run_passes(parse(path.read_text()), f"tileir{{{options}}}"))
        schedule = loop.attributes[SCHEDULE]
        assert isinstance(schedule, DictionaryAttr)
        interval = schedule.data["ii"]
        assert isinstance(interval, IntegerAttr)
        found.append(interval.value.data)
    assert tuple(found) == COSTS[path.stem]


def test_sums_of_rows_stay_with_the_rows():
    """Means and deviations are computed in slices of the rows' layout: the load of the rows is the only conversion."""
    module = compiled(ROOT / "tests/kernels/layer_norm.mlir")
    (load,) = [op for op in module.walk() if isinstance(op, ConvertLayoutOp)]
    assert str(form_of(load.source.type)) == "swizzle<128>"


def test_sums_of_a_narrower_product_stay_where_they_are():
    """Weights of 64 x 128 and sums of 64 x 64 have fragments of other names, and threads hold the same rows of both."""
    module = compiled(ROOT / "bench/gpu/programs/attention_64_128_64.mlir", target="sm_90a")
    (loop,) = [op for op in module.walk() if isinstance(op, scf.ForOp)]
    plans = [op.atom_plan for op in loop.body.walk() if isinstance(op, ConvertLayoutOp)]
    assert plans
    assert all(plan is not None and plan.tag.data == 0 for plan in plans), "between registers"
    assert not [op for op in loop.body.walk() if isinstance(op, CopyOp)]


def test_the_list_of_costs_is_whole():
    assert {path.stem for path in KERNELS} <= set(COSTS)


@pytest.mark.parametrize("turns", [0, 1, 2, 7])
@pytest.mark.parametrize("strategy", ["none", "unspecialize", "warp-specialize"])
def test_the_gemm_computes_what_it_did(strategy: str, turns: int):
    generator = np.random.default_rng(turns)
    a = generator.integers(-4, 4, (128, 64 * turns)).astype(np.float16)
    b = generator.integers(-4, 4, (64 * turns, 128)).astype(np.float16)
    arguments = {"n": turns, "a": a, "b": b, "c": np.zeros((128, 128), np.float32)}
    outcome = run(compiled(EXAMPLES[0], strategy), None, arguments, order="random", seed=turns)
    assert not outcome.violations
    assert np.array_equal(outcome.arrays["c"], a.astype(np.float32) @ b.astype(np.float32))


def test_without_the_switch_tiles_stay_as_they_are():
    text = EXAMPLES[0].read_text()
    plain = run_passes(parse(text), "tileir{compute-capability=sm_90}")
    assert "swizzle" not in print_custom(plain)
    names = [step.name for step in TileIRPass(layouts=True).steps()]
    assert names.count("tileas-remove-layout-conversions") == 2
    assert "tileas-assign-layouts" not in [step.name for step in TileIRPass().steps()]


def test_warps_of_the_driver_hold_the_tiles():
    module = parse(EXAMPLES[0].read_text())
    TileIRPass(layouts=True, num_warps=8).apply(context(), module)
    assert "operand = acc, warps = 8" in print_custom(module)
