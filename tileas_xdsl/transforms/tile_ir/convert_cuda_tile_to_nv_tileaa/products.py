"""
Products: `dot` of `nv_tileaa`, which takes the types of factors that tensor cores have.

    mmaf %a, %b, %c : f32, f32, f32        ->    the tensor core takes tf32, so each factor is split: a = A + a', and
                                                 dot A, B, dot a', B, dot A, b', %c        (a' * b' is below an ulp)
    mmaf %a, %b, %c : f16, f16, f16        ->    in f32, rounded behind the product
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, TensorType, f32
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.ops import OPS
from tileas_xdsl.dialects.nv_tileaa.attributes import Signedness, SignednessAttr
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileaa.elementwise import FpToFpOp
from tileas_xdsl.dialects.scalars import scalar_of
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.elementwise import (
    compared_floats,
    truncated_to_tf32,
)
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.state import (
    Conversion,
    converts,
    held,
    shape_of,
    tile_shape,
)

PRODUCTS = ("mmaf", "mmai", "mmaf_scaled")
FACTORS = 2
"""A and B are the first operands of a product."""


def takes_as_it_is(user: Operation, place: int) -> bool:
    """Whether the operand `place` is a factor that tensor cores read where it lies."""
    is_product = isinstance(user, tuple(OPS[name] for name in PRODUCTS))
    return is_product and place < FACTORS and not _is_split(user)


def _is_split(op: Operation) -> bool:
    """Whether factors have more bits than a product takes."""
    return isinstance(scalar_of(op.operands[0].type), Float32Type)


@converts(*PRODUCTS)
def _multiply(to: Conversion, op: TileIROp) -> None:
    wanted = shape_of(op.results[0])
    batch = wanted[:-2] if len(held(wanted)) > 2 else ()
    a, b, c, *scales = (to.reshaped(to.value(each), (*batch, *shape_of(each)[-2:])) for each in op.operands)
    said = {
        f"signedness_{letter}": SignednessAttr(Signedness(op.word(name)))
        for letter, name in (("a", "signedness_lhs"), ("b", "signedness_rhs"))
        if op.ROW.name == "mmai"
    }
    before = _element(c)
    if isinstance(before, Float16Type | BFloat16Type):
        c = _resized(to, c, f32)
    for left, right in _parts(to, a, b) if _is_split(op) else ((a, b),):
        operands = [left, right, c, *(scales or (None, None))]
        c = to.result(DotOp.build(operands=operands, result_types=[c.type], properties=said))
    to.give(op, to.reshaped(_resized(to, c, before), held(wanted)))


def _element(tile: SSAValue) -> Attribute:
    return cast("TensorType[Any]", tile.type).element_type


def _resized(to: Conversion, value: SSAValue, element: Attribute) -> SSAValue:
    """The numbers of a tile in another type; they stay where they have it."""
    if _element(value) == element:
        return value
    kind = TensorType(element, tile_shape(value))
    return to.result(FpToFpOp.create(operands=[value], result_types=[kind]))


def _parts(to: Conversion, a: SSAValue, b: SSAValue) -> list[tuple[SSAValue, SSAValue]]:
    """The products whose sum is that of two tiles of f32, the smallest first: each factor is one of tf32."""
    (a, low_a), (b, low_b) = _split(to, a), _split(to, b)
    return [(low_a, b), (a, low_b), (a, b)]


def _split(to: Conversion, value: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Numbers as two of tf32: their leading bits, and what is left; of infinity that is 0."""
    high = truncated_to_tf32(to, value)
    is_whole = compared_floats(to, high, value, "oeq")
    rest = to.result(arith.SelectOp(is_whole, to.constant(0, value.type), to.result(arith.SubfOp(value, high))))
    return high, truncated_to_tf32(to, rest)
