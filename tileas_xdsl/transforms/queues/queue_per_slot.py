"""
A queue that is waited for by counting, to one queue for each slot, which is waited for as a whole.

    scf.for %i = %c0 to %n step %c1 {          scf.for %i = %c0 to %n step %c1 {
      async_queue.commit 0 { ... }               %q = (%i + 2) mod 3
      async_queue.wait 0, 2 { ... }       ->     async_queue.commit %q { ... }
    }                                            %p = %i mod 3
                                                 async_queue.wait %p, 0 { ... }
                                               }

The groups of a queue are numbered as they are committed, and group `g` goes to queue `g mod V`. Where at most `V`
groups may be unfinished, every queue holds at most one of them; a wait for `n` forces the groups that are not among the
`n` youngest, and each of these is all that is left in its queue. So no count is needed, and no unrolling: the id is
computed from the induction variable.

Source: the review of TVM RFC 0077 (apache/tvm-rfcs#80), whose last question this answers: a commit need not "pass in a
new static integer", and no loop has to be unrolled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tileas_xdsl.analysis.in_flight import UNBOUNDED, InFlight, ancestors, in_flight
from tileas_xdsl.analysis.induction import constant_integer, static_trip_count
from tileas_xdsl.analysis.value_range import ValueRanges
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.async_queue import BlockOp, CommitOp, QueueScope, ScopeOp, WaitOp
from tileas_xdsl.interfaces import end_of
from tileas_xdsl.transforms.queues.followable_queues import dissolve, functions_with_queues, require_followable
from tileas_xdsl.transforms.rewriting.index_arithmetic import IndexBuilder
from tileas_xdsl.transforms.rewriting.structure import carry_through

MAX_SLOTS = 64
"""How many queues one may become."""


@dataclass(frozen=True)
class QueuePerSlotPass(ModulePass):
    """
    Turn each queue that is waited for by count into one queue for each slot, of which every wait is for all groups.

    Rewrites:

    - `commit q` -> a commit to `first + (number of commits before) mod V`.
    - `wait q, n` -> one wait with count 0 for each group that it may force, the oldest first; the body stands in the
      last. With a computed count each stands in an `scf.if`. A wait that cannot block leaves its body.
    - The number of commits before is a constant, a multiple of the number of the iteration where each iteration commits
      equally often, else a value that loops and branches carry.

    `V` is the largest number of groups that may be unfinished when the queue is waited for; `first` counts the queues
    that the queues with smaller ids have become.

    Requires: queues that are empty when the function is called.

    Refuses: queues that cannot be followed (`followable_queues`); ids that are computed already; a wait that leaves
    groups unfinished where any number may be; more than `MAX_SLOTS` slots; fewer slots than are needed, if the option
    names them; a commit in which others commit an unknown number of times, for its own id is read before.
    """

    name = "queue-per-slot"

    slots: int = field(
        default=0,
        metadata={"help": "how many queues each queue becomes; 0: as many as groups may be unfinished"},
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewriters = [_Rewriter(plan) for plan in plan_slots(op, self.slots)]
        for rewriter in rewriters:
            rewriter.run()


# The plan -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SlotQueues:
    """The queues that one queue becomes."""

    first: int
    number: int


@dataclass(frozen=True)
class SlotPlan:
    """The plan for the queues of one function."""

    facts: InFlight
    slots: dict[int, SlotQueues]


def plan_slots(module: Operation, wanted: int) -> list[SlotPlan]:
    """The plan for each function with queues; `wanted` slots a queue, or 0. Raises `RefusedError`."""
    ranges = ValueRanges()
    require_followable(module, ranges)
    plans: list[SlotPlan] = []
    for function in functions_with_queues(module):
        for op in function.walk():
            _require_constant_id(op)
        facts = in_flight(function, ranges)
        slots: dict[int, SlotQueues] = {}
        first = 0
        for queue in facts.queues:
            slots[queue] = SlotQueues(first, _number_of_slots(queue, facts, wanted))
            first += slots[queue].number
        plans.append(SlotPlan(facts, slots))
    return plans


def _require_constant_id(op: Operation) -> None:
    if isinstance(op, CommitOp | WaitOp) and not isinstance(op.queue, int):
        refuse(op, "is for a queue whose id is computed already", "name the queues by constants")


def _number_of_slots(queue: int, facts: InFlight, wanted: int) -> int:
    needed = 1
    for op, bounds in facts.before.items():
        assert isinstance(op, WaitOp)
        if queue not in facts.ids(op):
            continue
        bound = bounds[queue]
        if bound == UNBOUNDED and facts.count(op).high > 0:
            refuse(
                op,
                f"leaves groups of queue {queue} unfinished where any number may be, so no number of queues holds one "
                "group each",
                "wait in the loop that commits, so that the number of unfinished groups has a limit, or wait for all",
            )
        if bound < UNBOUNDED:
            needed = max(needed, bound)
        for limit, whose in ((MAX_SLOTS, "may become one for each"), (wanted or MAX_SLOTS, "slots=N allows for")):
            if needed > limit:
                refuse(
                    op,
                    f"is reached when {needed} groups of queue {queue} may be unfinished, more than the {limit} that "
                    f"{whose}",
                    "wait for fewer groups, or earlier" if limit == MAX_SLOTS else f"run with slots={needed}",
                )
    return max(needed, wanted)


# The rewrite ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CommitNumber:
    """How many groups have been committed to a queue: `value + offset`, the value modulo the number of slots or not."""

    value: SSAValue | None = None
    offset: int = 0

    def later(self, groups: int) -> CommitNumber:
        return CommitNumber(self.value, self.offset + groups)


CommitNumbers = dict[int, CommitNumber]


class _Rewriter:
    """Rewrites one function, from its first op to its last."""

    def __init__(self, plan: SlotPlan) -> None:
        self.facts, self.slots = plan.facts, plan.slots
        self.build = IndexBuilder(plan.facts.function)
        self.committed: dict[Operation, dict[int, int | None]] = {}
        """Op with a region -> per queue, how many groups it commits; None where that depends on the run."""
        self.holding: set[Operation] = set()
        for op in plan.facts.function.walk():
            if isinstance(op, CommitOp | WaitOp):
                self.holding.update(ancestors(op, plan.facts.function))
        entry = plan.facts.function.regions[0].first_block
        assert entry is not None
        self.entry = entry
        self._count_in(entry)

    def run(self) -> None:
        self._ops(list(self.entry.ops), {queue: CommitNumber() for queue in self.facts.queues})
        self.build.tidy()

    # Counting commits -------------------------------------------------------------------------------------------------

    def _count_in(self, block: Block | None) -> dict[int, int | None]:
        """Per queue, how many groups the ops of `block` commit; notes it for each of them."""
        total: dict[int, int | None] = dict.fromkeys(self.facts.queues, 0)
        for op in block.ops if block is not None else ():
            if op in self.holding or isinstance(op, CommitOp | WaitOp):
                for queue, number in self._count(op).items():
                    before = total[queue]
                    total[queue] = None if before is None or number is None else before + number
        return total

    def _count(self, op: Operation) -> dict[int, int | None]:
        parts = [self._count_in(region.first_block) for region in op.regions]
        counts: dict[int, int | None] = {}
        for queue in self.facts.queues:
            numbers = [part[queue] for part in parts]
            counts[queue] = self._combined(op, queue, numbers)
        if isinstance(op, CommitOp) and None in counts.values():
            refuse(
                op,
                "holds other commits that are made an unknown number of times, and its id is read before they are",
                "move the other commits out of it",
            )
        self.committed[op] = counts
        return counts

    def _combined(self, op: Operation, queue: int, numbers: Sequence[int | None]) -> int | None:
        """How many groups `op` commits, given the numbers of its regions."""
        first = numbers[0]
        if isinstance(op, CommitOp) and first is not None:
            return first + (op.queue == queue)
        if isinstance(op, QueueScope | scf.ExecuteRegionOp):
            return first
        if isinstance(op, scf.ForOp) and first is not None:
            trips = static_trip_count(op)
            return 0 if first == 0 else None if trips is None else first * trips
        is_loop = isinstance(op, scf.ForOp | scf.WhileOp)
        if all(number == 0 for number in numbers):
            return 0
        return first if not is_loop and all(number == first for number in numbers) else None

    def _per_iteration(self, loop: scf.ForOp, queue: int) -> int | None:
        """How many groups each iteration commits, if they all commit equally many."""
        total: int | None = 0
        for op in loop.body.block.ops:
            if op in self.committed:
                number = self.committed[op][queue]
                total = None if total is None or number is None else total + number
        return total

    # Going through the function ---------------------------------------------------------------------------------------

    def _ops(self, ops: Sequence[Operation], turns: CommitNumbers) -> None:
        """Rewrite `ops`; `turns` become what they are behind them."""
        for op in ops:
            match op:
                case CommitOp():
                    self._commit(op, turns)
                case WaitOp():
                    self._wait(op, turns)
                case ScopeOp():
                    pass
                case BlockOp() if op in self.holding:
                    self._ops(dissolve(op), turns)
                    Rewriter.erase_op(op)
                case _ if op in self.holding:
                    self._control(op, turns)
                case _:
                    pass

    def _commit(self, commit: CommitOp, turns: CommitNumbers) -> None:
        assert isinstance(commit.queue, int)
        queue = commit.queue
        total = self.committed[commit][queue]
        assert total is not None, "the plan refuses commits in which an unknown number is committed"
        number = self._id(queue, turns[queue].later(total - 1), commit)
        if commit.body.first_block is not None:
            self._ops(list(commit.body.block.ops), turns)
        rebuilt = CommitOp(number, commit.detach_region(commit.body), dict(commit.attributes))
        self.build.insert(rebuilt, commit)
        Rewriter.erase_op(commit)
        turns[queue] = turns[queue].later(1)

    def _wait(self, wait: WaitOp, turns: CommitNumbers) -> None:
        assert isinstance(wait.queue, int)
        queue = wait.queue
        last = self._emit_waits(wait, queue, turns[queue]) if queue in self.slots else None
        commits = any(number != 0 for number in self.committed[wait].values())
        self._ops(dissolve(wait), turns)
        if last is not None and last.parent is wait.parent and not commits:
            self._put_into(last, wait)
        Rewriter.erase_op(wait)

    def _emit_waits(self, wait: WaitOp, queue: int, turn: CommitNumber) -> WaitOp | None:
        """The waits that take the place of `wait`, in front of it; returns the last of them."""
        count, slots = self.facts.count(wait), self.slots[queue].number
        bound = self.facts.before[wait][queue]
        last: WaitOp | None = None
        for age in reversed(range(count.low, min(bound, slots))):
            anchor: Operation = wait
            if age < count.high:
                assert isinstance(wait.count, SSAValue)
                anchor = self.build.branch(self.build.compare("sle", wait.count, age, wait), wait)
            last = WaitOp(self._id(queue, turn.later(-1 - age), anchor), 0)
            self.build.insert(last, anchor)
        return last

    def _put_into(self, last: WaitOp, wait: WaitOp) -> None:
        """Move what stands between `last` and `wait` into the body of `last`."""
        body = Block()
        while last.next_op is not None and last.next_op is not wait:
            body.add_op(_detached(last.next_op))
        if last.body.first_block is None and body.first_op is not None:
            last.body.add_block(body)
        last.attributes.update(wait.attributes)
        last.location = wait.location

    def _id(self, queue: int, turn: CommitNumber, anchor: Operation) -> int | SSAValue:
        """The queue of the group whose number is `turn`."""
        slots = self.slots[queue]
        reduced = self._reduced(queue, turn, anchor)
        if isinstance(reduced, int):
            return slots.first + reduced
        return self.build.plus(reduced, slots.first, anchor, "queue")

    def _reduced(self, queue: int, turn: CommitNumber, anchor: Operation) -> int | SSAValue:
        """`turn` modulo the number of slots."""
        number = self.slots[queue].number
        if turn.value is None or number == 1:
            return turn.offset % number
        shifted = self.build.plus(turn.value, turn.offset % number, anchor)
        return self.build.computed(arith.RemUIOp(shifted, self.build.constant(number)), anchor, "slot")

    # Control flow -----------------------------------------------------------------------------------------------------

    def _control(self, op: Operation, turns: CommitNumbers) -> None:
        turning = [queue for queue in self.facts.queues if self.slots[queue].number > 1]
        committing = [queue for queue in turning if self.committed[op][queue] != 0]
        rates = {queue: self._per_iteration(op, queue) for queue in committing} if isinstance(op, scf.ForOp) else {}
        known = [q for q in committing if rates.get(q) is not None or self.committed[op][q] is not None]
        carried = [queue for queue in committing if queue not in known]
        is_loop = isinstance(op, scf.ForOp | scf.WhileOp)

        def body(block: Block, entering: Sequence[SSAValue]) -> list[SSAValue]:
            inner = dict(turns)
            if isinstance(op, scf.ForOp):
                for queue in known:
                    inner[queue] = self._at_iteration(op, turns[queue], rates[queue] or 0)
            if is_loop:
                inner |= {queue: CommitNumber(value) for queue, value in zip(carried, entering, strict=True)}
            self._ops(list(block.ops)[:-1], inner)
            end = end_of(block)
            return [self._value(queue, inner[queue], end) for queue in carried]

        behind = {queue: self._behind(op, queue, turns[queue], rates.get(queue)) for queue in known}
        if carried:
            entering = [self._value(queue, turns[queue], op) for queue in carried] if is_loop else []
            results = carry_through(op, entering, body, "turn")
            behind |= {queue: CommitNumber(value) for queue, value in zip(carried, results, strict=True)}
        else:
            for region in op.regions:
                if region.first_block is not None:
                    body(region.block, [])
        turns |= behind

    def _value(self, queue: int, turn: CommitNumber, anchor: Operation) -> SSAValue:
        reduced = self._reduced(queue, turn, anchor)
        return self.build.constant(reduced) if isinstance(reduced, int) else reduced

    def _at_iteration(self, loop: scf.ForOp, turn: CommitNumber, rate: int) -> CommitNumber:
        """`turn` when an iteration of `loop` begins, in which `rate` groups are committed."""
        first = loop.body.block.first_op
        assert first is not None
        number: SSAValue = loop.body.block.args[0]
        if constant_integer(loop.lb) != 0:
            number = self.build.computed(arith.SubiOp(number, loop.lb), first)
        if constant_integer(loop.step) != 1:
            number = self.build.computed(arith.DivUIOp(number, loop.step), first)
        return self._advanced(turn, self._as_index(number, first), rate, first)

    def _behind(self, op: Operation, queue: int, turn: CommitNumber, rate: int | None) -> CommitNumber:
        """`turn` behind `op`, which commits a known number of groups, or `rate` in each iteration."""
        total = self.committed[op][queue]
        if total is not None:
            return turn.later(total)
        assert isinstance(op, scf.ForOp)
        assert rate is not None
        return self._advanced(turn, self._as_index(self._trips(op), op), rate, op)

    def _trips(self, loop: scf.ForOp) -> SSAValue:
        """How often `loop` runs, computed in front of it."""
        length = loop.ub
        if constant_integer(loop.lb) != 0:
            length = self.build.computed(arith.SubiOp(loop.ub, loop.lb), loop)
        if constant_integer(loop.step) != 1:
            length = self.build.computed(arith.CeilDivSIOp(length, loop.step), loop)
        zero = self.build.constant(0)
        if loop.ub.type != zero.type:
            length = self._as_index(length, loop)
        return self.build.computed(arith.MaxSIOp(length, zero), loop, "trips")

    def _as_index(self, value: SSAValue, anchor: Operation) -> SSAValue:
        if isinstance(value.type, IndexType):
            return value
        return self.build.computed(arith.IndexCastOp(value, IndexType()), anchor)

    def _advanced(self, turn: CommitNumber, times: SSAValue, rate: int, anchor: Operation) -> CommitNumber:
        if rate != 1:
            times = self.build.computed(arith.MuliOp(times, self.build.constant(rate)), anchor)
        if turn.value is not None:
            times = self.build.computed(arith.AddiOp(turn.value, times), anchor)
        return CommitNumber(times, turn.offset)


def _detached(op: Operation) -> Operation:
    op.detach()
    return op
