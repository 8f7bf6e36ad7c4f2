"""
The plan for a module whose queues are lowered. It is complete before anything is rewritten.

Several queues become one sequence of groups, so every count is taken anew: a wait that leaves N groups of its queue
leaves as many groups of the sequence as were closed since the (N + 1)-th newest of that queue, on any path
(`analysis/windows.py`). A wait for which no path has so many groups cannot block, and goes.

A function that nobody in the module calls starts with no groups in flight: it is a kernel. One that only functions in a
circle call may find any.

Where a count or a queue is computed, the largest safe constant is taken; loops are not peeled for it. What is computed
comes out of loops with constant stages unrolled, so it is a constant there already.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.analysis.value_range import ValueRanges
from tileas_xdsl.analysis.windows import (
    NOTHING,
    Count,
    WindowAnalysis,
    function_name,
    require_few_groups,
    symbol_called,
)
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.async_queue import BlockOp, CommitOp, QueueScope, ScopeOp, WaitOp, around
from tileas_xdsl.dialects.async_queue_annotations import KEYS
from tileas_xdsl.interfaces import (
    AgentLikeOpInterface,
    AsyncCollectorOpInterface,
    AsyncRegionOpInterface,
    FunctionOpInterface,
    functions_in,
)
from tileas_xdsl.transforms.queues.queue_lowering.copies import ScopeCopies, candidates_in
from tileas_xdsl.transforms.queues.queue_lowering.order import order_matters
from tileas_xdsl.transforms.queues.queue_lowering.target import QueueTarget

COMPUTED = "a computed queue"
OWN = "the target's own groups"
"""Keys of sequences other than the numbered queues."""


@dataclass
class Note:
    """A remark about an op, to be emitted when the plan is carried out."""

    op: Operation
    message: str
    way_out: str | None = None


@dataclass
class LoweringPlan:
    """The plan for the queue ops of a module and the stores in its scopes."""

    scopes: dict[ScopeOp, ScopeCopies] = field(default_factory=dict[ScopeOp, ScopeCopies])
    waits: dict[Operation, int | None] = field(default_factory=dict[Operation, "int | None"])
    """Waits on queues and of the target's own, with their new counts; None for one that goes."""
    in_place: list[QueueScope] = field(default_factory=list[QueueScope])
    """All ops of queues, an op before those inside it."""
    notes: list[Note] = field(default_factory=list[Note])


def plan_lowering(module: Operation, target: QueueTarget) -> LoweringPlan | None:
    """The plan for `module`, None where there is no queue in it. Raises `RefusedError`."""
    plan = LoweringPlan()
    plan.in_place = [op for op in module.walk() if isinstance(op, QueueScope)]
    if not plan.in_place:
        return None
    for op in plan.in_place:
        _refuse_place(op)
    _refuse_annotated(module)
    if not target.across_calls:
        _refuse_calls(module)
    for op in plan.in_place:
        if isinstance(op, ScopeOp):
            plan.scopes[op] = copies_in(op, target)
            for store, reason in plan.scopes[op].ordinary:
                what = "copy" if isinstance(store, memref.CopyOp) else "store"
                plan.notes.append(Note(store, f"stays an ordinary {what}: {reason}"))
    _Counts(module, target, plan).take()
    return plan


def copies_in(scope: ScopeOp, target: QueueTarget) -> ScopeCopies:
    """The stores of `scope`, sorted into copies and ordinary stores, with the judgement of `order`."""
    found = candidates_in(scope, target.refuses)
    if found.copies and (reason := order_matters(scope, found.copies)) is not None:
        found.ordinary += [(copy.store, reason) for copy in found.copies]
        found.copies = []
    return found


# Refusals -------------------------------------------------------------------------------------------------------------


def _refuse_place(op: QueueScope) -> None:
    """Raises `RefusedError` where `op` is not run by the thread that runs its function."""
    node = op.parent_op()
    while node is not None and FunctionOpInterface.of(node) is None:
        if AgentLikeOpInterface.of(node) is not None or AsyncRegionOpInterface.of(node) is not None:
            refuse(
                op,
                f"stands in an '{node.name}', which another thread runs, and threads do not see each other's groups",
                "commit and wait in one thread, and hand the data to others by a barrier",
            )
        node = node.parent_op()
    if node is None:
        refuse(op, "stands in no function", "put it into one")
    if isinstance(op, ScopeOp) and not isinstance(_collector_of(op), CommitOp):
        refuse(
            op,
            "fills or empties a stage of a pipeline, and the target's groups are made of commits",
            "run convert-pipeline-to-queue first",
        )


