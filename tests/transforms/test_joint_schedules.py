"""
`exact-agents`: proven schedules for a producer and a computing agent, carried out.

Every kernel is materialised, computes the same numbers, is safe for every trip count, and runs at most as long as its
interval. It may be faster: the model charges the loop's own arithmetic to both agents, and lanes for conversions of
layout that the timed machine hides behind the access.
"""

from __future__ import annotations

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.utils.exceptions import PassFailedException

from tests.support.corpora import each
from tests.support.ir import parse, print_custom, run_passes
from tests.support.scheduled_kernels import KERNELS, Kernel
from tests.support.scheduled_loops import (
    GEMM,
    after,
    assert_kept,
    buffers,
    joint,
    number,
    ops_of,
    prepared,
    proof_of,
    schedule_of,
    scheduled,
)
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp
from tileas_xdsl.machine.time.simulation import simulate
from tileas_xdsl.scheduling.loop_problem import loop_problem
from tileas_xdsl.scheduling.modulo.validator import faults
from tileas_xdsl.scheduling.shared_loops import OneAgentError, partitions_of
from tileas_xdsl.targets.machine_models import machine_model
from tileas_xdsl.transforms.tileas.generate_schedule import GenerateSchedulePass, plan_module

TRIPS = 32


def with_two_agents(kernel: Kernel) -> ModuleOp:
    return after(kernel.text, f"{prepared(target=kernel.target)},{scheduled(target=kernel.target, more=joint(2))}")


@each("kernel", KERNELS, 7, ids=lambda kernel: kernel.name)
def test_a_joint_schedule_is_carried_out(kernel: Kernel) -> None:
    module = with_two_agents(kernel)
    entries = schedule_of(module)
    proof = proof_of(entries)
    assert proof.endswith("; 2 agents")
    assert "(proven" in proof
    assert "registers" not in proof, "all tiles fit"
    assert number(entries, "lower_bound") == number(entries, "ii")
    alone = schedule_of(after(kernel.text, f"{prepared(target=kernel.target)},{scheduled(target=kernel.target)}"))
    assert number(entries, "ii") < number(alone, "ii")
    run_passes(module, f"{buffers(kernel.target)},tileas-materialize-schedule{{compute-capability={kernel.target}}}")
    verify_dominance(module)
    (switch,) = ops_of(module, AgentSwitchOp)
    assert isinstance(switch, AgentSwitchOp)
    assert len(switch.bodies) == 2
    for trips in (0, 1, 2, 5):
        assert_kept(parse(kernel.text), module, kernel, trips)
    assert check(module, "f").verdict is Verdict.SAFE
    timed = simulate(module, "f", kernel.arguments(TRIPS), kernel.target)
    assert timed.cycles_per_iteration is not None
    assert timed.cycles_per_iteration <= number(entries, "ii")


def test_the_validator_accepts_schedules_for_two_agents() -> None:
    options = GenerateSchedulePass(compute_capability="sm_90", strategy="exact", exact_agents=2, exact_limit=2)
    (found,) = plan_module(after(KERNELS[0].text, prepared()), options)
    result = found.schedule
    assert faults(result.problem, result.ii, result.starts, result.copies) == []
    slots = {use.slot for op in result.problem.ops for use in op.uses}
    assert {"producer agent", "computing agent"} <= slots
    assert "agent" not in slots


def agents_on(module: ModuleOp) -> set[int]:
    tags = (op.attributes.get("agent") for op in module.walk())
    return {tag.value.data for tag in tags if isinstance(tag, IntegerAttr)}


def test_as_few_agents_as_reach_the_least_interval() -> None:
    """One agent has too much to do in the small GEMM; in the large one the tensor core binds anyway."""
    small = after(KERNELS[0].text, f"{prepared()},{scheduled(16, more=joint('auto'))}")
    entries = schedule_of(small)
    assert (number(entries, "agents"), number(entries, "ii")) == (2, 64)
    assert proof_of(entries).endswith("; 2 agents (proven: with 1, II >= 95)")
    assert agents_on(small) == {0, 1}
    large = after(GEMM, f"{prepared()},{scheduled(16, more=joint('auto'))}")
    entries = schedule_of(large)
    assert (number(entries, "agents"), number(entries, "ii")) == (1, 530)
    assert proof_of(entries).endswith("; 1 agent (proven: with 2, II >= 530)")
    assert agents_on(large) == set()


