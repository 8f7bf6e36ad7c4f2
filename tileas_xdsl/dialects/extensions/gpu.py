"""
Custom forms of `gpu` in device code, and the attribute for its spaces of memory.

    gpu.module @m {
      gpu.func @k(%a: memref<64xf32, #gpu.address_space<workgroup>>) kernel attributes {...} {
        %t = gpu.thread_id x
        %w = gpu.subgroup_id : index
        gpu.barrier
        gpu.return
      }
    }

A buffer that a function attributes to its work-group, `workgroup(%b : memref<64xf32, 3>)`, is read as the
`memref.alloca` that it stands for, at the begin of the body.

Not read: attributions `private(...)`, targets of a module, `memfence` of a barrier.
"""

from __future__ import annotations

from enum import auto
from typing import Any

from xdsl.dialects import gpu, memref
from xdsl.dialects.builtin import FunctionType, IndexType, MemRefType, UnitAttr
from xdsl.ir import Attribute, Block, Dialect, Operation, Region
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa
from xdsl.utils.str_enum import StrEnum

from tileas_xdsl.dialects.extensions import give_check, give_form, types_in_parens_or_one, with_attributes
from tileas_xdsl.dialects.upstream import BracketedKeyword


class Space(StrEnum):
    """The spaces of memory of the GPU dialect."""

    GLOBAL = auto()
    WORKGROUP = auto()
    PRIVATE = auto()


@irdl_attr_definition
class AddressSpaceAttr(BracketedKeyword[Space]):
    """`#gpu.address_space<workgroup>`: where a memref lies."""

    name = "gpu.address_space"

    KINDS = Space


# Modules and functions ------------------------------------------------------------------------------------------------


def _parse_module(cls: type[Any], parser: Parser) -> Operation:
    name = parser.parse_symbol_name()
    attributes = parser.parse_optional_attr_dict_with_keyword()
    return cls.create(
        properties={"sym_name": name},
        attributes={} if attributes is None else dict(attributes.data),
        regions=[_one_block(parser.parse_region())],
    )


def _one_block(region: Region) -> Region:
    """`region` with its block, which the text of an empty module leaves out."""
    if not region.blocks:
        region.add_block(Block())
    return region


def _print_module(op: gpu.ModuleOp, printer: Printer) -> None:
    printer.print_string(" ")
    printer.print_symbol_name(op.sym_name.data)
    printer.print_op_attributes(op.attributes, print_keyword=True)
    printer.print_string(" ")
    printer.print_region(op.body, print_empty_block=False)


KERNEL = "gpu.kernel"
NO_ATTRIBUTIONS = "workgroup_attributions"
"""How many buffers of the work-group a function makes itself, in MLIR's generic form."""


def _parse_function(cls: type[Any], parser: Parser) -> Operation:
    name = parser.parse_symbol_name()
    inputs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
    outputs = types_in_parens_or_one(parser) if parser.parse_optional_punctuation("->") is not None else []
    buffers: list[Parser.Argument] = []
    if parser.parse_optional_keyword("workgroup") is not None:
        buffers = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
    if parser.parse_optional_keyword("private") is not None:
        parser.raise_error("attributions (private) of gpu.func are not read; allocate the buffer in the body")
    is_kernel = parser.parse_optional_keyword("kernel") is not None
    attributes = parser.parse_optional_attr_dict_with_keyword()
    written = {} if attributes is None else dict(attributes.data)
    return cls.create(
        properties={"function_type": FunctionType.from_lists([given.type for given in inputs], outputs)},
        attributes={"sym_name": name, **({KERNEL: UnitAttr()} if is_kernel else {}), **written},
        regions=[_with_allocas(parser, parser.parse_region([*inputs, *buffers]), len(inputs))],
    )


def _with_allocas(parser: Parser, body: Region, inputs: int) -> Region:
    """`body` with a `memref.alloca` for each argument of its first block behind the first `inputs`."""
    block = body.blocks[0]
    allocas: list[memref.AllocaOp] = []
    for argument in block.args[inputs:]:
        if not isa(argument.type, MemRefType[Attribute]):
            parser.raise_error(f"expected a memref, got {argument.type}")
        shape, layout = argument.type.get_shape(), argument.type.layout
        space = argument.type.memory_space
        made = memref.AllocaOp.get(argument.type.element_type, None, shape, layout=layout, memory_space=space)
        made.memref.name_hint = argument.name_hint
        argument.replace_all_uses_with(made.memref)
        allocas.append(made)
    for argument in reversed(block.args[inputs:]):
        block.erase_arg(argument)
    if allocas and block.first_op is not None:
        block.insert_ops_before(allocas, block.first_op)
    return body


