"""
Kernels in Gluon for AMD's GPUs, right and wrong, as those of `kernels.py` are.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.amd.cdna4 import async_copy, buffer_load, buffer_store
from triton.experimental.gluon.language.amd.gfx1250 import mbarrier, tdm

# Copies through buffer resources: a ring that one agent fills ahead and reads -----------------------------------------


@gluon.jit
def buffer_ring(a_ptr, c_ptr, n, S: gl.constexpr, MISTAKE: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [64], [4], [0])
    bufs = gl.allocate_shared_memory(gl.float32, [S, 1024], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    lanes = gl.arange(0, 1024, layout=layout)
    for i in gl.static_range(S - 1):
        async_copy.buffer_load_to_shared(bufs.index(i), a_ptr, i * 1024 + lanes)
        async_copy.commit_group()
    for k in range(n):
        if MISTAKE == 1:
            async_copy.wait_group(S - 1)
        elif MISTAKE != 2:
            async_copy.wait_group(S - 2)
        ahead = k + S - 1
        if MISTAKE == 3:
            async_copy.buffer_load_to_shared(bufs.index(k % S), a_ptr, ahead * 1024 + lanes)
        tile = async_copy.load_shared_relaxed(bufs.index(k % S), layout)  # mistake 1, 2, 3, 4
        if MISTAKE == 4:
            async_copy.buffer_load_to_shared(bufs.index((k + 1) % S), a_ptr, ahead * 1024 + lanes)
        elif MISTAKE != 3:
            async_copy.buffer_load_to_shared(bufs.index(ahead % S), a_ptr, ahead * 1024 + lanes, mask=lanes < n * 1024)
        async_copy.commit_group()
        bias = buffer_load(a_ptr, lanes, mask=lanes < n, other=0.0)
        buffer_store(tile + bias, c_ptr, k * 1024 + lanes)
    async_copy.wait_group(0)


# The tensor data mover, and barriers in LDS: one partition fills a ring, the other reads it ---------------------------


@gluon.jit
def move_tiles(a_desc, bufs, ready, empty, n, S: gl.constexpr, MISTAKE: gl.constexpr):
    for k in range(n):
        i = k % S
        if MISTAKE != 1:
            mbarrier.wait(empty.index(i), ((k // S) & 1) ^ 1)
        tdm.async_load(a_desc, [0, k * 64], bufs.index(i), mbarrier=ready.index(i))  # mistake 1, 4


@gluon.jit
def read_tiles(c_ptr, bufs, ready, empty, n, S: gl.constexpr, MISTAKE: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    rows = gl.arange(0, 64, layout=gl.SliceLayout(1, layout))
    columns = gl.arange(0, 64, layout=gl.SliceLayout(0, layout))
    for k in range(n):
        i = k % S
        if MISTAKE == 3:
            mbarrier.wait(ready.index(i), ((k // S) & 1) ^ 1)
        else:
            mbarrier.wait(ready.index(i), (k // S) & 1)  # mistake 2, 5
        if MISTAKE == 4:
            mbarrier.arrive(empty.index(i), count=1)
        tile = bufs.index(i).load(layout)  # mistake 3
        if MISTAKE != 4 and MISTAKE != 5:
            mbarrier.arrive(empty.index(i), count=1)
        gl.store(c_ptr + rows[:, None] * 64 + columns[None, :], tile)
        c_ptr += 4096


@gluon.jit
def mover_ring(a_ptr, c_ptr, n, S: gl.constexpr, MISTAKE: gl.constexpr):
    shared: gl.constexpr = gl.PaddedSharedLayout.with_identity_for([[64, 8]], [64, 64], [1, 0])
    a_desc = tdm.make_tensor_descriptor(a_ptr, (64, n * 64), (n * 64, 1), (64, 64), shared)
    bufs = gl.allocate_shared_memory(gl.float16, [S, 64, 64], shared)
    ready = gl.allocate_shared_memory(gl.int64, [S, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [S, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(S):
        mbarrier.init(ready.index(i), count=1 if MISTAKE != 2 else 4)
        mbarrier.init(empty.index(i), count=4 * 32)
    gl.warp_specialize(
        [
            (read_tiles, (c_ptr, bufs, ready, empty, n, S, MISTAKE)),
            (move_tiles, (a_desc, bufs, ready, empty, n, S, MISTAKE)),
        ],
        [1],
    )


@gluon.jit
def mover_queue(a_ptr, c_ptr, n, S: gl.constexpr, MISTAKE: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    shared: gl.constexpr = gl.PaddedSharedLayout.with_identity_for([[64, 8]], [64, 64], [1, 0])
    a_desc = tdm.make_tensor_descriptor(a_ptr, (64, n * 64), (n * 64, 1), (64, 64), shared)
    c_desc = tdm.make_tensor_descriptor(c_ptr, (64, n * 64), (n * 64, 1), (64, 64), shared)
    bufs = gl.allocate_shared_memory(gl.float16, [S, 64, 64], shared)
    out = gl.allocate_shared_memory(gl.float16, [64, 64], shared)
    for i in gl.static_range(S - 1):
        tdm.async_load(a_desc, [0, i * 64], bufs.index(i))
    for k in range(n):
        # Per turn one load and one store: what is younger than the load of this tile may stay.
        tdm.async_wait(2 * (S - 1) if MISTAKE == 1 else 0)
        tile = bufs.index(k % S).load(layout)  # mistake 1
        ahead = k + S - 1
        tdm.async_load(a_desc, [0, ahead * 64], bufs.index(ahead % S))
        if MISTAKE == 2:
            tdm.async_store(c_desc, [0, k * 64], out)
            out.store(tile)  # mistake 2
        else:
            out.store(tile)
            tdm.async_store(c_desc, [0, k * 64], out)
    tdm.async_wait(0)
