"""C = A B on Hopper: loads run ahead in a ring of tiles, and one product stays in flight."""

import itertools
from functools import partial

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor
from triton.language.core import _aggregate as aggregate


@aggregate
class Ring:
    a_bufs: gl.shared_memory_descriptor
    b_bufs: gl.shared_memory_descriptor
    bars: gl.shared_memory_descriptor
    depth: gl.constexpr

    @gluon.jit
    def create(a_desc, b_desc, depth: gl.constexpr):
        a_shape: gl.constexpr = [depth] + a_desc.block_type.shape  # noqa: RUF005
        a_bufs = gl.allocate_shared_memory(a_desc.dtype, a_shape, a_desc.layout)
        b_shape: gl.constexpr = [depth] + b_desc.block_type.shape  # noqa: RUF005
        b_bufs = gl.allocate_shared_memory(b_desc.dtype, b_shape, b_desc.layout)
        bars = gl.allocate_shared_memory(gl.int64, [depth, 1], mbarrier.MBarrierLayout())
        for i in gl.static_range(depth):
            mbarrier.init(bars.index(i), count=1)
        return Ring(a_bufs, b_bufs, bars, depth)

    @gluon.jit
    def load(self, a_desc, b_desc, off_m, off_n, k, pred=True):
        slot = k % self.depth
        bar = self.bars.index(slot)
        mbarrier.expect(bar, a_desc.block_type.nbytes + b_desc.block_type.nbytes, pred=pred)
        tma.async_load(a_desc, [off_m, k * a_desc.block_type.shape[1]], bar, self.a_bufs.index(slot), pred=pred)
        tma.async_load(b_desc, [k * b_desc.block_type.shape[0], off_n], bar, self.b_bufs.index(slot), pred=pred)

    @gluon.jit
    def tiles(self, k):
        slot = k % self.depth
        mbarrier.wait(self.bars.index(slot), k // self.depth & 1)
        return self.a_bufs.index(slot), self.b_bufs.index(slot)


@gluon.jit
def matmul_kernel(a_desc, b_desc, c_desc, K, STAGES: gl.constexpr):
    BLOCK_M: gl.constexpr = c_desc.block_type.shape[0]
    BLOCK_N: gl.constexpr = c_desc.block_type.shape[1]
    BLOCK_K: gl.constexpr = a_desc.block_type.shape[1]
    off_m = gl.program_id(0) * BLOCK_M
    off_n = gl.program_id(1) * BLOCK_N
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [gl.num_warps(), 1], [16, BLOCK_N, 16])
    ring = Ring.create(a_desc, b_desc, STAGES)
    steps = gl.cdiv(K, BLOCK_K)
    AHEAD: gl.constexpr = STAGES - 2
    for k in gl.static_range(AHEAD):
        ring.load(a_desc, b_desc, off_m, off_n, k, pred=k < steps)
    acc = gl.zeros((BLOCK_M, BLOCK_N), dtype=gl.float32, layout=layout)
    for k in range(steps):
        ahead = k + AHEAD
        ring.load(a_desc, b_desc, off_m, off_n, ahead, pred=ahead < steps)
        a, b = ring.tiles(k)
        acc = warpgroup_mma(a, b, acc, is_async=True)
        acc = warpgroup_mma_wait(1, deps=(acc,))
    acc = warpgroup_mma_wait(0, deps=(acc,))
    for i in gl.static_range(STAGES):
        mbarrier.invalidate(ring.bars.index(i))
    c_smem = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_type.shape, c_desc.layout)
    c_smem.store(acc.to(c_desc.dtype))
    tma.async_store(c_desc, [off_m, off_n], c_smem)
    tma.store_wait(pendings=0)


def matmul(a, b, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, STAGES=4):
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty(m, n, device=a.device, dtype=a.dtype)

    def described(tensor, *block):
        layout = gl.NVMMASharedLayout.get_default_for(block, gl.float16)
        return TensorDescriptor.from_tensor(tensor, list(block), layout)

    a_desc, b_desc = described(a, BLOCK_M, BLOCK_K), described(b, BLOCK_K, BLOCK_N)
    grid = (triton.cdiv(m, BLOCK_M), triton.cdiv(n, BLOCK_N))
    matmul_kernel[grid](a_desc, b_desc, described(c, BLOCK_M, BLOCK_N), k, STAGES, num_warps=4)
    return c


if __name__ == "__main__":
    for m, n, k in itertools.product([512, 4096], [512, 4096], [64, 4096]):
        a = torch.randn(m, k, device="cuda", dtype=torch.float16)
        b = torch.randn(k, n, device="cuda", dtype=torch.float16)
        torch.testing.assert_close(matmul(a, b), a @ b, rtol=1e-2, atol=1e-2)
        ms = triton.testing.do_bench(partial(matmul, a, b))
        print(m, n, k, f"{2e-9 * m * n * k / ms:.0f} TFLOPS")
