"""
The dialect `tt`: functions, global memory, and what computes on tiles.

    tt.func public @f(%p: !tt.ptr<f16>, %n: i32 {tt.divisibility = 16 : i32}) attributes {noinline = false} { ... }
    %x = tt.load %ptrs, %mask, %other : tensor<128x64x!tt.ptr<f16>, #blocked>
    %d = tt.dot %a, %b, %c, inputPrecision = tf32 : tensor<..> * tensor<..> -> tensor<..>

As Triton 3.9 prints it. Sources: the op definitions that Triton's package carries, and
[their page](https://triton-lang.org/main/dialects/TritonOps.html).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    NameLoc,
    StringAttr,
    SymbolRefAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Dialect, Region
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    SameVariadicOperandSize,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect, ReturnLike

from tileas_xdsl.dialects.tiles.functions import FunctionWithBody
from tileas_xdsl.dialects.triton.computing import Row, computing_ops
from tileas_xdsl.dialects.triton.effects import TouchesMemory
from tileas_xdsl.dialects.triton.encodings import TT_ENCODINGS
from tileas_xdsl.dialects.triton.forms import Rule, TritonOp, Types, same
from tileas_xdsl.dialects.triton.types import PointerType, TensorDescType, element_of, like, pointee_of
from tileas_xdsl.interfaces import CallOpInterface

FALSE, TRUE = BoolAttr.from_bool(False), BoolAttr.from_bool(True)
SEGMENTS = AttrSizedOperandSegments(as_property=True)


def mask_of(name: str) -> Rule:
    """The type of a mask for the group `name`."""
    return lambda types: [like(types[name][0], i1)]


def behind(name: str) -> Rule:
    """The type of what lies behind the pointers of the group `name`."""
    return lambda types: [pointee_of(types[name][0])]


def _element_of(types: Types) -> Sequence[Attribute]:
    return [element_of(types["src"][0])]


# Functions ------------------------------------------------------------------------------------------------------------


@irdl_op_definition
class FuncOp(FunctionWithBody):
    """
    A kernel, which is public, or a function that it calls.

    `tt.func public @f(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}) attributes {noinline = false} { ... }`
    """

    name = "tt.func"

    @property
    def is_entry(self) -> bool:
        return self.sym_visibility is None or self.sym_visibility.data != "private"

    @property
    def meets_at_end(self) -> bool:
        """Triton's compiler puts the meeting in (triton-lang/triton#10656)."""
        return True

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {}
        visibility = parser.parse_optional_visibility_keyword()
        if visibility is not None:
            properties["sym_visibility"] = visibility
        properties["sym_name"] = parser.parse_symbol_name()
        types, arguments, argument_attributes = _parse_arguments(parser)
        results, result_attributes = _parse_results(parser)
        properties["function_type"] = FunctionType.from_lists(types, results)
        if any(attributes.data for attributes in argument_attributes):
            properties["arg_attrs"] = ArrayAttr(argument_attributes)
        if any(attributes.data for attributes in result_attributes):
            properties["res_attrs"] = ArrayAttr(result_attributes)
        extra = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_optional_region(arguments) or Region()
        _name_as_in_python(region, arguments)
        return cls.create(properties=properties, attributes=dict(extra.data) if extra else {}, regions=[region])

    def print(self, printer: Printer) -> None:
        if self.sym_visibility is not None:
            printer.print_string(f" {self.sym_visibility.data}")
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        inputs, outputs = self.function_type.inputs.data, self.function_type.outputs.data
        given = self.arg_attrs.data if self.arg_attrs is not None else [DictionaryAttr({})] * len(inputs)
        entry = self.body.first_block
        with printer.in_parens():
            for index, (kind, attributes) in enumerate(zip(inputs, given, strict=True)):
                printer.print_string(", " if index else "")
                if entry is not None:
                    printer.print_ssa_value(entry.args[index])
                    printer.print_string(": ")
                printer.print_attribute(kind)
                if attributes.data:
                    printer.print_string(" ")
                    printer.print_attr_dict(attributes.data)
        if outputs:
            printer.print_string(" -> ")
            _print_types(printer, outputs)
        if self.attributes:
            printer.print_string(" attributes ")
            printer.print_attr_dict(self.attributes)
        if entry is not None:
            printer.print_string(" ")
            printer.print_region(self.body, print_entry_block_args=False)


