"""
Arguments of regions at rings that are iterators become what lies in the slot. No op is new.

    produce_one %p, %it {                               produce_one %p, %it {
    ^bb0(%slot: pipeline_iter<tensor<8xf32>>):    ->    ^bb0(%slot: tensor<8xf32>):

The type of an iterator wraps that of the slot, and the verifiers of such regions read the two alike. Once agents are
made, nothing is carried through the arguments any more, and later passes ask for tiles.
"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp
from tileas_xdsl.dialects.nv_tileas.pipeline import IncIterOp
from tileas_xdsl.dialects.nv_tileas.types import PipelineIteratorType


def unwrap_iterators(function: Operation) -> None:
    """Give each such argument in `function` the type of the slot, unless it is advanced as an iterator."""
    regions = [region for op in function.walk() if isinstance(op, ClassifiedOp) for region in op.regions]
    for argument in [argument for region in regions for block in region.blocks for argument in block.args]:
        is_advanced = any(isinstance(use.operation, ClassifiedOp | IncIterOp) for use in argument.uses)
        if isinstance(argument.type, PipelineIteratorType) and not is_advanced:
            Rewriter.replace_value_with_new_type(argument, argument.type.payload)
