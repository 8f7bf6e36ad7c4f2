"""
What a thread knows of the others, at a moment of one run.

A clock has one number for each thread and each asynchronous operation: how many of its events are behind. Several go
together, and differ by what hands them on:

* `known`: what happens before, in memory. Handed on by what releases to what acquires; not by a relaxed arrival.
* `fenced`: for each kind of fence what of that a fence has come after: touches of shared memory, touches of other
  memory, barriers made, what `tcgen05.fence::before_thread_sync` covers. It goes with what is known.
* `after_sync`: what was known, and what of that was covered so, when the thread executed its last
  `tcgen05.fence::after_thread_sync`. It is for the thread alone, and what it starts.
* `order`: what must have come before in every run that is the same but for the order of steps that do not meet. Handed
  on by every step whose order decides something, relaxed or not. The search goes by it, not the verdict on memory.
"""

from __future__ import annotations

SHARED, ELSEWHERE, MADE, BEFORE_SYNC = FENCES = range(4)
"""Kinds of fences, by what they make visible."""


class Mind:
    """All clocks of a thread."""

    __slots__ = ("after_sync", "fenced", "known", "order")

    def __init__(
        self, known: list[int], fenced: list[list[int]], order: list[int], after_sync: tuple[list[int], list[int]]
    ) -> None:
        self.known = known
        self.fenced = fenced
        self.order = order
        self.after_sync = after_sync

    @staticmethod
    def of_size(size: int) -> Mind:
        return Mind([0] * size, [[0] * size for _ in FENCES], [0] * size, ([0] * size, [0] * size))

    def copy(self) -> Mind:
        return Mind(self.known[:], [clock[:] for clock in self.fenced], self.order[:], self.after_sync)

    def tick(self, thread: int) -> int:
        """One event more of `thread`; returns its number."""
        number = self.order[thread] + 1
        self.known[thread] = self.order[thread] = number
        return number

    def acquire(self, other: Mind) -> None:
        """Take over what the other knows of memory."""
        self.known = list(map(max, self.known, other.known))
        self.fenced = [list(map(max, *clocks)) for clocks in zip(self.fenced, other.fenced, strict=True)]

    def follow(self, other: Mind) -> None:
        """Come after what the other came after."""
        self.order = list(map(max, self.order, other.order))

    def join(self, other: Mind) -> None:
        self.acquire(other)
        self.follow(other)

    def fence(self, *kinds: int) -> None:
        """A fence after all that is known."""
        for kind in kinds:
            self.fenced[kind] = self.known[:]

    def fence_before_sync(self, thread: int) -> None:
        """A fence behind what `thread`, whose mind this is, has started in tensor memory."""
        self.fenced[BEFORE_SYNC][thread] = self.known[thread]

    def fence_after_sync(self) -> None:
        """A fence behind all that is known, for what this thread does in tensor memory."""
        self.after_sync = self.known[:], self.fenced[BEFORE_SYNC][:]

    def publish(self, thread: int) -> None:
        """A fence behind the barriers that `thread`, whose mind this is, has made."""
        self.fenced[MADE][thread] = self.known[thread]
