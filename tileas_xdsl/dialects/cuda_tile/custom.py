"""
Ops of `cuda_tile` whose text is no form: control flow, reductions, arrays, shapes, prints.

    %r = for %i in (%lb to %ub, step %s) : tile<i32> iter_values(%x = %y) -> (tile<f32>) { .. }
    %r = loop iter_values(%x = %y) : tile<f32> -> tile<i32> { .. }
    %r = if %c -> (tile<f32>) { .. } else { .. }
    %r = reduce %a, %b dim=1 identities=[0.000000e+00 : f32, 0 : i32] : T, T -> U, U (%x: tile<f32>, ..) { .. }

A terminator without operands that a region ends with anyway is not written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, StringAttr, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from tileas_xdsl.dialects.cuda_tile.base import UNIT, TileIROp, build
from tileas_xdsl.dialects.cuda_tile.forms import attribute_text, read_attribute
from tileas_xdsl.dialects.cuda_tile.types import (
    TOKEN,
    PointerType,
    TensorViewType,
    TileType,
    TileViewType,
    parse_type,
    short,
)

Build = Callable[[Parser, type[TileIROp]], TileIROp]
Print = Callable[[Printer, TileIROp], None]

TERMINATORS: dict[str, Callable[[], Operation]] = {}
"""Op with regions -> what makes the terminator that its text leaves out; `ops.py` fills it in."""


# Parts of the text ----------------------------------------------------------------------------------------------------


def types_text(values: Sequence[SSAValue]) -> str:
    """`tile<f32>, token`"""
    return ", ".join(short(value.type) for value in values)


def parse_types(parser: Parser) -> list[Attribute]:
    """Types without brackets."""
    return [
        *parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: parse_type(parser)),
    ]


def _resolved(parser: Parser, operands: Sequence[UnresolvedOperand], kinds: Sequence[Attribute]) -> list[SSAValue]:
    if len(operands) != len(kinds):
        parser.raise_error(f"{len(operands)} operands and {len(kinds)} types")
    return [parser.resolve_operand(one, kind) for one, kind in zip(operands, kinds, strict=True)]


def parse_body(
    parser: Parser, op: type[TileIROp], names: Sequence[tuple[Parser.UnresolvedArgument, Attribute]]
) -> Region:
    """A region whose first block has these arguments, with the terminator that its text leaves out."""
    region = parser.parse_region([name.resolve(kind) for name, kind in names])
    return with_terminator(op.ROW.name, region, [kind for _, kind in names])


def with_terminator(name: str, region: Region, kinds: Sequence[Attribute] = ()) -> Region:
    """`region`, which an op `name` has, with a terminator where its only block has none."""
    if not region.blocks:
        region.add_block(Block(arg_types=kinds))
    last = region.blocks[-1]
    if last.last_op is None or not (isinstance(last.last_op, TileIROp) and last.last_op.ROW.effects == "terminator"):
        last.add_op(TERMINATORS[name]())
    return region


def print_body(printer: Printer, op: TileIROp, region: Region) -> None:
    """` {`, the ops, `}`; without the terminator that goes without saying."""
    last = region.blocks[-1].last_op if region.blocks else None
    implied = TERMINATORS[op.ROW.name]().name
    shown = last is None or last.name != implied or bool(last.operands) or bool(last.attributes)
    printer.print_string(" ")
    printer.print_region(region, print_entry_block_args=False, print_block_terminators=shown)


def _print_attributes(printer: Printer, op: TileIROp) -> None:
    if op.attributes:
        printer.print_op_attributes(op.attributes)


def _pairs(
    parser: Parser,
) -> tuple[list[Parser.UnresolvedArgument], list[UnresolvedOperand]]:
    """`iter_values(%x = %y, ..)`, which may be missing."""
    if parser.parse_optional_keyword("iter_values") is None:
        return [], []

    def pair() -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
        name = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        return name, parser.parse_unresolved_operand()

    pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, pair)
    return [name for name, _ in pairs], [value for _, value in pairs]


def _print_pairs(printer: Printer, arguments: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
    printer.print_string("iter_values(")
    for place, (argument, value) in enumerate(zip(arguments, values, strict=True)):
        printer.print_string(", " if place else "")
        printer.print_ssa_value(argument)
        printer.print_string(" = ")
        printer.print_ssa_value(value)
    printer.print_string(")")


# Loops and branches ---------------------------------------------------------------------------------------------------


def parse_for(parser: Parser, op: type[TileIROp]) -> TileIROp:
    properties = {"unsignedCmp": UNIT} if parser.parse_optional_keyword("unsigned") is not None else {}
    counter = parser.parse_argument(expect_type=False)
    parser.parse_keyword("in")
    with parser.in_parens():
        lower = parser.parse_unresolved_operand()
        parser.parse_keyword("to")
        upper = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        parser.parse_keyword("step")
        step = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    kind = parse_type(parser)
    names, values = _pairs(parser)
    kinds: list[Attribute] = []
    if values:
        parser.parse_punctuation("->")
        kinds = list(parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_type(parser)))
    bounds = _resolved(parser, [lower, upper, step], [kind] * 3)
    start = _resolved(parser, values, kinds)
    body = parse_body(parser, op, [(counter, kind), *zip(names, kinds, strict=True)])
    attributes = parser.parse_optional_attr_dict()
    groups = {"lowerBound": bounds[:1], "upperBound": bounds[1:2], "step": bounds[2:], "initValues": start}
    return build(op, groups, kinds, properties, attributes=attributes, regions=[body])


def print_for(printer: Printer, op: TileIROp) -> None:
    counter, *carried = op.regions[0].block.args
    printer.print_string(" unsigned " if op.flag("unsignedCmp") else " ")
    printer.print_ssa_value(counter)
    for text, name in ((" in (", "lowerBound"), (" to ", "upperBound"), (", step ", "step")):
        printer.print_string(text)
        printer.print_ssa_value(op.operand(name))
    printer.print_string(f") : {short(counter.type)}")
    if carried:
        printer.print_string(" ")
        _print_pairs(printer, carried, op.group("initValues"))
        printer.print_string(f" -> ({types_text(op.results)})")
    print_body(printer, op, op.regions[0])
    _print_attributes(printer, op)


def parse_loop(parser: Parser, op: type[TileIROp]) -> TileIROp:
    names, values = _pairs(parser)
    kinds: list[Attribute] = []
    results: list[Attribute] = []
    if parser.parse_optional_punctuation(":") is not None:
        found = parse_types(parser)
        if values:
            kinds = found
            results = parse_types(parser) if parser.parse_optional_punctuation("->") is not None else []
        else:
            results = found
    start = _resolved(parser, values, kinds)
    body = parse_body(parser, op, list(zip(names, kinds, strict=True)))
    attributes = parser.parse_optional_attr_dict()
    return build(op, {"initValues": start}, results, {}, attributes=attributes, regions=[body])


def print_loop(printer: Printer, op: TileIROp) -> None:
    values = op.group("initValues")
    if values:
        printer.print_string(" ")
        _print_pairs(printer, op.regions[0].block.args, values)
        printer.print_string(f" : {types_text(values)}")
    if op.results:
        printer.print_string(f" {'->' if values else ':'} {types_text(op.results)}")
    print_body(printer, op, op.regions[0])
    _print_attributes(printer, op)


def parse_if(parser: Parser, op: type[TileIROp]) -> TileIROp:
    condition = parser.parse_unresolved_operand()
    results: list[Attribute] = []
    if parser.parse_optional_punctuation("->") is not None:
        results = list(parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_type(parser)))
    (truth,) = _resolved(parser, [condition], [TileType.of(i1)])
    regions = [parse_body(parser, op, []), Region()]
    if parser.parse_optional_keyword("else") is not None:
        regions[1] = parse_body(parser, op, [])
    attributes = parser.parse_optional_attr_dict()
    return build(op, {"condition": [truth]}, results, {}, attributes=attributes, regions=regions)


def print_if(printer: Printer, op: TileIROp) -> None:
    printer.print_string(" ")
    printer.print_ssa_value(op.operand("condition"))
    if op.results:
        printer.print_string(f" -> ({types_text(op.results)})")
    print_body(printer, op, op.regions[0])
    if op.regions[1].blocks:
        printer.print_string(" else")
        print_body(printer, op, op.regions[1])
    _print_attributes(printer, op)


# Reductions -----------------------------------------------------------------------------------------------------------


def parse_reduction(parser: Parser, op: type[TileIROp]) -> TileIROp:
    operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    attributes = parser.parse_optional_attr_dict()
    properties: dict[str, Attribute] = {}
    for part in op.ROW.attributes:
        parser.parse_keyword(part.name)
        parser.parse_punctuation("=")
        properties[part.name] = read_attribute(parser, part.kind)
    parser.parse_punctuation(":")
    kinds = parse_types(parser)
    parser.parse_punctuation("->")
    results = parse_types(parser)

    def argument() -> tuple[Parser.UnresolvedArgument, Attribute]:
        name = parser.parse_argument(expect_type=False)
        parser.parse_punctuation(":")
        return name, parse_type(parser)

    arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, argument)
    values = _resolved(parser, operands, kinds)
    body = parse_body(parser, op, arguments)
    return build(op, {"operands": values}, results, properties, attributes=attributes, regions=[body])


def print_reduction(printer: Printer, op: TileIROp) -> None:
    printer.print_string(" ")
    printer.print_list(op.operands, printer.print_ssa_value)
    _print_attributes(printer, op)
    texts = [f"{part.name}={attribute_text(op.properties[part.name])}" for part in op.ROW.attributes]
    printer.print_string(f"  {' '.join(texts)} : {types_text(op.operands)} -> {types_text(op.results)}\n(")
    for place, argument in enumerate(op.regions[0].block.args):
        printer.print_string(", " if place else "")
        printer.print_ssa_value(argument)
        printer.print_string(f": {short(argument.type)}")
    printer.print_string(")")
    print_body(printer, op, op.regions[0])


# Arrays, shapes, prints -----------------------------------------------------------------------------------------------


def parse_make_tensor_view(parser: Parser, op: type[TileIROp]) -> TileIROp:
    base = parser.parse_unresolved_operand()
    sizes: list[list[UnresolvedOperand]] = []
    texts: list[list[UnresolvedOperand | int]] = []
    for word in ("shape", "strides"):
        written: list[UnresolvedOperand | int] = []
        if parser.parse_optional_punctuation(",") is not None:
            parser.parse_keyword(word)
            parser.parse_punctuation("=")
            written = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _size(parser))
        sizes.append([size for size in written if not isinstance(size, int)])
        texts.append(written)
    attributes = parser.parse_optional_attr_dict()
    start = parser.pos
    parser.parse_punctuation(":")
    kind = parse_type(parser)
    result = kind
    if parser.parse_optional_punctuation("->") is not None:
        result = parse_type(parser)
    if not isinstance(result, TensorViewType):
        parser.raise_error(f"expected a tensor view, got {short(result)}", start)
    for what, written, said in zip(
        ("extents", "strides"), texts, (result.get_shape(), result.get_strides()), strict=True
    ):
        _expect_sizes(parser, what, written, said, start)
    (pointer,) = _resolved(parser, [base], [TileType.of(PointerType(result.element_type, result.space))])
    shape, strides = (_resolved(parser, group, [kind] * len(group)) for group in sizes)
    groups = {"base": [pointer], "dynamicShape": shape, "dynamicStrides": strides}
    return build(op, groups, [result], {}, attributes=attributes)


def _expect_sizes(
    parser: Parser, what: str, written: Sequence[UnresolvedOperand | int], said: Sequence[int], start: int
) -> None:
    """Extents or strides are written as the type says them: a number for each, and a value where that is open."""
    if len(written) != len(said):
        parser.raise_error(f"the type has {len(said)} {what}, and {len(written)} are written", start)
    for axis, (size, number) in enumerate(zip(written, said, strict=True)):
        if isinstance(size, int) and size != number:
            parser.raise_error(f"the {what} of the type say {number} of axis {axis}, and {size} is written", start)


def _size(parser: Parser) -> UnresolvedOperand | int:
    operand = parser.parse_optional_unresolved_operand()
    return parser.parse_integer() if operand is None else operand


def print_make_tensor_view(printer: Printer, op: TileIROp) -> None:
    (result,) = op.results
    view = result.type
    assert isinstance(view, TensorViewType)
    printer.print_string(" ")
    printer.print_ssa_value(op.operand("base"))
    groups = (("shape", view.get_shape(), "dynamicShape"), ("strides", view.get_strides(), "dynamicStrides"))
    for word, sizes, name in groups if view.get_shape() else ():
        printer.print_string(f", {word} = [")
        dynamic = iter(op.group(name))
        for place, size in enumerate(sizes):
            printer.print_string(", " if place else "")
            if size == DYNAMIC_INDEX and (value := next(dynamic, None)) is not None:
                printer.print_ssa_value(value)
            else:
                printer.print_string(str(size))
        printer.print_string("]")
    _print_attributes(printer, op)
    printer.print_string(" : ")
    if dynamic_sizes := [*op.group("dynamicShape"), *op.group("dynamicStrides")]:
        printer.print_string(f"{short(dynamic_sizes[0].type)} -> ")
    printer.print_string(short(view))


def parse_shape_of(parser: Parser, op: type[TileIROp]) -> TileIROp:
    source = parser.parse_unresolved_operand()
    attributes = parser.parse_optional_attr_dict()
    start = parser.pos
    parser.parse_punctuation(":")
    kind = parse_type(parser)
    if not isinstance(kind, TileViewType | TensorViewType):
        parser.raise_error(f"expected a view, got {short(kind)}", start)
    parser.parse_punctuation("->")
    result = parse_type(parser)
    rank = len(kind.get_shape() if isinstance(kind, TensorViewType) else kind.get_tile_shape())
    return build(op, {"src": _resolved(parser, [source], [kind])}, [result] * rank, {}, attributes=attributes)


def print_shape_of(printer: Printer, op: TileIROp) -> None:
    printer.print_string(" ")
    printer.print_ssa_value(op.operand("src"))
    _print_attributes(printer, op)
    printer.print_string(f" : {short(op.operand('src').type)} -> {types_text(op.results[:1])}")


def parse_print(parser: Parser, op: type[TileIROp]) -> TileIROp:
    text = parser.parse_str_literal()
    operands: list[UnresolvedOperand] = []
    while parser.parse_optional_punctuation(",") is not None:
        operands.append(parser.parse_unresolved_operand())
    token: list[UnresolvedOperand] = []
    if parser.parse_optional_keyword("token") is not None:
        parser.parse_punctuation("=")
        token = [parser.parse_unresolved_operand()]
    attributes = parser.parse_optional_attr_dict()
    kinds = parse_types(parser) if parser.parse_optional_punctuation(":") is not None else []
    results = parse_types(parser) if parser.parse_optional_punctuation("->") is not None else []
    groups = {"args": _resolved(parser, operands, kinds), "token": _resolved(parser, token, [TOKEN] * len(token))}
    return build(op, groups, results, {"str": StringAttr(text)}, attributes=attributes)


def print_print(printer: Printer, op: TileIROp) -> None:
    printer.print_string(f" {op.properties['str']}")
    for value in op.group("args"):
        printer.print_string(", ")
        printer.print_ssa_value(value)
    if (token := op.optional("token")) is not None:
        printer.print_string(" token=")
        printer.print_ssa_value(token)
    _print_attributes(printer, op)
    if op.group("args"):
        printer.print_string(f" : {types_text(op.group('args'))}")
    if op.results:
        printer.print_string(f" -> {types_text(op.results)}")


CUSTOM: Mapping[str, tuple[Build, Print]] = {
    "for": (parse_for, print_for),
    "loop": (parse_loop, print_loop),
    "if": (parse_if, print_if),
    "reduce": (parse_reduction, print_reduction),
    "scan": (parse_reduction, print_reduction),
    "make_tensor_view": (parse_make_tensor_view, print_make_tensor_view),
    "get_index_space_shape": (parse_shape_of, print_shape_of),
    "get_tensor_shape": (parse_shape_of, print_shape_of),
    "print_tko": (parse_print, print_print),
}
"""Name of an op -> what reads and what prints its text."""
