"""
Read a function that uses tokens: its tasks, the moments at which it waits, and whether counts can express both.

A *task* is an asynchronous op that returns a token and nothing else, and whose work an `async_queue.scope` may hold. A
*moment* is a place where the thread waits: a run of waits with nothing in between that has an effect, or a task with
dependencies together with the waits right before it. A moment waits for all of its tokens at once.

A task without a body does nothing but complete. Without dependencies it is *finished* when it starts, and no group at
all. With some it says when they are all complete: if these are tasks right before it that nobody else waits for, the
task and they are one group of several scopes, else it is a name for all of them.

A branch that returns the token of a task or else a finished one is a group that may be empty: it is committed on both
paths, so that every path counts alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, gpu, memref, scf
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from tileas_xdsl.analysis.dependence import is_token
from tileas_xdsl.analysis.memory.effects import only_computes
from tileas_xdsl.analysis.outstanding import NO_EVENTS, TokenEvents
from tileas_xdsl.analysis.value_flow import carried_to, values_in
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.async_ import AddToGroupOp, CreateGroupOp, GroupType, ValueType
from tileas_xdsl.dialects.async_queue import CommitOp, QueueScope, WaitOp
from tileas_xdsl.dialects.async_region import CopyOp
from tileas_xdsl.interfaces import (
    AgentLikeOpInterface,
    AsyncOpInterface,
    AsyncRegionOpInterface,
    FunctionOpInterface,
    end_of,
)
from tileas_xdsl.transforms.queues.convert_async_to_queue.bodies import verify_body
from tileas_xdsl.transforms.rewriting.structure import CARRIERS

COPIES: dict[type[Operation], Callable[[Operation], Operation]] = {
    CopyOp: lambda op: memref.CopyOp(*_ends_of_copy(op)),
    gpu.MemcpyOp: lambda op: memref.CopyOp(op.operands[-1], op.operands[-2]),
}
"""Asynchronous ops without a body -> the op that does the same at once."""


@dataclass(frozen=True)
class Moment:
    """The thread waits for all of `tokens`, in front of `anchor`; `waits` are the ops that do nothing else."""

    anchor: Operation
    tokens: tuple[SSAValue, ...]
    waits: tuple[Operation, ...]

    @property
    def start(self) -> Operation:
        """The first op of the moment."""
        return self.waits[0] if self.waits else self.anchor


@dataclass
class TokenProgram:
    """One function in terms of tokens."""

    function: Operation
    tasks: list[Operation] = field(default_factory=list[Operation])
    moments: list[Moment] = field(default_factory=list[Moment])
    names: list[Operation] = field(default_factory=list[Operation])
    """
    Ops that do no work and stand for other tasks, or for none: groups of tokens, additions to them, tasks without a
    body.
    """
    members: dict[Operation, tuple[Operation, ...]] = field(default_factory=dict[Operation, tuple[Operation, ...]])
    """
    What closes a group of several, or of perhaps none -> the tasks that do the work, which are not among `tasks`.
    """
    finished: list[SSAValue] = field(default_factory=list[SSAValue])
    """Tokens that are complete from the start."""

    parts: dict[Operation, None] = field(default_factory=dict[Operation, None])
    """All the tasks in `members`."""

    def make_one(self, group: Operation, members: Sequence[Operation]) -> None:
        """Make one group of `members`, which are tasks no more."""
        self.members[group] = tuple(members)
        self.parts.update(dict.fromkeys(members))
        self.tasks = [task for task in self.tasks if task not in self.parts]

    _events: dict[Operation, TokenEvents] = field(default_factory=dict[Operation, TokenEvents])

    def settle(self) -> None:
        """Compute, once, what every op does with tokens: `events_of` and `waits_of` look it up."""
        for op in self.function.walk():
            events = self._work_out(op)
            if events is not NO_EVENTS:
                self._events[op] = events

    def events_of(self, op: Operation) -> TokenEvents:
        """What `op` does with tokens."""
        return self._events.get(op, NO_EVENTS)

    def _work_out(self, op: Operation) -> TokenEvents:
        if isinstance(op, arith.SelectOp) and names_completion(op.result):
            return TokenEvents(chooses=(op.result, (op.lhs, op.rhs)))
        if isinstance(op, AddToGroupOp):
            return TokenEvents(joins=(op.group, (op.operand,)))
        view = AsyncOpInterface.of(op)
        if isinstance(op, scf.IfOp) and op in self.members:
            return TokenEvents(starts=token_of(op))
        if view is None or op in self.parts:
            return NO_EVENTS
        token = view.async_token
        if op in self.names:
            return TokenEvents(joins=(token, tuple(view.async_dependencies))) if token is not None else NO_EVENTS
        return TokenEvents(waits=self.waits_of(op), starts=token)

    def waits_of(self, op: Operation) -> tuple[SSAValue, ...]:
        """The tokens that the thread waits for at `op`."""
        awaited: list[SSAValue] = []
        for waiting in self.members.get(op, (op,)):
            view = AsyncOpInterface.of(waiting)
            if view is not None and op not in self.parts and op not in self.names:
                awaited += view.async_dependencies
        return tuple(dict.fromkeys(awaited))


def token_of(task: Operation) -> SSAValue:
    """The token of what is a task, or makes one group of some."""
    view = AsyncOpInterface.of(task)
    token = task.results[0] if view is None else view.async_token
    assert token is not None
    return token


def names_completion(value: SSAValue) -> bool:
    """Whether `value` says when something is complete: a token, or a group of them."""
    return is_token(value.type) or isinstance(value.type, GroupType)


def read_tokens(function: Operation) -> TokenProgram | None:
    """
    The function's tasks and moments; None where it has none. Raises `RefusedError` where counts cannot express them.
    """
    view = FunctionOpInterface.of(function)
    assert view is not None
    values = [value for value in values_in(function) if names_completion(value) or isinstance(value.type, ValueType)]
    program = TokenProgram(function)
    for op in _own_ops(view.function_body):
        if AsyncOpInterface.of(op) is not None or isinstance(op, CreateGroupOp | AddToGroupOp):
            _read_op(op, program)
    if not values and not program.tasks:
        return None
    _find_bodiless(program)
    for op in reversed(list(_own_ops(view.function_body))):
        if isinstance(op, scf.IfOp):
            _find_predicated(op, program)
    own = {op: None for op in _own_ops(view.function_body) if AsyncOpInterface.of(op) is not None}
    makers = dict.fromkeys([*program.tasks, *program.names, *program.parts])
    for value in values:
        _must_be_followed(value, program, makers, own)
    for block in _own_blocks(view.function_body):
        program.moments += _moments(block, program)
    _refuse_mixture(function)
    program.settle()
    return program


def _own_blocks(region: Region) -> Iterator[Block]:
    """The blocks that the thread itself runs, those of tasks apart."""
    for block in region.blocks:
        yield block
        for op in block.ops:
            if not is_elsewhere(op):
                for inner in op.regions:
                    yield from _own_blocks(inner)


def _own_ops(region: Region) -> Iterator[Operation]:
    for block in _own_blocks(region):
        yield from block.ops


def is_elsewhere(op: Operation) -> bool:
    """Whether the regions of `op` are run by another agent than the one that comes to `op`."""
    return AsyncRegionOpInterface.of(op) is not None or AgentLikeOpInterface.of(op) is not None


# One op ---------------------------------------------------------------------------------------------------------------


def _read_op(op: Operation, program: TokenProgram) -> None:
    if isinstance(op, CreateGroupOp | AddToGroupOp):
        program.names.append(op)
        if isinstance(op, AddToGroupOp) and op.rank.first_use is not None:
            refuse(op, "is asked for the rank of a member, and a queue has none", "count the members yourself")
        return
    view = AsyncOpInterface.of(op)
    assert view is not None
    if view.async_token is None:
        if view.async_dependencies and not view.only_waits:
            refuse(op, "waits and does something else", "give it a token, or wait in front of it")
        return
    program.tasks.append(op)
    if len(op.results) > 1:
        refuse(op, "returns more than its token", "store what it computes in a buffer, and load that after a wait")
    regional = AsyncRegionOpInterface.of(op)
    if regional is None:
        if type(op) not in COPIES:
            refuse(op, "has no counterpart that a scope could hold", "do its work in an async.execute, or at once")
        if isinstance(op, CopyOp) and op.resource is not None:
            refuse(op, "takes turns on a resource, which groups do not", "leave the resource out")
        return
    if regional.async_region_token(0) is not None or len(op.regions) != 1:
        refuse(op, "hands its token into a region", "turn it into async.execute first")
    if regional.async_region_arguments(0):
        refuse(op, "takes what others promised", "pass it through a buffer, and depend on the token")
    if len(op.operands) > len(view.async_dependencies):
        refuse(op, "takes a resource or other operands, which a group cannot", "turn it into async.execute first")
    if regional.async_region_dependencies(0):
        refuse(op, "is complete only when tokens of its body are, too", "turn it into async.execute first")
    verify_body(op)


def _find_bodiless(program: TokenProgram) -> None:
    """Find the tasks without a body: those that are finished, those that name others, and those that close a group."""
    for task in list(program.tasks):
        view = AsyncOpInterface.of(task)
        assert view is not None
        assert view.async_token is not None
        if not task.regions or len(list(task.regions[0].block.ops)) > 1:
            continue
        if not view.async_dependencies:
            program.finished.append(view.async_token)
            program.tasks.remove(task)
            program.names.append(task)
        elif (members := _members(task, view.async_dependencies, program)) is not None:
            program.make_one(task, members)
        else:
            program.tasks.remove(task)
            program.names.append(task)


def _members(task: Operation, tokens: Sequence[SSAValue], program: TokenProgram) -> tuple[Operation, ...] | None:
    """The tasks of these tokens, if they stand right before `task`, which alone waits for them; in order."""
    wanted = {token: None for token in tokens}
    found: list[Operation] = []
    op = task.prev_op
    while op is not None and len(found) < len(wanted):
        view = AsyncOpInterface.of(op)
        if view is not None:
            token = view.async_token
            if op not in program.tasks or token not in wanted or token is None or not token.has_one_use():
                return None
            if any(dependency in wanted for dependency in view.async_dependencies):
                return None
            found.append(op)
        elif not _is_passive(op):
            return None
        op = op.prev_op
    return tuple(reversed(found)) if len(found) == len(wanted) else None


def _find_predicated(branch: scf.IfOp, program: TokenProgram) -> None:
    """Make one task of a branch that returns nothing but the token of a task, or else a finished one."""
    if len(branch.results) != 1 or not names_completion(branch.results[0]):
        return
    found: list[Operation] = []
    inner: list[Operation] = []
    for region in branch.regions:
        last = region.block.last_op
        inner += [op for op in region.walk() if AsyncOpInterface.of(op) is not None]
        if last is None or last.operands[0] in program.finished:
            continue
        owner = last.operands[0].owner
        if not isinstance(owner, Operation) or owner.parent is not region.block or owner not in program.tasks:
            return
        if program.waits_of(owner) or not last.operands[0].has_one_use():
            return
        found.append(owner)
    parts = [part for task in found for part in (task, *program.members.get(task, ()))]
    if not found or any(op not in parts for op in inner):
        return
    program.tasks[min(map(program.tasks.index, found))] = branch
    program.tasks = [task for task in program.tasks if task not in found]
    program.names += [task for task in found if task in program.members and task.name != branch.name]
    program.make_one(branch, [part for task in found for part in program.members.pop(task, (task,))])


def _ends_of_copy(op: Operation) -> tuple[SSAValue, SSAValue]:
    assert isinstance(op, CopyOp)
    return op.source, op.destination


def work_of(task: Operation) -> list[Operation]:
    """The ops that do the work of a task in a scope; they are taken out of it."""
    if type(task) in COPIES:
        return [COPIES[type(task)](task)]
    block = task.regions[0].block
    terminator = end_of(block)
    Rewriter.erase_op(terminator)
    ops = list(block.ops)
    for op in ops:
        op.detach()
    return ops


# One token ------------------------------------------------------------------------------------------------------------


def _must_be_followed(
    value: SSAValue, program: TokenProgram, makers: Mapping[Operation, None], own: Mapping[Operation, None]
) -> None:
    """Every token is made by one of `makers` or carried from there, and goes nowhere but to ops of the thread's own."""
    owner = value.owner
    if isinstance(value.type, ValueType):
        op = owner if isinstance(owner, Operation) else program.function
        refuse(op, "promises a value, and a queue has none to give", "pass it through a buffer, and wait for the token")
    if isinstance(owner, Block):
        if owner is program.function.regions[0].first_block:
            refuse(program.function, "takes a token from its caller, which cannot be followed", "inline it")
    elif owner not in makers and AsyncOpInterface.of(owner) is not None:
        refuse(owner, "is a task of another agent or task, which waits on its own", "start it in the function itself")
    elif owner not in makers and not _carries(owner):
        refuse(owner, "makes a token that cannot be followed to a task", "inline the call, or keep the token in values")
    for use in value.uses:
        user = use.operation
        if isinstance(value.type, GroupType) and not (user in own or user in makers):
            refuse(user, "hands a group on, which cannot be followed", "use it where it is made")
        if carried_to(use) is not None or user in makers or user in own:
            continue
        if AsyncOpInterface.of(user) is not None:
            refuse(user, "waits in another agent or task, where counts mean nothing", "wait in the function itself")
        if FunctionOpInterface.of(user.parent_op()) is not None and not user.results and user.next_op is None:
            refuse(user, "returns a token, which its caller would have to follow", "wait for it before, or inline")
        refuse(user, "takes a token to where it cannot be followed", "inline the call, or keep the token in values")


