"""The functions of the tile dialects: written like `func.func`, and without a body where they are declared."""

from __future__ import annotations

from abc import ABC
from typing import Self

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, StringAttr, SymbolNameConstraint
from xdsl.dialects.utils import parse_func_op_like, print_func_op_like
from xdsl.ir import Attribute, BlockArgument, Operation, Region
from xdsl.irdl import IRDLOperation, opt_prop_def, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import CallableOpInterface, IsolatedFromAbove, SymbolOpInterface

from tileas_xdsl.interfaces import FunctionOpInterface

HEADER = ("sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs")
"""The attributes that the custom form of a function shows outside its attribute dictionary."""


class FunctionIsCallable(CallableOpInterface):
    """The argument and result types of a call of the function."""

    @classmethod
    def get_callable_region(cls, op: Operation) -> Region:
        return op.regions[0]

    @classmethod
    def get_argument_types(cls, op: Operation) -> tuple[Attribute, ...]:
        assert isinstance(op, FunctionWithBody)
        return op.function_type.inputs.data

    @classmethod
    def get_result_types(cls, op: Operation) -> tuple[Attribute, ...]:
        assert isinstance(op, FunctionWithBody)
        return op.function_type.outputs.data


class FunctionWithBody(IRDLOperation, FunctionOpInterface, ABC):
    """What `func.func` says of a function, for the functions of other dialects. It sees no value from outside."""

    body = region_def()
    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    sym_visibility = opt_prop_def(StringAttr)
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    res_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    @property
    def function_name(self) -> str:
        return self.sym_name.data

    @property
    def function_body(self) -> Region:
        return self.body


class TileFunction(FunctionWithBody, ABC):
    """`nv_tileaa.func @f(%x: tensor<8xf32>) -> tensor<8xf32> attributes {...} { ... }`"""

    @property
    def args(self) -> tuple[BlockArgument, ...]:
        """The arguments of the body's first block."""
        return tuple(self.body.block.args)

    def update_function_type(self) -> None:
        """Let the type say what the arguments of the body are; its results stay."""
        outputs = self.function_type.outputs.data
        self.function_type = FunctionType.from_lists(list(self.body.block.arg_types), list(outputs))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        visibility = parser.parse_optional_visibility_keyword()
        name, inputs, outputs, body, extra, arg_attrs, res_attrs = parse_func_op_like(
            parser, reserved_attr_names=HEADER
        )
        header: dict[str, Attribute | None] = {
            "sym_name": StringAttr(name),
            "function_type": FunctionType.from_lists(inputs, outputs),
            "sym_visibility": visibility,
            "arg_attrs": arg_attrs,
            "res_attrs": res_attrs,
        }
        return cls.create(
            properties={key: value for key, value in header.items() if value is not None},
            attributes={} if extra is None else dict(extra.data),
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        if self.sym_visibility is not None:
            printer.print_string(f" {self.sym_visibility.data}")
        print_func_op_like(
            printer,
            self.sym_name,
            self.function_type,
            self.body,
            self.attributes,
            arg_attrs=self.arg_attrs,
            res_attrs=self.res_attrs,
            reserved_attr_names=HEADER,
        )


KernelFunction = func.FuncOp | TileFunction
"""What may become a kernel: a function of `func` or of a tile dialect, until `convert-nv-tile-func-to-llvm`."""
