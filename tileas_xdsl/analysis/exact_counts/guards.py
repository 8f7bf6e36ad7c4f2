"""
A condition that tells some visits of an op from the others, for a rewrite that has to do something in these only.

    wait 1, 0 { ... }        one group is unfinished in the first turn of %i, none later
                             the guard of the first turn:  %i is in turn 0, that is, %i < %lb + 1 * %step

A guard is a clause of tests: conditions that the function has already, turns of the loops around, and how many turns a
loop before has made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, SSAValue

from tileas_xdsl.analysis.exact_counts.cases import CallCase, OpenError, Question, TurnsAtHand
from tileas_xdsl.analysis.exact_counts.following import Visit
from tileas_xdsl.analysis.value_range import Range

MOST_TURNS_TOLD = 16
"""Up to this turn of a loop a guard is looked for."""


@dataclass(frozen=True)
class Holds:
    """A condition that the function computes."""

    condition: SSAValue

    def in_visit(self, case: CallCase, turns: TurnsAtHand) -> bool | Question:
        return case.decide(self.condition, turns)


@dataclass(frozen=True)
class TurnReached:
    """A loop around is in turn `turn`, counted from 0, or in a later one."""

    loop: scf.ForOp
    turn: int

    def in_visit(self, case: CallCase, turns: TurnsAtHand) -> bool | Question:
        lower, step = (case.linear(bound, turns) for bound in (self.loop.lb, self.loop.step))
        now = case.linear(self.loop.body.block.args[0], turns)
        return case.answer(now - lower - step.times(self.turn), (Range(low=0),))


@dataclass(frozen=True)
class TurnsMade:
    """A loop elsewhere makes at least `turns` turns."""

    loop: scf.ForOp
    turns: int

    def in_visit(self, case: CallCase, turns: TurnsAtHand) -> bool | Question:
        lower, upper, step = (case.linear(bound, turns) for bound in (self.loop.lb, self.loop.ub, self.loop.step))
        return case.answer(upper - lower - step.times(self.turns - 1), (Range(low=1),))


Test = Holds | TurnReached | TurnsMade


@dataclass(frozen=True)
class Literal:
    """A test, or its opposite."""

    test: Test
    holds: bool = True


@dataclass(frozen=True)
class Guard:
    """All of `literals`, or any of them."""

    literals: tuple[Literal, ...]
    needs_all: bool = True


def guard_of(op: Operation, function: Operation, wanted: Mapping[Visit[Any], bool]) -> Guard | None:
    """
    The first guard that can be computed in front of `op` and is true in just those of its visits that are `wanted`;
    None if no two tests tell them apart.
    """
    wished = tuple(wanted.values())
    literals: list[tuple[Literal, Answers]] = []
    for test in _tests(op, function):
        answers = tuple(_answer(test, visit) for visit in wanted)
        if not all(answer is None for answer in answers):
            literals.append((Literal(test), answers))
            literals.append((Literal(test, holds=False), tuple(map(_opposite, answers))))
    for literal, answers in literals:
        if answers == wished:
            return Guard((literal,))
    for (one, first), (other, second) in combinations(literals, 2):
        if tuple(map(_all, first, second)) == wished:
            return Guard((one, other))
        if tuple(map(_any, first, second)) == wished:
            return Guard((one, other), needs_all=False)
    return None


Answers = tuple[bool | None, ...]
"""What a test says in each visit; None where it is open."""


def _answer(test: Test, visit: Visit[Any]) -> bool | None:
    try:
        answer = test.in_visit(visit.case, visit.turns)
    except OpenError:
        return None
    return None if isinstance(answer, Question) else answer


def _opposite(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _all(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def _any(one: bool | None, other: bool | None) -> bool | None:
    return _opposite(_all(_opposite(one), _opposite(other)))


def _tests(op: Operation, function: Operation) -> Iterator[Test]:
    """What can be computed in front of `op`: conditions and bounds of ops that stand before it or around it."""
    around: list[scf.ForOp] = []
    node = op
    while node is not function:
        parent = node.parent_op()
        assert parent is not None
        for before in _before(node):
            if isinstance(before, arith.CmpiOp):
                yield Holds(before.result)
            elif isinstance(before, scf.IfOp):
                yield Holds(before.cond)
            elif isinstance(before, scf.ForOp):
                yield from (TurnsMade(before, turns) for turns in range(1, MOST_TURNS_TOLD))
        if isinstance(parent, scf.IfOp):
            yield Holds(parent.cond)
        if isinstance(parent, scf.ForOp):
            around.append(parent)
        node = parent
    for loop in around:
        yield from (TurnReached(loop, turn) for turn in range(1, MOST_TURNS_TOLD))
        yield from (TurnsMade(loop, turns) for turns in range(2, MOST_TURNS_TOLD))


def _before(op: Operation) -> Iterator[Operation]:
    """The ops that stand before `op` in its block."""
    block = op.parent
    assert isinstance(block, Block)
    for each in block.ops:
        if each is op:
            return
        yield each
