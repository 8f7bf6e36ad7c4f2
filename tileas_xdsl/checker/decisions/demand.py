"""
Demand: which numbers a state has to tell apart, and modulo what.

    %slot  = arith.remui %k, %c4        %k is needed modulo 4
    %round = arith.divui %k, %c4
    %bit   = arith.andi %round, %c1     %round modulo 2, so %k modulo 8

It flows backwards from remainders, quotients and masks to what they are computed from. A number without a demand may be
any in a state: then it moves on freely, or a rule for moving numbers refuses it.

A counter that begins again at its end is told apart as it is, modulo one more than that, since some begin at -1:

    %next = arith.addi %slot, %c1
    %end  = arith.cmpi sge, %next, %c3
    %slot' = arith.select %end, %c0, %next      %slot is needed modulo 4
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd, lcm

from xdsl.dialects import arith, llvm
from xdsl.ir import Operation, Region, SSAValue, Use

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.analysis.value_flow import names_behind
from tileas_xdsl.checker.decisions.derived_counts import PRODUCTS, SHIFTS_RIGHT
from tileas_xdsl.checker.decisions.open_loops import integers_in
from tileas_xdsl.checker.decisions.origins import SUMS, WIDENING
from tileas_xdsl.machine.core.values import bit_width

MOST = 1 << 16
"""A demand modulo more than this is no demand: there would be too many states."""
COUNTERS = range(1, 65)
"""The ends of counters that are told apart number by number."""
REMAINDERS = (arith.RemUIOp, arith.RemSIOp, llvm.URemOp, llvm.SRemOp)
QUOTIENTS = (arith.DivUIOp, arith.DivSIOp, arith.FloorDivSIOp, llvm.UDivOp, llvm.SDivOp)
PASSED_ON = (*SUMS, *WIDENING)


def demand(body: Region, *, of_counters: bool = False) -> Mapping[SSAValue, int]:
    """
    Value -> the modulus that what is computed from it needs, for the values of the function that have one; with
    `of_counters` also what counters need that begin again.
    """
    values = list(integers_in(body))
    moduli = {value: _counted_to(value) + 1 if of_counters else 1 for value in values}
    changed = True
    while changed:
        changed = False
        for value in reversed(values):
            found = lcm(moduli[value], *(_of(use, moduli) for use in value.uses))
            if found != moduli[value] and found <= MOST:
                moduli[value] = found
                changed = True
    return {value: modulus for value, modulus in moduli.items() if modulus > 1}


def _counted_to(value: SSAValue) -> int:
    """Where a counter of which `value` is the next number begins again; 0 if it is none."""
    for use in value.uses:
        op = use.operation
        end = constant_integer(op.operands[1]) if isinstance(op, arith.CmpiOp) and use.index == 0 else None
        if end is None or end not in COUNTERS:
            continue
        for choice in (each.operation for each in op.results[0].uses):
            arms = choice.operands[1:] if isinstance(choice, arith.SelectOp) else ()
            if value in arms and any(constant_integer(arm) is not None for arm in arms):
                return end
    return 0


def _of(use: Use, moduli: Mapping[SSAValue, int]) -> int:
    """What one use of a value needs."""
    op = use.operation
    names = names_behind(use)
    if names:
        return lcm(*(moduli.get(name, 1) for name in names))
    if isinstance(op, arith.TruncIOp | llvm.TruncOp):
        width = bit_width(op.results[0].type)
        return gcd(1 << width, MOST) if width <= 8 else moduli.get(op.results[0], 1)
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
    if isinstance(op, PRODUCTS):
        return wanted // gcd(wanted, other)
    if isinstance(op, arith.AndIOp | llvm.AndOp):
        return 1 << other.bit_length()
    if index == 1:
        return 1
    if isinstance(op, REMAINDERS):
        return other
    if isinstance(op, QUOTIENTS):
        return other * wanted
    return (1 << other) * wanted if isinstance(op, SHIFTS_RIGHT) and other < MOST.bit_length() else 1
