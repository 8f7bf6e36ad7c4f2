"""
Registers, exactly: how many words the values of an agent take at each row, for all iterations in flight.

A value that lives for `turns * ii + rest` cycles takes `turns` times its words at every row, and once more at `rest`
rows of the circle. A value that is moved lives twice: with its own agent until it is written, with another one from
when it is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tileas_xdsl.scheduling.exact.problem import RegisterPool, RegisterValue
from tileas_xdsl.scheduling.exact.variables import TimePoint, Variables
from tileas_xdsl.targets.warps import MOST_REGISTERS

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import IntervalVar, IntVar, LinearExpr
    from ortools.sat.python.cp_model_helper import Literal


@dataclass(frozen=True)
class Life:
    """Where a value lies in the registers of one agent: from a point on, for whole turns and a rest."""

    exists: Literal
    start: TimePoint
    turns: IntVar
    rest: IntVar
    end: LinearExpr
    words: int


def add_registers(of: Variables, agent: int, budget: IntVar) -> None:
    """At each row, the words of all values that live then fit what the constants leave of the budget."""
    values = [value for value in of.problem.values if value.words and value.pool is None]
    lives = [life for value in values for life in _lives(of, value, agent)]
    constants = [of.runs(it.op, agent) * it.words for it in of.problem.constants]
    _fit(of, lives, of.model.total([budget, *(-it for it in constants)]))


def add_pool(of: Variables, pool: RegisterPool) -> None:
    """The same for the values of a pool, whoever runs what."""
    values = [value for value in of.problem.values if value.words and value.pool == pool.name]
    if pool.kept > pool.words or any(value.words > pool.free for value in values):
        of.model.clause(of.model.never)
        return
    lives = [_held(of, value) for value in values]
    _fit(of, lives, of.model.total([of.model.constant(pool.free)]))


def _held(of: Variables, value: RegisterValue) -> Life:
    """The life of a value of a pool."""
    life = _life(of, ~of.model.never, of.execution(value.definition), value.words)
    for read in value.uses:
        _outlive(of, life, of.execution(read.op).time + of.ii * read.distance + read.hold)
    _outlive(of, life, of.execution(value.definition).time)
    return life


def _fit(of: Variables, lives: list[Life], room: LinearExpr) -> None:
    """The whole turns take their words at each row, the rests theirs at some."""
    left = of.model.integer(0, MOST_REGISTERS)
    of.model.at_least(room - of.model.total([left, *(life.turns * life.words for life in lives)]), 0)
    of.model.cumulative([(it, life.words) for life in lives for it in _twice(of, life)], left)


def _twice(of: Variables, life: Life) -> list[IntervalVar]:
    """The rest of a life on the circle of rows: the interval and its repetition."""
    starts = (life.start.row, life.start.row + of.ii)
    return [of.model.interval(start, life.rest, 3 * of.ii, life.exists) for start in starts]


def _lives(of: Variables, value: RegisterValue, agent: int) -> list[Life]:
    """With the agent that defines the value; and, where it may be moved, with one that it is brought to."""
    own = _life(of, of.runs(value.definition, agent), _start(of, value), value.words)
    _outlive(of, own, of.execution(value.definition).time, own.exists)
    _add_uses(of, own, value, agent)
    moved = next((it for it in of.moved if it.value is value), None)
    if moved is None:
        return [own]
    _outlive(of, own, moved.write.time + moved.move.cycles, own.exists, moved.leaves)
    brought = _life(of, moved.arrives[agent], moved.reads[agent], value.words)
    _outlive(of, brought, moved.reads[agent].time + moved.move.cycles, brought.exists)
    _add_uses(of, brought, value, agent)
    return [own, brought]


def _start(of: Variables, value: RegisterValue) -> TimePoint:
    file = of.problem.machine.registers
    at_issue = file is not None and file.taken_at_issue
    return of.issue(value.definition) if at_issue else of.execution(value.definition)


def _life(of: Variables, exists: Literal, start: TimePoint, words: int) -> Life:
    turns = of.model.integer(0, MOST_REGISTERS // words)
    rest = of.model.integer(0, of.ii - 1)
    of.model.equal(turns, 0, ~exists)
    of.model.equal(rest, 0, ~exists)
    return Life(exists, start, turns, rest, start.time + turns * of.ii + rest, words)


def _add_uses(of: Variables, life: Life, value: RegisterValue, agent: int) -> None:
    for read in value.uses:
        end = of.execution(read.op).time + of.ii * read.distance + read.hold
        _outlive(of, life, end, life.exists, of.runs(read.op, agent))


def _outlive(of: Variables, life: Life, end: LinearExpr, *conditions: Literal) -> None:
    of.model.at_least(life.end - end, 0, *conditions)
