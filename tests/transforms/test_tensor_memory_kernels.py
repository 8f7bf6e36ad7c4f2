"""
Kernels for sm_100a and sm_103a: products of `tcgen05`, whose sums lie in tensor memory.

The machine runs the threads lane by lane, and computes what descriptors and addresses of tensor memory say. No
Blackwell GPU has run them.
"""

from __future__ import annotations

from functools import cache

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tests.support.corpora import each
from tests.support.ir import ROOT, print_generic, run_passes
from tests.support.llvm_ir import assert_prints_as_mlir_translates
from tests.support.mlir import mlir_opt
from tests.support.ptx import assembled, ptx_of
from tests.support.thread_kernels import DOWN
from tests.support.threads_and_tiles import RIGHT, compared, lowered
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.nvvm import barrier, bulk, fence, mbarrier, tcgen05, tcgen05_mma, warp_matrix
from tileas_xdsl.dialects.nvvm.matrix_attributes import Tcgen05MMAKind

PRODUCT = """
#smem = #nv_tileas.layout<smem>
!a = tensor<{m}x{k}x{of_a}, #smem>
!b = tensor<{k}x{n}x{of_b}, #smem>
!c = tensor<{m}x{n}x{sum}>
func.func @f(%a: memref<?x?x{of_a}>, %b: memref<?x?x{of_b}>, %c: memref<?x?x{sum}>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<{zero}> : !c
  %product = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {{
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?x{of_a}>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?x{of_b}>, index, index) -> !b
    %sum = nv_tileaa.dot %at, %bt, %acc {signs} : (!a, !b, !c) -> !c
    scf.yield %sum : !c
  }}
  nv_tileaa.tiled_store %c[%c0, %c0], %product : (memref<?x?x{sum}>, !c, index, index) -> ()
  func.return
}}
"""
SIGNS = "attributes {signedness_a = #nv_tileaa<signedness unsigned>, signedness_b = #nv_tileaa<signedness signed>}"


def product(
    m: int = 128, n: int = 32, k: int = 32, elements: tuple[str, str] = ("f16", "f16"), sum_: str = "f32"
) -> str:
    """A loop that adds products of tiles."""
    whole = sum_ == "i32"
    return PRODUCT.format(
        m=m,
        n=n,
        k=k,
        of_a=elements[0],
        of_b=elements[1],
        sum=sum_,
        zero=0 if whole else 0.0,
        signs=SIGNS if whole else "",
    )


PROGRAMS = {
    "f16": product(),
    "bf16": product(elements=("bf16", "bf16")),
    "f8": product(elements=("f8E4M3FN", "f8E5M2")),
    "i8": product(elements=("i8", "i8"), sum_="i32"),
    "tf32": (ROOT / "tests/kernels/people/tf32_gemm.mlir")
    .read_text()
    .replace("!a = tensor<64x", "!a = tensor<128x")
    .replace("!c = tensor<64x", "!c = tensor<128x"),
    "256 rows": product(m=256),
    "attention": (ROOT / "tests/kernels/attention_128.mlir").read_text(),
}
STRATEGIES = ("warp-specialize", "unspecialize", "none")
CASES = [(name, strategy) for name in PROGRAMS for strategy in STRATEGIES]
GEMM = ("f16", "warp-specialize")


@cache
def threads_of(name: str, strategy: str, target: str = "sm_100a") -> ModuleOp:
    """The threads of a program; nobody changes them."""
    return lowered(PROGRAMS[name], f"{target} {strategy}")


def count(module: ModuleOp, kind: type[Operation]) -> int:
    return sum(isinstance(op, kind) for op in module.walk())


def widened(name: str) -> str:
    """A kernel of people, whose tiles of 64 rows have 128."""
    text = (ROOT / f"tests/kernels/people/{name}.mlir").read_text()
    return text.replace("tensor<64x", "tensor<128x").replace("tensor<1x64x", "tensor<1x128x")


EXAMPLES = {name: (ROOT / f"examples/{name}.mlir").read_text() for name in ("gemm_loop", "gemm_queue")}
KERNELS = {
    **{name: text.replace("@gemm(", "@f(") for name, text in EXAMPLES.items()},
    **{name: (ROOT / f"tests/kernels/{name}.mlir").read_text() for name in ("block_scaled_gemm", "attention_128")},
    **{name: widened(name) for name in ("grouped_gemm", "batched_gemm", "i8_gemm_requantised")},
}
"""As people write them; all have an agent that loads and one that multiplies."""
RUNS = [(name, trips, order) for name in KERNELS for trips in range(8) for order in ("eager", "lazy", "random")]
EXTENTS = {"attention_128": 1024}


