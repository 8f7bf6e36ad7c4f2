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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, Region

from tileas_xdsl.analysis.loop_values import LoopValues
from tileas_xdsl.analysis.pipeline_dependence import Sides, sides_by_root
from tileas_xdsl.analysis.pipeline_root import PipelineRoot, PipelineRoots
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp
from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp, ConsumerReleaseOp, ProducerCommitOp
from tileas_xdsl.scheduling.agent_loops import is_innermost
from tileas_xdsl.transforms.tileas.generate_schedule import scheduled_loops
from tileas_xdsl.transforms.tileas.materialize_schedule.dissolving import have_equal_bounds, require_followed
from tileas_xdsl.transforms.tileas.materialize_schedule.errors import NoPartitionError
from tileas_xdsl.transforms.tileas.materialize_schedule.ownership import Ownership, Touches
from tileas_xdsl.transforms.tileas.materialize_schedule.work import leaves_of
from tileas_xdsl.transforms.tileas.unspecialized_pipeline import ORDER, STAGE


@dataclass(eq=False)
class AgentLoop:
    """An innermost loop of an agent, and the steps on rings in its body."""

    agent: int
    loop: scf.ForOp
    around: Sequence[scf.ForOp]
    """The loops around it, from the outermost, up to the agent."""
    sides: Mapping[PipelineRoot, Sides]
    start: int
    """Its position among the ops of the agent."""


@dataclass
class Agents:
    """The agents of a function: their loops, and all other steps on rings."""

    switch: AgentSwitchOp
    loops: list[AgentLoop] = field(default_factory=list[AgentLoop])
    elsewhere: dict[PipelineRoot, list[tuple[int, ClassifiedOp]]] = field(
        default_factory=dict[PipelineRoot, list[tuple[int, ClassifiedOp]]]
    )
    """Ring -> steps on it that are in no innermost loop, each with its agent."""


def loops_to_peel(function: Operation, *, fold: bool = True) -> list[scf.ForOp]:
    """
    The loops of the agents of `function` whose schedules have several stages, if these can be kept, `fold`ed onto the
    loops or not. Raises `NoPartitionError` where agents would wait in a circle, or where that cannot be said.
    """
    wanted = [loop for loop in scheduled_loops(function) if _stage_count(loop) > 1]
    if not wanted:
        return []
    agents = _agents_of(function)
    _require_apart(agents.switch)
    by_loop = {each.loop: each for each in agents.loops}
    seen: set[AgentLoop] = set()
    for loop in wanted:
        if loop not in by_loop:
            raise NoPartitionError("a loop of an agent stands in a branch, or in a loop that is no scf.for")
        if by_loop[loop] not in seen:
            group = _connected(by_loop[loop], agents)
            seen.update(group)
            _require_lockstep(group)
            _require_entered_together(group, agents)
            _require_no_circle(group, fold)
    return wanted


def _stage_count(loop: scf.ForOp) -> int:
    return max((_tag(op, STAGE) or 0 for op in loop.body.block.ops), default=0) + 1


def _tag(op: Operation, name: str) -> int | None:
    value = op.attributes.get(name)
    return value.value.data if isinstance(value, IntegerAttr) else None


# Who works on which ring ----------------------------------------------------------------------------------------------


def _agents_of(function: Operation) -> Agents:
    switches = [op for op in function.walk() if isinstance(op, AgentSwitchOp)]
    if len(switches) > 1 or any(size != 1 for size in switches[0].group_sizes):
        raise NoPartitionError("its agents are made in several places, or a group has several agents")
    agents, roots = Agents(switches[0]), PipelineRoots()
    for number, region in enumerate(agents.switch.agent_regions):
        for position, op in enumerate(region.walk()):
            require_followed(op)
            if isinstance(op, scf.ForOp) and is_innermost(op) and (around := _around(op, region)) is not None:
                found = sides_by_root(LoopValues(op))
                sides = {root: each for root, each in found.items() if not root.is_implicit and _steps(each)}
                agents.loops.append(AgentLoop(number, op, around, sides, position))
    inside = {op for each in agents.loops for op in each.loop.walk()}
    for number, region in enumerate(agents.switch.agent_regions):
        for op in region.walk():
            if isinstance(op, ClassifiedOp) and op not in inside:
                for root in _roots_of(op, roots):
                    agents.elsewhere.setdefault(root, []).append((number, op))
    return agents


def _around(loop: scf.ForOp, region: Region) -> list[scf.ForOp] | None:
    """The loops around `loop` in `region`; None where something else is around it."""
    found: list[scf.ForOp] = []
    node = loop.parent_op()
    while node is not region.parent:
        if not isinstance(node, scf.ForOp):
            return None
        found.append(node)
        node = node.parent_op()
    return found[::-1]


