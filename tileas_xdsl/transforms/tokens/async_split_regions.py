"""
Make several regions of one that returns several values, so that each value is there as soon as it is computed.

    %t, %p, %q = async_region.region [%a] {          %s, %c = async_region.region [%a] { common }
      common                                         %t, %p = async_region.region (%c as ...) { first }
      first                                   ->     %u, %q = async_region.region (%c as ...) { second }
      second
      async_region.yield %first, %second
    }

"A more natural way to represent this might be to split the async.region into pieces so that intermediate results are
returned by their own region" ("[RFC] New dialect for modelling asynchronous execution at a higher-level", LLVM
Discourse).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator, is_side_effect_free

from tileas_xdsl.analysis.buffer_touches import allocated_buffer, ancestor_in
from tileas_xdsl.analysis.captures import captured_values
from tileas_xdsl.analysis.memory.effects import stated_effects
from tileas_xdsl.analysis.tasks import TokenTask, task_of
from tileas_xdsl.analysis.token_uses import refuse_untraceable_tokens
from tileas_xdsl.dialects.async_ import ValueType
from tileas_xdsl.interfaces import AsyncOpInterface, end_of, functions_in


@dataclass
class RegionPart:
    """Ops of a body that the same results need."""

    ops: list[Operation] = field(default_factory=list[Operation])
    needs: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    """Values that other parts compute."""
    gives: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    """Values that other parts need, or the region returns."""
    passes: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    """Those of them that other parts need."""

    @property
    def is_needed(self) -> bool:
        """Whether another part waits for it anyway."""
        return bool(self.passes)


@dataclass
class Split:
    """A task and its parts, in an order in which none needs a later one."""

    task: TokenTask
    parts: list[RegionPart]


# The plan -------------------------------------------------------------------------------------------------------------


def plan_splits(function: Operation) -> list[Split]:
    """The regions of `function` to be split, inner ones first. Raises `RefusedError` for tokens that escape."""
    tasks = [task for op in function.walk() if (task := task_of(op)) is not None]
    tasks = [task for task in tasks if len(task.op.results) > 2 and not task.tokens and _is_self_contained(task.body)]
    if not tasks:
        return []
    refuse_untraceable_tokens(function)
    splits = [Split(task, _parts(task)) for task in reversed(tasks)]
    return [split for split in splits if len(split.parts) > 1 and _is_waited_for(split)]


def _is_self_contained(body: Block) -> bool:
    """Whether the body only computes, and touches no memory but what it allocates."""
    own = {buffer for op in body.ops if (buffer := allocated_buffer(op)) is not None}
    for op in body.walk():
        if AsyncOpInterface.of(op) is not None:
            return False
        if op.has_trait(IsTerminator, value_if_unregistered=False) or is_side_effect_free(op):
            continue
        if isinstance(op, LinalgStructuredOperation):
            touched: list[object] = [value for value in op.operands if isinstance(value.type, MemRefType)]
        else:
            effects = stated_effects(op)
            if effects is None:
                return False
            touched = [effect.target for effect in effects]
        if not all(target in own for target in touched):
            return False
    return True


def _parts(task: TokenTask) -> list[RegionPart]:
    """The ops of the body by the results that need them; what no result needs is left out."""
    ops = list(task.body.ops)[:-1]
    needed_by: dict[Operation, int] = dict.fromkeys(ops, 0)
    """A bit for each result."""
    sources = {op: _sources(op, task.body) for op in ops}
    sharing = _sharing(ops)
    for number, value in enumerate(task.yielded):
        stack = [value.owner] if isinstance(value.owner, Operation) and value.owner in needed_by else []
        while stack:
            op = stack.pop()
            if needed_by[op] >> number & 1:
                continue
            needed_by[op] |= 1 << number
            stack += [other for other in (*sources[op], *sharing[op]) if not needed_by[other] >> number & 1]
    parts: dict[int, RegionPart] = {}
    for op in ops:
        if needed_by[op]:
            parts.setdefault(needed_by[op], RegionPart()).ops.append(op)
    # What more results need comes first: a part needs only parts that at least the same results need.
    ordered = sorted(parts, key=lambda results: -results.bit_count())
    _note_crossings([parts[results] for results in ordered], task)
    return [parts[results] for results in ordered]


def _sources(op: Operation, body: Block) -> list[Operation]:
    """The ops of `body` whose results `op` uses, also deep inside."""
    used = [*op.operands, *captured_values(op.regions)]
    return [value.owner for value in used if isinstance(value.owner, Operation) and value.owner.parent_block() is body]


def _sharing(ops: Sequence[Operation]) -> dict[Operation, list[Operation]]:
    """For each op those that touch a buffer which it makes or touches: they stay together."""
    touching: dict[SSAValue, list[Operation]] = {}
    for op in ops:
        used = [*op.operands, *captured_values(op.regions), *op.results]
        for value in dict.fromkeys(used):
            if isinstance(value.type, MemRefType):
                touching.setdefault(value, []).append(op)
    sharing: dict[Operation, list[Operation]] = {op: [] for op in ops}
    for together in touching.values():
        for op in together:
            sharing[op] += [together[0]] if op is not together[0] else together[1:]
    return sharing


def _note_crossings(parts: Sequence[RegionPart], task: TokenTask) -> None:
    home: dict[SSAValue, RegionPart] = {result: part for part in parts for op in part.ops for result in op.results}
    for part in parts:
        for op in part.ops:
            for value in (*op.operands, *captured_values(op.regions)):
                if value in home and home[value] is not part:
                    part.needs[value] = None
                    home[value].gives[value] = None
                    home[value].passes[value] = None
    for value in task.yielded:
        if value in home:
            home[value].gives[value] = None


def _is_waited_for(split: Split) -> bool:
    """Whether all users can be told what to wait for, and each part has somebody in this block who waits for it."""
    task = split.task
    block = task.op.parent_block()
    made = {value for part in split.parts for value in part.gives}
    if block is None or not all(value in made for value in task.yielded):
        return False
    waiters = _waiters(task)
    waited: set[SSAValue] = set()
    for value, result in zip(task.yielded, task.op.results[1:], strict=True):
        users = [ancestor_in(block, use.operation) for use in result.uses]
        if isinstance(result.type, ValueType) and result.type != value.type:
            waited.update(value for use in result.uses if use.operation.parent_block() is block)
            continue
        if not all(user in waiters for user in users):
            return False
        waited.update(value for _ in users)
    everything = any(use.operation not in waiters or not _used_by(task, use.operation) for use in task.token.uses)
    return everything or all(part.is_needed or any(value in waited for value in part.gives) for part in split.parts)


def _waiters(task: TokenTask) -> set[Operation]:
    """The asynchronous ops that depend on the token of `task`, in the same block."""
    views = [(use.operation, AsyncOpInterface.of(use.operation)) for use in task.token.uses]
    return {
        op
        for op, view in views
        if view is not None
        and view.async_token is not None
        and op.parent_block() is task.op.parent_block()
        and task.token in view.async_dependencies
    }


def _used_by(task: TokenTask, user: Operation) -> list[SSAValue]:
    """The yielded values whose late results `user` uses."""
    used: list[SSAValue] = []
    block = user.parent_block()
    assert block is not None
    for value, result in zip(task.yielded, task.op.results[1:], strict=True):
        inside = any(use.operation is user or _is_in(use.operation, user) for use in result.uses)
        if inside and not (isinstance(result.type, ValueType) and result.type != value.type):
            used.append(value)
    return used


def _is_in(op: Operation, outer: Operation) -> bool:
    node = op.parent_op()
    while node is not None and node is not outer:
        node = node.parent_op()
    return node is outer


# The rewriting --------------------------------------------------------------------------------------------------------


def apply_split(split: Split) -> None:
    """Put the parts of a task in its place."""
    task, waiters = split.task, _waiters(split.task)
    used = {op: _used_by(task, op) for op in dict.fromkeys(use.operation for use in task.token.uses) if op in waiters}
    yielded = task.yielded
    terminator = end_of(task.body)
    Rewriter.erase_op(terminator)
    brings: dict[SSAValue, SSAValue] = {}
    """A value of the body -> the token of the part that computes it."""
    promises: dict[SSAValue, SSAValue] = {}
    """A value that another part needs -> the promise of it."""
    tokens: list[SSAValue] = []
    for part in split.parts:
        token = _make(task, part, yielded, promises)
        brings.update(dict.fromkeys(part.gives, token))
        if not part.is_needed:
            tokens.append(token)
    for op, values in used.items():
        view = AsyncOpInterface.of(op)
        assert view is not None
        while view.remove_async_dependency(task.token):
            pass
        for token in dict.fromkeys(brings[value] for value in values) if values else tokens:
            view.add_async_dependency(token)
    if task.token.first_use is not None:
        task.token.replace_all_uses_with(_all_of(task, tokens))
    Rewriter.erase_op(task.op)


def _make(
    task: TokenTask, part: RegionPart, yielded: Sequence[SSAValue], promises: dict[SSAValue, SSAValue]
) -> SSAValue:
    """The task of one part, which takes over the results of `task` that it computes; returns its token."""
    needed = {argument: promise for promise, argument in task.regional.async_region_arguments(0)}
    needed |= {value: promises[value] for value in part.needs}
    body = Block(arg_types=[value.type for value in needed])
    for op in part.ops:
        op.detach()
        body.add_op(op)
    for value, argument in zip(needed, body.args, strict=True):
        argument.name_hint = value.name_hint
        value.replace_uses_with_if(argument, lambda use: _is_in_block(use.operation, body))
    returned = [(v, r) for v, r in zip(yielded, task.op.results[1:], strict=True) if v in part.gives]
    promised = {value for value, result in returned if result.type == ValueType(value.type)}
    passed_on = [value for value in part.passes if value not in promised]
    outputs = [(value, result.type) for value, result in returned]
    outputs += [(value, ValueType(value.type)) for value in passed_on]
    new = task.regional.task_like_this(task.dependencies, list(needed.values()), body, outputs, [])
    assert new is not None
    new.attributes.update(task.op.attributes)
    Rewriter.insert_op(new, InsertPoint.before(task.op))
    for (value, result), made in zip(returned, new.results[1:], strict=False):
        made.name_hint = result.name_hint
        result.replace_all_uses_with(made)
        if value in promised and made.type == ValueType(value.type):
            promises[value] = made
    for value, made in zip(passed_on, new.results[1 + len(returned) :], strict=True):
        made.name_hint = value.name_hint
        promises[value] = made
    return new.results[0]


def _all_of(task: TokenTask, tokens: Sequence[SSAValue]) -> SSAValue:
    """A token that is complete when all of `tokens` are."""
    if len(tokens) == 1:
        return tokens[0]
    joint = task.regional.task_like_this(tokens, [], Block(), [], [])
    assert joint is not None
    joint.results[0].name_hint = task.token.name_hint
    Rewriter.insert_op(joint, InsertPoint.before(task.op))
    return joint.results[0]


def _is_in_block(op: Operation, block: Block) -> bool:
    node: Operation | None = op
    while node is not None and node.parent_block() is not block:
        node = node.parent_op()
    return node is not None


@dataclass(frozen=True)
class AsyncSplitRegionsPass(ModulePass):
    """
    Split regions that return several values, so that each is there as soon as it is computed.

    Rewrites: the ops of a body are grouped by the results that need them. Each group becomes a task of its own; a task
    that needs values of another one takes them as promises. Who waits for the region and uses some of its values waits
    for the tasks that bring these; everybody else who waits for the region waits for all of the tasks.

    Requires: nothing. Refuses tokens that escape (`analysis.token_uses`). Leaves alone: regions whose body waits,
    starts something, or touches memory that it has not allocated itself, for whoever waits for one value might rely on
    that too; values that somebody uses without waiting for the region's own token; parts for which nobody in the block
    would wait. Linear in the ops and edges, times the results of a region.
    """

    name = "async-split-regions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        splits = [split for function in functions_in(op) for split in plan_splits(function)]
        for split in splits:
            apply_split(split)
