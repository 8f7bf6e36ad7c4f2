"""
The modulo reservation table: which op holds which slot in which row.

A schedule with initiation interval II repeats every II cycles, so cycle `t` of an iteration is row `t mod II`. A slot
has a count for each row, and all rows are asked at once, as the bits of integers. Asking changes nothing; an op is
entered or taken out as a whole. (Rau, "Iterative Modulo Scheduling", MICRO 1994.)

`RowCounts` are a number for each row, all of them at once: bit `row` of integer `k` is bit k of the number of that row.

    counts.add(rows, 3)        these rows, given as bits, get 3 more each
    counts.at_least(5)         the rows, as bits, that have 5 or more

So adding and comparing take as many steps as the numbers have bits, however many rows there are. (Bit slicing: Biham,
"A Fast New DES Implementation in Software", FSE 1997.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tileas_xdsl.scheduling.modulo.problem import ModuloProblem
from tileas_xdsl.targets.machine_model import SlotUse


class RowCounts:
    """Numbers of the rows that are the bits of `rows`, all 0 at first; none is ever negative."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._planes: list[int] = []

    def add(self, rows: int, amount: int) -> None:
        """Add `amount` in each of `rows`."""
        planes, carry, place = self._planes, 0, 0
        while amount >> place or carry:
            if place == len(planes):
                planes.append(0)
            plane, addend = planes[place], rows if amount >> place & 1 else 0
            planes[place] = plane ^ addend ^ carry
            carry = plane & addend | carry & (plane ^ addend)
            place += 1

    def subtract(self, rows: int, amount: int) -> None:
        """Take `amount` from each of `rows`, which have as much."""
        planes, borrow, place = self._planes, 0, 0
        while amount >> place or borrow:
            plane, less = planes[place], rows if amount >> place & 1 else 0
            planes[place] = plane ^ less ^ borrow
            borrow = ~plane & (less | borrow) | less & borrow
            place += 1

    def at_least(self, number: int) -> int:
        """The rows that have `number` or more."""
        planes = self._planes
        if number >> len(planes):
            return 0
        more, as_many = 0, self.rows
        for place in range(len(planes) - 1, -1, -1):
            plane = planes[place]
            if number >> place & 1:
                as_many &= plane
            else:
                more |= as_many & plane
                as_many &= ~plane
        return more | as_many


@dataclass(frozen=True, slots=True)
class Demand:
    """What an op takes of one slot, in whole rounds of the table and beyond them."""

    counts: RowCounts
    """Of the slot."""
    everywhere: int
    """So much in all rows."""
    full_from: int
    """Where a row has so much already, that is too much; it does not matter where nothing is taken in all rows."""
    amount: int
    rest: int
    """`amount` more in so many successive rows."""
    busy_from: int
    """Where a row has so much already, it is none of them."""

    def busy(self) -> tuple[int, int]:
        """
        The rows that must not be among those that are taken, as bits, and how many these are beyond whole rounds. Where
        that is 0, a row that is busy leaves no room anywhere.
        """
        if self.everywhere and self.counts.at_least(self.full_from):
            return 1, 0
        return self.counts.at_least(self.busy_from) if self.rest else 0, self.rest


