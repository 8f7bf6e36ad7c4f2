"""
Agents that the program has get the stages that are asked for: each loop by itself, with equal numbers and safe for
every trip count; or they stay as they are, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i32

from tests.support.corpora import each, nightly
from tests.support.ir import example, parse, print_custom, run_passes, through
from tests.support.materialize_async import ORDERS, attention, gemm
from tests.support.random_tile_kernels import assert_right_and_safe, random_kernel
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import failed_softly, recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.machine.running import run
from tileas_xdsl.machine.time.simulation import simulate
from tileas_xdsl.scheduling.agent_loops import AWS_ORDER, AWS_STAGE, loops_of_agents
from tileas_xdsl.transforms.tileas.materialize_schedule import AGENTS

PASS = "tileas-materialize-schedule"
QUEUES = "tileas-queue-to-pipeline,tileas-materialize-async"
TAGGED = "tileas-prepare-for-scheduling{compute-capability=sm_90 agents=true},tileas-generate-schedule{compute-capability=sm_90 agents=true num-stages=%d}"  # noqa: E501
EXAMPLES: dict[str, Callable[[int], dict[str, Any]]] = {"gemm_queue": gemm, "attention_queue": attention}


def driver(stages: int, target: str = "sm_90") -> str:
    options = f"compute-capability={target} unspecialized-pipeline-num-stages={stages}"
    return f"tileir{{pipeline-strategy=warp-specialize {options}}}"


def decided(module: ModuleOp) -> str | None:
    """Why the agents have no stages; None where they have."""
    (function,) = functions_in(module)
    found = function.attributes[AGENTS]
    assert isinstance(found, DictionaryAttr)
    reason = found.data.get("reason")
    assert failed_softly(function, PASS) == (reason is not None)
    return reason.data if isinstance(reason, StringAttr) else None


def is_peeled(module: ModuleOp) -> bool:
    """Whether a loop of an agent has a prologue: what a first iteration does, if there is one."""
    return any(isinstance(op, scf.IfOp) and op.results for op in module.walk())


# Meaning --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stages", [1, 2, 3, 6])
@pytest.mark.parametrize("name", EXAMPLES)
def test_programs_with_queues_get_stages(name: str, stages: int) -> None:
    module = through(example(name), driver(stages))
    assert decided(module) is None
    assert is_peeled(module) == (stages > 1)
    before, output = parse(example(name)), "c" if name == "gemm_queue" else "o"
    for trips in (0, 1, 2, 3, 5):
        first = run(before, None, EXAMPLES[name](trips))
        for order, seed in ORDERS:
            found = run(module, None, EXAMPLES[name](trips), order=order, seed=seed)
            assert found.violations == ()
            assert first.arrays[output].tobytes() == found.arrays[output].tobytes()
    report = check(module, timeout=120)
    assert report.verdict is Verdict.SAFE, f"{report}\n{print_custom(module)}"
    assert report.holds_for_every_trip_count
    assert "over-wait" not in str(report)


def test_where_products_are_not_issued_an_iteration_is_one_stage() -> None:
    """Before sm_90 a product of this shape is synchronous, and nothing in the consumer's loop overlaps."""
    module = through(example("gemm_queue"), driver(3, "sm_80"))
    assert check(module, timeout=120).verdict is Verdict.SAFE
    assert not any(op.name == "nv_tileas.async.dot" for op in module.walk())


def test_the_next_product_is_issued_before_this_one_is_over() -> None:
    """Twelve iterations of 512 cycles of the tensor core; written by hand, and with synchronous products, 9,221."""
    cycles = {stages: cycles_of("gemm_queue", stages) for stages in (1, 2)}
    assert cycles[2] < cycles[1]
    assert cycles[2] <= 8_900
    assert cycles_of("attention_queue", 4) < cycles_of("attention_queue", 1)


def cycles_of(name: str, stages: int) -> int:
    return simulate(through(example(name), driver(stages)), None, EXAMPLES[name](12), "sm_90").cycles


def without_stages(seed: int) -> ModuleOp | None:
    """A random program of two or three agents that no schedule has touched; None where the family leaves it in one."""
    module = through(random_kernel(seed), driver(1))
    for op in module.walk():
        op.attributes.pop(AWS_STAGE, None)
        op.attributes.pop(AWS_ORDER, None)
    return module if any(isinstance(op, AgentSwitchOp) for op in module.walk()) else None


@each("seed", range(100), 3)
def test_random_programs_of_agents_get_stages(seed: int) -> None:
    agents = without_stages(seed)
    if agents is None:
        return
    stages = 2 + seed % 3
    with recorded_diagnostics():
        module = run_passes(agents, driver(stages))
    verify_dominance(module)
    reason = decided(module)
    assert reason is None or "wait for each other in a circle" in reason
    assert_right_and_safe(module, random_kernel(seed), (0, 1, stages, 5), seed)


