"""
The uses of what was read from a stage: the stage is needed until the last of them.

    %v = consumer_read %t
    %s = extract_slice %v           names bytes of %v
    %r = scf.if ... { yield %s }    so does %r
    %d = dot %r, %b, %acc           the last use: the release goes behind it

A tile that lies in the slot is a view and is followed through everything that names its bytes; a tile in registers is
a copy, and only its own uses count. A view that outlives the iteration has no last use: it is handed to the next
iteration or to other agents, or read by asynchronous work that nobody awaits here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue, Use
from xdsl.traits import IsTerminator

from tileas_xdsl.dialects.async_queue import ScopeOp
from tileas_xdsl.dialects.nv_tileas.classified import ConsumeOp, RegionOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumeOneAsyncOp,
    ConsumerReadOp,
    PipelineYieldOp,
    ProduceOneAsyncOp,
)
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, ToAsyncOp, TokenToAsyncOp
from tileas_xdsl.dialects.nv_tileas.types import AsyncTokenType
from tileas_xdsl.dialects.tiles.traits import is_view
from tileas_xdsl.interfaces import AgentLikeOpInterface, AsyncOpInterface, AsyncRegionOpInterface
from tileas_xdsl.transforms.tileas.queue_to_pipeline.views import names_of_same_bytes


def uses_in(block: Block, values: Iterable[SSAValue]) -> list[Operation] | None:
    """
    The ops of `block` that use `values` or views of them, themselves or in their regions; None where a view escapes.

    Linear in the uses that are followed.
    """
    names = list(dict.fromkeys(values))
    seen = set(names)
    users: dict[Operation, None] = {}
    for name in names:
        view = is_view(name)
        for use in name.uses:
            if not _note(block, use, view, users):
                return None
            for other in _same_bytes(use) if view else ():
                if other not in seen:
                    seen.add(other)
                    names.append(other)
    return list(users)


def _same_bytes(use: Use) -> Sequence[SSAValue]:
    """The values that name bytes of a view behind a use of it."""
    op = use.operation
    if isinstance(op, PipelineYieldOp):
        parent = op.parent_op()
        return parent.value_results[use.index : use.index + 1] if isinstance(parent, ConsumeOp | ConsumerReadOp) else ()
    return names_of_same_bytes(use)


def _note(block: Block, use: Use, view: bool, users: dict[Operation, None]) -> bool:
    """Note which op of `block` holds `use`; False where the use lets a view escape."""
    node = use.operation
    if view and not _is_through(node, block, users):
        return False
    while node.parent_block() is not block:
        parent = node.parent_op()
        if parent is None:
            return False
        node = parent
        if view and not _is_through(node, block, users):
            return False
    if node.has_trait(IsTerminator, value_if_unregistered=False):
        return not view
    users[node] = None
    return True


def _is_through(op: Operation, block: Block, users: dict[Operation, None]) -> bool:
    """Whether `op`, which uses a view or has a use inside, is through with it when control goes on."""
    if AgentLikeOpInterface.of(op) is not None or isinstance(op, ScopeOp):
        return False
    if isinstance(op, RegionOp) and not isinstance(op, ProduceOneAsyncOp | ConsumeOneAsyncOp):
        return True
    tokens = [result for result in op.results if isinstance(result.type, AsyncTokenType)]
    if tokens and not isinstance(op, ToAsyncOp | TokenToAsyncOp | scf.ForOp | scf.IfOp | scf.WhileOp):
        return _awaited(tokens, block, users)
    return AsyncOpInterface.of(op) is None and AsyncRegionOpInterface.of(op) is None


def _awaited(tokens: Sequence[SSAValue], block: Block, users: dict[Operation, None]) -> bool:
    """Whether a wait in `block` covers one of `tokens`; that wait then counts as a use."""
    names = list(tokens)
    for name in names:
        for use in name.uses:
            if isinstance(use.operation, TokenToAsyncOp):
                names.append(use.operation.result)
            elif isinstance(use.operation, AsyncWaitOp) and use.operation.parent_block() is block:
                users[use.operation] = None
                return True
    return False
