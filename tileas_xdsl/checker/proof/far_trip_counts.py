"""
Trip counts far away at which something may go wrong.

Where no proof is found because two numbers come closer to each other from turn to turn, or because an access comes
closer to a place of which it does not know, the distance says how many turns later they meet. That trip count is
executed, though nobody would have come so far by trying one after the other.
"""

from __future__ import annotations

from tileas_xdsl.checker.proof.outcomes import Execute, NoProofError, WrongError
from tileas_xdsl.checker.proof.recorded_run import RecordedRun

FAREST = 1024
"""The largest trip count that is executed because something may go wrong there."""


class Trials:
    """Executes trip counts by `execute`, except for those that were `executed` and right."""

    def __init__(self, execute: Execute, executed: set[int]) -> None:
        self.execute = execute
        self.executed = executed
        self._tried: dict[int, bool] = {}

    def look_ahead(self, trip_count: int, rounds: int, period: int) -> None:
        """
        Raises `WrongError` if something goes wrong where two that are so many `rounds` apart at `trip_count` meet: one
        comes to the other, or both come half of the way.
        """
        for far in (rounds // 2 + 1, rounds, rounds + 1) if rounds else ():
            there = trip_count + far * period
            if there <= FAREST and not self._is_right(there):
                raise self.wrong(there)

    def wrong(self, trip_count: int) -> WrongError:
        """
        What to raise where `trip_count` goes wrong: it tells of the least that does, where all larger ones do so too;
        else of one whose predecessor is right.
        """
        right = max(number for number in self.executed if number < trip_count)
        while trip_count - right > 1:
            middle = (right + trip_count) // 2
            right, trip_count = (middle, trip_count) if self._is_right(middle) else (right, middle)
        return WrongError(trip_count)

    def _is_right(self, trip_count: int) -> bool:
        """Whether a trip count is right, or cannot be executed."""
        if trip_count in self.executed:
            return True
        if trip_count not in self._tried:
            try:
                self._tried[trip_count] = self.execute(trip_count, RecordedRun())
            except NoProofError:
                self._tried[trip_count] = True
        return self._tried[trip_count]
