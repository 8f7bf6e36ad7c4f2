"""
Barriers in memory, and meetings of threads, in one run.

What the PTX ISA says of mbarrier objects ("Parallel Synchronization and Communication Instructions: mbarrier"), and
what is made of it here:

* An object has a pending count, the expected count of the next phase, a tx-count and a phase. The phase completes when
  the pending count and the tx-count are both zero; then the next begins with the expected count. Phase 0 has parity 0.
* `init` wants memory that holds no valid object; any other operation wants a valid one; anything but an operation on
  it is undefined, until `inval`. The object has 8 bytes. So each mistake of these is a violation (`phase`; `race` for
  an ordinary access), also if another order of the same steps would have made none: uses must come after `init`, and
  before `inval`, by happens-before. Each lane of a warp executes `init`: the second of them finds a valid object.
* An arrival takes its count off the pending count. More than are pending is a violation; a phase that is completed by
  an arrival with `.noComplete` too. `expect-tx` adds to the tx-count, and completes nothing; `complete-tx` takes off.
  `cp.async.mbarrier.arrive` without `.noinc` adds to the pending count, and its arrival behind the copies takes off.
* A test or a wait for parity p succeeds while the last completed phase has parity p; before phase 0 is complete that
  is parity 1. With the state that an arrival returned it succeeds when that phase is complete; of a phase that is older
  than the one before the current it may not be asked.
* Arrivals release, and waits that succeed acquire, unless relaxed. A wait acquires what was released in any phase up
  to the one that it sees: operations on one object are atomic, so a later phase goes on with the release of an earlier.

What decides what. For the search, an arrival meets each arrival of other phases: in another order it would have been
counted elsewhere, in the place of any of them. Within a phase arrivals and bytes may change places: only all of them
together complete it. That is not so for `expect-tx` without arrival and for what adds arrivals, which the phase may
not wait for, and for `.noComplete`: these meet everything.
A wait meets the completion that takes away what it waits for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from tests.checker.explorer import steps
from tests.checker.explorer.clocks import Mind

MOST_ARRIVALS = (1 << 20) - 1


WARP = 32
"""Threads of a warp."""


class UndefinedError(Exception):
    """Something without meaning was done, so the run ends here."""

    def __init__(self, text: str, kind: str = "phase", *, is_overrun: bool = False) -> None:
        super().__init__(text)
        self.kind = kind
        self.is_overrun = is_overrun


class Search(Protocol):
    """What hears that a step might have come before another one."""

    def reverse(self, moment: int, thread: int) -> None:
        """Try `thread` at an earlier moment of this run."""
        ...

    def try_others(self, moment: int) -> None:
        """Try everybody at this moment, as the run ends here."""
        ...


@dataclass
class Past:
    """The last steps of each thread on one object, and when they were taken."""

    steps: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """For each thread the number of its event and the moment of the run."""

    def add(self, thread: int, event: int, moment: int) -> None:
        self.steps[thread] = event, moment

    def last_unordered(self, mind: Mind) -> int | None:
        """The moment of the last step that need not have come before a step of who has this mind."""
        return max((moment for other, (event, moment) in self.steps.items() if event > mind.order[other]), default=None)


def meet(search: Search, past: Past, thread: int, mind: Mind) -> None:
    """A step of `thread` meets those of the past: the last of them may have come after it."""
    moment = past.last_unordered(mind)
    if moment is not None:
        search.reverse(moment, thread)


def meet_each(search: Search, past: Past, thread: int, mind: Mind) -> None:
    """
    A step of `thread` meets those of the past, which may change places among themselves: so any of them may come last.
    """
    for other, (event, moment) in past.steps.items():
        if event > mind.order[other]:
            search.reverse(moment, thread)


@dataclass
class Wait:
    """A wait that has succeeded, and what its thread came after."""

    thread: int
    event: int
    moment: int
    mind: Mind


class Barrier:
    """One barrier in memory, or one of a kind that nobody has to make."""

    def __init__(self, size: int, made_for: int | None = None) -> None:
        self.size = size
        self.is_live = False
        if made_for is not None:
            self.make(made_for)

    def make(self, count: int) -> None:
        if not 1 <= count <= MOST_ARRIVALS:
            raise UndefinedError(f"a barrier is made for {count} arrivals")
        self.is_live = True
        self.count = self.pending = count
        self.bytes = self.phase = 0
        self.released, self.open = Mind.of_size(self.size), Mind.of_size(self.size)
        self.before, self.now = Past(), Past()
        self.has_strict = False
        self.waits: list[Wait] = []
        self.phases: list[Past] = []
        """For each complete phase what completed it."""

    def check_live(self) -> None:
        if not self.is_live:
            raise UndefinedError("the barrier is used, and is none: not made yet, or invalidated")

    # Arrivals and bytes

    def change(self, search: Search, step: steps.Arrive, thread: int, mind: Mind, moment: int) -> None:
        """An arrival, bytes that are expected, or bytes that are there (negative)."""
        self.check_live()
        meet_each(search, self.before, thread, mind)
        is_strict = not step.completes or step.adds > 0 or (not step.count and step.expected > 0)
        if is_strict or self.has_strict:
            meet(search, self.now, thread, mind)
            mind.follow(self.open)
        self.has_strict |= is_strict
        mind.follow(self.released)
        self.now.add(thread, mind.tick(thread), moment)
        self.open.follow(mind)
        if step.releases:
            self.open.acquire(mind)
        self.count_down(search, step, thread)

    def count_down(self, search: Search, step: steps.Arrive, thread: int) -> None:
        if step.count > self.pending:
            text = f"{step.count} arrivals where {self.pending} are pending"
            raise UndefinedError(text, is_overrun=True)
        self.pending += step.adds - step.count
        self.bytes += step.expected
        self.count -= step.drops
        is_complete = self.pending == 0 and self.bytes == 0 and (step.count > 0 or step.expected < 0)
        if is_complete and not step.completes:
            raise UndefinedError("an arrival that must not complete the phase does")
        if is_complete:
            self.complete(search, thread)

    def complete(self, search: Search, thread: int) -> None:
        """The phase is over. Waits for the one before could have come later, if no arrival here comes after them."""
        for wait in self.waits:
            if self.open.order[wait.thread] < wait.event:
                search.reverse(wait.moment, thread)
            self.open.follow(wait.mind)
        self.released.join(self.open)
        self.before.steps.update(self.now.steps)
        self.phases.append(self.now)
        self.phase += 1
        self.pending = self.count
        self.open, self.now, self.waits, self.has_strict = Mind.of_size(self.size), Past(), [], False

    # Waits

    def is_over(self, step: steps.WaitPhase, state: int | None) -> bool:
        """Whether the phase that is waited for is over; a wait for what is no barrier goes on, to be reported."""
        if not self.is_live:
            return True
        if step.state is None:
            return self.phase % 2 != step.parity
        return state is None or self.phase > state

    def wait(
        self, search: Search, step: steps.WaitPhase, state: int | None, thread: int, mind: Mind, moment: int
    ) -> None:
        """A wait that succeeds."""
        self.check_live()
        if step.state is not None and (state is None or self.phase > state + 1):
            raise UndefinedError("a wait with the state of a phase that is neither the current nor the one before")
        self.look_back(search, step, thread, mind)
        mind.follow(self.released)
        if step.acquires:
            mind.acquire(self.released)
        self.waits.append(Wait(thread, mind.tick(thread), moment, mind.copy()))

    def look_back(self, search: Search, step: steps.WaitPhase, thread: int, mind: Mind) -> None:
        """Where an open phase of before would have done, too, it could have come before all had arrived at that one."""
        if not self.is_live or step.state is not None:
            return
        earlier = [phase for phase in range(self.phase) if phase % 2 != step.parity]
        if earlier:
            meet(search, self.phases[earlier[-1]], thread, mind)


class Meeting:
    """A barrier of threads: who comes waits until all have come (PTX ISA, "bar, barrier")."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.arrived, self.expected = 0, 0
        self.open = Mind.of_size(size)
        self.before, self.now = Past(), Past()
        self.complete: list[Mind] = []
        """For each meeting that is complete what its threads and those of earlier ones knew."""
        self.gone = 0
        """How many threads of the block have returned."""
        self.is_of_all = False
        """Whether those who gather now wait for all threads that have not."""

    def meet(self, search: Search, step: steps.Meet, thread: int, mind: Mind, told: Mind, moment: int) -> int:
        """Arrive; returns the number of the meeting. A relaxed arrival hands on no more than `told`."""
        meet_each(search, self.before, thread, mind)
        if self.complete:
            mind.follow(self.complete[-1])
        number = len(self.complete)
        self.now.add(thread, mind.tick(thread), moment)
        self.open.follow(mind)
        self.open.acquire(mind if step.releases else told)
        self.count(step)
        return number

    def count(self, step: steps.Meet) -> None:
        """Count the threads that arrive; the last of them completes the meeting."""
        if step.by_warps and (step.expected < 1 or step.expected % WARP):
            raise UndefinedError(f"{step.expected} threads meet, which are no whole warps")
        expected = step.expected - (self.gone if step.of_block is not None else 0)
        if self.arrived and self.expected != expected:
            raise UndefinedError(f"threads meet for {self.expected} and for {expected} threads")
        if not self.arrived:
            self.is_of_all = step.of_block is not None
        self.expected = expected
        self.arrived += step.threads
        if self.arrived > self.expected:
            raise UndefinedError(f"{self.arrived} threads come where {self.expected} meet")
        if self.arrived == self.expected:
            self.finish()

    def leave(self, thread: int, threads: int) -> None:
        """`thread`, which stands for so many threads of the block, has returned (PTX ISA: non-exited threads)."""
        self.gone += threads
        if self.arrived and self.is_of_all and thread not in self.now.steps:
            self.expected -= threads
            if self.arrived == self.expected:
                self.finish()

    def finish(self) -> None:
        if self.complete:
            self.open.join(self.complete[-1])
        self.complete.append(self.open)
        self.before.steps.update(self.now.steps)
        self.arrived, self.open, self.now = 0, Mind.of_size(self.size), Past()


class ClusterMeeting(Meeting):
    """The barrier of a cluster: who has ended is not waited for (PTX ISA, "barrier.cluster")."""

    def __init__(self, size: int, blocks: int) -> None:
        super().__init__(size)
        self.there = set(range(blocks))
        """The blocks that have not ended."""
        self.of_blocks: dict[int, int] = {}
        """How many threads of each block have arrived."""

    def count(self, step: steps.Meet) -> None:
        assert step.rank is not None
        here = self.of_blocks[step.rank] = self.of_blocks.get(step.rank, 0) + step.threads
        self.expected = step.expected
        if here > step.expected:
            raise UndefinedError(f"{here} threads of a block come where {step.expected} meet")
        self.finish_if_complete()

    def end(self, rank: int) -> None:
        """Block `rank` has ended."""
        self.there.discard(rank)
        self.finish_if_complete()

    def finish_if_complete(self) -> None:
        waited_for = self.there | self.of_blocks.keys()
        if self.of_blocks and all(self.of_blocks.get(rank, 0) == self.expected for rank in waited_for):
            self.of_blocks = {}
            self.finish()
