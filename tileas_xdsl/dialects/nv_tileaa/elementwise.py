"""
Arithmetic and conversions, lane by lane, on scalars and tiles.

    %s = nv_tileaa.addf %a, %b attributes {rounding_mode = #nv_tileaa<rounding_mode zero>} : (T, T) -> T
    %h = nv_tileaa.fp_to_fp %s : (tensor<8xf32>) -> tensor<8xf16>

Nothing is broadcast and nothing changes width in passing: operands and result have one type, and
`fp_to_fp` is the only op that changes a float's width.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.arith import floatingPointLike, signlessIntegerLike
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatTF32Type,
    IntegerAttr,
    UnitAttr,
    i1,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Commutative
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nv_tileaa.attributes import RoundingModeAttr, compute_capability_of
from tileas_xdsl.dialects.nv_tileaa.types import PointerType, bit_width, element_type_of, is_integer_like, same_shape
from tileas_xdsl.dialects.tiles.syntax import TileOp
from tileas_xdsl.dialects.tiles.traits import ReadsViews
from tileas_xdsl.targets.chips import Feature, can

BLOCK_SCALED_FORMATS = (Float4E2M1FNType, Float6E2M3FNType, Float6E3M2FNType, Float8E8M0FNUType)
"""Element types that have a meaning only together with a scale factor."""

CONVERTIBLE_FORMATS = (
    Float16Type,
    BFloat16Type,
    FloatTF32Type,
    Float32Type,
    Float64Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    *BLOCK_SCALED_FORMATS,
)
"""The floats that `fp_to_fp` converts between: those that the hardware has."""


class ElementwiseOp(TileOp, ABC):
    """An op whose result lane i depends on the operands' lanes i only."""


class FloatUnaryOp(ElementwiseOp, ABC):
    """One float or tile of floats to another of the same type."""

    T: ClassVar = VarConstraint("T", floatingPointLike)

    operand = operand_def(T)
    result = result_def(T)
    rounding_mode = opt_prop_def(RoundingModeAttr)
    flush_to_zero = opt_prop_def(UnitAttr)
    """Subnormal operands and results are zeros of their sign (PTX ISA, `.ftz`)."""

    traits = traits_def(ReadsViews())


class FloatBinaryOp(ElementwiseOp, ABC):
    """Two floats or tiles of floats to a third of the same type."""

    T: ClassVar = VarConstraint("T", floatingPointLike)

    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    rounding_mode = opt_prop_def(RoundingModeAttr)
    flush_to_zero = opt_prop_def(UnitAttr)
    """Subnormal operands and results are zeros of their sign (PTX ISA, `.ftz`)."""

    traits = traits_def(ReadsViews())


@irdl_op_definition
class AddFOp(FloatBinaryOp):
    """`%s = nv_tileaa.addf %a, %b : (T, T) -> T`: a + b."""

    name = "nv_tileaa.addf"

    traits = traits_def(Commutative())


@irdl_op_definition
class SubFOp(FloatBinaryOp):
    """`%d = nv_tileaa.subf %a, %b : (T, T) -> T`: a - b."""

    name = "nv_tileaa.subf"


@irdl_op_definition
class MulFOp(FloatBinaryOp):
    """`%p = nv_tileaa.mulf %a, %b : (T, T) -> T`: a * b."""

    name = "nv_tileaa.mulf"

    traits = traits_def(Commutative())


@irdl_op_definition
class DivFOp(FloatBinaryOp):
    """`%q = nv_tileaa.divf %a, %b : (T, T) -> T`: a / b."""

    name = "nv_tileaa.divf"


@irdl_op_definition
class FmaOp(ElementwiseOp):
    """`%r = nv_tileaa.fma %a, %b, %c : (T, T, T) -> T`: a * b + c, rounded once."""

    name = "nv_tileaa.fma"

    T: ClassVar = VarConstraint("T", floatingPointLike)

    a = operand_def(T)
    b = operand_def(T)
    c = operand_def(T)
    result = result_def(T)
    rounding_mode = opt_prop_def(RoundingModeAttr)
    flush_to_zero = opt_prop_def(UnitAttr)
    """Subnormal operands and results are zeros of their sign (PTX ISA, `.ftz`)."""

    traits = traits_def(ReadsViews())


@irdl_op_definition
class Exp2Op(FloatUnaryOp):
    """`%r = nv_tileaa.exp2 %x : (T) -> T`: two to the power of x."""

    name = "nv_tileaa.exp2"


