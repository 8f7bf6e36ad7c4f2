"""
Programs with queues down to threads: who does what is what the program says, and the code computes the same.

They are run behind each pass on the way, at every edge of the trip count, and proved.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tests.support.corpora import each
from tests.support.ir import ROOT, parse, print_generic, run_passes
from tests.support.mlir import mlir_opt
from tests.support.mutated_threads import EDITS
from tests.support.ptx import assembled, ptx_of
from tests.support.queue_kernels import IN_A_GROUP, OF_TILES, QUEUE_KERNELS, WITH_AGENTS
from tests.support.scheduled_kernels import Kernel
from tests.support.thread_kernels import DOWN, assert_computes, barriers_of, copies_of, threads_of, tiles_of
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.structure import CopyOp, ViewOp
from tileas_xdsl.dialects.nvvm import cp_async, mbarrier
from tileas_xdsl.dialects.nvvm.fence import FenceProxyOp
from tileas_xdsl.machine.running import run

AUS, AWS = "unspecialize", "warp-specialize"
TARGETS = ("sm_80", "sm_90a")
WAYS = [
    (kernel, target, strategy)
    for kernel in QUEUE_KERNELS
    for target in TARGETS
    for strategy in ((AWS,) if kernel in WITH_AGENTS else (AUS, AWS))
]
ROAD = {"tiles": tiles_of, "steps": copies_of, "barriers": barriers_of, "threads": threads_of}
"""What there is on the way, by its name."""


def _named(way: tuple[Kernel, str, str]) -> str:
    return "-".join((way[0].name, *way[1:]))


def _at(place: str, way: tuple[Kernel, str, str]) -> ModuleOp:
    kernel, target, strategy = way
    return ROAD[place](kernel.name, strategy, target)


# Numbers and verdicts -------------------------------------------------------------------------------------------------

CASES = [
    (place, way, trips, order)
    for place in ROAD
    for way in WAYS
    for trips in range(6)
    for order in ("eager", "lazy", "random")
]


@each("case", CASES, 8, ids=lambda case: f"{case[0]}-{_named(case[1])}-{case[2]}-{case[3]}")
def test_numbers_at_every_edge(case: tuple[str, tuple[Kernel, str, str], int, str]) -> None:
    place, way, trips, order = case
    assert_computes(_at(place, way), way[0], trips, order)


@each("way", WAYS, 8, ids=_named)
def test_numbers_of_threads(way: tuple[Kernel, str, str]) -> None:
    """More turns than slots."""
    assert_computes(_at("threads", way), way[0], 5, "random")


UNPROVED = [("threads", IN_A_GROUP), *((place, OF_TILES) for place in ROAD)]
"""Rows that a thread loads if they are there ask for an extent; and a number says what follows a loop of the nest."""
PROVED = [(place, way) for place in ROAD for way in WAYS if (place, way[0]) not in UNPROVED]


@each("case", PROVED, 3, ids=lambda case: f"{case[0]}-{_named(case[1])}")
def test_all_on_the_way_is_safe_for_every_trip_count(case: tuple[str, tuple[Kernel, str, str]]) -> None:
    report = check(_at(*case), timeout=None)
    assert report.verdict_line.startswith("safe for every trip count"), str(report)


@pytest.mark.parametrize(("place", "kernel"), UNPROVED)
@pytest.mark.parametrize("target", TARGETS)
def test_what_is_not_proved_is_safe_as_far_as_it_is_tried(target: str, place: str, kernel: Kernel) -> None:
    report = check(_at(place, (kernel, target, AWS)), trip_counts=[0, 1, 2, 5], prove=False, timeout=None)
    assert report.verdict_line.startswith("safe"), str(report)


# What is made ---------------------------------------------------------------------------------------------------------


ONE_BY_ONE = {("attention_in_two_agents", "sm_90a", AWS)}
"""Sums are read between the issue of another product and its end, and ptxas lets no product overlap there."""


@each("way", WAYS, 10, ids=_named)
def test_they_assemble_without_spills(way: tuple[Kernel, str, str]) -> None:
    ptx = ptx_of(_at("threads", way).clone(), way[1], DOWN)
    assembled(ptx, way[1], one_by_one=(way[0].name, *way[1:]) in ONE_BY_ONE)


@each("way", WAYS, 6, ids=_named)
def test_agents_are_those_of_the_program(way: tuple[Kernel, str, str]) -> None:
    """As many as it has, or one where one was asked for."""
    (said,) = re.findall(r"num_agents_per_group = array<i32: ([\d, ]+)>", way[0].text)
    found = [len(op.bodies) for op in _at("barriers", way).walk() if isinstance(op, AgentSwitchOp)]
    assert found == ([sum(map(int, said.split(",")))] if way[2] == AWS else [])


@pytest.mark.parametrize("target", TARGETS)
def test_mlir_reads_the_threads(target: str) -> None:
    text = mlir_opt(print_generic(threads_of("chain_of_three_agents", AWS, target)))
    assert not re.findall(r'^\s*(?:%.* = )?"', text, re.MULTILINE)


def test_a_number_names_slot_and_parity() -> None:
    """Once in a block for all steps that it names; a queue without numbers has an iterator that goes on."""
    numbered = str(barriers_of("gemm_in_two_agents", AWS, "sm_80"))
    assert re.search(r"%slot\w* = arith.index_cast", numbered)
    assert "arith.remui" in numbered
    assert "arith.remui" not in str(barriers_of("gemm_without_numbers", AWS, "sm_80"))


def _ops(place: ModuleOp, kind: type[Operation]) -> int:
    return sum(isinstance(op, kind) for op in place.walk())


def test_what_threads_compute_is_stored_into_the_slot() -> None:
    """
    There is no tile beside the slots. Fences stand where wgmma reads what they stored, where TMA fills a slot that they
    have read, and where TMA stores the result.
    """
    for target, fences in (("sm_80", 0), ("sm_90a", 3)):
        module = barriers_of("chain_of_three_agents", AWS, target)
        (stored,) = [op for op in module.walk() if isinstance(op, CopyOp) and isinstance(op.operands[1].owner, ViewOp)]
        assert stored.source.name_hint == "two"
        assert _ops(module, FenceProxyOp) == fences


@pytest.mark.parametrize(
    ("target", "kind"), [("sm_80", cp_async.CpAsyncOp), ("sm_90a", mbarrier.MBarrierArriveExpectTxOp)]
)
@pytest.mark.parametrize("strategy", [AUS, AWS])
def test_the_target_says_which_engine_loads(target: str, kind: type[Operation], strategy: str) -> None:
    assert _ops(threads_of("gemm_in_two_agents", strategy, target), kind)


def test_what_is_computed_is_there_before_the_stage_is_full() -> None:
    """A tile of shared memory is stored, then it fills a slot; a schedule has to keep that order."""
    module = tiles_of("chain_of_three_agents", AWS, "sm_90a")
    assert check(module, trip_counts=[0, 1, 2, 5], timeout=None).verdict_line.startswith("safe")


# What is left out -----------------------------------------------------------------------------------------------------

SYNCHRONISING = (
    *(mbarrier.MBarrierInitOp, mbarrier.MBarrierArriveOp, mbarrier.MBarrierArriveExpectTxOp),
    *(mbarrier.MBarrierTryWaitParityOp, FenceProxyOp),
)
CHAIN = ("chain_of_three_agents", AWS, "sm_90a")


def _sites(module: ModuleOp) -> list[Operation]:
    return [op for op in module.walk() if isinstance(op, SYNCHRONISING)]


@each("number", range(29), 4)
def test_what_is_left_out_is_found(number: int) -> None:
    module = threads_of(*CHAIN).clone()
    found = _sites(module)
    assert len(found) == 29
    EDITS["drop"](found[number])
    report = check(module, trip_counts=range(7), prove=False, timeout=None)
    assert report.verdict_line.startswith("unsafe"), report.verdict_line


# The examples ---------------------------------------------------------------------------------------------------------

EXAMPLES = [
    (name, target, strategy)
    for name in ("gemm_queue", "attention_queue")
    for target in TARGETS
    for strategy in (AUS, AWS)
]


def _threads_of_example(name: str, target: str, strategy: str) -> ModuleOp:
    options = f"compute-capability={target} pipeline-strategy={strategy} layouts=true threads=true"
    return run_passes(parse((ROOT / "examples" / f"{name}.mlir").read_text()), f"tileir{{{options}}}")


@each("case", EXAMPLES, 3, ids="-".join)
def test_examples_assemble_without_spills(case: tuple[str, str, str]) -> None:
    assembled(ptx_of(_threads_of_example(*case), case[1], DOWN), case[1])


@each("case", EXAMPLES[4:], 1, ids="-".join)
def test_examples_compute_what_they_did(case: tuple[str, str, str]) -> None:
    draw = np.random.default_rng(5)
    shapes = {"q": (64, 64), "kt": (64, 192), "v": (192, 64)}
    given = {key: draw.integers(-2, 3, shape).astype(np.float16) for key, shape in shapes.items()}
    given |= {"o": np.zeros((64, 64), np.float32), "n": 3}
    before, after = (
        run(module, "attention", {key: np.copy(value) for key, value in given.items()}, order="random").arrays["o"]
        for module in (parse((ROOT / "examples" / f"{case[0]}.mlir").read_text()), _threads_of_example(*case))
    )
    assert np.allclose(before, after, rtol=2.0**-10, atol=2.0**-10)
