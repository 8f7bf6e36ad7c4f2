"""
From IR to threads of steps: every loop unrolled, every call inlined, every number computed.

`unroll(module)` runs through the function `main` (or another) once, the way its threads would, and writes down what
they would do, in their order. It knows nothing of synchronisation beyond which step belongs to which thread, with one
exception: an asynchronous mark covers what *this* thread issued before, so what a wait for marks needs is a fixed set.

A value is a number, or one for each lane of a warp (a tuple), where it depends on the lane. Where what follows depends
on the answer to a test of a barrier that is not given in `answers`, the thread ends in `Ask`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, NamedTuple

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Block, Operation, SSAValue

from tests.checker.explorer import steps
from tileas_xdsl.dialects import async_

UNKNOWN = None
"""The value of everything that comes out of memory."""
BYTES_PER_CELL = 4
MOST_ELEMENTS = 1024
"""The extent of an axis that does not tell it."""
LANES = 32
SHARED_SPACES = (3, 7)
Answers = Mapping[int, tuple[int, ...]]
"""For each thread the answers that it gets, in order: numbers from 0 on, of a test 1 for yes."""


class Array(NamedTuple):
    """A memref: an object of its own."""

    number: int
    shape: tuple[int, ...]


class Pointer(NamedTuple):
    """A place in an object: `offset` bytes from its start, which may depend on the lane."""

    number: int
    offset: int | tuple[int, ...]
    space: int = 0


class Token(NamedTuple):
    """Completion of a task, and what it yields at one place."""

    thread: int
    payload: Any


class UnansweredError(Exception):
    """What follows depends on an answer that is not given."""


class Numbering:
    """Gives the same things the same numbers in every unrolling of a program, whatever the answers."""

    def __init__(self) -> None:
        self.numbers: dict[str, dict[object, int]] = {}

    def number(self, kind: str, key: object) -> int:
        known = self.numbers.setdefault(kind, {})
        return known.setdefault(key, len(known))


@dataclass
class Frame:
    """One activation of a function, or a region that a thread of its own runs, while it is unrolled."""

    thread: steps.Thread
    number: int
    """Of the thread."""
    issued: list[int]
    """The operations that the thread has issued so far; shared by the activations of one thread."""
    values: dict[SSAValue, Any]
    marks: list[int] = field(default_factory=list[int])
    """For each mark of this activation, how many operations the thread had issued by then."""
    batch: int | None = None
    """The batch of the innermost commit scope."""
    recording: steps.Operation | None = None
    """The operation to which loads and stores belong at present."""
    lanes: int = 1
    """How many lanes the thread has."""
    active: tuple[int, ...] = (0,)
    """Those of them that take part."""
    first_tid: int | None = None
    """The number of its first lane in the block, if the block has more than one."""
    agent: tuple[object, int] = (0, 1)
    """The agent that it is a warp of, and how many warps that has."""
    block: tuple[int, int] = (0, 1)
    """The thread block that it belongs to, and how many hardware threads that has."""
    rank: int = 0
    """The number of that block in its cluster."""
    refusals: list[int] | None = None
    """In a loop that spins until a test says yes: a 0 for each test that may still say no."""
    groups: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """What counters count, for each of them its operations or bit sets of operations; one for all of a thread."""
    counts: dict[object, int] = field(default_factory=dict[object, int])
    """How often the thread has done or made what; one for all of a thread."""

    @property
    def threads(self) -> int:
        """How many hardware threads take part."""
        return len(self.active)

    def emit(self, step: steps.Step, op: Operation) -> None:
        self.thread.append(step, op)

    def count(self, what: object) -> int:
        """How often this has been asked before."""
        self.counts[what] = (before := self.counts.get(what, 0)) + 1
        return before

    def one_of(self, op: Operation) -> tuple[object, ...] | None:
        """What this execution of `op` has in common with that by the other warps of the agent."""
        agent, warps = self.agent
        return (agent, op, self.count(op)) if warps > 1 else None

    def uniform(self, value: Any) -> int:
        """A value that is the same for all lanes that take part."""
        if not isinstance(value, tuple):
            return number(value)
        (found,) = {number(value[lane]) for lane in self.active}
        return found


class Unroller:
    """The program so far. Every argument that is a number is `trips`."""

    def __init__(
        self, module: ModuleOp, trips: int | None, answers: Answers | None = None, numbering: Numbering | None = None
    ) -> None:
        self.trips = trips
        self.answers = answers or {}
        self.numbering = numbering or Numbering()
        self.functions = {op.sym_name.data: op for op in module.walk() if isinstance(op, func.FuncOp | llvm.FuncOp)}
        self.tasks = {op.sym_name.data: op for op in module.walk() if isinstance(op, async_.FuncOp)}
        """The functions whose calls are tasks."""
        self.uses_ranks = any(
            op.name == "async.add_to_group" and op.results[0].first_use is not None for op in module.walk()
        )
        self.program = steps.Program()
        self.registers: int | None = None
        """With how many registers each thread of the function starts, where it says so."""
        self.held: dict[int, int] = {}
        """For each thread that is a warp the registers of each of its lanes, where it has changed them."""
        self.addresses: dict[tuple[int, int], int | None] = {}
        """The places of shared memory with an address of tensor memory, and the address that is written there."""
        self.tensor_works: dict[int, list[int]] = {}
        """For each thread the operations of the tensor core that it has started."""
        self.peers: dict[int, list[int]] = {}
        """Object in shared memory -> what corresponds to it in each block of the cluster, in their order."""

    # Threads and blocks

    def begin_thread(
        self, name: str, parent: Frame | None, values: dict[SSAValue, Any], gates: tuple[int, ...] = ()
    ) -> tuple[int, Frame]:
        thread = steps.Thread(name, gates)
        maker = (-1, len(self.program.main)) if parent is None else (parent.number, parent.count("threads"))
        number = self.numbering.number("threads", maker)
        self.program.threads[number] = thread
        frame = Frame(thread, number, [], values, rank=0 if parent is None else parent.rank)
        self.program.ranks[number] = frame.rank
        return number, frame

    def run(self, frame: Frame, block: Block | None) -> list[Any]:
        """The steps of `block`; returns what its terminator hands on."""
        if block is None:
            return []
        for op in block.ops:
            if op.name in TERMINATORS:
                return [frame.values[operand] for operand in op.operands]
            MEANINGS[op.name](self, frame, op)
        return []

    def run_thread(self, frame: Frame, block: Block | None) -> None:
        """All of a thread, or as far as the answers go."""
        try:
            self.run(frame, block)
        except UnansweredError:
            return
        of_block = frame.block[0] if frame.number in self.program.main else None
        frame.thread.append(steps.Finish(of_block, frame.lanes), f"end of {frame.thread.name}")

    def run_task(self, frame: Frame, op: Operation, block: Block) -> list[Any]:
        """The same of a task; returns what it hands on, or what is not known yet."""
        try:
            found = self.run(frame, block)
        except UnansweredError:
            last = block.last_op
            return [UNKNOWN] * (0 if last is None else len(last.operands))
        frame.emit(steps.Finish(), op)
        return found

    def call(self, frame: Frame, function: func.FuncOp, arguments: list[Any]) -> list[Any]:
        """A call to a function without body does nothing."""
        block = function.body.first_block
        if block is None:
            return [UNKNOWN] * len(function.function_type.outputs)
        activation = replace(frame, values=dict(zip(block.args, arguments, strict=True)), marks=[])
        return self.run(activation, block)

    def answer(self, frame: Frame, op: Operation, answers: int = 2) -> int:
        """The next answer that the thread gets, one of so many."""
        given = self.answers.get(frame.number, ())
        asked = frame.count("answers")
        if asked < len(given):
            return given[asked]
        frame.emit(steps.Ask(answers), op)
        raise UnansweredError

    # Memory

    def argument(self, type_: Any, key: object) -> Any:
        """Every memref and every pointer is an object of its own."""
        number = self.numbering.number("objects", key)
        if isinstance(type_, MemRefType):
            return Array(number, tuple(MOST_ELEMENTS if n < 0 else n for n in type_.get_shape()))
        if isinstance(type_, llvm.LLVMPointerType):
            return Pointer(number, 0, getattr(type_.addr_space, "data", 0))
        if isinstance(type_, IndexType | IntegerType) and self.trips is not None:
            return self.trips
        if isinstance(type_, TensorType):
            return UNKNOWN
        raise ValueError(f"an argument of type {type_} has no value here")

    def arguments(self, block: Block, rank: int) -> dict[SSAValue, Any]:
        """What the arguments are in block `rank`: each has shared memory of its own."""
        found: dict[SSAValue, Any] = {}
        for n, arg in enumerate(block.args):
            value = found[arg] = self.argument(arg.type, ("argument", n))
            if isinstance(value, Pointer) and value.space in SHARED_SPACES and self.program.blocks > 1:
                others = [("argument", n, other) for other in range(1, self.program.blocks)]
                peers = [value.number, *(self.numbering.number("objects", other) for other in others)]
                self.peers.update(dict.fromkeys(peers, peers))
                found[arg] = value._replace(number=peers[rank])
        return found

    def in_block(self, pointer: Pointer, rank: int) -> Pointer:
        """The same place in the shared memory of block `rank`."""
        return pointer._replace(number=self.peers[pointer.number][rank])

    def rank_of(self, pointer: Pointer) -> int | None:
        """The block in whose memory a place is; None where it is in none."""
        peers = self.peers.get(pointer.number)
        return None if peers is None else peers.index(pointer.number)

    def cell(self, number: int, index: object) -> int:
        return 1 << self.numbering.number("cells", (number, index))

    def element(self, array: Array, indices: list[int]) -> int:
        linear = 0
        for extent, index in zip(array.shape, indices, strict=True):
            assert 0 <= index < extent, f"index {index} of an extent {extent}"
            linear = linear * extent + index
        return self.cell(array.number, linear)

    def bytes(self, frame: Frame, pointer: Pointer, size: int) -> int:
        """The cells of `size` bytes from there, for all lanes that take part."""
        offsets = pointer.offset if isinstance(pointer.offset, tuple) else (pointer.offset,) * frame.lanes
        cells = 0
        for offset in sorted({offsets[lane] for lane in frame.active}):
            first, last = offset // BYTES_PER_CELL, (offset + size - 1) // BYTES_PER_CELL
            for index in range(first, last + 1):
                cells |= self.cell(pointer.number, index)
        if pointer.space in SHARED_SPACES:
            self.program.shared |= cells
        rank = self.rank_of(pointer)
        if rank is not None:
            self.program.owned[rank] = self.program.owned.get(rank, 0) | cells
        return cells

    def access(self, frame: Frame, op: Operation, *, reads: int = 0, writes: int = 0) -> None:
        if frame.recording is not None:
            frame.recording.reads |= reads
            frame.recording.writes |= writes
            return
        frame.emit(steps.Access(reads, writes, frame.one_of(op)), op)

    # Asynchronous operations

    def issue(self, frame: Frame, op: Operation, operation: steps.Operation) -> int:
        """Returns the number of the operation."""
        operation.rank = frame.rank
        number = self.numbering.number("operations", (frame.number, frame.count("operations")))
        self.program.operations[number] = operation
        frame.issued.append(number)
        frame.emit(steps.Issue(number), op)
        return number

    def barrier(self, key: object, cells: int = 0) -> int:
        number = self.numbering.number("barriers", key)
        self.program.barriers.setdefault(number, cells)
        return number

    def barrier_at(self, frame: Frame, pointer: Pointer) -> int:
        """The barrier of 8 bytes there."""
        place = pointer._replace(offset=frame.uniform(pointer.offset))
        return self.barrier((place.number, place.offset), self.bytes(frame, place, 8))

    def counter(self, frame: Frame) -> int:
        """A new counter, which begins with 0, and has to be 0 in the end."""
        number = self.numbering.number("counters", (frame.number, frame.count("counters")))
        self.program.counters.append(number)
        return number

    def new(self, frame: Frame, kind: str) -> int:
        """The number of a new thing of a kind, which the thread makes."""
        return self.numbering.number(kind, (frame.number, frame.count(kind)))


def unroll(
    module: ModuleOp,
    function: str = "main",
    trips: int | None = None,
    *,
    threads: int | None = None,
    answers: Answers | None = None,
    numbering: Numbering | None = None,
) -> steps.Program:
    """
    The threads of `function` as steps, as far as `answers` go.

    The function is one thread, or warps of `threads` threads, which `nvvm.reqntid` may tell as well. Raises `KeyError`
    for ops that the explorer does not know.
    """
    numbering = numbering or Numbering()
    unroller = Unroller(module, trips, answers, numbering)
    _unroll_function(unroller, function, threads)
    if unroller.addresses:
        # Who reads an address may be unrolled before who writes it.
        again = Unroller(module, trips, answers, numbering)
        again.addresses = unroller.addresses
        unroller = again
        _unroll_function(unroller, function, threads)
    return unroller.program


def _unroll_function(unroller: Unroller, function: str, threads: int | None) -> None:
    main = unroller.functions[function]
    block = main.body.first_block
    assert block is not None
    size = threads or _required_threads(main)
    assert size == 1 or size % LANES == 0, "a block is made of whole warps"
    registers = main.attributes.get("nvvm.maxnreg")
    unroller.registers = registers.value.data if isinstance(registers, IntegerAttr) else None
    unroller.program.blocks = _blocks(main)
    for rank in range(unroller.program.blocks):
        _unroll_block(unroller, block, size, rank)


def _unroll_block(unroller: Unroller, block: Block, size: int, rank: int) -> None:
    arguments, program = unroller.arguments(block, rank), unroller.program
    of_block = f" of block {rank}" if program.blocks > 1 else ""
    for warp in range(-(-size // LANES)):
        name = ("main" if size <= LANES else f"main, warp {warp}") + of_block
        number, frame = unroller.begin_thread(name, None, dict(arguments))
        program.main.append(number)
        program.ranks[number] = frame.rank = rank
        frame.block = -rank, size
        if size > 1:
            frame = of_warp(frame, ("main", rank), size // LANES, warp * LANES)
        if program.blocks > 1:
            frame.thread.append(steps.Begin(), f"start of {name}")
        unroller.run_thread(frame, block)


BLOCKS = 2
"""Of a cluster that does not say how many it has."""


def _blocks(function: func.FuncOp | llvm.FuncOp) -> int:
    """How many blocks run the function: one, where they do not reach into each other."""
    if not any(op.name == "nvvm.mapa" or getattr(op, "multicast_mask", None) for op in function.walk()):
        return 1
    attribute = function.attributes.get("nvvm.cluster_dim")
    return prod(int(n) for n in attribute.get_values()) if isinstance(attribute, DenseArrayBase) else BLOCKS


def _required_threads(function: func.FuncOp | llvm.FuncOp) -> int:
    attribute = function.attributes.get("nvvm.reqntid")
    size = 1
    for extent in attribute.get_values() if isinstance(attribute, DenseArrayBase) else ():
        size *= int(extent)
    return size


def of_warp(frame: Frame, agent: object, warps: int, first_tid: int) -> Frame:
    """The frame of a whole warp of an agent."""
    lanes = tuple(range(LANES))
    return replace(frame, lanes=LANES, active=lanes, first_tid=first_tid, agent=(agent, warps))


def number(value: Any) -> int:
    """A value that decides what runs, or where an access goes."""
    assert isinstance(value, int), f"control flow and addresses are constants here, found {value}"
    return value


def by_lane(frame: Frame, compute: Callable[..., int], operands: list[Any]) -> Any:
    """One number, or one for each lane where an operand depends on the lane."""
    if any(isinstance(value, tuple) for value in operands):
        lanes = [value if isinstance(value, tuple) else (value,) * frame.lanes for value in operands]
        return tuple(compute(*values) if UNKNOWN not in values else UNKNOWN for values in zip(*lanes, strict=True))
    return compute(*operands) if UNKNOWN not in operands else UNKNOWN


def moved(pointer: Pointer, op: Any) -> Pointer:
    """The address, with the offset of the instruction."""
    offset = op.properties.get("offset")
    return pointer if offset is None else pointer._replace(offset=pointer.offset + offset.value.data)


TERMINATORS = frozenset(
    {
        "func.return",
        "llvm.return",
        "scf.yield",
        "scf.condition",
        "async.yield",
        "async.return",
        "nv_tileaa.yield",
        "nv_tileas.async.pipeline.yield",
    }
)

MEANINGS: dict[str, Callable[[Unroller, Frame, Any], None]] = {}
"""For each op what its threads do: filled by the modules that know the ops."""
