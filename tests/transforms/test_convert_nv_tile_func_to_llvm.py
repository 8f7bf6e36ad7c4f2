"""Functions of tile code as kernels: how many threads they have, with how many registers, and what no kernel has."""

from __future__ import annotations

import re

import pytest

from tests.support.ir import context, parse, run_passes
from tests.support.scheduled_kernels import KERNELS, Kernel
from tests.support.thread_kernels import (
    BY_NAME,
    TO_THREADS,
    assert_computes,
    assert_no_code,
    copies_of,
    driver_of,
    passes,
    to_threads,
)
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import failed_softly
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.transforms.to_llvm.convert_nv_tile_func_to_llvm import ConvertNvTileFuncToLLVMPass

PASS = TO_THREADS[:1]
AUS, AWS = "unspecialize", "warp-specialize"
BUILT = [kernel for kernel in KERNELS if kernel.name != "block_scaled_gemm"]


def _kernel(name: str, strategy: str, target: str) -> str:
    return str(run_passes(copies_of(name, strategy, target).clone(), passes(PASS, target)))


# What is said ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "strategy", "target", "threads", "blocks"),
    [
        ("gemm_64x64x16", AUS, "sm_80", 128, None),
        ("gemm_64x64x16", AWS, "sm_80", 256, None),
        ("gemm_64x64x16", AUS, "sm_90a", 128, None),
        ("gemm_64x64x16", AWS, "sm_90a", 256, 1),
    ],
)
def test_threads_and_blocks(name: str, strategy: str, target: str, threads: int, blocks: int | None) -> None:
    """The threads of all agents, or those of the layouts; one block a multiprocessor, where agents move registers."""
    text = _kernel(name, strategy, target)
    assert f"nvvm.reqntid = array<i32: {threads}, 1, 1>" in text
    assert re.findall(r"nvvm.minctasm = (\d+)", text) == ([] if blocks is None else [str(blocks)])
    assert "maxnreg" not in text


def test_blocks_that_the_function_asks_for_itself_stay() -> None:
    """Two blocks on a multiprocessor leave each thread 128 registers, and agents no more than that on the average."""
    text = str(copies_of("gemm_64x64x16", AWS, "sm_90a"))
    said = text.replace("attributes {nv_tileas.agents", "attributes {nvvm.minctasm = 2 : i32, nv_tileas.agents", 1)
    assert said != text
    fewer = said.replace("max_regs = array<i32: 40, 232>", "max_regs = array<i32: 40, 152>")
    assert re.findall(r"minctasm = (\d+)", str(run_passes(parse(fewer), passes(PASS, "sm_90a")))) == ["2"]
    words = "starts with 128 registers a thread, and its agents take 136 on the average"
    assert_no_code(parse(said), PASS, "sm_90a", words)


def test_nothing_else_changes_and_twice_is_once() -> None:
    before, after = str(copies_of("elementwise", AWS, "sm_90a")), _kernel("elementwise", AWS, "sm_90a")
    assert re.sub(r", nvvm\.\w+ = (array<[^>]*>|\d+ : i32)", "", after) == before
    assert str(run_passes(parse(after), passes(PASS, "sm_90a"))) == after


def test_agents_that_end_within_a_warpgroup() -> None:
    """Blocks are whole warpgroups: the warps behind the last agent have nothing to do."""
    old = "num_warps = array<i32: 4, 4>, warp_id = array<i32: 0, 4>"
    text = str(copies_of("elementwise", AWS, "sm_80"))
    assert old in text
    text = text.replace(old, "num_warps = array<i32: 4, 1>, warp_id = array<i32: 0, 4>")
    assert "nvvm.reqntid = array<i32: 256, 1, 1>" in str(run_passes(parse(text), passes(PASS)))


@pytest.mark.parametrize("kernel", BUILT, ids=lambda kernel: kernel.name)
def test_kernels_compute_what_the_function_does(kernel: Kernel) -> None:
    """One agent of many threads does the tiles as one of which nothing was said."""
    module = parse(_kernel(kernel.name, AWS, "sm_90a"))
    for trips in (0, 1, 3):
        assert_computes(module, kernel, trips, "random")
    assert (
        check(module, timeout=None).verdict_line
        == check(copies_of(kernel.name, AWS, "sm_90a"), timeout=None).verdict_line
    )


# Refusals -------------------------------------------------------------------------------------------------------------

SCALAR = """func.func @f(%x: memref<?xf32>) {
  %p = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  func.return
}"""


