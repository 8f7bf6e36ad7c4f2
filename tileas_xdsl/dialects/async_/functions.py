"""
Functions that run asynchronously: `async.func`, its `async.return`, and `async.call`.

    async.func @half(%x: f32) -> (!async.token, !async.value<f32>) {
      %cst = arith.constant 5.000000e-01 : f32
      %0 = arith.mulf %x, %cst : f32
      return %0 : f32
    }
    %token, %promise = async.call @half(%x) : (f32) -> (!async.token, !async.value<f32>)

Meaning. A call is *issued* and control goes on at once. A task, an agent of its own, runs the body, and waits for
nothing before it starts. When it reaches `return`, all results of the call *complete* together: the token, which may
only come first and takes no operand of `return`, and one promise for each operand.

Directly inside `async.func`, MLIR leaves out the prefix `async.`: `return`, `await`, `execute`; so do we. Source:
MLIR's page "'async' Dialect", and the error texts of mlir-opt 22.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    FunctionType,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.dialects.utils import print_func_argument, print_func_output
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsTerminator,
    Pure,
    ReturnLike,
    SymbolTable,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.async_.support import AsyncOp, ExpectsParent, SynchronizationEffect
from tileas_xdsl.dialects.async_.types import TOKEN_OR_VALUE, TokenType, ValueType
from tileas_xdsl.dialects.tiles.functions import FunctionIsCallable, FunctionWithBody
from tileas_xdsl.interfaces import AsyncOpInterface

VISIBILITIES = ("public", "private", "nested")


@irdl_op_definition
class FuncOp(AsyncOp, FunctionWithBody):
    """
    A function whose body runs as a task of its own.

    `async.func private @name(%x: f32 {d.a}) -> (!async.token, !async.value<f32>) attributes {...} { ... }`

    Every result is a promise; an optional token comes first. Without a body it is a declaration, which must not be
    public. It sees no value from outside.
    """

    name = "async.func"

    traits = traits_def(FunctionIsCallable())

    def __init__(
        self,
        name: str,
        function_type: FunctionType,
        body: Region,
        visibility: str | None = None,
    ) -> None:
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "function_type": function_type,
                "sym_visibility": StringAttr(visibility) if visibility is not None else None,
            },
            regions=[body],
        )

    @property
    def payload_types(self) -> tuple[Attribute, ...]:
        """The types that `async.return` must give: the payloads of the promises among the results."""
        outputs = self.function_type.outputs.data
        return tuple(output.value_type for output in outputs if isinstance(output, ValueType))

    def error_before_regions(self) -> str | None:
        function_type = self.properties.get("function_type")
        if function_type is None:
            return "'async.func' op requires attribute 'function_type'"
        if not isinstance(function_type, FunctionType):
            return (
                "'async.func' op attribute 'function_type' failed to satisfy constraint: "
                "type attribute of function type"
            )
        return _result_error(function_type.outputs.data)

    def verify_(self) -> None:
        self._verify_symbol()
        _verify_attribute_array(self.arg_attrs, len(self.function_type.inputs), "argument")
        _verify_attribute_array(self.res_attrs, len(self.function_type.outputs), "result")
        self._verify_entry_block()

    def _verify_symbol(self) -> None:
        visibility = self.sym_visibility.data if self.sym_visibility is not None else "public"
        if visibility not in VISIBILITIES:
            raise VerifyException(
                "'async.func' op visibility expected to be one of "
                f'["public", "private", "nested"], but got "{visibility}"'
            )
        if self.body.first_block is None and visibility == "public":
            raise VerifyException("'async.func' op symbol declaration cannot have public visibility")

    def _verify_entry_block(self) -> None:
        entry = self.body.first_block
        if entry is None:
            return
        inputs = self.function_type.inputs.data
        if len(entry.args) != len(inputs):
            raise VerifyException(
                f"'async.func' op entry block must have {len(inputs)} arguments to match function signature"
            )
        for index, (found, expected) in enumerate(zip(entry.arg_types, inputs, strict=True)):
            if found != expected:
                raise VerifyException(
                    f"'async.func' op type of entry block argument #{index}('{found}') must match "
                    f"the type of the corresponding argument in function signature('{expected}')"
                )

    def print(self, printer: Printer) -> None:
        if self.sym_visibility is not None:
            printer.print_string(f" {self.sym_visibility.data}")
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        self._print_arguments(printer)
        self._print_results(printer)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        if self.body.first_block is not None:
            printer.print_string(" ")
            with _prefix_left_out(self.body):
                printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    def _print_arguments(self, printer: Printer) -> None:
        entry, inputs = self.body.first_block, self.function_type.inputs.data
        dictionaries = self.arg_attrs.data if self.arg_attrs is not None else [DictionaryAttr({})] * len(inputs)
        with printer.in_parens():
            if entry is None:
                pairs = zip(inputs, dictionaries, strict=True)
                printer.print_list(pairs, lambda pair: print_func_output(printer, *pair))
            else:
                arguments = zip(entry.args, dictionaries, strict=True)
                printer.print_list(arguments, lambda pair: print_func_argument(printer, *pair))

    def _print_results(self, printer: Printer) -> None:
        outputs = self.function_type.outputs.data
        printer.print_string(" -> ")
        if len(outputs) == 1 and self.res_attrs is None:
            printer.print_attribute(outputs[0])
            return
        dictionaries = self.res_attrs.data if self.res_attrs is not None else [DictionaryAttr({})] * len(outputs)
        with printer.in_parens():
            pairs = zip(outputs, dictionaries, strict=True)
            printer.print_list(pairs, lambda pair: print_func_output(printer, *pair))

    @classmethod
    def parse(cls, parser: Parser) -> FuncOp:
        visibility = parser.parse_optional_visibility_keyword()
        name = parser.parse_symbol_name()
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_argument(parser))
        named = [argument for argument, _, _ in arguments if argument is not None]
        if named and len(named) < len(arguments):
            parser.raise_error("expected all arguments to be named or all to be unnamed")
        outputs = _parse_results(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword(
            ("sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs")
        )
        position = parser.pos
        body = parser.parse_optional_region(named or None)
        if body is not None and (body.first_block is None or body.first_block.first_op is None):
            parser.raise_error("expected non-empty function body", position)
        function_type = FunctionType.from_lists(
            [input_type for _, input_type, _ in arguments], [output for output, _ in outputs]
        )
        func = cls(name.data, function_type, body if body is not None else Region())
        func.sym_visibility = visibility
        func.arg_attrs = _attribute_array([dictionary for _, _, dictionary in arguments])
        func.res_attrs = _attribute_array([dictionary for _, dictionary in outputs])
        func.attributes |= attributes.data if attributes is not None else {}
        return func


@irdl_op_definition
class ReturnOp(AsyncOp):
    """
    Complete the function: its token becomes ready, and each operand the payload of one promise.

    `return %a, %b : f32, i32`
    """

    name = "async.return"

    arguments = var_operand_def()

    traits = traits_def(IsTerminator(), ReturnLike(), Pure(), ExpectsParent(FuncOp))
    assembly_format = "attr-dict ($arguments^ `:` type($arguments))?"

    def __init__(self, *operands: SSAValue | Operation) -> None:
        super().__init__(operands=[operands])

    def verify_(self) -> None:
        function = self.parent_op()
        if isinstance(function, FuncOp) and self.arguments.types != function.payload_types:
            raise VerifyException(
                "'async.return' op operand types do not match the types returned from the parent FuncOp"
            )


class _CalleeExists(SymbolUserOpInterface):
    """The callee is an `async.func` with the call's signature."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, CallOp)
        callee = SymbolTable.lookup_symbol(op, op.callee) if _in_symbol_table(op) else None
        if not isinstance(callee, FuncOp) or callee.error_before_regions() is not None:
            raise VerifyException(
                f"'async.call' op '{op.callee.string_value()}' does not reference a valid async function"
            )
        signature = callee.function_type
        if len(signature.inputs) != len(op.arguments):
            raise VerifyException("'async.call' op incorrect number of operands for callee")
        for index, (expected, found) in enumerate(zip(signature.inputs, op.arguments.types, strict=True)):
            if expected != found:
                raise VerifyException(
                    f"'async.call' op operand type mismatch: expected operand type '{expected}', "
                    f"but provided '{found}' for operand number {index}"
                )
        if len(signature.outputs) != len(op.results):
            raise VerifyException("'async.call' op incorrect number of results for callee")
        for index, (expected, found) in enumerate(zip(signature.outputs, op.result_types, strict=True)):
            if expected != found:
                raise VerifyException(f"'async.call' op result type mismatch at index {index}")


