"""
Pipeline ops whose operands and results are distinguished by type.

A produce or consume op takes a flat list of operands and gives a flat list of results. Three disjoint classes of types
sort them: *tokens*, *stages* (iterator, index, integer) and *values* (everything else):

    %v, %c1 = nv_tileas.async.pipeline.consumer_read %c, %it : (consumer_token, pipeline_iter<T>) -> (T, consumer_token)
       |  `-- token, always after the values    |    `-- stage
       `----- value                             `------- token

So no segment sizes are needed, and the four produce and consume ops keep `properties` empty: every attribute is an
entry of `op.attributes`. `Signature` holds the number of each class that an op has.

The *region contract* ties a body to the payload of the slot. It applies where the region has a block, and is checked in
this order: the block ends in `pipeline.yield`; the types of the block arguments, iterators unwrapped once, are the
payload; the yielded types are those of the value results or, on a produce op without any, the payload.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypeAttribute
from xdsl.irdl import opt_attr_def, region_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nv_tileas.types import (
    AsyncTokenType,
    ConsumerTokenType,
    PipelineIteratorType,
    ProducerTokenType,
    is_ownership_token,
    is_stage,
    is_token,
    is_value,
    unwrapped,
)
from tileas_xdsl.dialects.nv_tileas.verification import I32, expect_count, type_list, types_of
from tileas_xdsl.dialects.tiles.syntax import TileOp
from tileas_xdsl.dialects.tiles.traits import SlotArguments, SlotStorage, Synchronizes, bytes_of, is_view
from tileas_xdsl.interfaces import (
    AgentLikeOpInterface,
    AsyncCollectorOpInterface,
    Effect,
    MemoryAccessOpInterface,
    SideOrder,
    TokenWait,
)
from tileas_xdsl.targets.engines import Engine

PIPELINE_YIELD = "nv_tileas.async.pipeline.yield"

TAKES, GIVES = ("take",), ("give",)
"""The step of its side that an op does: it takes a stage (acquire, wait), or gives one up (commit, release)."""

PRODUCER_KINDS = (Engine.TMA, "async_copy", "sync")
"""Instruction families that fill a stage; what `producer_kind` may say."""


@dataclass(frozen=True)
class Signature:
    """The number of operands and results of each class: (least, most), where most None means any number."""

    tokens: tuple[int, int | None] = (1, 1)
    stages: tuple[int, int | None] = (0, 1)
    values: tuple[int, int | None] = (0, 0)
    value_results: tuple[int, int | None] = (0, 0)
    token_results: tuple[int, int | None] = (0, 1)


class ClassifiedOp(TileOp, MemoryAccessOpInterface, ABC):
    """A pipeline op with operands `arguments` and results `outputs`, sorted by type."""

    SIGNATURE: ClassVar[Signature]
    OWNERSHIP: ClassVar[type[ProducerTokenType | ConsumerTokenType]]
    """The token type of the side that the op works on; the other side's token is refused."""

    arguments = var_operand_def()
    outputs = var_result_def()

    @property
    def memory_accesses(self) -> Sequence[Effect | SideOrder | TokenWait]:
        """
        The op keeps its order among those of its side. What it does to its slot is stated by the ops in its region.
        """
        return [SideOrder(self.side, self)]

    @property
    def side(self) -> str:
        """The side of the pipeline that the op works on."""
        return "producer" if self.OWNERSHIP is ProducerTokenType else "consumer"

    # Operands

    @property
    def tokens(self) -> tuple[SSAValue, ...]:
        """The token operands."""
        return tuple(operand for operand in self.operands if is_token(operand.type))

    @property
    def token(self) -> SSAValue | None:
        """The first token operand, or None."""
        return next((operand for operand in self.operands if is_token(operand.type)), None)

    @property
    def stage(self) -> SSAValue | None:
        """The operand that names the slot (iterator, index or integer), or None."""
        return next((operand for operand in self.operands if is_stage(operand.type)), None)

    @property
    def values(self) -> tuple[SSAValue, ...]:
        """The operands that are neither tokens nor stages."""
        return tuple(operand for operand in self.operands if is_value(operand.type))

    # Results

    @property
    def value_results(self) -> tuple[SSAValue, ...]:
        """The results that the region yields: values, then iterators."""
        return tuple(result for result in self.results if not is_token(result.type))

    @property
    def ownership_result(self) -> SSAValue | None:
        """The producer or consumer token that the op returns, or None."""
        return next((result for result in self.results if is_ownership_token(result.type)), None)

    @property
    def async_result(self) -> SSAValue | None:
        """The `!nv_tileas.token` that the op returns, or None."""
        return next((result for result in self.results if isinstance(result.type, AsyncTokenType)), None)

    def verify_contract(self) -> None:
        self.verify_operand_classes()
        self.verify_result_classes()

    def verify_operand_classes(self) -> None:
        """The numbers of tokens, stages and values are those of `SIGNATURE`, and no token belongs to the other side."""
        signature = self.SIGNATURE
        for token in self.tokens:
            if is_ownership_token(token.type) and not isinstance(token.type, self.OWNERSHIP):
                raise VerifyException(
                    f"expects token operands of type !{self.OWNERSHIP.name} or !nv_tileas.token, but got {token.type}"
                )
        expect_count("token operand", len(self.tokens), *signature.tokens)
        expect_count("stage operand", sum(is_stage(operand.type) for operand in self.operands), *signature.stages)
        expect_count("value operand", len(self.values), *signature.values)

    def verify_result_classes(self) -> None:
        """Values, iterators, the ownership token, `!nv_tileas.token`: in this order, in the numbers of `SIGNATURE`."""
        types = types_of(self.results)
        ranks = [_result_rank(type_) for type_ in types]
        if ranks != sorted(ranks):
            raise VerifyException(
                "expects results in the order values, iterators, ownership token, !nv_tileas.token, "
                f"but got {type_list(types)}"
            )
        for type_ in types:
            if is_stage(type_) and not isinstance(type_, PipelineIteratorType):
                raise VerifyException(f"expects no result of type {type_}: wrap an integer payload in a tensor")
            if is_ownership_token(type_) and not isinstance(type_, self.OWNERSHIP):
                raise VerifyException(
                    f"expects token results of type !{self.OWNERSHIP.name} or !nv_tileas.token, but got {type_}"
                )
        expect_count("value result", len(self.value_results), *self.SIGNATURE.value_results)
        expect_count("token result", len(types) - len(self.value_results), *self.SIGNATURE.token_results)
        self.verify_token_results()

    def verify_token_results(self) -> None:
        """
        The first token result has the type of the first token operand: an op given an ownership token returns one.
        """
        token, results = self.token, [result for result in self.results if is_token(result.type)]
        if token is not None and results and results[0].type != token.type:
            raise VerifyException(f"expects a token result of type {token.type}, but got {results[0].type}")


