"""
Agents beyond a loop in a function: nests of tile loops, loads in branches, results that an agent of their own stores.
"""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DictionaryAttr, IndexType, IntegerAttr, ModuleOp, StringAttr, i32
from xdsl.ir import Block, Region
from xdsl.rewriter import InsertPoint, Rewriter

from tests.support.corpora import each
from tests.support.ir import parse, print_custom, run_passes
from tests.support.kernel_references import TOLERANCE
from tests.support.scheduled_kernels import KERNELS, Kernel
from tests.transforms.test_crossing_values import assert_right, materialized, tagged
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import Severity, failed_softly, recorded_diagnostics
from tileas_xdsl.dialects.nv_tileaa.memory import TiledLoadOp, TiledStoreOp
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp
from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp, CreatePipelineOp
from tileas_xdsl.interfaces import FunctionOpInterface, functions_in
from tileas_xdsl.machine.running import run
from tileas_xdsl.transforms.tileas.materialize_schedule import AGENTS

NAMED = {kernel.name: kernel for kernel in KERNELS}
SLOW = ("attention_64", "attention_128", "layer_norm", "three_loads")
"""Kernels whose nests take long to prove."""
ORDERS = (("eager", 0), ("lazy", 0), ("random", 3))


def through(module: ModuleOp, target: str, *, stages: int = 3, sub_tiles: int = 1) -> ModuleOp:
    options = f"compute-capability={target} unspecialized-pipeline-num-stages={stages} sub-tiles={sub_tiles}"
    with recorded_diagnostics():
        run_passes(module, f"tileir{{pipeline-strategy=warp-specialize {options}}}")
    verify_dominance(module)
    return module


def switches(module: ModuleOp) -> list[AgentSwitchOp]:
    return [op for op in module.walk() if isinstance(op, AgentSwitchOp)]


# Nests ----------------------------------------------------------------------------------------------------------------


def repeated(text: str, levels: int = 1) -> ModuleOp:
    """The kernel with its work done again and again, in `levels` loops around it of `%m0`, `%m1`, ... iterations."""
    module = parse(text)
    (function,) = functions_in(module)
    view = FunctionOpInterface.of(function)
    assert view is not None
    block = view.function_body.block
    for level in range(levels):
        *ops, last = block.ops
        body = Block(arg_types=[IndexType()])
        for op in ops:
            op.detach()
        body.add_ops([*ops, scf.YieldOp()])
        zero, one = (arith.ConstantOp(IntegerAttr(number, IndexType())) for number in (0, 1))
        count = block.insert_arg(IndexType(), len(block.args))
        count.name_hint = f"m{level}"
        loop = scf.ForOp(zero.result, count, one.result, [], Region(body))
        Rewriter.insert_op([zero, one, loop], InsertPoint.before(last))
    inputs = [argument.type for argument in block.args]
    function.properties["function_type"] = type(function.properties["function_type"]).from_lists(inputs, [])  # pyright: ignore
    module.verify()
    return module


def assert_repeated(kernel: Kernel, module: ModuleOp, counts: list[tuple[int, ...]], trips: tuple[int, ...]) -> None:
    """Numbers as of the kernel alone, wherever it runs at least once, and nothing written where it does not."""
    for number in trips:
        given = kernel.arguments(number)
        expected = kernel.reference(given)
        for times in counts:
            for order, seed in ORDERS:
                outer = {f"m{level}": count for level, count in enumerate(times)}
                done = run(module, "f", {**kernel.arguments(number), **outer}, order=order, seed=seed)
                assert done.violations == (), f"{times}, {number}\n{print_custom(module)}"
                right = expected if all(times) else given["c"]
                np.testing.assert_allclose(done.arrays["c"], right, rtol=TOLERANCE, atol=TOLERANCE)


@each("kernel", KERNELS, 6, ids=lambda kernel: kernel.name, slow=[NAMED[name] for name in SLOW])
def test_nests_run_in_agents(kernel: Kernel) -> None:
    module = through(repeated(kernel.text), kernel.target)
    (switch,) = switches(module)
    assert len(switch.regions) == 2
    rings = [op for op in module.walk() if isinstance(op, CreatePipelineOp)]
    assert len(rings) >= kernel.loads, "what is loaded in front of the inner loop has a ring, too"
    assert all(ring.parent_op() is switch.parent_op() for ring in rings), "made once, in front of all loops"
    assert_repeated(kernel, module, [(0,), (1,), (2,), (3,)], (0, 1, 2, 3, 5))
    report = check(module, "f")
    assert report.verdict is Verdict.SAFE, f"{report}\n{print_custom(module)}"


