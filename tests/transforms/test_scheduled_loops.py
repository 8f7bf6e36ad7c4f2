"""
Prepare, schedule, assign buffers, expand: programs keep their meaning, and run as fast as the schedule says.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.utils.exceptions import PassFailedException

from tests.support.corpora import each
from tests.support.ir import parse, print_custom, run_passes
from tests.support.materialize_async import ORDERS, gemm
from tests.support.scheduled_kernels import DIRECTORY, KERNELS, Kernel, program
from tests.support.scheduled_loops import (
    GEMM,
    after,
    assert_kept,
    buffers,
    expanded,
    number,
    ops_of,
    passes,
    prepared,
    schedule_of,
    scheduled,
)
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import failed_softly, recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import CreatePipelineOp
from tileas_xdsl.machine.running import run
from tileas_xdsl.machine.time.simulation import simulate
from tileas_xdsl.scheduling.loop_problem import loop_problem
from tileas_xdsl.scheduling.modulo.validator import faults
from tileas_xdsl.targets.machine_models import machine_model
from tileas_xdsl.transforms.tileas.generate_schedule import GenerateSchedulePass, plan_module, scheduled_loops

# Figures --------------------------------------------------------------------------------------------------------------

TRIPS = 12


def cycles(text: str, spec: str, target: str = "sm_90") -> tuple[int, float]:
    timed = simulate(after(text, spec), "gemm", {"n": TRIPS}, target)
    assert timed.violations == ()
    assert timed.cycles_per_iteration is not None
    return timed.cycles, timed.cycles_per_iteration


@pytest.mark.parametrize(("products", "most"), [(False, 9550), (True, 9000)])
def test_the_gemm_is_as_fast_as_its_schedule(products: bool, most: int) -> None:
    total, period = cycles(GEMM, passes(products))
    assert total <= most
    entries = schedule_of(after(GEMM, f"{prepared(products)},{scheduled()}"))
    assert period <= number(entries, "ii")
    assert number(entries, "ii") == number(entries, "mii"), "and no schedule is faster"


def test_the_driver_alone_makes_the_gemm_fast() -> None:
    total, _ = cycles(GEMM, "tileir{compute-capability=sm_90 pipeline-strategy=unspecialize}")
    assert total <= 9000


def by_stages(text: str) -> list[tuple[DictionaryAttr, int]]:
    """For 1 to 6 stages what the schedule says, and the cycles of twelve iterations of what it is expanded to."""
    found: list[tuple[DictionaryAttr, int]] = []
    for stages in range(1, 7):
        entries = schedule_of(after(text, f"{prepared()},{scheduled(stages)}"))
        found.append((entries, cycles(text, passes(stages=stages))[0]))
    return found


def test_more_stages_help_until_a_bound_says_why_not() -> None:
    """A product and the next one on the same tile: no schedule with any number of stages is faster than that."""
    found = by_stages(GEMM)
    totals = [total for _, total in found]
    assert totals[0] > totals[1] > totals[2] == totals[3] == totals[4] == totals[5]
    bounds = [entries.data["bound"] for entries, _ in found]
    assert bounds == [StringAttr("DepMII")] * 2 + [StringAttr("RecMII")] * 4, "stages, then the product"
    assert [number(entries, "ii") == number(entries, "mii") == 530 for entries, _ in found] == [False] * 2 + [True] * 4
    assert all("budget" not in entries.data for entries, _ in found)


def test_more_stages_help_until_the_budget_says_why_not() -> None:
    """Tiles of 64 KiB: shared memory holds three of them."""
    found = by_stages(GEMM.replace("128x64", "128x256").replace("64x128", "256x128"))
    totals = [total for _, total in found]
    assert totals[0] > totals[1] == totals[2] == totals[3] == totals[4] == totals[5]
    said = "rings take 196608 of 232448 bytes of shared memory; one more copy of at_ring (65536) lacks 29696"
    assert [entries.data.get("budget") for entries, _ in found] == [None] + [StringAttr(said)] * 5


def test_without_a_schedule_the_stages_of_the_option_are_used() -> None:
    spec = "tileas-materialize-async,tileas-unspecialized-pipeline{{num-stages={}}}"
    totals = [cycles(GEMM, spec.format(stages))[0] for stages in (1, 2, 3, 6)]
    assert totals[0] > totals[1] > totals[2] > totals[3]
    assert totals[2] <= 9550


# Meaning --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("products", [True, False], ids=["asynchronous products", "synchronous products"])
@each("kernel", KERNELS, 7, ids=lambda kernel: kernel.name)
def test_kernels_keep_their_numbers_and_are_safe(kernel: Kernel, products: bool) -> None:
    before, expanded_module = parse(kernel.text), after(kernel.text, passes(products, target=kernel.target))
    assert len(ops_of(expanded_module, CreatePipelineOp)) == kernel.loads
    for trips in (0, 1, 2, 3, 4, 7):
        assert_kept(before, expanded_module, kernel, trips)
    report = check(expanded_module, "f")
    assert report.verdict is Verdict.SAFE, f"{report}\n{print_custom(expanded_module)}"


def test_kernels_of_the_field_are_there() -> None:
    assert len(KERNELS) >= 12
    assert {kernel.text for kernel in KERNELS} == {path.read_text() for path in DIRECTORY.glob("*.mlir")}


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
def test_every_schedule_is_valid(kernel: Kernel, target: str) -> None:
    module = after(kernel.text, prepared(target=target))
    for found in plan_module(module, GenerateSchedulePass(compute_capability=target)):
        result = found.schedule
        assert faults(found.problem.problem, result.ii, result.starts, result.copies) == []


def test_names_and_the_order_of_independent_ops_do_not_matter() -> None:
    kernel = KERNELS[0]
    renamed = kernel.text.replace("%at", "%left").replace("%bt", "%right").replace("%sum", "%q")
    lines = kernel.text.splitlines()
    loads = [index for index, line in enumerate(lines) if "tiled_load" in line]
    lines[loads[0]], lines[loads[1]] = lines[loads[1]], lines[loads[0]]
    intervals = [
        number(schedule_of(after(text, f"{prepared()},{scheduled()}")), "ii")
        for text in (kernel.text, renamed, "\n".join(lines))
    ]
    assert len(set(intervals)) == 1


# Attributes -----------------------------------------------------------------------------------------------------------


def stripped(module: ModuleOp) -> str:
    for op in module.walk():
        for name in ("stage", "iter_offset", "order", "nv_tileas.schedule", "nv_tileas.depth", "nv_tileas.buffer"):
            op.attributes.pop(name, None)
    return print_custom(module)


def test_scheduling_writes_attributes_and_nothing_else() -> None:
    before = after(GEMM, prepared())
    text = print_custom(before)
    module = run_passes(before, f"{scheduled()},{buffers()}")
    (loop,) = scheduled_loops(module)
    body = list(loop.body.block.ops)[:-1]
    assert all({"stage", "iter_offset", "order"} <= set(op.attributes) for op in body)
    orders = [op.attributes["order"] for op in body]
    assert len(set(orders)) == len(body)
    assert stripped(module) == text
    assert print_custom(after(GEMM, f"{prepared()},{scheduled()}")) == print_custom(
        after(GEMM, f"{prepared()},{scheduled()}")
    )


def test_the_trace_shows_every_slot(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    after(GEMM, f"{prepared()},{scheduled(more=f' schedule-trace-file={json.dumps(str(file))}')}")
    events = json.loads(file.read_text())["traceEvents"]
    assert {"agent", "tma", "tensor core"} <= {event["tid"] for event in events}


@pytest.mark.parametrize(
    ("strategy", "found"),
    [
        ("serial", "serial"),
        ("fast", "fast"),
        ("cost-based", "cost-based"),
        ("default", "cost-based"),
        ("exact", "exact"),
    ],
)
def test_the_strategy_is_the_one_that_was_asked_for(strategy: str, found: str) -> None:
    entries = schedule_of(after(GEMM, f"{prepared()},{scheduled(more=f' strategy={strategy}')}"))
    assert entries.data["strategy"] == StringAttr(found)


def test_no_strategy_leaves_the_loop_alone() -> None:
    assert scheduled_loops(after(GEMM, f"{prepared()},{scheduled(more=' strategy=none')}")) == []


def test_default_is_serial_before_hopper_and_small_loops_are_always() -> None:
    entries = schedule_of(
        after(GEMM, f"{prepared(target='sm_80')},{scheduled(target='sm_80', more=' strategy=default')}")
    )
    assert entries.data["strategy"] == StringAttr("serial")
    small = "func.func @f(%n: index) {\n%c = arith.constant 1 : index\nscf.for %i = %c to %n step %c {\n"
    small += "%x = arith.addi %i, %c : index\n}\nfunc.return\n}"
    assert schedule_of(after(small, scheduled())).data["strategy"] == StringAttr("serial")


# Preparing ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("target", "products"), [("sm_80", 0), ("sm_90", 1), ("sm_100", 1), ("sm_120", 0)])
def test_products_are_issued_where_the_target_can(target: str, products: int) -> None:
    module = after(GEMM, prepared(target=target))
    assert len(ops_of(module, AsyncDotOp)) == products
    assert len(ops_of(module, CreatePipelineOp)) == 2
    kind = "tma" if target != "sm_80" else "async_copy"
    assert print_custom(module).count(f'producer_kind = "{kind}"') == 2


def test_preparing_twice_is_preparing_once() -> None:
    once = after(GEMM, prepared())
    text = print_custom(once)
    again = run_passes(once, "tileas-prepare-for-scheduling{compute-capability=sm_90}")
    assert print_custom(again) == text


def test_the_prepared_loop_computes_the_same() -> None:
    before, module = parse(GEMM), after(GEMM, prepared())
    for trips in (0, 1, 3):
        for order, seed in ORDERS:
            first, second = (run(m, "gemm", gemm(trips), order=order, seed=seed) for m in (before, module))
            assert second.violations == ()
            assert np.array_equal(first.arrays["c"], second.arrays["c"])


# Bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("tileas-generate-schedule{compute-capability=sm_75}", "no machine model of sm_75: choose one of sm_80"),
        ("tileas-prepare-for-scheduling{compute-capability=gfx90a}", "no machine model of 'gfx90a'"),
        ("tileas-generate-schedule{strategy=best}", "unknown strategy 'best'; choose one of none, serial, cost-based"),
        ("tileas-generate-schedule{num-stages=0}", "num-stages=0; a loop has at least 1 stage"),
    ],
)
def test_unknown_options_are_refused_with_those_that_there_are(spec: str, text: str) -> None:
    module = parse(GEMM)
    before = print_custom(module)
    with pytest.raises(PassFailedException, match=text):
        run_passes(module, spec)
    assert print_custom(module) == before


HUGE = GEMM.replace("128x64", "512x256").replace("64x128", "256x512").replace("128x128", "512x512")


def test_tiles_that_do_not_fit_are_refused_in_bytes() -> None:
    with pytest.raises(PassFailedException, match="shared memory lacks 291840 bytes: one copy of each ring"):
        after(HUGE, f"{prepared()},{scheduled()}")
    with pytest.raises(PassFailedException, match="fails to assign smem buffer") as refused:
        after(HUGE, f"{prepared()},{buffers()}")
    assert "816128 bytes are missing: 1048576 of 232448 (at 2 x 262144, bt 2 x 262144)" in str(refused.value)


def test_the_debug_switch_lifts_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_AS_DEBUG_UNLIMITED_SMEM", "1")
    module = after(HUGE, f"{prepared()},{buffers()}")
    assert all("nv_tileas.buffer" in op.attributes for op in ops_of(module, CreatePipelineOp))


def test_a_budget_limits_the_copies() -> None:
    """Four copies of 64 KiB do not fit: the schedule makes do with three."""
    text = GEMM.replace("128x64", "128x128").replace("64x128", "128x128")
    module = after(text, f"{prepared()},{scheduled(6)},{buffers()}")
    depths = [op.attributes["nv_tileas.depth"] for op in ops_of(module, CreatePipelineOp)]
    assert sum(entry.value.data for entry in depths if isinstance(entry, IntegerAttr)) * 32768 <= 232448


def test_a_ring_without_a_consumer_has_no_lifetime() -> None:
    text = """
