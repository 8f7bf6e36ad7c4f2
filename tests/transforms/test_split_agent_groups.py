"""Agents of a group in regions of their own: the numbers stay, and so does who waits for whom."""

from __future__ import annotations

import pytest

from tests.support.ir import parse, run_passes
from tests.support.queue_kernels import IN_A_GROUP
from tests.support.thread_kernels import assert_computes
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.pipeline import CreatePipelineOp

PASS = "tileas-split-agent-groups"
QUEUES = "tileas-queue-to-pipeline"


@pytest.mark.parametrize("trips", [0, 1, 2, 3, 4, 9])
def test_numbers_stay(trips: int) -> None:
    module = run_passes(parse(IN_A_GROUP.text), f"{QUEUES},{PASS}")
    module.verify()
    assert "%number" not in str(module).split("agent_switch")[1].split("}, {")[0]
    for order in ("eager", "lazy", "random"):
        assert_computes(module, IN_A_GROUP, trips, order)


def test_both_are_safe_for_every_trip_count() -> None:
    for passes in (QUEUES, f"{QUEUES},{PASS}"):
        assert check(run_passes(parse(IN_A_GROUP.text), passes)).verdict_line == "safe for every trip count"


SWITCH = """
func.func @f(%a: memref<8xindex>) {
  %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 1 : i8,
    consumerGroupId = 2 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  nv_tileas.async.pipeline.agent_switch %p, %c attributes {num_agents_per_group = array<i32: 2, 1, 2>,
    max_regs = array<i32: 40, 64, 232>, num_warps = array<i32: 1, 2, 4>} {
  ^bb0(%first: index):
    memref.store %first, %a[%first] : memref<8xindex>
  }, {
    %two = arith.constant 2 : index
    memref.store %two, %a[%two] : memref<8xindex>
  }, {
  ^bb0(%last: index):
    %three = arith.constant 3 : index
    %place = arith.addi %last, %three : index
    memref.store %place, %a[%place] : memref<8xindex>
  } : (!nv_tileas.producer_token, !nv_tileas.consumer_token) -> ()
  func.return
}"""


def _switch(text: str) -> AgentSwitchOp:
    module = run_passes(parse(text), PASS)
    module.verify()
    (switch,) = [op for op in module.walk() if isinstance(op, AgentSwitchOp)]
    return switch


def test_what_is_said_of_regions_follows() -> None:
    switch = _switch(SWITCH)
    assert switch.group_sizes == (1, 1, 1, 1, 1)
    assert switch.max_regs is not None
    assert switch.num_warps is not None
    assert switch.max_regs.get_values() == (40, 40, 64, 232, 232)
    assert switch.num_warps.get_values() == (1, 1, 2, 4, 4)
    assert not any(region.block.args for region in switch.bodies)
    (ring,) = {token.owner for token in switch.arguments}
    assert isinstance(ring, CreatePipelineOp)
    assert (ring.producer_group_number, ring.consumer_group_number) == (2, 3)


def test_pipelines_that_agents_take_from_outside_follow_too() -> None:
    text = SWITCH.replace("agent_switch %p, %c attributes", "agent_switch attributes").replace(
        ": (!nv_tileas.producer_token, !nv_tileas.consumer_token) -> ()\n  func", ": () -> ()\n  func"
    )
    text = text.replace(
        "    memref.store %two",
        "    %own = nv_tileas.async.pipeline.producer_acquire %p, %two"
        " : (!nv_tileas.producer_token, index) -> !nv_tileas.producer_token\n    memref.store %two",
    )
    module = run_passes(parse(text), PASS)
    (ring,) = [op for op in module.walk() if isinstance(op, CreatePipelineOp)]
    assert (ring.producer_group_number, ring.consumer_group_number) == (2, 3)


def test_groups_that_are_not_there_keep_their_numbers() -> None:
    (ring,) = {token.owner for token in _switch(SWITCH.replace("consumerGroupId = 2", "consumerGroupId = 9")).arguments}
    assert isinstance(ring, CreatePipelineOp)
    assert (ring.producer_group_number, ring.consumer_group_number) == (2, 9)


def test_warps_that_agents_have_stay() -> None:
    text = SWITCH.replace(
        "num_warps = array<i32: 1, 2, 4>",
        "num_warps = array<i32: 1, 1, 2, 4, 4>, warp_id = array<i32: 0, 1, 2, 4, 8>",
    )
    switch = _switch(text)
    assert switch.num_warps is not None
    assert switch.warp_id is not None
    assert switch.num_warps.get_values() == (1, 1, 2, 4, 4)
    assert switch.warp_id.get_values() == (0, 1, 2, 4, 8)


def test_warps_of_some_agents_are_refused() -> None:
    text = SWITCH.replace("num_warps = array<i32: 1, 2, 4>", "warp_id = array<i32: 0, 4, 8>")
    module = parse(text)
    before = str(module)
    with pytest.raises(RefusedError, match="has 5 agents, and warp_id for 3"):
        run_passes(module, PASS)
    assert str(module) == before


def test_a_switch_of_single_agents_stays_as_it_is() -> None:
    once = str(run_passes(parse(SWITCH), PASS))
    assert str(run_passes(parse(once), PASS)) == once


ISOLATED = (
    SWITCH.replace("num_warps = array", "isolated = true, num_warps = array")
    .replace(
        "^bb0(%first: index):", "^bb0(%first: index, %p1: !nv_tileas.producer_token, %c1: !nv_tileas.consumer_token):"
    )
    .replace(
        "  }, {\n    %two", "  }, {\n  ^bb0(%p2: !nv_tileas.producer_token, %c2: !nv_tileas.consumer_token):\n    %two"
    )
    .replace(
        "^bb0(%last: index):", "^bb0(%last: index, %p3: !nv_tileas.producer_token, %c3: !nv_tileas.consumer_token):"
    )
)


def test_agents_that_get_what_they_use_keep_it() -> None:
    switch = _switch(ISOLATED)
    assert [len(region.block.args) for region in switch.bodies] == [2, 2, 2, 2, 2]


def test_groups_within_groups() -> None:
    """The inner agents are split in each copy; which of them takes a stage is said of their own group."""
    inner = """
    %q, %d = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8,
      consumerGroupId = 1 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
    nv_tileas.async.pipeline.agent_switch %q, %d attributes {num_agents_per_group = array<i32: 2>} {
    ^bb0(%own: index):
      %four = arith.constant 4 : index
      %row = arith.muli %first, %four : index
      %spot = arith.addi %row, %own : index
      memref.store %spot, %a[%spot] : memref<8xindex>
    } : (!nv_tileas.producer_token, !nv_tileas.consumer_token) -> ()
"""
    text = SWITCH.replace("    memref.store %first, %a[%first] : memref<8xindex>\n", inner).replace(
        ", num_warps = array<i32: 1, 2, 4>", ""
    )
    module = run_passes(parse(text), PASS)
    module.verify()
    sizes = [op.group_sizes for op in module.walk() if isinstance(op, AgentSwitchOp)]
    assert sorted(sizes) == [(1, 1), (1, 1), (1, 1, 1, 1, 1)]
