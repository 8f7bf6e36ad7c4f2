"""
Which SSA values of a suspended agent are live: they may still be used.

The agent is in nested blocks, its *frames*, each at some op. For a use of a value, the outermost frame counts that lies
within the block that defines the value. That block goes on behind its present op, so a use after that op is still to
come; inside an op that is still ahead everything may run.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Block, Operation, SSAValue, Use

from tileas_xdsl.interfaces import AgentLikeOpInterface

Frame = tuple[Block, Operation]
"""A block that an agent is in, and the op of it at which the agent is."""


class Liveness:
    """Finds the live values for the frames of any agent; keeps what it has worked out."""

    def __init__(self) -> None:
        self._alive: dict[tuple[Frame, ...], dict[SSAValue, bool]] = {}
        self._places: dict[Block, dict[Operation, int]] = {}
        self._numbers: dict[SSAValue, int] = {}

    def alive(self, values: Iterable[SSAValue], frames: Iterable[Frame]) -> list[SSAValue]:
        """
        Those of `values` that are live in an agent with these `frames`, in program order: in which order they came
        about is history, and makes no difference.
        """
        key = tuple(frames)
        known = self._alive.setdefault(key, {})
        at = dict(key)
        found: list[SSAValue] = []
        for value in values:
            alive = known.get(value)
            if alive is None:
                uses = () if self._is_to_be_defined(value, at) else value.uses
                alive = known[value] = any(self._is_ahead(use, value, at) for use in uses)
            if alive:
                found.append(value)
        return sorted(found, key=self._number)

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

    def _is_to_be_defined(self, value: SSAValue, at: dict[Block, Operation]) -> bool:
        """Whether what `value` is now is left from an earlier turn: its op is yet to run, or running."""
        op = value.owner
        if isinstance(op, Block) or (block := op.parent) is None or block not in at:
            return False
        if block.next_block is not None or block.prev_block is not None:
            return False
        return self._place(block, op) >= self._place(block, at[block])

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
