"""
The machine at a loop head, drawn so that two turns can be compared: all that the rest of the execution can depend on.

A snapshot has two parts. The *shape* is equal for two states that differ only by names (which object, which work) and
by the numbers that the program computes: agents and where they stand in the code, barriers and their parity, queues,
marks, rings, works under way, accesses that somebody may still race with. The *numbers* are those that may move on
from turn to turn: values of integer type, byte offsets, bounds of loops, the first free stage of a ring.

The slots of a ring take turns. Where they differ by nothing else, a state may be drawn `as_slots_turn`: a slot is the
one that comes next, the one after that, and so on, and parities are relative to its turn. Then the state recurs with
every stage. Else it is drawn with slots and parities as they are, and recurs after two turns of the ring.

Clocks are drawn by what they know: of all moments of an agent only those count that some access, work, arrival or wait
still refers to. What is settled (see `settled`) is left out. Anything of a kind that nobody has said how to draw is
refused, never skipped.

Where `gathers_leftovers`, what turns leave behind and nobody tells apart is drawn in rows (see `leftovers`), without
saying how many there are. Numbers in memory, of which a loop may leave more and more, are not followed then.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tileas_xdsl.checker.snapshot.settled import Actor, Unsettled, actors_of
from tileas_xdsl.machine.core.agents import Agent, Step
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.happens_before import Access, Clock
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.core.values import Unknown

if TYPE_CHECKING:
    from tileas_xdsl.checker.snapshot.leftovers import Leftover, Row
    from tileas_xdsl.machine.core.execution import Machine
    from tileas_xdsl.machine.core.synchronization import PhaseBarrier
    from tileas_xdsl.machine.parts.rings import Ring


class UnknownStateError(Exception):
    """The state holds something that snapshots do not compare."""


@dataclass(frozen=True)
class DrawnRow:
    """A row of things left behind, and the places in `numbers` of the offsets of its first and last members."""

    row: Row
    first: int
    last: int


@dataclass(frozen=True)
class Snapshot:
    """One state of the machine, see above."""

    shape: tuple[object, ...]
    numbers: tuple[int | float, ...]
    accesses: tuple[tuple[int, Access], ...]
    """(place in `numbers` of its byte offset, access) for each access that is not settled."""
    rings: tuple[tuple[int, Ring], ...] = ()
    """(place in `numbers`, ring) for the first free stage of each ring."""
    rows: tuple[DrawnRow, ...] = ()
    """What lies about in even distances, and nobody tells apart."""
    barriers: tuple[tuple[int, MemoryObject], ...] = ()
    """(place in `numbers` of its byte offset, object) for each barrier in memory that is in no row."""
    countdowns: tuple[int, ...] = ()
    """Places in `numbers` of those that have not come to 0 yet, where something happens."""
    refusal: str | None = None
    """Why the state cannot be compared."""


DrawThing = Callable[["Drawing", Any], None]
THINGS: dict[type, DrawThing] = {}
"""How to draw what has an identity: a barrier, a queue, a work. Drawn once; elsewhere its name stands for it."""
VALUES: dict[type, DrawThing] = {}
"""How to draw what has none: views, tokens, conditions."""


def draws_thing(*types: type) -> Callable[[DrawThing], DrawThing]:
    def register(draw: DrawThing) -> DrawThing:
        THINGS.update(dict.fromkeys(types, draw))
        return draw

    return register


def draws_value(*types: type) -> Callable[[DrawThing], DrawThing]:
    def register(draw: DrawThing) -> DrawThing:
        VALUES.update(dict.fromkeys(types, draw))
        return draw

    return register


LITERALS = (bool, str, Unknown, type(None))
CODE = (Operation, Block, Region, SSAValue, Attribute, type, Step)
"""What does not change while a function runs."""


@dataclass
class Drawing:
    """Draws one snapshot."""

    machine: Machine
    unsettled: Unsettled
    as_slots_turn: bool = False
    gathers_leftovers: bool = False
    """Whether what turns leave behind is gathered: see `leftovers`."""
    shape: list[object] = field(default_factory=list[object])
    numbers: list[int | float] = field(default_factory=list["int | float"])
    accesses: list[tuple[int, Access]] = field(default_factory=list[tuple[int, Access]])
    barriers: list[tuple[int, MemoryObject]] = field(default_factory=list[tuple[int, MemoryObject]])
    countdowns: list[int] = field(default_factory=list[int])
    leftovers: list[Leftover] = field(default_factory=list["Leftover"])
    passed_over: dict[AsyncWork, list[int]] = field(default_factory=dict[AsyncWork, list[int]])
    """
    Works in old groups of queues, which are left out, as nobody waits for one of these groups without the others; and
    in which of the queues they are.
    """
    queues: int = 0
    """How many queues have been drawn."""
    unfenced: dict[int, int] = field(default_factory=dict[int, int])
    """By id of a barrier in memory, the agent by its name that has made it and not fenced that yet."""
    rings: list[tuple[int, Ring]] = field(default_factory=list["tuple[int, Ring]"])
    turns: dict[int, int] = field(default_factory=dict[int, int])
    """By id of a barrier of a ring, the turn of its slot from which parities count."""
    things: list[Any] = field(default_factory=list[Any])
    actors: list[Actor] = field(default_factory=list[Actor])
    activations: set[int] = field(default_factory=set[int])
    """The calls that are under way, by id."""
    _names: dict[int, int] = field(default_factory=dict[int, int])
    _drawn: int = 0
    _clocks: list[tuple[int, Clock]] = field(default_factory=list[tuple[int, Clock]])
    """Places in the shape that wait for all moments to be known, and what is to be said there."""
    _moments: dict[int, set[int]] = field(default_factory=dict[int, set[int]])

    def __post_init__(self) -> None:
        self.actors = actors_of(self.machine)

    # What a state is made of -----------------------------------------------------------------------------------------

    def literal(self, value: object) -> None:
        """Something that two states must have in common."""
        self.shape.append(value)

    def number(self, value: float) -> None:
        """Something that may move on from turn to turn."""
        self.shape.append("number")
        self.numbers.append(value)

    def thing(self, value: Any) -> None:
        """Something with an identity."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = len(self.things)
            self.things.append(value)
        self.shape.append(name)

    def name_of(self, value: Any) -> int:
        """The name of something that has been named."""
        return self._names[id(value)]

    def has_drawn(self, value: Any) -> bool:
        """Whether `value` has been named."""
        return id(value) in self._names

    def moment(self, agent: int, moment: int) -> None:
        """A moment with which knowledge will be compared."""
        self._moments.setdefault(agent, set()).add(moment)
        self.clock({agent: moment})

    def moments(self, moments: Clock) -> None:
        """Moments of several agents."""
        self.literal(len(moments))
        for agent in sorted(moments):
            self.moment(agent, moments[agent])

    def clock(self, clock: Clock) -> None:
        """What somebody knows."""
        self._clocks.append((len(self.shape), clock))
        self.shape.append(None)

    def fenced(self, fenced: dict[str, Clock]) -> None:
        """What somebody knows and has fenced."""
        for space in sorted(fenced):
            self.literal(space)
            self.clock(fenced[space])

    def works(self, works: Iterable[AsyncWork]) -> None:
        found = list(works)
        self.literal(len(found))
        for work in found:
            self.thing(work)

    def value(self, value: Any) -> None:
        """Any value that an SSA name, a local name or a container may hold."""
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
            raise UnknownStateError(f"a {type(value).__name__}, which cannot be compared from turn to turn")

    def sequence(self, values: Iterable[Any]) -> None:
        found = list(values)
        self.literal(len(found))
        for value in found:
            self.value(value)

    def parity(self, barrier: PhaseBarrier, phase: int) -> int:
        """That of a phase, or of a wait, as seen from the turn of the slot that the barrier guards."""
        return (phase - self.turns.get(id(barrier), 0)) & 1

    def access(self, access: Access) -> None:
        """An access with which somebody may race."""
        region = access.region
        self.literal((region.counts, region.strides, region.itemsize, access.is_write, access.proxy, id(access.op)))
        self.accesses.append((len(self.numbers), access))
        self.number(region.offset)
        if access.work is not None:
            self.thing(access.work)
        else:
            self.moment(access.agent.number, access.moment)

    # The whole -------------------------------------------------------------------------------------------------------

    def draw_things(self) -> None:
        """Draw all things that have been named, and those that they lead to."""
        while self._drawn < len(self.things):
            thing = self.things[self._drawn]
            self.literal((type(thing).__name__, self._drawn))
            self._drawn += 1
            THINGS[type(thing)](self, thing)

    def finished(self) -> Snapshot:
        """The snapshot, with every clock replaced by which of the moments that matter it knows."""
        rows = self._gathered()
        order = {agent: sorted(moments) for agent, moments in self._moments.items()}
        drawn = [thing.number for thing in self.things if isinstance(thing, Agent)]
        numbered = enumerate([*drawn, *sorted(set(order) - set(drawn))])
        names = {agent: name for name, agent in numbered}
        for place, clock in self._clocks:
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
        )

    def _gathered(self) -> tuple[DrawnRow, ...]:
        """Draw what was left behind, in rows."""
        if not self.leftovers:
            return ()
        from tileas_xdsl.checker.snapshot.leftovers import gather

        rows: list[DrawnRow] = []
        for heap in gather(self.leftovers, [clock for _, clock in self._clocks]):
            self.literal(("left behind", *heap.kind, heap.known_by))
            for clock in heap.learnt:
                self.clock(clock)
            for row in heap.rows:
                self.literal(row.step)
                rows.append(DrawnRow(row, len(self.numbers), len(self.numbers) + 1))
                self.number(row.members[0].offset)
                self.number(row.members[-1].offset)
        return tuple(rows)
