"""
Warps of agents: the numbers of TileAS' mapping, what is written on what runs in an agent, and both errors.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.utils.exceptions import PassFailedException

from tests.support.ir import ROOT, parse, print_custom, run_passes
from tests.support.materialize_async import gemm
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.verification import integers_of
from tileas_xdsl.machine.running import run
from tileas_xdsl.targets.warps import block_warps, first_warps, up_to_groups
from tileas_xdsl.transforms.tileas.execution_units import (
    NUM_WARPS,
    OptimizeExecutionUnitMappingPass,
    PropagateExecutionUnitPass,
)

MAPPING, PROPAGATION = "optimize-execution-unit-mapping", "propagate-execution-unit"


IDLE = "  %none = nv_tileas.create_none : () -> !nv_tileas.token"


def switch(warps: str, groups: str, *bodies: str, more: str = "") -> str:
    """A function with one `agent_switch`."""
    given = f", num_warps = array<i32: {warps}>" if warps else ""
    regions = ", ".join(f"{{\n{body}\n}}" for body in bodies)
    return f"""
func.func @f(%n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  nv_tileas.async.pipeline.agent_switch attributes {{num_agents_per_group = array<i32: {groups}>{given}}} {regions}
    : () -> ()
  func.return
}}
func.func private @helper(%n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {{
  }}
  func.return
}}{more}"""


def mapped(module: ModuleOp) -> list[tuple[int, ...] | None]:
    (op,) = (op for op in module.walk() if isinstance(op, AgentSwitchOp))
    return [integers_of(entry) for entry in (op.num_warps, op.warp_id, op.agent_strides)]


@pytest.mark.parametrize(
    ("warps", "groups", "found"),
    [
        ("4, 1, 8", "1, 1, 1", [(4, 1, 8), (0, 4, 8), (4, 4, 8)]),
        ("4, 4", "1, 1", [(4, 4), (0, 4), (4, 4)]),
        ("4, 8", "1, 1", [(4, 8), (8, 0), (4, 8)]),
        ("1", "1", [(1,), (0,), (4,)]),
        ("4, 4", "1, 2", [(4, 4, 4), (0, 4, 8), (4, 4, 4)]),
        ("", "1, 1", [(4, 4), (0, 4), (4, 4)]),
    ],
    ids=[
        "a hole of three",
        "no hole",
        "the largest first",
        "up to a warpgroup",
        "an entry an agent",
        "four where nothing says",
    ],
)
def test_the_worked_numbers(warps: str, groups: str, found: list[tuple[int, ...]]) -> None:
    bodies = [IDLE for _ in groups.split(",")]
    module = run_passes(parse(switch(warps, groups, *bodies)), MAPPING)
    assert mapped(module) == found
    text = print_custom(module)
    assert print_custom(run_passes(module, MAPPING)) == text


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6))
def test_agents_are_aligned_and_apart(warps: list[int]) -> None:
    starts = first_warps(warps)
    assert all(start % count == 0 for start, count in zip(starts, warps, strict=True))
    ranges = sorted((start, start + count) for start, count in zip(starts, warps, strict=True))
    assert all(end <= start for (_, end), (start, _) in pairwise(ranges))
    assert block_warps(warps) % 4 == 0
    assert 0 <= block_warps(warps) - ranges[-1][1] < 4


@given(st.lists(st.sampled_from([1, 2, 4, 8, 16]), min_size=1, max_size=6))
def test_a_block_has_no_hole_of_a_warpgroup(warps: list[int]) -> None:
    assert block_warps(warps) == up_to_groups(sum(warps))


LOOP = "  scf.for %i = %c0 to %n step %c1 {\n  func.call @helper(%n) : (index) -> ()\n  }"


def test_what_runs_in_an_agent_knows_its_warps() -> None:
    module = run_passes(parse(switch("4, 8", "1, 1", IDLE, LOOP)), PROPAGATION)
    marked = [op for op in module.walk() if NUM_WARPS in op.attributes]
    assert [type(op) for op in marked] == [scf.ForOp, func.FuncOp, scf.ForOp]
    assert {op.attributes[NUM_WARPS] for op in marked} == {IntegerAttr(8, 32)}


def test_a_function_of_two_agents_needs_one_number_of_warps() -> None:
    module = run_passes(parse(switch("4, 4", "1, 1", LOOP, LOOP)), PROPAGATION)
    assert sum(NUM_WARPS in op.attributes for op in module.walk()) == 4
    module = parse(switch("4, 8", "1, 1", LOOP, LOOP))
    before = print_custom(module)
    text = "inconsistent numWarps in the agent switch, maybe it is called in different agents with different numWarps"
    with pytest.raises(PassFailedException, match=text):
        run_passes(module, PROPAGATION)
    assert print_custom(module) == before


def test_functions_that_call_each_other_in_a_circle_are_marked_once() -> None:
    more = """
func.func private @odd(%n: index) {
  func.call @even(%n) : (index) -> ()
  func.return
}
func.func private @even(%n: index) {
  func.call @odd(%n) : (index) -> ()
  func.return
}"""
    module = run_passes(parse(switch("4", "1", "  func.call @odd(%n) : (index) -> ()", more=more)), PROPAGATION)
    marked = [op.sym_name.data for op in module.walk() if isinstance(op, func.FuncOp) and NUM_WARPS in op.attributes]
    assert marked == ["odd", "even"]


def test_holes_count() -> None:
    """The warps alone are 29, as many as a block may have; with holes they are 40."""
    module = parse(switch("1, 12, 16", "1, 1, 1", IDLE, IDLE, IDLE))
    before = print_custom(module)
    with pytest.raises(PassFailedException, match="agent warp count exceeds module budget") as refused:
        run_passes(module, MAPPING)
    assert "the agents take 40 of 32 warps" in str(refused.value)
    assert print_custom(module) == before


def test_the_driver_maps_the_agents_that_it_makes() -> None:
    text = (ROOT / "examples" / "gemm_loop.mlir").read_text()
    module = run_passes(parse(text), "tileir{compute-capability=sm_90 pipeline-strategy=warp-specialize}")
    assert mapped(module) == [(4, 4), (0, 4), (4, 4)]
    assert run(module, "gemm", gemm(2)).violations == ()


def test_the_descriptions_are_those_of_tileas() -> None:
    assert OptimizeExecutionUnitMappingPass.DESCRIPTION == "Optimize the numWarps and warpId alignment for each agent"
    assert PropagateExecutionUnitPass.DESCRIPTION == "propagate the numWarps for each agent"
