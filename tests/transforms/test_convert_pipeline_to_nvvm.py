"""
Pipelines as mbarriers, and tiles as they were: what stands between the passes is a program like those around it.

It computes the same, is judged the same, and what is left out of it is found.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from xdsl.dialects import llvm, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tests.support.corpora import each
from tests.support.ir import context, parse, print_generic, run_passes
from tests.support.mlir import mlir_opt
from tests.support.mutated_threads import EDITS
from tests.support.scheduled_kernels import KERNELS, Kernel
from tests.support.thread_kernels import (
    BY_NAME,
    TO_BARRIERS,
    TO_THREADS,
    assert_computes,
    assert_no_code,
    barriers_of,
    copies_of,
    passes,
    tiles_of,
)
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumerReleaseOp
from tileas_xdsl.dialects.nvvm import barrier, cp_async, mbarrier
from tileas_xdsl.dialects.nvvm.fence import FenceProxyOp
from tileas_xdsl.dialects.nvvm.registers import SetMaxRegisterOp
from tileas_xdsl.machine.running import run
from tileas_xdsl.transforms.to_llvm.pipelines import ConvertPipelineToNVVMPass

AUS, AWS = "unspecialize", "warp-specialize"
TARGETS = ("sm_80", "sm_90a")
WAYS = [
    (kernel, target, strategy)
    for kernel in KERNELS
    if kernel.name != "block_scaled_gemm"
    for target in TARGETS
    for strategy in (AUS, AWS)
]
STEP = "nv_tileas.async.pipeline."


def _named(way: tuple[Kernel, str, str]) -> str:
    return "-".join((way[0].name, *way[1:]))


def _barriers(way: tuple[Kernel, str, str]) -> ModuleOp:
    kernel, target, strategy = way
    return barriers_of(kernel.name, strategy, target)


# Between the passes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS, ids=_named)
def test_no_step_is_left(way: tuple[Kernel, str, str]) -> None:
    """Agents are; tiles are; what each thread does stands beside them."""
    module = _barriers(way)
    left = {op_name(op) for op in module.walk() if op_name(op).startswith(STEP)}
    assert left <= {AgentSwitchOp.name}
    assert any(op_name(op).startswith("nv_tile") for op in module.walk())
    assert any(isinstance(op, mbarrier.MBarrierInitOp) for op in module.walk())


CASES = [(way, trips, order) for way in WAYS for trips in range(6) for order in ("eager", "lazy", "random")]


@each("case", CASES, 12, ids=lambda case: f"{_named(case[0])}-{case[1]}-{case[2]}")
def test_numbers_at_every_edge(case: tuple[tuple[Kernel, str, str], int, str]) -> None:
    way, trips, order = case
    assert_computes(_barriers(way), way[0], trips, order)


@each("way", WAYS, 6, ids=_named)
def test_it_is_safe_for_every_trip_count(way: tuple[Kernel, str, str]) -> None:
    report = check(_barriers(way), timeout=None)
    assert report.verdict_line == "safe for every trip count", str(report)
    assert "what only some threads of an agent do is ordered with what its others do" in str(report)


@each("way", WAYS, 4, ids=_named)
def test_it_is_read_back(way: tuple[Kernel, str, str]) -> None:
    text = str(_barriers(way))
    assert str(parse(text)) == text


@pytest.mark.parametrize("name", ["gemm_64x64x16", "layer_norm"])
@pytest.mark.parametrize("target", TARGETS)
def test_mlir_reads_it(name: str, target: str) -> None:
    """What stands beside tiles is known to MLIR: it comes back in its custom form, unquoted."""
    text = mlir_opt(print_generic(barriers_of(name, AWS, target)), "--allow-unregistered-dialect")
    unknown = set(re.findall(r'^\s*(?:%.* = )?"([\w.]+)"', text, re.MULTILINE))
    assert unknown
    assert all(op.startswith("nv_tile") for op in unknown)


@each("way", WAYS, 4, ids=_named)
def test_twice_is_once(way: tuple[Kernel, str, str]) -> None:
    module = _barriers(way).clone()
    assert str(run_passes(module, passes(TO_BARRIERS, way[1]))) == str(_barriers(way))


# What is left out -----------------------------------------------------------------------------------------------------

SYNCHRONISING = (
    *(mbarrier.MBarrierInitOp, mbarrier.MBarrierArriveOp, mbarrier.MBarrierArriveExpectTxOp, barrier.Barrier0Op),
    *(cp_async.CpAsyncMBarrierArriveOp, mbarrier.MBarrierTestWaitOp, mbarrier.MBarrierTryWaitParityOp, scf.WhileOp),
)
"""What can be left out or altered: barriers, arrivals, waits (before sm_90 as loops of tests)."""
CHANGES: dict[type[Operation], tuple[str, ...]] = {
    mbarrier.MBarrierTestWaitOp: ("parity",),
    mbarrier.MBarrierTryWaitParityOp: ("parity", "drop"),
    mbarrier.MBarrierInitOp: ("more", "drop"),
    mbarrier.MBarrierArriveExpectTxOp: ("more", "drop"),
}
COMPARED = (("elementwise", "sm_80", AUS), ("gemm_64x64x16", "sm_90a", AWS))
KEEPS_RIGHT = {
    "elementwise": {9, 11, 15, 17, 27, 29, 37, 38, 43, 44},
    "gemm_64x64x16": {19},
}
"""
Waits and arrivals that can go, one at a time: waits for slots that nobody has used; those of which each covers the
other, since one agent gives back both slots at once; arrivals for slots that nobody fills again.
"""


def _sites(module: ModuleOp) -> list[Operation]:
    return [op for op in module.walk() if isinstance(op, SYNCHRONISING)]


MUTANTS = [
    (name, target, strategy, number, change)
    for name, target, strategy in COMPARED
    for number, op in enumerate(_sites(barriers_of(name, strategy, target)))
    for change in CHANGES.get(type(op), ("drop",))
]


@each("mutant", MUTANTS, 10, ids=lambda mutant: "-".join(map(str, mutant)))
def test_what_is_left_out_is_found(mutant: tuple[str, str, str, int, str]) -> None:
    name, target, strategy, number, change = mutant
    module = barriers_of(name, strategy, target).clone()
    EDITS[change](_sites(module)[number])
    report = check(module, trip_counts=range(9), timeout=None)
    keeps_right = change == "drop" and number in KEEPS_RIGHT[name]
    assert report.verdict_line.startswith("safe" if keeps_right else "unsafe"), report.verdict_line


def test_barriers_that_not_all_threads_know_of() -> None:
    """One thread makes them, and the others have to meet it before they use them."""
    module = barriers_of("elementwise", AUS, "sm_80").clone()
    (meeting,) = [op for op in module.walk() if isinstance(op, barrier.Barrier0Op)]
    Rewriter.erase_op(meeting)
    assert "race" in check(module, trip_counts=[1], timeout=None).verdict_line


def test_a_tile_that_some_threads_do() -> None:
    """All threads of an agent do what is done to tiles together; which part of it one of them does, nobody says."""
    module = barriers_of("elementwise", AUS, "sm_80").clone()
    load = next(op for op in module.walk() if op_name(op) == "nv_tileas.async.tiled_load")
    first = next(op for op in module.walk() if isinstance(op, scf.IfOp)).cond
    branch = scf.IfOp(first, [], [scf.YieldOp()])
    Rewriter.insert_op(branch, InsertPoint.before(load))
    load.detach()
    Rewriter.insert_op(load, InsertPoint.at_start(branch.true_region.block))
    said = "is done by some threads of an agent"
    assert said in str(check(module, trip_counts=[1], timeout=None))
    assert_no_code(module, TO_THREADS[-1:], "sm_80", said)


# What is made ---------------------------------------------------------------------------------------------------------


def test_registers_are_taken_by_agents() -> None:
    module = barriers_of("gemm_64x64x16", AWS, "sm_90a")
    (switch,) = [op for op in module.walk() if isinstance(op, AgentSwitchOp)]
    first = [region.block.first_op for region in switch.bodies]
    assert [(str(op.action.data), op.reg_count.value.data) for op in first if isinstance(op, SetMaxRegisterOp)] == [
        ("decrease", 40),
        ("increase", 232),
    ]
    assert switch.max_regs is None


def test_a_proxy_fence_stands_where_threads_read_what_tma_fills_again() -> None:
    """The threads load what they add from the slots; wgmma reads its own by the proxy by which TMA writes."""
    fences = {
        name: [op for op in barriers_of(name, AWS, "sm_90a").walk() if isinstance(op, FenceProxyOp)]
        for name in ("elementwise", "gemm_64x64x16")
    }
    assert any(isinstance(op.parent_op(), scf.ForOp) for op in fences["elementwise"])
    (of_the_result,) = fences["gemm_64x64x16"]
    assert not isinstance(of_the_result.parent_op(), scf.ForOp)


def test_names_of_barriers_are_free() -> None:
    """Two functions, and a global that has the name of the first barriers."""
    text = str(copies_of("elementwise", AUS, "sm_80"))
    function = text[text.index("func.func") : text.rindex("}")]
    taken = "llvm.mlir.global internal @f_barriers_0() {addr_space = 3 : i32} : !llvm.array<1 x i64>"
    module = parse(f"{taken}\n{function}\n{function.replace('@f(', '@g(', 1)}")
    run_passes(module, passes(TO_BARRIERS))
    module.verify()
    names = [op.sym_name.data for op in module.ops if isinstance(op, llvm.GlobalOp)]
    assert names == [*(f"f_barriers_{number}" for number in range(3)), "g_barriers_0", "g_barriers_1"]
    run_passes(module, passes(TO_THREADS[-1:]))
    assert [op.sym_name.data for op in module.ops if isinstance(op, llvm.GlobalOp)] == [
        "f_barriers_0",
        "f_shared",
        "g_shared",
    ]


ISOLATED = """
func.func @f(%a: memref<?x?xf32>, %c: memref<?x?xf32>) attributes {nvvm.reqntid = array<i32: 256>} {
  %c0 = arith.constant 0 : index
  %p, %e = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 1 : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %in = nv_tileas.async.pipeline.create_iterator %p : (!nv_tileas.producer_token) -> !nv_tileas.pipeline_iter<tuple<!slot, !slot>>
  %out = nv_tileas.async.pipeline.create_iterator %e : (!nv_tileas.consumer_token) -> !nv_tileas.pipeline_iter<tuple<!slot, !slot>>
  nv_tileas.async.pipeline.agent_switch %p, %e, %in, %out, %a, %c, %c0 attributes {num_agents_per_group = array<i32: 1, 1>, isolated = true, num_warps = array<i32: 4, 4>, warp_id = array<i32: 4, 0>} {
  ^bb0(%p1: !nv_tileas.producer_token, %e1: !nv_tileas.consumer_token, %in1: !it, %out1: !it, %a1: memref<?x?xf32>, %c1: memref<?x?xf32>, %z1: index):
    %own = nv_tileas.async.pipeline.producer_acquire %p1, %in1 : (!nv_tileas.producer_token, !it) -> !nv_tileas.producer_token
    %filled, %t = nv_tileas.async.pipeline.produce_one_async %own, %in1 attributes {producer_types = [!slot, !slot]} {
    ^bb0(%s0: !slot, %s1: !slot):
      %x = nv_tileaa.tiled_load %a1[%z1, %z1] : (memref<?x?xf32>, index, index) -> !slot
      %y = nv_tileaa.tiled_load %a1[%z1, %z1] : (memref<?x?xf32>, index, index) -> !slot
      nv_tileas.async.pipeline.yield %x, %y : (!slot, !slot) -> ()
    } : (!nv_tileas.producer_token, !it) -> (!nv_tileas.producer_token, !nv_tileas.token)
    nv_tileas.async.pipeline.producer_commit %filled : (!nv_tileas.producer_token) -> ()
  }, {
  ^bb0(%p2: !nv_tileas.producer_token, %e2: !nv_tileas.consumer_token, %in2: !it, %out2: !it, %a2: memref<?x?xf32>, %c2: memref<?x?xf32>, %z2: index):
    %got = nv_tileas.async.pipeline.consumer_wait %e2, %out2 : (!nv_tileas.consumer_token, !it) -> !nv_tileas.consumer_token
    %x, %y, %read = nv_tileas.async.pipeline.consumer_read %got, %out2 : (!nv_tileas.consumer_token, !it) -> (!slot, !slot, !nv_tileas.consumer_token)
    %v = nv_tileas.convert_layout %x : (!slot) -> !held
    %w = nv_tileas.convert_layout %y : (!slot) -> !held
    nv_tileas.async.pipeline.consumer_release %read : (!nv_tileas.consumer_token) -> ()
    %sum = arith.addf %v, %w : !held
    nv_tileaa.tiled_store %c2[%z2, %z2], %sum : (memref<?x?xf32>, !held, index, index) -> ()
  } : (!nv_tileas.producer_token, !nv_tileas.consumer_token, !it, !it, memref<?x?xf32>, memref<?x?xf32>, index) -> ()
  func.return
}"""  # noqa: E501
"""Agents that get what they use as arguments, the second with the first warps; and a slot of two tiles."""


def _written_out(text: str) -> str:
    slot = "tensor<16x16xf32, #nv_tileas.layout<smem, row_major>>"
    held = "tensor<16x16xf32, #nv_tileas.layout<rmem, blocked<[1, 2], [4, 8], [4, 1], order = [1, 0]>>>"
    return (
        text.replace("!it", "!nv_tileas.pipeline_iter<tuple<!slot, !slot>>")
        .replace("!slot", slot)
        .replace("!held", held)
    )


def test_agents_that_get_what_they_use_and_slots_of_two_tiles() -> None:
    given = np.arange(256, dtype=np.float32).reshape(16, 16)
    before = parse(_written_out(ISOLATED))
    between = run_passes(before.clone(), passes(TO_BARRIERS[1:]))
    threads = run_passes(between.clone(), passes(TO_THREADS[-1:]))
    for module in (before, between, threads):
        module.verify()
        arrays = {"a": given.copy(), "c": np.zeros_like(given)}
        assert np.array_equal(run(module, "f", arrays, order="random").arrays["c"], 2 * given)
        assert check(module, timeout=None).verdict_line == "safe for every trip count"


def test_the_first_thread_of_an_agent_behind_another_one() -> None:
    """The producer has the last warps: its first thread is number 128 of the block, and it alone starts TMA."""
    text = str(copies_of("gemm_64x64x16", AWS, "sm_90a"))
    assert "warp_id = array<i32: 0, 4>" in text
    module = parse(text.replace("warp_id = array<i32: 0, 4>", "warp_id = array<i32: 4, 0>"))
    between = run_passes(module, passes(TO_BARRIERS, "sm_90a"))
    assert re.search(r"constant 128 : i32\n *%is_first_1 = arith.cmpi eq", str(between))
    threads = run_passes(between.clone(), passes(TO_THREADS[-1:], "sm_90a"))
    for each_ in (between, threads):
        assert_computes(each_, BY_NAME["gemm_64x64x16"], 5, "random")
    assert check(between, timeout=None).verdict_line == "safe for every trip count"


def test_an_agent_of_one_thread_leaves_its_loops_to_it() -> None:
    """The other threads of a producer by TMA skip them; agents of which all threads act keep their loops."""
    module = barriers_of("gemm_64x64x16", AWS, "sm_90a")
    (switch,) = [op for op in module.walk() if isinstance(op, AgentSwitchOp)]
    alone, others = (list(body.walk()) for body in switch.bodies)
    (branch,) = [op for op in alone if isinstance(op, scf.IfOp)]
    assert {op.name for op in alone if op.parent is branch.parent and not branch.is_ancestor(op)} == {
        *("nvvm.setmaxregister", "nvvm.read.ptx.sreg.tid.x", "arith.constant", "arith.cmpi")
    }
    assert any(isinstance(op, scf.ForOp) for op in branch.walk())
    assert not any(isinstance(op, scf.IfOp) for op in others)


BUDGETS = ISOLATED.replace("array<i32: 256>}", "array<i32: 256>, nvvm.maxnreg = 136 : i32}").replace(
    "isolated = true", "isolated = true, max_regs = array<i32: 40, 232>"
)
"""A function that says itself with how many registers it starts."""


@pytest.mark.parametrize(
    ("target", "warps", "taken"),
    [("sm_90a", "4, 4", [40, 232]), ("sm_80", "4, 4", []), ("sm_90a", "1, 4", [])],
    ids=["whole warpgroups", "no instruction", "one warp"],
)
def test_registers_are_moved_only_where_the_hardware_can(target: str, warps: str, taken: list[int]) -> None:
    """All warps of a warpgroup have to execute the instruction (PTX ISA, "setmaxnreg")."""
    text = _written_out(BUDGETS.replace("num_warps = array<i32: 4, 4>", f"num_warps = array<i32: {warps}>"))
    module = run_passes(parse(text), passes(TO_BARRIERS[1:], target))
    assert [op.reg_count.value.data for op in module.walk() if isinstance(op, SetMaxRegisterOp)] == taken


@pytest.mark.parametrize("steps", [TO_BARRIERS[:1], TO_BARRIERS[1:]], ids=["function", "pipelines"])
def test_registers_that_nobody_gives(steps: tuple[str, ...]) -> None:
    text = _written_out(BUDGETS.replace("maxnreg = 136", "maxnreg = 128"))
    assert_no_code(parse(text), steps, "sm_90a", "starts with 128 registers a thread, and its agents take 136")


# Refusals -------------------------------------------------------------------------------------------------------------

ROW = "nv_tileas.async.pipeline."
REFUSED = {
    "does not say by nvvm.reqntid": (" attributes {nvvm.reqntid = array<i32: 256>}", ""),
    "is run by blocks of \\(100, 1, 1\\) threads": ("array<i32: 256>", "array<i32: 100>"),
    "does not say which warps its agents are": (", warp_id = array<i32: 4, 0>", ""),
    "is run by blocks of 128 threads, and its agents have 256": ("array<i32: 256>", "array<i32: 128>"),
    "gives an agent 30 registers": ("isolated = true", "isolated = true, max_regs = array<i32: 30, 40>"),
    "has a mask or tokens": (
        "%x = nv_tileaa.tiled_load %a1[%z1, %z1] : (memref<?x?xf32>, index, index) -> !slot",
        "%mask = arith.constant dense<true> : tensor<16x16xi1>\n"
        "%x = nv_tileaa.tiled_load %a1[%z1, %z1] mask(%mask)"
        " : (memref<?x?xf32>, index, index, tensor<16x16xi1>) -> !slot",
    ),
    "fills its slot with something else than tiles that threads load or hold": ("yield %x, %y", "yield %s0, %s1"),
    "and other ops of the pipeline": (
        "%x, %y, %read = nv_tileas.async.pipeline.consumer_read %got, %out2",
        "%y, %r = nv_tileas.async.pipeline.consumer_read %got, %out2 : (!nv_tileas.consumer_token, !it) -> "
        "(!slot, !nv_tileas.consumer_token)\n    %x, %z, %read = nv_tileas.async.pipeline.consumer_read %got, %out2",
    ),
    "hands out a token that is used": (
        f"{ROW}producer_commit %filled",
        f"nv_tileas.async.wait %t : (!nv_tileas.token) -> ()\n{ROW}producer_commit %filled",
    ),
    "is no step that becomes a barrier": (
        f"{ROW}producer_commit %filled : (!nv_tileas.producer_token) -> ()",
        f"scf.execute_region {{\n{ROW}producer_commit %filled : (!nv_tileas.producer_token) -> ()\nscf.yield\n}}",
    ),
}
"""What is said -> what stands in `ISOLATED` in place of what."""


@pytest.mark.parametrize("said", REFUSED)
def test_pipelines_that_become_no_barriers(said: str) -> None:
    old, new = REFUSED[said]
    assert old in ISOLATED
    assert_no_code(parse(_written_out(ISOLATED.replace(old, new))), TO_BARRIERS[1:], "sm_80", said)


def _named_by(kind: str) -> str:
    """The producer's stage has a number, the first one, in place of an iterator."""
    steps = "(!nv_tileas.producer_token, !it)"
    zero = "false" if kind == "i1" else f"0 : {kind}"
    text = ISOLATED.replace("    %own = ", f"    %k = arith.constant {zero}\n    %own = ")
    text = text.replace("%p1, %in1 :", "%p1, %k :").replace("%own, %in1 ", "%own, %k ")
    return _written_out(text.replace(steps, f"(!nv_tileas.producer_token, {kind})"))


