"""The layout that the type of a tile suggests, put into every type of a module alike."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IndexType, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue
from xdsl.rewriter import Rewriter

from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr, element_bits, layout_of
from tileas_xdsl.layouts.defaults import coalesced, in_shared_memory
from tileas_xdsl.layouts.errors import LayoutError

DEALT_BITS = 32
"""Masks and coordinates are dealt out like the numbers that they are for most often."""


@lru_cache(maxsize=4096)
def suggested(type_: Attribute, warps: int) -> Attribute:
    """
    The tile type with its layout; any other type, and a tile that says its layout, as it is. Raises `LayoutError` for
    extents that no layout has.
    """
    if not isinstance(type_, TensorType):
        return type_
    tile = cast(TensorType[Attribute], type_)
    bits, layout = element_bits(tile), layout_of(tile)
    said = layout is not None and (layout.bits is not None or layout.tag.data != "")
    space = "rmem" if layout is None else layout.space.data
    if bits is None or said or space not in ("rmem", "smem") or (layout is None and _is_encoded(tile)):
        return tile
    shape = tile.get_shape()
    dealt = DEALT_BITS if bits == 1 or isinstance(tile.element_type, IndexType) else bits
    form = coalesced(shape, dealt, warps) if space == "rmem" else in_shared_memory(shape, bits)
    return TensorType(tile.element_type, shape, LayoutAttr.of(space, form=form))


def _is_encoded(tile: TensorType[Attribute]) -> bool:
    """Whether the tile has an encoding of some other dialect."""
    return tile.encoding != TensorType(tile.element_type, tile.get_shape()).encoding


def refuse_tiles_without_layout(module: ModuleOp, warps: int) -> None:
    """Raises `RefusedError` for the first op with a tile that no layout fits. Changes nothing."""
    for op in module.walk():
        blocks = [argument for region in op.regions for block in region.blocks for argument in block.args]
        for value in (*op.results, *blocks):
            try:
                suggested(value.type, warps)
            except LayoutError as error:
                refuse(op, f"has the tile {value.type}, which no layout fits: {error}", "pad the tile")


Known = Mapping[Attribute, Attribute]
"""Types of tiles whose layout follows from what they are for -> the types with it."""


def assign_tiles(root: Operation, warps: int, known: Known) -> None:
    """Put the layouts into the types of all values and attributes: `known` ones, else what a type suggests."""
    for op in root.walk():
        _assign(op, warps, known)


def _assign(op: Operation, warps: int, known: Known) -> None:
    for region in op.regions:
        for block in region.blocks:
            for argument in list(block.args):
                _replace(argument, warps, known)
    for result in list(op.results):
        _replace(result, warps, known)
    for entries in (op.attributes, op.properties):
        for name, attribute in list(entries.items()):
            entries[name] = _within(attribute, warps, known)


def _replace(value: SSAValue, warps: int, known: Known) -> None:
    wanted = _within(value.type, warps, known)
    if wanted != value.type:
        Rewriter.replace_value_with_new_type(value, wanted)


def _within(attribute: Attribute, warps: int, known: Known) -> Attribute:
    """The attribute with the layouts in all tile types that it holds."""
    if attribute in known:
        return known[attribute]
    if isinstance(attribute, TensorType):
        return suggested(cast(Attribute, attribute), warps)
    if isinstance(attribute, ArrayAttr):
        return ArrayAttr([_within(entry, warps, known) for entry in cast(ArrayAttr[Attribute], attribute).data])
    if isinstance(attribute, DictionaryAttr):
        return DictionaryAttr({name: _within(entry, warps, known) for name, entry in attribute.data.items()})
    if isinstance(attribute, ParametrizedAttribute):
        parameters = [_within(parameter, warps, known) for parameter in attribute.parameters]
        return attribute if parameters == list(attribute.parameters) else attribute.new(parameters)
    return attribute
