"""
The shares of agents: what each runs, what its loops carry, and which values it gets from another agent.

This is decoupled software pipelining (Ottoni, Rangan, Stoler and August, "Automatic Thread Extraction with Decoupled
Software Pipelining", MICRO 2005) where most queues are there already: rings lead tiles from the producer to consumers.
A value in registers that another agent has made crosses through a ring of its own (`crossing.py`).

Input: the block of a function whose loops fill rings. Output: for each agent its ops, and the values that its loops
carry and its branches yield; or the reason why there are none. Changes nothing. Linear in the ops and their operands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator

from tileas_xdsl.analysis.captures import captured_values
from tileas_xdsl.analysis.memory.effects import has_no_effects
from tileas_xdsl.analysis.memory.objects import memory_sources
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.nv_tileaa.memory import TiledLoadOp
from tileas_xdsl.dialects.nv_tileas.pipeline import CreateIteratorOp, CreatePipelineOp
from tileas_xdsl.interfaces import end_of
from tileas_xdsl.transforms.loops.persistent_loop import carried_id, is_persistent_loop
from tileas_xdsl.transforms.tileas.materialize_schedule.crossing import Crossing, can_cross, crossing_of
from tileas_xdsl.transforms.tileas.materialize_schedule.ownership import Ownership, fills, share_out
from tileas_xdsl.transforms.tileas.materialize_schedule.warps import NoPartitionError
from tileas_xdsl.transforms.tileas.materialize_schedule.work import Control, arms, inits_of, is_control, steering


@dataclass(eq=False)
class Share:
    """What one agent runs."""

    agent: int
    ops: set[Operation] = field(default_factory=set[Operation])
    carried: set[tuple[Operation, int]] = field(default_factory=set[tuple[Operation, int]])
    """Loop or branch, and the number of a value that it carries or yields for this agent."""
    takes: dict[OpResult, None] = field(default_factory=dict[OpResult, None])
    """The values that another agent makes."""


@dataclass(frozen=True, eq=False)
class Partition:
    """The block of a function, cut up: what all agents find there, and what they run."""

    before: Sequence[Operation]
    inside: Sequence[Operation]
    shares: Sequence[Share]
    ownership: Ownership

    def crossings(self) -> list[Crossing]:
        """The values that cross from agent to agent, in program order. Raises `NoPartitionError`."""
        takers: dict[OpResult, dict[int, set[Operation]]] = {}
        for share in self.shares:
            for value in share.takes:
                takers.setdefault(value, {})[share.agent] = share.ops
        position = {leaf: number for number, leaf in enumerate(self.ownership.owners)}
        order = {value: (position[value.op], value.index) for value in takers}
        return [crossing_of(value, takers[value]) for value in sorted(takers, key=order.__getitem__)]


def partition(block: Block, *, computing: int = 1) -> Partition | None:
    """
    Cut `block`, which ends a function, into the shares of a producer and `computing` consumers, or as its ops ask for.
    None where the work does not fall into so many parts. Raises `NoPartitionError`.
    """
    ops, first = _ops_and_first_step(block)
    if first is None:
        raise NoPartitionError(why_no_ring(ops))
    before, inside = _parted(ops, first)
    last = block.last_op
    if last is not None and any(_is_inside(operand, inside) for operand in last.operands):
        raise NoPartitionError("the function returns a value that an agent would compute, and agents return none")
    ownership = share_out(inside, computing=computing)
    if ownership is None:
        return None
    return Partition(before, inside, _Needs(inside, ownership).collect(), ownership)


def fills_a_ring(function: Operation) -> bool:
    """Whether some op of `function` fills a ring."""
    return any(map(fills, function.walk()))


def _ops_and_first_step(block: Block) -> tuple[list[Operation], int | None]:
    """The ops of a block but its end, and the number of the first one that fills a ring."""
    ops = [op for op in block.ops if not op.has_trait(IsTerminator, value_if_unregistered=False)]
    return ops, next((number for number, op in enumerate(ops) if any(map(fills, op.walk()))), None)


def has_work_in_front(block: Block) -> bool:
    """Whether agents run something that stands in front of the first step of a ring."""
    ops, first = _ops_and_first_step(block)
    return first is not None and len(_parted(ops, first)[0]) < first


STAYS_IN_FRONT = (CreatePipelineOp, CreateIteratorOp, arith.ConstantOp)
"""What belongs to all agents: what leads from one to another begins in front of them, and constants are anybody's."""


def _parted(ops: Sequence[Operation], first: int) -> tuple[list[Operation], list[Operation]]:
    """
    What stays in front of the agents, and what they run: all from the first step of a ring on, and in front of it what
    deals with tiles, has an effect, or needs what that makes. Threads of all agents would do it, each for itself.
    """
    before, inside = list[Operation](), list[Operation]()
    for op in ops[:first]:
        goes = not isinstance(op, STAYS_IN_FRONT) and (_is_work(op) or _needs_any(op, inside))
        (inside if goes else before).append(op)
    return before, [*inside, *ops[first:]]


def _is_work(op: Operation) -> bool:
    """Whether an op, or one in its regions, deals with a tile or has an effect."""
    values = (value for inner in op.walk() for value in (*inner.operands, *inner.results))
    return not has_no_effects(op) or any(isinstance(value.type, TensorType) for value in values)


def _needs_any(op: Operation, ops: Sequence[Operation]) -> bool:
    return any(_is_inside(operand, ops) for inner in op.walk() for operand in inner.operands)


