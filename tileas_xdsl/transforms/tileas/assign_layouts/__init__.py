"""
Give every tile a layout.

    %c = dot %a, %b, %acc : (tensor<64x64xf16, smem>, ...) -> tensor<64x64xf32>

becomes, with C for a coalesced layout and F for the fragment of an accumulator,

    %f = convert_layout %acc : C -> F
    %d = dot %a, %b, %f : (tensor<64x64xf16, smem, swizzle<128>>, ...) -> F
    %c = convert_layout %d : F -> C

First each tile gets the layout that its type suggests (`tiles.py`): the same type, the same layout, so everything
that agreed before agrees still. Then ops whose tiles have different types get layouts that agree (`agreement.py`),
and products the fragments that they need (`products.py`), with conversions around them.
`tileas-remove-layout-conversions` takes out those that meet.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tileas_xdsl.analysis.target import capability_for
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.targets.chips import DEFAULT_NAME
from tileas_xdsl.transforms.tileas.assign_layouts.agreement import make_agree
from tileas_xdsl.transforms.tileas.assign_layouts.products import (
    anchor_products,
    layouts_in_memory,
    takes_turned,
    widen_factors,
)
from tileas_xdsl.transforms.tileas.assign_layouts.reads import read_first
from tileas_xdsl.transforms.tileas.assign_layouts.tiles import assign_tiles, refuse_tiles_without_layout


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
