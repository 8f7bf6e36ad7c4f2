"""
Function arguments that name arrays by types of the tile dialects: arrays with strides, tiled views, pointers.

Each is an object of its own. It holds a copy of the array that the caller gives, or small integers without one. A tiled
view says nothing about the size of its array, so a run needs the array. A check assumes 1,024 tiles along each axis,
and 65,536 elements for a dynamic extent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, BlockArgument

from tileas_xdsl.dialects.nv_tileaa.types import ArrayType, PointerType
from tileas_xdsl.machine.arguments import ArgumentError, default_array, dynamic_sizes_missing, name_of
from tileas_xdsl.machine.core.memory import MemoryObject, View, row_major_strides
from tileas_xdsl.machine.core.values import ElementType, element_type
from tileas_xdsl.machine.tiles.pointers import DEFAULT_BYTES, Pointer
from tileas_xdsl.machine.tiles.tiled_views import TiledView

EXTENT_WHEN_CHECKING = 1 << 16
TILES_WHEN_CHECKING = 1 << 10


def bind_array(argument: BlockArgument, given: Any, with_data: bool) -> View:
    """The view that an argument of type `!nv_tileaa.memref` stands for."""
    kind = argument.type
    assert isinstance(kind, ArrayType)
    element = _element(argument, kind.element_type)
    shape = _shape(argument, kind.get_shape(), given, with_data)
    strides = kind.get_strides()
    if strides is None or DYNAMIC_INDEX in strides:
        return _fill(_dense(argument, shape, element, with_data), given, argument.index)
    length = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    base = MemoryObject.zeros(name_of(argument), (length,), element, "global", with_data=with_data)
    view = View(base, 0, shape, tuple(stride * element.size for stride in strides), element)
    return _fill(view, given, argument.index)


def _shape(argument: BlockArgument, static: tuple[int, ...], given: Any, with_data: bool) -> tuple[int, ...]:
    name = name_of(argument)
    if given is not None:
        shape = tuple(np.shape(given))
        fits = len(shape) == len(static) and all(s in (DYNAMIC_INDEX, g) for s, g in zip(static, shape, strict=True))
        if not fits:
            raise ArgumentError(f"argument '{name}' has type {argument.type}, and the array given has shape {shape}")
        return shape
    if with_data and DYNAMIC_INDEX in static:
        raise dynamic_sizes_missing(argument.type, static, name)
    return tuple(EXTENT_WHEN_CHECKING if extent == DYNAMIC_INDEX else extent for extent in static)


def bind_tiled_view(
    argument: BlockArgument, tile: tuple[int, ...], element: Attribute, given: Any, with_data: bool
) -> TiledView:
    """The tiled view that an argument stands for: tiles of shape `tile`, axis by axis."""
    if given is None and with_data:
        name = name_of(argument)
        raise ArgumentError(
            f"argument '{name}' : {argument.type} is a view of an array: give the array, --arg {name}=F.npy"
        )
    shape = tuple(np.shape(given)) if given is not None else tuple(extent * TILES_WHEN_CHECKING for extent in tile)
    if len(shape) != len(tile):
        raise ArgumentError(
            f"argument '{name_of(argument)}' has tiles of rank {len(tile)}, and the array given has shape {shape}"
        )
    array = _fill(_dense(argument, shape, _element(argument, element), with_data), given, argument.index)
    return TiledView(array, tile, tuple((axis,) for axis in range(len(tile))))


def bind_pointer(argument: BlockArgument, given: Any, with_data: bool) -> Pointer:
    """The first element of the object that a pointer argument points to."""
    kind = argument.type
    assert isinstance(kind, PointerType)
    element = _element(argument, kind.pointee)
    shape = (DEFAULT_BYTES // element.size,) if given is None else (int(np.size(given)),)
    view = _dense(argument, shape, element, with_data)
    return Pointer(_fill(view, None if given is None else np.reshape(given, shape), argument.index).base, 0)


def _element(argument: BlockArgument, type_: Attribute) -> ElementType:
    element = element_type(type_)
    if element is None:
        raise ArgumentError(f"argument '{name_of(argument)}' has elements of type {type_}, which have no numbers here")
    return element


def _dense(argument: BlockArgument, shape: tuple[int, ...], element: ElementType, with_data: bool) -> View:
    base = MemoryObject.zeros(name_of(argument), shape, element, "global", with_data=with_data)
    return View(base, 0, shape, row_major_strides(shape, element.size), element)


def _fill(view: View, given: Any, seed: int) -> View:
    if view.base.data is not None:
        contents = default_array(view.shape, view.element, seed) if given is None else np.asarray(given)
        view.array()[...] = contents.astype(view.element.dtype)
    return view
