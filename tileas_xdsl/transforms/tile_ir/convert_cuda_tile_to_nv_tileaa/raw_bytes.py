"""
Tiles as their bytes, the lowest first, and back: a byte is a number shifted to the right, and a number the sum of its
bytes shifted to the left.

    %b = pack %x : tile<8xi32> -> tile<32xi8>      ->     %s = arith.shrui %x (as 8x4), 8 * (number of the byte)
                                                          %b = arith.trunci %s, as 32 bytes

Numbers of less than 8 bits lie beside each other in a byte.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import FixedBitwidthType, IntegerAttr, IntegerType, TensorType, i8, i32
from xdsl.ir import Block, Region, SSAValue

from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.nv_tileaa.compute import ReduceOp
from tileas_xdsl.dialects.nv_tileaa.regions import YieldOp
from tileas_xdsl.dialects.nv_tileaa.structure import BroadcastOp
from tileas_xdsl.dialects.nv_tileaa.types import element_type_of
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.elementwise import reread
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.shapes import generated
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.state import (
    Conversion,
    converts,
    held,
    shape_of,
    tile_shape,
)

BYTE = 8


@converts("pack")
def _pack(to: Conversion, op: TileIROp) -> None:
    (count,) = shape_of(op.operands[0])
    numbers = _as_integers(to, to.reshaped(to.value(op.operands[0]), (count,)))
    width = _width(numbers)
    found = _cut(to, numbers, BYTE) if width > BYTE else _joined(to, numbers, BYTE) if width < BYTE else numbers
    to.give(op, to.reshaped(found, held(shape_of(op.results[0]))))


@converts("unpack")
def _unpack(to: Conversion, op: TileIROp) -> None:
    (count,) = shape_of(op.operands[0])
    raw = to.reshaped(to.value(op.operands[0]), (count,))
    element = to.element(cast(Any, op.results[0].type).element_type)
    width = _bits(element)
    found = _joined(to, raw, width) if width > BYTE else _cut(to, raw, width) if width < BYTE else raw
    if element != element_type_of(found.type):
        found = reread(to, found, element)
    to.give(op, to.reshaped(found, held(shape_of(op.results[0]))))


def _as_integers(to: Conversion, tile: SSAValue) -> SSAValue:
    """Numbers as integers of their bits."""
    element = element_type_of(tile.type)
    return tile if isinstance(element, IntegerType) else reread(to, tile, IntegerType(_bits(element)))


def _bits(element: object) -> int:
    assert isinstance(element, FixedBitwidthType)
    return element.bitwidth


def _width(tile: SSAValue) -> int:
    return _bits(element_type_of(tile.type))


def _cut(to: Conversion, numbers: SSAValue, width: int) -> SSAValue:
    """Each number as pieces of so many bits, the lowest first, in one row."""
    (count,), before = tile_shape(numbers), _width(numbers)
    shape = count, before // width
    column = to.reshaped(numbers, (count, 1))
    spread = to.result(BroadcastOp.create(operands=[column], result_types=[_tile(before, *shape)]))
    moved = to.result(arith.ShRUIOp(spread, _places(to, before, shape, width)))
    pieces = arith.TruncIOp.create(operands=[moved], result_types=[_tile(width, *shape)])
    return to.reshaped(to.result(pieces), (count * shape[1],))


def _joined(to: Conversion, pieces: SSAValue, width: int) -> SSAValue:
    """Numbers of so many bits of pieces that follow each other, the lowest first."""
    (count,), before = tile_shape(pieces), _width(pieces)
    shape = count * before // width, width // before
    wide = arith.ExtUIOp.create(operands=[to.reshaped(pieces, shape)], result_types=[_tile(width, *shape)])
    moved = to.result(arith.ShLIOp(to.result(wide), _places(to, width, shape, before)))
    kind = IntegerType(width)
    body = Block(arg_types=[kind, kind])
    with to.at(body):
        to.add(YieldOp.create(operands=[to.result(arith.OrIOp(body.args[0], body.args[1]))]))
    made = ReduceOp.create(
        operands=[moved],
        result_types=[_tile(width, shape[0])],
        properties={"axis": IntegerAttr(1, i32)},
        regions=[Region(body)],
    )
    return to.result(made)


def _places(to: Conversion, width: int, shape: tuple[int, int], step: int) -> SSAValue:
    """For each piece, at which bit of its number it begins."""
    numbers = generated(to, _tile(width, *shape), 1)
    return to.result(arith.MuliOp(numbers, to.constant(step, numbers.type)))


def _tile(width: int, *shape: int) -> TensorType[Any]:
    return TensorType(i8 if width == BYTE else IntegerType(width), shape)
