"""
Counting groups at run time, where a component commits as many as its data says.

The component counts what it commits; loops and branches hand the number on. The last numbers travel in a window, one
for each execution of the component, as values: through the guards of the prologue, the arguments of the body loop, and
into the epilogue. A wait that may leave the groups of the last `k` executions unfinished waits for the sum of `k`
numbers:

    %n, %before = scf.for ... iter_args(%last = %a, %older = %b) {
      %now = scf.if %hit -> (index) { commit 5 { ... } yield 1 } else { yield 0 }
      %count = arith.addi %now, %last
      async_queue.wait 5, %count { ... }                  // k = 2: this execution and the one before
      scf.yield %now, %last
    }

A window starts with zeros, and where a guard keeps a slot from running it stays as it is: what is not committed is not
counted, so no wait lets pass too much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.dialects.async_queue import BlockOp, QueueScope, WaitOp
from tileas_xdsl.interfaces import end_of
from tileas_xdsl.transforms.queues.inject_software_pipeline.own_commits import commits_in, commits_of
from tileas_xdsl.transforms.rewriting.structure import carry_through

LastCounts = Mapping[int, tuple[SSAValue, ...]]
"""For each queue the numbers of groups of the last executions of its component, the latest first."""


# In the component -----------------------------------------------------------------------------------------------------


def is_countable(block: Block, queue: int) -> bool:
    """Whether the number of groups that `block` commits to `queue` can be handed out of it as a value."""
    return all(_is_countable(op, queue) for op in block.ops)


def _is_countable(op: Operation, queue: int) -> bool:
    if commits_of(op, queue) is not None:
        return True
    inner = [block for region in op.regions for block in region.blocks]
    # What is counted in the body of a commit cannot leave it; that of a wait and of a block stands as well behind it.
    is_open = isinstance(op, WaitOp | BlockOp | scf.IfOp | scf.ForOp)
    return is_open and all(is_countable(block, queue) for block in inner)


def count_commits(component: BlockOp, queue: int) -> int:
    """
    Let `component` count the groups that it commits to `queue`.

    Returns the place, among the ops of its block, of the op whose last result is the number. `is_countable` must hold.
    """
    block = component.body.block
    total = _count(block, queue)
    assert isinstance(total.owner, Operation)
    return list(block.ops).index(total.owner)


def _count(block: Block, queue: int) -> SSAValue:
    """Insert the arithmetic; the number is the last result of an op of `block`."""
    for op in list(block.ops):
        if isinstance(op, WaitOp | BlockOp) and commits_of(op, queue) is None:
            for inner in reversed(list(op.body.block.ops)):
                inner.detach()
                Rewriter.insert_op(inner, InsertPoint.after(op))
    total: SSAValue | None = None
    for op in list(block.ops):
        known = commits_of(op, queue)
        if known == 0:
            continue
        number = _number(known, op) if known is not None else _count_in(op, queue)
        if total is None:
            total = number
            continue
        owner = number.owner
        assert isinstance(owner, Operation)
        total = _insert(arith.AddiOp(total, number), InsertPoint.after(owner))
    assert total is not None
    return total


def _count_in(op: Operation, queue: int) -> SSAValue:
    """Count the commits in a branch or a loop, which gets the number as one more result."""
    if isinstance(op, scf.IfOp):
        return carry_through(op, [], lambda block, _: [_total_of(block, queue)])[-1]
    assert isinstance(op, scf.ForOp)

    def trip(body: Block, so_far: Sequence[SSAValue]) -> list[SSAValue]:
        number = _total_of(body, queue)
        return [_insert(arith.AddiOp(so_far[0], number), _at_the_end(body))]

    return carry_through(op, [_number(0, op, before=True)], trip)[-1]


def _total_of(block: Block, queue: int) -> SSAValue:
    if commits_in(block, queue) == 0:
        return _insert(arith.ConstantOp.from_int_and_width(0, IndexType()), _at_the_end(block))
    return _count(block, queue)


def _at_the_end(block: Block) -> InsertPoint:
    """The insertion point in front of the terminator of `block`."""
    terminator = end_of(block)
    return InsertPoint.before(terminator)


def _number(number: int, anchor: Operation, *, before: bool = False) -> SSAValue:
    constant = arith.ConstantOp.from_int_and_width(number, IndexType())
    return _insert(constant, InsertPoint.before(anchor) if before else InsertPoint.after(anchor))


def _insert(op: Operation, place: InsertPoint) -> SSAValue:
    Rewriter.insert_op(op, place)
    op.results[0].name_hint = "groups"
    return op.results[0]


# Through the pipeline -------------------------------------------------------------------------------------------------


@dataclass
class Counters:
    """
    The emitted ops that count groups and the waits that need a count, and the walk that gives each wait its count.
    """

    numbers: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """Ops whose last result is what an execution commits, and the queue."""
    waits: dict[WaitOp, tuple[int, int]] = field(default_factory=dict["WaitOp", tuple[int, int]])
    """Waits whose count is to be computed: the queue, and how many executions it may leave unfinished."""
    _around: dict[Operation, None] = field(default_factory=dict[Operation, None])

    def resolve(self, ops: Sequence[Operation], zero: SSAValue) -> None:
        """Give every wait its count. `ops` are the ops of the pipeline, in order; `zero` stands in front of them."""
        if not self.waits:
            return
        depth: dict[int, int] = {}
        for queue, executions in self.waits.values():
            depth[queue] = max(depth.get(queue, 0), executions)
        for op in (*self.numbers, *self.waits):
            node = op.parent_op()
            while node is not None and node not in self._around:
                self._around[node] = None
                node = node.parent_op()
        self._walk(ops, {queue: (zero,) * count for queue, count in depth.items()})

    def _walk(self, ops: Sequence[Operation], window: LastCounts) -> LastCounts:
        for op in ops:
            if op in self.numbers:
                window = _moved(window, self.numbers[op], op.results[-1])
            if isinstance(op, WaitOp) and op in self.waits:
                self._give_count(op, window)
            if op not in self._around:
                continue
            match op:
                case scf.IfOp():
                    window = self._through_guard(op, window)
                case scf.ForOp():
                    window = self._through_loop(op, window)
                case _:
                    assert isinstance(op, QueueScope)
                    self._walk(list(op.body.block.ops), window)
        return window

    def _give_count(self, wait: WaitOp, window: LastCounts) -> None:
        queue, executions = self.waits[wait]
        count, *others = window[queue][:executions]
        for other in others:
            count = _insert(arith.AddiOp(count, other), InsertPoint.before(wait))
        wait.operands = [count]

    def _through_guard(self, guard: scf.IfOp, window: LastCounts) -> LastCounts:
        """The window behind a guard: what it is inside, or, where the guard does not hold, what it was."""
        then = guard.true_region.block
        inside = self._walk(list(then.ops), window)
        if inside == window:
            return window
        old, new = _flat(window), _flat(inside)
        return _shaped(window, carry_through(guard, old, lambda block, _: new if block is then else old))

    def _through_loop(self, loop: scf.ForOp, window: LastCounts) -> LastCounts:
        """The window behind the body: each trip hands it to the next one."""

        def trip(body: Block, arguments: Sequence[SSAValue]) -> list[SSAValue]:
            for argument in arguments:
                argument.name_hint = "groups"
            return _flat(self._walk(list(body.ops), _shaped(window, arguments)))

        return _shaped(window, carry_through(loop, _flat(window), trip))


def _moved(window: LastCounts, queue: int, number: SSAValue) -> LastCounts:
    if queue not in window:
        return window
    return {**window, queue: (number, *window[queue][:-1])}


def _flat(window: LastCounts) -> list[SSAValue]:
    return [value for values in window.values() for value in values]


def _shaped(window: LastCounts, values: Sequence[SSAValue]) -> LastCounts:
    """A window with the queues and lengths of `window` that consists of `values`, which stand one behind the other."""
    rest = iter(values)
    return {queue: tuple(next(rest) for _ in old) for queue, old in window.items()}
