"""
Which numbers of a function are never negative, whatever the loops do: constants and counts, and what is computed from
such by sums, products, quotients and remainders. That they do not overflow is assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects import arith, llvm, scf
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.checker.decisions.open_loops import integers_in, names_at
from tileas_xdsl.interfaces import AgentLikeOpInterface

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
            for name in names_at(use):
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
