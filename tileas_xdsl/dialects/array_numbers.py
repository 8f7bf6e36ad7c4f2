"""
Arguments that are numbers of an array, which whoever calls a kernel computes of the array.

    func.func @f(%a: memref<?x?xf16>, %n: index {tileas.name = "a", tileas.number = "tiles 1 by 64"})

`size K` is the extent along dimension K, `stride K` the distance of neighbours along it, in elements, and
`tiles K by N` the number of tiles of N elements that cover the dimension.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.ir import Attribute, BlockArgument, Operation

NAME, NUMBER = "tileas.name", "tileas.number"
"""Attributes of an argument: which array it is a number of, and which number."""
ROW_BYTES = "tileas.row_bytes"
"""An attribute of an argument that is an array: the bytes of which its rows begin, and end, at a multiple."""
ARRAY = "tileas.array"
"""An attribute of an argument that is a pointer: the type of the array that begins there."""
ARGUMENTS = "tileas.arguments"
"""An attribute of a function whose text has no attributes of arguments: a dictionary for each argument."""


def number_in(number: str, shape: Sequence[int], strides: Sequence[int]) -> int:
    """The number `size 0`, `stride 1`, `tiles 1 by 64` of an array; 0 for any other word (`offset`)."""
    what, *rest = number.split()
    match what:
        case "size":
            return shape[int(rest[0])]
        case "stride":
            return strides[int(rest[0])]
        case "tiles":
            return ceil(shape[int(rest[0])] / int(rest[2]))
        case _:
            return 0


def said_of(argument: BlockArgument) -> Mapping[str, Attribute]:
    """The attributes of an argument of a function; none of an argument of any other block."""
    region = argument.block.parent
    is_of_function = region is not None and region.first_block is argument.block
    function = argument.block.parent_op() if is_of_function else None
    given = function.properties.get("arg_attrs") if function is not None else None
    listed = cast("ArrayAttr[Attribute]", given).data if isinstance(given, ArrayAttr) else ()
    own = listed[argument.index] if argument.index < len(listed) else None
    return own.data if isinstance(own, DictionaryAttr) else {}


def numbers_of(function: Operation) -> Mapping[int, tuple[str, str]]:
    """Place of an argument of `function` -> the name of the array that it is a number of, and which number."""
    given = function.properties.get("arg_attrs") or function.attributes.get(ARGUMENTS)
    found: dict[int, tuple[str, str]] = {}
    listed = cast("ArrayAttr[Attribute]", given).data if isinstance(given, ArrayAttr) else ()
    for place, each in enumerate(listed):
        said: Mapping[str, Attribute] = each.data if isinstance(each, DictionaryAttr) else {}
        name, number = said.get(NAME), said.get(NUMBER)
        if isinstance(name, StringAttr) and isinstance(number, StringAttr):
            found[place] = name.data, number.data
    return found
