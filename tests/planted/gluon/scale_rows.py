import pytest
import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


@gluon.jit
def scale_rows_kernel(x_ptr, y_desc, scale, rows, stride, ROWS: gl.constexpr, COLS: gl.constexpr, DEPTH: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [gl.num_warps(), 1], [1, 0])
    col = gl.program_id(0) * COLS
    cols = col + gl.arange(0, COLS, layout=gl.SliceLayout(0, layout))
    y_bufs = gl.allocate_shared_memory(y_desc.dtype, [DEPTH, ROWS, COLS], y_desc.layout)
    slot = 0
    for row in range(0, rows, ROWS):
        offs = row + gl.arange(0, ROWS, layout=gl.SliceLayout(1, layout))
        x = gl.load(x_ptr + offs[:, None] * stride + cols[None, :], mask=(offs < rows)[:, None], other=0.0)
        # All but the newest DEPTH - 1 stores have read their tile.
        tma.store_wait(pendings=DEPTH - 1)
        y_buf = y_bufs.index(slot)
        y_buf.store((x * scale).to(y_desc.dtype))
        fence_async_shared()
        tma.async_store(y_desc, [row, col], y_buf)
        slot = (slot + 1) % DEPTH
    tma.store_wait(pendings=0)


@pytest.mark.parametrize("rows", [64, 1000])
@pytest.mark.parametrize("depth", [2, 3])
def test_scale_rows(rows, depth):
    x = torch.randn(rows, 512, device="cuda", dtype=torch.float16)
    y = torch.empty_like(x)
    layout = gl.NVMMASharedLayout.get_default_for([32, 64], gl.float16)
    y_desc = TensorDescriptor.from_tensor(y, [32, 64], layout)
    scale_rows_kernel[(triton.cdiv(512, 64),)](x, y_desc, 0.5, rows, x.stride(0), 32, 64, depth)
    torch.testing.assert_close(y, 0.5 * x)
