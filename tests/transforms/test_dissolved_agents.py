"""
Agents become one again where AUS is asked for: numbers stay, the program is safe and can be pipelined; or the function
stays as it is, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr

from tests.support.corpora import each
from tests.support.ir import example, parse, print_custom, run_passes, through
from tests.support.materialize_async import ORDERS, attention, gemm
from tests.support.random_tile_kernels import assert_right_and_safe, random_kernel
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import failed_softly
from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.machine.running import run
from tileas_xdsl.transforms.tileas.materialize_schedule import AGENTS

PASS = "tileas-materialize-schedule"
AUS = f"{PASS}{{use-aus=true}}"
QUEUES = "tileas-queue-to-pipeline,tileas-materialize-async"
SPLIT = "tileir{compute-capability=sm_90 pipeline-strategy=warp-specialize unspecialized-pipeline-num-stages=1}"


def reason(module: ModuleOp) -> str:
    (function,) = functions_in(module)
    found = function.attributes[AGENTS]
    assert isinstance(found, DictionaryAttr)
    text = found.data["reason"]
    assert isinstance(text, StringAttr)
    return text.data


def has_agents(module: ModuleOp) -> bool:
    return any(isinstance(op, AgentSwitchOp) for op in module.walk())


# Meaning --------------------------------------------------------------------------------------------------------------

EXAMPLES: dict[str, Callable[[int], dict[str, Any]]] = {"gemm_queue": gemm, "attention_queue": attention}


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("name", EXAMPLES)
def test_programs_with_queues_become_one_agent_that_can_be_pipelined(name: str, stages: int) -> None:
    text = example(name)
    module = through(text, f"{QUEUES},{AUS},tileas-unspecialized-pipeline{{num-stages={stages}}}")
    assert not has_agents(module)
    loops = [op for op in module.walk() if isinstance(op, scf.ForOp)]
    assert len(loops) == 1
    (function,) = functions_in(module)
    assert not failed_softly(function, "tileas-unspecialized-pipeline")
    assert any(isinstance(op, scf.IfOp) for op in module.walk()) == (stages > 1), "pieces are peeled"
    before = parse(text)
    output = "c" if name == "gemm_queue" else "o"
    for trips in (0, 1, 2, 3, 5):
        first = run(before, None, EXAMPLES[name](trips))
        for order, seed in ORDERS:
            found = run(module, None, EXAMPLES[name](trips), order=order, seed=seed)
            assert found.violations == ()
            assert first.arrays[output].tobytes() == found.arrays[output].tobytes()
    report = check(module)
    assert report.verdict is Verdict.SAFE, f"{report}\n{print_custom(module)}"
    assert report.holds_for_every_trip_count


def test_the_driver_makes_one_agent_of_queues_too() -> None:
    module = through(example("gemm_queue"), "tileir{compute-capability=sm_90 pipeline-strategy=unspecialize}")
    assert not has_agents(module)
    assert reason(module) == "AUS was asked for, and the agents of the program are one"
    assert check(module).verdict is Verdict.SAFE


@each("seed", range(200), 6, slow=(68, 116, 165))
def test_what_the_family_cuts_in_two_it_puts_together_again(seed: int) -> None:
    """Without stages, so that loops have one turn for each iteration."""
    source = random_kernel(seed)
    agents = through(source, SPLIT)
    module = run_passes(agents.clone(), AUS)
    verify_dominance(module)
    if not has_agents(agents):
        return
    if has_agents(module):
        assert "several agents empty one ring" in reason(module)
        assert sum(len(op.regions) for op in agents.walk() if isinstance(op, AgentSwitchOp)) == 3
    assert_right_and_safe(module, source, (0, 1, 2, 5), seed)


# Refusals -------------------------------------------------------------------------------------------------------------

RING = """
!p = !nv_tileas.producer_token
!c = !nv_tileas.consumer_token
!t = tensor<4xf32>
func.func @f(%n: index, %x: !t, %ok: i1) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {{
    numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8}} : () -> (!p, !c)
  nv_tileas.async.pipeline.agent_switch %p, %c attributes {{num_agents_per_group = array<i32: 1, 1>}} {{
{first}
  }}, {{
{second}
  }} : (!p, !c) -> ()
  func.return
}}"""
PUT = """nv_tileas.async.pipeline.produce_one %p, %i attributes {producer_types = [!t]} {
      ^bb0(%slot: !t):
        nv_tileas.async.pipeline.yield %x : (!t) -> ()
      } : (!p, index) -> ()"""
GET = """%v = nv_tileas.async.pipeline.consume_one %c, %i attributes {consumer_types = [!t]} {
      ^bb0(%slot: !t):
        nv_tileas.async.pipeline.yield %slot : (!t) -> ()
      } : (!c, index) -> !t"""


def loop(body: str, bounds: str = "%c0 to %n step %c1") -> str:
    return f"    scf.for %i = {bounds} {{\n      {body}\n    }}"


def ring(first: str, second: str) -> str:
    return RING.format(first=first, second=second)


@pytest.mark.parametrize(
    ("text", "because"),
    [
        (ring(loop(PUT), loop(GET, "%c0 to %n step %c2")), "do not have the same bounds"),
        (ring(loop(GET), loop(PUT)), "is not filled once and then emptied once in every turn"),
        (ring(loop(PUT), loop(f"{GET}\n      {GET.replace('%v', '%w')}")), "is not filled once and then emptied once"),
        (ring(loop(PUT), loop(GET) + "\n" + loop(GET)), "an agent has several loops over rings"),
        (ring(loop(PUT), loop(f"scf.if %ok {{\n {GET}\n }}")), "of an agent is not in the body of its loop"),
        (ring(loop(PUT), loop("func.call @f(%i, %x, %ok) : (index, !t, i1) -> ()")), "may wait for another one"),
        (
            ring(loop(PUT), loop(GET)).replace("array<i32: 1, 1>", "array<i32: 1, 2>"),
            "a group has several agents, or agents get values handed in",
        ),
    ],
    ids=["bounds", "order", "two gets", "two loops", "in a branch", "a call", "a group"],
)
def test_agents_that_cannot_become_one_stay_as_they_are(text: str, because: str) -> None:
    before, module = parse(text), through(text, AUS)
    assert because in reason(module)
    (function,) = functions_in(module)
    assert failed_softly(function, PASS)
    for name in (AGENTS, "nv_tileas.pass_status"):
        function.attributes.pop(name)
    assert print_custom(module) == print_custom(before)


def test_the_same_ring_in_step_is_taken() -> None:
    """The twin of the programs that are refused."""
    module = through(ring(loop(PUT), loop(GET)), AUS)
    assert not has_agents(module)
    assert check(module, "f").verdict is Verdict.SAFE
