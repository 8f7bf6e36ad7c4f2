"""
Copies that a thread counts, barriers of all threads, and counters of the hardware, as steps.

What a thread counts it alone has issued, so what each of its waits needs is a fixed set of operations, as for marks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.checker.explorer import steps
from tests.checker.explorer.unroll import LANES, Frame, Unroller, moved, number

Meaning = Callable[[Unroller, Frame, Any], None]


def _counted(frame: Frame, counter: str) -> list[int]:
    return frame.groups.setdefault(counter, [])


def _issue(unroller: Unroller, frame: Frame, op: Any, reads: int, writes: int) -> int:
    """Issue one operation; returns it as a bit set."""
    return 1 << unroller.issue(frame, op, steps.Operation(op, reads, writes))


# Groups of copies -----------------------------------------------------------------------------------------------------


def _copy(unroller: Unroller, frame: Frame, op: Any) -> None:
    target, source = (frame.values[operand] for operand in op.operands[:2])
    size = op.properties["size"].value.data
    issued = _issue(unroller, frame, op, unroller.bytes(frame, source, size), unroller.bytes(frame, target, size))
    _counted(frame, "open copies").append(issued)


def _arrive_behind(unroller: Unroller, frame: Frame, op: Any) -> None:
    """Each thread arrives when all its copies are complete; without `noinc` the phase is made to wait for that."""
    barrier = unroller.barrier_at(frame, frame.values[op.operands[0]])
    if not bool(op.properties["noinc"].value.data):
        frame.emit(steps.Arrive(barrier, 0, releases=False, adds=frame.threads), op)
    issued = sum(_counted(frame, "copies")) | sum(_counted(frame, "open copies"))
    after = tuple(n for n in frame.issued if issued >> n & 1)
    unroller.issue(frame, op, steps.Operation(op, barrier=barrier, arrivals=frame.threads, after=after))


def _bulk_store(unroller: Unroller, frame: Frame, op: Any) -> None:
    """
    Two operations: the read of the source, for which alone a wait may be, and the write of the target, which is over
    at the end of the grid.
    """
    target, source, size = (frame.values[operand] for operand in op.operands[:3])
    reads = unroller.bytes(frame, source, number(size))
    writes = unroller.bytes(frame, target, number(size))
    reading = steps.Operation(op, reads, 0, is_async_proxy=True)
    writing = steps.Operation(op, 0, writes, is_async_proxy=True, ends_with_grid=True)
    _counted(frame, "open reads").append(1 << unroller.issue(frame, op, reading))
    _counted(frame, "open writes").append(1 << unroller.issue(frame, op, writing))


def _closes(*families: str) -> Meaning:
    """The meaning of a commit: in each family, what was issued since the last commit becomes a group."""

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
        issued = _issue(unroller, frame, op, unroller.bytes(frame, source, size), unroller.bytes(frame, target, size))
        _counted(frame, counter).append(issued)

    return meaning


def _wait_asynccnt(unroller: Unroller, frame: Frame, op: Any) -> None:
    _wait(frame, op, "asynccnt", op.count.value.data)


def _waitcnt(unroller: Unroller, frame: Frame, op: Any) -> None:
    """The lowest four bits and the highest two are the count of vector memory operations."""
    field = op.bitfield.value.data
    _wait(frame, op, "vmcnt", field % 16 + field // 16384 % 4 * 16)


# Barriers of all threads ----------------------------------------------------------------------------------------------


def _meet(
    unroller: Unroller, frame: Frame, op: Any, name: object, expected: int, *, waits: bool = True, of_all: bool = False
) -> None:
    meeting = unroller.numbering.number("meetings", (frame.block[0], name))
    of_block = frame.block[0] if of_all else None
    frame.emit(steps.Meet(meeting, frame.threads, expected, of_block=of_block, by_warps=frame.lanes > 1), op)
    if waits:
        frame.emit(steps.Leave(meeting), op)


def _barrier_of_all(unroller: Unroller, frame: Frame, op: Any) -> None:
    _meet(unroller, frame, op, 0, frame.block[1], of_all=True)


def _named_barrier(unroller: Unroller, frame: Frame, op: Any, *, waits: bool = True) -> None:
    """Barrier 0 and all threads are what is meant where nothing is said."""
    name = 0 if op.barrier_id is None else frame.uniform(frame.values[op.barrier_id])
    threads = op.number_of_threads
    expected = frame.block[1] if threads is None else frame.uniform(frame.values[threads])
    _meet(unroller, frame, op, name, expected, waits=waits, of_all=threads is None)


def _arrive_only(unroller: Unroller, frame: Frame, op: Any) -> None:
    _named_barrier(unroller, frame, op, waits=False)


def _cluster_meeting(unroller: Unroller, frame: Frame) -> int:
    """Where blocks do not reach into each other, the cluster is the block."""
    key = "cluster" if unroller.program.blocks > 1 else (frame.block[0], "cluster")
    return unroller.numbering.number("meetings", key)


def _cluster_arrive(unroller: Unroller, frame: Frame, op: Any) -> None:
    rank = frame.rank if unroller.program.blocks > 1 else None
    releases = op.name == "nvvm.cluster.arrive"
    meeting = _cluster_meeting(unroller, frame)
    frame.emit(steps.Meet(meeting, frame.threads, frame.block[1], releases, rank), op)


def _cluster_wait(unroller: Unroller, frame: Frame, op: Any) -> None:
    frame.emit(steps.Leave(_cluster_meeting(unroller, frame)), op)


def _mapa(unroller: Unroller, frame: Frame, op: Any) -> None:
    pointer, rank = (frame.values[operand] for operand in op.operands)
    frame.values[op.results[0]] = unroller.in_block(pointer, frame.uniform(rank))


def _rank(unroller: Unroller, frame: Frame, op: Any) -> None:
    frame.values[op.results[0]] = frame.rank


def _blocks(unroller: Unroller, frame: Frame, op: Any) -> None:
    frame.values[op.results[0]] = unroller.program.blocks


def _elect(unroller: Unroller, frame: Frame, op: Any) -> None:
    """One lane of those that take part."""
    chosen = frame.active[0]
    one = tuple(int(lane == chosen) for lane in range(frame.lanes))
    frame.values[op.results[0]] = one if frame.lanes > 1 else 1


def _thread_number(unroller: Unroller, frame: Frame, op: Any) -> None:
    assert frame.first_tid is not None or frame.lanes == 1, "how many threads there are is not known"
    first = frame.first_tid or 0
    frame.values[op.results[0]] = tuple(range(first, first + LANES)) if frame.lanes > 1 else first


def _lane_number(unroller: Unroller, frame: Frame, op: Any) -> None:
    frame.values[op.results[0]] = tuple(range(frame.lanes)) if frame.lanes > 1 else 0


def _nothing(unroller: Unroller, frame: Frame, op: Any) -> None:
    """The lanes of a warp go in step."""


def _pass_on(unroller: Unroller, frame: Frame, op: Any) -> None:
    """Another name for the same place."""
    frame.values[op.results[0]] = frame.values[op.operands[0]]


MEANINGS: dict[str, Meaning] = {
    "nvvm.cp.async.shared.global": _copy,
    "nvvm.cp.async.mbarrier.arrive": _arrive_behind,
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
    "nvvm.read.ptx.sreg.tid.x": _thread_number,
    "nvvm.read.ptx.sreg.laneid": _lane_number,
    "nvvm.cluster.arrive": _cluster_arrive,
    "nvvm.cluster.arrive.relaxed": _cluster_arrive,
    "nvvm.cluster.wait": _cluster_wait,
    "nvvm.bar.warp.sync": _nothing,
    "nvvm.mapa": _mapa,
    "nvvm.read.ptx.sreg.cluster.ctarank": _rank,
    "nvvm.read.ptx.sreg.cluster.nctarank": _blocks,
    "llvm.addrspacecast": _pass_on,
}
