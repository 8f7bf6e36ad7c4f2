"""
What the ops of `async` do. A task is an agent; tokens and values are promises; awaiting suspends the agent that awaits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Block, BlockArgument, Operation, Region
from xdsl.traits import SymbolTable

from tileas_xdsl.dialects import async_
from tileas_xdsl.dialects.async_ import coroutines, runtime
from tileas_xdsl.machine.arguments import bind_arguments, binds_type, is_scalar
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import Event
from tileas_xdsl.machine.core.code import per_op
from tileas_xdsl.machine.core.meaning import refused, suspends, sync, terminators
from tileas_xdsl.machine.core.op_facts import EVERY_OPERAND
from tileas_xdsl.machine.core.standings import Answer, continuation
from tileas_xdsl.machine.core.synchronization import GroupCondition, PromiseGroup
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import MistakeError, UnsupportedError
from tileas_xdsl.machine.parts.barriers import come_for
from tileas_xdsl.machine.parts.tasks import all_awaited, awaited, start_task

terminators(async_.YieldOp, async_.ReturnOp)

EXTENT_WHEN_CHECKING = 1024
"""The extent of a dynamic dimension of a promised array when only addresses matter."""


def _promises(op: Operation) -> list[Event]:
    """One promise for each result."""
    return [Event(f"{op.name} #{number}") for number in range(len(op.results))]


@continuation
def _fulfil(child: Agent, _op: Operation, payloads: Sequence[Any], promises: Sequence[Event]) -> Answer:
    """Complete `promises`: tokens come first and have no payload."""
    tokens = len(promises) - len(payloads)
    knowledge = child.release()
    for number, promise in enumerate(promises):
        promise.payload = payloads[number - tokens] if number >= tokens else None
        promise.finish(knowledge)


def _returned(op: Operation, promises: list[Event]) -> Any:
    return promises[0] if len(op.results) == 1 else tuple(promises)


@sync(async_.ExecuteOp)
def _execute(agent: Agent, op: async_.ExecuteOp, *operands: Event) -> Any:
    edges = len(op.dependencies)
    promises = _promises(op)
    tokens, values = operands[:edges], operands[edges:]
    start_task(agent, op, _await_tokens, tokens, values, promises, promises=promises, regions=[op.body])
    return _returned(op, promises)


@continuation
def _await_tokens(
    child: Agent,
    op: async_.ExecuteOp,
    _: None,
    tokens: Sequence[Event],
    values: Sequence[Event],
    promises: Sequence[Event],
) -> Answer:
    return all_awaited(child, op, tokens).then(_await_values, values, promises)


@continuation
def _await_values(
    child: Agent, op: async_.ExecuteOp, _: None, values: Sequence[Event], promises: Sequence[Event]
) -> Answer:
    return all_awaited(child, op, values, "value").then(_run_body, promises)


@continuation
def _run_body(child: Agent, op: async_.ExecuteOp, arguments: Sequence[Any], promises: Sequence[Event]) -> Answer:
    return child.run_region(op.body, arguments).then(_fulfil, promises)


@sync(async_.CallOp, may_move=EVERY_OPERAND, calls=True)
def _call(agent: Agent, op: async_.CallOp, *arguments: Any) -> Any:
    callee = SymbolTable.lookup_symbol(op, op.callee)
    if not isinstance(callee, async_.FuncOp) or callee.body.first_block is None:
        raise UnsupportedError(op, f"calls {op.callee}, which has no body; define it")
    promises = _promises(op)
    start_task(agent, op, _run_callee, callee, arguments, promises, promises=promises, regions=[callee.body])
    return _returned(op, promises)


@continuation
def _run_callee(
    child: Agent,
    _op: async_.CallOp,
    _: None,
    callee: async_.FuncOp,
    arguments: Sequence[Any],
    promises: Sequence[Event],
) -> Answer:
    return child.call(callee, callee.body, arguments).then(_fulfil, promises)


@suspends(async_.AwaitOp)
def _await(agent: Agent, op: async_.AwaitOp, promise: Event) -> Answer:
    if not op.results and not agent.allows(op, None)[0]:
        return None
    return awaited(agent, op, promise, "value" if op.results else "token").then(_take_payload, promise)


@continuation
def _take_payload(_agent: Agent, _op: Operation, _: None, promise: Event) -> Answer:
    return promise.payload


@sync(async_.CreateGroupOp, may_move=("size",))
def _create_group(agent: Agent, op: async_.CreateGroupOp, size: Any) -> PromiseGroup:
    name = f"the group of {agent.name} at moment {agent.moment}"
    return PromiseGroup(agent.known(size, op, "takes as the size of the group"), op, name)


@per_op
def _ranks_matter(op: async_.AddToGroupOp) -> bool:
    """Whether anything in the program depends on the rank of a member."""
    program: Operation = op
    while (above := program.parent_op()) is not None:
        program = above
    return any(isinstance(other, async_.AddToGroupOp) and other.rank.first_use is not None for other in program.walk())


@sync(async_.AddToGroupOp, gives_count=True)
def _add_to_group(agent: Agent, op: async_.AddToGroupOp, member: Event, group: PromiseGroup) -> int:
    if _ranks_matter(agent, op):
        come_for(agent, op, "a rank in a group", group.name, group.comers)
    if len(group.members) == group.size:
        reason = f"adds a member to a group of {group.size} that has them all; create the group for as many as it gets"
        raise MistakeError(op, reason)
    group.members.append(member)
    return len(group.members) - 1


@suspends(async_.AwaitAllOp)
def _await_all(agent: Agent, op: async_.AwaitAllOp, group: PromiseGroup) -> Answer:
    return agent.wait(GroupCondition(group), op).then(_saw_group, group)


@continuation
def _saw_group(agent: Agent, op: Operation, _: None, group: PromiseGroup) -> Answer:
    agent.note(op, "wait", f"sees a group of {group.size} complete", on=group)


# Arguments of functions ---------------------------------------------------------------------------------------------


@binds_type(async_.TokenType.name)
def _token_argument(argument: BlockArgument, _given: Any, _with_data: bool) -> Event:
    """A token of the caller's: complete, and all that it is a token of happened before the call."""
    return Event.completed(label=f"argument {argument.name_hint or argument.index}")


