"""
Every interleaving of a small asynchronous program: the oracle against which the checker is held.

`explore(module)` visits every state that the program can reach, each once, by the plainest means: depth first, with
the set of states seen. It knows nothing of happens-before, of clocks or of what makes one execution speak for others,
and it shares nothing with the checker but the parser.

What it takes for wrong:

* *race*: in some reachable state two conflicting accesses (to one cell, one of them a write) are possible at once: the
  next steps of two threads; the next step of a thread and an asynchronous operation in flight; two operations in
  flight. An operation is in flight from its issue until it is complete, and may touch its cells at any moment between
  (`capture=completion`). A task is a thread that may begin when what it depends on has finished.
* *deadlock*: in some reachable state nothing can happen any more, and some thread has not finished.
* *undrained*: in some reachable state the main thread has finished, and an asynchronous operation has not, or a task
  that does something.

Meaning of the steps: tokens as in spec/mlir-surface.md 2.2, queues as in spec/async-queue-pipeline.md section 3, marks
as in seed 002, barriers as in spec/tileas-passes.md 16.7.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from xdsl.dialects.builtin import ModuleOp

from tests.checker.explorer import gpu, rings, steps
from tests.checker.explorer.unroll import MEANINGS, unroll

RACE, DEADLOCK, UNDRAINED = "race", "deadlock", "undrained"
MEANINGS.update(gpu.MEANINGS)
MEANINGS.update(rings.MEANINGS)
NOT_BEGUN = -1
MOST_STATES = 60_000


class TooLargeError(Exception):
    """The program has more states than one may visit."""


class Barrier(NamedTuple):
    """The state of spec/tileas-passes.md 16.7."""

    count: int = 0
    pending: int = 0
    bytes: int = 0
    phase: int = 0

    def settled(self) -> Barrier:
        """After the completion check."""
        if self.pending == 0 and self.bytes == 0:
            return self._replace(pending=self.count, phase=self.phase ^ 1)
        return self


class State(NamedTuple):
    """Where every thread stands, and all that they and the asynchronous operations have in common."""

    places: tuple[int, ...]
    """For each thread the number of its next step, or `NOT_BEGUN`."""
    in_flight: int
    """The operations that are issued and not complete, as a bit set."""
    queues: tuple[tuple[int, ...], ...]
    """For each queue its unfinished batches, oldest first."""
    groups: tuple[tuple[int, ...], ...]
    """For each group of tokens its members, in order."""
    barriers: tuple[Barrier, ...]
    counters: tuple[int, ...]


@dataclass
class Exploration:
    """What was seen on the way through all states."""

    verdict: set[str] = field(default_factory=set[str])
    """Of `RACE`, `DEADLOCK` and `UNDRAINED` those that were found."""
    overrun: bool = False
    """Some phase saw more arrivals than its barrier was made for, to which 16.7 gives no meaning."""
    overfull: bool = False
    """Some group got more members than its size, to which nobody gives a meaning."""
    unbalanced: bool = False
    """Some run ends with a phase that has its arrivals and not its bytes: nothing can complete it any more."""
    states: int = 0
    witnesses: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """For each kind found, a way there: one event a line."""


def verdict(module: ModuleOp, function: str = "main") -> set[str]:
    """The kinds of mistake that some interleaving of `function` makes: a subset of race, deadlock, undrained."""
    return explore(module, function).verdict


def explore(
    module: ModuleOp, function: str = "main", most_states: int = MOST_STATES, *, trips: int | None = None
) -> Exploration:
    """
    Visit every state of `function`, whose arguments that are numbers are `trips`.

    Raises `TooLargeError` when there are more than `most_states`, `KeyError` for ops unknown to the explorer.
    """
    return Explorer(unroll(module, function, trips)).explore(most_states)


class Explorer:
    """The program, and what is known of it beforehand."""

    def __init__(self, program: steps.Program) -> None:
        self.program = program
        self.threads = program.threads
        self.operations = program.operations
        self.ends = tuple(len(thread.steps) for thread in program.threads)
        self.idle = {n for n, thread in enumerate(program.threads) if thread.is_empty}
        """The tasks that do nothing: whether they have finished makes no difference to anybody who does not wait."""
        self.batches: dict[int, int] = {}
        """For each batch its operations, as a bit set."""
        self.loose: list[int] = []
        """The operations that complete by themselves."""
        for number, operation in enumerate(program.operations):
            if operation.batch is None:
                self.loose.append(number)
            else:
                self.batches[operation.batch] = self.batches.get(operation.batch, 0) | 1 << number

    def explore(self, most_states: int) -> Exploration:
        found = Exploration()
        first = self.first_state()
        came_from: dict[State, tuple[State, str] | None] = {first: None}
        stack = [first]
        while stack:
            state = stack.pop()
            events = list(self.events(state))
            for kind in self.judge(state, bool(events)):
                if kind not in found.verdict:
                    found.verdict.add(kind)
                    found.witnesses[kind] = _way(came_from, state)
            for event, following in events:
                if following not in came_from:
                    came_from[following] = (state, event)
                    stack.append(following)
            if len(came_from) > most_states:
                raise TooLargeError(f"more than {most_states} states")
            found.overrun |= any(barrier.pending < 0 for barrier in state.barriers)
            found.overfull |= any(len(g) > size for g, size in zip(state.groups, self.program.groups, strict=True))
            found.unbalanced |= not events and any(b.pending == 0 and b.bytes != 0 for b in state.barriers)
        found.states = len(came_from)
        return found

    def first_state(self) -> State:
        program = self.program
        return State(
            (0,) + (NOT_BEGUN,) * (len(self.threads) - 1),
            0,
            ((),) * program.queues,
            ((),) * len(program.groups),
            tuple(Barrier(n := program.arrivals.get(number, 0), n) for number in range(program.barriers)),
            tuple(program.counters),
        )

    # What is wrong with a state

    def judge(self, state: State, something_can_happen: bool) -> Iterator[str]:
        if self.has_race(state):
            yield RACE
        unfinished = [n for n, place in enumerate(state.places) if place not in (NOT_BEGUN, self.ends[n])]
        if unfinished and not something_can_happen:
            yield DEADLOCK
        busy = [n for n in unfinished if n not in self.idle]
        left_over = any(state.counters[counter] for counter in self.program.left_over)
        if 0 not in unfinished and (busy or state.in_flight or left_over):
            yield UNDRAINED

    def has_race(self, state: State) -> bool:
        """Whether two of the accesses that may happen now conflict."""
        touched = written = 0
        for reads, writes in self.possible_accesses(state):
            if (writes & touched) | (reads & written):
                return True
            touched |= reads | writes
            written |= writes
        return False

    def possible_accesses(self, state: State) -> Iterator[tuple[int, int]]:
        for number, place in enumerate(state.places):
            if not self.may_step(state, number):
                continue
            step = self.threads[number].steps[place]
            if isinstance(step, steps.Access):
                yield step.reads, step.writes
        for number, operation in enumerate(self.operations):
            if state.in_flight >> number & 1:
                yield operation.reads, operation.writes

    # What can happen in a state

    def events(self, state: State) -> Iterator[tuple[str, State]]:
        """Everything that can happen next, in words, and the state after it."""
        for number, thread in enumerate(self.threads):
            if self.may_step(state, number):
                place = state.places[number]
                step = thread.steps[place]
                if self.is_enabled(state, step):
                    moved = _replaced(state.places, number, place + 1)
                    yield f"{thread.name}: {thread.sources[place]}", self.after(state._replace(places=moved), step)
        yield from self.completions(state)

    def may_step(self, state: State, number: int) -> bool:
        """Whether the thread has begun, or may begin, and has not finished."""
        place = state.places[number]
        if place == 0:
            return self.have_finished(state, self.threads[number].gates)
        return 0 < place < self.ends[number]

    def have_finished(self, state: State, threads: tuple[int, ...]) -> bool:
        return all(state.places[thread] == self.ends[thread] for thread in threads)

    def is_enabled(self, state: State, step: steps.Step) -> bool:
        match step:
            case steps.Join(threads):
                return self.have_finished(state, threads)
            case steps.JoinGroup(group):
                members = state.groups[group]
                return len(members) >= self.program.groups[group] and self.have_finished(state, members)
            case steps.WaitQueue(queue, count):
                return len(state.queues[queue]) <= count
            case steps.WaitOperations(operations):
                return not state.in_flight & operations
            case steps.WaitPhase(barrier, parity):
                return state.barriers[barrier].phase != parity
            case steps.Take(counter):
                return state.counters[counter] > 0
            case _:
                return True

    def after(self, state: State, step: steps.Step) -> State:
        """`state` after an enabled step, but for the place of the thread."""
        match step:
            case steps.Issue(operation):
                return state._replace(in_flight=state.in_flight | 1 << operation)
            case steps.Fork(threads):
                places = tuple(0 if n in threads else place for n, place in enumerate(state.places))
                return state._replace(places=places)
            case steps.AddToGroup(group, thread):
                members = tuple(sorted((*state.groups[group], thread)))
                return state._replace(groups=_replaced(state.groups, group, members))
            case steps.Commit(queue, batch):
                return state._replace(queues=_replaced(state.queues, queue, (*state.queues[queue], batch)))
            case steps.Init(barrier, count):
                return state._replace(barriers=_replaced(state.barriers, barrier, Barrier(count, count)))
            case steps.Arrive(barrier, count, expected):
                old = state.barriers[barrier]
                new = old._replace(bytes=old.bytes + expected, pending=old.pending - count)
                if count:
                    new = new.settled()
                return state._replace(barriers=_replaced(state.barriers, barrier, new))
            case steps.Add(counter, amount):
                return state._replace(counters=_replaced(state.counters, counter, state.counters[counter] + amount))
            case steps.Take(counter):
                return state._replace(counters=_replaced(state.counters, counter, state.counters[counter] - 1))
            case _:
                return state

    def completions(self, state: State) -> Iterator[tuple[str, State]]:
        """The asynchronous operations that may become complete, and the batches: the oldest of each queue."""
        for number in self.loose:
            if state.in_flight >> number & 1:
                yield f"complete: {self.operations[number].source}", self.completed(state, number)
        for queue, batches in enumerate(state.queues):
            if batches:
                in_flight = state.in_flight & ~self.batches.get(batches[0], 0)
                queues = _replaced(state.queues, queue, batches[1:])
                yield f"complete: batch {batches[0]}", state._replace(in_flight=in_flight, queues=queues)

    def completed(self, state: State, number: int) -> State:
        operation = self.operations[number]
        state = state._replace(in_flight=state.in_flight & ~(1 << number))
        if operation.barrier is None:
            return state
        old = state.barriers[operation.barrier]
        new = old._replace(bytes=old.bytes - operation.size).settled()
        return state._replace(barriers=_replaced(state.barriers, operation.barrier, new))


def _replaced(values: tuple[Any, ...], index: int, value: Any) -> tuple[Any, ...]:
    return (*values[:index], value, *values[index + 1 :])


def _way(came_from: dict[State, tuple[State, str] | None], state: State) -> list[str]:
    """The events that lead to `state`."""
    events: list[str] = []
    while (origin := came_from[state]) is not None:
        state, event = origin
        events.append(event)
    return events[::-1]
