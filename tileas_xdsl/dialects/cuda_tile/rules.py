"""What single ops of `cuda_tile` demand beyond the classes and relations of their rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    FloatTF32Type,
    IntegerAttr,
)
from xdsl.ir import Attribute, Block, Operation
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.cuda_tile.attributes import BoundedAttr, ConstantAttr, DivByAttr, SameElementsAttr
from tileas_xdsl.dialects.cuda_tile.base import TileIROp, tile_of
from tileas_xdsl.dialects.cuda_tile.elements import bits_per_element
from tileas_xdsl.dialects.cuda_tile.enumerations import PaddingAttr
from tileas_xdsl.dialects.cuda_tile.structure import GlobalOp
from tileas_xdsl.dialects.cuda_tile.types import (
    GatherScatterViewType,
    PointerType,
    TensorViewType,
    TileType,
    TileViewType,
    integer_width,
    plain,
    short,
)

Rule = Callable[[TileIROp], None]

IEEE = ("nearest_even", "zero", "negative_inf", "positive_inf")


def _refuse(text: str) -> NoReturn:
    raise VerifyException(text)


def _element(op: TileIROp, name: str) -> Attribute:
    return tile_of(op.operand(name)).element_type


def _shape(op: TileIROp, name: str) -> tuple[int, ...]:
    return tile_of(op.operand(name)).get_shape()


# Arithmetic -----------------------------------------------------------------------------------------------------------


def _rounds(*words: str, only_f32: tuple[str, ...] = (), name: str = "rounding_mode") -> Rule:
    """The rounding is one of `words`; those of `only_f32` are for f32."""

    def rule(op: TileIROp) -> None:
        word = op.word(name)
        if word not in words:
            _refuse(f"'{word}' is no rounding of this op; there are {', '.join(words)}")
        element = tile_of(op.results[0]).element_type
        if word in only_f32 and not isinstance(element, Float32Type):
            _refuse(f"rounding '{word}' is for f32 only, not for {short(element)}")
        if op.flag("flush_to_zero") and not isinstance(element, Float32Type):
            _refuse(f"'flush_to_zero' is for f32 only, not for {short(element)}")

    return rule


def _flushes(op: TileIROp) -> None:
    element = tile_of(op.results[0]).element_type
    if op.flag("flush_to_zero") and not isinstance(element, Float32Type):
        _refuse(f"'flush_to_zero' is for f32 only, not for {short(element)}")


def _divides(op: TileIROp) -> None:
    word = op.word("rounding")
    if word not in ("zero", "negative_inf", "positive_inf"):
        _refuse(f"'{word}' is no rounding of this op; there are zero, negative_inf, positive_inf")
    if word == "negative_inf" and op.word("signedness") == "unsigned":
        _refuse("rounding 'negative_inf' is for signed numbers only")


def _negates(op: TileIROp) -> None:
    word = op.word("overflow")
    if word not in ("none", "no_signed_wrap"):
        _refuse(f"overflow '{word}' is not for a negation; there are none, no_signed_wrap")


# Conversions ----------------------------------------------------------------------------------------------------------


def _widths(op: TileIROp) -> tuple[int, int]:
    before, after = op.operands[0], op.results[0]
    return bits_per_element(tile_of(before).element_type), bits_per_element(tile_of(after).element_type)


def _extends(op: TileIROp) -> None:
    before, after = _widths(op)
    if after <= before:
        _refuse(f"an integer of {before} bits is not extended to {after}")


def _truncates(op: TileIROp) -> None:
    before, after = _widths(op)
    if after >= before:
        _refuse(f"an integer of {before} bits is not truncated to {after}")


def _keeps_width(op: TileIROp) -> None:
    before, after = _widths(op)
    if before != after:
        _refuse(f"elements of {before} bits do not become elements of {after} bits")


def _changes_float(op: TileIROp) -> None:
    before, after = _element(op, "from"), tile_of(op.results[0]).element_type
    if before == after:
        _refuse(f"{short(before)} becomes {short(after)}: that converts nothing")
    allowed = ("zero", "positive_inf") if isinstance(after, Float8E8M0FNUType) else ("nearest_even",)
    if (word := op.word("rounding_mode")) not in allowed:
        _refuse(f"'{word}' is no rounding to {short(after)}; there are {', '.join(allowed)}")


def _to_float(op: TileIROp) -> None:
    after = tile_of(op.results[0]).element_type
    if isinstance(after, Float8E8M0FNUType):
        _refuse("an integer does not become f8E8M0FNU; convert it to another float first")
    if (word := op.word("rounding_mode")) != "nearest_even":
        _refuse(f"'{word}' is no rounding of this op; there is nearest_even")


def _to_integer(op: TileIROp) -> None:
    if (word := op.word("rounding_mode")) != "nearest_int_to_zero":
        _refuse(f"'{word}' is no rounding of this op; there is nearest_int_to_zero")


def _changes_pointee(op: TileIROp) -> None:
    if op.operands[0].type == op.results[0].type:
        _refuse("the pointee stays the same: that converts nothing")


# Shapes ---------------------------------------------------------------------------------------------------------------


def _size(shape: Sequence[int]) -> int:
    size = 1
    for extent in shape:
        size *= extent
    return size


def _reshapes(op: TileIROp) -> None:
    before, after = _shape(op, "source"), tile_of(op.results[0]).get_shape()
    if _size(before) != _size(after):
        _refuse(f"{_size(before)} elements do not become {_size(after)}")


def _broadcasts(op: TileIROp) -> None:
    before, after = _shape(op, "source"), tile_of(op.results[0]).get_shape()
    for axis, (old, new) in enumerate(zip(before, after, strict=True)):
        if old not in (1, new):
            _refuse(f"axis {axis} has extent {old} and does not grow to {new}; only an extent of 1 grows")


def _permutes(op: TileIROp) -> None:
    before, after = _shape(op, "source"), tile_of(op.results[0]).get_shape()
    order = list(cast("DenseArrayBase[Any]", op.properties["permutation"]).get_values())
    if len(before) < 2:
        _refuse(f"two axes or more are permuted, not {len(before)}")
    if sorted(order) != list(range(len(before))):
        _refuse(f"{order} is no permutation of {len(before)} axes")
    expected = tuple(before[axis] for axis in order)
    if expected != after:
        _refuse(f"the permuted extents are {list(expected)}, not {list(after)}")


def _concatenates(op: TileIROp) -> None:
    first, second, whole = _shape(op, "lhs"), _shape(op, "rhs"), tile_of(op.results[0]).get_shape()
    axis = _number(op, "dim")
    if not 0 <= axis < len(whole):
        _refuse(f"dim {axis} is no axis of a tile of rank {len(whole)}")
    for place, (one, other, both) in enumerate(zip(first, second, whole, strict=True)):
        if place == axis and one + other != both:
            _refuse(f"axis {place} has extent {one + other}, not {both}")
        if place != axis and not one == other == both:
            _refuse(f"axis {place} has the extents {one}, {other} and {both}, which have to be equal")


def _number(op: TileIROp, name: str) -> int:
    return cast("IntegerAttr[Any]", op.properties[name]).value.data


def _slices(op: TileIROp) -> None:
    whole, part = _shape(op, "source"), tile_of(op.results[0]).get_shape()
    _verify_slices(whole, part, len(op.group("indices")))


def _inserts(op: TileIROp) -> None:
    _verify_slices(_shape(op, "destination"), _shape(op, "source"), len(op.group("indices")))


def _verify_slices(whole: Sequence[int], part: Sequence[int], indices: int) -> None:
    for axis, (large, small) in enumerate(zip(whole, part, strict=True)):
        if large % small:
            _refuse(f"axis {axis} has extent {large}, which slices of {small} do not divide")
    if indices != len(whole):
        _refuse(f"a tile of rank {len(whole)} has {len(whole)} indices, not {indices}")


def _counts(op: TileIROp) -> None:
    kind = tile_of(op.results[0])
    if len(kind.get_shape()) != 1:
        _refuse(f"the numbers from 0 have rank 1, not {len(kind.get_shape())}")
    width = integer_width(kind.element_type) or 0
    if kind.get_shape()[0] > 1 << width:
        _refuse(f"{kind.get_shape()[0]} numbers do not fit {short(kind.element_type)}")


BYTE = 8
"""Bits of a byte."""


def _packs(op: TileIROp) -> None:
    _verify_bytes(tile_of(op.operands[0]), tile_of(op.results[0]))


def _unpacks(op: TileIROp) -> None:
    _verify_bytes(tile_of(op.results[0]), tile_of(op.operands[0]))


def _verify_bytes(elements: TileType, in_bytes: TileType) -> None:
    if len(in_bytes.get_shape()) != 1:
        _refuse(f"bytes have rank 1, not {len(in_bytes.get_shape())}")
    if bits_per_element(elements.element_type) == BYTE:
        _refuse(f"{short(elements.element_type)} has the bits of a byte, so nothing is packed; a bitcast rereads it")
    bits = _size(elements.get_shape()) * bits_per_element(elements.element_type)
    if bits != BYTE * _size(in_bytes.get_shape()):
        _refuse(f"{bits} bits are not {_size(in_bytes.get_shape())} bytes")


# Products -------------------------------------------------------------------------------------------------------------

PRODUCTS: Mapping[type[Attribute], tuple[type[Attribute], ...]] = {
    Float16Type: (Float16Type, Float32Type),
    **{kind: (Float16Type, Float32Type) for kind in (Float8E4M3FNType, Float8E5M2Type, Float4E2M1FNType)},
    Float32Type: (Float32Type,),
    FloatTF32Type: (Float32Type,),
    Float64Type: (Float64Type,),
}
"""Element of the factors -> elements that they are summed in; bf16 into f32 is beside."""


def _multiplies(op: TileIROp) -> None:
    _verify_product_shapes(op)
    if op.name.endswith("mmai"):
        return
    element, total = _element(op, "lhs"), _element(op, "acc")
    allowed = PRODUCTS.get(type(element), (Float32Type,) if short(element) == "bf16" else ())
    if not allowed:
        _refuse(f"{short(element)} is not multiplied")
    if not isinstance(total, allowed):
        _refuse(f"products of {short(element)} are not summed in {short(total)}")


def _verify_product_shapes(op: TileIROp) -> None:
    left, right, total = _shape(op, "lhs"), _shape(op, "rhs"), _shape(op, "acc")
    if len(total) not in (2, 3):
        _refuse(f"a product has tiles of rank 2 or 3, not {len(total)}")
    if len(total) == 3 and not left[0] == right[0] == total[0]:
        _refuse(f"the batches are {left[0]}, {right[0]} and {total[0]}, which have to be equal")
    for what, one, other in (
        ("columns of the left and rows of the right", left[-1], right[-2]),
        ("rows of the left and of the sum", left[-2], total[-2]),
        ("columns of the right and of the sum", right[-1], total[-1]),
    ):
        if one != other:
            _refuse(f"{what} are {one} and {other}, which have to be equal")


def _scales(op: TileIROp) -> None:
    _verify_product_shapes(op)
    element, scale, total = _element(op, "lhs"), _element(op, "lhs_scale"), _element(op, "acc")
    if not isinstance(total, Float32Type):
        _refuse(f"scaled products are summed in f32, not in {short(total)}")
    groups = _groups(element, scale)
    left, right = _shape(op, "lhs_scale"), _shape(op, "rhs_scale")
    factors, others = _shape(op, "lhs"), _shape(op, "rhs")
    if left[:-1] != factors[:-1]:
        _refuse(f"the scales of the left have extents {list(left)}, and the factors {list(factors)}")
    if right[-1] != others[-1] or right[:-2] != others[:-2]:
        _refuse(f"the scales of the right have extents {list(right)}, and the factors {list(others)}")
    if left[-1] != right[-2]:
        _refuse(f"{left[-1]} groups of the left and {right[-2]} of the right have to be equal")
    if factors[-1] % left[-1] or factors[-1] // left[-1] not in groups:
        allowed = " or ".join(map(str, groups))
        _refuse(f"{factors[-1]} factors have {left[-1]} scales; a scale is for {allowed} of them")


def _groups(element: Attribute, scale: Attribute) -> tuple[int, ...]:
    """The numbers of factors that may share a scale."""
    match element, scale:
        case Float4E2M1FNType(), Float8E8M0FNUType():
            return 16, 32
        case Float4E2M1FNType(), _ if isinstance(scale, Float8E4M3FNType) or short(scale) == "fnv8E5M3FNU":
            return (16,)
        case ((Float8E4M3FNType() | Float8E5M2Type()), Float8E8M0FNUType()):
            return (32,)
        case _:
            _refuse(f"factors of {short(element)} are not scaled by {short(scale)}")


# Reductions -----------------------------------------------------------------------------------------------------------


def _reduces(op: TileIROp) -> None:
    kinds = [tile_of(value) for value in op.operands]
    if not kinds:
        _refuse("at least one tile is reduced")
    shape = kinds[0].get_shape()
    for kind in kinds:
        if kind.get_shape() != shape:
            _refuse(f"the tiles have the extents {list(shape)} and {list(kind.get_shape())}, which have to be equal")
    axis = _number(op, "dim")
    if not 0 <= axis < len(shape):
        _refuse(f"dim {axis} is no axis of a tile of rank {len(shape)}")
    given = shape if op.ROW.name == "scan" else shape[:axis] + shape[axis + 1 :]
    expected = [TileType.of(kind.element_type, given) for kind in kinds]
    if [result.type for result in op.results] != expected:
        _refuse(f"the results are {', '.join(map(short, expected))}")
    _verify_identities(op, kinds)
    _verify_combiner(op, kinds)


def _verify_identities(op: TileIROp, kinds: Sequence[TileType]) -> None:
    identities = cast("ArrayAttr[Attribute]", op.properties["identities"]).data
    if len(identities) != len(kinds):
        _refuse(f"{len(kinds)} tiles have {len(identities)} identities")
    for place, (identity, kind) in enumerate(zip(identities, kinds, strict=True)):
        match identity:
            case IntegerAttr() | FloatAttr():
                if identity.type != kind.element_type:
                    _refuse(f"identity {place} is of {identity.type}, and the tile of {short(kind.element_type)}")
            case _:
                _refuse(f"identity {place} is no number")


def _verify_combiner(op: TileIROp, kinds: Sequence[TileType]) -> None:
    block = op.regions[0].block
    expected = [TileType.of(kind.element_type) for kind in kinds for _ in range(2)]
    if [argument.type for argument in block.args] != expected:
        _refuse(f"the region takes {', '.join(map(short, expected))}")
    last = block.last_op
    if last is None or last.name != "cuda_tile.yield":
        _refuse("the region ends with 'yield'")
    if [value.type for value in last.operands] != expected[::2]:
        _refuse(f"the region yields {', '.join(map(short, expected[::2]))}")
    for inner in block.walk():
        if isinstance(inner, TileIROp) and inner.ROW.effects not in ("pure", "terminator"):
            _refuse(f"the region only computes, and '{inner.name}' does more")


# Control flow ---------------------------------------------------------------------------------------------------------


def _around(op: Operation, *names: str) -> TileIROp | None:
    """The innermost op of these names around `op`, through `if`s alone."""
    parent = op.parent_op()
    while isinstance(parent, TileIROp):
        if parent.ROW.name in names:
            return parent
        if parent.ROW.name != "if":
            return None
        parent = parent.parent_op()
    return None


def _types_of(values: Sequence[Any]) -> list[Attribute]:
    return [value.type for value in values]


def _texts(kinds: Sequence[Attribute]) -> str:
    return f"({', '.join(map(short, kinds))})"


def _breaks(op: TileIROp) -> None:
    loop = _around(op, "loop")
    if loop is None:
        _refuse("a 'break' is in a 'loop', or in an 'if' in it")
    if _types_of(op.operands) != _types_of(loop.results):
        _refuse(f"it hands over {_texts(_types_of(op.operands))}, and the loop gives {_texts(_types_of(loop.results))}")


def _continues(op: TileIROp) -> None:
    loop = _around(op, "loop", "for")
    if loop is None:
        _refuse("a 'continue' is in a 'for' or a 'loop', or in an 'if' in it")
    carried = _types_of(loop.group("initValues"))
    if _types_of(op.operands) != carried:
        _refuse(f"it hands over {_texts(_types_of(op.operands))}, and the loop carries {_texts(carried)}")


def _yields(op: TileIROp) -> None:
    parent = op.parent_op()
    if not isinstance(parent, TileIROp) or parent.ROW.name not in ("if", "reduce", "scan"):
        _refuse("a 'yield' is in an 'if', a 'reduce' or a 'scan'")
    if parent.ROW.name == "if" and _types_of(op.operands) != _types_of(parent.results):
        given = _texts(_types_of(parent.results))
        _refuse(f"it hands over {_texts(_types_of(op.operands))}, and the 'if' gives {given}")


def _returns(op: TileIROp) -> None:
    if op.operands:
        _refuse("a kernel returns nothing")
    parent = op.parent_op()
    while isinstance(parent, TileIROp) and parent.ROW.name in ("if", "for", "loop"):
        parent = parent.parent_op()
    if parent is not None and parent.name != "cuda_tile.entry":
        _refuse("a 'return' is in an entry, or in an 'if' or a loop in it")


def _branches(op: TileIROp) -> None:
    then, other = op.regions
    if not then.blocks:
        _refuse("an 'if' has a first region")
    if not other.blocks and op.results:
        _refuse("an 'if' with results has a second region")
    _verify_carried(op.results, "result")
    for region in op.regions:
        if region.blocks and region.block.args:
            _refuse("the regions of an 'if' have no arguments")
        if region.blocks:
            _verify_end(region.block, "yield", "continue", "break", "return")


def _verify_end(block: Block, *names: str) -> None:
    last = block.last_op
    if not isinstance(last, TileIROp) or last.ROW.name not in names:
        _refuse(f"a region ends with one of {', '.join(names)}")


def _verify_carried(values: Sequence[Any], what: str) -> None:
    for place, value in enumerate(values):
        if isinstance(value.type, TensorViewType | TileViewType):
            _refuse(f"{what} {place} is a view, which neither a loop carries nor an 'if' gives")


def _iterates(op: TileIROp) -> None:
    block = op.regions[0].block
    if not block.args:
        _refuse("the region of a 'for' takes the number of the iteration")
    bounds = {value.type for name in ("lowerBound", "upperBound", "step") for value in op.group(name)}
    if bounds != {block.args[0].type}:
        _refuse(f"the bounds, the step and the number of the iteration have one type, and not {_kinds_text(bounds)}")
    _verify_loop(op, block.args[1:])
    if _types_of(op.results) != _types_of(op.group("initValues")):
        _refuse("a 'for' gives what it carries")


def _kinds_text(kinds: set[Attribute]) -> str:
    return ", ".join(sorted(map(short, kinds)))


def _loops(op: TileIROp) -> None:
    _verify_loop(op, op.regions[0].block.args)


def _verify_loop(op: TileIROp, arguments: Sequence[Any]) -> None:
    values = op.group("initValues")
    if _types_of(arguments) != _types_of(values):
        _refuse(f"the region takes {_texts(_types_of(arguments))}, and the loop carries {_texts(_types_of(values))}")
    _verify_carried(values, "value")
    _verify_carried(op.results, "result")
    _verify_end(op.regions[0].block, "continue", "break", "return")


# Structure, facts -----------------------------------------------------------------------------------------------------


def _assumes(op: TileIROp) -> None:
    fact, kind = op.properties["predicate"], op.operands[0].type
    if isinstance(kind, TensorViewType) and isinstance(fact, DivByAttr) and _plain(fact.every) is not None:
        _refuse("'every' and 'along' are said of tiles, not of a tensor view")
    if not isinstance(kind, TileType):
        return
    is_pointer = isinstance(kind.element_type, PointerType)
    whole = is_pointer or integer_width(kind.element_type) is not None
    rank = len(kind.get_shape())
    match fact:
        case DivByAttr():
            if not whole:
                _refuse(f"'div_by' is a fact of integers and pointers, not of {short(kind)}")
            _verify_runs(fact, kind)
        case SameElementsAttr():
            if not whole:
                _refuse(f"'same_elements' is a fact of integers and pointers, not of {short(kind)}")
            groups = plain(fact.groups)
            if len(groups) != rank:
                _refuse(f"'same_elements' has {len(groups)} numbers for a tile of rank {rank}")
            for axis, (group, extent) in enumerate(zip(groups, kind.get_shape(), strict=True)):
                if group <= 0 or extent % group:
                    _refuse(f"groups of {group} do not divide axis {axis} of extent {extent}")
        case BoundedAttr():
            _verify_bounds(fact, kind)
        case _:
            _refuse("an assumption is 'div_by', 'same_elements' or 'bounded'")


def _verify_runs(fact: DivByAttr, kind: TileType) -> None:
    every, along = _plain(fact.every), _plain(fact.along)
    if (every is None) != (along is None):
        _refuse("'every' and 'along' are there together")
    if every is None or along is None:
        return
    if not 0 <= along < len(kind.get_shape()):
        _refuse(f"'along' {along} is no axis of a tile of rank {len(kind.get_shape())}")
    extent = kind.get_shape()[along]
    if every <= 0 or extent % every:
        _refuse(f"runs of {every} do not divide axis {along} of extent {extent}")


def _plain(attribute: Attribute) -> int | None:
    return cast(Any, attribute).data if hasattr(attribute, "data") else None


def _verify_bounds(fact: BoundedAttr, kind: TileType) -> None:
    width = integer_width(kind.element_type)
    if width is None:
        _refuse(f"'bounded' is a fact of integers, not of {short(kind)}")
    lower, upper = _plain(fact.lower), _plain(fact.upper)
    least, most = -(1 << (width - 1)), (1 << (width - 1)) - 1
    for bound in (lower, upper):
        if bound is not None and not least <= bound <= most:
            _refuse(f"the bound {bound} does not fit {short(kind.element_type)}")
    if lower is not None and upper is not None and lower > upper:
        _refuse(f"no number is from {lower} to {upper}")


def _selects(op: TileIROp) -> None:
    element = tile_of(op.results[0]).element_type
    if isinstance(element, Float4E2M1FNType):
        _refuse(f"{short(element)} is less than a byte, and is not selected element by element")


def _is_constant(op: TileIROp) -> None:
    value = op.properties["value"]
    if not isinstance(value, ConstantAttr) or value.type != op.results[0].type:
        _refuse("the value has the type of the result")


FORMAT = re.compile("%[^%diuoxXeEfFgGaAcsSpn]*(.?)", re.DOTALL)
"""A percent sign, up to what ends a format of C's `printf`."""


