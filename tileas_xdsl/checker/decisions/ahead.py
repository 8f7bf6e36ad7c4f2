"""Which agents may still begin a loop with a bound that others know already, or compare it with a number."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from xdsl.ir import Block, Operation

from tileas_xdsl.checker.snapshot.agents import activations
from tileas_xdsl.interfaces import AgentLikeOpInterface
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.loops.open_comparisons import OpenComparison
from tileas_xdsl.machine.core.loops.open_counts import OpenBound, OpenLoop, place_of
from tileas_xdsl.machine.core.synchronization import EndOfAgents

NO_COMPARISONS: Mapping[Operation, OpenComparison] = {}
OpsWith = Callable[[OpenBound], Sequence[Operation]]
"""The ops that may ask for a bound."""


class Ahead:
    """Looks for open loops ahead of agents, by where these stand in the code."""

    def __init__(
        self, loops: Mapping[Operation, OpenLoop], comparisons: Mapping[Operation, OpenComparison] = NO_COMPARISONS
    ) -> None:
        self.loops = loops
        self.comparisons = comparisons
        self._loops: dict[tuple[Hashable, int], list[Operation]] = {}
        self._comparisons: dict[tuple[Hashable, int], list[Operation]] = {}
        self._places: dict[Block, dict[Operation, int]] = {}

    def may_begin(self, agent: Agent, bound: OpenBound) -> bool:
        """Whether `agent` may still begin a loop with `bound`. May say yes where it cannot."""
        return self._comes_to(self._loops_with, agent, bound)

    def may_compare(self, agent: Agent, bound: OpenBound) -> bool:
        """Whether `agent` may still compare `bound` with a number. May say yes where it cannot."""
        return bool(self.comparisons) and self._comes_to(self._comparisons_with, agent, bound)

    def _comes_to(self, ops: OpsWith, agent: Agent, bound: OpenBound) -> bool:
        place = place_of(agent)
        for depth, (outer, induction) in enumerate(bound.place):
            if depth == len(place):
                return self.may_begin(agent, outer) and self._runs(ops, agent, bound, depth)
            other, own = place[depth]
            if other is not outer:
                return self.may_begin(agent, outer)
            if own != induction:
                return own < induction and self._runs(ops, agent, bound, depth)
        return self._runs(ops, agent, bound, len(bound.place))

    def _runs(self, ops: OpsWith, agent: Agent, bound: OpenBound, depth: int) -> bool:
        """Whether a loop with the term of `bound` is ahead of `agent`, in the present turn of its loop of `depth`."""
        frames = [frame for _, frames in reversed(list(activations(agent))) for frame in frames]
        if not frames:
            # It has not begun yet; or it has left the whole function to agents that it has started, and awaits them.
            return bool(ops(bound)) and not isinstance(agent.waiting_for, EndOfAgents)
        around = [place for place, (_, op) in enumerate(frames) if op in self.loops]
        inherited = len(place_of(agent)) - len(around)
        skipped = depth - inherited
        inner = frames[around[skipped - 1] + 1 :] if 0 < skipped <= len(around) else frames
        at = dict(inner)
        return any(self._is_ahead(op, at) for op in ops(bound))

    def _loops_with(self, bound: OpenBound) -> list[Operation]:
        """The loops that may have `bound`: it is theirs, and as many open loops are around them."""
        key = (bound.term, len(bound.place))
        if key not in self._loops:
            self._loops[key] = [op for op, loop in self.loops.items() if (loop.term, loop.depth) == key]
        return self._loops[key]

    def _comparisons_with(self, bound: OpenBound) -> list[Operation]:
        """The ops that may compare `bound`: also those in loops that it bounds."""
        key = (bound.term, len(bound.place))
        if key not in self._comparisons:
            self._comparisons[key] = [
                op for op, how in self.comparisons.items() if how.term == bound.term and how.depth >= len(bound.place)
            ]
        return self._comparisons[key]

    def _is_ahead(self, op: Operation, at: Mapping[Block, Operation | None]) -> bool:
        outermost: tuple[Block, Operation] | None = None
        node: Operation | None = op
        while node is not None and node.parent is not None:
            if node.parent in at:
                outermost = (node.parent, node)
            node = node.parent.parent_op()
        if outermost is None:
            return False
        block, node = outermost
        current = at[block]
        if node is current:
            return node is not op and not _is_run_by_others(op, node)
        if current is None or block.next_block is not None or block.prev_block is not None:
            return True
        places = self._places.get(block)
        if places is None:
            places = self._places[block] = {each: place for place, each in enumerate(block.ops)}
        return places[node] > places[current]


def _is_run_by_others(op: Operation, around: Operation) -> bool:
    """Whether `around`, which an agent runs, leaves `op`, which is in it, to agents that it has started."""
    node: Operation | None = op
    while node is not None and node is not around:
        node = node.parent_op()
        if node is not None and AgentLikeOpInterface.of(node) is not None:
            return True
    return False