def test_a_second_run_changes_nothing() -> None:
    module = through(example("attention_queue"), driver(3))
    first = print_custom(module)
    (function,) = functions_in(module)
    assert loops_of_agents(function) == loops_of_agents(function)
    again = run_passes(module, f"{TAGGED % 3},{PASS}")
    assert print_custom(again) == first


def test_without_the_rewrite_the_steady_state_has_a_block_for_each_stage() -> None:
    road = f"{QUEUES},{TAGGED % 3},{PASS}{{enable-schedule-rewrite=false}}"
    module = through(example("attention_queue"), road)
    assert decided(module) is None
    assert is_peeled(module)
    first = run(parse(example("attention_queue")), None, attention(5))
    found = run(module, None, attention(5), order="random", seed=2)
    assert first.arrays["o"].tobytes() == found.arrays["o"].tobytes()
    assert check(module, timeout=120).verdict is Verdict.SAFE


# Programs by hand -----------------------------------------------------------------------------------------------------

PROGRAM = """
#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16, #smem>
!b = tensor<16x64xf16, #smem>
!c = tensor<64x64xf32>
!p = !nv_tileas.producer_token
!r = !nv_tileas.consumer_token
!done = !nv_tileas.token
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index, %m: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant dense<0.0> : !c
  %ap, %ar = nv_tileas.async.pipeline.create_pipeline attributes {{
    numStages = {depth} : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8}} : () -> (!p, !r)
  %bp, %br = nv_tileas.async.pipeline.create_pipeline attributes {{
    numStages = {depth} : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8}} : () -> (!p, !r)
  nv_tileas.async.pipeline.agent_switch %ap, %ar, %bp, %br attributes {{num_agents_per_group = array<i32: {sizes}>}} {{
    {first}
  }}, {{
    {second}
  }} : (!p, !r, !p, !r) -> ()
  func.return
}}"""
FILL = """%own{r} = nv_tileas.async.pipeline.producer_acquire %{r}p, %k : (!p, index) -> !p
    %full{r}, %f{r} = nv_tileas.async.pipeline.produce_one_async %own{r}, %k attributes {{producer_types = [!{r}]}} {{
    ^bb0(%slot: !{r}):
      %t{r} = nv_tileaa.tiled_load %{r}[{at}] : (memref<?x?xf16>, index, index) -> !{r}
      nv_tileas.async.pipeline.yield %t{r} : (!{r}) -> ()
    }} : (!p, index) -> (!p, !done)
    nv_tileas.async.pipeline.producer_commit %f{r} : (!done) -> ()
    """
FILLS = FILL.format(r="a", at="%c0, %k") + FILL.format(r="b", at="%k, %c0")
TAKE = """%got{r} = nv_tileas.async.pipeline.consumer_wait %{r}r, %k : (!r, index) -> !r
    %v{r}, %read{r} = nv_tileas.async.pipeline.consumer_read %got{r}, %k : (!r, index) -> (!{r}, !r)
    """
GIVE = "nv_tileas.async.pipeline.consumer_release %read{r} : (!r) -> ()\n    "
DOT = """%s = nv_tileaa.dot %va, %vb, %acc : (!a, !b, !c) -> !c
    """
TAKES = TAKE.format(r="a") + TAKE.format(r="b") + DOT + GIVE.format(r="a") + GIVE.format(r="b")
STORE = "nv_tileaa.tiled_store %c[%c0, %c0], %sum : (memref<?x?xf32>, !c, index, index) -> ()"


def fills(bounds: str = "%c0 to %n step %c1", body: str = FILLS) -> str:
    return f"scf.for %k = {bounds} {{\n    {body}}}"


def takes(bounds: str = "%c0 to %n step %c1", body: str = TAKES, behind: str = STORE) -> str:
    head = f"%sum = scf.for %k = {bounds} iter_args(%acc = %zero) -> (!c) {{"
    return f"{head}\n    {body}scf.yield %s : !c\n    }}\n    {behind}"


def program(first: str, second: str, depth: int = 6, sizes: str = "1, 1") -> str:
    return PROGRAM.format(first=first, second=second, depth=depth, sizes=sizes)


def staged(text: str) -> ModuleOp:
    return through(text, f"{TAGGED % 4},{PASS}")


AROUND = "scf.for %j = %c0 to %m step %c1 {{\n    {}\n    }}"


@pytest.mark.parametrize("depth", [6, 8])
def test_single_steps_written_by_hand_get_stages(depth: int) -> None:
    module = staged(program(fills(), takes(), depth))
    assert decided(module) is None
    assert is_peeled(module)
    report = check(module, "f", timeout=120)
    assert report.verdict is Verdict.SAFE
    assert report.holds_for_every_trip_count


def test_one_slot_leaves_no_room_for_a_second_stage() -> None:
    """The slot has to be given back before it can be filled again, so the schedule keeps that order."""
    module = staged(program(fills(), takes(), 1))
    assert decided(module) is None
    assert not is_peeled(module)
    assert check(module, "f", timeout=120).verdict is Verdict.SAFE


