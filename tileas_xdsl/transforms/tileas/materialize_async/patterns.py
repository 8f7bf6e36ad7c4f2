"""
The two rewrite patterns that TileASMaterializeAsync applies to what its emitters made.

    async.wait %t                            async.wait %t
    async.wait %t                    ->

    %x, %t = consume_one_async %c            %x, %t = consume_one_async %c
    %s = extract_slice %x[%i]        ->      %s, %u = async.extract_slice %x[%i], %t

Neither removes what is dead: the wrappers that nobody uses have to stay.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)

from tileas_xdsl.dialects.nv_tileas.slices import AsyncExtractSliceOp, ExtractSliceOp
from tileas_xdsl.dialects.nv_tileas.tokens import STORAGE, TOKEN, AsyncWaitOp, FutureWaitOp, ToAsyncOp
from tileas_xdsl.dialects.nv_tileas.types import AsyncTokenType


class AsyncWaitOpRemoval(RewritePattern):
    """
    Erase a wait behind another one on the same token in the same block, with no asynchronous consumer of the token in
    between.

    A `future_wait` is no wait: if it counted, the tail of every loop would delete itself.
    """

    DEBUG_NAME: ClassVar[str] = "mlir::nv_tile_ir::as::{anonymous}::AsyncWaitOpRemoval]"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AsyncWaitOp, rewriter: PatternRewriter) -> None:
        if _waits_again(op):
            rewriter.erase(op)


def _waits_again(op: AsyncWaitOp) -> bool:
    """Whether the last use of the token in front of `op` in its block is a wait. Looks at nothing where no other is."""
    users = {_in_block_of(op, use.operation) for use in op.token.uses}
    if not any(isinstance(user, AsyncWaitOp) for user in users if user is not op):
        return False
    earlier = op.prev_op
    while earlier is not None and (earlier not in users or isinstance(earlier, FutureWaitOp)):
        earlier = earlier.prev_op
    return isinstance(earlier, AsyncWaitOp)


def _in_block_of(sibling: Operation, op: Operation) -> Operation | None:
    """The op of the block of `sibling` that is, or holds, `op`."""
    node: Operation | None = op
    while node is not None and node.parent_block() is not sibling.parent_block():
        node = node.parent_op()
    return node


class ExtractSliceOpToAsync(RewritePattern):
    """
    `extract_slice` of a value with an async token -> `async.extract_slice` that takes the token.

    The value has one when it is a result of an op that also gives a `!nv_tileas.token`, or when it is the storage
    wrapper of a value that has a token wrapper as well.
    """

    DEBUG_NAME: ClassVar[str] = "mlir::nv_tile_ir::as::{anonymous}::ExtractSliceOpToAsync]"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ExtractSliceOp, rewriter: PatternRewriter) -> None:
        token = async_token_of(op.source)
        if token is None:
            return
        slice_ = AsyncExtractSliceOp(
            op.source,
            token,
            op.offsets,
            op.result.type,
            sizes=op.sizes,
            strides=op.strides,
            properties={name: value for name, value in op.properties.items() if name.startswith("static_")},
        )
        slice_.attributes = dict(op.attributes)
        slice_.location = op.location
        slice_.result.name_hint = op.result.name_hint
        slice_.done.name_hint = None if op.result.name_hint is None else f"{op.result.name_hint}_token"
        rewriter.replace(op, slice_, [slice_.result])


def async_token_of(value: SSAValue) -> SSAValue | None:
    """The async token that `value` carries, or None."""
    if not isinstance(value, OpResult):
        return None
    op = value.op
    if isinstance(op, ToAsyncOp):
        return _token_wrapper(op) if op.kind.data == STORAGE else None
    return next((result for result in op.results if isinstance(result.type, AsyncTokenType)), None)


def _token_wrapper(storage: ToAsyncOp) -> SSAValue | None:
    """The token wrapper beside a storage wrapper of the same value."""
    for use in storage.value.uses:
        user = use.operation
        if isinstance(user, ToAsyncOp) and user.kind.data == TOKEN and user.parent_block() is storage.parent_block():
            return user.result
    return None


def apply_local_patterns(function: Operation) -> bool:
    """Apply both patterns to `function`, without removing dead ops. Returns whether anything changed."""
    patterns = GreedyRewritePatternApplier([AsyncWaitOpRemoval(), ExtractSliceOpToAsync()], dce_enabled=False)
    walker = PatternRewriteWalker(patterns)
    return any([walker.rewrite_region(region) for region in function.regions])
