"""Which products are those of a warpgroup, and which tiles of shared memory the tensor core reads itself for them."""

from __future__ import annotations

from xdsl.ir import SSAValue

from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.layout import form_of
from tileas_xdsl.layouts.forms import Mma

Product = DotOp | AsyncDotOp


def is_of_warpgroup(op: Product) -> bool:
    """Whether the layout of the sum is that of wgmma."""
    form = form_of(op.c.type)
    return isinstance(form, Mma) and form.shape.is_wgmma


def is_read_by_wgmma(tile: SSAValue) -> bool:
    """Whether a product of a warpgroup takes a tile as an operand."""
    users = (use.operation for use in tile.uses)
    return any(isinstance(user, DotOp | AsyncDotOp) and is_of_warpgroup(user) for user in users)
