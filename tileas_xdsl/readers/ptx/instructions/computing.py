"""
Instructions that compute integers (PTX ISA, "Integer Arithmetic Instructions", "Logic and Shift Instructions",
"Comparison and Selection Instructions", "Data Movement and Conversion Instructions": `mov`, `cvt`, `prmt`).

    mad.wide.s32 d, a, b, c     sext a, sext b -> mul -> add c
    bfe.u32 d, a, 4, 3          shr.u a, 4 -> and 7
    setp.lt.and.s32 p|q, a, b, c    p = a < b && c, q = !(a < b) && c

What only computes and is in no row gives an unknown number (`ONLY_COMPUTES`).
"""

from __future__ import annotations

from functools import partial

from tileas_xdsl.readers.ptx.arithmetic import COMPARISONS, UNSIGNED
from tileas_xdsl.readers.ptx.instructions.builder import Builder
from tileas_xdsl.readers.ptx.instructions.rows import BIT_STRINGS, INTEGERS, NUMBERS, Call, Row
from tileas_xdsl.readers.ptx.operands import Dropped, Number, Operand, Vector, both
from tileas_xdsl.readers.ptx.steps import Constant
from tileas_xdsl.readers.ptx.steps import Operand as Value
from tileas_xdsl.readers.ptx.syntax import BITS

WORDS = (
    "abs add addc and bfe bfi bfind bmsk brev clz cnot copysign cos cvt div dp2a dp4a ex2 fma fns isspacep lg2 "
    "lop3 mad mad24 madc max min mma mov mul mul24 neg not or popc prmt rcp rem rsqrt sad selp set setp shf shl "
    "shr sin slct sqrt sub subc szext tanh testp vabsdiff vadd vmad vmax vmin vset vshl vshr vsub xor"
)
ONLY_COMPUTES = frozenset(WORDS.split())
"""Opcodes from registers to registers: with modifiers that are in no row their results are unknown numbers."""


def _binary(what: str, builder: Builder, call: Call) -> None:
    """A function of two numbers, whose name says the sign where it matters."""
    sign = ".s" if call.is_signed else ".u"
    name = f"{what[:-1]}{sign[1:]}" if what.endswith("*") else what
    a, b = (builder.read(operand, call.bits) for operand in call.operands[1:3])
    builder.write(call[0], builder.compute(name, call.bits, a, b), signed=call.is_signed)


def _negated(builder: Builder, call: Call) -> None:
    zero, value = Constant(0, call.bits), builder.read(call[1], call.bits)
    builder.write(call[0], builder.compute("sub", call.bits, zero, value), signed=True)


def _absolute(builder: Builder, call: Call) -> None:
    zero, value = Constant(0, call.bits), builder.read(call[1], call.bits)
    negative = builder.compare("lt", value, zero)
    minus = builder.compute("sub", call.bits, zero, value)
    builder.write(call[0], builder.select(negative, minus, value), signed=True)


def _inverted(builder: Builder, call: Call) -> None:
    ones = Constant((1 << call.bits) - 1, call.bits)
    builder.write(call[0], builder.compute("xor", call.bits, builder.read(call[1], call.bits), ones))


def _product(builder: Builder, call: Call) -> Value:
    """`mul` and the product of `mad`: its low half, its high half, or all of it."""
    bits, signed = call.bits, call.is_signed
    if call.has("lo"):
        a, b = (builder.read(operand, bits) for operand in call.operands[1:3])
        return builder.compute("mul", bits, a, b)
    wide = 2 * bits
    factors = (builder.read(operand, bits) for operand in call.operands[1:3])
    a, b = (builder.resized(factor, wide, signed=signed) for factor in factors)
    product = builder.compute("mul", wide, a, b)
    if call.has("wide"):
        return product
    return builder.resized(builder.compute("shr.u", wide, product, Constant(bits, wide)), bits)


def _multiplied(builder: Builder, call: Call) -> None:
    builder.write(call[0], _product(builder, call), signed=call.is_signed)


def _multiplied_and_added(builder: Builder, call: Call) -> None:
    product = _product(builder, call)
    addend = builder.read(call[3], product.bits)
    builder.write(call[0], builder.compute("add", product.bits, product, addend), signed=call.is_signed)


