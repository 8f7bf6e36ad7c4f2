"""
The loops of the agents of a function, and the rings that connect them.

    agent_switch {
      scf.for %k to %n { acquire, load, commit }       fills the ring once in every turn
    }, {
      scf.for %k to %n { wait, read, release }         takes from it once in every turn, and as often: in step
    }

Of agents in step it is known which turn of one waits for which turn of another, for every trip count: what is filled in
one turn is taken in the same turn, and every stage that is filled is taken.

Input: a function with agents. Output: its agents; which of their loops rings connect; or why they are not in step.
Changes nothing. Linear in the ops, and for loops that are connected in the rings of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Operation, Region
from xdsl.traits import IsTerminator

from tileas_xdsl.analysis.induction import have_equal_bounds
from tileas_xdsl.analysis.loop_values import LoopValues
from tileas_xdsl.analysis.memory.effects import has_no_effects
from tileas_xdsl.analysis.memory.written import FunctionMemory, LoopMemory
from tileas_xdsl.analysis.pipeline_dependence import Sides, sides_by_root
from tileas_xdsl.analysis.pipeline_root import PipelineRoot, PipelineRoots
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp
from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, FutureWaitOp, TokenToAsyncOp
from tileas_xdsl.scheduling.agent_loops import is_innermost


class NotInStepError(Exception):
    """The loops of agents are not in step: `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


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


# Reading them ---------------------------------------------------------------------------------------------------------


def agents_of(function: Operation) -> Agents:
    """The agents of `function`. Raises `NotInStepError` where it has several switches, or groups of several agents."""
    switches = [op for op in function.walk() if isinstance(op, AgentSwitchOp)]
    if len(switches) > 1 or any(size != 1 for size in switches[0].group_sizes):
        raise NotInStepError("its agents are made in several places, or a group has several agents")
    agents, roots = Agents(switches[0]), PipelineRoots()
    for number, region in enumerate(agents.switch.agent_regions):
        for position, op in enumerate(region.walk()):
            if isinstance(op, scf.ForOp) and is_innermost(op) and (around := _around(op, region)) is not None:
                found = sides_by_root(LoopValues(op))
                sides = {root: each for root, each in found.items() if not root.is_implicit and steps_of(each)}
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
    yield from dict.fromkeys(root for root in roots.all_of_op(op) if not root.is_implicit)


def connected(first: AgentLoop, agents: Agents) -> list[AgentLoop]:
    """The loops that rings connect with `first`. Raises `NotInStepError` for a ring that is used elsewhere, too."""
    found, waiting = {first: None}, [first]
    while waiting:
        for root in waiting.pop().sides:
            if root in agents.elsewhere:
                _, op = agents.elsewhere[root][0]
                raise NotInStepError(
                    f"{name_of_ring(root)} is used outside of the loops of agents, too, by '{op_name(op)}'"
                )
            others = [each for each in agents.loops if root in each.sides and each not in found]
            waiting += others
            found.update(dict.fromkeys(others))
    return sorted(found, key=lambda each: (each.agent, each.start))


def name_of_ring(root: PipelineRoot) -> str:
    """The ring as a message names it."""
    hint = root.op.results[0].name_hint if root.op.results else None
    return f"ring '{hint}'" if hint else "a ring"


def steps_of(sides: Sides) -> list[Operation]:
    """The ops of a body that take or give up stages of one ring, on either side."""
    return list(dict.fromkeys([*sides.acquires, *sides.commits, *sides.waits, *sides.releases]))


# In step --------------------------------------------------------------------------------------------------------------


def require_step(group: Sequence[AgentLoop]) -> None:
    """
    In every turn each ring of the loops of `group`, which rings connect, is filled once, by one agent, and emptied once
    by each that takes from it. Raises `NotInStepError`.
    """
    first = group[0]
    if len({each.agent for each in group}) < len(group):
        raise NotInStepError("an agent has several loops over rings that belong together")
    for each in group[1:]:
        nests = ((*first.around, first.loop), (*each.around, each.loop))
        if len(nests[0]) != len(nests[1]) or not all(map(have_equal_bounds, *nests)):
            raise NotInStepError("the loops of its agents do not have the same bounds")
    for root in dict.fromkeys(root for each in group for root in each.sides):
        found = [each.sides[root] for each in group if root in each.sides]
        fillers = [sides for sides in found if sides.acquires or sides.commits]
        takers = [sides for sides in found if sides.waits or sides.releases]
        once = all(_is_one_turn(sides.acquires, sides.commits) for sides in fillers)
        once &= all(_is_one_turn(sides.waits, sides.releases) for sides in takers)
        if not once or len(fillers) != 1 or root.depth is None or not all(sides.countable for sides in found):
            raise NotInStepError(f"{name_of_ring(root)} is not filled once and emptied once in every turn")


def _is_one_turn(takes: Sequence[Operation], gives: Sequence[Operation]) -> bool:
    """Whether one stage is taken and given up. An op that goes on with a stage which another one has taken is none."""
    return len(gives) == 1 and sum(not _goes_on(op) for op in takes) == 1


def _goes_on(op: Operation) -> bool:
    return isinstance(op, ClassifiedOp) and any(isinstance(token.owner, ClassifiedOp) for token in op.tokens)


def is_taken_whole(loop: scf.ForOp) -> bool:
    """
    Whether nobody relies on the waits of the agent around `loop` for what it has filled: agents in step with it take
    all that, and nothing could spoil a fill that is under way. The agent does nothing but take and fill stages, or no
    op of the function writes what the loop reads.
    """
    top: Operation = loop
    while (parent := top.parent_op()) is not None and not isinstance(parent, AgentSwitchOp):
        top = parent
    block, function = top.parent_block(), None if parent is None else parent.parent_op()
    if block is None or function is None:
        return False
    if not all(map(_only_moves_stages, block.ops)) and _reads_what_is_written(loop, function):
        return False
    try:
        agents = agents_of(function)
        mine = next((each for each in agents.loops if each.loop is loop), None)
        if mine is None:
            return False
        group = connected(mine, agents)
        require_step(group)
    except NotInStepError:
        return False
    taken = {root for each in group for root, sides in each.sides.items() if sides.waits}
    return all(root in taken for root, sides in mine.sides.items() if sides.commits)


def _reads_what_is_written(loop: scf.ForOp, function: Operation) -> bool:
    """Whether an op of `function` may write what one of `loop` reads. Linear in the ops of the function."""
    memory = LoopMemory(loop, FunctionMemory(function))
    return any(memory.written_in_function.may_hold_any(memory.reads_of(op)) for op in loop.body.block.ops)


def _only_moves_stages(op: Operation) -> bool:
    if isinstance(op, scf.ForOp | scf.IfOp):
        return all(_only_moves_stages(inner) for region in op.regions for b in region.blocks for inner in b.ops)
    if isinstance(op, ClassifiedOp | AsyncWaitOp | FutureWaitOp | TokenToAsyncOp):
        return True
    return op.has_trait(IsTerminator, value_if_unregistered=False) or has_no_effects(op)
