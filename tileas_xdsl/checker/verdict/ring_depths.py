"""How many slots the deepest ring of an execution has: trip counts around that number are the ones that differ."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.execution import Machine


def deepest(machine: Machine) -> int:
    """The depth of the deepest pipeline or queue, or the number of barriers that one op has made; at least 0."""
    depths: list[int] = [ring.depth or 0 for ring in machine.shared.get("rings", ())]
    makers: Counter[Any] = Counter()
    for key, value in machine.shared.items():
        if isinstance(key, tuple) and key[0] == "mbarrier":
            makers[value.op] += 1
    return max([*depths, *makers.values()], default=0)