@irdl_op_definition
class CallOp(AsyncOp, AsyncOpInterface):
    """
    Start an `async.func`; return its token and promises at once.

    `%token, %promise = async.call @callee(%x) : (f32) -> (!async.token, !async.value<f32>)`
    """

    name = "async.call"

    arguments = var_operand_def()
    callee = prop_def(FlatSymbolRefAttrConstr)
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    res_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    promises = var_result_def(TOKEN_OR_VALUE)

    traits = traits_def(_CalleeExists(), SynchronizationEffect())

    def __init__(
        self, callee: str | SymbolRefAttr, arguments: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> None:
        symbol = SymbolRefAttr(callee) if isinstance(callee, str) else callee
        super().__init__(operands=[arguments], result_types=[result_types], properties={"callee": symbol})

    @property
    def async_dependencies(self) -> Sequence[SSAValue]:
        """None: a call waits for nothing, though its body may."""
        return ()

    @property
    def async_token(self) -> SSAValue | None:
        """The token of the callee, or None when it returns promises only."""
        token = self.results[0] if self.results else None
        return token if token is not None and isinstance(token.type, TokenType) else None

    def add_async_dependency(self, token: SSAValue) -> None:
        """Always refused: the callee starts at once."""
        refuse(
            self,
            "cannot wait for a token: a call starts its callee at once",
            "make the call from an async.execute that has the dependency",
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.callee)
        with printer.in_parens():
            printer.print_list(self.arguments, printer.print_ssa_value)
        optional = {"arg_attrs": self.arg_attrs, "res_attrs": self.res_attrs}
        properties = {name: value for name, value in optional.items() if value is not None}
        printer.print_op_attributes(self.attributes | properties)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)

    @classmethod
    def parse(cls, parser: Parser) -> CallOp:
        callee = SymbolRefAttr(parser.parse_symbol_name())
        unresolved = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        signature = parser.parse_function_type()
        operands = parser.resolve_operands(unresolved, signature.inputs.data, position)
        names = ("arg_attrs", "res_attrs")
        return cls.create(
            operands=operands,
            result_types=signature.outputs.data,
            properties={"callee": callee} | {name: attributes.pop(name) for name in names if name in attributes},
            attributes=attributes,
        )


