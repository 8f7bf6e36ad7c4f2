"""
Kernels for sm_90a: tensor copies by one thread, wgmma by warpgroups, in one agent and in several.

The machine runs the threads lane by lane: it reads tensor maps, swizzles as the hardware does, and multiplies what the
descriptors of wgmma name. So a wrong map, stride or byte count gives other numbers, or a fault.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from xdsl.dialects import arith, ub
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.dialects.llvm import UndefOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from tests.support.corpora import each
from tests.support.ir import parse, run_passes
from tests.support.ptx import assembled, ptx_of
from tests.support.scheduled_kernels import KERNELS, Kernel
from tests.support.thread_kernels import (
    BY_DESCRIPTOR,
    BY_NAME,
    DOWN,
    TO_THREADS,
    assert_computes,
    assert_no_code,
    convert,
    copies_of,
    driver_of,
    threads_of,
    tiles_of,
)
from tests.support.threads_and_tiles import PROGRAMS
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.dialects.nvvm import barrier, bulk, fence, mbarrier, wgmma
from tileas_xdsl.dialects.nvvm.matrix_attributes import WGMMAScaleOut
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.running import run

TARGET = "sm_90a"
GEMM = ("gemm_64x64x16", "warp-specialize", TARGET)
"""A producer that fills rings by TMA, a warpgroup that multiplies."""
STRATEGIES = ("unspecialize", "warp-specialize")
ALONE = ("gemm_16x8x8", "block_scaled_gemm")
"""Kernels without code for sm_90a."""
LOWERED = [kernel for kernel in KERNELS if kernel.name not in ALONE]
PRODUCTS = [kernel for kernel in LOWERED if "dot" in kernel.text]
BOTH = [(kernel, strategy) for kernel in LOWERED for strategy in STRATEGIES]
NAMES = {"ids": lambda case: "-".join(map(str, (case[0].name, *case[1:])))}


# Numbers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", BOTH, **NAMES)
def test_numbers(case: tuple[Kernel, str]) -> None:
    """More turns than stages."""
    kernel, strategy = case
    assert_computes(threads_of(kernel.name, strategy, TARGET), kernel, 5, "random")


CASES = [(*case, trips, order) for case in BOTH for trips in range(7) for order in ("eager", "lazy", "random")]


@each("case", CASES, 12, **NAMES)
def test_numbers_at_every_edge(case: tuple[Kernel, str, int, str]) -> None:
    kernel, strategy, trips, order = case
    assert_computes(threads_of(kernel.name, strategy, TARGET), kernel, trips, order)


TAILS = {
    "gemm_64x64x16": {"a": (40, 40), "b": (40, 56), "c": (40, 56)},
    "elementwise": {"x": (40, 12), "y": (40, 12), "c": (40, 12)},
    "attention_64": {"q": (48, 16), "k": (16, 48), "v": (48, 16), "c": (48, 16)},
}
"""Arrays that are no multiples of tiles; their rows are multiples of 16 bytes, as tensor maps want it."""


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", TAILS)
def test_tiles_that_stick_out(name: str, strategy: str) -> None:
    """TMA reads zeros there, and counts their bytes all the same."""
    rng = np.random.default_rng(1)
    kernel = BY_NAME[name]
    arrays = {
        array: rng.integers(-2, 3, extents).astype(np.float16 if array in kernel.element else np.float32)
        for array, extents in TAILS[name].items()
    }
    tiles, threads = (
        run(module, "f", {**{key: np.copy(value) for key, value in arrays.items()}, "n": 3}).arrays["c"]
        for module in (tiles_of(name, strategy, TARGET), threads_of(name, strategy, TARGET))
    )
    assert np.allclose(tiles, threads, rtol=2.0**-10, atol=2.0**-10)
    assert not np.array_equal(tiles, arrays["c"])


def test_a_product_that_adds_to_zeros_does_not_read_them() -> None:
    """Of the two products of attention only the second one adds to what was there."""
    module = threads_of("attention_64", "warp-specialize", TARGET)
    firsts = [op for op in module.walk() if isinstance(op, wgmma.WgmmaMmaAsyncOp) and not _continues(op)]
    assert firsts
    assert all(op.scale_d.data is WGMMAScaleOut.ZERO and is_undefined(op.inouts) for op in firsts)
    gemm = [op for op in threads_of(*GEMM).walk() if isinstance(op, wgmma.WgmmaMmaAsyncOp)]
    assert {op.scale_d.data for op in gemm} == {WGMMAScaleOut.ONE}


def _continues(op: wgmma.WgmmaMmaAsyncOp) -> bool:
    return isinstance(op.inouts.owner, wgmma.WgmmaMmaAsyncOp)


def is_undefined(value: SSAValue) -> bool:
    return isinstance(value.owner, UndefOp)


# Verdicts -------------------------------------------------------------------------------------------------------------


@each("case", BOTH, 4, **NAMES)
def test_threads_are_safe(case: tuple[Kernel, str]) -> None:
    kernel, strategy = case
    report = check(threads_of(kernel.name, strategy, TARGET), trip_counts=[0, 1, 2, 5], timeout=None)
    assert report.verdict_line.startswith("safe"), str(report)


PROVED = [*(("elementwise", strategy, TARGET) for strategy in STRATEGIES), GEMM]


@pytest.mark.parametrize("case", PROVED, ids="-".join)
def test_threads_are_safe_for_every_trip_count(case: tuple[str, str, str]) -> None:
    report = check(threads_of(*case), timeout=None)
    assert report.verdict_line == "safe for every trip count", str(report)


SOON = {
    "warp-specialize": ("gemm_64x64x16", "convolution", "elementwise", "reduction", "stencil", "three_loads"),
    "unspecialize": ("elementwise", "reduction", "stencil"),
}
"""Kernels that are proved within some seconds; the others take up to three minutes."""
LONG = [(kernel, strategy) for kernel, strategy in BOTH if kernel.name not in SOON[strategy]]


@each("case", BOTH, 2, slow=LONG, **NAMES)
def test_threads_of_all_kernels_are_safe_for_every_trip_count(case: tuple[Kernel, str]) -> None:
    kernel, strategy = case
    report = check(threads_of(kernel.name, strategy, TARGET), timeout=None)
    assert report.verdict_line == "safe for every trip count", str(report)


SYNCHRONISING = (
    *(mbarrier.MBarrierInitOp, mbarrier.MBarrierArriveOp, mbarrier.MBarrierArriveExpectTxOp),
    *(mbarrier.MBarrierTryWaitParityOp, mbarrier.MBarrierTryWaitOp, barrier.BarrierOp, barrier.Barrier0Op),
    *(wgmma.WgmmaFenceAlignedOp, wgmma.WgmmaGroupSyncAlignedOp, wgmma.WgmmaWaitGroupSyncOp, fence.FenceProxyOp),
    bulk.CpAsyncBulkTensorGlobalToSharedClusterOp,
    *(bulk.CpAsyncBulkCommitGroupOp, bulk.CpAsyncBulkWaitGroupOp),
)


def _sites(module: ModuleOp) -> list[Operation]:
    return [op for op in module.walk() if isinstance(op, SYNCHRONISING)]


Mutant = tuple[int, str]
"""The number of the op, and what is done to it."""
COUNTS = {mbarrier.MBarrierInitOp: 1, mbarrier.MBarrierArriveExpectTxOp: 1}
"""Which operand is the count."""


def _mutants(module: ModuleOp) -> list[Mutant]:
    found: list[Mutant] = []
    for number, op in enumerate(_sites(module)):
        found.append((number, "drop"))
        if type(op) in COUNTS:
            found += [(number, "more"), (number, "less")]
        if isinstance(op, mbarrier.MBarrierTryWaitParityOp):
            found.append((number, "parity"))
        if isinstance(op, wgmma.WgmmaWaitGroupSyncOp):
            found.append((number, "younger"))
    return found


def _altered(module: ModuleOp, number: int, change: str) -> ModuleOp:
    """A copy with one op left out, or with another count, parity or age."""
    module = module.clone()
    op = _sites(module)[number]
    match change:
        case "drop":
            Rewriter.replace_op(op, [], [_built(ub.PoisonOp(result.type), op) for result in op.results])
        case "younger":
            assert isinstance(op, wgmma.WgmmaWaitGroupSyncOp)
            op.group = IntegerAttr(op.group.value.data + 1, op.group.type)
        case "parity":
            _computed(op, arith.XOrIOp, 1)
        case _:
            _computed(op, arith.AddiOp, 1 if change == "more" else -1)
    return module


def _computed(op: Operation, made: type[arith.XOrIOp | arith.AddiOp], number: int) -> None:
    constant = _built(arith.ConstantOp(IntegerAttr(number, i32)), op)
    op.operands[1] = _built(made(op.operands[1], constant), op)


def _built(made: Operation, before: Operation) -> SSAValue:
    Rewriter.insert_op(made, InsertPoint.before(before))
    return made.results[0]


COVERED = {(20, "drop"), (30, "drop")}
"""
The producer's wait for a slot of B: the consumers give back that of A behind it, for which it has waited. And the
barrier in front of the result's way through shared memory: nobody has been there before.
"""
IMPOSSIBLE = "makes a barrier for 0 arrivals"


@each("mutant", _mutants(threads_of(*GEMM)), 8, ids=lambda mutant: f"{mutant[0]}-{mutant[1]}")
def test_what_is_left_out_or_altered_is_found(mutant: Mutant) -> None:
    """At nine turns each of the four slots has been filled twice."""
    altered = _altered(threads_of(*GEMM), *mutant)
    try:
        found = check(altered, trip_counts=[0, 1, 2, 9], timeout=None).verdict_line
    except UnsupportedError as error:
        found = f"unsafe: {error}"
        assert IMPOSSIBLE in found
    assert found.startswith("safe" if mutant in COVERED else "unsafe"), found


# The shape of the code ------------------------------------------------------------------------------------------------


ONE_BY_ONE = {(name, "unspecialize") for name in ("attention_64", "attention_128")}
"""
Kernels in one agent whose products ptxas does not let overlap: behind the loop a result comes from either arm of a
branch, which moves its registers while the tensor core writes them.
"""


@pytest.mark.parametrize("case", BOTH, **NAMES)
def test_kernels_assemble_without_spills(case: tuple[Kernel, str]) -> None:
    """And ptxas waits for no product where the kernel does not."""
    kernel, strategy = case
    ptx = ptx_of(threads_of(kernel.name, strategy, TARGET).clone(), TARGET, DOWN)
    assembled(ptx, TARGET, one_by_one=(kernel.name, strategy) in ONE_BY_ONE)
    assert "cp.async.bulk.tensor" in ptx
    assert ("wgmma.mma_async" in ptx) == (kernel in PRODUCTS)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", ["elementwise", "attention_64"])
def test_nothing_is_fenced_twice_and_nobody_meets_twice(name: str, strategy: str) -> None:
    """One fence is enough for all that a thread has touched, and one meeting for all that it has made."""
    for op in threads_of(name, strategy, TARGET).walk():
        if isinstance(op, fence.FenceProxyOp | barrier.Barrier0Op):
            passed = (mbarrier.MBarrierArriveOp,) if isinstance(op, fence.FenceProxyOp) else ()
            following = op.next_op
            while following is not None and (is_side_effect_free(following) or isinstance(following, passed)):
                following = following.next_op
            assert type(following) is not type(op)


def test_each_array_has_a_map() -> None:
    """What TMA copies, in or out, is handed over as a map and nothing else."""
    text = str(threads_of(*GEMM))
    head = next(line for line in text.splitlines() if "func.func @f" in line)
    for name, type_, box, swizzle in (
        ("a", "f16", "64, 16", 32),
        ("b", "f16", "16, 64", 128),
        ("c", "f32", "64, 8", 32),
    ):
        described = f"{{array = memref<?x?x{type_}>, box = array<i64: {box}>, swizzle = {swizzle} : i64}}"
        assert re.search(rf"%{name}: !llvm.ptr {{tileas.tensor_map = {re.escape(described)}", head)


# Refusals -------------------------------------------------------------------------------------------------------------


def test_waits_for_something_else() -> None:
    text = str(copies_of(*GEMM))
    (token,) = re.findall(r"%at_filled, (%\d+) =", text)
    old = "nv_tileas.async.pipeline.producer_commit %at_filled"
    assert old in text
    wait = f"nv_tileas.async.wait {token} : (!nv_tileas.token) -> ()\n{old}"
    _refused(text.replace(old, wait, 1), "hands out a token that is used")


AGENTS = "max_regs = array<i32: 40, 232>, num_warps = array<i32: 4, 4>, warp_id = array<i32: 0, 4>"
MISFITS = {
    "fewer warps than the layout has": ("num_warps = array<i32: 4, 2>", "by 2 warps, and the layout of .* is for 4"),
    "more warps": ("num_warps = array<i32: 4, 8>", "by 8 warps, and the layout of .* is for 4"),
    "a warpgroup that begins anywhere": (
        "num_warps = array<i32: 1, 4>, warp_id = array<i32: 0, 1>",
        r"tensor core by 4 warps from warp 1 on(?s:.*)optimize-execution-unit-mapping",
    ),
    "registers that setmaxnreg does not take": ("max_regs = array<i32: 40, 229>", "gives an agent 229 registers"),
}
"""What is said of the agents of a GEMM in place of what the driver said, and the refusal."""


def _refused(text: str, problem: str) -> None:
    assert_no_code(parse(text), TO_THREADS, TARGET, problem)


@pytest.mark.parametrize("name", MISFITS)
def test_agents_that_do_not_fit_their_tiles(name: str) -> None:
    new, problem = MISFITS[name]
    said = AGENTS
    for part in re.findall(r"\w+ = array<[^>]*>", new):
        said = re.sub(rf"{part.split()[0]} = array<[^>]*>", part, said)
    text = str(copies_of(*GEMM))
    assert AGENTS in text
    _refused(text.replace(AGENTS, said), problem)


def test_inherited_registers_are_not_moved() -> None:
    module = parse(str(copies_of(*GEMM)).replace("max_regs = array<i32: 40, 232>", "max_regs = array<i32: -1, 232>"))
    threads = run_passes(module, convert(TARGET))
    threads.verify()
    assert "setmaxregister" not in str(threads)
    assert "maxnreg" not in str(threads)


def test_what_wgmma_reads_is_not_copied_by_threads() -> None:
    text = str(tiles_of(*GEMM)).replace('producer_kind = "tma"', 'producer_kind = "async_copy"')
    _refused(str(run_passes(parse(text), BY_DESCRIPTOR)), "fills by cp.async what the tensor core reads")


def test_a_pipeline_that_two_engines_fill() -> None:
    """The second of the two peeled copies of a producer."""
    text = str(tiles_of("elementwise", "unspecialize", TARGET))
    assert text.count('producer_kind = "tma"') > 2
    at = text.rindex('producer_kind = "tma"')
    text = text[:at] + text[at:].replace('"tma"', '"async_copy"', 1)
    _refused(str(run_passes(parse(text), BY_DESCRIPTOR)), "by another engine than other ops do")


def test_a_tile_made_in_front_of_agents_that_begin_elsewhere() -> None:
    """Agents that the user wrote, behind a tile: the second has the warps 2 to 5."""
    source = parse((PROGRAMS / "updated_in_front_of_agents.mlir").read_text())
    text = str(run_passes(run_passes(source, driver_of("sm_80", "warp-specialize")), BY_DESCRIPTOR))
    old = "num_warps = array<i32: 4, 4>, warp_id = array<i32: 0, 4>"
    assert old in text
    text = text.replace(old, "num_warps = array<i32: 2, 4>, warp_id = array<i32: 0, 2>")
    assert_no_code(parse(text), TO_THREADS, "sm_80", "makes a tile of 4 warps")
