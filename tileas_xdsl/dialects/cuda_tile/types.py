"""
The types of `cuda_tile`: tiles, pointers, views of arrays, tokens.

    !cuda_tile.tile<128x64xf16>
    !cuda_tile.tensor_view<?x64xf16, strides=[?,1]>
    !cuda_tile.partition_view<tile=(128x64), padding_value = zero, tensor_view<?x64xf16, strides=[?,1]>>

Inside the dialect's ops and types the prefix `!cuda_tile.` is left out; both forms are read. A tile of rank 0 is a
scalar. Source: public definitions of CUDA Tile IR, release 13.3 (NVIDIA/cuda-tile).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from math import prod
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    BFloat16Type,
    ContainerType,
    FixedBitwidthType,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatTF32Type,
    IntAttr,
    IntegerType,
    NoneAttr,
    ShapedType,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.cuda_tile.enumerations import PaddingAttr
from tileas_xdsl.interfaces import HandleType

PREFIX = "!cuda_tile."
MOST_ELEMENTS = 2**24
"""The most elements of a tile."""
WIDTHS = (1, 4, 8, 16, 32, 64)
"""Bits of the integers that a tile holds."""


@irdl_attr_definition
class Float8E5M3FNUType(ParametrizedAttribute, FixedBitwidthType):
    """`fnv8E5M3FNU`: an unsigned float of eight bits, the scale of FP4 (13.4)."""

    name = "cuda_tile.fnv8E5M3FNU"

    @property
    def bitwidth(self) -> int:
        return 8

    @property
    def compile_time_size(self) -> int:
        return 1


BASE_FLOATS = (Float16Type, BFloat16Type, Float32Type, Float64Type)
SMALL_FLOATS = (FloatTF32Type, Float8E4M3FNType, Float8E5M2Type, Float8E8M0FNUType, Float4E2M1FNType, Float8E5M3FNUType)
FLOATS = (*BASE_FLOATS, *SMALL_FLOATS)


PACKED = 4
"""Bits of the numbers of which two share a byte."""


def integer_width(element: Attribute) -> int | None:
    """The width of an integer, in bits; None for what is none."""
    match element:
        case IntegerType():
            return element.width.data
        case _:
            return None


def is_integer(element: Attribute) -> bool:
    """Whether `element` is an integer that a tile may hold: signless, of 1, 4, 8, 16, 32 or 64 bits."""
    return integer_width(element) in WIDTHS and str(element).startswith("i")


def is_computed(element: Attribute) -> bool:
    """Whether `element` is an integer that ops compute with: i4 is only moved, extended and truncated."""
    return is_integer(element) and integer_width(element) != PACKED


def is_number(element: Attribute) -> bool:
    """Whether `element` is an integer or a float that a tile may hold."""
    return isinstance(element, FLOATS) or is_integer(element)


def short(kind: Attribute) -> str:
    """The text of a type inside the dialect: without the prefix."""
    return str(kind).removeprefix(PREFIX)


def shape_text(shape: Sequence[int]) -> str:
    """`128x?`"""
    return "x".join("?" if extent == DYNAMIC_INDEX else str(extent) for extent in shape)


def parse_type(parser: AttrParser) -> TypeAttribute:
    """A type as it is written inside the dialect: `tile<4xf32>`, `token`, `!cuda_tile.token`, `f32`."""
    for name, kind in BY_KEYWORD.items():
        if parser.parse_optional_keyword(name) is not None:
            return cast("TypeAttribute", kind.new(kind.parse_parameters(parser)))
    return parser.parse_type()


def _parse_shape(parser: AttrParser) -> list[int]:
    shape = parser.parse_dimension_list()
    if shape:
        parser.parse_shape_delimiter()
    return shape


def numbers(values: Sequence[int]) -> ArrayAttr[IntAttr]:
    """The numbers as a parameter of a type."""
    return ArrayAttr(IntAttr(value) for value in values)


def plain(values: ArrayAttr[IntAttr]) -> tuple[int, ...]:
    """The numbers of a parameter of a type."""
    return tuple(value.data for value in values)


@irdl_attr_definition
class PointerType(ParametrizedAttribute, TypeAttribute):
    """`ptr<f16>`: the address of an element in memory; `space` is the enum of 13.4, or `NoneAttr`."""

    name = "cuda_tile.ptr"

    pointee: Attribute
    space: Attribute

    @classmethod
    def to(cls, pointee: Attribute) -> PointerType:
        """The plain pointer to `pointee`."""
        return cls(pointee, NoneAttr())

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            pointee = parse_type(parser)
            return [pointee, _parse_space(parser)]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{short(self.pointee)}{_space_text(self.space)}>")

    def verify(self) -> None:
        if not is_number(self.pointee):
            raise VerifyException(f"a pointer leads to a number, not to {short(self.pointee)}")


def _parse_space(parser: AttrParser) -> Attribute:
    if parser.parse_optional_punctuation(",") is None:
        return NoneAttr()
    parser.parse_keyword("default")
    return IntAttr(0)


def _space_text(space: Attribute) -> str:
    return "" if isinstance(space, NoneAttr) else ", default"


@irdl_attr_definition
class TileType(ParametrizedAttribute, TypeAttribute, ShapedType, ContainerType[Attribute]):
    """`tile<128x64xf16>`, `tile<f32>`: a value of static extents, each a power of two."""

    name = "cuda_tile.tile"

    shape: ArrayAttr[IntAttr]
    element_type: Attribute

    @classmethod
    def of(cls, element: Attribute, shape: Sequence[int] = ()) -> TileType:
        """The tile of `shape`; a scalar without it."""
        return cls(numbers(shape), element)

    def get_num_dims(self) -> int:
        return len(self.shape)

    def get_shape(self) -> tuple[int, ...]:
        return plain(self.shape)

    def get_element_type(self) -> Attribute:
        return self.element_type

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape = _parse_shape(parser)
            return [numbers(shape), parse_type(parser)]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{_extents_and_element(self.get_shape(), self.element_type)}>")

    def verify(self) -> None:
        verify_extents(self.get_shape())
        if not (is_number(self.element_type) or isinstance(self.element_type, PointerType)):
            raise VerifyException(f"a tile holds numbers or pointers, not {short(self.element_type)}")
        if isinstance(self.element_type, Float4E2M1FNType) and prod(self.get_shape()) % 2:
            raise VerifyException("two numbers of f4E2M1FN share a byte, so a tile has an even number of them")


def _extents_and_element(shape: Sequence[int], element: Attribute) -> str:
    return "x".join([*("?" if extent == DYNAMIC_INDEX else str(extent) for extent in shape), short(element)])


def verify_extents(shape: Sequence[int]) -> None:
    """Raises `VerifyException` for extents that no tile has."""
    size = 1
    for extent in shape:
        if extent <= 0:
            raise VerifyException(f"the extents of a tile are positive, and one is {extent}")
        if extent & (extent - 1):
            raise VerifyException(f"the extents of a tile are powers of two, and one is {extent}")
        size *= extent
    if size > MOST_ELEMENTS:
        raise VerifyException(f"a tile has at most {MOST_ELEMENTS} elements, not {size}")


@irdl_attr_definition
class TensorViewType(ParametrizedAttribute, TypeAttribute, ShapedType, ContainerType[Attribute]):
    """`tensor_view<?x64xf16, strides=[?,1]>`: an array in memory; strides count elements."""

    name = "cuda_tile.tensor_view"

    element_type: Attribute
    shape: ArrayAttr[IntAttr]
    strides: ArrayAttr[IntAttr]
    space: Attribute

    def get_num_dims(self) -> int:
        return len(self.shape)

    def get_shape(self) -> tuple[int, ...]:
        return plain(self.shape)

    def get_element_type(self) -> Attribute:
        return self.element_type

    def get_strides(self) -> tuple[int, ...]:
        """The strides in elements; `DYNAMIC_INDEX` where the op that makes the view says it."""
        return plain(self.strides)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape = _parse_shape(parser)
            element = parse_type(parser)
            strides: list[int] = []
            if shape:
                parser.parse_punctuation(",")
                parser.parse_keyword("strides")
                parser.parse_punctuation("=")
                strides = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_stride(parser))
            return [element, numbers(shape), numbers(strides), _parse_space(parser)]

    def print_parameters(self, printer: Printer) -> None:
        text = _extents_and_element(self.get_shape(), self.element_type)
        if self.shape.data:
            strides = ("?" if stride == DYNAMIC_INDEX else str(stride) for stride in self.get_strides())
            text += f", strides=[{','.join(strides)}]"
        printer.print_string(f"<{text}{_space_text(self.space)}>")

    def verify(self) -> None:
        if not is_number(self.element_type):
            raise VerifyException(f"a tensor view holds numbers, not {short(self.element_type)}")
        if len(self.shape) != len(self.strides):
            raise VerifyException(f"a tensor view has {len(self.shape)} extents and {len(self.strides)} strides")
        for what, values in (("extents", self.get_shape()), ("strides", self.get_strides())):
            for value in values:
                if value <= 0 and value != DYNAMIC_INDEX:
                    raise VerifyException(f"the {what} of a tensor view are positive, and one is {value}")


def _parse_stride(parser: AttrParser) -> int:
    if parser.parse_optional_punctuation("?") is not None:
        return DYNAMIC_INDEX
    start = parser.pos
    stride = parser.parse_integer()
    if stride <= 0:
        parser.raise_error(f"the strides of a tensor view are positive, and one is {stride}", start)
    return stride


class TileViewType(ParametrizedAttribute, TypeAttribute):
    """A view of an array by tiles: what an access needs of the three kinds of view."""

    tile_shape: ArrayAttr[IntAttr]
    tensor_view: TensorViewType
    padding: Attribute

    def get_tile_shape(self) -> tuple[int, ...]:
        """The extents of the tile that an access moves."""
        return plain(self.tile_shape)

    def get_dim_map(self) -> tuple[int, ...]:
        """The axis of the array along which each axis of the tile runs."""
        return tuple(range(len(self.tile_shape)))

    @property
    def loaded_type(self) -> TileType:
        """The type of the tile that an access moves."""
        return TileType.of(self.tensor_view.element_type, self.get_tile_shape())

    def _verify_tile(self) -> None:
        shape = self.get_tile_shape()
        array = self.tensor_view
        if not shape:
            raise VerifyException("a view has tiles of rank 0, which no access moves")
        if len(shape) != len(array.shape):
            raise VerifyException(f"a view has tiles of rank {len(shape)} and an array of rank {len(array.shape)}")
        verify_extents(shape)
        if sorted(self.get_dim_map()) != list(range(len(shape))):
            raise VerifyException(f"dim_map {list(self.get_dim_map())} is no permutation of the axes")
        if isinstance(self.padding, PaddingAttr) and self.padding.data != "zero":
            if not isinstance(array.element_type, FLOATS):
                raise VerifyException(
                    f"padding {self.padding.data} is for floats only, not for {short(array.element_type)}"
                )


@contextmanager
def _tile_of_view(parser: AttrParser) -> Generator[ArrayAttr[IntAttr]]:
    """The beginning of a view: `<tile=(64x64), `."""
    with parser.in_angle_brackets():
        parser.parse_keyword("tile")
        parser.parse_punctuation("=")
        with parser.in_parens():
            shape = parser.parse_dimension_list()
        parser.parse_punctuation(",")
        yield numbers(shape)


def _parse_padding(parser: AttrParser) -> Attribute:
    if parser.parse_optional_keyword("padding_value") is None:
        return NoneAttr()
    parser.parse_punctuation("=")
    padding = PaddingAttr(PaddingAttr.parse_word(parser))
    parser.parse_punctuation(",")
    return padding


def _parse_array(parser: AttrParser) -> TensorViewType:
    start = parser.pos
    kind = parse_type(parser)
    if not isinstance(kind, TensorViewType):
        parser.raise_error(f"expected a tensor view, got {short(kind)}", start, parser.pos)
    return kind


def _parse_dim_map(parser: AttrParser, rank: int) -> ArrayAttr[IntAttr]:
    if parser.parse_optional_punctuation(",") is None:
        return numbers(range(rank))
    parser.parse_keyword("dim_map")
    parser.parse_punctuation("=")
    return numbers(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))


def _padding_text(padding: Attribute) -> str:
    return f"padding_value = {padding.data}, " if isinstance(padding, PaddingAttr) else ""


def _dim_map_text(dim_map: Sequence[int]) -> str:
    return "" if list(dim_map) == list(range(len(dim_map))) else f", dim_map={list(dim_map)}"


@irdl_attr_definition
class PartitionViewType(TileViewType):
    """`partition_view<tile=(64), tensor_view<..>>`: tiles side by side."""

    name = "cuda_tile.partition_view"

    tile_shape: ArrayAttr[IntAttr]
    tensor_view: TensorViewType
    padding: Attribute
    dim_map: ArrayAttr[IntAttr]

    def get_dim_map(self) -> tuple[int, ...]:
        return plain(self.dim_map)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with _tile_of_view(parser) as shape:
            padding = _parse_padding(parser)
            array = _parse_array(parser)
            return [shape, array, padding, _parse_dim_map(parser, len(shape))]

    def print_parameters(self, printer: Printer) -> None:
        shape, array = shape_text(self.get_tile_shape()), short(self.tensor_view)
        dim_map = _dim_map_text(self.get_dim_map())
        printer.print_string(f"<tile=({shape}), {_padding_text(self.padding)}{array}{dim_map}>")

    def verify(self) -> None:
        self._verify_tile()


@irdl_attr_definition
class StridedViewType(TileViewType):
    """`strided_view<tile=(16), traversal_strides=[8], tensor_view<..>>`: tile i begins at i times the step."""

    name = "cuda_tile.strided_view"

    tile_shape: ArrayAttr[IntAttr]
    tensor_view: TensorViewType
    padding: Attribute
    steps: ArrayAttr[IntAttr]
    dim_map: ArrayAttr[IntAttr]

    def get_dim_map(self) -> tuple[int, ...]:
        return plain(self.dim_map)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with _tile_of_view(parser) as shape:
            parser.parse_keyword("traversal_strides")
            parser.parse_punctuation("=")
            steps = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            parser.parse_punctuation(",")
            padding = _parse_padding(parser)
            array = _parse_array(parser)
            return [shape, array, padding, numbers(steps), _parse_dim_map(parser, len(shape))]

    def print_parameters(self, printer: Printer) -> None:
        shape, array = shape_text(self.get_tile_shape()), short(self.tensor_view)
        steps = f"traversal_strides={list(plain(self.steps))}"
        dim_map = _dim_map_text(self.get_dim_map())
        printer.print_string(f"<tile=({shape}), {steps}, {_padding_text(self.padding)}{array}{dim_map}>")

    def verify(self) -> None:
        self._verify_tile()
        if len(self.steps) != len(self.tile_shape):
            raise VerifyException(f"a view has {len(self.steps)} steps for tiles of rank {len(self.tile_shape)}")
        for step in plain(self.steps):
            if step <= 0:
                raise VerifyException(f"the steps of a view are positive, and one is {step}")


@irdl_attr_definition
class GatherScatterViewType(TileViewType):
    """`gather_scatter_view<tile=(64x64), tensor_view<..>, sparse_dim=0>`: an index for each row along one axis."""

    name = "cuda_tile.gather_scatter_view"

    tile_shape: ArrayAttr[IntAttr]
    tensor_view: TensorViewType
    padding: Attribute
    sparse_dim: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with _tile_of_view(parser) as shape:
            padding = _parse_padding(parser)
            array = _parse_array(parser)
            parser.parse_punctuation(",")
            parser.parse_keyword("sparse_dim")
            parser.parse_punctuation("=")
            return [shape, array, padding, IntAttr(parser.parse_integer())]

    def print_parameters(self, printer: Printer) -> None:
        shape, array = shape_text(self.get_tile_shape()), short(self.tensor_view)
        sparse = f"sparse_dim={self.sparse_dim.data}"
        printer.print_string(f"<tile=({shape}), {_padding_text(self.padding)}{array}, {sparse}>")

    def verify(self) -> None:
        self._verify_tile()
        if not 0 <= self.sparse_dim.data < len(self.tile_shape):
            raise VerifyException(f"sparse_dim {self.sparse_dim.data} is no axis of a tile of {len(self.tile_shape)}")


@irdl_attr_definition
class TokenType(ParametrizedAttribute, HandleType):
    """`token`: the completion of accesses. An access that takes a token is ordered after them."""

    name = "cuda_tile.token"


TOKEN = TokenType()
BY_KEYWORD: dict[str, type[ParametrizedAttribute]] = {
    kind.name.partition(".")[2]: kind
    for kind in (
        TileType,
        PointerType,
        TokenType,
        TensorViewType,
        PartitionViewType,
        StridedViewType,
        GatherScatterViewType,
        Float8E5M3FNUType,
    )
}
"""Name inside the dialect -> type."""

TYPES = list(BY_KEYWORD.values())
