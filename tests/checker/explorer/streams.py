"""Queues of batches and counters, in one run."""

from __future__ import annotations

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
    """A number that threads add to, and that nothing waits for."""

    def __init__(self) -> None:
        self.changes: list[tuple[int, int, int]] = []

    def add(self, amount: int, thread: int, mind: Mind) -> None:
        self.changes.append((amount, thread, mind.tick(thread)))

    def balance(self, mind: Mind) -> int:
        """What it has come to, as far as this mind knows."""
        return sum(amount for amount, thread, event in self.changes if event <= mind.order[thread])
