"""
The three outcomes of the search for a proof: a proof, the reason why there is none, or a wrong trip count.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from xdsl.ir import Operation

from tileas_xdsl.checker.proof.recorded_run import RecordedRun

Execute = Callable[[int, RecordedRun], bool]
"""
Executes one trip count, recorded by the run. Returns whether it is right beyond doubt. Raises `NoProofError` where it
cannot be executed.
"""


NO_COUNTS: Mapping[Hashable, Sequence[int]] = {}


@dataclass(frozen=True)
class End:
    """Where an array of a fixed extent ends: a proof says nothing of the trip counts from there on."""

    trip_count: int
    """The least trip count at which `op` leaves the array."""
    op: Operation
    what: str
    """What `op` does there, as the end of the sentence "'memref.load' ..."."""


@dataclass(frozen=True)
class Proof:
    """Every trip count is right: those up to `executed` were executed, larger ones repeat them."""

    executed: int
    """The largest trip count that was executed."""
    period: int
    """An execution with a trip count larger by this does the same and one more round of each growing loop."""
    end: End | None = None
    """Where the first array of a fixed extent ends; None if none does."""
    overflow: float = inf
    """The trip count from which on an integer that the proof follows may overflow."""


class NoProofError(Exception):
    """There is no proof for larger trip counts than those that were executed, and why."""

    def __init__(self, reason: str, *, gathering_may_help: bool = False) -> None:
        self.gathering_may_help = gathering_may_help
        """Whether there may be a proof if leftovers are gathered (`snapshot.leftovers`)."""
        super().__init__(reason)


class NeverProvedError(NoProofError):
    """There is no proof, however states are drawn."""


class SuspicionError(NoProofError):
    """There is no proof, and something may be wrong: only a call can show whether it is."""

    def __init__(
        self, reason: str, counts: Mapping[Hashable, Sequence[int]] = NO_COUNTS, *, turns_later: int = 0
    ) -> None:
        self.counts = counts
        """Argument -> the numbers of turns after which the loops that it bounds were left, where that went wrong."""
        self.turns_later = turns_later
        """About how many turns later two numbers or places meet; 0 where that is not known."""
        super().__init__(reason)


class WrongError(Exception):
    """A trip count beyond those asked for was executed, and is wrong or cannot be decided."""

    def __init__(self, trip_count: int) -> None:
        self.trip_count = trip_count
        super().__init__(f"trip count {trip_count}")