def _collector_of(scope: ScopeOp) -> Operation | None:
    return next((node for node in around(scope) if AsyncCollectorOpInterface.of(node) is not None), None)


def _refuse_annotated(module: Operation) -> None:
    for op in module.walk():
        if any(key in op.attributes for key in KEYS) and any(isinstance(inner, BlockOp) for inner in op.walk()):
            refuse(
                op,
                "is still to be pipelined, and its stages would be lost",
                "run inject-software-pipeline first, or remove the annotations",
            )


def _refuse_calls(module: Operation) -> None:
    """
    Raises `RefusedError` at a call between two functions with queues: there a wait may count groups of the other one,
    and in the target it cannot.
    """
    functions = {function_name(function): function for function in functions_in(module)}
    calls = {name: [op for op in function.walk() if symbol_called(op)] for name, function in functions.items()}
    own = {name for name, function in functions.items() if any(isinstance(op, QueueScope) for op in function.walk())}
    reaching = set(own)
    while grown := {n for n in functions if n not in reaching and any(symbol_called(c) in reaching for c in calls[n])}:
        reaching |= grown
    for name in functions:
        for call in calls[name]:
            if name in own and symbol_called(call) in reaching:
                refuse(
                    call,
                    "calls a function that commits to queues or waits for them, as its caller does; every activation "
                    "has marks of its own, so neither could wait for the other's groups",
                    "inline the call",
                )


# Counts ---------------------------------------------------------------------------------------------------------------


class _Counts:
    """Takes the counts of all waits anew."""

    def __init__(self, module: Operation, target: QueueTarget, plan: LoweringPlan) -> None:
        self.module, self.target, self.plan = module, target, plan
        self.waits = list(self._waits())
        self.sequences: dict[Hashable, int] = {OWN: 0, COMPUTED: 0}
        for op in plan.in_place:
            if isinstance(op, CommitOp | WaitOp):
                self.sequences.setdefault(_sequence_of(op), 0)
        for op, sequence, count in self.waits:
            require_few_groups(op, count)
            asked = [sequence] if sequence != COMPUTED else list(self.sequences)
            for one in asked:
                self.sequences[one] = max(self.sequences[one], count + 1)

    def _waits(self) -> Iterator[tuple[Operation, Hashable, int]]:
        """Every wait with its sequence and how many groups it leaves at least."""
        for op in self.module.walk():
            own = self.target.groups_awaited(op)
            if own is not None:
                yield op, OWN, own
            elif isinstance(op, WaitOp):
                yield op, _sequence_of(op), _least_count(op)

    def take(self) -> None:
        windows = WindowAnalysis(self.module, self.sequences, self._count, across_calls=self.target.across_calls)
        for op, sequence, count in self.waits:
            asked = [sequence] if sequence != COMPUTED else [one for one in self.sequences if one != OWN]
            found = [windows.window(op, one, count + 1) for one in asked]
            known = [window for window in found if window is not None]
            new = min(*known, self.target.most_in_flight) if known else None
            self.plan.waits[op] = new
            if isinstance(op, WaitOp) and op.computed:
                self._explain(op, count, new)

    def _count(self, op: Operation) -> Count:
        if isinstance(op, CommitOp):
            sequence = _sequence_of(op)
            return Count(1, tuple(self.sequences) if sequence == COMPUTED else (sequence,))
        return Count(1, (OWN,)) if self.target.closes_group(op) else NOTHING

    def _explain(self, op: WaitOp, count: int, new: int | None) -> None:
        reasons: list[str] = []
        if isinstance(op.queue, SSAValue):
            reasons.append("its queue is computed, so it waits for every queue that it may name")
        if isinstance(op.count, SSAValue) and ValueRanges().of(op.count).as_constant is None:
            reasons.append(f"its count is computed and may be as low as {count}")
        if not reasons:
            return
        result = "it cannot block and goes" if new is None else f"the largest constant that is safe is {new}"
        way_out = "unroll the loops that the numbers come from, so that they are constants"
        self.plan.notes.append(Note(op, f"{' and '.join(reasons)}: {result}", way_out))


def _sequence_of(op: CommitOp | WaitOp) -> Hashable:
    """The number of the queue, or that it is computed."""
    return op.queue if isinstance(op.queue, int) else COMPUTED


def _least_count(op: WaitOp) -> int:
    """How many groups the wait leaves unfinished at least; a count below zero is zero."""
    if isinstance(op.count, int):
        return op.count
    return max(ValueRanges().of(op.count).low, 0)
