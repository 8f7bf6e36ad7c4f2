"""
What a program of the explorer is made of: threads, each a straight list of steps, and the asynchronous operations that
the steps issue.

A *thread* is what goes its own way: a warp of an agent, a task, the main function. Its lanes go in step. Control flow
of the programs that are explored depends on constants, on the number of the warp, and on the answers to tests of
barriers. So for given answers every loop can be unrolled, every call inlined, and every task, warp, group and transfer
of a run gets a number before anything runs (`unroll`). What is left to explore is how the steps of different threads,
and the asynchronous operations, interleave, and the answers (`explorer`).

Memory is a set of cells. A set of cells is an integer with one bit a cell: two sets meet where `a & b` is not 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Access:
    """A synchronous load or store, of the generic proxy."""

    reads: int
    writes: int
    one_of: tuple[object, ...] | None = None
    """What it has in common with the accesses of the other warps of its agent that stand for the same one."""


@dataclass(frozen=True, eq=False)
class Issue:
    """Issue asynchronous operation number `operation`."""

    operation: int


@dataclass(frozen=True, eq=False)
class FenceProxy:
    """What the thread knows of so far comes before what asynchronous operations do after this, in these memories."""

    memories: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Publish:
    """The barriers that the thread has made can be seen by asynchronous operations."""


# Tasks and agents -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fork:
    """Let `threads` begin: warps at once, a task when the threads in its `gates` have finished."""

    threads: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Join:
    """Wait until all of `threads` have finished."""

    threads: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class AddToGroup:
    """Make `thread` a member of a group of tokens: the member number `rank`, if one is given."""

    group: int
    thread: int
    rank: int | None = None


@dataclass(frozen=True, eq=False)
class JoinGroup:
    """Wait until a group of tokens has all its members and they have finished."""

    group: int


# Queues and counts ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Commit:
    """Append a batch of operations to a queue."""

    queue: int
    batch: int


@dataclass(frozen=True, eq=False)
class WaitQueue:
    """Wait until at most `count` batches of a queue are unfinished."""

    queue: int
    count: int


@dataclass(frozen=True, eq=False)
class WaitOperations:
    """Wait until every operation in the bit set `operations`, all of them the thread's own, is complete."""

    operations: int


@dataclass(frozen=True, eq=False)
class Add:
    """Add `amount` to a counter."""

    counter: int
    amount: int


@dataclass(frozen=True, eq=False)
class TakeTurn:
    """Take turn number `turn` of a line: who comes first has turn 0."""

    line: int
    turn: int


# Numbers in memory ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Change:
    """Add `amount` to a word, atomically, when it is `found`, if that is given."""

    word: int
    amount: int
    found: int | None
    acquires: bool
    releases: bool


@dataclass(frozen=True, eq=False)
class Until:
    """Ask for a word, atomically, until it is one of `numbers`."""

    word: int
    numbers: frozenset[int]
    acquires: bool


# Barriers in memory ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Init:
    """Make a barrier that expects `count` arrivals a phase."""

    barrier: int
    count: int
    threads: int = 1
    """How many lanes of the warp make it."""


@dataclass(frozen=True, eq=False)
class Inval:
    """End the life of a barrier."""

    barrier: int
    threads: int = 1
    """How many lanes of the warp do it."""


@dataclass(frozen=True, eq=False)
class Arrive:
    """Expect `expected` bytes more in the current phase of a barrier, then take `count` off its pending arrivals."""

    barrier: int
    count: int
    expected: int = 0
    releases: bool = True
    completes: bool = True
    """Whether it may be the one that completes the phase."""
    drops: int = 0
    """How many arrivals less every later phase expects."""
    state: int | None = None
    """Where the thread keeps the number of the phase."""
    adds: int = 0
    """How many arrivals more the current phase waits for."""


@dataclass(frozen=True, eq=False)
class WaitPhase:
    """Wait until the phase of parity `parity` of a barrier has completed, or the one that was kept in `state`."""

    barrier: int
    parity: int
    acquires: bool = True
    is_answer: bool = False
    """Whether it is a test that says yes: runs in which it is not over yet are other runs, in which it says no."""
    state: int | None = None


@dataclass(frozen=True, eq=False)
class TestPhase:
    """A test of a barrier that says no."""

    barrier: int


@dataclass(frozen=True, eq=False)
class Ask:
    """A question whose answer, one of so many, is not given: what the thread does next depends on it."""

    answers: int = 2


@dataclass(frozen=True, eq=False)
class Unknown:
    """What the thread does next depends on what another thread is still to be asked."""


@dataclass(frozen=True, eq=False)
class Undefined:
    """What has no meaning, for the reason `text`."""

    text: str


# Registers ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Execute:
    """A warp executes `setmaxnreg`, the instruction `source` of the program."""

    pool: int
    warp: int
    source: Any


@dataclass(frozen=True, eq=False)
class Give:
    """Give registers back to the pool of the block."""

    pool: int
    amount: int


@dataclass(frozen=True, eq=False)
class Demand:
    """Wait until the pool has so many registers, and take them."""

    pool: int
    amount: int


# Tensor memory --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Allocate:
    """Allocate columns of the tensor memory of the block. They begin at `start` in this run."""

    memory: int
    count: int
    start: int
    cells: int


@dataclass(frozen=True, eq=False)
class Free:
    """Give columns back."""

    memory: int
    count: int
    start: int
    cells: int


@dataclass(frozen=True, eq=False)
class Relinquish:
    """Promise that the block allocates no more."""

    memory: int


@dataclass(frozen=True, eq=False)
class FenceBefore:
    """`tcgen05.fence::before_thread_sync`."""


