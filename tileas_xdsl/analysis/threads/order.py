"""
Where the threads of a team have to wait for each other, and where they order their accesses before those of engines.

    copy %held, %tile                          what threads write ..
    -> fence.proxy.async                       .. an engine reads by another proxy: each thread orders its own writes
    -> barrier                                 .. and none goes on until all have written
    async.dot %tile, %b, %acc

One walk knows at an op what the team has touched since its last barrier (*pending*), another one what its threads have
touched since their last fence (*unfenced*). An op that meets a pending access needs a barrier in front of it: in front
of the outermost loop or branch around it that has none of the earlier accesses, so that what only the code in front
needs does not stand in a loop. An engine that meets an unfenced access of threads needs a fence in front of the barrier
between.
In a slot of a ring the op that hands it over takes the part of the barrier. A slot that an agent gives back is filled
again where that agent gives back as many others as there are slots, for it takes them in turn. A wait for a slot that
all threads of the agent have filled takes the part of a barrier: what each had fenced before it arrived is in order.

Barriers are inserted from the first op on. Then each is dropped, the deepest in loops first, where others cover what it
ordered, and else becomes one of warps, where what threads exchange stays in theirs; the fences come behind, as they
stand at barriers. So what is left is locally minimal.

Conditions of branches and bounds of loops are scalars, equal in all threads of a team, so a barrier in an arm or a body
is reached by all of them or by none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from tileas_xdsl.analysis.forward_flow import Arrival, FlowClient, analyse
from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.analysis.threads.accesses import Access, Accesses, Proxy, Span
from tileas_xdsl.analysis.threads.columns import Columns
from tileas_xdsl.analysis.threads.liveness import agent_of
from tileas_xdsl.analysis.threads.places import Place, place_of
from tileas_xdsl.analysis.threads.products import Underway, is_in_tensor_memory, reads_shared_memory, tokens_in_scope
from tileas_xdsl.analysis.threads.rings import Slots
from tileas_xdsl.analysis.threads.stores import stores_behind
from tileas_xdsl.analysis.threads.teams import is_of_one_warp, warpgroups_of_agent
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.memory import AsyncTiledLoadOp
from tileas_xdsl.dialects.nv_tileas.tma import TiledTmaStoreOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.dialects.nvvm.barrier import Barrier0Op, BarrierOp, SyncWarpOp
from tileas_xdsl.dialects.nvvm.fence import FenceProxyOp
from tileas_xdsl.layouts.distributed import WARPGROUP


@dataclass(frozen=True)
class Reason:
    """An access, and a later one that has to come behind it in all threads."""

    earlier: Access
    later: Access

    def is_within(self, warps: int) -> bool:
        """Whether the accesses are apart where the threads of so many neighbouring warps have met in between."""
        return not replace(self.earlier, met=warps).meets(self.later)


@dataclass(frozen=True)
class Ordering:
    """What has to stand where."""

    barriers: Mapping[Operation, Reason]
    """In front of which op a barrier of its team stands, and for what."""
    meeting: Mapping[Operation, int]
    """Those of `barriers` at which not all warps meet, but each so many neighbouring ones for themselves: 1 or 4."""
    fences: Mapping[Operation, Reason]
    """In front of which op, and of the barrier there, a proxy fence stands; for a slot the op that hands it over."""
    open: Sequence[Reason] = ()
    """What no barrier can order: an engine goes on with the earlier access, and nobody can wait for it."""
    waits: Mapping[Operation, SSAValue] = field(default_factory=dict[Operation, SSAValue])
    """In front of which op, and of the barrier there, a product has to be waited for, and by which token."""
    of_tensor_memory: frozenset[Operation] = frozenset()
    """Those of `barriers` that stand between what threads have loaded from tensor memory, or stored there, and what is
    done to it later: it has fences of its own, on both sides of a barrier (PTX ISA, "tcgen05.fence")."""


def ordering(function: Operation) -> Ordering:
    """The barriers and fences that a function of tiles needs, whose shared tiles have places."""
    facts = _Facts(function)
    barriers: dict[Operation, Reason] = {}
    while met := _met(facts, barriers):
        op = min(met, key=facts.position.__getitem__)
        reasons = met[op]
        point = point_of(op, [reason.earlier.op for reason in reasons])
        stuck = [reason for reason in reasons if reason.earlier.under_way]
        if stuck and not _waited_for(facts, stuck, point):
            return Ordering(barriers, {}, {}, stuck)
        if stuck:
            continue
        assert point not in barriers
        barriers[point] = reasons[0]
    barriers = _needed(facts, barriers, lambda kept: facts.first(_met(facts, kept)))
    facts.meeting = _meeting(facts, barriers)
    fences: dict[Operation, Reason] = {}
    while unfenced := _fencing(facts, barriers, fences).unfenced:
        for reason in unfenced:
            assert reason.earlier.barrier is not None
            fences.setdefault(reason.earlier.barrier, reason)
    fences = _needed(facts, fences, lambda kept: next(iter(_fencing(facts, barriers, kept).unfenced), None))
    crossed = frozenset(_fencing(facts, barriers, {}).crossed)
    return Ordering(barriers, facts.meeting, fences, waits=facts.waits, of_tensor_memory=crossed)


def _waited_for(facts: _Facts, stuck: Sequence[Reason], point: Operation) -> bool:
    """Wait in front of `point` for the products that go on with the earlier accesses; whether a token is at hand."""
    earlier = {reason.earlier.op for reason in stuck}
    products = [op for op in earlier if isinstance(op, AsyncDotOp)]
    if point in facts.waits or len(products) < len(earlier):
        return False
    token = facts.underway.last_wait(products, point, tokens_in_scope(point))
    if token is not None:
        facts.waits[point] = token
    return token is not None


def _needed(
    facts: _Facts,
    found: dict[Operation, Reason],
    left_open: Callable[[dict[Operation, Reason]], Reason | None],
) -> dict[Operation, Reason]:
    """What is left when each is dropped that can be, the deepest in loops first; and what each is for."""
    for op in sorted(found, key=lambda each: (-_depth(each), facts.position[each])):
        kept = {each: reason for each, reason in found.items() if each is not op}
        reason = left_open(kept)
        found = kept if reason is None else {**found, op: reason}
    return found


def _meeting(facts: _Facts, barriers: dict[Operation, Reason]) -> Mapping[Operation, int]:
    """The barriers at which it is enough that the threads of each warp meet, or those of each warpgroup."""
    found: dict[Operation, int] = {}
    for op in sorted(barriers, key=lambda each: (-_depth(each), facts.position[each])):
        for warps in (1, WARPGROUP) if warpgroups_of_agent(op) > 1 else (1,):
            if op not in found and barriers[op].is_within(warps):
                facts.meeting = {**found, op: warps}
                found = found if _met(facts, barriers) else facts.meeting
    return found


def _depth(op: Operation) -> int:
    """How many loops are around an op."""
    around, depth = op.parent_op(), 0
    while around is not None:
        depth += isinstance(around, scf.ForOp | scf.WhileOp)
        around = around.parent_op()
    return depth


def point_of(op: Operation, earlier: Sequence[Operation]) -> Operation:
    """
    In front of which op a barrier stands that `op` needs because of what `earlier` ops did. Where some of them stand in
    front of agents, all agents wait for those at once.
    """
    agent = agent_of(op)
    in_front = [each for each in earlier if agent is not None and agent_of(each) is not agent]
    earlier = in_front or earlier
    point = op
    while isinstance(around := point.parent_op(), AROUND):
        if not isinstance(around, ProduceOp) and any(around.is_ancestor(each) for each in earlier):
            break
        point = around
    return point


AROUND = (scf.ForOp, scf.IfOp, scf.WhileOp, ProduceOp, AgentSwitchOp)
"""Ops around a barrier in front of which it may stand as well."""
CONTROL = (*AROUND, scf.ExecuteRegionOp, scf.IndexSwitchOp)
"""Ops whose results and arguments are new names of what others have made."""
ORDERING = (AsyncWaitOp, Barrier0Op, BarrierOp, DotOp, FenceProxyOp, SyncWarpOp)
"""Ops behind which something is in order."""


# The walk -------------------------------------------------------------------------------------------------------------


_State = frozenset[Access]
"""What has been touched since."""


def _mapped(accesses: _State, change: Callable[[Access], Access]) -> _State:
    """The accesses, changed; the same set where none is, as behind nearly all ops."""
    changed = {access: other for access in accesses if (other := change(access)) is not access}
    return accesses.difference(changed).union(changed.values()) if changed else accesses


class _Facts:
    """What walks of one function share."""

    def __init__(self, function: Operation) -> None:
        self.function = function
        self.position = {op: number for number, op in enumerate(function.walk())}
        self.underway = Underway(function)
        self.waits: dict[Operation, SSAValue] = {}
        """In front of which op a product is waited for besides."""
        self.meeting: Mapping[Operation, int] = {}
        """In front of which op only so many neighbouring warps meet."""
        self._passed: dict[tuple[Access, Operation], Access] = {}
        accesses = Accesses(function)
        self.rings = accesses.rings
        self.arrivals = frozenset(self.rings.meetings.values())
        """Where all threads of an agent arrive, and wait for each other later."""
        self.slots_end = any(place.over_rings for place in map(place_of, function.walk()) if place is not None)
        """Whether tiles come to lie in slots of rings, when these are empty for good."""
        self.accesses = {op: found for op in function.walk() if (found := accesses.of(op))}
        self.named = frozenset[SSAValue]().union(*(each.names for found in self.accesses.values() for each in found))
        """What says where accesses go. Other names come in as arguments and results of loops and branches only."""
        self.ops: dict[Block, list[Operation]] = {}
        """What a walk looks at in each block."""
        self._look_into(function)
        self.engines: dict[Slots, list[Access]] = {}
        """What engines do to slots."""
        for access in (access for found in self.accesses.values() for access in found):
            if access.proxy is Proxy.ASYNC and isinstance(access.object, Slots):
                self.engines.setdefault(access.object, []).append(access)

    def _look_into(self, op: Operation) -> bool:
        """Note which ops within `op` a walk looks at; whether there are any."""
        for block in (block for region in op.regions for block in region.blocks):
            found = [each for each in block.ops if self._look_into(each) or self._changes(each)]
            end = block.last_op
            if end is not None and end not in found and (found or isinstance(op, CONTROL) or end.successors):
                found.append(end)
            self.ops[block] = found
        return any(self.ops[block] for region in op.regions for block in region.blocks)

    def _changes(self, op: Operation) -> bool:
        """Whether an op by itself may change what has been touched since, or meets it."""
        rings, known = self.rings, op in self.accesses or isinstance(op, (*CONTROL, *ORDERING))
        is_of_ring = op in self.arrivals or op in rings.meetings or bool(rings.handed_over_by(op))
        return known or is_of_ring or not self.named.isdisjoint(op.results)

    def passed(self, access: Access, barrier: Operation) -> Access:
        """An access whose threads have passed a barrier since: the same one in each walk."""
        if _stays(access) or access.barrier is barrier:
            return access
        if (access, barrier) not in self._passed:
            self._passed[access, barrier] = replace(access, barrier=barrier)
        return self._passed[access, barrier]

    def first(self, met: Mapping[Operation, Sequence[Reason]]) -> Reason | None:
        """The first that is open; None where nothing is."""
        return met[min(met, key=self.position.__getitem__)][0] if met else None

    def engine_elsewhere(self, earlier: Access, slots: Slots) -> Access | None:
        """What an engine of another agent does to a slot that has been handed over, if it gets there."""
        if earlier.handed_over <= (0 if earlier.writes else slots.depth):
            return None
        return next((each for each in self.engines.get(slots, ()) if self._is_elsewhere(earlier, each)), None)

    def fills_at_home(self, access: Access) -> bool:
        """Whether only the agent that has made an access lets engines get to the slots."""
        engines = self.engines.get(access.object, ()) if isinstance(access.object, Slots) else ()
        return all(agent_of(each.op) is agent_of(access.op) for each in engines)

    def _is_elsewhere(self, earlier: Access, later: Access) -> bool:
        agent = agent_of(later.op)
        is_over = agent is None and self.position[later.op] < self.position[earlier.op]
        return agent is not agent_of(earlier.op) and not is_over and earlier.meets(later)


def _met(facts: _Facts, barriers: Mapping[Operation, Reason]) -> Mapping[Operation, Sequence[Reason]]:
    """What meets a pending access, given barriers, by the later op."""
    walk = _Pending(facts, barriers)
    analyse(facts.function, walk, _State())
    return walk.met


def _fencing(facts: _Facts, barriers: Mapping[Operation, Reason], fences: Mapping[Operation, Reason]) -> _Unfenced:
    walk = _Unfenced(facts, barriers, fences)
    analyse(facts.function, walk, _State())
    return walk


@dataclass
class _Walk(FlowClient[_State], ABC):
    """The client of the forward analysis: what a function leaves unordered, given barriers."""

    facts: _Facts
    barriers: Mapping[Operation, Reason]

    @abstractmethod
    def _behind_fence(self, state: _State) -> _State:
        """What is left behind a fence."""

    @abstractmethod
    def _behind_meeting(self, state: _State, warps: int, op: Operation) -> _State:
        """What is left behind a barrier of so many neighbouring warps."""

    @abstractmethod
    def _behind_barrier(self, state: _State, op: Operation) -> _State:
        """What is left behind a barrier of the team."""

    @abstractmethod
    def _note(self, own: Access, state: _State) -> None:
        """Note what an access meets."""

    @abstractmethod
    def _behind(self, state: _State, own: Sequence[Access], *, with_slots: bool = False) -> _State:
        """The state behind so many more."""

    def join(self, arrivals: Sequence[Arrival[_State]]) -> _State:
        return _State().union(*(arrival.state for arrival in arrivals))

    def ops(self, block: Block) -> Iterable[Operation]:
        return self.facts.ops.get(block, ())

    def runs_in_place(self, op: Operation) -> bool:
        return isinstance(op, ProduceOp)

    def enter(self, op: Operation, state: _State) -> _State:
        if op.regions:
            state = _mapped(state, lambda access: access.without(lambda name: _is_made_within(op, name)))
        if op in self.facts.waits:
            state = self._behind_wait(state, self.facts.waits[op], op)
        if op in self.facts.meeting:
            state = self._behind_meeting(state, self.facts.meeting[op], op)
        elif op in self.barriers or _is_barrier(op):
            state = self._behind_barrier(state, op)
        for own in self.facts.accesses.get(op, ()):
            self._note(own, state)
        return state

    def leave(self, op: Operation, state: _State) -> _State:
        results = set(op.results)
        if results and not op.regions:
            state = _mapped(state, lambda access: access.without(results.__contains__))
        if isinstance(op, FenceProxyOp):
            state = self._behind_fence(state)
        state = self._waited(op, state)
        own = [access for access in self.facts.accesses.get(op, ()) if access.span is not Span.LAST]
        return self._behind(state, own, with_slots=self.facts.slots_end) if own else state

    def _waited(self, op: Operation, state: _State) -> _State:
        """What is over behind an op that waits for work under way."""
        match op:
            case AsyncWaitOp() if isinstance(op.token.owner, AsyncTiledLoadOp):
                return _mapped(state, lambda access: _over(access, isinstance(access.op, AsyncTiledLoadOp)))
            case AsyncWaitOp() if stores_behind(op.token):
                agent = agent_of(op)
                return _mapped(state, lambda access: _over(access, _is_store_of(agent, access.op)))
            case AsyncWaitOp():
                return self._behind_wait(state, op.token, op)
            case DotOp() if reads_shared_memory(op):
                return _mapped(state, lambda access: _over(access, isinstance(access.op, AsyncDotOp)))
            case _:
                return state

    def _behind_wait(self, state: _State, token: SSAValue, point: Operation) -> _State:
        """What is over behind a wait for a product."""
        return _mapped(state, lambda access: _over(access, self._is_over(access, token, point)))

    def _is_over(self, access: Access, token: SSAValue, point: Operation) -> bool:
        return isinstance(access.op, AsyncDotOp) and self.facts.underway.is_waited_for(access.op, token, point)

    def assign(self, state: _State, targets: Sequence[SSAValue], sources: Sequence[SSAValue | None]) -> _State:
        """
        Numbers go on under other names, and those that a loop makes anew are lost; of an index it is known how it has
        grown. (What a region that fills a slot hands on is no number.)
        """
        block, given = targets[0].owner, list(zip(targets, sources, strict=False))
        loop = block.parent_op() if isinstance(block, Block) else None
        index = targets[0] if isinstance(loop, scf.ForOp) and sources[0] is None else None
        step = constant_integer(loop.step) if isinstance(loop, scf.ForOp) else None

        def is_lost(name: SSAValue) -> bool:
            return name is not index and (name in targets or _is_made_in(block, name))

        def renamed(access: Access) -> Access:
            names = {target for target, source in given if source in access.slot}
            found = access.without(is_lost)
            if index is not None and found.tile is not None:
                found = replace(found, tile=found.tile.grown(index, step))
            return replace(found, slot=found.slot | names) if names else found

        return _mapped(state, renamed)

    def leave_elsewhere(self, op: Operation, state: _State) -> _State:
        """Agents may still be at whatever they do: what stands behind them waits for all of it."""
        done = [access for inner in op.walk() for access in self.facts.accesses.get(inner, ())]
        done = [access for access in done if not isinstance(access.object, Slots)]
        own = [replace(access, slot=frozenset[SSAValue](), tile=None, holder=None) for access in done]
        return self._behind(state, [access for access in own if access.span is Span.AT_ONCE])


@dataclass
class _Pending(_Walk):
    """What the team has touched since its last barrier."""

    met: dict[Operation, list[Reason]] = field(default_factory=dict[Operation, list[Reason]])
    """By the later op: what meets a pending access."""

    def _behind_fence(self, state: _State) -> _State:
        return state

    def _behind_meeting(self, state: _State, warps: int, op: Operation) -> _State:
        return frozenset(replace(access, met=max(warps, access.met)) for access in state)

    def _behind_barrier(self, state: _State, op: Operation) -> _State:
        """All have done what they had to do; what goes on by itself goes on."""
        return frozenset(access for access in state if access.under_way)

    def _behind_wait(self, state: _State, token: SSAValue, point: Operation) -> _State:
        left = (each for each in state if not (_is_known_to_all(each) and self._is_over(each, token, point)))
        return super()._behind_wait(frozenset(left), token, point)

    def _note(self, own: Access, state: _State) -> None:
        for earlier in state if not isinstance(own.object, Slots) else ():
            if earlier.meets(own):
                reasons = self.met.setdefault(own.op, [])
                reasons += [reason] if (reason := Reason(earlier, own)) not in reasons else []

    def _behind(self, state: _State, own: Sequence[Access], *, with_slots: bool = False) -> _State:
        """Slots are handed over, unless something else may come to lie there."""
        return state.union(access for access in own if with_slots or not isinstance(access.object, Slots))


@dataclass
class _Unfenced(_Walk):
    """What the threads of the team have touched since their last fence."""

    fences: Mapping[Operation, Reason]
    unfenced: list[Reason] = field(default_factory=list[Reason])
    """What engines meet that threads have not fenced."""
    crossed: set[Operation] = field(default_factory=set[Operation])
    """The barriers between what threads have done to tensor memory and what is done to it later."""

    def enter(self, op: Operation, state: _State) -> _State:
        arrival = self.facts.rings.meetings.get(op)
        if op in self.fences:
            state = self._behind_fence(state)
        if arrival is not None:  # all threads have filled the slot: what each had fenced before is in order then
            state = frozenset(
                each for each in state if arrival not in each.arrived or not self.facts.fills_at_home(each)
            )
        return super().enter(op, state)

    def leave(self, op: Operation, state: _State) -> _State:
        if op in self.facts.arrivals:
            arrived = (replace(each, arrived=each.arrived | {op}) if each.fenced else each for each in state)
            state = frozenset(arrived)
        for slots in self.facts.rings.handed_over_by(op):
            state = self._handed_over(op, slots, state)
        return super().leave(op, state)

    def _handed_over(self, op: Operation, slots: Slots, state: _State) -> _State:
        """Behind an op that hands a slot over. An engine of another agent may get there at once."""
        state = _mapped(state, lambda access: _counted(access, op, slots))
        for earlier in (access for access in state if access.object == slots):
            later = self.facts.engine_elsewhere(earlier, slots)
            self.unfenced += [] if later is None else [Reason(earlier, later)]
        return state

    def _behind_fence(self, state: _State) -> _State:
        """
        What has been done is ordered before what engines do later. What goes on is not, and for a slot that has been
        handed over the fence is too late, up to the next barrier. Tensor memory has fences of its own.
        """
        late = (
            replace(access, fenced=access.handed_over > 0)
            for access in state
            if access.under_way or access.handed_over or isinstance(access.object, Columns)
        )
        return frozenset(late)

    def _behind_meeting(self, state: _State, warps: int, op: Operation) -> _State:
        """A fence for what threads have done may stand in front of it."""
        return _mapped(
            state, lambda access: access if access.barrier or _stays(access) else replace(access, barrier=op)
        )

    def _behind_barrier(self, state: _State, op: Operation) -> _State:
        """What threads fenced in a slot is in order for the engines that they start from here on."""
        left = (access for access in state if not (access.fenced and self.facts.fills_at_home(access)))
        return frozenset(self.facts.passed(access, op) for access in left)

    def _note(self, own: Access, state: _State) -> None:
        if isinstance(own.object, Columns):
            met = (earlier for earlier in state if earlier.meets(own))
            self.crossed |= {earlier.barrier for earlier in met if earlier.barrier is not None}
        elif own.proxy is Proxy.ASYNC:
            met = (earlier for earlier in state if earlier.meets(own))
            self.unfenced += [Reason(earlier, own) for earlier in met if _is_in_turn(earlier)]

    def _behind(self, state: _State, own: Sequence[Access], *, with_slots: bool = False) -> _State:
        """No engine reads arrays that threads write."""
        generic = (access for access in own if access.proxy is Proxy.GENERIC)
        return state.union(access for access in generic if isinstance(access.object, Place | Slots | Columns))


def _is_made_in(block: Operation | Block, name: SSAValue) -> bool:
    """Whether a run of a block makes a name anew."""
    maker = _maker(name)
    return isinstance(block, Block) and maker is not None and block.find_ancestor_op_in_block(maker) is not None


def _is_made_within(op: Operation, name: SSAValue) -> bool:
    """Whether a run of the regions of an op makes a name anew."""
    maker = _maker(name)
    return maker is not None and op.is_ancestor(maker) and name.owner is not op


def _maker(name: SSAValue) -> Operation | None:
    """The op that makes a name, or whose region has it as an argument."""
    return name.owner if isinstance(name.owner, Operation) else name.owner.parent_op()


def _is_in_turn(access: Access) -> bool:
    """Whether an engine may get to what has been accessed: a slot has to be handed over."""
    return not isinstance(access.object, Slots) or access.handed_over > 0


def _counted(access: Access, op: Operation, slots: Slots) -> Access:
    """The same access when its agent has handed over a slot of a ring."""
    if access.object != slots or access.handed_over > slots.depth:
        return access
    return replace(access, barrier=access.barrier or op, handed_over=access.handed_over + 1)


def _is_store_of(agent: Region | None, op: Operation) -> bool:
    """Whether an op is a store by TMA of this agent: one thread waits for all that it has started."""
    return isinstance(op, TiledTmaStoreOp) and agent_of(op) is agent


def _is_barrier(op: Operation) -> bool:
    """Whether all threads that run an op meet at it."""
    return isinstance(op, Barrier0Op | BarrierOp) or (isinstance(op, SyncWarpOp) and is_of_one_warp(op))


def _stays(access: Access) -> bool:
    """Whether a barrier of the team makes no difference to an access."""
    return access.under_way or isinstance(access.object, Slots)


def _is_known_to_all(access: Access) -> bool:
    """Whether the end of a product is known to each thread that waits for it: it is not the work of warps."""
    return isinstance(access.op, AsyncDotOp) and is_in_tensor_memory(access.op)


def _over(access: Access, is_over: bool) -> Access:
    return replace(access, under_way=False) if is_over and access.under_way else access
