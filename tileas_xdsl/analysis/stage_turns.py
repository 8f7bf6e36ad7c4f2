"""
Whether the agents that take from one queue take turns: by the numbers of the stages that each names.

    agent 0:  scf.for %k { get %q[2 * %k] }          stages 0, 2, 4, ..: those of residue 0 modulo 2
    agent 1:  scf.for %k { get %q[2 * %k + 1] }      stages 1, 3, 5, ..: of residue 1, so no stage is taken by both

Agents whose stages nobody names, or that name the same ones, take every stage each.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping

from xdsl.dialects import arith, scf
from xdsl.ir import BlockArgument, SSAValue

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.analysis.value_flow import behind_captures


def take_turns(stages: Mapping[Hashable, Collection[SSAValue | None]]) -> bool:
    """
    Whether no two agents name the same stage. `stages` are the numbers that each names; None where one names none.
    Linear in the ops that compute the numbers.
    """
    count = len(stages)
    if count < 2:
        return False
    residues = [{None if stage is None else residue(stage, count) for stage in own} for own in stages.values()]
    known = [next(iter(own)) for own in residues if len(own) == 1]
    return None not in known and len(set(known)) == count


def residue(number: SSAValue, modulus: int) -> int | None:
    """What is left of a number when it is divided by `modulus`, where it is always the same; else None."""
    number = behind_captures(number)
    constant = constant_integer(number)
    if constant is not None:
        return constant % modulus
    match number.owner:
        case arith.AddiOp(lhs=lhs, rhs=rhs):
            return _combined(residue(lhs, modulus), residue(rhs, modulus), 1, modulus)
        case arith.SubiOp(lhs=lhs, rhs=rhs):
            return _combined(residue(lhs, modulus), residue(rhs, modulus), -1, modulus)
        case arith.MuliOp(lhs=lhs, rhs=rhs):
            one, other = residue(lhs, modulus), residue(rhs, modulus)
            if one == 0 or other == 0:
                return 0
            return None if one is None or other is None else one * other % modulus
        case _:
            return _of_induction(number, modulus)


def _combined(one: int | None, other: int | None, sign: int, modulus: int) -> int | None:
    return None if one is None or other is None else (one + sign * other) % modulus


def _of_induction(number: SSAValue, modulus: int) -> int | None:
    """Of the variable of a loop, whose steps keep the residue."""
    loop = number.block.parent_op() if isinstance(number, BlockArgument) else None
    if not isinstance(loop, scf.ForOp) or number is not loop.body.block.args[0] or residue(loop.step, modulus) != 0:
        return None
    return residue(loop.lb, modulus)
