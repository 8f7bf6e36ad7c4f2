"""
Hooks by which a caller of the expander adapts each copy of an op that is made.

A caller subclasses `ExpansionHooks`. `on_copy` is called once for every copy, in the order in which the copies stand in
the IR, when the copy is in its block with its operands in place. It may set attributes, replace operands, insert ops
before and after the copy, or put the copy into a scope; to insert before, it uses the copy's own block:

    class Versions(ExpansionHooks):
        def on_copy(self, copy: OpCopy) -> None:
            if isinstance(copy.op, StoreOp):
                number = copy.iteration.ordinal()               # SSA value: 0, 1, 2 ...
                version = RemUIOp(number, self.versions)
                Rewriter.insert_op(version, InsertPoint.before(copy.op))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tileas_xdsl.scheduling.timetable import TimeSlot


@dataclass(frozen=True)
class IterationRef:
    """The iteration of the original loop that a copy works on, and the slot in which it does."""

    slot: TimeSlot
    stage: int
    """The stage of the op, as it was placed."""
    offset: int
    """
    In the prologue the number of the iteration; in the kernel how far it is ahead of that of the last stage; in the
    epilogue counted from the end, -1 for the last.
    """
    number: int | None
    """
    The number of the iteration, counted from 0, where it is known: in the prologue, and in the epilogue of a loop of
    constant bounds.
    """
    _induction: Callable[[], SSAValue] = field(repr=False)
    _ordinal: Callable[[], SSAValue] = field(repr=False)

    def induction(self) -> SSAValue:
        """The induction variable of the original loop in this iteration; emitted when asked for, before the copy."""
        return self._induction()

    def ordinal(self) -> SSAValue:
        """The number of this iteration, counted from 0, in the type of the induction variable; emitted when asked."""
        return self._ordinal()


@dataclass(frozen=True)
class OpCopy:
    """One copy of an op of the loop body."""

    original: Operation
    op: Operation
    """The copy."""
    iteration: IterationRef
    operands: Mapping[SSAValue, SSAValue]
    """Value of the original loop -> the value that replaces it in the copy and in its regions."""


class ExpansionHooks:
    """Called by the expander. These hooks change nothing; a caller overrides what it needs."""

    def on_copy(self, copy: OpCopy) -> Sequence[SSAValue] | None:
        """
        Adapt a fresh copy. Returns the values that stand for its results from here on, None for the results themselves.

        May raise: then nothing has been changed.
        """
        return None

    def stays_in_place(self, value: SSAValue) -> bool:
        """
        Whether `value` of the original loop, where an epilogue of a short loop does not compute it, is to be what the
        slot before left instead of the initial value: they are the same number, and may be different registers.
        """
        return False
