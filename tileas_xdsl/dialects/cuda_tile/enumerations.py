"""
The enumerations of `cuda_tile`: each word of the text is a number in the bytecode.

    #cuda_tile.rounding<nearest_even>

Source: public definitions of CUDA Tile IR, release 13.3 (NVIDIA/cuda-tile).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer


class WordAttr(Data[str]):
    """One word of an enumeration; the index into `WORDS` is its number in the bytecode."""

    WORDS: ClassVar[tuple[str, ...]] = ()

    @property
    def number(self) -> int:
        """The number of the word in the bytecode."""
        return self.WORDS.index(self.data)

    @classmethod
    def parse_word(cls, parser: AttrParser) -> str:
        """Read a bare word. Raises `ParseError` for a word of no number."""
        start = parser.pos
        word = parser.parse_identifier()
        if word not in cls.WORDS:
            parser.raise_error(f"'{word}' is not one of {', '.join(cls.WORDS)}", start, parser.pos)
        return word

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        with parser.in_angle_brackets():
            return cls.parse_word(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)


@irdl_attr_definition
class SignednessAttr(WordAttr):
    """How an op reads its signless integers."""

    name = "cuda_tile.signedness"
    WORDS: ClassVar = ("unsigned", "signed")


@irdl_attr_definition
class PredicateAttr(WordAttr):
    """The relation that a comparison tests."""

    name = "cuda_tile.comparison_predicate"
    WORDS: ClassVar = (
        "equal",
        "not_equal",
        "less_than",
        "less_than_or_equal",
        "greater_than",
        "greater_than_or_equal",
    )


@irdl_attr_definition
class OrderingAttr(WordAttr):
    """What a comparison of floats says of a NaN: `unordered` is true, `ordered` is false."""

    name = "cuda_tile.comparison_ordering"
    WORDS: ClassVar = ("unordered", "ordered")


@irdl_attr_definition
class OverflowAttr(WordAttr):
    """Which overflow an integer op promises not to have."""

    name = "cuda_tile.overflow"
    WORDS: ClassVar = ("none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap")


@irdl_attr_definition
class RoundingAttr(WordAttr):
    """How an op rounds; `nearest_away` since 13.4."""

    name = "cuda_tile.rounding"
    WORDS: ClassVar = (
        "nearest_even",
        "zero",
        "negative_inf",
        "positive_inf",
        "approx",
        "full",
        "nearest_int_to_zero",
        "nearest_away",
    )


@irdl_attr_definition
class SemanticsAttr(WordAttr):
    """The order that an access of memory promises."""

    name = "cuda_tile.memory_ordering_semantics"
    WORDS: ClassVar = ("weak", "relaxed", "acquire", "release", "acq_rel")


@irdl_attr_definition
class ScopeAttr(WordAttr):
    """The threads among which an access is ordered."""

    name = "cuda_tile.memory_scope"
    WORDS: ClassVar = ("tl_blk", "device", "sys")


@irdl_attr_definition
class ModeAttr(WordAttr):
    """What an atomic read-modify-write does."""

    name = "cuda_tile.atomic_rmw_mode"
    WORDS: ClassVar = ("and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg")


@irdl_attr_definition
class ReductionAttr(WordAttr):
    """What a reduction over several GPUs does (13.5)."""

    name = "cuda_tile.multimem_reduction"
    WORDS: ClassVar = ("add", "min", "max", "and", "or", "xor", "umin", "umax")


@irdl_attr_definition
class VisibilityAttr(WordAttr):
    """Whether other modules see a global."""

    name = "cuda_tile.symbol_visibility"
    WORDS: ClassVar = ("public", "private")


@irdl_attr_definition
class PaddingAttr(WordAttr):
    """What a load gives for elements outside of its array."""

    name = "cuda_tile.padding_value"
    WORDS: ClassVar = ("zero", "neg_zero", "nan", "pos_inf", "neg_inf")


ENUMERATIONS: Mapping[str, type[WordAttr]] = {
    "signedness": SignednessAttr,
    "predicate": PredicateAttr,
    "ordering": OrderingAttr,
    "overflow": OverflowAttr,
    "rounding": RoundingAttr,
    "semantics": SemanticsAttr,
    "scope": ScopeAttr,
    "mode": ModeAttr,
    "reduction": ReductionAttr,
    "visibility": VisibilityAttr,
}
"""Kind of an attribute in a row -> its class."""
