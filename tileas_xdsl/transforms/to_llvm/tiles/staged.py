"""
Operands of wgmma in registers that cannot stay there: in which form they go into shared memory, where the tensor core
finds them.
"""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import TensorType

from tileas_xdsl.analysis.threads.tiles import Tile, tile_of
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr
from tileas_xdsl.layouts.access import LaneAccess, accesses
from tileas_xdsl.layouts.defaults import in_shared_memory
from tileas_xdsl.layouts.errors import LayoutError


@cache
def staged_tile(tile: Tile) -> Tile:
    """The same tile in shared memory, as TMA would write it."""
    layout = LayoutAttr.of("smem", form=in_shared_memory(tile.layout.shape, tile.bits))
    found = tile_of(TensorType(tile.element, tile.type.get_shape(), layout))
    assert found is not None
    return found


def _access(tile: Tile) -> LaneAccess | None:
    found = accesses(tile.layout, staged_tile(tile).layout, tile.bits, matrix=True)
    return next((each for each in found if not each.needs_select), None)


def no_staging(tile: Tile) -> str | None:
    """Why an operand in registers cannot go through shared memory."""
    try:
        access = _access(tile)
    except LayoutError as error:
        return f"has an A in registers that cannot be stored: {error}"
    return None if access is not None else "has an A in registers of which lanes would store different ones at once"
