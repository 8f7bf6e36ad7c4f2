"""Barriers in memory, copies that they count, and fences, as steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.checker.explorer import steps
from tests.checker.explorer.clocks import ELSEWHERE, SHARED
from tests.checker.explorer.unroll import UNKNOWN, Frame, Pointer, Unroller, number

Meaning = Callable[[Unroller, Frame, Any], None]


def _active(frame: Frame, op: Any) -> int:
    """How many threads do it: those whose predicate holds."""
    predicate = getattr(op, "predicate", None)
    if predicate is None:
        return frame.threads
    value = frame.values[predicate]
    lanes = value if isinstance(value, tuple) else (value,) * frame.lanes
    return sum(bool(number(lanes[lane])) for lane in frame.active)


def _at(unroller: Unroller, frame: Frame, op: Any) -> int:
    return unroller.barrier_at(frame, frame.values[op.operands[0]])


def _flag(op: Any, name: str) -> bool:
    attribute = op.properties.get(name)
    return attribute is not None and bool(attribute.value.data)


# Life -----------------------------------------------------------------------------------------------------------------


def _init(unroller: Unroller, frame: Frame, op: Any) -> None:
    if threads := _active(frame, op):
        count = frame.uniform(frame.values[op.count])
        frame.emit(steps.Init(_at(unroller, frame, op), count, threads), op)


def _inval(unroller: Unroller, frame: Frame, op: Any) -> None:
    frame.emit(steps.Inval(_at(unroller, frame, op), frame.threads), op)


# Arrivals -------------------------------------------------------------------------------------------------------------


def _arrive(unroller: Unroller, frame: Frame, op: Any) -> None:
    """Each active thread arrives: together they take so much off the count."""
    threads = _active(frame, op)
    drops = "arrive_drop" in op.name
    count = getattr(op, "count", None)
    each = 1 if count is None else frame.uniform(frame.values[count])
    size = getattr(op, "txcount", None)
    expected = 0 if size is None else frame.uniform(frame.values[size])
    state = None
    if op.results and op.results[0].first_use is not None:
        state = unroller.new(frame, "states")
    if threads:
        step = steps.Arrive(
            _at(unroller, frame, op),
            each * threads,
            expected * threads,
            releases=not _flag(op, "relaxed") and _reaches_waiters(unroller, frame, op),
            completes="nocomplete" not in op.name,
            drops=each * threads if drops else 0,
            state=state,
        )
        frame.emit(step, op)
    frame.values.update(dict.fromkeys(op.results, UNKNOWN if state is None else state))


def _reaches_waiters(unroller: Unroller, frame: Frame, op: Any) -> bool:
    """Where there are several blocks: a release of block scope tells threads of another block nothing."""
    scope = op.properties.get("scope")
    is_wide = scope is not None and str(scope.data) == "cluster"
    return is_wide or unroller.rank_of(frame.values[op.operands[0]]) in (None, frame.rank)


def _transaction(sign: int) -> Meaning:
    """Bytes that are expected, or there; that orders nothing."""

    def meaning(unroller: Unroller, frame: Frame, op: Any) -> None:
        size = sign * frame.uniform(frame.values[op.txcount]) * frame.threads
        frame.emit(steps.Arrive(_at(unroller, frame, op), 0, size, releases=False), op)

    return meaning


# Waits ----------------------------------------------------------------------------------------------------------------


def _wait_parity(unroller: Unroller, frame: Frame, op: Any) -> None:
    parity = frame.uniform(frame.values[op.operands[1]])
    frame.emit(steps.WaitPhase(_at(unroller, frame, op), parity), op)


def _test(unroller: Unroller, frame: Frame, op: Any) -> None:
    """A test whose answer nobody uses says no. One in a spinning loop says yes in the end."""
    barrier = _at(unroller, frame, op)
    is_used = op.results[0].first_use is not None
    is_last = frame.refusals == []
    says_yes = is_used and (is_last or unroller.answer(frame, op))
    if says_yes:
        value = frame.values[op.operands[1]]
        parity, state = (frame.uniform(value), None) if op.waits_for_parity else (0, value)
        acquires = not _flag(op, "relaxed")
        frame.emit(steps.WaitPhase(barrier, parity, acquires, is_answer=not is_last, state=state), op)
    else:
        frame.emit(steps.TestPhase(barrier), op)
        if frame.refusals:
            frame.refusals.pop()
    frame.values[op.results[0]] = int(says_yes)


# Copies and fences ----------------------------------------------------------------------------------------------------


def _bulk_copy(unroller: Unroller, frame: Frame, op: Any) -> None:
    """Threads that start one copy copy the same bytes, and each copy counts."""
    target, source, place, size = (frame.values[operand] for operand in op.operands[:4])
    length = frame.uniform(size)
    for into, told in _destinations(unroller, frame, op, target, place):
        copy = steps.Operation(
            op, unroller.bytes(frame, source, length), unroller.bytes(frame, into, length), is_async_proxy=True
        )
        copy.barrier, copy.size = unroller.barrier_at(frame, told), length * frame.threads
        unroller.issue(frame, op, copy)


def _destinations(
    unroller: Unroller, frame: Frame, op: Any, target: Pointer, place: Pointer
) -> list[tuple[Pointer, Pointer]]:
    """With a mask, the same places in every block whose bit it has."""
    given = getattr(op, "multicast_mask", None)
    if given is None:
        return [(target, place)]
    mask = frame.uniform(frame.values[given])
    ranks = [rank for rank in range(unroller.program.blocks) if mask >> rank & 1]
    return [(unroller.in_block(target, rank), unroller.in_block(place, rank)) for rank in ranks]


MEMORIES = {"async": (SHARED, ELSEWHERE), "async.shared": (SHARED,), "async.global": (ELSEWHERE,)}
"""For each kind of proxy fence the memories whose accesses it orders."""


def _fence_proxy(unroller: Unroller, frame: Frame, op: Any) -> None:
    frame.emit(steps.FenceProxy(MEMORIES.get(str(op.kind.data), ())), op)


def _publish(unroller: Unroller, frame: Frame, op: Any) -> None:
    frame.emit(steps.Publish(), op)


ARRIVALS = (
    "arrive",
    "arrive_drop",
    "arrive.nocomplete",
    "arrive_drop.nocomplete",
    "arrive.expect_tx",
    "arrive_drop.expect_tx",
)
MEANINGS: dict[str, Meaning] = {
    "nvvm.mbarrier.init": _init,
    "nvvm.mbarrier.inval": _inval,
    **{f"nvvm.mbarrier.{name}": _arrive for name in ARRIVALS},
    "nvvm.mbarrier.expect_tx": _transaction(1),
    "nvvm.mbarrier.complete_tx": _transaction(-1),
    "nvvm.mbarrier.try_wait.parity": _wait_parity,
    "nvvm.mbarrier.test.wait": _test,
    "nvvm.mbarrier.try_wait": _test,
    "nvvm.cp.async.bulk.shared.cluster.global": _bulk_copy,
    "nvvm.cp.async.bulk.shared.cluster.shared.cta": _bulk_copy,
    "nvvm.fence.mbarrier.init": _publish,
    "nvvm.fence.proxy": _fence_proxy,
}