def _prints(op: TileIROp) -> None:
    text = str(cast(Any, op.properties["str"]).data)
    ends = FORMAT.findall(text)
    if "" in ends:
        _refuse(f"the format that begins with the last '%' of {text!r} has no end")
    wanted = len(ends) - ends.count("%")
    if wanted != len(op.group("args")):
        _refuse(f"the text shows {wanted} tiles, and there are {len(op.group('args'))}")


def _addresses_global(op: TileIROp) -> None:
    found = SymbolTable.lookup_symbol(op, cast(Any, op.properties["name"]))
    if not isinstance(found, GlobalOp):
        _refuse(f"{op.properties['name']} is no global of the module")
    pointee = cast(PointerType, tile_of(op.results[0]).element_type).pointee
    if pointee != found.value.type.element_type:
        _refuse(f"the global holds {short(found.value.type.element_type)}, and the pointer leads to {short(pointee)}")


# Views and memory -----------------------------------------------------------------------------------------------------


def _makes_array(op: TileIROp) -> None:
    view = cast(TensorViewType, op.results[0].type)
    pointer = cast(PointerType, tile_of(op.operand("base")).element_type)
    if pointer.pointee != view.element_type:
        _refuse(f"the base leads to {short(pointer.pointee)}, and the array holds {short(view.element_type)}")
    for what, sizes, name in (
        ("extents", view.get_shape(), "dynamicShape"),
        ("strides", view.get_strides(), "dynamicStrides"),
    ):
        wanted = sum(size == DYNAMIC_INDEX for size in sizes)
        if wanted != len(op.group(name)):
            _refuse(f"{wanted} {what} of the array are dynamic, and {len(op.group(name))} are given")
    kinds = {value.type for name in ("dynamicShape", "dynamicStrides") for value in op.group(name)}
    if len(kinds) > 1:
        _refuse(f"extents and strides have one type, and not {_kinds_text(kinds)}")


