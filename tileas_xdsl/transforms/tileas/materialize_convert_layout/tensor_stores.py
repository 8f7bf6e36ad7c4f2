"""
Conversions for stores that TMA does: the tile is left in shared memory, whence the copy engine takes it.

    %s = convert_layout %t : R -> S        %s = convert_layout %t : R -> M
    tiled_store %c[..], %s : S        ->   tiled_store %c[..], %s : M

S would be brought together through shared memory anyway, and read back into registers to be stored. M is a
layout that a box of TMA has; of those the one that the threads write with the fewest wavefronts.
(PTX ISA, "cp.async.bulk.tensor"; CUDA Driver API, `cuTensorMapEncodeTiled`.)
"""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, FixedBitwidthType, MemRefType, NoneAttr, TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tileas_xdsl.analysis.memory.rows import promised_rows
from tileas_xdsl.dialects.nv_tileaa.memory import TiledStoreOp
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.attributes import bound_atom
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr, element_bits, linear_layout
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp
from tileas_xdsl.dialects.tiles.functions import KernelFunction
from tileas_xdsl.layouts.atoms import (
    INNER_BYTES,
    SWIZZLED_BYTES,
    VECTOR_BYTES,
    Transfer,
    box_of,
    is_stored_by_tma,
)
from tileas_xdsl.layouts.distributed import WARP, WARP_SIZE
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.forms import Swizzled
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.layouts.moves import is_memory, moves
from tileas_xdsl.layouts.staging import store_staging
from tileas_xdsl.scheduling.agent_loops import is_innermost
from tileas_xdsl.targets.chips import Feature, can
from tileas_xdsl.transforms.tileas.materialize_convert_layout.query import Options, abilities, stays_in_registers


def leave_in_shared_memory(function: Operation, options: Options) -> None:
    """
    Let conversions end in shared memory whose only use is a store that TMA can do from there. An array is stored to by
    TMA alone or not at all: it becomes a tensor map, and stores of two proxies to one place have no order.
    """
    if not can(options.capability, Feature.TMA):
        return
    wanted: dict[SSAValue, list[tuple[ConvertLayoutOp, TensorType[Attribute]] | None]] = {}
    for op in function.walk():
        if isinstance(op, TiledStoreOp):
            wanted.setdefault(op.base, []).append(_retargeted(op, options))
    for array, found in wanted.items():
        retargeted = [each for each in found if each is not None]
        if len(retargeted) == array.uses.get_length() and _has_a_map(array):
            for conversion, tile in retargeted:
                Rewriter.replace_value_with_new_type(conversion.result, tile)


def _retargeted(store: TiledStoreOp, options: Options) -> tuple[ConvertLayoutOp, TensorType[Attribute]] | None:
    """The conversion of what is stored, and the type that it gets; None where TMA does not store it."""
    op = store.value.owner
    if not isinstance(op, ConvertLayoutOp) or op.atom_plan is not None or not op.result.has_one_use():
        return None
    if store.mask is not None or store.token or bound_atom(store) is not None:
        return None
    if not _stands_behind_loops(store) or not _goes_through_memory(op, options):
        return None
    tile = _boxed(op.source, options)
    return None if tile is None else (op, tile)


def _stands_behind_loops(op: Operation) -> bool:
    """
    Whether an op is in no branch, and in no loop but counted ones with loops of their own: it is stored behind these,
    and the next turn waits for it before its memory is used again.
    """
    parent = op.parent_op()
    if isinstance(parent, scf.ForOp) and is_innermost(parent):
        return False
    while isinstance(parent, AgentSwitchOp | scf.ForOp):
        parent = parent.parent_op()
    return isinstance(parent, KernelFunction)


def _has_a_map(array: SSAValue) -> bool:
    """
    Whether an array is an argument of the function, row behind row, with elements of a byte or more, and rows are
    multiples of what TMA takes, as far as its type and the argument say.
    """
    if not isinstance(array, BlockArgument) or not isinstance(array.block.parent_op(), KernelFunction):
        return False
    kind = array.type
    if not isinstance(kind, MemRefType) or not isinstance(cast("MemRefType[Attribute]", kind).layout, NoneAttr):
        return False
    row, element = kind.get_shape()[-1:], cast("MemRefType[Attribute]", kind).element_type
    bits = element.bitwidth if isinstance(element, FixedBitwidthType) else 0
    if promised_rows(array) % INNER_BYTES:
        return False
    return bits >= 8 and (not row or row[0] == DYNAMIC_INDEX or row[0] * bits % (8 * INNER_BYTES) == 0)


def _goes_through_memory(op: ConvertLayoutOp, options: Options) -> bool:
    """Whether the best way of a conversion stages the tile. Where there is no way, who plans conversions says why."""
    first, second, bits = linear_layout(op.source.type), linear_layout(op.result.type), element_bits(op.source.type)
    if first is None or second is None or bits is None or bits < 8 or is_memory(first) or is_memory(second):
        return False
    try:
        best, *_ = moves(first, second, bits, abilities(options.capability, options.width))
    except LayoutError:
        return False
    return not stays_in_registers(best)


def _has_room(memory: LinearLayout, bits: int, width: int) -> bool:
    """Whether a box has whole rows of the banks, within which a swizzle permutes its chunks; without one it has."""
    box = box_of(memory, bits)
    return not width or (box is not None and prod(box) * bits % (8 * SWIZZLED_BYTES) == 0)


def _boxed(source: SSAValue, options: Options) -> TensorType[Attribute] | None:
    """
    The type of the tile in the best layout from which TMA is the best way to store it, as who binds instructions sees
    it, too; None where there is none.
    """
    tile, layout, bits = (
        cast("TensorType[Attribute]", source.type),
        linear_layout(source.type),
        element_bits(source.type),
    )
    assert layout is not None
    assert bits is not None
    most = abilities(options.capability).shared_bytes
    stores_matrices = abilities(options.capability).matrix_stores
    for width, memory, access in store_staging(layout, bits, matrix_stores=stores_matrices):
        fits = (bits << memory.output_bits) // 8 <= most
        transfer = Transfer(memory, bits, VECTOR_BYTES, options.capability, layout.input_size(WARP) * WARP_SIZE)
        if fits and not access.needs_select and is_stored_by_tma(transfer) and _has_room(memory, bits, width):
            smem = LayoutAttr.of("smem", form=Swizzled(width))
            return TensorType(tile.element_type, tile.get_shape(), smem)
    return None
