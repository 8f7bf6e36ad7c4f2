"""
Masks on their way to other threads: bits that have no address of their own travel as bytes.

    %n = convert_layout %m : R -> S      %b = arith.extui %m : tensor<16x32xi1, R> to tensor<16x32xi8, R>
                                    ->   %c = convert_layout %b : R -> S
                                         %n = arith.trunci %c : tensor<16x32xi8, S> to tensor<16x32xi1, S>
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, i8
from xdsl.ir import Attribute
from xdsl.rewriter import Rewriter

from tileas_xdsl.dialects.nv_tileas.layout import element_bits, form_of
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp


def is_mask(op: ConvertLayoutOp) -> bool:
    """Whether an op converts single bits between registers."""
    forms = [form_of(value.type) for value in (op.source, op.result)]
    return element_bits(op.source.type) == 1 and all(form is not None and form.in_registers for form in forms)


def converted_as_bytes(op: ConvertLayoutOp) -> ConvertLayoutOp:
    """Convert the mask as bytes; the op that does it."""
    wide = arith.ExtUIOp.create(operands=[op.source], result_types=[_of_bytes(op.source.type)])
    moved = ConvertLayoutOp(wide.result, _of_bytes(op.result.type))
    bits = arith.TruncIOp.create(operands=[moved.result], result_types=[op.result.type])
    for new in (wide, moved, bits):
        new.location = op.location
    bits.result.name_hint = op.result.name_hint
    Rewriter.replace_op(op, [wide, moved, bits], [bits.result])
    return moved


def _of_bytes(type_: Attribute) -> TensorType[Attribute]:
    tile = cast("TensorType[Attribute]", type_)
    return TensorType(i8, tile.get_shape(), tile.encoding)
