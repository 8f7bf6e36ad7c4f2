"""
What an agent fills is committed stage by stage, in the loops of agents that the program has.

    %p, %f = produce_one_async %in, %k {...}            %p, %f = produce_one_async %in, %k {...}
    %q, %g = produce_one_async %other, %k {...}   ->    producer_commit %f
    %c = producer_commit %f, %g                         %q, %g = produce_one_async %other, %k {...}
    scf.yield (token_to_async %c)                       producer_commit %g

MaterializeAsync commits once for all, behind the last stage. So whoever waits for the first stage waits for a slot of
the last one, too, and two agents that are stages apart may wait for each other. And nobody needs the last token behind
the loop, where the agent does nothing else and others take every stage that it fills (`scheduling/agent_rings.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.dialects.nv_tileas.pipeline import ProduceOneAsyncOp, ProducerCommitOp
from tileas_xdsl.dialects.nv_tileas.tokens import TokenToAsyncOp
from tileas_xdsl.scheduling.agent_rings import is_taken_whole
from tileas_xdsl.transforms.tileas.materialize_async.plan import TOKEN_ITER_IDX
from tileas_xdsl.transforms.tileas.prepare_for_scheduling.rings import drop_token, insert_like, token_only_ends


@dataclass(frozen=True)
class FilledPlan:
    """The commits of one loop, and what hands their tokens on."""

    loop: scf.ForOp
    commits: tuple[ProducerCommitOp, ...]
    dropped: tuple[Operation, ...]
    """What goes, beside the commits."""
    token: int | None
    """Which of the carried values is a token that goes."""


def plan_filled(loop: scf.ForOp) -> FilledPlan | None:
    """The plan for `loop`, which is in an agent; None where it commits nothing, or tokens have other users."""
    commits = tuple(op for op in loop.body.block.ops if isinstance(op, ProducerCommitOp))
    if not commits or not all(map(_commits_its_own, commits)) or not is_taken_whole(loop):
        return None
    made = [user for commit in commits for result in commit.results for user in _users(result)]
    if not all(isinstance(op, TokenToAsyncOp) for op in made):
        return None
    users = [user for op in made for result in op.results for user in _users(result)]
    if not users:
        return FilledPlan(loop, commits, tuple(made), None)
    index = loop.attributes.get(TOKEN_ITER_IDX)
    if len(users) > 1 or not isinstance(users[0], scf.YieldOp) or not isinstance(index, IntegerAttr):
        return None
    if not token_only_ends(loop, index.value.data, made):
        return None
    return FilledPlan(loop, commits, tuple(made), index.value.data)


def _commits_its_own(commit: ProducerCommitOp) -> bool:
    """Whether `commit` stands for stages that ops of its block fill, and is the only one to do so."""
    produces = [token.owner for token in commit.tokens]
    own = all(isinstance(op, ProduceOneAsyncOp) and op.parent_block() is commit.parent_block() for op in produces)
    return own and all(len(list(token.uses)) == 1 for token in commit.tokens)


def _users(value: SSAValue) -> list[Operation]:
    return [use.operation for use in value.uses]


def rewrite_filled(plan: FilledPlan) -> scf.ForOp:
    """Carry out `plan`. Returns the loop, or that which takes its place."""
    loop = plan.loop if plan.token is None else drop_token(plan.loop, plan.token)
    for commit in plan.commits:
        for token in commit.tokens:
            assert isinstance(token.owner, Operation), "asked for by `_commits_its_own`"
            insert_like([ProducerCommitOp(token)], commit, InsertPoint.after(token.owner))
    for op in (*plan.dropped, *plan.commits):
        Rewriter.erase_op(op)
    return loop
