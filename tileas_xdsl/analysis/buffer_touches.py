"""
Which ops touch a buffer, and which token says that they are done.

    %t = async_region.region [%d] {                  %m is touched in the region. The touch is over when %t is complete,
      %c = async_region.copy %m to %n ...            because the region yields the token of the copy.
      async_region.yield after [%c]
    }

A buffer is followed through views and the arguments of launches. It *escapes* where code that is not seen may keep it:
as a result, as a yielded or stored value, in a call. Reusing a buffer once its token is complete is the buffer
assignment that the MLIR RFC "New dialect for modelling asynchronous execution at a higher-level" proposes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Block, Operation, SSAValue, Use
from xdsl.traits import IsTerminator, MemoryEffectKind, SymbolUserOpInterface, get_effects, is_side_effect_free

from tileas_xdsl.analysis.completion import Completions
from tileas_xdsl.analysis.memory.effects import stated_effects
from tileas_xdsl.dialects.async_ import GroupType, TokenType
from tileas_xdsl.interfaces import AsyncOpInterface, AsyncRegionOpInterface


@dataclass
class Touches:
    """What is done to one buffer, as seen from the block in which it is allocated."""

    ops: dict[Operation, list[Operation]] = field(default_factory=dict[Operation, "list[Operation]"])
    """Op of the block -> the ops in it (or itself) that touch the buffer."""
    deallocations: list[Operation] = field(default_factory=list[Operation])
    """The deallocations in the block itself; they are not among `ops`."""


def allocated_buffer(op: Operation) -> SSAValue | None:
    """The buffer that `op` allocates, where `op` does nothing else besides returning a token; else None."""
    if not op.results or op.regions:
        return None
    effects = get_effects(op)
    buffers = [result for result in op.results if isinstance(result.type, MemRefType)]
    if effects is None or {effect.kind for effect in effects} != {MemoryEffectKind.ALLOC} or len(buffers) != 1:
        return None
    return buffers[0]


def touches_of(buffer: SSAValue, block: Block) -> Touches | None:
    """All accesses to `buffer`, allocated in `block`; None where it escapes. Linear in its uses and their depth."""
    found = Touches()
    stack = [buffer]
    while stack:
        for use in stack.pop().uses:
            names = _names_made(use)
            if names is None:
                return None
            stack += names
            if names or isinstance(use.operation, memref.DimOp):
                continue
            if isinstance(use.operation, memref.DeallocOp) and use.operation.parent_block() is block:
                found.deallocations.append(use.operation)
            else:
                found.ops.setdefault(ancestor_in(block, use.operation), []).append(use.operation)
    return found


def _names_made(use: Use) -> Sequence[SSAValue] | None:
    """
    The other names that `use` gives the buffer; empty where it only touches the buffer, None where the buffer escapes.
    """
    op, value = use.operation, use.operation.operands[use.index]
    regional = AsyncRegionOpInterface.of(op)
    if regional is not None:
        pairs = [pair for index in range(len(op.regions)) for pair in regional.async_region_arguments(index)]
        return [argument for operand, argument in pairs if operand is value and operand.type == argument.type]
    if op.has_trait(IsTerminator, value_if_unregistered=False) or op.has_trait(SymbolUserOpInterface):
        return None
    if op.regions and not isinstance(op, LinalgStructuredOperation):
        return None  # a loop that carries it
    if isinstance(op, memref.DimOp):
        return []
    if is_side_effect_free(op):
        views = [result for result in op.results if isinstance(result.type, MemRefType)]
        return views if views and len(views) == len(op.results) else None
    stores_it = isinstance(op, memref.StoreOp) and op.value is value
    makes_memory = any(isinstance(result.type, MemRefType) for result in op.results)
    return None if stores_it or makes_memory or not _is_known(op) else []


def _is_known(op: Operation) -> bool:
    """Whether the memory effects of `op` are known. xDSL's linalg ops declare none; they touch their operands only."""
    return isinstance(op, LinalgStructuredOperation) or stated_effects(op) is not None


def over_with(op: Operation, touches: Sequence[Operation], facts: Completions) -> list[SSAValue] | None:
    """
    The token whose completion ends all of `touches`, made in or by `op`.

    The answer is no token where they have ended when control has passed `op`, and None where the end is not known.
    """
    view = AsyncOpInterface.of(op)
    token = view.async_token if view is not None else None
    if token is None:
        # An op that is not asynchronous is done when control passes it, unless it starts something.
        return [] if not any(_asynchronous_around(touch, op) for touch in touches) else None
    if not isinstance(token.type, TokenType) or _waits_for_groups(op):
        return None
    complete = facts.past(token)
    for touch in touches:
        for inner in _asynchronous_around(touch, op):
            if not facts.bit(inner) & complete:
                return None
    return [token]


def starts_after_dependencies(op: Operation, touches: Sequence[Operation], facts: Completions) -> bool:
    """Whether all of `touches`, in or by the asynchronous `op`, happen after the dependencies of `op` are complete."""
    regional = AsyncRegionOpInterface.of(op)
    ready = regional.async_region_token(0) if regional is not None else None
    if ready is None:
        return True
    # The body is issued at once: only what depends on its token argument waits.
    for touch in touches:
        outermost = touch
        while (parent := outermost.parent_op()) is not op:
            assert parent is not None
            outermost = parent
        view = AsyncOpInterface.of(outermost)
        if view is None or not facts.bit(ready) & facts.pasts(list(view.async_dependencies)):
            return False
        if not starts_after_dependencies(outermost, [touch], facts):
            return False
    return True


def _asynchronous_around(touch: Operation, op: Operation) -> list[SSAValue]:
    """
    The tokens of the asynchronous ops that are, or hold, `touch`, inside `op`; the token of `op` itself is left out.
    """
    tokens: list[SSAValue] = []
    node: Operation | None = touch
    while node is not None and node is not op:
        view = AsyncOpInterface.of(node)
        if view is not None and view.async_token is not None:
            tokens.append(view.async_token)
        node = node.parent_op()
    return tokens


def _waits_for_groups(op: Operation) -> bool:
    """Whether completion of `op` may need a group whose members are issued later than `op`."""
    return any(isinstance(operand.type, GroupType) for inner in op.walk() for operand in inner.operands)


def ancestor_in(block: Block, op: Operation) -> Operation:
    """The op of `block` that `op` is or stands in."""
    while op.parent_block() is not block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op