@cache
def threads_of_kernel(name: str) -> ModuleOp:
    return lowered(KERNELS[name], "sm_100a warp-specialize")


@each("case", RUNS, 3, ids=str)
def test_kernels_compute_the_numbers_of_their_tiles(case: tuple[str, int, str]) -> None:
    name, trips, order = case
    threads = threads_of_kernel(name)
    assert count(threads, tcgen05.Tcgen05CommitOp)
    assert compared(KERNELS[name], threads, (trips,), EXTENTS.get(name, 512), (order,)) == RIGHT


@each("name", [name for name in KERNELS if name != "attention_128"], 1)
def test_kernels_are_safe_for_every_trip_count(name: str) -> None:
    """The proof of attention takes longer than a test may."""
    report = check(threads_of_kernel(name), judge_waits=False, timeout=None)
    assert report.verdict_line == "safe for every trip count", str(report)


@each("name", [*KERNELS], 1)
def test_kernels_are_assembled_without_spills(name: str) -> None:
    module = run_passes(threads_of_kernel(name).clone(), DOWN)
    assert assembled(ptx_of(module, "sm_100a", ""), "sm_100a").spills == 0


@each("case", CASES, 5, ids="-".join)
def test_numbers(case: tuple[str, str]) -> None:
    """Those of the tiles, for each trip count around the stages and in each order."""
    threads = threads_of(*case)
    assert count(threads, tcgen05_mma.Tcgen05MMAOp)
    assert compared(PROGRAMS[case[0]], threads, (0, 1, 2, 3, 7), 256) == RIGHT


@pytest.mark.parametrize(("name", "strategy"), [*(("f16", each) for each in STRATEGIES), ("tf32", "warp-specialize")])
def test_threads_are_safe_for_every_trip_count(name: str, strategy: str) -> None:
    """Those of tf32 turn their B where it lies, so a product gives its slot back."""
    report = check(threads_of(name, strategy), judge_waits=False, timeout=None)
    assert report.verdict_line == "safe for every trip count", str(report)


@pytest.mark.parametrize("name", ["gemm_loop", "gemm_queue"])
def test_each_slot_has_a_commit_and_no_wait_stands_in_the_loop(name: str) -> None:
    """Each product gives back a slot of both rings, by four steps along K; one commit is for the store."""
    threads = threads_of_kernel(name)
    steps, rings = 4, 2
    products = count(threads, tcgen05_mma.Tcgen05MMAOp) // steps
    assert count(threads, tcgen05.Tcgen05CommitOp) == products * rings + 1
    assert count(threads, mbarrier.MBarrierTryWaitOp) == 0
    assert count(threads, tcgen05.Tcgen05AllocOp) == count(threads, tcgen05.Tcgen05DeallocOp) == 1


@pytest.mark.parametrize("target", ["sm_100a", "sm_103a"])
def test_ptxas_spills_nothing(target: str) -> None:
    for strategy in STRATEGIES:
        module = run_passes(threads_of("f16", strategy, target).clone(), DOWN)
        report = assembled(ptx_of(module, target, ""), target)
        assert report.spills == 0


def test_each_load_is_tied_to_its_own_wait() -> None:
    """Without a pipeline attention loads sums behind two waits in one block."""
    module = run_passes(threads_of("attention", "none").clone(), DOWN)
    assert assembled(ptx_of(module, "sm_100a", ""), "sm_100a").spills == 0


@pytest.mark.parametrize(("elements", "rows"), [("f8E4M3FN", 64), ("f32", 128)])
def test_what_tensor_memory_does_not_take_stays_with_threads(elements: str, rows: int) -> None:
    """Floats of 8 bits in fewer than 128 rows are widened; f32 whose B lies along N would need another swizzle."""
    threads = lowered(product(m=rows, elements=(elements, elements)), "sm_100a none")
    assert count(threads, tcgen05_mma.Tcgen05MMAOp) == 0
    assert count(threads, warp_matrix.MmaSyncOp)


