"""
Remove marks and waits of `rocdl` that order nothing, and keep every wait exactly as long as it was.

    load X; asyncmark                     load X; asyncmark
    load Y; asyncmark              ->     load Y
    wait.asyncmark 1                      wait.asyncmark 0
    use X                                 use X

Source: LLVM, "AMDGPU Asynchronous Operations", section "Optimization".

Calls of functions with marks are inlined first, and the caller's waits stay as long as they were:

    call @foo: mark A                          mark B; mark C
    caller: mark B; mark C            ->       mark A
            call @foo                          wait.asyncmark 2       // still for B: C and A came behind it
            wait.asyncmark 1

A wait of the callee needs no repair: behind the mark that it is for come marks of the callee only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.windows import (
    NOTHING,
    Count,
    WindowAnalysis,
    function_name,
    functions_with_body,
    symbol_called,
)
from tileas_xdsl.dialects.rocdl.waits import AsyncmarkOp, WaitAsyncmarkOp
from tileas_xdsl.interfaces import AgentLikeOpInterface, AsyncRegionOpInterface, FunctionOpInterface
from tileas_xdsl.transforms.marks.rocdl_elide_marks.facts import (
    counts_without,
    marks_before_no_wait,
    marks_in,
    marks_that_cover_nothing_new,
    marks_that_no_wait_is_for,
    waits_in,
    waits_that_cannot_block,
)

MOST_TRIED = 32
"""The number of marks that are tried one by one where not all can go. Each trial costs one analysis of the function."""


def elide_marks(function: Operation) -> None:
    """Remove what orders nothing from `function`; which transfers each wait completes stays the same."""
    if not is_followed(function):
        return
    before = -1
    while before != (before := len(marks_in(function)) + len(waits_in(function))):
        for op in waits_that_cannot_block(function):
            Rewriter.erase_op(op)
        for op in marks_before_no_wait(function):
            Rewriter.erase_op(op)
        _remove_with_lower_counts(function, marks_that_no_wait_is_for(function))
        _remove_with_lower_counts(function, marks_that_cover_nothing_new(function))


def is_followed(function: Operation) -> bool:
    """Whether `function` has marks or waits, and its own thread passes all of them."""
    others = [op for op in function.walk() if AgentLikeOpInterface.of(op) or AsyncRegionOpInterface.of(op)]
    elsewhere = any(isinstance(op, AsyncmarkOp | WaitAsyncmarkOp) for other in others for op in other.walk())
    return not elsewhere and bool(marks_in(function) or waits_in(function))


def _remove_with_lower_counts(function: Operation, marks: Sequence[AsyncmarkOp]) -> None:
    """Remove all of `marks`, or one after the other, as far as counts can be right on every path without them."""
    if not marks:
        return
    counts = counts_without(function, marks)
    if counts is not None:
        _remove(marks, counts)
        return
    for mark in marks[:MOST_TRIED]:
        counts = counts_without(function, [mark])
        if counts is not None:
            _remove([mark], counts)


def _remove(marks: Sequence[AsyncmarkOp], counts: dict[WaitAsyncmarkOp, int]) -> None:
    for wait, count in counts.items():
        wait.properties["count"] = WaitAsyncmarkOp(count).count
    for mark in marks:
        Rewriter.erase_op(mark)


OWN = "own marks"


def callees_first(module: Operation) -> list[Operation]:
    """The functions defined in `module`, each behind those that it calls, as far as they do not call each other."""
    functions = {function_name(function): function for function in functions_with_body(module)}
    order: dict[Operation, None] = {}
    started: set[str] = set()
    for root in functions:
        stack = [(root, False)]
        while stack:
            name, done = stack.pop()
            if done:
                order[functions[name]] = None
            elif name in functions and name not in started:
                started.add(name)
                stack.append((name, True))
                called = [symbol_called(op) for op in functions[name].walk()]
                stack += [(symbol, False) for symbol in reversed(called) if symbol is not None]
    return list(order)


def inline_marked_calls(function: Operation, module: Operation) -> None:
    """
    Inline the calls in `function` of functions with marks or waits, where that can be done; `function` then has the
    waits that it needs.
    """
    functions = {function_name(other): other for other in functions_with_body(module)}
    calls = [op for op in function.walk() if isinstance(op, func.CallOp)]
    inlinable = [(call, functions.get(call.callee.string_value())) for call in calls]
    own_marks, own_waits = frozenset(marks_in(function)), waits_in(function)
    inlined = False
    for call, callee in inlinable:
        if callee is not None and _runs_in_place(call) and _can_be_inlined(callee, function_name(function)):
            _inline(call, callee)
            inlined = True
    if inlined and own_waits:
        _raise_waits(function, own_marks, own_waits)


def _runs_in_place(call: Operation) -> bool:
    """Whether the thread that runs the function makes the call."""
    node = call.parent_op()
    while node is not None and FunctionOpInterface.of(node) is None:
        if AgentLikeOpInterface.of(node) is not None or AsyncRegionOpInterface.of(node) is not None:
            return False
        node = node.parent_op()
    return True


def _can_be_inlined(callee: Operation, caller: str) -> bool:
    """Whether `callee` has marks, is one block, and calls neither itself nor its caller, which is another function."""
    if function_name(callee) == caller or not isinstance(callee, func.FuncOp):
        return False
    if len(callee.body.blocks) != 1 or not is_followed(callee):
        return False
    called = [symbol_called(op) for op in callee.walk()]
    return caller not in called and function_name(callee) not in called


def _inline(call: func.CallOp, callee: Operation) -> None:
    assert isinstance(callee, func.FuncOp)
    body = callee.body.clone().block
    end = body.last_op
    assert isinstance(end, func.ReturnOp)
    Rewriter.inline_block(body, InsertPoint.before(call), call.arguments)
    results = list(end.arguments)
    Rewriter.erase_op(end)
    Rewriter.replace_op(call, [], results)


def _raise_waits(function: Operation, own_marks: frozenset[AsyncmarkOp], own_waits: list[WaitAsyncmarkOp]) -> None:
    """Count for the waits of the function itself the marks that were inlined behind those that they are for."""

    def count(op: Operation) -> Count:
        if not isinstance(op, AsyncmarkOp):
            return NOTHING
        return Count(1, (OWN,) if op in own_marks else ())

    depth = max(wait.count.value.data for wait in own_waits) + 1
    windows = WindowAnalysis(function, {OWN: depth}, count, across_calls=False)
    counts = [windows.window(wait, OWN, wait.count.value.data + 1) for wait in own_waits]
    for wait, new in zip(own_waits, counts, strict=True):
        if new is None:
            Rewriter.erase_op(wait)
        else:
            wait.properties["count"] = WaitAsyncmarkOp(new).count


@dataclass(frozen=True)
class ROCDLElideMarksPass(ModulePass):
    """
    Remove marks and waits that order nothing.

    Rewrites:

    - A wait for at most N marks goes if on every path at most N marks are outstanding there. (LLVM's document says "a
      `wait.asyncmark` that is not dominated by any `asyncmark`", which is not the same: the wait of `if c { load; mark
      }; wait 0` blocks.)
    - A mark goes if no wait of the function can be reached from it. (LLVM's document says "an `asyncmark` which is not
      post-dominated by any `wait.asyncmark`", which is not the same either: the mark of `load; mark; if c { wait 0; use
      }` is needed.)
    - A mark that no wait is for goes, and so does one before which nothing was issued since another mark. The waits
      that counted them get lower counts: as many fewer as there are on every path; where paths differ, the marks stay.
      Which transfers a wait completes is the same before and after.
    - With `inline-calls`, calls of functions with marks are inlined. Their marks become the caller's, which would
      lengthen its waits: a wait is raised by the marks of others that came behind the one that it is for. Afterwards
      nobody could tell whose mark is whose, so the pass that repairs the waits is the pass that inlines.

    Requires: nothing. Refuses: nothing. Functions with marks in the regions of other threads are left alone; so are
    calls of functions that call themselves or have several blocks.
    """

    name = "rocdl-elide-marks"

    inline_calls: bool = field(
        default=False,
        metadata={"help": "inline calls of functions with marks, and keep waits as long as they were"},
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in callees_first(op):
            if self.inline_calls:
                inline_marked_calls(function, op)
            elide_marks(function)
