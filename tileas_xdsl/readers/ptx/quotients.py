"""
Arithmetic that compilers hide, put back: quotients, remainders and complements, on which numbers move on evenly.

    shr.u (mul.hi x, M), s          x / d, where d = ceil(2^(w+s) / M) and M d - 2^(w+s) is small enough
    shr.s (x + (x >> 31 >>> 32-k)), k     x / 2^k, rounded to 0;  with `and -2^k` times 2^k
    the same with `and 2^j - 2^k`         as with -2^k, where only the low j bits are used
    and (not x), m                        m - (x & m)
    trunc (shr.u ((zext a) or ((zext b) shl 32)), 32)     b: two numbers in one register

All are exact for every x of w bits. Source: Granlund, Montgomery, "Division by Invariant Integers using
Multiplication" (1994).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from tileas_xdsl.readers.ptx.ssa import replace
from tileas_xdsl.readers.ptx.steps import Block, Constant, Operand, Step, Value

Made = Callable[["_Rewriter", Step], "Operand | None"]


def restore_quotients(blocks: list[Block]) -> None:
    """Write the steps of `blocks` with quotients where they compute such. What they replace is no longer read."""
    _Rewriter(blocks).all()


class _Rewriter:
    def __init__(self, blocks: list[Block]) -> None:
        self.blocks = blocks
        self.used = used_bits(blocks)
        self.before: list[Step] = []
        """Steps that are made in front of the current one."""
        self.renamed: dict[Operand, Operand] = {}

    def all(self) -> None:
        for block in self.blocks:
            steps: list[Step] = []
            for step in block.steps:
                self.before = []
                step.operands = [self.renamed.get(operand, operand) for operand in step.operands]
                found = self._rewritten(step) if step.kind == "compute" else None
                steps += self.before
                if found is None:
                    steps.append(step)
                else:
                    self.renamed[step.results[0]] = found
            block.steps = steps
        replace(self.blocks, self.renamed)

    def _rewritten(self, step: Step) -> Operand | None:
        for made in REWRITES.get(step.what, ()):
            found = made(self, step)
            if found is not None:
                return found
        return None

    def give(self, what: str, step: Step, *operands: Operand, bits: int | None = None) -> Value:
        """The result of a new step in front of `step`."""
        result = Value(step.results[0].bits if bits is None else bits, None)
        result.step = Step("compute", what, list(operands), [result], step.instruction)
        self.before.append(result.step)
        return result


# Quotients by multiplication ------------------------------------------------------------------------------------------


def divisor_of(factor: int, shift: int, bits: int) -> int | None:
    """The d for which x * factor >> shift is x / d for every x of `bits` bits; None where there is none."""
    if not factor > 0 or not bits <= shift <= 3 * bits:
        return None
    divisor = -(-(1 << shift) // factor)
    excess = factor * divisor - (1 << shift)
    return divisor if divisor > 1 and excess * ((1 << bits) - 1) < 1 << shift else None


def _divided(rewriter: _Rewriter, step: Step) -> Operand | None:
    """`shr.u (mul (zext x), M), n`, in one step or in two with a truncation between."""
    value, amount = step.operands
    if not isinstance(amount, Constant):
        return None
    shift, narrow = amount.value, _step_of(value, "trunc")
    if narrow is not None:
        inner = _step_of(narrow.operands[0], "shr.u")
        if inner is None or inner.operands[1] != Constant(value.bits, inner.results[0].bits):
            return None
        value, shift = inner.operands[0], shift + value.bits
    return _quotient(rewriter, step, value, shift)


def _high_half(rewriter: _Rewriter, step: Step) -> Operand | None:
    """`trunc (shr.u (mul (zext x), M), w)`: the high half alone may be a quotient."""
    inner = _step_of(step.operands[0], "shr.u")
    if inner is None or not isinstance(inner.operands[1], Constant):
        return None
    return _quotient(rewriter, step, inner.operands[0], inner.operands[1].value)


def _quotient(rewriter: _Rewriter, step: Step, product: Operand, shift: int) -> Operand | None:
    multiplied = _step_of(product, "mul")
    if multiplied is None:
        return None
    for value, factor in (multiplied.operands, multiplied.operands[::-1]):
        widened = _step_of(value, "zext")
        if widened is None or not isinstance(factor, Constant):
            continue
        x = widened.operands[0]
        divisor = divisor_of(factor.value, shift, x.bits)
        if 2 * x.bits == product.bits and divisor is not None:
            quotient: Operand = rewriter.give("div.u", step, x, Constant(divisor, x.bits), bits=x.bits)
            wanted = step.results[0].bits
            return quotient if wanted == x.bits else rewriter.give("zext", step, quotient)
    return None


# Quotients of signed numbers by powers of two -------------------------------------------------------------------------


def _biased(operand: Operand) -> tuple[Operand, int] | None:
    """(x, k) where `operand` is x + ((x >> w-1) >>> w-k): x, made to round to 0 when it is divided by 2^k."""
    added = _step_of(operand, "add")
    if added is None:
        return None
    bits = operand.bits
    for x, bias in (added.operands, added.operands[::-1]):
        low = _step_of(bias, "shr.u")
        sign = _step_of(low.operands[0], "shr.s") if low is not None else None
        if low is None or sign is None or not isinstance(low.operands[1], Constant):
            continue
        power = bits - low.operands[1].value
        if sign.operands == [x, Constant(bits - 1, bits)] and 0 < power < bits:
            return x, power
    return None


def _rounded_to_zero(rewriter: _Rewriter, step: Step) -> Operand | None:
    """`div.floor (biased x), 2^k`"""
    found, bits = _biased(step.operands[0]), step.results[0].bits
    if found is None or step.operands[1] != Constant(1 << found[1], bits):
        return None
    return rewriter.give("div.s", step, found[0], step.operands[1])


def _rounded_down(rewriter: _Rewriter, step: Step) -> Operand | None:
    """`and (biased x), -2^k`, or a mask that has the same bits among those that are used."""
    found, mask = _biased(step.operands[0]), step.operands[1]
    if found is None or not isinstance(mask, Constant):
        return None
    x, power = found
    used = (1 << rewriter.used[step.results[0]]) - 1
    whole = ((1 << mask.bits) - 1) ^ ((1 << power) - 1)
    if (mask.value ^ whole) & used:
        return None
    unit = Constant(1 << power, x.bits)
    return rewriter.give("mul", step, rewriter.give("div.s", step, x, unit), unit)


# Numbers that are packed ----------------------------------------------------------------------------------------------


def _unpacked(_rewriter: _Rewriter, step: Step) -> Operand | None:
    """`trunc (shr.u ((zext a) or ((zext b) shl 32)), 32)` is b, and without the shift a."""
    return _part(step.operands[0], 0, step.results[0].bits)


def _part(operand: Operand, low: int, bits: int) -> Operand | None:
    """The number that bits `low` to `low + bits` of `operand` are, if something that is packed in it is just that."""
    if low == 0 and operand.bits == bits:
        return operand
    if isinstance(operand, Constant):
        return Constant(operand.value >> low & ((1 << bits) - 1), bits)
    step = operand.step if isinstance(operand, Value) else None
    if step is None or step.kind != "compute":
        return None
    inner = step.operands[0]
    if step.what == "zext":
        return _part(inner, low, bits) if low + bits <= inner.bits else None
    if step.what == "or":
        kept = [each for each in step.operands if not _is_zero(each, low, bits)]
        return _part(kept[0], low, bits) if len(kept) == 1 else None
    amount = step.operands[1] if len(step.operands) == 2 else None
    if not isinstance(amount, Constant):
        return None
    if step.what == "shl" and low >= amount.value:
        return _part(inner, low - amount.value, bits)
    if step.what == "shr.u" and low + amount.value + bits <= inner.bits:
        return _part(inner, low + amount.value, bits)
    return None


def _is_zero(operand: Operand, low: int, bits: int) -> bool:
    """Whether bits `low` to `low + bits` of `operand` are certainly zero."""
    if isinstance(operand, Constant):
        return not operand.value >> low & ((1 << bits) - 1)
    widened, shifted, joined = (_step_of(operand, what) for what in ("zext", "shl", "or"))
    if joined is not None:
        return all(_is_zero(each, low, bits) for each in joined.operands)
    if widened is not None:
        return low >= widened.operands[0].bits or _is_zero(widened.operands[0], low, bits)
    if shifted is None or not isinstance(shifted.operands[1], Constant):
        return False
    distance = shifted.operands[1].value
    return low + bits <= distance or (low >= distance and _is_zero(shifted.operands[0], low - distance, bits))


# Complements ----------------------------------------------------------------------------------------------------------


def _complement(rewriter: _Rewriter, step: Step) -> Operand | None:
    """`and (not x), m`, and the same of a part of x that is shifted down."""
    value, mask = step.operands
    if not isinstance(mask, Constant):
        return None
    shifted = _step_of(value, "shr.u")
    if shifted is not None:
        amount = shifted.operands[1]
        inverted = _inverted(shifted.operands[0])
        if inverted is None or not isinstance(amount, Constant) or mask.value >> (mask.bits - amount.value):
            return None
        value = rewriter.give("shr.u", step, inverted, amount)
    else:
        inverted = _inverted(value)
        if inverted is None:
            return None
        value = inverted
    return rewriter.give("sub", step, mask, rewriter.give("and", step, value, mask))


def _inverted(operand: Operand) -> Operand | None:
    """x where `operand` is not x."""
    flipped = _step_of(operand, "xor")
    if flipped is None or operand.bits == 1 or flipped.operands[1] != Constant((1 << operand.bits) - 1, operand.bits):
        return None
    return flipped.operands[0]


def _step_of(operand: Operand, what: str) -> Step | None:
    """The step that gives `operand`, if it is one of that name."""
    step = operand.step if isinstance(operand, Value) else None
    return step if step is not None and step.kind == "compute" and step.what == what else None


REWRITES: dict[str, tuple[Made, ...]] = {
    "shr.u": (_divided,),
    "trunc": (_unpacked, _high_half),
    "div.floor": (_rounded_to_zero,),
    "and": (_rounded_down, _complement),
}
"""What may become of a step, by its name."""


# Which bits are used --------------------------------------------------------------------------------------------------

LOW_BITS = ("add", "sub", "mul", "and", "or", "xor")
"""Functions whose low bits follow from the low bits of what they are given."""


def used_bits(blocks: list[Block]) -> dict[Operand, int]:
    """How many low bits of each number are used by anything: what is not there has no use."""
    used: dict[Operand, int] = defaultdict(int)
    worklist = [(operand, operand.bits) for block in blocks for operand in _ends(block)]
    while worklist:
        operand, bits = worklist.pop()
        if used[operand] >= bits or not isinstance(operand, Value):
            continue
        used[operand] = bits
        if operand.step is not None:
            worklist += _passed_on(operand.step, bits)
    return used


def _ends(block: Block) -> Iterator[Operand]:
    """Numbers that something but a function of integers reads."""
    for step in block.steps:
        yield from step.stored
        if step.kind != "compute":
            yield from step.operands
    if block.condition is not None:
        yield block.condition


def _passed_on(step: Step, bits: int) -> Iterator[tuple[Operand, int]]:
    """The bits of its operands that so many low bits of its result come from."""
    operands = step.operands
    if step.kind == "phi" or step.what in LOW_BITS:
        yield from ((operand, min(bits, operand.bits)) for operand in operands)
    elif step.what == "shl" and isinstance(operands[1], Constant):
        yield operands[0], max(bits - operands[1].value, 0)
    elif step.what == "trunc" or step.what in ("zext", "sext"):
        yield operands[0], min(bits, operands[0].bits)
    elif step.what == "select":
        yield operands[0], operands[0].bits
        yield from ((operand, bits) for operand in operands[1:])
    else:
        yield from ((operand, operand.bits) for operand in operands)
