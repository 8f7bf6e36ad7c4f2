"""
Make one region of several, so that there are fewer tokens and fewer tasks.

    %s = async_region.region [%a] {                  %t = async_region.region [%a] {
      store                                            store
      async_region.yield after [%c]           ->       async.await %c
    }                                                  async.await %b
    %t = async_region.region [%s, %b] {                load
      load                                             async_region.yield
      async_region.yield                             }
    }

Source: "[RFC] New dialect for modelling asynchronous execution at a higher-level" (LLVM Discourse), which proposes to
"combine async.region operations to avoid overhead".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import MemoryEffectKind, get_effects

from tileas_xdsl.analysis.buffer_touches import ancestor_in
from tileas_xdsl.analysis.completion import Completions
from tileas_xdsl.analysis.tasks import TokenTask, task_of
from tileas_xdsl.analysis.token_uses import refuse_untraceable_tokens
from tileas_xdsl.dialects.async_ import AwaitOp, ValueType
from tileas_xdsl.interfaces import AsyncOpInterface, functions_in


@dataclass
class Joint:
    """Tasks that become one, in the order of their bodies."""

    tasks: list[TokenTask]
    waits: list[list[SSAValue]]
    """For each task what is to be awaited in front of its body."""


# The plan -------------------------------------------------------------------------------------------------------------


def plan_joints(function: Operation, *, siblings: bool) -> list[Joint]:
    """The tasks of `function` to be joined. Raises `RefusedError` for tokens that escape."""
    blocks = [block for op in function.walk() for region in op.regions for block in region.blocks]
    candidates = [(block, [task for op in block.ops if (task := task_of(op)) is not None]) for block in blocks]
    candidates = [(block, tasks) for block, tasks in candidates if len(tasks) > 1]
    if not candidates:
        return []
    refuse_untraceable_tokens(function)
    facts = Completions(function)
    joints: list[Joint] = []
    for block, tasks in candidates:
        order = _Order(block)
        chains = _chains(tasks, order, facts)
        joints += chains
        if siblings:
            chained = {task.op for joint in chains for task in joint.tasks}
            joints += _neighbours([task for task in tasks if task.op not in chained], order)
    return joints


class _Order:
    """Places in a block, and whether an op may be issued later."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.place = {op: place for place, op in enumerate(block.ops)}
        quiet = [_is_quiet(op) for op in block.ops]
        self.loud = [0]
        """For each place how many ops before it wait or touch memory."""
        for is_quiet in quiet:
            self.loud.append(self.loud[-1] + (not is_quiet))

    def may_move(self, op: Operation, to: Operation) -> bool:
        """Whether `op` may be issued where `to` stands: nothing between waits, touches memory, or uses its results."""
        start, end = self.place[op], self.place[to]
        if self.loud[end] - self.loud[start]:
            return False
        uses = (use for result in op.results for use in result.uses)
        return all(self.place[ancestor_in(self.block, use.operation)] >= end for use in uses)


def _is_quiet(op: Operation) -> bool:
    view = AsyncOpInterface.of(op)
    if view is not None:
        return view.async_token is not None
    effects = get_effects(op)
    return effects is not None and all(effect.kind is MemoryEffectKind.ALLOC for effect in effects)


def _chains(tasks: Sequence[TokenTask], order: _Order, facts: Completions) -> list[Joint]:
    """Tasks each of which is the only one that waits for the one before it."""
    by_op = {task.op: task for task in tasks}
    before: dict[Operation, TokenTask] = {}
    for task in tasks:
        follower = _only_waiter(task, by_op)
        if follower is not None and order.may_move(task.op, follower.op):
            before[follower.op] = task
    taken = {task.op for task in before.values()}
    joints: list[Joint] = []
    for last in tasks:
        if last.op in taken or last.op not in before:
            continue
        chain = [last]
        while chain[0].op in before:
            chain.insert(0, before[chain[0].op])
        joints.append(Joint(chain, [[], *(_waits(*pair, facts) for pair in pairwise(chain))]))
    return joints


def _only_waiter(task: TokenTask, tasks: dict[Operation, TokenTask]) -> TokenTask | None:
    """The task of the same kind that alone waits for `task`, by its token or by unwrapping its promises."""
    waiters: dict[Operation, None] = {}
    for result in task.op.results:
        if result.type == task.token.type or isinstance(result.type, ValueType):
            waiters.update((use.operation, None) for use in result.uses)
    follower = tasks.get(next(iter(waiters), task.op)) if len(waiters) == 1 else None
    return (
        follower if follower is not None and follower.op is not task.op and follower.op.name == task.op.name else None
    )


def _waits(first: TokenTask, second: TokenTask, facts: Completions) -> list[SSAValue]:
    """The tokens to be awaited between the bodies of `first` and of `second`, which followed it."""
    known = facts.past(first.token) | facts.known_before(first.op)
    others = [token for token in second.dependencies if token.owner is not first.op]
    return [*dict.fromkeys(first.tokens), *(token for token in others if not facts.bit(token) & known)]


