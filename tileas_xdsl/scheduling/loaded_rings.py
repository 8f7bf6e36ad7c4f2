"""
How long a turn of a ring takes if all multiprocessors load at once, and how many slots it needs then.

    slot 0   load ............... | product | wait | load ............ | product
    slot 1        load ............... | product | wait | load ...

A load takes the longer, the more bytes are on their way: `WarpTiming.loaded`. A slot whose product is waited for at
once is free after its own product; one that is released behind the next product (`wait_group 1`) is free when that has
been handed over. Then it is loaded again:

    released late    (slots - 1) turns = latency        else    slots turns = one turn alone + latency

and no turn is shorter than its product.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from tileas_xdsl.targets.warp_timing import WarpTiming

MOST_ROUNDS = 40
"""Rounds after which bytes on their way and cycles of a turn agree."""
NEARLY = 1.02
"""A turn is as short as its product if it is at most 2 % longer."""


@dataclass(frozen=True)
class Ring:
    """A ring of slots that products consume."""

    slots: int
    slot_bytes: int
    product: float
    """Cycles of the tensor cores for all products of a slot."""
    released_late: bool
    """Whether a slot is released behind the product that follows."""
    consumers: int = 1
    """Warpgroups that consume each slot together. One hides what another waits for."""


def latency_under_load(size: float, timing: WarpTiming) -> float:
    """Cycles from the issue of loads to their data, with `size` bytes on their way to each multiprocessor."""
    points = timing.loaded
    if size >= points[-1][0]:
        return points[-1][1]
    for (less, fast), (more, slow) in pairwise(points):
        if size <= more:
            return fast + (slow - fast) * max(size - less, 0) / (more - less)
    return points[0][1]


def period_under_load(ring: Ring, timing: WarpTiming) -> float:
    """Cycles of a turn, all multiprocessors busy with the same."""
    alone = ring.product
    if not ring.released_late and ring.consumers == 1:
        alone += timing.wgmma_drain + timing.hand_over
    period = alone
    for _ in range(MOST_ROUNDS):
        # At most the slots that no product holds are on their way.
        latency = timing.hand_over + latency_under_load(ring.slot_bytes * _on_the_way(ring, period, timing), timing)
        if ring.released_late:
            found = latency / (ring.slots - 1) if ring.slots > 1 else latency + ring.product
        else:
            found = (ring.product + timing.wgmma_drain + timing.hand_over + latency) / ring.slots
        period += (max(alone, found) - period) / 2
    return period


def _on_the_way(ring: Ring, period: float, timing: WarpTiming) -> float:
    """The slots that are being loaded at a time."""
    if ring.released_late:
        return max(ring.slots - 1, 1)
    held = (ring.product + timing.wgmma_drain) / period
    return max(ring.slots - held, 1.0)


def slots_needed(ring: Ring, timing: WarpTiming, most: int) -> int:
    """The fewest slots, at most `most`, with which a turn is nearly as short as with any number."""
    best = period_under_load(replace(ring, slots=most), timing)
    for slots in range(2, most):
        if period_under_load(replace(ring, slots=slots), timing) <= NEARLY * best:
            return slots
    return most
