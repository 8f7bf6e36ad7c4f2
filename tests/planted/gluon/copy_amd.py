import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as ttgl
from triton.experimental.gluon.language.amd.cdna4 import async_copy as cdna4_async_copy


@gluon.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: ttgl.constexpr, BUFFERS: ttgl.constexpr):
    layout: ttgl.constexpr = ttgl.BlockedLayout([4], [64], [4], [0])
    shared: ttgl.constexpr = ttgl.SwizzledSharedLayout(1, 1, 1, [0])
    bufs = ttgl.allocate_shared_memory(ttgl.float32, [BUFFERS, BLOCK], shared)
    first = ttgl.program_id(0) * n * BLOCK
    offsets = ttgl.arange(0, BLOCK, layout)
    for i in ttgl.static_range(BUFFERS - 1):
        cdna4_async_copy.buffer_load_to_shared(bufs.index(i), x_ptr, first + i * BLOCK + offsets)
        cdna4_async_copy.commit_group()
    for i in range(n):
        cdna4_async_copy.wait_group(BUFFERS - 2)
        x = bufs.index(i % BUFFERS).load(layout)
        ahead = i + BUFFERS - 1
        cdna4_async_copy.buffer_load_to_shared(bufs.index(ahead % BUFFERS), x_ptr, first + ahead * BLOCK + offsets)
        cdna4_async_copy.commit_group()
        ttgl.store(y_ptr + first + i * BLOCK + offsets, ttgl.maximum(x, 0.0))
    cdna4_async_copy.wait_group(0)


if __name__ == "__main__":
    x = torch.randn(64, 16 * 1024, device="cuda")
    y = torch.empty_like(x)
    relu_kernel[(64,)](x, y, 16, 1024, 3, num_warps=4)
    torch.testing.assert_close(y, torch.relu(x))
