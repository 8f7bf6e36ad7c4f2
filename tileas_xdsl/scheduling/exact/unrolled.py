"""
Some iterations of a schedule, one after the other: when each op of each starts, on which agent, with how many warps.

It shares nothing with the formulation for the solver but the records. `validate.py` says what is wrong in them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tileas_xdsl.scheduling.exact.problem import ExactProblem, OpSpec, RegisterValue, RingRead
from tileas_xdsl.scheduling.exact.schedule import Schedule, Transfer


@dataclass(frozen=True)
class Breach:
    """One thing that is wrong with a schedule."""

    kind: str
    """Such as `slot` or `ring`."""
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass(frozen=True)
class RowSpan:
    """What is held from one cycle until before another one, and how much of it."""

    start: int
    end: int
    amount: int
    who: str


class Unrolled:
    """So many iterations of a schedule that each constraint between any two of them is met."""

    def __init__(self, problem: ExactProblem, schedule: Schedule) -> None:
        self.problem, self.schedule = problem, schedule
        self.place = {op.name: number for number, op in enumerate(problem.ops)}
        transfers = [time for it in schedule.transfers for time in (it.write, *(read for _, read in it.reads))]
        times = [*schedule.starts, *schedule.issues, *transfers]
        reads = [read for it in problem.rings for read in it.readers] + [it for v in problem.values for it in v.uses]
        far = max([*(it.distance for it in problem.dependences), *(read.distance for read in reads), 0])
        long = max([*(use.rows for op in problem.ops for use in op.uses), *(read.hold for read in reads), 0])
        ahead = max([*schedule.copies, *(it.copies for it in schedule.transfers), 0])
        self.iterations = range((max(times) - min(times) + long) // schedule.ii + far + ahead + 3)

    def start(self, op: str, iteration: int) -> int:
        return self.schedule.starts[self.place[op]] + self.schedule.ii * iteration

    def issue(self, op: str, iteration: int) -> int:
        return self.schedule.issues[self.place[op]] + self.schedule.ii * iteration

    def agent(self, op: str) -> int:
        return self.schedule.agents[self.place[op]]

    def signal(self, kind: str, one: str, other: str) -> int:
        """Cycles of a signal between two ops, none on one agent."""
        if self.agent(one) == self.agent(other):
            return 0
        return next(it.cycles for it in self.problem.machine.handshakes if it.kind == kind)

    def spec(self, op: str) -> OpSpec:
        return self.problem.ops[self.place[op]]

    def value(self, name: str) -> RegisterValue:
        return next(it for it in self.problem.values if it.name == name)

    def cycles_of(self, transfer: Transfer) -> int:
        move = self.value(transfer.value).move
        return 0 if move is None else move.cycles

    def end_of(self, read: RingRead, iteration: int) -> int:
        """When the reader of what an iteration wrote is done with it."""
        return self.start(read.op, iteration + read.distance) + read.hold

    def warps(self) -> list[int]:
        most = [
            max(op.min_warps for op in self.problem.ops if self.agent(op.name) == agent)
            for agent in range(self.schedule.agent_count)
        ]
        return [1 if warps == 1 else (warps + 3) // 4 * 4 for warps in most]


def peak_of(spans: Iterable[RowSpan]) -> RowSpan:
    """The first cycle at which most is held, with the amount and who holds it."""
    held = [span for span in spans if span.start < span.end]
    events = sorted([(span.end, -span.amount) for span in held] + [(span.start, span.amount) for span in held])
    now, best, when = 0, 0, 0
    for time, change in events:
        now += change
        if now > best:
            best, when = now, time
    who = sorted({span.who for span in held if span.start <= when < span.end})
    return RowSpan(when, when + 1, best, ", ".join(who))


def register_shares(problem: ExactProblem, warps: list[int]) -> list[int] | None:
    """Words for the values of each agent: the producer has its own share, the others divide the rest."""
    file = problem.machine.registers
    assert file is not None
    produces = problem.agents > 1 and len(warps) > 1 and any(op.varying_latency for op in problem.ops)
    rest, others = file.words, warps
    if produces:
        rest, others = rest - warps[0] * 32 * file.producer, warps[1:]
    each = min(256, rest // (32 * sum(others)) // 8 * 8)
    if rest < 0 or each < 24:
        return None
    compute = max(0, min(file.budget, each - file.reserve))
    return ([max(0, file.producer - file.reserve)] if produces else []) + [compute] * len(others)
