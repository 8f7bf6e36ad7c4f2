"""
What a program of the explorer is made of: threads, each a straight list of steps, and the asynchronous operations that
the steps issue.

Control flow of the programs that are explored depends on constants only. So every loop can be unrolled, every call
inlined, and every task, agent, group and transfer of a run gets a number before anything runs (`unroll`). What is left
to explore is how the steps of different threads, and the asynchronous operations, interleave (`explorer`).

Memory is a set of cells. A set of cells is an integer with one bit a cell: two sets meet where `a & b` is not 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Access:
    """A synchronous load or store."""

    reads: int
    writes: int


@dataclass(frozen=True)
class Issue:
    """Issue asynchronous operation number `operation`."""

    operation: int


@dataclass(frozen=True)
class Fork:
    """Let `threads` begin: agents at once, a task when the threads in its `gates` have finished."""

    threads: tuple[int, ...]


@dataclass(frozen=True)
class Join:
    """Wait until all of `threads` have finished."""

    threads: tuple[int, ...]


@dataclass(frozen=True)
class AddToGroup:
    """Make `thread` a member of a group of tokens."""

    group: int
    thread: int


@dataclass(frozen=True)
class JoinGroup:
    """Wait until a group of tokens has all its members and they have finished."""

    group: int


@dataclass(frozen=True)
class Commit:
    """Append a batch of operations to a queue."""

    queue: int
    batch: int


@dataclass(frozen=True)
class WaitQueue:
    """Wait until at most `count` batches of a queue are unfinished."""

    queue: int
    count: int


@dataclass(frozen=True)
class WaitOperations:
    """Wait until every operation in the bit set `operations` is complete."""

    operations: int


@dataclass(frozen=True)
class Init:
    """Make a barrier expect `count` arrivals a phase."""

    barrier: int
    count: int


@dataclass(frozen=True)
class Arrive:
    """Expect `expected` bytes more in the current phase of a barrier, then take `count` off its pending arrivals."""

    barrier: int
    count: int
    expected: int


@dataclass(frozen=True)
class WaitPhase:
    """Wait until the phase of parity `parity` of a barrier has completed."""

    barrier: int
    parity: int


@dataclass(frozen=True)
class Add:
    """Add `amount` to a counter."""

    counter: int
    amount: int


@dataclass(frozen=True)
class Take:
    """Wait until a counter is above 0, and take one off."""

    counter: int


@dataclass(frozen=True)
class Finish:
    """The last step of every thread."""


Step = (
    Access
    | Issue
    | Fork
    | Join
    | AddToGroup
    | JoinGroup
    | Commit
    | WaitQueue
    | WaitOperations
    | Init
    | Arrive
    | WaitPhase
    | Add
    | Take
    | Finish
)


@dataclass
class Thread:
    """The main thread, an agent or a task."""

    name: str
    gates: tuple[int, ...] = ()
    """The threads that must have finished before the first step."""
    steps: list[Step] = field(default_factory=list[Step])
    sources: list[str] = field(default_factory=list[str])
    """The op, as text, from which each step comes."""
    is_empty: bool = False
    """Whether it is a task of nothing but such tasks."""

    def append(self, step: Step, source: str) -> None:
        self.steps.append(step)
        self.sources.append(source)


@dataclass
class Operation:
    """An asynchronous operation, in flight from its issue until it is complete."""

    source: str
    reads: int = 0
    writes: int = 0
    batch: int | None = None
    """The batch with which it completes; None: by itself, at any time."""
    barrier: int | None = None
    """The barrier that is told of its `size` bytes when it is complete."""
    size: int = 0


@dataclass
class Program:
    """What `unroll` makes of a function. Thread 0 is the main thread."""

    threads: list[Thread] = field(default_factory=list[Thread])
    operations: list[Operation] = field(default_factory=list[Operation])
    barriers: int = 0
    queues: int = 0
    groups: list[int] = field(default_factory=list[int])
    """The size of each group of tokens."""
    batches: int = 0
    counters: list[int] = field(default_factory=list[int])
    """What each counter begins with."""
    left_over: list[int] = field(default_factory=list[int])
    """The counters that must be 0 at the end: what somebody published and nobody took."""
    arrivals: dict[int, int] = field(default_factory=dict[int, int])
    """The barriers that nobody has to make, and their arrivals a phase."""
