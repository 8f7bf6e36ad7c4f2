"""
TileASDynamicPersistent: one block computes program after program, and slots and phases go on from one to the next.
"""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import parse, print_custom, run_passes
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import RefusedError, Severity, recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp, CreatePipelineOp
from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.machine.running import run
from tileas_xdsl.transforms.loops.persistent_loop import is_persistent_loop
from tileas_xdsl.transforms.tileas.dynamic_persistent import ALREADY, DynamicPersistentPass

PASS = "tileas-dynamic-persistent"
ORDERS = (("eager", 0), ("lazy", 0), ("random", 3))
TYPES = """
#smem = #nv_tileas.layout<smem>
!a = tensor<16x16xf16, #smem>
!b = tensor<16x16xf16, #smem>
!c = tensor<16x16xf32>
"""
ARGUMENTS = "%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index"
CONSTANTS = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %row = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %col = nv_tileaa.get_program_id attributes {axis = 1 : i32} : () -> index"""
GEMM = f"""{TYPES}
func.func @f({ARGUMENTS}) {{{CONSTANTS}
  %product = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {{
    %at = nv_tileaa.tiled_load %a[%row, %k] : (memref<?x?xf16>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%k, %col] : (memref<?x?xf16>, index, index) -> !b
    %sum = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
    scf.yield %sum : !c
  }}
  nv_tileaa.tiled_store %c[%row, %col], %product : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}}"""
QUEUES = f"""{TYPES}
!q = !nv_tileaa.queue<[!a, !b], depth = 2>
func.func @f({ARGUMENTS}) {{{CONSTANTS}
  %twice = arith.addi %row, %row : index
  %again = arith.subi %twice, %row : index
  %q = nv_tileaa.create_queue : () -> !q
  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1, 1>, max_regs = array<i32: 40, 232>}} {{
    scf.for %k = %c0 to %n step %c1 {{
      %at = nv_tileaa.tiled_load %a[%again, %k] : (memref<?x?xf16>, index, index) -> !a
      %bt = nv_tileaa.tiled_load %b[%k, %col] : (memref<?x?xf16>, index, index) -> !b
      nv_tileaa.queue.put %q, %at, %bt : (!q, !a, !b) -> ()
    }}
  }}, {{
    %product = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {{
      %at, %bt = nv_tileaa.queue.get %q : (!q) -> (!a, !b)
      %sum = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
      scf.yield %sum : !c
    }}
    nv_tileaa.tiled_store %c[%row, %col], %product : (memref<?x?xf32>, !c, index, index) -> ()
  }} : () -> ()
  func.return
}}"""
INDEXED = QUEUES.replace("queue.put %q, %at", "queue.put %q[%k], %at").replace("(!q, !a, !b)", "(!q, index, !a, !b)")
INDEXED = INDEXED.replace("get %q : (!q)", "get %q[%k] : (!q, index)")

ROADS = {
    "alone": PASS,
    "tokens": f"tileas-materialize-async,{PASS}",
    "one agent": "tileir{compute-capability=sm_90 dynamic-persistent=true pipeline-strategy=unspecialize "
    "unspecialized-pipeline-num-stages=3}",
    "two agents": "tileir{compute-capability=sm_90 dynamic-persistent=true pipeline-strategy=warp-specialize "
    "unspecialized-pipeline-num-stages=3}",
    "two computing agents": "tileir{compute-capability=sm_90 dynamic-persistent=true "
    "pipeline-strategy=warp-specialize unspecialized-pipeline-num-stages=4 sub-tiles=2}",
}


def persistent(text: str, road: str = PASS) -> ModuleOp:
    module = parse(text)
    with recorded_diagnostics():
        run_passes(module, road)
    return module


def given(rows: int, columns: int, trips: int) -> dict[str, object]:
    generator = np.random.default_rng(rows + 10 * columns + 100 * trips)
    a = generator.integers(-3, 4, (16 * rows, 16 * max(trips, 1))).astype(np.float16)
    b = generator.integers(-3, 4, (16 * max(trips, 1), 16 * columns)).astype(np.float16)
    return {"a": a, "b": b, "c": np.full((16 * rows, 16 * columns), 7, np.float32), "n": trips}


def product(arguments: dict[str, object], trips: int) -> np.ndarray:
    a, b, c = (np.asarray(arguments[name], np.float32) for name in "abc")
    return a @ b if trips else np.zeros_like(c)


def assert_every_program_is_computed(module: ModuleOp) -> None:
    """Against numpy, at least three tiles, with trip counts that leave each in another slot and phase."""
    for grid in ((1,), (3,), (2, 3)):
        rows, columns = (*grid, 1)[:2]
        for trips in (0, 1, 2, 3, 5):
            arguments = given(rows, columns, trips)
            for order, seed in ORDERS:
                done = run(module, "f", arguments, order=order, seed=seed, programs=grid)
                assert done.violations == (), f"{grid}, {trips}\n{print_custom(module)}"
                np.testing.assert_array_equal(done.arrays["c"], product(arguments, trips))


def assert_safe(module: ModuleOp) -> None:
    """For every number of programs, and for three programs at trip counts around the number of stages."""
    report = check(module, "f", args={"n": 3}, timeout=200)
    assert report.verdict is Verdict.SAFE, f"{report}\n{print_custom(module)}"
    assert report.is_proved, f"{report}\n{print_custom(module)}"
    report = check(module, "f", programs=3, trip_counts=range(6), timeout=200)
    assert report.verdict is Verdict.SAFE, f"{report}\n{print_custom(module)}"


def loops(module: ModuleOp) -> list[scf.WhileOp]:
    return [op for op in module.walk() if is_persistent_loop(op)]


@pytest.mark.parametrize("road", ROADS)
def test_one_block_computes_every_program(road: str) -> None:
    module = persistent(GEMM, ROADS[road])
    agents = sum(len(op.regions) for op in module.walk() if isinstance(op, AgentSwitchOp))
    assert len(loops(module)) == max(agents, 1)
    assert_every_program_is_computed(module)
    assert_safe(module)


@pytest.mark.parametrize("road", ["one agent", "two agents", "two computing agents"])
def test_rings_are_made_once_and_their_iterators_go_on(road: str) -> None:
    module = persistent(GEMM, ROADS[road])
    rings = [op for op in module.walk() if isinstance(op, CreatePipelineOp)]
    assert rings
    assert not any(loop.is_ancestor(ring) for loop in loops(module) for ring in rings)
    assert all(len(loop.arguments) > 1 for loop in loops(module))


def without_phases_carried_on(agent: int) -> ModuleOp:
    """The GEMM in two agents, one of which begins each program at the first slot again."""
    module = persistent(GEMM, ROADS["two agents"])
    loop = loops(module)[agent]
    last = loop.after_region.block.last_op
    assert last is not None
    last.operands = [last.operands[0], *loop.arguments[1:]]
    module.verify()
    return module


def test_a_consumer_that_begins_at_the_first_slot_again_races() -> None:
    assert check(without_phases_carried_on(1), "f", args={"n": 2}, programs=3).verdict is Verdict.VIOLATION


def test_a_producer_that_begins_at_the_first_slot_again_is_malformed() -> None:
    report = check(without_phases_carried_on(0), "f", args={"n": 2}, programs=3)
    assert "malformed" in report.kinds
    assert "commits stage 0 of pipeline 'bt_ring' a second time" in str(report)


# Agents that the program has ------------------------------------------------------------------------------------------


def test_each_agent_that_there_is_gets_a_loop() -> None:
    module = persistent(QUEUES, f"tileas-queue-to-pipeline,tileas-materialize-async,{PASS}")
    (switch,) = [op for op in module.walk() if isinstance(op, AgentSwitchOp)]
    assert [any(map(is_persistent_loop, region.walk())) for region in switch.regions] == [True, True]
    assert_every_program_is_computed(module)
    assert_safe(module)


# Once -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [GEMM, QUEUES], ids=["one agent", "agents"])
def test_a_kernel_is_made_persistent_once_and_a_second_run_warns(text: str) -> None:
    module = parse(text)
    run_passes(module, f"tileas-queue-to-pipeline,{PASS}")
    once = print_custom(module)
    with recorded_diagnostics() as said:
        run_passes(module, PASS)
    assert print_custom(module) == once
    assert [(str(each.severity.label), each.message, each.verbatim) for each in said] == [("warning", ALREADY, True)]
    assert said[0].severity is Severity.WARNING
    assert ALREADY == "Kernel is already dynamic persistent"
    assert DynamicPersistentPass.DESCRIPTION == "Make the kernel into dynamic persistent kernels"


def test_a_function_that_asks_for_no_program_stays_as_it_is() -> None:
    text = "func.func @f(%n: index) {\n  %m = arith.addi %n, %n : index\n  func.return\n}"
    module = parse(text)
    before = print_custom(module)
    run_passes(module, PASS)
    assert print_custom(module) == before


# Refusals -------------------------------------------------------------------------------------------------------------

STORE = "nv_tileaa.tiled_store %c[%row, %col], %zero : (memref<?x?xf32>, !c, index, index) -> ()"
BESIDE = QUEUES.replace("  %q = ", f"  {STORE}\n  %q = ")
RETURNS = GEMM.replace(") {\n  %c0", ") -> index {\n  %c0").replace("func.return", "func.return %row : index")
BLOCKS = GEMM.replace("  func.return", "  cf.br ^end\n^end:\n  func.return")
REFUSALS = {
    "stages by number": (INDEXED, "numbers the stages of its ring itself, from 0 in each program"),
    "beside agents": (BESIDE, "stands beside the agents, and has to be done for each program"),
    "results": (RETURNS, "returns values, and a persistent kernel computes many programs"),
    "blocks": (BLOCKS, "has branches between blocks"),
    "queues": (QUEUES, "starts agents beside or within others, or agents that use queues"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_cannot_be_persistent_is_refused_and_nothing_is_touched(case: str) -> None:
    text, reason = REFUSALS[case]
    module = parse(text)
    if case != "queues":
        run_passes(module, "tileas-queue-to-pipeline")
    before = print_custom(module)
    with pytest.raises(RefusedError, match=reason):
        run_passes(module, PASS)
    assert print_custom(module) == before


# Programs of the machine ----------------------------------------------------------------------------------------------


def test_programs_run_in_the_order_of_their_numbers_with_and_without_a_persistent_loop() -> None:
    """Each program writes how many have come before it: x first, then y."""
    text = """
    func.func @f(%order: memref<6xindex>, %count: memref<1xindex>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %x = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
      %y = nv_tileaa.get_program_id attributes {axis = 1 : i32} : () -> index
      %width = nv_tileaa.get_num_programs attributes {axis = 0 : i32} : () -> index
      %rows = arith.muli %y, %width : index
      %number = arith.addi %rows, %x : index
      %seen = memref.load %count[%c0] : memref<1xindex>
      memref.store %seen, %order[%number] : memref<6xindex>
      %next = arith.addi %seen, %c1 : index
      memref.store %next, %count[%c0] : memref<1xindex>
      func.return
    }"""
    for module in (parse(text), persistent(text)):
        arguments = {"order": np.full(6, -1), "count": np.zeros(1, np.int64)}
        done = run(module, "f", arguments, programs=(2, 3))
        np.testing.assert_array_equal(done.arrays["order"], range(6))
        assert done.arrays["count"].tolist() == [6]


@pytest.mark.parametrize("grid", [(), (0,), (2, 2, 2, 2), (1 << 20,)])
def test_a_grid_that_there_is_not_is_refused(grid: tuple[int, ...]) -> None:
    with pytest.raises(ArgumentError, match="a grid has"):
        run(parse(GEMM), "f", given(1, 1, 1), programs=grid)


def test_programs_that_nobody_asks_for_are_refused() -> None:
    module = parse("func.func @f(%n: index) {\n  func.return\n}")
    with pytest.raises(ArgumentError, match="never asks which program it is"):
        run(module, "f", {"n": 1}, programs=(2,))
    with pytest.raises(ArgumentError, match="no function takes programs over"):
        check(module, "f", programs=2)