@dataclass(frozen=True, eq=False)
class FenceAfter:
    """`tcgen05.fence::after_thread_sync`."""


# Barriers of threads --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Meet:
    """`threads` threads arrive at a barrier for `expected` threads."""

    meeting: int
    threads: int
    expected: int
    releases: bool = True
    rank: int | None = None
    """At the barrier of a cluster of several blocks the block; `expected` is for each of them."""
    of_block: int | None = None
    """The block, where all its threads meet that have not returned; `expected` counts those that have, too."""
    by_warps: bool = False
    """Whether whole warps meet, whose number of threads `expected` has to be (PTX ISA, "barrier")."""


@dataclass(frozen=True, eq=False)
class Leave:
    """Wait until the meeting is complete at which this thread arrived last."""

    meeting: int


@dataclass(frozen=True, eq=False)
class Begin:
    """The first step of every thread of a block in a cluster: the shared memory of the block is there."""


@dataclass(frozen=True, eq=False)
class Finish:
    """The last step of every thread."""

    of_block: int | None = None
    """The block that the thread leaves, if it returns from the kernel."""
    threads: int = 0
    """How many threads it stands for."""


Step = (
    Access
    | Issue
    | FenceProxy
    | Publish
    | Fork
    | Join
    | AddToGroup
    | JoinGroup
    | Commit
    | WaitQueue
    | WaitOperations
    | Add
    | TakeTurn
    | Change
    | Until
    | Init
    | Inval
    | Arrive
    | WaitPhase
    | TestPhase
    | Ask
    | Unknown
    | Undefined
    | Execute
    | Give
    | Demand
    | Allocate
    | Free
    | Relinquish
    | FenceBefore
    | FenceAfter
    | Meet
    | Leave
    | Begin
    | Finish
)


@dataclass
class Thread:
    """The main thread, a warp of an agent, or a task."""

    name: str
    gates: tuple[int, ...] = ()
    """The threads that must have finished before the first step."""
    steps: list[Step] = field(default_factory=list[Step])
    sources: list[Any] = field(default_factory=list[Any])
    """The op from which each step comes."""
    is_empty: bool = False
    """Whether it is a task of nothing but such tasks."""

    def append(self, step: Step, source: Any) -> None:
        self.steps.append(step)
        self.sources.append(source)

    def source(self, place: int) -> str:
        """The first line of what step `place` comes from, as text."""
        return str(self.sources[place]).split(" {\n")[0]


@dataclass
class Operation:
    """An asynchronous operation, in flight from its issue until it is complete."""

    source: Any
    reads: int = 0
    writes: int = 0
    batch: int | None = None
    """The batch with which it completes; None: by itself, at any time."""
    barrier: int | None = None
    """The barrier that is told of its `size` bytes, or at which it arrives, when it is complete."""
    size: int = 0
    arrivals: int = 0
    after: tuple[int, ...] = ()
    """The operations of its own thread that must be complete before it is."""
    is_async_proxy: bool = False
    """Whether it touches memory through the asynchronous proxy."""
    rank: int = 0
    """The block whose thread starts it."""
    ends_with_grid: bool = False
    """Whether the end of the grid completes it: it touches global memory only."""
    tensor: TensorWork | None = None
    """What it is to the tensor core, or to tensor memory."""


@dataclass(frozen=True)
class TensorWork:
    """The part of an operation that belongs to `tcgen05`."""

    sort: str
    """`product`, `copy`, `small copy`, `shift`, `commit`, `load` or `store`."""
    memory: int = 0
    reads: int = 0
    writes: int = 0
    """Cells of tensor memory."""
    columns: frozenset[int] = frozenset()
    """The columns that it touches, where the block has to have allocated them."""
    accumulator: object = None
    """Of a product the place and the shape of D."""


@dataclass
class Program:
    """What `unroll` makes of a function."""

    threads: dict[int, Thread] = field(default_factory=dict[int, Thread])
    main: list[int] = field(default_factory=list[int])
    """The warps of the function itself; a function of one thread has one."""
    operations: dict[int, Operation] = field(default_factory=dict[int, Operation])
    barriers: dict[int, int] = field(default_factory=dict[int, int])
    """The cells of each barrier in memory; none for one that nobody has to make."""
    groups: dict[int, int] = field(default_factory=dict[int, int])
    """The size of each group of tokens."""
    words: dict[int, int] = field(default_factory=dict[int, int])
    """The cells of each number in memory that atomic accesses change. It begins with 0."""
    counters: list[int] = field(default_factory=list[int])
    """The counters, which begin with 0 and have to end there: what was published and never taken."""
    arrivals: dict[int, int] = field(default_factory=dict[int, int])
    """The barriers that nobody has to make, and their arrivals a phase."""
    shared: int = 0
    """The cells of shared memory."""
    tensor_memories: set[int] = field(default_factory=set[int])
    """The tensor memories of the blocks that allocate columns."""
    pools: dict[int, tuple[int, ...]] = field(default_factory=dict[int, "tuple[int, ...]"])
    """For each pool of registers the warps of the block."""
    blocks: int = 1
    """How many blocks of a cluster run the function."""
    ranks: dict[int, int] = field(default_factory=dict[int, int])
    """The block of each thread, where there are several."""
    owned: dict[int, int] = field(default_factory=dict[int, int])
    """The cells of shared memory of each block, where there are several."""

    def mains_of(self, rank: int) -> list[int]:
        """The warps of the function itself in block `rank`."""
        return [number for number in self.main if self.ranks.get(number, 0) == rank]
