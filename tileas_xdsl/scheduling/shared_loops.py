"""
The same loop for several agents: one fills the rings, one or two compute.

    acquire, produce, commit     the producer's
    product, exponential, store  a computing agent's
    wait, read, release          every computing agent's that uses the slot, in the same cycle: each repeats it
    row * 64, the loop itself    whoever's that needs it, likewise

Each agent is a slot of its own, so what one does no longer keeps the others; which step comes before which stays as it
was. A signal between agents takes no longer than the step that gives it, as in the timed machine.

Which assignments are asked about are rules of the lowering, not of the machine: what fills rings is one producer's;
what an iteration leaves to the next stays with the agent that computes it; only tiles move between computing agents,
of which there are at most two. What a computing agent carries from iteration to iteration has to fit its registers.
`partitions_of` yields every assignment in which no value moves, `dealt_partitions` every other one that the rules allow
and that leaves each agent less work than a given interval: so that none is better than the best of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, OpResult

from tileas_xdsl.analysis.loop_values import LoopValues
from tileas_xdsl.analysis.memory.effects import has_no_effects
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, FutureWaitOp
from tileas_xdsl.dialects.tiles.traits import is_view
from tileas_xdsl.scheduling.loop_problem import LoopProblem
from tileas_xdsl.scheduling.modulo.problem import TimedOp
from tileas_xdsl.scheduling.moved_values import MovedTile, given_cycles, may_move, taken_cycles, with_moves
from tileas_xdsl.scheduling.op_times import memory_space, tile_bytes
from tileas_xdsl.scheduling.register_tiles import TilesInRegisters, tiles_in_registers
from tileas_xdsl.targets.cycles import TimingTable
from tileas_xdsl.targets.machine_model import SlotUse
from tileas_xdsl.targets.machine_models import AGENT
from tileas_xdsl.targets.warps import WARP, WARP_GROUP, WORKING_REGISTERS, registers_each

PRODUCER, COMPUTING = 0, 1
"""The numbers of the producer and of the first computing agent, in the order in which they get their warps."""

MOST_COMPUTING = 2

MOST_PARTS = 6
"""A loop whose work falls into more parts is asked about with one computing agent only."""


@dataclass(frozen=True)
class SharedLoop:
    """A loop whose steps several agents share."""

    problem: LoopProblem
    runs: tuple[frozenset[int], ...]
    """For each op of the loop the agents that run it."""
    count: int
    moves: tuple[MovedTile, ...] = ()
    """The tiles that one computing agent makes and the other one uses."""

    @property
    def agents(self) -> tuple[int | None, ...]:
        """For each op of the loop the agent that runs it; None where several do."""
        return tuple(next(iter(agents)) if len(agents) == 1 else None for agents in self.runs)


MOST_DEALS = 512
"""More partitions in which values move are not asked about."""


class OneAgentError(Exception):
    """The loop cannot be shared: the text says why."""


class TooManyError(Exception):
    """There are more partitions than are asked about."""


def partitions_of(found: LoopProblem, most: int) -> Iterator[SharedLoop]:
    """The loop shared by a producer and up to `most` - 1 computing agents, in every way in which no value moves."""
    work = _Work(found)
    for computing in range(1, most):
        for split in work.splits(computing):
            owner = {op: its for part, its in zip(work.parts, split, strict=True) for op in part}
            shared = work.shared(owner, computing)
            assert shared is not None, "parts share nothing"
            yield shared


def dealt_partitions(found: LoopProblem, below: int, table: TimingTable) -> Iterator[SharedLoop]:
    """
    The loop shared by a producer and two computing agents between which tiles move, in every way that the rules allow
    and that keeps neither for `below` cycles or more: an agent that is kept for so long has no smaller interval.
    """
    work = _Work(found)
    for owner in work.deals(below, table):
        shared = work.shared(owner, MOST_COMPUTING, table)
        if shared is not None and shared.moves:
            yield shared


def missing_words(shared: SharedLoop, *, hands_over: bool) -> str | None:
    """
    By how much what a computing agent carries from iteration to iteration exceeds its registers; None if it fits.
    `hands_over` says whether the producer's threads can leave theirs to others.
    """
    runs = [
        [op for op, agents in zip(shared.problem.ops, shared.runs, strict=True) if agent in agents]
        for agent in range(COMPUTING, shared.count)
    ]
    return _missing(shared.problem, runs, registers_each(shared.count, 1, hands_over=hands_over))


def missing_words_of_one(found: LoopProblem, *, hands_over: bool) -> str | None:
    """The same for one agent, of as many threads as each of several has."""
    return _missing(found, [found.ops], registers_each(1, 0, hands_over=hands_over))


def tiles_of_shared(shared: SharedLoop, *, hands_over: bool) -> TilesInRegisters:
    """What the computing agents hold in registers."""
    names = slot_names(shared.count - 1)
    runs = {
        names[agent]: [op for op, its in zip(shared.problem.ops, shared.runs, strict=True) if agent in its]
        for agent in range(COMPUTING, shared.count)
    }
    room = registers_each(shared.count, 1, hands_over=hands_over) - WORKING_REGISTERS
    return tiles_in_registers(shared.problem, runs, shared.moves, room)


def tiles_of_one(found: LoopProblem, *, hands_over: bool) -> TilesInRegisters:
    """The same for one agent, of as many threads as each of several has."""
    return tiles_of_agent(found, registers_each(1, 0, hands_over=hands_over))


def tiles_of_agent(found: LoopProblem, registers: int) -> TilesInRegisters:
    """What one agent that runs all of `found` holds, where each of its threads has so many registers."""
    return tiles_in_registers(found, {AGENT: found.ops}, (), registers - WORKING_REGISTERS)


def _missing(found: LoopProblem, runs: Sequence[Sequence[Operation]], registers: int) -> str | None:
    room = registers - WORKING_REGISTERS
    words = max(_carried_words(found, ops) for ops in runs)
    return f"registers: the tiles that an agent carries take {words} words of {room}" if words > room else None


def _carried_words(found: LoopProblem, ops: Sequence[Operation]) -> int:
    """Registers of each thread for the tiles that `ops` leave to the next iteration."""
    mine = set(ops)
    carried = {
        value: tile_bytes(value.type)
        for value in LoopValues(found.loop).yielded
        if isinstance(value, OpResult) and value.op in mine and memory_space(value.type) == "register"
    }
    return -(-sum(carried.values()) // (4 * WARP * WARP_GROUP))


class _Work:
    """What the computing agents of a loop do, and the parts of it that share no values."""

    def __init__(self, found: LoopProblem) -> None:
        self.found = found
        self.values = LoopValues(found.loop)
        own = {op: _owner(op) for op in self.values.ops}
        if PRODUCER not in own.values():
            raise OneAgentError("no op of the loop fills a ring")
        self.filling = _needed(self.values, (op for op, owner in own.items() if owner == PRODUCER))
        wrong = next((op for op in self.values.ops if op in self.filling and own[op] == COMPUTING), None)
        if wrong is not None:
            raise OneAgentError(f"what fills a ring needs what '{op_name(wrong)}' of the computing agent makes")
        self.fills = frozenset(op for op, owner in own.items() if owner == PRODUCER)
        self.followers = [op for op in self.values.ops if _follows(op) and op not in self.fills]
        computing = [op for op in self.values.ops if op not in self.filling and not _follows(op)]
        self.ops = [op for op in computing if own[op] == COMPUTING or _makes_tile(op)]
        self._work = frozenset(self.ops)
        self._read = {op: self._read_by(op) for op in self.ops}
        self.parts = self._joined(lambda one, other, distance: True)
        made = zip(self.values.yielded, found.loop.results, strict=True)
        left = (value.owner for value, result in made if result.first_use is not None)
        self.leaving = [
            op for op in left if isinstance(op, Operation) and op in self.values.position and op not in self._work
        ]

    def _joined(self, holds: Callable[[Operation, Operation, int], bool]) -> list[list[Operation]]:
        """
        The ops that hang together by values, or by the order in which they touch memory, as far as the edge between two
        `holds` them together; in program order.
        """
        mine, members = set(self.ops), {op: [op] for op in self.ops}
        for edge in self.found.problem.edges:
            pair = [self.values.ops[number] for number in (edge.source, edge.sink) if number < len(self.values.ops)]
            if len(pair) < 2 or not mine.issuperset(pair) or not holds(pair[0], pair[1], edge.distance):
                continue
            if members[pair[0]] is not members[pair[1]]:
                joined = members[pair[0]] + members[pair[1]]
                members |= dict.fromkeys(joined, joined)
        unique = {id(part): part for part in members.values()}
        parts = [sorted(part, key=self.values.position.__getitem__) for part in unique.values()]
        return sorted(parts, key=lambda part: self.values.position[part[0]])

    # Work that is dealt although values move --------------------------------------------------------------------------

    def deals(self, below: int, table: TimingTable) -> Iterator[Mapping[Operation, int]]:
        """
        Owners of all ops, with less than `below` cycles for each of two agents, among them the sides of moves. At most
        `MOST_DEALS` of them: `TooManyError` is raised behind these.
        """
        atoms = self._joined(lambda one, other, distance: distance > 0 or not self._may_part(one, other))
        agents = range(COMPUTING, COMPUTING + MOST_COMPUTING)
        found = 0

        def deal(number: int, owner: dict[Operation, int]) -> Iterator[Mapping[Operation, int]]:
            nonlocal found
            if number == len(atoms):
                found += 1
                if found > MOST_DEALS:
                    raise TooManyError
                yield dict(owner)
                return
            for agent in agents if number else agents[:1]:
                more = owner | dict.fromkeys(atoms[number], agent)
                if max(self._kept(more, table)) < below:
                    yield from deal(number + 1, more)

        yield from deal(0, {})

    def _may_part(self, maker: Operation, user: Operation) -> bool:
        """Whether nothing but tiles that may move leads from `maker` to `user`."""
        read = [value for value in self._read[user] if value.op is maker]
        pure = has_no_effects(maker) or has_no_effects(user)
        return pure and bool(read) and all(map(may_move, read))

    def _read_by(self, user: Operation) -> list[OpResult]:
        """What `user` reads of other ops of the work in the same iteration."""
        origins = [self.values.origin_of(value) for value in self.values.read_by(user)]
        made = [it.result for it in origins if it.result is not None and it.distance == 0]
        return [result for result in made if result.op in self._work]

    def _kept(self, owner: Mapping[Operation, int], table: TimingTable) -> list[int]:
        """For how many cycles the ops that have an owner keep each agent: by themselves, and by sides of moves."""
        kept = [0] * (COMPUTING + MOST_COMPUTING)
        moved: dict[tuple[OpResult, int], None] = {}
        for op, agent in owner.items():
            kept[agent] += self.found.times[op].agent
            values = (it for it in self._read[op] if owner.get(it.op, agent) != agent)
            moved |= dict.fromkeys((value, agent) for value in values)
        for value, taker in moved:
            kept[taker] += taken_cycles(tile_bytes(value.type), table)
            kept[owner[value.op]] += given_cycles(tile_bytes(value.type), table)
        return kept

    def _moves(self, owner: Mapping[Operation, int], computing: int) -> list[MovedTile]:
        """The tiles that move, each to the one agent that does not make it."""
        users: dict[OpResult, list[int]] = {}
        for op in self.ops:
            for value in self._read[op]:
                if owner[value.op] != owner[op]:
                    users.setdefault(value, []).append(self.values.position[op])
        names = slot_names(computing)
        return [
            MovedTile(
                value,
                self.values.position[self._anchor(value.op)],
                tuple(its),
                names[owner[value.op]],
                names[owner[self.values.ops[its[0]]]],
            )
            for value, its in users.items()
        ]

    def _anchor(self, maker: Operation) -> Operation:
        """The op behind which what `maker` makes is there: itself, or the wait for a product."""
        if not isinstance(maker, AsyncDotOp):
            return maker
        waits = (it for it in self.followers if isinstance(it, AsyncWaitOp) and maker.done in it.operands)
        return next(waits, maker)

    def splits(self, computing: int) -> Iterator[Sequence[int]]:
        """For each part its computing agent; the first part is the first agent's, so that no split comes twice."""
        if computing == 1:
            yield [COMPUTING] * len(self.parts)
        elif len(self.parts) <= MOST_PARTS:
            for others in product(range(computing), repeat=max(len(self.parts) - 1, 0)):
                if len({0, *others}) == computing:
                    yield [COMPUTING + choice for choice in (0, *others)]

    def shared(
        self, owner: Mapping[Operation, int], computing: int, table: TimingTable | None = None
    ) -> SharedLoop | None:
        """
        The loop with each op of the work on its agent, and all that these need on every agent that needs it; None where
        an agent needs what another one makes by anything else than a tile.
        """
        count = COMPUTING + computing
        moves = self._moves(owner, computing)
        needed = [self.filling]
        for agent in range(COMPUTING, count):
            mine = list(self.leaving) if agent == COMPUTING else []
            mine += [op for op, its in owner.items() if its == agent]
            elsewhere = frozenset(op for op, its in owner.items() if its != agent)
            ours = self._with_followers(mine, elsewhere)
            if ours is None:
                return None
            needed.append(ours)
        runs = [frozenset(agent for agent in range(count) if op in needed[agent]) for op in self.values.ops]
        # What nobody needs, the loop's results apart, is left to the first computing agent.
        runs = [agents or frozenset([COMPUTING]) for agents in runs]
        numbered = zip(self.found.problem.ops, runs, strict=False)
        ops = [_kept_by(op, agents, computing) for op, agents in numbered]
        # What stands for the loop's own arithmetic keeps all agents; the works of engines keep none.
        everyone = frozenset(range(count))
        ops += [_kept_by(op, everyone, computing) for op in self.found.problem.ops[len(runs) :]]
        problem = replace(self.found.problem, ops=tuple(ops))
        if moves:
            assert table is not None, "what moves takes the time that a table says"
            problem = with_moves(problem, moves, table)
        return SharedLoop(replace(self.found, problem=problem), tuple(runs), count, tuple(moves))

    def _with_followers(
        self, ops: Iterable[Operation], elsewhere: frozenset[Operation] = frozenset()
    ) -> set[Operation] | None:
        """
        `ops`, what they need, and the handshakes of the slots and products that are among that; None where that is more
        than tiles of the ops that run `elsewhere`.
        """
        needed = _needed(self.values, ops, elsewhere)
        for follower in self.followers:
            read = (self.values.origin_of(value) for value in self.values.read_by(follower))
            makers = (origin.result.op for origin in read if origin.result is not None and origin.distance == 0)
            if any(maker in needed for maker in makers):
                needed |= _needed(self.values, [follower], elsewhere)
        return None if any(self._needs_number(op, elsewhere) for op in needed) else needed

    def _needs_number(self, op: Operation, elsewhere: frozenset[Operation]) -> bool:
        """Whether `op` reads of the ops that run `elsewhere` what is no tile, or of an earlier iteration."""
        origins = (self.values.origin_of(value) for value in self.values.read_by(op))
        read = [it for it in origins if it.result is not None and it.result.op in elsewhere]
        return any(it.distance or op not in self._work or not may_move(it.result) for it in read if it.result)


