"""
Which agent runs which op: what fills rings goes to producers, what else has an effect or computes to consumers.

    acquire, load, commit        the producer's
    product, store               a consumer's, who takes from rings what it needs
    row * 64, the loop itself    whoever needs it: arithmetic, control and loads of what nobody writes are repeated

Nothing but rings orders agents, so they must not touch each other's memory.

Input: the ops that agents share out. Output: for each its agent, or that any may repeat it, or that it follows the
agents that hold what it works on. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.analysis.induction import LoopIndices, constant_integer
from tileas_xdsl.analysis.memory.effects import EffectReader, has_no_effects
from tileas_xdsl.analysis.memory.objects import REGISTER, MemoryRoot, ObjectFinder, ObjectKind, may_alias
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.nv_tileaa.memory import TiledStoreOp
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp
from tileas_xdsl.dialects.nv_tileas.types import is_token
from tileas_xdsl.interfaces import Effect
from tileas_xdsl.transforms.loops.persistent_loop import ASKS_FOR_A_PROGRAM
from tileas_xdsl.transforms.tileas.materialize_schedule.warps import NoPartitionError
from tileas_xdsl.transforms.tileas.materialize_schedule.work import ConsumerWork, arms, is_control, leaves_of, two_parts

PRODUCER, CONSUMER = 0, 1
"""The numbers of the agents, where no op asks for another one: consumers count on."""

AGENT = "agent"
"""On an op of a scheduled loop: the number of its agent, where the schedule has decided that."""


@dataclass(frozen=True, eq=False)
class Ownership:
    """Who runs what."""

    owners: Mapping[Operation, int | None]
    """Op that is no control flow -> its agent; None where any may repeat it, or where it is a follower."""
    followers: Mapping[Operation, None]
    """Handshakes of consumers, and waits: run by every agent that holds what they work on."""
    agents: int

    roots: Mapping[Operation, None]
    """Ops that run although nobody uses what they make: what fills rings, and what has another effect."""

    def is_own(self, op: Operation) -> bool:
        """Whether `op` is more than arithmetic which any agent may repeat."""
        return op in self.followers or self.owners.get(op) is not None

    @property
    def producers(self) -> frozenset[int]:
        """The agents that fill rings."""
        found = (owner for op, owner in self.owners.items() if fills(op))
        return frozenset(owner for owner in found if owner is not None)

    @property
    def consumers(self) -> frozenset[int]:
        return frozenset(range(self.agents)) - self.producers

    def agents_of(self, leaf: Operation) -> frozenset[int]:
        """The agents that may run `leaf`."""
        owner = self.owners[leaf]
        if owner is not None:
            return frozenset([owner])
        return self.consumers if leaf in self.followers else frozenset(range(self.agents))

    @property
    def first_consumer(self) -> int:
        return min(self.consumers, default=self.agents - 1)


def fills(op: Operation) -> bool:
    """Whether `op` is a step in filling the slot of a ring."""
    return isinstance(op, ClassifiedOp) and op.side == "producer"


def is_follower(op: Operation) -> bool:
    """Whether `op` empties rings or waits for tokens, and does nothing else."""
    if isinstance(op, ClassifiedOp):
        return op.side == "consumer"
    return is_wait(op)


def is_wait(op: Operation) -> bool:
    """Whether `op` only waits for tokens. What it waits for touches memory where it is issued."""
    return bool(op.operands) and not op.results and all(is_token(operand.type) for operand in op.operands)


def share_out(ops: Sequence[Operation], *, computing: int = 1) -> Ownership | None:
    """
    Who runs the ops of `ops`, in one producer and `computing` (1 or 2) consumers, or as `agent` on the ops says. None
    where the work does not fall into two parts. Raises `NoPartitionError`.
    """
    leaves = list(leaves_of(ops))
    for leaf in leaves:
        if not isinstance(leaf, ClassifiedOp) and any(isinstance(op, ClassifiedOp) for op in leaf.walk()):
            raise NoPartitionError(f"rings are filled or emptied in '{op_name(leaf)}', which is not cut in two")
    touches = Touches(ops, leaves)
    work = ConsumerWork(leaves)
    roots = {leaf: None for leaf in leaves if not is_follower(leaf) and not fills(leaf) and touches.has_effect(leaf)}
    followers = {leaf: None for leaf in leaves if is_follower(leaf)}
    owners: dict[Operation, int | None] = dict.fromkeys(leaves) | {leaf: PRODUCER for leaf in leaves if fills(leaf)}
    mine = [leaf for leaf in leaves if leaf in roots or work.makes(leaf)]
    agents = CONSUMER + computing
    if any(AGENT in leaf.attributes for leaf in leaves):
        found, agents = _as_asked_for(leaves, mine)
    elif computing == 1:
        found = dict.fromkeys(mine, CONSUMER)
    else:
        halves = two_parts(work, leaves, roots)
        if halves is None or any(map(touches.writes, followers)):
            return None
        found = {leaf: CONSUMER + half for leaf, half in halves.items()}
    filling = {leaf: None for leaf in leaves if fills(leaf)}
    ownership = Ownership(owners | found, followers, agents, filling | roots)
    touches.require_apart(ownership)
    return ownership


def _as_asked_for(leaves: Sequence[Operation], mine: Sequence[Operation]) -> tuple[dict[Operation, int], int]:
    """The agents that the ops ask for, numbered from 0; what does not ask goes where what it uses is made."""
    asked = {leaf: number for leaf in leaves if (number := _asked(leaf)) is not None}
    numbers = {number: index for index, number in enumerate(sorted(set(asked.values())))}
    filling = {numbers[number] for leaf, number in asked.items() if fills(leaf)}
    default = next((number for number in numbers.values() if number not in filling), len(numbers) - 1)
    found = {leaf: numbers[number] for leaf, number in asked.items() if fills(leaf)}
    for leaf in mine:
        before = (found[maker] for value in leaf.operands for maker in _makers(value) if maker in found)
        found[leaf] = numbers[asked[leaf]] if leaf in asked else next(before, default)
    return found, len(numbers)


def _asked(leaf: Operation) -> int | None:
    value = leaf.attributes.get(AGENT)
    return value.value.data if isinstance(value, IntegerAttr) else None


def _makers(value: SSAValue) -> Iterator[Operation]:
    """The op that makes `value`; for a result of a loop or branch those that make what it yields."""
    op = value.owner
    if not isinstance(op, Operation):
        return
    if not is_control(op):
        yield op
        return
    index = list(op.results).index(value)  # pyright: ignore[reportArgumentType]
    for region in arms(op):
        if region.blocks and (last := region.block.last_op) is not None:
            yield from _makers(last.operands[index])


# Memory ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Touch:
    op: Operation
    writes: bool
    root: MemoryRoot

    def meets(self, other: _Touch) -> bool:
        """Whether the order of the two matters."""
        if not (self.writes or other.writes) or not may_alias(self.root, other.root, arguments_alias=False):
            return False
        return not store_apart(self.op, other.op)


class Touches:
    """What each leaf of `ops` touches; slots of rings are left out, which their barriers guard."""

    def __init__(self, ops: Sequence[Operation], leaves: Sequence[Operation]) -> None:
        loop = next((op for top in ops for op in top.walk() if isinstance(op, scf.ForOp)), None)
        if loop is None:
            raise NoPartitionError("rings are filled outside of loops only")
        self._effects = EffectReader()
        self._objects = ObjectFinder(LoopIndices(loop), self._effects)
        self._impure = {leaf: None for leaf in leaves if isinstance(leaf, ClassifiedOp) or not _is_anybodys(leaf)}
        self._found = {leaf: [] if is_wait(leaf) else list(self._of(leaf)) for leaf in self._impure}
        self._writes = [touch for found in self._found.values() for touch in found if touch.writes]
        self._repeatable = {leaf for leaf in self._impure if self._only_reads(leaf)}

    def has_effect(self, leaf: Operation) -> bool:
        """Whether only one agent may run `leaf`: it does more than compute, and than load what nobody writes."""
        return leaf in self._impure and leaf not in self._repeatable

    def writes(self, leaf: Operation) -> bool:
        """Whether `leaf` writes memory that is no slot of a ring."""
        return any(touch.writes for touch in self._found.get(leaf, ()))

    def _only_reads(self, leaf: Operation) -> bool:
        found = self._found[leaf]
        reads = bool(found) and not any(touch.writes or any(map(touch.meets, self._writes)) for touch in found)
        return reads and bool(leaf.results) and not isinstance(leaf, ClassifiedOp)

    def require_apart(self, ownership: Ownership) -> None:
        """What one agent writes, no other touches: nothing but rings orders them. Raises `NoPartitionError`."""
        by_root: dict[MemoryRoot, list[tuple[_Touch, frozenset[int]]]] = {}
        for leaf, found in self._found.items():
            agents = ownership.agents_of(leaf)
            for touch in found:
                by_root.setdefault(touch.root, []).append((touch, agents))
        for root, written in by_root.items():
            for other, touched in by_root.items():
                if may_alias(root, other, arguments_alias=False):
                    _require_apart([entry for entry in written if entry[0].writes], touched)

    def _of(self, leaf: Operation) -> Iterator[_Touch]:
        for op in leaf.walk():
            effects = self._effects.effects_of(op)
            for effect in (Effect(True, None),) if effects is None else effects:
                if effect.target is None:
                    yield _Touch(op, effect.writes, MemoryRoot(ObjectKind.UNKNOWN))
                elif isinstance(effect.target, SSAValue):
                    roots = self._objects.objects_of(effect.target)
                    yield from (_Touch(op, effect.writes, root) for root in roots if not _is_its_own(root))


def _is_anybodys(leaf: Operation) -> bool:
    """Whether any agent may do what `leaf` does: it computes, or asks for the next program, as each agent does."""
    return has_no_effects(leaf) or isinstance(leaf, ASKS_FOR_A_PROGRAM)


def _is_its_own(root: MemoryRoot) -> bool:
    """Whether each agent has its own: registers, or a slot while it holds it."""
    return root.kind is ObjectKind.RESOURCE or root.spaces == frozenset([REGISTER])


def _require_apart(
    written: Sequence[tuple[_Touch, frozenset[int]]], touched: Sequence[tuple[_Touch, frozenset[int]]]
) -> None:
    if len({agent for _, agents in (*written, *touched) for agent in agents}) == 1:
        return
    for mine, my_agents in written:
        for theirs, their_agents in touched:
            if len(my_agents | their_agents) > 1 and mine.meets(theirs):
                raise NoPartitionError(
                    f"'{op_name(mine.op)}' touches {mine.root}, which '{op_name(theirs.op)}' of another agent touches, "
                    "too, and nothing would order the two"
                )


def store_apart(first: Operation, second: Operation) -> bool:
    """Whether the two store tiles of one array that are never the same, in whichever iterations they run."""
    if not isinstance(first, TiledStoreOp) or not isinstance(second, TiledStoreOp) or first is second:
        return False
    if first.base is not second.base or first.value.type != second.value.type:
        return False
    return any(_never_equal(one, other) for one, other in zip(first.indices, second.indices, strict=True))


def _never_equal(first: SSAValue, second: SSAValue) -> bool:
    """Whether the two leave different remainders by what all that they depend on is a multiple of."""
    (step, offset), (other_step, other_offset) = _remainder(first), _remainder(second)
    common = gcd(step, other_step)
    return offset != other_offset if common == 0 else (offset - other_offset) % common != 0


def _remainder(value: SSAValue) -> tuple[int, int]:
    """Numbers m and r such that `value` is r and some multiple of m."""
    if (constant := constant_integer(value)) is not None:
        return 0, constant
    match value.owner:
        case arith.AddiOp() as op:
            (step, offset), (other_step, other_offset) = _remainder(op.lhs), _remainder(op.rhs)
            return gcd(step, other_step), offset + other_offset
        case arith.MuliOp() as op:
            for operand, factor in ((op.lhs, constant_integer(op.rhs)), (op.rhs, constant_integer(op.lhs))):
                if factor is not None:
                    step, offset = _remainder(operand)
                    return step * factor, offset * factor
            return 1, 0
        case _:
            return 1, 0