def _result_rank(type_: Attribute) -> int:
    """The place of a result of `type_` in the order of results."""
    if isinstance(type_, AsyncTokenType):
        return 3
    if is_ownership_token(type_):
        return 2
    return 1 if is_stage(type_) else 0


class RegionOp(ClassifiedOp, ABC):
    """
    A pipeline op with an optional body: an empty region is the abstract form.

    `producer_types` and `consumer_types` list the payload of the slot.
    """

    producer_types = opt_attr_def(ArrayAttr[Attribute])
    consumer_types = opt_attr_def(ArrayAttr[Attribute])
    body = region_def()

    traits = traits_def(NoTerminator(), SlotArguments())

    @property
    def memory_accesses(self) -> Sequence[Effect | SideOrder | TokenWait]:
        """An op on a stage that its side has taken already orders itself by its token."""
        return [] if self.is_on_taken_stage else super().memory_accesses

    @property
    def is_on_taken_stage(self) -> bool:
        """Whether the token operand comes from an op of the same side: then the stage is that op's."""
        owner = self.token.owner if self.token is not None else None
        return isinstance(owner, ClassifiedOp) and owner.OWNERSHIP is self.OWNERSHIP

    @property
    def is_abstract(self) -> bool:
        """Whether the op says only that data moves, without a body that says how."""
        return self.body.first_block is None

    @property
    def payload(self) -> tuple[Attribute, ...] | None:
        """The payload types of the slot, or None where the op does not list them."""
        listed = self.producer_types if self.producer_types is not None else self.consumer_types
        return None if listed is None else tuple(listed.data)

    @property
    def yielded(self) -> tuple[SSAValue, ...]:
        """The operands of the terminator; empty in the abstract form."""
        block = self.body.first_block
        return tuple(block.last_op.operands) if block is not None and block.last_op is not None else ()

    @property
    def tiles_read(self) -> Sequence[Effect]:
        """The reads of what goes into the slot: tiles that lie in memory of their own, and are made outside of it."""
        moved = [(value, bytes_of(value)) for value in (*self.yielded, *self.values)]
        return [Effect(False, value) for value, root in moved if is_view(value) and not self._makes(root)]

    def _makes(self, value: SSAValue) -> bool:
        owner = value.owner
        return owner is self.body.first_block if isinstance(owner, Block) else self.is_ancestor(owner)

    def verify_contract(self) -> None:
        super().verify_contract()
        self.verify_payload_attributes()
        if not self.is_abstract:
            self.verify_region()

    def verify_payload_attributes(self) -> None:
        for name, listed in (("producer_types", self.producer_types), ("consumer_types", self.consumer_types)):
            for type_ in listed.data if listed is not None else ():
                if not isinstance(type_, TypeAttribute):
                    raise VerifyException(f"expects {name} to list types, but got {type_}")

    def verify_region(self) -> None:
        """The region contract of the module's docstring, in its order."""
        self.verify_terminator()
        self.verify_block_arguments(self.payload or ())
        self.verify_yield(self.expected_yield())

    def expected_yield(self) -> tuple[Attribute, ...]:
        """The types that the terminator must yield."""
        return types_of(self.value_results)

    def verify_terminator(self) -> None:
        last = self.body.block.last_op
        if last is None or last.name != PIPELINE_YIELD:
            raise VerifyException(f"pipeline regions must end with '{PIPELINE_YIELD}'")

    def verify_block_arguments(self, payload: Sequence[Attribute]) -> None:
        found = types_of(self.body.block.args)
        if [unwrapped(type_) for type_ in found] != list(payload):
            raise VerifyException(
                f"expects region arguement types to match with producer types {type_list(payload)}, "
                f"but got: {type_list(found)}"
            )

    def verify_yield(self, expected: Sequence[Attribute]) -> None:
        found = types_of(self.yielded)
        if tuple(found) != tuple(expected):
            raise VerifyException(
                f"expects region result types to be match with operation result types {type_list(expected)}, "
                f"but got: {type_list(found)}"
            )