@irdl_op_definition
class SqrtOp(FloatUnaryOp):
    """`%r = nv_tileaa.sqrt %x : (T) -> T`: the square root of x."""

    name = "nv_tileaa.sqrt"


@irdl_op_definition
class RsqrtOp(FloatUnaryOp):
    """`%r = nv_tileaa.rsqrt %x : (T) -> T`: one over the square root of x."""

    name = "nv_tileaa.rsqrt"


@irdl_op_definition
class ClampFOp(ElementwiseOp):
    """
    `%r = nv_tileaa.clampf %x, %low, %high : (T, T, T) -> T`: x, brought between low and high.

    With `propagate_nan = true` a NaN stays one; otherwise it becomes `low`.
    """

    name = "nv_tileaa.clampf"

    T: ClassVar = VarConstraint("T", floatingPointLike)

    value = operand_def(T)
    low = operand_def(T)
    high = operand_def(T)
    result = result_def(T)
    propagate_nan = opt_prop_def(IntegerAttr.constr(i1))

    traits = traits_def(ReadsViews())


@irdl_op_definition
class MulHiUIOp(ElementwiseOp):
    """`%h = nv_tileaa.mulhiui %a, %b : (T, T) -> T`: the upper half of the unsigned product."""

    name = "nv_tileaa.mulhiui"

    T: ClassVar = VarConstraint("T", signlessIntegerLike)

    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)

    traits = traits_def(ReadsViews(), Commutative())


class ConversionOp(ElementwiseOp, ABC):
    """A scalar or tile to one of the same shape and another element type."""

    source = operand_def()
    result = result_def()

    traits = traits_def(ReadsViews())

    def verify_contract(self) -> None:
        if not same_shape(self.source.type, self.result.type):
            raise VerifyException(
                f"expects source and result of one shape, but got {self.source.type} and {self.result.type}"
            )
        self.verify_elements(element_type_of(self.source.type), element_type_of(self.result.type))

    def verify_elements(self, source: Attribute, result: Attribute) -> None:
        """Raises `VerifyException` when `source` elements do not convert to `result` elements."""


@irdl_op_definition
class FpToFpOp(ConversionOp):
    """`%h = nv_tileaa.fp_to_fp %x : (tensor<8xf32>) -> tensor<8xf16>`: another float format."""

    name = "nv_tileaa.fp_to_fp"

    rounding_mode = opt_prop_def(RoundingModeAttr)

    def verify_elements(self, source: Attribute, result: Attribute) -> None:
        if not isinstance(source, CONVERTIBLE_FORMATS):
            raise VerifyException("fp_to_fp source element type is not supported")
        if not isinstance(result, CONVERTIBLE_FORMATS):
            raise VerifyException("fp_to_fp result element type is not supported")
        if not isinstance(source, BLOCK_SCALED_FORMATS):
            if not isinstance(result, BLOCK_SCALED_FORMATS):
                return
        capability = compute_capability_of(self)
        if capability is not None and not can(capability, Feature.BLOCK_SCALING):
            raise VerifyException("fp_to_fp block-scaled format requires a target that supports block-scaled MMA")


@irdl_op_definition
class BitcastOp(ConversionOp):
    """`%i = nv_tileaa.bitcast %x : (tensor<8xf32>) -> tensor<8xi32>`: the same bits, read anew."""

    name = "nv_tileaa.bitcast"

    def verify_elements(self, source: Attribute, result: Attribute) -> None:
        if isinstance(source, PointerType) and isinstance(result, PointerType):
            if source.address_space == result.address_space:
                return
        elif bit_width(source) is not None and bit_width(source) == bit_width(result):
            return
        raise VerifyException(f"expects elements of equal width, but got {source} and {result}")


@irdl_op_definition
class IntToPtrOp(ConversionOp):
    """`%p = nv_tileaa.int_to_ptr %i : (i64) -> !nv_tileaa.ptr<f16, 1>`"""

    name = "nv_tileaa.int_to_ptr"

    def verify_elements(self, source: Attribute, result: Attribute) -> None:
        if not is_integer_like(source) or not isinstance(result, PointerType):
            raise VerifyException(f"expects an integer to become a pointer, not {source} to become {result}")


@irdl_op_definition
class PtrToIntOp(ConversionOp):
    """`%i = nv_tileaa.ptr_to_int %p : (!nv_tileaa.ptr<f16, 1>) -> i64`"""

    name = "nv_tileaa.ptr_to_int"

    def verify_elements(self, source: Attribute, result: Attribute) -> None:
        if not isinstance(source, PointerType) or not is_integer_like(result):
            raise VerifyException(f"expects a pointer to become an integer, not {source} to become {result}")
