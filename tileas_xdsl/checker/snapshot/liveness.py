"""
Which SSA values of a suspended agent are live: they may still be used.

The agent is in nested blocks, its *frames*, each at some op, or about to begin. For a use of a value, the outermost
frame counts that lies within the region that defines the value. Its block goes on behind its present op, so a use after
that op is still to come; inside an op that is still ahead everything may run. From the end of a block control goes on
along its branches: a use in another block of the region is still to come if a way leads there on which the value is not
defined anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue, Use

from tileas_xdsl.analysis.dominance import successors_of
from tileas_xdsl.interfaces import AgentLikeOpInterface

Frame = tuple[Block, Operation | None]
"""A block that an agent is in, and the op of it at which the agent is; None where it is to begin."""


RUN_ONCE = (scf.IfOp, scf.IndexSwitchOp, scf.ExecuteRegionOp)
"""Ops that run a region once: behind a block of it control comes to no block before."""


@dataclass
class _Decided:
    """What is known for the frames of one agent."""

    values: set[SSAValue] = field(default_factory=set[SSAValue])
    """Those that were asked for."""
    alive: list[SSAValue] = field(default_factory=list[SSAValue])
    """Those of them that are live, in program order."""


class Liveness:
    """Finds the live values for the frames of any agent; keeps what it has worked out."""

    def __init__(self) -> None:
        self._alive: dict[tuple[Frame, ...], _Decided] = {}
        self._places: dict[Block, dict[Operation, int]] = {}
        self._numbers: dict[SSAValue, int] = {}
        self._reached: dict[tuple[Block, Block], frozenset[Block]] = {}

    def alive(self, values: Mapping[SSAValue, object], frames: Iterable[Frame]) -> list[SSAValue]:
        """
        Those of `values` that are live in an agent with these `frames`, in program order: in which order they came
        about is history, and makes no difference.
        """
        key = tuple(frames)
        known = self._alive.get(key)
        if known is None:
            known = self._alive[key] = _Decided()
        new = set(values).difference(known.values)
        if new:
            known.values |= new
            known.alive += [v for v in new if any(self._is_ahead(use, v, key) for use in v.uses)]
            known.alive.sort(key=self._number)
        return [value for value in known.alive if value in values]

    def _number(self, value: SSAValue) -> int:
        """The place of `value` in its program."""
        number = self._numbers.get(value)
        if number is None:
            home = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
            assert home is not None
            top = home.get_toplevel_object()
            assert isinstance(top, Operation)
            for op in top.walk():
                for name in (
                    *op.results,
                    *(arg for region in op.regions for block in region.blocks for arg in block.args),
                ):
                    self._numbers.setdefault(name, len(self._numbers))
            number = self._numbers[value]
        return number

    def _is_ahead(self, use: Use, value: SSAValue, frames: Sequence[Frame]) -> bool:
        """Whether `use` is to come for an agent in `frames`, with what `value` is now."""
        for op, within in reversed(list(_levels(use, value, frames))):
            if any(self._goes_on_to(op, value, frame) for frame in within):
                return True
            if all(op is not current for _, current in within):
                return False
            if use.operation is op or AgentLikeOpInterface.of(op) is not None:
                # It has taken its operands; agents have taken what they need when they were started.
                return False
            if not isinstance(op, RUN_ONCE):
                return not all(self._is_to_be_defined(value, frame) for frame in within)
        return False

    def _goes_on_to(self, op: Operation, value: SSAValue, frame: Frame) -> bool:
        """Whether an agent in `frame` comes to `op` behind its present op, before `value` is defined anew."""
        block, current = frame
        home = _home_of(value)
        assert op.parent is not None
        if self._is_to_be_defined(value, frame):
            return False
        if op.parent is block and (current is None or self._place(block, op) > self._place(block, current)):
            return True
        return op.parent in self._blocks_reached(block, home)

    def _is_to_be_defined(self, value: SSAValue, frame: Frame) -> bool:
        """Whether what `value` is now is left from an earlier turn: its op is yet to run, or running."""
        block, current = frame
        op = value.owner
        if isinstance(op, Block):
            return op is block and current is None
        return op.parent is block and (current is None or self._place(block, op) >= self._place(block, current))

    def _blocks_reached(self, block: Block, home: Block) -> frozenset[Block]:
        """The blocks to which control may come from the end of `block` without another run of the block `home`."""
        found = self._reached.get((block, home))
        if found is None:
            seen: set[Block] = set()
            worklist = [block]
            while worklist:
                for successor in successors_of(worklist.pop()):
                    if successor is not home and successor not in seen:
                        seen.add(successor)
                        worklist.append(successor)
            found = self._reached[block, home] = frozenset(seen)
        return found

    def _place(self, block: Block, op: Operation) -> int:
        places = self._places.get(block)
        if places is None:
            places = self._places[block] = {each: place for place, each in enumerate(block.ops)}
        return places[op]


def _home_of(value: SSAValue) -> Block:
    """The block that defines `value`."""
    home = value.owner if isinstance(value.owner, Block) else value.owner.parent
    assert home is not None
    return home


def _levels(use: Use, value: SSAValue, frames: Sequence[Frame]) -> Iterator[tuple[Operation, list[Frame]]]:
    """
    From the use outwards to the region that defines `value`: the op that has the use, or is it, and the frames in the
    region of that op, where there are some.
    """
    home = _home_of(value)
    op: Operation | None = use.operation
    while op is not None and op.parent is not None:
        region = op.parent.parent
        within = [frame for frame in frames if frame[0].parent is region]
        if within:
            yield op, within
        if region is home.parent:
            return
        op = op.parent_op()
