"""
Which SSA values an agent that has been put aside may still look at.

Its frames are blocks, each at some op. What counts is the outermost of them around a use that lies within the block
that defines the value: inside it everything may run again, the block itself goes on from its op.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Block, Operation, SSAValue, Use

from tileas_xdsl.interfaces import AgentLikeOpInterface

Frame = tuple[Block, Operation]
"""A block that is being run, and its op that is."""


class Liveness:
    """Answers for the frames of any agent, each question worked out once."""

    def __init__(self) -> None:
        self._alive: dict[tuple[Frame, ...], dict[SSAValue, bool]] = {}
        self._places: dict[Block, dict[Operation, int]] = {}

    def alive(self, values: Iterable[SSAValue], frames: Iterable[Frame]) -> list[SSAValue]:
        """Those of `values` that may be used again, in their order."""
        key = tuple(frames)
        known = self._alive.setdefault(key, {})
        at = dict(key)
        found: list[SSAValue] = []
        for value in values:
            alive = known.get(value)
            if alive is None:
                alive = known[value] = any(self._is_ahead(use, value, at) for use in value.uses)
            if alive:
                found.append(value)
        return found

    def _is_ahead(self, use: Use, value: SSAValue, at: dict[Block, Operation]) -> bool:
        home = value.owner if isinstance(value.owner, Block) else value.owner.parent
        op: Operation | None = use.operation
        outermost: Frame | None = None
        while op is not None and op.parent is not None:
            block = op.parent
            if block in at:
                outermost = (block, op)
            elif any(block.parent is other.parent for other in at):
                # A block beside one that is being run: control may come there.
                return True
            if block is home:
                break
            op = block.parent_op()
        return outermost is not None and self._goes_on_to(outermost, use, at)

    def _goes_on_to(self, frame: Frame, use: Use, at: dict[Block, Operation]) -> bool:
        block, op = frame
        current = at[block]
        if block.next_block is not None or block.prev_block is not None:
            return True
        if op is current:
            # It has taken its operands; agents have taken what they need when they were started.
            return use.operation is not current and AgentLikeOpInterface.of(current) is None
        return self._place(block, op) > self._place(block, current)

    def _place(self, block: Block, op: Operation) -> int:
        places = self._places.get(block)
        if places is None:
            places = self._places[block] = {each: place for place, each in enumerate(block.ops)}
        return places[op]
