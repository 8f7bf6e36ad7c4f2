"""
The greatest number of unfinished groups of a queue, on any path, at each point of a function.

The bound limits the state that a program's waits need: where at most `n` groups are unfinished, every group but the `n`
youngest is complete and need not be remembered.

    scf.for %i = %c0 to %c2 step %c1 { async_queue.commit 0 {...} }     0, then 1: at most 2 after the loop
    scf.for %i = %c0 to %n step %c1 {                                   2 at its head, in every iteration
      async_queue.commit 0 {...}                                        3
      async_queue.wait 0, 2 {...}                                       2
    }

A commit adds one, a wait for `n` lowers the bound to `n`, and paths that meet take the maximum. Bounds are the levels
of `forward_flow/levels.py`: linear in the number of ops times the largest bound. A bound far above the count of every
wait is `UNBOUNDED`.

At the function's entry all queues are empty. With `least`, paths that meet take the minimum, and the result is a lower
bound. Where both bounds agree the number is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.analysis.forward_flow import LevelClient, analyse_levels
from tileas_xdsl.analysis.induction import static_trip_count
from tileas_xdsl.analysis.value_range import Range, ValueRanges
from tileas_xdsl.dialects.async_queue import CommitOp, ScopeOp, WaitOp

UNBOUNDED = 1 << 62
"""The bound of a queue in which any number of groups may be unfinished."""

SPARE = 16
"""How far a bound may exceed the largest count of a wait before it is treated as `UNBOUNDED`."""

MOST_LEVELS = 1 << 12
"""Counts of waits beyond this are treated as this count, and such a wait lowers no bound."""

LEGS = (scf.ForOp, scf.IfOp, scf.WhileOp, scf.IndexSwitchOp, scf.ExecuteRegionOp)
"""The control flow ops that are followed."""

Bounds = dict[int, int]
"""Queue -> how many of its groups may be unfinished."""


@dataclass
class InFlight:
    """The bounds in one function in which every queue id lies in a known finite range."""

    function: Operation
    ranges: ValueRanges
    queues: tuple[int, ...] = ()
    """Every id that a commit may have, in ascending order."""
    deepest: dict[int, int] = field(default_factory=dict[int, int])
    """Queue -> the largest count of a wait that may be for it, at most `MOST_LEVELS`; 0 where there is no wait."""
    behind: dict[Operation, Bounds] = field(default_factory=dict[Operation, Bounds])
    """Commits, waits and control flow ops -> the bounds after them (for a wait: before its body)."""
    heads: dict[Operation, Bounds] = field(default_factory=dict[Operation, Bounds])
    """Loops -> the bounds at the start of every iteration."""
    before: dict[Operation, Bounds] = field(default_factory=dict[Operation, Bounds])
    """Waits -> the bounds when control reaches them."""
    end: Bounds = field(default_factory=dict[int, int])
    """The bounds when the function returns."""
    least: bool = False
    """Whether these are lower bounds."""

    def ids(self, op: CommitOp | WaitOp) -> range:
        """The ids that the queue of `op` may have."""
        found = self.range_of(op.queue)
        return range(found.low, found.high + 1)

    def is_for_one(self, op: CommitOp | WaitOp) -> bool:
        """Whether the queue id of `op` is a constant. (`len` of Python refuses a range of all numbers.)"""
        found = self.range_of(op.queue)
        return found.low == found.high

    def count(self, op: WaitOp) -> Range:
        """The range of the count of `op`; a negative count is taken as 0."""
        found = self.range_of(op.count)
        return Range(max(found.low, 0), max(found.high, 0))

    def range_of(self, number: int | SSAValue) -> Range:
        return Range(number, number) if isinstance(number, int) else self.ranges.of(number)


def in_flight(function: Operation, ranges: ValueRanges | None = None, *, least: bool = False) -> InFlight:
    """
    The bounds at every commit, wait and loop of `function`: upper bounds, or lower bounds with `least`.

    Requires: queue ids in finite ranges, and queue ops only inside `LEGS` and scopes of `async_queue`.
    """
    facts = InFlight(function, ranges if ranges is not None else ValueRanges(), least=least)
    commits = [op for op in function.walk() if isinstance(op, CommitOp)]
    waits = [op for op in function.walk() if isinstance(op, WaitOp)]
    facts.queues = tuple(sorted({queue for op in commits for queue in facts.ids(op)}))
    for queue in facts.queues:
        counts = [facts.count(op).high for op in waits if queue in facts.ids(op)]
        facts.deepest[queue] = max((min(count, MOST_LEVELS) for count in counts if count < UNBOUNDED), default=0)
        _note_bounds(facts, _Unfinished(facts, queue, commits, waits))
    return facts


class _Unfinished(LevelClient):
    """The number of unfinished groups of one queue as a level; the top level is any number. Queues are independent."""

    def __init__(self, facts: InFlight, queue: int, commits: Iterable[CommitOp], waits: Iterable[WaitOp]) -> None:
        self.queue = queue
        self._meet = min if facts.least else max
        mine = [op for op in commits if queue in facts.ids(op)]
        committed = sum(_static_repetitions(op, facts.function) for op in mine)
        self.top = facts.deepest[queue] + min(committed, SPARE) + 1
        self._adds: set[Operation] = {op for op in mine if not facts.least or facts.is_for_one(op)}
        # A wait that may be for another queue lowers only the lower bound.
        sure = [op for op in waits if queue in facts.ids(op) and (facts.least or facts.is_for_one(op))]
        self._leaves: dict[Operation, int] = {
            op: facts.count(op).low if facts.least else facts.count(op).high for op in sure
        }

    def join(self, levels: Iterable[int]) -> int:
        return self._meet(levels)

    def touches(self, op: Operation) -> bool:
        return op in self._adds or op in self._leaves

    def enter(self, op: Operation, level: int) -> int:
        return min(level, self._leaves[op]) if op in self._leaves else level

    def leave(self, op: Operation, level: int) -> int:
        return min(level + 1, self.top) if op in self._adds else level

    def bound(self, level: int) -> int:
        """The bound that a level stands for."""
        return level if level < self.top else UNBOUNDED


def _note_bounds(facts: InFlight, client: _Unfinished) -> None:
    """Analyse one queue of the function, and record its bounds."""
    flow = analyse_levels(facts.function, client)
    facts.end[client.queue] = client.bound(flow.end)

    def note(where: dict[Operation, Bounds], op: Operation, level: int) -> None:
        where.setdefault(op, {})[client.queue] = client.bound(level)

    for op, level in flow.before.items():
        if isinstance(op, WaitOp):
            note(facts.before, op, level)
        elif isinstance(op, scf.ForOp | scf.WhileOp):
            note(facts.heads, op, flow.inside[op])
        note(facts.behind, op, flow.inside[op] if isinstance(op, WaitOp) else flow.behind[op])


def _static_repetitions(op: Operation, function: Operation) -> int:
    """The number of times that loops with small constant trip counts repeat `op`; other loops count once."""
    total = 1
    for node in ancestors(op, function):
        trips = static_trip_count(node) if isinstance(node, scf.ForOp) else None
        total = min(total * max(trips or 1, 1), SPARE)
    return total


def ancestors(op: Operation, function: Operation) -> Iterator[Operation]:
    """The ops around `op`, the innermost first, as far as `function`, which is left out."""
    node = op.parent_op()
    while node is not None and node is not function:
        yield node
        node = node.parent_op()


def queue_ops(function: Operation) -> list[CommitOp | WaitOp | ScopeOp]:
    """The commits, waits and scopes of `function`, in program order."""
    return [op for op in function.walk() if isinstance(op, CommitOp | WaitOp | ScopeOp)]
