"""
Two agents that compute: each has one sub-tile of every product, and takes and gives back every stage.
"""

from __future__ import annotations

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import BoolAttr, ModuleOp, StringAttr, TensorType
from xdsl.ir import Operation

from tests.support.ir import ROOT, parse, print_custom, run_passes
from tests.support.scheduled_kernels import KERNELS, Kernel
from tests.support.scheduled_loops import after, assert_kept, buffers, number, ops_of, prepared, schedule_of, scheduled
from tests.transforms.test_scheduled_loops import cycles
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import failed_softly
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp, ConsumerReleaseOp, CreatePipelineOp
from tileas_xdsl.dialects.tiles.types import extents, residency_of
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.machine.time.simulation import simulate
from tileas_xdsl.transforms.tileas.materialize_schedule import AGENTS

GEMM = (ROOT / "examples" / "gemm_loop.mlir").read_text()
NAMED = {kernel.name: kernel for kernel in KERNELS}
SPLIT = [NAMED["attention_128"], NAMED["gemm_128x64x16"]]
PASS = "tileas-materialize-schedule"


def passes(sub_tiles: int = 2, products: bool = True, stages: int = 4, target: str = "sm_90") -> str:
    """The road from a synchronous loop to agents, with products in so many sub-tiles."""
    split = prepared(products, target).replace("{", f"{{sub-tiles={sub_tiles} ", 1)
    return ",".join([split, scheduled(stages, target), buffers(target), f"{PASS}{{compute-capability={target}}}"])


def switch_of(module: ModuleOp) -> AgentSwitchOp:
    (switch,) = ops_of(module, AgentSwitchOp)
    assert isinstance(switch, AgentSwitchOp)
    return switch


def inside(region: Operation, *kinds: type[Operation]) -> list[Operation]:
    return [op for op in region.walk() if isinstance(op, kinds)]


@pytest.mark.parametrize("products", [True, False], ids=["asynchronous products", "synchronous products"])
@pytest.mark.parametrize("kernel", SPLIT, ids=lambda kernel: kernel.name)
def test_two_computing_agents_keep_the_numbers_and_are_safe(kernel: Kernel, products: bool) -> None:
    before, agents = parse(kernel.text), after(kernel.text, passes(products=products))
    verify_dominance(agents)
    assert len(switch_of(agents).regions) == 3, print_custom(agents)
    for trips in (0, 1, 2, 3, 4, 7):
        assert_kept(before, agents, kernel, trips)
    report = check(agents, "f")
    assert report.verdict is Verdict.SAFE, f"{report}\n{print_custom(agents)}"
    assert report.holds_for_every_trip_count, str(report)


@pytest.mark.parametrize("stages", [1, 2, 3, 6])
def test_two_computing_agents_at_every_number_of_stages(stages: int) -> None:
    kernel = NAMED["gemm_128x64x16"]
    road, _, last = passes(stages=stages).rpartition(",")
    before, agents = parse(kernel.text), run_passes(decided(after(kernel.text, road), dual=True), last)
    assert len(switch_of(agents).regions) == 3
    for trips in (0, 1, stages - 1, stages, stages + 1, 9):
        assert_kept(before, agents, kernel, trips)
    assert check(agents, "f").verdict is Verdict.SAFE


def test_each_computes_its_rows_and_gives_back_every_stage() -> None:
    module = after(GEMM, passes())
    producer, *consumers = switch_of(module).agent_regions
    assert not any(isinstance(op, AsyncDotOp | ConsumerReleaseOp) for op in producer.walk())
    for consumer in consumers:
        products = [op for op in consumer.walk() if isinstance(op, AsyncDotOp)]
        assert {extents(op.d.type) for op in products} == {(64, 128)}
        loop = next(op for op in consumer.walk() if isinstance(op, scf.ForOp))
        assert len(inside(loop, ConsumerReleaseOp)) == 2, "it gives back a slot of each ring in every iteration"
        tiles = [value.type for value in loop.results if isinstance(value.type, TensorType)]
        assert [extents(type_) for type_ in tiles if residency_of(type_) is None] == [(64, 128)]
    for ring in ops_of(module, CreatePipelineOp):
        assert isinstance(ring, CreatePipelineOp)
        assert (ring.producer_group.value.data, ring.consumer_group.value.data) == (0, 1)


