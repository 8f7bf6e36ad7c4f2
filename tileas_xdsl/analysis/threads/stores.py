"""
Tiles that TMA stores while the threads go on: which waits are for them.

    scf.for .. iter_args(%before = %none) {
      async.wait %before                          the memory of the tile is free from here on
      copy %held, %tile
      %done = async.tiled_tma_store .., %tile
      scf.yield %done
    }
    async.wait %last                              and the kernel may end

One thread of an agent starts all its copies, and waits for all of them at once. Behind the last wait it is enough that
their sources have been read: a launch ends when all that it has started is done.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from tileas_xdsl.analysis.value_flow import handed_by
from tileas_xdsl.dialects.nv_tileas.tma import TiledTmaStoreOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.dialects.tiles.functions import KernelFunction


def waits_at_once(store: TiledTmaStoreOp) -> bool:
    """Whether nothing but the wait right behind a store takes its token."""
    users = [use.operation for use in store.done.uses]
    return len(users) == 1 and users[0] is store.next_op and isinstance(users[0], AsyncWaitOp)


def stores_behind(token: SSAValue) -> list[TiledTmaStoreOp]:
    """The stores whose token a token may be, through loops and branches."""
    found: list[TiledTmaStoreOp] = []
    ways, seen = [token], set[SSAValue]()
    while ways:
        value = ways.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value.owner, TiledTmaStoreOp):
            found.append(value.owner)
        elif not isinstance(value.owner, Operation) or isinstance(value.owner, scf.ForOp | scf.IfOp):
            ways += [source for source, _ in handed_by(value) or ()]
    return found


def is_last(wait: AsyncWaitOp) -> bool:
    """Whether the kernel ends behind a wait: neither its agent nor what comes behind all agents does more."""
    op: Operation = wait
    while not isinstance(op, KernelFunction):
        behind = op.next_op
        if behind is not None and not behind.has_trait(IsTerminator, value_if_unregistered=False):
            return False
        around = op.parent_op()
        if around is None or isinstance(around, scf.ForOp | scf.WhileOp):
            return False
        op = around
    return True
