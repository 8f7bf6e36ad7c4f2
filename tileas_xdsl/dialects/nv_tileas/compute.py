"""
Matrix multiplication, reduction and scan.

    %d = nv_tileas.dot %a, %b, %c : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %r = nv_tileas.reduce %a attributes {axis = 1 : i32} { ^bb0(%x : f32, %y : f32): ... nv_tileas.yield %s ... }
    : (tensor<8x4xf32>) -> tensor<8xf32>

`reduce` and `scan` with a memory-consistency attribute have no write effect by it: it speaks of what others may see.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from xdsl.dialects.builtin import IntegerAttr, IntegerType, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    BaseAttr,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nv_tileas.attributes import AtomAttr
from tileas_xdsl.dialects.nv_tileas.block_scaled import BlockScaledInputs, configuration_of
from tileas_xdsl.dialects.nv_tileas.control import YieldOp
from tileas_xdsl.dialects.nv_tileas.types import AsyncTokenType
from tileas_xdsl.dialects.nv_tileas.verification import BOOL, TENSOR, type_list, types_of
from tileas_xdsl.dialects.scalars import is_float, is_fp4
from tileas_xdsl.dialects.tiles.syntax import TileOp
from tileas_xdsl.dialects.tiles.traits import Accesses, AddsInPlace, MemoryConsistency, ReadsViews
from tileas_xdsl.dialects.tiles.types import element_type_of, shape_of

AXIS = IntegerAttr.constr(BaseAttr(IntegerType))


# Matrix multiplication ---------------------------------------------------------------------------


class AbstractDotOp(TileOp, ABC):
    """
    `A`, `B` and `C`, then optionally both scale tiles, then optionally an integer: whether to accumulate.

    The optional operands are distinguished by type, so the op needs no segment sizes.
    """

    a = operand_def(TENSOR)
    b = operand_def(TENSOR)
    c = operand_def(TENSOR)
    extras = var_operand_def()
    atom = opt_prop_def()

    @property
    @abstractmethod
    def product(self) -> SSAValue:
        """The result D."""

    @property
    def scales(self) -> tuple[SSAValue, ...]:
        """The scale tiles sfa and sfb, or nothing."""
        return tuple(extra for extra in self.extras if not isinstance(extra.type, IntegerType))

    @property
    def accumulate(self) -> SSAValue | None:
        """Whether C is added, as an integer; None means yes."""
        return next((extra for extra in self.extras if isinstance(extra.type, IntegerType)), None)

    def verify_contract(self) -> None:
        self._verify_extras()
        expect_type_of_c(self.product, self.c)
        verify_dot_elements(self.a.type, self.b.type, self.c.type)
        verify_dot_shapes(self.a.type, self.b.type, self.c.type)
        elements = (element_type_of(self.a.type), element_type_of(self.b.type))
        if self.scales or any(element is not None and is_fp4(element) for element in elements):
            sfa, sfb = (scale.type for scale in self.scales) if self.scales else (None, None)
            verify_block_scaled(
                BlockScaledInputs(self.a.type, self.b.type, self.c.type, sfa, sfb, atom_k_of(self.atom))
            )

    def _verify_extras(self) -> None:
        scales = len(self.scales)
        if scales == 1:
            raise VerifyException("expects both SFA and SFB to be present")
        if scales not in (0, 2) or len(self.extras) - scales > 1:
            raise VerifyException(
                "expects at most two scale tiles and one integer behind A, B and C, "
                f"but got {type_list(types_of(self.extras))}"
            )
        if self.accumulate is not None and self.extras[-1] is not self.accumulate:
            raise VerifyException("expects the accumulate flag as the last operand")


def expect_type_of_c(product: SSAValue, c: SSAValue) -> None:
    """The result has the type of the accumulator."""
    if product.type != c.type:
        raise VerifyException(f"expects a result of the type of C, {c.type}, but got {product.type}")


def verify_dot_elements(a: Attribute, b: Attribute, c: Attribute) -> None:
    """A, B and C hold integers, or all hold floats."""
    elements = [element_type_of(type_) for type_ in (a, b, c)]
    integers = [isinstance(element, IntegerType) for element in elements]
    floats = [element is not None and is_float(element) for element in elements]
    if not all(integers) and not all(floats):
        raise VerifyException("expected the element types of A, B, C, and D to be either all integers or all floats.")


def verify_dot_shapes(a: Attribute, b: Attribute, c: Attribute) -> None:
    """A is MxK, B is KxN and C is MxN, each with the same leading batch extent or none."""
    of_a, of_b, of_c = [*(shape_of(a) or ())], [*(shape_of(b) or ())], [*(shape_of(c) or ())]
    if len(of_c) not in (2, 3):
        raise VerifyException(f"expects rank-2 or rank-3 tensor for result, but got ({len(of_c)})")
    same_rank = len(of_a) == len(of_b) == len(of_c)
    if not same_rank or of_a[:-2] != of_b[:-2] or of_a[-1] != of_b[-2]:
        raise VerifyException("expects the shape of operand #A and #B to be compatible")
    if of_c != [*of_a[:-1], of_b[-1]]:
        raise VerifyException("expects the shape of operand #C is compatible with operands #A and #B")


def verify_block_scaled(inputs: BlockScaledInputs) -> None:
    """The block-scaled configuration exists."""
    outcome = configuration_of(inputs)
    if isinstance(outcome, str):
        raise VerifyException(outcome)


def atom_k_of(atom: Attribute | None) -> int | None:
    """The K extent of one MMA instruction, where the atom says: its option `k`."""
    k = atom.options.data.get("k") if isinstance(atom, AtomAttr) else None
    return k.value.data if isinstance(k, IntegerAttr) else None


@irdl_op_definition
class DotOp(AbstractDotOp):
    """
    `D = A * B + C`.

    `%d = nv_tileas.dot %a, %b, %c : (tensor<8x4xf16>, tensor<4x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>`
    """

    name = "nv_tileas.dot"

    d = result_def(TENSOR)

    traits = traits_def(ReadsViews())

    @property
    def product(self) -> SSAValue:
        return self.d


@irdl_op_definition
class AsyncDotOp(AbstractDotOp):
    """`%d, %t = nv_tileas.async.dot %a, %b, %c : (...) -> (tensor<8x8xf32>, !nv_tileas.token)`"""

    name = "nv_tileas.async.dot"

    d = result_def(TENSOR)
    done = result_def(AsyncTokenType)

    traits = traits_def(Accesses(reads=(0, 1, 2), writes=(2,)), AddsInPlace(), MemoryConsistency())

    @property
    def product(self) -> SSAValue:
        return self.d

    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        c: SSAValue,
        *,
        scales: tuple[SSAValue, SSAValue] | None = None,
        accumulate: SSAValue | None = None,
        atom: Attribute | None = None,
    ) -> None:
        extras = [*(scales or ()), *([] if accumulate is None else [accumulate])]
        super().__init__(operands=[a, b, c, extras], result_types=[c.type, AsyncTokenType()], properties={"atom": atom})


@irdl_op_definition
class BlockScaledMmaOp(TileOp):
    """
    `D = (A * sfa) * (B * sfb) + C`, with one scale for each `vec_size` elements along K.

    `%d = nv_tileas.block_scaled_mma %a, %b, %c sfa(%sa) sfb(%sb) attributes {cta_group = 1 : i32} : (...) -> ...`
    """

    name = "nv_tileas.block_scaled_mma"

    a = operand_def(TENSOR)
    b = operand_def(TENSOR)
    c = operand_def(TENSOR)
    sfa = opt_operand_def(TENSOR)
    sfb = opt_operand_def(TENSOR)
    d = result_def(TENSOR)
    atom = opt_prop_def()
    cta_group = opt_prop_def(IntegerAttr.constr(i32))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(ReadsViews())

    @property
    def two_cta(self) -> bool:
        """Whether two thread blocks share the multiplication."""
        return self.cta_group is not None and self.cta_group.value.data == 2

    @property
    def inputs(self) -> BlockScaledInputs:
        """What the block-scaled verifier looks at."""
        sfa = None if self.sfa is None else self.sfa.type
        sfb = None if self.sfb is None else self.sfb.type
        return BlockScaledInputs(
            self.a.type, self.b.type, self.c.type, sfa, sfb, atom_k_of(self.atom), two_cta=self.two_cta
        )

    def verify_contract(self) -> None:
        if self.cta_group is not None and self.cta_group.value.data not in (1, 2):
            raise VerifyException(f"expects cta_group to be 1 or 2, but got {self.cta_group.value.data}")
        verify_block_scaled(self.inputs)
        expect_type_of_c(self.d, self.c)
        verify_dot_shapes(self.a.type, self.b.type, self.c.type)


# Reduction and scan ------------------------------------------------------------------------------


class CombiningOp(TileOp, ABC):
    """Base of the ops that combine the elements along one axis, two at a time, by a body over bare elements."""

    source = operand_def(TENSOR)
    result = result_def(TENSOR)
    body = region_def()
    axis = prop_def(AXIS)
    atom = opt_prop_def()

    traits = traits_def(ReadsViews(), NoTerminator(), MemoryConsistency())

    def verify_combiner(self) -> tuple[int, ...]:
        """Check that axis and body fit the source; return the source's shape."""
        shape = shape_of(self.source.type) or ()
        axis = self.axis.value.data
        if not 0 <= axis < len(shape):
            raise VerifyException(f"expects an axis below rank {len(shape)}, but got {axis}")
        element = element_type_of(self.source.type) or self.source.type
        if element_type_of(self.result.type) != element:
            raise VerifyException(f"expects a result of {element} elements, but got {self.result.type}")
        block = self.body.first_block
        if block is None or not isinstance(block.last_op, YieldOp):
            raise VerifyException("expects a body that ends in 'nv_tileas.yield'")
        for what, found, expected in (
            ("arguments", types_of(block.args), (element, element)),
            ("yielded values", types_of(block.last_op.operands), (element,)),
        ):
            if found != expected:
                raise VerifyException(f"expects {what} of types {type_list(expected)}, but got {type_list(found)}")
        return shape


