"""
The six types of `nv_tileaa`.

    !nv_tileaa.ptr<f16, 1>                                  an address of an f16 in address space 1
    !nv_tileaa.program_id                                   an opaque answer of a grid query
    !nv_tileaa.queue<[tensor<8xf32>], depth = 3, isolated>  a FIFO whose slots hold the listed tiles
    !nv_tileaa.memref<?x64xf16, 1, strides = [?, 1]>        an array in memory; base and offset are
                                                            operands of the op that makes it
    !nv_tileaa.tiled_view<128x64xf16, smem>                 a way of reading an object tile by tile
    !nv_tileaa.mem_token                                    an ordering edge, nothing else

A tile value is a builtin tensor whose encoding may be a layout; it needs no type of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ArrayAttr,
    ContainerType,
    FixedBitwidthType,
    IndexType,
    IntAttr,
    IntegerType,
    NoneAttr,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.tiles.types import RESIDENCIES, MemoryType, extents
from tileas_xdsl.interfaces import HandleType

GREATEST_DEPTH = 2**31 - 1
"""The greatest depth of a queue: the pipeline that it becomes counts its stages in an i32."""


@irdl_attr_definition
class PointerType(ParametrizedAttribute, TypeAttribute):
    """`!nv_tileaa.ptr<f16, 1>`: the address of one element, and the address space it lies in."""

    name = "nv_tileaa.ptr"

    pointee: Attribute
    address_space: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            pointee = parser.parse_type()
            parser.parse_punctuation(",", " before the address space of a pointer")
            return (pointee, IntAttr(parser.parse_integer(allow_negative=False)))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.pointee)
            printer.print_string(f", {self.address_space.data}")


@irdl_attr_definition
class ProgramIdType(ParametrizedAttribute, TypeAttribute):
    """`!nv_tileaa.program_id`: the opaque result of a grid query."""

    name = "nv_tileaa.program_id"


@irdl_attr_definition
class MemTokenType(ParametrizedAttribute, TypeAttribute):
    """`!nv_tileaa.mem_token`: orders memory effects. Not the async token, which is nv_tileas's."""

    name = "nv_tileaa.mem_token"


@irdl_attr_definition
class QueueType(ParametrizedAttribute, HandleType):
    """
    `!nv_tileaa.queue<[T, ...], depth = N, isolated>`: a FIFO of slots, each a tuple of tiles.

    The element types are the tiles of one slot. Without a depth the number of slots is unspecified;
    `slots` then answers 1, the number that is safe to assume.
    """

    name = "nv_tileaa.queue"

    element_types: ArrayAttr[Attribute]
    depth: IntAttr | NoneAttr
    isolated: UnitAttr | NoneAttr

    @staticmethod
    def of(element_types: Sequence[Attribute], depth: int | None = None, *, isolated: bool = False) -> QueueType:
        """The queue type whose slots hold `element_types`."""
        return QueueType(
            ArrayAttr(element_types),
            NoneAttr() if depth is None else IntAttr(depth),
            UnitAttr() if isolated else NoneAttr(),
        )

    @property
    def slots(self) -> int:
        """How many slots can be assumed: the depth, or 1 when it is unspecified."""
        return self.depth.data if isinstance(self.depth, IntAttr) else 1

    def verify(self) -> None:
        if not self.element_types.data:
            raise VerifyException("a queue must carry at least one element type")
        for element_type in self.element_types.data:
            if not isinstance(element_type, TensorType):
                raise VerifyException(f"a queue carries tiles (tensors), not {element_type}")
        if isinstance(self.depth, IntAttr) and self.depth.data < 1:
            raise VerifyException(f"the depth of a queue must be positive, got {self.depth.data}")
        if isinstance(self.depth, IntAttr) and self.depth.data > GREATEST_DEPTH:
            raise VerifyException(f"the depth of a queue must be at most {GREATEST_DEPTH}, got {self.depth.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        depth: Attribute = NoneAttr()
        isolated: Attribute = NoneAttr()
        with parser.in_angle_brackets():
            types = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_type)
            while parser.parse_optional_punctuation(",") is not None:
                if parser.parse_keyword_in(("depth", "isolated"), " in a queue type") == "depth":
                    parser.parse_punctuation("=")
                    depth = IntAttr(parser.parse_integer())
                else:
                    isolated = UnitAttr()
        return (ArrayAttr(types), depth, isolated)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            with printer.in_square_brackets():
                printer.print_list(self.element_types.data, printer.print_attribute)
            if isinstance(self.depth, IntAttr):
                printer.print_string(f", depth = {self.depth.data}")
            if isinstance(self.isolated, UnitAttr):
                printer.print_string(", isolated")


