"""A TMA store is drained when the kernel ends as a bulk store of `nvvm` is: its source has to be read by then."""

from __future__ import annotations

import pytest

from tests.triton.test_pairs import module_of
from tileas_xdsl.checker.verdict.checking import check

HEAD = """
#tile = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#rows = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  tt.func public @stores(%d: !tt.tensordesc<64x64xf16, #shared>, %at: tensor<64xi32, #rows>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %one = arith.constant dense<1.0> : tensor<64x64xf16, #tile>
    %b = ttg.local_alloc %one : (tensor<64x64xf16, #tile>) -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
BODY
    tt.return
  }
}
"""
BUFFER = "!tt.tensordesc<64x64xf16, #shared>, !ttg.memdesc<64x64xf16, #shared, #smem, mutable>"
STORES = {
    "store": f"ttng.async_tma_copy_local_to_global %d[%c0, %c0] %b : {BUFFER}",
    "reduction": f"ttng.async_tma_reduce add, %d[%c0, %c0] %b : {BUFFER}",
    "scatter": "ttng.async_tma_scatter %d[%at, %c0] %b : !tt.tensordesc<64x64xf16, #shared>, tensor<64xi32, #rows>, "
    "i32, !ttg.memdesc<64x64xf16, #shared, #smem, mutable>",
}
ALL, ALL_BUT_ONE = "{pendings = 0 : i32}", "{pendings = 1 : i32, read_only}"
READS = "{pendings = 0 : i32, read_only}"


def kinds(body: str) -> list[str]:
    report = check(module_of("stores", HEAD.replace("BODY", body)))
    assert report.kinds or report.last_line.startswith("safe for every trip count")
    assert report.kinds or report.warnings == []
    return report.kinds


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(("wait", "found"), [(None, ["undrained"]), (READS, []), (ALL, [])])
def test_the_source_of_a_store_is_read_when_the_kernel_ends(store: str, wait: str | None, found: list[str]) -> None:
    waits = "" if wait is None else f"ttng.async_tma_store_wait {wait}"
    assert kinds(f"{STORES[store]}\n{waits}") == found


@pytest.mark.parametrize("last", [True, False])
def test_a_wait_that_leaves_a_store_is_too_weak_at_the_end(last: bool) -> None:
    filled = "ttg.local_store %one, %b : tensor<64x64xf16, #tile> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>"
    inside = f"ttng.async_tma_store_wait {READS}\n{filled}\n{STORES['store']}"
    loop = f"scf.for %k = %c0 to %n step %c1 : i32 {{\n{inside}\n}}"
    assert kinds(f"{loop}\nttng.async_tma_store_wait {READS if last else ALL_BUT_ONE}") == (
        [] if last else ["undrained"]
    )


IN_A_PARTITION = """
ttg.warp_specialize(%b, %d, %n) attributes {requestedRegisters = array<i32: 24>}
default { ttg.warp_yield }
partition0(%x: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %to: !tt.tensordesc<64x64xf16, #shared>, %m: i32)
    num_warps(4) {
  %z = arith.constant 0 : i32
  ttng.async_tma_copy_local_to_global %to[%z, %z] %x : BUFFER
  INSIDE
  ttg.warp_return
} : (!ttg.memdesc<64x64xf16, #shared, #smem, mutable>, !tt.tensordesc<64x64xf16, #shared>, i32) -> ()
AFTER
""".replace("BUFFER", BUFFER)
WAIT = f"ttng.async_tma_store_wait {READS}"


@pytest.mark.parametrize(
    ("inside", "after", "found", "advised"),
    [("", "", ["undrained"], 0), ("", WAIT, ["undrained"], 0), (WAIT, "", [], 0), (WAIT, WAIT, [], 1)],
)
def test_stores_are_waited_for_by_the_partition_that_issued_them(
    inside: str, after: str, found: list[str], advised: int
) -> None:
    """A wait of another agent waits for nothing, and can go."""
    body = IN_A_PARTITION.replace("INSIDE", inside).replace("AFTER", after)
    report = check(module_of("stores", HEAD.replace("BODY", body)))
    assert report.kinds == found
    assert len(report.warnings) == advised
