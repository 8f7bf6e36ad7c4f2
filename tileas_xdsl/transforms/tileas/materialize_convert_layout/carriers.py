"""
Elements that have no form of their own in memory travel to other threads as integers that have one.

    %n = convert_layout %m : R -> S      %b = arith.extui %m : tensor<16x32xi1, R> to tensor<16x32xi8, R>
                                    ->   %c = convert_layout %b : R -> S
                                         %n = arith.trunci %c : tensor<16x32xi8, S> to tensor<16x32xi1, S>

Bits of a mask travel as bytes; numbers of type index as integers of 64 bits.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType, TensorType, i1, i8, i64
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import Rewriter

from tileas_xdsl.dialects.nv_tileas.layout import form_of
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp
from tileas_xdsl.dialects.tiles.types import element_type_of

CARRIERS: dict[Attribute | None, tuple[IntegerType, type[Operation], type[Operation]]] = {
    i1: (i8, arith.ExtUIOp, arith.TruncIOp),
    IndexType(): (i64, arith.IndexCastOp, arith.IndexCastOp),
}
"""Element -> the integer that carries it, and the ops that make that of it, and it of that."""


def needs_carrier(op: ConvertLayoutOp) -> bool:
    """Whether an op converts such elements between registers."""
    forms = [form_of(value.type) for value in (op.source, op.result)]
    known = element_type_of(op.source.type) in CARRIERS
    return known and all(form is not None and form.in_registers for form in forms)


def carried(op: ConvertLayoutOp) -> ConvertLayoutOp:
    """Convert what carries the elements; the op that does it."""
    carrier, load, unload = CARRIERS[element_type_of(op.source.type)]
    before = load.create(operands=[op.source], result_types=[_with_element(op.source.type, carrier)])
    moved = ConvertLayoutOp(before.results[0], _with_element(op.result.type, carrier))
    behind = unload.create(operands=[moved.result], result_types=[op.result.type])
    for new in (before, moved, behind):
        new.location = op.location
    behind.results[0].name_hint = op.result.name_hint
    Rewriter.replace_op(op, [before, moved, behind], behind.results)
    return moved


def _with_element(type_: Attribute, element: Attribute) -> TensorType[Attribute]:
    tile = cast("TensorType[Attribute]", type_)
    return TensorType(element, tile.get_shape(), tile.encoding)