def in_halves(target: str = "sm_90") -> str:
    """The road to a schedule for a producer and one or two computing agents, with products in two sub-tiles."""
    split = prepared(target=target).replace("{", "{sub-tiles=2 ", 1)
    return f"{split},{scheduled(target=target, more=joint(3))}"


def test_attention_in_two_sub_tiles_gets_two_computing_agents() -> None:
    """One computing agent has 492 cycles of work in each iteration; two, without being told which ops, have 267."""
    kernel = next(kernel for kernel in KERNELS if kernel.name == "attention_128")
    module = after(kernel.text, in_halves())
    entries = schedule_of(module)
    assert [number(entries, name) for name in ("agents", "ii", "lower_bound")] == [3, 267, 267]
    assert proof_of(entries).endswith("; 3 agents (proven: with 2, II >= 492)")
    products = [op for op in module.walk() if isinstance(op, AsyncDotOp)]
    assert [op.attributes["agent"] for op in products] == [IntegerAttr(agent, 32) for agent in (1, 2, 1, 2)]
    run_passes(module, f"{buffers(kernel.target)},tileas-materialize-schedule{{compute-capability={kernel.target}}}")
    verify_dominance(module)
    (switch,) = ops_of(module, AgentSwitchOp)
    assert isinstance(switch, AgentSwitchOp)
    assert len(switch.bodies) == 3
    for trips in (0, 1, 2, 5, 9):
        assert_kept(parse(kernel.text), module, kernel, trips)
    report = check(module, "f")
    assert report.verdict is Verdict.SAFE
    assert report.holds_for_every_trip_count
    timed = simulate(module, "f", kernel.arguments(TRIPS), kernel.target)
    assert timed.cycles_per_iteration is not None
    assert timed.cycles_per_iteration <= 267


@pytest.mark.parametrize(("rows", "agents"), [(128, 2), (256, 3)])
def test_registers_decide_how_many_agents_compute(rows: int, agents: int) -> None:
    """256 by 128 numbers take 256 registers of each thread of one agent, and 128 of each of two."""
    text = GEMM.replace("128x64", f"{rows}x64").replace("128x128", f"{rows}x128")
    entries = schedule_of(after(text, in_halves()))
    assert number(entries, "agents") == agents
    said = "with 2, registers: the tiles that an agent carries take 256 words of 192"
    assert (said in proof_of(entries)) == (agents == 3)


INDIRECT = """
#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16, #smem>
!b = tensor<16x64xf16, #smem>
!c = tensor<64x64xf32>
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %rows: memref<?xindex>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %row = memref.load %rows[%k] : memref<?xindex>
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%row, %c0] : (memref<?x?xf16>, index, index) -> !b
    %sum = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
    scf.yield %sum : !c
  }
  nv_tileaa.tiled_store %c[%c0, %c0], %r : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}"""


def test_a_loop_that_two_agents_cannot_share_is_refused_and_auto_takes_one() -> None:
    reason = "what fills a ring needs what 'memref.load' of the computing agent makes"
    module = after(INDIRECT, prepared())
    before = print_custom(module)
    with pytest.raises(PassFailedException, match=reason):
        run_passes(module, scheduled(more=joint(2)))
    assert print_custom(module) == before
    entries = schedule_of(run_passes(module, scheduled(16, more=joint("auto"))))
    assert number(entries, "agents") == 1
    assert proof_of(entries).endswith(f"; 1 agent ({reason})")


def test_a_loop_without_a_ring_has_one_agent() -> None:
    text = "func.func @f(%n: index) {\n%c = arith.constant 1 : index\nscf.for %i = %c to %n step %c {\n"
    module = parse(f"{text}%x = arith.addi %i, %c : index\n}}\nfunc.return\n}}")
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    with pytest.raises(OneAgentError, match="no op of the loop fills a ring"):
        list(partitions_of(loop_problem(loop, machine_model("sm_90")), 2))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (" exact-agents=2", "exact-agents=2 contradicts strategy=cost-based; use strategy=exact, or leave out exact"),
        (joint(4), "exact-agents=4; a loop is scheduled for one agent, or for a producer and one or two that compute"),
        (joint("many"), "exact-agents=many; .*choose one of 1, 2, 3, auto"),
        (joint(0), "exact-agents=0; .*choose one of 1, 2, 3, auto"),
    ],
)
def test_other_numbers_and_contradictions_are_refused(options: str, text: str) -> None:
    module = after(KERNELS[0].text, prepared())
    before = print_custom(module)
    with recorded_diagnostics(), pytest.raises(PassFailedException, match=text):
        run_passes(module, scheduled(more=options))
    assert print_custom(module) == before
