"""
Two executions side by side: that with the larger trip count does the same steps, and one more round of its loops.

    smaller:   A  P  B              a head of a growing loop lies at the beginning and at the end of each P
    larger:    A  P  P  B

The recorded runs are compared in two *overlays*: A P of both from the beginning, and P B of both up to the end. In each
overlay every step must be the same, and the numbers that it sees must move on in a way that goes on for ever
(`shifts`). The heads at both ends of P are *cuts*; the snapshots of all five heads must have one shape. Each of several
growing loops in sequence has a P and cuts of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.analysis.natural_loops import loop_with_turns_from
from tileas_xdsl.checker.proof.array_bounds import ArrayRoom
from tileas_xdsl.checker.proof.recorded_run import Head, LoopKey, RecordedRun, TakenStep, Turns
from tileas_xdsl.checker.proof.separation import Cut, Moves, Separation
from tileas_xdsl.checker.proof.shifts import Growth
from tileas_xdsl.checker.proof.steps import GrowingSteps
from tileas_xdsl.checker.snapshot.snapshot import Snapshot
from tileas_xdsl.machine.core.happens_before import Access
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.core.moving_numbers import IrregularError, must_move_by_multiples
from tileas_xdsl.machine.core.observer import Look
from tileas_xdsl.machine.parts.placed_barriers import BarrierLook
from tileas_xdsl.machine.parts.rings import Ring, StageLook


@dataclass
class Overlay:
    """Entries `start` to `end` of the smaller run, which correspond to those `distance` later on the larger one."""

    start: int
    end: int
    distance: int


@dataclass
class _Stages:
    """How the visits to the stages of one ring move on."""

    moves: dict[int, int] = field(default_factory=dict[int, int])
    """Overlay -> by how many stages its first visit moves on."""
    differences: dict[Operation, list[int]] = field(default_factory=dict[Operation, list[int]])
    """Op -> the differences of its visits that move on by another distance than the first of their overlay."""

    def note_move(self, overlay: int, shift: int, op: Operation) -> None:
        difference = shift - self.moves.setdefault(overlay, shift)
        if difference:
            self.differences.setdefault(op, []).append(difference)


class Alignment:
    """
    Checks that `larger` is `smaller` and one more round of each loop, so that the next larger run is so, too.

    `first_turns` says for each loop from which turn on its state recurs; `growth` holds the trip count of `smaller` and
    by how much that of `larger` is larger. `check` raises `IrregularError` where a step does not repeat evenly.
    """

    def __init__(
        self, smaller: RecordedRun, larger: RecordedRun, first_turns: Mapping[LoopKey, int], growth: Growth
    ) -> None:
        self.smaller = smaller
        self.larger = larger
        self.first_turns = first_turns
        self.growth = growth
        self.room = ArrayRoom(growth)
        self.steps = GrowingSteps(growth, self.room, smaller.tells_threads_apart)
        self.stages: dict[Ring, _Stages] = {}
        self.overlays: list[Overlay] = []
        self.cut_at: list[LoopKey] = []
        """The loops at whose heads a cut lies."""
        self.cuts: list[Cut] = []
        """Two for each round that the larger run has more: the state at its beginning, and at its end."""
        self.moves: dict[Access | BarrierLook, Moves] = {}
        """Access or look -> overlay -> by how many bytes it moves on."""
        self.repeats: dict[Access, Moves] = {}
        """
        Store that each warp of a team makes -> overlay -> by how many executions of its op that have gone before it
        moves on.
        """
        self.overwritten: set[MemoryObject] = set()
        """The objects to which something is written at places that move on."""
        self._agents: dict[int, dict[int, int]] = {}
        """Overlay -> agent of the smaller run -> agent that does the same in the larger one; all by number."""

    def check(self) -> None:
        try:
            self._lay_over()
        except IrregularError:
            # A number may tell why the steps are not the same ones, and after how many iterations they would be.
            self._compare_overlays()
            raise
        self._compare_overlays()
        Separation(self.smaller.encounters, self.moves, self.repeats).check(self.smaller.entries, self.cuts)
        self._must_keep_what_is_read()
        for ring, stages in self.stages.items():
            reason = f"takes stages of {ring.name} that do not recur evenly"
            for op, differences in stages.differences.items():
                if ring.depth is None:
                    raise IrregularError(op, reason)
                must_move_by_multiples(op, differences, ring.turns, reason)

    def _must_keep_what_is_read(self) -> None:
        """Memory from which the program reads numbers must not be overwritten at places that move on."""
        for base, op in self.steps.read_from.items():
            if base in self.overwritten:
                reason = f"takes a number from '{base.name}', and each iteration overwrites other places of it"
                raise IrregularError(op, reason)

    def _compare_overlays(self) -> None:
        bounds = sorted({place for overlay in self.overlays for place in (overlay.start, overlay.end)})
        for start, end in pairwise(bounds):
            numbers = [n for n, o in enumerate(self.overlays) if o.start <= start and end <= o.end]
            self._compare(start, end, numbers)

    # Cuts ------------------------------------------------------------------------------------------------------------

    def _lay_over(self) -> None:
        ours, theirs = self.smaller.entries, self.larger.entries
        start = distance = place = 0
        while place < len(ours):
            if place + distance >= len(theirs):
                raise IrregularError(op_of(ours[place]), "is not reached at a larger trip count")
            mine, other = ours[place], theirs[place + distance]
            if not are_the_same_step(mine, other):
                self.overlays.append(Overlay(start, place, distance))
                raise IrregularError(op_of(mine), "is not the same step at a larger trip count")
            if isinstance(mine, Head) and isinstance(other, Head):
                extra = _turns_left(other) - _turns_left(mine)
                if extra and self._recurs_from(mine):
                    end = self._end_of_round(mine, extra)
                    self.overlays.append(Overlay(start, end, distance))
                    start, distance = place, other.turns.heads[other.turn + extra] - place
                    self._compare_snapshots(mine, other, extra, end)
                    self.cut_at.append(mine.turns.key)
            place += 1
        if place + distance != len(theirs):
            raise IrregularError(op_of(ours[-1]), "is not the last step at a larger trip count")
        self.overlays.append(Overlay(start, len(ours), distance))

    def _recurs_from(self, head: Head) -> bool:
        return self.first_turns.get(head.turns.key) == head.turn

    @staticmethod
    def _end_of_round(head: Head, extra: int) -> int:
        if extra < 0 or head.turn + extra >= head.turns.count:
            raise IrregularError(op_of(head), "has too few iterations yet")
        return head.turns.heads[head.turn + extra]

    def _compare_snapshots(self, mine: Head, other: Head, extra: int, end_place: int) -> None:
        """Compare the states at both ends of the round: two in the smaller run, three in the larger one."""
        begin, end = (self._snapshot(self.smaller, mine, turns) for turns in (0, extra))
        first, second, third = (self._snapshot(self.larger, other, turns) for turns in (0, extra, 2 * extra))
        op = op_of(mine)
        if len({p.shape for p in (begin, end, first, second, third)}) > 1:
            raise IrregularError(op, "finds another state when it recurs", gathering_may_help=True)
        rows = zip(begin.numbers, end.numbers, first.numbers, second.numbers, third.numbers, strict=True)
        for here, there, early, late, later in rows:
            if late - there != early - here or later - there != late - here:
                raise IrregularError(op, "recurs with numbers that do not move on evenly")
        overlay = len(self.overlays)
        before, after = _distances(begin, first), _distances(begin, second)
        self.cuts.append(Cut(mine.turns.heads[mine.turn], begin, {overlay - 1: before, overlay: after}))
        self.cuts.append(Cut(end_place, end, {overlay: after}))
        for place in begin.countdowns:
            if first.numbers[place] < begin.numbers[place] or second.numbers[place] < begin.numbers[place]:
                raise IrregularError(op, "counts down to something with every trip count")
        for place, ring in begin.rings:
            stages = self._stages_of(ring)
            stages.note_move(overlay - 1, int(first.numbers[place] - begin.numbers[place]), op)
            stages.note_move(overlay, int(second.numbers[place] - begin.numbers[place]), op)

    def _stages_of(self, ring: Ring) -> _Stages:
        return self.stages.setdefault(ring, _Stages())

    @staticmethod
    def _snapshot(run: RecordedRun, head: Head, later: int) -> Snapshot:
        snapshot = run.snapshots.get((head.turns.key, head.turn + later))
        if snapshot is None:
            raise IrregularError(op_of(head), "has too few iterations yet")
        if snapshot.refusal is not None:
            raise IrregularError(op_of(head), f"cannot be compared from iteration to iteration: {snapshot.refusal}")
        return snapshot

    # Step by step -----------------------------------------------------------------------------------------------------

    def _compare(self, start: int, end: int, overlays: Sequence[int]) -> None:
        ours, theirs = self.smaller.entries, self.larger.entries
        distances = [self.overlays[number].distance for number in overlays]
        agents: list[dict[int, int]] = [self._agents.setdefault(number, {}) for number in overlays]
        for place in range(start, end):
            mine = ours[place]
            others: list[Any] = [theirs[place + distance] for distance in distances]
            for other in others:
                if not are_the_same_step(mine, other):
                    raise IrregularError(op_of(mine), "is not the same step at a larger trip count")
            if type(mine) is TakenStep:
                for other, names in zip(others, agents, strict=True):
                    if names.setdefault(mine.agent, other.agent) != other.agent:
                        raise IrregularError(op_of(mine), "is a step of another agent at a larger trip count")
                self.steps.compare(mine, others)
            elif isinstance(mine, Access):
                self._compare_accesses(mine, others, overlays)
            elif isinstance(mine, BarrierLook):
                shifts = [other.offset - mine.offset for other in others]
                self.moves[mine] = dict(zip(overlays, shifts, strict=True))
            elif isinstance(mine, StageLook):
                for other, overlay in zip(others, overlays, strict=True):
                    self._stages_of(mine.ring).note_move(overlay, other.k - mine.k, mine.op)
            elif isinstance(mine, Turns):
                self._compare_loops(mine, others)

    def _compare_accesses(self, mine: Access, others: list[Access], overlays: Sequence[int]) -> None:
        region = mine.region
        for other, overlay in zip(others, overlays, strict=True):
            theirs = other.region
            same = region.form == theirs.form
            same = same and mine.relative_parts == other.relative_parts
            if not same or mine.is_write != other.is_write or mine.proxy is not other.proxy:
                raise IrregularError(mine.op, "reaches another number of bytes from iteration to iteration")
            self.moves.setdefault(mine, {})[overlay] = theirs.offset - region.offset
            if mine.instance is not None and other.instance is not None:
                self.repeats.setdefault(mine, {})[overlay] = other.instance.times - mine.instance.times
            self.room.access(mine, theirs.offset - region.offset)
            if mine.is_write and theirs.offset != region.offset:
                self.overwritten.add(region.base)

    def _compare_loops(self, mine: Turns, others: list[Turns]) -> None:
        """The trip count of a loop must grow by exactly as much as its bounds have moved apart."""
        if mine.bounds is None:
            return
        op = op_of(mine)
        ours = mine.bounds
        for other in others:
            theirs = other.bounds
            assert theirs is not None
            apart = (theirs.stop - theirs.start) - (ours.stop - ours.start)
            if theirs.step != ours.step:
                raise IrregularError(op, "has a step that changes from iteration to iteration")
            if not mine.count and not other.count and apart <= 0:
                continue
            must_move_by_multiples(op, [apart], ours.step, "has bounds that move apart by no multiple of its step")
            if (other.count - mine.count) * ours.step != apart:
                raise IrregularError(op, "has a trip count that does not grow with its bounds")


def _distances(snapshot: Snapshot, other: Snapshot) -> tuple[float, ...]:
    return tuple(there - here for here, there in zip(snapshot.numbers, other.numbers, strict=True))


def are_the_same_step(mine: Any, other: Any) -> bool:
    if type(mine) is not type(other):
        return False
    if type(mine) is TakenStep:
        return mine.step is other.step or mine.step.op is other.step.op
    return op_of(mine) is op_of(other)


def _turns_left(head: Head) -> int:
    return head.turns.count - head.turn


def op_of(entry: Any) -> Operation:
    if type(entry) is TakenStep:
        return entry.step.op
    if isinstance(entry, Access | Look):
        return entry.op
    turns = entry.turns if isinstance(entry, Head) else entry
    return loop_with_turns_from(turns.key[0])
