"""
Which agent runs which op: the ops that fill rings go to one agent, all others to another one.

    acquire, load, commit        the producer's: it has a loop of its own
    wait, read, product, store   the consumer's
    row * 64, the loop itself    whoever needs it: arithmetic, control and loads of what nobody writes are repeated

This is decoupled software pipelining (Ottoni, Rangan, Stoler and August, "Automatic Thread Extraction with Decoupled
Software Pipelining", MICRO 2005) where the queues are there already: each ring leads from the producer to the consumer,
and nothing leads back but its empty slots. So a value that the consumer makes and the producer needs leaves no
partition.

Input: the block of a function whose loops fill rings. Output: for each agent its ops, and the values that its loops
carry and its branches yield; or the reason why there are none. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import IsTerminator

from tileas_xdsl.analysis.captures import captured_values
from tileas_xdsl.analysis.induction import LoopIndices
from tileas_xdsl.analysis.memory.effects import EffectReader, has_no_effects
from tileas_xdsl.analysis.memory.objects import MemoryRoot, ObjectFinder, ObjectKind, may_alias
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp
from tileas_xdsl.interfaces import Effect

CONTROL = (scf.ForOp, scf.IfOp)
"""Ops that are repeated for every agent that has work in them."""


class AgentRole(IntEnum):
    """The two sides of the rings, and the numbers of their agents' regions."""

    PRODUCER = 0
    CONSUMER = 1


