"""
What is known of the code of a kernel: what ptxas reports, what the scheduler foretells, what the check of the threads
said. Each is read from the data beside the code, and gives them back by `to_dict`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class LoopReport:
    """A loop as it was scheduled."""

    stages: int
    cycles: int
    """From one turn to the next, as the scheduler foretells."""
    bound: str
    """What binds: `RecMII`, `ResMII`, `DepMII` and so on."""
    place: str
    """`file:line:column`."""


FROM_PTXAS = ("registers", "spill_bytes", "stack_bytes", "static_shared_bytes", "barriers", "serialized_products")
SHARED = "dynamic_shared_bytes"


@dataclass(frozen=True, kw_only=True)
class CodeReport:
    """What is known of the machine code; None where ptxas has not been asked. Sizes are bytes."""

    registers: int | None
    """Of a thread."""
    spill_bytes: int | None
    stack_bytes: int | None
    static_shared_bytes: int | None
    dynamic_shared_bytes: int | None
    """None where the host chooses."""
    barriers: int | None
    serialized_products: str | None
    """Why ptxas lets products of wgmma go on one by one; empty where they overlap."""
    loops: tuple[LoopReport, ...]

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> CodeReport:
        """The report in what stands beside the code of a kernel."""
        said = {name: data.get(name) for name in (*FROM_PTXAS, SHARED)}
        if not isinstance(said[SHARED], int):
            said[SHARED] = None
        return cls(**said, loops=tuple(LoopReport(**loop) for loop in data.get("loops", ())))

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        return asdict(self)

    @property
    def shared_bytes(self) -> int | None:
        """Shared memory of a block in all; None where it is not known."""
        if self.static_shared_bytes is None or self.dynamic_shared_bytes is None:
            return None
        return self.static_shared_bytes + self.dynamic_shared_bytes


@dataclass(frozen=True, kw_only=True)
class ThreadsVerdict:
    """What the check of the threads of a kernel said before its code was written."""

    verdict: str
    """`safe` or `undecided`: code of threads that are wrong is not written."""
    every_trip_count: bool
    trip_counts: tuple[int, ...]
    """Those that were executed where not all are proved."""
    assumed: tuple[str, ...]
    compared_with_tiles: tuple[int, ...]
    """The trip counts at which threads and tiles computed the same numbers."""
    seconds: float
    reason: str
    """Why it is not decided, or not proved for every trip count."""

    @classmethod
    def from_data(cls, data: Mapping[str, Any] | None) -> ThreadsVerdict | None:
        """The verdict in what stands beside the code; None where nothing was checked."""
        if data is None:
            return None
        fields: dict[str, Any] = dict(data)
        for name in ("trip_counts", "assumed", "compared_with_tiles"):
            fields[name] = tuple(fields[name])
        return cls(**fields)

    def to_dict(self) -> dict[str, Any]:
        """The verdict as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        if self.verdict != "safe":
            return f"threads: not decided: {self.reason}"
        counts = "every trip count" if self.every_trip_count else f"trip counts {', '.join(map(str, self.trip_counts))}"
        return f"threads: safe for {counts}" + (f"; assumed: {'; '.join(self.assumed)}" if self.assumed else "")
