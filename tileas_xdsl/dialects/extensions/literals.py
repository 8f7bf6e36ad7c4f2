"""
Floats that a tile is written with as bits: `dense<0xFF800000> : tensor<4xf32>` is minus infinity.

MLIR and xDSL print infinities, NaN and some large numbers so. xDSL reads the bits of a single number (`0xFF800000 :
f32`), and those of a tile as an integer, which it converts.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import AnyFloat
from xdsl.parser import AttrParser

OWN = "_parse_tensor_literal_element"
"""What reads an element of a `dense` attribute."""
_as_number = getattr(AttrParser, OWN)
Element: Any = getattr(AttrParser, "_TensorLiteralElement")  # noqa: B009  (xDSL's own)


class ElementOfBits(Element):
    """An element that is written as bits."""

    def to_type(self, parser: AttrParser, type: Any) -> Any:
        """The number, once its type is known: of a float, what has these bits. Raises `ParseError` for too many."""
        if not isinstance(type, AnyFloat):
            return Element.to_type(self, parser, type)
        size = type.compile_time_size
        if self.value.bit_length() > 8 * size:
            parser.raise_error(f"Expected at most {8 * size} bits for a number of type {type}", self.span)
        (number,) = type.unpack(self.value.to_bytes(size, "little"), 1)
        return number


def _parse_element(parser: Any) -> Any:
    written = parser._current_token.text[:2]
    element = _as_number(parser)
    return ElementOfBits(False, element.value, element.span) if written in ("0x", "0X") else element


def read_bits_of_floats() -> None:
    """Let xDSL's parser read the elements of tiles of floats that are written as bits."""
    setattr(AttrParser, OWN, _parse_element)
