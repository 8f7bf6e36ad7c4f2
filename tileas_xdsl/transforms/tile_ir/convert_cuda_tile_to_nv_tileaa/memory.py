"""
Views, pointers and accesses.

    %p = make_partition_view %A : partition_view<tile=(128x64)>      %x = nv_tileaa.tiled_load %A[%i, %k]
    %x, %t = load_view_tko weak %p[%i, %k] token = %u            ->

The numbers of a tile are its coordinates. Weak accesses of an array are in the order of the program below, which is one
of the orders that tokens allow; so tokens go. What a view pads with other than zeros is chosen behind the load.
"""

from __future__ import annotations

from math import inf, nan
from typing import Any, cast

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, MemRefType, TensorType, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.enumerations import PaddingAttr
from tileas_xdsl.dialects.cuda_tile.ops import OPS
from tileas_xdsl.dialects.cuda_tile.types import PartitionViewType, TensorViewType, TileViewType
from tileas_xdsl.dialects.nv_tileaa.memory import (
    AccessOp,
    AddPtrOp,
    LoadOp,
    MakeMemrefOp,
    StoreOp,
    TiledLoadOp,
    TiledStoreOp,
)
from tileas_xdsl.dialects.nv_tileaa.structure import SplatOp
from tileas_xdsl.dialects.nv_tileaa.types import ArrayType
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.arrays import known
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.elementwise import compared
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.shapes import generated, permuted
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.state import (
    INDEX,
    Conversion,
    converts,
    held,
    kept_axes,
)

PADDING = {"zero": 0.0, "neg_zero": -0.0, "nan": nan, "pos_inf": inf, "neg_inf": -inf}

# Arrays ---------------------------------------------------------------------------------------------------------------


@converts("make_tensor_view")
def _array(to: Conversion, op: TileIROp) -> None:
    pointer = known(op.operand("base"))
    if pointer in to.arrays:
        to.bases[op.results[0]] = to.values[pointer]
        return
    kind = op.results[0].type
    assert isinstance(kind, TensorViewType)
    sizes, strides = ([to.index(size) for size in op.group(name)] for name in ("dynamicShape", "dynamicStrides"))
    made = ArrayType.of(kind.get_shape(), kind.element_type, 1, kind.get_strides())
    base = to.value(op.operand("base"))
    to.bases[op.results[0]] = to.result(MakeMemrefOp.build(operands=[base, None, sizes, strides], result_types=[made]))


@converts("make_partition_view", "make_strided_view", "make_gather_scatter_view")
def _view(to: Conversion, op: TileIROp) -> None:
    if not isinstance(op.results[0].type, PartitionViewType):
        to.refuse(op, "makes a view whose tiles do not lie side by side", "use tiles of a partition view")


def _tiles(view: SSAValue) -> tuple[TileViewType, SSAValue]:
    """The type of a view, and the array that it is of."""
    assert isinstance(view.type, TileViewType)
    assert isinstance(view.owner, Operation)
    return view.type, view.owner.operands[0]


@converts("get_index_space_shape")
def _count_tiles(to: Conversion, op: TileIROp) -> None:
    kind, array = _tiles(op.operands[0])
    for result, axis, extent in zip(op.results, kind.get_dim_map(), kind.get_tile_shape(), strict=True):
        if result.first_use is not None:
            to.indices[result] = tiles_along(to, array, axis, extent)


