"""
Adds two matrices by blocks of rows, with the copies of the next blocks in flight.

    python add_cp_async.py        compares with torch and measures
"""

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy as cp

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@gluon.jit
def issue_loads(step, a_smem, b_smem, a_ptrs, b_ptrs, n, BLOCK: gl.constexpr, NUM_BUFFERS: gl.constexpr):
    mask = step * BLOCK + gl.arange(0, BLOCK, layout=gl.BlockedLayout([1], [32], [gl.num_warps()], [0])) < n
    cp.async_load(a_smem.index(step % NUM_BUFFERS), a_ptrs + step * BLOCK, mask=mask)
    cp.async_load(b_smem.index(step % NUM_BUFFERS), b_ptrs + step * BLOCK, mask=mask)
    cp.commit_group()
    return step + 1


@gluon.jit
def perform_add(
    step, a_smem, b_smem, c_ptrs, offs, n, PENDING: gl.constexpr, BLOCK: gl.constexpr, NUM_BUFFERS: gl.constexpr
):
    cp.wait_group(PENDING)
    a = a_smem.index(step % NUM_BUFFERS).load(gl.BlockedLayout([1], [32], [gl.num_warps()], [0]))
    b = b_smem.index(step % NUM_BUFFERS).load(gl.BlockedLayout([1], [32], [gl.num_warps()], [0]))
    gl.store(c_ptrs + step * BLOCK, a + b, mask=step * BLOCK + offs < n)
    return step + 1


@gluon.jit
def add_kernel(a_ptr, b_ptr, c_ptr, n, stride, BLOCK: gl.constexpr, NUM_BUFFERS: gl.constexpr):
    row = gl.program_id(0)
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [gl.num_warps()], [0])
    smem_layout: gl.constexpr = gl.SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order=[0])
    dtype: gl.constexpr = a_ptr.dtype.element_ty
    a_smem = gl.allocate_shared_memory(dtype, [NUM_BUFFERS, BLOCK], smem_layout)
    b_smem = gl.allocate_shared_memory(dtype, [NUM_BUFFERS, BLOCK], smem_layout)
    offs = gl.arange(0, BLOCK, layout=layout)
    a_ptrs = a_ptr + row * stride + offs
    b_ptrs = b_ptr + row * stride + offs
    c_ptrs = c_ptr + row * stride + offs

    copied = 0
    added = 0
    for _ in gl.static_range(NUM_BUFFERS - 1):
        copied = issue_loads(copied, a_smem, b_smem, a_ptrs, b_ptrs, n, BLOCK, NUM_BUFFERS)
    for _ in range(gl.cdiv(n, BLOCK) - (NUM_BUFFERS - 1)):
        copied = issue_loads(copied, a_smem, b_smem, a_ptrs, b_ptrs, n, BLOCK, NUM_BUFFERS)
        added = perform_add(added, a_smem, b_smem, c_ptrs, offs, n, NUM_BUFFERS - 1, BLOCK, NUM_BUFFERS)
    for i in gl.static_range(NUM_BUFFERS - 1):
        added = perform_add(added, a_smem, b_smem, c_ptrs, offs, n, NUM_BUFFERS - 2 - i, BLOCK, NUM_BUFFERS)


def add(a, b, BLOCK=256, NUM_BUFFERS=3):
    c = torch.empty_like(a)
    add_kernel[(a.shape[0],)](a, b, c, a.shape[1], a.stride(0), BLOCK, NUM_BUFFERS)
    return c


if __name__ == "__main__":
    torch.manual_seed(0)
    a = torch.rand(512, 8192, device=DEVICE)
    b = torch.rand(512, 8192, device=DEVICE)
    torch.testing.assert_close(add(a, b), a + b)
    ms = triton.testing.do_bench(lambda: add(a, b))
    print(f"{3 * a.numel() * a.element_size() * 1e-9 / (ms * 1e-3):.0f} GB/s")
