"""
The queue ops: what data flows between which agents, not how.

    %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 3>
    nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
      nv_tileaa.queue.put %q[%i], %x : (!nv_tileaa.queue<...>, index, tensor<8xf32>) -> ()
    }, {
      %y = nv_tileaa.queue.get %q[%i] : (!nv_tileaa.queue<...>, index) -> tensor<8xf32>
    } : () -> ()

A slot index is the logical iteration: slot = index modulo depth. Without an index the slots rotate.
A put or get may instead hold the computation of what it puts or gives, as a region that ends in
`queue.yield`; the arguments of the region are the tiles of the slot.

An absent queue depth counts as 1 where a number is needed by a verifier; a run never blocks on such a queue, since
nothing says how many slots there are. A check relies on one slot: a put waits until the stage before has been released.
It learns nothing by that, since a deeper queue would not wait.

Queues of different partitions of `mark_for_reuse` lie in one storage from then on, each slot perhaps over each. A slot
is in use from `acquire` to its last release; to take one while another ring in the same storage is in use is the
mistake `slot`, and counts as a write of all that lies under it. Marking a queue that was used before is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsTerminator,
    NoTerminator,
    OpTrait,
    Pure,
    RecursiveMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nv_tileaa.regions import CanonicalizedOp
from tileas_xdsl.dialects.nv_tileaa.types import QueueType
from tileas_xdsl.dialects.tiles.syntax import TileOp
from tileas_xdsl.dialects.tiles.traits import AccessesQueue, AllocatesResults, PlansStorage, SlotArguments
from tileas_xdsl.interfaces import AgentLikeOpInterface

INHERIT_REGISTERS = -1
"""The register budget that means "as the launch says"."""


# The trait of put and get -------------------------------------------------------------------------------


class FirstOperandIsNonAliasingQueue(OpTrait):
    """No other operand, nor any result, of the op is the queue that is operand 0."""

    def verify(self, op: Operation) -> None:
        queue, *others = op.operands
        for index, other in enumerate(others, start=1):
            if other is queue:
                raise VerifyException(f"'{op.name}' op expects the queue not to alias operand #{index}")
        for index, result in enumerate(op.results):
            if isinstance(result.type, QueueType):
                raise VerifyException(f"'{op.name}' op expects the queue not to alias result #{index}")


# Regions of put and get ---------------------------------------------------------------------------


def verify_slot_region(op: PutOp | GetOp, slot_types: Sequence[Attribute], yielded_types: Sequence[Attribute]) -> None:
    """The region takes the tiles of a slot and ends in a `queue.yield` of `yielded_types`."""
    block = op.body.block
    terminator = block.last_op
    if not isinstance(terminator, QueueYieldOp):
        raise VerifyException("expects regions to end with 'nv_tileaa.queue.yield'")
    arguments = [argument.type for argument in block.args]
    if arguments != list(slot_types):
        raise VerifyException(
            f"expects region argument types to match the queue's element types "
            f"[{_list(slot_types)}], but got [{_list(arguments)}]"
        )
    yielded = list(terminator.values.types)
    if yielded != list(yielded_types):
        raise VerifyException(
            f"expects 'nv_tileaa.queue.yield' of [{_list(yielded_types)}], but got [{_list(yielded)}]"
        )


def _list(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types))


# Ops ----------------------------------------------------------------------------------------------


@irdl_op_definition
class CreateQueueOp(TileOp):
    """
    Make a queue; depth and element types live in its type.

    `%q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 3>`
    """

    name = "nv_tileaa.create_queue"

    queue = result_def(QueueType)

    traits = traits_def(AllocatesResults())


@irdl_op_definition
class QueueYieldOp(TileOp):
    """
    End the region of a put (with the tiles that go into the slot) or of a get (with its results).

    `nv_tileaa.queue.yield %a, %b : (tensor<8xf32>, tensor<8xf32>) -> ()`
    """

    name = "nv_tileaa.queue.yield"

    values = var_operand_def()

    traits = lazy_traits_def(lambda: (IsTerminator(), Pure(), HasParent(PutOp, GetOp)))

    @staticmethod
    def of(values: Sequence[SSAValue]) -> QueueYieldOp:
        return QueueYieldOp(operands=[values])


@irdl_op_definition
class PutOp(TileOp):
    """
    Fill the next slot of a queue, or the slot of an index.

    `nv_tileaa.queue.put %q[%i], %a, %b : (!nv_tileaa.queue<...>, index, T, T) -> ()`, or
    `nv_tileaa.queue.put %q { ... nv_tileaa.queue.yield %a, %b : (T, T) -> () } : (...) -> ()`

    The tiles come either as payload operands or from the region, never both. An `index` operand
    right behind the queue is the slot index; the queue carries tiles, so it cannot be payload.
    """

    name = "nv_tileaa.queue.put"

    queue = operand_def(QueueType)
    index_and_payload = var_operand_def()
    body = region_def()

    traits = traits_def(FirstOperandIsNonAliasingQueue(), AccessesQueue(), SlotArguments(), NoTerminator())

    @staticmethod
    def of(
        queue: SSAValue,
        payload: Sequence[SSAValue] = (),
        index: SSAValue | None = None,
        body: Region | None = None,
    ) -> PutOp:
        """A put of `payload`, or of what `body` yields."""
        operands = [*([] if index is None else [index]), *payload]
        return PutOp(operands=[queue, operands], regions=[Region() if body is None else body])

    @property
    def queue_type(self) -> QueueType:
        return cast(QueueType, self.queue.type)

    @property
    def index(self) -> SSAValue | None:
        """The slot index, or None when slots are taken in rotation."""
        first = next(iter(self.index_and_payload), None)
        return first if first is not None and isinstance(first.type, IndexType) else None

    @property
    def payload(self) -> Sequence[SSAValue]:
        """The tiles that are put, in the short form."""
        return self.index_and_payload[0 if self.index is None else 1 :]

    def verify_contract(self) -> None:
        element_types = self.queue_type.element_types.data
        if self.body.blocks:
            if self.payload:
                raise VerifyException("expects either payload operands or a region, but got both")
            verify_slot_region(self, element_types, element_types)
            return
        if not self.payload:
            raise VerifyException("expects either payload operands or a region, but got neither")
        payload_types = [value.type for value in self.payload]
        if payload_types != list(element_types):
            raise VerifyException(
                f"expects payload types to match the queue's element types "
                f"[{_list(element_types)}], but got [{_list(payload_types)}]"
            )

    def print_operand_groups(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.queue)
        if self.index is not None:
            with printer.in_square_brackets():
                printer.print_ssa_value(self.index)
        for value in self.payload:
            printer.print_string(", ")
            printer.print_ssa_value(value)

    @classmethod
    def parse_operand_groups(cls, parser: Parser) -> list[list[UnresolvedOperand]]:
        queue = parser.parse_unresolved_operand()
        rest: list[UnresolvedOperand] = []
        if parser.parse_optional_punctuation("[") is not None:
            rest.append(parser.parse_unresolved_operand())
            parser.parse_punctuation("]")
        while parser.parse_optional_punctuation(",") is not None:
            rest.append(parser.parse_unresolved_operand())
        return [[queue], rest]


@irdl_op_definition
class GetOp(CanonicalizedOp):
    """
    Take the tiles of the oldest filled slot of a queue, or of the slot of an index, and free it.

    `%a, %b = nv_tileaa.queue.get %q[%i] : (!nv_tileaa.queue<...>, index) -> (T, T)`, or
    `%s = nv_tileaa.queue.get %q { ^bb0(%a: T, %b: T): ... queue.yield %s ... } : (...) -> T`

    `consumer_idx` says which agent of the consumer group this is, 0 when absent.
    """

    name = "nv_tileaa.queue.get"

    SUBSCRIPTS: ClassVar[str | None] = "index"

    queue = operand_def(QueueType)
    index = opt_operand_def(IndexType)
    values = var_result_def()
    body = region_def()
    consumer_idx = opt_prop_def(IntegerAttr.constr(i32))

    traits = traits_def(FirstOperandIsNonAliasingQueue(), AccessesQueue(), SlotArguments(), NoTerminator())

    @staticmethod
    def of(
        queue: SSAValue,
        index: SSAValue | None = None,
        *,
        consumer: int | None = None,
        body: Region | None = None,
        result_types: Sequence[Attribute] | None = None,
    ) -> GetOp:
        """A get of the queue's tiles or, with `body`, of `result_types`."""
        if result_types is None:
            result_types = cast(QueueType, queue.type).element_types.data
        return GetOp(
            operands=[queue, index],
            result_types=[result_types],
            properties={"consumer_idx": None if consumer is None else IntegerAttr(consumer, i32)},
            regions=[Region() if body is None else body],
        )

    @property
    def queue_type(self) -> QueueType:
        return cast(QueueType, self.queue.type)

    @property
    def consumer(self) -> int:
        """Which agent of the consumer group gets."""
        return 0 if self.consumer_idx is None else self.consumer_idx.value.data

    def verify_contract(self) -> None:
        if self.consumer < 0:
            raise VerifyException(f"expects consumer_idx not to be negative, got {self.consumer}")
        element_types = self.queue_type.element_types.data
        result_types = [result.type for result in self.values]
        if self.body.blocks:
            verify_slot_region(self, element_types, result_types)
        elif result_types != list(element_types):
            raise VerifyException(
                f"expects result types to match the queue's element types "
                f"[{_list(element_types)}], but got [{_list(result_types)}]"
            )


