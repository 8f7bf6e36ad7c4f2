"""
Dataflow facts about the marks of one function: how many may be outstanding, which marks a wait may be for, and which
marks cover nothing that the mark before them does not.

Marks belong to one activation of a function, so calls neither add marks nor complete any. A mark covers everything that
was issued before it, by callers and callees too.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm, memref
from xdsl.ir import Operation
from xdsl.traits import is_side_effect_free

from tileas_xdsl.analysis.forward_flow import Arrival, FlowClient, analyse
from tileas_xdsl.analysis.windows import NOTHING, Count, LongestWindows, WindowAnalysis
from tileas_xdsl.dialects.rocdl.barriers import BarrierOp, SBarrierOp
from tileas_xdsl.dialects.rocdl.waits import WAIT_OPS, AsyncmarkOp, WaitAsyncmarkOp

MARKS = "marks"


class _OwnMarks:
    """Mixin of the analyses of marks: no call is followed."""

    def callee(self, op: Operation) -> str | None:
        return None


def waits_that_cannot_block(function: Operation) -> list[WaitAsyncmarkOp]:
    """The waits for at most N marks at which no path has more than N outstanding."""
    waits = waits_in(function)
    most = max((wait.count.value.data for wait in waits), default=0) + 1
    outstanding = analyse(function, _Outstanding(most), 0).before
    return [wait for wait in waits if outstanding.get(wait, most) <= wait.count.value.data]


class _Outstanding(_OwnMarks, FlowClient[int]):
    """Dataflow value: the largest number of marks that may be outstanding. `most` stands for `most` or more."""

    def __init__(self, most: int) -> None:
        self.most = most

    def join(self, arrivals: Sequence[Arrival[int]]) -> int:
        return max(arrival.state for arrival in arrivals)

    def leave(self, op: Operation, state: int) -> int:
        match op:
            case AsyncmarkOp():
                return min(state + 1, self.most)
            case WaitAsyncmarkOp():
                return min(state, op.count.value.data)
            case _:
                return state


def marks_before_no_wait(function: Operation) -> list[AsyncmarkOp]:
    """The marks from which no wait of the function can be reached."""
    marks = marks_in(function)
    before = analyse(function, _Seen(marks), 0).before
    seen = 0
    for wait in waits_in(function):
        seen |= before.get(wait, 0)
    return [mark for number, mark in enumerate(marks) if not seen >> number & 1]


class _Seen(_OwnMarks, FlowClient[int]):
    """Dataflow value: the marks that may have been passed, as bits."""

    def __init__(self, marks: Sequence[AsyncmarkOp]) -> None:
        self.bit = {mark: 1 << number for number, mark in enumerate(marks)}

    def join(self, arrivals: Sequence[Arrival[int]]) -> int:
        union = 0
        for arrival in arrivals:
            union |= arrival.state
        return union

    def leave(self, op: Operation, state: int) -> int:
        return state | self.bit[op] if isinstance(op, AsyncmarkOp) else state


def marks_that_no_wait_is_for(function: Operation) -> list[AsyncmarkOp]:
    """The marks that are on no path the (N + 1)-th newest one at a wait for at most N."""
    marks, waits = marks_in(function), waits_in(function)
    depth = max((wait.count.value.data for wait in waits), default=-1) + 1
    before = analyse(function, _Newest(marks, depth), ()).before
    wanted = 0
    for wait in waits:
        newest, count = before.get(wait, ()), wait.count.value.data
        wanted |= newest[count] if count < len(newest) else 0
    return [mark for number, mark in enumerate(marks) if not wanted >> number & 1]


class _Newest(_OwnMarks, FlowClient[tuple[int, ...]]):
    """Dataflow value: entry k holds, as bits, the marks that may be the (k + 1)-th newest."""

    def __init__(self, marks: Sequence[AsyncmarkOp], depth: int) -> None:
        self.bit = {mark: 1 << number for number, mark in enumerate(marks)}
        self.depth = depth

    def join(self, arrivals: Sequence[Arrival[tuple[int, ...]]]) -> tuple[int, ...]:
        longest: list[int] = []
        for arrival in arrivals:
            longest += [0] * (len(arrival.state) - len(longest))
            for place, marks in enumerate(arrival.state):
                longest[place] |= marks
        return tuple(longest)

    def leave(self, op: Operation, state: tuple[int, ...]) -> tuple[int, ...]:
        return (self.bit[op], *state)[: self.depth] if isinstance(op, AsyncmarkOp) else state


def marks_that_cover_nothing_new(function: Operation) -> list[AsyncmarkOp]:
    """The marks before which, on every path, nothing can have been issued since another mark of the function."""
    before = analyse(function, _Issued(), True).before
    return [mark for mark in marks_in(function) if not before.get(mark, True)]


class _Issued(_OwnMarks, FlowClient[bool]):
    """Dataflow value: whether a transfer may have been issued since the last mark."""

    def join(self, arrivals: Sequence[Arrival[bool]]) -> bool:
        return any(arrival.state for arrival in arrivals)

    def leave(self, op: Operation, state: bool) -> bool:
        if isinstance(op, AsyncmarkOp):
            return False
        return state or _may_issue(op)


_ISSUE_NOTHING = (
    *WAIT_OPS,
    SBarrierOp,
    BarrierOp,
    llvm.LoadOp,
    llvm.StoreOp,
    memref.LoadOp,
    memref.StoreOp,
    memref.AllocOp,
    memref.DeallocOp,
)


def _may_issue(op: Operation) -> bool:
    """Whether `op` by itself may start a transfer."""
    return not op.regions and not isinstance(op, _ISSUE_NOTHING) and not is_side_effect_free(op)


def counts_without(function: Operation, removed: Sequence[AsyncmarkOp]) -> dict[WaitAsyncmarkOp, int] | None:
    """
    The counts with which every wait completes what it did, once the marks `removed` are gone. None where some wait
    would need different ones on different paths.
    """
    gone = frozenset(removed)

    def count(op: Operation) -> Count:
        return Count(op not in gone, (MARKS,)) if isinstance(op, AsyncmarkOp) else NOTHING

    waits = waits_in(function)
    depth = max((wait.count.value.data for wait in waits), default=-1) + 1
    least = WindowAnalysis(function, {MARKS: depth}, count, across_calls=False)
    longest = LongestWindows(function, {MARKS: depth}, count, across_calls=False)
    counts: dict[WaitAsyncmarkOp, int] = {}
    for wait in waits:
        old = wait.count.value.data
        new, most = least.window(wait, MARKS, old + 1), longest.window(wait, MARKS, old + 1)
        if new is None or most is None:
            continue
        if most > new:
            return None
        counts[wait] = new
    return counts


def marks_in(function: Operation) -> list[AsyncmarkOp]:
    return [op for op in function.walk() if isinstance(op, AsyncmarkOp)]


def waits_in(function: Operation) -> list[WaitAsyncmarkOp]:
    return [op for op in function.walk() if isinstance(op, WaitAsyncmarkOp)]
