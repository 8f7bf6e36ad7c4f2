"""Three copies in flight in a ring of four, tested by pytest: with `PENDING` = 3 a tile is read before it has come."""

import pytest
import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy


@gluon.jit
def doubled(x_ptr, y_ptr, n, STAGES: gl.constexpr, PENDING: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    tiles = gl.allocate_shared_memory(gl.float32, [STAGES, 512], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    lanes = gl.arange(0, 512, layout=layout)
    for k in gl.static_range(STAGES - 1):
        async_copy.async_load(tiles.index(k), x_ptr + k * 512 + lanes, mask=k * 512 + lanes < n * 512)
        async_copy.commit_group()
    for k in range(n):
        async_copy.wait_group(PENDING)
        tile = tiles.index(k % STAGES).load(layout)
        ahead = k + STAGES - 1
        async_copy.async_load(tiles.index(ahead % STAGES), x_ptr + ahead * 512 + lanes, mask=ahead < n)
        async_copy.commit_group()
        gl.store(y_ptr + k * 512 + lanes, 2 * tile)
    async_copy.wait_group(0)


@pytest.mark.parametrize("n", [4, 9])
@pytest.mark.parametrize(("stages", "pending"), [(4, 2), pytest.param(4, 3, id="too many")])
def test_doubled(n, stages, pending, tmp_path):
    x = torch.rand(n, 512, device="cuda")
    y = torch.empty_like(x)
    doubled[(1,)](x, y, n, STAGES=stages, PENDING=pending)
    torch.testing.assert_close(y, 2 * x)