@irdl_op_definition
class ExecuteOp(TileOp, AgentLikeOpInterface):
    """
    Fork agents, one region for each group of them, and join them all.

    `nv_tileaa.execute %x attributes {num_agents_per_group = array<i32: 1, 2>} {...}, {...} : ...`

    Each region takes the captured operands as block arguments. The region of a group of several
    agents may take one leading argument more, of type index: the agent's number in its group.
    `max_regs` is a register budget for each region, -1 meaning what the launch gives; `num_warps` says
    how many warps an agent of each region has; `resources` are the needs of a wrapped plugin, passed
    through as they are. No terminator is needed.
    """

    name = "nv_tileaa.execute"

    captured = var_operand_def()
    bodies = var_region_def()
    num_agents_per_group = prop_def(DenseArrayBase[IntegerType].constr(i32))
    max_regs = opt_prop_def(DenseArrayBase[IntegerType].constr(i32))
    num_warps = opt_prop_def(DenseArrayBase[IntegerType].constr(i32))
    isolated = opt_prop_def(IntegerAttr.constr(i1))
    resources = opt_prop_def(DictionaryAttr)

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    @property
    def agent_regions(self) -> Sequence[Region]:
        return self.bodies

    @property
    def group_sizes(self) -> Sequence[int]:
        return [int(size) for size in self.num_agents_per_group.get_values()]

    def verify_contract(self) -> None:
        sizes = self.group_sizes
        if not self.bodies:
            raise VerifyException("expects at least one agent group")
        if len(sizes) != len(self.bodies):
            raise VerifyException(
                f"expects one entry of num_agents_per_group for each region, "
                f"but got {len(sizes)} for {len(self.bodies)} regions"
            )
        for size in sizes:
            if size < 1:
                raise VerifyException(f"expects every agent group to be non-empty, but got {size}")
        self._verify_registers()
        self._verify_warps()
        for number, (body, size) in enumerate(zip(self.bodies, sizes, strict=True)):
            self._verify_body(number, body, size)

    def _verify_registers(self) -> None:
        if self.max_regs is None:
            return
        if len(self.max_regs) != len(self.bodies):
            raise VerifyException(
                f"expects one entry of max_regs for each region, "
                f"but got {len(self.max_regs)} for {len(self.bodies)} regions"
            )
        for budget in self.max_regs.get_values():
            if budget < 1 and budget != INHERIT_REGISTERS:
                raise VerifyException(f"expects register budgets to be positive or -1 (inherit), but got {budget}")

    def _verify_warps(self) -> None:
        if self.num_warps is None:
            return
        counts = [int(count) for count in self.num_warps.get_values()]
        if len(counts) != len(self.bodies):
            raise VerifyException(
                f"expects one entry of num_warps for each region, but got {len(counts)} for {len(self.bodies)} regions"
            )
        if min(counts) < 1:
            raise VerifyException(f"expects every agent to have a warp, but got {min(counts)}")

    def _verify_body(self, number: int, body: Region, size: int) -> None:
        block = body.first_block
        if block is None:
            raise VerifyException(f"expects a block in region #{number}")
        captured = [value.type for value in self.captured]
        arguments = [argument.type for argument in block.args]
        numbered = size > 1 and arguments == [IndexType(), *captured]
        if arguments != captured and not numbered:
            raise VerifyException(
                f"expects the arguments of region #{number} to match the captured operands "
                f"[{_list(captured)}], but got [{_list(arguments)}]"
            )


