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

from collections.abc import Callable, Mapping
from math import gcd, lcm

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, Region, SSAValue, Use

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.analysis.value_flow import names_behind
from tileas_xdsl.checker.decisions.open_loops import integers_in
from tileas_xdsl.dialects.upstream_models.integers import Domain, Function, computes
from tileas_xdsl.interfaces import AgentLikeOpInterface
from tileas_xdsl.machine.core.values import bit_width

MOST = 1 << 16
"""A demand modulo more than this is no demand: there would be too many states."""
COUNTERS = range(1, 65)
"""The ends of counters that are told apart number by number."""
PASSED_ON = (Function.SUM, Function.DIFFERENCE, Function.EXTENDED, Function.RESIZED)


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


def has_counters(body: Region) -> bool:
    """Whether the function counts in rounds of a few: by a comparison, as threads count the slots of a ring."""
    return any(map(_counted_to, integers_in(body)))


def handed_on_by_loops(body: Region) -> set[SSAValue]:
    """The values that may be others in the next turn of a loop. Numbers of threads, for one, are the same in all."""
    inside = (block for op in body.walk() for region in op.regions for block in region.blocks)
    blocks = (block for block in (*list(body.blocks)[1:], *inside) if not _is_of_agent(block))
    found: set[SSAValue] = {argument for block in blocks for argument in block.args}
    stack = list(found)
    while stack:
        for use in stack.pop().uses:
            names = names_behind(use)
            fresh = [value for value in (use.operation.results if names is None else names) if value not in found]
            found.update(fresh)
            stack += fresh
    return found


def _is_of_agent(block: Block) -> bool:
    """Whether the arguments of `block` are what an agent has captured."""
    return AgentLikeOpInterface.of(block.parent_op()) is not None


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
    if computes(op, Function.TRUNCATED):
        width = bit_width(op.results[0].type)
        return gcd(1 << width, MOST) if width <= 8 else moduli.get(op.results[0], 1)
    if computes(op, *PASSED_ON):
        return moduli.get(op.results[0], 1)
    return _of_product(op, use.index, moduli)


def _of_product(op: Operation, index: int, moduli: Mapping[SSAValue, int]) -> int:
    rule = DEMAND.rule(op)
    if rule is None:
        return 1
    other = constant_integer(op.operands[1 - index])
    if other is None or other <= 0 or (index == 1 and not computes(op, Function.PRODUCT, Function.AND)):
        return 1
    return rule(other, moduli.get(op.results[0], 1))


def _as_wanted(_other: int, wanted: int) -> int:
    return wanted


def _of_factor(factor: int, wanted: int) -> int:
    return wanted // gcd(wanted, factor)


def _of_mask(mask: int, _wanted: int) -> int:
    return 1 << mask.bit_length()


def _of_divided(divisor: int, wanted: int) -> int:
    return divisor * wanted


def _of_remainder(divisor: int, _wanted: int) -> int:
    return divisor


def _of_shifted(places: int, wanted: int) -> int:
    return (1 << places) * wanted if places < MOST.bit_length() else 1


ANY_SIZE = "depends on how large the numbers are, which no modulus says"
DEMAND: Domain[Callable[[int, int], int]] = Domain(
    {
        **dict.fromkeys((*PASSED_ON, Function.TRUNCATED), _as_wanted),
        Function.PRODUCT: _of_factor,
        Function.AND: _of_mask,
        Function.REMAINDER: _of_remainder,
        Function.QUOTIENT: _of_divided,
        Function.RIGHT: _of_shifted,
    },
    unknown={
        Function.LEFT: "moves on by itself",
        **dict.fromkeys((Function.OR, Function.XOR), "irregular when numbers move on, so that none may"),
        **dict.fromkeys((Function.LEAST, Function.GREATEST, Function.COMPARISON), ANY_SIZE),
        Function.CHOICE: "hands its operands on, as loops do",
    },
)
"""What modulus an operand needs: of the constant beside it, and of the modulus that the result needs."""