def _shifted(builder: Builder, call: Call) -> None:
    """Amounts from the width on shift everything out."""
    bits, left = call.bits, call.instruction.words[0] == "shl"
    arithmetic = not left and call.is_signed
    value = builder.read(call[1], bits)
    if isinstance(by := call[2], Number):
        builder.write(call[0], shifted_by(builder, value, by.value, left=left, arithmetic=arithmetic), signed=True)
        return
    amount = builder.read(call[2], 32)
    fits = builder.compare("lo", amount, Constant(bits, 32))
    name = "shl" if left else "shr.s" if arithmetic else "shr.u"
    if arithmetic:
        least = builder.select(fits, amount, Constant(bits - 1, 32))
        builder.write(call[0], builder.compute(name, bits, value, builder.resized(least, bits)), signed=True)
        return
    inside = builder.select(fits, amount, Constant(0, 32))
    result = builder.compute(name, bits, value, builder.resized(inside, bits))
    builder.write(call[0], builder.select(fits, result, Constant(0, bits)))


def shifted_by(builder: Builder, value: Value, amount: int, *, left: bool, arithmetic: bool) -> Value:
    """`value` shifted by a number; with its sign a shift to the right is a quotient."""
    bits, amount = value.bits, amount & 0xFFFFFFFF
    if amount >= bits and not arithmetic:
        return Constant(0, bits)
    if amount >= bits - 1 and arithmetic:
        return builder.compute("shr.s", bits, value, Constant(bits - 1, bits))
    if arithmetic:
        return builder.compute("div.floor", bits, value, Constant(1 << amount, bits))
    return builder.compute("shl" if left else "shr.u", bits, value, Constant(amount, bits))


def _extracted(builder: Builder, call: Call) -> None:
    """`bfe`: a field of bits, whose place and length are constants."""
    position, length = call[2], call[3]
    if not isinstance(position, Number) or not isinstance(length, Number):
        builder.write_unknown(call[0])
        return
    bits, start = call.bits, position.value & 0xFF
    count = min(length.value & 0xFF, max(bits - start, 0))
    value = builder.read(call[1], bits)
    if not call.is_signed:
        low = shifted_by(builder, value, start, left=False, arithmetic=False)
        builder.write(call[0], builder.compute("and", bits, low, Constant((1 << count) - 1, bits)))
    elif length.value & 0xFF == 0:
        builder.write(call[0], Constant(0, bits))
    else:
        high = shifted_by(builder, value, bits - start - count if count else 0, left=True, arithmetic=False)
        amount = bits - count if count else bits - 1
        builder.write(call[0], shifted_by(builder, high, amount, left=False, arithmetic=True), signed=True)


def _inserted(builder: Builder, call: Call) -> None:
    """`bfi`: a field of bits in another number, whose place and length are constants."""
    position, length = call[3], call[4]
    if not isinstance(position, Number) or not isinstance(length, Number):
        builder.write_unknown(call[0])
        return
    bits, start = call.bits, position.value & 0xFF
    mask = ((1 << (length.value & 0xFF)) - 1) << start & ((1 << bits) - 1)
    field, around = builder.read(call[1], bits), builder.read(call[2], bits)
    moved = shifted_by(builder, field, start, left=True, arithmetic=False)
    inside = builder.compute("and", bits, moved, Constant(mask, bits))
    outside = builder.compute("and", bits, around, Constant(mask ^ ((1 << bits) - 1), bits))
    builder.write(call[0], builder.compute("or", bits, inside, outside))


