"""Kernels in cuTile Python whose blocks race, and the same ones repaired."""

from __future__ import annotations

import cuda.tile as ct

C = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def lost_sums(X, Sums, tm: C, n: C):
    """Each block of a row stores its sum at one place."""
    row, piece = ct.bid(0), ct.bid(1)
    x = ct.load(X, index=(row, piece), shape=(tm, n), padding_mode=ZERO)
    ct.store(Sums, index=(row,), tile=ct.sum(x, axis=1))


@ct.kernel
def added_sums(X, Sums, tm: C, n: C):
    row, piece = ct.bid(0), ct.bid(1)
    x = ct.load(X, index=(row, piece), shape=(tm, n), padding_mode=ZERO)
    ct.atomic_add(Sums, row * tm + ct.arange(tm, dtype=ct.int32), ct.sum(x, axis=1))


@ct.kernel
def sums_by_piece(X, Sums, tm: C, n: C):
    row, piece = ct.bid(0), ct.bid(1)
    x = ct.load(X, index=(row, piece), shape=(tm, n), padding_mode=ZERO)
    ct.store(Sums, index=(piece, row), tile=ct.sum(x, axis=1)[None, :])


@ct.kernel
def shifted_in_place(X, n: C):
    """Each block reads the tile that the next one writes."""
    i = ct.bid(0)
    ct.store(X, index=(i,), tile=ct.load(X, index=(i + 1,), shape=(n,), padding_mode=ZERO))


@ct.kernel
def shifted(X, Y, n: C):
    i = ct.bid(0)
    ct.store(Y, index=(i,), tile=ct.load(X, index=(i + 1,), shape=(n,), padding_mode=ZERO))


@ct.kernel
def overlapping_rows(X, Y, n: C, rows: C):
    """The last row of a block is the first of the next one."""
    i = ct.bid(0)
    for r in range(rows):
        row = i * (rows - 1) + r
        ct.store(Y, index=(row, 0), tile=ct.load(X, index=(row, 0), shape=(1, n)))


@ct.kernel
def rows_by_block(X, Y, n: C, rows: C):
    i = ct.bid(0)
    for r in range(rows):
        row = i * rows + r
        ct.store(Y, index=(row, 0), tile=ct.load(X, index=(row, 0), shape=(1, n)))


@ct.kernel
def all_rows(X, Y, n: C):
    """Each block writes every row."""
    i = ct.bid(0)
    for r in range(ct.num_tiles(Y, axis=0, shape=(1, n))):
        ct.store(Y, index=(r, 0), tile=ct.load(X, index=(i, 0), shape=(1, n)))


@ct.kernel
def persistent_rows(X, Y, n: C):
    for r in range(ct.bid(0), ct.num_tiles(Y, axis=0, shape=(1, n)), ct.num_blocks(0)):
        ct.store(Y, index=(r, 0), tile=ct.load(X, index=(r, 0), shape=(1, n)))
