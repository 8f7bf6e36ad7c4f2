"""
One queue of a program, judged without what else the program does.

A wait for a queue orders nothing but the groups of that queue, where one thread of control commits and waits. So the
counts of a queue are judged on a copy of the program in which only that queue is asynchronous: the scopes of other
queues are run on the spot, waits for them complete nothing. What the checker cannot follow gives way to something that
does no less (`stand_ins`):

* a wait for a queue that cannot be told, or with a count that cannot be told, completes nothing;
* the scopes of a commit to a queue that cannot be told are run on the spot;
* a branch that depends on data does all that it might do, and anything else touches on the spot all that it may touch.

Where the copy is proved safe so is the program, but for the groups that the copy does not have. Those are completed by
waits behind them; and these stay as they are (`blind_spots`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import gpu, scf
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.dialects.async_.support import AsyncOp
from tileas_xdsl.dialects.async_queue import CommitOp, QueueScope, ScopeOp, WaitOp, around
from tileas_xdsl.dialects.nv_tileaa.opaque import OpaqueOp
from tileas_xdsl.dialects.tiles.functions import TileFunction
from tileas_xdsl.dialects.tiles.syntax import TileOp
from tileas_xdsl.dialects.upstream import UpstreamOp
from tileas_xdsl.interfaces import AgentLikeOpInterface, AsyncOpInterface, functions_in
from tileas_xdsl.transforms.queues.queue_tighten_waits.judge import Fault, Judge
from tileas_xdsl.transforms.queues.queue_tighten_waits.stand_ins import (
    holds_queue_ops,
    may_commit,
    run_both_branches,
    stand_in_for,
)

MOST_STAND_INS = 64
"""The number of ops that are replaced by stand-ins before the queue is given up."""

OTHER_MODELS: tuple[type[Operation], ...] = (AsyncOp, UpstreamOp, TileOp, TileFunction, OpaqueOp, *gpu.GPU.operations)
"""
The ops of the dialects that have ways of their own to say "not yet": `async` and `async_region`, then `nvgpu`, `nvvm`
and `rocdl`, the tile dialects, and `gpu`.
"""


def queue_number(op: CommitOp | WaitOp) -> int | None:
    """The number of the queue of `op`; None where it is computed."""
    queue = op.queue
    return queue if isinstance(queue, int) else constant_integer(queue)


def other_asynchrony(module: Operation) -> Operation | None:
    """The first op that makes something asynchronous, or runs it, in another way than by queues."""
    for op in module.walk():
        is_other = AgentLikeOpInterface.of(op) is not None or AsyncOpInterface.of(op) is not None
        if is_other or isinstance(op, OTHER_MODELS):
            return op
    return None


class OneQueue:
    """A copy of `module` in which one queue is asynchronous, and the checker's opinion of it."""

    def __init__(self, module: Operation, queue: int, functions: Sequence[str], capture: str) -> None:
        """`module` has no asynchrony but that of queues; `functions` are those that tell what is safe."""
        self.copy = module.clone()
        self.judge = Judge(self.copy, functions, capture)
        self.blind_spots: dict[Operation, None] = {}
        """The ops of `module` that may commit groups to the queue which the copy does not have."""
        self.given_way: dict[Operation, str] = {}
        """The ops of `module` that the copy does not have, and why."""
        self._originals = dict(zip(self.copy.walk(), module.walk(), strict=True))
        self._stand_ins: set[Operation] = set()
        self._keep_only(queue)

    def waits(self) -> dict[Operation, WaitOp]:
        """The waits of the queue that can be judged: as they stand in `module`, and in the copy."""
        return {self._originals[op]: op for op in self.copy.walk() if isinstance(op, WaitOp)}

    def settle(self) -> Fault | None:
        """
        Replace what cannot be followed by stand-ins, one after the other, until the copy is proved safe. Returns None
        then, else the reason why it is not.
        """
        only_this_queue = False
        for _ in range(MOST_STAND_INS):
            fault = self._fault()
            if fault is None or fault.is_mistake:
                return fault
            if fault.op is not None and self._give_way(fault.op, fault.text):
                continue
            if fault.op is not None or only_this_queue:
                return fault
            self._leave_out_other_control(fault.text)
            only_this_queue = True
        return self._fault()

    def _fault(self) -> Fault | None:
        return self.judge.fault(prove=False) or self.judge.fault()

    # What the copy does without ---------------------------------------------------------------------------------------

    def _keep_only(self, queue: int) -> None:
        """Run all scopes on the spot but those of this queue."""
        named = [op for op in self.copy.walk() if isinstance(op, CommitOp | WaitOp)]
        kept = {op for op in named if queue_number(op) == queue}
        for op in named:
            if isinstance(op, CommitOp) and queue_number(op) is None:
                self.blind_spots[self._originals[op]] = None
        others: list[QueueScope] = [op for op in named if op not in kept]
        for op in self.copy.walk():
            if isinstance(op, ScopeOp) and not kept.intersection(_commits_around(op)[:1]):
                others.append(op)
        for op in others:
            _run_on_the_spot(op)

    def _give_way(self, op: Operation, why: str) -> bool:
        """Take `op` out of the copy, and put there what does no less; tells whether that could be done."""
        if op in self._stand_ins or op not in self._originals:
            return False
        if isinstance(op, WaitOp):
            self.given_way[self._originals[op]] = why
            _run_on_the_spot(op)
            return True
        if isinstance(op, scf.IfOp | scf.IndexSwitchOp) and not holds_queue_ops(op):
            if self._note(op, run_both_branches(op, len(self._stand_ins)), why, commits=False):
                return True
        target = (_commits_around(op) or [op])[-1]
        commits = may_commit(target)
        inside = list(target.walk())
        if not self._note(target, stand_in_for(target, len(self._stand_ins)), why, commits=commits):
            return False
        self.given_way.update((self._originals[inner], why) for inner in inside if inner in self._originals)
        return True

    def _note(self, op: Operation, stand_in: Operation | None, why: str, *, commits: bool) -> bool:
        if stand_in is None:
            return False
        self._stand_ins.add(stand_in)
        self.given_way[self._originals[op]] = why
        if commits:
            self.blind_spots[self._originals[op]] = None
        return True

    def _leave_out_other_control(self, why: str) -> None:
        """Replace by stand-ins all loops and branches that hold no commit and no wait."""
        for function in functions_in(self.copy):
            pending = [op for region in function.regions for block in region.blocks for op in block.ops]
            while pending:
                op = pending.pop()
                if not op.regions or op not in self._originals:
                    continue
                if isinstance(op, scf.ForOp | scf.WhileOp | scf.IfOp | scf.IndexSwitchOp) and not holds_queue_ops(op):
                    if not _commits_around(op):
                        self._give_way(op, why)
                    continue
                pending += [inner for region in op.regions for block in region.blocks for inner in block.ops]


def _commits_around(op: Operation) -> list[CommitOp]:
    """The commits in which `op` stands, innermost first."""
    return [node for node in around(op) if isinstance(node, CommitOp)]


def _run_on_the_spot(scope: QueueScope) -> None:
    """Put the body of a scope, a commit or a wait in its place."""
    if scope.body.first_block is not None:
        Rewriter.inline_block(scope.body.block, InsertPoint.before(scope))
    Rewriter.erase_op(scope)