def _parse_arguments(parser: Parser) -> tuple[list[Attribute], list[Parser.Argument], list[DictionaryAttr]]:
    """Types, arguments and attributes of what stands in parentheses; a declaration names no arguments."""
    types: list[Attribute] = []
    arguments: list[Parser.Argument] = []
    attributes: list[DictionaryAttr] = []

    def parse_argument() -> None:
        argument = parser.parse_optional_argument()
        types.append(parser.parse_type() if argument is None else argument.type)
        attributes.append(DictionaryAttr(parser.parse_optional_attr_dict()))
        location = parser.parse_optional_location()
        if argument is not None:
            argument.location = location
            arguments.append(argument)

    start = parser.pos
    parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_argument)
    if arguments and len(arguments) != len(types):
        parser.raise_error("either all arguments have names, or none has", start)
    return types, arguments, attributes


NUMBERED = re.compile(r"arg\d+")
"""How MLIR calls an argument that has no name in the text."""


def _name_as_in_python(body: Region, given: Sequence[Parser.Argument]) -> None:
    """Call numbered `arguments` as their locations do: `%arg0: i32 loc("n"("kernel.py":3:0))` is `n` in the kernel."""
    block = body.first_block
    for argument, parsed in zip(block.args if block is not None else (), given, strict=False):
        hint, location = argument.name_hint, parsed.location
        if isinstance(location, NameLoc) and (hint is None or NUMBERED.fullmatch(hint)):
            argument.name_hint = location.desc.data


def _parse_results(parser: Parser) -> tuple[list[Attribute], list[DictionaryAttr]]:
    attributes: list[DictionaryAttr] = []

    def parse_result() -> Attribute:
        kind = parser.parse_type()
        attributes.append(DictionaryAttr(parser.parse_optional_attr_dict()))
        return kind

    if parser.parse_optional_punctuation("->") is None:
        return [], []
    several = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parse_result)
    return ([parser.parse_type()], [DictionaryAttr({})]) if several is None else (several, attributes)


def _print_types(printer: Printer, kinds: Sequence[Attribute]) -> None:
    alone = len(kinds) == 1
    printer.print_string("" if alone else "(")
    printer.print_list(kinds, printer.print_attribute)
    printer.print_string("" if alone else ")")


@irdl_op_definition
class ReturnOp(TritonOp):
    """The end of a function: `tt.return` or `tt.return %x : f32`."""

    name = "tt.return"

    srcs = var_operand_def()

    traits = traits_def(IsTerminator(), ReturnLike())
    FORM: ClassVar = "{}( $srcs : type($srcs))?"


@irdl_op_definition
class CallOp(TritonOp, CallOpInterface):
    """A call of a function that is not inlined: `%r = tt.call @g(%a) : (i32) -> f32`."""

    name = "tt.call"

    arguments = var_operand_def()
    results_ = var_result_def()
    callee = prop_def(SymbolRefAttr)
    arg_attrs = opt_prop_def()
    res_attrs = opt_prop_def()

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$callee($arguments) {} : signature"

    @property
    def callee_name(self) -> str:
        return self.callee.root_reference.data


# Where a program stands in the grid -----------------------------------------------------------------------------------


@irdl_op_definition
class GetProgramIdOp(TritonOp):
    """The number of the program instance along an axis: `tt.get_program_id x : i32`."""

    name = "tt.get_program_id"

    result = result_def(i32)
    axis = prop_def(IntegerAttr)

    traits = traits_def(Pure())
    FORM: ClassVar = "$axis<axis> {} : type($result)"


@irdl_op_definition
class GetNumProgramsOp(TritonOp):
    """How many program instances there are along an axis: `tt.get_num_programs y : i32`."""

    name = "tt.get_num_programs"

    result = result_def(i32)
    axis = prop_def(IntegerAttr)

    traits = traits_def(Pure())
    FORM: ClassVar = "$axis<axis> {} : type($result)"


# Global memory --------------------------------------------------------------------------------------------------------