class ReservationTable:
    """The rows of one initiation interval."""

    def __init__(self, problem: ModuloProblem, ii: int) -> None:
        self.problem = problem
        self.ii = ii
        self._all = (1 << ii) - 1
        self._counts: dict[str, RowCounts] = {}
        self._demands = [tuple(map(self._demand, op.uses)) for op in problem.ops]
        self._users: dict[str, dict[int, int]] = {}
        """Slot -> op -> the rows for which it takes the slot."""
        self.starts: dict[int, int] = {}
        """Op -> the cycle in which it starts, for every op that is entered."""

    # Asking ---------------------------------------------------------------------------------------------------------

    def _demand(self, use: SlotUse) -> Demand:
        rounds, rest = divmod(use.rows, self.ii)
        everywhere = rounds * use.amount
        free = self.problem.capacity(use.slot) - everywhere
        counts = self._counts.setdefault(use.slot, RowCounts(self._all))
        return Demand(counts, everywhere, max(free + 1, 0), use.amount, rest, max(free - use.amount + 1, 0))

    def fits(self, op: int, start: int) -> bool:
        """Whether op number `op` finds all its slots free at cycle `start`."""
        for demand in self._demands[op]:
            busy, rest = demand.busy()
            if busy and (not rest or busy & self._rotated((1 << rest) - 1, -start)):
                return False
        return True

    def first_fit(self, op: int, earliest: int, latest: int) -> int | None:
        """The first cycle from `earliest` to `latest` at which op number `op` finds all its slots free."""
        if earliest <= latest and self.fits(op, earliest):
            return earliest
        return next(self.fitting(op, earliest + 1, latest), None)

    def fitting(self, op: int, earliest: int, latest: int) -> Iterator[int]:
        """Every such cycle, in order. No more than II of them: after that rows repeat."""
        free = self.free(op, earliest, latest)
        while free:
            lowest = free & -free
            yield earliest + lowest.bit_length() - 1
            free ^= lowest

    def free(self, op: int, earliest: int, latest: int) -> int:
        """Every such cycle, as bits: bit 0 is `earliest`."""
        last = min(latest, earliest + self.ii - 1)
        if last < earliest or (free := self._free_starts(op)) == 0:
            return 0
        return self._rotated(free, earliest % self.ii) & ((1 << (last - earliest + 1)) - 1)

    def _free_starts(self, op: int) -> int:
        """The rows, as bits, in which `op` may start."""
        free = self._all
        for demand in self._demands[op]:
            busy, rest = demand.busy()
            if busy:
                free &= ~self._blocked(busy, rest) if rest else 0
        return free

    def _rotated(self, rows: int, by: int) -> int:
        """`rows` seen from row `by`: its bit `by` becomes bit 0."""
        by %= self.ii
        return ((rows >> by) | (rows << (self.ii - by))) & self._all

    def _blocked(self, taken: int, length: int) -> int:
        """The rows from which `length` rows meet a taken one: doubling, so in the logarithm of `length` steps."""
        if not taken or not length:
            return 0
        blocked, covered = taken, 1
        while covered < length:
            step = min(covered, length - covered)
            blocked |= self._rotated(blocked, step)
            covered += step
        return blocked

    def holders(self, op: int, start: int) -> list[int]:
        """The ops that stand in the way of op number `op` at cycle `start`, each once."""
        starts, ii = self.starts, self.ii
        met: dict[int, None] = {}
        for use in self.problem.ops[op].uses:
            if not use.rows:
                continue
            for other, rows in self._users.get(use.slot, {}).items():
                ahead = (starts[other] - start) % ii
                if rows and other != op and (ahead < use.rows or -ahead % ii < rows):
                    met[other] = None
        return list(met)

    def taken_in_row(self, row: int) -> int:
        """How many slots are taken in `row`."""
        return sum(counts.at_least(1) >> (row % self.ii) & 1 for counts in self._counts.values())

    # Entering -------------------------------------------------------------------------------------------------------

    def enter(self, op: int, start: int) -> None:
        """Enter op number `op` at cycle `start`, where it fits."""
        self.starts[op] = start
        self._change(op, start, 1)

    def remove(self, op: int) -> None:
        """Take op number `op` out again."""
        self._change(op, self.starts.pop(op), -1)

    def _change(self, op: int, start: int, sign: int) -> None:
        for use, demand in zip(self.problem.ops[op].uses, self._demands[op], strict=True):
            users = self._users.setdefault(use.slot, {})
            if sign > 0:
                users[op] = max(use.rows, users.get(op, 0))
            else:
                users.pop(op, None)
            change = demand.counts.add if sign > 0 else demand.counts.subtract
            if demand.everywhere:
                change(self._all, demand.everywhere)
            if demand.rest:
                change(self._rotated((1 << demand.rest) - 1, -start), demand.amount)
