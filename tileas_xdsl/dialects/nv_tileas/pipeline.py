"""
The pipeline ops, `nv_tileas.async.pipeline.*`.

A pipeline is a ring of `numStages` slots between a producer group and a consumer group. Each side has a token; an
iterator names the current slot. The steps in the life of a slot, and the ops that do them:

    producer_acquire -> producer_write -> producer_commit -> consumer_wait -> consumer_read -> consumer_release
    `------------- produce_one ------------------------'     `------------- consume_one ---------------------'

`produce_one` and `consume_one` scope the steps of one side; the `_async` forms also return a completion token. A step
that no op inside does, the scoping op does itself. Without explicit result types, builders give the usual results:
values first, then the token of the side, then the completion token.

A `commit` or `release` accepts the token of the produce or consume op itself, besides those of the handshake ops.

`pipeline_id` is the number of the pipeline in its function.

That both ends of a pipeline agree on the payload is a fact about several ops; an analysis judges it, no verifier.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    IntegerAttr,
    TensorType,
    i8,
    i32,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_attr_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.classified import (
    GIVES,
    TAKES,
    ClassifiedOp,
    ConsumeOp,
    ProduceOp,
    RegionOp,
    Signature,
    verify_consumer_index,
)
from tileas_xdsl.dialects.nv_tileas.types import (
    AsyncTokenType,
    ConsumerTokenType,
    PipelineIteratorType,
    ProducerTokenType,
    TiledViewType,
    is_ownership_token,
)
from tileas_xdsl.dialects.nv_tileas.verification import BOOL, I32, expect_count, type_list, types_of
from tileas_xdsl.dialects.tiles.syntax import TileOp
from tileas_xdsl.dialects.tiles.traits import AllocatesResults, ReadsSlot, SlotStorage, Synchronizes
from tileas_xdsl.interfaces import AllocationOpInterface, Effect, SideOrder, TokenWait

TOKEN, PRODUCER, CONSUMER = AsyncTokenType(), ProducerTokenType(), ConsumerTokenType()


def _i32(value: int | None) -> IntegerAttr | None:
    return None if value is None else IntegerAttr(value, i32)


def _types(types: Sequence[Attribute] | None) -> ArrayAttr[Attribute] | None:
    return None if types is None else ArrayAttr(types)


def _present(*values: SSAValue | None) -> list[SSAValue]:
    return [value for value in values if value is not None]


def _entries(
    given: Mapping[str, Attribute | None], more: Mapping[str, Attribute] | None = None
) -> dict[str, Attribute]:
    return {name: value for name, value in given.items() if value is not None} | dict(more or {})


def _empty(body: Region | None) -> Region:
    return Region() if body is None else body


# Creation ----------------------------------------------------------------------------------------


@irdl_op_definition
class CreatePipelineOp(TileOp, AllocationOpInterface):
    """
    Make a ring of slots, and a token for each of its ends.

    `%p, %c = nv_tileas.async.pipeline.create_pipeline %buffer attributes {numStages = 2 : i32,
    producerGroupId = 0 : i8, consumerGroupId = 1 : i8}
    : (tensor<2x8xf16>) -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)`

    The buffer is optional. Its leading extent is `numStages`; the rest is the payload of one slot. The group ids number
    the regions of the agent switch around the ops that use the tokens.
    """

    name = "nv_tileas.async.pipeline.create_pipeline"

    buffers = var_operand_def()
    producer = result_def(ProducerTokenType)
    consumer = result_def(ConsumerTokenType)
    num_stages = prop_def(I32, prop_name="numStages")
    producer_group = prop_def(IntegerAttr.constr(i8), prop_name="producerGroupId")
    consumer_group = prop_def(IntegerAttr.constr(i8), prop_name="consumerGroupId")
    shared_memory = opt_prop_def(BOOL, prop_name="sharedMem")
    dynamic = opt_prop_def(BOOL)

    traits = traits_def(AllocatesResults())

    def __init__(
        self,
        num_stages: int,
        *,
        buffer: SSAValue | None = None,
        producer_group: int = 0,
        consumer_group: int = 0,
        shared_memory: bool | None = None,
        dynamic: bool | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        properties: dict[str, Attribute | None] = {
            "numStages": IntegerAttr(num_stages, i32),
            "producerGroupId": IntegerAttr(producer_group, i8, truncate_bits=True),
            "consumerGroupId": IntegerAttr(consumer_group, i8, truncate_bits=True),
            "sharedMem": None if shared_memory is None else BoolAttr.from_bool(shared_memory),
            "dynamic": None if dynamic is None else BoolAttr.from_bool(dynamic),
        }
        super().__init__(
            operands=[_present(buffer)],
            result_types=[PRODUCER, CONSUMER],
            properties=properties,
            attributes=dict(attributes or {}),
        )

    @property
    def buffer(self) -> SSAValue | None:
        """The storage of all slots, or None where it is assigned later."""
        return self.buffers[0] if self.buffers else None

    @property
    def depth(self) -> int:
        """The number of slots."""
        return self.num_stages.value.data

    @property
    def producer_group_number(self) -> int:
        """The agent region that fills slots: 0 to 255."""
        return self.producer_group.value.data & 0xFF

    @property
    def consumer_group_number(self) -> int:
        """The agent region that empties slots: 0 to 255."""
        return self.consumer_group.value.data & 0xFF

    @property
    def allocated_values(self) -> Sequence[SSAValue]:
        return self.results

    def verify_contract(self) -> None:
        if self.depth < 1:
            raise VerifyException(f"expects numStages to be at least 1, but got {self.depth}")
        expect_count("buffer operand", len(self.buffers), 0, 1)
        if self.buffer is None:
            return
        type_ = self.buffer.type
        if not isinstance(type_, TensorType | TiledViewType):
            raise VerifyException(f"expects the buffer to be a tensor or a tiled view, but got {type_}")
        shape = type_.get_shape()
        if not shape or shape[0] != self.depth:
            raise VerifyException(
                f"expects the leading extent of the buffer to be numStages ({self.depth}), but got {type_}"
            )


@irdl_op_definition
class CreateIteratorOp(TileOp):
    """
    An iterator over the slots of a pipeline, for one side, at its first slot.

    `%i = nv_tileas.async.pipeline.create_iterator %p : (!nv_tileas.producer_token) -> !nv_tileas.pipeline_iter<i32>`
    """

    name = "nv_tileas.async.pipeline.create_iterator"

    pipeline = operand_def(ProducerTokenType | ConsumerTokenType)
    iterator = result_def(PipelineIteratorType)

    traits = traits_def(Pure())

    def __init__(self, pipeline: SSAValue, payload: Attribute) -> None:
        super().__init__(operands=[pipeline], result_types=[PipelineIteratorType.of(payload)])


@irdl_op_definition
class IncIterOp(TileOp):
    """
    The next slot: index plus one. On reaching the depth, the index becomes 0 and the phase bit flips.

    `%j = nv_tileas.async.pipeline.inc_iter %i : (!nv_tileas.pipeline_iter<i32>) -> !nv_tileas.pipeline_iter<i32>`
    """

    name = "nv_tileas.async.pipeline.inc_iter"

    iterator = operand_def(PipelineIteratorType)
    next_iterator = result_def(PipelineIteratorType)

    traits = traits_def(Pure())

    def __init__(self, iterator: SSAValue) -> None:
        super().__init__(operands=[iterator], result_types=[iterator.type])

    def verify_contract(self) -> None:
        if self.next_iterator.type != self.iterator.type:
            raise VerifyException(
                f"expects a result of the operand's type {self.iterator.type}, but got {self.next_iterator.type}"
            )


@irdl_op_definition
class CreateNullTokenOp(TileOp):
    """
    A token that belongs to no pipeline and waits for nothing.

    `%t = nv_tileas.async.pipeline.create_null_token : () -> !nv_tileas.token`
    """

    name = "nv_tileas.async.pipeline.create_null_token"

    token = result_def(AsyncTokenType | ProducerTokenType | ConsumerTokenType)

    traits = traits_def(Pure())


# One turn ----------------------------------------------------------------------------------------


def _ends_in_token(op: ClassifiedOp) -> None:
    """The last result is `!nv_tileas.token`; the one before it may be an ownership token of the op's own side."""
    if op.async_result is None:
        raise VerifyException(
            f"expects the last result to be !nv_tileas.token, but got {type_list(types_of(op.results))}"
        )
    if sum(isinstance(result.type, AsyncTokenType) for result in op.results) > 1:
        raise VerifyException("expects one result of type !nv_tileas.token, but got 2")