@binds_type(async_.ValueType.name)
def _promise_argument(argument: BlockArgument, given: Any, with_data: bool) -> Event:
    """A promise of the caller's: complete; `given` is for its payload."""
    assert isinstance(argument.type, async_.ValueType)
    inner = Block(arg_types=[argument.type.value_type])
    inner.args[0].name_hint = argument.name_hint or str(argument.index)
    if given is None and not with_data and is_scalar(argument.type.value_type):
        given = UNKNOWN
    arguments = {} if given is None else {"0": given}
    extent = None if with_data else EXTENT_WHEN_CHECKING
    promise = Event.completed(label=f"argument {argument.name_hint or argument.index}")
    [promise.payload] = bind_arguments(Region(inner), arguments, with_data=with_data, dynamic_size=extent)
    return promise


# What a lowering makes of it ------------------------------------------------------------------------------------------

refused(
    "works on handles of MLIR's runtime, which the machine does not model; check the program before it is lowered",
    runtime.RuntimeCreateOp,
    runtime.RuntimeCreateGroupOp,
    runtime.RuntimeSetAvailableOp,
    runtime.RuntimeSetErrorOp,
    runtime.RuntimeIsErrorOp,
    runtime.RuntimeAwaitOp,
    runtime.RuntimeResumeOp,
    runtime.RuntimeAwaitAndResumeOp,
    runtime.RuntimeStoreOp,
    runtime.RuntimeLoadOp,
    runtime.RuntimeAddToGroupOp,
    runtime.RuntimeAddRefOp,
    runtime.RuntimeDropRefOp,
    coroutines.CoroIdOp,
    coroutines.CoroBeginOp,
    coroutines.CoroFreeOp,
    coroutines.CoroEndOp,
    coroutines.CoroSaveOp,
    coroutines.CoroSuspendOp,
)
