"""
Registers that asynchronous work fills: accumulators of `wgmma`, what `tcgen05.ld` loads.

    %d = nvvm.wgmma.mma_async %a, %b, %c, ..      the name is there, its registers are being written
    nvvm.wgmma.wait.group.sync.aligned 0
    %x = llvm.extractvalue %d[0]                  before the wait: a race

The next product may take them as its accumulator while they are being written. Ordinary instructions may touch them
only behind a wait; and from then on `wgmma.fence` has to come before the next product that takes them (PTX ISA,
"wgmma.fence"), as well as before the first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.nvvm.wgmma import WgmmaMmaAsyncOp
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import PREPARED_IN_TIME
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.evidence import Misuse
from tileas_xdsl.machine.core.late_values import LateValue
from tileas_xdsl.machine.core.state import Canvas, OwnPart
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import Party, Violation, ViolationKind
from tileas_xdsl.machine.parts.written_registers import is_written_behind


class RegistersInFlight(LateValue):
    """The registers that a work fills, which nobody may touch before it is known to be complete."""

    __slots__ = ("wait",)

    def __init__(self, op: Operation, wait: str) -> None:
        super().__init__(op)
        self.wait = wait
        """The op that waits for such works."""
        self.actual = UNKNOWN

    def filled_by(self, work: AsyncWork) -> RegistersInFlight:
        """These registers, now that the work is issued; where it computes, it sets their value when it is performed."""
        self.maker = work
        self.there = work.issuer.machine.event_of(work)
        return self

    def looked_at(self, agent: Agent) -> None:
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

    def draw(self, canvas: Canvas, agent: Agent) -> None:
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
        agent.machine.assume(PREPARED_IN_TIME)
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
    agent.machine.report(violation, Misuse(agent, (), [party]))