@irdl_op_definition
class LoadOp(TritonOp):
    """`tt.load %p, %mask, %other : tensor<128x!tt.ptr<f16>, #blocked>`: read global memory, element by element."""

    name = "tt.load"

    ptr = operand_def()
    mask = opt_operand_def()
    other = opt_operand_def()
    result = result_def()
    boundaryCheck = opt_prop_def()
    padding = opt_prop_def()
    cache = opt_prop_def()
    evict = opt_prop_def()
    cachePolicy = opt_prop_def()
    isVolatile = opt_prop_def()

    irdl_options = (SEGMENTS,)
    traits = traits_def(TouchesMemory())
    FORM: ClassVar = (
        "$ptr(, $mask)?(, $other)?( cacheModifier = $cache<cache>)?( evictionPolicy = $evict<eviction>)? {}"
        " : type($ptr)"
    )
    IMPLIED: ClassVar = {"mask": mask_of("ptr"), "other": behind("ptr"), "result": behind("ptr")}
    DEFAULTS: ClassVar = {"isVolatile": FALSE}


@irdl_op_definition
class StoreOp(TritonOp):
    """`tt.store %p, %v, %mask : tensor<128x!tt.ptr<f16>, #blocked>`: write global memory, element by element."""

    name = "tt.store"

    ptr = operand_def()
    value = operand_def()
    mask = opt_operand_def()
    boundaryCheck = opt_prop_def()
    cache = opt_prop_def()
    evict = opt_prop_def()
    cachePolicy = opt_prop_def()
    ignore_cta = opt_prop_def()

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = (
        "$ptr, $value(, $mask)?( cacheModifier = $cache<cache>)?( evictionPolicy = $evict<eviction>)? {} : type($ptr)"
    )
    IMPLIED: ClassVar = {"value": behind("ptr"), "mask": mask_of("ptr")}


