"""
Scheduled loops are cut into a producer and a consumer: numbers stay, the agents are safe, and as fast as the schedule.
"""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import BoolAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, TensorType, f32
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import PassFailedException

from tests.support.corpora import each
from tests.support.ir import ROOT, parse, print_custom, run_passes
from tests.support.materialize_async import ORDERS, gemm
from tests.support.scheduled_kernels import KERNELS, Kernel
from tests.support.scheduled_loops import after, assert_kept, buffers, number, ops_of, prepared, schedule_of, scheduled
from tests.transforms.test_scheduled_loops import cycles
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import RefusedError, failed_softly
from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.machine.running import run
from tileas_xdsl.transforms.tileas.materialize_schedule import AGENTS, MaterializeSchedulePass, feeds_two_agents
from tileas_xdsl.transforms.tileas.materialize_schedule.warps import warp_partition

GEMM = (ROOT / "examples" / "gemm_loop.mlir").read_text()
PASS = "tileas-materialize-schedule"


def passes(products: bool = True, stages: int = 4, target: str = "sm_90") -> str:
    """The road from a synchronous loop to agents."""
    return ",".join(
        [
            prepared(products, target),
            scheduled(stages, target),
            buffers(target),
            f"{PASS}{{compute-capability={target}}}",
        ]
    )


def decision(module: ModuleOp) -> DictionaryAttr:
    (function,) = functions_in(module)
    found = function.attributes[AGENTS]
    assert isinstance(found, DictionaryAttr)
    return found


# Meaning --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("products", [True, False], ids=["asynchronous products", "synchronous products"])
@each("kernel", KERNELS, 7, ids=lambda kernel: kernel.name)
def test_kernels_keep_their_numbers_and_are_safe(kernel: Kernel, products: bool) -> None:
    before, agents = parse(kernel.text), after(kernel.text, passes(products, target=kernel.target))
    verify_dominance(agents)
    assert number(decision(agents), "agents") == 2, decision(agents)
    assert len(ops_of(agents, AgentSwitchOp)) == 1
    for trips in (0, 1, 2, 3, 4, 7):
        assert_kept(before, agents, kernel, trips)
    report = check(agents, "f")
    assert report.verdict is Verdict.SAFE, f"{report}\n{print_custom(agents)}"
    assert report.holds_for_every_trip_count, str(report)


@pytest.mark.parametrize("stages", [1, 2, 3, 4, 6])
def test_the_gemm_at_every_number_of_stages(stages: int) -> None:
    kernel = KERNELS[0]
    before, agents = parse(kernel.text), after(kernel.text, passes(stages=stages))
    for trips in (0, 1, stages - 1, stages, stages + 1, 9):
        assert_kept(before, agents, kernel, trips)
    assert check(agents, "f").verdict is Verdict.SAFE


def test_each_agent_has_what_it_needs_and_no_more() -> None:
    (switch,) = ops_of(after(GEMM, passes()), AgentSwitchOp)
    assert isinstance(switch, AgentSwitchOp)
    producer, consumer = (list(region.walk()) for region in switch.agent_regions)
    names = [{op.name.rpartition(".")[2] for op in side} for side in (producer, consumer)]
    assert {"producer_acquire", "tiled_load", "producer_commit"} <= names[0]
    assert not {"consumer_wait", "dot", "tiled_store"} & names[0]
    assert {"consumer_wait", "dot", "consumer_release", "tiled_store"} <= names[1]
    assert not {"producer_acquire", "tiled_load"} & names[1]
    (loop,) = (op for op in producer if isinstance(op, scf.ForOp))
    assert len(loop.iter_args) == 2, "it carries the two iterators that it moves on"


# Figures --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("products", "most"), [(False, 9221), (True, 8900)])
def test_agents_are_as_fast_as_the_schedule(products: bool, most: int) -> None:
    total, period = cycles(GEMM, passes(products))
    assert total <= most
    assert period <= number(schedule_of(after(GEMM, f"{prepared(products)},{scheduled()}")), "ii")


def test_the_driver_alone_makes_the_agents() -> None:
    total, _ = cycles(GEMM, "tileir{compute-capability=sm_90 pipeline-strategy=warp-specialize}")
    assert total <= 8900


def test_names_and_the_order_of_independent_ops_do_not_matter() -> None:
    renamed = GEMM.replace("%at", "%left").replace("%bt", "%right").replace("%sum", "%q")
    lines = GEMM.splitlines()
    loads = [index for index, line in enumerate(lines) if "tiled_load" in line]
    lines[loads[0]], lines[loads[1]] = lines[loads[1]], lines[loads[0]]
    totals = {cycles(text, passes())[0] for text in (GEMM, renamed, "\n".join(lines))}
    assert max(totals) - min(totals) <= 50


