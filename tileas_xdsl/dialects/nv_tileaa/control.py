"""
Functions, facts and directives, and the program's place in the grid.

    nv_tileaa.func @kernel(%p: !nv_tileaa.ptr<f16, 1>) attributes {nv_tileaa.kernel_spec = ...} {
      %q = nv_tileaa.assume %p attributes {predicates = [#nv_tileaa.div_by<16>]} : (...) -> ...
      %x = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
      nv_tileaa.return : () -> ()
    }
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    IndexType,
    IntegerAttr,
    StringAttr,
    i1,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AnyOf,
    VarConstraint,
    irdl_op_definition,
    lazy_traits_def,
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
from xdsl.traits import (
    HasParent,
    IsTerminator,
    MemoryWriteEffect,
    NoTerminator,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nv_tileaa.predicates import AssumePredicate
from tileas_xdsl.dialects.nv_tileaa.regions import CanonicalizedOp, verify_yield
from tileas_xdsl.dialects.nv_tileaa.types import ProgramIdType, element_type_of
from tileas_xdsl.dialects.tiles.functions import FunctionIsCallable, TileFunction
from tileas_xdsl.dialects.tiles.syntax import TileOp
from tileas_xdsl.dialects.tiles.traits import Directive

# Functions ----------------------------------------------------------------------------------------


@irdl_op_definition
class FuncOp(TileFunction):
    """
    A function; written like `func.func`.

    `nv_tileaa.func @f(%x: tensor<8xf32>) -> tensor<8xf32> attributes {...} { ... }`
    """

    name = "nv_tileaa.func"

    traits = traits_def(FunctionIsCallable())

    def verify_(self) -> None:
        block = self.body.first_block
        if block is None:
            return
        inputs, arguments = self.function_type.inputs.data, tuple(block.arg_types)
        if inputs != arguments:
            raise VerifyException(
                f"'{self.name}' op expects arguments of types ({', '.join(map(str, inputs))}), "
                f"but got ({', '.join(map(str, arguments))})"
            )


@irdl_op_definition
class ReturnOp(TileOp):
    """`nv_tileaa.return %x : (tensor<8xf32>) -> ()`: leave the function with its results."""

    name = "nv_tileaa.return"

    values = var_operand_def()

    traits = lazy_traits_def(lambda: (IsTerminator(), Pure(), HasParent(FuncOp)))

    def verify_contract(self) -> None:
        function = self.parent_op()
        if not isinstance(function, FuncOp):
            return
        results, values = function.function_type.outputs.data, tuple(self.values.types)
        if results != values:
            raise VerifyException(
                f"expects to return ({', '.join(map(str, results))}), but got ({', '.join(map(str, values))})"
            )


# Facts and directives -----------------------------------------------------------------------------


@irdl_op_definition
class AssumeOp(CanonicalizedOp):
    """
    The value itself, with facts that passes may rely on.

    `%q = nv_tileaa.assume %p attributes {predicates = [#nv_tileaa.div_by<16>]} : (index) -> index`

    The predicates are `div_by`, `bounded` and `same_elements`; they are checked in order and the first failure ends
    the check. Other attributes in the list are carried along.
    """

    name = "nv_tileaa.assume"

    T: ClassVar = VarConstraint("T", AnyAttr())

    value = operand_def(T)
    result = result_def(T)
    predicates = prop_def(ArrayAttr)

    traits = traits_def(Pure())

    def verify_contract(self) -> None:
        for predicate in self.predicates:
            if isinstance(predicate, AssumePredicate):
                predicate.verify_on(self.value.type)


@irdl_op_definition
class AssertOp(TileOp):
    """`nv_tileaa.assert %ok attributes {message = "n is odd"} : (i1) -> ()`: stop unless every lane holds."""

    name = "nv_tileaa.assert"

    condition = operand_def()
    message = prop_def(StringAttr)

    traits = traits_def(MemoryWriteEffect())

    def verify_contract(self) -> None:
        if element_type_of(self.condition.type) != i1:
            raise VerifyException(f"expects a condition of i1, but got {self.condition.type}")


@irdl_op_definition
class PrintOp(TileOp):
    """`nv_tileaa.print %x attributes {format = "x = %f"} : (tensor<8xf32>) -> ()`: write values out."""

    name = "nv_tileaa.print"

    values = var_operand_def()
    format = prop_def(StringAttr)

    traits = traits_def(MemoryWriteEffect())


@irdl_op_definition
class PragmaOp(CanonicalizedOp):
    """
    Directives for the machine code of a region, or at a point.

    `%r = nv_tileaa.pragma attributes {ocgEnterDirectives = ["a"], ocgLeaveDirectives = ["b"]} {
    ... nv_tileaa.yield %x : (f32) -> () } : () -> f32`
    """

    name = "nv_tileaa.pragma"

    values = var_result_def()
    body = region_def()
    ocgEnterDirectives = opt_prop_def(ArrayAttr[StringAttr])
    ocgLeaveDirectives = opt_prop_def(ArrayAttr[StringAttr])

    traits = traits_def(Directive(), NoTerminator())

    def verify_contract(self) -> None:
        results = [result.type for result in self.values]
        yielded: Sequence[Attribute] = verify_yield(self.body) if self.body.blocks else []
        if list(yielded) != results:
            raise VerifyException(
                f"expects the region to yield ({', '.join(map(str, results))}), "
                f"but got ({', '.join(map(str, yielded))})"
            )


# The grid -----------------------------------------------------------------------------------------

PROGRAM_NUMBER = AnyOf.get(IndexType, i32, ProgramIdType)
"""The result types of a grid query: an integer, or an opaque id."""

GRID_AXES = 3


class GridQueryOp(TileOp, ABC):
    """Base of the queries of the launch grid, along one axis."""

    result = result_def(PROGRAM_NUMBER)
    axis = prop_def(IntegerAttr.constr(i32))

    traits = traits_def(Pure())

    def verify_contract(self) -> None:
        axis = self.axis.value.data
        if not 0 <= axis < GRID_AXES:
            raise VerifyException(f"expects a grid axis 0, 1 or 2, but got {axis}")


@irdl_op_definition
class GetProgramIdOp(GridQueryOp):
    """
    The number along an axis of the program that the block was started for, or of the one with the opaque id `program`.

    `%x = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index`
    `%y = nv_tileaa.get_program_id %id attributes {axis = 1 : i32} : (!nv_tileaa.program_id) -> index`
    """

    name = "nv_tileaa.get_program_id"

    program = opt_operand_def(ProgramIdType)

    def __init__(self, axis: int, result_type: Attribute, program: SSAValue | None = None) -> None:
        super().__init__(operands=[program], result_types=[result_type], properties={"axis": IntegerAttr(axis, i32)})

    def verify_contract(self) -> None:
        super().verify_contract()
        if self.program is not None and isinstance(self.result.type, ProgramIdType):
            raise VerifyException("expects an integer result where it is asked for the number of a program")


@irdl_op_definition
class GetNumProgramsOp(GridQueryOp):
    """`%n = nv_tileaa.get_num_programs attributes {axis = 0 : i32} : () -> index`: how many programs run."""

    name = "nv_tileaa.get_num_programs"

    def __init__(self, axis: int, result_type: Attribute) -> None:
        super().__init__(result_types=[result_type], properties={"axis": IntegerAttr(axis, i32)})


@irdl_op_definition
class CancelNextProgramIdOp(TileOp):
    """
    Take over a program that has not started, for a persistent loop.

    `%next = nv_tileaa.cancel_next_program_id : () -> !nv_tileaa.program_id`
    """

    name = "nv_tileaa.cancel_next_program_id"

    result = result_def(ProgramIdType)

    traits = traits_def(MemoryWriteEffect())


@irdl_op_definition
class IsValidProgramIdOp(TileOp):
    """`%more = nv_tileaa.is_valid_program_id %next : (!nv_tileaa.program_id) -> i1`: whether a program was left."""

    name = "nv_tileaa.is_valid_program_id"

    program_id = operand_def(ProgramIdType)
    result = result_def(i1)

    traits = traits_def(Pure())

    def __init__(self, program_id: SSAValue) -> None:
        super().__init__(operands=[program_id], result_types=[i1])
