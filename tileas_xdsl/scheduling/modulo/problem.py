"""
The problem of a modulo scheduler as data: ops, dependences, rings and a machine.

An op occupies slots for some rows (cycles) from its start. A dependence says that its sink starts, `distance`
iterations later, at least `latency` cycles after its source:

    start[sink] + II * distance >= start[source] + latency

A ring holds what one op writes until its readers are done with it, in as many copies as iterations overlap there.
Numbers are cycles, bytes and counts; ops are named by their position, which is program order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tileas_xdsl.scheduling.cycles import TimedEdge
from tileas_xdsl.targets.machine_model import SlotUse

NO_LIMIT = 1 << 30
"""A number of copies or stages that nothing limits."""


@dataclass(frozen=True)
class Constraints:
    """What the program asks for an op. 0 means nothing."""

    gid: int = 0
    leader_gid: int = 0
    max_depth: int = 0
    """The most stages, counted from the first, in which it may start."""
    is_pending: bool = False
    """Whether it is held over to the second attempt at an initiation interval."""

    @property
    def is_grouped(self) -> bool:
        return self.gid != 0 or self.leader_gid != 0


@dataclass(frozen=True)
class TimedOp:
    """One op. `latency` is the cycle, counted from its start, in which it is over."""

    name: str
    uses: tuple[SlotUse, ...] = ()
    latency: int = 0
    constraints: Constraints = field(default_factory=Constraints)

    @property
    def rows(self) -> int:
        """The cycles for which it occupies anything."""
        return max((use.rows for use in self.uses), default=0)


@dataclass(frozen=True)
class RingUse:
    """Op `op`, `distance` iterations later, uses a copy of a ring for `hold` cycles from its start."""

    op: int
    hold: int
    distance: int = 0


@dataclass(frozen=True)
class RingDemand:
    """Memory of one pipeline: what `writer` fills from its start on, until the last of `readers` is done."""

    name: str
    space: str
    bytes: int
    """Of one copy."""
    writer: int
    readers: tuple[RingUse, ...]
    most_copies: int = NO_LIMIT

    def copies(self, starts: Mapping[int, int], ii: int) -> int:
        """How many copies are live at once under a schedule."""
        begin = starts[self.writer]
        end = max((starts[use.op] + use.hold + ii * use.distance for use in self.readers), default=begin)
        return max(1, -(-(end - begin) // ii))


@dataclass(frozen=True)
class ModuloProblem:
    """A loop to be scheduled."""

    ops: tuple[TimedOp, ...]
    edges: tuple[TimedEdge, ...] = ()
    rings: tuple[RingDemand, ...] = ()
    capacities: Mapping[str, int] = field(default_factory=dict[str, int])
    """Slot or pool -> how much of it there is in each cycle; 1 where it is not listed."""
    space_bytes: Mapping[str, int] = field(default_factory=dict[str, int])
    """Memory space -> the bytes that rings may take there; a space that is not listed has no limit."""
    most_stages: int = NO_LIMIT
    ceiling: int = NO_LIMIT
    """The latest cycle, counted from the start of an iteration, in which an op may be over."""
    slot_numbers: Mapping[str, int] = field(default_factory=dict[str, int])
    """The numbers by which reports name slots, where the machine model gives them."""
    works: tuple[int, ...] = ()
    """Ops that wait in the queue of an engine, each behind the op that issues it."""

    def capacity(self, slot: str) -> int:
        return self.capacities.get(slot, 1)

    @cached_property
    def incoming(self) -> tuple[tuple[TimedEdge, ...], ...]:
        """The edges that reach each op, those of an op to itself left out."""
        lists: list[list[TimedEdge]] = [[] for _ in self.ops]
        for edge in self.edges:
            if edge.source != edge.sink:
                lists[edge.sink].append(edge)
        return tuple(map(tuple, lists))

    @cached_property
    def outgoing(self) -> tuple[tuple[TimedEdge, ...], ...]:
        """The edges that leave each op, those of an op to itself left out."""
        lists: list[list[TimedEdge]] = [[] for _ in self.ops]
        for edge in self.edges:
            if edge.source != edge.sink:
                lists[edge.source].append(edge)
        return tuple(map(tuple, lists))

    @cached_property
    def queues(self) -> tuple[tuple[int, ...], ...]:
        """The works of each engine that has several."""
        lists: dict[str, list[int]] = {}
        for work in self.works:
            for use in self.ops[work].uses:
                lists.setdefault(use.slot, []).append(work)
        return tuple(tuple(works) for works in lists.values() if len(works) > 1)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """
        The ops that must start in one stage: leader groups of two or more. Ops of one `gid` are one group, a group is
        joined to that of its `leader_gid`, and an op with a `gid` and no leader belongs to group 0. Ops that say
        nothing are in none.
        """
        parents: dict[int, int] = {}

        def find(gid: int) -> int:
            parents.setdefault(gid, gid)
            while parents[gid] != gid:
                parents[gid] = parents[parents[gid]]
                gid = parents[gid]
            return gid

        for op in self.ops:
            if op.constraints.leader_gid != op.constraints.gid:
                parents[find(op.constraints.gid)] = find(op.constraints.leader_gid)
        members: dict[int, list[int]] = {}
        for number, op in enumerate(self.ops):
            if op.constraints.is_grouped:
                members.setdefault(find(op.constraints.gid), []).append(number)
        return tuple(tuple(group) for group in members.values() if len(group) > 1)

    def stage_limit(self, op: int) -> int:
        """The number of stages in which op number `op` may start."""
        depth = self.ops[op].constraints.max_depth
        return min(self.most_stages, depth or NO_LIMIT)
