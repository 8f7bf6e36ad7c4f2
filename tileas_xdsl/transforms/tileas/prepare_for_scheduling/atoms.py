"""
Which instructions fill a stage on a target: TMA from sm_90 on, for the tiles that it takes, else copies by the threads.

A TMA transfer brings a box of at most 5 axes and 256 elements along each, whose innermost axis is a multiple of 16
bytes; what lies outside of the array reads as zero or as NaN (CUDA Driver API, `cuTensorMapEncodeTiled`). Threads copy
any tile, and write any padding themselves.
"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation

from tileas_xdsl.analysis.threads.accesses import is_written
from tileas_xdsl.dialects.nv_tileaa import attributes as nv_tileaa
from tileas_xdsl.dialects.nv_tileaa.memory import TiledLoadOp
from tileas_xdsl.dialects.nv_tileas import attributes as nv_tileas
from tileas_xdsl.dialects.nv_tileas.attributes import BOUND_ATOM, AtomFamily, bound_atom
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.scalars import packed_bits
from tileas_xdsl.dialects.tiles.types import extents
from tileas_xdsl.layouts.atoms import fits_in_boxes
from tileas_xdsl.targets.engines import Engine
from tileas_xdsl.targets.machine_model import MachineModel
from tileas_xdsl.transforms.tileas.compact_stages import tiles_into

TMA, ASYNC_COPY = Engine.TMA, "async_copy"

TMA_PADDINGS = ("zero", "nan")


def choose_instructions(function: Operation, model: MachineModel) -> None:
    """Producers of `function` that are to use TMA use asynchronous copies where `model` has no TMA for their tiles."""
    for op in function.walk():
        if isinstance(op, ProduceOp) and op.producer_kind is not None and op.producer_kind.data == TMA:
            if not (model.has_tma and is_box_of_tma(op) and _is_left_to_tma(op) and not _fills_from_written(op)):
                op.producer_kind = StringAttr(ASYNC_COPY)
                _unbind_from_tma(op)


def _is_left_to_tma(op: ProduceOp) -> bool:
    """Whether no load within is bound to an instruction of the threads."""
    bound = [atom.family for inner in op.walk() if (atom := bound_atom(inner)) is not None]
    return all(family is AtomFamily.TMA_LOAD for family in bound)


def _fills_from_written(op: Operation) -> bool:
    """
    Whether an op fills a stage from an array that its function writes. Threads copy that: a barrier orders what they
    have stored before, and TMA would need a fence of both proxies besides (PTX ISA, "Async proxy").
    """
    return any(isinstance(inner, TiledLoadOp) and is_written(inner) for inner in op.walk())


def _unbind_from_tma(op: ProduceOp) -> None:
    for inner in op.walk():
        atom = bound_atom(inner)
        if atom is not None and atom.family is AtomFamily.TMA_LOAD:
            inner.attributes.pop(BOUND_ATOM, None)
            inner.properties.pop("atom", None)


def is_box_of_tma(op: ProduceOp) -> bool:
    """Whether TMA can bring all tiles that `op` fills its stage with, padded as its loads say."""
    tiles = op.payload or [tile.type for tile in tiles_into(op)]
    return all(map(_fits_in_a_box, tiles)) and all(map(pads_for_tma, op.walk()))


def _fits_in_a_box(tile: Attribute) -> bool:
    return fits_in_boxes(extents(tile), packed_bits(tile))


def pads_for_tma(op: Operation) -> bool:
    """Whether TMA can write what `op` reads outside of its array, as far as it says."""
    padding = op.properties.get("padding_value") or op.attributes.get("padding_value")
    return (
        not isinstance(padding, nv_tileaa.PaddingValueAttr | nv_tileas.PaddingValueAttr)
        or padding.data.value in TMA_PADDINGS
    )
