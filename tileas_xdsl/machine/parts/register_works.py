"""
Registers that asynchronous work fills: accumulators of `wgmma`, what `tcgen05.ld` loads.

    %d = nvvm.wgmma.mma_async %a, %b, %c, ..      the name is there, its registers are being written
    nvvm.wgmma.wait.group.sync.aligned 0
    %x = llvm.extractvalue %d[0]                  before the wait: a race

The next product may take them as its accumulator while they are being written. Ordinary instructions may touch them
only behind a wait; and from then on `wgmma.fence` has to come before the next product that takes them (PTX ISA,
"wgmma.fence"), as well as before the first.

Such a register is written behind the last fence, and a product then adds to it:

    nvvm.wgmma.fence.aligned
    %c = llvm.insertvalue %x, %b[0]               behind the fence: the product may find the old number
    %d = nvvm.wgmma.mma_async %a, %b, %c, ..

A check has no numbers of registers, so it goes by names: which op gave the accumulator its name, and whether that op
comes before or behind the fence that the agent has executed last. Values are followed through the branches and loops
that hand them on. Where it is open which of two values is handed on, both have to be written late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import llvm, scf, ub
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

from tileas_xdsl.analysis.value_flow import hands_on
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.extensions.unsigned_for import UnsignedForOp
from tileas_xdsl.dialects.nvvm.wgmma import WgmmaMmaAsyncOp
from tileas_xdsl.interfaces import enclosing_function
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import PREPARED_IN_TIME
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.code import per_op
from tileas_xdsl.machine.core.happens_before import Who
from tileas_xdsl.machine.core.late_values import LateValue, Reader
from tileas_xdsl.machine.core.state import Canvas, OwnPart
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import Misuse, Party, Violation, ViolationKind

COUNTED = (scf.ForOp, UnsignedForOp)
LOOPS = (*COUNTED, scf.WhileOp)
"""What counts the turns of an agent (`Agent.iteration`)."""
WRITE_NOTHING = (WgmmaMmaAsyncOp, llvm.UndefOp, ub.PoisonOp)
"""What gives registers a name, and no instruction writes them in between."""


def is_written_behind(agent: Agent, fence: Operation, product: WgmmaMmaAsyncOp) -> bool:
    """
    Whether the accumulator of `product`, which `agent` executes, was written behind `fence`, its last one. Nothing is
    claimed where a function that was called has the fence: what came before the call is not told apart then.
    """
    if enclosing_function(fence) is not enclosing_function(product):
        return False
    is_first = tuple(number == 0 for number in agent.iteration)
    known = _answers(agent, product)
    if (fence, is_first) not in known:
        loops = [op for op in _around(product) if isinstance(op, LOOPS)]
        question = _Question(agent, fence, dict(zip(loops, reversed(is_first), strict=False)), _sides(product))
        known[fence, is_first] = question.is_late(product.inouts, product)
    return known[fence, is_first]


@per_op
def _answers(_product: Operation) -> dict[tuple[Operation, tuple[bool, ...]], bool]:
    return {}


@per_op
def _places(parent: Operation) -> dict[Operation, int]:
    """The ops of its blocks, and where each stands in its own."""
    return {op: place for region in parent.regions for block in region.blocks for place, op in enumerate(block.ops)}


def _around(op: Operation) -> list[Operation]:
    """The ops that `op` stands in, innermost first."""
    found: list[Operation] = []
    while (parent := op.parent_op()) is not None:
        found.append(op := parent)
    return found


def _member(block: Block, op: Operation) -> Operation | None:
    """The op of `block` that `op` is or stands in."""
    return next((each for each in (op, *_around(op)) if each.parent is block), None)


def _sides(product: Operation) -> dict[SSAValue, Region]:
    """The conditions under which `product` stands: other branches on one of them go to the same side."""
    around = _around(product)
    chain = zip((product, *around), around, strict=False)
    return {op.cond: region for inner, op in chain if isinstance(op, scf.IfOp) and (region := inner.parent_region())}


@dataclass
class _Question:
    """Which values were written later than the fence that an agent has executed last."""

    agent: Agent
    fence: Operation
    in_first_turn: dict[Operation, bool]
    """Of the loops that the agent is in. One that is left out has been followed to its turn before."""
    sides: dict[SSAValue, Region]
    """Of the branches that the product stands in: condition -> the side that is taken."""
    followed: set[Operation] = field(default_factory=set[Operation])

    def is_late(self, value: SSAValue, reader: Operation) -> bool:
        """Whether `value`, as `reader` sees it, was written later, whichever way it came."""
        block = value.owner if isinstance(value.owner, Block) else value.owner.parent
        assert block is not None
        user, fence = _member(block, reader), _member(block, self.fence)
        if user is None:
            return False
        place = -1 if isinstance(value, BlockArgument) else self._place(value.owner)
        if fence is not None and place < self._place(fence) <= self._place(user):
            return False
        if isinstance(value, BlockArgument):
            return self._comes_late_into(value)
        assert isinstance(value, OpResult)
        if value.op.regions:
            return self._comes_late_out_of(value, fence)
        return not isinstance(value.op, WRITE_NOTHING)

    def _place(self, op: Operation | Block) -> int:
        assert isinstance(op, Operation)
        parent = op.parent_op()
        assert parent is not None
        return _places(self.agent, parent)[op]

    def _comes_late_into(self, value: BlockArgument) -> bool:
        """What a turn of a loop is given: what the loop begins with, or what the turn before handed on."""
        loop = value.block.parent_op()
        if not isinstance(loop, COUNTED) or value.index == 0 or loop not in self.in_first_turn:
            return False
        if self.in_first_turn[loop]:
            return self.is_late(loop.iter_args[value.index - 1], loop)
        if loop in self.followed:
            return False
        self.followed.add(loop)
        return self._is_handed_on_late(loop.body, value.index - 1)

    def _comes_late_out_of(self, value: OpResult, fence: Operation | None) -> bool:
        """What a branch or a loop hands on."""
        maker, number = value.op, value.index
        if fence is maker and not any(isinstance(op, LOOPS) for op in _around(maker)):
            taken = next(region for region in maker.regions if region.is_ancestor(self.fence))
            return isinstance(maker, (scf.IfOp, *COUNTED)) and self._is_handed_on_late(taken, number)
        if isinstance(maker, scf.IfOp):
            return all(self._is_handed_on_late(region, number) for region in self._taken(maker))
        return isinstance(maker, COUNTED) and (
            self.is_late(maker.iter_args[number], maker) and self._is_handed_on_late(maker.body, number)
        )

    def _taken(self, branch: scf.IfOp) -> Sequence[Region]:
        """The side of `branch` that was taken; both where that is open, as it is behind a turn of a loop."""
        taken = None if self.followed else self.sides.get(branch.cond)
        if taken is None:
            return branch.regions
        parent = taken.parent_op()
        assert isinstance(parent, scf.IfOp)
        return (branch.true_region if taken is parent.true_region else branch.false_region,)

    def _is_handed_on_late(self, region: Region, number: int) -> bool:
        end = region.block.last_op
        return end is not None and hands_on(end) and self.is_late(end.operands[number], end)


class RegistersInFlight(LateValue):
    """The registers that a work fills, which nobody may touch before it is known to be complete."""

    __slots__ = ("wait",)

    def __init__(self, op: Operation, wait: str) -> None:
        super().__init__(op)
        self.wait = wait
        """The op that waits for such works."""
        self.actual = UNKNOWN

    def filled_by(self, agent: Agent, work: AsyncWork) -> RegistersInFlight:
        """These registers, now that `agent` has issued `work`, which sets their value if it computes."""
        self.maker = work
        self.there = agent.event_of(work)
        return self

    def looked_at(self, agent: Reader) -> None:
        agent.part(TouchedRegisters).touched.append(self)

    def way_out(self, user: Operation) -> str:
        return f"an {self.wait} that covers '{op_name(self.op)}', before '{op_name(user)}'"


@dataclass
class TouchedRegisters(OwnPart):
    """What an agent has done to registers since its last `wgmma.fence`."""

    touched: list[RegistersInFlight] = field(default_factory=list[RegistersInFlight])
    """Those that products had filled, and ordinary instructions have touched."""
    fence: Operation | None = None
    """The last fence."""

    def draw(self, canvas: Canvas, agent: Who) -> None:
        """Which accumulators are written in time depends on which turns are the first of their loops."""
        canvas.literal((id(self.fence), tuple(number == 0 for number in agent.iteration)))
        canvas.sequence(self.touched)


def fence_registers(agent: Agent, fence: Operation) -> None:
    """`wgmma.fence`: what is done to registers so far comes before the products that follow."""
    registers = agent.part(TouchedRegisters)
    registers.touched, registers.fence = [], fence


def take_accumulator(agent: Agent, op: WgmmaMmaAsyncOp, accumulator: Any) -> None:
    """`op` starts a product that adds to `accumulator`: reports where a fence is missing."""
    registers = agent.part(TouchedRegisters)
    is_own = isinstance(accumulator, RegistersInFlight)
    if not is_own:
        agent.assume(PREPARED_IN_TIME)
    if registers.fence is None:
        _report(agent, op, "starts a product of matrices, and no wgmma.fence has come before it")
    elif is_own and any(accumulator is touched for touched in registers.touched):
        _report(agent, op, "adds to registers that other instructions have touched, with no wgmma.fence in between")
    elif not is_own and is_written_behind(agent, registers.fence, op):
        _report(agent, op, "adds to registers that are written with no wgmma.fence in between")


def _report(agent: Agent, op: Operation, role: str) -> None:
    party = Party(op, agent.name, agent.iteration, role)
    violation = Violation(
        ViolationKind.MISSING_FENCE,
        "registers are touched by ordinary instructions, and then by wgmma without a fence",
        (party,),
        "an nvvm.wgmma.fence.aligned before it, behind the last instruction that touches the accumulator",
    )
    agent.report(violation, Misuse(agent, (), [party]))
