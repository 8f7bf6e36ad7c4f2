"""
Loads and stores through views that are the array itself go to the array.

    %v = block_tile %x {tileSizes = [64, 64], dimGroups = [[0], [1]]}
    %t = tiled_load %v[%i, %j] : -> tensor<64x64xf16>                    ->    %t = tiled_load %x[%i, %j]

Coordinates of a tile of an array count tiles, as those of a view do, and neither reads what lies outside. So whatever
knows how to copy tiles of arrays need not know of views.

A view that stays, for an atomic update, moves in front of the loops around it: it is the same in each iteration, so no
stage of a loop hands it on to another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.dialects.nv_tileaa.compute import BlockTileOp
from tileas_xdsl.dialects.nv_tileaa.memory import TiledLoadOp, TiledStoreOp
from tileas_xdsl.dialects.tiles.types import extents

Access = TiledLoadOp | TiledStoreOp


@dataclass(frozen=True)
class FoldViewsPass(ModulePass):
    """
    Let loads and stores name the array in place of a view that is the array itself.

    Rewrites
        `nv_tileaa.tiled_load` and `nv_tileaa.tiled_store` through a `nv_tileaa.block_tile` whose axes are those of the
        array, in order, and whose tiles are those of the access. Views that nobody uses any more go. All others move in
        front of the loops around them, as far as what they view is known there.

    Requires
        Verified IR.

    Refuses
        Nothing. Views that take axes together or in another order stay, and so do those that come from outside.
    """

    name = "tileas-fold-views"

    DESCRIPTION: ClassVar[str] = "Let loads and stores name the array in place of a view that is the array itself"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        views: dict[BlockTileOp, None] = {}
        for access in [inner for inner in op.walk() if isinstance(inner, Access)]:
            view = access.base.owner
            if isinstance(view, BlockTileOp) and _is_the_array(view) and extents(access.value.type) == view.tile_sizes:
                _set_base(access, view)
                views[view] = None
        for view in views:
            if view.result.first_use is None:
                Rewriter.erase_op(view)
        for view in [inner for inner in op.walk() if isinstance(inner, BlockTileOp)]:
            _move_out_of_loops(view)


def _is_the_array(view: BlockTileOp) -> bool:
    """Whether each axis of a tile walks through one axis of the array, and these are in order."""
    return view.dim_groups == tuple((axis,) for axis in range(len(extents(view.source.type))))


def _set_base(access: Operation, view: BlockTileOp) -> None:
    access.operands = [view.source if operand is view.result else operand for operand in access.operands]


def _move_out_of_loops(view: BlockTileOp) -> None:
    front: Operation | None = None
    around = view.parent_op()
    while isinstance(around, scf.ForOp | scf.WhileOp | scf.IfOp) and not _is_made_in(around, view.source):
        if not isinstance(around, scf.IfOp):
            front = around
        around = around.parent_op()
    if front is not None:
        view.detach()
        Rewriter.insert_op(view, InsertPoint.before(front))


def _is_made_in(around: Operation, value: SSAValue) -> bool:
    """Whether `value` is a result of an op in `around`, or an argument of a block there."""
    owner = value.owner
    inner = owner if isinstance(owner, Operation) else owner.parent_op()
    return inner is not None and around.is_ancestor(inner)
