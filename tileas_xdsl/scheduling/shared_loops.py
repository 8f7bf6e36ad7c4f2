"""
The same loop for several agents: one fills the rings, one or two compute.

    acquire, produce, commit     the producer's
    product, exponential, store  a computing agent's
    wait, read, release          every computing agent's that uses the slot, in the same cycle: each repeats it
    row * 64, the loop itself    whoever's that needs it, likewise

Each agent is a slot of its own, so what one does no longer keeps the others; which step comes before which stays as it
was. A signal between agents takes no longer than the step that gives it, as in the timed machine.

Which assignments are asked about are rules of the lowering, not of the machine: what fills rings is one producer's;
values in registers stay with the agent that computes them; there are at most two computing agents. What a computing
agent carries from iteration to iteration has to fit its registers. `partitions_of` yields every assignment that the
rules allow, so that none is better than the best of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, OpResult

from tileas_xdsl.analysis.loop_values import LoopValues
from tileas_xdsl.analysis.memory.effects import has_no_effects
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, FutureWaitOp
from tileas_xdsl.dialects.tiles.views import is_view
from tileas_xdsl.scheduling.loop_problem import LoopProblem
from tileas_xdsl.scheduling.modulo.problem import TimedOp
from tileas_xdsl.scheduling.op_times import memory_space, tile_bytes
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

    @property
    def agents(self) -> tuple[int | None, ...]:
        """For each op of the loop the agent that runs it; None where several do."""
        return tuple(next(iter(agents)) if len(agents) == 1 else None for agents in self.runs)


class OneAgentError(Exception):
    """The loop cannot be shared: the text says why."""


def partitions_of(found: LoopProblem, most: int) -> Iterator[SharedLoop]:
    """The loop shared by a producer and up to `most` - 1 computing agents, in every way that the rules allow."""
    work = _Work(found)
    for computing in range(1, most):
        for split in work.splits(computing):
            yield work.shared(split, computing)


def missing_words(shared: SharedLoop, *, hands_over: bool) -> str | None:
    """
    By how much what a computing agent carries from iteration to iteration exceeds its registers; None if it fits.
    `hands_over` says whether the producer's threads can leave theirs to others.
    """
    room = registers_each(shared.count, 1, hands_over=hands_over) - WORKING_REGISTERS
    for agent in range(COMPUTING, shared.count):
        words = _carried_words(shared, agent)
        if words > room:
            return f"registers: the tiles that an agent carries take {words} words of {room}"
    return None


def _carried_words(shared: SharedLoop, agent: int) -> int:
    values = LoopValues(shared.problem.loop)
    carried = {
        value: tile_bytes(value.type)
        for value in values.yielded
        if isinstance(value, OpResult) and value.op in values.position and memory_space(value.type) == "register"
        if agent in shared.runs[values.position[value.op]]
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
        self.parts = self._parts()
        work = frozenset(self.ops)
        made = zip(self.values.yielded, found.loop.results, strict=True)
        left = (value.owner for value, result in made if result.first_use is not None)
        self.leaving = [
            op for op in left if isinstance(op, Operation) and op in self.values.position and op not in work
        ]

    def _parts(self) -> list[list[Operation]]:
        """The ops that hang together by values, or by the order in which they touch memory; in program order."""
        mine, members = set(self.ops), {op: [op] for op in self.ops}
        for edge in self.found.problem.edges:
            pair = [self.values.ops[number] for number in (edge.source, edge.sink) if number < len(self.values.ops)]
            if len(pair) == 2 and mine.issuperset(pair) and members[pair[0]] is not members[pair[1]]:
                joined = members[pair[0]] + members[pair[1]]
                members |= dict.fromkeys(joined, joined)
        unique = {id(part): part for part in members.values()}
        return [sorted(part, key=self.values.position.__getitem__) for part in unique.values()]

    def splits(self, computing: int) -> Iterator[Sequence[int]]:
        """For each part its computing agent; the first part is the first agent's, so that no split comes twice."""
        if computing == 1:
            yield [COMPUTING] * len(self.parts)
        elif len(self.parts) <= MOST_PARTS:
            for others in product(range(computing), repeat=max(len(self.parts) - 1, 0)):
                if len({0, *others}) == computing:
                    yield [COMPUTING + choice for choice in (0, *others)]

    def shared(self, split: Sequence[int], computing: int) -> SharedLoop:
        """The loop with each part on its agent, and all that these need on every agent that needs it."""
        count = COMPUTING + computing
        needed = [self.filling]
        for agent in range(COMPUTING, count):
            mine = list(self.leaving) if agent == COMPUTING else []
            mine += [op for part, its in zip(self.parts, split, strict=True) if its == agent for op in part]
            needed.append(self._with_followers(mine))
        runs = [frozenset(agent for agent in range(count) if op in needed[agent]) for op in self.values.ops]
        # What nobody needs, the loop's results apart, is left to the first computing agent.
        runs = [agents or frozenset([COMPUTING]) for agents in runs]
        numbered = zip(self.found.problem.ops, runs, strict=False)
        ops = [_kept_by(op, agents, computing) for op, agents in numbered]
        # What stands for the loop's own arithmetic keeps all agents; the works of engines keep none.
        everyone = frozenset(range(count))
        ops += [_kept_by(op, everyone, computing) for op in self.found.problem.ops[len(runs) :]]
        problem = replace(self.found, problem=replace(self.found.problem, ops=tuple(ops)))
        return SharedLoop(problem, tuple(runs), count)

    def _with_followers(self, ops: Iterable[Operation]) -> set[Operation]:
        """`ops`, what they need, and the handshakes of the slots and products that are among that."""
        needed = _needed(self.values, ops)
        for follower in self.followers:
            read = (self.values.origin_of(value) for value in self.values.read_by(follower))
            makers = (origin.result.op for origin in read if origin.result is not None and origin.distance == 0)
            if any(maker in needed for maker in makers):
                needed |= _needed(self.values, [follower])
        return needed


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


def _needed(values: LoopValues, ops: Iterable[Operation]) -> set[Operation]:
    """`ops`, and all ops of the body from which their operands are computed, in this iteration or earlier ones."""
    needed: set[Operation] = set()
    waiting = list(ops)
    while waiting:
        op = waiting.pop()
        if op in needed:
            continue
        needed.add(op)
        origins = (values.origin_of(value) for value in values.read_by(op))
        waiting += [origin.result.op for origin in origins if origin.result is not None]
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