def _carries(op: Operation) -> bool:
    """Whether `op` passes its operands on unchanged, so that a token of its result is a token of an operand."""
    return isinstance(op, (arith.SelectOp, *CARRIERS))


# Moments --------------------------------------------------------------------------------------------------------------


def _moments(block: Block, program: TokenProgram) -> Iterator[Moment]:
    """The moments of one block, in order."""
    waits: list[Operation] = []
    for op in block.ops:
        view = AsyncOpInterface.of(op)
        if view is not None and view.async_token is None and view.async_dependencies:
            waits.append(op)
        elif program.waits_of(op):
            yield _moment(op, [*waits, op], program)
            waits = []
        elif waits and op not in program.parts and (view is not None or not _is_passive(op)):
            yield _moment(op, waits, program)
            waits = []
    if waits:
        following = waits[-1].next_op
        yield _moment(following if following is not None else waits[-1], waits, program)


def _moment(anchor: Operation, ops: Sequence[Operation], program: TokenProgram) -> Moment:
    tokens = tuple(dict.fromkeys(token for op in ops for token in program.waits_of(op)))
    return Moment(anchor, tokens, tuple(op for op in ops if op is not anchor))


def _is_passive(op: Operation) -> bool:
    """Whether a wait may move across `op`: it has no effect and makes no token."""
    if any(map(names_completion, op.results)) or op.successors or op.next_op is None:
        return False
    return only_computes(op)


def _refuse_mixture(function: Operation) -> None:
    """Queues that are in use already must have known numbers, so that new ones can keep apart from them."""
    for op in function.walk():
        if isinstance(op, CommitOp | WaitOp) and not isinstance(op.queue, int):
            refuse(op, "uses a queue that is computed, which may be any", "convert tokens before queues are computed")
        if isinstance(op, QueueScope) and any(AsyncOpInterface.of(inner) is not None for inner in op.walk()):
            refuse(op, "holds asynchronous ops with tokens", "move them out of the scope")