def nested() -> str:
    """Turns are numbered through the nest, so slots and phases go on from one turn to the next."""
    turn = "%first = arith.muli %j, %n : index\n    %turn = arith.addi %first, %k : index\n    "
    nests = (
        make(body=turn + body.replace(", %k :", ", %turn :").replace(", %k attr", ", %turn attr"))
        for make, body in ((fills, FILLS), (takes, TAKES))
    )
    return program(*map(AROUND.format, nests))


def test_a_nest_gets_stages_in_its_inner_loop() -> None:
    before, module = parse(nested()), staged(nested())
    assert decided(module) is None
    assert is_peeled(module)
    for trips in (0, 1, 4):
        first = run(before, "f", arguments(trips))
        for order in ("lazy", "random"):
            found = run(module, "f", arguments(trips), order=order, seed=3)
            assert found.violations == first.violations == ()
            assert first.arrays["c"].tobytes() == found.arrays["c"].tobytes()


@pytest.mark.parametrize("tiles", [1, pytest.param(3, marks=nightly("the trip counts of three tiles are tried"))])
def test_a_nest_with_stages_in_its_inner_loop_is_safe(tiles: int) -> None:
    report = check(staged(nested()), "f", timeout=120, args={"m": tiles})
    assert report.verdict is Verdict.SAFE, str(report)


def arguments(trips: int) -> dict[str, Any]:
    draw = np.random.default_rng(3)
    a, b = draw.integers(-2, 3, (64, 160)), draw.integers(-2, 3, (160, 64))
    return {
        "a": a.astype(np.float16),
        "b": b.astype(np.float16),
        "c": np.zeros((64, 64), np.float32),
        "n": trips,
        "m": 3,
    }


CALL = """func.call @f(%a, %b, %c, %n, %m)
      : (memref<?x?xf16>, memref<?x?xf16>, memref<?x?xf32>, index, index) -> ()
    """
GUARD = "%small = arith.cmpi slt, %n, %c2 : index\n    scf.if %small {{\n    {}\n    }}"


@pytest.mark.parametrize(
    ("text", "because"),
    [
        (program(fills(), takes("%c0 to %m step %c1")), "do not have the same bounds"),
        (program(fills(), takes(), sizes="1, 2"), "a group has several agents"),
        (program(fills() + "\n    " + fills(), takes()), "an agent has several loops over rings that belong together"),
        (program(GUARD.format(fills()), takes()), "ring 'ap' is used outside of the loops of agents, too"),
        (program(fills(), GUARD.format(takes())), "stands in a branch, or in a loop that is no scf.for"),
        (
            program(fills(body=FILLS + STORE.replace("%sum", "%zero") + "\n    "), takes()),
            "of another agent touches, too, and nothing would order the two",
        ),
        (
            program(fills(body=FILLS + CALL), takes()),
            "may wait for another one",
        ),
    ],
    ids=["bounds", "a group", "several loops", "steps in a branch", "the loop in a branch", "memory", "a call"],
)
def test_agents_that_cannot_have_stages_stay_as_they_are(text: str, because: str) -> None:
    before = through(text, TAGGED % 4)
    module = run_passes(before.clone(), PASS)
    assert because in (decided(module) or "")
    (function,) = functions_in(module)
    for name in (AGENTS, "nv_tileas.pass_status"):
        function.attributes.pop(name)
    assert print_custom(module) == print_custom(before)


@pytest.mark.parametrize("depth", [1, 2])
def test_a_circle_is_refused_and_would_be_one(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Both rings are committed at once, behind the second acquire, so the first one is full when both have a free slot.
    The second one's slots are given back `depth` stages after the first one's next stage is waited for.
    """
    commits = "nv_tileas.async.pipeline.producer_commit %f{r} : (!done) -> ()\n"
    filled = FILLS.replace(commits.format(r="a"), "").replace(commits.format(r="b"), "")
    both = filled + "nv_tileas.async.pipeline.producer_commit %fa, %fb : (!done, !done) -> ()\n    "
    module = parse(program(fills(body=both), takes(), depth))
    loop = next(op for op in module.walk() if isinstance(op, scf.ForOp) and op.results)
    loop.attributes["nv_tileas.schedule"] = DictionaryAttr({})
    for order, op in enumerate(list(loop.body.block.ops)[:-1]):
        stage = depth if order == 6 else 0
        for name, number in (("stage", stage), ("iter_offset", -stage), ("order", order)):
            op.attributes[name] = IntegerAttr(number, i32)
    held = run_passes(module.clone(), PASS)
    assert "wait for each other in a circle" in (decided(held) or "")
    monkeypatch.setattr("tileas_xdsl.transforms.tileas.materialize_schedule.agents._require_no_circle", lambda *_: None)
    monkeypatch.setattr("tileas_xdsl.analysis.pipeline_dependence._next_lap", lambda *_: ())
    peeled = run_passes(module.clone(), PASS)
    assert is_peeled(peeled)
    report = check(peeled, "f", timeout=120)
    assert report.verdict is Verdict.VIOLATION
    assert "deadlock" in str(report)
