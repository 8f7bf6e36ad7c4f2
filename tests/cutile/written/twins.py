"""
Kernels in cuTile Python with one fault each, beside the right one: locks and tickets that order nothing, scopes that
reach no other block, numbers that nothing defines, and tiles beyond an array.
"""

from __future__ import annotations

import cuda.tile as ct

C = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
ACQUIRE, RELEASE, RELAXED = ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE, ct.MemoryOrder.RELAXED
BOTH = ct.MemoryOrder.ACQ_REL
BLOCK = ct.MemoryScope.BLOCK


# Locks ----------------------------------------------------------------------------------------------------------------


@ct.kernel
def under_lock(X, Lock, Sums, n: C):
    x = ct.load(X, index=(ct.bid(0), 0), shape=(1, n), padding_mode=ZERO)
    while ct.atomic_cas(Lock, 0, 0, 1, memory_order=ACQUIRE) == 1:
        pass
    ct.store(Sums, index=(0, 0), tile=ct.load(Sums, index=(0, 0), shape=(1, n)) + x)
    ct.atomic_xchg(Lock, 0, 0, memory_order=RELEASE)


@ct.kernel
def taken_relaxed(X, Lock, Sums, n: C):
    x = ct.load(X, index=(ct.bid(0), 0), shape=(1, n), padding_mode=ZERO)
    while ct.atomic_cas(Lock, 0, 0, 1, memory_order=RELAXED) == 1:
        pass
    ct.store(Sums, index=(0, 0), tile=ct.load(Sums, index=(0, 0), shape=(1, n)) + x)
    ct.atomic_xchg(Lock, 0, 0, memory_order=RELEASE)


@ct.kernel
def given_back_relaxed(X, Lock, Sums, n: C):
    x = ct.load(X, index=(ct.bid(0), 0), shape=(1, n), padding_mode=ZERO)
    while ct.atomic_cas(Lock, 0, 0, 1, memory_order=ACQUIRE) == 1:
        pass
    ct.store(Sums, index=(0, 0), tile=ct.load(Sums, index=(0, 0), shape=(1, n)) + x)
    ct.atomic_xchg(Lock, 0, 0, memory_order=RELAXED)


@ct.kernel
def given_back_early(X, Lock, Sums, n: C):
    x = ct.load(X, index=(ct.bid(0), 0), shape=(1, n), padding_mode=ZERO)
    while ct.atomic_cas(Lock, 0, 0, 1, memory_order=ACQUIRE) == 1:
        pass
    total = ct.load(Sums, index=(0, 0), shape=(1, n)) + x
    ct.atomic_xchg(Lock, 0, 0, memory_order=RELEASE)
    ct.store(Sums, index=(0, 0), tile=total)


@ct.kernel
def under_lock_of_block(X, Lock, Sums, n: C):
    x = ct.load(X, index=(ct.bid(0), 0), shape=(1, n), padding_mode=ZERO)
    while ct.atomic_cas(Lock, 0, 0, 1, memory_order=ACQUIRE, memory_scope=BLOCK) == 1:
        pass
    ct.store(Sums, index=(0, 0), tile=ct.load(Sums, index=(0, 0), shape=(1, n)) + x)
    ct.atomic_xchg(Lock, 0, 0, memory_order=RELEASE, memory_scope=BLOCK)


# Tickets --------------------------------------------------------------------------------------------------------------


@ct.kernel
def last_block_sums(X, Parts, Ticket, Sums, blocks: C, n: C):
    """The block that comes last sums what all of them have stored."""
    i = ct.bid(0)
    ct.store(Parts, index=(i, 0), tile=ct.load(X, index=(i, 0), shape=(1, n), padding_mode=ZERO) * 2)
    ticket = ct.atomic_add(Ticket, 0, 1, memory_order=BOTH)
    if ticket == blocks - 1:
        total = ct.zeros((1, n), dtype=ct.float32)
        for j in range(blocks):
            total = total + ct.load(Parts, index=(j, 0), shape=(1, n), padding_mode=ZERO)
        ct.store(Sums, index=(0, 0), tile=total)


@ct.kernel
def ticket_relaxed(X, Parts, Ticket, Sums, blocks: C, n: C):
    i = ct.bid(0)
    ct.store(Parts, index=(i, 0), tile=ct.load(X, index=(i, 0), shape=(1, n), padding_mode=ZERO) * 2)
    ticket = ct.atomic_add(Ticket, 0, 1, memory_order=RELAXED)
    if ticket == blocks - 1:
        total = ct.zeros((1, n), dtype=ct.float32)
        for j in range(blocks):
            total = total + ct.load(Parts, index=(j, 0), shape=(1, n), padding_mode=ZERO)
        ct.store(Sums, index=(0, 0), tile=total)


@ct.kernel
def ticket_only_released(X, Parts, Ticket, Sums, blocks: C, n: C):
    i = ct.bid(0)
    ct.store(Parts, index=(i, 0), tile=ct.load(X, index=(i, 0), shape=(1, n), padding_mode=ZERO) * 2)
    ticket = ct.atomic_add(Ticket, 0, 1, memory_order=RELEASE)
    if ticket == ct.num_blocks(0) - 1:
        total = ct.load(Parts, index=(0, 0), shape=(blocks, n), padding_mode=ZERO)
        ct.store(Sums, index=(0, 0), tile=ct.sum(total, axis=0, keepdims=True))


