"""
What is left of compact stages becomes single steps, wherever it stands.

    %p, %f = produce_one_async %end, %k {               %own = producer_acquire %end, %k
      %own = producer_acquire %end, %k                  %q, %t = produce_one_async %own, %k {
      %full = producer_write %own, %k {                 ^bb0(%slot):
      ^bb0(%slot): ... yield %v }              ->         ... yield %v
      yield                                             }
    }                                                   producer_commit %q
    producer_commit %f

    %h = consume_one %end, %k { consumer_wait }         %got = consumer_wait %end, %k
    %v = consumer_read %h, %k                           %v, %read = consumer_read %got, %k
    %d = consume_one_async %h                    ->     ...
    ...                                                 consumer_release %read
    %g = consumer_release %d
    async.wait %g

Programs with queues come in the compact form, and it is what `tileas-unspecialized-pipeline` overlaps. In single steps
each of them is one action on one barrier, and what fills a stage takes its slot as an argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.value_flow import hands_on
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumeOneOp,
    ConsumerReleaseOp,
    ProduceOneAsyncOp,
    ProducerCommitOp,
)
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, CreateNoneOp, FutureWaitOp, TokenToAsyncOp
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.transforms.tileas.compact_stages import (
    CompactFill,
    CompactTake,
    acquire_and_fill,
    compact_fill,
    compact_take,
    erase_take,
    insert_like,
    users_of,
    wait_and_read,
)

Publish = ProducerCommitOp | ConsumerReleaseOp


@dataclass(frozen=True)
class SingleStepsPass(ModulePass):
    """
    Make single steps of compact stages.

    Rewrites
        As the module's docstring shows: `produce_one_async` ops that take and fill their stage in their own region, and
        `consume_one` ops with their read and their `consume_one_async`. Commits and releases stay where they are, one
        for each stage. A wait for one goes: who takes a stage waits as well, and who gives one back has read it.

    Requires
        Verified IR.

    Refuses
        Nothing. Stages of another shape stay compact, with all that are committed or given back together with them:
        where something else than a wait uses their token. `convert-pipeline-to-nvvm` says of those that are
        left what is wrong.
    """

    name = "tileas-single-steps"

    DESCRIPTION: ClassVar[str] = "Make single steps of compact stages"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_in(op):
            _rewrite(function)


# Planning -------------------------------------------------------------------------------------------------------------


def _fills(function: Operation) -> dict[SSAValue, CompactFill]:
    """The stages that are filled, each by the token that says so."""
    found = [compact_fill(op) for op in function.walk() if isinstance(op, ProduceOneAsyncOp)]
    return {fill.produce.results[-1]: fill for fill in found if fill is not None}


def _takes(function: Operation) -> dict[SSAValue, CompactTake]:
    """The stages that are taken, each by the token that says that it was read."""
    found = [compact_take(op) for op in function.walk() if isinstance(op, ConsumeOneOp)]
    return {take.twin.results[-1]: take for take in found if take is not None}


def _published(tokens: Iterable[SSAValue], kind: type[Publish]) -> list[Publish]:
    """
    The ops of a kind that publish stages of these tokens and no others. A token that has another user takes along all
    that are published with it.
    """
    own = {token for token in tokens if len(users_of(token)) == 1}
    found = dict.fromkeys(user for token in own for user in users_of(token) if isinstance(user, kind))
    return [op for op in found if own.issuperset(op.tokens) and all(map(_is_nobodys, op.results))]


def _is_nobodys(token: SSAValue) -> bool:
    """
    Whether nobody relies on a token: none but waits, under whatever name. Who takes a stage waits for it as well, and
    who gives one back has read it.
    """
    names = [token]
    for name in names:
        for use in name.uses:
            if isinstance(use.operation, AsyncWaitOp | FutureWaitOp):
                continue
            behind = _handed_on(use)
            if behind is None:
                return False
            names += [each for each in behind if each not in names]
    return True


def _handed_on(use: Use) -> Sequence[SSAValue] | None:
    """The names by which a token goes on; None where something else is made of it."""
    op, around = use.operation, use.operation.parent_op()
    if isinstance(op, TokenToAsyncOp):
        return op.results
    if isinstance(op, scf.ForOp) and use.index > 2:
        return op.body.block.args[use.index - 2], op.results[use.index - 3]
    if not hands_on(op) or not isinstance(around, scf.IfOp | scf.ForOp):
        return None
    carried = [around.body.block.args[use.index + 1]] if isinstance(around, scf.ForOp) else []
    return around.results[use.index], *carried


# Rewriting ------------------------------------------------------------------------------------------------------------


def _rewrite(function: Operation) -> None:
    fills, takes = _fills(function), _takes(function)
    for commit in _published(fills, ProducerCommitOp):
        own = [fills[token] for token in commit.tokens]
        _publish(commit, [ProducerCommitOp(acquire_and_fill(fill).results[0]) for fill in own])
        for fill in own:
            Rewriter.erase_op(fill.produce)
    for release in _published(takes, ConsumerReleaseOp):
        taken = [takes[token] for token in release.tokens]
        _publish(release, [ConsumerReleaseOp(wait_and_read(take).results[-1]) for take in taken])
        for take in taken:
            erase_take(take)


def _publish(old: Publish, made: Sequence[Publish]) -> None:
    """Replace the ops that publish all stages by ops that publish single ones."""
    insert_like(made, old, InsertPoint.before(old))
    for token in old.results:
        for user in users_of(token):
            if isinstance(user, AsyncWaitOp | FutureWaitOp):
                Rewriter.erase_op(user)
            elif isinstance(user, TokenToAsyncOp):
                nothing = CreateNoneOp(user.result.type)
                insert_like([nothing], old, InsertPoint.before(user))
                Rewriter.replace_op(user, [], nothing.results)
        if token.first_use is not None:
            nothing = CreateNoneOp(token.type)
            insert_like([nothing], old, InsertPoint.before(old))
            token.replace_all_uses_with(nothing.results[0])
    Rewriter.erase_op(old)
