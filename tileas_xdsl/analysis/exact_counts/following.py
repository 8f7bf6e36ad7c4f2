"""
Follows a function in each of its cases, turn by turn where turns differ, and notes what is counted at each op.

The state is a number of some kind, or a tuple of numbers. Where it may be one of several, all are kept. A loop is run
turn by turn until a turn begins as the one before it did, and any later turn would do the same: the rest of the turns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from xdsl.dialects import scf
from xdsl.ir import Operation, Region

from tileas_xdsl.analysis.exact_counts.cases import CallCase, OpenError, Question, TurnsAtHand, is_fixed
from tileas_xdsl.analysis.exact_counts.linear import LinearForm
from tileas_xdsl.analysis.induction import static_trip_count
from tileas_xdsl.analysis.value_range import Range

State = TypeVar("State", bound=Hashable)

MOST_CASES = 128
"""A function that asks for more cases is followed with its questions open."""

MOST_TURNS = 16
"""Turns of a loop that are told from each other; behind them, what is counted in any turn is kept."""

MOST_CONSTANT_TURNS = 1_000
"""The same, of a loop that is known to make no more turns than this."""

MOST_STEPS = 5_000
"""Ops that are come to, in all cases together, before what is left is followed without cases and turns."""

MOST_ROUNDS = 8
"""Rounds in which a loop may come to new states before they are taken to be any."""


class CountClient(ABC, Generic[State]):
    """What ops do to the state."""

    @abstractmethod
    def touches(self, op: Operation) -> bool:
        """Whether `enter` or `leave` may change a state at `op`, or the state there is asked for."""

    @property
    @abstractmethod
    def anything(self) -> State:
        """The state that stands for any. What ops do to it must say so."""

    def enter(self, op: Operation, state: State) -> State:
        """The state after control came to `op`, before any of its regions runs."""
        return state

    def leave(self, op: Operation, state: State) -> State:
        """The state after `op`, given that after its regions."""
        return state


@dataclass(frozen=True, eq=False)
class Visit(Generic[State]):
    """Control comes to an op: in which calls, in which turns, and what is counted by then."""

    case: CallCase
    turns: TurnsAtHand
    states: frozenset[State]


@dataclass
class Counts(Generic[State]):
    """What is counted in one function."""

    visits: dict[Operation, list[Visit[State]]] = field(default_factory=dict[Operation, "list[Visit[State]]"])
    """At each op that the client touches, in program order of the first visits; what no call reaches is absent."""
    ends: list[frozenset[State]] = field(default_factory=list["frozenset[State]"])
    """At the end of the function, in each case."""

    def states(self, op: Operation) -> frozenset[State]:
        """All that may be counted when control comes to `op`."""
        return frozenset(state for visit in self.visits.get(op, ()) for state in visit.states)


def count(body: Operation, client: CountClient[State], initial: State) -> Counts[State]:
    """
    Follow the regions of `body`, each entered with `initial`: in as many cases as its guards and loop bounds tell
    apart. Linear in the ops, times the cases, times the turns until a loop is at rest.
    """
    counts = Counts[State]()
    holding = _holding(body, client)
    waiting = [CallCase()]
    followed = steps = 0
    while waiting:
        case = waiting.pop()
        asks = followed + len(waiting) < MOST_CASES and steps < MOST_STEPS
        run = _Run(client, case, holding, steps)
        try:
            for region in body.regions:
                end = run.region(region, frozenset({initial}), TurnsAtHand(asks=asks))
                counts.ends.append(end)
        except OpenError as found:
            question = found.question
            parts = [case.assume(question.form, answer) for answer in question.answers]
            waiting += [part for part in reversed(parts) if part is not None]
            continue
        finally:
            steps = run.steps
        followed += 1
        for op, visit in run.visits:
            counts.visits.setdefault(op, []).append(visit)
    return counts


def _holding(body: Operation, client: CountClient[State]) -> dict[Region, list[Operation]]:
    """For each region the ops that the client touches, and those around such ops, in order: others are passed by."""
    kept: set[Operation] = set()
    for op in body.walk():
        node: Operation | None = op if client.touches(op) else None
        while node is not None and node is not body and node not in kept:
            kept.add(node)
            node = node.parent_op()
    regions = [region for op in (body, *kept) for region in op.regions]
    return {region: [op for block in region.blocks for op in block.ops if op in kept] for region in regions}


class _Run(Generic[State]):
    """One case, from the beginning."""

    def __init__(
        self, client: CountClient[State], case: CallCase, holding: Mapping[Region, Sequence[Operation]], steps: int
    ) -> None:
        self.steps = steps
        self.visits: list[tuple[Operation, Visit[State]]] = []
        self._client = client
        self._case = case
        self._holding = holding

    def region(self, region: Region, states: frozenset[State], turns: TurnsAtHand) -> frozenset[State]:
        for op in self._holding.get(region, ()):
            states = self._op(op, states, turns)
        return states

    def _op(self, op: Operation, states: frozenset[State], turns: TurnsAtHand) -> frozenset[State]:
        client = self._client
        self.steps += 1
        if not client.touches(op):
            return self._regions(op, states, turns)
        self.visits.append((op, Visit(self._case, turns, states)))
        inside = self._regions(op, frozenset(client.enter(op, state) for state in states), turns)
        return frozenset(client.leave(op, state) for state in inside)

    def _regions(self, op: Operation, states: frozenset[State], turns: TurnsAtHand) -> frozenset[State]:
        match op:
            case scf.ForOp():
                return self._for(op, states, turns)
            case scf.WhileOp():
                return self._while(op, states, turns)
            case scf.IfOp():
                return self._if(op, states, turns)
            case scf.IndexSwitchOp():
                ends = [self.region(region, states, turns) for region in op.regions]
                return frozenset(state for end in ends for state in end)
            case _:
                for region in op.regions:
                    states = self.region(region, states, turns)
                return states

    def _if(self, op: scf.IfOp, states: frozenset[State], turns: TurnsAtHand) -> frozenset[State]:
        taken = self._answer(self._case.decide(op.cond, turns), turns)
        if taken is not None:
            return self.region(op.true_region if taken else op.false_region, states, turns)
        return self.region(op.true_region, states, turns) | self.region(op.false_region, states, turns)

    def _answer(self, found: bool | Question, turns: TurnsAtHand) -> bool | None:
        """The answer, None where it may be either. A question about the call as a whole makes cases of it."""
        if not isinstance(found, Question):
            return found
        if turns.asks and is_fixed(found.form):
            raise OpenError(found)
        return None

    # Loops ------------------------------------------------------------------------------------------------------------

    def _for(self, loop: scf.ForOp, states: frozenset[State], turns: TurnsAtHand) -> frozenset[State]:
        lower, upper, step = (self._case.linear(bound, turns) for bound in (loop.lb, loop.ub, loop.step))
        self._case = self._case.assume(step, Range(low=1)) or self._case
        left: frozenset[State] = frozenset()
        induction = loop.body.block.args[0]
        for turn in range(_turns_told(loop) if self.steps < MOST_STEPS else 0):
            begins = lower + step.times(turn)
            runs = self._case.answer(upper - begins, (Range(low=1),))
            if runs is False:
                return left | states
            if self._is_at_rest(loop, states, begins, turns):
                return left | states
            if self._answer(runs, turns) is None:
                left |= states
            states = self.region(loop.body, states, turns.of(induction, begins))
        return left | self._any_number(loop.body, states, turns.of(induction, LinearForm.of(object())))

    def _is_at_rest(self, loop: scf.ForOp, states: frozenset[State], begins: LinearForm, turns: TurnsAtHand) -> bool:
        """Whether this turn and each later one ends as it begins; if not, its visits are taken back."""
        case, noted = self._case, len(self.visits)
        some = LinearForm.of(object())
        later = case.assume(some - begins, Range(low=0))
        assert later is not None
        self._case = later
        ends = self.region(loop.body, states, turns.of(loop.body.block.args[0], some))
        self._case = case
        if ends == states:
            return True
        del self.visits[noted:]
        return False

    def _while(self, loop: scf.WhileOp, states: frozenset[State], turns: TurnsAtHand) -> frozenset[State]:
        return self._any_number_of(loop.regions, states, turns)

    def _any_number(self, body: Region, states: frozenset[State], turns: TurnsAtHand) -> frozenset[State]:
        return self._any_number_of([body], states, turns)

    def _any_number_of(
        self, regions: Iterable[Region], states: frozenset[State], turns: TurnsAtHand
    ) -> frozenset[State]:
        """All states in which a turn may begin, or the first region may end."""
        regions, rounds = list(regions), 0
        while True:
            noted = len(self.visits)
            tested = ends = self.region(regions[0], states, turns)
            for region in regions[1:]:
                ends = self.region(region, ends, turns)
            if ends <= states or rounds == MOST_ROUNDS:
                return tested if len(regions) > 1 else states
            del self.visits[noted:]
            rounds = rounds + 1 if self.steps < MOST_STEPS else MOST_ROUNDS
            states = states | ends if rounds < MOST_ROUNDS else frozenset({self._client.anything})


def _turns_told(loop: scf.ForOp) -> int:
    trips = static_trip_count(loop)
    return MOST_TURNS if trips is None or trips > MOST_CONSTANT_TURNS else trips + 1
