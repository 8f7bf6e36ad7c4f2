"""
Drop what is put into tiles of shared memory that no op reads.

    scf.for iter_args(%now = %first) {         scf.for iter_args(%now = %first) {
      %next = alloc_tensor                       %next = alloc_tensor
      copy %held, %next                  ->
      scf.yield %next                            scf.yield %next
    }                                          }
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.ir import Operation, Use
from xdsl.rewriter import Rewriter

from tileas_xdsl.analysis.threads.liveness import names_behind, uses_of
from tileas_xdsl.analysis.threads.places import Web, webs_of
from tileas_xdsl.dialects.nv_tileas.memory import AsyncTiledLoadOp
from tileas_xdsl.dialects.nv_tileas.structure import CopyOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp


def drop_unread(function: func.FuncOp) -> None:
    """Drop copies and loads into tiles that are not read, and allocations that are not used then."""
    for web in webs_of(function):
        users = _users(web)
        if not all(map(_fills, users)):
            continue
        for op in {use.operation: None for use in users}:
            _erase(op)
        for maker in web.makers:
            if maker.tensor.first_use is None:
                Rewriter.erase_op(maker)


def _users(web: Web) -> Sequence[Use]:
    """The uses that do not hand a tile on."""
    return [use for name in web.names for use in uses_of(name) if names_behind(use) is None]


def _fills(use: Use) -> bool:
    """Whether a use puts something into the tile, and does nothing else."""
    op = use.operation
    tile = op.operands[use.index]
    match op:
        case CopyOp():
            return op.destination is tile
        case AsyncTiledLoadOp():
            return op.destination is tile and all(isinstance(each.operation, AsyncWaitOp) for each in op.done.uses)
        case _:
            return False


def _erase(op: Operation) -> None:
    if isinstance(op, AsyncTiledLoadOp):
        for use in list(op.done.uses):
            Rewriter.erase_op(use.operation)
    Rewriter.erase_op(op)
