"""
Views, pointers and accesses.

    %p = make_partition_view %A : partition_view<tile=(128x64)>      %x = nv_tileaa.tiled_load %A[%i, %k]
    %x, %t = load_view_tko weak %p[%i, %k] token = %u            ->

The numbers of a tile are its coordinates. Weak accesses of an array are in the order of the program below, which is one
of the orders that tokens allow; so tokens go. What a view pads with other than zeros is chosen behind the load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan, prod
from typing import Any, cast

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, MemRefType, TensorType, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.analysis.tile_ir.tile_numbers import known
from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.enumerations import PaddingAttr
from tileas_xdsl.dialects.cuda_tile.ops import OPS
from tileas_xdsl.dialects.cuda_tile.types import (
    GatherScatterViewType,
    PartitionViewType,
    StridedViewType,
    TensorViewType,
    TileViewType,
    plain,
)
from tileas_xdsl.dialects.nv_tileaa.atomics import AtomicRmwOp, GatherLoadOp, ScatterStoreOp, TiledAtomicRmwOp
from tileas_xdsl.dialects.nv_tileaa.attributes import MemScopeAttr, MemSemanticAttr, RmwModeAttr
from tileas_xdsl.dialects.nv_tileaa.memory import AccessOp, LoadOp, MakeMemrefOp, TiledLoadOp, TiledStoreOp
from tileas_xdsl.dialects.nv_tileaa.structure import BroadcastOp, SplatOp
from tileas_xdsl.dialects.nv_tileaa.types import ArrayType
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr
from tileas_xdsl.dialects.tiles.policies import MemScope, MemSemantic, RmwMode
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.elementwise import compared
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.products import takes_as_it_is
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.shapes import generated, permuted
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.state import (
    INDEX,
    Conversion,
    converts,
    held,
    kept_axes,
    tile_shape,
)

Groups = list[SSAValue | list[SSAValue] | None]
"""Groups of operands."""
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
    """The accesses say the coordinates of their tiles."""


def _tiles(view: SSAValue) -> tuple[TileViewType, SSAValue]:
    """The type of a view, and the array that it is of."""
    assert isinstance(view.type, TileViewType)
    assert isinstance(view.owner, Operation)
    return view.type, view.owner.operands[0]


@converts("get_index_space_shape")
def _count_tiles(to: Conversion, op: TileIROp) -> None:
    kind, array = _tiles(op.operands[0])
    steps = plain(kind.steps) if isinstance(kind, StridedViewType) else kind.get_tile_shape()
    for result, axis, extent in zip(op.results, kind.get_dim_map(), steps, strict=True):
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


@dataclass(frozen=True)
class TileAt:
    """A tile of an array, along the axes of the array: which one it is, and its extents."""

    base: SSAValue
    coordinates: Sequence[SSAValue]
    extents: tuple[int, ...]
    order: tuple[int, ...]
    """For each axis of the access that is more than 1 long, the axis of the array."""

    @property
    def axes(self) -> range:
        """The axes that are accessed: not those of extent 1 in front of two others."""
        longer = (axis for axis, extent in enumerate(self.extents) if extent != 1)
        return range(min(next(longer, 0), max(0, len(self.extents) - 2)), len(self.extents))

    @property
    def shape(self) -> list[int]:
        """The extents along the axes that are accessed."""
        return [self.extents[axis] for axis in self.axes]

    @property
    def long(self) -> list[int]:
        """The axes that are more than 1 long."""
        return [axis for axis in self.axes if self.extents[axis] != 1]


@converts("load_view_tko")
def _load(to: Conversion, op: TileIROp) -> None:
    require_weak(to, op)
    kind, array = _tiles(op.operand("view"))
    shape = kind.get_tile_shape()
    element = to.element(cast(Any, op.results[0].type).element_type)
    if not isinstance(kind, PartitionViewType):
        value = _gathered(to, to.bases[array], _places(to, op, kind), TensorType(element, shape), None)
        to.give(op, _padded_lanes(to, op, value, kind, array))
        return
    if prod(shape) == 1:
        to.give(op, loaded_number(to, to.bases[array], _coordinates(to, op, kind), element))
        return
    value = to.reshaped(load_tile(to, op, _tile_of(to, op, kind, array), element, _inside(op, kind), None), held(shape))
    to.give(op, _padded(to, op, value, kind, array))


def _tile_of(to: Conversion, op: TileIROp, kind: TileViewType, array: SSAValue) -> TileAt:
    shape, places = kind.get_tile_shape(), kind.get_dim_map()
    extents = tuple(shape[places.index(axis)] for axis in range(len(places)))
    order = tuple(axis for axis in places if extents[axis] != 1)
    return TileAt(to.bases[array], _coordinates(to, op, kind), extents, order)


def load_tile(
    to: Conversion, op: TileIROp, tile: TileAt, element: Attribute, said: dict[str, Attribute], mask: SSAValue | None
) -> SSAValue:
    """The tile, with its long axes in the order of the access."""
    kind = TensorType(element, tile.shape, _storage(op))
    made = access(
        TiledLoadOp, [tile.base, list(tile.coordinates), _in_order(to, tile, mask), None, []], [kind, []], said
    )
    value, long = to.result(made), tile.long
    if long == list(tile.order):
        return value
    value = to.reshaped(value, [tile.extents[axis] for axis in long])
    return permuted(to, value, [long.index(axis) for axis in tile.order])


def _in_order(to: Conversion, tile: TileAt, value: SSAValue | None) -> SSAValue | None:
    """A tile of an access as the array has it."""
    if value is None:
        return None
    if tile.long != list(tile.order):
        value = to.reshaped(value, [tile.extents[axis] for axis in tile.order])
        value = permuted(to, value, [tile.order.index(axis) for axis in tile.long])
    return to.reshaped(value, tile.shape)


def loaded_number(to: Conversion, base: SSAValue, places: Sequence[SSAValue], element: Attribute) -> SSAValue:
    """One element of an array."""
    return to.result(access(LoadOp, [base, list(places), None, None, []], [element, []], {}))


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


RESHAPING = (OPS["reshape"], OPS["permute"])


def _storage(op: TileIROp) -> Attribute:
    """Shared memory for a tile that products take as it is."""
    users = list(_users(op.results[0]))
    is_factor = bool(users) and all(takes_as_it_is(user, place) for user, place in users)
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
    value = to.value(op.operand("tile"))
    if isinstance(kind, PartitionViewType):
        put_tile(to, _tile_of(to, op, kind, array), value, None, _inside(op, kind))
        return
    value = to.reshaped(value, kind.get_tile_shape())
    to.add(access(ScatterStoreOp, [to.bases[array], value, _places(to, op, kind), None, []], [[]], {}))


def put_tile(
    to: Conversion, tile: TileAt, value: SSAValue, mask: SSAValue | None, said: dict[str, Attribute] | None = None
) -> None:
    """Store a tile."""
    stored, wanted = _in_order(to, tile, value), _in_order(to, tile, mask)
    to.add(access(TiledStoreOp, [tile.base, stored, list(tile.coordinates), wanted, []], [[]], said or {}))


@converts("atomic_red_view_tko")
def _reduce_into(to: Conversion, op: TileIROp) -> None:
    kind, array = _tiles(op.operand("view"))
    value = to.value(op.operand("value"))
    if isinstance(kind, PartitionViewType):
        _combine(to, op, _tile_of(to, op, kind, array), value)
        return
    value = to.reshaped(value, kind.get_tile_shape())
    to.add(updating(op, AtomicRmwOp, [to.bases[array], value, _places(to, op, kind), None, []]))


def _combine(to: Conversion, op: TileIROp, tile: TileAt, value: SSAValue) -> None:
    """Combine a tile with what is there, element by element."""
    stored = _in_order(to, tile, value)
    assert stored is not None
    to.add(updating(op, TiledAtomicRmwOp, [tile.base, stored, list(tile.coordinates), None, []]))


def updating(op: TileIROp, kind: type[AccessOp], operands: Groups) -> AccessOp:
    """An atomic access like `op`."""
    value, mode = cast(SSAValue, operands[1]), RmwMode(op.word("mode"))
    if kind is TiledAtomicRmwOp and mode is RmwMode.ADDF:
        mode = RmwMode.ADD
    return access(kind, operands, [value.type, []], {"rmw_mode": RmwModeAttr(mode)} | ordered(op))


SCOPES = {"tl_blk": MemScope.TL_BLK, "device": MemScope.GPU, "sys": MemScope.SYS}


def ordered(op: TileIROp) -> dict[str, Attribute]:
    """How an access orders others, as it says."""
    word = op.word("memory_ordering_semantics")
    if word == "weak":
        return {}
    scope = MemScopeAttr(SCOPES[op.word("memory_scope")])
    return {"mem_semantic": MemSemanticAttr(MemSemantic(word)), "mem_scope": scope}


# Lanes ----------------------------------------------------------------------------------------------------------------


def _places(to: Conversion, op: TileIROp, kind: TileViewType) -> list[SSAValue]:
    """The coordinates of each element of a tile that does not lie beside others, along each axis of the array."""
    shape, indices, places = kind.get_tile_shape(), op.group("index"), kind.get_dim_map()
    steps = plain(kind.steps) if isinstance(kind, StridedViewType) else shape
    found: dict[int, SSAValue] = {}
    for axis, index in enumerate(indices):
        if isinstance(kind, GatherScatterViewType) and axis == kind.sparse_dim.data:
            column = [extent if other == axis else 1 for other, extent in enumerate(shape)]
            found[places[axis]] = as_indices(to, _spread_out(to, to.value(index), column, shape))
            continue
        start = to.scaled(to.index(index, is_signed=False), steps[axis])
        own = as_indices(to, generated(to, TensorType(i32, shape), axis))
        wide = to.result(SplatOp.create(operands=[start], result_types=[own.type]))
        found[places[axis]] = to.result(arith.AddiOp(own, wide))
    return [found[axis] for axis in range(len(places))]


def _spread_out(to: Conversion, value: SSAValue, source: Sequence[int], result: Sequence[int]) -> SSAValue:
    """A tile of the shape `source`, its extents of 1 repeated, with all its axes."""
    value = to.reshaped(value, source)
    kind = TensorType(cast(Any, value.type).element_type, result)
    same = tuple(source) == tuple(result)
    return value if same else to.result(BroadcastOp.create(operands=[value], result_types=[kind]))


def as_indices(to: Conversion, value: SSAValue) -> SSAValue:
    """A tile of integers as indices."""
    return to.result(arith.IndexCastOp(value, TensorType(INDEX, tile_shape(value))))


def _gathered(
    to: Conversion, base: SSAValue, places: list[SSAValue], kind: Attribute, mask: SSAValue | None
) -> SSAValue:
    """What lies at the coordinates of each lane, zeros outside of the array and where the mask is false."""
    return to.result(access(GatherLoadOp, [base, places, mask, None, []], [kind, []], {}))


def _padded_lanes(to: Conversion, op: TileIROp, value: SSAValue, kind: TileViewType, array: SSAValue) -> SSAValue:
    """What was gathered, held as such tiles are. Refuses a padding that is not zero."""
    if isinstance(kind.padding, PaddingAttr) and kind.padding.data != "zero":
        to.refuse(op, f"pads with {kind.padding.data} tiles that do not lie side by side", "pad with zeros, and select")
    return to.reshaped(value, held(kind.get_tile_shape()))


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


# Tokens ---------------------------------------------------------------------------------------------------------------


@converts("make_token", "join_tokens")
def _token(to: Conversion, op: TileIROp) -> None:
    """Weak accesses are ordered by the program."""