# The decisions of TileAS ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stage_count", "total_work", "iters", "dual"),
    [
        (3, 4, 1, True),
        (3, 5, 1, False),  # 5 * 0.6 is 3, and the comparison is strict
        (3, 9, 2, True),  # 9 / 2 is 4
        (3, 4, 0, True),  # no fewer than one iteration
        (3, -9, 2, True),
        (0, 0, 1, False),
    ],
)
def test_two_computing_agents_where_there_are_stages_enough(
    stage_count: int, total_work: int, iters: int, dual: bool
) -> None:
    assert feeds_two_agents(stage_count, total_work, iters) is dual


def test_the_decision_is_written_into_the_schedule() -> None:
    module = after(GEMM, passes())
    loops = [op for op in module.walk() if "nv_tileas.schedule" in op.attributes]
    for loop in loops:
        entries = loop.attributes["nv_tileas.schedule"]
        assert isinstance(entries, DictionaryAttr)
        assert entries.data["use_dual_simt"] == BoolAttr.from_bool(True)


@pytest.mark.parametrize("spelling", ["use-AUS", "use-aus"])
def test_one_agent_where_it_is_asked_for(spelling: str) -> None:
    """The loop keeps its stages, for the expander."""
    module = after(GEMM, passes().replace(f"{PASS}{{", f"{PASS}{{{spelling}=true "))
    assert ops_of(module, AgentSwitchOp) == []
    assert all("iter_offset" in op.attributes for op in _loop(module).body.block.ops if op is not _last(module))
    (function,) = functions_in(module)
    assert not failed_softly(function, PASS)


def _loop(module: ModuleOp) -> scf.ForOp:
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    return loop


def _last(module: ModuleOp) -> Operation | None:
    return _loop(module).body.block.last_op


def test_agents_that_are_there_stay() -> None:
    text = (ROOT / "examples" / "gemm_queue.mlir").read_text()
    module = after(text, "tileas-queue-to-pipeline,tileas-materialize-async")
    before = print_custom(module)
    assert print_custom(run_passes(module, PASS)) == before


# Failures -------------------------------------------------------------------------------------------------------------

LARGE = GEMM.replace("128x64", "256x64").replace("64x128", "64x256").replace("128x128", "256x256")


def silent(text: str, spec: str) -> tuple[str, ModuleOp, ModuleOp]:
    """The reason why there is one agent only, and the module before and after."""
    road, _, last = spec.rpartition(",")
    before = after(text, road) if road else parse(text)
    module = before.clone()
    run_passes(module, last)
    (function,) = functions_in(module)
    assert failed_softly(function, PASS)
    assert number(decision(module), "agents") == 1
    reason = decision(module).data["reason"]
    assert isinstance(reason, StringAttr)
    return reason.data, before, module


def without_marks(module: ModuleOp) -> str:
    copy = module.clone()
    for op in copy.walk():
        op.attributes.pop(AGENTS, None)
        op.attributes.pop("nv_tileas.pass_status", None)
        schedule = op.attributes.get("nv_tileas.schedule")
        if isinstance(schedule, DictionaryAttr):
            kept = {name: value for name, value in schedule.data.items() if name != "use_dual_simt"}
            op.attributes["nv_tileas.schedule"] = DictionaryAttr(kept)
    return print_custom(copy)


@pytest.mark.parametrize(
    ("text", "spec", "reason"),
    [
        (GEMM, f"{PASS}{{use-AUS=true}}", "no loop has a schedule"),
        (LARGE, passes(), "no division of the warps and registers of the multiprocessor holds its tiles"),
    ],
    ids=["no schedule", "tiles too large for the registers"],
)
def test_without_a_partition_the_function_stays_in_one_agent(text: str, spec: str, reason: str) -> None:
    found, before, module = silent(text, spec)
    assert found == reason
    assert without_marks(module) == without_marks(before)


AT = "stage = 1 : i32, iter_offset = -1 : i32, order = 99 : i32"
STORE = f"nv_tileaa.tiled_store %a[%row, %k], %at_1 attributes {{{AT}}} : (memref<?x?xf16>, !tile, index, index) -> ()"


def test_loops_that_the_scheduler_has_not_seen_are_an_error() -> None:
    module = parse(GEMM)
    with pytest.raises(RefusedError, match="has loops without a schedule"):
        run_passes(module, PASS)
    (function,) = functions_in(module)
    assert failed_softly(function, PASS)
    assert without_marks(module) == without_marks(parse(GEMM))


