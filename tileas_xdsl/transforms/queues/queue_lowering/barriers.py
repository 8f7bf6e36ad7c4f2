"""
Where the threads of a block must meet.

Copies go to memory that a block shares, and a wait covers the waiting thread's own ones only: so the threads meet right
after each wait. They also meet before copies overwrite what another thread may still be reading, unless nobody touched
shared memory since they last met. Threads that take different branches do not meet, so that is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import memref, vector
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.forward_flow import Arrival, FlowClient, analyse
from tileas_xdsl.analysis.thread_dependence import differs_between_threads
from tileas_xdsl.analysis.windows import called_functions, function_name, symbol_called
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.async_queue import CommitOp, QueueScope, WaitOp
from tileas_xdsl.interfaces import FunctionOpInterface, functions_in
from tileas_xdsl.transforms.queues.queue_lowering.buffers import SHARED, space_of
from tileas_xdsl.transforms.queues.queue_lowering.copies import touches_nothing
from tileas_xdsl.transforms.queues.queue_lowering.plan import LoweringPlan
from tileas_xdsl.transforms.queues.queue_lowering.target import QueueTarget


@dataclass
class BarrierPoints:
    """Where barriers go: in front of these ops, in program order, and behind these waits."""

    before: list[Operation] = field(default_factory=list[Operation])
    after: list[Operation] = field(default_factory=list[Operation])


def plan_barriers(module: Operation, plan: LoweringPlan) -> BarrierPoints:
    """The places of barriers. Raises `RefusedError` for one that some threads of the block may not reach."""
    called = called_functions(module)
    use = _SharedUse(plan)
    used: dict[Operation, bool] = {}
    for function in functions_in(module):
        flow = analyse(function, use, function_name(function) in called)
        for op, state in flow.before.items():
            used[op] = used.get(op, False) or state
    meetings = BarrierPoints()
    for op in module.walk():
        if isinstance(op, WaitOp) and plan.waits[op] is not None:
            meetings.after.append(op)
        elif use.overwrites(op) and used.get(op, False):
            meetings.before.append(op)
    threads = _Threads(module)
    for op in (*meetings.before, *meetings.after):
        threads.refuse_divergence(op)
    return meetings


def carry_out_barriers(meetings: BarrierPoints, target: QueueTarget) -> None:
    """Insert the barriers, while the queues are still there: those after a wait go to the head of its body."""
    for op in meetings.before:
        Rewriter.insert_op(target.barrier(), InsertPoint.before(op))
    for op in meetings.after:
        if _next_waits(op, meetings.after):
            continue
        block = op.regions[0].first_block
        if block is None:
            op.regions[0].add_block(block := Block())
        Rewriter.insert_op(target.barrier(), InsertPoint.at_start(block))


def _next_waits(op: Operation, waits: Sequence[Operation]) -> bool:
    """Whether the next thing that happens after a wait is another one, after which the threads meet."""
    body = op.regions[0].first_block
    first = body.first_op if body is not None else None
    following = op.next_op if first is None else first
    return following is not None and any(following is other for other in waits)


class _SharedUse(FlowClient[bool]):
    """Whether shared memory may have been touched since the threads last met."""

    def __init__(self, plan: LoweringPlan) -> None:
        self.plan = plan
        self.copied = {op for found in plan.scopes.values() for copy in found.copies for op in (copy.load, copy.store)}
        copying = [scope for scope, found in plan.scopes.items() if found.copies]
        self.starts_copies = {op for scope in copying for op in (scope, *_commits_around(scope))}

    def overwrites(self, op: Operation) -> bool:
        """Whether `op` starts copies. A commit stands for its scopes, so that the threads meet outside its branches."""
        return op in self.starts_copies

    def join(self, arrivals: Sequence[Arrival[bool]]) -> bool:
        return any(arrival.state for arrival in arrivals)

    def enter(self, op: Operation, state: bool) -> bool:
        if isinstance(op, WaitOp):
            return state and self.plan.waits[op] is None
        return state and not self.overwrites(op)

    def leave(self, op: Operation, state: bool) -> bool:
        return state or (op not in self.copied and _touches_shared_memory(op))

    def opaque_call(self, op: Operation, state: bool) -> bool:
        return True


def _commits_around(op: Operation) -> Iterator[CommitOp]:
    node = op.parent_op()
    while node is not None:
        if isinstance(node, CommitOp):
            yield node
        node = node.parent_op()


def _touches_shared_memory(op: Operation) -> bool:
    """Whether `op` by itself may read or write shared memory. (What copies write is read only after a wait.)"""
    match op:
        case memref.LoadOp() | memref.StoreOp():
            return space_of(op.memref) == SHARED
        case vector.LoadOp() | vector.StoreOp():
            return space_of(op.base) == SHARED
        case memref.AllocOp() | memref.AllocaOp() | memref.DeallocOp():
            return False
        case _:
            return not op.regions and not isinstance(op, QueueScope) and not touches_nothing(op)


class _Threads:
    """Finds the branches that the threads of a block may take differently, because they depend on a thread number."""

    def __init__(self, module: Operation) -> None:
        self.functions = {function_name(function): function for function in functions_in(module)}
        self.calls: dict[str, list[Operation]] = {name: [] for name in self.functions}
        for op in module.walk():
            if (symbol := symbol_called(op)) in self.calls:
                self.calls[symbol].append(op)

    def refuse_divergence(self, op: Operation) -> None:
        """Raises `RefusedError` where the number of the thread decides whether `op` is reached, in calls as well."""
        reached, worklist = {op}, [op]
        while worklist:
            node = worklist.pop()
            while node is not None and FunctionOpInterface.of(node) is None:
                for decision in (*_decisions_beside(node), node.parent_op()):
                    if decision is not None and any(map(differs_between_threads, decision.operands)):
                        _refuse_meeting(op, decision)
                node = node.parent_op()
            if node is not None:
                fresh = [call for call in self.calls[function_name(node)] if call not in reached]
                reached.update(fresh)
                worklist += fresh


def _decisions_beside(op: Operation) -> list[Operation]:
    """The branches between the blocks of the region that `op` stands in."""
    region = op.parent_region()
    if region is None or len(region.blocks) < 2:
        return []
    last_ops = [block.last_op for block in region.blocks]
    return [last for last in last_ops if last is not None and len(last.successors) > 1]


def _refuse_meeting(op: Operation, decision: Operation) -> None:
    refuse(
        op,
        f"needs a barrier of all threads, and the '{decision.name}' around it depends on the number of the thread",
        "let all threads commit and wait, or pass barriers=false and order the threads in the program",
    )
