"""
What only values say: where an address leads.

    ld.param.b64 %rd2, [%rd1+16]     a parameter, if %rd1 is the address of one
    ld.b32 %r1, [%rd3]               of shared memory, if %rd3 is made of the address of an array there
    [%rd4, {%r5, %r6}]               which tensor map it is; whether the kernel stores to that tensor

An address of parameters is a name and an offset, found through sums with constants.
"""

from __future__ import annotations

from dataclasses import dataclass

from tileas_xdsl.readers.ptx.steps import Block, Constant, Operand, Step, Value
from tileas_xdsl.readers.ptx.syntax import Symbols


@dataclass(frozen=True)
class Location:
    """The byte `offset` of the variable or the parameter `name`."""

    kind: str
    """`address` (of a variable) or `parameter address`."""
    name: str
    offset: int


def location_of(operand: Operand) -> Location | None:
    """Where `operand` leads, if that is a constant distance from something with a name."""
    offset = 0
    while isinstance(operand, Value) and (step := operand.step) is not None:
        if step.kind in ("address", "parameter address"):
            name, own = step.detail
            return Location(step.kind, name, offset + own)
        if step.what in ("zext", "sext", "trunc"):
            operand = step.operands[0]
        elif step.what in ("add", "sub") and isinstance(step.operands[1], Constant):
            distance = step.operands[1]
            number = distance.value - (1 << distance.bits) * (distance.value >> (distance.bits - 1))
            offset += number if step.what == "add" else -number
            operand = step.operands[0]
        elif step.what == "add" and isinstance(step.operands[0], Constant):
            offset += step.operands[0].value
            operand = step.operands[1]
        else:
            return None
    return None


def resolve(blocks: list[Block], symbols: Symbols, *, with_numbers: bool = False) -> bool:
    """
    Say of each step in `blocks` where its address leads. Returns whether there are stores of which that is not
    followed, which it never is `with_numbers`.
    """
    forgotten = False
    _name_places(blocks)
    stored = {_map_of(step.operands[0]) for block in blocks for step in block.steps if step.what == "tensor store"}
    kinds: dict[Operand, str] = {}
    for block in blocks:
        steps: list[Step] = []
        for step in block.steps:
            if step.kind == "parameter":
                _find_parameter(step, symbols)
            elif step.what == "tensor load" and (stored & {_map_of(step.operands[1]), None}):
                step.operands += step.detail
            elif step.what == "tensor store" and not with_numbers:
                made = _forget_coordinates(step, kinds)
                forgotten |= bool(made)
                steps += made
            elif step.what in ("generic load", "generic store"):
                kind = memory_of(step.operands[0], kinds)
                if kind == "loaded":
                    raise step.instruction.error("has an address without a space that was loaded from shared memory")
                if kind == "global":
                    steps += _unknown(step)
                    continue
            steps.append(step)
        block.steps = steps
    return forgotten


def _name_places(blocks: list[Block]) -> None:
    """Let steps that act name places by variable and offset, so that the sums which led there do not matter."""
    known: dict[tuple[Location, int], Value] = {}
    for block in blocks:
        for step in block.steps:
            if step.kind == "act":
                step.operands = [_named(operand, step, known) for operand in step.operands]
    blocks[0].steps[:0] = [step for value in known.values() if (step := value.step) is not None]


def _named(operand: Operand, user: Step, known: dict[tuple[Location, int], Value]) -> Operand:
    place = location_of(operand)
    if place is None or place.kind != "address":
        return operand
    key = (place, operand.bits)
    if key not in known:
        value = known[key] = Value(operand.bits, None)
        value.step = Step("address", "", [], [value], user.instruction, (place.name, place.offset))
    return known[key]


def _map_of(operand: Operand) -> tuple[str, int] | None:
    place = location_of(operand)
    return None if place is None else (place.name, place.offset)


def _find_parameter(step: Step, symbols: Symbols) -> None:
    place = location_of(step.operands[0])
    step.operands = []
    if place is None or place.kind != "parameter address" or symbols.parameter(place.name) is None:
        step.kind, step.what = "unknown", "a parameter"
        return
    step.detail = (place.name, place.offset + step.detail)


def _forget_coordinates(step: Step, kinds: dict[Operand, str]) -> list[Step]:
    """
    Coordinates of a store that came through shared memory, from one warp to another, are not followed, as stores
    through pointers are not; nor are those for which the number of a block is divided by what only the launch knows:
    the order of the tiles in the grid would decide, and each check be one for each grid.
    """
    divided: dict[Operand, bool] = {}
    made: list[Step] = []
    for place, operand in enumerate(step.operands[2:], 2):
        if memory_of(operand, kinds) == "loaded" or _is_by_grid(operand, divided):
            value = Value(operand.bits, None)
            value.step = Step("unknown", "a coordinate", [], [value], step.instruction)
            made.append(value.step)
            step.operands[place] = value
    return made


def _is_by_grid(operand: Operand, known: dict[Operand, bool]) -> bool:
    """Whether `operand` is made of a quotient, or a remainder, by a number that is no constant."""
    if not isinstance(operand, Value) or operand.step is None:
        return False
    if operand not in known:
        known[operand] = False
        step = operand.step
        by = step.what.startswith(("div", "rem")) and not isinstance(step.operands[1], Constant)
        known[operand] = by or any(_is_by_grid(each, known) for each in step.operands)
    return known[operand]


def _unknown(step: Step) -> list[Step]:
    """A load from global memory gives unknown numbers; a store there is left out."""
    made: list[Step] = []
    for result in step.results:
        assert isinstance(result, Value)
        result.step = Step("unknown", "global load", [], [result], step.instruction)
        made.append(result.step)
    return made


def memory_of(operand: Operand, known: dict[Operand, str]) -> str:
    """
    Which memory the address `operand` is in: `shared` if it is made of the address of an array there; `loaded` if it is
    made of a number that was loaded from shared memory, which may be either; else `global`.
    """
    if not isinstance(operand, Value) or operand.step is None:
        return "global"
    if operand not in known:
        known[operand] = "global"
        step = operand.step
        if step.kind == "address":
            known[operand] = "shared"
        elif step.kind in ("compute", "phi", "ask"):
            kinds = {memory_of(each, known) for each in step.operands}
            known[operand] = next((kind for kind in ("shared", "loaded") if kind in kinds), "global")
        elif step.what in ("load", "generic load"):
            known[operand] = "loaded"
    return known[operand]
