"""
Where the slot of a get is given back. Touches nothing.

A queue copies its tiles; a pipeline's slot that lies in shared or tensor memory does not: the tile that is read is a
*view*, and whoever uses it reads the slot at that moment. Its release therefore goes behind the last use of the view,
in the block of the get:

    %v, %c1 = consume_one %c, %i { wait; read; yield %v }
    %s = nv_tileaa.extract_slice %v            names bytes of %v: a view of the slot, too
    %d = nv_tileaa.dot %s, %b, %acc            the last use
    consumer_release %c1

Views are followed through ops that name the bytes of an operand, and through the results of nested control flow. A use
that outlives the block (the view is carried to the next iteration, handed to other agents, read by asynchronous work
that nobody awaits) is refused. A put of a view is an ordinary use: it reads the bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, SSAValue, Use
from xdsl.traits import IsTerminator, get_effects

from tileas_xdsl.analysis.value_flow import carried_to
from tileas_xdsl.diagnostics import location_of, op_name, refuse
from tileas_xdsl.dialects.async_queue import ScopeOp
from tileas_xdsl.dialects.nv_tileaa.control import AssumeOp
from tileas_xdsl.dialects.nv_tileaa.queue import GetOp, PutOp, QueueYieldOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, ToAsyncOp, TokenToAsyncOp
from tileas_xdsl.dialects.nv_tileas.types import AsyncTokenType
from tileas_xdsl.dialects.tiles.syntax import TileOp
from tileas_xdsl.dialects.tiles.traits import UpdatesDestination, is_view, names_bytes_of_operand
from tileas_xdsl.dialects.tiles.types import denotes_memory
from tileas_xdsl.dialects.upstream_arithmetic import ARITHMETIC, is_of
from tileas_xdsl.interfaces import (
    AgentLikeOpInterface,
    AsyncOpInterface,
    AsyncRegionOpInterface,
    LoopLikeOpInterface,
)
from tileas_xdsl.transforms.tileas.queue_to_pipeline.plan import RewritePlan, SidePlan

WAY_OUT = "read the tile into registers first (nv_tileas.convert_layout), or end its use where the get stands"


def plan_releases(plan: RewritePlan) -> None:
    """
    Note in `plan.releases` the op behind which each slot with views is released.

    Linear in the uses of views, times the queues in one storage. Raises `RefusedError` for a view that escapes, for a
    queue that has fewer slots than a consumer holds at once, and for storage that is filled while a view is held.
    """
    for gets in (gets for queue in plan.queues for gets in queue.gets):
        for position, get in enumerate(gets.turns):
            if not isinstance(get, GetOp):
                continue
            last = _last_use(plan, get)
            if last is not None:
                plan.releases[get] = last
                _check_storage(plan, gets, get, last)
            _check_depth(plan, gets, position, get if last is None else last)


def _last_use(plan: RewritePlan, get: GetOp) -> Operation | None:
    """The last op of the block of `get` that uses a view of its slot; None where its results are no views."""
    views = _views_given(get)
    block = get.parent_block()
    if not views or block is None:
        return None
    uses = _Uses(get, block)
    uses.follow(views)
    return max(uses.ops, key=plan.order.__getitem__, default=None)


def _views_given(get: GetOp) -> list[SSAValue]:
    """The results of `get` that name its slot rather than hold a value."""
    body = get.body.first_block
    if body is None:
        return [result for result in get.results if denotes_memory(result.type)]
    uses = _Uses(get, body)
    uses.follow([argument for argument in body.args if denotes_memory(argument.type)])
    return [result for index, result in enumerate(get.results) if index in uses.yielded]


# Following the views of one slot --------------------------------------------------------------------------------------


@dataclass
class _Uses:
    """The uses of the views of the slot of `get`, as ops of `block`: the block of the get, or its body."""

    get: GetOp
    block: Block
    ops: dict[Operation, None] = field(default_factory=dict[Operation, None])
    """Ops of `block` that use a view, themselves or in their regions."""
    yielded: set[int] = field(default_factory=set[int])
    """Which results of the get its body gives a view for."""

    def follow(self, views: Iterable[SSAValue]) -> None:
        """Collect the uses of `views` and of all views of them; refuses those that outlive the block."""
        names = list(views)
        seen = set(names)
        for name in names:
            for use in name.uses:
                if self._is_given(use):
                    self.yielded.add(use.index)
                    continue
                self._note(use.operation)
                for derived in names_of_same_bytes(use):
                    if derived not in seen:
                        seen.add(derived)
                        names.append(derived)

    def _is_given(self, use: Use) -> bool:
        """Whether `use` ends the body of the get, seen from inside."""
        return isinstance(use.operation, QueueYieldOp) and use.operation.parent_block() is self.get.body.first_block

    def _note(self, user: Operation) -> None:
        """Note the op of the block that holds `user`; refuses a use that outlives the block."""
        node = user
        if user.successors:
            self._refuse(user, "hands out of the block")
        self._check_synchronous(node, user)
        while node.parent_block() is not self.block:
            parent = node.parent_op()
            if parent is None:
                self._refuse(user, "uses in another block")
            node = parent
            self._check_synchronous(node, user)
        if node is user and node.has_trait(IsTerminator, value_if_unregistered=False):
            loop = isinstance(node.parent_op(), scf.ForOp | scf.WhileOp)
            self._refuse(user, "carries into the next iteration" if loop else "hands out of the block")
        self.ops[node] = None

    def _check_synchronous(self, op: Operation, user: Operation) -> None:
        """`op`, which uses a view or has a use inside, is through with it when control goes on."""
        if AgentLikeOpInterface.of(op) is not None:
            self._refuse(user, "hands to other agents" if user is op else "uses in another agent")
        tokens = [result for result in op.results if isinstance(result.type, AsyncTokenType)]
        if tokens and not isinstance(op, ToAsyncOp | TokenToAsyncOp):
            if not self._awaited(tokens):
                self._refuse(user, "reads asynchronously, and no nv_tileas.async.wait beside the get awaits it,")
        elif _is_asynchronous(op):
            self._refuse(user, "may read after control has gone on")

    def _awaited(self, tokens: Sequence[SSAValue]) -> bool:
        """Whether a wait in the block covers one of `tokens`, which then counts as a use of the view."""
        names = list(tokens)
        for name in names:
            for use in name.uses:
                if isinstance(use.operation, TokenToAsyncOp):
                    names.append(use.operation.result)
                elif isinstance(use.operation, AsyncWaitOp) and use.operation.parent_block() is self.block:
                    self.ops[use.operation] = None
                    return True
        return False

    def _refuse(self, user: Operation, escape: str) -> NoReturn:
        refuse(self.get, f"gives a view of its slot that '{op_name(user)}'{_place_of(user)} {escape}", WAY_OUT)


def _place_of(op: Operation) -> str:
    where = location_of(op)
    return "" if where is None else f" ({where})"


def names_of_same_bytes(use: Use) -> Sequence[SSAValue]:
    """The values that name, behind a use of a view, bytes of that view."""
    op, index = use.operation, use.index
    if isinstance(op, AssumeOp) or names_bytes_of_operand(op):
        return op.results[:1] if index == 0 else ()
    if op.has_trait(UpdatesDestination, value_if_unregistered=False):
        return op.results[:1] if index == 1 else ()
    if op.has_trait(IsTerminator, value_if_unregistered=False):
        return _behind_terminator(op, index)
    if isinstance(op, scf.ForOp):
        return () if index < 3 else (op.body.block.args[index - 2], op.results[index - 3])
    if isinstance(op, scf.WhileOp):
        return op.before_region.block.args[index : index + 1]
    if isinstance(op, TileOp) or _computes(op):
        return ()
    return [result for result in op.results if is_view(result)]


def _is_asynchronous(op: Operation) -> bool:
    interfaces = (AsyncOpInterface, AsyncRegionOpInterface)
    return isinstance(op, ScopeOp) or any(interface.of(op) is not None for interface in interfaces)


def _behind_terminator(op: Operation, index: int) -> Sequence[SSAValue]:
    """
    The values that an operand of a terminator becomes: results of the op around it, and block arguments of a loop's
    next trip.
    """
    parent = op.parent_op()
    if parent is None:
        return ()
    if isinstance(parent, scf.WhileOp):
        return carried_to(Use(op, index)) or ()
    loop = LoopLikeOpInterface.of(parent)
    carried = () if loop is None else loop.carried_arguments[index : index + 1]
    return (*carried, *parent.results[index : index + 1])


def _computes(op: Operation) -> bool:
    """
    Whether `op` computes new values, and not views, whatever the layout in their type says. A selection does not: it
    gives one of its operands.
    """
    return is_of(op, ARITHMETIC) and not isinstance(op, arith.SelectOp)


# Slots held at once ---------------------------------------------------------------------------------------------------


def _check_depth(plan: RewritePlan, gets: SidePlan, position: int, last: Operation) -> None:
    """
    Until the slot of a get is released, its producer can go on by `depth - 1` slots: no more gets may stand in between.
    Of several agents that take turns each has its share of the slots.
    """
    get, queue = gets.turns[position], gets.queue
    depth = queue.depth // len(queue.gets) if queue.in_turn else queue.depth
    for number in range(position + 1, len(gets.turns)):
        node, repeated = _ancestor_in(gets.turns[number], get.parent_block())
        if node is None or plan.order[node] > plan.order[last]:
            return
        if repeated or number - position >= depth:
            refuse(
                get,
                f"holds a view of its slot across later gets from the same queue, which has {depth} slot(s): "
                "the producer could never fill the slot that they wait for",
                f"{WAY_OUT}; or give the queue more slots",
            )


# Storage that is reused -----------------------------------------------------------------------------------------------


def _check_storage(plan: RewritePlan, gets: SidePlan, get: GetOp, last: Operation) -> None:
    """
    The slot of `get`, free behind the get while queues copy, is now held up to `last`: until then nobody may put to a
    queue in the same storage. A put of another agent comes at the earliest when this agent lets it.
    """
    for other in gets.queue.overlaid:
        puts = other.puts
        if puts.agents is gets.agents:
            between = next((put for put in puts.turns if _stands_between(plan, get, last, put)), None)
        else:
            between = _first_hand_over(get, last) if puts.turns else None
        if between is not None:
            refuse(
                get,
                f"holds a view of its slot across '{op_name(between)}'{_place_of(between)}, where a queue in the same "
                "storage (nv_tileaa.mark_for_reuse) may be filled",
                f"{WAY_OUT}; or give each queue storage of its own",
            )


def _stands_between(plan: RewritePlan, get: GetOp, last: Operation, op: Operation) -> bool:
    node, _ = _ancestor_in(op, get.parent_block())
    return node is not None and plan.order[get] <= plan.order[node] <= plan.order[last]


def _first_hand_over(get: GetOp, last: Operation) -> Operation | None:
    """The first op behind `get`, up to and with `last`, that may let another agent go on; None where there is none."""
    op = get
    while op is not last and (op := op.next_op) is not None:
        for inner in op.walk():
            if isinstance(inner, PutOp | GetOp) or get_effects(inner) is None:
                return inner
    return None


def _ancestor_in(op: Operation, block: Block | None) -> tuple[Operation | None, bool]:
    """The op of `block` in which `op` stands, or None; and whether a loop lies in between."""
    node, repeated = op, False
    while node.parent_block() is not block:
        parent = node.parent_op()
        if parent is None:
            return None, False
        node = parent
        repeated = repeated or isinstance(node, scf.ForOp | scf.WhileOp)
    return node, repeated
