"""
Let a buffer live in the memory of an earlier one, and add the edges that make this legal.

    %a = memref.alloc() : memref<8xf32>              %a = memref.alloc() : memref<8xf32>
    %b = memref.alloc() : memref<8xf32>
    %s = async_region.region { ... %a ... }    ->    %s = async_region.region { ... %a ... }
    %t = async_region.region { ... %b ... }          %t = async_region.region [%s] { ... %a ... }

"Buffer assignment could sequentialize two asynchronous regions by adding a new dependency in order to enable buffer
reuse between the two" ("[RFC] New dialect for modelling asynchronous execution at a higher-level", LLVM Discourse).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.buffer_touches import (
    Touches,
    allocated_buffer,
    ancestor_in,
    over_with,
    starts_after_dependencies,
    touches_of,
)
from tileas_xdsl.analysis.completion import Completions
from tileas_xdsl.analysis.token_uses import is_token, refuse_untraceable_tokens
from tileas_xdsl.dialects.async_ import TokenType
from tileas_xdsl.dialects.async_region import RegionOp, YieldOp
from tileas_xdsl.interfaces import AsyncOpInterface, functions_in


@dataclass
class Buffer:
    """A buffer that does not escape, and what is done to it. Places count the ops of its block."""

    allocation: Operation
    value: SSAValue
    touches: Touches
    first: int
    """The place of the first op that touches the buffer or waits for its allocation."""
    last: int
    """The place of the last op that touches it."""
    over: list[SSAValue]
    """Tokens with which all touches are over, the allocation included."""

    @property
    def token(self) -> SSAValue | None:
        """The token of the allocation, where it has one."""
        view = AsyncOpInterface.of(self.allocation)
        return view.async_token if view is not None else None

    def fits(self, other: Buffer) -> bool:
        """Whether the two buffers have the same type and sizes."""
        sizes, other_sizes = ([v for v in b.allocation.operands if not is_token(v)] for b in (self, other))
        return self.value.type == other.value.type and sizes == other_sizes


@dataclass
class Memory:
    """Memory that stays: the buffer that it was allocated for, and the one that lives in it last."""

    owner: Buffer
    tenant: Buffer


@dataclass
class Reuse:
    """A buffer that goes, the memory that it moves into, and who has to wait for what."""

    gone: Buffer
    owner: Buffer
    edges: list[tuple[Operation, SSAValue]] = field(default_factory=list[tuple[Operation, SSAValue]])
    """(op, token): the op is to wait for the token as well."""
    tokens: list[SSAValue] = field(default_factory=list[SSAValue])
    """Further tokens that the token of the buffer that goes must wait for, where it has one."""
    deallocation: Operation | None = None
    """The `memref.dealloc` that goes."""

    @property
    def cost(self) -> int:
        return len(self.edges) + len(self.tokens)


# The plan -------------------------------------------------------------------------------------------------------------


def plan_reuse(function: Operation, *, new_edges: bool) -> list[Reuse]:
    """The buffers of `function` that can go, in program order. Raises `RefusedError` for tokens that escape."""
    blocks = [block for op in function.walk() for region in op.regions for block in region.blocks]
    blocks = [block for block in blocks if sum(allocated_buffer(op) is not None for op in block.ops) > 1]
    if not blocks or not any(AsyncOpInterface.of(op) is not None for op in function.walk()):
        return []
    refuse_untraceable_tokens(function)
    facts = Completions(function)
    return [reuse for block in blocks for reuse in _plan_block(block, facts, new_edges)]


def _plan_block(block: Block, facts: Completions, new_edges: bool) -> list[Reuse]:
    places = {op: place for place, op in enumerate(block.ops)}
    buffers = [buffer for op in block.ops if (buffer := _buffer(op, block, places, facts)) is not None]
    memories: list[Memory] = []
    plan: list[Reuse] = []
    for buffer in sorted(buffers, key=lambda buffer: buffer.first):
        choices = [(memory, _reuse(buffer, memory, places, facts)) for memory in memories]
        legal = [(memory, reuse) for memory, reuse in choices if reuse is not None and (new_edges or not reuse.cost)]
        if not legal:
            memories.append(Memory(buffer, buffer))
            continue
        memory, reuse = min(legal, key=lambda choice: choice[1].cost)
        kept = [op for op in (*memory.owner.touches.deallocations, *buffer.touches.deallocations)]
        memory.owner.touches.deallocations = [op for op in kept if op is not reuse.deallocation]
        memory.tenant = buffer
        plan.append(reuse)
    return plan


def _buffer(op: Operation, block: Block, places: dict[Operation, int], facts: Completions) -> Buffer | None:
    """The buffer that `op` allocates; None where it cannot be followed."""
    value = allocated_buffer(op)
    touches = touches_of(value, block) if value is not None else None
    if value is None or touches is None or not touches.ops or len(touches.deallocations) > 1:
        return None
    view = AsyncOpInterface.of(op)
    token = view.async_token if view is not None else None
    if token is not None and not isinstance(token.type, TokenType):
        return None
    over: list[SSAValue] = [token] if token is not None else []
    for toucher, inner in touches.ops.items():
        end = over_with(toucher, inner, facts)
        if end is None:
            return None
        over += end
    over = [end for end in over if not facts.bit(end) & facts.pasts([other for other in over if other is not end])]
    users = [*touches.ops, *(ancestor_in(block, use.operation) for use in (token.uses if token is not None else ()))]
    return Buffer(
        op, value, touches, min(map(places.__getitem__, users)), max(map(places.__getitem__, touches.ops)), over
    )


def _reuse(buffer: Buffer, memory: Memory, places: dict[Operation, int], facts: Completions) -> Reuse | None:
    """`buffer` in `memory`, or None where that cannot be made legal."""
    before = memory.tenant
    deallocations = [*memory.owner.touches.deallocations, *buffer.touches.deallocations]
    if not buffer.fits(before) or before.last >= buffer.first or len(deallocations) == 1:
        return None
    reuse = Reuse(buffer, memory.owner, deallocation=min(deallocations, key=places.__getitem__, default=None))
    if buffer.token is not None:
        known = facts.known_before(buffer.allocation) | facts.pasts(_dependencies(buffer.allocation))
        reuse.tokens = [token for token in before.over if not facts.bit(token) & known]
        return reuse
    ordered = 0
    """The tokens of ops that get an edge: who comes after one of these needs none."""
    for op in sorted(buffer.touches.ops, key=places.__getitem__):
        awaited = facts.pasts(_dependencies(op))
        missing = [token for token in before.over if not facts.bit(token) & facts.known_before(op)]
        view = AsyncOpInterface.of(op)
        if not missing or ordered & facts.known_before(op):
            continue
        if view is None or view.async_token is None or not isinstance(view.async_token.type, TokenType):
            return None
        if not starts_after_dependencies(op, buffer.touches.ops[op], facts):
            return None
        if not ordered & awaited:
            reuse.edges += [(op, token) for token in missing if not facts.bit(token) & awaited]
        ordered |= facts.bit(view.async_token)
    return reuse


def _dependencies(op: Operation) -> Sequence[SSAValue]:
    view = AsyncOpInterface.of(op)
    return [value for value in view.async_dependencies if is_token(value)] if view is not None else []


# The rewriting --------------------------------------------------------------------------------------------------------


def apply_reuse(plan: Sequence[Reuse]) -> None:
    """Carry out what `plan_reuse` found."""
    places = {reuse.gone.allocation: _op_at(reuse.gone) for reuse in plan}
    renamed: dict[SSAValue, SSAValue] = {}
    """The token of an allocation that is gone -> the token that takes its place."""
    for reuse in plan:
        gone = reuse.gone
        for op, token in reuse.edges:
            view = AsyncOpInterface.of(op)
            assert view is not None
            view.add_async_dependency(renamed.get(token, token))
        if gone.token is not None:
            tokens = [renamed.get(token, token) for token in (*_dependencies(gone.allocation), *reuse.tokens)]
            renamed[gone.token] = _joined(list(dict.fromkeys(tokens)), places[gone.allocation], gone.token)
            gone.token.replace_all_uses_with(renamed[gone.token])
        gone.value.replace_all_uses_with(reuse.owner.value)
        if reuse.deallocation is not None:
            Rewriter.erase_op(reuse.deallocation)
        Rewriter.erase_op(gone.allocation)


def _op_at(buffer: Buffer) -> Operation:
    """The first op that touches the buffer or waits for its allocation."""
    block = buffer.allocation.parent_block()
    assert block is not None
    return next(op for place, op in enumerate(block.ops) if place == buffer.first)


def _joined(tokens: Sequence[SSAValue], at: Operation, like: SSAValue) -> SSAValue:
    """One token that is complete when all of `tokens` are, in front of `at`."""
    if len(tokens) == 1 and isinstance(tokens[0].type, TokenType):
        return tokens[0]
    region = RegionOp(tokens, [], Region(Block([YieldOp()], arg_types=[TokenType()])))
    region.token.name_hint = like.name_hint
    region.body.block.args[0].name_hint = "ready"
    Rewriter.insert_op(region, InsertPoint.before(at))
    return region.token


@dataclass(frozen=True)
class AsyncReuseBuffersPass(ModulePass):
    """
    Let buffers live in the memory of earlier ones, and add the edges that make this legal.

    Rewrites: a buffer B goes, and its uses take an earlier buffer A, allocated in the same block with the same type and
    sizes, where everything that touches A is issued before everything that touches B.

    - What touches B gets an edge from what touches A last, unless the order is there already. Where B has a token of
      its own (`async_region.alloc`), that waits instead, and the users of B need no edge.
    - Of several A the one that takes the fewest new edges is chosen, the earliest of these.
    - `memref.dealloc` of both: the later one stays.

    Requires: nothing. Refuses tokens that escape (`analysis.token_uses`): who waits for them is not known, so an edge
    might close a circle. Leaves alone: buffers that escape, that are deallocated in a task, or whose last touch has no
    token here; with `new-edges=false` all that would cost concurrency.

    Cost: for n buffers in one block n squared comparisons.
    """

    name = "async-reuse-buffers"

    new_edges: bool = field(
        default=True, metadata={"help": "also where tasks that could overlap then run one after another"}
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        plans = [plan_reuse(function, new_edges=self.new_edges) for function in functions_in(op)]
        for plan in plans:
            apply_reuse(plan)
