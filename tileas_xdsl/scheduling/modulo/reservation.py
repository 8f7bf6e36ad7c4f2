"""
The modulo reservation table: which op holds which slot in which row.

A schedule with initiation interval II repeats every II cycles, so cycle `t` of an iteration is row `t mod II`. A slot
that serves one op at a time is an integer with one bit for each row; of any other the amounts are counted. Asking
changes nothing; an op is entered or taken out as a whole. (Rau, "Iterative Modulo Scheduling", MICRO 1994.)
"""

from __future__ import annotations

from collections.abc import Iterator

from tileas_xdsl.scheduling.modulo.problem import ModuloProblem, TimedOp
from tileas_xdsl.targets.machine_model import SlotUse


class ReservationTable:
    """The rows of one initiation interval."""

    def __init__(self, problem: ModuloProblem, ii: int) -> None:
        self.problem = problem
        self.ii = ii
        self._all = (1 << ii) - 1
        self._taken: dict[str, int] = {}
        self._amounts: dict[str, list[int]] = {}
        self._users: dict[str, dict[int, None]] = {}
        self.starts: dict[int, int] = {}
        """Op -> the cycle in which it starts, for every op that is entered."""

    # Asking ---------------------------------------------------------------------------------------------------------

    def fits(self, op: int, start: int) -> bool:
        """Whether op number `op` finds all its slots free at cycle `start`."""
        return self.first_fit(op, start, start) is not None

    def first_fit(self, op: int, earliest: int, latest: int) -> int | None:
        """The first cycle from `earliest` to `latest` at which op number `op` finds all its slots free."""
        return next(self.fitting(op, earliest, latest), None)

    def fitting(self, op: int, earliest: int, latest: int) -> Iterator[int]:
        """Every such cycle, in order. No more than II of them: after that rows repeat."""
        if (free := self._free_starts(self.problem.ops[op])) == 0:
            return
        last = min(latest, earliest + self.ii - 1)
        if last < earliest:
            return
        first_row = earliest % self.ii
        free = self._rotated(free, first_row) & ((1 << (last - earliest + 1)) - 1)
        while free:
            lowest = free & -free
            yield earliest + lowest.bit_length() - 1
            free ^= lowest

    def _free_starts(self, op: TimedOp) -> int:
        """The rows, as bits, in which `op` may start."""
        free = self._all
        for use in op.uses:
            capacity = self.problem.capacity(use.slot)
            if capacity == 1 and use.amount == 1:
                if use.rows > self.ii:
                    return 0
                free &= ~self._blocked(self._taken.get(use.slot, 0), use.rows)
            elif use.rows:
                free &= self._counted_starts(use, capacity)
        return free & self._all

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

    def _counted_starts(self, use: SlotUse, capacity: int) -> int:
        amounts = self._amounts.get(use.slot)
        everywhere, rest = divmod(use.rows, self.ii)
        base = everywhere * use.amount
        if base + (use.amount if rest else 0) > capacity:
            return 0
        if amounts is None:
            return self._all
        full = sum(1 << row for row, there in enumerate(amounts) if there + base > capacity)
        if full:
            return 0
        busy = sum(1 << row for row, there in enumerate(amounts) if there + base + use.amount > capacity)
        return self._all & ~self._blocked(busy, rest)

    def holders(self, op: int, start: int) -> list[int]:
        """The ops that stand in the way of op number `op` at cycle `start`, each once, in the order of entry."""
        wanted = self.problem.ops[op].uses
        near = dict.fromkeys(other for use in wanted for other in self._users.get(use.slot, ()) if other != op)
        return [other for other in near if self._meet(wanted, start, other, self.starts[other])]

    def _meet(self, wanted: tuple[SlotUse, ...], start: int, other: int, at: int) -> bool:
        for mine in wanted:
            for theirs in self.problem.ops[other].uses:
                if mine.slot == theirs.slot and mine.rows and theirs.rows:
                    ahead = (at - start) % self.ii
                    if ahead < mine.rows or (start - at) % self.ii < theirs.rows:
                        return True
        return False

    def taken_in_row(self, row: int) -> int:
        """How many slots are taken in `row`."""
        bit = 1 << (row % self.ii)
        return sum(bool(rows & bit) for rows in self._taken.values()) + sum(
            amounts[row % self.ii] > 0 for amounts in self._amounts.values()
        )

    # Entering -------------------------------------------------------------------------------------------------------

    def enter(self, op: int, start: int) -> None:
        """Enter op number `op` at cycle `start`, where it fits."""
        self.starts[op] = start
        self._change(op, start, 1)

    def remove(self, op: int) -> None:
        """Take op number `op` out again."""
        self._change(op, self.starts.pop(op), -1)

    def _change(self, op: int, start: int, sign: int) -> None:
        for use in self.problem.ops[op].uses:
            users = self._users.setdefault(use.slot, {})
            if sign > 0:
                users[op] = None
            else:
                users.pop(op, None)
            if self.problem.capacity(use.slot) == 1 and use.amount == 1:
                rows = self._rotated((1 << use.rows) - 1, -start)
                before = self._taken.get(use.slot, 0)
                self._taken[use.slot] = before | rows if sign > 0 else before & ~rows
                continue
            amounts = self._amounts.setdefault(use.slot, [0] * self.ii)
            for row in range(use.rows):
                amounts[(start + row) % self.ii] += sign * use.amount
