"""
Pipelines as mbarriers in shared memory, tiles as they were: one rule an op.

    filling.py          what fills slots, and who reads them
    participants.py     how often barriers are arrived at
    state.py            the function under way, and what stands for iterators and tokens
    rings.py            slots and barriers; iterators
    steps.py            waits, arrivals, and what fills a slot
    structure.py        loops, branches, agents
    function.py         what cannot be lowered, and the function without pipelines
"""

from __future__ import annotations

from tileas_xdsl.transforms.to_llvm.pipelines import rings, steps, structure
from tileas_xdsl.transforms.to_llvm.pipelines.function import has_pipelines, lowered, refuse

FAMILIES = (rings, steps, structure)
"""The modules whose rules are registered when they are imported."""

__all__ = ["FAMILIES", "has_pipelines", "lowered", "refuse"]
