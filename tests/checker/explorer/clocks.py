"""
What a thread knows of the others, at a moment of one run.

A clock has one number for each thread and each asynchronous operation: how many of its events are behind. Three of them
go together, and differ by what hands them on:

* `known`: what happens before, in memory. Handed on by what releases to what acquires; not by a relaxed arrival.
* `fenced`: what was known at a fence that came before; that may be touched through the asynchronous proxy.
* `order`: what must have come before in every run that is the same but for the order of steps that do not meet. Handed
  on by every step whose order decides something, relaxed or not. The search goes by it, not the verdict on memory.
"""

from __future__ import annotations


class Mind:
    """Three clocks."""

    __slots__ = ("fenced", "known", "order")

    def __init__(self, known: list[int], fenced: list[int], order: list[int]) -> None:
        self.known = known
        self.fenced = fenced
        self.order = order

    @staticmethod
    def of_size(size: int) -> Mind:
        return Mind([0] * size, [0] * size, [0] * size)

    def copy(self) -> Mind:
        return Mind(self.known[:], self.fenced[:], self.order[:])

    def tick(self, thread: int) -> int:
        """One event more of `thread`; returns its number."""
        number = self.order[thread] + 1
        self.known[thread] = self.order[thread] = number
        return number

    def acquire(self, other: Mind) -> None:
        """Take over what the other knows of memory."""
        self.known = list(map(max, self.known, other.known))
        self.fenced = list(map(max, self.fenced, other.fenced))

    def follow(self, other: Mind) -> None:
        """Come after what the other came after."""
        self.order = list(map(max, self.order, other.order))

    def join(self, other: Mind) -> None:
        self.acquire(other)
        self.follow(other)