func.func @f(%n: index, %x: tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {
    numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8
  } : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %own = nv_tileas.async.pipeline.producer_acquire %p, %c0
    : (!nv_tileas.producer_token, index) -> !nv_tileas.producer_token
  func.return
}"""
    module = parse(text)
    with pytest.raises(PassFailedException, match="fails to resolve lifetime"):
        run_passes(module, buffers())
    (function,) = (op for op in module.walk() if op.name == "func.func")
    assert failed_softly(function, "tileas-assign-buffers")
    assert "nv_tileas.buffer" not in print_custom(module)


def rings(count: int, *, apart: bool) -> str:
    """So many rings, each filled and emptied in straight code, one after the other or all at once."""
    make = """  %put{0}, %get{0} = nv_tileas.async.pipeline.create_pipeline attributes {{
    numStages = 1 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8
  }} : () -> (!pt, !ct)"""
    fill = """  %f{0} = nv_tileas.async.pipeline.produce_one %put{0}, %c0 attributes {{producer_types = [!v]}} {{
  ^bb0(%s: !v):
    nv_tileas.async.pipeline.yield %x : (!v) -> ()
  }} : (!pt, index) -> !pt"""
    drain = """  %d{0} = nv_tileas.async.pipeline.consume_one %get{0}, %c0 attributes {{consumer_types = [!v]}}
    : (!ct, index) -> !ct"""
    turns = [piece.format(n) for n in range(count) for piece in (fill, drain)] if apart else []
    turns = turns or [piece.format(n) for piece in (fill, drain) for n in range(count)]
    body = "\n".join([*(make.format(n) for n in range(count)), *turns])
    return f"""#smem = #nv_tileas.layout<smem>