class NoPartitionError(Exception):
    """There is no partition: `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(eq=False)
class Share:
    """What one agent runs."""

    side: AgentRole
    ops: set[Operation] = field(default_factory=set[Operation])
    carried: set[tuple[Operation, int]] = field(default_factory=set[tuple[Operation, int]])
    """Loop or branch, and the number of a value that it carries or yields for this agent."""


@dataclass(frozen=True, eq=False)
class Partition:
    """The block of a function, cut in two: what stands before the agents, and what they run."""

    before: Sequence[Operation]
    inside: Sequence[Operation]
    shares: tuple[Share, Share]


def partition(block: Block) -> Partition:
    """Cut `block`, which ends a function, into the shares of two agents. Raises `NoPartitionError`."""
    ops = [op for op in block.ops if not op.has_trait(IsTerminator, value_if_unregistered=False)]
    first = next((number for number, op in enumerate(ops) if any(map(_fills, op.walk()))), None)
    if first is None:
        raise NoPartitionError("no loop fills a ring")
    before, inside = ops[:first], ops[first:]
    last = block.last_op
    if last is not None and any(_is_inside(operand, inside) for operand in last.operands):
        raise NoPartitionError("the function returns a value that an agent would compute, and agents return none")
    touches = _Touches(inside)
    touches.require_apart()
    shares = Share(AgentRole.PRODUCER), Share(AgentRole.CONSUMER)
    for share in shares:
        _Needs(share, inside, touches.owners).collect()
    return Partition(before, inside, shares)


# Whose op it is -------------------------------------------------------------------------------------------------------


def owner_of(op: Operation) -> AgentRole | None:
    """
    The agent that runs `op`, which is no control flow; None for arithmetic, which any agent may repeat. (So it may a
    load from memory that nobody writes, which takes more than the op to see.)
    """
    if isinstance(op, ClassifiedOp):
        return AgentRole.PRODUCER if op.side == "producer" else AgentRole.CONSUMER
    return None if has_no_effects(op) else AgentRole.CONSUMER


def _fills(op: Operation) -> bool:
    return isinstance(op, ClassifiedOp) and op.side == "producer"


def _leaves(ops: Sequence[Operation]) -> Iterator[Operation]:
    """The ops among `ops`, and in control flow among them, that are no control flow."""
    for op in ops:
        if not isinstance(op, CONTROL):
            yield op
            continue
        for region in op.regions:
            for block in region.blocks:
                inner = [each for each in block.ops if not each.has_trait(IsTerminator, value_if_unregistered=False)]
                yield from _leaves(inner)


def _is_inside(value: SSAValue, ops: Sequence[Operation]) -> bool:
    owner = value.owner
    return isinstance(owner, Operation) and owner in set(ops)


@dataclass(frozen=True)
class _Touch:
    op: Operation
    writes: bool
    root: MemoryRoot

    def meets(self, other: _Touch) -> bool:
        """Whether the order of the two matters."""
        return (self.writes or other.writes) and may_alias(self.root, other.root, arguments_alias=False)


class _Touches:
    """Who owns each op among `ops`, and what it touches; slots of rings are left out, which their barriers guard."""

    def __init__(self, ops: Sequence[Operation]) -> None:
        loop = next((op for op in ops if isinstance(op, scf.ForOp)), None)
        if loop is None:
            raise NoPartitionError("rings are filled outside of loops only")
        self._effects = EffectReader()
        self._objects = ObjectFinder(LoopIndices(loop), self._effects)
        self.owners = {leaf: owner_of(leaf) for leaf in _leaves(ops)}
        for leaf in self.owners:
            if not isinstance(leaf, ClassifiedOp) and any(isinstance(op, ClassifiedOp) for op in leaf.walk()):
                raise NoPartitionError(f"rings are filled or emptied in '{op_name(leaf)}', which is not cut in two")
        self._found = {leaf: list(self._of(leaf)) for leaf, owner in self.owners.items() if owner is not None}
        writes = [touch for found in self._found.values() for touch in found if touch.writes]
        for leaf, found in self._found.items():
            reads_only = bool(found) and not any(touch.writes or any(map(touch.meets, writes)) for touch in found)
            if reads_only and leaf.results and not isinstance(leaf, ClassifiedOp):
                self.owners[leaf] = None

    def require_apart(self) -> None:
        """What the producer loads, nobody writes; what it writes, nobody touches: nothing but rings orders the two."""
        sides: dict[AgentRole, list[_Touch]] = {AgentRole.PRODUCER: [], AgentRole.CONSUMER: []}
        for leaf, found in self._found.items():
            owner = self.owners[leaf]
            for side in AgentRole if owner is None else (owner,):
                sides[side] += found
        for mine in sides[AgentRole.PRODUCER]:
            for theirs in sides[AgentRole.CONSUMER]:
                if mine.meets(theirs):
                    raise NoPartitionError(
                        f"'{op_name(theirs.op)}' touches {theirs.root}, which '{op_name(mine.op)}' of the producer "
                        "touches, too, and nothing would order the two"
                    )

    def _of(self, leaf: Operation) -> Iterator[_Touch]:
        for op in leaf.walk():
            effects = self._effects.effects_of(op)
            for effect in (Effect(True, None),) if effects is None else effects:
                if effect.target is None:
                    yield _Touch(op, effect.writes, MemoryRoot(ObjectKind.UNKNOWN))
                elif isinstance(effect.target, SSAValue):
                    roots = self._objects.objects_of(effect.target)
                    yield from (_Touch(op, effect.writes, r) for r in roots if r.kind is not ObjectKind.RESOURCE)


# What an agent needs --------------------------------------------------------------------------------------------------


class _Needs:
    """Collects the ops of one share: what has an effect and is the agent's, and all that it depends on."""

    def __init__(self, share: Share, ops: Sequence[Operation], owners: Mapping[Operation, AgentRole | None]) -> None:
        self.share = share
        self._top = set(ops)
        self._owners = owners
        self._own = [op for op, owner in owners.items() if owner is share.side]
        self._values: list[SSAValue] = []
        self._seen: set[SSAValue] = set()

    def collect(self) -> None:
        for op in self._own:
            self._need(op)
        while self._values:
            self._trace(self._values.pop())

    def _need(self, op: Operation) -> None:
        if op in self.share.ops:
            return
        owner = self._owners.get(op)
        if owner is not None and owner is not self.share.side:
            raise NoPartitionError(
                f"the {self.share.side.name.lower()} needs what '{op_name(op)}' of the {owner.name.lower()} makes, and "
                "no ring leads there"
            )
        self.share.ops.add(op)
        self._ask(_steering(op) if isinstance(op, CONTROL) else (*op.operands, *captured_values(op.regions)))
        parent = op.parent_op()
        if op not in self._top and parent is not None:
            self._need(parent)

    def _ask(self, values: Sequence[SSAValue]) -> None:
        for value in values:
            if value not in self._seen:
                self._seen.add(value)
                self._values.append(value)

    def _trace(self, value: SSAValue) -> None:
        """Need what `value` is computed from, as far as it is computed among the ops that are cut in two."""
        if isinstance(value, BlockArgument):
            loop = value.block.parent_op()
            if isinstance(loop, scf.ForOp) and self._is_cut(loop):
                self._need(loop)
                if value.index > 0:
                    self._carry(loop, value.index - 1)
            return
        op = value.owner
        assert isinstance(op, Operation)
        if not self._is_cut(op):
            return
        self._need(op)
        if isinstance(op, CONTROL):
            self._carry(op, op.results.index(value))

    def _carry(self, op: Operation, number: int) -> None:
        """Need a value that a loop carries, or a branch yields: where it comes from, and what becomes of it."""
        self.share.carried.add((op, number))
        if isinstance(op, scf.ForOp):
            self._ask([op.iter_args[number]])
        for region in op.regions:
            last = region.block.last_op
            assert last is not None
            self._ask([last.operands[number]])

    def _is_cut(self, op: Operation) -> bool:
        node: Operation | None = op
        while node is not None and node not in self._top:
            node = node.parent_op()
        return node is not None


def _steering(op: Operation) -> Sequence[SSAValue]:
    """What decides how often the regions of `op` run."""
    return op.operands[:3] if isinstance(op, scf.ForOp) else op.operands[:1]
