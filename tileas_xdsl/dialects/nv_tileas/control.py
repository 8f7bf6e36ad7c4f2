"""
Functions, terminators, directives and the persistent loop's ops of `nv_tileas`.

    nv_tileas.func @kernel(%a : memref<8xf16>) {
      %id = nv_tileas.cancel_next_program_id : () -> !nv_tileaa.program_id
      nv_tileas.pragma attributes {ocgEnterDirectives = ["x"]} { ... }  : () -> ()
      nv_tileas.return : () -> ()
    }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, FunctionType, StringAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.traits import IsTerminator, NoTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nv_tileaa.types import ProgramIdType
from tileas_xdsl.dialects.nv_tileas.types import AsyncTokenType
from tileas_xdsl.dialects.nv_tileas.verification import expect_count, type_list, types_of
from tileas_xdsl.dialects.tiles.functions import TileFunction
from tileas_xdsl.dialects.tiles.syntax import TileOp
from tileas_xdsl.dialects.tiles.traits import Synchronizes
from tileas_xdsl.interfaces import Effect, EffectResource, MemoryAccessOpInterface, SideOrder, TokenWait


@irdl_op_definition
class YieldOp(TileOp):
    """`nv_tileas.yield %x : (f32) -> ()`: ends a region of `generate`, `reduce`, `scan` or `pragma`."""

    name = "nv_tileas.yield"

    values = var_operand_def()

    traits = traits_def(IsTerminator(), Pure())

    def __init__(self, *values: SSAValue) -> None:
        super().__init__(operands=[values])


@irdl_op_definition
class FuncOp(TileFunction):
    """A function of the operational dialect; without a body it is a declaration."""

    name = "nv_tileas.func"

    def __init__(
        self,
        name: str,
        function_type: FunctionType,
        body: Region | None = None,
        *,
        visibility: str | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "function_type": function_type,
                "sym_visibility": None if visibility is None else StringAttr(visibility),
            },
            attributes=dict(attributes or {}),
            regions=[Region() if body is None else body],
        )

    def verify_(self) -> None:
        entry = self.body.first_block
        inputs = tuple(self.function_type.inputs.data)
        if entry is not None and types_of(entry.args) != inputs:
            raise VerifyException(
                f"'{self.name}' op expects entry block arguments {type_list(inputs)}, "
                f"but got {type_list(types_of(entry.args))}"
            )


@irdl_op_definition
class ReturnOp(TileOp):
    """`nv_tileas.return %v : (f32) -> ()`: ends a `nv_tileas.func`."""

    name = "nv_tileas.return"

    values = var_operand_def()

    traits = traits_def(IsTerminator(), Pure())

    def __init__(self, *values: SSAValue) -> None:
        super().__init__(operands=[values])

    def verify_contract(self) -> None:
        function = self.parent_op()
        if function is None:
            return
        if not isinstance(function, FuncOp):
            raise VerifyException("expects parent op 'nv_tileas.func'")
        type_ = function.properties.get("function_type")
        if not isinstance(type_, FunctionType):
            return  # The function, verified next, has the better message.
        expected, found = tuple(type_.outputs.data), types_of(self.values)
        if expected != found:
            raise VerifyException(
                f"expects values of the function's result types {type_list(expected)}, but got {type_list(found)}"
            )


@irdl_op_definition
class PragmaOp(TileOp, MemoryAccessOpInterface):
    """
    Directives for the back end, around its body where there is one.

    `%r = nv_tileas.pragma attributes {ocgEnterDirectives = ["a"], ocgLeaveDirectives = ["b"]} {...} : () -> f32`
    """

    name = "nv_tileas.pragma"

    outputs = var_result_def()
    bodies = var_region_def()
    enter_directives = opt_prop_def(ArrayAttr[StringAttr], prop_name="ocgEnterDirectives")
    leave_directives = opt_prop_def(ArrayAttr[StringAttr], prop_name="ocgLeaveDirectives")

    traits = traits_def(NoTerminator(), Synchronizes())

    @property
    def memory_accesses(self) -> Sequence[Effect | SideOrder | TokenWait]:
        """Directives touch no memory; they keep their order among themselves. What is in the body speaks for itself."""
        return [Effect(True, EffectResource("the directives of the back end"))]

    def __init__(
        self,
        enter: Sequence[str] = (),
        leave: Sequence[str] = (),
        *,
        body: Region | None = None,
        result_types: Sequence[Attribute] = (),
    ) -> None:
        super().__init__(
            result_types=[result_types],
            properties={
                "ocgEnterDirectives": ArrayAttr(map(StringAttr, enter)) if enter else None,
                "ocgLeaveDirectives": ArrayAttr(map(StringAttr, leave)) if leave else None,
            },
            regions=[[] if body is None else [body]],
        )

    def verify_contract(self) -> None:
        expect_count("region", len(self.bodies), 0, 1)
        last: Operation | None = None
        for region in self.bodies:
            block = region.first_block
            last = block.last_op if block is not None else None
        yielded = types_of(last.operands) if isinstance(last, YieldOp) else ()
        if yielded != types_of(self.outputs):
            raise VerifyException(
                f"expects the body to yield the result types {type_list(types_of(self.outputs))}, "
                f"but got {type_list(yielded)}"
            )


@irdl_op_definition
class CancelNextProgramIdOp(TileOp):
    """
    Take over a program of the grid that has not started, for a persistent loop.

    `%id = nv_tileas.cancel_next_program_id : () -> !nv_tileaa.program_id`
    """

    name = "nv_tileas.cancel_next_program_id"

    program_id = result_def(ProgramIdType)

    traits = traits_def(Synchronizes())

    def __init__(self) -> None:
        super().__init__(result_types=[ProgramIdType()])


@irdl_op_definition
class AsyncCancelNextProgramIdOp(TileOp):
    """
    Take over a program of the grid that has not started, without waiting: the id is valid once the token is complete.
    """

    name = "nv_tileas.async.cancel_next_program_id"

    program_id = result_def(ProgramIdType)
    done = result_def(AsyncTokenType)

    traits = traits_def(Synchronizes())


CONTROL_OPS = (YieldOp, FuncOp, ReturnOp, PragmaOp, CancelNextProgramIdOp, AsyncCancelNextProgramIdOp)
