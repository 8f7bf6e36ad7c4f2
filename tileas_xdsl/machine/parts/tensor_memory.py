"""
Tensor memory (`tcgen05`): its columns, who has allocated them, and the fences between threads that use it.

The memory of a block is one object with a place for each cell of 32 bits: 128 lanes, of which 512 columns can be
allocated. An address is a number with the lane in bits 16 to 31 and the column below, which is the offset in the object
as well. (PTX ISA, "Tensor Memory Addressing".)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from xdsl.ir import Operation

from tileas_xdsl.layouts.tensor_threads import Cells
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.happens_before import BEFORE_SYNC, Clock, Proxy, Who, after_sync, join
from tileas_xdsl.machine.core.memory import MemoryObject, View
from tileas_xdsl.machine.core.state import Canvas, SharedPart
from tileas_xdsl.machine.core.synchronization import Condition
from tileas_xdsl.machine.core.threads.hardware import name_in_block
from tileas_xdsl.machine.core.violations import (
    Effect,
    Misuse,
    Party,
    UnsupportedError,
    Violation,
    ViolationKind,
    end_malformed,
)
from tileas_xdsl.machine.parts.barriers import come_for
from tileas_xdsl.machine.tiles.pointers import BYTE, Pointer

LANES = 128
COLUMNS = 512
LANE_STEP = 1 << 16
"""From an address to the same column in the next lane."""
LEAST_COLUMNS = 32
LANES_OF_WARP = 32


@dataclass(frozen=True)
class Allocation:
    """`count` columns from `start` on, and who has allocated them."""

    start: int
    count: int
    party: Party


@dataclass(frozen=True)
class GivenBack:
    """The least columns that can be allocated, which were given back, and by whom."""

    columns: range
    op: Operation
    agent: int
    moment: int


@dataclass
class TensorMemory:
    """The tensor memory of a block."""

    base: MemoryObject = field(
        default_factory=lambda: MemoryObject("tensor memory", (LANES, LANE_STEP), BYTE, "tensor")
    )
    allocations: dict[int, Allocation] = field(default_factory=dict[int, Allocation])
    """By their first columns."""
    given_back: list[GivenBack] = field(default_factory=list[GivenBack])
    """What nobody has allocated since."""
    comers: Clock = field(default_factory=dict[int, int])
    """The moment at which each agent has allocated columns last, or has given some back."""
    is_relinquished: bool = False
    """Whether the block has promised to allocate no more."""
    words: Cells = field(default_factory=lambda: np.zeros((LANES, COLUMNS), np.uint32), repr=False, compare=False)
    """What is in the cells, where the machine computes. It is zero at first, as all memory is."""

    def draw(self, canvas: Canvas) -> None:
        canvas.thing(self.base)
        canvas.literal(self.is_relinquished)
        canvas.moments(self.comers)
        for start in sorted(self.allocations):
            canvas.literal((start, self.allocations[start].count))
        for each in self.given_back:
            canvas.literal(each.columns)
            canvas.moments({each.agent: each.moment})

    def pointer(self, number: int) -> Pointer:
        return Pointer(self.base, number)

    def free_start(self, count: int) -> int | None:
        """The first of `count` columns that are free; None if there are not so many side by side."""
        start = 0
        for taken in sorted(self.allocations.values(), key=lambda taken: taken.start):
            if start + count <= taken.start:
                break
            start = taken.start + taken.count
        return start if start + count <= COLUMNS else None

    def corner(self, op: Operation, place: Pointer) -> tuple[int, int]:
        """Lane and column of an address. Raises `UnsupportedError` for one that the block has not allocated itself."""
        if place.base is not self.base:
            raise UnsupportedError(
                op, f"moves what lies in '{place.base.name}', and numbers are in columns of tcgen05.alloc"
            )
        return divmod(place.offset, LANE_STEP)

    def columns_left(self, place: Pointer) -> int:
        """How many allocated columns there are from `place` on; as many as there can be in memory of a caller's."""
        if place.base is not self.base:
            return COLUMNS
        column = place.offset % LANE_STEP
        around = (taken for taken in self.allocations.values() if taken.start <= column < taken.start + taken.count)
        found = next(around, None)
        return 0 if found is None else found.start + found.count - column


@dataclass
class TensorMemories(SharedPart):
    """The tensor memory of each block of an execution."""

    of_blocks: dict[int, TensorMemory] = field(default_factory=dict[int, TensorMemory])
    """By rank in the cluster, where it executes several; else 0."""

    def draw(self, canvas: Canvas) -> None:
        for rank in sorted(self.of_blocks):
            canvas.literal(rank)
            self.of_blocks[rank].draw(canvas)