def _makes_view(op: TileIROp) -> None:
    view = cast(TileViewType, op.results[0].type)
    if view.tensor_view != op.operands[0].type:
        _refuse(f"the view is of {short(view.tensor_view)}, and not of {short(op.operands[0].type)}")


def _measures(op: TileIROp) -> None:
    kind = op.operands[0].type
    rank = len(kind.get_shape() if isinstance(kind, TensorViewType) else cast(TileViewType, kind).get_tile_shape())
    if isinstance(kind, GatherScatterViewType):
        _refuse("a gather/scatter view has no number of tiles")
    if len(op.results) != rank:
        _refuse(f"a view of rank {rank} has {rank} numbers, not {len(op.results)}")
    kinds = {result.type for result in op.results}
    if len(kinds) > 1:
        _refuse(f"the numbers have one type, and not {_kinds_text(kinds)}")


def _orders(*words: str) -> Rule:
    """The semantics are of `words`, and the scope is there unless they are weak."""

    def rule(op: TileIROp) -> None:
        word = op.word("memory_ordering_semantics")
        if word not in words:
            _refuse(f"'{word}' is no order of this access; there are {', '.join(words)}")
        scoped = "memory_scope" in op.properties
        if word == "weak" and scoped:
            _refuse("a weak access has no scope")
        if word != "weak" and not scoped:
            _refuse(f"an access that is '{word}' has a scope")

    return rule