def _in_symbol_table(op: Operation) -> bool:
    ancestor = op.parent_op()
    while ancestor is not None and not ancestor.has_trait(SymbolTable):
        ancestor = ancestor.parent_op()
    return ancestor is not None


@contextmanager
def _prefix_left_out(body: Region) -> Generator[None]:
    """
    Print the ops that stand directly in `body` without the prefix `async.`.

    The printer writes the name of an op, and an instance attribute hides the class attribute, so each op gets a short
    name while it is printed. As in MLIR, names with a second dot (`async.coro.id`) keep the prefix.
    """
    ops = [op for block in body.blocks for op in block.ops if isinstance(op, AsyncOp)]
    shortened = [op for op in ops if op.name.startswith("async.") and op.name.count(".") == 1]
    for op in shortened:
        vars(op)["name"] = op.name.removeprefix("async.")
    try:
        yield
    finally:
        for op in shortened:
            del vars(op)["name"]


def _parse_argument(parser: Parser) -> tuple[Parser.Argument | None, Attribute, DictionaryAttr]:
    """`%x: f32 {d.a}`, or in a declaration `f32 {d.a}`."""
    argument = parser.parse_optional_argument()
    argument_type = parser.parse_type() if argument is None else argument.type
    dictionary = DictionaryAttr(parser.parse_optional_attr_dict())
    location = parser.parse_optional_location()
    if argument is not None:
        argument.location = location
    return argument, argument_type, dictionary


def _parse_results(parser: Parser) -> list[tuple[Attribute, DictionaryAttr]]:
    """`-> T`, `-> (T {d.a}, U)`, or nothing."""
    if parser.parse_optional_punctuation("->") is None:
        return []
    outputs = parser.parse_optional_comma_separated_list(
        parser.Delimiter.PAREN,
        lambda: (parser.parse_type(), DictionaryAttr(parser.parse_optional_attr_dict())),
    )
    return [(parser.parse_type(), DictionaryAttr({}))] if outputs is None else list(outputs)


def _attribute_array(dictionaries: Sequence[DictionaryAttr]) -> ArrayAttr[DictionaryAttr] | None:
    """One dictionary for each position, or None when all are empty."""
    return ArrayAttr(dictionaries) if any(dictionary.data for dictionary in dictionaries) else None


def _result_error(outputs: Sequence[Attribute]) -> str | None:
    """Why `outputs` cannot be the results of an asynchronous function; None when they can."""
    if not outputs:
        return "'async.func' op result is expected to be at least of size 1, but got 0"
    for position, output in enumerate(outputs, start=1):
        if not isinstance(output, TokenType | ValueType):
            return f"'async.func' op result type must be async value type or async token type, but got '{output}'"
        if isinstance(output, TokenType) and position > 1:
            return (
                "'async.func' op  results' (optional) async token type is expected to appear "
                f"as the 1st return value, but got {position}"
            )
    return None


def _verify_attribute_array(array: ArrayAttr[DictionaryAttr] | None, count: int, what: str) -> None:
    if array is None:
        return
    if len(array) != count:
        raise VerifyException(
            f"'async.func' op expects {what} attribute array to have the same number of elements as the "
            f"number of function {what}s, got {len(array)}, but expected {count}"
        )
    if any("." not in name for dictionary in array for name in dictionary.data):
        raise VerifyException(f"'async.func' op {what}s may only have dialect attributes")