@irdl_op_definition
class MarkForReuseOp(TileOp):
    """
    Say that groups of queues may share one storage.

    `nv_tileaa.mark_for_reuse %q0, %q1 attributes {partitions = array<i32: 1, 1>} : (...) -> ()`

    `partitions` divides the operands into consecutive groups. The op changes no data; it outlives
    the queue rewrite, its operands then being the producer tokens of the pipelines.
    """

    name = "nv_tileaa.mark_for_reuse"

    queues = var_operand_def()
    partitions = prop_def(DenseArrayBase[IntegerType].constr(i32))

    traits = traits_def(PlansStorage())

    def verify_contract(self) -> None:
        count = len(self.queues)
        if count < 2:
            raise VerifyException(f"expect at least 2 queues, but got: {count}")
        sizes = [int(size) for size in self.partitions.get_values()]
        if sum(sizes) != count:
            raise VerifyException(f"expect sum(partitions) == {count}, but got: {sum(sizes)}")
        if min(sizes) < 1:
            raise VerifyException(f"expects every partition to be non-empty, but got {min(sizes)}")
        depths = [depth for queue in self.queues if (depth := storage_depth(queue)) is not None]
        for depth in depths[1:]:
            if depth != depths[0]:
                raise VerifyException(f"expect all operands have the same depth, but got {depths[0]} vs {depth}")


def storage_depth(value: SSAValue) -> int | None:
    """The number of slots of a queue, or of the pipeline of a token; None where it is unknown."""
    if isinstance(value.type, QueueType):
        return value.type.slots
    owner = value.owner
    if not isinstance(owner, Operation):
        return None
    stages = owner.properties.get("numStages", owner.attributes.get("numStages"))
    return stages.value.data if isinstance(stages, IntegerAttr) else None