def why_no_ring(ops: Iterable[Operation]) -> str:
    """Why no loop among `ops` fills a ring, where a load in a branch is the reason."""
    loads = (op for outer in ops for op in outer.walk() if isinstance(op, TiledLoadOp))
    guarded = next((op for op in loads if isinstance(op.parent_op(), scf.IfOp)), None)
    if guarded is None:
        return "no loop fills a ring"
    return (
        f"no loop fills a ring: '{op_name(guarded)}' stands in a branch, where it is not made asynchronous; load in "
        "front of the branch"
    )


def _is_inside(value: SSAValue, ops: Sequence[Operation]) -> bool:
    owner = value.owner
    return isinstance(owner, Operation) and owner in set(ops)


class _Needs:
    """Collects the ops of all shares: what is an agent's own, and all that it depends on."""

    def __init__(self, ops: Sequence[Operation], ownership: Ownership) -> None:
        self._top = set(ops)
        self._ownership = ownership
        self._shares = [Share(agent) for agent in range(ownership.agents)]
        self._values: list[tuple[Share, SSAValue]] = []
        self._seen: set[tuple[int, SSAValue]] = set()
        self._followers: dict[Operation, list[Operation]] = {}
        for follower in ownership.followers:
            for leader in {maker: None for operand in follower.operands for maker in _makers(operand)}:
                self._followers.setdefault(leader, []).append(follower)

    def collect(self) -> list[Share]:
        for op in self._ownership.roots:
            owner = self._ownership.owners[op]
            assert owner is not None, "what has an effect has an agent"
            self._need(self._shares[owner], op)
        self._trace_all()
        for follower in self._ownership.followers:
            if not any(follower in share.ops for share in self._shares):
                self._need(self._shares[self._agent_of_unused(follower)], follower)
                self._trace_all()
        return self._shares

    def _agent_of_unused(self, follower: Operation) -> int:
        """The agent that waits for what nobody uses: the one that makes it, else the first consumer."""
        makers = (maker for operand in follower.operands for maker in _makers(operand))
        owners = (owner for maker in makers if (owner := self._ownership.owners.get(maker)) is not None)
        return next(owners, self._ownership.first_consumer)

    def _trace_all(self) -> None:
        while self._values:
            share, value = self._values.pop()
            self._trace(share, value)

    def _need(self, share: Share, op: Operation) -> None:
        if op in share.ops:
            return
        if op in self._ownership.followers and share.agent in self._ownership.producers:
            raise NoPartitionError(f"a producer needs the slot of a ring, which '{op_name(op)}' of a consumer takes")
        share.ops.add(op)
        self._ask(share, steering(op) if is_control(op) else (*op.operands, *captured_values(op.regions)))
        if is_persistent_loop(op):
            self._carry(share, op, carried_id(op))
        self._need_around(share, op)
        for follower in self._followers.get(op, ()):
            self._need(share, follower)

    def _need_around(self, share: Share, op: Operation) -> None:
        parent = op.parent_op()
        if op not in self._top and parent is not None:
            self._need(share, parent)

    def _ask(self, share: Share, values: Sequence[SSAValue]) -> None:
        for value in values:
            if (share.agent, value) not in self._seen:
                self._seen.add((share.agent, value))
                self._values.append((share, value))

    def _trace(self, share: Share, value: SSAValue) -> None:
        """Need what `value` is computed from, as far as it is computed among the ops that are cut up."""
        if isinstance(value, BlockArgument):
            loop = value.block.parent_op()
            if loop is None or not is_control(loop) or not self._is_cut(loop):
                return
            self._need(share, loop)
            number = value.index - isinstance(loop, scf.ForOp)
            if number >= 0:
                self._carry(share, loop, number)
            return
        op = value.owner
        assert isinstance(op, Operation)
        if not self._is_cut(op):
            return
        owner = self._ownership.owners.get(op)
        if owner is not None and owner != share.agent:
            assert isinstance(value, OpResult)
            self._cross(share, value, self._shares[owner])
            return
        self._need(share, op)
        if is_control(op):
            self._carry(share, op, op.results.index(value))

    def _cross(self, share: Share, value: OpResult, maker: Share) -> None:
        """`share` takes `value` from the agent that makes it, in the block where that is."""
        if not can_cross(value):
            raise NoPartitionError(
                f"agent {share.agent} needs what '{op_name(value.op)}' of agent {maker.agent} makes, and no ring leads "
                f"a {value.type} there"
            )
        share.takes[value] = None
        self._need(maker, value.op)
        self._need_around(share, value.op)

    def _carry(self, share: Share, op: Control, number: int) -> None:
        """Need a value that a loop carries, or a branch yields: where it comes from, and what becomes of it."""
        share.carried.add((op, number))
        self._ask(share, inits_of(op)[number : number + 1])
        for region in arms(op):
            last = end_of(region.block)
            self._ask(share, [last.operands[number]])

    def _is_cut(self, op: Operation) -> bool:
        node: Operation | None = op
        while node is not None and node not in self._top:
            node = node.parent_op()
        return node is not None


def _makers(value: SSAValue) -> list[Operation]:
    """The ops that make `value`, which loops and branches may hand on."""
    found: dict[Operation, None] = {}
    seen: dict[SSAValue, None] = {}
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen[value] = None
        sources = memory_sources(value)
        if sources is not None:
            waiting += sources
        elif isinstance(value, OpResult):
            found[value.op] = None
    return list(found)
