"""
Sums in which a multiple of a number and one of its quotient cancel: remainders.

    a x - a d (x / d)          a (x mod d): an address in a ring, which otherwise seems to grow without end

Compilers make one variable of a loop for each address. So a variable that grows by a constant is written as
`start + step * turn`, where `turn` counts the turns of its loop, and sums are compared as linear forms modulo 2^w.
"""

from __future__ import annotations

from dataclasses import dataclass

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
