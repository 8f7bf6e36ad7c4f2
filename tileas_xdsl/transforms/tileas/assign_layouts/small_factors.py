"""
Products of floats of 8 bits, where threads multiply: as products of f16, which has all of these numbers.

    %s = dot %a, %b, %acc       ->       %held = convert_layout %a : (tensor<64x32xf8E4M3FN, smem>) -> registers
                                         %wide = arith.extf %held : .. to tensor<64x32xf16>
                                         %s = dot %wide, .., %acc

`wgmma` takes bytes only where both operands lie along K, which B does not as loads leave it, and `mma.sync` takes them
from sm_89 on (PTX ISA, "wgmma.mma_async" and "mma"). Products of two f16 are exact in f32: the sums are the same.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, f16
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.threads.tiles import SMALL_FLOATS
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileaa.structure import PermuteOp
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp
from tileas_xdsl.dialects.nv_tileas.verification import space_of
from tileas_xdsl.targets.chips import Feature, can


def widen_factors(function: Operation, capability: int) -> None:
    """Let products multiply f16 where their factors are smaller floats, without scale factors."""
    if can(capability, Feature.BLOCK_SCALING):
        return
    for op in list(function.walk()):
        if isinstance(op, DotOp) and op.sfa is None and _is_small(op.a) and _is_small(op.b):
            op.operands[0], op.operands[1] = _widened(op, op.a), _widened(op, op.b)


def _is_small(value: SSAValue) -> bool:
    return isinstance(cast("TensorType[Attribute]", value.type).element_type, SMALL_FLOATS)


def _widened(point: Operation, value: SSAValue) -> SSAValue:
    """The factor as f16 in registers; what is only permuted is widened before."""
    shape = cast("TensorType[Attribute]", value.type).get_shape()
    if isinstance(value.owner, PermuteOp):
        source = _widened(value.owner, value.owner.source)
        return _built(
            point,
            PermuteOp.create(
                operands=[source], result_types=[TensorType(f16, shape)], properties=dict(value.owner.properties)
            ),
        )
    if space_of(value.type) == "smem":
        small = cast("TensorType[Attribute]", value.type).element_type
        value = _built(point, ConvertLayoutOp(value, TensorType(small, shape)))
    return _built(point, arith.ExtFOp(value, TensorType(f16, shape)))


def _built(point: Operation, op: Operation) -> SSAValue:
    op.location = point.location
    Rewriter.insert_op(op, InsertPoint.before(point))
    return op.results[0]