@irdl_op_definition
class AtomicRMWOp(TritonOp):
    """`%old = tt.atomic_rmw fadd, acq_rel, gpu, %p, %v, %m : (...) -> tensor<128xf32>`: read, change, write."""

    name = "tt.atomic_rmw"

    ptr = operand_def()
    val = operand_def()
    mask = opt_operand_def()
    result = result_def()
    atomic_rmw_op = prop_def(IntegerAttr)
    sem = prop_def(IntegerAttr)
    scope = prop_def(IntegerAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$atomic_rmw_op<atomic>, $sem<semantic>, $scope<scope>, $ptr, $val(, $mask)? {} : signature"


@irdl_op_definition
class AtomicCASOp(TritonOp):
    """`%old = tt.atomic_cas acq_rel, gpu, %p, %expected, %v : (...) -> i32`: write where it is as expected."""

    name = "tt.atomic_cas"

    ptr = operand_def()
    cmp = operand_def()
    val = operand_def()
    result = result_def()
    sem = prop_def(IntegerAttr)
    scope = prop_def(IntegerAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$sem<semantic>, $scope<scope>, $ptr, $cmp, $val {} : signature"


@irdl_op_definition
class AtomicLoadOp(TritonOp):
    """`%v = tt.atomic_load acquire, gpu, %p : (!tt.ptr<i32>) -> i32`."""

    name = "tt.atomic_load"

    ptr = operand_def()
    mask = opt_operand_def()
    result = result_def()
    sem = prop_def(IntegerAttr)
    scope = prop_def(IntegerAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$sem<semantic>, $scope<scope>, $ptr(, $mask)? {} : signature"


@irdl_op_definition
class AtomicStoreOp(TritonOp):
    """`tt.atomic_store release, gpu, %p, %v : !tt.ptr<i32>`."""

    name = "tt.atomic_store"

    ptr = operand_def()
    value = operand_def()
    mask = opt_operand_def()
    sem = prop_def(IntegerAttr)
    scope = prop_def(IntegerAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$sem<semantic>, $scope<scope>, $ptr, $value(, $mask)? {} : type($ptr)"
    IMPLIED: ClassVar = {"value": behind("ptr"), "mask": mask_of("ptr")}


@irdl_op_definition
class AtomicPollOp(TritonOp):
    """`%seen = tt.atomic_poll acquire, gpu, %p, %expected : !tt.ptr<i32>, i32 -> i1`: wait for a flag in memory."""

    name = "tt.atomic_poll"

    ptr = operand_def()
    expected = operand_def()
    timeout = opt_operand_def(i64)
    result = result_def()
    sem = prop_def(IntegerAttr)
    scope = prop_def(IntegerAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = (
        "$sem<semantic>, $scope<scope>, $ptr, $expected( timeout $timeout)? {} : type($ptr), type($expected)"
        " -> type($result)"
    )
    IMPLIED: ClassVar = {"timeout": i64}


@irdl_op_definition
class MakeTensorDescriptorOp(TritonOp):
    """`%d = tt.make_tensor_descriptor %p, [%m, %n], [%s, %one] : <f16>, <128x64xf16>`: a descriptor, made here."""

    name = "tt.make_tensor_descriptor"

    base = operand_def()
    shape = var_operand_def(i32)
    strides = var_operand_def(i64)
    result = result_def()
    padding = opt_prop_def()

    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(Pure())
    FORM: ClassVar = "$base, [$shape], [$strides] {} : short($base), short($result)"
    IMPLIED: ClassVar = {"shape": i32, "strides": i64}
    SHORT: ClassVar = {"base": PointerType, "result": TensorDescType}
    DEFAULTS: ClassVar = {"padding": IntegerAttr(1, i32)}


@irdl_op_definition
class DescriptorLoadOp(TritonOp):
    """`%t = tt.descriptor_load %d[%x, %y] : !tt.tensordesc<128x64xf16> -> tensor<128x64xf16>`: a box, at once."""

    name = "tt.descriptor_load"

    desc = operand_def()
    indices = var_operand_def(i32)
    result = result_def()
    cachePolicy = opt_prop_def()

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$desc[$indices] {} : type($desc) -> type($result)"
    IMPLIED: ClassVar = {"indices": i32}


@irdl_op_definition
class DescriptorStoreOp(TritonOp):
    """`tt.descriptor_store %d[%x, %y], %t : !tt.tensordesc<..>, tensor<..>`: a box, at once."""

    name = "tt.descriptor_store"

    desc = operand_def()
    src = operand_def()
    indices = var_operand_def(i32)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$desc[$indices], $src {} : type($desc), type($src)"
    IMPLIED: ClassVar = {"indices": i32}


@irdl_op_definition
class DescriptorReduceOp(TritonOp):
    """`tt.descriptor_reduce add, %d[%x, %y], %t : !tt.tensordesc<..>, tensor<..>`: add to a box, at once."""

    name = "tt.descriptor_reduce"

    desc = operand_def()
    src = operand_def()
    indices = var_operand_def(i32)
    kind = prop_def(IntegerAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$kind<reduce>, $desc[$indices], $src {} : type($desc), type($src)"
    IMPLIED: ClassVar = {"indices": i32}


@irdl_op_definition
class DescriptorGatherOp(TritonOp):
    """`%t = tt.descriptor_gather %d[%rows, %y] : (...) -> tensor<32x64xf16>`: rows, at once."""

    name = "tt.descriptor_gather"

    desc = operand_def()
    x_offsets = operand_def()
    y_offset = operand_def(i32)
    result = result_def()

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$desc[$x_offsets, $y_offset] {} : signature"


@irdl_op_definition
class DescriptorScatterOp(TritonOp):
    """`tt.descriptor_scatter %d[%rows, %y], %t : !tt.tensordesc<..>, tensor<..>, i32, tensor<..>`: rows, at once."""

    name = "tt.descriptor_scatter"

    desc = operand_def()
    x_offsets = operand_def()
    y_offset = operand_def(i32)
    src = operand_def()

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = (
        "$desc[$x_offsets, $y_offset], $src {} : type($desc), type($x_offsets), type($y_offset), type($src)"
    )


# Regions that compute, and the rest -----------------------------------------------------------------------------------


class CombiningOp(IRDLOperation):
    """Base of the ops that combine elements by a region. They are printed in generic form."""

    srcs = var_operand_def()
    results_ = var_result_def()
    combine = region_def()

    traits = traits_def(RecursiveMemoryEffect())


@irdl_op_definition
class ReduceOp(CombiningOp):
    """`"tt.reduce"(%x) <{axis = 0 : i32}> ({ ... }) : (tensor<8xf32>) -> f32`."""

    name = "tt.reduce"

    axis = prop_def(IntegerAttr)


@irdl_op_definition
class ScanOp(CombiningOp):
    """`"tt.scan"(%x) <{axis = 0 : i32, reverse = false}> ({ ... }) : (tensor<8xf32>) -> tensor<8xf32>`."""

    name = "tt.scan"

    axis = prop_def(IntegerAttr)
    reverse = opt_prop_def()


@irdl_op_definition
class MapElementwiseOp(CombiningOp):
    """`"tt.map_elementwise"(%x) <{pack = 1 : i32}> ({ ... }) : (tensor<8xf32>) -> tensor<8xf32>`."""

    name = "tt.map_elementwise"

    pack = opt_prop_def()


class CombinedOp(TritonOp):
    """Base of the ends of such regions."""

    result = var_operand_def()

    traits = traits_def(IsTerminator(), ReturnLike())
    FORM: ClassVar = "{}( $result : type($result))?"


@irdl_op_definition
class ReduceReturnOp(CombinedOp):
    """`tt.reduce.return %x : f32`."""

    name = "tt.reduce.return"

    FORM: ClassVar = "$result {} : type($result)"


@irdl_op_definition
class ScanReturnOp(CombinedOp):
    """`tt.scan.return %x : f32`."""

    name = "tt.scan.return"

    FORM: ClassVar = "$result {} : type($result)"


@irdl_op_definition
class MapElementwiseReturnOp(CombinedOp):
    """`tt.map_elementwise.return %x : f32`."""

    name = "tt.map_elementwise.return"


@irdl_op_definition
class ElementwiseInlineAsmOp(TritonOp):
    """`%y = tt.elementwise_inline_asm "..." {constraints = "=r,r", packed_element = 1 : i32, pure = true} %x : ..`."""

    name = "tt.elementwise_inline_asm"

    args = var_operand_def()
    results_ = var_result_def()
    asm_string = prop_def(StringAttr)
    constraints = opt_prop_def()
    pure = prop_def(IntegerAttr)
    packed_element = opt_prop_def()

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$asm_string {}( $args : type($args))? -> type($results_)"


@irdl_op_definition
class InlineAsmOp(TritonOp):
    """`tt.inline_asm "..." {constraints = "r", pure = false} %x : (i32) -> ()`: assembly, once."""

    name = "tt.inline_asm"

    args = var_operand_def()
    results_ = var_result_def()
    asm_string = prop_def(StringAttr)
    constraints = opt_prop_def()
    pure = prop_def(IntegerAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$asm_string {}( $args)? : signature"


@irdl_op_definition
class ExternElementwiseOp(TritonOp):
    """`%y = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__nv_expf"} : (..) -> ..`."""

    name = "tt.extern_elementwise"

    srcs = var_operand_def()
    result = result_def()
    libname = opt_prop_def()
    libpath = opt_prop_def()
    symbol = opt_prop_def()
    pure = prop_def(IntegerAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$srcs {} : signature"


@irdl_op_definition
class PrintOp(TritonOp):
    """`tt.print " x: " {hex = false, isSigned = array<i32: 1>} : %x : tensor<8xi32>`."""

    name = "tt.print"

    args = var_operand_def()
    prefix = prop_def(StringAttr)
    hex = opt_prop_def()
    isSigned = opt_prop_def()

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$prefix {}( : $args : type($args))?"


@irdl_op_definition
class AssertOp(TritonOp):
    """`tt.assert %condition, "message" : tensor<8xi1>`."""

    name = "tt.assert"

    condition = operand_def()
    message = prop_def(StringAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$condition, $message {} : type($condition)"


@irdl_op_definition
class GridDependencyWaitOp(TritonOp):
    """`tt.grid_dependency_wait`: wait for the grids that this one depends on."""

    name = "tt.grid_dependency_wait"

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "{}"


@irdl_op_definition
class GridDependencyLaunchDependentsOp(TritonOp):
    """`tt.grid_dependency_launch_dependents`: let the grids that depend on this one begin."""

    name = "tt.grid_dependency_launch_dependents"

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "{}"


# What only computes ---------------------------------------------------------------------------------------------------

TO = "$src {} : type($src) -> type($result)"
TWO = "$lhs, $rhs {} : type($lhs) -> type($result)"
ELEMENTWISE = {"y": same("x"), "result": same("x")}
THREE = {"x": same("result"), "min": same("result"), "max": same("result")}

COMPUTING = tuple(
    computing_ops(
        "tt",
        [
            *(Row(name, "src", "result", TO) for name in ("int_to_ptr", "ptr_to_int", "bitcast", "splat", "broadcast")),
            Row("expand_dims", "src", "result", TO, attributes="axis"),
            Row("trans", "src", "result", TO, attributes="order"),
            Row("unsplat", "src", "result", "$src {} : type($src)", {"result": _element_of}),
            Row(
                "reshape",
                "src",
                "result",
                "$src( allow_reorder$allow_reorder<unit>)?( efficient_layout$efficient_layout<unit>)? {}"
                " : type($src) -> type($result)",
                attributes="allow_reorder efficient_layout",
            ),
            Row(
                "fp_to_fp",
                "src",
                "result",
                "$src {}(, rounding = $rounding<rounding>)? : type($src) -> type($result)",
                attributes="rounding",
            ),
            Row(
                "clampf",
                "x min max",
                "result",
                "$x, $min, $max, propagateNan = $propagateNan<nan> {} : type($result)",
                THREE,
                "propagateNan",
            ),
            Row("precise_sqrt", "x", "result", "$x {} : type($x)", {"result": same("x")}),
            *(
                Row(name, "x y", "result", "$x, $y {} : type($x)", ELEMENTWISE)
                for name in ("precise_divf", "approx_divf", "mulhiui")
            ),
            Row(
                "addptr",
                "ptr offset",
                "result",
                "$ptr, $offset {} : type($ptr), type($offset)",
                {"result": same("ptr")},
            ),
            Row("cat", "lhs rhs", "result", TWO, {"rhs": same("lhs")}),
            Row("join", "lhs rhs", "result", TWO, {"rhs": same("lhs")}),
            Row("split", "src", "lhs rhs", "$src {} : type($src) -> type($lhs)", {"rhs": same("lhs")}),
            Row("make_range", "", "result", "{} : type($result)", attributes="start end"),
            Row(
                "dot",
                "a b c",
                "d",
                "$a, $b, $c(, inputPrecision = $inputPrecision<precision>)? {} : type($a) * type($b) -> type($d)",
                {"c": same("d")},
                "inputPrecision maxNumImpreciseAcc",
                {"inputPrecision": IntegerAttr(2, i32), "maxNumImpreciseAcc": IntegerAttr(0, i32)},
            ),
            Row(
                "dot_scaled",
                "a b c a_scale? b_scale?",
                "d",
                "$a( scale $a_scale)?, $b( scale $b_scale)?, $c lhs = $a_elem_type<scaled> rhs = $b_elem_type<scaled>"
                " {} : type($a)(, type($a_scale))? * type($b)(, type($b_scale))? -> type($d)",
                {"c": same("d")},
                "a_elem_type b_elem_type fastMath lhs_k_pack rhs_k_pack",
                {"lhs_k_pack": TRUE, "rhs_k_pack": TRUE},
            ),
            Row(
                "histogram",
                "src mask?",
                "result",
                "$src(, $mask)? {} : type($src) -> type($result)",
                {"mask": mask_of("src")},
            ),
            Row(
                "gather",
                "src indices",
                "result",
                "$src[$indices] {} : signature",
                attributes="axis efficient_layout",
            ),
        ],
    )
)
"""What only computes on tiles."""

OPS = (
    FuncOp,
    ReturnOp,
    CallOp,
    GetProgramIdOp,
    GetNumProgramsOp,
    LoadOp,
    StoreOp,
    AtomicRMWOp,
    AtomicCASOp,
    AtomicLoadOp,
    AtomicStoreOp,
    AtomicPollOp,
    MakeTensorDescriptorOp,
    DescriptorLoadOp,
    DescriptorStoreOp,
    DescriptorReduceOp,
    DescriptorGatherOp,
    DescriptorScatterOp,
    ReduceOp,
    ScanOp,
    MapElementwiseOp,
    ReduceReturnOp,
    ScanReturnOp,
    MapElementwiseReturnOp,
    ElementwiseInlineAsmOp,
    InlineAsmOp,
    ExternElementwiseOp,
    PrintOp,
    AssertOp,
    GridDependencyWaitOp,
    GridDependencyLaunchDependentsOp,
)

TT = Dialect("tt", [*OPS, *COMPUTING], [PointerType, TensorDescType, *TT_ENCODINGS])
