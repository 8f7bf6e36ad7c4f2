"""
What LLVM is told about a loop: whether to unroll it.

    #llvm.loop_annotation<unroll = <disable = false>>

Of the entries of MLIR's two attributes those are read that the passes write; others are refused by the parser.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer


@irdl_attr_definition
class LoopUnrollAttr(ParametrizedAttribute):
    """`#llvm.loop_unroll<disable = false>`: the loop may be unrolled, and should be; with `true` it must not."""

    name = "llvm.loop_unroll"

    disable: BoolAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("disable")
            parser.parse_punctuation("=")
            return [BoolAttr.from_bool(parser.parse_boolean())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"disable = {'true' if self.disable.value.data else 'false'}")


@irdl_attr_definition
class LoopAnnotationAttr(ParametrizedAttribute):
    """`#llvm.loop_annotation<unroll = <disable = false>>`: what a pass of LLVM is to do with a loop."""

    name = "llvm.loop_annotation"

    unroll: LoopUnrollAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("unroll")
            parser.parse_punctuation("=")
            whole = parser.parse_optional_attribute()
            return [LoopUnrollAttr.new(LoopUnrollAttr.parse_parameters(parser)) if whole is None else whole]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string("unroll = ")
            self.unroll.print_parameters(printer)


UNROLL = LoopAnnotationAttr(LoopUnrollAttr(BoolAttr.from_bool(False)))
"""Asks LLVM to unroll the loop."""
