"""
Types of Triton: global addresses, descriptors of tensors in global memory, views of shared and tensor memory, tokens.

    !tt.ptr<f16>    !tt.tensordesc<128x64xf16, #shared>    !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>

A view of memory says its shape, the encoding of its elements, the memory that they lie in, whether it may be written,
and, where it was cut out of something larger, the shape of that.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntAttr, NoneAttr, TensorType, UnitAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from tileas_xdsl.dialects.triton.encodings import parse_body, print_body
from tileas_xdsl.interfaces import HandleType

TENSOR_MEMORY = "ttng.tensor_memory"
"""The attribute that says that a view lies in tensor memory."""

Shape = ArrayAttr[IntAttr]


@irdl_attr_definition
class PointerType(ParametrizedAttribute, TypeAttribute):
    """`!tt.ptr<f16>`: a global address; with a number behind it, one of another address space."""

    name = "tt.ptr"

    pointee: Attribute
    space: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            pointee = parser.parse_type()
            space = parser.parse_integer() if parser.parse_optional_punctuation(",") is not None else 1
        return [pointee, IntAttr(space)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.pointee)
            if self.space.data != 1:
                printer.print_string(f", {self.space.data}")


@irdl_attr_definition
class TensorDescType(ParametrizedAttribute, TypeAttribute):
    """`!tt.tensordesc<128x64xf16, #shared>`: the block that one copy moves, and how it lies in shared memory."""

    name = "tt.tensordesc"

    shape: Shape
    element: Attribute
    encoding: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            shape, element = _parse_shaped(parser)
            encoding = parser.parse_attribute() if parser.parse_optional_punctuation(",") is not None else NoneAttr()
        return [shape, element, encoding]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            _print_shaped(printer, self.shape, self.element)
            if not isinstance(self.encoding, NoneAttr):
                printer.print_string(", ")
                printer.print_attribute(self.encoding)

    @property
    def extents(self) -> tuple[int, ...]:
        """The shape of the block."""
        return tuple(extent.data for extent in self.shape)


@irdl_attr_definition
class Im2colDescType(ParametrizedAttribute, TypeAttribute):
    """`!ttng.tensordesc_im2col<...>`: a descriptor whose boxes are windows of an image, kept as text."""

    name = "ttng.tensordesc_im2col"

    pieces: ArrayAttr[Attribute]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        return [ArrayAttr(parse_body(parser))]

    def print_parameters(self, printer: Printer) -> None:
        print_body(printer, self.pieces.data)


@irdl_attr_definition
class MemDescType(ParametrizedAttribute, TypeAttribute):
    """`!ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>`: a view of shared or tensor memory."""

    name = "ttg.memdesc"

    shape: Shape
    element: Attribute
    encoding: Attribute
    space: Attribute
    mutable: Attribute
    """`UnitAttr` where it may be written."""
    whole: Shape | NoneAttr
    """The shape of what it was cut out of, where that is said."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            shape, element = _parse_shaped(parser)
            parser.parse_punctuation(",")
            encoding = parser.parse_attribute()
            parser.parse_punctuation(",")
            space = parser.parse_attribute()
            mutable: Attribute = NoneAttr()
            whole: Shape | NoneAttr = NoneAttr()
            while parser.parse_optional_punctuation(",") is not None:
                if parser.parse_optional_keyword("mutable") is not None:
                    mutable = UnitAttr()
                else:
                    whole = _parse_extents(parser)
        if whole == shape:
            whole = NoneAttr()  # What is no part of anything larger is printed without it.
        return [shape, element, encoding, space, mutable, whole]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            _print_shaped(printer, self.shape, self.element)
            for attribute in (self.encoding, self.space):
                printer.print_string(", ")
                printer.print_attribute(attribute)
            if isinstance(self.mutable, UnitAttr):
                printer.print_string(", mutable")
            if not isinstance(self.whole, NoneAttr):
                printer.print_string(f", {'x'.join(str(extent.data) for extent in self.whole)}")

    @property
    def extents(self) -> tuple[int, ...]:
        """The shape of the view."""
        return tuple(extent.data for extent in self.shape)

    @property
    def extents_of_whole(self) -> tuple[int, ...]:
        """The shape of what the view was cut out of; its own where that is not said, or has fewer dimensions."""
        if isinstance(self.whole, NoneAttr) or len(self.whole) < len(self.shape):
            return self.extents
        return tuple(extent.data for extent in self.whole)

    @property
    def is_in_tensor_memory(self) -> bool:
        return self.space.name == TENSOR_MEMORY


@irdl_attr_definition
class AsyncTokenType(ParametrizedAttribute, HandleType):
    """`!ttg.async.token`: names asynchronous work, and orders nothing by itself."""

    name = "ttg.async.token"
    ORDERS_NOTHING: ClassVar = True


def _parse_shaped(parser: AttrParser) -> tuple[Shape, Attribute]:
    """`3x128x64xf16`."""
    shape, element = parser.parse_ranked_shape()
    return ArrayAttr(IntAttr(extent) for extent in shape), element


def _parse_extents(parser: AttrParser) -> Shape:
    """`3x128x64`, without an element type behind it."""
    return ArrayAttr(IntAttr(extent) for extent in parser.parse_dimension_list())


def _print_shaped(printer: Printer, shape: Shape, element: Attribute) -> None:
    printer.print_string("".join(f"{extent.data}x" for extent in shape))
    printer.print_attribute(element)


def pointee_of(kind: Attribute) -> Attribute:
    """What lies behind a pointer or, tile by tile, behind a tensor of pointers."""
    if isinstance(kind, PointerType):
        return kind.pointee
    element = element_of(kind)
    return like(kind, element.pointee) if isinstance(element, PointerType) else kind


def element_of(kind: Attribute) -> Attribute:
    """The element type of a tensor; of a scalar the type itself."""
    return cast("TensorType[Attribute]", kind).element_type if isinstance(kind, TensorType) else kind


def like(kind: Attribute, element: Attribute) -> Attribute:
    """`element`, or a tensor of it with the shape and the encoding of `kind`, where that is a tensor."""
    if not isinstance(kind, TensorType):
        return element
    tensor = cast("TensorType[Attribute]", kind)
    return TensorType(element, tensor.get_shape(), tensor.encoding)


def numbers_of(array: Attribute) -> list[int]:
    """The numbers in an array attribute."""
    return [int(number) for number in cast("DenseArrayBase[Any]", array).get_values()]