def _roots_of(op: ClassifiedOp, roots: PipelineRoots) -> Iterator[PipelineRoot]:
    found = [roots.of(token) for token in op.tokens] if isinstance(op, ProducerCommitOp | ConsumerReleaseOp) else []
    named = (root for root in found or [roots.of_op(op)] if root is not None and not root.is_implicit)
    yield from dict.fromkeys(named)


def _connected(first: AgentLoop, agents: Agents) -> list[AgentLoop]:
    """The loops that rings connect with `first`. Raises `NoPartitionError` for a ring that is used elsewhere, too."""
    found, waiting = {first: None}, [first]
    while waiting:
        for root in waiting.pop().sides:
            if root in agents.elsewhere:
                _, op = agents.elsewhere[root][0]
                raise NoPartitionError(f"{_name(root)} is used outside of the loops of agents, too, by '{op_name(op)}'")
            others = [each for each in agents.loops if root in each.sides and each not in found]
            waiting += others
            found.update(dict.fromkeys(others))
    return sorted(found, key=lambda each: (each.agent, each.start))


def _name(root: PipelineRoot) -> str:
    hint = root.op.results[0].name_hint if root.op.results else None
    return f"ring '{hint}'" if hint else "a ring"


# What the graph relies on ---------------------------------------------------------------------------------------------


def _require_apart(switch: AgentSwitchOp) -> None:
    """Agents touch no memory of each other's: nothing but rings orders them. Raises `NoPartitionError`."""
    owners: dict[Operation, int | None] = {}
    for number, region in enumerate(switch.agent_regions):
        owners |= dict.fromkeys(leaves_of(list(region.block.ops)), number)
    ops = [op for region in switch.agent_regions for op in region.block.ops]
    touches = Touches(ops, list(owners))
    touches.require_apart(Ownership(owners, {}, len(switch.agent_regions), {}))


def _require_lockstep(group: Sequence[AgentLoop]) -> None:
    """In every turn each ring is filled once, by one agent, and emptied once by each that takes from it."""
    first = group[0]
    if len({each.agent for each in group}) < len(group):
        raise NoPartitionError("an agent has several loops over rings that belong together")
    for each in group[1:]:
        nests = ((*first.around, first.loop), (*each.around, each.loop))
        if len(nests[0]) != len(nests[1]) or not all(map(have_equal_bounds, *nests)):
            raise NoPartitionError("the loops of its agents do not have the same bounds")
    for root in dict.fromkeys(root for each in group for root in each.sides):
        found = [each.sides[root] for each in group if root in each.sides]
        fillers = [sides for sides in found if sides.acquires or sides.commits]
        takers = [sides for sides in found if sides.waits or sides.releases]
        once = all(len(sides.acquires) == len(sides.commits) == 1 for sides in fillers)
        once &= all(len(sides.waits) == len(sides.releases) == 1 for sides in takers)
        if not once or len(fillers) != 1 or root.depth is None or not all(sides.countable for sides in found):
            raise NoPartitionError(f"{_name(root)} is not filled once and emptied once in every turn")


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
                    f"an agent waits for {_name(root)} in front of its loop, and '{op_name(op)}' may come behind that "
                    "of another agent"
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
            steps = [inner for op in _steps(sides) for inner in op.walk() if isinstance(inner, ClassifiedOp)]
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
    stages = {op: _tag(op, STAGE) or 0 for sides in each.sides.values() for op in _steps(sides)}
    orders = {op: order for op in position if (order := _tag(op, ORDER)) is not None}
    keeps_order = fold and max(stages.values(), default=0) > 0 and len(orders) == len(position) - 1
    # Without an order the latest stage comes first, and then what comes first in the program.
    ranks = orders if keeps_order else {op: (-stage, position[op]) for op, stage in stages.items()}
    placed = sorted(stages, key=lambda op: ranks[op])
    for number, op in enumerate(placed):
        following = placed[(number + 1) % len(placed)]
        yield _Edge((each, op), (each, following), stages[op] - stages[following] + (number + 1 == len(placed)))


def _steps(sides: Sides) -> list[Operation]:
    return list(dict.fromkeys([*sides.acquires, *sides.commits, *sides.waits, *sides.releases]))


def _over_rings(group: Sequence[AgentLoop]) -> Iterator[_Edge]:
    """What is filled is taken in the same turn; what is given back is filled again when its slot comes round."""
    fillers = {root: each for each in group for root, sides in each.sides.items() if sides.commits}
    for each in group:
        for root, sides in each.sides.items():
            if not sides.waits:
                continue
            filler, depth = fillers[root], root.depth
            assert depth is not None, "required by `_require_lockstep`"
            filled = filler.sides[root]
            yield _Edge((filler, filled.commits[0]), (each, sides.waits[0]), 0)
            yield _Edge((each, sides.releases[0]), (filler, filled.acquires[0]), depth)
