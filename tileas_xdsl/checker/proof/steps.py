"""
One step in several executions: it must do the same in all of them, and its operands and results must move on in a way
that goes on for ever (`shifts`).

Operands of an op with side effects that may move on from iteration to iteration are indices that an address is
computed from, items of a ring, data that is stored, and what is only passed on to a region or a function. Each op says
so itself (`machine.core.op_facts`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Sequence
from math import inf
from typing import Any, Protocol

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute, Operation

from tileas_xdsl.checker.proof.array_bounds import ArrayRoom
from tileas_xdsl.checker.proof.recorded_run import Running, TakenStep
from tileas_xdsl.checker.proof.shifts import Growth, overflows_at
from tileas_xdsl.machine.core.code import Step
from tileas_xdsl.machine.core.happens_before import Access
from tileas_xdsl.machine.core.meaning import Kind, facts_of
from tileas_xdsl.machine.core.memory import MemoryObject, View
from tileas_xdsl.machine.core.moving_numbers import IrregularError, Moving, selected
from tileas_xdsl.machine.core.op_facts import EVERY_OPERAND, Tells, operands_called
from tileas_xdsl.machine.core.threads.hardware import PerThread, of_threads
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.tiles.pointers import Pointer
from tileas_xdsl.machine.tiles.tiled_views import TiledView


def positions_that_may_move(op: Operation) -> frozenset[int]:
    """The numbers of the operands of `op` that may differ from iteration to iteration."""
    groups = facts_of(op).may_move
    if groups == EVERY_OPERAND:
        return frozenset(range(len(op.operands)))
    named = Counter(operand for group in groups for operand in operands_called(op, group))
    used = Counter(op.operands)
    # A value that the op also uses in another way must stay.
    return frozenset(n for n, operand in enumerate(op.operands) if named[operand] == used[operand])


PLACES = (Pointer, View)
INTEGERS = frozenset({int, bool})
NUMBERS = (int, float, np.generic)
LEADING = (*PLACES, TiledView)


class Room(Protocol):
    """How much room the places that move on have."""

    def access(self, access: Access, shift: int) -> None:
        """Note an access that moves on by `shift` bytes."""
        ...

    def index(self, op: Operation, number: int, value: Moving) -> None:
        """Note that operand `number` of `op` moves on."""
        ...


class Steps(ABC):
    """Compares the same step in several executions; notes in `room` how far indices go."""

    def __init__(self, room: Room, tells_threads_apart: bool = False) -> None:
        self.room = room
        self.tells_threads_apart = tells_threads_apart
        """Whether some value differs between the threads of an agent."""
        self.read_from: dict[MemoryObject, Operation] = {}
        """The objects from which known numbers are read -> an op that reads one."""

    @abstractmethod
    def moving(self, step: Step, number: int, value: int, shifts: tuple[int, ...]) -> Moving:
        """Operand `number` of `step`, which is `value` and moves on by `shifts`. Raises `IrregularError`."""

    @abstractmethod
    def check_moves(self, op: Operation, value: Moving, type_: Attribute) -> None:
        """Raises `IrregularError` where `value`, a result of `op`, moves on too far for its type."""

    def compare(self, mine: TakenStep, others: list[TakenStep]) -> None:
        """
        Compare `mine` with the same step in the other runs, thread by thread where these compute different numbers.

        Raises `IrregularError` if it does not go on evenly.
        """
        if mine.step.kind is Kind.TERMINATOR:
            return
        is_alike = all(_are_alike(mine, other) for other in others)
        if is_alike and not (_may_read_number(mine.step) and any(map(_leads_to_place, mine.operands))):
            return
        lanes = max(map(lanes_of, (mine, *others))) if self.tells_threads_apart else 0
        if not lanes:
            self._compare(mine, others)
        elif is_alike:
            # Nothing moves on in any thread. What is left to be noted is where numbers are read.
            for lane in range(lanes):
                self._note_what_is_read(in_lane(mine, lane))
        elif not self._compare_integers(mine, others, lanes):
            for lane in range(lanes):
                self._compare(in_lane(mine, lane), [in_lane(other, lane) for other in others])

    def _compare(self, mine: TakenStep, others: list[TakenStep]) -> None:
        step = mine.step
        self._note_what_is_read(mine)
        if _is_the_same(mine, others):
            return
        moving = _differences(step.op, mine.operands, [other.operands for other in others])
        if step.kind is not Kind.CONTROL and _gives_number(step) and (moving or _differ_in_place(mine, others)):
            self._must_not_read_what_is_known(mine, others)
        if not moving and not _differ(mine.outcomes, [other.outcomes for other in others]):
            return
        if step.kind is Kind.PURE:
            self._compare_pure(mine, others, moving)
        else:
            self._compare_effects(mine, others, moving)

    def _note_what_is_read(self, mine: TakenStep) -> None:
        op = mine.step.op
        if mine.outcome is UNKNOWN or mine.outcome is None:
            return
        if not _may_read_number(mine.step) or not any(map(_may_be_number, mine.outcomes)):
            return
        for operand in mine.operands:
            place = operand.array if isinstance(operand, TiledView) else operand
            if isinstance(place, PLACES):
                self.read_from.setdefault(place.base, op)

    @staticmethod
    def _must_not_read_what_is_known(mine: TakenStep, others: list[TakenStep]) -> None:
        """Refuse a known number from a place that moves on: the number at the next place may be any."""
        if mine.step.kind is Kind.PURE and not any(isinstance(operand, PLACES) for operand in mine.operands):
            return
        if facts_of(mine.step.op).tells is Tells.CONTENTS and any(
            _may_be_number(outcome) for step in (mine, *others) for outcome in step.outcomes
        ):
            raise IrregularError(mine.step.op, "takes a number from a place that changes from iteration to iteration")

    def _compare_pure(self, mine: TakenStep, others: list[TakenStep], moving: Collection[int]) -> None:
        """Compare a step without side effects: its result must have moved on as the rule of the op says."""
        step = mine.step
        op = step.op
        if all(outcome is UNKNOWN for taken in (mine, *others) for outcome in taken.outcomes):
            return
        rule = facts_of(op).moves
        if rule is selected and 0 not in moving and not isinstance(mine.outcome, int):
            return
        if rule is None or not all(isinstance(value, int) for value in (mine.outcome, *mine.operands)):
            raise IrregularError(op, "computes with numbers that change from iteration to iteration")
        if not all(isinstance(other.outcome, int) for other in others):
            raise IrregularError(op, "is known in some iterations only")
        values = [self._moving(step, number, mine, others) for number in range(len(mine.operands))]
        found = tuple(int(other.outcome) - int(mine.outcome) for other in others)
        if found != rule(op, values):
            raise IrregularError(op, "does not move on evenly from iteration to iteration")
        self.check_moves(op, Moving(int(mine.outcome), found), step.results[0].type)

    def _compare_integers(self, mine: TakenStep, others: list[TakenStep], lanes: int) -> bool:
        """
        The same at once for all threads of a step that computes one integer from integers in each of them. Returns
        whether it is such a step.
        """
        step = mine.step
        if step.kind is not Kind.PURE or len(step.results) != 1:
            return False
        rows = [_rows_of_integers(taken, lanes) for taken in (mine, *others)]
        if not all(rows):
            return False
        for row, *theirs in dict.fromkeys(zip(*rows, strict=True)):
            if all(each == row for each in theirs):
                continue
            rule = facts_of(step.op).moves
            if rule is None:
                raise IrregularError(step.op, "computes with numbers that change from iteration to iteration")
            *moving, result = [
                (value, tuple(each[number] - value for each in theirs)) for number, value in enumerate(row)
            ]
            values = [self.moving(step, number, *each) for number, each in enumerate(moving)]
            if result[1] != rule(step.op, values):
                raise IrregularError(step.op, "does not move on evenly from iteration to iteration")
            self.check_moves(step.op, Moving(*result), step.results[0].type)
        return True

    def _moving(self, step: Step, number: int, mine: TakenStep, others: list[TakenStep]) -> Moving:
        value = int(mine.operands[number])
        return self.moving(step, number, value, tuple(int(other.operands[number]) - value for other in others))

    def _compare_effects(self, mine: TakenStep, others: list[TakenStep], moving: dict[int, tuple[int, ...]]) -> None:
        step = mine.step
        op = step.op
        allowed = positions_that_may_move(op)
        for number in moving:
            if number not in allowed:
                raise IrregularError(
                    op, f"depends on a number that changes from iteration to iteration (operand {number})"
                )
            if isinstance(mine.operands[number], int):
                self.room.index(op, number, self._moving(step, number, mine, others))
            self._check_place(op, mine.operands)
        facts = facts_of(op)
        # An id of a block that decides something is an argument, which is larger in the larger execution.
        passes_on = step.kind is Kind.CONTROL or facts.gives_count or facts.number_of_block is not None
        if not passes_on and _differ(mine.outcomes, [other.outcomes for other in others]):
            raise IrregularError(op, "gives a number that changes from iteration to iteration")

    @staticmethod
    def _check_place(op: Operation, operands: Sequence[Any]) -> None:
        """A number that moves on may be an index only into an array each axis of which is walked by itself."""
        for operand in operands:
            if isinstance(operand, TiledView) and any(len(group) > 1 for group in operand.groups):
                raise IrregularError(op, "walks through several axes of an array at once")


class GrowingSteps(Steps):
    """Compares steps of executions whose trip counts differ by `growth`."""

    def __init__(self, growth: Growth, room: ArrayRoom, tells_threads_apart: bool = False) -> None:
        super().__init__(room, tells_threads_apart)
        self.growth = growth
        self.overflow = inf
        """The least trip count at which a number may overflow its type."""

    def moving(self, step: Step, number: int, value: int, shifts: tuple[int, ...]) -> Moving:
        moving = Moving(value, shifts)
        self.check_moves(step.op, moving, step.operands[number].type)
        return moving

    def check_moves(self, op: Operation, value: Moving, type_: Attribute) -> None:
        self.overflow = min(self.overflow, overflows_at(op, value, type_, self.growth))


def lanes_of(taken: TakenStep) -> int:
    """How many threads `taken` tells apart; 0 where none."""
    apart = [value for value in (*taken.operands, *taken.outcomes) if type(value) is PerThread]
    known = (each.offsets if each.first is not None else each.values for each in apart)
    return max((len(each) for each in known if each.count(UNKNOWN) < len(each)), default=0)


def _rows_of_integers(taken: TakenStep, lanes: int) -> list[tuple[int, ...]]:
    """Operands and result in each thread; nothing where some are no integers."""
    columns = [of_threads(value, lanes) for value in (*taken.operands, taken.outcome)]
    if any(not INTEGERS.issuperset(map(type, column)) for column in columns):
        return []
    return list(zip(*columns, strict=True))


def in_lane(taken: TakenStep, lane: int) -> TakenStep:
    """The step as one thread takes it."""

    def of_lane(value: Any) -> Any:
        return value.values[lane] if isinstance(value, PerThread) else value

    outcomes = tuple(map(of_lane, taken.outcomes))
    outcome = outcomes if isinstance(taken.outcome, tuple) else outcomes[0]
    return TakenStep(taken.agent, taken.step, list(map(of_lane, taken.operands)), outcome)


def _is_the_same(mine: TakenStep, others: list[TakenStep]) -> bool:
    """Whether the others have the values that `mine` has, as nearly all steps do."""
    operands, outcome = mine.operands, mine.outcome
    for other in others:
        if other.outcome is not outcome:
            return False
        for value, theirs in zip(operands, other.operands, strict=True):
            if value is not theirs:
                return False
    return True


def _are_alike(mine: TakenStep, other: TakenStep) -> bool:
    """Whether all numbers and all places that the two see are the same ones, thread by thread."""
    for value, theirs in zip(mine.operands, other.operands, strict=True):
        if value is not theirs and not _is_alike(value, theirs):
            return False
    return mine.outcome is other.outcome or all(map(_is_alike, mine.outcomes, other.outcomes))


def _is_alike(value: Any, other: Any) -> bool:
    if value is other:
        return True
    if type(value) is PerThread and type(other) is PerThread:
        if value.first is not None and other.first is not None:
            return value.offsets == other.offsets
        return value.values == other.values or all(map(_is_alike, value.values, other.values))
    if _is_number(value) or _is_number(other):
        return bool(value == other)
    if isinstance(value, PLACES) and isinstance(other, PLACES):
        return value.offset == other.offset
    return type(value) is not PerThread and type(other) is not PerThread


def _is_number(value: Any) -> bool:
    return isinstance(value, NUMBERS)


def _may_be_number(outcome: Any) -> bool:
    """Whether an op gives a number, or may still give one."""
    return outcome is Running.STILL or _is_number(outcome)


def _differ(values: list[Any], rows: list[list[Any]]) -> bool:
    """Whether a number differs between `values` and one of `rows`."""
    for row in rows:
        for mine, other in zip(values, row, strict=True):
            if mine is not other and (_is_number(mine) or _is_number(other)) and mine != other:
                return True
    return False


def _differences(op: Operation, values: list[Any], rows: list[list[Any]]) -> dict[int, tuple[int, ...]]:
    """Index -> by how much the number there differs in each of `rows`, for those that differ in one."""
    found: dict[int, tuple[int, ...]] = {}
    for row in rows:
        for place, (mine, other) in enumerate(zip(values, row, strict=True)):
            if mine is other or place in found or not (_is_number(mine) or _is_number(other)) or mine == other:
                continue
            column = [r[place] for r in rows]
            if not _is_number(mine) or not all(map(_is_number, column)):
                raise IrregularError(op, "knows a number in some iterations only")
            found[place] = tuple(int(entry) - int(mine) for entry in column)
    return found


def _gives_number(step: Step) -> bool:
    return any(isinstance(result.type, IntegerType | IndexType) for result in step.results)


def _may_read_number(step: Step) -> bool:
    """Whether it may find a number in memory."""
    return _gives_number(step) and facts_of(step.op).tells is Tells.CONTENTS


def _leads_to_place(value: Any) -> bool:
    """Whether some thread finds a place in an operand."""
    if type(value) is PerThread:
        return value.first is not None or any(map(_leads_to_place, value.values))
    return isinstance(value, LEADING)


def _differ_in_place(mine: TakenStep, others: list[TakenStep]) -> bool:
    """Whether an address among the operands has another offset in one of `others`."""
    for other in others:
        for address, theirs in zip(mine.operands, other.operands, strict=True):
            if isinstance(address, PLACES) and isinstance(theirs, PLACES) and address.offset != theirs.offset:
                return True
    return False
