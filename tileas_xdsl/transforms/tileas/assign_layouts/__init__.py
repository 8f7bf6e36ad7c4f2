"""
Give every tile a layout.

    %c = dot %a, %b, %acc : (tensor<64x64xf16, smem>, ...) -> tensor<64x64xf32>

becomes, with C for a coalesced layout and F for the fragment of an accumulator,

    %f = convert_layout %acc : C -> F
    %d = dot %a, %b, %f : (tensor<64x64xf16, smem, swizzle<128>>, ...) -> F
    %c = convert_layout %d : F -> C

First each tile gets the layout that its type suggests: the same type, the same layout, so everything
that agreed before agrees still. Then ops whose tiles have different types get layouts that agree (`agreement.py`),
and products the fragments that they need (`products.py`), with conversions around them.
`tileas-remove-layout-conversions` takes out those that meet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IndexType, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from tileas_xdsl.analysis.target import capability_for
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr, element_bits, layout_of
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.layouts.defaults import coalesced, in_shared_memory
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.targets.chips import DEFAULT_NAME
from tileas_xdsl.transforms.tileas.assign_layouts.agreement import make_agree
from tileas_xdsl.transforms.tileas.assign_layouts.products import (
    anchor_products,
    layouts_in_memory,
    takes_turned,
    widen_factors,
)
from tileas_xdsl.transforms.tileas.assign_layouts.reads import read_first

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


@dataclass(frozen=True)
class AssignLayoutsPass(ModulePass):
    """
    Give every tile a layout to the bit.

    Rewrites
        The types of all tiles, wherever they stand: in registers to coalesced layouts, in shared memory to the widest
        swizzle that their rows fill. Synchronous products on the tensor core get fragments, and conversions around
        them. Factors of floats of 8 bits become f16 before. Tiles that have a layout to the bit, or one in words, keep
        it; so do tiles whose elements have no width (pointers, indices). A tile in shared memory that threads store or
        permute is read first. A second run changes nothing.

    Requires
        Verified IR.

    Refuses
        A tile with an extent that is no power of two, or that is not known; an unknown target.

    Choices
        The type of a tile suggests its layout, so what agreed before agrees; products are the anchors, then slices that
        reductions leave; conversions move towards these. Operands and results are made to agree where the op works
        element by element, reduces, adds a dimension or repeats one; other ops are taken to move elements between
        threads themselves.
    """

    name = "tileas-assign-layouts"

    DESCRIPTION: ClassVar[str] = "Give every tile a layout: coalesced, swizzled, fragments of products"

    num_warps: int = field(default=4, metadata={"help": "number of warps that hold a tile"})

    compute_capability: str = field(default=DEFAULT_NAME, metadata={"help": "compute capability"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.num_warps < 1 or self.num_warps & (self.num_warps - 1):
            raise PassFailedException(f"{self.name}: num-warps={self.num_warps}: a power of two is needed")
        capabilities = [capability_for(function, self.compute_capability) for function in functions_in(op)]
        refuse_tiles_without_layout(op, self.num_warps)
        for function, capability in zip(functions_in(op), capabilities, strict=True):
            widen_factors(function, self.num_warps, capability)
            read_first(function, partial(takes_turned, warps=self.num_warps, capability=capability))
        for function, capability in zip(functions_in(op), capabilities, strict=True):
            assign_tiles(function, self.num_warps, layouts_in_memory(function, self.num_warps, capability))
        assign_tiles(op, self.num_warps, {})
        for function, capability in zip(functions_in(op), capabilities, strict=True):
            make_agree(function)
            anchor_products(function, self.num_warps, capability)