# Whether there are two ------------------------------------------------------------------------------------------------


def reason(module: ModuleOp) -> str | None:
    (function,) = functions_in(module)
    found = function.attributes[AGENTS].data.get("reason")  # pyright: ignore[reportAttributeAccessIssue]
    return found.data if isinstance(found, StringAttr) else None


def test_where_the_work_hangs_together_one_agent_computes_and_the_reason_is_kept() -> None:
    module = after(GEMM, passes(sub_tiles=1))
    assert len(switch_of(module).regions) == 2
    assert reason(module) == (
        "TileAS' rule asks for two computing agents, and the work of the loops does not fall into two parts"
    )


def decided(module: ModuleOp, dual: bool) -> ModuleOp:
    """`module` with the numbers in the schedule from which TileAS' rule decides so."""
    (loop,) = (op for op in module.walk() if "nv_tileas.schedule" in op.attributes)
    entries = dict(schedule_of(module).data)
    entries["total_work"] = type(entries["total_work"])(1 if dual else 100, entries["total_work"].type)  # pyright: ignore
    loop.attributes["nv_tileas.schedule"] = type(schedule_of(module))(entries)
    return module


@pytest.mark.parametrize(("dual", "agents"), [(True, 3), (False, 2)])
def test_the_rule_of_tileas_decides(dual: bool, agents: int) -> None:
    road, _, last = passes().rpartition(",")
    module = run_passes(decided(after(GEMM, road), dual), last)
    assert len(switch_of(module).regions) == agents
    assert schedule_of_any(module)["use_dual_simt"] == BoolAttr.from_bool(dual)
    assert check(module, "gemm").verdict is Verdict.SAFE


def schedule_of_any(module: ModuleOp) -> dict[str, object]:
    loop = next(op for op in module.walk() if "nv_tileas.schedule" in op.attributes)
    return dict(loop.attributes["nv_tileas.schedule"].data)  # pyright: ignore[reportAttributeAccessIssue]


def test_tiles_that_one_agent_cannot_hold_are_held_by_two() -> None:
    """256 by 128 numbers take 256 registers of each thread of one agent, and 128 of each of two."""
    wide = GEMM.replace("128x64", "256x64").replace("128x128", "256x128")
    one = after(wide, passes(sub_tiles=1))
    (function,) = functions_in(one)
    assert failed_softly(function, PASS)
    road, _, last = passes().rpartition(",")
    module = run_passes(decided(after(wide, road), dual=False), last)
    assert len(switch_of(module).regions) == 3
    assert check(module, "gemm").verdict is Verdict.SAFE


# Figures --------------------------------------------------------------------------------------------------------------


def test_two_agents_keep_the_tensor_core_busy() -> None:
    """A product of two tiles takes the tensor core 512 cycles; one agent alone takes 530 an iteration."""
    total, period = cycles(GEMM, passes())
    assert period == 512
    assert total <= 8200


def test_two_agents_do_attention_faster_than_one() -> None:
    """Both keep the tensor core busy, with 2,048 cycles an iteration; two agents have less to do before and behind."""
    text = NAMED["attention_128"].text.replace("x16x", "x128x").replace("<16x", "<128x")
    found = {sub_tiles: simulate(after(text, passes(sub_tiles)), "f", {"n": 12}, "sm_90") for sub_tiles in (1, 2)}
    assert [timed.cycles_per_iteration for timed in found.values()] == [2048, 2048]
    assert found[2].cycles < found[1].cycles - 2000


def test_the_driver_makes_them() -> None:
    spec = "tileir{compute-capability=sm_90 pipeline-strategy=warp-specialize sub-tiles=2}"
    assert len(switch_of(after(GEMM, spec)).regions) == 3
    hinted = GEMM.replace(
        "%at, %bt, %acc :", "%at, %bt, %acc attributes {tileas.max_num_slices_for_non_reduce_axis = 2 : i32} :"
    )
    assert len(switch_of(after(hinted, spec.replace(" sub-tiles=2", ""))).regions) == 3


def test_the_total_work_is_counted_in_intervals() -> None:
    entries = schedule_of(after(GEMM, f"{prepared()},{scheduled()}"))
    assert number(entries, "total_work") == 3
