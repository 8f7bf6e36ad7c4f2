"""
What the ops share: slots, the time of agents, memory, warps, barriers.

What is held for a time lies on the circle of `ii` rows. Each interval of `d <= ii` rows is given twice, `ii` apart:
between rows `ii` and `2 * ii` the two together cover exactly the circle, elsewhere less. Of a longer one, the
`d div ii` whole turns are a constant demand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tileas_xdsl.scheduling.exact.agents import possible_warps, register_budgets, round_warps
from tileas_xdsl.scheduling.exact.groups import RuleGroup, RuleKind
from tileas_xdsl.scheduling.exact.lifetimes import add_pool, add_registers
from tileas_xdsl.scheduling.exact.problem import NAMED, SlotLimit
from tileas_xdsl.scheduling.exact.variables import Variables, twice
from tileas_xdsl.targets.warps import MOST_REGISTERS

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import IntervalVar, LinearExpr


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