@ct.kernel
def ticket_of_block(X, Parts, Ticket, Sums, blocks: C, n: C):
    i = ct.bid(0)
    ct.store(Parts, index=(i, 0), tile=ct.load(X, index=(i, 0), shape=(1, n), padding_mode=ZERO) * 2)
    ticket = ct.atomic_add(Ticket, 0, 1, memory_order=BOTH, memory_scope=BLOCK)
    if ticket == blocks - 1:
        total = ct.zeros((1, n), dtype=ct.float32)
        for j in range(blocks):
            total = total + ct.load(Parts, index=(j, 0), shape=(1, n), padding_mode=ZERO)
        ct.store(Sums, index=(0, 0), tile=total)


@ct.kernel
def ticket_too_early(X, Parts, Ticket, Sums, blocks: C, n: C):
    """A block takes its ticket before it stores."""
    i = ct.bid(0)
    ticket = ct.atomic_add(Ticket, 0, 1, memory_order=BOTH)
    ct.store(Parts, index=(i, 0), tile=ct.load(X, index=(i, 0), shape=(1, n), padding_mode=ZERO) * 2)
    if ticket == blocks - 1:
        total = ct.zeros((1, n), dtype=ct.float32)
        for j in range(blocks):
            total = total + ct.load(Parts, index=(j, 0), shape=(1, n), padding_mode=ZERO)
        ct.store(Sums, index=(0, 0), tile=total)


# Padding --------------------------------------------------------------------------------------------------------------


@ct.kernel
def row_sums(X, Sums, tm: C, tn: C):
    i = ct.bid(0)
    total = ct.zeros((tm,), dtype=ct.float32)
    for j in range(ct.num_tiles(X, axis=1, shape=(tm, tn))):
        total = total + ct.sum(ct.load(X, index=(i, j), shape=(tm, tn), padding_mode=ZERO), axis=1)
    ct.store(Sums, index=(i,), tile=total)


@ct.kernel
def row_sums_unpadded(X, Sums, tm: C, tn: C):
    i = ct.bid(0)
    total = ct.zeros((tm,), dtype=ct.float32)
    for j in range(ct.num_tiles(X, axis=1, shape=(tm, tn))):
        total = total + ct.sum(ct.load(X, index=(i, j), shape=(tm, tn)), axis=1)
    ct.store(Sums, index=(i,), tile=total)


@ct.kernel
def row_sums_late(X, Sums, tm: C, tn: C):
    """What is carried has numbers that nothing defines in some columns, and is summed behind the loop."""
    i = ct.bid(0)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for j in range(ct.num_tiles(X, axis=1, shape=(tm, tn))):
        total = total + ct.load(X, index=(i, j), shape=(tm, tn)) * 2
    ct.store(Sums, index=(i,), tile=ct.sum(total, axis=1))


@ct.kernel
def whole_tiles(X, Sums, tm: C, tn: C):
    """Tiles that stick out are left out: nothing undefined is summed."""
    i = ct.bid(0)
    total = ct.zeros((tm,), dtype=ct.float32)
    for j in range(X.shape[1] // tn):
        total = total + ct.sum(ct.load(X, index=(i, j), shape=(tm, tn)), axis=1)
    ct.store(Sums, index=(i,), tile=total)


@ct.kernel
def product(A, B, D, tm: C, tn: C, tk: C):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(i, k), shape=(tm, tk), padding_mode=ZERO)
        total = ct.mma(a, ct.load(B, index=(k, j), shape=(tk, tn), padding_mode=ZERO), total)
    ct.store(D, index=(i, j), tile=total)


@ct.kernel
def product_unpadded(A, B, D, tm: C, tn: C, tk: C):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(i, k), shape=(tm, tk))
        total = ct.mma(a, ct.load(B, index=(k, j), shape=(tk, tn), padding_mode=ZERO), total)
    ct.store(D, index=(i, j), tile=total)


# Bounds ---------------------------------------------------------------------------------------------------------------


@ct.kernel
def doubled(X, Y, n: C):
    for i in range(ct.num_tiles(X, axis=0, shape=(n,))):
        ct.store(Y, index=(i,), tile=ct.load(X, index=(i,), shape=(n,)) * 2)


@ct.kernel
def one_tile_more(X, Y, n: C):
    for i in range(ct.num_tiles(X, axis=0, shape=(n,)) + 1):
        ct.store(Y, index=(i,), tile=ct.load(X, index=(i,), shape=(n,)) * 2)


@ct.kernel
def next_tile(X, Y, n: C):
    for i in range(ct.num_tiles(X, axis=0, shape=(n,))):
        ct.store(Y, index=(i,), tile=ct.load(X, index=(i + 1,), shape=(n,)) * 2)


@ct.kernel
def behind_the_end(X, Y, n: C):
    ct.store(Y, index=(0,), tile=ct.load(X, index=(ct.num_tiles(X, axis=0, shape=(n,)),), shape=(n,)) * 2)
