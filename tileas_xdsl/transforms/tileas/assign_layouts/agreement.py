"""Ops whose tiles differ in shape or element type: layouts that agree, and conversions where they did not."""

from __future__ import annotations

from xdsl.ir import Operation

from tileas_xdsl.dialects.nv_tileaa.structure import BroadcastOp
from tileas_xdsl.layouts.forms import Slice
from tileas_xdsl.transforms.tileas.layout_rules import (
    EXPANSIONS,
    compute_in,
    forms,
    has_rule,
    in_registers,
    is_elementwise,
    new_axis,
    result_form,
    tiles_of,
)


def make_agree(function: Operation) -> None:
    """Let each op that has a rule follow it."""
    for op in [op for op in function.walk() if has_rule(op) and not agrees(op)]:
        _repair(op)


def agrees(op: Operation) -> bool:
    """Whether an op follows its rule."""
    inside = set(forms(tiles_of(op)))
    return len(inside) == 1 and result_form(op, next(iter(inside))) == in_registers(op.results[0])


def _repair(op: Operation) -> None:
    """
    An expansion takes a slice of what it gives, and a broadcast the layout of its result: what it takes is smaller.
    Other ops take the layout of their first tile, or where that does not fit them all, that of their result.
    """
    result = in_registers(op.results[0])
    assert result is not None
    axis = new_axis(op) if isinstance(op, EXPANSIONS) else None
    if isinstance(op, BroadcastOp) and compute_in(op, result):
        return
    first = forms(tiles_of(op))[0] if axis is None else Slice(axis, result)
    if not compute_in(op, first) and is_elementwise(op):
        compute_in(op, result)
