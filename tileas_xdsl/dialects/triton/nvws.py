"""
The dialect `nvws`: what Triton has between deciding on partitions of warps and building them.

    %r = nvws.aref.create %buf : <[!ttg.memdesc<3x128x64xf16, ..>]>
    %b, %t = nvws.aref.put.enter %r[%stage, %phase] : <[..]> -> !ttg.memdesc<128x64xf16, ..>, !ttg.async.token
    nvws.descriptor_load %d[%x, %y] 16384 %b : !tt.tensordesc<..>, i32, i32, !ttg.memdesc<..>
    nvws.aref.put.exit %r[%stage], %t [#nvws.async_op<tma_load>] : <[..]>, !ttg.async.token

An *aref* is a ring of buffers that one partition puts into and others get from. Triton's pass `nvws-lower-aref` makes
barriers of it, and `nvws-lower-warp-group` makes `ttg.warp_specialize` of `nvws.warp_group`. These ops are read so that
a dump of every stage is; they have no meaning here. As Triton 3.9 prints it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, i32
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, Region
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect, ReturnLike

from tileas_xdsl.dialects.triton.effects import TouchesMemory
from tileas_xdsl.dialects.triton.encodings import encodings
from tileas_xdsl.dialects.triton.forms import TritonOp, Types, same
from tileas_xdsl.dialects.triton.tt import SEGMENTS
from tileas_xdsl.dialects.triton.types import AsyncTokenType, MemDescType, numbers_of
from tileas_xdsl.interfaces import HandleType

TOKEN = AsyncTokenType()
WARPS = "numWarps"


@irdl_attr_definition
class ArefType(ParametrizedAttribute, HandleType):
    """`!nvws.aref<[!ttg.memdesc<..>]>`: a ring of the buffers of these types, which go together."""

    name = "nvws.aref"

    buffers: ArrayAttr[Attribute]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_type))]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets(), printer.in_square_brackets():
            printer.print_list(self.buffers, printer.print_attribute)


def _buffers_of(types: Types) -> Sequence[Attribute]:
    """The types of the buffers of the ring that is a result."""
    (ring,) = types["result"]
    assert isinstance(ring, ArefType)
    return ring.buffers.data


class ArefOp(TritonOp):
    """Base of the ops on rings."""

    traits = traits_def(TouchesMemory())
    SHORT: ClassVar = {"aref": ArefType, "result": ArefType}


@irdl_op_definition
class ArefCreateOp(ArefOp):
    """`%r = nvws.aref.create %a, %b : <[..]>`: a ring of the buffers, whose leading dimension counts its slots."""

    name = "nvws.aref.create"

    buffers = var_operand_def(MemDescType)
    result = result_def(ArefType)

    FORM: ClassVar = "$buffers {} : short($result)"
    IMPLIED: ClassVar = {"buffers": _buffers_of}


@irdl_op_definition
class ArefPhiOp(TritonOp):
    """`%x = nvws.aref.phi %local, %remote : i32`: the one that the partition owns."""

    name = "nvws.aref.phi"

    local = operand_def()
    remote = operand_def()
    result = result_def()

    traits = traits_def(Pure())
    FORM: ClassVar = "$local, $remote {} : type($result)"
    IMPLIED: ClassVar = {"local": same("result"), "remote": same("result")}


@irdl_op_definition
class ArefBufferOp(ArefOp):
    """`%b = nvws.aref.buffer %r[%stage], %t : <[..]>, !ttg.async.token -> ..`: the buffers of its slot."""

    name = "nvws.aref.buffer"

    aref = operand_def(ArefType)
    token = operand_def(TOKEN)
    stage = opt_operand_def(i32)
    buffers = var_result_def(MemDescType)

    FORM: ClassVar = "$aref([$stage])?, $token {} : short($aref), type($token) -> type($buffers)"
    IMPLIED: ClassVar = {"stage": i32}


class EnterOp(ArefOp):
    """Base of the ops that wait for a slot and give its buffers, and a token for the one that leaves it."""

    aref = operand_def(ArefType)
    stage = opt_operand_def(i32)
    phase = opt_operand_def(i32)
    results_ = var_result_def()

    irdl_options = (SEGMENTS,)
    FORM: ClassVar = "$aref([$stage, $phase])? {} : short($aref) -> type($results_)"
    IMPLIED: ClassVar = {"stage": i32, "phase": i32}


@irdl_op_definition
class ArefGetEnterOp(EnterOp):
    """`%b, %t = nvws.aref.get.enter %r[%stage, %phase] : <[..]> -> .., !ttg.async.token`: wait for a full slot."""

    name = "nvws.aref.get.enter"


@irdl_op_definition
class ArefPutEnterOp(EnterOp):
    """`%b, %t = nvws.aref.put.enter %r[%stage, %phase] : <[..]> -> .., !ttg.async.token`: wait for an empty slot."""

    name = "nvws.aref.put.enter"


class ExitOp(ArefOp):
    """Base of the ops that leave a slot once the asynchronous ops of these kinds are complete."""

    aref = operand_def(ArefType)
    token = operand_def(TOKEN)
    stage = opt_operand_def(i32)
    async_ops = prop_def(ArrayAttr)

    FORM: ClassVar = "$aref([$stage])?, $token $async_ops {} : short($aref), type($token)"
    IMPLIED: ClassVar = {"stage": i32}


@irdl_op_definition
class ArefGetExitOp(ExitOp):
    """`nvws.aref.get.exit %r[%stage], %t [#nvws.async_op<tc5mma>] : <[..]>, !ttg.async.token`: the slot is empty."""

    name = "nvws.aref.get.exit"


@irdl_op_definition
class ArefPutExitOp(ExitOp):
    """`nvws.aref.put.exit %r[%stage], %t [#nvws.async_op<tma_load>] : <[..]>, !ttg.async.token`: the slot is full."""

    name = "nvws.aref.put.exit"


@irdl_op_definition
class DescriptorLoadOp(ArefOp):
    """`nvws.descriptor_load %d[%x, %y] 16384 %b : .., i32, i32, ..`: a box into a buffer, at once."""

    name = "nvws.descriptor_load"

    desc = operand_def()
    indices = var_operand_def(i32)
    result = operand_def(MemDescType)
    txCount = prop_def(IntegerAttr)
    cache = opt_prop_def()
    evict = opt_prop_def()

    FORM: ClassVar = (
        "$desc[$indices] $txCount $result( cacheModifier = $cache<cache>)?( evictionPolicy = $evict<eviction>)? {}"
        " : operands"
    )


@irdl_op_definition
class DescriptorGatherOp(ArefOp):
    """`nvws.descriptor_gather %d[%rows, %y] 16384 %b : .., tensor<..>, i32, ..`: rows into a buffer, at once."""

    name = "nvws.descriptor_gather"

    desc = operand_def()
    x_offsets = operand_def()
    y_offset = operand_def(i32)
    result = operand_def(MemDescType)
    txCount = prop_def(IntegerAttr)

    FORM: ClassVar = "$desc[$x_offsets, $y_offset] $txCount $result {} : operands"


@irdl_op_definition
class CLCTryCancelOp(ArefOp):
    """`nvws.clc_try_cancel %b : !ttg.memdesc<..>`: ask for the work of another block."""

    name = "nvws.clc_try_cancel"

    result = operand_def(MemDescType)

    FORM: ClassVar = "$result {} : type($result)"


@irdl_op_definition
class WarpGroupOp(IRDLOperation):
    """
    Partitions that see the values around them; the results are those of the first.

    `nvws.warp_group partition0 num_warps(4) { .. nvws.warp_group.yield } partition1 num_warps(4) { .. }`
    """

    name = "nvws.warp_group"

    results_ = var_result_def()
    partitions = var_region_def()
    warps = prop_def(DenseArrayBase, prop_name=WARPS)

    traits = traits_def(RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        given = parser.parse_optional_attr_dict_with_keyword()
        regions: list[Region] = []
        warps: list[int] = []
        while parser.parse_optional_keyword(f"partition{len(regions)}") is not None:
            parser.parse_keyword("num_warps")
            with parser.in_parens():
                warps.append(parser.parse_integer(allow_boolean=False))
            regions.append(parser.parse_region())
        types: Sequence[Attribute] = []
        if parser.parse_optional_punctuation("->") is not None:
            types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        return cls.create(
            result_types=types,
            properties={WARPS: DenseArrayBase.from_list(i32, warps)},
            attributes=dict(given.data) if given is not None else {},
            regions=regions,
        )

    def print(self, printer: Printer) -> None:
        if self.attributes:
            printer.print_string(" attributes ")
            printer.print_attr_dict(self.attributes)
        for number, (region, warps) in enumerate(zip(self.partitions, numbers_of(self.warps), strict=True)):
            printer.print_string(f"\npartition{number} num_warps({warps}) ")
            printer.print_region(region, print_entry_block_args=False)
        if self.results_:
            printer.print_string(" -> ")
            with printer.in_parens():
                printer.print_list(self.result_types, printer.print_attribute)


@irdl_op_definition
class WarpGroupYieldOp(TritonOp):
    """The end of the first partition: `nvws.warp_group.yield %x : i32`."""

    name = "nvws.warp_group.yield"

    values = var_operand_def()

    traits = traits_def(IsTerminator(), ReturnLike(), Pure())
    FORM: ClassVar = "( $values)? {}( : type($values))?"


@irdl_op_definition
class WarpGroupReturnOp(TritonOp):
    """The end of another partition: `nvws.warp_group.return`."""

    name = "nvws.warp_group.return"

    traits = traits_def(IsTerminator(), Pure())
    FORM: ClassVar = "{}"


OPS = (
    ArefCreateOp,
    ArefPhiOp,
    ArefBufferOp,
    ArefGetEnterOp,
    ArefPutEnterOp,
    ArefGetExitOp,
    ArefPutExitOp,
    DescriptorLoadOp,
    DescriptorGatherOp,
    CLCTryCancelOp,
    WarpGroupOp,
    WarpGroupYieldOp,
    WarpGroupReturnOp,
)

NVWS = Dialect("nvws", [*OPS], [ArefType, *encodings("nvws", {"async_op": ""})])