def test_rows_of_16_bytes_have_no_swizzle() -> None:
    """So tensor memory does not take them: threads multiply bytes, and small floats as f16."""
    numbers = product(n=16, elements=("i8", "i8"), sum_="i32")
    threads = lowered(numbers, "sm_100a none")
    assert (count(threads, tcgen05_mma.Tcgen05MMAOp), count(threads, warp_matrix.MmaSyncOp)) == (0, 4)
    assert compared(numbers, threads, (2,), 256) == RIGHT
    floats = lowered(product(n=16, elements=("f8E4M3FN", "f8E4M3FN")), "sm_100a none")
    (multiply, *_) = [op for op in floats.walk() if isinstance(op, tcgen05_mma.Tcgen05MMAOp)]
    assert multiply.kind.data is Tcgen05MMAKind.F16


def test_llvm_says_the_same() -> None:
    module = run_passes(threads_of(*GEMM).clone(), DOWN)
    assert "llvm.nvvm.tcgen05.mma.shared" in assert_prints_as_mlir_translates(module, "default<O1>")
    assert '"nvvm.' not in mlir_opt(print_generic(threads_of(*GEMM)))


def test_integers_are_of_sm_100a_alone() -> None:
    """On sm_103a they stay with mma.sync."""
    assert count(lowered(PROGRAMS["i8"], "sm_103a none"), tcgen05_mma.Tcgen05MMAOp) == 0


def test_sums_that_do_not_fit_are_refused() -> None:
    line = "    %s{0} = nv_tileaa.dot %at, %bt, %zero : (!a, !b, !c) -> !c\n"
    uses = "".join(f"    %t{i} = arith.addf %t{i - 1}, %s{i} : !c\n" for i in range(1, 5)).replace("%t0", "%acc")
    text = product(n=256, k=16).split("    %sum =")[0] + "".join(line.format(i) for i in range(1, 5)) + uses
    text += "    scf.yield %t4 : !c\n" + product(n=256, k=16).split("    scf.yield %sum : !c\n")[1]
    with pytest.raises(RefusedError, match="columns of tensor memory, and there are 512"):
        lowered(text, "sm_100a none")


# Mutants --------------------------------------------------------------------------------------------------------------

NEEDED = (
    *(tcgen05.Tcgen05CommitOp, tcgen05.Tcgen05WaitOp, tcgen05.Tcgen05FenceOp, tcgen05.Tcgen05DeallocOp),
    *(mbarrier.MBarrierInitOp, mbarrier.MBarrierTryWaitParityOp, mbarrier.MBarrierArriveExpectTxOp),
    *(fence.FenceMbarrierInitOp, fence.FenceProxyOp, barrier.Barrier0Op, barrier.BarrierOp),
    *(bulk.CpAsyncBulkTensorGlobalToSharedClusterOp, bulk.CpAsyncBulkCommitGroupOp, bulk.CpAsyncBulkWaitGroupOp),
)
EQUIVALENT: dict[tuple[type[Operation], int], str] = {
    (fence.FenceMbarrierInitOp, 0): "the other one of this thread comes before anything signals either barrier",
    (
        mbarrier.MBarrierTryWaitParityOp,
        1,
    ): "a product gives both slots back, and the wait for the other is first",
}
"""What may be left out, and why."""
PLACES = [(kind, number) for kind in NEEDED for number in range(count(threads_of(*GEMM), kind))]


def without(place: tuple[type[Operation], int]) -> ModuleOp:
    """The threads of the product without one op."""
    kind, number = place
    module = threads_of(*GEMM).clone()
    Rewriter.erase_op([op for op in module.walk() if isinstance(op, kind)][number])
    return module


@each("place", [place for place in PLACES if place not in EQUIVALENT], 4, ids=str)
def test_what_is_left_out_is_missed(place: tuple[type[Operation], int]) -> None:
    report = check(without(place), trip_counts=[0, 1, 4, 7], judge_waits=False, timeout=None, prove=False)
    assert report.findings, f"{place[0].name} number {place[1]}"


@pytest.mark.parametrize("place", EQUIVALENT, ids=str)
def test_what_nothing_needs_may_be_left_out(place: tuple[type[Operation], int]) -> None:
    assert compared(PROGRAMS[GEMM[0]], without(place), (7,), 256, ("lazy", "random")) == RIGHT
