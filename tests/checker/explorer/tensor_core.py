"""
Tensor memory and the tensor core (`tcgen05`), in one run.

What the PTX ISA says ("TensorCore 5th Generation Family Instructions"), and what is made of it here:

* Columns are allocated for the whole block, a power of 2 of them from 32 to 512; `alloc` blocks until there are as many
  side by side, and writes their address to shared memory. All have to be given back, as they were allocated, before the
  kernel ends; after `relinquish_alloc_permit` nobody in the block may allocate. *Assumed*: the first columns that are
  free are taken. Which these are depends on who comes first: it is an answer that a thread is given. Who allocates
  comes behind the allocations before.
* `mma`, `cp`, `shift`, `ld` and `st` are asynchronous. `wait::ld` and `wait::st` wait for the transfers of their own
  thread; `commit` has an mbarrier track all `mma`, `cp` and `shift` of its thread before it.
* Of two instructions of one thread only these are performed in order ("Pipelined tcgen05 instructions"): `mma` behind
  `mma` with the same accumulator and shape, `mma` behind `cp` and `shift`, `shift` behind `mma`, `cp.4x256b` behind
  `shift`, and `commit` behind all of them. *Assumed*: commits of a thread arrive in their order.
* Between threads, `fence::before_thread_sync` orders what its thread has started in tensor memory before what it
  synchronises by, and `fence::after_thread_sync` orders what its thread does in tensor memory behind that. Both are
  needed, each in its thread, and with both the pairs above are performed in order in two threads, too. `commit` implies
  the fence before. In one thread, what the tensor core has made needs the fence behind the wait before it is loaded or
  stored over ("Canonical synchronization patterns").

What decides what. Allocations, ends of columns and the end of the permit meet each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.checker.explorer import steps
from tests.checker.explorer.barriers import Past, Search, UndefinedError, meet
from tests.checker.explorer.clocks import Mind
from tests.checker.explorer.registers import MALFORMED

COLUMNS = 512
LEAST = 32
UNFENCED = "missing-tensor-fence"
PRODUCT, COPY, SMALL_COPY, SHIFT, COMMIT, LOAD, STORE = (
    "product",
    "copy",
    "small copy",
    "shift",
    "commit",
    "load",
    "store",
)
OF_CORE = (PRODUCT, COPY, SMALL_COPY, SHIFT)
IN_ORDER = {
    *((COPY, PRODUCT), (SMALL_COPY, PRODUCT), (SHIFT, PRODUCT), (PRODUCT, SHIFT), (SHIFT, SMALL_COPY)),
    *((sort, COMMIT) for sort in (*OF_CORE, COMMIT)),
}


def are_in_order(first: steps.TensorWork, second: steps.TensorWork) -> bool:
    """Whether `first` is performed before `second`, which is started later."""
    if first.sort == second.sort == PRODUCT:
        return first.accumulator == second.accumulator
    return (first.sort, second.sort) in IN_ORDER


# Columns --------------------------------------------------------------------------------------------------------------


class Columns:
    """The columns of one block, and who has them."""

    def __init__(self, size: int) -> None:
        self.taken: dict[int, int] = {}
        """First column -> how many."""
        self.is_relinquished = False
        self.past, self.after = Past(), Mind.of_size(size)

    def free_start(self, count: int) -> int | None:
        """The first of so many free columns."""
        ends = [0, *(start + taken for start, taken in sorted(self.taken.items()))]
        begins = [*sorted(self.taken), COLUMNS]
        return next((end for end, begin in zip(ends, begins, strict=True) if end + count <= begin), None)

    def may_allocate(self, step: steps.Allocate) -> bool:
        return not is_size(step.count) or self.is_relinquished or self.free_start(step.count) == step.start

    def come(self, search: Search, thread: int, mind: Mind, moment: int) -> None:
        meet(search, self.past, thread, mind)
        mind.follow(self.after)
        self.past.add(thread, mind.tick(thread), moment)
        self.after.follow(mind)

    def allocate(self, step: steps.Allocate) -> None:
        if self.is_relinquished:
            raise UndefinedError("columns are allocated and the permit is given up", MALFORMED)
        if not is_size(step.count):
            raise UndefinedError(f"{step.count} columns are allocated", MALFORMED)
        self.taken[step.start] = step.count

    def free(self, step: steps.Free) -> None:
        if self.taken.get(step.start) != step.count:
            raise UndefinedError("columns are given back that were not allocated so", MALFORMED)
        del self.taken[step.start]

    def has(self, columns: Iterable[int]) -> bool:
        """Whether all of `columns` are allocated, by one allocation."""
        wanted = set(columns)
        return any(wanted <= set(range(start, start + count)) for start, count in self.taken.items())


def is_size(count: int) -> bool:
    return LEAST <= count <= COLUMNS and count & (count - 1) == 0


# Who touches what -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Touched:
    """One work, or an allocation or its end, has touched cells."""

    itself: int
    """The number of the operation, or of the thread."""
    event: int
    thread: int
    """Who started it."""
    started: int
    """The event of that."""
    cells: int
    is_write: bool
    sort: str | None
    """None for an allocation and its end, which need no fence."""
    is_allocation: bool = False
    known_to: set[int] = field(default_factory=set[int])
    """The threads that have allocated columns since, and so come behind an allocation."""


class TensorMemory:
    """What was touched in the tensor memories of one run."""

    def __init__(self) -> None:
        self.touched: list[Touched] = []

    def begin_anew(self, thread: int, cells: int) -> None:
        """An allocation waits until its columns are free: what was done there before is over."""
        self.touched = [each for each in self.touched if not each.cells & cells]
        for each in self.touched:
            each.known_to.add(thread)

    def touch(self, one: Touched, mind: Mind) -> Iterable[tuple[str, int]]:
        """Write it down; what is wrong with it, and because of which thread or operation."""
        for other in self.touched:
            if not other.cells & one.cells or not (other.is_write or one.is_write) or other.itself == one.itself:
                continue
            is_known = other.event <= mind.known[other.itself]
            if not is_known and not (other.is_allocation and one.thread in other.known_to):
                yield "race", other.itself
            elif lacks_fence(other, one, mind):
                yield UNFENCED, other.itself
        self.touched.append(one)


def lacks_fence(first: Touched, second: Touched, mind: Mind) -> bool:
    """`mind` is that of the second, which knows that the first is complete or comes before it."""
    if first.sort is None or second.sort is None:
        return False
    if first.thread == second.thread and (first.sort not in OF_CORE or second.sort in OF_CORE):
        return False
    known, before = mind.after_sync
    is_told_of = first.sort in OF_CORE and first.event <= known[first.itself]
    return not is_told_of and first.started > before[first.thread]


def handed_over(work: steps.TensorWork, others: Iterable[tuple[steps.TensorWork, int, int, Mind]], mind: Mind) -> None:
    """
    Come after what other threads have started, and a pipeline orders: before a fence, of which `mind` has learnt before
    a fence of its own. Each of `others` is a work, its thread, the event of its start, and what it came after.
    """
    _, before = mind.after_sync
    for other, thread, started, came_after in others:
        if work.sort != COMMIT and started <= before[thread] and are_in_order(other, work):
            mind.join(came_after)
