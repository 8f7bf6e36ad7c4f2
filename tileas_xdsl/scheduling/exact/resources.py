"""
What the ops share: slots, the time of agents, memory, warps, barriers.

What is held for a time lies on the circle of `ii` rows. Each interval of `d <= ii` rows is given twice, `ii` apart:
between rows `ii` and `2 * ii` the two together cover exactly the circle, elsewhere less. Of a longer one, the
`d div ii` whole turns are a constant demand.

Registers are counted exactly: the words that the values of an agent take at each row, for all iterations in flight.

A value that lives for `turns * ii + rest` cycles takes `turns` times its words at every row, and once more at `rest`
rows of the circle. A value that is moved lives twice: with its own agent until it is written, with another one from
when it is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tileas_xdsl.scheduling.exact.agents import possible_warps, register_budgets, round_warps
from tileas_xdsl.scheduling.exact.groups import RuleGroup, RuleKind
from tileas_xdsl.scheduling.exact.problem import NAMED, RegisterPool, RegisterValue, SlotLimit
from tileas_xdsl.scheduling.exact.variables import TimePoint, Variables, twice
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


def add_resources(of: Variables) -> None:
    """All constraints on what is shared."""
    for slot in of.problem.machine.slots:
        if of.query.keeps(RuleGroup(RuleKind.SLOT, slot.name)):
            _add_slot(of, slot)
    if of.query.keeps(RuleGroup(RuleKind.ISSUE)):
        for agent in of.agents:
            _add_issue(of, agent)
    for space in of.problem.machine.spaces:
        if of.query.keeps(RuleGroup(RuleKind.BYTES, space.name)):
            of.model.at_most(bytes_in(of, space.name), space.bytes - space.static)
    if of.query.keeps(RuleGroup(RuleKind.BARRIERS)) and len(of.agents) > 1:
        of.model.at_most(_named_signals(of), of.problem.machine.named_barriers)
    for pool in of.problem.machine.pools:
        if of.query.keeps(RuleGroup(RuleKind.REGISTERS, pool.name)):
            add_pool(of, pool)
    _add_block(of)


# Slots and agents -----------------------------------------------------------------------------------------------------


def _add_slot(of: Variables, slot: SlotLimit) -> None:
    turns = 0
    demands: list[tuple[IntervalVar, int]] = []
    for op, point in zip(of.problem.ops, of.executions, strict=True):
        for use in op.uses:
            if use.slot == slot.name:
                whole, rest = divmod(use.rows, of.ii)
                turns += whole * use.amount
                demands += [(interval, use.amount) for interval in twice(of, point, rest)]
    if turns > slot.capacity:
        of.model.clause(of.model.never)
    elif slot.capacity == 1 and not turns and all(amount == 1 for _, amount in demands):
        of.model.no_overlap([interval for interval, _ in demands])
    else:
        of.model.cumulative(demands, slot.capacity - turns)


def _add_issue(of: Variables, agent: int) -> None:
    """
    An agent does one thing at a time, the writing and reading of moved values included.

    What takes no time may stand where something else begins or ends, not within it.
    """
    busy = [(of.runs_on[op][agent], of.issues[op], spec.issue) for op, spec in enumerate(of.problem.ops)]
    for it in of.moved:
        writes = of.model.both(it.leaves, of.runs(it.value.definition, agent))
        busy += [(writes, it.write, it.move.cycles), (it.arrives[agent], it.reads[agent], it.move.cycles)]
    for exists, _, cycles in busy:
        if cycles > of.ii:
            of.model.clause(~exists)
    on_circle = [twice(of, point, cycles, exists) for exists, point, cycles in busy if cycles <= of.ii]
    of.model.no_overlap([interval for pair in on_circle for interval in pair])


# Memory and signals ---------------------------------------------------------------------------------------------------


def bytes_in(of: Variables, space: str) -> LinearExpr:
    """The bytes of a space that rings and moved values take."""
    rings = zip(of.problem.rings, of.copies, strict=True)
    held = [copies * ring.bytes for ring, copies in rings if ring.space == space]
    return of.model.total([*held, *(it.copies * it.move.bytes for it in of.moved if it.move.space == space)])


def _named_signals(of: Variables) -> LinearExpr:
    """How many named barriers the signals between agents take."""
    rings = [ring for ring in of.problem.rings if ring.handshake == NAMED]
    dependences = [of.apart(it.source, it.sink) for it in of.problem.dependences if it.handshake == NAMED]
    releases = [of.apart(ring.writer, read.op) for ring in rings for read in ring.readers]
    moves = [it.leaves for it in of.moved if it.move.handshake == NAMED]
    return of.model.total([*dependences, *releases, *moves])


def _add_block(of: Variables) -> None:
    """The agents fit a block, and the values of each fit the registers that the block leaves it."""
    possible = list(possible_warps(of.problem, len(of.agents)))
    if not possible:
        of.model.clause(of.model.never)
        return
    warps = [of.model.integer(0, max(max(agents) for agents in possible)) for _ in of.agents]
    budgets = [of.model.integer(0, MOST_REGISTERS) for _ in of.agents]
    of.model.rows([*warps, *budgets], [(*agents, *_budgets(of, agents)) for agents in possible])
    for agent in of.agents:
        if of.query.keeps(RuleGroup(RuleKind.WARPS)):
            of.model.equal(warps[agent], 0, ~of.used[agent])
            for op, spec in enumerate(of.problem.ops):
                of.model.at_least(warps[agent], round_warps(spec.min_warps), of.runs_on[op][agent])
        if of.problem.machine.registers is not None and of.query.keeps(RuleGroup(RuleKind.REGISTERS)):
            add_registers(of, agent, budgets[agent])


def _budgets(of: Variables, agents: tuple[int, ...]) -> tuple[int, ...]:
    """Of all agents; one that is not used has none."""
    used = tuple(warps for warps in agents if warps)
    budgets = register_budgets(of.problem, used)
    assert budgets is not None, "possible_warps yields only what has registers"
    return (*budgets, *(0,) * (len(agents) - len(used)))
