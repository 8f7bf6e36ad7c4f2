"""
Large trip counts at which a mistake may show, and which are executed for that reason.

Where there is no proof because two numbers come closer to each other from turn to turn, or because an access comes
closer to a place of which it does not know, their distance says how many turns later they meet. That trip count is
executed, though it lies far beyond those that are tried one after the other.
"""

from __future__ import annotations

from tileas_xdsl.checker.proof.outcomes import Execute, NoProofError, WrongError
from tileas_xdsl.checker.proof.recorded_run import RecordedRun

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
