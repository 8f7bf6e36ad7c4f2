"""
Agents that the program has: the loops of each are peeled by the stages of their schedules, each agent by itself.

    agent_switch {                              agent_switch {
      scf.for %k { fill }                         scf.for %k { fill }
    }, {                                        }, {
      scf.for %k {                                wait, read, product                      of iteration 0
        wait, read, product   {stage = 0}   ->    scf.for %k { wait, read, product         of iteration k + 1
        async.wait, release   {stage = 1}                      async.wait, release }       of iteration k
      }                                           async.wait, release                      of the last iteration
    }                                           }

An agent that takes the next stage before it gives up this one may wait for an agent that waits for it. So the loops
that rings connect are taken together. Their steps form an event graph (Commoner, Holt, Even and Pnueli, "Marked
Directed Graphs", 1971): an agent does its steps in its new order; what is committed is taken in the same turn; what is
released is acquired as many turns later as the ring has slots. Nobody waits in a circle if no cycle of it has a
distance of zero turns or less.

That holds where in every turn each ring is filled once and emptied once by each agent that takes from it, in loops with
the same bounds. And since only rings order agents, they may not touch each other's memory.

Input: a function with agents. Output: the loops to peel, or the reason why there are none; the loops peeled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from tileas_xdsl.analysis.pipeline_root import PipelineRoot
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp
from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp
from tileas_xdsl.scheduling.agent_rings import (
    AgentLoop,
    Agents,
    agents_of,
    connected,
    name_of_ring,
    require_step,
    steps_of,
)
from tileas_xdsl.transforms.tileas.generate_schedule import scheduled_loops
from tileas_xdsl.transforms.tileas.materialize_schedule.dissolving import require_followed
from tileas_xdsl.transforms.tileas.materialize_schedule.ownership import Ownership, Touches
from tileas_xdsl.transforms.tileas.materialize_schedule.warps import NoPartitionError
from tileas_xdsl.transforms.tileas.materialize_schedule.work import leaves_of
from tileas_xdsl.transforms.tileas.unspecialized_pipeline import ORDER, STAGE


def loops_to_peel(function: Operation, *, fold: bool = True) -> list[scf.ForOp]:
    """
    The loops of the agents of `function` whose schedules have several stages, if these can be kept, `fold`ed onto the
    loops or not. Raises `NoPartitionError` where agents would wait in a circle, or where that cannot be said.
    """
    wanted = [loop for loop in scheduled_loops(function) if _stage_count(loop) > 1]
    if not wanted:
        return []
    agents = agents_of(function)
    for op in (inner for region in agents.switch.agent_regions for inner in region.walk()):
        require_followed(op)
    _require_apart(agents.switch)
    by_loop = {each.loop: each for each in agents.loops}
    seen: set[AgentLoop] = set()
    for loop in wanted:
        if loop not in by_loop:
            raise NoPartitionError("a loop of an agent stands in a branch, or in a loop that is no scf.for")
        if by_loop[loop] not in seen:
            group = connected(by_loop[loop], agents)
            seen.update(group)
            require_step(group)
            _require_entered_together(group, agents)
            _require_no_circle(group, fold)
    return wanted


def _stage_count(loop: scf.ForOp) -> int:
    return max((_tag(op, STAGE) or 0 for op in loop.body.block.ops), default=0) + 1


def _tag(op: Operation, name: str) -> int | None:
    value = op.attributes.get(name)
    return value.value.data if isinstance(value, IntegerAttr) else None


# What the graph relies on ---------------------------------------------------------------------------------------------


def _require_apart(switch: AgentSwitchOp) -> None:
    """Agents touch no memory of each other's: nothing but rings orders them. Raises `NoPartitionError`."""
    owners: dict[Operation, int | None] = {}
    for number, region in enumerate(switch.agent_regions):
        owners |= dict.fromkeys(leaves_of(list(region.block.ops)), number)
    ops = [op for region in switch.agent_regions for op in region.block.ops]
    touches = Touches(ops, list(owners))
    touches.require_apart(Ownership(owners, {}, len(switch.agent_regions), {}))


def _require_entered_together(group: Sequence[AgentLoop], agents: Agents) -> None:
    """
    No agent may have to wait in front of its loop of `group` for what comes behind that of another: then rings would
    hold all turns of that loop at once. Raises `NoPartitionError`.
    """
    loops = {each.agent: each for each in group}
    for root, steps in _steps_beside(group, agents).items():
        in_front = [op for agent, op in steps if agent in loops and _is_in_front(op, loops[agent].loop)]
        takes = any(op.side == "consumer" for op in in_front)
        fills_often = any(op.side == "producer" and not _is_beside_loop(op, group) for op in in_front)
        for _, op in steps:
            if op not in in_front and (takes if op.side == "producer" else fills_often):
                raise NoPartitionError(
                    f"an agent waits for {name_of_ring(root)} in front of its loop, and '{op_name(op)}' may come "
                    "behind that of another agent"
                )