@pytest.mark.parametrize("strategy", ["serial", "none"])
@each("kernel", KERNELS, 3, ids=lambda kernel: kernel.name)
def test_without_stages_to_overlap_one_agent_computes_the_same(kernel: Kernel, strategy: str) -> None:
    """TileAS sends a serial schedule to its driver for one agent, and leaves the loops of no schedule as they are."""
    before = parse(kernel.text)
    spec = ",".join([prepared(), scheduled(more=f" strategy={strategy}"), buffers("sm_90"), PASS])
    module = after(kernel.text, spec)
    (function,) = functions_in(module)
    assert not failed_softly(function, PASS)
    assert number(decision(module), "agents") == 1
    assert ops_of(module, AgentSwitchOp) == []
    for trips in (0, 1, 2, 3, 4, 7):
        assert_kept(before, module, kernel, trips)
    report = check(module, "f")
    assert report.verdict is Verdict.SAFE, str(report)


def test_what_nothing_would_order_stays_in_one_agent() -> None:
    line = STORE.replace("!tile", "tensor<128x64xf16, #nv_tileas.layout<smem>>")
    found, before, module = silent(indirect("\n" + line + "\n"), PASS)
    assert "'nv_tileaa.tiled_store' touches %a" in found
    assert without_marks(module) == without_marks(before)


def test_a_value_that_leads_back_goes_through_a_ring() -> None:
    """Each row is read from an array that the loop writes, too: the consumer reads it, and the producer needs it."""
    text = indirect(f"\nmemref.store %k, %where[%k] {{{AT}}} : memref<?xindex>\n")
    before, module = parse(text), run_passes(parse(text), PASS)
    (switch,) = ops_of(module, AgentSwitchOp)
    producer, consumer = ([op.name.rpartition(".")[2] for op in region.walk()] for region in switch.regions)
    assert "consumer_release" in producer
    assert "producer_commit" in consumer
    for trips in (0, 1, 2, 4, 7):
        given = {**gemm(trips), "where": np.zeros(max(trips, 1), np.int64)}
        for order, seed in ORDERS:
            first, second = (run(m, "gemm", given, order=order, seed=seed) for m in (before, module))
            assert second.violations == ()
            assert first.arrays["c"].tobytes() == second.arrays["c"].tobytes()
    report = check(module, "gemm")
    assert report.findings == []
    assert all("'nv_tileaa.tiled_load' op" in reason for reason in report.undecided), "where it reads is data"


def indirect(line: str) -> str:
    """The scheduled GEMM, with the row of each tile of `a` from an array, and one more line at the end of its loop."""
    text = print_custom(after(GEMM, passes().rpartition(",")[0]))
    text = text.replace("%n: index", "%where: memref<?xindex>, %n: index")
    first = f"%there = memref.load %where[%k] {{{AT.replace('1', '0').replace('99', '98')}}} : memref<?xindex>"
    text = text.replace("        %at = nv_tileaa.tiled_load %a[%row", "        %at = nv_tileaa.tiled_load %a[%there")
    text = text.replace("      %at_own = ", f"      {first}\n      %at_own = ")
    return text.replace("      scf.yield %sum", f"{line}      scf.yield %sum")


def test_a_load_of_what_nobody_writes_is_repeated() -> None:
    before, module = parse(indirect("")), run_passes(parse(indirect("")), PASS)
    (switch,) = ops_of(module, AgentSwitchOp)
    producer, consumer = ({op.name for op in region.walk()} for region in switch.regions)
    assert "memref.load" in producer
    assert "memref.load" not in consumer
    for trips in (0, 1, 4):
        first, second = (
            run(m, "gemm", {**gemm(trips), "where": np.zeros(max(trips, 1), np.int64)}) for m in (before, module)
        )
        assert second.violations == ()
        assert np.array_equal(first.arrays["c"], second.arrays["c"])


ASSERTED = 'cf.assert %ok, "a tile that may not be" {stage = 0 : i32, iter_offset = 0 : i32, order = 99 : i32}'


def test_what_only_reads_and_gives_nothing_is_not_dropped() -> None:
    text = print_custom(after(GEMM, passes(stages=1).rpartition(",")[0])).replace("%n: index", "%ok: i1, %n: index")
    module = run_passes(parse(text.replace("      scf.yield %sum", f"{ASSERTED}\n      scf.yield %sum")), PASS)
    (switch,) = ops_of(module, AgentSwitchOp)
    producer, consumer = ({op.name for op in region.walk()} for region in switch.regions)
    assert "cf.assert" not in producer
    assert "cf.assert" in consumer


