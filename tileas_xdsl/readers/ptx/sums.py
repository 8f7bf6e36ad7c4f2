"""
Sums in which a multiple of a number and one of its quotient cancel: remainders.

    a x - a d (x / d)          a (x mod d): an address in a ring, which otherwise seems to grow without end

Compilers make one variable of a loop for each address. So a variable that grows by a constant is written as
`start + step * turn`, where `turn` counts the turns of its loop, and sums are compared as linear forms modulo 2^w.

Some numbers count elements where a loop counts tiles: K of a matmul.

    n = (K + 63) / 64;  loop: .. i < n       K = 64 K_tiles, and K_tiles counts the turns
    loop: k += 64; .. k < N                  N = 64 N_tiles

A check tries the trip counts 0 to 8, and as numbers of elements they would all give one turn, or none. So such a
parameter is taken for a multiple of what it is divided by on its way to the exits of loops, which the verdict says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from math import lcm
from typing import cast

from tileas_xdsl.readers.ptx.launch import Tiles
from tileas_xdsl.readers.ptx.slicing import Slice, is_in_loop
from tileas_xdsl.readers.ptx.ssa import replace
from tileas_xdsl.readers.ptx.steps import Block, Constant, Operand, Step, Value


@dataclass(frozen=True)
class Turn:
    """The number of turns that the loop with the phis of `header` has made, modulo 2^bits."""

    header: int
    bits: int


Atom = Operand | Turn
Form = dict[Atom, int]
"""Atom -> factor; a number is the sum, with that of the atom `ONE`, modulo 2^w."""
ONE = Constant(1, 0)
MOST_ATOMS = 12
"""Longer sums are not compared."""


def restore_remainders(blocks: list[Block]) -> None:
    """Write sums of `blocks` with remainders where a number and its quotient cancel."""
    _Sums(blocks).all()


class _Sums:
    def __init__(self, blocks: list[Block]) -> None:
        self.blocks = blocks
        self.forms: dict[Operand, Form] = {}
        self.headers = {phi: block.number for block in blocks for phi in block.phis}
        self.quotients = [
            step for block in blocks for step in block.steps if step.what in ("div.u", "div.s") and _divisor(step)
        ]

    def all(self) -> None:
        if not self.quotients:
            return
        renamed: dict[Operand, Operand] = {}
        for block in self.blocks:
            steps: list[Step] = []
            for step in block.steps:
                made = self._remainder(step, steps) if step.what in ("add", "sub") else None
                if made is None:
                    steps.append(step)
                else:
                    renamed[step.results[0]] = made
            block.steps = steps
        replace(self.blocks, renamed)

    # Forms ------------------------------------------------------------------------------------------------------------

    def form(self, operand: Operand) -> Form:
        """`operand` as a sum of multiples of atoms."""
        if isinstance(operand, Constant):
            return {ONE: operand.value} if operand.value else {}
        if operand not in self.forms:
            self.forms[operand] = {operand: 1}  # what a loop carries is an atom within its own form
            self.forms[operand] = self._form(operand)
        return self.forms[operand]

    def _form(self, operand: Operand) -> Form:
        step = operand.step if isinstance(operand, Value) else None
        own: Form = {operand: 1}
        if step is None:
            return own
        if step.kind == "phi":
            return self._variable(step, own)
        modulus = 1 << operand.bits
        if step.what in ("add", "sub"):
            a, b = map(self.form, step.operands)
            sum_ = combined(a, b, 1 if step.what == "add" else -1, modulus)
            return sum_ if len(sum_) <= MOST_ATOMS else own
        if step.what in ("mul", "shl") and isinstance(step.operands[1], Constant):
            number = step.operands[1].value
            factor = number if step.what == "mul" else 1 << number
            return combined({}, self.form(step.operands[0]), factor, modulus)
        return own

    def _variable(self, phi: Step, own: Form) -> Form:
        """A variable that each turn of a loop adds a constant to."""
        if len(phi.operands) != 2:
            return own
        result = phi.results[0]
        for start, after in (phi.operands, phi.operands[::-1]):
            step = after.step if isinstance(after, Value) else None
            if step is not None and step.what == "add" and step.operands[0] is result:
                by = step.operands[1]
                if isinstance(by, Constant):
                    turn = Turn(self.headers[phi], result.bits)
                    return combined(self.form(start), {turn: 1}, by.value, 1 << result.bits)
        return own

    # Remainders -------------------------------------------------------------------------------------------------------

    def _remainder(self, step: Step, steps: list[Step]) -> Operand | None:
        """The sum that `step` is, with a remainder; None where nothing cancels."""
        result = step.results[0]
        modulus, form = 1 << result.bits, self.form(result)
        for quotient in self.quotients:
            factor = form.get(quotient.results[0], 0)
            divisor = _divisor(quotient)
            if not factor or result.bits != quotient.results[0].bits or -factor % modulus % divisor:
                continue
            unit = -factor % modulus // divisor
            whole = self.form(quotient.operands[0])
            rest = combined(form, {**combined({}, whole, unit, modulus), quotient.results[0]: factor}, -1, modulus)
            if len(rest) < len(form) and not any(isinstance(atom, Turn) for atom in rest):
                return _sum(step, steps, quotient, unit, rest)
        return None


def _divisor(step: Step) -> int:
    """The constant that a quotient divides by; 0 where it is none."""
    by = step.operands[1]
    return by.value if isinstance(by, Constant) else 0


def combined(a: Form, b: Form, factor: int, modulus: int) -> Form:
    """a + factor * b."""
    sum_ = dict(a)
    for atom, other in b.items():
        sum_[atom] = (sum_.get(atom, 0) + factor * other) % modulus
    return {atom: number for atom, number in sum_.items() if number}


def _sum(step: Step, steps: list[Step], quotient: Step, unit: int, rest: Form) -> Operand:
    """The steps of `unit * (x mod d) + rest`, in front of `step`."""
    bits = step.results[0].bits

    def give(what: str, a: Operand, b: Operand) -> Value:
        value = Value(bits, None)
        value.step = Step("compute", what, [a, b], [value], step.instruction)
        steps.append(value.step)
        return value

    found: Operand = give(quotient.what.replace("div", "rem"), quotient.operands[0], quotient.operands[1])
    if unit != 1:
        found = give("mul", found, Constant(unit, bits))
    for atom, factor in rest.items():
        if atom == ONE:
            found = give("add", found, Constant(factor, bits))
            continue
        assert not isinstance(atom, Turn)
        found = give("add", found, atom if factor == 1 else give("mul", atom, Constant(factor, bits)))
    return found


Place = tuple[str, int]
"""A parameter, and an offset in it."""
MOST = 1 << 12
"""Larger numbers of elements are no extent of a tile."""
KEEPS_UNIT = ("add", "sub", "sext", "zext", "trunc", "select")
"""Functions whose result counts what their operands count."""


def count_tiles(
    blocks: list[Block], found: Slice, fixed: Collection[Place], given: Mapping[Place, Tiles]
) -> Mapping[Place, Tiles]:
    """
    Let parameters that bound loops by way of a division count tiles, but for those at `fixed`, and let those at `given`
    do so as it says; returns how many elements a tile of each has. One whose rest matters as well, as that of a loop
    which a compiler has unrolled, does not: what is left over is executed, too.
    """
    scaled = dict(given)
    uses = _uses(blocks, found)
    bounding = _bounding(blocks, found)
    for step in bounding:
        place = cast("Place", step.detail)
        unit = lcm(*_divisors(step.results[0], uses, set()))
        if place in given or place in fixed or _leaves_a_rest(step.results[0], uses, set()):
            continue
        if 1 < unit <= MOST:
            scaled[place] = Tiles(lcm(unit, scaled.get(place, Tiles(1)).unit))
    for block in blocks:
        block.steps = [made for step in block.steps for made in _in_tiles(step, found, scaled)]
    return {place: tiles for place, tiles in scaled.items() if tiles.unit <= MOST}


def _in_tiles(step: Step, found: Slice, scaled: Mapping[Place, Tiles]) -> Iterator[Step]:
    counted = scaled.get(step.detail) if step.kind == "parameter" and step in found.steps else None
    yield step
    if counted is None or counted.unit > MOST:
        return
    elements = step.results[0]
    assert isinstance(elements, Value)
    tiles = Value(elements.bits, step)
    step.results = [tiles]
    full = Value(elements.bits, None) if counted.rest else elements
    full.step = Step("compute", "mul", [tiles, Constant(counted.unit, tiles.bits)], [full], step.instruction)
    made = [full.step]
    if counted.rest:
        rest = Constant(counted.rest, tiles.bits)
        elements.step = Step("compute", "add", [full, rest], [elements], step.instruction)
        made.append(elements.step)
    found.steps.update(made)
    found.values |= {tiles, full}
    yield from made


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


def _leaves_a_rest(operand: Operand, uses: Mapping[Operand, list[Step]], seen: set[Operand]) -> bool:
    """Whether the low bits of `operand`, or of a sum with it, or its remainder, matter."""
    if operand in seen:
        return False
    seen.add(operand)
    for step in uses.get(operand, ()):
        by = step.operands[-1]
        is_low = step.what == "and" and isinstance(by, Constant) and by.value & (by.value + 1) == 0
        if step.what in ("rem.u", "rem.s") or is_low:
            return True
        if step.what in KEEPS_UNIT and _leaves_a_rest(step.results[0], uses, seen):
            return True
    return False


def _step_of(operand: Operand) -> int:
    """By how much a variable of a loop grows from iteration to iteration; 1 for any other number."""
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
