"""
Which instructions fill a stage on a target: TMA from sm_90 on, for the tiles that it takes, else copies by the threads.

A TMA transfer brings a box of at most 5 axes and 256 elements along each, whose innermost axis is a multiple of 16
bytes; what lies outside of the array reads as zero or as NaN (CUDA Driver API, `cuTensorMapEncodeTiled`). Threads copy
any tile, and write any padding themselves.
"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation

from tileas_xdsl.dialects.nv_tileaa.attributes import PaddingValueAttr
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.tiles.types import extents
from tileas_xdsl.machine.time.costs import element_bits
from tileas_xdsl.targets.machine_model import MachineModel

TMA, ASYNC_COPY = "tma", "async_copy"

MOST_AXES, MOST_ELEMENTS, INNER_BYTES = 5, 256, 16

TMA_PADDINGS = ("zero", "nan")


def choose_instructions(function: Operation, model: MachineModel) -> None:
    """Producers of `function` that are to use TMA use asynchronous copies where `model` has no TMA for their tiles."""
    for op in function.walk():
        if isinstance(op, ProduceOp) and op.producer_kind is not None and op.producer_kind.data == TMA:
            if not (model.has_tma and is_box_of_tma(op)):
                op.producer_kind = StringAttr(ASYNC_COPY)


def is_box_of_tma(op: ProduceOp) -> bool:
    """Whether TMA can bring all tiles that `op` fills its stage with, padded as its loads say."""
    tiles = op.payload or tuple(value.type for value in op.yielded)
    return all(map(_fits_in_a_box, tiles)) and not any(map(_pads_otherwise, op.walk()))


def _fits_in_a_box(tile: Attribute) -> bool:
    shape = extents(tile)
    if not 1 <= len(shape) <= MOST_AXES or not all(1 <= extent <= MOST_ELEMENTS for extent in shape):
        return False
    return shape[-1] * element_bits(tile) % (8 * INNER_BYTES) == 0


def _pads_otherwise(op: Operation) -> bool:
    padding = op.properties.get("padding_value") or op.attributes.get("padding_value")
    return isinstance(padding, PaddingValueAttr) and padding.data.value not in TMA_PADDINGS
