"""
Threads do with registers what no engine does, so a tile that lies in shared memory is read first.

    tiled_store %c[%i], %slot : tensor<16x16xf16, smem>   ->   %held = convert_layout %slot : -> tensor<16x16xf16>
                                                               tiled_store %c[%i], %held

    %t = permute %slot : -> tensor<32x16xf16, smem>       ->   %held = convert_layout %slot : -> tensor<16x32xf16>
                                                               %turned = permute %held
                                                               %t = convert_layout %turned : -> tensor<32x16xf16, smem>

A tile that was copied there for an engine to store it stays: `tileas-assign-load-store-layouts` makes these. So does
one that is only seen with an extent of 1 more or less: its bytes are the same. They are, too, of one that is turned for
an engine which takes rows along either of its dimensions:

    %t = permute %slot : -> tensor<32x16xf16, smem>       ->   %t = permute %slot : -> tensor<32x16xf16, smem, turned>
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileaa.memory import TiledStoreOp
from tileas_xdsl.dialects.nv_tileaa.structure import PermuteOp, ViewOp
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr, element_bits, form_of, layout_of
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp, ConvertLayoutOp
from tileas_xdsl.dialects.nv_tileas.verification import space_of
from tileas_xdsl.layouts.defaults import widest_swizzle
from tileas_xdsl.layouts.forms import Swizzled
from tileas_xdsl.transforms.tileas.layout_rules import shape_of


def read_first(function: Operation, takes_turned: Callable[[PermuteOp], bool]) -> None:
    """
    Put a read in front of each store, and around each permutation, of a tile that lies in shared memory; around none
    whose users are engines that `takes_turned` says take the bytes as they lie.
    """
    for op in list(function.walk()):
        if isinstance(op, TiledStoreOp):
            if not isinstance(op.value.owner, AllocTensorOp):
                _read(op, op.value)
        elif isinstance(op, PermuteOp) and takes_turned(op):
            _turn(op)
        elif isinstance(op, PermuteOp) or (isinstance(op, ViewOp) and _is_of_tiles(op) and not _keeps_bytes(op)):
            _read(op, op.source)
            _put_back(op)


def _is_of_tiles(op: ViewOp) -> bool:
    return all(isinstance(value.type, TensorType) for value in (op.source, op.result))


def _keeps_bytes(op: ViewOp) -> bool:
    """Whether a view of shared memory only adds or drops extents of 1 in front of its rows, for readers of memory."""
    if space_of(op.source.type) != "smem" or space_of(op.result.type) != "smem":
        return False
    before, after = shape_of(op.source), shape_of(op.result)
    if min(len(before), len(after)) < 2 or before[-1] != after[-1]:
        return False
    same = [n for n in before if n > 1] == [n for n in after if n > 1]
    return same and all(isinstance(use.operation, DotOp | ConvertLayoutOp) for use in op.result.uses)


def _read(op: Operation, tile: SSAValue) -> None:
    """Let `op` take the tile from registers."""
    if space_of(tile.type) != "smem":
        return
    read = ConvertLayoutOp(tile, _in_registers(tile))
    read.location = op.location
    read.result.name_hint = tile.name_hint
    Rewriter.insert_op(read, InsertPoint.before(op))
    op.operands = [read.result if operand is tile else operand for operand in op.operands]


def _turn(op: PermuteOp) -> None:
    """Let the result be the same bytes, seen with rows for columns."""
    source, result = (cast("TensorType[Attribute]", value.type) for value in (op.source, op.result))
    form = form_of(source)
    width = form.width if isinstance(form, Swizzled) else widest_swizzle(source.get_shape(), element_bits(source) or 0)
    layout = LayoutAttr.of("smem", form=Swizzled(width, (0, 1)))
    Rewriter.replace_value_with_new_type(op.result, TensorType(result.element_type, result.get_shape(), layout))


def is_plain_in_memory(tile: SSAValue) -> bool:
    """Whether a tile of two dimensions lies in shared memory as it is loaded."""
    layout, form = layout_of(tile.type), form_of(tile.type)
    is_plain = layout is not None and layout.space.data == "smem" and not layout.tag.data
    if not is_plain or len(shape_of(tile)) != 2:
        return False
    return form is None or (isinstance(form, Swizzled) and form.order in (None, (1, 0)))


def _put_back(op: PermuteOp | ViewOp) -> None:
    """Let `op` give registers, and put them into shared memory behind it where its users want that."""
    wanted: Attribute = op.result.type
    if space_of(wanted) != "smem":
        return
    held = Rewriter.replace_value_with_new_type(op.result, _in_registers(op.result))
    back = ConvertLayoutOp(held, wanted)
    back.location = op.location
    back.result.name_hint = held.name_hint
    Rewriter.insert_op(back, InsertPoint.after(op))
    held.replace_uses_with_if(back.result, lambda use: use.operation is not back)


def _in_registers(tile: SSAValue) -> TensorType[Attribute]:
    kind = cast("TensorType[Attribute]", tile.type)
    return TensorType(kind.element_type, kind.get_shape())
