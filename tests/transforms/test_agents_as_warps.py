"""
Agents as warps: a producer that copies by `cp.async` and agents that multiply, each with warps of its own.

The machine runs the eight warps lane by lane. What agents share are mbarriers, and nothing else.
"""

from __future__ import annotations

import re

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

from tests.support.corpora import each
from tests.support.ir import parse, print_generic
from tests.support.mlir import mlir_opt
from tests.support.ptx import assembled, ptx_of
from tests.support.scheduled_kernels import KERNELS, Kernel
from tests.support.thread_kernels import DOWN, TO_THREADS, assert_computes, assert_no_code, threads_of, tiles_of
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nvvm.barrier import Barrier0Op, BarrierOp
from tileas_xdsl.dialects.nvvm.mbarrier import MBarrierInitOp

AWS = "warp-specialize"
ALONE = ("gemm_16x8x8", "block_scaled_gemm", "three_loads")
"""Kernels without code for sm_80, and one that the driver leaves in one agent."""
SPECIALISED = [kernel for kernel in KERNELS if kernel.name not in ALONE]


@pytest.mark.parametrize("kernel", SPECIALISED, ids=lambda kernel: kernel.name)
def test_there_are_agents(kernel: Kernel) -> None:
    assert any(isinstance(op, AgentSwitchOp) for op in tiles_of(kernel.name, AWS).walk())


@pytest.mark.parametrize("kernel", SPECIALISED, ids=lambda kernel: kernel.name)
def test_numbers(kernel: Kernel) -> None:
    """More turns than stages."""
    assert_computes(threads_of(kernel.name, AWS), kernel, 4, "random")


CASES = [
    (kernel, trips, order) for kernel in SPECIALISED for trips in range(6) for order in ("eager", "lazy", "random")
]


@each("case", CASES, 8, ids=lambda case: f"{case[0].name}-{case[1]}-{case[2]}")
def test_numbers_at_every_edge(case: tuple[Kernel, int, str]) -> None:
    kernel, trips, order = case
    assert_computes(threads_of(kernel.name, AWS), kernel, trips, order)


@each("kernel", SPECIALISED, 1, ids=lambda kernel: kernel.name)
def test_threads_of_agents_are_safe_for_every_trip_count(kernel: Kernel) -> None:
    report = check(threads_of(kernel.name, AWS), timeout=None)
    assert report.verdict_line == "safe for every trip count", str(report)


@pytest.mark.parametrize("kernel", SPECIALISED, ids=lambda kernel: kernel.name)
def test_kernels_assemble_without_spills(kernel: Kernel) -> None:
    ptx = ptx_of(threads_of(kernel.name, AWS).clone(), "sm_80", DOWN)
    assembled(ptx, "sm_80")
    assert ".reqntid 256" in ptx
    assert "setmaxnreg" not in ptx, "sm_80 has no such instruction"


def test_mlir_reads_the_threads() -> None:
    """Every op is one that MLIR knows: it comes back in its custom form, unquoted."""
    text = mlir_opt(print_generic(threads_of("attention_64", AWS)))
    assert not re.findall(r'^\s*(?:%.* = )?"', text, re.MULTILINE)


# Who meets whom -------------------------------------------------------------------------------------------------------


def _inits(module: ModuleOp) -> list[int]:
    found: list[int] = []
    for op in module.walk():
        if isinstance(op, MBarrierInitOp):
            found.append(int(re.findall(r"constant (\d+)", str(op.count.owner))[0]))
    return found


def test_barriers_count_who_fills_and_who_empties() -> None:
    """Four warps copy, four multiply: each of their threads arrives once."""
    assert set(_inits(threads_of("gemm_64x64x16", AWS))) == {128}


def test_agents_meet_at_barriers_of_their_own() -> None:
    """The block meets once, before the agents part."""
    module = threads_of("gemm_64x64x16", AWS)
    whole = [op for op in module.walk() if isinstance(op, Barrier0Op)]
    assert len(whole) == 1
    assert not isinstance(whole[0].parent_op(), scf.IfOp)
    named = [op for op in module.walk() if isinstance(op, BarrierOp)]
    assert named
    for op in named:
        assert op.barrier_id is not None
        assert op.number_of_threads is not None
        assert "constant 2 " in str(op.barrier_id.owner)
        assert "constant 128 " in str(op.number_of_threads.owner)


# Refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            ", num_warps = array<i32: 4, 4>, warp_id = array<i32: 0, 4>, agent_strides = array<i32: 4, 4>",
            "",
            r"does not say which warps its agents are(?s:.*)optimize-execution-unit-mapping",
        ),
        (
            "num_agents_per_group = array<i32: 1, 1>",
            "num_agents_per_group = array<i32: 1, 2>",
            "lets several agents run one region",
        ),
    ],
)
def test_agents_without_warps_of_their_own(old: str, new: str, problem: str) -> None:
    text = str(tiles_of("elementwise", AWS))
    assert old in text
    assert_no_code(parse(text.replace(old, new)), TO_THREADS, "sm_80", problem)
