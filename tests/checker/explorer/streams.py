"""Queues of batches and counters, in one run."""

from __future__ import annotations

from tests.checker.explorer import steps
from tests.checker.explorer.barriers import Past, Search, meet
from tests.checker.explorer.clocks import Mind


class Queue:
    """Batches finish in the order of their commits. A commit meets commits and waits, a wait meets commits."""

    def __init__(self, size: int) -> None:
        self.batches: list[int] = []
        self.commits, self.waits = Past(), Past()
        self.after_commits, self.after_all = Mind.of_size(size), Mind.of_size(size)

    def commit(self, search: Search, batch: int, thread: int, mind: Mind, moment: int) -> None:
        meet(search, self.commits, thread, mind)
        meet(search, self.waits, thread, mind)
        mind.follow(self.after_all)
        self.commits.add(thread, mind.tick(thread), moment)
        self.after_commits.follow(mind)
        self.after_all.follow(mind)
        self.batches.append(batch)

    def wait(self, search: Search, count: int, thread: int, mind: Mind, moment: int) -> list[int]:
        """Wait until at most `count` batches are unfinished; returns those that are finished then."""
        meet(search, self.commits, thread, mind)
        mind.follow(self.after_commits)
        self.waits.add(thread, mind.tick(thread), moment)
        self.after_all.follow(mind)
        return self.batches[: max(len(self.batches) - count, 0)]


class Counter:
    """
    A number that threads add to and take from; who takes waits until it is above 0.

    Where one thread adds and one takes, each taking waits for one adding, in their order, and nothing else decides.
    Otherwise every step on the counter meets every other.
    """

    def __init__(self, number: int, start: int, program: steps.Program, size: int) -> None:
        self.start = self.value = start
        adders, takers = _users(number, program)
        self.is_stream = len(adders) <= 1 and len(takers) <= 1
        self.is_taken = bool(takers)
        self.added: list[Mind] = []
        self.taken = 0
        self.past, self.after = Past(), Mind.of_size(size)
        self.changes: list[tuple[int, int, int]] = []

    def may_take(self) -> bool:
        return self.value > 0

    def add(self, search: Search, amount: int, thread: int, mind: Mind, moment: int) -> None:
        self._meet(search, thread, mind)
        self._change(amount, thread, mind, moment)
        self.added.append(mind.copy())

    def take(self, search: Search, thread: int, mind: Mind, moment: int) -> None:
        self._meet(search, thread, mind)
        if not self.is_stream:
            mind.acquire(self.after)
        elif self.taken >= self.start:
            mind.join(self.added[self.taken - self.start])
        self.taken += 1
        self._change(-1, thread, mind, moment)

    def _meet(self, search: Search, thread: int, mind: Mind) -> None:
        if not self.is_stream and self.is_taken:
            meet(search, self.past, thread, mind)
            mind.follow(self.after)

    def _change(self, amount: int, thread: int, mind: Mind, moment: int) -> None:
        self.value += amount
        event = mind.tick(thread)
        self.past.add(thread, event, moment)
        self.after.join(mind)
        self.changes.append((amount, thread, event))

    def balance(self, mind: Mind) -> int:
        """What it has come to, as far as this mind knows."""
        return self.start + sum(amount for amount, thread, event in self.changes if event <= mind.order[thread])


def _users(number: int, program: steps.Program) -> tuple[set[int], set[int]]:
    """The threads that add to a counter, and those that take from it."""
    adders: set[int] = set()
    takers: set[int] = set()
    for thread, code in program.threads.items():
        for step in code.steps:
            if isinstance(step, steps.Add) and step.counter == number:
                adders.add(thread)
            elif isinstance(step, steps.Take) and step.counter == number:
                takers.add(thread)
    return adders, takers
