"""
Inlines calls of functions with marks, and keeps the caller's waits as long as they were.

    call @foo: mark A                          mark B; mark C
    caller: mark B; mark C            ->       mark A
            call @foo                          wait.asyncmark 2       // still for B: C and A came behind it
            wait.asyncmark 1

A wait of the callee needs no repair: behind the mark that it is for come marks of the callee only.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import Operation
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
from tileas_xdsl.transforms.marks.rocdl_elide_marks.elide import is_followed
from tileas_xdsl.transforms.marks.rocdl_elide_marks.facts import marks_in, waits_in

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
