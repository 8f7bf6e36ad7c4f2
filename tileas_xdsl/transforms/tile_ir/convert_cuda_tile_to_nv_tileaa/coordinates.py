"""
Where elements of gathers lie, computed once: of the number or the row that a tile repeats, and not of the whole tile.

    %wide = splat %row : tensor<64x64xi64>               %index = index_cast %row : index
    %all = index_cast %wide : tensor<64x64xindex>   ->   %all = splat %index : tensor<64x64xindex>

What a row becomes is converted between layouts as a row, and two accesses at the same places share it.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType, TensorType, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free
from xdsl.transforms.common_subexpression_elimination import OperationInfo

from tileas_xdsl.dialects.nv_tileaa.structure import BroadcastOp, ExpandDimsOp, SplatOp
from tileas_xdsl.dialects.nv_tileaa.types import element_type_of
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.state import INDEX, tile_shape


def share_coordinates(function: FuncOp) -> None:
    """Compute coordinates, and masks of bounds, once in each block of `function`."""
    for op in list(function.walk()):
        if isinstance(op, arith.IndexCastOp) and op.result.type != INDEX and tile_shape(op.result):
            Rewriter.replace_op(op, [], [_as_index(op.input)])
    for block in {op.parent: None for op in function.walk()}:
        if block is not None:
            _share_integers(block)


def _as_index(value: SSAValue) -> SSAValue:
    """A tile of integers, or a number, as indices, made right behind it."""
    kind = TensorType(INDEX, tile_shape(value)) if tile_shape(value) else INDEX
    match value.owner:
        case SplatOp() | BroadcastOp() | ExpandDimsOp() as op:
            source = _as_index(op.operands[0])
            made = type(op).create(operands=[source], result_types=[kind])
        case arith.ExtSIOp(input=source) if element_type_of(source.type) == i32:
            return _as_index(source)
        case _:
            made = arith.IndexCastOp(value, kind)
    owner = value.owner
    if isinstance(owner, Operation):
        made.location = owner.location
    Rewriter.insert_op(made, InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner))
    return made.results[0]


def _share_integers(block: Block) -> None:
    """Have each computation of integers in a block once. Those of floats keep their places, and their registers."""
    known: dict[OperationInfo, Operation] = {}
    for op in list(block.ops):
        computes = isinstance(op, BroadcastOp) or is_side_effect_free(op)
        if op.regions or isinstance(op, arith.ConstantOp) or not op.results or not computes:
            continue
        if all(isinstance(element_type_of(result.type), IntegerType | IndexType) for result in op.results):
            first = known.setdefault(OperationInfo(op), op)
            if first is not op:
                Rewriter.replace_op(op, [], first.results)
