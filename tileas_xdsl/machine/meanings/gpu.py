"""
What the ops of `gpu` with asynchronous tokens do, on the host's side: alloc, dealloc, memcpy, wait.

A `!gpu.async.token` is an `Event`. An op with a token result is asynchronous: it is issued, and performed after its
dependencies. One without blocks until it is done. Launching a kernel is refused: run the kernel itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import gpu
from xdsl.ir import Operation

from tileas_xdsl.interfaces import HandleType
from tileas_xdsl.machine.core.agents import Agent, Suspension
from tileas_xdsl.machine.core.asynchronous_work import Event, Touch
from tileas_xdsl.machine.core.meaning import effect, suspends, terminators
from tileas_xdsl.machine.core.synchronization import EventCondition
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.meanings.memref import allocate, same_shape
from tileas_xdsl.machine.parts.lifetimes import end_lifetime
from tileas_xdsl.machine.tiles.numerics import view_of

HandleType.register(gpu.AsyncTokenType)

terminators(gpu.ReturnOp, gpu.TerminatorOp, gpu.YieldOp)


def _wait_for(agent: Agent, op: Operation, tokens: Sequence[Event]) -> Suspension:
    event = Event.all_of(tokens, "gpu token")
    yield from agent.wait(EventCondition(event), op)
    agent.machine.happened(agent, op, "wait", f"sees {len(tokens)} gpu tokens complete", on=event)


@suspends(gpu.WaitOp)
def _wait(agent: Agent, op: gpu.WaitOp, *tokens: Event) -> Suspension:
    if op.asyncToken is not None:
        return Event.all_of(tokens, op.name)
    if tokens:
        yield from _wait_for(agent, op, tokens)
    return None


@suspends(gpu.AllocOp)
def _alloc(agent: Agent, op: gpu.AllocOp, *operands: Any) -> Suspension:
    count = len(op.asyncDependencies)
    tokens, sizes = operands[:count], operands[count : count + len(op.dynamicSizes)]
    if op.asyncToken is None and tokens:
        yield from _wait_for(agent, op, tokens)
    view = allocate(agent, op, op.result.type, sizes)
    return view if op.asyncToken is None else (view, Event.all_of(tokens, op.name))


@suspends(gpu.MemcpyOp)
def _memcpy(agent: Agent, op: gpu.MemcpyOp, *operands: Any) -> Suspension:
    *tokens, target, source = operands
    from_view, to_view = same_shape(agent, op, source, target)
    if op.asyncToken is None:
        if tokens:
            yield from _wait_for(agent, op, tokens)
        agent.store(to_view, agent.load(from_view, op), op)
        return None
    machine = agent.machine
    work = agent.issue(
        op,
        [Touch(from_view, False), Touch(to_view, True)],
        None,
        label=f"{op.name} to '{to_view.base.name}'",
        dependencies=tokens,
        fetch=lambda: machine.read(from_view),
        deliver=lambda data: machine.write(to_view, data),
    )
    return machine.event_of(work, op.name)


@suspends(gpu.DeallocOp)
def _dealloc(agent: Agent, op: gpu.DeallocOp, *operands: Any) -> Suspension:
    *tokens, buffer = operands
    base = view_of(agent, op, buffer).base
    if op.asyncToken is None:
        if tokens:
            yield from _wait_for(agent, op, tokens)
        end_lifetime(agent, op, base)
        return None

    def end() -> None:
        base.lifetime_over = True

    work = agent.issue(
        op,
        [Touch(base.whole(), True)],
        end,
        label=f"{op.name} of '{base.name}'",
        engine="memory",
        dependencies=tokens,
    )
    return agent.machine.event_of(work, op.name)


@effect(gpu.LaunchFuncOp, gpu.LaunchOp)
def _launch(_agent: Agent, op: gpu.LaunchFuncOp | gpu.LaunchOp, *_operands: Any) -> None:
    raise UnsupportedError(op, "launches a kernel, which is not simulated from the host; run the kernel's function")