@irdl_attr_definition
class ArrayType(MemoryType):
    """
    `!nv_tileaa.memref<?x64xf16, 1, strides = [?, 1], alias_scope = 7>`: an array in memory.

    Sizes and strides are in elements, `?` where they are operands of `make_memref`. Without strides
    the array is dense and row-major. Arrays of different alias scopes never overlap.
    """

    name = "nv_tileaa.memref"

    shape: ArrayAttr[IntAttr]
    element_type: Attribute
    address_space: IntAttr
    strides: ArrayAttr[IntAttr] | NoneAttr
    alias_scope: IntAttr | NoneAttr

    @staticmethod
    def of(
        shape: Sequence[int],
        element_type: Attribute,
        address_space: int = 1,
        strides: Sequence[int] | None = None,
        alias_scope: int | None = None,
    ) -> ArrayType:
        """The type of an array; `DYNAMIC_INDEX` stands for a size or stride known at run time."""
        return ArrayType(
            ArrayAttr(IntAttr(size) for size in shape),
            element_type,
            IntAttr(address_space),
            NoneAttr() if strides is None else ArrayAttr(IntAttr(stride) for stride in strides),
            NoneAttr() if alias_scope is None else IntAttr(alias_scope),
        )

    def get_strides(self) -> tuple[int, ...] | None:
        """The strides in elements, or None for a dense row-major array."""
        if isinstance(self.strides, NoneAttr):
            return None
        return tuple(stride.data for stride in self.strides.data)

    def verify(self) -> None:
        strides = self.get_strides()
        if strides is not None and len(strides) != self.get_num_dims():
            raise VerifyException(f"an array of rank {self.get_num_dims()} needs as many strides, got {len(strides)}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        strides: Attribute = NoneAttr()
        alias_scope: Attribute = NoneAttr()
        with parser.in_angle_brackets():
            shape, element_type = parser.parse_ranked_shape()
            parser.parse_punctuation(",", " before the address space of an array")
            space = IntAttr(parser.parse_integer(allow_negative=False))
            while parser.parse_optional_punctuation(",") is not None:
                keyword = parser.parse_keyword_in(("strides", "alias_scope"), " in an array type")
                parser.parse_punctuation("=")
                if keyword == "strides":
                    strides = ArrayAttr(map(IntAttr, _parse_strides(parser)))
                else:
                    alias_scope = IntAttr(parser.parse_integer(allow_negative=False))
        return (ArrayAttr(map(IntAttr, shape)), element_type, space, strides, alias_scope)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            self.print_shape(printer)
            printer.print_string(f", {self.address_space.data}")
            strides = self.get_strides()
            if strides is not None:
                spelled = ("?" if stride == DYNAMIC_INDEX else str(stride) for stride in strides)
                printer.print_string(f", strides = [{', '.join(spelled)}]")
            if isinstance(self.alias_scope, IntAttr):
                printer.print_string(f", alias_scope = {self.alias_scope.data}")


def _parse_strides(parser: AttrParser) -> list[int]:
    def stride() -> int:
        if parser.parse_optional_punctuation("?") is not None:
            return DYNAMIC_INDEX
        return parser.parse_integer()

    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, stride)


@irdl_attr_definition
class TiledViewType(MemoryType):
    """
    `!nv_tileaa.tiled_view<128x64xf16, smem>`: reads an object tile by tile; has no memory effect.

    The shape is that of one tile. The layout is a residency (`rmem`, `smem`, `tmem`, `gmem`), a
    layout attribute, or absent.
    """

    name = "nv_tileaa.tiled_view"

    shape: ArrayAttr[IntAttr]
    element_type: Attribute
    layout: Attribute

    @staticmethod
    def of(shape: Sequence[int], element_type: Attribute, layout: Attribute | str | None = None) -> TiledViewType:
        """The view that yields tiles of `shape`; `layout` may be one of `RESIDENCIES`."""
        if isinstance(layout, str):
            layout = StringAttr(layout)
        sizes = ArrayAttr(IntAttr(size) for size in shape)
        return TiledViewType(sizes, element_type, NoneAttr() if layout is None else layout)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        layout: Attribute = NoneAttr()
        with parser.in_angle_brackets():
            shape, element_type = parser.parse_ranked_shape()
            if parser.parse_optional_punctuation(",") is not None:
                residency = parser.parse_optional_keyword_in(RESIDENCIES)
                layout = parser.parse_attribute() if residency is None else StringAttr(residency)
        return (ArrayAttr(map(IntAttr, shape)), element_type, layout)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            self.print_shape(printer)
            if isinstance(self.layout, NoneAttr):
                return
            printer.print_string(", ")
            if isinstance(self.layout, StringAttr) and self.layout.data in RESIDENCIES:
                printer.print_string(self.layout.data)
            else:
                printer.print_attribute(self.layout)


# What the ops ask of a type -----------------------------------------------------------------------


def element_type_of(type_: Attribute) -> Attribute:
    """The type of one element: of a tile, array or view its element type, of a scalar itself."""
    if isinstance(type_, ContainerType):
        return cast(ContainerType[Attribute], type_).get_element_type()
    return type_


def is_integer(type_: Attribute) -> bool:
    """Whether `type_` is an integer type; an index is not."""
    return isinstance(type_, IntegerType)


def is_float(type_: Attribute) -> bool:
    """Whether `type_` is a floating-point type."""
    return isinstance(type_, AnyFloat)


def is_integer_like(type_: Attribute) -> bool:
    """Whether the elements are integers or indices."""
    return isinstance(element_type_of(type_), IntegerType | IndexType)


def bit_width(type_: Attribute) -> int | None:
    """The width of an element in bits; None where the type has none, as an index."""
    element = element_type_of(type_)
    return element.bitwidth if isinstance(element, FixedBitwidthType) else None


def same_shape(*types: Attribute) -> bool:
    """Whether all types have equal extents; scalars count as tiles of rank 0."""
    return len({extents(type_) for type_ in types}) <= 1
