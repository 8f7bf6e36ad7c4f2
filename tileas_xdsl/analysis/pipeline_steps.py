"""
Which op does each step in the life of a stage: acquire, write, commit; wait, read, release.

A step that a slot op inside the region of a produce or consume op does, or a commit or release that the op's token
reaches, is done there. A step that no other op does, the produce or consume op does itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue, Use

from tileas_xdsl.analysis.memory.objects import memory_sources
from tileas_xdsl.analysis.value_flow import carried_to
from tileas_xdsl.dialects.nv_tileas.classified import ConsumeOp, ProduceOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumeOneAsyncOp,
    ConsumerReadOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    ProducerAcquireOp,
    ProducerCommitOp,
    ProducerWriteOp,
)
from tileas_xdsl.dialects.nv_tileas.tokens import ToAsyncOp, TokenToAsyncOp
from tileas_xdsl.dialects.nv_tileas.types import is_token


@dataclass(frozen=True)
class OwnSteps:
    """Which of the three steps of its side a produce or consume op does itself."""

    takes: bool
    """Acquires (producer) or waits (consumer)."""
    moves: bool
    """Writes (producer) or reads (consumer)."""
    gives: bool
    """Commits (producer) or releases (consumer)."""


def own_steps(op: ProduceOp | ConsumeOp) -> OwnSteps:
    """The steps that `op` has to do itself. Linear in the size of its region and in the uses of its tokens."""
    if isinstance(op, ProduceOp):
        return _own_steps(op, ProducerAcquireOp, ProducerWriteOp, ProducerCommitOp)
    return _own_steps(op, ConsumerWaitOp, ConsumerReadOp, ConsumerReleaseOp)


def _own_steps(
    op: ProduceOp | ConsumeOp, take: type[Operation], move: type[Operation], give: type[Operation]
) -> OwnSteps:
    inside = {type(nested) for nested in op.walk() if nested is not op}
    taken_before = any(_comes_from(token, take) for token in op.tokens)
    given_later = any(reaches(result, give) for result in op.results if is_token(result.type))
    return OwnSteps(
        takes=take not in inside and not taken_before,
        moves=move not in inside,
        gives=give not in inside and not given_later,
    )


def _comes_from(token: SSAValue, source: type[Operation]) -> bool:
    """Whether `token` is that of a `source` op: its result, or what a loop or a branch has carried from there."""
    stack, seen = [token], {token}
    while stack:
        value = stack.pop()
        if isinstance(value.owner, source):
            return True
        for before in memory_sources(value) or ():
            if before not in seen:
                seen.add(before)
                stack.append(before)
    return False


def reaches(token: SSAValue, target: type[Operation]) -> bool:
    """
    Whether `token` reaches an operand of a `target` op as a token of the same stage: directly, carried by loops and
    branches, read, or seen through wrappers; not through an op that stands for another stage.
    """
    stack, seen = [token], {token}
    while stack:
        for use in stack.pop().uses:
            if isinstance(use.operation, target):
                return True
            for value in _carried(use.operation, use.index):
                if value not in seen:
                    seen.add(value)
                    stack.append(value)
    return False


def _carried(user: Operation, index: int) -> Iterable[SSAValue]:
    """The values that are the same token after operand `index` of `user`."""
    match user:
        case TokenToAsyncOp() | ToAsyncOp() | ConsumerReadOp() | ConsumeOneAsyncOp() | ProducerWriteOp():
            return [result for result in user.results if is_token(result.type)]
        case _:
            return carried_to(Use(user, index)) or ()
