"""
How many groups of a queue may be unfinished: at most, on any path, at each point of a function.

This is what bounds the memory that a program's waiting needs: a group that is not among the `n` youngest, where at most
`n` may be unfinished, is known to be complete and need not be remembered.

    scf.for %i = %c0 to %c2 step %c1 { async_queue.commit 0 {...} }     0, then 1: at most 2 behind the loop
    scf.for %i = %c0 to %n step %c1 {                                   2 at its head, in every iteration
      async_queue.commit 0 {...}                                        3
      async_queue.wait 0, 2 {...}                                       2
    }

A commit counts one up, a wait for `n` brings the bound down to `n`, paths that meet take the larger, and a loop is
followed until nothing changes; one of constant trips as often as it runs. Each op becomes a *table* (bound before ->
bound behind), tables are composed once, from the inside out, and then read from the outside in: linear in the number
of ops times the largest bound. Bounds that no wait of the function could come near are not told apart: `UNBOUNDED`.

At the function's entry all queues are empty. With `least`, paths that meet take the smaller, and the tables give a
bound from below; where both agree the number is exact. Source: spec/async-queue-pipeline.md 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from tileas_xdsl.analysis.induction import static_trip_count
from tileas_xdsl.analysis.value_range import Range, ValueRanges
from tileas_xdsl.dialects.async_queue import CommitOp, QueueScope, ScopeOp, WaitOp

UNBOUNDED = 1 << 62
"""The bound of a queue in which any number of groups may be unfinished."""

SPARE = 16
"""By how many groups a bound may exceed every wait's count before it is taken for none."""

MOST_LEVELS = 1 << 12
"""Counts of waits beyond this are not told apart from it: such a wait brings no bound down."""

LEGS = (scf.ForOp, scf.IfOp, scf.WhileOp, scf.IndexSwitchOp, scf.ExecuteRegionOp)
"""The control flow that is followed."""

Bounds = dict[int, int]
"""Queue -> how many of its groups may be unfinished."""

Table = tuple[int, ...]
"""Bound before -> bound behind, both as indices below the queue's `levels`; the last level is `UNBOUNDED`."""


@dataclass
class InFlight:
    """The bounds in one function whose queue ids are all known to be among finitely many."""

    function: Operation
    ranges: ValueRanges
    queues: tuple[int, ...] = ()
    """Every id that a commit may have, ascending."""
    deepest: dict[int, int] = field(default_factory=dict[int, int])
    """Queue -> the largest limited count of a wait that may be for it, `MOST_LEVELS` at most; 0 without one."""
    behind: dict[Operation, Bounds] = field(default_factory=dict[Operation, Bounds])
    """Commits, waits and control flow -> the bounds once they are over (of a wait: before its body)."""
    heads: dict[Operation, Bounds] = field(default_factory=dict[Operation, Bounds])
    """Loops -> the bounds whenever an iteration begins."""
    before: dict[Operation, Bounds] = field(default_factory=dict[Operation, Bounds])
    """Waits -> the bounds when they are reached."""
    end: Bounds = field(default_factory=dict[int, int])
    """The bounds when the function returns."""
    least: bool = False
    """Whether these are bounds from below."""

    def ids(self, op: CommitOp | WaitOp) -> range:
        """The queues that `op` may be for."""
        found = self.range_of(op.queue)
        return range(found.low, found.high + 1)

    def is_for_one(self, op: CommitOp | WaitOp) -> bool:
        """Whether it is known which queue `op` is for. (Python counts no range of all numbers.)"""
        found = self.range_of(op.queue)
        return found.low == found.high

    def count(self, op: WaitOp) -> Range:
        """Between which numbers the count of `op` lies; a negative one counts as 0."""
        found = self.range_of(op.count)
        return Range(max(found.low, 0), max(found.high, 0))

    def range_of(self, number: int | SSAValue) -> Range:
        return Range(number, number) if isinstance(number, int) else self.ranges.of(number)


def in_flight(function: Operation, ranges: ValueRanges | None = None, *, least: bool = False) -> InFlight:
    """
    The bounds at every commit, wait and loop of `function`: how many groups at most, or at `least`.

    Requires: ids of queues in finite ranges, and queue ops only where `LEGS` and scopes of `async_queue` lead to.
    """
    facts = InFlight(function, ranges if ranges is not None else ValueRanges(), least=least)
    commits = [op for op in function.walk() if isinstance(op, CommitOp)]
    waits = [op for op in function.walk() if isinstance(op, WaitOp)]
    facts.queues = tuple(sorted({queue for op in commits for queue in facts.ids(op)}))
    for queue in facts.queues:
        counts = [facts.count(op).high for op in waits if queue in facts.ids(op)]
        facts.deepest[queue] = max((min(count, MOST_LEVELS) for count in counts if count < UNBOUNDED), default=0)
        _OneQueue(facts, queue, [op for op in commits if queue in facts.ids(op)]).run()
    return facts


