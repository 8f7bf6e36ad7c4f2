"""
The induction over trip counts: `prove(execute, checked)`.

    E(0), ..., E(N + 2q - 1)       executed, and found right
    E(n + q) is E(n) and more of the same, for each n from N to N + q - 1       checked by `alignment`
    so E(n + 2q) is E(n + q) and more of the same, and so on: every trip count is right

The loops that matter are those whose trip counts grow with the argument. In one long execution the snapshots at their
heads are compared: from which iteration on does the state recur, and after how many? From that follows q. Then N is
searched.

A state may not recur because every iteration leaves more behind. Then the search is made once more with leftovers
gathered (see `leftovers`). Where a first long execution shows that, longer ones are put off until this has failed.

Where there is no proof because two numbers come closer to each other from iteration to iteration, or because an access
comes closer to a place of which it does not know, their distance says how many iterations later they meet. That trip
count is executed, though it lies far beyond those that are tried one after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, takewhile
from math import ceil, inf, lcm

from tileas_xdsl.analysis.natural_loops import loop_with_turns_from
from tileas_xdsl.checker.proof.alignment import Alignment
from tileas_xdsl.checker.proof.outcomes import End, Execute, NoProofError, Proof, WrongError
from tileas_xdsl.checker.proof.recorded_run import LoopKey, RecordedRun, Turns, Wanted
from tileas_xdsl.checker.proof.shifts import Growth
from tileas_xdsl.checker.snapshot.settled import Reach
from tileas_xdsl.checker.snapshot.snapshot import Snapshot
from tileas_xdsl.diagnostics import sentence
from tileas_xdsl.machine.core.moving_numbers import IrregularError

FARTHEST = 1024
"""The largest trip count that is executed for this reason."""


class Trials:
    """Executes trip counts by `execute`, each once; those in `executed` are known to be right."""

    def __init__(self, execute: Execute, executed: set[int]) -> None:
        self.execute = execute
        self.executed = executed
        self._tried: dict[int, bool] = {}

    def look_ahead(self, trip_count: int, rounds: int, period: int) -> None:
        """
        Execute the trip counts at which two numbers or places meet that are `rounds` rounds apart at `trip_count`.

        One may reach the other, or both come half of the way. Nothing is executed for 0 rounds or beyond `FARTHEST`.
        Raises `WrongError` if one of these trip counts is wrong.
        """
        for far in (rounds // 2 + 1, rounds, rounds + 1) if rounds else ():
            there = trip_count + far * period
            if there <= FARTHEST and not self._is_right(there):
                raise self.wrong(there)

    def wrong(self, trip_count: int) -> WrongError:
        """
        The error to raise where `trip_count` is wrong.

        It names a wrong trip count whose predecessor is right, found by bisection: the least one if every trip count
        from some number on is wrong.
        """
        right = max(number for number in self.executed if number < trip_count)
        while trip_count - right > 1:
            middle = (right + trip_count) // 2
            right, trip_count = (middle, trip_count) if self._is_right(middle) else (right, middle)
        return WrongError(trip_count)

    def _is_right(self, trip_count: int) -> bool:
        """Whether a trip count is right; so counts one that cannot be executed."""
        if trip_count in self.executed:
            return True
        if trip_count not in self._tried:
            try:
                self._tried[trip_count] = self.execute(trip_count, RecordedRun())
            except NoProofError:
                self._tried[trip_count] = True
        return self._tried[trip_count]


LONGEST_PERIOD = 64
"""The largest period of a proof, as a difference of trip counts."""
SPAN = 4
"""The distance between the two trip counts from which the growth of loops is read."""
FAREST_CROSSING = 64
"""The largest trip count up to which N is searched because two numbers that are compared meet before that."""
MOST_ENTRIES = 5_000_000
"""The number of entries of all recorded runs together at which the search for a proof is given up."""


class _LongerPeriodError(Exception):
    """The state recurs, but the numbers that the program computes repeat only with this longer period."""

    def __init__(self, period: int, reason: str) -> None:
        self.period = period
        self.reason = reason
        super().__init__(reason)


class _LeavesMoreError(NoProofError):
    """Every iteration leaves more behind, as far as one execution shows."""


def prove(execute: Execute, checked: int, target: int | None = None) -> Proof:
    """
    Prove that every trip count is right, given that those up to `checked` are.

    `target` is the one trip count that matters, where there is one (`long_loops`): up to there no number may overflow
    and no access may leave its array. Raises `NoProofError` where there is no proof, `WrongError` where a larger trip
    count is wrong.
    """

    def by(*, gathers_leftovers: bool, is_patient: bool = True) -> Proof:
        ways = {"gathers_leftovers": gathers_leftovers, "is_patient": is_patient}
        by_turns = _Induction(execute, checked, target, as_slots_turn=True, **ways)
        try:
            return by_turns.prove()
        except NoProofError:
            if not by_turns.meets_equal_slots:
                raise
        # The program may tell the slots of a ring apart: by computing with their numbers, for one.
        return _Induction(execute, checked, target, as_slots_turn=False, **ways).prove()

    try:
        return by(gathers_leftovers=False, is_patient=False)
    except NoProofError as error:
        if not error.gathering_may_help:
            raise
        is_put_off = isinstance(error, _LeavesMoreError)
    try:
        return by(gathers_leftovers=True)
    except NoProofError:
        if is_put_off:
            with suppress(NoProofError):
                return by(gathers_leftovers=False)
        raise


@dataclass(frozen=True)
class Recurrence:
    """The state at a loop head in turn `first` recurs every `period` turns, up to `rest` turns before the last."""

    first: int
    period: int
    rest: int
    """In how many turns at the end it does not recur, because other agents have ended by then."""

    @property
    def turns(self) -> int:
        """The least trip count of the loop at which the state is found at least twice."""
        return self.first + self.period + 1 + self.rest

    def repeats(self, other: Recurrence) -> bool:
        """Whether it is the same one, seen on another run."""
        return (self.first, self.period) == (other.first, other.period)


Rates = dict[LoopKey, Fraction]
"""Loop -> by how many turns it grows when the trip count grows by one."""
Recurrences = dict[LoopKey, Recurrence]


class _Induction:
    def __init__(
        self,
        execute: Execute,
        checked: int,
        target: int | None,
        *,
        as_slots_turn: bool,
        gathers_leftovers: bool,
        is_patient: bool,
    ) -> None:
        self.execute = execute
        self.checked = checked
        self.target = target
        self.as_slots_turn = as_slots_turn
        self.gathers_leftovers = gathers_leftovers
        self.is_patient = is_patient
        """Whether longer executions are tried where every iteration of one leaves more behind."""
        self.meets_equal_slots = False
        self.entries = 0
        self.executed = set(range(checked + 1))
        self.trials = Trials(execute, self.executed)
        self.reach = Reach()
        self.reason = ""
        """Why the state at one of the loop heads does not recur. The others may suffice for a proof."""

    def prove(self) -> Proof:
        rates, run = self._rates()
        failure: NoProofError | None = None
        for recurrences, seen_at in self._recurrences(rates, run):
            try:
                return self._prove_by(rates, recurrences, seen_at)
            except NoProofError as error:
                failure = error
        assert failure is not None
        raise failure

    def _prove_by(self, rates: Rates, recurrences: Recurrences, seen_at: int) -> Proof:
        period = self._period(rates, recurrences)
        while True:
            try:
                return self._climb(rates, recurrences, period, seen_at)
            except _LongerPeriodError as error:
                period = error.period
                if period > LONGEST_PERIOD:
                    raise NoProofError(error.reason) from None

    # Executions -------------------------------------------------------------------------------------------------------

    def _run(
        self, trip_count: int, wanted: Wanted | None = None, *, is_compared: bool = False, is_larger: bool = False
    ) -> RecordedRun:
        """Execute a trip count, and record its steps if it is to be compared, as the one that `is_larger` or not."""
        ways = {"as_slots_turn": self.as_slots_turn, "gathers_leftovers": self.gathers_leftovers}
        run = RecordedRun(wanted, self.reach, **ways)
        run.takes_notes = is_compared
        run.notes_encounters = not is_larger
        right = self.execute(trip_count, run)
        self.entries += len(run.entries)
        self.meets_equal_slots |= run.meets_equal_slots
        if not right:
            raise self.trials.wrong(trip_count)
        reach = self.reach | run.reached
        if wanted is None or reach == self.reach:
            # Else an access may have been forgotten as settled that concerns an agent not known to reach its object.
            self.executed.add(trip_count)
        self.reach = reach
        if self.entries > MOST_ENTRIES:
            raise NoProofError("the executions get too long")
        return run

    # Which loops grow, and when their state recurs --------------------------------------------------------------------

    def _rates(self) -> tuple[Rates, RecordedRun]:
        """
        The rates of the loops that grow with the trip count, read from two recorded runs; and the larger of the runs,
        with snapshots at the heads of the leading loops.
        """
        fewer = self._run(self.checked)
        leading = _leading(fewer)
        more = self._run(self.checked + SPAN, lambda key, _turn: key in leading)
        before = {loop.key: loop for loop in fewer.loops}
        rates = {loop.key: _rate(before[loop.key], loop) for loop in more.loops if loop.key in before}
        return {key: rate for key, rate in rates.items() if rate > 0}, more

    def _recurrences(self, rates: Rates, run: RecordedRun) -> Iterator[tuple[Recurrences, int]]:
        """
        Ways in which the states at loop heads recur, and at which trip count that was seen; the cheapest first. Raises
        `NoProofError` if there are none, `_LeavesMoreError` if longer runs are not worth their time yet.
        """
        if not rates:
            yield {}, self.checked
            return
        growing = [loop for loop in run.loops if loop.key in rates and loop.heads]
        leading = [loop for loop in growing if loop.key in _leading(run)]
        if not self.is_patient and leading and all(_grows(run, loop.key) for loop in leading):
            raise _LeavesMoreError(self._why_not(run, leading[0].key), gathering_may_help=True)
        # A loop that runs at another time than those has to be cut itself.
        is_enough = all(any(map(loop.runs_beside, leading)) for loop in growing)
        guess = _recurrences_on(run, [loop.key for loop in leading]) if is_enough else None
        if guess:
            yield guess, self.checked + SPAN
        yield self._searched(list(rates))

    def _searched(self, keys: Sequence[LoopKey]) -> tuple[Recurrences, int]:
        """
        The recurrences of those of the loops `keys` whose state recurs, and the trip count at which that was seen.
        Where some of them are missing, one longer run may show them: the climb without them would take much longer. It
        also has to find the others again: the numbers 0, 1, 2, 3 of four slots in the last turns look even.

        Raises `NoProofError` if there are none.
        """
        wanted = set(keys)
        best: Recurrences = {}
        seen_at = 0
        for times in (1, 2, 4, 8):
            trip_count = times * max(self.checked, 8) + 8
            run = self._run(trip_count, lambda key, _turn: key in wanted)
            found = _recurrences_on(run, keys)
            best = {key: each for key, each in best.items() if key in found and found[key].repeats(each)}
            if len(found) > len(best):
                missing = [key for key in keys if key not in found]
                self.reason = self._why_not(run, missing[0]) if missing else ""
                best, seen_at = found, trip_count
            if best and (len(best) == len(keys) or seen_at < trip_count):
                return best, seen_at
        if best:
            return best, seen_at
        raise NoProofError(self._why_not(run, keys[0]), gathering_may_help=True)

    @staticmethod
    def _why_not(run: RecordedRun, key: LoopKey) -> str:
        op = loop_with_turns_from(key[0])
        refusal = next((p.refusal for (other, _), p in run.snapshots.items() if other == key and p.refusal), None)
        if refusal is not None:
            return sentence(op, f"cannot be compared from iteration to iteration: {refusal}")
        turns = sum(other == key for other, _ in run.snapshots)
        return sentence(op, f"finds no earlier state again within {turns} iterations")

    @staticmethod
    def _period(rates: Rates, recurrences: Recurrences) -> int:
        """The least q such that every loop turns a whole number of its periods more often at n + q than at n."""
        for period in range(1, LONGEST_PERIOD + 1):
            extra = {key: rates[key] * period for key in recurrences}
            if all(e.denominator == 1 and int(e) % recurrences[key].period == 0 for key, e in extra.items()):
                return period
        periods = lcm(*(recurrence.period for recurrence in recurrences.values()))
        raise NoProofError(f"the state at the loop heads recurs after {periods} iterations only, which is too long")

    # The step of the induction ----------------------------------------------------------------------------------------

    def _climb(self, rates: Rates, recurrences: Recurrences, period: int, seen_at: int) -> Proof:
        """
        Find N: a whole period of successive trip counts n such that the run of n + `period` aligns with that of n.

        Raises `NoProofError` if there is none, `_LongerPeriodError` if numbers repeat with a longer period.
        """
        first_turns = {key: recurrence.first for key, recurrence in recurrences.items()}
        wanted = {
            key: frozenset(first + times * int(rates[key] * period) for times in range(3))
            for key, first in first_turns.items()
        }
        runs: dict[int, RecordedRun] = {}
        nothing = frozenset[int]()

        def run_of(trip_count: int, *, is_larger: bool = False) -> RecordedRun:
            known = runs.get(trip_count)
            if known is None or not (known.notes_encounters or is_larger):
                at_cuts: Wanted = lambda key, turn: turn in wanted.get(key, nothing)  # noqa: E731
                runs[trip_count] = self._run(trip_count, at_cuts, is_compared=True, is_larger=is_larger)
            return runs[trip_count]

        starts = [ceil(recurrence.turns / rates[key]) for key, recurrence in recurrences.items()] or [0]
        # Loops of several agents that run at the same time are cut at the head that recurs first.
        start, latest = min(starts), max(starts)
        most = max(seen_at, latest + 2 * period) + 2 * period
        good: list[End | None] = []
        overflow = inf
        reason, gathering_may_help = "", bool(self.reason)
        trip_count = start - 1
        while trip_count < most or good:
            trip_count = trip_count + 1 if good or trip_count < start or trip_count >= latest else latest
            reach = self.reach
            try:
                # Where one step has failed already, the larger run may be the smaller one of a later step.
                pair = run_of(trip_count), run_of(trip_count + period, is_larger=not reason)
                if self.reach != reach:
                    # What was left out of earlier snapshots may matter after all.
                    raise NoProofError("larger trip counts reach other memory")
                alignment = Alignment(*pair, first_turns, Growth(trip_count, period, self.target))
                alignment.check()
            except IrregularError as error:
                good, overflow, reason = [], inf, sentence(error.op, error.reason)
                gathering_may_help |= error.gathering_may_help
                crossing = trip_count + error.rounds * period
                if error.rounds and crossing <= FAREST_CROSSING:
                    most = max(most, crossing + period)
                self.trials.look_ahead(trip_count, max(error.rounds, error.wrong_after), period)
                if error.factor > 1:
                    raise _LongerPeriodError(period * error.factor, reason) from None
                continue
            # Neither is looked at again before there is a proof, and a run takes much memory.
            del runs[trip_count], runs[trip_count + period], pair
            good.append(alignment.room.end)
            overflow = min(overflow, alignment.steps.overflow)
            # The loops of other agents are cut at the same time: there is no need to look at their heads, too.
            wanted = {key: wanted[key] for key in alignment.cut_at}
            if len(good) == period:
                self._close(trip_count + period)
                return Proof(trip_count + period, period, _first_end(good), overflow)
            del alignment
        raise NoProofError(self.reason or reason, gathering_may_help=gathering_may_help)

    def _close(self, last: int) -> None:
        """Execute the trip counts below `last` that have not been executed yet."""
        for trip_count in range(last):
            if trip_count not in self.executed:
                self._run(trip_count)


def _first_end(ends: Iterable[End | None]) -> End | None:
    """The array that ends first."""
    return min((end for end in ends if end is not None), key=lambda end: end.trip_count, default=None)


def _rate(fewer: Turns, more: Turns) -> Fraction:
    """By how many turns a loop grows per unit of the trip count, from runs whose trip counts are `SPAN` apart."""
    if fewer.bounds is None or more.bounds is None:
        return Fraction(more.count - fewer.count, SPAN)
    apart = (more.bounds.stop - more.bounds.start) - (fewer.bounds.stop - fewer.bounds.start)
    return Fraction(apart, SPAN * more.bounds.step)


def _leading(run: RecordedRun) -> set[LoopKey]:
    """The outermost loops of the agent that has most of them. Those of other agents often run at the same time."""
    outermost = [loop for loop in run.loops if not loop.depth]
    often = Counter(loop.agent.number for loop in outermost)
    leader = max(often, key=lambda agent: (often[agent], agent), default=None)
    return {loop.key for loop in outermost if loop.agent.number == leader}


def _recurrences_on(run: RecordedRun, keys: Sequence[LoopKey]) -> Recurrences:
    """The recurrences of those of the loops `keys` whose state recurs on `run`."""
    found: Recurrences = {}
    for loop in run.loops:
        if loop.key in keys:
            recurrence = _recurrence_of([run.snapshots[loop.key, turn] for turn in range(loop.count)])
            if recurrence is not None:
                found[loop.key] = recurrence
    return found


def _grows(run: RecordedRun, key: LoopKey) -> bool:
    """Whether the state at the head of a loop is larger from turn to turn, in the second half of its turns."""
    sizes = [len(snapshot.shape) for (other, _), snapshot in run.snapshots.items() if other == key]
    later = sizes[len(sizes) // 2 :]
    return len(later) > 1 and all(size < larger for size, larger in pairwise(later))


def _recurrence_of(snapshots: Sequence[Snapshot]) -> Recurrence | None:
    """
    The first turn whose state recurs evenly, at least twice and for as long as it recurs at all, with the shortest
    period; None if there is none.
    """
    shapes = [snapshot.shape for snapshot in snapshots]
    names = {shape: number for number, shape in enumerate(dict.fromkeys(shapes))}
    turns = [names[shape] for shape in shapes]
    for first in range(len(turns)):
        if snapshots[first].refusal is not None:
            continue
        for period in range(1, (len(turns) - first - 1) // 2 + 1):
            if not turns[first] == turns[first + period] == turns[first + 2 * period]:
                continue
            if _are_even([snapshots[turn] for turn in _alike(turns, first, period)]):
                rest = next(n for n, turn in enumerate(reversed(turns)) if turn == turns[first])
                return Recurrence(first, period, rest)
    return None


def _alike(turns: Sequence[int], first: int, period: int) -> list[int]:
    """
    Turns with the state of turn `first`, `period` apart: the one before it, and those behind while they are so. The
    number of a slot of three goes up twice, and down again, and only these tell it.
    """
    start = first - period if first >= period and turns[first - period] == turns[first] else first
    return list(takewhile(lambda turn: turns[turn] == turns[first], range(start, len(turns), period)))


def _are_even(snapshots: Sequence[Snapshot]) -> bool:
    """Whether each number moves on by one distance."""
    columns = zip(*(snapshot.numbers for snapshot in snapshots), strict=True)
    return all(len({b - a for a, b in pairwise(column)}) == 1 for column in columns)
