"""
A snapshot: the state of the machine at a loop head, in a form in which two turns of the loop can be compared.

It holds all that the rest of the execution can depend on, in two parts. The *shape* is equal for two states that differ
only by names (which object, which work) and by the numbers that the program computes. It has the agents and their
standings, barriers and their parities, queues, marks, rings, works in flight, and accesses that may still race. The
*numbers* are those that may move on from iteration to iteration: values of integer type, byte offsets, bounds of loops,
the first free slot of a ring.

The slots of a ring take turns. Where they differ by nothing else, a state may be drawn `as_slots_turn`: slots are
numbered from the one whose turn is next, and parities are relative to their turns. Then the state recurs with every
stage. Else slots and parities are drawn as they are, and the state recurs after two rounds of the ring.

A vector clock is drawn by what it knows: of the moments of an agent only those count that some access, work, arrival
or wait still refers to. Of the clock of what was fenced in a state space only accesses are ever asked for, so for it
only their moments count, and the present ones. What is settled (see `settled`) is left out. A kind of state for which
there is no rule is refused, never skipped.

With `gathers_leftovers`, leftovers are drawn in rows (see `leftovers`), without their number. Numbers in memory are not
followed then, since a loop may leave more and more of them.

This is an abstraction of states up to the names of objects (symmetry reduction: Ip and Dill, "Better Verification
Through Symmetry", 1996), applied to one deterministic execution.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tileas_xdsl.checker.snapshot.settled import Actor, Unsettled, actors_of, is_settled, role_of
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.code import Step
from tileas_xdsl.machine.core.happens_before import FENCE_SPACES, Access, Clock, Who
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.core.values import Unknown
from tileas_xdsl.machine.parts.placed_barriers import PlacedBarriers

if TYPE_CHECKING:
    from tileas_xdsl.checker.snapshot.leftovers import Leftover, Row
    from tileas_xdsl.machine.core.execution import Machine
    from tileas_xdsl.machine.core.synchronization import PhaseBarrier
    from tileas_xdsl.machine.parts.rings import Ring


class MergedError(Exception):
    """Raised where an execution comes to a question in a state that is known: what follows was executed before."""


class UnknownStateError(Exception):
    """The state holds something that snapshots do not compare; the message names it, after "the state holds"."""


@dataclass(frozen=True)
class DrawnRow:
    """A row of leftovers, and the indices in `numbers` of the offsets of its first and its last member."""

    row: Row
    first: int
    last: int


@dataclass(frozen=True)
class Snapshot:
    """One state of the machine, or the reason (`refusal`) why it cannot be drawn."""

    shape: tuple[object, ...]
    """What two states must have in common to be compared at all."""
    numbers: tuple[int | float, ...]
    """What may move on, in the order in which the shape mentions it."""
    accesses: tuple[tuple[int, Access], ...]
    """(place in `numbers` of its byte offset, access) for each access that is not settled."""
    rings: tuple[tuple[int, Ring], ...] = ()
    """(place in `numbers`, ring) for the first free stage of each ring."""
    rows: tuple[DrawnRow, ...] = ()
    """The rows of leftovers: places at even distances."""
    barriers: tuple[tuple[int, MemoryObject], ...] = ()
    """(place in `numbers` of its byte offset, object) for each barrier in memory that is in no row."""
    countdowns: tuple[int, ...] = ()
    """Places in `numbers` of numbers that count down, and at 0 of which something happens."""
    repetitions: tuple[tuple[int, Access, Who], ...] = ()
    """
    (place in `numbers`, store, warp) for each warp that is still to make a store of its team: after how many executions
    of the op.
    """
    refusal: str | None = None
    """Why the state cannot be compared; None if it can."""


DrawThing = Callable[["Drawing", Any], None]
THINGS: dict[type, DrawThing] = {}
"""Type -> how to draw what has an identity: a barrier, a queue, a work. Drawn once, and named elsewhere."""
VALUES: dict[type, DrawThing] = {}
"""Type -> how to draw what has no identity: a view, a token, a condition. Drawn wherever it occurs."""


def draws_thing(*types: type) -> Callable[[DrawThing], DrawThing]:
    """Decorator: the function draws what has an identity and is of one of `types`."""

    def register(draw: DrawThing) -> DrawThing:
        THINGS.update(dict.fromkeys(types, draw))
        return draw

    return register


def draws_value(*types: type) -> Callable[[DrawThing], DrawThing]:
    """Decorator: the function draws what has no identity and is of one of `types`."""

    def register(draw: DrawThing) -> DrawThing:
        VALUES.update(dict.fromkeys(types, draw))
        return draw

    return register


LITERALS = (bool, str, Unknown, type(None))
CODE = (Operation, Block, Region, SSAValue, Attribute, type, Step)
"""Parts of the IR, which do not change while a function runs: they are drawn by `id`."""


@dataclass(frozen=True)
class Demand:
    """Which values of a number make different states."""

    modulus: int = 1
    """Those that differ modulo this."""
    end: int | None = None
    """Each up to this, and all beyond together."""

    def told_apart(self, value: int) -> tuple[int, int | None]:
        """What of `value` is drawn."""
        return value % self.modulus, None if self.end is None else min(value, self.end + 1)


NO_DEMANDS: Mapping[SSAValue, Demand] = {}
Moments = dict[int, set[int]]
"""Agent number -> moments of that agent."""


@dataclass
class Drawing:
    """
    A snapshot while it is drawn: `literal`, `number`, `thing` and the like add to it, and `finished` returns it.

    All of these raise `UnknownStateError` where there is no rule for what they are given.
    """

    machine: Machine
    unsettled: Unsettled
    as_slots_turn: bool = False
    gathers_leftovers: bool = False
    """Whether leftovers are gathered in rows (see `leftovers`)."""
    demands: Mapping[SSAValue, Demand] = field(default_factory=lambda: NO_DEMANDS)
    """Value -> which of its numbers make different states; other values may be any."""
    shape: list[object] = field(default_factory=list)
    numbers: list[int | float] = field(default_factory=list)
    accesses: list[tuple[int, Access]] = field(default_factory=list)
    barriers: list[tuple[int, MemoryObject]] = field(default_factory=list)
    countdowns: list[int] = field(default_factory=list)
    repetitions: list[tuple[int, Access, Who]] = field(default_factory=list)
    leftovers: list[Leftover] = field(default_factory=list)
    passed_over: dict[AsyncWork, list[int]] = field(default_factory=dict)
    """
    Work -> the numbers of the queues in an old group of which it is. Old groups are not drawn: no wait is for one of
    them without the others.
    """
    queues: int = 0
    """How many queues have been drawn."""
    unfenced: dict[int, int] = field(default_factory=dict)
    """`id` of a barrier in memory -> name of the agent that has made it and not yet fenced that."""
    rings: list[tuple[int, Ring]] = field(default_factory=list)
    turns: dict[int, int] = field(default_factory=dict)
    """`id` of a barrier of a ring -> the turn of its slot from which its parities count."""
    things: list[Any] = field(default_factory=list)
    actors: list[Actor] = field(default_factory=list)
    activations: set[int] = field(default_factory=set)
    """The function activations that have not returned, by `id`."""
    _names: dict[int, int] = field(default_factory=dict)
    _drawn: int = 0
    _moments: Moments = field(default_factory=dict)
    _moments_of_fences: Moments = field(default_factory=dict)
    """Those that clocks of what was fenced are asked for."""
    _clocks: list[tuple[int, Clock, Moments]] = field(default_factory=list)
    """(place in the shape, clock, the moments by which it is drawn): filled in at the end, when these are known."""

    _settled: dict[AsyncWork, bool] = field(default_factory=dict)
    _brought_along: list[Collection[AsyncWork]] = field(default_factory=list)
    """Works that somebody learns of with another one: drawn at the end, by those among them that have names."""

    def __post_init__(self) -> None:
        self.actors = actors_of(self.machine)
        for agent in self.machine.live:
            _add(self._moments_of_fences, {agent.number: agent.moment})

    def is_settled(self, work: AsyncWork) -> bool:
        """Whether all actors know that `work` is complete. Asked again and again while the state is drawn."""
        found = self._settled.get(work)
        if found is None:
            found = self._settled[work] = is_settled(work, self.actors)
        return found

    def users_of(self, barrier: PhaseBarrier) -> Sequence[Actor]:
        """The actors that may still use `barrier`: all, unless it is known who looks for barriers where it lies."""
        family = self._families.get(id(barrier))
        looks = self.unsettled.reach.looks
        return [a for a in self.actors if (family, role_of(a.agent)) in looks] if family is not None else self.actors

    @cached_property
    def _families(self) -> Mapping[int, str]:
        """`id` of the state of each barrier in memory -> the family of the object in which it lies."""
        return {id(placed.state): placed.family for placed in self.machine.part(PlacedBarriers).at.values()}

    @cached_property
    def works_that_matter(self) -> Collection[AsyncWork]:
        """Those under way, those that may be left undrained, and those with accesses that others may race with."""
        machine = self.machine
        return {*machine.works_under_way(), *self.unsettled.works(machine, self.actors), *machine.works_in_histories()}

    def brought_along(self, works: Collection[AsyncWork]) -> None:
        """Somebody learns of `works`, none of which has to be drawn, with another one."""
        self._brought_along.append(works)

    # What a state is made of -----------------------------------------------------------------------------------------

    def literal(self, value: object) -> None:
        """Something that two states must have in common."""
        self.shape.append(value)

    def number(self, value: float) -> None:
        """A number that may move on from iteration to iteration."""
        self.shape.append("number")
        self.numbers.append(value)

    def row(self, kind: str, values: Sequence[int]) -> None:
        """Numbers that may move on, one for each thread."""
        self.shape.append((kind, len(values)))
        self.numbers += values

    def residue(self, name: SSAValue, value: object) -> None:
        """What of `value`, which is that of `name`, tells states apart."""
        if isinstance(value, int) and (demand := self.demands.get(name)) is not None:
            self.shape.append(demand.told_apart(value))

    def thing(self, value: Any) -> None:
        """Something with an identity: its name is drawn here, the thing itself later and once."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = len(self.things)
            self.things.append(value)
        self.shape.append(name)

    def name_of(self, value: Any) -> int:
        """The name of a thing that has one: a number, in the order of first mention."""
        return self._names[id(value)]

    def has_drawn(self, value: Any) -> bool:
        """Whether `value` has been named."""
        return id(value) in self._names

    def moment(self, agent: int, moment: int) -> None:
        """A moment of an agent. Clocks are drawn by which of these moments they know."""
        _add(self._moments, {agent: moment})
        self.clock({agent: moment})

    def moments(self, moments: Clock) -> None:
        """One moment each of several agents, and how many they are."""
        self.literal(len(moments))
        for agent in sorted(moments):
            self.moment(agent, moments[agent])

    def clock(self, clock: Clock) -> None:
        """The knowledge of an agent, a work or a phase."""
        self._draw_later(clock, self._moments)

    def fenced(self, fenced: dict[str, Clock]) -> None:
        """What an agent or work has fenced, memory space by memory space: having fenced nothing is an empty clock."""
        for space in sorted(self._fenced_spaces.union(fenced)):
            self.literal(space)
            is_state_space = space in FENCE_SPACES
            self._draw_later(fenced.get(space, {}), self._moments_of_fences if is_state_space else self._moments)

    def _draw_later(self, clock: Clock, by: Moments) -> None:
        self._clocks.append((len(self.shape), clock, by))
        self.shape.append(None)

    @cached_property
    def _fenced_spaces(self) -> set[str]:
        """The state spaces in which some agent has fenced something."""
        return {space for agent in self.machine.live for space in agent.fenced}.intersection(FENCE_SPACES)

    def works(self, works: Iterable[AsyncWork]) -> None:
        """Works in their order, and how many they are."""
        found = list(works)
        self.literal(len(found))
        for work in found:
            self.thing(work)

    def value(self, value: Any) -> None:
        """Any value that an SSA value, a standing or a container may hold."""
        kind: type = type(cast("object", value))
        draw = VALUES.get(kind)
        if draw is not None:
            draw(self, value)
        elif kind in THINGS:
            self.thing(value)
        elif isinstance(value, LITERALS):
            self.literal(value)
        elif isinstance(value, int | float):
            self.literal("integer" if isinstance(value, int) else "float")
            self.number(value)
        elif isinstance(value, np.generic):
            self.value(value.item())
        elif isinstance(value, CODE):
            self.literal(("code", id(cast("object", value))))
        else:
            raise UnknownStateError(f"a {type(value).__name__}, which cannot be compared from iteration to iteration")

    def sequence(self, values: Iterable[Any]) -> None:
        """Values in their order, and how many they are."""
        found = list(values)
        self.literal(len(found))
        for value in found:
            self.value(value)

    def parity(self, barrier: PhaseBarrier, phase: int) -> int:
        """The parity of `phase`, relative to the turn of the slot that the barrier guards, if it guards one."""
        return (phase - self.turns.get(id(barrier), 0)) & 1

    def access(self, access: Access) -> None:
        """An access that may still race with a later one."""
        region = access.region
        if access.bounds_block:
            self.literal("the end of a block")
        self.literal((region.form, access.is_write, access.proxy, access.is_atomic))
        self.literal(id(access.op))
        self.literal(access.relative_parts)
        if access.is_to_be_repeated:
            self._repetitions(access)
        self.accesses.append((len(self.numbers), access))
        self.number(region.offset)
        if access.work is not None:
            self.thing(access.work)
            _add(self._moments_of_fences, access.work.observers)
        else:
            self.moment(access.agent.number, access.moment)
            _add(self._moments_of_fences, {access.agent.number: access.moment})

    def _repetitions(self, access: Access) -> None:
        """After how many executions of its op each warp of a team makes the store `access`, too."""
        assert access.instance is not None
        self.thing(access.instance.team)
        for warp, times in access.instance.still_to_come():
            if times:
                self.thing(warp)
                self.repetitions.append((len(self.numbers), access, warp))
                self.number(times)
        self.literal("no further warp")

    # The whole -------------------------------------------------------------------------------------------------------

    def draw_things(self) -> None:
        """Draw all things that have been named, and those that these name in turn."""
        while self._drawn < len(self.things):
            thing = self.things[self._drawn]
            self.literal((type(thing).__name__, self._drawn))
            self._drawn += 1
            THINGS[type(thing)](self, thing)

    def finished(self) -> Snapshot:
        """The finished snapshot, each clock in it drawn by which of the moments that matter it knows."""
        rows = self._gathered()
        for works in self._brought_along:
            self.literal(tuple(sorted(name for work in works if (name := self._names.get(id(work))) is not None)))
        drawn = [thing.number for thing in self.things if isinstance(thing, Agent)]
        others = {*self._moments, *self._moments_of_fences}.difference(drawn)
        names = {agent: name for name, agent in enumerate([*drawn, *sorted(others)])}
        orders = {id(by): _sorted(by) for by in (self._moments, self._moments_of_fences)}
        for place, clock, by in self._clocks:
            order = orders[id(by)]
            known = [
                (names[agent], bisect_right(order[agent], moment)) for agent, moment in clock.items() if agent in order
            ]
            self.shape[place] = tuple(sorted(entry for entry in known if entry[1]))
        return Snapshot(
            tuple(self.shape),
            tuple(self.numbers),
            tuple(self.accesses),
            tuple(self.rings),
            rows,
            tuple(self.barriers),
            tuple(self.countdowns),
            tuple(self.repetitions),
        )

    def _gathered(self) -> tuple[DrawnRow, ...]:
        """Draw the leftovers, and return their rows."""
        if not self.leftovers:
            return ()
        from tileas_xdsl.checker.snapshot.leftovers import gather

        rows: list[DrawnRow] = []
        of_fences = self._moments_of_fences
        clocks = [clock for _, clock, by in self._clocks if by is not of_fences]
        fences = [clock for _, clock, by in self._clocks if by is of_fences]
        for heap in gather(self.leftovers, clocks, fences):
            self.literal(("left behind", *heap.kind, heap.known_by))
            for clock in heap.learnt:
                self.clock(clock)
            for row in heap.rows:
                self.literal(row.step)
                rows.append(DrawnRow(row, len(self.numbers), len(self.numbers) + 1))
                self.number(row.members[0].offset)
                self.number(row.members[-1].offset)
        return tuple(rows)


def _add(moments: Moments, more: Clock) -> None:
    for agent, moment in more.items():
        moments.setdefault(agent, set()).add(moment)


def _sorted(moments: Moments) -> dict[int, list[int]]:
    return {agent: sorted(numbers) for agent, numbers in moments.items()}
