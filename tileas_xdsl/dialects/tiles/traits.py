"""
Traits by which the tile ops of `nv_tileaa` and `nv_tileas` say which memory a result leads to, and what rewrites may
do.

    %v = nv_tileas.view %buffer[%i]            names bytes of %buffer          ViewOfOperand
    %q = nv_tileaa.addptr %p, %i               points into what %p points to   LeadsToOperand
    %t = nv_tileas.tiled_load %view[%i]        gives a tile of its own         OwnStorage
    %s = ...pipeline.consumer_read %c          gives the tile in the slot      SlotStorage
"""

from __future__ import annotations

from xdsl.traits import OpTrait

# Whose memory ---------------------------------------------------------------------------------------------------------


class LeadsToOperand(OpTrait):
    """The results lead to the memory that operand 0 leads to: as an address, an array, a window or a view."""


class ViewOfOperand(LeadsToOperand):
    """Result 0 names the storage of operand 0, whole or in part: a view exactly when operand 0 is one."""


class AddsInPlace(OpTrait):
    """Result 0 has the storage of operand 2, the tile that the op adds to."""


class OwnStorage(OpTrait):
    """The results lie in storage that no other value names, if they lie in memory at all."""


class SlotStorage(OpTrait):
    """The results lie in a slot of the pipeline that the op works on."""


class SlotArguments(OpTrait):
    """The arguments of the op's region stand for what lies in a slot of a queue or pipeline."""


# What rewrites may do -------------------------------------------------------------------------------------------------


class TileStructure(OpTrait):
    """The op only arranges tiles: pure rewrites may move, copy and erase it."""


class MemoryConsistency(OpTrait):
    """The op takes part in the order of memory: pure rewrites do not move it, and move nothing across it."""