def _owner(op: Operation) -> int | None:
    """The kind of agent that has to run `op`; None where any may, since it has no effect."""
    if isinstance(op, ClassifiedOp):
        return PRODUCER if op.side == "producer" else COMPUTING
    return None if has_no_effects(op) else COMPUTING


def _follows(op: Operation) -> bool:
    """Whether `op` takes or gives back a slot, or waits: every agent that uses what it is for repeats it."""
    return isinstance(op, ClassifiedOp | AsyncWaitOp | FutureWaitOp)


def _makes_tile(op: Operation) -> bool:
    """Whether `op` computes a tile in registers: not a view, which is another name of a slot."""
    return any(_is_tile(it.type) and memory_space(it.type) == "register" and not is_view(it) for it in op.results)


def _is_tile(type_: Attribute) -> bool:
    return isinstance(type_, TensorType)


def _needed(
    values: LoopValues, ops: Iterable[Operation], elsewhere: frozenset[Operation] = frozenset()
) -> set[Operation]:
    """
    `ops`, and all ops of the body from which their operands are computed, in this iteration or earlier ones, without
    those that run `elsewhere` and what only these need.
    """
    needed: set[Operation] = set()
    waiting = list(ops)
    while waiting:
        op = waiting.pop()
        if op in needed:
            continue
        needed.add(op)
        origins = (values.origin_of(value) for value in values.read_by(op))
        makers = [origin.result.op for origin in origins if origin.result is not None]
        waiting += [maker for maker in makers if maker not in elsewhere]
    return needed


def slot_names(computing: int) -> tuple[str, ...]:
    """What each agent is called as a slot."""
    if computing == 1:
        return ("producer agent", "computing agent")
    return ("producer agent", *(f"computing agent {number}" for number in range(1, computing + 1)))


def _kept_by(op: TimedOp, agents: frozenset[int], computing: int) -> TimedOp:
    """`op` with what it takes of the one agent taken of each of `agents` instead."""
    names = [slot_names(computing)[agent] for agent in sorted(agents)]
    uses: list[SlotUse] = []
    for use in op.uses:
        uses += [replace(use, slot=name) for name in names] if use.slot == AGENT else [use]
    return replace(op, uses=tuple(uses))
