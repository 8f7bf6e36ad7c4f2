"""
What marks, counters and LDS transfers of `rocdl` do (LLVM, "AMDGPU Asynchronous Operations").

A transfer is one plain read of its source and one plain write of its destination, anywhere between issue and
completion. Marks belong to one activation of a function, transfers to the thread. A counter of the hardware counts
the transfers of its family; they complete in order of issue, and a wait for at most N leaves the youngest N.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.dialects.rocdl import async_lds_transfer, barriers, counted_lds_transfer, counter_of, transfers, waits
from tileas_xdsl.dialects.rocdl.transfers import BufferGatherOp
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Touch
from tileas_xdsl.machine.core.happens_before import observe
from tileas_xdsl.machine.core.meaning import effect, refused, suspends, sync
from tileas_xdsl.machine.core.standings import Answer, Done, Request, continuation
from tileas_xdsl.machine.core.state import Canvas, OwnPart
from tileas_xdsl.machine.core.synchronization import Condition, MarkCondition
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.meanings.nvvm import barrier_of_all_threads
from tileas_xdsl.machine.tiles.pointers import Pointer


@dataclass
class CountedTransfers(OwnPart):
    """The transfers of an agent that its waits have not seen complete, by the counter of the hardware, oldest first."""

    works: dict[str, list[AsyncWork]] = field(default_factory=dict[str, "list[AsyncWork]"])

    def draw(self, canvas: Canvas, agent: Agent) -> None:
        for counter, works in self.works.items():
            canvas.literal(counter)
            # They are counted from the youngest.
            canvas.works(canvas.without_settled_front(works))


def issue_transfer(agent: Agent, op: Operation, values: dict[SSAValue, Any]) -> None:
    """
    Issue the LDS transfer `op`, with the given run-time values of its operands, and record it for marks and counters.
    """
    transfer = async_lds_transfer(op) or counted_lds_transfer(op)
    assert transfer is not None
    _issue(agent, op, values[transfer.source], values[transfer.destination], transfer.bytes, values)


def _issue(
    agent: Agent, op: Operation, source: Any, target: Any, size: int | None, values: dict[SSAValue, Any]
) -> None:
    if not isinstance(source, Pointer) or not isinstance(target, Pointer) or size is None:
        raise UnsupportedError(op, "moves bytes whose place or number is not known; use a transfer between pointers")
    of_source, of_both = _offsets(agent, op, values)
    into, out_of = target.plus(of_both).bytes(size), source.plus(of_source + of_both).bytes(size)
    machine = agent.machine
    work = agent.issue(
        op,
        [Touch(out_of, False), Touch(into, True)],
        None,
        label=f"a transfer of {size} bytes",
        engine="lds dma",
        fetch=lambda: machine.read(out_of),
        deliver=lambda data: machine.write(into, data),
    )
    agent.transfers.append(work)
    counted = _counted(agent, counter_of(op))
    counted.append(work)
    work.channels += [agent.transfers, counted]


def _offsets(agent: Agent, op: Operation, values: dict[SSAValue, Any]) -> tuple[int, int]:
    """What is added to the address of the source alone, and what to both addresses (the instruction's own offset)."""
    constant = op.properties.get("offset")
    if isinstance(constant, IntegerAttr):
        return 0, constant.value.data
    if isinstance(op, BufferGatherOp):
        varying, uniform, own = (
            agent.known(values[operand], op, "computes an address from")
            for operand in (op.voffset, op.soffset, op.offset)
        )
        return varying + uniform, own
    return 0, 0


def _counted(agent: Agent, counter: str) -> list[AsyncWork]:
    return agent.part(CountedTransfers).works.setdefault(counter, [])


@sync(
    transfers.LoadAsyncToLdsOp,
    transfers.GlobalLoadAsyncLdsOp,
    transfers.GlobalLoadAsyncToLdsB8Op,
    transfers.GlobalLoadAsyncToLdsB32Op,
    transfers.GlobalLoadAsyncToLdsB64Op,
    transfers.GlobalLoadAsyncToLdsB128Op,
    transfers.ClusterLoadAsyncToLdsB8Op,
    transfers.ClusterLoadAsyncToLdsB32Op,
    transfers.ClusterLoadAsyncToLdsB64Op,
    transfers.ClusterLoadAsyncToLdsB128Op,
    transfers.TensorLoadToLdsOp,
    transfers.TensorStoreFromLdsOp,
)
@sync(transfers.RawPtrBufferLoadAsyncLdsOp, may_move=("voffset", "soffset", "offset"))
def _transfer(agent: Agent, op: Operation, *operands: Any) -> None:
    issue_transfer(agent, op, dict(zip(op.operands, operands, strict=True)))


@sync(transfers.LoadToLdsOp, transfers.GlobalLoadLdsOp)
def _counted_transfer(agent: Agent, op: Any, source: Any, target: Any) -> None:
    """Asynchronous transfers that counters track and marks do not."""
    _issue(agent, op, source, target, op.size.value.data, {})


@sync(transfers.RawPtrBufferLoadLdsOp, may_move=("voffset", "soffset", "offset"))
def _counted_buffer_transfer(agent: Agent, op: Any, *operands: Any) -> None:
    values = dict(zip(op.operands, operands, strict=True))
    _issue(agent, op, values[op.rsrc], values[op.lds_ptr], agent.known(values[op.size], op, "moves"), values)


# Marks --------------------------------------------------------------------------------------------------------------


@sync(waits.AsyncmarkOp)
def _mark(agent: Agent, op: Operation) -> None:
    marks = agent.activation.marks
    marks.positions.append(len(agent.transfers))
    number, covered = len(marks.positions), len(agent.transfers)
    text = f"mark {number} covers {covered} transfers"
    agent.machine.happened(agent, op, "commit", text, on=agent.transfers, turn=covered)


@suspends(waits.WaitAsyncmarkOp)
def _wait_mark(agent: Agent, op: Any) -> Answer:
    waits, outstanding = agent.machine.allows(op, op.count.value.data)
    if not waits:
        return None
    covered = agent.activation.marks.covered_by_wait(outstanding)
    condition = MarkCondition(agent.transfers, covered, outstanding)
    return agent.wait(condition, op).then(_saw_marks, condition)


@continuation
def _saw_marks(agent: Agent, op: Operation, _: None, condition: MarkCondition) -> Answer:
    text = f"sees the first {condition.covered} transfers complete"
    agent.machine.happened(agent, op, "wait", text, on=condition.transfers, turn=condition.covered)


# Counters -----------------------------------------------------------------------------------------------------------


@dataclass
class CounterCondition(Condition):
    """The oldest transfers of a counter are complete."""

    counter: str
    works: list[AsyncWork]
    outstanding: int

    def holds(self) -> bool:
        return all(work.complete for work in self.works)

    def helpers(self) -> list[AsyncWork]:
        return [work for work in self.works if not work.complete]

    def observe(self, agent: Agent) -> None:
        observe(agent, self.works)

    def describe(self) -> str:
        return f"{self.counter} to fall to {self.outstanding}"


def _wait_counter(agent: Agent, op: Operation, counter: str, outstanding: int) -> Request:
    waits, outstanding = agent.machine.allows(op, outstanding)
    if not waits:
        return Done()
    counted = _counted(agent, counter)
    condition = CounterCondition(counter, counted[: max(len(counted) - outstanding, 0)], outstanding)
    return agent.wait(condition, op).then(_saw_count, condition)


@continuation
def _saw_count(agent: Agent, op: Operation, _: None, condition: CounterCondition) -> Answer:
    counted = _counted(agent, condition.counter)
    del counted[: len(condition.works)]
    text = f"sees {len(condition.works)} transfers of {condition.counter} complete"
    agent.machine.happened(agent, op, "wait", text, on=counted)


@suspends(waits.WaitAsynccntOp)
def _wait_asynccnt(agent: Agent, op: Any) -> Answer:
    return _wait_counter(agent, op, "asynccnt", op.count.value.data)


@suspends(waits.WaitTensorcntOp)
def _wait_tensorcnt(agent: Agent, op: Any) -> Answer:
    return _wait_counter(agent, op, "tensorcnt", op.count.value.data)


@suspends(waits.WaitLoadcntOp)
def _wait_loadcnt(agent: Agent, op: Any) -> Answer:
    return _wait_counter(agent, op, "vmcnt", op.count.value.data)


@suspends(waits.SWaitcntOp)
def _waitcnt(agent: Agent, op: Any) -> Answer:
    """gfx9: vmcnt is in bits 0-3 and 14-15; the other fields count operations that the machine keeps in order."""
    field = op.bitfield.value.data
    return _wait_counter(agent, op, "vmcnt", (field & 15) | ((field >> 14) & 3) << 4)


@effect(
    waits.WaitDscntOp, waits.WaitStorecntOp, waits.WaitExpcntOp, barriers.SchedBarrierOp, barriers.SchedGroupBarrierOp
)
def _in_order_anyway(_agent: Agent, _op: Operation) -> None:
    """Nothing: the op orders what the machine keeps in order."""


@suspends(barriers.SBarrierOp, barriers.BarrierOp)
def _barrier(agent: Agent, op: Operation) -> Answer:
    return barrier_of_all_threads(agent, op)


refused(
    "is a part of a barrier that is not modelled here; use rocdl.s.barrier",
    barriers.BarrierSignalOp,
    barriers.BarrierWaitOp,
    barriers.BarrierLeaveOp,
    barriers.BarrierSignalIsfirstOp,
    barriers.GetBarrierStateOp,
    barriers.BarrierInitOp,
    barriers.BarrierSignalVarOp,
    barriers.BarrierJoinOp,
    barriers.WakeupBarrierOp,
    barriers.GetNamedBarrierStateOp,
    barriers.DsAtomicBarrierArriveOp,
    barriers.DsAtomicAsyncBarrierArriveOp,
)

refused(
    "moves what its descriptor says, which is not modelled here; use the form for four groups of registers",
    transfers.TensorLoadToLdsD2Op,
    transfers.TensorStoreFromLdsD2Op,
)
