"""Ops whose tiles differ in shape or element type: layouts that agree, and conversions where they did not."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tileas_xdsl.analysis.threads.tiles import cut_layout, joined_layout, slice_number
from tileas_xdsl.dialects.nv_tileaa.atomics import AtomicRmwOp, ScatterStoreOp
from tileas_xdsl.dialects.nv_tileaa.memory import TiledStoreOp
from tileas_xdsl.dialects.nv_tileaa.structure import BroadcastOp, CatOp, ExtractSliceOp
from tileas_xdsl.dialects.nv_tileas.layout import element_bits, linear_layout
from tileas_xdsl.layouts.forms import LayoutForm, LinearBases, Slice
from tileas_xdsl.transforms.tileas.layout_rules import (
    EXPANSIONS,
    REDUCTIONS,
    SCANS,
    compute_in,
    convert_behind,
    converted,
    forms,
    has_rule,
    in_registers,
    in_whole_rows,
    is_elementwise,
    new_axis,
    result_form,
    shape_of,
    tiles_of,
    with_form,
)


def make_agree(function: Operation) -> None:
    """Let each op that has a rule follow it."""
    for op in list(function.walk()):
        if isinstance(op, (*REDUCTIONS, *SCANS)) and len(op.results) > 1:
            _combine_in_one(op)
        elif isinstance(op, CatOp):
            _join(op)
        elif isinstance(op, ExtractSliceOp):
            _cut(op)
        elif has_rule(op) and not agrees(op):
            _repair(op)
        elif isinstance(op, STORES):
            _take_alike(op)


def _combine_in_one(op: Operation) -> None:
    """Tiles that are combined together get the layout of the first, in whole rows."""
    first = in_registers(op.operands[0])
    if first is None:
        return
    form = in_whole_rows(op, first)
    left = result_form(op, form)
    if left is None:
        return
    op.operands = [converted(op, operand, form) for operand in op.operands]
    for result in op.results:
        before = result.type
        convert_behind(op, Rewriter.replace_value_with_new_type(result, with_form(before, left)), before)


def _join(op: CatOp) -> None:
    """Tiles that are put together get the layout of the first, and the result one more bit of the register."""
    first = in_registers(op.sources[0])
    part = linear_layout(op.sources[0].type)
    if first is None or part is None:
        return
    whole = joined_layout(op.axis.value.data, [part] * len(op.sources), shape_of(op.result))
    if whole is None:
        return
    op.operands = [converted(op, operand, first) for operand in op.operands]
    before, wanted = op.result.type, with_form(op.result.type, LinearBases.of(whole))
    convert_behind(op, Rewriter.replace_value_with_new_type(op.result, wanted), before)


def _cut(op: ExtractSliceOp) -> None:
    """A tile that is taken apart gets the layout of the slice, and bits of the register that number slices."""
    part = linear_layout(op.result.type)
    whole = None if part is None else cut_layout(part, shape_of(op.source))
    if whole is None or slice_number(op) is None:
        return
    form = LinearBases.of(whole)
    op.operands = [converted(op, operand, form) if operand is op.source else operand for operand in op.operands]


def agrees(op: Operation) -> bool:
    """Whether an op follows its rule."""
    inside = set(forms(tiles_of(op)))
    return len(inside) == 1 and result_form(op, next(iter(inside))) == in_registers(op.results[0])


def _repair(op: Operation) -> None:
    """
    An expansion takes a slice of what it gives, and a broadcast the layout of its result: what it takes is smaller.
    A reduction or a scan takes whole rows in each warp. Other ops take the layout of their first tile of numbers, for
    masks follow what they mask, or where that does not fit them all, that of their result.
    """
    result = in_registers(op.results[0])
    assert result is not None
    axis = new_axis(op) if isinstance(op, EXPANSIONS) else None
    if isinstance(op, BroadcastOp) and compute_in(op, result):
        return
    if isinstance(op, (*REDUCTIONS, *SCANS)):
        compute_in(op, in_whole_rows(op, forms(tiles_of(op))[0]))
        return
    first = _first_of_numbers(op) or result if axis is None else Slice(axis, result)
    if not compute_in(op, first) and is_elementwise(op):
        compute_in(op, result)


def _first_of_numbers(op: Operation) -> LayoutForm | None:
    """The layout of the first operand that is no mask; that of a mask where the op only computes with masks."""
    tiles = tiles_of(op)
    numbers = [tile for tile in tiles if element_bits(tile.type) != 1]
    if not numbers and element_bits(op.results[0].type) != 1:
        return None
    return in_registers((numbers or tiles)[0])


STORES = (TiledStoreOp, ScatterStoreOp, AtomicRmwOp)


def _take_alike(store: TiledStoreOp | ScatterStoreOp | AtomicRmwOp) -> None:
    """What a store takes besides what is stored gets the layout of that: its mask, and coordinates of lanes."""
    form = in_registers(store.value)
    if form is None:
        return
    store.operands = [
        operand if in_registers(operand) is None else converted(store, operand, form) for operand in store.operands
    ]
    if isinstance(store, AtomicRmwOp) and store.old.type != store.value.type:
        Rewriter.replace_value_with_new_type(store.old, store.value.type)
