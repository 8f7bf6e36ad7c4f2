"""
The contract of `AsyncRegionOpInterface`, as a trait that the verifier checks.
"""

from __future__ import annotations

from xdsl.ir import Block, BlockArgument, Operation
from xdsl.traits import IsolatedFromAbove, IsTerminator, OpTrait, RecursiveMemoryEffect, is_side_effect_free
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.async_ import TokenType
from tileas_xdsl.dialects.async_.types import TOKEN, TOKEN_OR_VALUE
from tileas_xdsl.interfaces import AsyncOpInterface, AsyncRegionOpInterface


class AsyncRegionContract(OpTrait):
    """
    The guarantees of `AsyncRegionOpInterface`, checked for each region of the op.

    All edges into the region are joined in one token: a region token is the only argument of the entry block, of type
    `!async.token`. What the region forwards does not depend on a branch taken: there is one block, and its terminator
    gives tokens or promises. A region with a token argument runs before its dependencies are complete, so its ops may
    only issue asynchronous work.
    """

    def verify(self, op: Operation) -> None:
        assert isinstance(op, AsyncRegionOpInterface)
        for index, region in enumerate(op.regions):
            block = region.first_block
            if block is None or block.next_block is not None:
                raise VerifyException(f"'{op.name}' op expects region #{index} to have one block")
            _verify_forwarded(op, index)
            token = op.async_region_token(index)
            if token is not None:
                _verify_region_token(op, block, token)


class SeesOnlyArguments(IsolatedFromAbove):
    """`IsolatedFromAbove`, with an error text that names the way out."""

    def verify(self, op: Operation) -> None:
        try:
            super().verify(op)
        except VerifyException as error:
            raise VerifyException(
                f"'{op.name}' op sees no values from outside: pass them in as '(%value as %argument: type)'. {error}"
            ) from None


def _verify_forwarded(op: Operation, index: int) -> None:
    assert isinstance(op, AsyncRegionOpInterface)
    for token in op.async_region_dependencies(index):
        if not TOKEN_OR_VALUE.admits(token.type):
            raise VerifyException(
                f"'{op.name}' op region #{index} must forward {TOKEN_OR_VALUE.words}, but forwards '{token.type}'"
            )


def _verify_region_token(op: Operation, block: Block, token: BlockArgument) -> None:
    if len(block.args) != 1:
        raise VerifyException(
            f"'{op.name}' op with a region token takes no other argument: it runs before its dependencies are "
            "complete, when there is no payload yet; leave the token argument out, or unwrap the promise inside"
        )
    if not TOKEN.admits(token.type) or token.block is not block:
        raise VerifyException(f"'{op.name}' op region token must be an entry argument of async token type")
    if (offender := _first_synchronous(block)) is not None:
        raise VerifyException(
            f"'{op.name}' op has a region token, so its body is issued at once and may not wait or touch memory, but "
            f"'{offender.name}' {_complaint(offender)}; leave the token argument out, or put the operation into a "
            "region of its own"
        )


def _first_synchronous(block: Block) -> Operation | None:
    """
    The first operation in `block` that does more than issue asynchronous work or compute on values; None without one.
    """
    for op in block.ops:
        if op.has_trait(IsTerminator, value_if_unregistered=False) or is_asynchronous(op) or is_side_effect_free(op):
            continue
        if not op.has_trait(RecursiveMemoryEffect, value_if_unregistered=False):
            return op
        for region in op.regions:
            for inner in region.blocks:
                if (offender := _first_synchronous(inner)) is not None:
                    return offender
    return None


def is_asynchronous(op: Operation) -> bool:
    """Whether `op` returns a token. An op without `AsyncOpInterface` is judged by the types of its results."""
    view = AsyncOpInterface.of(op)
    if view is not None:
        return view.async_token is not None
    return any(isinstance(result.type, TokenType) for result in op.results)


def _complaint(op: Operation) -> str:
    return "blocks" if AsyncOpInterface.of(op) is not None else "is synchronous"
