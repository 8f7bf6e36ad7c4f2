"""
Kernels in Gluon, right and wrong. `MISTAKE` selects what is wrong with a kernel (0: nothing), and a comment marks the
line: `# mistake 3`. What each of them leads to stands in `pairs.py`; the TTGIR that Triton makes of them lies in
`ttgir/` (`python -m tests.triton.emit` writes it).
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    allocate_tensor_memory,
    tcgen05_commit,
    tcgen05_mma,
)
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

# A ring of tiles between a partition that loads by TMA and one that multiplies by wgmma ------------------------------


@gluon.jit
def load_tiles(a_desc, b_desc, a_bufs, b_bufs, ready, empty, steps, S: gl.constexpr, MISTAKE: gl.constexpr):
    for k in range(steps):
        i = k % S
        phase = (k // S) & 1
        if MISTAKE != 1:
            mbarrier.wait(empty.index(i), phase ^ 1)
        if MISTAKE == 2:
            mbarrier.expect(ready.index(i), a_desc.block_type.nbytes)  # mistake 2
        else:
            mbarrier.expect(ready.index(i), a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        tma.async_load(a_desc, [0, k * 64], ready.index(i), a_bufs.index(i))  # mistake 1, 4, 5
        tma.async_load(b_desc, [k * 64, 0], ready.index(i), b_bufs.index(i))


@gluon.jit
def multiply_tiles(c_ptr, a_bufs, b_bufs, ready, empty, steps, S: gl.constexpr, MISTAKE: gl.constexpr):
    layout: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 64, 16])
    acc = gl.zeros((64, 64), dtype=gl.float32, layout=layout)
    for k in range(steps):
        i = k % S
        phase = (k // S) & 1
        if MISTAKE == 3:
            mbarrier.wait(ready.index(i), phase ^ 1)  # mistake 3
        else:
            mbarrier.wait(ready.index(i), phase)  # mistake 6, 8
        if MISTAKE == 5:
            mbarrier.arrive(empty.index(i), count=1)
        acc = warpgroup_mma(a_bufs.index(i), b_bufs.index(i), acc, is_async=True)
        if MISTAKE == 4:
            acc = warpgroup_mma_wait(1, deps=(acc,))
        else:
            acc = warpgroup_mma_wait(0, deps=(acc,))
        if MISTAKE == 7:
            mbarrier.arrive(empty.index(i), count=2)  # mistake 7
        elif MISTAKE != 5 and MISTAKE != 6:
            mbarrier.arrive(empty.index(i), count=1)
    rows = gl.arange(0, 64, layout=gl.SliceLayout(1, layout))
    columns = gl.arange(0, 64, layout=gl.SliceLayout(0, layout))
    gl.store(c_ptr + rows[:, None] * 64 + columns[None, :], acc)


@gluon.jit
def wgmma_ring(a_desc, b_desc, c_ptr, steps, S: gl.constexpr, MISTAKE: gl.constexpr):
    a_bufs = gl.allocate_shared_memory(gl.float16, [S, 64, 64], a_desc.layout)
    b_bufs = gl.allocate_shared_memory(gl.float16, [S, 64, 64], b_desc.layout)
    ready = gl.allocate_shared_memory(gl.int64, [S, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [S, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(S):
        mbarrier.init(ready.index(i), count=2 if MISTAKE == 8 else 1)
        mbarrier.init(empty.index(i), count=1)
    gl.warp_specialize(
        [
            (multiply_tiles, (c_ptr, a_bufs, b_bufs, ready, empty, steps, S, MISTAKE)),
            (load_tiles, (a_desc, b_desc, a_bufs, b_bufs, ready, empty, steps, S, MISTAKE)),
        ],
        [1],
        [24],
    )
    for i in gl.static_range(S):
        mbarrier.invalidate(ready.index(i))
        mbarrier.invalidate(empty.index(i))


# cp.async: a ring that one agent fills ahead and reads ---------------------------------------------------------------


@gluon.jit
def copy_ring(a_ptr, c_ptr, n, S: gl.constexpr, MISTAKE: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    bufs = gl.allocate_shared_memory(gl.float32, [S, 512], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    offsets = gl.arange(0, 512, layout=layout)
    for i in gl.static_range(S - 1):
        async_copy.async_load(bufs.index(i), a_ptr + i * 512 + offsets)
        async_copy.commit_group()
    for k in range(n):
        if MISTAKE == 1:
            async_copy.wait_group(S - 1)
        elif MISTAKE != 2:
            async_copy.wait_group(S - 2)
        if MISTAKE == 3:
            async_copy.async_load(bufs.index(k % S), a_ptr + k * 512 + offsets)
        tile = bufs.index(k % S).load(layout)  # mistake 1, 2, 3, 4
        if MISTAKE != 3:
            async_copy.async_load(bufs.index((k + S - 1) % S), a_ptr + (k + S - 1) * 512 + offsets)
        if MISTAKE != 4:
            async_copy.commit_group()
        gl.store(c_ptr + k * 512 + offsets, tile)
    async_copy.wait_group(0)


# tcgen05: one agent loads, multiplies and waits ----------------------------------------------------------------------


@gluon.jit
def tcgen05_loop(a_desc, b_desc, c_ptr, n, MISTAKE: gl.constexpr):
    a = gl.allocate_shared_memory(gl.float16, [128, 64], a_desc.layout)
    b = gl.allocate_shared_memory(gl.float16, [64, 64], b_desc.layout)
    acc = allocate_tensor_memory(gl.float32, [128, 64], TensorMemoryLayout([128, 64], col_stride=1))
    loaded = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    multiplied = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(loaded, count=1)
    mbarrier.init(multiplied, count=1)
    phase = 0
    for k in range(n):
        mbarrier.expect(loaded, a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        tma.async_load(a_desc, [0, k * 64], loaded, a)  # mistake 1
        tma.async_load(b_desc, [k * 64, 0], loaded, b)
        if MISTAKE != 2:
            mbarrier.wait(loaded, phase)
        tcgen05_mma(a, b, acc, use_acc=k > 0)  # mistake 2
        if MISTAKE != 4:
            tcgen05_commit(multiplied)
        if MISTAKE == 3:
            mbarrier.wait(multiplied, phase ^ 1)
        elif MISTAKE != 1:
            mbarrier.wait(multiplied, phase)  # mistake 4
        phase ^= 1
    if MISTAKE != 1:
        mbarrier.invalidate(loaded)
        mbarrier.invalidate(multiplied)
    layout: gl.constexpr = gl.BlockedLayout([1, 64], [32, 1], [4, 1], [1, 0])
    product = acc.load()
    rows = gl.arange(0, 128, layout=gl.SliceLayout(1, layout))
    columns = gl.arange(0, 64, layout=gl.SliceLayout(0, layout))
    gl.store(c_ptr + rows[:, None] * 64 + columns[None, :], gl.convert_layout(product, layout))


# TMA stores: a ring of buffers that are written and stored -----------------------------------------------------------


@gluon.jit
def store_ring(c_desc, n, S: gl.constexpr, MISTAKE: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    bufs = gl.allocate_shared_memory(gl.float16, [S, 64, 64], c_desc.layout)
    for k in range(n):
        if MISTAKE == 2:
            tma.store_wait(pendings=S)
        elif MISTAKE != 1:
            tma.store_wait(pendings=S - 1)
        bufs.index(k % S).store(gl.full([64, 64], 1.0, gl.float16, layout))  # mistake 1, 2
        fence_async_shared()
        tma.async_store(c_desc, [k * 64, 0], bufs.index(k % S))
    tma.store_wait(pendings=0)


# Fences across partitions --------------------------------------------------------------------------------------------


@gluon.jit
def write_tiles(buf, full, free, n, MISTAKE: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    for k in range(n):
        mbarrier.wait(free, (k & 1) ^ 1)
        buf.store(gl.full([64, 64], 1.0, gl.float16, layout))
        if MISTAKE == 0 or MISTAKE == 3:
            fence_async_shared()
        mbarrier.arrive(full, count=1)
        if MISTAKE == 2:
            fence_async_shared()


@gluon.jit
def store_tiles(c_desc, buf, full, free, n, MISTAKE: gl.constexpr):
    for k in range(n):
        mbarrier.wait(full, k & 1)
        if MISTAKE == -1:
            fence_async_shared()
        tma.async_store(c_desc, [k * 64, 0], buf)  # mistake 1, 2
        if MISTAKE != 3:
            tma.store_wait(pendings=0)
        mbarrier.arrive(free, count=1)


@gluon.jit
def fenced_stores(c_desc, n, MISTAKE: gl.constexpr):
    buf = gl.allocate_shared_memory(gl.float16, [64, 64], c_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    free = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)
    mbarrier.init(free, count=1)
    gl.warp_specialize(
        [(write_tiles, (buf, full, free, n, MISTAKE)), (store_tiles, (c_desc, buf, full, free, n, MISTAKE))], [1], [24]
    )
    mbarrier.invalidate(full)
    mbarrier.invalidate(free)


# Barrier lives -------------------------------------------------------------------------------------------------------


@gluon.jit
def barrier_life(a_desc, c_ptr, MISTAKE: gl.constexpr):
    a = gl.allocate_shared_memory(gl.float16, [64, 64], a_desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    if MISTAKE != 1:
        mbarrier.init(bar, count=1)
    if MISTAKE == 2:
        mbarrier.init(bar, count=1)  # mistake 2
    if MISTAKE == 3:
        mbarrier.invalidate(bar)
    mbarrier.expect(bar, a_desc.block_type.nbytes)  # mistake 1, 3
    tma.async_load(a_desc, [0, 0], bar, a)
    if MISTAKE != 4:
        mbarrier.wait(bar, 0)
    mbarrier.invalidate(bar)  # mistake 4
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    rows = gl.arange(0, 64, layout=gl.SliceLayout(1, layout))
    columns = gl.arange(0, 64, layout=gl.SliceLayout(0, layout))
    gl.store(c_ptr + rows[:, None] * 64 + columns[None, :], a.load(layout))


# Three partitions and two rings of coprime depth, phases carried through a nest --------------------------------------


@gluon.jit
def bring(desc, bufs, ready, empty, tiles, steps, S: gl.constexpr, MISTAKE: gl.constexpr):
    turn = 0
    for tile in range(tiles):
        if MISTAKE == 1:
            turn = 0
        for k in range(steps):
            mbarrier.wait(empty.index(turn % S), ((turn // S) & 1) ^ 1)
            mbarrier.expect(ready.index(turn % S), desc.block_type.nbytes)
            tma.async_load(desc, [tile * 64, k * 64], ready.index(turn % S), bufs.index(turn % S))
            turn += 1


@gluon.jit
def take(c_ptr, a_bufs, a_ready, a_empty, b_bufs, b_ready, b_empty, tiles, steps, MISTAKE: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    rows = gl.arange(0, 64, layout=gl.SliceLayout(1, layout))
    columns = gl.arange(0, 64, layout=gl.SliceLayout(0, layout))
    turn = 0
    for tile in range(tiles):
        total = gl.zeros([64, 64], gl.float16, layout)
        for _ in range(steps):
            mbarrier.wait(a_ready.index(turn % 2), (turn // 2) & 1)
            mbarrier.wait(b_ready.index(turn % 3), (turn // 3) & 1)
            total += a_bufs.index(turn % 2).load(layout)
            total += b_bufs.index(turn % 3).load(layout)
            fence_async_shared()
            mbarrier.arrive(a_empty.index(turn % 2), count=1)
            if MISTAKE == 2:
                mbarrier.arrive(b_empty.index(turn % 2), count=1)
            else:
                mbarrier.arrive(b_empty.index(turn % 3), count=1)
            turn += 1
        gl.store(c_ptr + tile * 4096 + rows[:, None] * 64 + columns[None, :], total)


@gluon.jit
def two_rings(a_desc, b_desc, c_ptr, tiles, steps, MISTAKE: gl.constexpr):
    a_bufs = gl.allocate_shared_memory(gl.float16, [2, 64, 64], a_desc.layout)
    b_bufs = gl.allocate_shared_memory(gl.float16, [3, 64, 64], b_desc.layout)
    a_ready = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    a_empty = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    b_ready = gl.allocate_shared_memory(gl.int64, [3, 1], mbarrier.MBarrierLayout())
    b_empty = gl.allocate_shared_memory(gl.int64, [3, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(2):
        mbarrier.init(a_ready.index(i), count=1)
        mbarrier.init(a_empty.index(i), count=1)
    for i in gl.static_range(3):
        mbarrier.init(b_ready.index(i), count=1)
        mbarrier.init(b_empty.index(i), count=1)
    gl.warp_specialize(
        [
            (take, (c_ptr, a_bufs, a_ready, a_empty, b_bufs, b_ready, b_empty, tiles, steps, MISTAKE)),
            (bring, (a_desc, a_bufs, a_ready, a_empty, tiles, steps, 2, 0)),
            (bring, (b_desc, b_bufs, b_ready, b_empty, tiles, steps, 3, MISTAKE)),
        ],
        [1, 1],
        [24, 24],
    )
