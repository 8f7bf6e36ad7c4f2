"""
Happens-before: vector clocks over agents, and the accesses that are not ordered (Lamport 1978; Mattern 1989).

An agent's clock holds, for each agent, the last moment that is known to have happened before now. Asynchronous work is
not an agent and has no moments of its own. Its accesses lie somewhere between its issue and its completion. So they
come after what its issuer knew at issue and after what it depends on, and they come before exactly those agents that
*observe* its completion. Each work keeps its observers (agent -> moment of that agent), and whoever knows of such a
moment knows of the work. Observing a work observes everything before it. Both steps touch each pair of work and agent
once, so the cost is linear in executed operations times agents.

Accesses take one of two proxies to memory (PTX ISA, "Memory Consistency Model"): generic or asynchronous. A second
clock beside the first holds what is known *and fenced*: `fence.proxy.async` copies the first into the second.

Accesses to one object are kept as long as they could still be part of a race (FastTrack, Flanagan and Freund 2009, on
byte regions): an access that is known to and covered by a later one of at least its strength is forgotten, because
whatever races with it races with the later one too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import product
from math import prod
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from xdsl.ir import Operation

from tileas_xdsl.machine.core.memory import ByteRegion, MemoryObject, ThreadParts

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Exclusive
    from tileas_xdsl.machine.core.synchronization import Condition

Clock = dict[int, int]
"""Agent number -> moment of that agent."""


def join(into: Clock, other: Clock) -> None:
    for agent, moment in other.items():
        if into.get(agent, -1) < moment:
            into[agent] = moment


class Proxy(Enum):
    """Which path an access takes to memory. Tile-level accesses leave it to the lowering."""

    UNSPECIFIED = auto()
    GENERIC = auto()
    ASYNC = auto()
    TENSORMAP = auto()
    """The descriptor of a tensor copy, which the copy engine reads."""
    TENSOR_CORE = auto()
    """Tensor memory, as products and copies of `tcgen05` reach it."""
    TENSOR_REGISTERS = auto()
    """Tensor memory, as its transfers from and to registers reach it."""


WITHOUT_FENCES = (Proxy.UNSPECIFIED, Proxy.GENERIC)
"""An access by these needs no fence behind any other."""
FENCE_SPACES = ("global", "shared")
"""The state spaces that `fence.proxy.async` can order, together or one by one."""


TENSOR_MEMORY = (Proxy.TENSOR_CORE, Proxy.TENSOR_REGISTERS)
BEFORE_SYNC = "tensor memory, before"
"""The clock of what `tcgen05.fence <before>` has covered."""


def after_sync(proxy: Proxy, agent: int) -> str:
    """
    The clock of the accesses by `proxy` that come before a `tcgen05.fence <after>` of `agent`, and, where transfers
    from and to registers are concerned, a `<before>` of who made them. (What a commit tells of needs no `<before>`.)
    """
    return f"tensor memory, {proxy.name}, after in {agent}"


def map_key(base: MemoryObject, offset: int) -> str:
    """What the fence of the descriptor at byte `offset` of `base` is known by, beside the fences of state spaces."""
    return f"tensor map {base.name} + {offset}"


@dataclass
class Knowledge:
    """What a synchronisation hands over: clocks, and works complete at that point but not yet observed by anybody."""

    clock: Clock = field(default_factory=dict)
    fenced: dict[str, Clock] = field(default_factory=dict)
    works: list[AsyncWork] = field(default_factory=list)

    def merge(self, other: Knowledge) -> None:
        join(self.clock, other.clock)
        for space, clock in other.fenced.items():
            join(self.fenced.setdefault(space, {}), clock)
        self.works.extend(other.works)

    def copy(self) -> Knowledge:
        return Knowledge(
            dict(self.clock),
            {space: dict(clock) for space, clock in self.fenced.items()},
            list(self.works),
        )


class Who(Protocol):
    """An agent, as the records of an execution know it: who it is, what it is about, and what it knows."""

    number: int
    name: str
    iteration: tuple[int, ...]
    moment: int
    clock: Clock
    fenced: dict[str, Clock]
    mind: Mind
    current_op: Operation | None
    started_by: Operation | None
    resource: Exclusive | None
    transfers_observed: int
    delegates: bool
    waiting_for: Condition | None
    waiting_at: Operation | None
    finished: bool
    final_knowledge: Knowledge
    outcome: Any

    @property
    def parent(self) -> Who | None: ...

    @property
    def cohort(self) -> Sequence[Who]:
        """The agents that were forked together."""
        ...

    @property
    def recording(self) -> object | None:
        """What it records, in an asynchronous scope."""
        ...

    @property
    def block(self) -> object | None:
        """The block of the cluster that it belongs to, if there are several."""
        ...

    def learn(self, knowledge: Knowledge) -> None:
        """Take in what a synchronisation hands over."""
        ...


class Warps(Protocol):
    """The warps of one agent, which count how often each has executed an op (`agents.Team`)."""

    @property
    def members(self) -> Sequence[Who]: ...

    def times(self, agent: Who, op: Operation) -> int: ...


class TeamStore(NamedTuple):
    """A store that each warp of a team makes: by one op, each for the same time, and all of the same value."""

    team: Warps
    op: Operation
    times: int
    """How often a warp has executed the op by then."""

    @property
    def is_open(self) -> bool:
        """Whether some warp has not made it yet."""
        return any(times for _, times in self.still_to_come())

    def still_to_come(self) -> Iterator[tuple[Who, int]]:
        """For each warp, after how many executions of the op it will have made it; 0 if it has, or is at its end."""
        team = self.team
        for warp in team.members:
            yield warp, 0 if warp.finished else max(0, self.times - team.times(warp, self.op))


@dataclass(slots=True, eq=False)
class Access:
    """One read or write of some bytes, by an agent at a moment or by asynchronous work."""

    region: ByteRegion
    is_write: bool
    proxy: Proxy
    op: Operation
    agent: Who
    """The agent that did it, or that issued the work that did."""
    work: AsyncWork | None
    moment: int
    """The agent's moment; for a work the issuer's moment of issue."""
    iteration: tuple[int, ...]
    step: int
    """Number of the step in the execution, for traces."""
    is_atomic: bool = False
    """Whether it is one of those that never race with each other: a read-modify-write in one step."""
    parts: ThreadParts | None = None
    """The part of each thread of the agent, by its lane, where they differ."""
    instance: TeamStore | None = None
    """For a store that the other warps of the agent make as well: which one it is."""
    known_from: Clock | None = None
    """Moments of other agents from which on it is known as well, though what else its agent did is not."""
    bounds_block: bool = False
    """Whether it stands for the start of a block of a cluster, or for its end: its shared memory is there between."""

    does: str = ""
    """What a message says that it does, where that is not what its op does."""

    @property
    def verb(self) -> str:
        if self.does:
            return self.does
        return "writes" if self.is_write else "reads"

    @property
    def relative_parts(self) -> tuple[tuple[int, int], ...]:
        """Lane and distance from the beginning, for the part of each thread."""
        return self.parts.relative_to(self.region.offset) if self.parts is not None else ()

    @property
    def is_to_be_repeated(self) -> bool:
        """Whether another warp of its team will make the same store again."""
        return self.instance is not None and self.instance.is_open


class Mind:
    """What an agent, or a work at its start, knows. This class decides happens-before; nothing else does."""

    __slots__ = ("clock", "fenced", "works")

    def __init__(self, clock: Clock, fenced: dict[str, Clock], works: Iterable[AsyncWork] = ()) -> None:
        self.clock = clock
        self.fenced = fenced
        self.works = tuple(works)
        """Works known directly, though no agent may have observed them yet."""

    def knows(self, access: Access) -> bool:
        """Whether `access` happens before whatever this mind does now."""
        if access.work is not None:
            return self.knows_work(access.work)
        if self.clock.get(access.agent.number, -1) >= access.moment:
            return True
        known_from = access.known_from
        return known_from is not None and any(self.knows_moment(*each) for each in known_from.items())

    def knows_moment(self, agent: int, moment: int) -> bool:
        return self.clock.get(agent, -1) >= moment

    def knows_moments(self, moments: Clock) -> bool:
        known = self.clock.get
        for agent, moment in moments.items():  # noqa: SIM110 (asked at every arrival, where a generator costs as much)
            if known(agent, -1) < moment:
                return False
        return True

    def knows_work(self, work: AsyncWork) -> bool:
        if _observed_within(work, self.clock):
            return True
        return any(_reaches(known, work) for known in self.works)

    def has_fenced(self, access: Access, space: str) -> bool:
        """Whether a proxy fence lies between `access`, which is known, and now."""
        fenced = self.fenced.get(space)
        if fenced is None:
            return False
        if access.work is not None:
            return _observed_within(access.work, fenced)
        return fenced.get(access.agent.number, -1) >= access.moment


def _observed_within(work: AsyncWork, clock: Clock) -> bool:
    for agent, moment in work.observers.items():  # noqa: SIM110 (asked most often of all)
        if clock.get(agent, -1) >= moment:
            return True
    return False


def _reaches(later: AsyncWork, work: AsyncWork) -> bool:
    """Whether `work` is `later` or one of the works that it depends on, however indirectly."""
    stack, seen = [later], {later}
    while stack:
        current = stack.pop()
        if current is work or _observed_within(work, current.mind.clock):
            return True
        for before in current.mind.works:
            # A work can only depend on works that were ready, even complete, before it was.
            if before.turn >= work.turn and before not in seen:
                seen.add(before)
                stack.append(before)
    return False


MOST_COMPARED = 16
"""The largest number of works among which `youngest` looks for dependencies; comparing them takes quadratic time."""


def youngest(works: Iterable[AsyncWork]) -> list[AsyncWork]:
    """
    `works` without duplicates and without those on which another of them depends: who knows of a work knows of its
    dependencies.

    More than `MOST_COMPARED` works are all kept.
    """
    once = list(dict.fromkeys(works))
    if len(once) < 2 or len(once) > MOST_COMPARED:
        return once
    return [w for w in once if not any(other is not w and w.turn < other.turn and _reaches(other, w) for other in once)]


def observe(agent: Who, works: Iterable[AsyncWork]) -> None:
    """`works`, and everything that happens before them, are known to `agent` from its present moment on."""
    stack = list(works)
    while stack:
        work = stack.pop()
        if agent.number in work.observers:
            continue
        work.observers[agent.number] = agent.moment
        join(agent.clock, work.mind.clock)
        for space, clock in work.mind.fenced.items():
            join(agent.fenced.setdefault(space, {}), clock)
        stack.extend(work.mind.works)


@dataclass
class Conflict:
    """Two accesses to the same bytes, one of them a write, and the edge that is missing between them."""

    earlier: Access
    later: Access
    missing_fence: bool = False
    """Whether the two are ordered, but take different proxies without a fence between them."""

    @property
    def is_unfenced_refill(self) -> bool:
        """Whether all that is missing is a fence between a generic read and an asynchronous write."""
        return self.missing_fence and self.later.proxy is Proxy.ASYNC and not self.earlier.is_write


def may_conflict(one: Access, other: Access) -> bool:
    """
    Whether the two would race if they touched the same bytes and nothing ordered them: not two atomic ones, and not
    what two warps of a team make as one store, of one value to one place, and not the start or end of a
    block and what it does itself.
    """
    if not (one.is_write or other.is_write) or (one.is_atomic and other.is_atomic):
        return False
    if one.bounds_block or other.bounds_block:
        return one.agent.block is not other.agent.block
    return one.instance is None or one.instance != other.instance


GridCell = tuple[int, ...]
"""A cell of the index: its number in each dimension of the object."""
_Cells = tuple[GridCell, ...] | None
"""The cells under which an access is filed; None where it is filed under none."""

_step = attrgetter("step")


class AccessHistory:
    """The accesses to one object that a future access might race with."""

    MOST_CELLS = 64
    """Cells of the index under which one access is filed. One that would touch more makes the cells larger."""

    def __init__(self, base: MemoryObject, *, relaxed_proxy: bool = False) -> None:
        self.base = base
        self.relaxed_proxy = relaxed_proxy
        """Whether a generic read needs no fence before an asynchronous write."""
        self._grain: tuple[int, ...] = ()
        """Extent of a cell of the index in each dimension."""
        self._filed: dict[Access, _Cells] = {}
        """Each recorded access, oldest first, and where the index has it."""
        self._grid: dict[GridCell, dict[Access, None]] = {}
        self._anywhere: dict[Access, None] = {}
        """Accesses to what is no box of the object."""
        self._by_agents: dict[tuple[int, bool], dict[Access, None]] = {}
        """(agent, whether they are writes) -> the recorded accesses that it made itself."""
        self._latest: dict[tuple[int, bool], int] = {}
        """The same -> the last moment at which it made one."""
        self._by_works: dict[bool, dict[Access, None]] = {True: {}, False: {}}
        """Whether they are writes -> the recorded accesses of asynchronous works."""
        self._works_known: dict[int, set[Access]] = {}
        """Agent -> those of them of which it was found to know: it knows of them from then on."""
        self._asked: tuple[ByteRegion, list[Access]] | None = None
        """The region that was asked for last, since the last change, and the answer."""
        self._located: tuple[ByteRegion, _Cells] | None = None
        """The region whose cells were worked out last, with cells of the present size, and these."""

    def record(self, access: Access, mind: Mind) -> Iterator[Conflict]:
        """Compare `access` with the recorded ones, then record it. Yields each conflict."""
        for other in self.overlapping(access.region):
            known = mind.knows(other) or (other.work is not None and other.work is access.work)
            if may_conflict(other, access):
                if not known:
                    yield Conflict(other, access)
                elif self._lacks_fence(other, access, mind):
                    yield Conflict(other, access, missing_fence=True)
            if known and self._supersedes(access, other):
                self.forget(other)
        self._file(access)

    def conflicts(self, access: Access, mind: Mind) -> Iterator[Conflict]:
        """The recorded accesses that `access` conflicts with. Records nothing."""
        for other in self.overlapping(access.region):
            if may_conflict(other, access) and not mind.knows(other):
                yield Conflict(other, access)

    def strangers(self, access: Access, mind: Mind) -> list[Access]:
        """The recorded accesses, at whatever bytes, that would conflict with `access` if their bytes overlapped."""
        found = [
            other
            for other in self._not_known_at_once(access, mind)
            if may_conflict(other, access)
            and (other.work is None or other.work is not access.work)
            and (not mind.knows(other) or self._must_be_fenced(other, access, mind))
        ]
        return sorted(found, key=_step)

    def repeated(self, access: Access, mind: Mind) -> list[Access]:
        """The recorded accesses that would be strangers, were they not the same store of a team."""
        if access.instance is None:
            return []
        return [
            other
            for other in self._not_known_at_once(access, mind)
            if other.instance == access.instance
            and (not mind.knows(other) or self._must_be_fenced(other, access, mind))
        ]

    def _not_known_at_once(self, access: Access, mind: Mind) -> Iterator[Access]:
        """
        The recorded accesses but those of agents of whose last one `mind` knows, and those of works of which it knows,
        where no fence is asked for: of the thousands that one agent makes to an array none is a stranger to the next. A
        read is none to a read.
        """
        kinds = (True, False) if access.is_write else (True,)
        needs_no_fence = access.proxy in WITHOUT_FENCES
        for is_write in kinds:
            made = self._by_works[is_write]
            yield from self._news(made, access.agent, mind) if needs_no_fence and access.work is None else made
        for maker, made in self._by_agents.items():
            agent, is_write = maker
            if is_write not in kinds:
                continue
            if not needs_no_fence:
                yield from made
            elif not mind.knows_moment(agent, self._latest[maker]):
                known = mind.clock.get(agent, -1)
                yield from (access for access in made if access.moment > known)

    def _news(self, made: Iterable[Access], agent: Who, mind: Mind) -> Iterator[Access]:
        """Those accesses of works of which `agent`, whose `mind` it is, does not know."""
        known = self._works_known.setdefault(agent.number, set())
        for access in made:
            if access not in known:
                if mind.knows(access):
                    known.add(access)
                else:
                    yield access

    def replaced_by(self, access: Access, mind: Mind) -> list[Access]:
        """The recorded accesses that `access` replaces: whatever races with one of them races with `access` as well."""
        return [
            other
            for other in self.overlapping(access.region)
            if (mind.knows(other) or (other.work is not None and other.work is access.work))
            and self._supersedes(access, other)
        ]

    @property
    def holds_a_write(self) -> bool:
        """Whether any of the recorded accesses is a write."""
        return any(access.is_write for access in self._filed)

    def all(self) -> list[Access]:
        """All recorded accesses, oldest first."""
        return sorted(self._filed, key=_step)

    def forget(self, access: Access) -> None:
        """Remove `access` from the record: no later access can race with it."""
        cells = self._filed.pop(access, ())
        self._asked = None
        self._made_like(access).pop(access, None)
        for known in self._works_known.values():
            known.discard(access)
        if cells is None:
            self._anywhere.pop(access)
            return
        for cell in cells:
            held = self._grid[cell]
            held.pop(access)
            if not held:
                del self._grid[cell]

    def _lacks_fence(self, other: Access, access: Access, mind: Mind) -> bool:
        if access.proxy in TENSOR_MEMORY:
            return _lacks_tensor_fence(other, access, mind)
        if other.proxy is not Proxy.GENERIC:
            return False
        if access.proxy is Proxy.TENSORMAP:
            return not mind.has_fenced(other, map_key(self.base, access.region.offset))
        if access.proxy is not Proxy.ASYNC:
            return False
        return not mind.has_fenced(other, self.base.space)

    def _must_be_fenced(self, other: Access, access: Access, mind: Mind) -> bool:
        """Whether a fence is missing, and that is a mistake."""
        return (other.is_write or not self.relaxed_proxy) and self._lacks_fence(other, access, mind)

    @staticmethod
    def _supersedes(access: Access, other: Access) -> bool:
        if other.is_write and not access.is_write:
            return False
        if access.is_atomic and not other.is_atomic:
            return False
        if other.proxy is Proxy.GENERIC and access.proxy is not Proxy.GENERIC:
            return False
        return access.region.covers(other.region)

    # The index: a box is filed under every cell that it touches ------------------------------------------------------

    def overlapping(self, region: ByteRegion) -> list[Access]:
        """The recorded accesses that share a byte with `region`, oldest first."""
        if self._asked is None or self._asked[0] is not region:
            start, stop = region.start, region.stop
            near = (other for other in self._near(region) if other.region.start < stop and start < other.region.stop)
            self._asked = region, [other for other in near if other.region.overlaps(region)]
        return self._asked[1]

    def _near(self, region: ByteRegion) -> Iterable[Access]:
        """The recorded accesses among which are those that overlap with `region`, oldest first."""
        cells = self._cells_of(region)
        if cells is None:
            return self.all()
        held = [each for each in (self._anywhere, *map(self._grid.get, cells)) if each]
        if len(held) < 2:
            return list(held[0]) if held else []
        return sorted({access: None for each in held for access in each}, key=_step)

    def _file(self, access: Access) -> None:
        cells = self._filed[access] = self._cells_of(access.region)
        self._asked = None
        self._file_by_maker(access)
        if cells is None:
            self._anywhere[access] = None
            return
        for cell in cells:
            self._grid.setdefault(cell, {})[access] = None

    def _file_by_maker(self, access: Access) -> None:
        self._made_like(access)[access] = None
        if access.work is None:
            maker = (access.agent.number, access.is_write)
            self._latest[maker] = max(access.moment, self._latest.get(maker, -1))

    def _made_like(self, access: Access) -> dict[Access, None]:
        """The recorded accesses, reads or writes, of who has made `access`."""
        if access.work is not None:
            return self._by_works[access.is_write]
        return self._by_agents.setdefault((access.agent.number, access.is_write), {})

    def _cells_of(self, region: ByteRegion) -> _Cells:
        if self._located is None or self._located[0] is not region:
            self._located = region, self._located_in(region)
        return self._located[1]

    def _located_in(self, region: ByteRegion) -> _Cells:
        box = region.hull
        if box is None:
            return None
        if not self._grain:
            self._grain = _extents(box)
        grains = self._grain
        first = tuple([low // grain for (low, _), grain in zip(box, grains, strict=True)])
        last = tuple([(high - 1) // grain for (_, high), grain in zip(box, grains, strict=True)])
        if first == last:
            return (first,)
        ranges = [range(low, high + 1) for low, high in zip(first, last, strict=True)]
        if prod(map(len, ranges)) <= self.MOST_CELLS:
            return tuple(product(*ranges))
        extents = _extents(box)
        if all(extent <= grain for extent, grain in zip(extents, grains, strict=True)):
            # In many dimensions even a box no larger than a cell lies across the corner of very many.
            return None
        self._enlarge_cells(extents)
        return self._cells_of(region)

    def _enlarge_cells(self, extents: tuple[int, ...]) -> None:
        """Make the cells as large as `extents`, at least. Each time they grow manifold: the cost stays linear."""
        self._grain = tuple(map(max, self._grain, extents))
        filed, self._filed = list(self._filed), {}
        self._grid, self._anywhere, self._located = {}, {}, None
        for access in filed:
            self._file(access)


def _lacks_tensor_fence(other: Access, access: Access, mind: Mind) -> bool:
    """
    Whether the two are not fenced. In one thread no fence is asked for, but before transfers to registers of what the
    tensor core has made (PTX ISA, "tcgen05 memory consistency model").
    """
    if other.proxy not in TENSOR_MEMORY:
        return False
    is_result = other.proxy is Proxy.TENSOR_CORE and access.proxy is Proxy.TENSOR_REGISTERS
    if other.agent is access.agent and not is_result:
        return False
    between = mind.fenced.get(after_sync(Proxy.TENSOR_REGISTERS, access.agent.number), {})
    if other.work is not None and between.get(other.agent.number, -1) >= other.moment:
        # Started before a `<before>` there; that it is complete as well, a pipeline sees to.
        return False
    return not mind.has_fenced(other, after_sync(other.proxy, access.agent.number))


def _extents(box: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    return tuple(high - low for low, high in box)