@irdl_op_definition
class ProduceOneOp(ProduceOp):
    """
    Fill one stage.

    `%p1 = nv_tileas.async.pipeline.produce_one %p, %i attributes {producer_types = [tensor<8xf16>]} {
    ^bb0(%slot : tensor<8xf16>): ... yield %v ... } : (!nv_tileas.producer_token, index) -> !nv_tileas.producer_token`
    """

    name = "nv_tileas.async.pipeline.produce_one"

    SIGNATURE: ClassVar = Signature(tokens=(0, 1), value_results=(0, None))

    def __init__(
        self,
        token: SSAValue | None = None,
        stage: SSAValue | None = None,
        *,
        body: Region | None = None,
        producer_types: Sequence[Attribute] | None = None,
        value_types: Sequence[Attribute] = (),
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        super().__init__(
            operands=[_present(token, stage)],
            result_types=[[*value_types, PRODUCER if token is None else token.type]],
            attributes=_entries({"producer_types": _types(producer_types)}, attributes),
            regions=[_empty(body)],
        )


@irdl_op_definition
class ProduceOneAsyncOp(ProduceOp):
    """
    Start to fill one stage; the last result completes when it is full.

    `%p, %t = nv_tileas.async.pipeline.produce_one_async %i attributes {pipeline_stage = 0 : i32}
    : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)`
    """

    name = "nv_tileas.async.pipeline.produce_one_async"

    SIGNATURE: ClassVar = Signature(tokens=(0, 1), value_results=(0, None), token_results=(1, 2))

    def __init__(
        self,
        token: SSAValue | None = None,
        stage: SSAValue | None = None,
        *,
        body: Region | None = None,
        producer_types: Sequence[Attribute] | None = None,
        value_types: Sequence[Attribute] = (),
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        super().__init__(
            operands=[_present(token, stage)],
            result_types=[[*value_types, PRODUCER, TOKEN]],
            attributes=_entries({"producer_types": _types(producer_types)}, attributes),
            regions=[_empty(body)],
        )

    def verify_token_results(self) -> None:
        _ends_in_token(self)


@irdl_op_definition
class ConsumeOneOp(ConsumeOp):
    """
    Empty one stage.

    `%v, %c1 = nv_tileas.async.pipeline.consume_one %c, %i attributes {consumer_types = [tensor<8xf16>]} {
    ^bb0(%slot : tensor<8xf16>): ... yield %slot ... }
    : (!nv_tileas.consumer_token, index) -> (tensor<8xf16>, !nv_tileas.consumer_token)`
    """

    name = "nv_tileas.async.pipeline.consume_one"

    SIGNATURE: ClassVar = Signature(value_results=(0, None))

    def __init__(
        self,
        token: SSAValue,
        stage: SSAValue | None = None,
        *,
        value_types: Sequence[Attribute] = (),
        body: Region | None = None,
        consumer_types: Sequence[Attribute] | None = None,
        consumer_idx: int | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        given = {"consumer_idx": _i32(consumer_idx), "consumer_types": _types(consumer_types)}
        super().__init__(
            operands=[_present(token, stage)],
            result_types=[[*value_types, token.type]],
            attributes=_entries(given, attributes),
            regions=[_empty(body)],
        )


@irdl_op_definition
class ConsumeOneAsyncOp(ConsumeOp):
    """
    Start to empty one stage; the last result completes when the stage has been read.

    `%t1 = nv_tileas.async.pipeline.consume_one_async %t0 : (!nv_tileas.token) -> !nv_tileas.token`
    """

    name = "nv_tileas.async.pipeline.consume_one_async"

    SIGNATURE: ClassVar = Signature(value_results=(0, None), token_results=(1, 2))

    def __init__(
        self,
        token: SSAValue,
        stage: SSAValue | None = None,
        *,
        value_types: Sequence[Attribute] = (),
        body: Region | None = None,
        consumer_types: Sequence[Attribute] | None = None,
        consumer_idx: int | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        given = {"consumer_idx": _i32(consumer_idx), "consumer_types": _types(consumer_types)}
        ownership = [CONSUMER] if is_ownership_token(token.type) else []
        super().__init__(
            operands=[_present(token, stage)],
            result_types=[[*value_types, *ownership, TOKEN]],
            attributes=_entries(given, attributes),
            regions=[_empty(body)],
        )

    def verify_token_results(self) -> None:
        _ends_in_token(self)
        token = self.token
        if self.ownership_result is not None and token is not None and not is_ownership_token(token.type):
            raise VerifyException(f"expects no ownership token from an op given {token.type}")


# Steps of a turn ---------------------------------------------------------------------------------


class StepOp(ClassifiedOp, ABC):
    """Base of the steps of the handshake without a region."""

    traits = traits_def(Synchronizes())


class SlotStepOp(StepOp, ABC):
    """Base of the steps on one slot: token and stage in, token out."""

    SIGNATURE: ClassVar = Signature(token_results=(1, 1))

    @property
    def memory_accesses(self) -> Sequence[Effect | SideOrder | TokenWait]:
        """Stages are taken in order."""
        return [SideOrder(self.side, self, TAKES)]

    def __init__(
        self, token: SSAValue, stage: SSAValue | None = None, *, attributes: Mapping[str, Attribute] | None = None
    ) -> None:
        super().__init__(
            operands=[_present(token, stage)], result_types=[[token.type]], attributes=dict(attributes or {})
        )


class PublishOp(StepOp, ABC):
    """Base of the steps that hand slots over: tokens in, at most one token of the first one's type out."""

    SIGNATURE: ClassVar = Signature(tokens=(1, None), stages=(0, 0))

    @property
    def memory_accesses(self) -> Sequence[Effect | SideOrder | TokenWait]:
        """The op keeps its order in each pipeline of which it hands a slot over."""
        return [SideOrder(self.side, token, GIVES) for token in self.tokens]

    def __init__(
        self, *tokens: SSAValue, returns: bool = False, attributes: Mapping[str, Attribute] | None = None
    ) -> None:
        super().__init__(
            operands=[tokens],
            result_types=[[tokens[0].type] if returns and tokens else []],
            attributes=dict(attributes or {}),
        )


@irdl_op_definition
class ProducerAcquireOp(SlotStepOp):
    """
    Wait until the slot is empty; the producer owns it then.

    `%own = nv_tileas.async.pipeline.producer_acquire %p, %i
    : (!nv_tileas.producer_token, index) -> !nv_tileas.producer_token`
    """

    name = "nv_tileas.async.pipeline.producer_acquire"

    OWNERSHIP: ClassVar = ProducerTokenType


@irdl_op_definition
class ProducerCommitOp(PublishOp):
    """
    Publish the slot.

    `nv_tileas.async.pipeline.producer_commit %t0, %t1 : (!nv_tileas.token, !nv_tileas.token) -> ()`

    An ownership token comes from a write, an acquire or a produce op.
    """

    name = "nv_tileas.async.pipeline.producer_commit"

    OWNERSHIP: ClassVar = ProducerTokenType

    def verify_contract(self) -> None:
        super().verify_contract()
        _verify_origin(self, (ProducerWriteOp, ProducerAcquireOp, ProduceOp), "a write, an acquire or a produce op")


@irdl_op_definition
class ConsumerWaitOp(SlotStepOp):
    """
    Wait until the slot is published.

    `%got = nv_tileas.async.pipeline.consumer_wait %c, %i attributes {consumer_idx = 0 : i32}
    : (!nv_tileas.consumer_token, index) -> !nv_tileas.consumer_token`
    """

    name = "nv_tileas.async.pipeline.consumer_wait"

    OWNERSHIP: ClassVar = ConsumerTokenType

    consumer_idx = opt_attr_def(I32)

    def verify_contract(self) -> None:
        super().verify_contract()
        verify_consumer_index(self, self.consumer_idx)


@irdl_op_definition
class ConsumerReleaseOp(PublishOp):
    """
    Give the slot back to the producer.

    `nv_tileas.async.pipeline.consumer_release %t : (!nv_tileas.token) -> ()`

    An ownership token comes from a read, a wait or a consume op.
    """

    name = "nv_tileas.async.pipeline.consumer_release"

    OWNERSHIP: ClassVar = ConsumerTokenType

    def verify_contract(self) -> None:
        super().verify_contract()
        _verify_origin(self, (ConsumerReadOp, ConsumerWaitOp, ConsumeOp), "a read, a wait or a consume op")


def _verify_origin(op: ClassifiedOp, makers: tuple[type[Operation], ...], wording: str) -> None:
    """An ownership token is a result of one of `makers`; the origin of block arguments is not checked."""
    for token in op.tokens:
        maker = token.owner
        if is_ownership_token(token.type) and isinstance(maker, TileOp) and not isinstance(maker, makers):
            raise VerifyException(f"expects an ownership token from {wording}, but got one from '{maker.name}'")


@irdl_op_definition
class ProducerWriteOp(RegionOp):
    """
    Fill the slot with the values given, or with what the body yields.

    `%full = nv_tileas.async.pipeline.producer_write %own, %i, %v
    : (!nv_tileas.producer_token, index, tensor<8xf16>) -> !nv_tileas.producer_token`

    The body may yield `!nv_tileas.token`s in place of values: work that completes later.
    """

    name = "nv_tileas.async.pipeline.producer_write"

    SIGNATURE: ClassVar = Signature(values=(0, None))
    OWNERSHIP: ClassVar = ProducerTokenType

    traits = traits_def(Synchronizes())

    def __init__(
        self,
        token: SSAValue,
        stage: SSAValue | None = None,
        *values: SSAValue,
        body: Region | None = None,
        producer_types: Sequence[Attribute] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        super().__init__(
            operands=[[*_present(token, stage), *values]],
            result_types=[[token.type]],
            attributes=_entries({"producer_types": _types(producer_types)}, attributes),
            regions=[_empty(body)],
        )

    @property
    def memory_accesses(self) -> Sequence[Effect | SideOrder | TokenWait]:
        return [*super().memory_accesses, *self.tiles_read]

    def verify_contract(self) -> None:
        super().verify_contract()
        if self.values and not self.is_abstract:
            raise VerifyException("expects the payload as operands or from the region, not both")
        found = types_of(self.values)
        if found and self.payload is not None and found != self.payload:
            raise VerifyException(
                f"expects values of the payload types {type_list(self.payload)}, but got {type_list(found)}"
            )

    def verify_region(self) -> None:
        self.verify_terminator()
        if self.payload is None:
            return
        self.verify_block_arguments(self.payload)
        if not self.yielded or not all(isinstance(value.type, AsyncTokenType) for value in self.yielded):
            self.verify_yield(self.payload)


@irdl_op_definition
class ConsumerReadOp(RegionOp):
    """
    Take the values out of the slot.

    `%v, %done = nv_tileas.async.pipeline.consumer_read %got, %i
    : (!nv_tileas.consumer_token, index) -> (tensor<8xf16>, !nv_tileas.consumer_token)`
    """

    name = "nv_tileas.async.pipeline.consumer_read"

    SIGNATURE: ClassVar = Signature(value_results=(1, None))
    OWNERSHIP: ClassVar = ConsumerTokenType

    consumer_idx = opt_attr_def(I32)

    traits = traits_def(ReadsSlot(), SlotStorage())

    def __init__(
        self,
        token: SSAValue,
        stage: SSAValue | None = None,
        *,
        value_types: Sequence[Attribute],
        returns: bool = True,
        body: Region | None = None,
        consumer_idx: int | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        super().__init__(
            operands=[_present(token, stage)],
            result_types=[[*value_types, *([token.type] if returns else [])]],
            attributes=_entries({"consumer_idx": _i32(consumer_idx)}, attributes),
            regions=[_empty(body)],
        )

    @property
    def payload(self) -> tuple[Attribute, ...] | None:
        listed = self.consumer_types if self.consumer_types is not None else self.producer_types
        return None if listed is None else tuple(listed.data)

    def verify_contract(self) -> None:
        super().verify_contract()
        verify_consumer_index(self, self.consumer_idx)

    def verify_region(self) -> None:
        self.verify_terminator()
        if self.payload is not None:
            self.verify_block_arguments(self.payload)
        self.verify_yield(self.expected_yield())


@irdl_op_definition
class PipelineYieldOp(TileOp):
    """`nv_tileas.async.pipeline.yield %v : (tensor<8xf16>) -> ()`: ends the region of a pipeline op."""

    name = "nv_tileas.async.pipeline.yield"

    values = var_operand_def()

    traits = traits_def(IsTerminator(), Pure())

    def __init__(self, *values: SSAValue) -> None:
        super().__init__(operands=[values])

    def verify_contract(self) -> None:
        parent = self.parent_op()
        if parent is not None and not isinstance(parent, RegionOp | AgentSwitchOp):
            raise VerifyException(
                "expects to end a region of a produce or consume op, producer_write, consumer_read or agent_switch, "
                f"but its parent is '{parent.name}'"
            )


PIPELINE_OPS = (
    CreatePipelineOp,
    CreateIteratorOp,
    IncIterOp,
    CreateNullTokenOp,
    ProduceOneOp,
    ProduceOneAsyncOp,
    ConsumeOneOp,
    ConsumeOneAsyncOp,
    ProducerAcquireOp,
    ProducerWriteOp,
    ProducerCommitOp,
    ConsumerWaitOp,
    ConsumerReadOp,
    ConsumerReleaseOp,
    PipelineYieldOp,
)