LOADS, STORES = _orders("weak", "relaxed", "acquire"), _orders("weak", "relaxed", "release")
ATOMICS = _orders("relaxed", "acquire", "release", "acq_rel")


def _verify_view_access(op: TileIROp, tile: Attribute) -> None:
    view = cast(TileViewType, op.operand("view").type)
    if tile != view.loaded_type:
        _refuse(f"the view has tiles {short(view.loaded_type)}, not {short(tile)}")
    indices = op.group("index")
    if len(indices) != len(view.tile_shape):
        _refuse(f"a view of rank {len(view.tile_shape)} has {len(view.tile_shape)} indices, not {len(indices)}")
    sparse = view.sparse_dim.data if isinstance(view, GatherScatterViewType) else None
    for place, index in enumerate(indices):
        wanted = (view.get_tile_shape()[place],) if place == sparse else ()
        if (shape := tile_of(index).get_shape()) != wanted:
            _refuse(f"index {place} has extents {list(wanted)}, not {list(shape)}")
    plain_indices = {index.type for place, index in enumerate(indices) if place != sparse}
    if len(plain_indices) > 1:
        _refuse(f"the indices have one type, and not {_kinds_text(plain_indices)}")
    match op.properties.get("inbounds"):
        case DenseArrayBase() as inbounds if len(inbounds) not in (0, len(indices)):
            _refuse(f"'inbounds' has {len(inbounds)} truths for {len(indices)} axes")
        case _:
            pass