@each("case", [(1, 1, 1), (2, 1, 1), (4, 2, 1), (3, 1, 2)], 2)
def test_phases_go_on_from_tile_to_tile(case: tuple[int, int, int]) -> None:
    """At least three tiles, with trip counts that leave each tile in another slot and phase."""
    stages, sub_tiles, levels = case
    kernel = NAMED["gemm_128x64x16"]
    module = through(repeated(kernel.text, levels), kernel.target, stages=stages, sub_tiles=sub_tiles)
    (switch,) = switches(module)
    assert len(switch.regions) == 1 + sub_tiles
    counts = [(count,) * levels for count in (1, 2, 4)]
    assert_repeated(kernel, module, counts, (0, 1, stages, stages + 1))
    report = check(module, "f")
    assert report.verdict is Verdict.SAFE, str(report)


def test_of_a_nest_of_two_loops_every_count_is_proved() -> None:
    report = check(through(repeated(NAMED["gemm_64x64x16"].text), "sm_90"), "f")
    assert report.verdict is Verdict.SAFE
    assert report.holds_for_every_trip_count, str(report)


# Branches -------------------------------------------------------------------------------------------------------------

GUARDED = """
#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16, #smem>
!b = tensor<16x64xf16, #smem>
!c = tensor<64x64xf32>
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant dense<0.0> : !c
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {{
    %early = arith.cmpi slt, %k, %c2 : index
    {outside}
    %s = scf.if %early -> (!c) {{
      {inside}
      %d = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
      scf.yield %d : !c
    }} else {{
      scf.yield %acc : !c
    }}
    scf.yield %s : !c
  }}
  nv_tileaa.tiled_store %c[%c0, %c0], %r : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}}"""
LOAD_A = "%at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> !a"
LOAD_B = "%bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> !b"


def guarded_arguments(trips: int) -> dict[str, object]:
    return NAMED["gemm_64x64x16"].arguments(trips)


GUARDS = {
    "loads in front of the branch": (f"{LOAD_A}\n{LOAD_B}", ""),
    "one of them in the branch": (LOAD_A, LOAD_B),
    "both in the branch": ("", f"{LOAD_A}\n{LOAD_B}"),
    "with arithmetic": ("", f"%j = arith.addi %k, %c0 : index\n{LOAD_A.replace('%k', '%j')}\n{LOAD_B}"),
}


def strategies(text: str) -> list[ModuleOp]:
    aus = parse(text)
    with recorded_diagnostics():
        run_passes(aus, "tileir{pipeline-strategy=unspecialize compute-capability=sm_90}")
    return [through(parse(text), "sm_90"), aus]


@pytest.mark.parametrize("case", GUARDS)
def test_loads_in_branches_are_the_producers_and_other_work_the_consumers(case: str) -> None:
    outside, inside = GUARDS[case]
    text = GUARDED.format(outside=outside, inside=inside)
    before, modules = parse(text), strategies(text)
    assert [len(switch.regions) for switch in switches(modules[0])] == [2]
    for module in modules:
        assert len([op for op in module.walk() if isinstance(op, CreatePipelineOp)]) == 2
        for trips in (0, 1, 2, 3, 4, 7):
            first = run(before, "f", guarded_arguments(trips))
            for order, seed in ORDERS:
                found = run(module, "f", guarded_arguments(trips), order=order, seed=seed)
                assert found.violations == ()
                assert first.arrays["c"].tobytes() == found.arrays["c"].tobytes()
        assert check(module, "f", timeout=200).verdict is Verdict.SAFE


def test_a_load_that_a_guard_kept_inside_of_its_array_reads_padding() -> None:
    text = GUARDED.format(outside="", inside=f"{LOAD_A}\n{LOAD_B}")
    before, modules = parse(text), strategies(text)
    arguments = {**guarded_arguments(2), "n": 7}
    first = run(before, "f", arguments)
    for module in modules:
        found = run(module, "f", arguments)
        assert found.violations == ()
        assert first.arrays["c"].tobytes() == found.arrays["c"].tobytes()


