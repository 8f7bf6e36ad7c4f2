"""
All ops at one initiation interval: group by group the four arms, then those of our own.

Groups come in the order of their first ops: each leader group, and what belongs to none as one group. Where all four
arms refuse a group, RETRY and COST-BASED run again with fresh snapshots. Where that fails too, two arms of our own try
to seat everything anew: the decomposed one, then the one that ejects.
"""

from __future__ import annotations

from collections.abc import Collection

from tileas_xdsl.scheduling.modulo.arms import ARMS, COST, RETRY, LoopFacts, cost_based, retry
from tileas_xdsl.scheduling.modulo.attempt import Attempt
from tileas_xdsl.scheduling.modulo.decomposed import DECOMPOSED, decompose
from tileas_xdsl.scheduling.modulo.ejection import EJECTION, eject
from tileas_xdsl.scheduling.modulo.problem import ModuloProblem

EVERY_ARM = (*(name for name, _ in ARMS), DECOMPOSED, EJECTION)
"""The names of the arms in the order in which they are tried."""


def place(facts: LoopFacts, ii: int, arms: Collection[str] = EVERY_ARM) -> Attempt | None:
    """A complete attempt at `ii`, by the arms that are named; None where they find none."""
    problem = facts.problem
    if not all(_self_fits(problem, op, ii) for op in range(len(problem.ops))):
        return None
    pending = frozenset(number for number, op in enumerate(problem.ops) if op.constraints.is_pending)
    for held_over in (pending, frozenset[int]()) if pending else (frozenset[int](),):
        attempt = Attempt(problem, ii, held_over)
        if all(_win(attempt, facts, group, arms) for group in groups_in_order(problem)):
            return attempt
    attempt = Attempt(problem, ii)
    if DECOMPOSED in arms and decompose(attempt, facts):
        return attempt
    return attempt if EJECTION in arms and eject(attempt, facts) else None


def _self_fits(problem: ModuloProblem, op: int, ii: int) -> bool:
    """Whether the footprint of an op, folded onto II rows, leaves room for itself."""
    return all(-(-use.rows // ii) * use.amount <= problem.capacity(use.slot) for use in problem.ops[op].uses)


def groups_in_order(problem: ModuloProblem) -> list[tuple[int, ...]]:
    """The leader groups and the rest, by their first ops."""
    grouped = {op for group in problem.groups for op in group}
    rest = tuple(op for op in range(len(problem.ops)) if op not in grouped)
    return sorted((*problem.groups, *((rest,) if rest else ())))


def _win(attempt: Attempt, facts: LoopFacts, group: tuple[int, ...], arms: Collection[str]) -> bool:
    snapshot: dict[int, int] = {}
    if any(arm(attempt, facts, group, snapshot) for name, arm in ARMS if name in arms):
        return True
    if RETRY in arms and retry(attempt, facts, group, {}):
        return True
    return COST in arms and cost_based(attempt, facts, group, {})
