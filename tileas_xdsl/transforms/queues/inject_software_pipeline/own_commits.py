"""
Queues that a component fills by itself, by commits that are written by hand.

A component that is not asynchronous may hold `async_queue.commit`s written by hand, also under a condition on data or
in a loop: then what it issued may be in flight when it ends. The queue belongs to that one component. Waits for it that
stand in other components, with whatever count, are taken out, and what each needs is found as for asynchronous stages:

    async_queue.block {                                   wait 5, 0 becomes
      scf.if %hit { async_queue.commit 5 { ... } }          the exact count, where each execution commits as many
    }                                                       groups as the others,
    async_queue.block { async_queue.wait 5, 0 { use } }     else wait 0, or a count that is computed (`counters.py`)

Waits in the component that commits stay as they are; they say how its own parts depend on each other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.induction import static_trip_count
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.async_queue import BlockOp, CommitOp, QueueScope, WaitOp
from tileas_xdsl.dialects.async_queue_annotations import Annotations
from tileas_xdsl.transforms.queues.inject_software_pipeline.components import LoopBody


@dataclass(frozen=True)
class OwnQueue:
    """A queue that one component fills."""

    component: int
    queue: int
    """The number of the queue in the program."""
    commits: int | None
    """How many groups each execution commits; None where that depends."""

    @property
    def key(self) -> int:
        """A key of its own among the queues of stages, which count from 0: a negative number."""
        return -1 - self.component


def find_own_queues(
    body: LoopBody, annotations: Annotations, nested: Collection[Operation], reserved: Collection[int]
) -> tuple[OwnQueue, ...]:
    """
    The queues that components of `body` fill by themselves, in program order.

    `nested` are the blocks that stand for nested pipelines, whose queues are their own business; `reserved` are the
    queues of all pipelines. Raises `RefusedError` for queues whose groups cannot be told apart.
    """
    parts = {part for nest in body.nests for part in nest}
    owners: dict[int, OwnQueue] = {}
    for number, component in enumerate(body.components):
        if number in parts or annotations.is_async(number):
            continue
        commits = [op for op in _written_by_hand(component, nested) if isinstance(op, CommitOp)]
        if not commits:
            continue
        queue = _only_queue(commits)
        if queue in reserved or queue in owners:
            other = "a pipeline" if queue in reserved else f"statement {owners[queue].component}"
            refuse(
                commits[0],
                f"commits to queue {queue}, and so does {other}, so that groups cannot be counted",
                "give each component that commits by itself a queue that nobody else fills",
            )
        owners[queue] = OwnQueue(number, queue, commits_in(component.body.block, queue))
    return tuple(owner for owner in owners.values() if owner.commits != 0)


def take_out_waits(body: LoopBody, owners: Sequence[OwnQueue], nested: Collection[Operation]) -> None:
    """Dissolve the waits for the queues of `owners` in components other than the owner. Raises `RefusedError`."""
    by_queue = {owner.queue: owner for owner in owners}
    for number, component in enumerate(body.components) if owners else ():
        for wait in [op for op in _written_by_hand(component, nested) if isinstance(op, WaitOp)]:
            if not isinstance(wait.queue, int):
                refuse(
                    wait,
                    "waits for a queue that is computed, where components commit by themselves",
                    "wait for a queue that is a number, so that it can be told whose groups it counts",
                )
            if wait.queue in by_queue and by_queue[wait.queue].component != number:
                if wait.body.first_block is not None:
                    Rewriter.inline_block(wait.body.block, InsertPoint.before(wait))
                Rewriter.erase_op(wait)


def _written_by_hand(component: BlockOp, nested: Collection[Operation]) -> Iterator[Operation]:
    """The ops in `component` without those of the pipelines nested in it."""
    stack: list[Operation] = [component]
    while stack:
        op = stack.pop()
        if op in nested:
            continue
        yield op
        stack.extend(reversed([inner for region in op.regions for block in region.blocks for inner in block.ops]))


def _only_queue(commits: Sequence[CommitOp]) -> int:
    first = commits[0].queue
    for commit in commits:
        if not isinstance(commit.queue, int):
            refuse(
                commit,
                "commits to a queue that is computed, so that groups cannot be counted",
                "commit to a queue that is a number, or wait for the groups inside the component and pipeline without "
                "annotations",
            )
        if commit.queue != first:
            refuse(
                commit,
                f"commits to queue {commit.queue}, and its component to queue {first} as well",
                "put commits to different queues into components of their own",
            )
    assert isinstance(first, int)
    return first


# Counting -------------------------------------------------------------------------------------------------------------


def commits_in(block: Block | None, queue: int) -> int | None:
    """How many groups one run of `block` commits to `queue`; None where that depends."""
    total = 0
    for op in block.ops if block is not None else ():
        number = commits_of(op, queue)
        if number is None:
            return None
        total += number
    return total


def commits_of(op: Operation, queue: int) -> int | None:
    """How many groups `op`, with its regions, commits to `queue`; None where that depends on data."""
    own = int(isinstance(op, CommitOp) and op.queue == queue)
    inside = [commits_in(block, queue) for region in op.regions for block in region.blocks]
    if not any(number != 0 for number in inside):
        return own
    match op:
        case QueueScope():
            return None if inside[0] is None else own + inside[0]
        case scf.IfOp():
            return inside[0] if len(inside) == 2 and inside[0] == inside[1] else None
        case scf.ForOp():
            trips = static_trip_count(op)
            return None if trips is None or inside[0] is None else trips * inside[0]
        case _:
            return None
