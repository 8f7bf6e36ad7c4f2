"""
A product of matrices in Gluon for Hopper: one warp brings tiles by TMA into a ring, four multiply them by wgmma.

One product runs while the next tiles are waited for. `LAG` says which slot is given back then: that of the product
before (1), or that of the product that still runs (0), which is wrong. The TTGIR of both lies in `matmul.good.ttgir`
and `matmul.bad.ttgir` (`make triton-texts` writes it).
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait


@gluon.jit
def load(a_desc, b_desc, a_tiles, b_tiles, full, empty, K, STAGES: gl.constexpr):
    row, column = gl.program_id(0) * 128, gl.program_id(1) * 128
    for k in range(gl.cdiv(K, 64)):
        slot, phase = k % STAGES, k // STAGES & 1
        mbarrier.wait(empty.index(slot), phase ^ 1)
        mbarrier.expect(full.index(slot), a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        tma.async_load(a_desc, [row, k * 64], full.index(slot), a_tiles.index(slot))
        tma.async_load(b_desc, [k * 64, column], full.index(slot), b_tiles.index(slot))


@gluon.jit
def multiply(c_desc, a_tiles, b_tiles, full, empty, K, STAGES: gl.constexpr, LAG: gl.constexpr):
    layout: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 128, 16])
    acc = gl.zeros((128, 128), dtype=gl.float32, layout=layout)
    for k in range(gl.cdiv(K, 64)):
        slot, phase = k % STAGES, k // STAGES & 1
        mbarrier.wait(full.index(slot), phase)
        acc = warpgroup_mma(a_tiles.index(slot), b_tiles.index(slot), acc, is_async=True)
        acc = warpgroup_mma_wait(1, deps=(acc,))
        if k >= LAG:
            mbarrier.arrive(empty.index((k - LAG) % STAGES), count=1)
    acc = warpgroup_mma_wait(0, deps=(acc,))
    result = gl.allocate_shared_memory(gl.float16, [128, 128], c_desc.layout)
    result.store(acc.to(gl.float16))
    tma.async_store(c_desc, [gl.program_id(0) * 128, gl.program_id(1) * 128], result)
    tma.store_wait(0)


@gluon.jit
def matmul(a_desc, b_desc, c_desc, K, STAGES: gl.constexpr, LAG: gl.constexpr):
    a_tiles = gl.allocate_shared_memory(gl.float16, [STAGES, 128, 64], a_desc.layout)
    b_tiles = gl.allocate_shared_memory(gl.float16, [STAGES, 64, 128], b_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(STAGES):
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=1)
    gl.warp_specialize(
        [
            (multiply, (c_desc, a_tiles, b_tiles, full, empty, K, STAGES, LAG)),
            (load, (a_desc, b_desc, a_tiles, b_tiles, full, empty, K, STAGES)),
        ],
        [1],
        [24],
    )
