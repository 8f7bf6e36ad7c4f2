"""
What must happen before what: dependences, copies of rings, queues, stages. Linear constraints on points in time.

Time 0 is given: each agent's loop has an origin of its own, so the row of the first op is 0. That makes proofs many
times faster and loses no schedule.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from tileas_xdsl.scheduling.exact.groups import RuleGroup, RuleKind
from tileas_xdsl.scheduling.exact.problem import Dependence, ExactRing, OpSpec, RingRead
from tileas_xdsl.scheduling.exact.variables import MovedValue, Variables

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import LinearExpr
    from ortools.sat.python.cp_model_helper import Literal


def add_timing(of: Variables) -> None:
    """All constraints on when things happen."""
    of.model.equal(of.first if of.query.from_time_0 else of.executions[0].row, 0)
    for point in of.executions:
        of.model.at_least(point.time - of.first, 0)
    for dependence in of.problem.dependences:
        if dependence.distance == 0 or of.query.keeps(RuleGroup(RuleKind.CARRIED)):
            _add_dependence(of, dependence)
    for position, ring in enumerate(of.problem.rings):
        for read in ring.readers:
            _add_turn_of_ring(of, position, ring, read)
    for value in of.problem.values:
        for read in value.uses:
            behind = of.execution(read.op).time - of.execution(value.definition).time
            of.model.at_least(behind, -of.ii * read.distance)
    for moved in of.moved:
        _add_move(of, moved)
    _add_queues(of)
    _add_stage_counts(of)
    if of.query.keeps(RuleGroup(RuleKind.STAGES)):
        _add_stage_limits(of)


def _add_dependence(of: Variables, it: Dependence) -> None:
    """
    The sink executes late enough; and it is issued late enough, since its agent waits for what it needs.

    Only two ops that one unit executes in the order in which one agent issues them need no wait between them.
    """
    apart = of.apart(it.source, it.sink)
    ready = of.execution(it.source).time + apart * of.problem.handshake(it.handshake)
    least = it.latency - of.ii * it.distance
    of.model.at_least(of.execution(it.sink).time - ready, least)
    if of.is_queued(of.problem.op(it.sink)):
        by_unit = ordered_by_unit(of.problem.op(it.source), of.problem.op(it.sink))
        of.model.at_least(of.issue(it.sink).time - ready, least, *([apart] if by_unit else []))


def ordered_by_unit(one: OpSpec, other: OpSpec) -> bool:
    """Whether the queue of a unit keeps two ops in order when one agent issues them."""
    shared = {use.slot for use in one.uses} & {use.slot for use in other.uses}
    return one.asynchronous and other.asynchronous and bool(shared)


def _add_turn_of_ring(of: Variables, position: int, ring: ExactRing, read: RingRead) -> None:
    """A reader comes after the writer; the writer of as many iterations later as there are copies, after the reader."""
    start = of.execution(read.op).time + of.ii * read.distance
    of.model.at_least(start - of.execution(ring.writer).time, 0)
    released = start + read.hold + of.apart(ring.writer, read.op) * of.problem.handshake(ring.handshake)
    of.model.at_least(of.copies[position] * of.ii + of.issue(ring.writer).time - released, 0)


def _add_move(of: Variables, it: MovedValue) -> None:
    """The value is written when it is there, read when it is written, used when it is read; then the memory is free."""
    signal = of.problem.handshake(it.move.handshake)
    ready = of.execution(it.value.definition).time + of.problem.op(it.value.definition).latency
    of.model.at_least(it.write.time - ready, 0, it.leaves)
    for agent in of.agents:
        arrives, read = it.arrives[agent], it.reads[agent]
        of.model.at_least(read.time - it.write.time, it.move.cycles + signal, arrives)
        again = it.copies * of.ii + it.write.time
        of.model.at_least(again - read.time, it.move.cycles + signal, arrives)
        for use in it.value.uses:
            used = of.issue(use.op).time + of.ii * use.distance
            of.model.at_least(used - read.time, it.move.cycles, arrives, of.runs(use.op, agent))


# Queues ---------------------------------------------------------------------------------------------------------------


def _add_queues(of: Variables) -> None:
    queued = [position for position, op in enumerate(of.problem.ops) if of.is_queued(op)]
    for op in queued:
        waits = of.executions[op].time - of.issues[op].time
        of.model.between(waits, 0, of.problem.machine.queue)
    for one, other in combinations(queued, 2):
        if ordered_by_unit(of.problem.ops[one], of.problem.ops[other]):
            together = ~of.apart(of.problem.ops[one].name, of.problem.ops[other].name)
            issued = of.issues[other].time - of.issues[one].time
            _keep_order(of, issued, of.executions[other].time - of.executions[one].time, together)
    if of.query.keeps(RuleGroup(RuleKind.QUEUES)):
        for queue in of.problem.queues:
            ready = {name: _ready(of, name) for name in queue}
            for one, other in combinations(queue, 2):
                _keep_order(of, ready[other] - ready[one], of.execution(other).time - of.execution(one).time)


def _ready(of: Variables, name: str) -> LinearExpr:
    """When all that the op depends on lets it start."""
    after = [(of.execution(it.source).time, it.latency - of.ii * it.distance) for it in of.problem.arrivals[name]]
    least, most = min(later for _, later in after), of.last_time + max(later for _, later in after)
    return of.model.latest([time + later for time, later in after], least, most)


def _keep_order(of: Variables, came: LinearExpr, went: LinearExpr, *conditions: Literal) -> None:
    """
    All instances of two ops go in the order in which they have come; `came` and `went` are the differences of times.

    That is so if both lie between the same two multiples of the interval.
    """
    turns = of.model.integer(-of.query.stages - 1, of.query.stages + 1)
    for behind in (came, went):
        of.model.between(behind - turns * of.ii, 0, of.ii, *conditions)


# Stages ---------------------------------------------------------------------------------------------------------------


def _add_stage_counts(of: Variables) -> None:
    """Each agent has a row 0, no later than its first issue, and enough stages for its last one."""
    for agent in of.agents:
        origin, end = of.origins[agent], of.origins[agent] + of.stage_counts[agent] * of.ii
        points = [(of.runs_on[op][agent], of.issues[op]) for op in range(len(of.problem.ops))]
        points += [(of.model.both(it.leaves, of.runs(it.value.definition, agent)), it.write) for it in of.moved]
        points += [(it.arrives[agent], it.reads[agent]) for it in of.moved]
        for exists, point in points:
            of.model.at_least(point.time - origin, 0, exists)
            of.model.at_least(end - point.time, 1, exists)


def _add_stage_limits(of: Variables) -> None:
    ops = of.problem.ops
    limited = [position for position, op in enumerate(ops) if op.group is not None or op.max_stage is not None]
    stages = {op: _local_stage(of, op) for op in limited}
    for op in limited:
        most = ops[op].max_stage
        if most is not None:
            of.model.at_most(stages[op], most)
    groups = {ops[op].group: [it for it in limited if ops[it].group == ops[op].group] for op in limited}
    groups.pop(None, None)
    for members in groups.values():
        for one, other in combinations(members, 2):
            of.model.equal(stages[one] - stages[other], 0, ~of.apart(ops[one].name, ops[other].name))
    _add_ceilings(of)


def _local_stage(of: Variables, op: int) -> LinearExpr:
    """The stage of an op in the loop of its agent."""
    stage = of.model.integer(0, of.query.stages)
    for agent in of.agents:
        behind = of.issues[op].time - of.origins[agent] - stage * of.ii
        of.model.between(behind, 0, of.ii - 1, of.runs_on[op][agent])
    return stage


def _add_ceilings(of: Variables) -> None:
    """No iteration takes longer than the machine allows; nor, if iterations must not overlap, than the interval."""
    ceilings = [of.problem.machine.ceiling, of.ii if of.problem.serial else None]
    for op, point in zip(of.problem.ops, of.executions, strict=True):
        for ceiling in ceilings:
            if ceiling is not None:
                of.model.at_most(point.time - of.first, ceiling - op.latency)
