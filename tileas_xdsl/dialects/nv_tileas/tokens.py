"""
Ops on completion tokens: making, converting and waiting for them.

    %t = nv_tileas.create_none : () -> !nv_tileas.token                            nothing to wait for
    %s = nv_tileas.async.to_async %v attributes {kind = "storage"} : (T) -> T      the bytes of %v
    %d = nv_tileas.async.to_async %v attributes {kind = "token"} : (T) -> !nv_tileas.token   its completion
    %a = nv_tileas.async.token_to_async %p : (!nv_tileas.producer_token) -> !nv_tileas.token
    nv_tileas.async.wait %a : (!nv_tileas.token) -> ()
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nv_tileaa.types import MemTokenType
from tileas_xdsl.dialects.nv_tileas.types import AsyncTokenType, is_token
from tileas_xdsl.dialects.tiles.syntax import TileOp
from tileas_xdsl.dialects.tiles.traits import MemoryConsistency, Synchronizes, ViewOfOperand
from tileas_xdsl.interfaces import Effect, MemoryAccessOpInterface, SideOrder, TokenWait

STORAGE, TOKEN = "storage", "token"
"""What `to_async` gives: the value itself, or the token that says when it is there."""


@irdl_op_definition
class CreateNoneOp(TileOp):
    """A placeholder, normally a token: waits for nothing, belongs to no pipeline, lowers to poison."""

    name = "nv_tileas.create_none"

    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, type_: Attribute | None = None) -> None:
        super().__init__(result_types=[AsyncTokenType() if type_ is None else type_])


@irdl_op_definition
class ToAsyncOp(TileOp):
    """The asynchronous form of a value: `kind = "storage"` keeps its type, `kind = "token"` gives its completion."""

    name = "nv_tileas.async.to_async"

    value = operand_def()
    result = result_def()
    kind = prop_def(StringAttr)

    traits = traits_def(Pure(), ViewOfOperand())

    def __init__(self, value: SSAValue, kind: str) -> None:
        super().__init__(
            operands=[value],
            result_types=[AsyncTokenType() if kind == TOKEN else value.type],
            properties={"kind": StringAttr(kind)},
        )

    def verify_contract(self) -> None:
        match self.kind.data:
            case "storage":
                expected = self.value.type
            case "token":
                expected = AsyncTokenType()
            case other:
                raise VerifyException(f"expects kind to be 'storage' or 'token', but got '{other}'")
        if self.result.type != expected:
            raise VerifyException(
                f"expects a result of type {expected} for kind '{self.kind.data}', but got {self.result.type}"
            )


@irdl_op_definition
class TokenToAsyncOp(TileOp):
    """Convert any token into a completion token."""

    name = "nv_tileas.async.token_to_async"

    token = operand_def()
    result = result_def(AsyncTokenType)

    traits = traits_def(Pure())

    def __init__(self, token: SSAValue) -> None:
        super().__init__(operands=[token], result_types=[AsyncTokenType()])

    def verify_contract(self) -> None:
        if not is_token(self.token.type) and not isinstance(self.token.type, MemTokenType):
            raise VerifyException(f"expects a token, but got {self.token.type}")


@irdl_op_definition
class AsyncWaitOp(TileOp, MemoryAccessOpInterface):
    """Block until the token is complete. What made the token decides how: barrier, bulk group or warp-group group."""

    name = "nv_tileas.async.wait"

    token = operand_def(AsyncTokenType)

    traits = traits_def(Synchronizes(), MemoryConsistency())

    @property
    def memory_accesses(self) -> Sequence[Effect | SideOrder | TokenWait]:
        return [TokenWait(self.token)]

    def __init__(self, token: SSAValue) -> None:
        super().__init__(operands=[token])


@irdl_op_definition
class FutureWaitOp(TileOp, MemoryAccessOpInterface):
    """
    Announce that the token will be waited for. Unlike an `async.wait`, it never makes a later `async.wait` redundant.
    """

    name = "nv_tileas.async.future_wait"

    token = operand_def(AsyncTokenType)

    traits = traits_def(Synchronizes())

    @property
    def memory_accesses(self) -> Sequence[Effect | SideOrder | TokenWait]:
        return [TokenWait(self.token)]

    def __init__(self, token: SSAValue) -> None:
        super().__init__(operands=[token])


TOKEN_OPS = (CreateNoneOp, ToAsyncOp, TokenToAsyncOp, AsyncWaitOp, FutureWaitOp)
