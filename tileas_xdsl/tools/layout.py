"""
`tileas layout LAYOUT [TARGET]`: who holds which element of a tile, or where it lies; what leads from one layout to
another.

Layouts are written as in a type, `#nv_tileas.layout<smem, swizzle<128>>`, or only what stands between the brackets.
Exit status 0: said or drawn. 1: no plan leads from the first to the second. 2: there is no such layout.
"""

from __future__ import annotations

import argparse
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from tileas_xdsl.dialects.nv_tileas.layout import element_bits, form_of, linear_layout
from tileas_xdsl.dialects.nv_tileas.verification import space_of
from tileas_xdsl.layouts.conversion import Abilities
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.moves import described, described_tensor_move, is_memory, moves, tensor_move
from tileas_xdsl.layouts.tensor_memory import WARP_GROUP
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import full_context
from tileas_xdsl.tools.output_files import write_text
from tileas_xdsl.views.layouts import Panel, ShownLayout

POSSIBLE, IMPOSSIBLE = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("layout", metavar="LAYOUT", help="the layout, such as 'smem, swizzle<128>'")
    parser.add_argument("target", metavar="TARGET", nargs="?", help="another layout of the tile, to convert it into")
    parser.add_argument("--tile", metavar="TILE", default="64x64xf16", help="extents and type (default: 64x64xf16)")
    parser.add_argument("-o", "--out", metavar="OUT", help="the picture to write: something.svg")


def run(arguments: argparse.Namespace) -> int:
    if arguments.out is not None and not arguments.out.endswith(".svg"):
        raise InputError([f"error: -o {arguments.out}: the file must be called something.svg"])
    found = layout_of(arguments.layout, arguments.target, arguments.tile)
    print(found)
    if arguments.out is not None:
        write_text(arguments.out, found.svg())
    return POSSIBLE if found.is_possible else IMPOSSIBLE


def layout_of(text: str, target: str | None, tile: str) -> ShownLayout:
    """The layout that `text` means for a tile, and (`target`) what leads to another. Raises `InputError`."""
    panels = tuple(panel_of(each, tile) for each in (text, target) if each is not None)
    if len(panels) == 1:
        return ShownLayout(panels)
    way, possible = _way(*panels)
    return ShownLayout(panels, way, possible)


def panel_of(text: str, tile: str) -> Panel:
    """The layout that `text` means for a tile. Raises `InputError` for what is none, or does not fit."""
    whole = text if text.startswith("#") else f"#nv_tileas.layout<{text}>"
    type_ = _parsed(f"tensor<{tile}, {whole}>", f"{tile}, {whole}")
    try:
        layout = linear_layout(type_)
    except LayoutError as error:
        raise InputError([f"error: {whole} is no layout of {tile}: {error}"]) from None
    bits = element_bits(type_)
    if bits is None:
        raise InputError([f"error: {tile}: the width of an element depends on the target, and a layout is one of bits"])
    if layout is None:
        raise InputError([f"error: {whole} does not say which bits: give a layout such as 'smem, swizzle<128>'"])
    return Panel(f"{tile}, {form_of(type_)}", layout, bits, space_of(type_) or "")


def _parsed(text: str, shown: str) -> Attribute:
    parser = Parser(full_context(), text)
    try:
        type_ = parser.parse_type()
    except ParseError as error:
        raise InputError([f"error: {shown} does not parse: {error.msg}"]) from None
    if not isinstance(type_, TensorType):
        raise InputError([f"error: {shown} is no tile"])
    return cast(Attribute, type_)


def _way(source: Panel, target: Panel) -> tuple[str, bool]:
    try:
        return _described_way(source, target), True
    except LayoutError as error:
        return f"no plan: {error}", False


def _described_way(source: Panel, target: Panel) -> str:
    """What leads from the one to the other, in words. Raises `LayoutError` where nothing does."""
    if is_memory(source.layout) and is_memory(target.layout) and {source.space, target.space} != {"smem", "tmem"}:
        raise LayoutError("both layouts are of memory: threads have to load the tile into registers and store it again")
    if "gmem" in (source.space, target.space):
        raise LayoutError("a tile of an array is loaded or stored, and not converted")
    if not (source.is_tensor or target.is_tensor):
        best = moves(source.layout, target.layout, source.element_bits, Abilities())[0]
        return described(best, loads=is_memory(source.layout))
    loads = source.is_tensor
    tensor, other = (source, target) if loads else (target, source)
    way = tensor_move(tensor.layout, other.layout, tensor.element_bits, WARP_GROUP, Abilities(), loads=loads)
    return described_tensor_move(way, loads=loads)
