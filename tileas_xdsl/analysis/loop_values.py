"""
The origins of the values that a loop body reads.

The *origin* of a value is the op of the body that makes it, and how many iterations earlier. A carried argument leads
through the terminator to the value that the previous iteration yielded, which may itself be an argument:

    scf.for ... iter_args(%a = %0, %b = %1) {
      %c = f(%a, %b)                 %c: itself           %a: %c, 1 iteration earlier
      scf.yield %c, %a               %b: %c, 2 iterations earlier
    }

Arguments that no op of the body makes either rotate (two buffers that change places, a copy of the induction variable)
or never change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from tileas_xdsl.interfaces import end_of


class OriginKind(Enum):
    """Where a value of the body comes from."""

    INDUCTION = auto()
    """The value is the induction variable."""
    MADE = auto()
    """The result of an op of the body, in this or in an earlier iteration."""
    ROTATING = auto()
    """A carried argument that takes its value from another argument, the induction variable or outside the loop."""
    CONSTANT = auto()
    """A carried argument that every iteration yields unchanged."""


@dataclass(frozen=True)
class ValueOrigin:
    """`result` is the value made, `distance` the number of iterations from there to the use; both only for MADE."""

    kind: OriginKind
    result: OpResult | None = None
    distance: int = 0


class LoopValues:
    """The ops of a loop body in order, what each reads of the loop's own values, and the origins of these values."""

    def __init__(self, loop: scf.ForOp) -> None:
        self.loop = loop
        self.block: Block = loop.body.block
        terminator = end_of(self.block)
        self.ops: tuple[Operation, ...] = tuple(op for op in self.block.ops if op is not terminator)
        self.position: dict[Operation, int] = {op: index for index, op in enumerate(self.ops)}
        self.yielded: Sequence[SSAValue] = tuple(terminator.operands)
        self._origins = self._find_origins()

    @property
    def carried(self) -> Sequence[BlockArgument]:
        """The carried arguments, in order."""
        return self.block.args[1:]

    def next_value(self, argument: BlockArgument) -> SSAValue:
        """The value of `argument` in the next iteration."""
        return self.yielded[argument.index - 1]

    def first_value(self, argument: BlockArgument) -> SSAValue:
        """The value of `argument` in the first iteration."""
        return self.loop.iter_args[argument.index - 1]

    def is_own(self, value: SSAValue) -> bool:
        """Whether `value` is an argument of the body or a result of an op directly in it."""
        owner = value.owner
        return owner is self.block if isinstance(owner, Block) else owner.parent is self.block

    def read_by(self, op: Operation) -> tuple[SSAValue, ...]:
        """The loop's own values that `op` or an op nested in it uses; each once, in order of first use."""
        if not op.regions:
            return tuple(dict.fromkeys(operand for operand in op.operands if self.is_own(operand)))
        used = (operand for inner in op.walk() for operand in inner.operands)
        return tuple(dict.fromkeys(operand for operand in used if self.is_own(operand)))

    def origin_of(self, value: SSAValue) -> ValueOrigin:
        """The origin of one of the loop's own values."""
        if isinstance(value, OpResult):
            return ValueOrigin(OriginKind.MADE, value)
        return self._origins[value]

    def _find_origins(self) -> dict[SSAValue, ValueOrigin]:
        """The origins of the arguments. Linear: every chain of arguments is walked once."""
        origins: dict[SSAValue, ValueOrigin] = {self.block.args[0]: ValueOrigin(OriginKind.INDUCTION)}
        for argument in self.carried:
            chain: dict[BlockArgument, None] = {}
            value: SSAValue = argument
            while isinstance(value, BlockArgument) and value.block is self.block and value not in origins:
                if value in chain:
                    break
                chain[value] = None
                value = self.next_value(value)
            origin = self._end_of_chain(value, chain, origins)
            for link in reversed(chain):
                if self.next_value(link) is link:
                    origin = ValueOrigin(OriginKind.CONSTANT)
                elif origin.kind is OriginKind.MADE:
                    origin = ValueOrigin(OriginKind.MADE, origin.result, origin.distance + 1)
                else:
                    origin = ValueOrigin(OriginKind.ROTATING)
                origins[link] = origin
        return origins

    def _end_of_chain(
        self, value: SSAValue, chain: dict[BlockArgument, None], origins: dict[SSAValue, ValueOrigin]
    ) -> ValueOrigin:
        if value in origins:
            return origins[value]
        if isinstance(value, OpResult) and value.op.parent is self.block:
            return ValueOrigin(OriginKind.MADE, value)
        return ValueOrigin(OriginKind.ROTATING)
