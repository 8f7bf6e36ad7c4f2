"""
Kernels in Gluon for clusters of two blocks, and one that takes over the work of other blocks; right and wrong, as those
of `kernels.py`.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    allocate_tensor_memory,
    clc,
    tcgen05_commit,
    tcgen05_mma,
)
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma

# A product of two blocks: the even one multiplies what both have loaded -----------------------------------------------


@gluon.jit
def pair_product(a_desc, b_desc, n, S: gl.constexpr, MISTAKE: gl.constexpr):
    a = gl.allocate_shared_memory(gl.float16, [S, 256, 64], a_desc.layout)
    b = gl.allocate_shared_memory(gl.float16, [S, 64, 128], b_desc.layout)
    layout: gl.constexpr = TensorMemoryLayout([128, 128], col_stride=1, cga_layout=[[1, 0]], two_ctas=True)
    acc = allocate_tensor_memory(gl.float32, [256, 128], layout)
    loaded = mbarrier.allocate_mbarrier(S, two_ctas=MISTAKE != 1)
    multiplied = mbarrier.allocate_mbarrier(S)
    for slot in gl.static_range(S):
        mbarrier.init(loaded.index(slot), count=1)
        mbarrier.init(multiplied.index(slot), count=2 if MISTAKE == 5 else 1)
    for k in range(n):
        i = k % S
        phase = (k // S) & 1
        if MISTAKE != 2:
            mbarrier.wait(multiplied.index(i), phase ^ 1)  # mistake 5
        mbarrier.expect(loaded.index(i), a_desc.block_type.nbytes // 2 if MISTAKE == 3 else 24576)
        tma.async_load(a_desc, [0, k * 64], loaded.index(i), a.index(i))  # mistake 1, 2
        tma.async_load(b_desc, [k * 64, 0], loaded.index(i), b.index(i))
        if MISTAKE == 4:
            mbarrier.wait(loaded.index(i), phase ^ 1)  # mistake 4
        else:
            mbarrier.wait(loaded.index(i), phase)  # mistake 3
        if MISTAKE == -1:
            tcgen05_mma(a.index(i), b.index(i), acc, use_acc=k > 0)
            tcgen05_commit(multiplied.index(i))
        else:
            tcgen05_mma(a.index(i), b.index(i), acc, use_acc=k > 0, mbarriers=[multiplied.index(i)])  # mistake 1
    for back in gl.static_range(S):
        if back < n:
            last = n - 1 - back
            mbarrier.wait(multiplied.index(last % S), (last // S) & 1)
    for slot in gl.static_range(S):
        mbarrier.invalidate(loaded.index(slot))
        mbarrier.invalidate(multiplied.index(slot))


# Tiles that one block loads into both ---------------------------------------------------------------------------------


@gluon.jit
def shared_tiles(a_desc, c_ptr, n, S: gl.constexpr, MISTAKE: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0], cga_layout=[[0, 0]])
    a = gl.allocate_shared_memory(gl.float16, [S, 64, 64], a_desc.layout)
    full = mbarrier.allocate_mbarrier(S)
    empty = mbarrier.allocate_mbarrier(S, two_ctas=MISTAKE != 2)
    for slot in gl.static_range(S):
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=1)
    for k in range(n):
        i = k % S
        phase = (k // S) & 1
        if MISTAKE != 1:
            mbarrier.wait(empty.index(i), phase ^ 1)
        mbarrier.expect(full.index(i), 4096 if MISTAKE == 4 else 8192)
        tma.async_load(a_desc, [0, k * 64], full.index(i), a.index(i), multicast=True)  # mistake 1, 2, 3, 5
        if MISTAKE != 3:
            mbarrier.wait(full.index(i), phase)  # mistake 4
        tile = a.index(i).load(layout)  # mistake 1, 2, 3, 5
        gl.store(c_ptr + gl.full([64, 64], 0, gl.int32, layout), tile)
        if MISTAKE != 5:
            fence_async_shared(cluster=True)
        mbarrier.arrive(empty.index(i), count=1)
    gl.barrier(cluster=True)
    for slot in gl.static_range(S):
        mbarrier.invalidate(full.index(slot))
        mbarrier.invalidate(empty.index(slot))


# Work of other blocks -------------------------------------------------------------------------------------------------


@gluon.jit
def taken_over(a_desc, c_ptr, MISTAKE: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    a = gl.allocate_shared_memory(gl.float16, [64, 64], a_desc.layout)
    answer = gl.allocate_shared_memory(gl.int64, [2], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    loaded = mbarrier.allocate_mbarrier()
    answered = mbarrier.allocate_mbarrier()
    mbarrier.init(loaded, count=1)
    mbarrier.init(answered, count=1)
    row = gl.program_id(0)
    phase = 0
    more = True
    while more:
        mbarrier.expect(answered, 8 if MISTAKE == 3 else 16)
        clc.try_cancel(answer, answered)  # mistake 1
        mbarrier.expect(loaded, a_desc.block_type.nbytes)
        tma.async_load(a_desc, [row * 64, 0], loaded, a)
        mbarrier.wait(loaded, phase)
        gl.store(c_ptr + gl.full([64, 64], 0, gl.int32, layout), a.load(layout))
        if MISTAKE == 2:
            mbarrier.wait(answered, phase ^ 1)  # mistake 2
        elif MISTAKE != 1:
            mbarrier.wait(answered, phase)  # mistake 3
        taken = clc.load_result(answer)  # mistake 1
        more = taken.is_canceled()
        row = taken.program_id(0)
        phase ^= 1
    mbarrier.invalidate(loaded)
    mbarrier.invalidate(answered)


# Products of each block whose operand both share ----------------------------------------------------------------------


@gluon.jit
def shared_operand(a_desc, b_desc, n, MISTAKE: gl.constexpr):
    a = gl.allocate_shared_memory(gl.float16, [256, 64], a_desc.layout)
    b = gl.allocate_shared_memory(gl.float16, [64, 128], b_desc.layout)
    acc = allocate_tensor_memory(
        gl.float32, [256, 128], TensorMemoryLayout([128, 128], col_stride=1, cga_layout=[[1, 0]])
    )
    loaded = mbarrier.allocate_mbarrier()
    multiplied = mbarrier.allocate_mbarrier()
    mbarrier.init(loaded, count=1)
    mbarrier.init(multiplied, count=1 if MISTAKE == 1 else 2)
    phase = 0
    for k in range(n):
        mbarrier.expect(loaded, 32768)
        tma.async_load(a_desc, [0, k * 64], loaded, a)
        tma.async_load(b_desc, [k * 64, 0], loaded, b, multicast=True)  # mistake 1, 2
        mbarrier.wait(loaded, phase)
        if MISTAKE == -1:
            tcgen05_mma(a, b, acc, use_acc=k > 0, multicast=True, mbarriers=[multiplied])
        else:
            tcgen05_mma(a, b, acc, use_acc=k > 0)  # mistake 1, 2
            if MISTAKE == 2:
                tcgen05_commit(multiplied)
            else:
                tcgen05_commit(multiplied, descs=[a, b])
        mbarrier.wait(multiplied, phase)  # mistake 2
        gl.barrier(cluster=True)
        phase ^= 1
    mbarrier.invalidate(loaded)
    mbarrier.invalidate(multiplied)


# Work of other clusters -----------------------------------------------------------------------------------------------


@gluon.jit
def taken_over_by_both(a_desc, c_ptr, MISTAKE: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0], cga_layout=[[1, 0]])
    a = gl.allocate_shared_memory(gl.float16, [128, 64], a_desc.layout)
    answer = gl.allocate_shared_memory(gl.int64, [2], gl.SwizzledSharedLayout(1, 1, 1, [0], cga_layout=[[0]]))
    loaded = mbarrier.allocate_mbarrier()
    answered = mbarrier.allocate_mbarrier()
    mbarrier.init(loaded, count=1)
    mbarrier.init(answered, count=1)
    row = gl.program_id(0)
    phase = 0
    more = True
    while more:
        mbarrier.expect(answered, 16)
        clc.try_cancel(answer, answered)  # mistake 1, 2
        mbarrier.expect(loaded, 8192)
        tma.async_load(a_desc, [row * 128, 0], loaded, a)
        mbarrier.wait(loaded, phase)
        gl.store(c_ptr + gl.full([128, 64], 0, gl.int32, layout), a.load(layout))
        mbarrier.wait(answered, phase)
        taken = clc.load_result(answer)  # mistake 1, 2
        more = taken.is_canceled()
        row = taken.program_id(0)
        phase ^= 1
        if MISTAKE != 2:
            fence_async_shared(cluster=True)
        if MISTAKE != 1:
            gl.barrier(cluster=True)
    mbarrier.invalidate(loaded)
    mbarrier.invalidate(answered)


# What the first block tells all ---------------------------------------------------------------------------------------


@gluon.jit
def told_by_first(n, MISTAKE: gl.constexpr):
    told = mbarrier.allocate_mbarrier()
    mbarrier.init(told, count=2 if MISTAKE == 2 else 1)
    phase = 0
    for _k in range(n):
        mbarrier.arrive(told, from_cta=0)  # mistake 1
        mbarrier.wait(told, phase)  # mistake 1, 2
        if MISTAKE != 1:
            gl.barrier(cluster=True)
        phase ^= 1
    gl.barrier(cluster=True)
    mbarrier.invalidate(told)
