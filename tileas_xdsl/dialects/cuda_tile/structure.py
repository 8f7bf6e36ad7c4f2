"""
`module`, `entry` and `global`: what holds the ops of `cuda_tile`, and the text around them.

    cuda_tile.module @kernels {
      global private constant @g alignment = 4 <i32: [1]> : tile<1xi32>
      entry @tiny(%arg0: tile<ptr<f32>>, %arg1: tile<i32>) optimization_hints=<default = {}> {
        return
      }
    }

Inside of a module names of ops and types have no prefix, and several results are one name: `%1:3`, `%1#0`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FunctionType, IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator, SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.cuda_tile import HINTS
from tileas_xdsl.dialects.cuda_tile.attributes import ConstantAttr, HintsAttr
from tileas_xdsl.dialects.cuda_tile.custom import with_terminator
from tileas_xdsl.dialects.cuda_tile.debug import verify_scopes, verify_without_scope
from tileas_xdsl.dialects.cuda_tile.enumerations import VisibilityAttr
from tileas_xdsl.dialects.cuda_tile.types import TileType, parse_type, short
from tileas_xdsl.interfaces import FunctionOpInterface, functions_in

PREFIX = "cuda_tile."


def hints_of(module: Operation, target: str) -> dict[str, int]:
    """The hints for a chip of the entry that the only function of `module` was."""
    functions = list(functions_in(module))
    hints = functions[0].attributes.get(HINTS) if len(functions) == 1 else None
    return hints.for_target(target) if isinstance(hints, HintsAttr) else {}


class InnerPrinter(Printer):
    """Prints what is inside a module: names without the prefix, several results under one name."""

    @classmethod
    def inside(cls, printer: Printer) -> InnerPrinter:
        """A printer that goes on where `printer` is."""
        inner = cls(
            stream=printer.stream,
            print_generic_format=printer.print_generic_format,
            print_debuginfo=printer.print_debuginfo,
            diagnostic=printer.diagnostic,
        )
        inner._indent = printer._indent  # pyright: ignore[reportPrivateUsage]
        return inner

    def print_op(self, op: Operation) -> None:
        if self.print_generic_format or type(op).print is Operation.print or not op.name.startswith(PREFIX):
            super().print_op(op)
            return
        isolated = isinstance(op, ModuleOp | EntryOp)
        self._print_results(op)
        if isolated:
            self.enter_scope()
        self.print_string(op.name.removeprefix(PREFIX))
        op.print(self)
        if self.print_debuginfo:
            self.print_string(" ")
            self.print_attribute(op.location)
        if isolated:
            self.exit_scope()

    def _print_results(self, op: Operation) -> None:
        if len(op.results) < 2:
            super()._print_results(op)
            return
        name = self._new_name(op.results[0].name_hint)
        for place, result in enumerate(op.results):
            self._ssa_values[result] = f"{name}#{place}"
        self.print_string(f"%{name}:{len(op.results)} = ")

    def print_ssa_value(self, value: SSAValue) -> str:
        name = self._ssa_values.get(value)
        if name is None:
            name = self._ssa_values[value] = self._new_name(value.name_hint)
        self.print_string(f"%{name}")
        return name

    def _new_name(self, hint: str | None) -> str:
        if hint is None:
            return self._get_new_valid_name_id()
        used = self.ssa_names.get(hint, 0)
        self.ssa_names[hint] = used + 1
        return f"{hint}_{used - 1}" if used else hint


@irdl_op_definition
class ModuleOp(IRDLOperation):
    """`cuda_tile.module @kernels { .. }`: globals and entries."""

    name = "cuda_tile.module"

    sym_name = prop_def(StringAttr)
    producer = opt_prop_def(StringAttr)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolTable(), SymbolOpInterface())

    @classmethod
    def of(cls, name: str, ops: Sequence[Operation]) -> ModuleOp:
        """The module of that name."""
        return cls.create(properties={"sym_name": StringAttr(name)}, regions=[Region(Block(ops))])

    @classmethod
    def parse(cls, parser: Parser) -> ModuleOp:
        name = parser.parse_symbol_name()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region()
        if not body.blocks:
            body.add_block(Block())
        known = dict(attributes.data) if attributes is not None else {}
        properties: dict[str, Attribute] = {"sym_name": name}
        if "producer" in known:
            properties["producer"] = known.pop("producer")
        return cls.create(properties=properties, attributes=known, regions=[body])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        attributes = dict(self.attributes)
        if self.producer is not None:
            attributes["producer"] = self.producer
        if attributes:
            printer.print_string(" attributes ")
            printer.print_attr_dict(attributes)
        printer.print_string(" ")
        InnerPrinter.inside(printer).print_region(self.body, print_empty_block=False)

    def verify_(self) -> None:
        for op in self.body.block.ops:
            if not isinstance(op, EntryOp):
                verify_without_scope(op.location)
            if not isinstance(op, EntryOp | GlobalOp):
                raise VerifyException(f"a module holds entries and globals, not '{op.name}'")


@irdl_op_definition
class EntryOp(IRDLOperation, FunctionOpInterface):
    """`entry @name(%arg0: tile<ptr<f32>>) { .. }`: a kernel; its arguments are scalars, and it has no results."""

    name = "cuda_tile.entry"

    sym_name = prop_def(StringAttr)
    function_type = prop_def(FunctionType)
    arg_attrs = opt_prop_def()
    res_attrs = opt_prop_def()
    optimization_hints = opt_prop_def(HintsAttr)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    @property
    def function_name(self) -> str:
        return self.sym_name.data

    @property
    def function_body(self) -> Region:
        return self.body

    @classmethod
    def parse(cls, parser: Parser) -> EntryOp:
        name = parser.parse_symbol_name()
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _argument(parser))
        properties: dict[str, Attribute] = {"sym_name": name}
        if parser.parse_optional_keyword("optimization_hints") is not None:
            parser.parse_punctuation("=")
            properties["optimization_hints"] = HintsAttr.new(HintsAttr.parse_parameters(parser))
        attributes = parser.parse_optional_attr_dict_with_keyword()
        kinds = [kind for _, kind in arguments]
        properties["function_type"] = FunctionType.from_lists(kinds, [])
        body = parser.parse_region([argument.resolve(kind) for argument, kind in arguments])
        with_terminator("entry", body, kinds)
        extra = dict(attributes.data) if attributes is not None else {}
        return cls.create(properties=properties, attributes=extra, regions=[body])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string("(")
        for place, argument in enumerate(self.body.block.args):
            printer.print_string(", " if place else "")
            printer.print_ssa_value(argument)
            printer.print_string(f": {short(argument.type)}")
        printer.print_string(")")
        if self.optimization_hints is not None:
            printer.print_string(" optimization_hints=")
            self.optimization_hints.print_parameters(printer)
        if self.attributes:
            printer.print_string(" attributes ")
            printer.print_attr_dict(self.attributes)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    def verify_(self) -> None:
        kinds = [argument.type for argument in self.body.block.args]
        if list(self.function_type.inputs.data) != kinds:
            raise VerifyException("the types of the arguments are not those of the function type")
        if self.function_type.outputs.data:
            raise VerifyException("an entry has no results")
        for place, kind in enumerate(kinds):
            if not isinstance(kind, TileType) or kind.get_shape():
                raise VerifyException(f"argument {place} of an entry is a tile of rank 0, not {short(kind)}")
        last = self.body.block.last_op
        if last is None or last.name != "cuda_tile.return":
            raise VerifyException("an entry ends with 'return'")
        verify_scopes(self, self.sym_name.data)


def _argument(parser: Parser) -> tuple[Parser.UnresolvedArgument, Attribute]:
    argument = parser.parse_argument(expect_type=False)
    parser.parse_punctuation(":")
    kind = parse_type(parser)
    parser.parse_optional_location()
    return argument, kind


@irdl_op_definition
class GlobalOp(IRDLOperation):
    """`global private constant @g alignment = 4 <i32: [1]> : tile<1xi32>`: a buffer in device memory."""

    name = "cuda_tile.global"

    sym_name = prop_def(StringAttr)
    value = prop_def(ConstantAttr)
    alignment = opt_prop_def(IntegerAttr)
    constant = opt_prop_def(UnitAttr)
    symbol_visibility = opt_prop_def(VisibilityAttr)

    traits = traits_def(SymbolOpInterface())

    @classmethod
    def parse(cls, parser: Parser) -> GlobalOp:
        properties: dict[str, Attribute] = {}
        for word in VisibilityAttr.WORDS:
            if parser.parse_optional_keyword(word) is not None:
                properties["symbol_visibility"] = VisibilityAttr(word)
        if parser.parse_optional_keyword("constant") is not None:
            properties["constant"] = UnitAttr()
        properties["sym_name"] = parser.parse_symbol_name()
        if parser.parse_optional_keyword("alignment") is not None:
            parser.parse_punctuation("=")
            properties["alignment"] = IntegerAttr(parser.parse_integer(), i64)
        attributes = parser.parse_optional_attr_dict()
        properties["value"] = ConstantAttr.parse_body(parser)
        return cls.create(properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        if self.symbol_visibility is not None and self.symbol_visibility.data != "public":
            printer.print_string(f" {self.symbol_visibility.data}")
        printer.print_string(" constant " if self.constant is not None else " ")
        printer.print_symbol_name(self.sym_name.data)
        if self.alignment_bytes:
            printer.print_string(f" alignment = {self.alignment_bytes}")
        if self.attributes:
            printer.print_op_attributes(self.attributes)
        printer.print_string(f" {self.value.body_text()}")

    @property
    def alignment_bytes(self) -> int:
        """The alignment, in bytes; 0 where none is asked for."""
        return self.alignment.value.data if self.alignment is not None else 0

    def verify_(self) -> None:
        if len(self.value.type.get_shape()) != 1:
            raise VerifyException(f"a global has rank 1, not {len(self.value.type.get_shape())}")
        alignment = self.alignment_bytes
        if alignment < 0 or alignment & (alignment - 1):
            raise VerifyException(f"an alignment is a power of two, not {alignment}")