def _permuted(builder: Builder, call: Call) -> None:
    """`prmt` by a constant: bytes of two words."""
    selector = call[3]
    if not isinstance(selector, Number) or selector.value & 0x8888:
        builder.write_unknown(call[0])
        return
    words = [builder.read(operand, 32) for operand in call.operands[1:3]]
    result: Value = Constant(0, 32)
    for place in range(4):
        which = selector.value >> 4 * place & 7
        low = shifted_by(builder, words[which // 4], 8 * (which % 4), left=False, arithmetic=False)
        byte = builder.compute("and", 32, low, Constant(0xFF, 32))
        moved = shifted_by(builder, byte, 8 * place, left=True, arithmetic=False)
        result = builder.compute("or", 32, result, moved)
    builder.write(call[0], result)


def _looked_up(builder: Builder, call: Call) -> None:
    """`lop3` by a constant: any function of three bits, as a sum of products."""
    table = call[4]
    if not isinstance(table, Number):
        builder.write_unknown(call[0])
        return
    ones = Constant(0xFFFFFFFF, 32)
    plain = [builder.read(operand, 32) for operand in call.operands[1:4]]
    result: Value = Constant(0, 32)
    for row in range(8):
        if table.value >> row & 1:
            term: Value = ones
            for number, value in enumerate(plain):
                taken = value if row >> (2 - number) & 1 else builder.compute("xor", 32, value, ones)
                term = builder.compute("and", 32, term, taken)
            result = builder.compute("or", 32, result, term)
    builder.write(call[0], result)


def _funnel_shifted(builder: Builder, call: Call) -> None:
    """`shf`: a shift of two words together, by a constant."""
    amount = call[3]
    if not isinstance(amount, Number):
        builder.write_unknown(call[0])
        return
    count = amount.value & 31 if call.has("wrap") else min(amount.value & 0xFFFFFFFF, 32)
    low, high = (builder.resized(builder.read(operand, 32), 64) for operand in call.operands[1:3])
    both = builder.compute("or", 64, builder.compute("shl", 64, high, Constant(32, 64)), low)
    by = Constant(32 - count if call.has("l") else count, 64)
    builder.write(call[0], builder.resized(builder.compute("shr.u", 64, both, by), 32))


# Conditions -----------------------------------------------------------------------------------------------------------


def _comparison(call: Call) -> str | None:
    how = call.one_of(COMPARISONS)
    return UNSIGNED.get(how, how) if how is not None and not call.is_signed else how


def _compared(builder: Builder, call: Call) -> None:
    how = _comparison(call)
    assert how is not None
    a, b = (builder.read(operand, call.bits) for operand in call.operands[1:3])
    holds = builder.compare(how, a, b)
    yes, no = both(call[0])
    joined = call.one_of(("and", "or", "xor"))
    condition = builder.read(call[3], 1) if len(call.operands) > 3 else None
    for target, value in ((yes, holds), (no, builder.negated(holds) if no is not None else holds)):
        if target is None:
            continue
        if condition is not None:
            value = builder.compute(joined or "and", 1, value, condition)
        builder.write(target, value)


def _selected(builder: Builder, call: Call) -> None:
    yes, no = (builder.read(operand, call.bits) for operand in call.operands[1:3])
    builder.write(call[0], builder.select(builder.read(call[3], 1), yes, no))


def _joined(what: str, builder: Builder, call: Call) -> None:
    a, b = (builder.read(operand, 1) for operand in call.operands[1:3])
    builder.write(call[0], builder.compute(what, 1, a, b))


def _not(builder: Builder, call: Call) -> None:
    builder.write(call[0], builder.negated(builder.read(call[1], 1)))


# Moves ----------------------------------------------------------------------------------------------------------------


def _moved(builder: Builder, call: Call) -> None:
    target, source, bits = call[0], call[1], call.bits
    if isinstance(target, Vector) and isinstance(source, Vector):
        for one, value in zip(target.parts, source.parts, strict=False):
            builder.write(one, builder.read(value, bits))
    elif isinstance(target, Vector) and len(target.parts) > 1:
        _unpacked(builder, target.parts, builder.read(source, bits))
    elif isinstance(source, Vector) and len(source.parts) > 1:
        builder.write(target, _packed(builder, source.parts, bits))
    else:
        builder.write(target, builder.read(source, bits))


def _unpacked(builder: Builder, targets: tuple[Operand, ...], value: Value) -> None:
    bits = value.bits // len(targets)
    for number, target in enumerate(targets):
        if not isinstance(target, Dropped):
            high = shifted_by(builder, value, number * bits, left=False, arithmetic=False)
            builder.write(target, builder.resized(high, bits))


def _packed(builder: Builder, parts: tuple[Operand, ...], bits: int) -> Value:
    each = bits // len(parts)
    result: Value = Constant(0, bits)
    for number, part in enumerate(parts):
        wide = builder.resized(builder.read(part, each), bits)
        moved = shifted_by(builder, wide, number * each, left=True, arithmetic=False)
        result = builder.compute("or", bits, result, moved)
    return result


def _converted(builder: Builder, call: Call) -> None:
    """Between integers: the low bits, or more of them as the source has a sign."""
    into, of = call.types
    signed = of.startswith("s")
    value = builder.read(call[1], BITS[of])
    builder.write(call[0], builder.resized(value, BITS[into], signed=signed), signed=into.startswith("s"))


def _as_it_is(builder: Builder, call: Call) -> None:
    """`cvta`: an address is one number, whatever the space."""
    value = builder.read(call[1], call.bits)
    builder.write(call[0], value)


def unknown_results(builder: Builder, call: Call) -> None:
    """The results of an instruction that only computes, and whose function is not followed."""
    if call.operands:
        builder.write_unknown(call[0])


ALL_INTEGERS = f"{INTEGERS} u8 s8"
SPACES = "shared shared::cta shared::cluster global local const param to u64 u32"
COMPARED = " ".join(COMPARISONS)

COMPUTING: tuple[Row, ...] = (
    Row("add", "d a b", INTEGERS, "arith.addi", partial(_binary, "add")),
    Row("sub", "d a b", INTEGERS, "arith.subi", partial(_binary, "sub")),
    Row("mul", "d a b", f"lo hi wide {INTEGERS}", "arith.muli", _multiplied, needs="lo hi wide"),
    Row(
        "mad", "d a b c", f"lo hi wide {INTEGERS}", "arith.muli, arith.addi", _multiplied_and_added, needs="lo hi wide"
    ),
    Row("div", "d a b", INTEGERS, "arith.divsi, arith.divui", partial(_binary, "div.*")),
    Row("rem", "d a b", INTEGERS, "arith.remsi, arith.remui", partial(_binary, "rem.*")),
    Row("min", "d a b", INTEGERS, "arith.minsi, arith.minui", partial(_binary, "min.*")),
    Row("max", "d a b", INTEGERS, "arith.maxsi, arith.maxui", partial(_binary, "max.*")),
    Row("neg", "d a", INTEGERS, "arith.subi", _negated),
    Row("abs", "d a", INTEGERS, "arith.subi, arith.select", _absolute),
    Row("and", "d a b", BIT_STRINGS, "arith.andi", partial(_binary, "and")),
    Row("or", "d a b", BIT_STRINGS, "arith.ori", partial(_binary, "or")),
    Row("xor", "d a b", BIT_STRINGS, "arith.xori", partial(_binary, "xor")),
    Row("not", "d a", BIT_STRINGS, "arith.xori", _inverted),
    Row("shl", "d a b", BIT_STRINGS, "arith.shli", _shifted),
    Row("shr", "d a b", NUMBERS, "arith.shrui, arith.shrsi", _shifted),
    Row("bfe", "d a b c", INTEGERS, "arith.shrui, arith.andi", _extracted),
    Row("bfi", "d a b c e", BIT_STRINGS, "arith.andi, arith.ori", _inserted),
    Row("prmt", "d a b c", "b32", "arith.shrui, arith.ori", _permuted),
    Row("lop3", "d a b c e", "b32", "arith.andi, arith.ori", _looked_up),
    Row("shf", "d a b c", "l r wrap clamp b32", "arith.shli, arith.shrui", _funnel_shifted),
    Row("setp", "d a b p?", f"{COMPARED} and or xor {NUMBERS}", "arith.cmpi", _compared, needs=COMPARED),
    Row("selp", "d a b p", f"{NUMBERS} f16 bf16 f32 f64", "arith.select", _selected),
    Row("and", "d a b", "pred", "arith.andi", partial(_joined, "and")),
    Row("or", "d a b", "pred", "arith.ori", partial(_joined, "or")),
    Row("xor", "d a b", "pred", "arith.xori", partial(_joined, "xor")),
    Row("not", "d a", "pred", "arith.xori", _not),
    Row("mov", "d a", f"{NUMBERS} b128 f16 bf16 f32 f64 f16x2 bf16x2 pred", "the number itself", _moved),
    Row("cvt", "d a", ALL_INTEGERS, "arith.extsi, arith.extui, arith.trunci", _converted),
    Row("cvta", "d a", SPACES, "the number itself", _as_it_is),
)
