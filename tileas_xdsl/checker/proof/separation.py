"""
Separation: places that do not overlap in the executions of a proof never do, however often the loops turn.

Two accesses are *strangers* if the later one does not know of the earlier. They do not race as long as their places do
not overlap. From one execution to the next larger one each place moves on by some distance, so k rounds later it lies
at x + k d, and may overlap one that it did not overlap before. For each access its strangers are found

- among the accesses since the last cut (see `alignment`),
- in the snapshot taken there, alone or in a row of leftovers,

and the distances by which the two move on must never make them overlap. What an access replaces in the history of its
object it must replace in every round. The same holds for barriers in memory and the ops that look them up.

The warps of a team make a store together: each the same one when it executes the op for the same time, and these do not
race (`machine.core.happens_before`). A warp may execute the op more often than another one, so how often each has done
so moves on, too. Two executions that make one store must do so in every round: their numbers move on alike. For a store
in the snapshot it says after how many executions each warp makes it, and that must stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import gcd
from typing import Generic, TypeVar

from xdsl.ir import Operation

from tileas_xdsl.checker.proof.recorded_run import Encounter
from tileas_xdsl.checker.snapshot.snapshot import DrawnRow, Snapshot
from tileas_xdsl.machine.core.happens_before import Access
from tileas_xdsl.machine.core.memory import ByteRegion, MemoryObject
from tileas_xdsl.machine.core.moving_numbers import IrregularError
from tileas_xdsl.machine.parts.placed_barriers import BarrierLook

Moves = dict[int, int]
"""Overlay -> by how many bytes a place moves on."""

Rounds = int | None
"""An estimate of how many rounds later something happens; None for never."""

MOST_PLACES = 4096
"""The number of distances at which two regions are compared; if there are more, they count as overlapping."""


@dataclass
class Cut:
    """A loop head at which an overlay begins or ends: its state, and how the numbers there move on."""

    place: int
    """The index of the head among the entries of the smaller run."""
    snapshot: Snapshot
    shifts: dict[int, tuple[float, ...]]
    """Overlay -> by how much each number of the snapshot moves on."""

    @cached_property
    def numbers(self) -> dict[Access, int]:
        """The accesses in the snapshot, and which of its numbers says where each begins."""
        return {access: number for number, access in self.snapshot.accesses}

    def moves(self, number: int, overlays: Iterable[int], op: Operation) -> Moves:
        """
        How number `number` of the snapshot moves on in `overlays`.

        Raises `IrregularError` at `op` if one of them does not begin or end here.
        """
        if any(overlay not in self.shifts for overlay in overlays):
            raise IrregularError(op, "runs while loops of several agents recur at different times")
        return {overlay: int(self.shifts[overlay][number]) for overlay in overlays}


@dataclass
class Other:
    """The region of an earlier access, and how it moves on: a later one must never overlap it, or always do so."""

    region: ByteRegion
    moves: Moves
    continues: int = 0
    """For the end of a row, the distance in bytes to the next member of it; 0 for a single place."""


@dataclass
class Separation:
    """
    Checks a recorded run: no two strangers on it come to overlap in any later round.

    `encounters` holds the strangers of each access, `moves` how each access and each look moves on, and `repeats` how
    the number of a store of a team does. `check` raises `IrregularError` where strangers may come to overlap.
    """

    encounters: Mapping[Access, Encounter]
    moves: Mapping[Access | BarrierLook, Moves]
    repeats: Mapping[Access, Moves]
    both_ways: bool = False
    """Whether places move on by any sums and differences of their distances, and not by sums alone."""
    contested: frozenset[str] | None = None
    """The families of objects on which there may be a race; None: those of the recorded run."""
    cut: Cut | None = None
    recent: dict[Access, None] = field(default_factory=dict[Access, None])
    looks: dict[tuple[int, int, tuple[tuple[int, int], ...]], BarrierLook] = field(
        default_factory=dict[tuple[int, int, tuple[tuple[int, int], ...]], BarrierLook]
    )

    def check(self, entries: Sequence[object], cuts: Sequence[Cut]) -> None:
        accesses = [entry for entry in entries if isinstance(entry, Access)]
        families = self.contested
        objects = contested(accesses) if families is None else {a.region.base for a in accesses}
        objects = {base for base in objects if families is None or base.family in families}
        ahead = sorted(cuts, key=lambda cut: cut.place, reverse=True)
        for place, entry in enumerate(entries):
            while ahead and ahead[-1].place <= place:
                self.cut = ahead.pop()
                self.recent.clear()
                self.looks.clear()
            if isinstance(entry, Access) and entry.region.base in objects:
                self._pass_access(entry)
            elif isinstance(entry, BarrierLook):
                self._pass_look(entry)

    # Accesses ---------------------------------------------------------------------------------------------------------

    def _pass_access(self, access: Access) -> None:
        encounter = self.encounters.get(access)
        if encounter is not None:
            for others in self._found(access, encounter.strangers, are_strangers=True):
                meetings = [
                    meeting(access.region, self.moves[access], other, both_ways=self.both_ways) for other in others
                ]
                _must_never(access.op, access.region.base, meetings)
            for others in self._found(access, encounter.replaced):
                goes_on = _covers_all(access) or any(self._moves_with(access, other) for other in others)
                _must_never(access.op, access.region.base, [None if goes_on else 1])
            for other in encounter.repeated:
                if not self._stay_one(access, other):
                    raise IrregularError(
                        access.op, "makes one store with another warp in some iterations, and not in all"
                    )
        self.recent[access] = None

    def _found(
        self, access: Access, earlier: Sequence[Access], *, are_strangers: bool = False
    ) -> Iterable[list[Other]]:
        """
        Where those of the `earlier` accesses lie that still count, one list for each. Of strangers only those do that
        move on otherwise: one that keeps its distance does not overlap in any round, since it does not do so now.

        A row gives a list of its two ends: it is enough that the access never comes past one of them.
        """
        mine = self.moves[access]
        cut = self.cut
        for other in earlier:
            if other in self.recent:
                theirs = self.moves[other]
            elif cut is not None and other in cut.numbers:
                theirs = cut.moves(cut.numbers[other], mine, access.op)
            else:
                continue
            if not (are_strangers and _keep_their_distance(mine, theirs)):
                yield [Other(other.region, theirs)]
        rows = cut.snapshot.rows if cut is not None and earlier else ()
        wanted = set(earlier) if rows else set[Access]()
        for row in rows:
            if any(member.access in wanted for member in row.row.members):
                yield self._ends(row, mine, access.op)

    def _ends(self, row: DrawnRow, overlays: Iterable[int], op: Operation) -> list[Other]:
        assert self.cut is not None
        first, last = row.row.members[0].access, row.row.members[-1].access
        assert first is not None
        assert last is not None
        return [
            Other(last.region, self.cut.moves(row.last, overlays, op), -row.row.step),
            Other(first.region, self.cut.moves(row.first, overlays, op), row.row.step),
        ]

    def _ways(self, shifts: Sequence[int]) -> Sequence[int]:
        """`shifts`, and those back if they may be taken, too."""
        return [*shifts, *(-shift for shift in shifts)] if self.both_ways else shifts

    def _moves_with(self, access: Access, other: Other) -> bool:
        return _keep_their_distance(self.moves[access], other.moves)

    def _stay_one(self, access: Access, other: Access) -> bool:
        """Whether two executions of an op by two warps make one store in every round, as they do now."""
        mine = self.repeats.get(access, {})
        if other in self.recent:
            theirs = self.repeats.get(other, {})
            return all(theirs[overlay] == times for overlay, times in mine.items())
        if self.cut is None:
            return True
        for number, store, warp in self.cut.snapshot.repetitions:
            if store is other and warp is access.agent:
                return not any(self.cut.moves(number, mine, access.op).values())
        return False

    # Barriers in memory -----------------------------------------------------------------------------------------------

    def _pass_look(self, look: BarrierLook) -> None:
        mine = self.moves[look]
        for offset, moves in self._other_barriers(look):
            if offset == look.offset:
                parts: Rounds = None if moves == mine else 1
            else:
                parts = becomes_zero(look.offset - offset, self._ways([mine[o] - moves[o] for o in mine]))
            _must_never(look.op, look.base, [parts])
        for row in self._barrier_rows(look):
            _must_never(look.op, look.base, self._leaves_or_enters(row, look))
        self.looks[look.base.serial, look.offset, tuple(sorted(mine.items()))] = look

    def _other_barriers(self, look: BarrierLook) -> Iterable[tuple[int, Moves]]:
        """Offsets of the barriers in the same object that were drawn or looked up, and how they move on."""
        mine = self.moves[look]
        for other in self.looks.values():
            if other.base is look.base:
                yield other.offset, self.moves[other]
        if self.cut is not None:
            for number, base in self.cut.snapshot.barriers:
                if base is look.base:
                    offset = int(self.cut.snapshot.numbers[number])
                    yield offset, self.cut.moves(number, mine, look.op)

    def _barrier_rows(self, look: BarrierLook) -> Iterable[DrawnRow]:
        rows = self.cut.snapshot.rows if self.cut is not None else ()
        return (p for p in rows if p.row.members[0].base is look.base and p.row.members[0].access is None)

    def _leaves_or_enters(self, row: DrawnRow, look: BarrierLook) -> list[Rounds]:
        """When a look that finds a barrier of `row` may come to find none, or one that finds none may find one."""
        assert self.cut is not None
        mine, step = self.moves[look], row.row.step
        first, last = row.row.members[0].offset, row.row.members[-1].offset
        ahead = self._ways([mine[o] - m for o, m in self.cut.moves(row.first, mine, look.op).items()])
        behind = self._ways([m - mine[o] for o, m in self.cut.moves(row.last, mine, look.op).items()])
        if any(member.offset == look.offset for member in row.row.members):
            in_step = all(shift % step == 0 if step else shift == 0 for shift in ahead)
            left = [_falls_below_zero(look.offset - first, ahead), _falls_below_zero(last - look.offset, behind)]
            leaves = [rounds for rounds in left if rounds is not None]
            return [min(leaves, default=None) if in_step else 1]
        beyond = becomes_zero(look.offset - last, [*(-shift for shift in behind), step])
        return [beyond, becomes_zero(look.offset - first, [*ahead, -step])]


def contested(accesses: Iterable[Access]) -> set[MemoryObject]:
    """The objects on which there may be a race: one is written, and several agents or works access it."""
    contest = Contest[MemoryObject]()
    for access in accesses:
        contest.note(access.region.base, access)
    return contest.found


ThingT = TypeVar("ThingT", MemoryObject, str)


class Contest(Generic[ThingT]):
    """Finds the objects, or the families of objects, on which there may be a race: see `contested`."""

    def __init__(self) -> None:
        self._written: set[ThingT] = set()
        self._only: dict[ThingT, int | None] = {}
        """The number of the only agent that accesses it; None if there are several, or a work, which is not its
        issuer."""

    def note(self, thing: ThingT, access: Access) -> None:
        """Note an access to it."""
        if access.is_write:
            self._written.add(thing)
        self._note_who(thing, access.agent.number if access.work is None else None)

    def add(self, other: Contest[ThingT]) -> None:
        """Note what another execution has accessed: it may go on as this one does."""
        self._written |= other._written
        for thing, who in other._only.items():
            self._note_who(thing, who)

    def _note_who(self, thing: ThingT, who: int | None) -> None:
        if self._only.setdefault(thing, who) != who:
            self._only[thing] = None

    @property
    def found(self) -> set[ThingT]:
        return {thing for thing in self._written if self._only[thing] is None}


def _keep_their_distance(mine: Moves, theirs: Moves) -> bool:
    """Whether two places move on alike wherever the first does."""
    return mine == theirs or all(shift == theirs[overlay] for overlay, shift in mine.items())


def _must_never(op: Operation, base: MemoryObject, ways: Sequence[Rounds]) -> None:
    """Raises `IrregularError` unless one of the estimates `ways` says that it never happens."""
    rounds = [rounds for rounds in ways if rounds is not None]
    if len(rounds) == len(ways):
        reason = f"may come to other places of '{base.name}' many iterations later, of which it does not know"
        raise IrregularError(op, reason, wrong_after=max(rounds))


def _covers_all(access: Access) -> bool:
    region = access.region
    return region.is_solid and region.start <= 0 and region.stop >= region.base.size


def meeting(region: ByteRegion, moves: Moves, other: Other, *, both_ways: bool = False) -> Rounds:
    """When `region`, which moves on by `moves`, forwards and perhaps backwards, may come to overlap `other`."""
    if region.overlaps(other.region):
        return 1
    apart = [shift - other.moves[overlay] for overlay, shift in moves.items()]
    apart += [-shift for shift in apart] if both_ways else []
    if region.copies or other.region.copies:
        return _first_meeting([*apart, -other.continues], region, other.region)
    return _first_sum(
        [*apart, -other.continues],
        (other.region.start - region.stop + 1, other.region.stop - region.start - 1),
        lambda distance: _shifted(region, distance).overlaps(other.region),
    )


def becomes_zero(distance: int, shifts: Sequence[int]) -> Rounds:
    """When `distance`, which is not 0, may become 0 if any of `shifts` is added to it, any number of times."""
    return _first_sum(shifts, (-distance, -distance), lambda _: True)


def _falls_below_zero(number: int, shifts: Sequence[int]) -> Rounds:
    least = min(shifts, default=0)
    return None if least >= 0 else number // -least + 1


def _first_meeting(shifts: Sequence[int], region: ByteRegion, other: ByteRegion) -> Rounds:
    """
    About how many `shifts` it takes until `region`, moved on by a sum of them, overlaps `other`: spans of contiguous
    bytes, of which that is told without a look at each distance. Where one of the two has more, it counts as one.
    """
    shifts = [shift for shift in shifts if shift]
    unit = gcd(*shifts)
    if not unit:
        return None
    goes_back, goes_on = min(shifts) < 0, max(shifts) > 0
    least: int | None = None
    for start, stop in region.spans:
        for first, last in other.spans:
            low, high = -(-(first - stop + 1) // unit), (last - start - 1) // unit
            for times in (max(low, 1), min(high, -1)):
                if low <= times <= high and (goes_on if times > 0 else goes_back):
                    least = abs(times) if least is None else min(least, abs(times))
    return None if least is None else -(-least * unit // min(map(abs, shifts)))


def _first_sum(shifts: Sequence[int], span: tuple[int, int], happens: Callable[[int], bool]) -> Rounds:
    """
    About how many `shifts` it takes until `happens(d)` holds for a sum d of them within `span`, both ends included.

    A sum is a multiple of the greatest common divisor of `shifts`, positive or negative as they are. None if `happens`
    holds for no such multiple.
    """
    shifts = [shift for shift in shifts if shift]
    unit = gcd(*shifts)
    if not unit:
        return None
    low = span[0] if min(shifts) < 0 else max(span[0], unit)
    high = span[1] if max(shifts) > 0 else min(span[1], -unit)
    multiples = range(-(-low // unit), high // unit + 1)
    if len(multiples) > MOST_PLACES:
        return 1
    found = [abs(times) * unit for times in multiples if times and happens(times * unit)]
    return -(-min(found) // min(map(abs, shifts))) if found else None


def _shifted(region: ByteRegion, distance: int) -> ByteRegion:
    return region.at(region.offset + distance)
