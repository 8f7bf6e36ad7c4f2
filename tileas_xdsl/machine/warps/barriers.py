"""What warps wait for together: mbarriers in shared memory, and the barriers of a block."""

from __future__ import annotations

from dataclasses import dataclass, field

from tileas_xdsl.machine.warps.warp import Warp


@dataclass(eq=False)
class Waiting:
    """A warp that waits for the end of a phase."""

    warp: Warp
    parity: int
    wake: float
    """Cycles from the end of the phase until it goes on."""


@dataclass(eq=False)
class Mbarrier:
    """An mbarrier (PTX ISA, "mbarrier")."""

    count: int
    left: int
    """Arrivals that the phase still needs."""
    bytes: int = 0
    phase: int = 0
    completed: float = 0.0
    waiting: list[Waiting] = field(default_factory=list[Waiting])

    def is_over(self, parity: int) -> bool:
        """Whether the phase of this parity is complete: then the present one has the other."""
        return (self.phase ^ parity) & 1 == 1

    def settle(self, time: float) -> list[Waiting]:
        """End the phase if nothing is missing; those that waited for it."""
        if self.left > 0 or self.bytes > 0:
            return []
        self.left, self.phase, self.completed = self.count, self.phase + 1, time
        over = [one for one in self.waiting if self.is_over(one.parity)]
        self.waiting = [one for one in self.waiting if not self.is_over(one.parity)]
        return over


@dataclass(eq=False)
class NamedBarrier:
    """One of the sixteen barriers of a block: who is there, and whether they wait."""

    arrived: list[tuple[Warp, bool]] = field(default_factory=list[tuple[Warp, bool]])
