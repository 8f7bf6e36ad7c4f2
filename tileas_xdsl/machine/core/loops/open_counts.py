"""
Loops of which it is not decided yet how often they turn.

    for %t = 0 to %n              %n is open: at each head the observer decides, one more turn or none
      for %j = 0 to %m            so is %m, anew in each turn of the outer loop

A *bound* is a number that is decided bit by bit: each decision narrows the interval in which it lies. Two agents have
one bound in common where it is the same number whatever that is: the same argument or constant, or the number of the
turn of a loop whose bound they have in common. What one has found out of it the other one keeps to. In each turn of
the loops around it a bound is another one, though an argument stays the same: that only adds executions.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar

from xdsl.ir import Operation

from tileas_xdsl.machine.core.happens_before import Who
from tileas_xdsl.machine.core.state import Canvas, OwnPart, OwnPartT, SharedPart
from tileas_xdsl.machine.core.synchronization import EndOfAgents

Place = tuple[tuple["OpenBound", int], ...]
"""In which turns of loops: for each open loop, from the outside in, its bound and its induction variable."""


@dataclass(frozen=True)
class OpenLoop:
    """How the upper bound of a loop comes about: it is `term` + `offset`."""

    term: Hashable | None
    """
    An argument or a constant; `INDUCTION` of the open loop around it; None for what no other loop shares. None of these
    is negative.
    """
    offset: int = 0
    depth: int = 0
    """The number of open loops around it."""
    modulus: int = 1
    """A loop with a constant bound ends only where its induction variable is what it is at the end, modulo this."""


INDUCTION = "induction variable"
"""The term of a loop that turns as often as the induction variable of the open loop around it says."""


@dataclass(frozen=True)
class OpenComparison:
    """
    How an op compares `term` with a number x, its operand `other`: whether it is less than x + `added`, or equal to
    that; or, if `negated`, whether it is not.
    """

    term: Hashable
    other: int
    added: int
    equals: bool
    negated: bool
    constant: int | None
    """x, if it is a constant."""
    depth: int = 0
    """The number of open loops around it."""

    @property
    def settled_from(self) -> int:
        """From what bound on the answer is no, if x is a constant."""
        return 0 if self.constant is None else self.constant + self.added + self.equals


class Known(NamedTuple):
    """What is known of a bound before anything is decided about it."""

    low: int = 0
    high: int | None = None


NOTHING_KNOWN = Known()


@dataclass(eq=False)
class OpenBound:
    """
    A number that bounds loops, of which it is known that it is at least `low`, and less or equal to `high`.
    """

    term: Hashable
    place: Place
    """Where the loops stand that it bounds: in which turn of which loops."""
    low: int
    high: int | None = None

    def forget_beyond(self, most: int) -> None:
        """Forget by how much it is more than `most`. That only adds executions."""
        self.low = min(self.low, most)
        if self.high is not None and self.high >= most:
            self.high = None


class Looper(Who, Protocol):
    """An agent, as its loops know it."""

    @property
    def parent(self) -> Looper | None: ...

    def part(self, kind: type[OwnPartT]) -> OwnPartT: ...


LooperT = TypeVar("LooperT", bound=Looper)
AgentT = TypeVar("AgentT", contravariant=True)


@dataclass(eq=False)
class OpenTurns:
    """One run of a loop by one agent, from `start` by `step` as long as that is less than `bound` + `offset`."""

    start: int
    step: int
    bound: OpenBound
    offset: int
    modulus: int = 1
    number: int = 0
    """The turn at whose head the agent is, or which it runs."""

    def __getitem__(self, number: int) -> int:
        return self.start + number * self.step

    @property
    def induction(self) -> int:
        return self[self.number]

    @property
    def position(self) -> int:
        """The induction variable, as it compares with the bound itself."""
        return self.induction - self.offset

    @property
    def lead(self) -> int:
        """How far it is ahead of what is decided: negative, except at a head that is still open."""
        return self.position - self.bound.low

    def come_to(self, number: int) -> None:
        self.number = number

    def goes_on(self) -> bool | None:
        """Whether there is a turn from here on; None if that is open."""
        if self.position < self.bound.low:
            return True
        high = self.bound.high
        return False if high is not None and self.position >= high else None

    def cannot_end(self) -> bool:
        """Whether the loop has a constant bound that it does not reach here, as residues say."""
        bound, first = self.bound.term, self.start - self.offset
        if self.modulus == 1 or not isinstance(bound, int):
            return False
        turns = max(0, -((first - bound) // self.step))
        return (self.position - first - turns * self.step) % self.modulus != 0

    def decide(self, goes_on: bool) -> None:
        if goes_on:
            self.bound.low = self.position + 1
        else:
            self.bound.high = self.position

    def leave(self, agent: Looper) -> None:
        turns = agent.part(Progress).turns
        assert turns[-1] is self
        turns.pop()


class Progress(OwnPart):
    """The open loops that an agent is in, from the outside in."""

    def __init__(self) -> None:
        self.turns: list[OpenTurns] = []

    def draw(self, canvas: Canvas, agent: Who) -> None:
        canvas.literal(len(self.turns))
        for turns in self.turns:
            canvas.thing(turns.bound)
            canvas.literal((turns.lead, turns.offset, turns.step))


class Foresight(Protocol[AgentT]):
    """What agents may still do with a bound."""

    def may_begin(self, agent: AgentT, bound: OpenBound) -> bool:
        """Whether `agent` may still begin a loop with `bound`."""
        ...

    def may_compare(self, agent: AgentT, bound: OpenBound) -> bool:
        """Whether `agent` may still compare `bound` with a number."""
        ...


@dataclass
class OpenCounts(SharedPart):
    """All bounds that are open, or that somebody may still ask for."""

    loops: Mapping[Operation, OpenLoop] = field(default_factory=dict[Operation, OpenLoop])
    known: Mapping[Hashable, Known] = field(default_factory=dict[Hashable, Known])
    """
    Term -> what is known of it from the beginning. A loop that turns as often as the induction variable around it says
    turns just so often where that is less than the `low` of `INDUCTION`.
    """
    bounds: dict[tuple[Hashable, Place], OpenBound] = field(default_factory=dict["tuple[Hashable, Place]", OpenBound])
    comparisons: Mapping[Operation, OpenComparison] = field(default_factory=dict[Operation, OpenComparison])
    """The ops that compare a bound with a number."""
    compared: dict[tuple[Hashable, Place], OpenBound] = field(default_factory=dict["tuple[Hashable, Place]", OpenBound])
    """The bounds with which no loop begins any more, but that somebody may still compare with a number."""
    begun: list[OpenBound] = field(default_factory=list[OpenBound])
    """All bounds with which a loop has begun, also those that are forgotten."""

    def begin(self, agent: Looper, op: Operation, start: int, step: int) -> OpenTurns:
        """`agent` begins to run the open loop `op`."""
        loop, place = self.loops[op], place_of(agent)
        if loop.term is None or (loop.term == INDUCTION and len(place) != loop.depth):
            bound = OpenBound(None, place, start - loop.offset)
        else:
            bound = self.bounds.get((loop.term, place)) or self._fresh(loop.term, place)
        turns = OpenTurns(start, step, bound, loop.offset, loop.modulus)
        agent.part(Progress).turns.append(turns)
        return turns

    def _bound(self, term: Hashable, place: Place) -> OpenBound:
        return self.bounds.get((term, place)) or self.compared.get((term, place)) or self._fresh(term, place)

    def _fresh(self, term: Hashable, place: Place) -> OpenBound:
        bound = self.bounds[term, place] = OpenBound(term, place, *self._known_of(term, place))
        self.begun.append(bound)
        return bound

    def _known_of(self, term: Hashable, place: Place) -> Known:
        """What is known of the bound with `term` at `place` from the beginning."""
        known = self.known.get(term, NOTHING_KNOWN)
        if term == INDUCTION and (turn := place[-1][1]) < known.low:
            return Known(turn, turn)
        return known

    def bound_for(self, agent: Looper, term: Hashable) -> OpenBound:
        """The bound that `agent` compares: that of a loop that it is in, else that of one that could begin here."""
        place = place_of(agent)
        around = (bound for bound, _ in reversed(place) if bound.term == term)
        return next(around, None) or self._bound(term, place)

    def settled_from(self, term: Hashable) -> int:
        """From what number on a bound with `term` compares alike with all constants."""
        return max(0, *(how.settled_from for how in self.comparisons.values() if how.term == term))

    def as_drawn(self, bound: OpenBound) -> int:
        """What `bound` is at least, as far as a snapshot tells that for a comparison with a constant."""
        if any(bound is other for other in self.compared.values()):
            return min(bound.low, self.settled_from(bound.term))
        return bound.low

    @property
    def counts(self) -> Mapping[Hashable, Sequence[int]]:
        """Term -> what the bounds with that term are at least."""
        found: dict[Hashable, set[int]] = {}
        for bound in self.begun:
            found.setdefault(bound.term, set()).add(bound.low)
        return {term: sorted(lows) for term, lows in found.items()}

    def forget(self, live: Sequence[LooperT], ahead: Foresight[LooperT]) -> None:
        """
        Forget the bounds with which nobody may begin a loop any more. What runs has its bound. An agent that is in a
        loop with a bound is not asked whether another one follows: while it turns, the bound grows without end, so that
        no state would ever recur. The other loop has a bound of its own then.
        """
        for key, bound in list(self.bounds.items()):
            if not any(ahead.may_begin(agent, bound) for agent in live if not is_bounded_by(agent, bound)):
                self.compared[key] = self.bounds.pop(key)
        for key, bound in list(self.compared.items()):
            if not any(ahead.may_compare(agent, bound) for agent in live):
                del self.compared[key]
            elif not any(is_bounded_by(agent, bound) for agent in live):
                bound.forget_beyond(self.settled_from(bound.term))

    def draw(self, canvas: Canvas) -> None:
        """Draw those with which somebody may still begin a loop: how often that will turn counts from its beginning."""
        for bound in self.bounds.values():
            canvas.thing(bound)
            canvas.literal((bound.low, bound.high))
        for bound in self.compared.values():
            canvas.thing(bound)
            most = self.settled_from(bound.term)
            canvas.literal((min(bound.low, most), None if bound.high is None else min(bound.high, most)))


def place_of(agent: Looper) -> Place:
    """Where `agent` is, also by where the agent stands that has started it and waits for it."""
    parent = agent.parent
    around: Place = ()
    if parent is not None and isinstance(parent.waiting_for, EndOfAgents) and agent in parent.waiting_for.agents:
        around = place_of(parent)
    return (*around, *((turns.bound, turns.induction) for turns in agent.part(Progress).turns))


def is_bounded_by(agent: Looper, bound: OpenBound) -> bool:
    """Whether `agent` is in a loop with that bound."""
    return any(bound is turns.bound for turns in agent.part(Progress).turns)


def rank(agent: Looper) -> tuple[int, ...]:
    """How far `agent` is: less is less advanced. An agent outside of a loop comes before those inside."""
    # Asked for each agent at each choice: this is `lead`, written out.
    return tuple(
        [each.start + each.number * each.step - each.offset - each.bound.low for each in agent.part(Progress).turns]
    )