@pytest.mark.parametrize("kind", ["index", "i32", "i64"])
def test_numbers_that_name_a_stage(kind: str) -> None:
    given = np.arange(256, dtype=np.float32).reshape(16, 16)
    module = run_passes(parse(_named_by(kind)), passes(TO_BARRIERS[1:]))
    for each_ in (module, run_passes(module.clone(), passes(TO_THREADS[-1:]))):
        each_.verify()
        arrays = {"a": given.copy(), "c": np.zeros_like(given)}
        assert np.array_equal(run(each_, "f", arrays, order="random").arrays["c"], 2 * given)
        assert check(each_, timeout=None).verdict_line == "safe for every trip count"


@pytest.mark.parametrize("kind", ["i1", "i8", "i128"])
def test_numbers_that_are_too_short_or_too_long(kind: str) -> None:
    assert_no_code(parse(_named_by(kind)), TO_BARRIERS[1:], "sm_80", f"names its stage by an {kind}")


RELEASED = "nv_tileas.async.pipeline.consumer_release %read : (!nv_tileas.consumer_token) -> ()"


def test_a_release_for_several_pipelines_arrives_in_each() -> None:
    """A pipeline is given back by the token of each; the wait for the second slot of neither comes to an end else."""
    kernel = BY_NAME["elementwise"]
    module = copies_of("elementwise", AWS, "sm_90a").clone()
    releases = [op for op in module.walk() if op_name(op) == f"{STEP}consumer_release"]
    first, second = releases[-2:]
    assert first.parent_block() is second.parent_block()
    both = ConsumerReleaseOp(*first.operands, *second.operands)
    Rewriter.insert_op(both, InsertPoint.before(second))
    for op in (first, second):
        Rewriter.erase_op(op)
    between = run_passes(module, passes(TO_BARRIERS, "sm_90a"))
    for each_ in (between, run_passes(between.clone(), passes(TO_THREADS[-1:], "sm_90a"))):
        assert_computes(each_, kernel, 5, "random")
        assert check(each_, trip_counts=[0, 1, 5], prove=False, timeout=None).verdict_line.startswith("safe")


