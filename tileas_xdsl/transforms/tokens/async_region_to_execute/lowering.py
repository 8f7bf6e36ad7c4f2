"""
The rewrite: one walk in program order, which replaces each op by tasks and notes what became of its results.

Two kinds of results have no counterpart, and are looked up where they are used. A token of `async_region` is complete
when all of some upstream tokens are (`tokens`); a value that comes later is the payload of a promise (`promises`).
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import memref
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from tileas_xdsl.analysis.captures import captured_values
from tileas_xdsl.diagnostics import remark
from tileas_xdsl.dialects import async_
from tileas_xdsl.dialects.async_ import AwaitOp, ExecuteOp, TokenType, ValueType
from tileas_xdsl.dialects.async_region import AllocOp, CopyOp, CreateResourceOp, LaunchOp, RegionOp, YieldOp
from tileas_xdsl.dialects.async_region.regions import BodyOp
from tileas_xdsl.interfaces import AsyncOpInterface, FunctionOpInterface
from tileas_xdsl.transforms.tokens.async_region_to_execute.plan import MOVABLE, OPS, Plan

Tokens = tuple[SSAValue, ...]
"""Upstream tokens, all of which are to be complete; none at all stands for what is complete from the start."""
Payloads = ChainMap[SSAValue, SSAValue]
"""Values that come later and are at hand, as what they are called in a block and the blocks in it."""


def lower_function(function: Operation, plan: Plan) -> None:
    """Replace every op of `async_region` in `function`, for which `plan` was made."""
    lowering = _Lowering(plan)
    for region in function.regions:
        for block in region.blocks:
            lowering.lower_block(block, ChainMap())
    for op in reversed(lowering.finished):
        Rewriter.erase_op(op)


@dataclass
class _Lowering:
    plan: Plan
    tokens: dict[SSAValue, Tokens] = field(default_factory=dict[SSAValue, Tokens])
    """Token of a replaced op -> the upstream tokens that stand for it."""
    promises: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """A value that comes later -> the promise that brings it."""
    covered_by: dict[SSAValue, set[SSAValue]] = field(default_factory=dict[SSAValue, "set[SSAValue]"])
    """A value that comes later -> the tokens, as the program names them, with which it is there."""
    finished: list[Operation] = field(default_factory=list[Operation])
    """The ops that are replaced, in program order; their results are used until the walk is over."""

    # The walk -------------------------------------------------------------------------------------------------------

    def lower_block(self, block: Block, payloads: Payloads) -> None:
        for op in list(block.ops):
            self.lower(op, payloads)

    def lower(self, op: Operation, payloads: Payloads) -> None:
        if not isinstance(op, OPS):
            self.adapt(op, payloads)
            return
        self.finished.append(op)
        self._wait_for_resource(op)
        match op:
            case AllocOp():
                self.lower_alloc(op, payloads)
            case CopyOp():
                self.lower_copy(op, payloads)
            case RegionOp() if op.async_region_token(0) is not None:
                self.issue_body(op, payloads)
            case RegionOp() | LaunchOp():
                self.take_apart(op, payloads) if op.partial_tokens else self.lower_task(op, payloads)
            case _:
                assert isinstance(op, CreateResourceOp)

    def _wait_for_resource(self, op: Operation) -> None:
        before, view = self.plan.predecessor.get(op), AsyncOpInterface.of(op)
        earlier = AsyncOpInterface.of(before)
        if view is not None and earlier is not None and earlier.async_token is not None:
            view.add_async_dependency(earlier.async_token)

    # Ops of other dialects --------------------------------------------------------------------------------------------

    def adapt(self, op: Operation, payloads: Payloads) -> None:
        """Let an op, and what is in it, use what took the place of the values that it used."""
        view = AsyncOpInterface.of(op)
        starts = view is not None or any(
            AsyncOpInterface.of(inner) is not None for region in op.regions for inner in region.walk()
        )
        used = list(op.operands) if starts else [*op.operands, *captured_values(op.regions)]
        for value in dict.fromkeys(used):
            if value in self.promises:
                _warn_of_blocking(op, value)
                payload = self.payload_at(op, value, payloads)
                value.replace_uses_with_if(payload, lambda use: _is_within(use.operation, op))
        if isinstance(op, AwaitOp) and op.operand in self.tokens:
            for token in self.tokens[op.operand]:
                _insert_before(op, AwaitOp(token))
            Rewriter.erase_op(op)
            return
        self._adapt_tokens(op, view)
        for region in op.regions:
            for block in region.blocks:
                self.lower_block(block, payloads.new_child())

    def _adapt_tokens(self, op: Operation, view: AsyncOpInterface | None) -> None:
        for token in [operand for operand in op.operands if operand in self.tokens]:
            if view is not None and view.remove_async_dependency(token):
                for edge in self.tokens[token]:
                    view.add_async_dependency(edge)
            elif token in op.operands:
                joint = self.joined(token, op)
                op.operands = [joint if operand is token else operand for operand in op.operands]

    # Tokens and values ------------------------------------------------------------------------------------------------

    def payload_at(self, user: Operation, value: SSAValue, payloads: Payloads) -> SSAValue:
        """The payload of a value that comes later, as `user` may call it: it is at hand, or waited for there."""
        if value not in payloads:
            wait = AwaitOp(self.promises[value])
            _name(wait.results[0], value)
            _insert_before(user, wait)
            payloads[value] = wait.results[0]
        return payloads[value]

    def edges(self, dependencies: Iterable[SSAValue]) -> tuple[Tokens, Tokens]:
        """Upstream tokens, and promises, that are complete when `dependencies` are; each once."""
        tokens: dict[SSAValue, None] = {}
        promises: dict[SSAValue, None] = {}
        for value in dependencies:
            if isinstance(value.type, TokenType):
                tokens.update(dict.fromkeys(self.tokens.get(value, (value,))))
            else:
                promises[value] = None
        return tuple(tokens), tuple(promises)

    def tokens_of(self, dependencies: Iterable[SSAValue], at: Operation) -> Tokens:
        """
        Upstream tokens that are complete when `dependencies` are. A task in front of `at` waits for the promises among
        them.
        """
        tokens, promises = self.edges(dependencies)
        return (*tokens, self._wait_task((), promises, at).token) if promises else tokens

    def define(self, token: SSAValue, edges: Iterable[SSAValue], at: Operation, *, users: int = 0) -> Tokens:
        """
        Note that `token` is complete when `edges` are. Several edges with several users, `users` of them not in the IR,
        become one token, so that each edge is written once.
        """
        found = tuple(dict.fromkeys(edges))
        if len(found) > 1 and users + sum(1 for _ in token.uses) > 1:
            found = (self._wait_task(found, (), at, name=token).token,)
        self.tokens[token] = found
        return found

    def joined(self, token: SSAValue, at: Operation) -> SSAValue:
        """One upstream token for `token`, in front of `at`."""
        edges = self.tokens.get(token, (token,))
        return edges[0] if len(edges) == 1 else self._wait_task(edges, (), at, name=token).token

    def _comes_later(self, value: SSAValue, promise: SSAValue, tokens: set[SSAValue]) -> None:
        self.promises[value] = promise
        self.covered_by[value] = tokens
        _name(promise, value)

    def _wait_task(
        self, edges: Sequence[SSAValue], promises: Sequence[SSAValue], at: Operation, name: SSAValue | None = None
    ) -> ExecuteOp:
        """A task in front of `at` that does nothing but wait."""
        task = _task(edges, promises, (), at)
        task.body.block.add_op(async_.YieldOp())
        if name is not None:
            _name(task.token, name)
        return task

    # Memory and transfers ---------------------------------------------------------------------------------------------

    def lower_alloc(self, op: AllocOp, payloads: Payloads) -> None:
        sizes = [payloads.get(size, size) for size in op.dynamic_sizes]
        if any(size in self.promises for size in sizes):
            self._allocate_later(op, sizes)
            return
        allocation = memref.AllocOp(sizes, [], op.buffer.type)
        _insert_before(op, allocation)
        _name(allocation.memref, op.buffer)
        op.buffer.replace_all_uses_with(allocation.memref)
        self.define(op.token, self.tokens_of(op.dependencies, op), op)

    def _allocate_later(self, op: AllocOp, sizes: Sequence[SSAValue]) -> None:
        """Lower an `alloc` whose size is a late value: the buffer is late, too."""
        late = [size for size in dict.fromkeys(sizes) if size in self.promises]
        task, arguments = self._unwrapping(op, late, [op.buffer.type])
        allocation = memref.AllocOp([arguments.get(size, size) for size in sizes], [], op.buffer.type)
        task.body.block.add_ops([allocation, async_.YieldOp(allocation.memref)])
        self.tokens[op.token] = (task.token,)
        self._comes_later(op.buffer, task.body_results[0], {op.token})

    def lower_copy(self, op: CopyOp, payloads: Payloads) -> None:
        buffers = [payloads.get(buffer, buffer) for buffer in (op.source, op.destination)]
        late = [buffer for buffer in dict.fromkeys(buffers) if buffer in self.promises]
        task, arguments = self._unwrapping(op, late, ())
        source, destination = (arguments.get(buffer, buffer) for buffer in buffers)
        task.body.block.add_ops([memref.CopyOp(source, destination), async_.YieldOp()])
        self.tokens[op.token] = (task.token,)

    def _unwrapping(
        self, op: AllocOp | CopyOp, late: Sequence[SSAValue], types: Sequence[Attribute]
    ) -> tuple[ExecuteOp, dict[SSAValue, SSAValue]]:
        """A task, still empty, that waits for what `op` waits for and has the payloads of `late` as arguments."""
        tokens, promises = self.edges(op.dependencies)
        task = _task(tokens, [*promises, *(self.promises[value] for value in late)], types, op)
        _name(task.token, op.token)
        return task, dict(zip(late, task.body.block.args[len(promises) :], strict=True))

    # Bodies -----------------------------------------------------------------------------------------------------------

    def lower_task(self, op: RegionOp | LaunchOp, payloads: Payloads) -> None:
        """Lower an op whose body has an agent of its own and completes as a whole: one `async.execute`."""
        inside = payloads.new_child()
        unwrapped = self._bind(op, inside)
        for value in captured_values([op.body]):
            if value in self.promises and value not in inside and self.covered_by[value] & set(op.dependencies):
                unwrapped[value] = self.promises[value]
        terminator = _terminator(op)
        pairs = list(zip(op.values, terminator.values, strict=True))
        types = [_payload_type(result, yielded) for result, yielded in pairs]
        tokens, promises = self.edges(op.dependencies)
        task = _task(tokens, [*promises, *unwrapped.values()], types, op)
        arguments = task.body.block.args[len(promises) :]
        self._move_into(task, op.body.block.ops, dict(zip(unwrapped, arguments, strict=True)), inside)
        self._end_task(task, terminator, types, inside)
        task.attributes.update(op.attributes)
        _name(task.token, op.token)
        self.tokens[op.token] = (task.token,)
        for (result, _), promise in zip(pairs, task.body_results, strict=True):
            if result.type == promise.type:
                _name(promise, result)
                result.replace_all_uses_with(promise)
            else:
                self._comes_later(result, promise, {op.token})

    def _bind(self, op: RegionOp | LaunchOp, payloads: Payloads) -> dict[SSAValue, SSAValue]:
        """Let the body see what it is given from outside; returns its other arguments, and the promise of each."""
        unwrapped: dict[SSAValue, SSAValue] = {}
        for value, argument in op.async_region_arguments(0):
            given = payloads.get(value, value)
            if isinstance(given.type, ValueType):
                unwrapped[argument] = given
            elif given in self.promises:
                unwrapped[argument] = self.promises[given]
            elif given in self.tokens:
                self.tokens[argument] = self.tokens[given]
            else:
                argument.replace_all_uses_with(given)
        return unwrapped

    def _move_into(
        self, task: ExecuteOp, ops: Iterable[Operation], arguments: dict[SSAValue, SSAValue], payloads: Payloads
    ) -> None:
        """Move `ops` into the body of `task` and lower them; there, `arguments` are called what they are mapped to."""
        block = task.body.block
        for value, argument in arguments.items():
            _name(argument, value)
            if isinstance(value, BlockArgument):
                value.replace_all_uses_with(argument)
            payloads[value] = argument
        for op in list(ops):
            op.detach()
            block.add_op(op)
        for op in list(block.ops):
            if not isinstance(op, YieldOp):
                self.lower(op, payloads)

    def _end_task(self, task: ExecuteOp, terminator: YieldOp, types: Sequence[Attribute], payloads: Payloads) -> None:
        """Wait for the tokens that the body yields, then yield its values alone."""
        tokens, promises = self.edges(terminator.tokens)
        for awaited in (*tokens, *promises):
            _insert_before(terminator, AwaitOp(awaited))
        yielded: list[SSAValue] = []
        for value, payload in zip(terminator.values, types, strict=True):
            if value in self.promises:
                value = self.payload_at(terminator, value, payloads)
            if value.type != payload:  # a promise that is handed on
                wait = AwaitOp(value)
                _insert_before(terminator, wait)
                value = wait.results[0]
            yielded.append(value)
        Rewriter.erase_op(terminator)
        task.body.block.add_op(async_.YieldOp(*yielded))

    def issue_body(self, op: RegionOp, payloads: Payloads) -> None:
        """Lower an op whose body the issuing agent runs at once: its ops move in front of it."""
        ready = op.async_region_token(0)
        assert ready is not None
        here = self.define(ready, self.tokens_of(op.dependencies, op), op, users=1)
        for inner in list(op.body.block.ops)[:-1]:
            _move_before(inner, op)
            self.lower(inner, payloads)
        self._conclude(op, here, set(), payloads)

    def take_apart(self, op: RegionOp | LaunchOp, payloads: Payloads) -> None:
        """
        Lower an op whose body has an agent of its own and completes in parts: a chain of tasks for what the body does
        itself, and behind each task, issued from outside, what the body starts there.
        """
        passed: set[SSAValue] = set()
        """Tokens after which everything in the body comes that is still to be lowered."""
        for argument, promise in self._bind(op, payloads).items():
            self._comes_later(argument, promise, passed)
        here = self.tokens_of(op.async_dependencies, op)
        passed.update(here)
        block, part = op.body.block, list[Operation]()
        for inner in list(block.ops)[:-1]:
            if isinstance(inner, MOVABLE):
                here = self._run_part(op, part, here, passed, payloads)
                part = []
                _start_after(inner, here)
            elif not self._is_known(inner, block):
                part.append(inner)
                continue
            _move_before(inner, op)
            self.lower(inner, payloads)
        here = self._run_part(op, part, here, passed, payloads)
        self._conclude(op, here, passed, payloads)

    def _is_known(self, op: Operation, block: Block) -> bool:
        """Whether `op` only computes, and from what is there before the body in `block` starts."""
        known = all(v.owner is not block and _parent(v) is not block and v not in self.promises for v in op.operands)
        return known and not op.regions and is_side_effect_free(op)

    def _run_part(
        self, op: Operation, part: Sequence[Operation], here: Tokens, passed: set[SSAValue], payloads: Payloads
    ) -> Tokens:
        """A task for consecutive ops of the body of `op`; returns what comes after it has to wait for."""
        if not part:
            return here
        inside, members = payloads.new_child(), set(part)
        results = [result for member in part for result in member.results if _leaves(result, members)]
        later = [value for member in part for value in (*member.operands, *captured_values(member.regions))]
        late = {
            value: self.promises[value]
            for value in later
            if value in self.promises and value not in inside and self.covered_by[value] & passed
        }
        task = _task(here, list(late.values()), [result.type for result in results], op)
        for value, argument in zip(late, task.body.block.args, strict=True):
            _name(argument, value)
            inside[value] = argument
        self._move_into(task, part, {}, inside)
        task.body.block.add_op(async_.YieldOp(*results))
        passed.add(task.token)
        for result, promise in zip(results, task.body_results, strict=True):
            self._comes_later(result, promise, passed)
        return (task.token,)

    def _conclude(self, op: RegionOp | LaunchOp, here: Tokens, passed: set[SSAValue], payloads: Payloads) -> None:
        """The results of a body that is done when `here` is complete, and whose tokens are at hand."""
        terminator = _terminator(op)
        groups = [self.tokens_of(group, op) for group in terminator.token_groups]
        for token, group in zip(op.partial_tokens, groups[1:], strict=True):
            self.define(token, (*here, *group), op)
        pairs = list(zip(op.values, terminator.values, strict=True))
        promised = [result.type == ValueType(value.type) for result, value in pairs]
        everything = (*here, *(token for group in groups for token in group))
        edges = self.define(op.token, everything, op, users=sum(promised))
        for (result, yielded), is_promise in zip(pairs, promised, strict=True):
            value = payloads.get(yielded, yielded)
            if is_promise:
                self._promise(op, result, value, edges)
            elif value in self.promises:
                covering = self._covering(op, terminator, self.covered_by[value], passed)
                self._comes_later(result, self.promises[value], covering)
            else:
                result.replace_all_uses_with(value)
        Rewriter.erase_op(terminator)

    def _promise(self, op: Operation, result: SSAValue, value: SSAValue, edges: Tokens) -> None:
        """The promise of `value`, complete when `edges` are."""
        late = [self.promises[value]] if value in self.promises else []
        task = _task(edges, late, [value.type], op)
        task.body.block.add_op(async_.YieldOp(task.body.block.args[0] if late else value))
        _name(task.body_results[0], result)
        result.replace_all_uses_with(task.body_results[0])

    @staticmethod
    def _covering(
        op: RegionOp | LaunchOp, terminator: YieldOp, covered_by: set[SSAValue], passed: set[SSAValue]
    ) -> set[SSAValue]:
        """The tokens with which a value is there that is returned by `op` as it is."""
        results = (op.token, *op.partial_tokens)
        if covered_by is passed:  # it comes with the body itself
            return {*covered_by, *results}
        groups = terminator.token_groups
        parts = {token for token, group in zip(results, groups, strict=True) if covered_by & set(group)}
        return {*covered_by, *parts, *([op.token] if parts else [])}


# Small helpers --------------------------------------------------------------------------------------------------------


def _task(
    edges: Sequence[SSAValue], promises: Sequence[SSAValue], types: Sequence[Attribute], at: Operation
) -> ExecuteOp:
    """A task in front of `at`, still without a terminator."""
    task = ExecuteOp(edges, promises, types)
    for argument, promise in zip(task.body.block.args, promises, strict=True):
        _name(argument, promise)
    _insert_before(at, task)
    return task


def _start_after(op: Operation, tokens: Tokens) -> None:
    """
    Let `op` wait for `tokens`, and so what its body issues where the issuing agent runs that at once: the agent comes
    there only after what `tokens` stand for.
    """
    view = AsyncOpInterface.of(op)
    if view is None:
        return
    for token in tokens:
        view.add_async_dependency(token)
    if isinstance(op, RegionOp) and op.async_region_token(0) is not None:
        for inner in op.body.block.ops:
            _start_after(inner, tokens)


def _payload_type(result: SSAValue, yielded: SSAValue) -> Attribute:
    """The type that the task yields for `result`; for a promise that is handed on, the type of its payload."""
    handed_on = isinstance(yielded.type, ValueType) and result.type == yielded.type
    return yielded.type.value_type if handed_on and isinstance(yielded.type, ValueType) else yielded.type


def _terminator(op: BodyOp) -> YieldOp:
    terminator = op.body.block.last_op
    assert isinstance(terminator, YieldOp)
    return terminator


def _leaves(result: SSAValue, members: set[Operation]) -> bool:
    """Whether anything uses `result`, of one of `members`, that stands in none of them."""
    return any(not any(_is_within(use.operation, member) for member in members) for use in result.uses)


def _is_within(op: Operation, outer: Operation) -> bool:
    node: Operation | None = op
    while node is not None and node is not outer:
        node = node.parent_op()
    return node is outer


def _parent(value: SSAValue) -> Block | None:
    return value.owner.parent_block() if isinstance(value.owner, Operation) else None


def _insert_before(op: Operation, new: Operation) -> None:
    Rewriter.insert_op(new, InsertPoint.before(op))


def _move_before(op: Operation, target: Operation) -> None:
    op.detach()
    _insert_before(target, op)


def _name(value: SSAValue, like: SSAValue) -> None:
    if value.name_hint is None:
        value.name_hint = like.name_hint


def _warn_of_blocking(op: Operation, value: SSAValue) -> None:
    """A remark where a plain function has to wait for what it returns; an asynchronous one is suspended, no more."""
    function = op.parent_op()
    is_plain = FunctionOpInterface.of(function) is not None and not isinstance(function, async_.FuncOp)
    if is_plain and op.next_op is None and value in op.operands:
        remark(
            op,
            "returns a value that is not there yet, so the function now waits for it",
            "return a promise: let the region return the value as !async.value<...>",
        )
