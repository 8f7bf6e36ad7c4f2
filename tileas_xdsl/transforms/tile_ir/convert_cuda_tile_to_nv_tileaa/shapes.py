"""Shapes, reductions and scans."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, UnitAttr, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tileas_xdsl.analysis.tile_ir.tile_numbers import constant_of
from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.nv_tileaa.compute import ReduceOp, ScanOp
from tileas_xdsl.dialects.nv_tileaa.regions import YieldOp
from tileas_xdsl.dialects.nv_tileaa.structure import CatOp, ExtractSliceOp, GenerateOp, PermuteOp
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.elementwise import resized
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.lanes import base_of
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.state import (
    CONVERT,
    Conversion,
    converts,
    held,
    kept_axes,
    shape_of,
    tile_shape,
)


def _number(op: TileIROp, name: str) -> int:
    return cast("IntegerAttr[Any]", op.properties[name]).value.data


def _whole(to: Conversion, value: SSAValue) -> SSAValue:
    """A tile with all its axes."""
    return to.reshaped(to.value(value), shape_of(value))


def _give_whole(to: Conversion, op: TileIROp, value: SSAValue) -> None:
    """The result is a tile with all its axes, and is held as such tiles are."""
    to.give(op, to.reshaped(value, held(shape_of(op.results[0]))))


# Shapes ---------------------------------------------------------------------------------------------------------------


@converts("reshape")
def _reshape(to: Conversion, op: TileIROp) -> None:
    if base_of(op.results[0]) in to.arrays:
        return
    to.give(op, to.reshaped(to.value(op.operands[0]), held(shape_of(op.results[0]))))


@converts("broadcast")
def _broadcast(to: Conversion, op: TileIROp) -> None:
    if base_of(op.results[0]) in to.arrays:
        return
    source, result = op.operands[0], op.results[0]
    to.give(op, to.spread(to.value(source), shape_of(source), shape_of(result)))


@converts("permute")
def _permute(to: Conversion, op: TileIROp) -> None:
    order = [int(axis) for axis in cast("DenseArrayBase[Any]", op.properties["permutation"]).get_values()]
    _give_whole(to, op, permuted(to, _whole(to, op.operands[0]), order))


def permuted(to: Conversion, value: SSAValue, order: list[int]) -> SSAValue:
    """Axis i of what comes out is axis `order[i]` of `value`."""
    if order == sorted(order):
        return value
    kind, shape = cast("TensorType[Any]", value.type), tile_shape(value)
    result = TensorType(kind.element_type, [shape[axis] for axis in order], kind.encoding)
    said = {"permutation": DenseArrayBase.from_list(i64, order)}
    return to.result(PermuteOp.create(operands=[value], result_types=[result], properties=said))


@converts("cat")
def _cat(to: Conversion, op: TileIROp) -> None:
    operands = [_whole(to, operand) for operand in op.operands]
    kind = TensorType(cast("TensorType[Any]", operands[0].type).element_type, shape_of(op.results[0]))
    said = {"axis": IntegerAttr(_number(op, "dim"), i32)}
    _give_whole(to, op, to.result(CatOp.create(operands=operands, result_types=[kind], properties=said)))


@converts("extract")
def _extract(to: Conversion, op: TileIROp) -> None:
    source, shape = _whole(to, op.operands[0]), shape_of(op.results[0])
    kind = TensorType(cast("TensorType[Any]", source.type).element_type, shape)
    indices = op.group("indices")
    numbers = [constant_of(index) for index in indices]
    if None in numbers:
        offsets = [
            to.scaled(to.index(index, is_signed=False), extent) for index, extent in zip(indices, shape, strict=True)
        ]
        made = ExtractSliceOp.build(operands=[source, offsets, [], []], result_types=[kind])
    else:
        begins = [(number or 0) * extent for number, extent in zip(numbers, shape, strict=True)]
        said = {"static_offsets": DenseArrayBase.from_list(i64, begins)}
        made = ExtractSliceOp.build(operands=[source, [], [], []], result_types=[kind], properties=said)
    _give_whole(to, op, to.result(made))


@converts("iota")
def _count(to: Conversion, op: TileIROp) -> None:
    kind = to.type(op.results[0].type)
    is_tile = isinstance(kind, TensorType)
    to.give(op, generated(to, cast("TensorType[Any]", kind), 0) if is_tile else to.constant(0, kind))


def generated(to: Conversion, kind: TensorType[Any], axis: int) -> SSAValue:
    """The coordinate of each element along an axis."""
    shape = kind.get_shape()
    body = Block(arg_types=[TensorType(i32, [])] * len(shape))
    with to.at(body):
        to.add(YieldOp.create(operands=[body.args[axis]]))
    made = GenerateOp.create(result_types=[TensorType(i32, shape)], regions=[Region(body)])
    return resized(to, to.result(made), kind)


# Reductions -----------------------------------------------------------------------------------------------------------


@converts("reduce")
def _reduce(to: Conversion, op: TileIROp) -> None:
    axis, shape = _number(op, "dim"), shape_of(op.operands[0])
    sources = [to.value(operand) for operand in op.operands]
    wanted = held(shape_of(op.results[0]))
    if shape[axis] == 1:
        to.give(op, *(to.reshaped(source, wanted) for source in sources))
        return
    place = kept_axes(shape).index(axis)
    if len(held(shape)) == 1:
        sources, place = [to.reshaped(source, (1, *held(shape))) for source in sources], 1
    kinds = [cast("TensorType[Any]", source.type) for source in sources]
    rest = [extent for number, extent in enumerate(kinds[0].get_shape()) if number != place]
    made = ReduceOp.create(
        operands=sources,
        result_types=[TensorType(kind.element_type, rest) for kind in kinds],
        properties={"axis": IntegerAttr(place, i32)},
        regions=[_combiner(to, op)],
    )
    to.add(made)
    to.give(op, *(to.reshaped(result, wanted) for result in made.results))


@converts("scan")
def _scan(to: Conversion, op: TileIROp) -> None:
    said: dict[str, Attribute] = {"axis": IntegerAttr(_number(op, "dim"), i32)}
    if _number(op, "reverse"):
        said["reverse"] = UnitAttr()
    sources = [_whole(to, operand) for operand in op.operands]
    made = ScanOp.create(
        operands=sources,
        result_types=[source.type for source in sources],
        properties=said,
        regions=[_combiner(to, op)],
    )
    to.add(made)
    to.give(op, *(to.reshaped(result, held(shape_of(op.results[0]))) for result in made.results))


def _combiner(to: Conversion, op: TileIROp) -> Region:
    """
    The region of a reduction: Tile IR hands over an element and what is combined so far for each tile in turn, and
    `nv_tileaa` first what is combined so far of all.
    """
    before = op.regions[0].block
    elements, so_far = before.args[::2], before.args[1::2]
    block = Block(arg_types=[to.type(argument.type) for argument in (*so_far, *elements)])
    to.values |= dict(zip((*so_far, *elements), block.args, strict=True))
    with to.at(block):
        for inner in before.ops:
            if inner is before.last_op:
                to.add(YieldOp.create(operands=[to.value(operand) for operand in inner.operands]))
            else:
                _convert_inner(to, inner)
    return Region(block)


def _convert_inner(to: Conversion, inner: Operation) -> None:
    outer, to.current = to.current, inner
    assert isinstance(inner, TileIROp)
    CONVERT[type(inner)](to, inner)
    to.current = outer