def _loads_view(op: TileIROp) -> None:
    LOADS(op)
    _verify_view_access(op, op.results[0].type)


def _stores_view(op: TileIROp) -> None:
    STORES(op)
    _verify_view_access(op, op.operand("tile").type)


def _pointee(op: TileIROp, name: str) -> Attribute:
    return cast(PointerType, _element(op, name)).pointee


def _loads_pointers(op: TileIROp) -> None:
    LOADS(op)
    if _pointee(op, "source") != tile_of(op.results[0]).element_type:
        _refuse(f"the pointers lead to {short(_pointee(op, 'source'))}, not to {short(op.results[0].type)}")
    if (padding := op.optional("paddingValue")) is not None:
        if padding.type != op.results[0].type:
            _refuse(f"the padding is {short(padding.type)}, and the result {short(op.results[0].type)}")


def _stores_pointers(op: TileIROp) -> None:
    STORES(op)
    if _pointee(op, "destination") != _element(op, "value"):
        _refuse(f"the pointers lead to {short(_pointee(op, 'destination'))}, not to {short(op.operand('value').type)}")


MODES: Mapping[str, tuple[str, ...]] = {
    "addf": ("f16", "bf16", "f32", "f64"),
    "xchg": ("i32", "i64", "f32", "f64"),
    **dict.fromkeys(("and", "or", "xor", "add", "max", "min", "umax", "umin"), ("i32", "i64")),
}
"""Mode of an atomic -> the elements that it is for."""