def tensor_memory(agent: Agent) -> TensorMemory:
    """The tensor memory of the block of `agent`."""
    memories, rank = agent.shared(TensorMemories).of_blocks, 0 if agent.block is None else agent.block.rank
    if rank not in memories:
        memories[rank] = TensorMemory()
        memories[rank].base.name = name_in_block(agent, memories[rank].base.name)
    return memories[rank]


@dataclass
class RoomCondition(Condition):
    """There are so many free columns."""

    memory: TensorMemory
    count: int

    def holds(self) -> bool:
        return self.memory.free_start(self.count) is not None

    def helpers(self) -> Iterable[AsyncWork]:
        return ()

    def observe(self, agent: Who) -> None:
        """Nothing: whoever gives columns back hands over nothing by that."""

    def describe(self) -> str:
        return f"{self.count} free columns of tensor memory"

    @property
    def may_pass_by(self) -> str:
        return self.memory.base.name


# Allocation -----------------------------------------------------------------------------------------------------------


def check_count(agent: Agent, op: Operation, count: int) -> None:
    """Report a number of columns that cannot be allocated. Raises `NoMeaningError` then."""
    if not LEAST_COLUMNS <= count <= COLUMNS or count & (count - 1):
        rule = f'a power of 2 from {LEAST_COLUMNS} to {COLUMNS} (PTX ISA, "tcgen05.alloc")'
        end_malformed(agent, op, f"speaks of {count} columns", rule)


def check_permit(agent: Agent, op: Operation) -> None:
    """Report an allocation after the block has given up its permit to allocate. Raises `NoMeaningError` then."""
    if tensor_memory(agent).is_relinquished:
        role = "allocates after the block has given up its permit to"
        rule = 'allocations only before relinquish_alloc_permit (PTX ISA, "tcgen05.alloc")'
        end_malformed(agent, op, role, rule, about=[tensor_memory(agent).base])


def give_up_permit(agent: Agent, op: Operation) -> None:
    """Nobody in the block may allocate any more."""
    memory = tensor_memory(agent)
    come_for(agent, op, "an end of allocations", memory.base.name, memory.comers)
    memory.is_relinquished = True
    _note(agent, op, "gives up the permit of the block to allocate")


def take_columns(agent: Agent, op: Operation, count: int) -> int:
    """Allocate `count` columns, of which there must be as many; returns the first."""
    machine = agent.machine
    memory = tensor_memory(agent)
    start = memory.free_start(count)
    assert start is not None
    if report_what_is_kept not in machine.at_end:
        machine.at_end.append(report_what_is_kept)
    party = Party(op, agent.name, agent.iteration, f"allocates {count} columns of tensor memory")
    memory.allocations[start] = Allocation(start, count, party)
    come_for(agent, op, "columns", memory.base.name, memory.comers)
    _open_again(agent, memory, range(start, start + count))
    _note(agent, op, f"allocates columns {start} to {start + count - 1} of tensor memory")
    return start


def _note(agent: Agent, op: Operation, text: str) -> None:
    agent.note(op, "allocate", text, on=tensor_memory(agent).base)


def _open_again(agent: Agent, memory: TensorMemory, columns: range) -> None:
    """
    Whoever knows of this allocation may use the columns, though it need not know who gave them back: the allocation
    has waited for that.
    """
    reused = [each for each in memory.given_back if _overlap(each.columns, columns)]
    memory.given_back = [each for each in memory.given_back if each not in reused]
    history = agent.history_of(memory.base)
    ends = {(each.op, each.agent, each.moment, each.columns.start) for each in reused}
    for access in history.all() if history is not None else ():
        if (access.op, access.agent.number, access.moment, access.region.offset) in ends:
            access.known_from = {**(access.known_from or {}), agent.number: agent.moment}


def _overlap(one: range, other: range) -> bool:
    return one.start < other.stop and other.start < one.stop


def give_columns_back(agent: Agent, op: Operation, place: Pointer, count: int) -> None:
    """
    Whoever still uses them races with it. Reports columns that were not allocated just so, and raises `NoMeaningError`
    then.
    """
    memory = tensor_memory(agent)
    for column in range(0, count, LEAST_COLUMNS):
        part = cells(op, place.plus(column), LANES, LEAST_COLUMNS)
        agent.touch(part, op, write=True, proxy=Proxy.UNSPECIFIED)
    if place.base is not memory.base:
        agent.shares(memory.base.name, alone=True)
        return
    come_for(agent, op, "an end of columns", memory.base.name, memory.comers)
    taken = memory.allocations.get(place.offset)
    if taken is None or taken.count != count:
        role = f"gives {count} columns back from {place.offset} on"
        rule = 'the columns that one alloc has given, all of them, and once (PTX ISA, "tcgen05.dealloc")'
        end_malformed(agent, op, role, rule, about=[memory.base])
    del memory.allocations[place.offset]
    columns = range(place.offset, place.offset + count)
    for first in columns[::LEAST_COLUMNS]:
        part = range(first, first + LEAST_COLUMNS)
        memory.given_back.append(GivenBack(part, op, agent.number, agent.moment))
    _note(agent, op, f"gives columns {columns.start} to {columns.stop - 1} of tensor memory back")