STORE_A = "nv_tileaa.tiled_store %a[%c0, %k], %at : (memref<?x?xf16>, !a, index, index) -> ()"
INDEX = "%j = memref.load %where[%k] : memref<?xindex>"
KEPT = {
    "written": (f"{LOAD_A}\n{LOAD_B}\n{STORE_A}", "'nv_tileaa.tiled_store' may write what it reads"),
    "promised": (
        f"{LOAD_B}\n{LOAD_A.replace(' : ', ' attributes {in_bounds = array<i1: true, true>} : ')}",
        "it promises that its tile is inside of the array",
    ),
    "from memory": (f"{LOAD_B}\n{INDEX}\n{LOAD_A.replace('%k', '%j')}", "which its coordinates come from, stays"),
}


@pytest.mark.parametrize("case", KEPT)
def test_a_load_that_has_to_stay_in_its_branch_says_why_and_stays(case: str) -> None:
    inside, reason = KEPT[case]
    text = GUARDED.format(outside="", inside=inside).replace("%n: index", "%n: index, %where: memref<?xindex>")
    module = parse(text)
    (load,) = [op for op in module.walk() if isinstance(op, TiledLoadOp) and op.base.name_hint == "a"]
    with recorded_diagnostics() as said:
        run_passes(module, "tileas-hoist-guarded-loads")
    assert isinstance(load.parent_op(), scf.IfOp)
    assert any(reason in each.message and each.way_out and each.severity is Severity.REMARK for each in said)


def test_loads_of_agents_stay_where_they_were_asked_for() -> None:
    text = GUARDED.format(outside="", inside=f"{LOAD_A}\n{LOAD_B}")
    head, _, body = text.partition("  %c0 = ")
    asked = f"{head}  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1>}} {{\n  %c0 = {body}"
    module = parse(asked.replace("  func.return", "  } : () -> ()\n  func.return"))
    before = print_custom(module)
    run_passes(module, "tileas-hoist-guarded-loads")
    assert print_custom(module) == before


def test_a_loop_that_loads_in_branches_only_stays_in_one_agent_and_the_way_out_is_named() -> None:
    promised = [load.replace(" : ", " attributes {in_bounds = array<i1: true, true>} : ") for load in (LOAD_A, LOAD_B)]
    text = GUARDED.format(outside="", inside="\n".join(promised))
    module = through(parse(text), "sm_90")
    assert switches(module) == []
    (function,) = functions_in(module)
    assert not failed_softly(function, "tileas-materialize-schedule")
    found = function.attributes[AGENTS]
    assert isinstance(found, DictionaryAttr)
    assert found.data["reason"] == StringAttr(
        "no loop fills a ring: 'nv_tileaa.tiled_load' stands in a branch, where it is not made asynchronous; load in "
        "front of the branch"
    )
    before = parse(text)
    for trips in (0, 1, 2, 3, 5):
        first, second = (run(each, "f", guarded_arguments(trips)) for each in (before, module))
        assert second.violations == ()
        assert first.arrays["c"].tobytes() == second.arrays["c"].tobytes()


# Stores ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gemm_64x64x16", "attention_64"])
def test_an_agent_of_its_own_stores_what_comes_through_a_ring(name: str) -> None:
    kernel = NAMED[name]
    module = tagged(kernel, {})
    for op in module.walk():
        if isinstance(op, TiledStoreOp) and not isinstance(op.parent_op(), scf.ForOp | ClassifiedOp):
            op.attributes["agent"] = IntegerAttr(2, i32)
    made = materialized(module, kernel)
    (switch,) = switches(made)
    assert len(switch.regions) == 3
    *computing, storing = ([op.name for op in region.walk()] for region in switch.agent_regions)
    assert not any("nv_tileaa.tiled_store" in names for names in computing)
    assert "nv_tileas.async.pipeline.consumer_wait" in storing
    assert len([op for op in made.walk() if isinstance(op, CreatePipelineOp)]) == kernel.loads + 1
    assert_right(kernel, made, (0, 1, 2, 3, 4, 7))