!pt = !nv_tileas.producer_token
!ct = !nv_tileas.consumer_token
!v = tensor<16xf32, #smem>
func.func @f(%x: !v) {{
  %c0 = arith.constant 0 : index
{body}
  func.return
}}"""


def test_there_are_thirty_two_named_barriers() -> None:
    assert len(ops_of(after(rings(33, apart=True), buffers()), CreatePipelineOp)) == 33
    with pytest.raises(PassFailedException, match="fails to assign named barrier"):
        after(rings(33, apart=False), buffers())


def test_rings_that_are_never_alive_together_share_their_bytes() -> None:
    module = parse(rings(2, apart=True))
    with recorded_diagnostics() as said:
        run_passes(module, buffers())
    assert [diagnostic.message for diagnostic in said] == ["share pipeline buffer"]
    offsets = [op.attributes["nv_tileas.buffer"] for op in ops_of(module, CreatePipelineOp)]
    assert [number(entry, "offset") for entry in offsets if isinstance(entry, DictionaryAttr)] == [0, 0]


PARTIAL = """
func.func @f(%A: memref<?xf32>, %R: memref<?xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  scf.for %i = %c0 to %c10 step %c1 {
    %a = memref.load %A[%i] {stage = 0 : i32, iter_offset = 0 : i32, order = 0 : i32} : memref<?xf32>
    %b = arith.addf %a, %x {stage = 1 : i32, iter_offset = -1 : i32ORDER} : f32
    memref.store %b, %R[%i] {stage = 1 : i32, iter_offset = -1 : i32, order = 2 : i32} : memref<?xf32>
  }
  func.return
}"""


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ("", "'arith.addf' op has no order, and others have; give every op of the body one, or none"),
        (', order = "late"', "'arith.addf' op has an order that is no integer"),
    ],
)
def test_an_order_on_some_ops_only_is_a_miss_that_is_named(order: str, reason: str) -> None:
    module = parse(PARTIAL.replace("ORDER", order))
    with recorded_diagnostics() as said:
        run_passes(module, expanded(2))
    assert [(diagnostic.message, diagnostic.way_out) for diagnostic in said] == [("Failed to pipeline loop", reason)]
    assert len([op for op in module.walk() if isinstance(op, scf.ForOp)]) == 1


# Size -----------------------------------------------------------------------------------------------------------------


def test_a_loop_too_large_for_the_search_is_serial_and_says_so() -> None:
    adds = "\n".join(f"    %x{n} = arith.addf %acc, %acc : !tile" for n in range(401))
    text = program("    %next = arith.addf %x, %acc : !tile", load=True, more=adds)
    module = run_passes(parse(text), prepared())
    with recorded_diagnostics() as said:
        run_passes(module, scheduled())
    assert any("is scheduled serially" in diagnostic.message for diagnostic in said)
    assert schedule_of(module).data["strategy"] == StringAttr("serial")


def test_models_and_problems_agree_on_what_is_there() -> None:
    module = after(GEMM, prepared())
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    for target in ("published", "sm_80", "sm_90", "sm_100", "sm_120"):
        model = machine_model(target)
        problem = loop_problem(loop, model).problem
        slots = {use.slot for op in problem.ops for use in op.uses}
        assert slots <= set(model.capacities)
        assert len(problem.rings) == 2
        assert [ring.bytes for ring in problem.rings] == [16384, 16384]


SHARED_ACCUMULATOR = """
    %s0 = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
    %sum = nv_tileaa.dot %at, %bt, {second} : (!a, !b, !c) -> !c"""


@pytest.mark.parametrize(("second", "issued"), [("%acc", 1), ("%s0", 2)], ids=["used twice", "one after the other"])
def test_a_product_whose_accumulator_is_used_again_is_not_issued(second: str, issued: int) -> None:
    """An issued product adds in place: a second one that adds to the same would see the first."""
    kernel = KERNELS[1]
    old = "    %sum = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c"
    assert old in kernel.text
    text = kernel.text.replace(old, SHARED_ACCUMULATOR.replace("{second}", second))
    before, expanded_module = parse(text), after(text, passes())
    assert len(ops_of(after(text, prepared()), AsyncDotOp)) == issued
    for trips in (0, 1, 2, 5):
        first, found = (run(module, "f", kernel.arguments(trips)) for module in (before, expanded_module))
        assert found.violations == ()
        assert first.arrays["c"].tobytes() == found.arrays["c"].tobytes()
