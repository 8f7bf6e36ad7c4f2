"""
Whether one op may run before another, told from where they stand. A conservative test: a wrong answer is always yes.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation

from tileas_xdsl.dialects.async_queue import QueueScope
from tileas_xdsl.interfaces import FunctionOpInterface, enclosing_function

ONCE = (scf.IfOp, scf.IndexSwitchOp, scf.ExecuteRegionOp, QueueScope)
"""Ops that run each of their regions at most once each time that they are executed."""


def may_run_before(first: Operation, second: Operation) -> bool:
    """Whether `first` may be run, or begun, before `second` is begun, in some execution."""
    function, other = enclosing_function(first), enclosing_function(second)
    if function is None or other is None or _is_called(function) or _is_called(other):
        return True
    if function is not other:
        return False  # Two ways into the module; queues are empty where one is entered.
    if any(len(region.blocks) > 1 for op in function.walk() for region in op.regions):
        return True
    if any(not isinstance(op, ONCE) and op.is_ancestor(second) for op in _around(first, function)):
        return True
    return next(op for op in function.walk() if op is first or op is second) is first


def _is_called(function: Operation) -> bool:
    """Whether the module calls `function`, or it cannot be told."""
    view = FunctionOpInterface.of(function)
    calls = (op for op in function.get_toplevel_object().walk() if isinstance(op, CallOp))
    return view is None or any(call.callee.string_value() == view.function_name for call in calls)


def _around(op: Operation, function: Operation) -> list[Operation]:
    """The ops around `op` inside of `function`."""
    found: list[Operation] = []
    node = op.parent_op()
    while node is not None and node is not function:
        found.append(node)
        node = node.parent_op()
    return found