WAITING = """
    scf.while : () -> () {
      %no = arith.constant false
      %held = nv_tileas.async.pipeline.consumer_wait %at_end, %c0
        : (!nv_tileas.consumer_token, index) -> !nv_tileas.consumer_token
      scf.condition(%no)
    } do {
      scf.yield
    }
"""


@pytest.mark.parametrize(
    ("before", "now", "reason"),
    [
        ("    nv_tileaa.tiled_store", WAITING + "    nv_tileaa.tiled_store", "in 'scf.while', which is not cut in two"),
        ("{stage = 1 : i32", '{stage = "late"', "has a stage that is no integer"),
        ("iter_offset = -1", "iter_offset = 5", "has stage 1 and iter_offset 5, which is to be -1"),
    ],
    ids=["in a while loop", "a stage of another type", "an offset that contradicts its stage"],
)
def test_ill_formed_schedules_stay_in_one_agent(before: str, now: str, reason: str) -> None:
    text = print_custom(after(GEMM, passes().rpartition(",")[0]))
    assert before in text
    found, source, module = silent(text.replace(before, now, 1), PASS)
    assert reason in found
    assert without_marks(module) == without_marks(source)


def test_stages_that_contradict_each_other_are_an_error() -> None:
    module = after(GEMM, passes().rpartition(",")[0])
    for op in module.walk():
        if op.name.endswith("produce_one_async"):
            del op.attributes["stage"]
    before = print_custom(module)
    with pytest.raises(PassFailedException, match=r"Alias is not expected here\."):
        run_passes(module, PASS)
    (function,) = functions_in(module)
    assert failed_softly(function, PASS)
    function.attributes.pop("nv_tileas.pass_status")
    assert print_custom(module) == before


def test_the_description_is_that_of_tileas() -> None:
    text = "Meterialize the pipeline schedule to generate warp-specialized or unspecialized IR"
    assert text == MaterializeSchedulePass.DESCRIPTION


def stage(op: Operation) -> Attribute | None:
    return op.attributes.get("nv_tile.aws.stage")


@each("kernel", KERNELS, 4, ids=lambda kernel: kernel.name)
def test_without_the_fold_stages_stand_in_blocks_and_the_program_means_the_same(kernel: Kernel) -> None:
    """In the steady state of each agent the latest stage comes first; pieces in front of it and behind it stay."""
    folded = passes(target=kernel.target)
    unfolded = folded.replace(f"{PASS}{{", f"{PASS}{{enable-schedule-rewrite=false ")
    before, agents = parse(kernel.text), after(kernel.text, unfolded)
    verify_dominance(agents)
    assert len(list(agents.walk())) == len(list(after(kernel.text, folded).walk())), "the same ops in another order"
    for loop in (op for op in agents.walk() if isinstance(op, scf.ForOp)):
        stages = [found.value.data for op in loop.body.block.ops if isinstance(found := stage(op), IntegerAttr)]
        assert stages == sorted(stages, reverse=True)
    for trips in (0, 1, 2, 3, 4, 7):
        assert_kept(before, agents, kernel, trips)
    report = check(agents, "f")
    assert report.verdict is Verdict.SAFE, f"{report}\n{print_custom(agents)}"


def test_registers_are_divided_among_agents() -> None:
    found = warp_partition([None, []], hands_over=True)
    assert found is not None
    assert found.warps == (4, 4)
    assert found.registers == (40, 232)
    three = warp_partition([None, [], []], hands_over=True)
    assert three is not None
    assert three.registers == (40, 232, 232)
    shared = warp_partition([None, [], []], hands_over=False)
    assert shared is not None
    assert sum(128 * registers for registers in shared.registers) <= 65_536
    assert warp_partition([None, *[[]] * 8], hands_over=True) is None, "a block has no more than 32 warps"
    wide = warp_partition([None, []], hands_over=True, width=8)
    assert wide is not None
    assert (wide.warps, wide.registers) == ((4, 8), (40, 232))
    assert warp_partition([None, [], []], hands_over=True, width=16) is None


def test_products_that_read_factors_from_registers_need_some_for_them() -> None:
    """Of 384 threads each has 168: 128 for the sums and 40 for addresses, and none for what `mma.sync` multiplies."""
    sums = TensorType(f32, [128, 256])
    assert warp_partition([None, [sums]], hands_over=True, width=8) is not None
    assert warp_partition([None, [sums]], hands_over=False, width=8) is None
