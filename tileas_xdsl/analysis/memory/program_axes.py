"""
Which array says how many programs a kernel needs along each axis of its grid.

    %row = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
    nv_tileaa.tiled_store %c[%row, %col], %tile : (memref<?x?xf32>, tensor<128x128xf32>, ...)

writes a tile of 128 rows for each program along axis 0: the rows of `c`, divided by 128 and rounded up, are their
number. Where an id is no plain coordinate of the one place that is stored to, nothing is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.nv_tileaa.atomics import RmwOp
from tileas_xdsl.dialects.nv_tileaa.control import GetProgramIdOp
from tileas_xdsl.dialects.nv_tileaa.memory import TiledStoreOp, WriteOp

AXES = 3


@dataclass(frozen=True)
class TileAxis:
    """The programs along an axis of the grid write tiles of `extent` elements along `dimension` of an argument."""

    argument: int
    dimension: int
    extent: int


def program_axes(function: Operation) -> tuple[TileAxis | None, ...] | None:
    """
    What decides how many programs there are along x, y and z; None for an axis that the function does not ask about.

    None as a whole where it is not known: an id that is computed with, or that numbers tiles of several arrays.
    """
    ops = list(function.walk())
    written = [op for op in ops if isinstance(op, WriteOp | RmwOp)]
    if any(_asks_otherwise(op) for op in ops) or not all(isinstance(op, TiledStoreOp) for op in written):
        return None
    found: list[set[TileAxis]] = [set() for _ in range(AXES)]
    for store in (op for op in written if isinstance(op, TiledStoreOp)):
        for dimension, index in enumerate(store.indices):
            axis = _axis_of(index)
            if axis is not None:
                place = _place(store, dimension)
                if place is None:
                    return None
                found[axis].add(place)
    asked = {axis for op in ops if isinstance(op, GetProgramIdOp) if (axis := _axis_of(op.result)) is not None}
    if any(isinstance(op, GetProgramIdOp) and _axis_of(op.result) is None for op in ops):
        return None
    if any(len(found[axis]) != 1 for axis in asked):
        return None
    return tuple(next(iter(places), None) for places in found)


def _asks_otherwise(op: Operation) -> bool:
    """Whether `op` asks for a number of the block or the grid in another way than by the id of its program."""
    if isinstance(op, GetProgramIdOp):
        return False
    name = op_name(op)
    return name in ("llvm.inline_asm", "llvm.call_intrinsic") or any(word in name for word in OF_THE_GRID)


OF_THE_GRID = ("program", "ctaid", "clusterid", "block_id", "grid_dim", "cluster_id", "cluster_block")
"""Parts of the names of ops that read numbers of the block or of the grid."""


def _axis_of(value: SSAValue) -> int | None:
    """The axis whose program id a value is, as it is or cast; None where it is something else."""
    owner = value.owner
    while isinstance(owner, arith.IndexCastOp):
        owner = owner.input.owner
    if not isinstance(owner, GetProgramIdOp) or owner.program is not None:
        return None
    return owner.axis.value.data


def _place(store: TiledStoreOp, dimension: int) -> TileAxis | None:
    base, kind = store.base, store.value.type
    if not isinstance(base, BlockArgument) or not isinstance(kind, TensorType):
        return None
    shape = cast("TensorType[Attribute]", kind).get_shape()
    whole = (1,) * (len(store.indices) - len(shape)) + shape
    return TileAxis(base.index, dimension, whole[dimension])
