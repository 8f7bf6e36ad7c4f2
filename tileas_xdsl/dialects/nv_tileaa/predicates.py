"""
The predicates of `assume`: facts about a value.

    #nv_tileaa.div_by<16, every 4 along 0>   every element, or every 4th of axis 0, is a multiple of 16
    #nv_tileaa.bounded<0, ?>                 no element lies below 0
    #nv_tileaa.same_elements<[1, 8]>         along axis 1, groups of 8 elements are equal

They are spelled as in the public `cuda_tile` dialect. A predicate parses with any numbers; the verifier of `assume`
asks each in turn with `verify_on`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntAttr, IntegerType, MemRefType, NoneAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nv_tileaa.types import ArrayType, PointerType, element_type_of, is_integer_like
from tileas_xdsl.dialects.tiles.types import extents


class AssumePredicate(ParametrizedAttribute):
    """A fact that `assume` attaches to a value."""

    @abstractmethod
    def verify_on(self, type_: Attribute) -> None:
        """Raises `VerifyException` when the fact cannot hold of a value of `type_`."""

    @property
    @abstractmethod
    def is_uniform(self) -> bool:
        """Whether the fact is the same for every lane, so that it can move to a scalar."""


@irdl_attr_definition
class DivByAttr(AssumePredicate):
    """`#nv_tileaa.div_by<16>`; `<16, every 4 along 0>` holds for every 4th lane of axis 0."""

    name = "nv_tileaa.div_by"

    divisor: IntAttr
    every: IntAttr | NoneAttr
    along: IntAttr | NoneAttr

    @property
    def is_uniform(self) -> bool:
        return isinstance(self.every, NoneAttr)

    def verify_on(self, type_: Attribute) -> None:
        element = element_type_of(type_)
        memref_like = isinstance(type_, MemRefType | ArrayType)
        if not memref_like and not isinstance(element, IntegerType | IndexType | PointerType):
            raise VerifyException("div_by requires an integer-, pointer-, or memref-like value")
        divisor = self.divisor.data
        if divisor <= 0 or divisor & (divisor - 1):
            raise VerifyException("div_by divisor must be a positive power of two")
        if isinstance(self.every, NoneAttr) != isinstance(self.along, NoneAttr):
            raise VerifyException("div_by every and along must appear together")
        if isinstance(self.every, IntAttr) and self.every.data <= 0:
            raise VerifyException("div_by every must be positive")
        if isinstance(self.along, IntAttr) and not 0 <= self.along.data < len(extents(type_)):
            raise VerifyException("div_by along must reference a valid axis")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        every: Attribute = NoneAttr()
        along: Attribute = NoneAttr()
        with parser.in_angle_brackets():
            divisor = IntAttr(parser.parse_integer())
            if parser.parse_optional_punctuation(",") is not None:
                if parser.parse_optional_keyword("every") is not None:
                    every = IntAttr(parser.parse_integer())
                if parser.parse_optional_keyword("along") is not None:
                    along = IntAttr(parser.parse_integer())
        return (divisor, every, along)

    def print_parameters(self, printer: Printer) -> None:
        words = [str(self.divisor.data)]
        if isinstance(self.every, IntAttr):
            words.append(f"every {self.every.data}")
        if isinstance(self.along, IntAttr):
            words.append(f"along {self.along.data}")
        printer.print_string(f"<{', '.join([words[0], *filter(None, [' '.join(words[1:])])])}>")


@irdl_attr_definition
class BoundedAttr(AssumePredicate):
    """`#nv_tileaa.bounded<0, ?>`: every element lies between the bounds; `?` leaves a side open."""

    name = "nv_tileaa.bounded"

    lower: IntAttr | NoneAttr
    upper: IntAttr | NoneAttr

    @property
    def is_uniform(self) -> bool:
        return True

    def verify_on(self, type_: Attribute) -> None:
        if not is_integer_like(type_):
            raise VerifyException("bounded requires an integer-like element type")
        element = element_type_of(type_)
        # An index is as wide as an address: 64 bits.
        width = element.bitwidth if isinstance(element, IntegerType) else 64
        least, greatest = -(1 << (width - 1)), (1 << (width - 1)) - 1
        lower = self.lower.data if isinstance(self.lower, IntAttr) else least
        upper = self.upper.data if isinstance(self.upper, IntAttr) else greatest
        if not least <= lower <= greatest:
            raise VerifyException("bounded lower exceeds the element's representable range")
        if not least <= upper <= greatest:
            raise VerifyException("bounded upper exceeds the element's representable range")
        if lower > upper:
            raise VerifyException("bounded lower must not exceed upper")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            lower = _parse_bound(parser)
            parser.parse_punctuation(",", " between the bounds")
            return (lower, _parse_bound(parser))

    def print_parameters(self, printer: Printer) -> None:
        bounds = (self.lower, self.upper)
        spelled = (str(bound.data) if isinstance(bound, IntAttr) else "?" for bound in bounds)
        printer.print_string(f"<{', '.join(spelled)}>")


def _parse_bound(parser: AttrParser) -> Attribute:
    if parser.parse_optional_punctuation("?") is not None:
        return NoneAttr()
    return IntAttr(parser.parse_integer())


@irdl_attr_definition
class SameElementsAttr(AssumePredicate):
    """`#nv_tileaa.same_elements<[1, 8]>`: along axis i, groups of that many lanes are equal."""

    name = "nv_tileaa.same_elements"

    extents: ArrayAttr[IntAttr]

    @classmethod
    def of(cls, extents: Sequence[int]) -> Self:
        """The fact with one entry for each axis."""
        return cls(ArrayAttr(IntAttr(extent) for extent in extents))

    @property
    def is_uniform(self) -> bool:
        return False

    def verify_on(self, type_: Attribute) -> None:
        shape = extents(type_)
        if len(self.extents) != len(shape):
            raise VerifyException("same_elements length must match the constrained value's rank")
        for entry, extent in zip(self.extents, shape, strict=True):
            if not 0 <= entry.data <= extent:
                raise VerifyException("same_elements axis bound is out of range")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            extents = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        return (ArrayAttr(map(IntAttr, extents)),)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<[{', '.join(str(entry.data) for entry in self.extents)}]>")
