"""
The fewest queues that keep every wait exact.

Tasks whose tokens a loop carries or a branch chooses alike are one *line*: a wait for one of them may be a wait for any
other, so they share a queue. Two lines may share one when no wait for the one would ever wait for an outstanding task
of the other, which happens where the other's was started before. That order of lines is a partial order, and the
fewest queues are its fewest chains (Dilworth), found by a matching.

    await A; await B    A and B share a queue: A is complete when B is waited for
    await B; await A    they do not: in one FIFO the wait for B would wait for A
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

Conflicts = dict[tuple[int, int], int]
"""Pairs of lines, the smaller first -> how many waits would wait for more if the two shared a queue."""


@dataclass
class Assignment:
    """The queue of each line, numbered from 0 in order of first lines."""

    queue_of: list[int]
    merged: int = 0
    """The number of merges of two queues that the limit forced."""
    queues: int = field(init=False)

    def __post_init__(self) -> None:
        self.queues = len(set(self.queue_of))


def assign_queues(lines: int, conflicts: Conflicts, limit: int | None) -> Assignment:
    """
    Give each of `lines` lines a queue: the fewest such that no two in conflict share one, then, while these are more
    than `limit`, the two merged that spoil the fewest waits.

    Quadratic in the number of lines; cubic where the matching has to be improved again and again.
    """
    twins = _twins(lines, conflicts)
    between = _between(twins, conflicts)
    chains = [
        sorted(line for twin in chain for line in twins[twin])
        for chain in _pairwise(_chains(len(twins), between), between)
    ]
    fewest = len(chains)
    while limit is not None and len(chains) > limit:
        first, second = _cheapest(chains, conflicts)
        chains[first] = sorted(chains[first] + chains.pop(second))
    chains.sort()
    queue_of = [0] * lines
    for queue, chain in enumerate(chains):
        for line in chain:
            queue_of[line] = queue
    return Assignment(queue_of, fewest - len(chains))


def _twins(lines: int, conflicts: Conflicts) -> list[list[int]]:
    """
    Lines that are in conflict with the same others, together, in order of their first ones. Such lines
    share a queue: that never costs another queue, and tasks that are waited for at once then need one wait.
    """
    others: list[set[int]] = [set() for _ in range(lines)]
    for first, second in conflicts:
        others[first].add(second)
        others[second].add(first)
    twins: dict[tuple[int, ...], list[int]] = {}
    for line in range(lines):
        twins.setdefault(tuple(sorted(others[line])), []).append(line)
    return list(twins.values())


def _between(twins: Sequence[Sequence[int]], conflicts: Conflicts) -> Conflicts:
    """The conflicts of `lines` as those of their `twins`."""
    home = {line: number for number, members in enumerate(twins) for line in members}
    found: Conflicts = {}
    for (first, second), waits in conflicts.items():
        pair = (min(home[first], home[second]), max(home[first], home[second]))
        found[pair] = found.get(pair, 0) + waits
    return found


def _in_conflict(first: int, second: int, conflicts: Conflicts) -> bool:
    return (min(first, second), max(first, second)) in conflicts


def _chains(lines: int, conflicts: Conflicts) -> list[list[int]]:
    """The fewest paths that cover the order of the lines: as many as there are lines without a partner behind them."""
    behind: dict[int, int] = {}
    before: dict[int, int] = {}

    def augment(start: int) -> None:
        """Find a partner for `start`, moving others to new ones where need be (breadth first)."""
        reached_from: dict[int, int] = {}
        waiting = [start]
        for line in waiting:
            for other in range(line + 1, lines):
                if other in reached_from or _in_conflict(line, other, conflicts):
                    continue
                reached_from[other] = line
                if other in before:
                    waiting.append(before[other])
                    continue
                while True:
                    source = reached_from[other]
                    following = behind.get(source)
                    behind[source], before[other] = other, source
                    if following is None:
                        return
                    other = following

    for line in range(lines):
        augment(line)
    chains: list[list[int]] = []
    for line in range(lines):
        if line not in before:
            chain = [line]
            while chain[-1] in behind:
                chain.append(behind[chain[-1]])
            chains.append(chain)
    return chains


def _pairwise(chains: Sequence[Sequence[int]], conflicts: Conflicts) -> list[list[int]]:
    """
    Chains in which no two lines are in conflict. Where the order is one, they are so already; in loops it may not be
    transitive, and then a line that disagrees goes to the first queue with which it does not.
    """
    kept: list[list[int]] = []
    homeless: list[int] = []
    for chain in chains:
        good: list[int] = []
        for line in chain:
            agrees = not any(_in_conflict(line, other, conflicts) for other in good)
            (good if agrees else homeless).append(line)
        kept.append(good)
    for line in sorted(homeless):
        home = next((c for c in kept if not any(_in_conflict(line, other, conflicts) for other in c)), None)
        if home is None:
            kept.append([line])
        else:
            home.append(line)
    return kept


def _cheapest(chains: Sequence[Sequence[int]], conflicts: Conflicts) -> tuple[int, int]:
    """The two queues whose merging spoils the fewest waits; the first of equals."""

    def price(pair: tuple[int, int]) -> int:
        first, second = (chains[index] for index in pair)
        return sum(conflicts.get((min(a, b), max(a, b)), 0) for a in first for b in second)

    pairs = [(first, second) for first in range(len(chains)) for second in range(first + 1, len(chains))]
    return min(pairs, key=price)