def _is_beside_loop(op: Operation, group: Sequence[AgentLoop]) -> bool:
    """Whether `op` runs as often as one of the loops of `group` is entered."""
    node = op.parent_op()
    while isinstance(node, ClassifiedOp):
        node = node.parent_op()
    return any(node is each.loop.parent_op() for each in group)


def _steps_beside(group: Sequence[AgentLoop], agents: Agents) -> dict[PipelineRoot, list[tuple[int, ClassifiedOp]]]:
    """The steps on rings that the loops of `group` do not use."""
    found = {root: list(steps) for root, steps in agents.elsewhere.items()}
    for each in agents.loops:
        if each in group:
            continue
        for root, sides in each.sides.items():
            steps = [inner for op in steps_of(sides) for inner in op.walk() if isinstance(inner, ClassifiedOp)]
            found.setdefault(root, []).extend((each.agent, op) for op in steps)
    return found


def _is_in_front(op: Operation, loop: scf.ForOp) -> bool:
    """Whether `op` comes before `loop` in each turn of the loops around it."""
    node: Operation | None = loop
    while node is not None and not isinstance(node, AgentSwitchOp):
        mine: Operation | None = op
        while mine is not None and mine.parent_block() is not node.parent_block():
            mine = mine.parent_op()
        if mine is not None and mine is not node:
            return mine.is_before_in_block(node)
        node = node.parent_op()
    return False


# Circles --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Edge:
    """The source of this turn comes before the sink, `distance` turns later."""

    source: tuple[AgentLoop, Operation]
    sink: tuple[AgentLoop, Operation]
    distance: int


def _require_no_circle(group: Sequence[AgentLoop], fold: bool) -> None:
    """
    No agent waits for itself through others. Raises `NoPartitionError`. The time is the number of steps on the rings of
    the group, squared at worst (Bellman and Ford); as a rule few rounds suffice.
    """
    edges = [*(edge for each in group for edge in _in_order(each, fold)), *_over_rings(group)]
    weight = len({node for edge in edges for node in (edge.source, edge.sink)}) + 1
    times = dict.fromkeys((node for edge in edges for node in (edge.source, edge.sink)), 0)
    for _ in range(weight):
        changed = None
        for edge in edges:
            # A cycle of distance d and length n weighs d * weight - n: less than nothing where d is 0 or less.
            at = times[edge.source] + edge.distance * weight - 1
            if at < times[edge.sink]:
                times[edge.sink], changed = at, edge
        if changed is None:
            return
    raise NoPartitionError(
        "with stages its agents would wait for each other in a circle; give their rings more slots, or ask for fewer "
        "stages"
    )


def _in_order(each: AgentLoop, fold: bool) -> Iterator[_Edge]:
    """From each step of a loop to the next one in the order of the schedule, and from the last one to the first."""
    position = {op: number for number, op in enumerate(each.loop.body.block.ops)}
    stages = {op: _tag(op, STAGE) or 0 for sides in each.sides.values() for op in steps_of(sides)}
    orders = {op: order for op in position if (order := _tag(op, ORDER)) is not None}
    keeps_order = fold and max(stages.values(), default=0) > 0 and len(orders) == len(position) - 1
    # Without an order the latest stage comes first, and then what comes first in the program.
    ranks = orders if keeps_order else {op: (-stage, position[op]) for op, stage in stages.items()}
    placed = sorted(stages, key=lambda op: ranks[op])
    for number, op in enumerate(placed):
        following = placed[(number + 1) % len(placed)]
        yield _Edge((each, op), (each, following), stages[op] - stages[following] + (number + 1 == len(placed)))


def _over_rings(group: Sequence[AgentLoop]) -> Iterator[_Edge]:
    """What is filled is taken in the same turn; what is given back is filled again when its slot comes round."""
    fillers = {root: each for each in group for root, sides in each.sides.items() if sides.commits}
    for each in group:
        for root, sides in each.sides.items():
            if not sides.waits:
                continue
            filler, depth = fillers[root], root.depth
            assert depth is not None, "required by `require_step`"
            filled = filler.sides[root]
            yield _Edge((filler, filled.commits[0]), (each, sides.waits[0]), 0)
            yield _Edge((each, sides.releases[0]), (filler, filled.acquires[0]), depth)
