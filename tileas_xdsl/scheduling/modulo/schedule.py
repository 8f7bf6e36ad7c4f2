"""
The result of modulo scheduling: in which cycle of its iteration each op starts.

With initiation interval II, an op that starts in cycle `t` has the stage `t div II` and the row `t mod II`. The *order*
is the position of an op in the kernel: by rows, then so that what happens in one row keeps its dependences, then
program order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from heapq import heapify, heappop, heappush

from tileas_xdsl.scheduling.modulo.bounds import Bounds
from tileas_xdsl.scheduling.modulo.problem import ModuloProblem


class Strategy(Enum):
    """How a schedule came about; the names are those of TileAS."""

    NONE = "none"
    SERIAL = "serial"
    COST_BASED = "cost-based"
    FAST = "fast"
    DEFAULT = "default"


EXACT = "exact"
"""What options call the exact scheduler, which is ours and improves the schedule of another strategy."""


@dataclass(frozen=True)
class IntervalProof:
    """What the exact scheduler has shown of the initiation interval."""

    text: str
    lower_bound: int
    """No schedule has a smaller interval."""
    heuristic: ModuloSchedule
    """Where the search has started."""
    heuristic_fits: bool = True
    """Whether its tiles fit their registers, which it has no regard to."""

    def comparison(self, ii: int) -> str:
        """`heuristic 9, proven optimum 8`, for a schedule with the interval `ii`."""
        best = f"proven optimum {ii}" if self.lower_bound == ii else f"best known {ii}, at least {self.lower_bound}"
        why = "" if self.heuristic_fits else " with too many registers"
        return f"heuristic {self.heuristic.ii}{why}, {best}"


@dataclass(frozen=True)
class ModuloSchedule:
    """A schedule of `problem`. `arms` says of each op which way of seating it won."""

    problem: ModuloProblem
    ii: int
    starts: tuple[int, ...]
    strategy: Strategy
    bounds: Bounds
    arms: tuple[str, ...] = ()
    rounds: int = 1
    """Rounds of the refinement."""
    is_truncated: bool = False
    """Whether the refinement ran out of its budget."""
    budget: str = ""
    """Where the budget of memory limits the copies of the rings, and so the overlap: by how many bytes."""
    proof: IntervalProof | None = None
    """Where the exact scheduler was asked."""

    @property
    def strategy_name(self) -> str:
        """What found the schedule, as options call it."""
        return self.strategy.value if self.proof is None else EXACT

    @cached_property
    def start_of(self) -> dict[int, int]:
        return dict(enumerate(self.starts))

    def stage(self, op: int) -> int:
        return self.starts[op] // self.ii

    def row(self, op: int) -> int:
        return self.starts[op] % self.ii

    @property
    def peeled_stages(self) -> int:
        """The number of stages in which ops start: what the loop is expanded to."""
        return max((self.stage(op) for op in range(len(self.starts))), default=0) + 1

    @property
    def stage_count(self) -> int:
        """`ceil((last finish + 1) / II)`: it may exceed the stages in which ops start."""
        finish = max((start + op.latency for start, op in zip(self.starts, self.problem.ops, strict=True)), default=0)
        return -(-(finish + 1) // self.ii)

    @property
    def total_work(self) -> int:
        """The cycles of all ops one after the other."""
        return sum(op.latency for op in self.problem.ops)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """For each op its position in the kernel."""
        sequence = kernel_sequence(self.problem, self.starts, self.ii)
        position = {op: number for number, op in enumerate(sequence)}
        return tuple(position[op] for op in range(len(self.starts)))

    @cached_property
    def copies(self) -> tuple[int, ...]:
        """For each ring how many copies are live at once."""
        return tuple(ring.copies(self.start_of, self.ii) for ring in self.problem.rings)


def kernel_sequence(problem: ModuloProblem, starts: Sequence[int], ii: int) -> list[int]:
    """The ops in kernel order."""
    count = len(starts)
    later: list[list[int]] = [[] for _ in range(count)]
    missing = [0] * count
    for edge in problem.edges:
        meets = starts[edge.source] == starts[edge.sink] + ii * edge.distance
        if meets and edge.source != edge.sink:
            later[edge.source].append(edge.sink)
            missing[edge.sink] += 1
    ready = [(starts[op] % ii, op) for op in range(count) if missing[op] == 0]
    heapify(ready)
    sequence: list[int] = []
    while ready:
        _, op = heappop(ready)
        sequence.append(op)
        for sink in later[op]:
            missing[sink] -= 1
            if missing[sink] == 0:
                heappush(ready, (starts[sink] % ii, sink))
    return sequence