@irdl_op_definition
class ReduceOp(CombiningOp):
    """
    Combine all elements along the axis into one.

    `%r = nv_tileas.reduce %a attributes {axis = 0 : i32} {...} : (tensor<8x4xf32>) -> tensor<4xf32>`
    """

    name = "nv_tileas.reduce"

    def verify_contract(self) -> None:
        shape, axis = self.verify_combiner(), self.axis.value.data
        expected = (*shape[:axis], *shape[axis + 1 :])
        if shape_of(self.result.type) != expected:
            raise VerifyException(f"expects a result of shape {list(expected)}, but got {self.result.type}")


@irdl_op_definition
class ScanOp(CombiningOp):
    """
    All running combinations along the axis, with or without the element itself.

    `%r = nv_tileas.scan %a attributes {axis = 0 : i32, inclusive = true} {...} : (tensor<8xf32>) -> tensor<8xf32>`
    """

    name = "nv_tileas.scan"

    inclusive = opt_prop_def(BOOL)

    def verify_contract(self) -> None:
        shape = self.verify_combiner()
        if shape_of(self.result.type) != shape:
            raise VerifyException(f"expects a result of shape {list(shape)}, but got {self.result.type}")


COMPUTE_OPS = (DotOp, AsyncDotOp, BlockScaledMmaOp, ReduceOp, ScanOp)
