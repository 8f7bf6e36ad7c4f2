"""
The threads that run an op together: those of its agent, or of the block; and which of them touch what of a tile.

    copy %held, %tile                   each warp writes what its threads hold
    async.tiled_tma_store .., %tile     each of several warpgroups may store the rows that it has written
"""

from __future__ import annotations

from xdsl.ir import Operation, Region

from tileas_xdsl.analysis.thread_blocks import block_shape_of
from tileas_xdsl.analysis.threads.liveness import agent_of
from tileas_xdsl.analysis.threads.tiles import tile_of
from tileas_xdsl.dialects.nv_tileaa.memory import TiledStoreOp
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.structure import CopyOp
from tileas_xdsl.interfaces import enclosing_function
from tileas_xdsl.layouts import f2
from tileas_xdsl.layouts.distributed import WARP, WARP_SIZE, WARPGROUP
from tileas_xdsl.layouts.errors import exponent
from tileas_xdsl.layouts.linear import LinearLayout

BYTE = 8
PATTERN_ROWS = 8
"""Rows after which the pattern of each swizzle begins again."""
Warps = tuple[int, ...]
"""
Which warp touches each byte of a tile: the number of the byte, bit by bit, to the number of the warp (exclusive or).
"""


def is_of_one_warp(op: Operation) -> bool:
    """Whether one warp runs an op."""
    agent = agent_of(op)
    if agent is not None:
        return _warps_of(agent) == 1
    function = enclosing_function(op)
    return function is not None and block_shape_of(function) == (WARP_SIZE, 1, 1)


def warpgroups_of_agent(op: Operation) -> int:
    """How many warpgroups the agent of an op has; 1 where it has other warps, or there is no agent."""
    agent = agent_of(op)
    warps = None if agent is None else _warps_of(agent)
    return 1 if warps is None or warps % WARPGROUP else warps // WARPGROUP


def _warps_of(agent: Region) -> int | None:
    switch = agent.parent
    if not isinstance(switch, AgentSwitchOp) or switch.num_warps is None:
        return None
    return int(switch.num_warps.get_values()[switch.regions.index(agent)])


# Tiles ----------------------------------------------------------------------------------------------------------------


def warps_of(registers: LinearLayout, memory: LinearLayout, element: int) -> Warps | None:
    """
    Which warp holds what lies at each byte of a tile whose elements have `element` bytes; None where an element is held
    by several warps.
    """
    places = registers.into_places_of(memory)
    inside = f2.echelon(image for place in places.input_names if place != WARP for image in places.images(place))
    if not all([inside.add(image) for image in places.images(WARP)]):
        return None
    back = places.pseudo_inverse()
    warp = back.output_names.index(WARP)
    return (*[0] * exponent(element, "an element"), *(at[warp] for name in back.input_names for at in back.bases(name)))


def warpgroups_of(memory: LinearLayout, element: int, parts: int) -> Warps:
    """The first warp of the warpgroup that has what lies at each byte, if each of `parts` has as many rows."""
    rows = memory.shape[-2] // parts
    numbers = (basis[-2] // rows for name in memory.input_names for basis in memory.bases(name))
    return (*[0] * exponent(element, "an element"), *(number * WARPGROUP for number in numbers))


def warpgroups_with_rows(store: TiledStoreOp) -> int:
    """How many warpgroups write the tile of a store, each as many rows of it; 1 where they write something else."""
    tile, parts = tile_of(store.value.type), warpgroups_of_agent(store)
    fills = [use.operation for use in store.value.uses if use.operation is not store]
    if tile is None or parts == 1 or len(tile.layout.shape) == 1 or tile.layout.shape[-2] % (parts * PATTERN_ROWS):
        return 1
    wanted = warpgroups_of(tile.layout, tile.bits // BYTE, parts)
    for fill in fills:
        held = tile_of(fill.source.type) if isinstance(fill, CopyOp) else None
        warps = None if held is None or not held.in_registers else warps_of(held.layout, tile.layout, tile.bits // BYTE)
        if warps is None or tuple(warp // WARPGROUP * WARPGROUP for warp in warps) != wanted:
            return 1
    return parts if fills else 1
