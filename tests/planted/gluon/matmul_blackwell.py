"""C = A B on Blackwell, a persistent kernel: each program multiplies the tiles of every so many."""

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    allocate_tensor_memory,
    tcgen05_commit,
    tcgen05_mma,
)
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


@gluon.jit
def matmul_kernel(a_desc, b_desc, c_desc, tiles_m, tiles, steps):
    BLOCK_M: gl.constexpr = c_desc.block_type.shape[0]
    BLOCK_N: gl.constexpr = c_desc.block_type.shape[1]
    BLOCK_K: gl.constexpr = a_desc.block_type.shape[1]
    a_smem = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_type.shape, a_desc.layout)
    b_smem = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_type.shape, b_desc.layout)
    c_smem = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_type.shape, c_desc.layout)
    acc_tmem = allocate_tensor_memory(gl.float32, [BLOCK_M, BLOCK_N], TensorMemoryLayout([BLOCK_M, BLOCK_N], 1))
    load_bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mma_bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(load_bar, count=1)
    mbarrier.init(mma_bar, count=1)
    phase = 0
    for tile in range(gl.program_id(0), tiles, gl.num_programs(0)):
        off_m = tile % tiles_m * BLOCK_M
        off_n = tile // tiles_m * BLOCK_N
        for k in range(steps):
            mbarrier.expect(load_bar, a_desc.block_type.nbytes + b_desc.block_type.nbytes)
            tma.async_load(a_desc, [off_m, k * BLOCK_K], load_bar, a_smem)
            tma.async_load(b_desc, [k * BLOCK_K, off_n], load_bar, b_smem)
            mbarrier.wait(load_bar, phase)
            tcgen05_mma(a_smem, b_smem, acc_tmem, use_acc=k > 0)
            tcgen05_commit(mma_bar)
            mbarrier.wait(mma_bar, phase)
            phase ^= 1
        acc = acc_tmem.load()
        tma.store_wait(pendings=0)
        c_smem.store(acc.to(c_desc.dtype))
        tma.async_store(c_desc, [off_m, off_n], c_smem)
    tma.store_wait(pendings=0)
    mbarrier.invalidate(load_bar)
    mbarrier.invalidate(mma_bar)


def matmul(a, b, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64):
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty(m, n, device=a.device, dtype=a.dtype)

    def described(tensor, *block):
        layout = gl.NVMMASharedLayout.get_default_for(block, gl.bfloat16)
        return TensorDescriptor.from_tensor(tensor, list(block), layout)

    tiles_m = triton.cdiv(m, BLOCK_M)
    tiles = tiles_m * triton.cdiv(n, BLOCK_N)
    programs = min(tiles, torch.cuda.get_device_properties("cuda").multi_processor_count)
    matmul_kernel[(programs,)](
        described(a, BLOCK_M, BLOCK_K),
        described(b, BLOCK_K, BLOCK_N),
        described(c, BLOCK_M, BLOCK_N),
        tiles_m,
        tiles,
        triton.cdiv(k, BLOCK_K),
    )
    return c


if __name__ == "__main__":
    a = torch.randn(2048, 4096, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(4096, 1024, device="cuda", dtype=torch.bfloat16)
    torch.testing.assert_close(matmul(a, b), a @ b, rtol=1e-2, atol=1e-2)
    print(f"{triton.testing.do_bench(lambda: matmul(a, b)):.3f} ms")