def test_a_function_that_returns_something() -> None:
    text = SCALAR.replace("(%x: memref<?xf32>)", "(%x: memref<?xf32>) -> index").replace("return", "return %p : index")
    assert_no_code(parse(text), PASS, "sm_80", "returns values, and nobody waits for those of a kernel")


def test_a_function_that_says_another_number_of_threads() -> None:
    text = _kernel("elementwise", AUS, "sm_80").replace("reqntid = array<i32: 128,", "reqntid = array<i32: 64,")
    said = r"says that blocks of \(64, 1, 1\) threads run it, and its tiles are for 128"
    assert_no_code(parse(text), PASS, "sm_80", said)


def test_tiles_of_which_nobody_says_who_holds_them() -> None:
    assert_no_code(parse(BY_NAME["elementwise"].text), PASS, "sm_80", "layout does not say who holds what")


def test_a_target_that_does_not_exist() -> None:
    assert_no_code(copies_of("elementwise", AUS, "sm_80").clone(), PASS, "hopper", "'hopper' is no target")


def test_all_functions_are_judged_before_one_is_changed() -> None:
    right = str(copies_of("elementwise", AUS, "sm_80"))
    function = right[right.index("func.func") : right.rindex("}")]
    wrong = SCALAR.replace("@f(%x: memref<?xf32>)", "@g() -> index").replace("return", "return %p : index")
    assert_no_code(parse(f"{function}\n{wrong}"), PASS, "sm_80", "returns values")


def test_functions_without_tiles_stay_as_they_are() -> None:
    module = parse("func.func @f(%x: index) -> index {\n  func.return %x : index\n}")
    before = str(module)
    ConvertNvTileFuncToLLVMPass().apply(context(), module)
    assert str(module) == before


# Functions of the tile dialect, and what kernel_spec says -------------------------------------------------------------

SPEC = "attributes {{nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<{}>}} {{"


def _with_spec(settings: str, dialect: str = "func") -> str:
    """The elementwise kernel as a function of `dialect`, with a launch of its own."""
    text = BY_NAME["elementwise"].text
    if dialect != "func":
        text = text.replace("func.func @f", f"{dialect}.func @f").replace("func.return", f"{dialect}.return : () -> ()")
    head, _, rest = text.partition("%n: index) {")
    return f"{head}%n: index) {SPEC.format(settings)}{rest}"


@pytest.mark.parametrize("dialect", ["func", "nv_tileaa", "nv_tileas"])
@pytest.mark.parametrize("strategy", [AUS, AWS])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_four_warps_mean_one_agent_in_functions_of_every_dialect(dialect: str, strategy: str, target: str) -> None:
    """The launch has too few warps for two agents: TileAS goes back to one of them without a word, and sets a bit."""
    module = run_passes(parse(_with_spec("numWarps=4", dialect)), driver_of(target, strategy))
    (function,) = functions_in(module)
    assert failed_softly(function, "tileas-materialize-schedule") == (strategy == AWS)
    assert not any(isinstance(op, AgentSwitchOp) for op in module.walk())
    run_passes(module, to_threads(target))
    text = str(module)
    assert "nv_tileaa.tiled" not in text
    assert "func.func @f" in text
    assert "nvvm.reqntid = array<i32: 128, 1, 1>" in text
    for trips in (0, 1, 3):
        assert_computes(module, BY_NAME["elementwise"], trips, "random")
    assert check(module, timeout=None).verdict is Verdict.SAFE


def test_eight_warps_are_two_agents() -> None:
    module = run_passes(parse(_with_spec("numWarps=8")), f"{driver_of('sm_90a', AWS)},{to_threads('sm_90a')}")
    assert "nvvm.reqntid = array<i32: 256, 1, 1>" in str(module)


def test_the_blocks_of_a_cluster() -> None:
    module = run_passes(parse(_with_spec("numWarps=4, clusterDim=[2,1,1]")), f"{driver_of('sm_90a', AUS)},{PASS[0]}")
    assert "nvvm.cluster_dim = array<i32: 2, 1, 1>" in str(module)


def test_a_kernel_spec_of_other_warps_than_the_tiles_have() -> None:
    module = run_passes(parse(_with_spec("numWarps=2")), driver_of("sm_80", AUS))
    words = "has a kernel_spec of 2 warps, and its tiles are for 4\\n.*run the driver with num-warps=2"
    assert_no_code(module, PASS, "sm_80", words)
