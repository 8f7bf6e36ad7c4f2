"""
Numbers that count elements where a loop counts tiles: K of a matmul.

    n = (K + 63) / 64;  loop: .. i < n       K = 64 K_tiles, and K_tiles counts the turns
    loop: k += 64; .. k < N                  N = 64 N_tiles

A check tries the trip counts 0 to 8, and as numbers of elements they would all give one turn, or none. So such a
parameter is taken for a multiple of what it is divided by on its way to the exits of loops, which the verdict says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from math import lcm
from typing import cast

from tileas_xdsl.readers.ptx.slicing import Slice, is_in_loop
from tileas_xdsl.readers.ptx.steps import Block, Constant, Operand, Step, Value

Place = tuple[str, int]
"""A parameter, and an offset in it."""
MOST = 1 << 12
"""Larger numbers of elements are no extent of a tile."""
KEEPS_UNIT = ("add", "sub", "sext", "zext", "trunc", "select")
"""Functions whose result counts what their operands count."""


def count_tiles(blocks: list[Block], found: Slice, fixed: Collection[Place]) -> Mapping[Place, int]:
    """
    Let parameters that bound loops by way of a division count tiles, but for those at `fixed`; returns how many
    elements a tile of each has.
    """
    scaled: dict[Place, int] = {}
    uses = _uses(blocks, found)
    bounding = _bounding(blocks, found)
    for step in bounding:
        place = cast("Place", step.detail)
        unit = lcm(*_divisors(step.results[0], uses, set()))
        if 1 < unit <= MOST and place not in fixed:
            scaled[place] = lcm(unit, scaled.get(place, 1))
    for block in blocks:
        block.steps = [made for step in block.steps for made in _in_tiles(step, found, scaled)]
    return {place: unit for place, unit in scaled.items() if unit <= MOST}


def _in_tiles(step: Step, found: Slice, scaled: Mapping[Place, int]) -> Iterator[Step]:
    unit = scaled.get(step.detail, 1) if step.kind == "parameter" and step in found.steps else 1
    yield step
    if 1 < unit <= MOST:
        elements = step.results[0]
        assert isinstance(elements, Value)
        tiles = Value(elements.bits, step)
        step.results = [tiles]
        elements.step = Step("compute", "mul", [tiles, Constant(unit, tiles.bits)], [elements], step.instruction)
        found.steps.add(elements.step)
        found.values.add(tiles)
        yield elements.step


def _bounding(blocks: list[Block], found: Slice) -> list[Step]:
    """The parameters that conditions of loops are made of."""
    steps: dict[Step, None] = {}
    seen: set[Operand] = set()
    worklist = [block.condition for block in found.branches if is_in_loop(block)]
    while worklist:
        operand = worklist.pop()
        if not isinstance(operand, Value) or operand.step is None or operand in seen:
            continue
        seen.add(operand)
        if operand.step.kind == "parameter":
            steps[operand.step] = None
        elif operand.step.kind in ("compute", "phi"):
            worklist += operand.step.operands
    return [step for block in blocks for step in block.steps if step in steps]


def _uses(blocks: list[Block], found: Slice) -> Mapping[Operand, list[Step]]:
    uses: dict[Operand, list[Step]] = defaultdict(list)
    for block in blocks:
        for step in (*block.phis, *block.steps):
            if step in found.steps:
                for operand in step.operands:
                    uses[operand].append(step)
    return uses


def _divisors(operand: Operand, uses: Mapping[Operand, list[Step]], seen: set[Operand]) -> Iterator[int]:
    """What `operand`, or a sum with it, is divided by, or reached in steps of."""
    if operand in seen:
        return
    seen.add(operand)
    for step in uses.get(operand, ()):
        if step.what in ("div.u", "div.s", "div.floor") and step.operands[0] is operand:
            by = step.operands[1]
            if isinstance(by, Constant):
                yield by.value
        elif step.what in KEEPS_UNIT:
            yield from _divisors(step.results[0], uses, seen)
        elif step.what == "cmp":
            yield from (_step_of(other) for other in step.operands if other is not operand)


def _step_of(operand: Operand) -> int:
    """By how much a variable of a loop grows from turn to turn; 1 for any other number."""
    step = operand.step if isinstance(operand, Value) else None
    if step is not None and step.what in ("add", "sub") and isinstance(step.operands[1], Constant):
        phi = step.operands[0].step if isinstance(step.operands[0], Value) else None
        return _step_of(step.operands[0]) if phi is not None and phi.kind == "phi" else 1
    if step is None or step.kind != "phi":
        return 1
    for after in step.operands:
        made = after.step if isinstance(after, Value) else None
        if made is not None and made.what == "add" and made.operands[0] in step.results:
            by = made.operands[1]
            if isinstance(by, Constant) and 0 < by.value <= MOST:
                return by.value
    return 1
