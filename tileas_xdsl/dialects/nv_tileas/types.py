"""
The types of `nv_tileas`.

    !nv_tileas.token                          something asynchronous completes
    !nv_tileas.producer_token                 the producer's end of a pipeline
    !nv_tileas.consumer_token                 the consumer's end
    !nv_tileas.pipeline_iter<tensor<8xf16>>   a rotating stage, with the payload type of its slot
    !nv_tileas.tma_desc                       a TMA descriptor
    !nv_tileas.tiled_view<2x128xf16, smem>    tiles of an array, and where they live
    !nv_tileas.mbarrier                       one barrier slot
    !nv_tileas.f4E0M3                         the four-bit float that MLIR lacks

Tokens have no payload: they say who owns a stage and what is complete. A tile value is a builtin
tensor whose encoding is a layout; the memory token is `!nv_tileaa.mem_token`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    IndexType,
    IntAttr,
    IntegerType,
    NoneAttr,
    StringAttr,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.tiles.types import RESIDENCIES, MemoryType
from tileas_xdsl.interfaces import HandleType


@irdl_attr_definition
class AsyncTokenType(ParametrizedAttribute, HandleType):
    """`!nv_tileas.token`: complete when the work behind it is."""

    name = "nv_tileas.token"


@irdl_attr_definition
class ProducerTokenType(ParametrizedAttribute, HandleType):
    """`!nv_tileas.producer_token`: the right to fill stages of one pipeline."""

    name = "nv_tileas.producer_token"


@irdl_attr_definition
class ConsumerTokenType(ParametrizedAttribute, HandleType):
    """`!nv_tileas.consumer_token`: the right to read stages of one pipeline."""

    name = "nv_tileas.consumer_token"


@irdl_attr_definition
class PipelineIteratorType(ParametrizedAttribute, HandleType):
    """
    `!nv_tileas.pipeline_iter<T>`: names the current stage of a pipeline whose slots hold a `T`.

    Several payloads are wrapped as one `tuple<...>`; `i32` only counts stages. The depth is stated in `<T, depth = 3>`
    and unspecified without it; stage and phase are run-time state.
    """

    name = "nv_tileas.pipeline_iter"

    payload: Attribute
    depth: IntAttr | NoneAttr

    @staticmethod
    def of(payload: Attribute, depth: int | None = None) -> PipelineIteratorType:
        """The iterator over slots that hold a `payload`."""
        return PipelineIteratorType(payload, NoneAttr() if depth is None else IntAttr(depth))

    def verify(self) -> None:
        if not isinstance(self.payload, TypeAttribute):
            raise VerifyException(f"a pipeline iterator wraps a type, not {self.payload}")
        if isinstance(self.depth, IntAttr) and self.depth.data < 1:
            raise VerifyException(f"the depth of a pipeline iterator is at least 1, got {self.depth.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            payload = parser.parse_type()
            depth: IntAttr | NoneAttr = NoneAttr()
            if parser.parse_optional_punctuation(",") is not None:
                parser.parse_keyword("depth")
                parser.parse_punctuation("=")
                depth = IntAttr(parser.parse_integer())
        return (payload, depth)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.payload)
            if isinstance(self.depth, IntAttr):
                printer.print_string(f", depth = {self.depth.data}")


@irdl_attr_definition
class TmaDescriptorType(ParametrizedAttribute, TypeAttribute):
    """`!nv_tileas.tma_desc`: an opaque descriptor of an array and of the boxes taken from it."""

    name = "nv_tileas.tma_desc"


@irdl_attr_definition
class MBarrierType(ParametrizedAttribute, HandleType):
    """`!nv_tileas.mbarrier`: one barrier slot in shared memory."""

    name = "nv_tileas.mbarrier"


@irdl_attr_definition
class TiledViewType(MemoryType):
    """`!nv_tileas.tiled_view<2x128x128xf16, smem>`: an array seen tile by tile."""

    name = "nv_tileas.tiled_view"

    shape: ArrayAttr[IntAttr]
    element_type: Attribute
    residency: StringAttr | NoneAttr

    @staticmethod
    def of(shape: Sequence[int], element_type: Attribute, residency: str | None = None) -> TiledViewType:
        """The view with tiles of `shape`; `residency` is one of `RESIDENCIES`."""
        return TiledViewType(
            ArrayAttr([IntAttr(extent) for extent in shape]),
            element_type,
            NoneAttr() if residency is None else StringAttr(residency),
        )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        residency: StringAttr | NoneAttr = NoneAttr()
        with parser.in_angle_brackets():
            shape, element_type = parser.parse_ranked_shape()
            if parser.parse_optional_punctuation(",") is not None:
                residency = StringAttr(parser.parse_keyword_in(RESIDENCIES))
        return (ArrayAttr([IntAttr(extent) for extent in shape]), element_type, residency)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            self.print_shape(printer)
            if isinstance(self.residency, StringAttr):
                printer.print_string(f", {self.residency.data}")


# Classes of types --------------------------------------------------------------------------------


def is_ownership_token(type_: Attribute) -> bool:
    """Whether `type_` is a producer or consumer token."""
    return isinstance(type_, ProducerTokenType | ConsumerTokenType)


def is_token(type_: Attribute) -> bool:
    """The class *token*: the three token types."""
    return isinstance(type_, AsyncTokenType | ProducerTokenType | ConsumerTokenType)


def is_stage(type_: Attribute) -> bool:
    """The class *stage*: types that may name the slot to work on."""
    return isinstance(type_, PipelineIteratorType | IndexType | IntegerType)


def is_value(type_: Attribute) -> bool:
    """The class *value*: types that a slot may hold."""
    return not is_token(type_) and not is_stage(type_)


def unwrapped(type_: Attribute) -> Attribute:
    """The payload type of an iterator; any other type unchanged. Unwraps one level only."""
    return type_.payload if isinstance(type_, PipelineIteratorType) else type_
