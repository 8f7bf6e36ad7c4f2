"""
The precondition of every conversion away from `async_queue`: the queues of a function can be followed.

A queue belongs to the execution, not to a value, so whoever rewrites one must see every commit and wait that there is.
Each refusal names the op that hides some, the reason and the way out.

A function's queues are empty when it is called, as far as a conversion is concerned; calls between functions that use
queues are refused.
"""

from __future__ import annotations

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Block, Operation

from tileas_xdsl.analysis.in_flight import LEGS, ancestors, queue_ops
from tileas_xdsl.analysis.value_range import ValueRanges
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.async_queue import BlockOp, CommitOp, QueueScope, ScopeOp, WaitOp
from tileas_xdsl.dialects.async_queue_annotations import STAGE
from tileas_xdsl.interfaces import AgentLikeOpInterface, AsyncRegionOpInterface, FunctionOpInterface, functions_in

MAX_IDS = 64
"""The largest number of queues among which a computed id may choose."""


def functions_with_queues(module: Operation) -> list[Operation]:
    """The functions of `module` that commit to a queue or wait for one, in program order."""
    return [function for function in functions_in(module) if queue_ops(function)]


def require_followable(module: Operation, ranges: ValueRanges) -> None:
    """Raises `RefusedError` unless every function of `module` that uses queues can be followed."""
    callees = _Callees(module)
    for function in functions_with_queues(module):
        for op in queue_ops(function):
            _require_structure(op, function)
            if isinstance(op, CommitOp):
                _require_ids(op, ranges)
        for op in function.walk():
            callees.require_harmless(op)


def _require_structure(op: Operation, function: Operation) -> None:
    """Only structured control flow of one agent leads to `op`."""
    _require_one_block(op)
    for node in ancestors(op, function):
        if AgentLikeOpInterface.of(node) is not None or AsyncRegionOpInterface.of(node) is not None:
            refuse(
                op,
                f"is run by another agent, in '{node.name}', and queues are shared between agents",
                "commit and wait in one agent only, and outside of tasks",
            )
        if STAGE in node.attributes:
            refuse(
                op,
                "stands in a loop that is still to be pipelined",
                f"run inject-software-pipeline first, or remove {STAGE}",
            )
        if not isinstance(node, (*LEGS, QueueScope)):
            refuse(
                op,
                f"stands in '{node.name}', whose control flow is not followed",
                "lower that to scf.for, scf.while, scf.if, scf.index_switch or scf.execute_region",
            )
        _require_one_block(node)


def _require_one_block(op: Operation) -> None:
    region = op.parent_region()
    if region is not None and len(region.blocks) > 1:
        refuse(op, "stands in a graph of blocks", "keep loops and branches as scf ops until the queues are converted")


def _require_ids(op: CommitOp, ranges: ValueRanges) -> None:
    if isinstance(op.queue, int):
        return
    found = ranges.of(op.queue)
    if not found.is_finite or found.high - found.low >= MAX_IDS:
        refuse(
            op,
            "commits to a queue whose id may be any number",
            f"compute the id so that its range shows, as in arith.remui by a constant of at most {MAX_IDS}",
        )


class _Callees:
    """The functions of a module that use queues, by themselves or through what they call."""

    def __init__(self, module: Operation) -> None:
        self.functions: dict[str, Operation] = {}
        for function in functions_in(module):
            view = FunctionOpInterface.of(function)
            assert view is not None
            self.functions[view.function_name] = function
        self.using = {name for name, function in self.functions.items() if queue_ops(function)}
        calls = {name: self._called_in(function) for name, function in self.functions.items()}
        grown = True
        while grown:
            more = {name for name, called in calls.items() if name not in self.using and self.using & called}
            self.using |= more
            grown = bool(more)

    def _called_in(self, function: Operation) -> frozenset[str]:
        names = (callee_of(op) for op in function.walk())
        return frozenset(name for name in names if name is not None)

    def require_harmless(self, op: Operation) -> None:
        """Raises `RefusedError` when `op` calls what uses queues, or what cannot be seen."""
        name = callee_of(op)
        if name is None:
            return
        function = FunctionOpInterface.of(self.functions.get(name))
        if function is None or function.function_body.first_block is None:
            refuse(
                op,
                f"calls @{name}, which has no body here and may commit to the queues of this function or wait for them",
                "define it in this module, or move the call to a function without queues",
            )
        if name in self.using:
            refuse(
                op, f"calls @{name}, which uses queues as well, and queues are shared between functions", "inline it"
            )


def callee_of(op: Operation) -> str | None:
    """The name of the function that `op` calls, or None."""
    callee = op.properties.get("callee") or op.attributes.get("callee")
    return callee.string_value() if isinstance(callee, SymbolRefAttr) else None


def dissolve(op: CommitOp | WaitOp | ScopeOp | BlockOp) -> list[Operation]:
    """Move the ops in the body of `op` in front of it. Returns them in order; `op` stays, with an empty body."""
    body = op.body.first_block
    if body is None:
        return []
    inner = list(body.ops)
    for nested in inner:
        nested.detach()
    block = op.parent
    assert isinstance(block, Block)
    block.insert_ops_before(inner, op)
    return inner
