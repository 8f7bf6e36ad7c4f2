"""
Atoms of NVIDIA's `cute` dialect, opaque: `#cute<atom "TiledCopy<...>">`.

TileAS carries them on copies and plans without looking inside. This dialect only makes them
readable to stock `xdsl-opt`.
"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Dialect, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer


@irdl_attr_definition
class CuteAtomAttr(ParametrizedAttribute, SpacedOpaqueSyntaxAttribute):
    """`#cute<atom "TiledCopy<...>">`: a copy or MMA atom, as text."""

    name = "cute.atom"

    text: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[StringAttr]:
        return [StringAttr(parser.parse_str_literal(" for the text of a cute atom"))]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string_literal(self.text.data)


Cute = Dialect("cute", [], [CuteAtomAttr])