class StagedOp(RegionOp, ABC):
    """Base of the four produce and consume ops, which also carry the schedule."""

    pipeline_stage = opt_attr_def(I32)
    """Written by MaterializeAsync: the pipeline stage that the op belongs to."""
    stage_index = opt_attr_def(I32, attr_name="stage")
    """The stage in the schedule, written by the scheduler together with `iter_offset`."""
    iter_offset = opt_attr_def(I32)
    """How many iterations back the op runs: zero or negative."""
    pipeline_id = opt_attr_def(IntegerAttr)
    """The number of the implicit pipeline that the op and its clones belong to."""

    traits = traits_def(Synchronizes())

    @property
    def memory_accesses(self) -> Sequence[Effect | SideOrder | TokenWait]:
        """What nobody does in its place the op does itself: it takes its stage, unless it has, and gives it up."""
        return [SideOrder(self.side, self, GIVES if self.is_on_taken_stage else (*TAKES, *GIVES))]

    def verify_contract(self) -> None:
        self.verify_schedule()
        super().verify_contract()

    def verify_schedule(self) -> None:
        for name, entry in (("pipeline_stage", self.pipeline_stage), ("stage", self.stage_index)):
            if entry is not None and entry.value.data < 0:
                raise VerifyException(f"expects {name} to be zero or positive, but got {entry.value.data}")
        if self.iter_offset is not None and self.iter_offset.value.data > 0:
            raise VerifyException(f"expects iter_offset to be zero or negative, but got {self.iter_offset.value.data}")


class ProduceOp(StagedOp, AsyncCollectorOpInterface, ABC):
    """Base of the ops that fill one stage."""

    OWNERSHIP: ClassVar = ProducerTokenType

    producer_kind = opt_attr_def(StringAttr)
    """The instruction family that fills the stage: one of `PRODUCER_KINDS`."""
    num_stages = opt_attr_def(IntegerAttr)
    """The depth of an implicit pipeline; unbounded when absent."""

    @property
    def memory_accesses(self) -> Sequence[Effect | SideOrder | TokenWait]:
        return [*super().memory_accesses, *self.tiles_read]

    def expected_yield(self) -> tuple[Attribute, ...]:
        return types_of(self.value_results) if self.value_results else self.payload or ()

    def verify_operand_classes(self) -> None:
        super().verify_operand_classes()
        if self.token is None and self.stage is None:
            raise VerifyException("expects a token operand or a stage operand, but got neither")

    def verify_schedule(self) -> None:
        super().verify_schedule()
        if self.consumer_types is not None:
            raise VerifyException("expects the payload of a produce op in producer_types, not in consumer_types")
        kind, depth = self.producer_kind, self.num_stages
        if kind is not None and kind.data not in PRODUCER_KINDS:
            raise VerifyException(f"expects producer_kind to be one of {', '.join(PRODUCER_KINDS)}, got '{kind.data}'")
        if depth is not None and depth.value.data < 1:
            raise VerifyException(f"expects num_stages to be at least 1, but got {depth.value.data}")


class ConsumeOp(StagedOp, ABC):
    """Base of the ops that empty one stage."""

    OWNERSHIP: ClassVar = ConsumerTokenType

    consumer_idx = opt_attr_def(I32)
    """Which agent of the consumer group this is; 0 when absent."""

    traits = traits_def(SlotStorage())

    @property
    def payload(self) -> tuple[Attribute, ...] | None:
        listed = self.consumer_types if self.consumer_types is not None else self.producer_types
        return None if listed is None else tuple(listed.data)

    def verify_contract(self) -> None:
        super().verify_contract()
        verify_consumer_index(self, self.consumer_idx)


def verify_consumer_index(op: Operation, consumer_idx: IntegerAttr | None) -> None:
    """`consumer_idx` is the number of an agent of the agent region around `op`, where there is one."""
    index = 0 if consumer_idx is None else consumer_idx.value.data
    agents = _agents_around(op)
    if index < 0 or (agents is not None and index >= agents):
        raise VerifyException("consumer_idx out of range for consumer group")


def _agents_around(op: Operation) -> int | None:
    """The number of agents that run `op`: the size of the innermost agent region's group, or None outside of one."""
    region: Region | None = op.parent_region()
    while region is not None and (parent := region.parent) is not None:
        agents = AgentLikeOpInterface.of(parent)
        if agents is not None:
            regions, sizes = agents.agent_regions, agents.group_sizes
            index = regions.index(region)
            return sizes[index] if index < len(sizes) else None
        region = parent.parent_region()
    return None
