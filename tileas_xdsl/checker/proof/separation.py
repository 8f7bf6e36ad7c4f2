"""
Whether places that are apart stay apart, however often the loops turn.

Two accesses may be strangers to each other: the later one does not know of the earlier. They do not race as long as
their places are apart. From one execution to the next larger one each place moves on by some distance; with k rounds
more a stranger lies at x + k d, and may have come across somebody that it did not meet before. So for each access its
strangers are looked for

- among the accesses since the last head at which the runs are moved against each other,
- in the snapshot drawn there, alone or in a row of things left behind,

and the distances by which the two of them move against each other must never bring them together. What an access
replaced on file it must go on to replace. The same goes for barriers in memory and for those who look for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd

from xdsl.ir import Operation

from tileas_xdsl.checker.proof.recorded_run import Encounter
from tileas_xdsl.checker.snapshot.snapshot import DrawnRow, Snapshot
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.happens_before import Access
from tileas_xdsl.machine.core.memory import ByteRegion, MemoryObject
from tileas_xdsl.machine.core.moving_numbers import IrregularError
from tileas_xdsl.machine.parts.placed_barriers import BarrierLook

Moves = dict[int, int]
"""For each overlay, by how many bytes a place moves on."""

Rounds = int | None
"""So many rounds later, about; None for never."""

MOST_PLACES = 4096
"""Places at which two regions are compared before they count as meeting."""


@dataclass
class Cut:
    """A head at which the runs are moved against each other: its state, and how the numbers there move on."""

    place: int
    snapshot: Snapshot
    shifts: dict[int, tuple[float, ...]]
    """For each overlay, by how much each number of the snapshot moves on."""

    def moves(self, number: int, overlays: Iterable[int], op: Operation) -> Moves:
        """How number `number` moves on in `overlays`."""
        if any(overlay not in self.shifts for overlay in overlays):
            raise IrregularError(op, "runs while loops of several agents come round at different times")
        return {overlay: int(self.shifts[overlay][number]) for overlay in overlays}


@dataclass
class Other:
    """Where something lies that a place must not come across, or must not leave."""

    region: ByteRegion
    moves: Moves
    continues: int = 0
    """It is the end of a row that continues there, in steps of so many bytes."""


@dataclass
class Separation:
    """
    Goes through a run, `moves` telling how each access and each look on it moves on, and raises `IrregularError` where
    strangers would meet.
    """

    encounters: Mapping[Access, Encounter]
    moves: Mapping[Access | BarrierLook, Moves]
    cut: Cut | None = None
    recent: dict[Access, None] = field(default_factory=dict[Access, None])
    looks: dict[tuple[int, int, tuple[tuple[int, int], ...]], BarrierLook] = field(
        default_factory=dict[tuple[int, int, tuple[tuple[int, int], ...]], BarrierLook]
    )

    def check(self, entries: Sequence[object], cuts: Sequence[Cut]) -> None:
        contested = _contested(entry for entry in entries if isinstance(entry, Access))
        ahead = sorted(cuts, key=lambda cut: cut.place, reverse=True)
        for place, entry in enumerate(entries):
            while ahead and ahead[-1].place <= place:
                self.cut = ahead.pop()
                self.recent.clear()
                self.looks.clear()
            if isinstance(entry, Access) and entry.region.base in contested:
                self._pass_access(entry)
            elif isinstance(entry, BarrierLook):
                self._pass_look(entry)

    # Accesses ---------------------------------------------------------------------------------------------------------

    def _pass_access(self, access: Access) -> None:
        encounter = self.encounters.get(access)
        if encounter is not None:
            for others in self._found(access, encounter.strangers):
                meetings = [meeting(access.region, self.moves[access], other) for other in others]
                _must_never(access.op, access.region.base, meetings)
            for others in self._found(access, encounter.replaced):
                goes_on = _covers_all(access) or any(self._moves_with(access, other) for other in others)
                _must_never(access.op, access.region.base, [None if goes_on else 1])
        self.recent[access] = None

    def _found(self, access: Access, earlier: Sequence[Access]) -> Iterable[list[Other]]:
        """Where the `earlier` accesses are that still count: of a row both ends, one of which will do."""
        mine = self.moves[access]
        wanted = set(earlier)
        yield from ([Other(a.region, self.moves[a])] for a in earlier if a in self.recent)
        if self.cut is None:
            return
        snapshot = self.cut.snapshot
        for number, other in snapshot.accesses:
            if other in wanted:
                yield [Other(other.region, self.cut.moves(number, mine, access.op))]
        for row in snapshot.rows:
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

    def _moves_with(self, access: Access, other: Other) -> bool:
        return all(shift == other.moves[overlay] for overlay, shift in self.moves[access].items())

    # Barriers in memory -----------------------------------------------------------------------------------------------

    def _pass_look(self, look: BarrierLook) -> None:
        mine = self.moves[look]
        for offset, moves in self._other_barriers(look):
            if offset == look.offset:
                parts: Rounds = None if moves == mine else 1
            else:
                parts = becomes_zero(look.offset - offset, [mine[o] - moves[o] for o in mine])
            _must_never(look.op, look.base, [parts])
        for row in self._barrier_rows(look):
            _must_never(look.op, look.base, self._leaves_or_enters(row, look))
        self.looks[look.base.serial, look.offset, tuple(sorted(mine.items()))] = look

    def _other_barriers(self, look: BarrierLook) -> Iterable[tuple[int, Moves]]:
        """Offsets of the barriers beside this one that were drawn or looked for, and how they move on."""
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
        """When a look that finds a barrier of `row` may find none, and when one that does not may find one."""
        assert self.cut is not None
        mine, step = self.moves[look], row.row.step
        first, last = row.row.members[0].offset, row.row.members[-1].offset
        ahead = [mine[o] - m for o, m in self.cut.moves(row.first, mine, look.op).items()]
        behind = [m - mine[o] for o, m in self.cut.moves(row.last, mine, look.op).items()]
        if any(member.offset == look.offset for member in row.row.members):
            in_step = all(shift % step == 0 if step else shift == 0 for shift in ahead)
            left = [_falls_below_zero(look.offset - first, ahead), _falls_below_zero(last - look.offset, behind)]
            leaves = [rounds for rounds in left if rounds is not None]
            return [min(leaves, default=None) if in_step else 1]
        beyond = becomes_zero(look.offset - last, [*(-shift for shift in behind), step])
        return [beyond, becomes_zero(look.offset - first, [*ahead, -step])]


def _contested(accesses: Iterable[Access]) -> set[MemoryObject]:
    """The objects on which somebody may race: they are written, and by works or reached by several agents."""
    written: set[MemoryObject] = set()
    agents: dict[MemoryObject, set[Agent | AsyncWork]] = {}
    for access in accesses:
        base = access.region.base
        if access.is_write:
            written.add(base)
        agents.setdefault(base, set()).update((access.agent, access.work) if access.work else (access.agent,))
    return {base for base in written if len(agents[base]) > 1}


def _must_never(op: Operation, base: MemoryObject, ways: Sequence[Rounds]) -> None:
    """Raises `IrregularError` unless by one of the `ways` to look at it, it never happens."""
    rounds = [rounds for rounds in ways if rounds is not None]
    if len(rounds) == len(ways):
        reason = f"may come to other places of '{base.name}' many turns later, of which it does not know"
        raise IrregularError(op, reason, wrong_after=max(rounds))


def _covers_all(access: Access) -> bool:
    region = access.region
    return region.is_solid and region.start <= 0 and region.stop >= region.base.size


def meeting(region: ByteRegion, moves: Moves, other: Other) -> Rounds:
    """When `region`, which is apart from `other`, may come across it."""
    if region.overlaps(other.region):
        return 1
    apart = [shift - other.moves[overlay] for overlay, shift in moves.items()]
    return _first_sum(
        [*apart, -other.continues],
        (other.region.start - region.stop + 1, other.region.stop - region.start - 1),
        lambda distance: _shifted(region, distance).overlaps(other.region),
    )


def becomes_zero(distance: int, shifts: Sequence[int]) -> Rounds:
    """When `distance`, which is not 0, may become 0 as it moves on by any of `shifts`, any number of times."""
    return _first_sum(shifts, (-distance, -distance), lambda _: True)


def _falls_below_zero(number: int, shifts: Sequence[int]) -> Rounds:
    least = min(shifts, default=0)
    return None if least >= 0 else number // -least + 1


def _first_sum(shifts: Sequence[int], span: tuple[int, int], happens: Callable[[int], bool]) -> Rounds:
    """
    After how many `shifts`, about, something `happens` at a distance within `span` (both ends included) that sums of
    them may come to: at a multiple of what divides them all, on the side to which they go.
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
    return ByteRegion(region.base, region.offset + distance, region.counts, region.strides, region.itemsize)
