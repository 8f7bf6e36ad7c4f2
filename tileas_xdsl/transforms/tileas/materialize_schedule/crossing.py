"""
Values in registers that cross from one agent to others: each through a ring of its own.

    %m = max %s                                   %m = max %s
                                                  acquire, produce { convert_layout %m }, commit         the maker's
    %p = exp2 %m      (of another agent)    ->
                                                  wait, read, %m' = convert_layout, release              the taker's
                                                  %p = exp2 %m'

The maker gives behind the op that makes the value, or behind the wait for it where that is a product. A taker takes it
in front of its first use, in the stage of that use. The ring has a slot for each stage in between, one for the
iteration, and one more so that neither waits for the other's last step; a value that is made once takes one slot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AnyFloat, ArrayAttr, IndexType, IntegerAttr, IntegerType, StringAttr, TensorType, i32
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumerReadOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    CreatePipelineOp,
    PipelineYieldOp,
    ProduceOneOp,
    ProducerAcquireOp,
    ProducerCommitOp,
)
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.dialects.tiles.traits import is_view
from tileas_xdsl.interfaces import end_of
from tileas_xdsl.scheduling.op_times import memory_space, tile_bytes
from tileas_xdsl.transforms.tileas.materialize_schedule.warps import NoPartitionError

STAGE, ORDER = "stage", "order"

SLACK = 2
"""Slots of a ring beside those for the stages that its value is on the way."""


@dataclass(frozen=True, eq=False)
class Crossing:
    """A value, the op behind which its maker gives it, and for each taker the op in front of which it takes it."""

    value: OpResult
    anchor: Operation
    takers: Mapping[int, Operation]
    given_at: tuple[int, int] | None
    """Stage and order of `anchor`, where a schedule says them."""
    taken_at: Mapping[int, tuple[int, int] | None]
    """Taker -> stage and order of its first use of the value."""

    @property
    def depth(self) -> int:
        if self.given_at is None:
            return 1 if self.value.op.parent_op() is None else SLACK
        stages = [self.given_at[0] if at is None else at[0] for at in self.taken_at.values()]
        return max(stages) - self.given_at[0] + SLACK


def can_cross(value: SSAValue) -> bool:
    """Whether `value` is a tile of fixed size in registers, or a number."""
    is_tile = isinstance(value.type, TensorType)
    if not is_tile:
        return isinstance(value.type, IndexType | IntegerType | AnyFloat)
    tile = _as_tile(value.type)
    return tile_bytes(tile) > 0 and memory_space(tile) == "register" and not is_view(value)


# Where ----------------------------------------------------------------------------------------------------------------


def crossing_of(value: OpResult, takers: Mapping[int, set[Operation]]) -> Crossing:
    """
    Where `value` is given and taken; `takers` says for each agent that takes it the ops that it runs. Raises
    `NoPartitionError` where the value is used before it may be read.
    """
    block = value.op.parent_block()
    assert block is not None
    position = {op: number for number, op in enumerate(block.ops)}
    anchor = _anchor(value)
    users = {agent: _users(value, block, ops) for agent, ops in takers.items()}
    firsts = {agent: min(found, key=position.__getitem__) for agent, found in users.items()}
    for first in firsts.values():
        if position[first] <= position[anchor]:
            raise NoPartitionError(
                f"'{op_name(first)}' of one agent uses what '{op_name(value.op)}' of another makes before that is there"
            )
    given = _place(anchor)
    taken = {agent: min(filter(None, map(_place, found)), default=given) for agent, found in users.items()}
    return Crossing(value, anchor, firsts, given, taken)


def _anchor(value: OpResult) -> Operation:
    if not isinstance(value.op, AsyncDotOp):
        return value.op
    waits = [use.operation for use in value.op.done.uses if isinstance(use.operation, AsyncWaitOp)]
    here = [wait for wait in waits if wait.parent_block() is value.op.parent_block()]
    if not here:
        raise NoPartitionError(f"another agent uses what '{op_name(value.op)}' makes, and nothing awaits it there")
    return here[0]


def _users(value: OpResult, block: Block, ops: set[Operation]) -> list[Operation]:
    """The ops of `block` that use `value`, or hold an op that does, as far as `ops` has them; its end if none does."""
    found: dict[Operation, None] = {}
    for use in value.uses:
        node: Operation | None = use.operation
        while node is not None and node.parent_block() is not block:
            node = node.parent_op()
        if node is not None and node in ops:
            found[node] = None
    last = end_of(block)
    return list(found) or [last]


def _place(op: Operation) -> tuple[int, int] | None:
    stage, order = op.attributes.get(STAGE), op.attributes.get(ORDER)
    if not isinstance(stage, IntegerAttr):
        return None
    return stage.value.data, order.value.data if isinstance(order, IntegerAttr) else 0


# The ops --------------------------------------------------------------------------------------------------------------


def ring_of(crossing: Crossing) -> CreatePipelineOp:
    """The ring that `crossing` leads through."""
    ring = CreatePipelineOp(crossing.depth)
    hint = crossing.value.name_hint or "value"
    ring.producer.name_hint, ring.consumer.name_hint = f"{hint}_ring", f"{hint}_end"
    ring.location = crossing.value.op.location
    return ring


def given(crossing: Crossing, ring: CreatePipelineOp, value: SSAValue) -> list[Operation]:
    """The maker's turn: the steps that put `value` into the next slot."""
    slot = _slot_type(value.type)
    block = Block(arg_types=[slot])
    if not isinstance(value.type, TensorType):
        tile = tensor.FromElementsOp.create(operands=[value], result_types=[_as_tile(value.type)])
        block.add_op(tile)
        value = tile.results[0]
    stored = ConvertLayoutOp(value, slot)
    block.add_ops([stored, PipelineYieldOp(stored.result)])
    acquire = ProducerAcquireOp(ring.producer)
    attributes: dict[str, Attribute] = {"producer_types": ArrayAttr([slot]), "producer_kind": StringAttr("sync")}
    produce = ProduceOneOp(acquire.results[0], body=Region(block), attributes=attributes)
    return _placed([acquire, produce, ProducerCommitOp(produce.results[0])], crossing, crossing.given_at)


