"""
Who touched which cells, and which of two touches are a mistake.

Of each thread the last touch of a kind is kept for each set of cells: who knows of that knows of the earlier ones.

Two touches of one cell conflict as the table says. Without a path of happens-before between them they are a race, or
`phase` where both concern a barrier. With a path, a touch by the asynchronous proxy after one by the generic proxy
needs a fence on that path, by anybody who knows of the first (PTX ISA, "Proxies" and "fence.proxy.async", which may be
for shared or for global memory alone). A barrier that was made, and is then told of the bytes of a copy, needs such a
fence or `fence.mbarrier_init` by the thread that made it.

Several warps of an agent that execute one store to one address stand for one store: they write the same value. So their
touches do not conflict with each other (`one_of`).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from tests.checker.explorer.clocks import ELSEWHERE, MADE, SHARED, Mind


class Touch(IntEnum):
    """A way to touch cells."""

    READ = 0
    WRITE = 1
    ASYNC_READ = 2
    ASYNC_WRITE = 3
    USE = 4
    """Of a barrier: an arrival, a wait, the bytes of a copy."""
    MAKE = 5
    """Of a barrier: init and inval, each a write of its bytes by the generic proxy."""
    ASK = 6
    """An atomic read. An atomic change is like the use of a barrier: it does not conflict with another one."""


R, W, AR, AW, USE, MAKE, ASK = Touch
CONFLICTS: dict[Touch, tuple[Touch, ...]] = {
    R: (W, AW, USE, MAKE),
    W: (R, W, AR, AW, USE, MAKE, ASK),
    AR: (W, AW, USE, MAKE),
    AW: (R, W, AR, AW, USE, MAKE, ASK),
    USE: (R, W, AR, AW, MAKE),
    MAKE: (R, W, AR, AW, USE, MAKE, ASK),
    ASK: (W, AW, MAKE),
}
OF_BARRIERS = (USE, MAKE)

Last = tuple[int, tuple[object, ...] | None]
"""The number of an event, and what other warps' events are the same one."""


class Histories:
    """All touches of one run."""

    def __init__(self, shared: int, of_async_proxy: frozenset[int]) -> None:
        self.shared = shared
        self.of_async_proxy = of_async_proxy
        """The asynchronous operations, as threads, that take the asynchronous proxy."""
        self.touches: dict[int, list[dict[int, Last]]] = {}
        self.overlaps: dict[int, list[int]] = {}

    def meeting(self, cells: int) -> list[int]:
        """The sets of cells touched so far that meet `cells`, itself among them."""
        found = self.overlaps.get(cells)
        if found is not None:
            return found
        found = [other for other in self.touches if other & cells]
        for other in found:
            self.overlaps[other].append(cells)
        self.touches[cells] = [{} for _ in Touch]
        self.overlaps[cells] = [*found, cells]
        return self.overlaps[cells]

    def touch(
        self, thread: int, mind: Mind, kind: Touch, cells: int, one_of: tuple[object, ...] | None = None
    ) -> Iterator[tuple[str, int]]:
        """Write down a touch that `thread` has just made; what is wrong with it, and because of which thread."""
        for other in self.meeting(cells):
            space = SHARED if self.shared & other & cells else ELSEWHERE
            for earlier in CONFLICTS[kind]:
                asks_fence = self._is_async(thread, kind) and not (kind is USE and earlier is not MAKE)
                touches = self.touches[other][earlier]
                for toucher, (event, same) in touches.items():
                    published = kind is USE and earlier is MAKE and event <= mind.fenced[MADE][toucher]
                    if event > mind.known[toucher] and not published:
                        if one_of is None or same != one_of:
                            phase = kind in OF_BARRIERS and earlier in OF_BARRIERS
                            yield "phase" if phase else "race", toucher
                    elif asks_fence and not self._is_async(toucher, earlier) and event > mind.fenced[space][toucher]:
                        if kind is not USE or event > mind.fenced[MADE][toucher]:
                            yield "missing-fence", toucher
        self.touches[cells][kind][thread] = mind.order[thread], one_of

    def _is_async(self, thread: int, kind: Touch) -> bool:
        """Whether it is of the asynchronous proxy; the bytes that an operation of it tells a barrier of are."""
        return kind in (AR, AW) or (kind is USE and thread in self.of_async_proxy)
