"""
Limits of numbers, whatever the loops do: what the text says of the last place that an index comes to, and which numbers
are never negative.

    scf.for %t = %c0 to %c1024 {                  %t is at most 1023
      %row   = arith.divui %t, %c8                at most 127
      %slot  = arith.remui %k, %c4                at most 3, whatever %k is
      %place = arith.muli %slot, %row             at most 381

States do not say how far a nest has come, and so not whether an index that moves on stays inside of an array that
ends. Constant bounds, remainders, masks and minima do: they hold in every call, at every turn. An argument has no
limit, and neither has what a loop counts without end.

Never negative are constants and counts, and what is computed from such by sums, products, quotients and remainders.
That they do not overflow is assumed.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from xdsl.dialects import arith, llvm, scf
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.analysis.value_flow import behind_captures, names_behind
from tileas_xdsl.checker.decisions.open_loops import integers_in
from tileas_xdsl.checker.proof.shifts import MOST_TURNS
from tileas_xdsl.interfaces import AgentLikeOpInterface
from tileas_xdsl.machine.arguments import is_integer_scalar
from tileas_xdsl.machine.core.values import bit_width

FROM_ALL = (
    arith.AddiOp,
    arith.MuliOp,
    arith.DivUIOp,
    arith.DivSIOp,
    arith.FloorDivSIOp,
    arith.CeilDivSIOp,
    arith.CeilDivUIOp,
    arith.RemSIOp,
    arith.RemUIOp,
    arith.MinSIOp,
    arith.MinUIOp,
    arith.ShRUIOp,
    arith.ShRSIOp,
    arith.ShLIOp,
    arith.OrIOp,
    arith.XOrIOp,
    arith.IndexCastOp,
    arith.ExtUIOp,
    arith.ExtSIOp,
    llvm.AddOp,
    llvm.MulOp,
    llvm.UDivOp,
    llvm.SDivOp,
    llvm.URemOp,
    llvm.SRemOp,
    llvm.ShlOp,
    llvm.LShrOp,
    llvm.AShrOp,
    llvm.OrOp,
    llvm.XOrOp,
    llvm.ZExtOp,
    llvm.SExtOp,
)
"""Ops whose result is not negative if no operand is."""
FROM_ANY = (arith.AndIOp, arith.MaxSIOp, llvm.AndOp)
"""Ops whose result is not negative if one operand is not."""


def never_negative(body: Region, counts: Iterable[SSAValue]) -> frozenset[SSAValue]:
    """The integers of the function that are never negative, given that `counts` are not. The greatest such set."""
    found = {value for value in integers_in(body)}
    counted = set(counts)
    sources = sources_of(found)
    changed = True
    while changed:
        bad = [value for value in found if value not in counted and not _holds(value, sources, found)]
        found.difference_update(bad)
        changed = bool(bad)
    return frozenset(found)


def sources_of(values: Iterable[SSAValue]) -> Mapping[SSAValue, list[SSAValue]]:
    """Name -> the values that are carried to it."""
    sources: dict[SSAValue, list[SSAValue]] = {}
    for value in values:
        for use in value.uses:
            for name in names_behind(use) or ():
                sources.setdefault(name, []).append(value)
    return sources


def _holds(value: SSAValue, sources: Mapping[SSAValue, Sequence[SSAValue]], found: set[SSAValue]) -> bool:
    if isinstance(value, BlockArgument) and isinstance(loop := value.block.parent_op(), scf.ForOp) and value.index == 0:
        return loop.lb in found and (step := constant_integer(loop.step)) is not None and step > 0
    op = value.owner
    if isinstance(op, Operation):
        constant = constant_integer(value)
        if constant is not None:
            return constant >= 0
        if isinstance(op, FROM_ANY):
            return any(operand in found for operand in op.operands)
        if isinstance(op, FROM_ALL):
            return all(operand in found for operand in op.operands)
    carried = sources.get(value)
    return bool(carried) and len(carried) == carriers_of(value) and all(source in found for source in carried)


def carriers_of(value: SSAValue) -> int:
    """How many values are carried to `value`, as far as control flow is structured; -1 where that is not known."""
    if isinstance(value, BlockArgument):
        parent = value.block.parent_op()
        if isinstance(parent, scf.ForOp):
            return 2
        return 1 if parent is not None and AgentLikeOpInterface.of(parent) is not None else -1
    return 2 if isinstance(value.owner, scf.ForOp | scf.IfOp | arith.SelectOp) else -1


LARGEST = (1 << 31) - 1
"""Numbers that may be larger have no limit: 32 bits overflow, and an index has at least as many."""


class Limits:
    """The upper limits of the integers in a function, as far as they have any."""

    def __init__(self, body: Region, never_negative: Container[SSAValue]) -> None:
        """`never_negative` are those that are known not to be negative; no others get a limit."""
        self.never_negative = never_negative
        self._sources = sources_of(integers_in(body))
        self._known: dict[SSAValue, int | None] = {}

    def of(self, value: SSAValue) -> int | None:
        """What `value` is at most, in every execution; None where nothing says so."""
        value = behind_captures(value)
        if value not in self._known:
            # What a loop carries from turn to turn has no limit by itself.
            self._known[value] = None
            self._known[value] = self._found(value)
        return self._known[value]

    def _found(self, value: SSAValue) -> int | None:
        constant = constant_integer(value)
        if constant is not None or value not in self.never_negative:
            return constant
        found = self._of_turn(value) if isinstance(value, BlockArgument) else self._of_result(value)
        largest = min(LARGEST, (1 << (bit_width(value.type) - 1)) - 1)
        return found if found is not None and found <= largest else None

    def _of_turn(self, value: BlockArgument) -> int | None:
        loop = value.block.parent_op()
        if not isinstance(loop, scf.ForOp) or value.index > 0:
            return self._of_sources(value)
        bound = self.of(loop.ub)
        return None if bound is None else max(bound - 1, 0)

    def _of_sources(self, value: SSAValue) -> int | None:
        """The largest of what is carried to `value`."""
        carried = self._sources.get(value, [])
        limits = [self.of(source) for source in carried]
        known = [limit for limit in limits if limit is not None]
        return max(known) if carried and len(carried) == carriers_of(value) and len(known) == len(limits) else None

    def _of_result(self, value: SSAValue) -> int | None:
        match value.owner:
            case scf.ForOp() | scf.IfOp() | arith.SelectOp():
                return self._of_sources(value)
            case arith.IndexCastOp(input=operand) | arith.ExtUIOp(input=operand) | arith.ExtSIOp(input=operand):
                return self.of(operand)
            case arith.MinSIOp() | arith.MinUIOp() | arith.AndIOp() as op:
                return min((limit for limit in map(self.of, op.operands) if limit is not None), default=None)
            case arith.RemUIOp() | arith.RemSIOp() as op:
                left, divisor = self.of(op.lhs), _positive_constant(op.rhs)
                return left if divisor is None or (left is not None and left < divisor) else divisor - 1
            case arith.AddiOp() | arith.MuliOp() | arith.MaxSIOp() | arith.DivUIOp() | arith.DivSIOp() as op:
                left, right = map(self.of, op.operands)
                return None if left is None or right is None else _of_both(op, left, right)
            case _:
                return None


GROWS = (arith.AddiOp, arith.MuliOp, arith.ShLIOp, llvm.AddOp, llvm.MulOp, llvm.ShlOp)
"""The ops whose results may be larger than their operands."""


def may_overflow(body: Region, limits: Limits) -> bool:
    """Whether the function computes an integer that may overflow its type before its loops have turned `MOST_TURNS`."""
    return any(_may_overflow(op, limits) for op in body.walk() if isinstance(op, GROWS))


def _may_overflow(op: Operation, limits: Limits) -> bool:
    result = op.results[0]
    if not is_integer_scalar(result.type) or limits.of(result) is not None:
        return False
    by = 1
    if not isinstance(op, arith.AddiOp | llvm.AddOp):
        factor = next((found for value in op.operands if (found := _positive_constant(value)) is not None), 1)
        by = factor if isinstance(op, arith.MuliOp | llvm.MulOp) else 1 << min(factor, 64)
    return MOST_TURNS * by >= 1 << (bit_width(result.type) - 1)


def _of_both(op: Operation, left: int, right: int) -> int:
    """What `op` gives at most of two numbers that are at most `left` and `right`, and not negative."""
    match op:
        case arith.AddiOp():
            return left + right
        case arith.MuliOp():
            return left * right
        case arith.MaxSIOp():
            return max(left, right)
        case _:
            return left // (_positive_constant(op.operands[1]) or 1)


def _positive_constant(value: SSAValue) -> int | None:
    constant = constant_integer(behind_captures(value))
    return constant if constant is not None and constant > 0 else None
