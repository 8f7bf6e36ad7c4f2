"""
What marks, counters and LDS transfers of `rocdl` do (LLVM, "AMDGPU Asynchronous Operations").

A transfer is one plain read of its source and one plain write of its destination, anywhere between issue and
completion. Marks belong to one activation of a function, transfers to the thread. A counter of the hardware counts
the transfers of its family; they complete in order of issue, and a wait for at most N leaves the youngest N. On gfx9 it
counts stores of the wave to global memory, too. Its loads are left out: the compiler may move, merge or scalarise them,
and to count fewer only lets a wait complete less.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.dialects.rocdl import (
    async_lds_transfer,
    barriers,
    counted_lds_transfer,
    counter_of,
    registers,
    transfers,
    waits,
)
from tileas_xdsl.dialects.rocdl.transfers import BufferGatherOp, is_store_from_lds
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import ONLY_READ
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Touch
from tileas_xdsl.machine.core.happens_before import Who
from tileas_xdsl.machine.core.meaning import effect, pure, refused, suspends, sync
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.standings import Answer, Done, Request, continuation
from tileas_xdsl.machine.core.state import Canvas, OwnPart
from tileas_xdsl.machine.core.synchronization import CounterCondition, MarkCondition, Rendezvous
from tileas_xdsl.machine.core.values import wrap
from tileas_xdsl.machine.core.violations import MistakeError, UnsupportedError
from tileas_xdsl.machine.meanings.nvvm.synchronization import (
    arrive_at_barrier,
    barrier_of_all_threads,
    barrier_of_threads,
    pass_barrier,
)
from tileas_xdsl.machine.parts.thread_numbers import (
    Reading,
    block_extent,
    block_extents,
    block_ids,
    read_by_threads,
    thread_id,
    warp_sizes,
)
from tileas_xdsl.machine.parts.wave_accesses import (
    EVERYTHING,
    LDS,
    LOADS,
    STORES,
    leave_in_flight,
    wait_for_own,
    wait_for_transfers,
)
from tileas_xdsl.machine.tiles.pointers import Pointer


@dataclass(frozen=True)
class OwnStore:
    """A store of the wave itself to global memory: it counts, and nobody waits for it."""


Counted = AsyncWork | OwnStore


@dataclass
class CountedTransfers(OwnPart):
    """What the counters of the hardware have not been seen to fall below, by counter, oldest first."""

    counted: dict[str, list[Counted]] = field(default_factory=dict[str, "list[Counted]"])

    def draw(self, canvas: Canvas, agent: Who) -> None:
        for counter, counted in self.counted.items():
            canvas.literal(counter)
            # They are counted from the youngest.
            works = canvas.without_settled_front(works_of(counted))
            canvas.works(works)
            canvas.literal(_stores_behind(counted, works))


def works_of(counted: Iterable[Counted]) -> list[AsyncWork]:
    """The transfers among what a counter counts."""
    return [each for each in counted if isinstance(each, AsyncWork)]


def _stores_behind(counted: Sequence[Counted], works: Sequence[AsyncWork]) -> tuple[int, ...]:
    """For each of `works`, the number of stores that a counter counts after it."""
    stores = 0
    found: list[int] = []
    for each in reversed(counted):
        if isinstance(each, OwnStore):
            stores += 1
        elif each in works:
            found.append(stores)
    return tuple(found)


@dataclass
class OrdinaryWrites(OwnPart):
    """Transfers of the synchronous model for which the compiler still has to wait, oldest first."""

    works: list[AsyncWork] = field(default_factory=list[AsyncWork])

    def draw(self, canvas: Canvas, agent: Who) -> None:
        canvas.works([work for work in self.works if agent.number not in work.observers])


def _before_touch(agent: Agent, view: View, write: bool) -> None:
    """
    Before the wave touches bytes that a transfer of the synchronous model moves, the compiler waits for that transfer
    and all older ones. A store to global memory counts behind them.
    """
    ordinary = agent.part(OrdinaryWrites)
    for number in reversed(range(len(ordinary.works))):
        if any(_conflict(touch, view, write) for touch in ordinary.works[number].touches):
            wait_for_transfers(agent, ordinary.works[: number + 1])
            del ordinary.works[: number + 1]
            break
    counted = _counted(agent, "vmcnt")
    if write and counted and view.base.space == "global":
        counted.append(OwnStore())


def _conflict(touch: Touch, view: View, write: bool) -> bool:
    return (touch.is_write or write) and touch.view.region.overlaps(view.region)


def _wait_for_ordinary_writes(agent: Agent) -> None:
    ordinary = agent.part(OrdinaryWrites)
    wait_for_transfers(agent, ordinary.works)
    ordinary.works.clear()


def issue_transfer(agent: Agent, op: Operation, values: dict[SSAValue, Any]) -> None:
    """
    Issue the LDS transfer `op`, with the given run-time values of its operands, and record it for marks and counters.
    """
    transfer = async_lds_transfer(op) or counted_lds_transfer(op)
    assert transfer is not None
    work = _issue(agent, op, values[transfer.source], values[transfer.destination], transfer.bytes, values)
    if async_lds_transfer(op) is None:
        _counts_as_write(agent, work)


def _counts_as_write(agent: Agent, work: AsyncWork) -> None:
    """Note that `work` is a transfer of the synchronous model."""
    ordinary = agent.part(OrdinaryWrites)
    ordinary.works = [other for other in ordinary.works if agent.number not in other.observers]
    ordinary.works.append(work)
    work.ends_with_grid = True


def _issue(
    agent: Agent, op: Operation, source: Any, target: Any, size: int | None, values: dict[SSAValue, Any]
) -> AsyncWork:
    if not isinstance(target, Pointer) or size is None:
        raise UnsupportedError(op, "moves bytes whose place or number is not known; use a transfer between pointers")
    of_source, of_both = _offsets(agent, op, values)
    into = target.plus(of_both).bytes(size)
    out_of = _source(agent, op, source, of_source, of_both, size)
    machine = agent.machine
    work = agent.issue(
        op,
        [*([] if out_of is None else [Touch(out_of, False)]), Touch(into, True)],
        None,
        label=f"a transfer of {size} bytes",
        engine="lds dma",
        fetch=lambda: None if out_of is None else machine.read(out_of),
        deliver=lambda data: machine.write(into, data),
    )
    agent.transfers.append(work)
    counted = _counted(agent, counter_of(op))
    counted.append(work)
    work.channels += [agent.transfers, counted]
    agent.before_touch = _before_touch
    return work


def _source(agent: Agent, op: Operation, source: Any, of_source: int | None, of_both: int, size: int) -> View | None:
    """
    What a transfer reads: all of a buffer where the record is not known, and nothing that is known where the resource
    is a vector.
    """
    if isinstance(source, Pointer) and of_source is not None:
        return source.plus(of_source + of_both).bytes(size)
    if agent.has_data or not isinstance(op, llvm.CallIntrinsicOp):
        raise UnsupportedError(op, "moves bytes whose place or number is not known; use a transfer between pointers")
    if isinstance(source, Pointer):
        return source.base.whole()
    agent.assume(ONLY_READ)
    return None


def _offsets(agent: Agent, op: Operation, values: dict[SSAValue, Any]) -> tuple[int | None, int]:
    """
    What is added to the address of the source alone, and what to both addresses (the instruction's own offset). None
    where a number of a record is added, of a length that only the resource knows.
    """
    constant = op.properties.get("offset")
    if isinstance(constant, IntegerAttr):
        return 0, constant.value.data

    def sum_of(operands: Iterable[SSAValue]) -> int:
        return sum(agent.known(values[operand], op, "computes an address from") for operand in operands)

    if isinstance(op, BufferGatherOp):
        return sum_of((op.voffset, op.soffset)), sum_of([op.offset])
    if not isinstance(op, llvm.CallIntrinsicOp):
        return 0, 0
    if is_store_from_lds(op):
        return 0, sum_of([op.args[2]])
    *varying, own, _ = op.args[3:]
    record, within = varying[:-2], sum_of(varying[-2:])
    return (None if sum_of(record) else within), sum_of([own])


def _counted(agent: Agent, counter: str) -> list[Counted]:
    return agent.part(CountedTransfers).counted.setdefault(counter, [])


@sync(
    transfers.LoadAsyncToLdsOp,
    transfers.GlobalLoadAsyncLdsOp,
    *transfers.GLOBAL_LOADS.values(),
    *transfers.GLOBAL_STORES.values(),
    *transfers.CLUSTER_LOADS.values(),
    transfers.TensorLoadToLdsOp,
    transfers.TensorStoreFromLdsOp,
)
@sync(transfers.RawPtrBufferLoadAsyncLdsOp, may_move=("voffset", "soffset", "offset"))
def _transfer(agent: Agent, op: Operation, *operands: Any) -> None:
    issue_transfer(agent, op, dict(zip(op.operands, operands, strict=True)))


@sync(transfers.LoadToLdsOp, transfers.GlobalLoadLdsOp)
def _counted_transfer(agent: Agent, op: Any, source: Any, target: Any) -> None:
    """Asynchronous transfers that counters track and marks do not."""
    _counts_as_write(agent, _issue(agent, op, source, target, op.size.value.data, {}))


@sync(transfers.RawPtrBufferLoadLdsOp, may_move=("voffset", "soffset", "offset"))
def _counted_buffer_transfer(agent: Agent, op: Any, *operands: Any) -> None:
    values = dict(zip(op.operands, operands, strict=True))
    size = agent.known(values[op.size], op, "moves")
    _counts_as_write(agent, _issue(agent, op, values[op.rsrc], values[op.lds_ptr], size, values))


# Marks --------------------------------------------------------------------------------------------------------------


@sync(waits.AsyncmarkOp)
def _mark(agent: Agent, op: Operation) -> None:
    marks = agent.activation.marks
    marks.positions.append(len(agent.transfers))
    number, covered = len(marks.positions), len(agent.transfers)
    text = f"mark {number} covers {covered} transfers"
    agent.note(op, "commit", text, on=agent.transfers, turn=covered)


@suspends(waits.WaitAsyncmarkOp)
def _wait_mark(agent: Agent, op: Any) -> Answer:
    waits, outstanding = agent.allows(op, op.count.value.data)
    if not waits:
        return None
    covered = agent.activation.marks.covered_by_wait(outstanding)
    condition = MarkCondition(agent.transfers, covered, outstanding)
    return agent.wait(condition, op).then(_saw_marks, condition)


@continuation
def _saw_marks(agent: Agent, op: Operation, _: None, condition: MarkCondition) -> Answer:
    text = f"sees the first {condition.covered} transfers complete"
    agent.note(op, "wait", text, on=condition.transfers, turn=condition.covered)


# Counters -----------------------------------------------------------------------------------------------------------


def _wait_counter(
    agent: Agent,
    op: Operation,
    counter: str,
    outstanding: int,
    *,
    kinds: tuple[str, ...] = (),
    beside: tuple[str, ...] = (),
    stores: bool = False,
) -> Request:
    """
    Wait until `counter` has fallen to `outstanding`; `stores` says whether it counts those, too. At 0 the accesses of
    the wave itself that are of `kinds` are complete as well, and at any number those of `beside`.
    """
    waits, outstanding = agent.allows(op, outstanding)
    if not waits:
        return Done()
    wait_for_own(agent, beside if outstanding else (*beside, *kinds))
    counted = _counted(agent, counter)
    younger = counted if stores else works_of(counted)
    waited_for = works_of(younger[: max(len(younger) - outstanding, 0)])
    condition = CounterCondition(counter, waited_for, outstanding)
    return agent.wait(condition, op).then(_saw_count, condition)


@continuation
def _saw_count(agent: Agent, op: Operation, _: None, condition: CounterCondition) -> Answer:
    counted = _counted(agent, condition.counter)
    if condition.works:
        del counted[: counted.index(condition.works[-1]) + 1]
    while counted and isinstance(counted[0], OwnStore):
        del counted[0]
    text = f"sees {len(condition.works)} transfers of {condition.counter} complete"
    agent.note(op, "wait", text, on=counted)


@suspends(waits.WaitAsynccntOp)
def _wait_asynccnt(agent: Agent, op: Any) -> Answer:
    return _wait_counter(agent, op, "asynccnt", op.count.value.data)


@suspends(waits.WaitTensorcntOp)
def _wait_tensorcnt(agent: Agent, op: Any) -> Answer:
    return _wait_counter(agent, op, "tensorcnt", op.count.value.data)


@suspends(waits.WaitLoadcntOp)
def _wait_loadcnt(agent: Agent, op: Any) -> Answer:
    return _wait_counter(agent, op, "vmcnt", op.count.value.data, kinds=(LOADS,))


MOST_OF_VMCNT = 63
"""All bits of the field for vmcnt: no wait for it."""


@suspends(waits.SWaitcntOp)
def _waitcnt(agent: Agent, op: Any) -> Answer:
    """gfx9: vmcnt, which counts loads and stores, is in bits 0-3 and 14-15; lgkmcnt, which counts LDS, in bits 8-11."""
    field = op.bitfield.value.data
    lds = (LDS,) if not field >> 8 & 15 else ()
    vmcnt = (field & 15) | ((field >> 14) & 3) << 4
    if vmcnt < MOST_OF_VMCNT:
        return _wait_counter(agent, op, "vmcnt", vmcnt, kinds=(LOADS, STORES), beside=lds, stores=True)
    # No count that could be raised: the wait is there or it is not.
    waits, _ = agent.allows(op, None)
    if waits:
        wait_for_own(agent, lds)
    return Done()


@sync(waits.WaitDscntOp, waits.WaitStorecntOp)
def _wait_for_own(agent: Agent, op: Any) -> None:
    if not op.count.value.data:
        wait_for_own(agent, (LDS,) if isinstance(op, waits.WaitDscntOp) else (STORES,))


@effect(waits.WaitExpcntOp, barriers.SchedBarrierOp, barriers.SchedGroupBarrierOp, barriers.SSetprioOp)
def _in_order_anyway(_agent: Agent, _op: Operation) -> None:
    """Nothing: the op orders what the machine keeps in order."""


# Barriers -----------------------------------------------------------------------------------------------------------


@suspends(barriers.BarrierOp)
def fenced_barrier(agent: Agent, op: Operation) -> Answer:
    """Release, a barrier of all waves, acquire: ordinary writes are ordered, those of synchronous transfers, too."""
    _wait_for_ordinary_writes(agent)
    wait_for_own(agent, EVERYTHING)
    return barrier_of_all_threads(agent, op)


@suspends(barriers.SBarrierOp)
def _barrier(agent: Agent, op: Operation) -> Answer:
    """All waves meet. Of its own accesses the wave hands over those that it has waited for."""
    answer = barrier_of_all_threads(agent, op)
    leave_in_flight(agent)
    return answer


@dataclass
class SplitBarrier(OwnPart):
    """The barrier of the work-group at which an agent has signalled without having waited; None if there is none."""

    barrier: Rendezvous | None = None
    generation: int = 0

    def draw(self, canvas: Canvas, agent: Who) -> None:
        if self.barrier is not None:
            canvas.thing(self.barrier)
            canvas.literal(self.generation - self.barrier.generation)


OF_THE_WORKGROUP = -1


def _must_be_of_the_workgroup(op: Any) -> None:
    if op.id.value.data != OF_THE_WORKGROUP:
        raise UnsupportedError(
            op, f"uses barrier {op.id.value.data}, which waves join; only that of the work-group has a meaning, id = -1"
        )


@sync(barriers.BarrierSignalOp)
def _signal(agent: Agent, op: Any) -> None:
    _must_be_of_the_workgroup(op)
    own = agent.part(SplitBarrier)
    if own.barrier is not None:
        raise MistakeError(op, "signals a second time; wait at the barrier in between")
    own.barrier = barrier_of_threads(agent, op)
    own.generation = arrive_at_barrier(agent, op, own.barrier)
    leave_in_flight(agent)


@suspends(barriers.BarrierWaitOp)
def _wait_signalled(agent: Agent, op: Any) -> Answer:
    _must_be_of_the_workgroup(op)
    own = agent.part(SplitBarrier)
    barrier, own.barrier = own.barrier, None
    if barrier is None:
        raise MistakeError(op, "waits at the barrier without having signalled; signal first")
    return pass_barrier(agent, op, barrier, own.generation)


refused(
    "is a part of a barrier that is not modelled here; use rocdl.s.barrier",
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


# Numbers of work-items and work-groups --------------------------------------------------------------------------------

NUMBERS: dict[type[Operation], Reading] = {
    **{op: thread_id(axis) for axis, op in enumerate(registers.WORKITEM_IDS)},
    **{op: block_extent(axis) for axis, op in enumerate(registers.WORKGROUP_DIMS)},
    registers.WAVEFRONT_SIZE: warp_sizes,
}
"""Numbers that tell the work-items of a work-group apart, or count them."""


@pure(*NUMBERS, may_fail=True)
def _number(agent: Agent, op: Operation) -> Any:
    reading = NUMBERS[type(op)]
    return read_by_threads(agent, op, lambda threads: (wrap(n, op.results[0].type) for n in reading(threads)))


block_ids(lambda op: f"ctaid.{op.name[-1]}", *registers.WORKGROUP_IDS)
block_extents(lambda op: f"nctaid.{op.name[-1]}", *registers.GRID_DIMS)
