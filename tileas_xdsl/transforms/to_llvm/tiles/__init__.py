"""
Tile code as the code of single threads: one rule an op, one file a family.

    teams.py, agents.py            who runs code: all warps of the block, or those of an agent
    fitting.py                     what may not be together, though each op may be
    values.py, state.py            what stands for a tile, an iterator, a token; the function under way
    places.py, packing.py          numbers of the thread by linear maps; elements in registers
    shared_memory.py, accesses.py  where slots and barriers lie; loads and stores of shared memory, ldmatrix
    global_memory.py, copies.py    tiles of arrays: cp.async, loads, stores, what lies outside
    slots.py                       what pipelines have become: slots, barriers, ops of threads
    approximations.py              functions of ex2 and polynomials
    scattered.py                   numbers, elements at coordinates of lanes, atomic updates
    scans.py                       what stands in front of each element, combined
    products.py, sinking.py, shapes.py, elementwise.py, conversions.py, control.py
"""

from __future__ import annotations

from tileas_xdsl.transforms.to_llvm.tiles import (
    agents,
    approximations,
    control,
    conversions,
    copies,
    elementwise,
    products,
    scans,
    scattered,
    shapes,
    slots,
    tensor_copies,
)
from tileas_xdsl.transforms.to_llvm.tiles.function import lowered, refuse

FAMILIES = (
    agents,
    approximations,
    control,
    conversions,
    copies,
    elementwise,
    products,
    scans,
    scattered,
    shapes,
    slots,
    tensor_copies,
)
"""The modules whose rules are registered when they are imported."""

__all__ = ["FAMILIES", "lowered", "refuse"]
