"""
Tokens become counts: every task of a function becomes a group of some queue, and every wait a wait for a number.

    scf.for ... iter_args(%a = %0, %b = %1) {            scf.for ... {
      %c = async.execute { store to slot }                 async_queue.commit 0 { async_queue.scope { store to slot } }
      async.await %a                                ->     async_queue.wait 0, 2
      ... use the other slot ...                           ... use the other slot ...
      scf.yield %b, %c                                   }
    }                                                    async_queue.wait 0, 1
    async.await %r#0                                     async_queue.wait 0, 0
    async.await %r#1

The count is the token's age (`analysis/ages.py`): the least number of groups committed after the task's own on any path
to the wait. The dependencies of a task become waits of the thread that issues it, in front of its commit.
Several waits with nothing in between that has an effect are one moment, with one wait for each queue.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.dialects.scf import IfOp
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.async_queue import CommitOp, ScopeOp, WaitOp
from tileas_xdsl.interfaces import FunctionOpInterface, functions_in
from tileas_xdsl.transforms.queues.convert_async_to_queue.plan import ConversionPlan, plan_queues, report
from tileas_xdsl.transforms.queues.convert_async_to_queue.tasks import (
    TokenProgram,
    names_completion,
    read_tokens,
    work_of,
)
from tileas_xdsl.transforms.rewriting.structure import remove_values


def first_free_queues(plans: dict[Operation, ConversionPlan], module: Operation) -> dict[Operation, int]:
    """
    The number of each function's first queue: past those in use already, and past those of functions that are
    related to it by calls, since queues belong to the whole execution.
    """
    names = {view.function_name: op for op in functions_in(module) if (view := FunctionOpInterface.of(op)) is not None}
    component = {op: op for op in names.values()}

    def find(op: Operation) -> Operation:
        while component[op] is not op:
            op = component[op]
        return op

    for caller in names.values():
        for op in caller.walk():
            callee = names.get(op.callee.string_value()) if isinstance(op, CallOp) else None
            if callee is not None:
                component[find(callee)] = find(caller)
    used: dict[Operation, int] = {}
    for function in names.values():
        queues = [op.queue for op in function.walk() if isinstance(op, CommitOp | WaitOp)]
        numbers = [queue for queue in queues if isinstance(queue, int)]
        used[find(function)] = max(used.get(find(function), 0), 1 + max(numbers, default=-1))
    first: dict[Operation, int] = {}
    for function, plan in plans.items():
        first[function] = used[find(function)]
        used[find(function)] += plan.queues
    return first


def emit_queues(plan: ConversionPlan, first_queue: int) -> None:
    """Carry out a plan; cannot fail."""
    program = plan.program
    for moment, counts in plan.counts:
        block = moment.anchor.parent
        assert block is not None
        waits = [WaitOp(first_queue + queue, count) for queue, count in counts.items()]
        if moment.anchor in moment.waits:
            block.insert_ops_after(waits, moment.anchor)
        else:
            block.insert_ops_before(waits, moment.anchor)
    for task in program.tasks:
        _emit_group(task, program, first_queue + plan.queue_of[task])
    done = [op for moment in program.moments for op in moment.waits]
    done += [*program.names, *program.parts]
    done += [task for task in program.tasks if not isinstance(task, IfOp) and task not in program.parts]
    for op in done:
        op.operands = []
    remove_values(program.function, names_completion)
    for op in done:
        Rewriter.erase_op(op)


def _emit_group(task: Operation, program: TokenProgram, queue: int) -> None:
    """Commit what `task` stands for: in its place, or, where it is a branch, around it."""
    block = task.parent
    assert block is not None
    parts = program.members.get(task, (task,))
    scopes = {part: ScopeOp(Region(Block(work_of(part))), dict(part.attributes)) for part in parts}
    if not isinstance(task, IfOp):
        block.insert_op_before(CommitOp(queue, Region(Block(list(scopes.values())))), task)
        return
    for part, scope in scopes.items():
        beside = part.parent
        assert beside is not None
        beside.insert_op_before(scope, part)
    commit = CommitOp(queue, Region(Block()))
    block.insert_op_before(commit, task)
    task.detach()
    commit.body.block.add_op(task)


@dataclass(frozen=True)
class ConvertAsyncToQueuePass(ModulePass):
    """
    Turn tokens of `async` into groups and counts of `async_queue`.

    Rewrites: `async.execute` without values, `async_region.copy` and `gpu.memcpy` to `async_queue.commit` around
    `async_queue.scope`; `async.await`, `async.await_all`, `gpu.wait` and dependencies to `async_queue.wait`; loops and
    branches to the same without tokens. It uses the fewest queues that keep every wait exact, or `max-queues`, with a
    remark on each wait that then waits for more.

    Requires: nothing.

    Refuses, with the IR untouched: tokens that cannot be followed (arguments, results, calls, memory), promises of
    values, tasks in tasks, tasks whose body a scope cannot hold, resources, and, without `max-queues`, a wait for a
    task while an older one with which it must share a queue may be unfinished.
    """

    name = "convert-async-to-queue"

    max_queues: int | None = field(default=None, metadata={"help": "use no more queues than this, and wait for more"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.max_queues is not None and self.max_queues < 1:
            refuse(op, f"cannot be converted with max-queues={self.max_queues}", "allow one queue at least")
        plans: dict[Operation, ConversionPlan] = {}
        for function in functions_in(op):
            program = read_tokens(function)
            if program is not None:
                plans[function] = plan_queues(program, self.max_queues)
        for function, first_queue in first_free_queues(plans, op).items():
            report(plans[function])
            emit_queues(plans[function], first_queue)
