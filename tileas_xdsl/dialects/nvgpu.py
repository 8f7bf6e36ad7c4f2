"""
The dialect `nvgpu`: the three ops of MLIR's dialect that copy asynchronously and wait by token.

A copy returns a token; a group is made of the tokens of its copies and is a token itself; a wait
names the token of a group. On the hardware the groups of a thread form a queue (`cp.async`), and a
wait is a number: how many younger groups may be unfinished. MLIR's lowering forgets the token and
waits for `numGroups`, or for everything (MLIR's page "'nvgpu' Dialect").

    %copy = nvgpu.device_async_copy %src[%i, %j], %dst[%s, %i, %j], 4
              : memref<128x128xf32> to memref<3x16x128xf32, 3>
    %group = nvgpu.device_async_create_group %copy
    nvgpu.device_async_wait %group {numGroups = 1 : i32}

In the generic form of a copy the destination comes first.

`device_async_create_group` without operands is printed with `{}`: mlir-opt cannot read back its own print of it.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    FixedBitwidthType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    ParsingState,
    PrintingState,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.upstream import (
    ClassProperty,
    EffectfulOp,
    TypeConstraint,
    exactly,
    integer,
)
from tileas_xdsl.interfaces import GroupTokenOpInterface, HandleType

SHARED_SPACE = 3
WORKGROUP = "#gpu.address_space<workgroup>"
COPY_WIDTHS = (4, 8, 16)
"""The bytes that one copy may move."""


@irdl_attr_definition
class DeviceAsyncTokenType(ParametrizedAttribute, HandleType):
    """`!nvgpu.device.async.token`: a copy, or a group of copies, that may be unfinished."""

    name = "nvgpu.device.async.token"


TOKEN = exactly(DeviceAsyncTokenType(), "device async token type")
INDEX = exactly(IndexType(), "index")
MEMREF = TypeConstraint("memref of any type values", lambda type_: isinstance(type_, MemRefType))


@irdl_op_definition
class DeviceAsyncCopyOp(EffectfulOp):
    """
    Start copying `dstElements` elements (4, 8 or 16 bytes) from `src` to shared memory at `dst`.

    `%t = nvgpu.device_async_copy %src[%i], %dst[%j], 4, %n {bypassL1} : memref<..> to memref<.., 3>`

    With `src_elements`, only so many are read and the rest of the destination becomes zero.
    `bypassL1` is a hint, for 16 bytes only.
    """

    name = "nvgpu.device_async_copy"
    READS: ClassVar = ("src",)
    WRITES: ClassVar = ("dst",)

    dst = operand_def(MEMREF)
    dst_indices = var_operand_def(INDEX)
    src = operand_def(MEMREF)
    src_indices = var_operand_def(INDEX)
    dst_elements = prop_def(integer(IndexType()), prop_name="dstElements")
    src_elements = opt_operand_def(INDEX)
    bypass_l1 = opt_prop_def(ClassProperty(UnitAttr), prop_name="bypassL1")
    async_token = result_def(TOKEN)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$src `[` $src_indices `]` `,` $dst `[` $dst_indices `]` `,` $dstElements"
        " (`,` $src_elements^)? attr-dict `:` type($src) `to` type($dst)"
    )

    def verify_(self) -> None:
        source = cast("MemRefType[Any]", self.src.type)
        destination = cast("MemRefType[Any]", self.dst.type)
        _verify_memory(source, destination)
        self._verify_indices("source", source, len(self.src_indices))
        self._verify_indices("destination", destination, len(self.dst_indices))
        self._verify_width(destination)

    def _verify_indices(self, noun: str, memref: MemRefType[Any], found: int) -> None:
        rank = memref.get_num_dims()
        if rank != found:
            raise VerifyException(f"'{self.name}' op expected {rank} {noun} indices, got {found}")

    def _verify_width(self, destination: MemRefType[Any]) -> None:
        elements = self.dst_elements.value.data
        width = _bit_width(destination.get_element_type())
        if width is None:
            raise VerifyException(
                f"'{self.name}' op copies elements of a fixed width: found {destination.get_element_type()}, "
                "use an integer or a float type"
            )
        # MLIR divides with truncation and lets what is left over pass: 33 elements of i1 are 4 bytes.
        size = abs(elements * width) // 8 * (1 if elements >= 0 else -1)
        if size not in COPY_WIDTHS:
            possible = [8 * bytes_ // width for bytes_ in COPY_WIDTHS]
            choices = ", ".join(str(count) for count in possible if count)
            raise VerifyException(
                f"Requested copy elements is {elements} with width {width}. "
                f"But copy elements could be one of {choices}."
            )
        if self.bypass_l1 is not None and size != 16:
            raise VerifyException(
                f"'{self.name}' op bypassL1 does not satify alignment for '{destination}' with destination "
                f"element {elements}. Unset bypassL1, or set destination element to {128 // width}"
            )


def _verify_memory(source: MemRefType[Any], destination: MemRefType[Any]) -> None:
    if not _has_unit_stride(source):
        raise VerifyException("source memref most minor dim must have unit stride")
    if not _has_unit_stride(destination):
        raise VerifyException("destination memref most minor dim must have unit stride")
    if not _is_shared(destination.memory_space):
        raise VerifyException(
            "destination memref must have a memory space attribute of IntegerAttr(3) or "
            "gpu::AddressSpaceAttr(Workgroup)"
        )
    if source.get_element_type() != destination.get_element_type():
        raise VerifyException("source and destination must have the same element type")


def _has_unit_stride(memref: MemRefType[Any]) -> bool:
    """Whether elements that are neighbours in the innermost dimension are neighbours in memory."""
    strides = memref.get_strides()
    return strides is not None and (not strides or strides[-1] == 1)


def _is_shared(space: Attribute) -> bool:
    if isinstance(space, IntegerAttr):
        return cast(IntegerAttr, space).value.data == SHARED_SPACE
    return str(space) == WORKGROUP


def _bit_width(type_: Attribute) -> int | None:
    if isinstance(type_, IntegerType | AnyFloat):
        return cast(FixedBitwidthType, type_).bitwidth
    return None


RESULTS_OF_AN_OP = re.compile(r"%[\w$.-]+(:\d+)?\s*(,\s*%[\w$.-]+(:\d+)?\s*)*=")
"""Matches the results at the beginning of an op: `%a, %b:2 =`."""


@irdl_custom_directive
class GroupTokens(CustomDirective):
    """
    The tokens of a group, which is empty in `%g = nvgpu.device_async_create_group`.

    In MLIR's custom form nothing separates an empty group from the next op, and mlir-opt, reading its own output, takes
    that op's result for a token. Our parser looks ahead for the result's `=`; our printer writes an empty dictionary
    between the two ops, which mlir-opt also accepts.
    """

    tokens: VariadicOperandVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        if RESULTS_OF_AN_OP.match(parser.lexer.input.content, parser.pos) is None:
            self.tokens.parse(parser, state)
        else:
            self.tokens.set_empty(state)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.tokens.print(printer, state, op)
        if not op.operands and not op.attributes and op.next_op is not None and op.next_op.results:
            printer.print_string(" {}")


@irdl_op_definition
class DeviceAsyncCreateGroupOp(GroupTokenOpInterface, EffectfulOp):
    """
    Close a group of the copies behind `input_tokens`; groups finish in the order of their creation.

    `%g = nvgpu.device_async_create_group %t, %u`
    """

    name = "nvgpu.device_async_create_group"

    input_tokens = var_operand_def(TOKEN)
    async_token = result_def(TOKEN)

    custom_directives = (GroupTokens,)
    assembly_format = "custom<GroupTokens>($input_tokens) attr-dict"

    @property
    def group_token(self) -> SSAValue:
        return self.async_token


@irdl_op_definition
class DeviceAsyncWaitOp(EffectfulOp):
    """
    Block until the group is finished; with `numGroups`, until at most so many groups are unfinished.

    `nvgpu.device_async_wait %g {numGroups = 1 : i32}`
    """

    name = "nvgpu.device_async_wait"

    async_dependencies = operand_def(TOKEN)
    num_groups = opt_prop_def(integer(i32), prop_name="numGroups")

    assembly_format = "$async_dependencies attr-dict"


NVGPU = Dialect(
    "nvgpu",
    [DeviceAsyncCopyOp, DeviceAsyncCreateGroupOp, DeviceAsyncWaitOp],
    [DeviceAsyncTokenType],
)
