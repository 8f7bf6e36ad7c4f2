"""What the token ops of `nv_tileas` do: make, convert and await tokens."""

from __future__ import annotations

from typing import Any

from tileas_xdsl.dialects.nv_tileas.pipeline import CreateNullTokenOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, CreateNoneOp, FutureWaitOp, ToAsyncOp, TokenToAsyncOp
from tileas_xdsl.dialects.nv_tileas.types import is_token
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import Event
from tileas_xdsl.machine.core.meaning import effect, suspends
from tileas_xdsl.machine.core.standings import Answer
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.parts.rings import StageToken, done_token
from tileas_xdsl.machine.parts.tasks import awaited


def as_token(value: Any) -> StageToken:
    """`value` as a token: a token itself, a token of an `Event`, or a complete token for anything else."""
    if isinstance(value, StageToken):
        return value
    return StageToken(None, "", None, value) if isinstance(value, Event) else done_token()


@effect(CreateNoneOp, CreateNullTokenOp)
def _create_none(_agent: Agent, op: CreateNoneOp | CreateNullTokenOp) -> Any:
    return done_token() if is_token(op.results[0].type) else UNKNOWN


@effect(ToAsyncOp)
def _to_async(_agent: Agent, op: ToAsyncOp, value: Any) -> Any:
    """Kind `storage` gives the value itself. Kind `token` gives a complete token, since the value is there already."""
    return value if op.kind.data == "storage" else as_token(value)


@effect(TokenToAsyncOp)
def _token_to_async(_agent: Agent, _op: TokenToAsyncOp, token: Any) -> StageToken:
    return as_token(token)


@suspends(AsyncWaitOp, FutureWaitOp)
def _wait(agent: Agent, op: AsyncWaitOp | FutureWaitOp, token: Any) -> Answer:
    if not agent.allows(op, None)[0]:
        return None
    return awaited(agent, op, as_token(token).event)
