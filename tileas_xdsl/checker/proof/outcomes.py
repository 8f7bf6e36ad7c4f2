"""
What comes of the search for a proof: one, or none, or a trip count that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Operation

from tileas_xdsl.checker.proof.recorded_run import RecordedRun

Execute = Callable[[int, RecordedRun], bool]
"""
Execute one trip count and write it on a run. Returns whether it is right beyond doubt. Raises `NoProofError` where it
cannot be executed.
"""


@dataclass(frozen=True)
class End:
    """An array ends before the trip counts do."""

    trip_count: int
    """The least at which `op` goes too far."""
    op: Operation
    what: str
    """What it does there, after "the op ..."."""


@dataclass(frozen=True)
class Proof:
    """Every trip count is right: those up to `executed` were executed, larger ones repeat them."""

    executed: int
    """The largest trip count that was executed."""
    period: int
    """A trip count that is larger by this much does the same, and some turns more."""
    end: End | None = None
    """Where an array of a fixed size ends, if one does: from there on there is nothing to prove."""


class NoProofError(Exception):
    """Why nothing can be said of larger trip counts than those that were executed."""

    def __init__(self, reason: str, *, piles_may_help: bool = False) -> None:
        self.piles_may_help = piles_may_help
        """Whether more might be said if what turns leave behind were gathered."""
        super().__init__(reason)


class WrongError(Exception):
    """A larger trip count than those asked for has been executed, and is wrong or cannot be decided."""

    def __init__(self, trip_count: int) -> None:
        self.trip_count = trip_count
        super().__init__(f"trip count {trip_count}")