def report_what_is_kept(first: Agent) -> None:
    """Report columns that have not been given back when the function ends (PTX ISA, "tcgen05.alloc")."""
    memories = first.machine.part(TensorMemories).of_blocks.values()
    for taken in (taken for memory in memories for taken in memory.allocations.values()):
        violation = Violation(
            ViolationKind.UNDRAINED,
            f"{taken.count} columns of tensor memory are still allocated when the kernel ends",
            (taken.party,),
            "an nvvm.tcgen05.dealloc of them on every path to the end",
            leads_to=Effect.HANG,
        )
        first.machine.report(violation, Misuse(first, (), [taken.party]))


# Cells ----------------------------------------------------------------------------------------------------------------


def cells(op: Operation, place: Pointer, lanes: int, columns: int) -> View:
    """
    `columns` columns of `lanes` lanes from `place` on. Raises `UnsupportedError` where `place` points elsewhere.
    """
    if place.base.space != "tensor":
        raise UnsupportedError(op, f"takes an address of '{place.base.name}' for one of tensor memory")
    return View(place.base, place.offset, (lanes, columns), (LANE_STEP, 1), BYTE)


def allocated_cells(agent: Agent, op: Operation, place: Pointer, lanes: int, columns: int) -> View:
    """The same; reports cells that are not allocated, and raises `NoMeaningError` then."""
    memory = tensor_memory(agent)
    left = memory.columns_left(place)
    lane, column = divmod(place.offset, LANE_STEP) if place.base.shape == (LANES, LANE_STEP) else (0, 0)
    is_outside = lane + lanes > LANES or column + columns > COLUMNS
    if is_outside or (columns > left and not _races_with_end(agent, memory, range(column, column + columns))):
        role = (
            f"reaches {columns} columns of {lanes} lanes from lane {lane}, column {column} on, of which {left} columns "
            "are allocated"
        )
        rule = 'columns that an alloc has given, before their dealloc (PTX ISA, "tcgen05.alloc")'
        end_malformed(agent, op, role, rule, about=[memory.base])
    return cells(op, place, lanes, columns)


def _races_with_end(agent: Agent, memory: TensorMemory, columns: range) -> bool:
    """Whether some of `columns` were given back, unordered with `agent`: then the access itself is reported."""
    ends = [each for each in memory.given_back if _overlap(each.columns, columns)]
    return any(not agent.mind.knows_moment(each.agent, each.moment) for each in ends)


def check_lanes_of_warp(agent: Agent, op: Operation, place: Pointer, lanes: int) -> None:
    """Report lanes that are not those of the warp, 32 (w % 4) and the 31 behind. Raises `NoMeaningError` then."""
    if agent.hardware is None or place.base.shape != (LANES, LANE_STEP):
        return
    own = agent.hardware.first // LANES_OF_WARP % 4 * LANES_OF_WARP
    lane = place.offset // LANE_STEP
    if not own <= lane <= own + LANES_OF_WARP - lanes:
        role = f"reaches lanes {lane} to {lane + lanes - 1}, and this warp has {own} to {own + LANES_OF_WARP - 1}"
        end_malformed(agent, op, role, 'lanes from 32 (w % 4) to the 31 behind (PTX ISA, "tcgen05.ld")')


# Fences ---------------------------------------------------------------------------------------------------------------


def fence_before(agent: Agent) -> None:
    """
    `tcgen05.fence <before>`: what `agent` has loaded and stored so far is ordered before what it synchronises next.
    What others have done is not: PTX ISA speaks of the instructions before the fence.
    """
    agent.fence_proxies((BEFORE_SYNC,), {agent.number: agent.moment})


def fence_after(agent: Agent) -> None:
    """`tcgen05.fence <after>`: what is known so far is ordered before later accesses of this agent."""
    own = after_sync(Proxy.TENSOR_REGISTERS, agent.number)
    join(agent.fenced.setdefault(own, {}), agent.fenced.get(BEFORE_SYNC, {}))
    agent.fence_proxies((after_sync(Proxy.TENSOR_CORE, agent.number),))
