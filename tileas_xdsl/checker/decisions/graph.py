"""
The graph of states and decisions, and how it is found.

A *state* is the machine at a question: the shape of its snapshot, who asks, and at which loop. Its numbers differ from
visit to visit, by vectors of a lattice. Each of the two decisions leads to another state, or to the end. What has to be
found out is
- where each decision of each state leads,
- that it does so from every vector of the lattice: the visits of a decision must generate the lattice of its state.

Executions are steered to what is not known yet, along the shortest way. A way that has led to a new vector is kept, so
that each decision can be taken from there. An execution that has come to what is known, and has nowhere else to go,
ends there: the steps that follow were executed before, in another one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation

from tileas_xdsl.checker.decisions.lattice import Lattice, Vector
from tileas_xdsl.checker.decisions.steered_run import KeepTwin, LoopHead, PutAside, SteeredRun
from tileas_xdsl.checker.proof.outcomes import NoProofError
from tileas_xdsl.checker.proof.recorded_run import Encounter
from tileas_xdsl.checker.snapshot.snapshot import MergedError, Snapshot
from tileas_xdsl.diagnostics import sentence
from tileas_xdsl.machine.core.happens_before import Access

LONGEST_WAY = 4_000
"""Questions after which an execution that finds nothing new is led to its end, at the latest."""
PATIENCE = 2
"""Questions without anything new after which an execution is led to its end."""
FAR_ENOUGH = 8
"""Questions after which an execution that scouts is led to its end."""
MANY_ASIDE = 16
"""Executions that are kept to be continued. Each takes as much memory as a short execution does."""

Word = tuple[bool, ...]
"""The decisions of an execution, in order."""
Key = tuple[tuple[object, ...], int, Operation]


class TooManyStatesError(NoProofError):
    """More states are found than the search may have."""

    def __init__(self, reason: str, *, told_apart: bool = False) -> None:
        self.told_apart = told_apart
        """Whether there is no proof with fewer states, which tell less apart."""
        super().__init__(reason)


class WentWrongError(Exception):
    """A steered execution went wrong: a suspicion, since the counts that it took may be those of no call."""


@dataclass(eq=False)
class Visit:
    """One execution from a question up to the next one, or to the end."""

    begin: Snapshot
    end: Snapshot | None
    entries: Sequence[object]
    encounters: dict[Access, Encounter] | None
    """None where they were not noted."""


@dataclass(eq=False)
class Branching:
    """What follows from a state when its loop goes on, or does not."""

    target: State | None = None
    """None for the end of the execution, and as long as it is not known."""
    is_known: bool = False
    base: Vector | None = None
    """The numbers of its first visit; None if there was none yet."""
    lattice: Lattice = field(default_factory=Lattice)
    """The differences between the numbers of its visits."""
    visits: list[Visit] = field(default_factory=list[Visit])
    """The first one, and each one that has added a direction."""

    def would_learn_from(self, numbers: Vector) -> bool:
        """Whether a visit with `numbers` shows something new."""
        return self.base is None or _difference(numbers, self.base) not in self.lattice

    def learn_from(self, numbers: Vector) -> bool:
        """Note a visit with `numbers`. Returns whether it shows something new."""
        if self.base is None:
            self.base = numbers
            return True
        return self.lattice.add(_difference(numbers, self.base))


@dataclass(eq=False)
class State:
    """The machine at a question."""

    number: int
    op: Operation
    """The loop that the question is about."""
    numbers: Vector
    """Of its first visit."""
    ways: list[tuple[Word, Vector]]
    """Ways to it, with the numbers there, shortest first: some of which the differences generate the lattice."""
    lattice: Lattice = field(default_factory=Lattice)
    """By what the numbers of its visits differ."""
    decisions: dict[bool, Branching] = field(default_factory=lambda: {True: Branching(), False: Branching()})

    def is_reached_by(self, word: Word) -> bool:
        """Whether `word` is one of the ways to it that are kept."""
        return any(way is word for way, _ in self.ways)

    def targets(self) -> Iterator[tuple[bool, State]]:
        """Where its decisions lead, as far as that is known."""
        for goes_on, decision in self.decisions.items():
            if decision.target is not None:
                yield goes_on, decision.target

    def is_open(self, goes_on: bool) -> bool:
        """Whether more has to be found out about a decision."""
        decision = self.decisions[goes_on]
        return decision.base is None or decision.lattice.volume != self.lattice.volume


class Graph:
    """The states found so far; more than `most_states` are too many."""

    def __init__(self, most_states: int, *, puts_aside: bool = False) -> None:
        self.most_states = most_states
        self.puts_aside = puts_aside
        """Whether executions are put aside, the last of which goes on first; else all ways begin at the start."""
        self.states: dict[Key, State] = {}
        self.aside: dict[Word, tuple[PutAside, State, Vector]] = {}
        """Way to a question -> an execution that can be continued there, the state, and the numbers there."""

    def state_at(self, question: LoopHead, word: Word) -> tuple[State, Vector]:
        """The state at `question`, reached by `word`, and the numbers there. Raises `NoProofError`."""
        snapshot = question.snapshot
        if question.went_wrong:
            raise WentWrongError
        if snapshot.refusal is not None:
            raise NoProofError(
                sentence(question.op, f"cannot be compared from iteration to iteration: {snapshot.refusal}")
            )
        if any(isinstance(number, float) for number in snapshot.numbers):
            raise NoProofError(sentence(question.op, "finds a float in the state, which is not followed"))
        numbers = tuple(int(number) for number in snapshot.numbers)
        key = (snapshot.shape, question.agent, question.op)
        state = self.states.get(key)
        if state is None:
            if len(self.states) == self.most_states:
                raise TooManyStatesError(f"more than {self.most_states} states of open loops are found")
            state = self.states[key] = State(len(self.states), question.op, numbers, [(word, numbers)])
        elif state.lattice.add(_difference(numbers, state.numbers)) or len(word) < len(state.ways[0][0]):
            state.ways.append((word, numbers))
            state.ways.sort(key=_length)
        return state, numbers

    @property
    def has_many_aside(self) -> bool:
        """Whether executions should come to their ends, so that those put aside can go on."""
        return len(self.aside) >= MANY_ASIDE

    def put_aside(self, word: Word, state: State, numbers: Vector, keep_twin: KeepTwin) -> None:
        """Keep the execution that has come along `word` to `state`, unless too many are kept already."""
        if self.puts_aside and len(self.aside) < 2 * MANY_ASIDE and (twin := keep_twin()) is not None:
            self.aside[word] = twin, state, numbers

    def taken_up(self, word: Word) -> PutAside | None:
        """The execution that was put aside at the end of `word`, if there is one. It is not kept any more."""
        aside = self.aside.pop(word, None)
        return None if aside is None else aside[0]

    def next_way(self) -> Word | None:
        """
        A way on which a decision shows something new; None if all is known. First those of executions that were put
        aside, the last one first: so few are kept at a time.
        """
        for word in reversed(list(self.aside)):
            _, state, numbers = self.aside[word]
            for goes_on in (True, False):
                if state.is_open(goes_on) and state.decisions[goes_on].would_learn_from(numbers):
                    return (*word, goes_on)
            del self.aside[word]
        for state, goes_on in self.open_decisions():
            for word, numbers in state.ways:
                if state.decisions[goes_on].would_learn_from(numbers):
                    return (*word, goes_on)
            raise AssertionError("the ways to a state generate its lattice")
        return None

    def open_decisions(self) -> Iterator[tuple[State, bool]]:
        """The decisions of which more has to be found out."""
        for state in list(self.states.values()):
            for goes_on in (True, False):
                if state.is_open(goes_on):
                    yield state, goes_on

    @property
    def size(self) -> tuple[int, int]:
        """How many states there are, and directions in the widest lattice."""
        return len(self.states), max((state.lattice.rank for state in self.states.values()), default=0)


@dataclass
class Explorer:
    """
    The guide of one execution. It follows `way`, goes on to what is not known yet, and leaves all loops once it has
    learnt nothing for a while. On a way that is known it does not look at the state, and neither when it leaves. (That
    each decision leads to a lattice is known from visits which generate the one that it is taken from.)
    """

    graph: Graph
    way: Word = ()
    scouts: bool = False
    """Whether it only finds out what executions touch, so that what is found of states will not be kept."""
    word: list[bool] = field(default_factory=list[bool])
    asked: dict[int, tuple[State, bool, LoopHead]] = field(default_factory=dict[int, "tuple[State, bool, LoopHead]"])
    """Number of a question, counted from 0 -> the state, the decision, and the question."""
    fresh: set[int] = field(default_factory=set[int])
    """The numbers of the questions whose decisions showed something new."""
    in_vain: int = 0
    """For how many questions nothing new was learnt."""
    ahead: deque[bool] = field(default_factory=deque[bool])
    """The decisions on a known way to something that is not known."""
    destination: State | None = None
    """Where that way leads."""
    first: set[int] = field(default_factory=set[int])
    """The numbers of the questions whose decisions were taken for the first time."""
    is_merged: bool = False
    """Whether it has ended at a question where nothing new was left to be learnt."""

    def decided(self) -> bool | None:
        """What is decided without a look at the state; None if that is needed."""
        number = len(self.word)
        if number >= LONGEST_WAY:
            raise NoProofError("the executions get too long")
        if number < len(self.way) - 1:
            self.word.append(self.way[number])
            return self.way[number]
        if self.ahead:
            self.word.append(self.ahead.popleft())
            return self.word[-1]
        if self.in_vain > PATIENCE and number - 1 not in self.fresh:
            self.word.append(False)
            return False
        return None

    def goes_on(self, question: LoopHead, keep_twin: KeepTwin) -> bool:
        number, word = len(self.word), tuple(self.word)
        state, numbers = self.graph.state_at(question, word)
        self._note_target(number - 1, state)
        if self.destination is not None and state is not self.destination:
            raise _not_the_same(question.op, state)
        self._stay()
        goes_on = self.way[number] if number < len(self.way) else self._next(state, numbers)
        self.asked[number] = (state, goes_on, question)
        if state.decisions[goes_on].base is None:
            self.first.add(number)
        if state.decisions[goes_on].learn_from(numbers):
            self.fresh.add(number)
            self.in_vain = 0
        elif number >= len(self.way):
            self.in_vain += 1
            if self.in_vain > PATIENCE:
                self._stay()
                self._end_here()
        self.word.append(goes_on)
        if not self.scouts and state.is_reached_by(word) and state.decisions[not goes_on].would_learn_from(numbers):
            self.graph.put_aside(word, state, numbers, keep_twin)
        return goes_on

    @property
    def compares_places(self) -> bool:
        """Whether the last decision was taken for the first time: the places of other visits are compared with its."""
        return len(self.word) - 1 in self.first

    def _next(self, state: State, numbers: Vector) -> bool:
        """The first decision on the shortest way to what is not known; the others are noted."""
        if self.scouts and len(self.word) >= FAR_ENOUGH:
            return self._leave()
        for goes_on in (False, True) if self.graph.has_many_aside else (True, False):
            if state.is_open(goes_on) and state.decisions[goes_on].would_learn_from(numbers):
                return goes_on
        if self.graph.aside:
            # There is a shorter way than through what is known.
            return self._leave()
        before: dict[State, tuple[State, bool]] = {}
        waiting = deque([state])
        while waiting:
            there = waiting.popleft()
            for goes_on, target in there.targets():
                if target is state or target in before:
                    continue
                before[target] = there, goes_on
                if target.is_open(True) or target.is_open(False):
                    return self._set_out(state, target, before)
                waiting.append(target)
        return self._leave()

    def _leave(self) -> bool:
        self.in_vain = PATIENCE + 1
        return False

    def _end_here(self) -> None:
        """
        End the execution, by `MergedError`: whichever decision is taken, its steps are known. Not where it scouts, nor
        where all executions begin at the start: those look for what goes wrong.
        """
        if self.graph.puts_aside and not self.scouts:
            self.is_merged = True
            raise MergedError

    def _set_out(self, start: State, end: State, before: Mapping[State, tuple[State, bool]]) -> bool:
        """Begin to go from `start` to `end`; `before` has the last decision on the way to each state."""
        self.destination = there = end
        while there is not start:
            there, goes_on = before[there]
            self.ahead.appendleft(goes_on)
        return self.ahead.popleft()

    def _stay(self) -> None:
        """Do not go anywhere any more."""
        self.destination = None
        self.ahead.clear()

    def _note_target(self, number: int, state: State | None) -> None:
        """The decision of question `number` has led to `state`, or to the end."""
        if number not in self.asked:
            return
        before, goes_on, question = self.asked[number]
        decision = before.decisions[goes_on]
        if decision.is_known and decision.target is not state:
            raise _not_the_same(question.op, before)
        decision.target, decision.is_known = state, True

    def take_visits(self, run: SteeredRun) -> None:
        """The execution has come to its end, and is right: keep the visits that have shown something new."""
        if self.destination is not None:
            raise _not_the_same(self.destination.op, self.destination)
        if not self.is_merged:
            self._note_target(len(self.word) - 1, None)
        for number in sorted(self.fresh):
            state, goes_on, question = self.asked[number]
            following = self.asked[number + 1][2] if number + 1 < len(self.word) or self.is_merged else None
            visit = _visit(run, question, following, notes_encounters=number in self.first)
            state.decisions[goes_on].visits.append(visit)


def _not_the_same(op: Operation, state: State) -> NoProofError:
    """Numbers have decided that move on, and that no state tells apart; where none move, a state was drawn wrongly."""
    if state.lattice.rank:
        return NoProofError(sentence(op, "is followed by one thing or another, as a number says that moves on"))
    return NoProofError(sentence(op, "does not always come to the same state from one like this"))


def _visit(run: SteeredRun, question: LoopHead, following: LoopHead | None, *, notes_encounters: bool) -> Visit:
    end = following.place if following is not None else len(run.entries)
    entries = run.entries[question.place : end]
    accesses = (entry for entry in entries if isinstance(entry, Access))
    noted = {access: run.encounters[access] for access in accesses if access in run.encounters}
    snapshot = following.snapshot if following is not None else None
    return Visit(question.snapshot, snapshot, entries, noted if notes_encounters else None)


def _length(way: tuple[Word, Vector]) -> int:
    return len(way[0])


def _difference(numbers: Vector, base: Vector) -> Vector:
    return tuple(number - other for number, other in zip(numbers, base, strict=True))
