"""
A matrix product in Triton, the peer of `examples/gemm_loop.mlir`: one 128x128 tile of C a program, 64 deep in each
turn, by tensor descriptors, with 3 stages; the products of a warpgroup.

    python -m bench.triton_matmul OUT.cubin        writes the cubin, and says how many seconds it took inside

Only `triton` is needed (extra `triton`): no GPU, no torch.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]
from triton.backends.compiler import GPUTarget  # type: ignore[import-not-found]
from triton.compiler import ASTSource, make_backend  # type: ignore[import-not-found]

TYPES = {
    "a": "tensordesc<fp16[128,64]>",
    "b": "tensordesc<fp16[64, 128]>",
    "c": "tensordesc<fp32[128, 128]>",
    "n": "i32",
}


@triton.jit
def matmul(a, b, c, n):  # type: ignore[no-untyped-def]
    row = tl.program_id(0) * 128
    column = tl.program_id(1) * 128
    total = tl.zeros((128, 128), dtype=tl.float32)
    for k in tl.range(n, num_stages=3):
        left = a.load([row, k * 64])
        right = b.load([k * 64, column])
        total = tl.dot(left, right, total)
    c.store([row, column], total)


def cubin() -> bytes:
    """The kernel for sm_90a with four warps."""
    target = GPUTarget("cuda", 90, 32)
    options = make_backend(target).parse_options({"num_warps": 4, "num_stages": 3})
    compiled = triton.compile(ASTSource(matmul, TYPES, {}), target=target, options=options.__dict__)
    return compiled.asm["cubin"]


def main() -> int:
    start = time.process_time()
    Path(sys.argv[1]).write_bytes(cubin())
    children = getrusage(RUSAGE_CHILDREN)
    print(time.process_time() - start + children.ru_utime + children.ru_stime)
    return 0


if __name__ == "__main__":
    sys.exit(main())