class _OneQueue:
    """The bounds of one queue; queues do not influence each other."""

    def __init__(self, facts: InFlight, queue: int, commits: Iterable[CommitOp]) -> None:
        self.facts, self.queue = facts, queue
        self.meet = min if facts.least else max
        committed = sum(_static_repetitions(op, facts.function) for op in commits)
        self.top = facts.deepest[queue] + min(committed, SPARE) + 1
        self.identity: Table = tuple(range(self.top + 1))
        self.tables: dict[Operation, Table] = {}
        self.bodies: dict[Region, Table] = {}

    def run(self) -> None:
        for region in self.facts.function.regions:
            end = self._table_of_region(region)[0]
            self.facts.end[self.queue] = end if end < self.top else UNBOUNDED
            for block in region.blocks:
                self._read_block(block, 0)

    # Inside out: tables -----------------------------------------------------------------------------------------------

    def _table_of_region(self, region: Region) -> Table:
        """What running the blocks of `region` in order does to a bound."""
        table = self.identity
        for op in (op for block in region.blocks for op in block.ops):
            if op.regions:
                table = _then(table, self._table_of(op))
        self.bodies[region] = table
        return table

    def _table_of(self, op: Operation) -> Table:
        bodies = [self._table_of_region(region) for region in op.regions]
        table = self._combine(op, bodies)
        self.tables[op] = table
        return table

    def _combine(self, op: Operation, bodies: list[Table]) -> Table:
        match op:
            case CommitOp():
                return _then(bodies[0], self._commit(op))
            case WaitOp():
                return _then(self._wait(op), bodies[0])
            case scf.ForOp():
                trips = static_trip_count(op)
                return self._repeated(bodies[0]) if trips is None else self._iterated(bodies[0], trips)
            case scf.WhileOp():
                return _then(self._repeated(_then(bodies[0], bodies[1])), bodies[0])
            case scf.IfOp() | scf.IndexSwitchOp():
                return reduce(self._joined, bodies)
            case scf.ExecuteRegionOp() | QueueScope():
                return bodies[0] if bodies else self.identity
            case _:
                return self.identity

    def _commit(self, op: CommitOp) -> Table:
        ids = self.facts.ids(op)
        if self.queue not in ids or (self.facts.least and not self.facts.is_for_one(op)):
            return self.identity
        return tuple(min(bound + 1, self.top) for bound in self.identity)

    def _wait(self, op: WaitOp) -> Table:
        """A wait that may be for another queue completes nothing for sure, and something perhaps."""
        ids, count = self.facts.ids(op), self.facts.count(op)
        if self.queue not in ids or not (self.facts.least or self.facts.is_for_one(op)):
            return self.identity
        left = count.low if self.facts.least else count.high
        return tuple(min(bound, left) for bound in self.identity)

    def _repeated(self, body: Table) -> Table:
        """Any number of runs of `body`: per bound before, that in front of any of them."""
        return tuple(self.meet(_orbit(body, bound, len(body))) for bound in self.identity)

    def _joined(self, one: Table, other: Table) -> Table:
        return tuple(map(self.meet, one, other))

    def _iterated(self, body: Table, trips: int) -> Table:
        """Exactly `trips` runs. Monotone steps on few levels come to rest, so more runs than levels change nothing."""
        return tuple(_orbit(body, bound, min(trips, len(body)))[-1] for bound in self.identity)

    # Outside in: bounds -----------------------------------------------------------------------------------------------

    def _read_block(self, block: Block | None, bound: int) -> None:
        for op in block.ops if block is not None else ():
            if op.regions:
                self._read(op, bound)
                bound = self.tables[op][bound]

    def _read(self, op: Operation, bound: int) -> None:
        """Note the bounds of `op` and of what is in it."""
        inner, end = bound, self.tables[op][bound]
        if isinstance(op, WaitOp):
            self._note(self.facts.before, op, bound)
            inner = end = self._wait(op)[bound]
        elif isinstance(op, scf.ForOp | scf.WhileOp):
            inner = self._head(op, bound)
            self._note(self.facts.heads, op, inner)
        self._note(self.facts.behind, op, end)
        for region in op.regions:
            self._read_block(region.first_block, inner)
            if isinstance(op, scf.WhileOp):
                inner = self.bodies[region][inner]

    def _head(self, loop: scf.ForOp | scf.WhileOp, bound: int) -> int:
        """The bound with which any iteration begins."""
        body = reduce(_then, (self.bodies[region] for region in loop.regions))
        trips = static_trip_count(loop) if isinstance(loop, scf.ForOp) else None
        last = len(body) if trips is None else max(min(trips, len(body)) - 1, 0)
        return self.meet(_orbit(body, bound, last))

    def _note(self, where: dict[Operation, Bounds], op: Operation, bound: int) -> None:
        where.setdefault(op, {})[self.queue] = bound if bound < self.top else UNBOUNDED


def _then(first: Table, second: Table) -> Table:
    return tuple(second[bound] for bound in first)


def _orbit(body: Table, bound: int, steps: int) -> list[int]:
    """`bound`, and what it becomes by running `body` again and again, until it rests or `steps` times."""
    seen = [bound]
    for _ in range(steps):
        following = body[seen[-1]]
        if following == seen[-1]:
            break
        seen.append(following)
    return seen


def _static_repetitions(op: Operation, function: Operation) -> int:
    """How often loops of few constant trips repeat `op`; other loops count once."""
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