def test_a_release_that_hands_its_token_on() -> None:
    assert RELEASED in ISOLATED
    given_back = RELEASED.replace("-> ()", "-> !nv_tileas.consumer_token")
    text = ISOLATED.replace(RELEASED, f"%gone = {given_back}")
    module = run_passes(parse(_written_out(text)), passes(TO_BARRIERS[1:]))
    module.verify()
    assert str(module) == str(run_passes(parse(_written_out(ISOLATED)), passes(TO_BARRIERS[1:])))


def test_tiles_that_are_handed_on() -> None:
    types = "(!nv_tileas.producer_token, !nv_tileas.token)"
    text = ISOLATED.replace("%filled, %t = ", "%u, %w, %filled, %t = ").replace(
        f"(!nv_tileas.producer_token, !it) -> {types}",
        f"(!nv_tileas.producer_token, !it) -> (!slot, !slot, {types[1:]}",
    )
    assert_no_code(parse(_written_out(text)), TO_BARRIERS[1:], "sm_80", "hands on what it fills its slot with")


def test_stages_that_are_taken_where_they_are_filled() -> None:
    """Programs with queues come so; the advice is a pass that makes steps of them."""
    module = tiles_of("gemm_in_two_agents", AUS).clone()
    assert_no_code(module, TO_BARRIERS, "sm_80", "takes its slot in its own region(?s:.*)tileas-single-steps")
    run_passes(run_passes(module, "tileas-single-steps"), passes(TO_BARRIERS))


def test_slots_that_hold_no_tiles() -> None:
    text = """func.func @f() attributes {nvvm.reqntid = array<i32: 32>} {
      %p, %e = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 1 : i32, producerGroupId = 0 : i8,
        consumerGroupId = 1 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
      %in = nv_tileas.async.pipeline.create_iterator %p : (!nv_tileas.producer_token) -> !nv_tileas.pipeline_iter<index>
      func.return
    }"""
    assert_no_code(parse(text), TO_BARRIERS[1:], "sm_80", "goes through slots that hold a 'index'")


def test_functions_without_pipelines_stay_as_they_are() -> None:
    module = parse("func.func @f(%x: index) -> index {\n  func.return %x : index\n}")
    before = str(module)
    ConvertPipelineToNVVMPass().apply(context(), module)
    assert str(module) == before
