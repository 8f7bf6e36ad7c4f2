"""
Can an `async_queue.scope` hold the body of a task?

A scope is issued: its thread evaluates control flow and addresses at once, and only the data moves later. So the body
may load, store, copy and compute, in loops and branches, as long as no branch, bound or address comes from what it
loads. It may not start tasks, wait, commit, call or reserve memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import memref, scf
from xdsl.ir import Operation, SSAValue, Use
from xdsl.traits import IsTerminator, MemoryEffectKind, get_effects, is_side_effect_free

from tileas_xdsl.analysis.memory.effects import only_computes
from tileas_xdsl.analysis.value_flow import carried_to
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.async_queue import QueueScope
from tileas_xdsl.dialects.upstream_arithmetic import STRUCTURED, is_of
from tileas_xdsl.interfaces import AgentLikeOpInterface, AsyncOpInterface, AsyncRegionOpInterface

IN_PLACE = (scf.ForOp, scf.IfOp)
"""Control flow that a scope may hold."""


def verify_body(task: Operation) -> None:
    """Raises `RefusedError` on the first op in the body of `task` that a scope cannot hold."""
    for op in _ops_inside(task):
        _verify_op(op)
        if _loads(op):
            for result in op.results:
                _verify_late(result, task)


def _ops_inside(op: Operation) -> Iterator[Operation]:
    """The ops in the regions of `op`, terminators apart; those inside an op with a body of its own kind are its own."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                if inner.has_trait(IsTerminator, value_if_unregistered=False):
                    continue
                yield inner
                if isinstance(inner, IN_PLACE):
                    yield from _ops_inside(inner)


def _verify_op(op: Operation) -> None:
    if isinstance(op, QueueScope):
        refuse(
            op, "works on queues inside a task, and a scope cannot", "convert only programs without queues inside tasks"
        )
    if any(i.of(op) is not None for i in (AsyncOpInterface, AsyncRegionOpInterface, AgentLikeOpInterface)):
        refuse(
            op,
            "starts tasks or waits inside a task, and a scope can do neither",
            "start them side by side, and name what the task waits for among its dependencies",
        )
    if isinstance(op, IN_PLACE) or only_computes(op) or is_side_effect_free(op):
        return
    effects = get_effects(op)
    if op.regions and not is_of(op, STRUCTURED):
        refuse(op, "has regions that a scope cannot hold", "use scf.for and scf.if")
    if effects is None:
        refuse(op, "does in a task what nobody knows, and a scope only moves data", "inline it, or do it outside")
    if any(effect.kind in (MemoryEffectKind.ALLOC, MemoryEffectKind.FREE) for effect in effects):
        refuse(op, "reserves or frees memory inside a task, and a scope cannot", "do so outside the task")


def _loads(op: Operation) -> bool:
    effects = get_effects(op)
    return bool(op.results) and effects is not None and any(e.kind == MemoryEffectKind.READ for e in effects)


def _verify_late(loaded: SSAValue, task: Operation) -> None:
    """Nothing that is computed from `loaded` decides where or whether something happens."""
    late = [loaded]
    seen = {loaded}
    while late:
        for use in late.pop().uses:
            for value in _data_behind(use, task):
                if value not in seen:
                    seen.add(value)
                    late.append(value)


def _data_behind(use: Use, task: Operation) -> tuple[SSAValue, ...]:
    op = use.operation
    carried = carried_to(use)
    if carried is not None:
        return tuple(carried)
    if only_computes(op):
        return tuple(op.results)
    if isinstance(op, memref.StoreOp) and use.index == 0:
        return ()
    refuse(
        op,
        f"decides by what '{task.name}' loads where or whether data moves, and a scope decides when it is issued",
        "load it before the task, after a wait for what writes it",
    )
