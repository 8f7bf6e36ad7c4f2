"""How many slots the deepest ring of an execution has: up to two rounds of it, a larger trip count may still differ."""

from __future__ import annotations

from collections import Counter

from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.parts.placed_barriers import PlacedBarriers
from tileas_xdsl.machine.parts.rings import Rings


def deepest(machine: Machine) -> int:
    """The depth of the deepest pipeline or queue, or the number of barriers that one op has made; at least 0."""
    depths = [ring.depth or 0 for ring in machine.part(Rings).made]
    makers = Counter(barrier.op for barrier in machine.part(PlacedBarriers).at.values())
    return max([*depths, *makers.values()], default=0)
