"""
Control flow: `for` is `scf.for` on indices, `if` is `scf.if`, and `loop`, which ends by `break`, is `scf.while`.

    loop iter_values(%x = %a) : T -> U {          %u = scf.while (%x = %a) {
      if %c { break %u }                            %alive, %n, %u = scf.if %c { yield false, 0, %u }
      continue %n                             ->                     else { yield true, %n, 0 }
    }                                               scf.condition(%alive) %n, %u
                                                  } do { scf.yield %n }

An `if` that leaves what is around it takes what follows it into the branches that stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i1, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.ops import OPS
from tileas_xdsl.dialects.cuda_tile.types import TokenType
from tileas_xdsl.dialects.extensions.scf import extended
from tileas_xdsl.dialects.nv_tileaa.control import AssertOp, GetNumProgramsOp, GetProgramIdOp, PrintOp
from tileas_xdsl.interfaces import end_of
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.state import CONVERT, INDEX, Conversion, converts

extended(scf.Scf)
LEAVING = (OPS["break"], OPS["continue"], OPS["return"])

End = Callable[[TileIROp, list[SSAValue]], list[SSAValue]]
"""What a block results in that ends by an op with these values."""


def numbers(values: Sequence[SSAValue]) -> list[SSAValue]:
    """The values that are no tokens."""
    return [value for value in values if not isinstance(value.type, TokenType)]


def convert_from(to: Conversion, op: Operation | None, end: End) -> list[SSAValue]:
    """Convert from `op` to the end of its block; what that results in."""
    while op is not None and op.next_op is not None:
        to.current = op
        if isinstance(op, OPS["if"]) and _leaves(op):
            return _leaving(to, op, end)
        convert(to, op)
        op = op.next_op
    if op is None:
        return []
    to.current = op
    assert isinstance(op, TileIROp)
    return end(op, [to.value(value) for value in numbers(op.operands)])


def convert(to: Conversion, op: Operation) -> None:
    """Convert one op. Raises `RefusedError` for one that has no counterpart."""
    assert isinstance(op, TileIROp)
    function = CONVERT.get(type(op))
    if function is None:
        to.refuse(op, "has no counterpart in nv_tileaa", f"do without {op.ROW.name}, or run the kernel as it is")
    function(to, op)


def _blocks(op: Operation) -> Iterator[Block]:
    yield from (region.block for region in op.regions if region.blocks)


def _leaves(op: Operation) -> bool:
    """Whether a branch of an `if` leaves more than the `if`."""
    return any(
        isinstance(block.last_op, LEAVING)
        or any(isinstance(inner, OPS["if"]) and _leaves(inner) for inner in block.ops)
        for block in _blocks(op)
    )


def _region(to: Conversion, build: Callable[[], list[SSAValue]]) -> Region:
    """A region of one block that yields what `build` gives."""
    block = Block()
    with to.at(block):
        to.add(scf.YieldOp(*build()))
    return Region(block)


def _first(op: Operation, place: int) -> Operation | None:
    """The first op of a branch; None for a branch that is not there or empty."""
    region = op.regions[place] if place < len(op.regions) else None
    return region.block.first_op if region is not None and region.blocks else None


def _leaving(to: Conversion, op: TileIROp, end: End) -> list[SSAValue]:
    """An `if` that leaves: a branch that stays goes on to the end of the block around it."""

    def go_on(last: TileIROp, values: list[SSAValue]) -> list[SSAValue]:
        if not isinstance(last, OPS["yield"]):
            return end(last, values)
        to.give(op, *values)
        return convert_from(to, op.next_op, end)

    def branch(place: int) -> list[SSAValue]:
        first = _first(op, place)
        return convert_from(to, op.next_op, end) if first is None else convert_from(to, first, go_on)

    condition = to.value(op.operands[0])
    regions = [_region(to, lambda place=place: branch(place)) for place in (0, 1)]
    to.current = op
    last = end_of(regions[0].block)
    made = scf.IfOp(condition, [value.type for value in last.operands], regions[0], regions[1])
    to.add(made)
    return list(made.results)


@converts("if")
def _if(to: Conversion, op: TileIROp) -> None:
    def branch(place: int) -> list[SSAValue]:
        return convert_from(to, _first(op, place), lambda _, values: values)

    condition = to.value(op.operands[0])
    regions = [_region(to, lambda place=place: branch(place)) for place in (0, 1)]
    to.current = op
    made = scf.IfOp(condition, [to.type(result.type) for result in numbers(op.results)], regions[0], regions[1])
    to.add(made)
    to.give(op, *made.results)


def _no_return(to: Conversion, last: TileIROp) -> None:
    if isinstance(last, OPS["return"]):
        to.refuse(last, "leaves the kernel from inside a loop", "carry a flag, and test it")


@converts("for")
def _for(to: Conversion, op: TileIROp) -> None:
    is_signed = not op.flag("unsignedCmp")
    lower, upper, step = (to.index(bound, is_signed=is_signed) for bound in op.operands[:3])
    carried = [to.value(value) for value in numbers(op.operands[3:])]
    before = op.regions[0].block
    block = Block(arg_types=[INDEX, *(value.type for value in carried)])
    to.indices[before.args[0]] = block.args[0]
    for old, new in zip(numbers(before.args[1:]), block.args[1:], strict=True):
        to.values[old] = new
        new.name_hint = old.name_hint
    block.args[0].name_hint = before.args[0].name_hint

    def end(last: TileIROp, values: list[SSAValue]) -> list[SSAValue]:
        _no_return(to, last)
        return values

    with to.at(block):
        to.add(scf.YieldOp(*convert_from(to, before.first_op, end)))
    to.current = op
    made = scf.ForOp(lower, upper, step, carried, block)
    to.add(made)
    to.give(op, *made.results)


@converts("loop")
def _loop(to: Conversion, op: TileIROp) -> None:
    carried = [to.value(value) for value in numbers(op.operands)]
    results = [to.type(result.type) for result in numbers(op.results)]
    kinds = [value.type for value in carried]
    before, block = op.regions[0].block, Block(arg_types=kinds)
    for old, new in zip(numbers(before.args), block.args, strict=True):
        to.values[old] = new
        new.name_hint = old.name_hint

    def end(last: TileIROp, values: list[SSAValue]) -> list[SSAValue]:
        _no_return(to, last)
        goes_on = isinstance(last, OPS["continue"])
        alive = to.constant(-1 if goes_on else 0, i1)
        nothing = [to.constant(0, kind) for kind in (results if goes_on else kinds)]
        return [alive, *values, *nothing] if goes_on else [alive, *nothing, *values]

    with to.at(block):
        alive, *values = convert_from(to, before.first_op, end)
        to.current = op
        to.add(scf.ConditionOp(alive, *values))
    again = Block(arg_types=[*kinds, *results])
    with to.at(again):
        to.add(scf.YieldOp(*again.args[: len(kinds)]))
    made = scf.WhileOp(carried, [*kinds, *results], Region(block), Region(again))
    to.add(made)
    to.give(op, *made.results[len(kinds) :])


# The grid, assertions, prints -----------------------------------------------------------------------------------------


@converts("get_tile_block_id", "get_num_tile_blocks")
def _grid(to: Conversion, op: TileIROp) -> None:
    kind = GetProgramIdOp if op.ROW.name == "get_tile_block_id" else GetNumProgramsOp
    for axis, result in enumerate(op.results):
        if result.first_use is not None:
            made = kind.create(result_types=[INDEX], properties={"axis": IntegerAttr(axis, i32)})
            to.indices[result] = to.result(made)


@converts("assert")
def _assert(to: Conversion, op: TileIROp) -> None:
    said = {"message": op.properties["message"]}
    to.add(AssertOp.create(operands=[to.value(op.operands[0])], properties=said))


@converts("print_tko")
def _print(to: Conversion, op: TileIROp) -> None:
    text = op.properties["str"]
    assert isinstance(text, StringAttr)
    values = [to.value(value) for value in op.group("args")]
    to.add(PrintOp.build(operands=[values], properties={"format": text}))