def _neighbours(tasks: Sequence[TokenTask], order: _Order) -> list[Joint]:
    """Runs of tasks that wait for the same, of which each may be issued where the last one stands."""
    joints: list[Joint] = []
    run: list[TokenTask] = []
    for task in [*tasks, None]:
        fits = (
            task is not None
            and run
            and task.op.name == run[0].op.name
            and set(task.dependencies) == set(run[0].dependencies)
            and all(order.may_move(member.op, task.op) for member in run)
        )
        if fits and task is not None:
            run.append(task)
            continue
        if len(run) > 1:
            joints.append(Joint(run, [[] for _ in run]))
        run = [task] if task is not None else []
    return joints


# The rewriting --------------------------------------------------------------------------------------------------------


def apply_joint(joint: Joint, renamed: dict[SSAValue, SSAValue]) -> None:
    """Replace the last of several tasks by one; note in `renamed` what became of their results."""
    members = {task.op for task in joint.tasks}
    *_, last = joint.tasks
    chained = any(token.owner in members for task in joint.tasks for token in (*task.dependencies, *task.promises))
    given = joint.tasks[0].promises if chained else [p for task in joint.tasks for p in task.promises]
    body = Block(arg_types=[p.type.value_type for p in given if isinstance(p.type, ValueType)])
    arguments = list(body.args)
    inside: dict[SSAValue, SSAValue] = {}
    """Result of a task -> what its body yields for it."""
    outputs: list[tuple[SSAValue, SSAValue]] = []
    for task, waits in zip(joint.tasks, joint.waits, strict=True):
        body.add_ops([AwaitOp(renamed.get(wait, wait)) for wait in waits])
        for promise, argument in zip(task.promises, task.body.args, strict=True):
            payload = inside.get(promise)
            if payload is None and (task is joint.tasks[0] or not chained):
                payload = arguments.pop(0)
            elif payload is None:
                wait = AwaitOp(promise)
                body.add_op(wait)
                payload = wait.results[0]
            payload.name_hint = payload.name_hint or argument.name_hint
            argument.replace_all_uses_with(payload)
        for value, result in zip(task.yielded, task.op.results[1:], strict=True):
            inside[result] = value
            outputs.append((value, result))
        for op in list(task.body.ops)[:-1]:
            op.detach()
            body.add_op(op)
    for value, result in outputs:
        result.replace_uses_with_if(value, lambda use: _stands_in(use.operation, body))
    kept = [(value, result) for value, result in outputs if any(use.operation not in members for use in result.uses)]
    tokens = last.tokens if chained else [token for task in joint.tasks for token in task.tokens]
    values = [(value, result.type) for value, result in kept]
    joined = last.regional.task_like_this(joint.tasks[0].dependencies, given, body, values, tokens)
    assert joined is not None
    joined.attributes.update(last.op.attributes)
    Rewriter.insert_op(joined, InsertPoint.before(last.op))
    joined.results[0].name_hint = last.token.name_hint
    for (_, result), new in zip(kept, joined.results[1:], strict=True):
        new.name_hint = result.name_hint
        renamed[result] = new
        result.replace_all_uses_with(new)
    for task in joint.tasks:
        renamed[task.token] = joined.results[0]
        for waiter in dict.fromkeys(use.operation for use in task.token.uses if use.operation not in members):
            _replace_token(waiter, task.token, joined.results[0])
    for task in reversed(joint.tasks):
        Rewriter.erase_op(task.op)


def _replace_token(waiter: Operation, token: SSAValue, new: SSAValue) -> None:
    """Let `waiter` name `new` in place of `token`; as a dependency once, however many tokens it takes the place of."""
    view = AsyncOpInterface.of(waiter)
    if view is not None and new in view.async_dependencies:
        while token in view.async_dependencies and view.remove_async_dependency(token):
            pass
    token.replace_uses_with_if(new, lambda use: use.operation is waiter)


def _stands_in(op: Operation, body: Block) -> bool:
    block = op.parent_block()
    while block is not None and block is not body:
        parent = block.parent_op()
        block = parent.parent_block() if parent is not None else None
    return block is body


@dataclass(frozen=True)
class AsyncJoinRegionsPass(ModulePass):
    """
    Join regions that run one after the other anyway, so that there are fewer tokens.

    Rewrites:

    - *Chains.* A region is joined with the one that follows it if that is the only one that waits for it. Nothing is
      lost: they ran one after the other before. What else the second waits for, it waits for inside.
    - *Neighbours*, with `siblings=true`: regions that depend on the same tokens, none on another, run one after the
      other in one region. That is less concurrency and one token.

    Former order stays: whoever waited for one of them waits for all. Between the first and the last nothing may stand
    that waits or touches memory, since the first is now issued where the last one stood, and nothing that uses a
    result.

    Requires: nothing. Refuses tokens that escape (`analysis.token_uses`). Leaves alone: launches, regions with a token
    argument or several tokens, and tasks that wait for groups. Linear in the ops and edges.

    Choices
        Joins by itself only what loses no concurrency; what could overlap is joined on request.
    """

    name = "async-join-regions"

    siblings: bool = field(
        default=False,
        metadata={"help": "also regions that wait for the same and could overlap, which then run one after another"},
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        joints = [joint for function in functions_in(op) for joint in plan_joints(function, siblings=self.siblings)]
        renamed: dict[SSAValue, SSAValue] = {}
        for joint in joints:
            apply_joint(joint, renamed)
