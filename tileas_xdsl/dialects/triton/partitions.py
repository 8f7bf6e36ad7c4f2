"""
Partitions of warps: `ttg.warp_specialize` forks agents, each with warps of its own, and waits for all of them.

    ttg.warp_specialize(%bufs, %n) attributes {requestedRegisters = array<i32: 24>}
    default {
      ...
      ttg.warp_yield
    }
    partition0(%b: !ttg.memdesc<..>, %m: i32) num_warps(1) {
      ...
      ttg.warp_return
    } : (!ttg.memdesc<..>, i32) -> ()

The default region goes on with the warps of the function and sees its values. A partition sees only its arguments,
which stand for the captures in order. In generic form the partitions are the regions of an op of their own, in the
second region of the op.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i32
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, ReturnLike
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.triton.effects import TouchesMemory
from tileas_xdsl.dialects.triton.forms import TritonOp
from tileas_xdsl.dialects.triton.types import numbers_of
from tileas_xdsl.interfaces import AgentLikeOpInterface

WARPS = "partitionNumWarps"
WARPS_OF_DEFAULT, THREADS_OF_WARP, WARPGROUP = 4, 32, 4
"""What a module of Triton has where it does not say so."""


@irdl_op_definition
class WarpSpecializePartitionsOp(IRDLOperation, AgentLikeOpInterface):
    """The partitions and what they capture; it stands alone in the second region of `ttg.warp_specialize`."""

    name = "ttg.warp_specialize.partitions"

    captures = var_operand_def()
    partitions = var_region_def()

    traits = traits_def(IsTerminator(), IsolatedFromAbove(), TouchesMemory())

    @property
    def agent_regions(self) -> Sequence[Region]:
        return self.partitions

    @property
    def group_sizes(self) -> Sequence[int]:
        return [1] * len(self.partitions)


@irdl_op_definition
class WarpSpecializeOp(IRDLOperation):
    """Fork an agent for each partition, go on with the default region, and wait for all."""

    name = "ttg.warp_specialize"

    results_ = var_result_def()
    default = region_def()
    holder = region_def("single_block")
    partition_warps = prop_def(DenseArrayBase, prop_name=WARPS)
    warpGroupStartIds = opt_prop_def()
    requestedRegisters = opt_prop_def()
    actualRegisters = opt_prop_def()

    traits = traits_def(TouchesMemory())

    @property
    def partitions_op(self) -> WarpSpecializePartitionsOp:
        """The op that holds the partitions."""
        op = self.holder.block.last_op
        assert isinstance(op, WarpSpecializePartitionsOp)
        return op

    @property
    def warps(self) -> Sequence[int]:
        """How many warps each partition has."""
        return numbers_of(self.partition_warps)

    @property
    def registers(self) -> Sequence[int]:
        """Registers of each thread of the default region and of each partition, where Triton has assigned them."""
        return _numbers(self.actualRegisters)

    @property
    def warp_numbers(self) -> Sequence[range]:
        """The numbers in the block of the warps of the default region and of each partition."""
        first = _number_of_module(self, "ttg.num-warps") or WARPS_OF_DEFAULT
        given = _numbers(self.warpGroupStartIds)
        found, free = [range(first)], first
        for number, count in enumerate(self.warps):
            begin = given[number] if number < len(given) else free
            found.append(range(begin, begin + count))
            free = max(free, begin + count)
        return found

    @property
    def threads_of_block(self) -> int:
        """Threads of a block, in whole warpgroups: as the module says, or those of the regions."""
        per_warp = _number_of_module(self, "ttg.threads-per-warp") or THREADS_OF_WARP
        last = max(warps.stop for warps in self.warp_numbers)
        return (_number_of_module(self, "ttg.total-num-warps") or -(-last // WARPGROUP) * WARPGROUP) * per_warp

    def verify_(self) -> None:
        held = list(self.holder.block.ops)
        if [op.name for op in held] != [WarpSpecializePartitionsOp.name]:
            raise VerifyException(f"'{self.name}' op holds nothing but one {WarpSpecializePartitionsOp.name}")
        if len(self.partitions_op.partitions) != len(self.warps):
            raise VerifyException(
                f"'{self.name}' op has {len(self.partitions_op.partitions)} partitions, and {WARPS} numbers "
                f"{len(self.warps)}"
            )
        last = self.default.blocks[-1].last_op if self.default.blocks else None
        if isinstance(last, WarpYieldOp) and last.operand_types != self.result_types:
            raise VerifyException(f"'{self.name}' op yields other types than it returns")
        types = tuple(value.type for value in self.partitions_op.captures)
        for region in self.partitions_op.partitions:
            if not region.blocks or tuple(region.blocks[0].arg_types) != types:
                raise VerifyException(f"'{self.name}' op has a partition whose arguments are not what is captured")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        captures = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        given = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_keyword("default")
        default = parser.parse_region()
        partitions: list[Region] = []
        warps: list[int] = []
        while parser.parse_optional_keyword(f"partition{len(partitions)}") is not None:
            arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_argument(parser))
            parser.parse_keyword("num_warps")
            with parser.in_parens():
                warps.append(parser.parse_integer(allow_boolean=False))
            partitions.append(parser.parse_region(arguments))
        parser.parse_punctuation(":")
        kind = parser.parse_function_type()
        operands = parser.resolve_operands(captures, kind.inputs.data, start)
        inside = WarpSpecializePartitionsOp.create(operands=operands, regions=partitions)
        attributes = dict(given.data) if given is not None else {}
        own = cls.get_irdl_definition().properties
        properties: dict[str, Attribute] = {WARPS: DenseArrayBase.from_list(i32, warps)}
        properties |= {name: value for name, value in attributes.items() if name in own}
        return cls.create(
            result_types=kind.outputs.data,
            properties=properties,
            attributes={name: value for name, value in attributes.items() if name not in own},
            regions=[default, Region(Block([inside]))],
        )

    def print(self, printer: Printer) -> None:
        inside = self.partitions_op
        with printer.in_parens():
            printer.print_list(inside.captures, printer.print_operand)
        shown = {name: value for name, value in self.properties.items() if name != WARPS} | self.attributes
        if shown:
            printer.print_string(" attributes ")
            printer.print_attr_dict(dict(sorted(shown.items())))
        printer.print_string("\n")
        printer.print_string("default ")
        printer.print_region(self.default, print_entry_block_args=False)
        for number, (region, warps) in enumerate(zip(inside.partitions, self.warps, strict=True)):
            printer.print_string("\n")
            printer.print_string(f"partition{number}")
            with printer.in_parens():
                printer.print_list(region.block.args, printer.print_block_argument)
            printer.print_string(f" num_warps({warps}) ")
            printer.print_region(region, print_entry_block_args=False)
        printer.print_string(" : ")
        printer.print_function_type([value.type for value in inside.captures], self.result_types)


def _numbers(array: Attribute | None) -> Sequence[int]:
    """The numbers of an array attribute; none where there is no such attribute."""
    return [int(number) for number in array.get_values()] if isinstance(array, DenseArrayBase) else []


def _number_of_module(op: Operation, name: str) -> int | None:
    """The number that a module around `op` gives as `name`."""
    node = op.parent_op()
    while node is not None:
        said = node.attributes.get(name)
        if isinstance(said, IntegerAttr):
            return said.value.data
        node = node.parent_op()
    return None


def _parse_argument(parser: Parser) -> Parser.Argument:
    argument = parser.parse_argument()
    argument.location = parser.parse_optional_location()
    return argument


@irdl_op_definition
class WarpYieldOp(TritonOp):
    """The end of the default region: `ttg.warp_yield %x : i32`."""

    name = "ttg.warp_yield"

    values = var_operand_def()

    traits = traits_def(IsTerminator(), ReturnLike())
    FORM: ClassVar = "( $values)? {}( : type($values))?"


@irdl_op_definition
class WarpReturnOp(TritonOp):
    """The end of a partition: `ttg.warp_return`."""

    name = "ttg.warp_return"

    traits = traits_def(IsTerminator(), ReturnLike())
    FORM: ClassVar = "{}"


PARTITION_OPS = (WarpSpecializeOp, WarpSpecializePartitionsOp, WarpYieldOp, WarpReturnOp)