def _verify_function(op: gpu.FuncOp) -> None:
    if (KERNEL in op.attributes or op.kernel is not None) and op.function_type.outputs.data:
        raise VerifyException(f"'{op.name}' op expected void return type for kernel function")


def _print_function(op: gpu.FuncOp, printer: Printer) -> None:
    printer.print_string(" ")
    printer.print_symbol_name(op.sym_name.data)
    with printer.in_parens():
        printer.print_list(op.body.blocks[0].args, printer.print_block_argument)
    outputs = op.function_type.outputs.data
    if outputs:
        printer.print_string(" -> ")
        if len(outputs) == 1 and not isinstance(outputs[0], FunctionType):
            printer.print_attribute(outputs[0])
        else:
            with printer.in_parens():
                printer.print_list(outputs, printer.print_attribute)
    if KERNEL in op.attributes or op.kernel is not None:
        printer.print_string(" kernel")
    hidden = ("sym_name", KERNEL, NO_ATTRIBUTIONS)
    printer.print_op_attributes(
        {name: value for name, value in op.attributes.items() if name not in hidden}, print_keyword=True
    )
    printer.print_string(" ")
    printer.print_region(op.body, print_entry_block_args=False)


def _parse_return(cls: type[Any], parser: Parser) -> Operation:
    attributes = parser.parse_optional_attr_dict()
    values = parser.parse_optional_undelimited_comma_separated_list(
        parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
    )
    if not values:
        return cls.create(attributes=attributes)
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    if len(types) != len(values):
        parser.raise_error(f"expected {len(values)} types, got {len(types)}")
    operands = [parser.resolve_operand(value, kind) for value, kind in zip(values, types, strict=True)]
    return cls.create(operands=operands, attributes=attributes)


def _print_return(op: gpu.ReturnOp, printer: Printer) -> None:
    printer.print_op_attributes(op.attributes)
    if op.args:
        printer.print_string(" ")
        printer.print_list(op.args, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_list(op.args.types, printer.print_attribute)


# Numbers of threads, and the barrier ----------------------------------------------------------------------------------

ALONG_AN_AXIS: tuple[type[Operation], ...] = (
    gpu.BlockDimOp,
    gpu.BlockIdOp,
    gpu.GlobalIdOp,
    gpu.GridDimOp,
    gpu.ThreadIdOp,
)
WITH_TYPE: tuple[type[Operation], ...] = (gpu.NumSubgroupsOp, gpu.SubgroupIdOp, gpu.SubgroupSizeOp)
AXES = ("x", "y", "z")


def _parse_along_axis(cls: type[Any], parser: Parser) -> Operation:
    start = parser.pos
    word = parser.parse_identifier()
    if word not in AXES:
        parser.raise_error(f"expected one of {', '.join(AXES)}, got '{word}'", start)
    properties = {"dimension": gpu.DimensionAttr(gpu.DimensionEnum(word))}
    attributes = parser.parse_optional_attr_dict()
    return cls.create(result_types=[IndexType()], properties=properties, attributes=attributes)


def _print_along_axis(op: Any, printer: Printer) -> None:
    printer.print_string(f" {op.dimension.data.value}")
    printer.print_op_attributes(op.attributes)


def _parse_with_type(cls: type[Any], parser: Parser) -> Operation:
    parser.parse_punctuation(":")
    return cls.create(result_types=[parser.parse_type()])


def _print_with_type(op: Operation, printer: Printer) -> None:
    printer.print_string(" : ")
    printer.print_attribute(op.results[0].type)


def _parse_bare(cls: type[Any], parser: Parser) -> Operation:
    return cls.create(attributes=parser.parse_optional_attr_dict())


def _print_bare(op: Operation, printer: Printer) -> None:
    printer.print_op_attributes(op.attributes)


def _parse_lane(cls: type[Any], parser: Parser) -> Operation:
    return cls.create(result_types=[IndexType()], attributes=parser.parse_optional_attr_dict())


def extended(dialect: Dialect) -> Dialect:
    """xDSL's `gpu` with the forms and the attribute of this file."""
    give_form(gpu.ModuleOp, _parse_module, _print_module)
    give_form(gpu.FuncOp, _parse_function, _print_function)
    give_check(gpu.FuncOp, _verify_function)
    give_form(gpu.ReturnOp, _parse_return, _print_return)
    give_form(gpu.BarrierOp, _parse_bare, _print_bare)
    give_form(gpu.LaneIdOp, _parse_lane, _print_bare)
    for op in ALONG_AN_AXIS:
        give_form(op, _parse_along_axis, _print_along_axis)
    for op in WITH_TYPE:
        give_form(op, _parse_with_type, _print_with_type)
    return with_attributes(dialect, (AddressSpaceAttr,))
