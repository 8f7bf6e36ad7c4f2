"""
Copies that a thread counts, barriers of all threads, and counters of the hardware, as steps.

What a thread counts it alone has issued, so what each of its waits needs is a fixed set of operations, as for marks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.checker.explorer import steps
from tests.checker.explorer.unroll import Elected, Frame, Unroller, moved, number

Meaning = Callable[[Unroller, Frame, Any], None]


def _counted(frame: Frame, counter: str) -> list[int]:
    return frame.groups.setdefault(counter, [])


def _issue(unroller: Unroller, frame: Frame, op: Any, reads: int, writes: int) -> int:
    """Issue one operation; returns it as a bit set."""
    unroller.issue(frame, op, steps.Operation(str(op), reads, writes))
    return 1 << (len(unroller.program.operations) - 1)


# Groups of copies -----------------------------------------------------------------------------------------------------


def _copy(unroller: Unroller, frame: Frame, op: Any) -> None:
    target, source = (frame.values[operand] for operand in op.operands[:2])
    size = op.properties["size"].value.data
    issued = _issue(unroller, frame, op, unroller.bytes(source, size), unroller.bytes(target, size))
    _counted(frame, "open copies").append(issued)


def _bulk_store(unroller: Unroller, frame: Frame, op: Any) -> None:
    """Two operations: the read of the source and the write of the target. A wait may be for the first alone."""
    target, source, size = (frame.values[operand] for operand in op.operands[:3])
    _counted(frame, "open reads").append(_issue(unroller, frame, op, unroller.bytes(source, number(size)), 0))
    _counted(frame, "open writes").append(_issue(unroller, frame, op, 0, unroller.bytes(target, number(size))))


def _closes(*families: str) -> Meaning:
    """A group of each family is made of what is open there."""

    def meaning(unroller: Unroller, frame: Frame, op: Any) -> None:
        for family in families:
            opened = _counted(frame, f"open {family}")
            _counted(frame, family).append(sum(opened))
            opened.clear()

    return meaning


def _wait(frame: Frame, op: Any, family: str, outstanding: int) -> None:
    groups = _counted(frame, family)
    covered = groups[: max(len(groups) - outstanding, 0)]
    needed = 0
    for group in covered:
        needed |= group
    frame.emit(steps.WaitOperations(needed), op)


def _wait_copies(unroller: Unroller, frame: Frame, op: Any) -> None:
    _wait(frame, op, "copies", op.n.value.data)


def _wait_stores(unroller: Unroller, frame: Frame, op: Any) -> None:
    _wait(frame, op, "reads", op.group.value.data)
    if "read" not in op.properties:
        _wait(frame, op, "writes", op.group.value.data)


# Counters of the hardware ---------------------------------------------------------------------------------------------


def _transfer(counter: str, bytes_at: str | int) -> Meaning:
    def meaning(unroller: Unroller, frame: Frame, op: Any) -> None:
        source, target = (moved(frame.values[operand], op) for operand in op.operands[:2])
        size = bytes_at if isinstance(bytes_at, int) else op.properties[bytes_at].value.data
        issued = _issue(unroller, frame, op, unroller.bytes(source, size), unroller.bytes(target, size))
        _counted(frame, counter).append(issued)

    return meaning


def _wait_asynccnt(unroller: Unroller, frame: Frame, op: Any) -> None:
    _wait(frame, op, "asynccnt", op.count.value.data)


def _waitcnt(unroller: Unroller, frame: Frame, op: Any) -> None:
    """The lowest four bits and the highest two are the count of vector memory operations."""
    field = op.bitfield.value.data
    _wait(frame, op, "vmcnt", field % 16 + field // 16384 % 4 * 16)


# Barriers of all threads ----------------------------------------------------------------------------------------------


def _meet(unroller: Unroller, frame: Frame, op: Any, name: object, expected: int, *, waits: bool = True) -> None:
    """Each meeting is a phase. A thread meets in all of them, so it can tell which phase is next."""
    barrier = unroller.barrier((frame.block[0], name))
    unroller.program.arrivals[barrier] = expected
    meetings = _counted(frame, f"meetings at {name}")
    frame.emit(steps.Arrive(barrier, frame.threads, 0), op)
    if waits:
        frame.emit(steps.WaitPhase(barrier, len(meetings) % 2), op)
    meetings.append(0)


def _barrier_of_all(unroller: Unroller, frame: Frame, op: Any) -> None:
    _meet(unroller, frame, op, 0, frame.block[1])


def _named_barrier(unroller: Unroller, frame: Frame, op: Any) -> None:
    name, threads = (number(frame.values[operand]) for operand in op.operands)
    _meet(unroller, frame, op, name, threads)


def _arrive_only(unroller: Unroller, frame: Frame, op: Any) -> None:
    name, threads = (number(frame.values[operand]) for operand in op.operands)
    _meet(unroller, frame, op, name, threads, waits=False)


def _elect(unroller: Unroller, frame: Frame, op: Any) -> None:
    frame.values[op.results[0]] = Elected(1)


def _pass_on(unroller: Unroller, frame: Frame, op: Any) -> None:
    """Another name for the same place."""
    frame.values[op.results[0]] = frame.values[op.operands[0]]


MEANINGS: dict[str, Meaning] = {
    "nvvm.cp.async.shared.global": _copy,
    "nvvm.cp.async.commit.group": _closes("copies"),
    "nvvm.cp.async.wait.group": _wait_copies,
    "nvvm.cp.async.bulk.global.shared.cta": _bulk_store,
    "nvvm.cp.async.bulk.commit.group": _closes("reads", "writes"),
    "nvvm.cp.async.bulk.wait_group": _wait_stores,
    "rocdl.global.load.async.to.lds.b128": _transfer("asynccnt", 16),
    "rocdl.s.wait.asynccnt": _wait_asynccnt,
    "rocdl.load.to.lds": _transfer("vmcnt", "size"),
    "rocdl.load.async.to.lds": _transfer("vmcnt", "size"),
    "rocdl.s.waitcnt": _waitcnt,
    "nvvm.barrier0": _barrier_of_all,
    "rocdl.barrier": _barrier_of_all,
    "rocdl.s.barrier": _barrier_of_all,
    "nvvm.barrier": _named_barrier,
    "nvvm.barrier.arrive": _arrive_only,
    "nvvm.elect.sync": _elect,
    "nvvm.mapa": _pass_on,
}
