import pytest
import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


def is_hopper_or_newer():
    target = triton.runtime.driver.active.get_current_target()
    return target.backend == "cuda" and torch.cuda.get_device_capability()[0] >= 9


@gluon.jit
def memcpy_kernel(in_desc, out_desc, rows, BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr):
    # Each program copies a column of tiles.
    col = gl.program_id(0) * BLOCK_N
    smem = gl.allocate_shared_memory(in_desc.dtype, [BLOCK_M, BLOCK_N], in_desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    phase = 0
    for row in range(0, rows, BLOCK_M):
        mbarrier.expect(bar, in_desc.block_type.nbytes)
        tma.async_load(in_desc, [row, col], bar, smem)
        mbarrier.wait(bar, phase)
        phase ^= 1
        tma.async_store(out_desc, [row, col], smem)
        # The next load overwrites the tile.
        tma.store_wait(pendings=0)
    mbarrier.invalidate(bar)


def memcpy(x, BLOCK_M=64, BLOCK_N=64):
    out = torch.empty_like(x)
    layout = gl.NVMMASharedLayout.get_default_for([BLOCK_M, BLOCK_N], gl.float16)
    in_desc = TensorDescriptor.from_tensor(x, [BLOCK_M, BLOCK_N], layout)
    out_desc = TensorDescriptor.from_tensor(out, [BLOCK_M, BLOCK_N], layout)
    memcpy_kernel[(triton.cdiv(x.shape[1], BLOCK_N),)](in_desc, out_desc, x.shape[0], BLOCK_M, BLOCK_N, num_warps=1)
    return out


@pytest.mark.parametrize(("m", "n"), [(64, 64), (500, 1024)])
@pytest.mark.skipif(not is_hopper_or_newer(), reason="Requires Hopper or newer")
def test_memcpy(m, n):
    x = torch.randn(m, n, device="cuda", dtype=torch.float16)
    torch.testing.assert_close(memcpy(x), x, atol=0, rtol=0)


if __name__ == "__main__":
    x = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
    ms = triton.testing.do_bench(lambda: memcpy(x))
    print(f"memcpy: {2 * x.nbytes * 1e-12 / (ms * 1e-3):.2f} TB/s")
