"""Adds two matrices: one warp loads, four warps add, one warp stores."""

import pytest
import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


@gluon.jit
def load_partition(descs, load_bars, store_bars, bufs, x, height, YBLOCK: gl.constexpr):
    a_desc, b_desc, _ = descs
    load_empty, load_ready = load_bars
    a_bufs, b_bufs, _ = bufs
    num_buffers: gl.constexpr = a_bufs.type.shape[0]
    for i in range(gl.cdiv(height, YBLOCK)):
        index = i % num_buffers
        phase = i // num_buffers & 1
        # Barriers begin with the phase before the first one complete, so that the first turn does not wait.
        mbarrier.wait(load_empty.index(index), phase ^ 1)
        ready = load_ready.index(index)
        mbarrier.expect(ready, a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        tma.async_load(a_desc, [x, i * YBLOCK], ready, a_bufs.index(index))
        tma.async_load(b_desc, [x, i * YBLOCK], ready, b_bufs.index(index))


@gluon.jit
def store_partition(descs, load_bars, store_bars, bufs, x, height, YBLOCK: gl.constexpr):
    _, _, c_desc = descs
    c_empty, c_ready = store_bars
    _, _, c_bufs = bufs
    num_buffers: gl.constexpr = c_bufs.type.shape[0]
    for i in range(gl.cdiv(height, YBLOCK)):
        index = i % num_buffers
        phase = i // num_buffers & 1
        mbarrier.wait(c_ready.index(index), phase)
        tma.async_store(c_desc, [x, i * YBLOCK], c_bufs.index(index))
        tma.store_wait(pendings=0)
        mbarrier.arrive(c_empty.index(index), count=1)


@gluon.jit
def compute_partition(load_bars, store_bars, bufs, height, YBLOCK: gl.constexpr, layout: gl.constexpr):
    load_empty, load_ready = load_bars
    c_empty, c_ready = store_bars
    a_bufs, b_bufs, c_bufs = bufs
    num_load_buffers: gl.constexpr = a_bufs.type.shape[0]
    num_store_buffers: gl.constexpr = c_bufs.type.shape[0]
    for i in range(gl.cdiv(height, YBLOCK)):
        index = i % num_load_buffers
        phase = i // num_load_buffers & 1
        mbarrier.wait(load_ready.index(index), phase)
        a = a_bufs.index(index).load(layout)
        b = b_bufs.index(index).load(layout)
        fence_async_shared()  # the tiles are read before they are loaded again
        mbarrier.arrive(load_empty.index(index), count=1)

        index = i % num_store_buffers
        phase = i // num_store_buffers & 1
        mbarrier.wait(c_empty.index(index), phase ^ 1)
        c_bufs.index(index).store(a + b)
        fence_async_shared()  # the sum is written before it is stored
        mbarrier.arrive(c_ready.index(index), count=1)


@gluon.jit
def add_kernel(
    a_desc,
    b_desc,
    c_desc,
    height,
    XBLOCK: gl.constexpr,
    YBLOCK: gl.constexpr,
    LOAD_BUFFERS: gl.constexpr,
    STORE_BUFFERS: gl.constexpr,
):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [1, gl.num_warps()], [1, 0])
    a_bufs = gl.allocate_shared_memory(a_desc.dtype, [LOAD_BUFFERS, XBLOCK, YBLOCK], a_desc.layout)
    b_bufs = gl.allocate_shared_memory(b_desc.dtype, [LOAD_BUFFERS, XBLOCK, YBLOCK], b_desc.layout)
    c_bufs = gl.allocate_shared_memory(c_desc.dtype, [STORE_BUFFERS, XBLOCK, YBLOCK], c_desc.layout)
    load_empty = gl.allocate_shared_memory(gl.int64, [LOAD_BUFFERS, 1], mbarrier.MBarrierLayout())
    load_ready = gl.allocate_shared_memory(gl.int64, [LOAD_BUFFERS, 1], mbarrier.MBarrierLayout())
    c_empty = gl.allocate_shared_memory(gl.int64, [STORE_BUFFERS, 1], mbarrier.MBarrierLayout())
    c_ready = gl.allocate_shared_memory(gl.int64, [STORE_BUFFERS, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(LOAD_BUFFERS):
        mbarrier.init(load_empty.index(i), count=1)
        mbarrier.init(load_ready.index(i), count=1)
    for i in gl.static_range(STORE_BUFFERS):
        mbarrier.init(c_empty.index(i), count=1)
        mbarrier.init(c_ready.index(i), count=1)

    descs = (a_desc, b_desc, c_desc)
    load_bars = (load_empty, load_ready)
    store_bars = (c_empty, c_ready)
    bufs = (a_bufs, b_bufs, c_bufs)
    x = gl.program_id(0) * XBLOCK
    gl.warp_specialize(
        [
            (compute_partition, (load_bars, store_bars, bufs, height, YBLOCK, layout)),
            (load_partition, (descs, load_bars, store_bars, bufs, x, height, YBLOCK)),
            (store_partition, (descs, load_bars, store_bars, bufs, x, height, YBLOCK)),
        ],
        [1, 1],
        [24, 24],
    )


def add(a, b, XBLOCK=32, YBLOCK=64, load_buffers=2, store_buffers=2):
    c = torch.empty_like(a)
    block = [XBLOCK, YBLOCK]
    layout = gl.NVMMASharedLayout.get_default_for(block, gl.float32)
    descs = [TensorDescriptor.from_tensor(tensor, block, layout) for tensor in (a, b, c)]
    grid = (triton.cdiv(a.shape[0], XBLOCK),)
    add_kernel[grid](*descs, a.shape[1], XBLOCK, YBLOCK, load_buffers, store_buffers, num_warps=4, maxnreg=128)
    return c


@pytest.mark.parametrize("shape", [(1000, 2000), (4000, 120)])
def test_add(shape):
    a, b = torch.randn(shape, device="cuda"), torch.randn(shape, device="cuda")
    torch.testing.assert_close(add(a, b), a + b, atol=0, rtol=0)


if __name__ == "__main__":
    a = torch.randn(32 * 1024, 32 * 1024, device="cuda")
    ms = triton.testing.do_bench(lambda: add(a, a, 64, 128, 3, 1))
    print(f"{3 * a.numel() * 4e-12 / (ms * 1e-3):.2f} TB/s")