def _modifies(op: TileIROp) -> None:
    ATOMICS(op)
    element, mode = _element(op, "arg"), op.word("mode")
    if _pointee(op, "pointers") != element:
        _refuse(f"the pointers lead to {short(_pointee(op, 'pointers'))}, not to {short(element)}")
    if short(element) not in MODES[mode]:
        _refuse(f"'{mode}' is for {', '.join(MODES[mode])}, not for {short(element)}")


def _compares_and_swaps(op: TileIROp) -> None:
    ATOMICS(op)
    element = _element(op, "val")
    if _pointee(op, "pointers") != element:
        _refuse(f"the pointers lead to {short(_pointee(op, 'pointers'))}, not to {short(element)}")
    if short(element) not in ("i32", "i64", "f32", "f64"):
        _refuse(f"numbers of 32 or 64 bits are compared, not {short(element)}")


def _reduces_view(op: TileIROp) -> None:
    _orders("relaxed")(op)
    if (scope := op.word("memory_scope")) == "sys":
        _refuse(f"the scope is tl_blk or device, not {scope}")
    view = cast(TileViewType, op.operand("view").type)
    if isinstance(view, GatherScatterViewType):
        _refuse("rows by index are not reduced into; use a partition view")
    if isinstance(view.padding, PaddingAttr):
        _refuse("a view with padding is not reduced into")
    element, mode = view.tensor_view.element_type, op.word("mode")
    if mode == "xchg":
        _refuse("'xchg' is no reduction")
    if short(element) not in MODES[mode]:
        _refuse(f"'{mode}' is for {', '.join(MODES[mode])}, not for {short(element)}")
    _verify_view_access(op, op.operand("value").type)


