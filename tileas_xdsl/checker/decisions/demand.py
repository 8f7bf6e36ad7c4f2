"""
Demand: which numbers a state has to tell apart, and modulo what.

    %slot  = arith.remui %k, %c4        %k is needed modulo 4
    %round = arith.divui %k, %c4
    %bit   = arith.andi %round, %c1     %round modulo 2, so %k modulo 8

It flows backwards from remainders, quotients and masks to what they are computed from. A number without a demand may be
any in a state: then it moves on freely, or a rule for moving numbers refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd, lcm

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, Region, SSAValue, Use

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.checker.decisions.open_loops import integers_in, names_at

MOST = 1 << 16
"""A demand modulo more than this is no demand: there would be too many states."""
REMAINDERS = (arith.RemUIOp, arith.RemSIOp)
QUOTIENTS = (arith.DivUIOp, arith.DivSIOp, arith.FloorDivSIOp)
PASSED_ON = (arith.AddiOp, arith.SubiOp, arith.IndexCastOp, arith.ExtUIOp, arith.ExtSIOp)


def demand(body: Region) -> Mapping[SSAValue, int]:
    """Value -> the modulus that what is computed from it needs, for the values of the function that have one."""
    values = list(integers_in(body))
    moduli = dict.fromkeys(values, 1)
    changed = True
    while changed:
        changed = False
        for value in reversed(values):
            found = lcm(moduli[value], *(_of(use, moduli) for use in value.uses))
            if found != moduli[value] and found <= MOST:
                moduli[value] = found
                changed = True
    return {value: modulus for value, modulus in moduli.items() if modulus > 1}


def _of(use: Use, moduli: Mapping[SSAValue, int]) -> int:
    """What one use of a value needs."""
    op = use.operation
    names = names_at(use)
    if names:
        return lcm(*(moduli.get(name, 1) for name in names))
    if isinstance(op, arith.TruncIOp):
        kind = op.result.type
        assert isinstance(kind, IntegerType)
        return gcd(1 << kind.width.data, MOST) if kind.width.data <= 8 else moduli.get(op.result, 1)
    if isinstance(op, PASSED_ON):
        return moduli.get(op.results[0], 1)
    return _of_product(op, use.index, moduli)


def _of_product(op: Operation, index: int, moduli: Mapping[SSAValue, int]) -> int:
    if len(op.operands) != 2 or len(op.results) != 1:
        return 1
    other = constant_integer(op.operands[1 - index])
    wanted = moduli.get(op.results[0], 1)
    if other is None or other <= 0:
        return 1
    if isinstance(op, arith.MuliOp):
        return wanted // gcd(wanted, other)
    if isinstance(op, arith.AndIOp):
        return 1 << other.bit_length()
    if index == 1:
        return 1
    if isinstance(op, REMAINDERS):
        return other
    if isinstance(op, QUOTIENTS):
        return other * wanted
    return (1 << other) * wanted if isinstance(op, arith.ShRUIOp | arith.ShRSIOp) and other < MOST.bit_length() else 1
