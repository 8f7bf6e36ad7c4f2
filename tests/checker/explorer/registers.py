"""
The registers of a block, in one run.

What the PTX ISA says of `setmaxnreg`, and what is made of it here:

* A pool of available registers is kept for each block. At the launch every thread has what `.maxnreg` says, and the
  pool is empty. `.dec` to fewer than a warp has gives the difference to the pool, for each of its threads; `.inc` to
  more takes it, and blocks the warp until the pool has that many. An instruction that changes nothing does nothing.
* All warps of a warpgroup (four, from a multiple of four on) execute the same `setmaxnreg`, and synchronize explicitly
  before the next one. Anything else is undefined (`malformed`).
* Registers hand over no memory: neither instruction releases or acquires anything.

What decides what. Whoever gives goes first: that keeps nobody from anything, and lets others go on. So whatever can
become of a run becomes of one in which all give as soon as they can. Who takes meets all others who take, until the
pool has as much as all of them together still ask for. Warps of one agent whose code is the same are as good as each
other: of those that stand at one place the first goes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tests.checker.explorer import steps
from tests.checker.explorer.barriers import Past, Search, UndefinedError, meet
from tests.checker.explorer.clocks import Mind
from tests.checker.explorer.unroll import LANES, Frame, Unroller

MALFORMED = "malformed"
WARPGROUP = 4
INCREASE = "increase"


class Pool:
    """The pool of one block."""

    def __init__(self, number: int, program: steps.Program, size: int) -> None:
        self.warps = program.pools[number]
        self.free = 0
        self.asked_for = sum(step.amount for step in _demands(number, program))
        """What all that have not got theirs will ask for."""
        self.past, self.after = Past(), Mind.of_size(size)
        self.executed: dict[int, list[tuple[Any, int, int]]] = {warp: [] for warp in self.warps}
        """For each warp the instructions it has executed: which, and the thread and event that did."""

    @property
    def is_ample(self) -> bool:
        """Whether nobody has to wait any more."""
        return self.free >= self.asked_for

    def execute(self, step: steps.Execute, thread: int, mind: Mind) -> None:
        done = len(self.executed[step.warp])
        for other in warpgroup_of(step.warp, self.warps):
            if other != step.warp and done and not self._has_met(other, done - 1, mind):
                raise UndefinedError("a warpgroup moves registers again and has not met since", MALFORMED)
        self.executed[step.warp].append((step.source, thread, mind.tick(thread)))

    def _has_met(self, warp: int, number: int, mind: Mind) -> bool:
        """Whether who has `mind` knows that `warp` has executed its instruction `number`."""
        if number >= len(self.executed[warp]):
            return False
        _, thread, event = self.executed[warp][number]
        return event <= mind.known[thread]

    def is_executed_alike(self) -> bool:
        """Whether all warps of each warpgroup have executed the same instructions."""
        done = {warp: [source for source, *_ in executed] for warp, executed in self.executed.items()}
        return all(done[other] == done[warp] for warp in done for other in warpgroup_of(warp, self.warps))

    def give(self, amount: int) -> None:
        self.free += amount

    def take(self, search: Search, amount: int, thread: int, mind: Mind, moment: int) -> None:
        meet(search, self.past, thread, mind)
        mind.follow(self.after)
        self.take_at_once(amount)
        self.past.add(thread, mind.tick(thread), moment)
        self.after.follow(mind)

    def take_at_once(self, amount: int) -> None:
        self.free -= amount
        self.asked_for -= amount


def warpgroup_of(warp: int, warps: Iterable[int]) -> Iterator[int]:
    return (other for other in warps if other // WARPGROUP == warp // WARPGROUP)


def _demands(pool: int, program: steps.Program) -> Iterator[steps.Demand]:
    for thread in program.threads.values():
        for step in thread.steps:
            if isinstance(step, steps.Demand) and step.pool == pool:
                yield step


# Warps that are as good as each other ---------------------------------------------------------------------------------

ALIKE = (steps.Execute, steps.Give, steps.Demand, steps.Meet, steps.Leave, steps.Access, steps.Finish)


def twins(program: steps.Program) -> dict[int, tuple[object, ...]]:
    """For threads that may change places what they have in common."""
    found: dict[int, tuple[object, ...]] = {}
    for number, thread in program.threads.items():
        if all(isinstance(step, ALIKE) for step in thread.steps):
            found[number] = tuple(_looks(step) for step in thread.steps)
    return found


def _looks(step: steps.Step) -> tuple[object, ...]:
    match step:
        case steps.Execute(pool, warp, source):
            return "execute", pool, warp // WARPGROUP, source
        case steps.Give(pool, amount) | steps.Demand(pool, amount):
            return type(step), pool, amount
        case steps.Access(reads, writes):
            return "access", reads, writes
        case steps.Meet():
            return "meet", step.meeting, step.threads, step.expected
        case steps.Leave(meeting):
            return "leave", meeting
        case _:
            return (type(step),)


# The instruction ------------------------------------------------------------------------------------------------------


def _set_registers(unroller: Unroller, frame: Frame, op: Any) -> None:
    assert frame.lanes == LANES, "a whole warp moves registers"
    if len(frame.active) < frame.lanes:
        frame.emit(steps.Undefined("some threads of a warp move registers"), op)
        return
    if unroller.registers is None:
        raise KeyError("nvvm.maxnreg")
    pool = unroller.numbering.number("pools", frame.block[0])
    unroller.program.pools[pool] = tuple(range(frame.block[1] // LANES))
    assert frame.first_tid is not None
    frame.emit(steps.Execute(pool, frame.first_tid // LANES, op), op)
    held, wanted = unroller.held.get(frame.number, unroller.registers), op.reg_count.value.data
    is_increase = str(op.action.data) == INCREASE
    if (wanted > held) is is_increase and wanted != held:
        amount = abs(wanted - held) * LANES
        frame.emit(steps.Demand(pool, amount) if is_increase else steps.Give(pool, amount), op)
        unroller.held[frame.number] = wanted


MEANINGS: dict[str, Callable[[Unroller, Frame, Any], None]] = {"nvvm.setmaxregister": _set_registers}