def _joins(op: TileIROp) -> None:
    if len(op.operands) < 2:
        _refuse(f"two or more tokens are joined, not {len(op.operands)}")


def _allocates(op: TileIROp) -> None:
    alignment = _number(op, "alignment")
    if _number(op, "num_elem") < 1:
        _refuse("at least one element is allocated")
    if alignment < 1 or alignment & (alignment - 1):
        _refuse(f"an alignment is a power of two, not {alignment}")
    pointee = cast(PointerType, tile_of(op.results[0]).element_type).pointee
    natural = -(-bits_per_element(pointee) // BYTE)
    if alignment < natural:
        _refuse(f"{short(pointee)} lies at multiples of {natural} bytes, and the alignment is {alignment}")


IEEE_ROUNDING = _rounds(*IEEE)

RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("addf", "subf", "mulf", "fma"), IEEE_ROUNDING),
    "divf": _rounds(*IEEE, "approx", "full", only_f32=("approx", "full")),
    "sqrt": _rounds(*IEEE, "approx", only_f32=("approx",)),
    "exp": _rounds("full", "approx", only_f32=("approx",)),
    "tanh": _rounds("full", "approx", only_f32=("approx",)),
    **dict.fromkeys(("rsqrt", "exp2", "maxf", "minf"), _flushes),
    "divi": _divides,
    "negi": _negates,
    "exti": _extends,
    "trunci": _truncates,
    "bitcast": _keeps_width,
    "ftof": _changes_float,
    "itof": _to_float,
    "ftoi": _to_integer,
    "ptr_to_ptr": _changes_pointee,
    "reshape": _reshapes,
    "broadcast": _broadcasts,
    "permute": _permutes,
    "cat": _concatenates,
    "extract": _slices,
    "insert": _inserts,
    "iota": _counts,
    "pack": _packs,
    "unpack": _unpacks,
    "mmaf": _multiplies,
    "mmai": _multiplies,
    "mmaf_scaled": _scales,
    "reduce": _reduces,
    "scan": _reduces,
    "break": _breaks,
    "continue": _continues,
    "yield": _yields,
    "return": _returns,
    "if": _branches,
    "for": _iterates,
    "loop": _loops,
    "assume": _assumes,
    "constant": _is_constant,
    "select": _selects,
    "print_tko": _prints,
    "get_global": _addresses_global,
    "make_tensor_view": _makes_array,
    **dict.fromkeys(("make_partition_view", "make_strided_view", "make_gather_scatter_view"), _makes_view),
    **dict.fromkeys(("get_index_space_shape", "get_tensor_shape"), _measures),
    "load_view_tko": _loads_view,
    "store_view_tko": _stores_view,
    "load_ptr_tko": _loads_pointers,
    "store_ptr_tko": _stores_pointers,
    "atomic_rmw_tko": _modifies,
    "atomic_cas_tko": _compares_and_swaps,
    "atomic_red_view_tko": _reduces_view,
    "join_tokens": _joins,
    "alloca": _allocates,
}
"""Name of an op -> what it demands beside."""