def taken(crossing: Crossing, ring: CreatePipelineOp, agent: int) -> tuple[list[Operation], SSAValue]:
    """A taker's turn, and the value that it gets."""
    type_ = crossing.value.type
    wait = ConsumerWaitOp(ring.consumer)
    read = ConsumerReadOp(wait.results[0], value_types=[_slot_type(type_)])
    load = ConvertLayoutOp(read.results[0], _as_tile(type_))
    ops: list[Operation] = [wait, read, load]
    value: SSAValue = load.result
    if not isinstance(type_, TensorType):
        zero = arith.ConstantOp(IntegerAttr(0, IndexType()))
        number = tensor.ExtractOp(value, [zero.result], type_)
        ops += [zero, number]
        value = number.result
    value.name_hint = crossing.value.name_hint
    ops.append(ConsumerReleaseOp(read.results[-1]))
    return _placed(ops, crossing, crossing.taken_at[agent]), value


def _placed(ops: Sequence[Operation], crossing: Crossing, at: tuple[int, int] | None) -> list[Operation]:
    for op in ops:
        op.location = crossing.value.op.location
        if at is not None:
            op.attributes[STAGE], op.attributes["iter_offset"] = IntegerAttr(at[0], i32), IntegerAttr(-at[0], i32)
            op.attributes[ORDER] = IntegerAttr(at[1], i32)
    return list(ops)


def _as_tile(type_: Attribute) -> TensorType[Attribute]:
    """The tile itself, or a tile of one number: integers that stand alone would name a slot."""
    return cast("TensorType[Attribute]", type_) if isinstance(type_, TensorType) else TensorType(type_, [1])


def _slot_type(type_: Attribute) -> Attribute:
    """What lies in a slot: the tile in shared memory."""
    tile = _as_tile(type_)
    return TensorType(tile.get_element_type(), tile.get_shape(), LayoutAttr.of("smem"))