def tiles_along(to: Conversion, array: SSAValue, axis: int, tile: int) -> SSAValue:
    """The number of tiles of so many elements along an axis of an array, as an index."""
    assert isinstance(array.type, TensorViewType)
    extent = array.type.get_shape()[axis]
    if extent != DYNAMIC_INDEX:
        return to.result(arith.ConstantOp(IntegerAttr(-(-extent // tile), INDEX)))
    assert isinstance(array.owner, OPS["make_tensor_view"])
    pointer = known(array.owner.operand("base"))
    if pointer in to.arrays:
        return to.number(pointer, f"tiles {axis} by {tile}", INDEX)
    size = extent_of(to, array, axis)
    return to.result(arith.CeilDivUIOp(size, to.result(arith.ConstantOp(IntegerAttr(tile, INDEX)))))


def extent_of(to: Conversion, array: SSAValue, axis: int) -> SSAValue:
    """The extent of an array along an axis, as an index."""
    assert isinstance(array.type, TensorViewType)
    extents = array.type.get_shape()
    if extents[axis] != DYNAMIC_INDEX:
        return to.result(arith.ConstantOp(IntegerAttr(extents[axis], INDEX)))
    base = to.bases[array]
    if isinstance(base.type, MemRefType):
        place = to.result(arith.ConstantOp(IntegerAttr(axis, INDEX)))
        return to.result(memref.DimOp(base, place))
    assert isinstance(array.owner, OPS["make_tensor_view"])
    dynamic = [each for each, extent in enumerate(extents) if extent == DYNAMIC_INDEX]
    return to.index(array.owner.group("dynamicShape")[dynamic.index(axis)])


@converts("get_tensor_shape")
def _shape(to: Conversion, op: TileIROp) -> None:
    for axis, result in enumerate(op.results):
        if result.first_use is not None:
            to.indices[result] = extent_of(to, op.operands[0], axis)


# Tiles ----------------------------------------------------------------------------------------------------------------


@converts("load_view_tko")
def _load(to: Conversion, op: TileIROp) -> None:
    require_weak(to, op)
    kind, array = _tiles(op.operand("view"))
    shape = kind.get_tile_shape()
    wanted = held(shape)
    axes = _loaded_axes(kind)
    order = [kind.get_dim_map()[axis] for axis in axes]
    extents = [shape[kind.get_dim_map().index(axis)] for axis in sorted(order)]
    element = to.element(cast(Any, op.results[0].type).element_type)
    tile = TensorType(element, extents, _storage(op))
    base = to.bases[array]
    coordinates = _coordinates(to, op, kind)
    said = _inside(op, kind)
    made = access(TiledLoadOp, [base, coordinates, None, None, []], [tile, []], said)
    value = to.result(made)
    ranked = sorted(order)
    value = permuted(to, value, [ranked.index(axis) for axis in order])
    value = to.reshaped(value, wanted)
    to.give(op, _padded(to, op, value, kind, array))


def _loaded_axes(kind: TileViewType) -> list[int]:
    """The axes of the tile that are loaded: without those of extent 1 in front of the array that are in front here."""
    shape, dim_map = kind.get_tile_shape(), kind.get_dim_map()
    left = next((axis for axis, extent in enumerate(shape[:-2]) if extent != 1), max(0, len(shape) - 2))
    while left and sorted(dim_map[:left]) != list(range(left)):
        left -= 1
    return list(range(left, len(shape)))


def _coordinates(to: Conversion, op: TileIROp, kind: TileViewType) -> list[SSAValue]:
    """The numbers of the tile along the axes of the array."""
    indices = list(op.group("index"))
    places = kind.get_dim_map()
    return [to.index(indices[places.index(axis)], is_signed=False) for axis in range(len(places))]


def _inside(op: TileIROp, kind: TileViewType) -> dict[str, Attribute]:
    """What the access promises of its axes, in the order of the array."""
    given = op.properties.get("inbounds")
    if not isinstance(given, DenseArrayBase):
        return {}
    promised = [bool(each) for each in cast("DenseArrayBase[Any]", given).get_values()]
    if not any(promised):
        return {}
    places = kind.get_dim_map()
    return {"in_bounds": DenseArrayBase.from_list(i1, [promised[places.index(axis)] for axis in range(len(places))])}


FACTORS = (OPS["mmaf"], OPS["mmai"])
RESHAPING = (OPS["reshape"], OPS["permute"])


def _storage(op: TileIROp) -> Attribute:
    """Shared memory for a tile that products take as it is."""
    users = list(_users(op.results[0]))
    is_factor = bool(users) and all(isinstance(user, FACTORS) and place < 2 for user, place in users)
    return LayoutAttr.of("smem") if is_factor else TensorType(i1, [1]).encoding


def _users(value: SSAValue) -> list[tuple[Operation, int]]:
    """The uses of a tile, through ops that only see it otherwise."""
    found: list[tuple[Operation, int]] = []
    for use in value.uses:
        if isinstance(use.operation, RESHAPING):
            found += _users(use.operation.results[0])
        else:
            found.append((use.operation, use.index))
    return found


def _padded(to: Conversion, op: TileIROp, value: SSAValue, kind: TileViewType, array: SSAValue) -> SSAValue:
    """The tile with what it is padded with: loads give zeros."""
    if not isinstance(kind.padding, PaddingAttr) or kind.padding.data == "zero":
        return value
    shape = kind.get_tile_shape()
    axes = [axis for axis in kept_axes(shape) if not _is_whole(op, kind, array, axis)]
    inside: SSAValue | None = None
    for axis in axes:
        fits = _lanes_inside(to, op, kind, array, axis, kept_axes(shape).index(axis))
        inside = fits if inside is None else to.result(arith.AndIOp(inside, fits))
    if inside is None:
        return value
    return to.result(arith.SelectOp(inside, value, to.constant(PADDING[kind.padding.data], value.type)))


def _is_whole(op: TileIROp, kind: TileViewType, array: SSAValue, axis: int) -> bool:
    """Whether no tile sticks out along an axis, as the access promises or the extent says."""
    given = op.properties.get("inbounds")
    if isinstance(given, DenseArrayBase) and cast("DenseArrayBase[Any]", given).get_values()[axis]:
        return True
    assert isinstance(array.type, TensorViewType)
    extent = array.type.get_shape()[kind.get_dim_map()[axis]]
    return kind.get_tile_shape()[axis] == 1 or (extent != DYNAMIC_INDEX and not extent % kind.get_tile_shape()[axis])


def _lanes_inside(to: Conversion, op: TileIROp, kind: TileViewType, array: SSAValue, axis: int, place: int) -> SSAValue:
    """For each element of the tile, whether it lies in the array along an axis."""
    shape = held(kind.get_tile_shape())
    places = generated(to, TensorType(i32, shape), place)
    start = to.scaled(to.index(op.group("index")[axis], is_signed=False), kind.get_tile_shape()[axis])
    extent = extent_of(to, array, kind.get_dim_map()[axis])
    left = to.difference(extent, start)
    number = to.result(arith.IndexCastOp(left, i32))
    wide = to.result(SplatOp.create(operands=[number], result_types=[TensorType(i32, shape)]))
    return compared(to, places, wide, "slt")


@converts("store_view_tko")
def _store(to: Conversion, op: TileIROp) -> None:
    require_weak(to, op)
    kind, array = _tiles(op.operand("view"))
    shape, places = kind.get_tile_shape(), kind.get_dim_map()
    axes = _loaded_axes(kind)
    value = to.reshaped(to.value(op.operand("tile")), [shape[axis] for axis in axes])
    order = [places[axis] for axis in axes]
    value = permuted(to, value, [order.index(axis) for axis in sorted(order)])
    operands: Groups = [to.bases[array], value, _coordinates(to, op, kind), None, []]
    to.add(access(TiledStoreOp, operands, [[]], _inside(op, kind)))


Groups = list[SSAValue | list[SSAValue] | None]


def access(
    kind: type[AccessOp],
    operands: Groups,
    results: list[Attribute | list[Attribute]],
    said: dict[str, Attribute],
) -> AccessOp:
    """An access without tokens: groups of operands and results, and what it says."""
    return kind.build(operands=operands, result_types=results, properties=said, regions=[[]], successors=[[]])


def require_weak(to: Conversion, op: TileIROp) -> None:
    """Refuse an access that other blocks may meet: what orders those is not built below."""
    word = op.word("memory_ordering_semantics")
    if word != "weak":
        to.refuse(op, f"is {word}, and accesses that meet those of other blocks are not converted", "make it weak")


# Pointers -------------------------------------------------------------------------------------------------------------


@converts("offset")
def _move(to: Conversion, op: TileIROp) -> None:
    pointer, offset = to.value(op.operand("ptr")), to.value(op.operand("offset"))
    to.give(op, to.result(AddPtrOp.create(operands=[pointer, offset], result_types=[pointer.type])))


def _optional(to: Conversion, op: TileIROp, name: str) -> SSAValue | None:
    value = op.optional(name)
    return None if value is None else to.value(value)


@converts("load_ptr_tko")
def _gather(to: Conversion, op: TileIROp) -> None:
    require_weak(to, op)
    mask, other = _optional(to, op, "mask"), _optional(to, op, "paddingValue")
    operands: Groups = [to.value(op.operand("source")), [], mask, other, []]
    to.give(op, to.result(access(LoadOp, operands, [to.type(op.results[0].type), []], {})))


@converts("store_ptr_tko")
def _scatter(to: Conversion, op: TileIROp) -> None:
    require_weak(to, op)
    operands: Groups = [
        to.value(op.operand("destination")),
        to.value(op.operand("value")),
        [],
        _optional(to, op, "mask"),
        [],
    ]
    to.add(access(StoreOp, operands, [[]], {}))


# Tokens ---------------------------------------------------------------------------------------------------------------


@converts("make_token", "join_tokens")
def _token(to: Conversion, op: TileIROp) -> None:
    """Weak accesses are ordered by the program."""
