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
    i1,
)
from xdsl.ir import Block, Operation, Region, SSAValue

from tests.checker.explorer import steps
from tileas_xdsl.dialects import async_

UNKNOWN = None
"""The value of everything that comes out of memory."""
BYTES_PER_CELL = 4
MOST_TURNS = 100
PURE = ("arith.", "scf.yield", "scf.condition", "scf.if", "llvm.getelementptr")
TESTS = ("nvvm.mbarrier.test.wait", "nvvm.mbarrier.try_wait")
MOST_ELEMENTS = 1024
"""The extent of an axis that does not tell it."""
DYNAMIC_INDEX = -(2**31)
"""How `llvm.getelementptr` marks the place of an index that is an operand."""
LANES = 32
SHARED_SPACES = (3, 7)
Answers = Mapping[int, tuple[bool, ...]]
"""For each thread the answers that it gets, in order."""


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
        self.functions = {op.sym_name.data: op for op in module.walk() if isinstance(op, func.FuncOp)}
        self.tasks = {op.sym_name.data: op for op in module.walk() if isinstance(op, async_.FuncOp)}
        """The functions whose calls are tasks."""
        self.program = steps.Program()

    # Threads and blocks

    def begin_thread(
        self, name: str, parent: Frame | None, values: dict[SSAValue, Any], gates: tuple[int, ...] = ()
    ) -> tuple[int, Frame]:
        thread = steps.Thread(name, gates)
        maker = (-1, len(self.program.main)) if parent is None else (parent.number, parent.count("threads"))
        number = self.numbering.number("threads", maker)
        self.program.threads[number] = thread
        return number, Frame(thread, number, [], values)

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
        frame.thread.append(steps.Finish(), f"end of {frame.thread.name}")

    def call(self, frame: Frame, function: func.FuncOp, arguments: list[Any]) -> list[Any]:
        """A call to a function without body does nothing."""
        block = function.body.first_block
        if block is None:
            return [UNKNOWN] * len(function.function_type.outputs)
        activation = replace(frame, values=dict(zip(block.args, arguments, strict=True)), marks=[])
        return self.run(activation, block)

    def answer(self, frame: Frame, op: Operation) -> bool:
        """The next answer that the thread gets."""
        given = self.answers.get(frame.number, ())
        asked = frame.count("answers")
        if asked < len(given):
            return given[asked]
        frame.emit(steps.Ask(), op)
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
        return cells

    def access(self, frame: Frame, op: Operation, *, reads: int = 0, writes: int = 0) -> None:
        if frame.recording is not None:
            frame.recording.reads |= reads
            frame.recording.writes |= writes
            return
        agent, warps = frame.agent
        one_of = (agent, op, frame.count(op)) if warps > 1 else None
        frame.emit(steps.Access(reads, writes, one_of), op)

    # Asynchronous operations

    def issue(self, frame: Frame, op: Operation, operation: steps.Operation) -> int:
        """Returns the number of the operation."""
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

    def counter(self, frame: Frame, start: int, *, empty_at_end: bool = False) -> int:
        """A new counter that begins at `start`."""
        number = self.numbering.number("counters", (frame.number, frame.count("counters")))
        self.program.counters[number] = start
        if empty_at_end:
            self.program.left_over.append(number)
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
    unroller = Unroller(module, trips, answers, numbering)
    main = unroller.functions[function]
    block = main.body.first_block
    assert block is not None
    size = threads or _required_threads(main)
    assert size == 1 or size % LANES == 0, "a block is made of whole warps"
    arguments = {arg: unroller.argument(arg.type, ("argument", n)) for n, arg in enumerate(block.args)}
    for warp in range(-(-size // LANES)):
        name = "main" if size <= LANES else f"main, warp {warp}"
        number, frame = unroller.begin_thread(name, None, dict(arguments))
        unroller.program.main.append(number)
        frame.block = 0, size
        if size > 1:
            frame = of_warp(frame, "main", size // LANES, warp * LANES)
        unroller.run_thread(frame, block)
    return unroller.program


def _required_threads(function: func.FuncOp) -> int:
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


# Numbers -------------------------------------------------------------------------------------------------------------


def _constant(unroller: Unroller, frame: Frame, op: Any) -> None:
    """True is 1, whatever its sign."""
    value, is_flag = op.value, op.results[0].type == i1
    found = value.value.data if isinstance(value, IntegerAttr) else UNKNOWN
    frame.values[op.results[0]] = found & 1 if is_flag and found is not UNKNOWN else found


def by_lane(frame: Frame, compute: Callable[..., int], operands: list[Any]) -> Any:
    """One number, or one for each lane where an operand depends on the lane."""
    if any(isinstance(value, tuple) for value in operands):
        lanes = [value if isinstance(value, tuple) else (value,) * frame.lanes for value in operands]
        return tuple(compute(*values) if UNKNOWN not in values else UNKNOWN for values in zip(*lanes, strict=True))
    return compute(*operands) if UNKNOWN not in operands else UNKNOWN


def _computes(compute: Callable[..., int]) -> Callable[[Unroller, Frame, Any], None]:
    def meaning(unroller: Unroller, frame: Frame, op: Any) -> None:
        frame.values[op.results[0]] = by_lane(frame, compute, [frame.values[operand] for operand in op.operands])

    return meaning


def _compare(unroller: Unroller, frame: Frame, op: Any) -> None:
    def holds(lhs: int, rhs: int) -> int:
        return int((lhs == rhs, lhs != rhs, *(lhs < rhs, lhs <= rhs, lhs > rhs, lhs >= rhs) * 2)[predicate])

    predicate = op.predicate.value.data
    frame.values[op.result] = by_lane(frame, holds, [frame.values[op.lhs], frame.values[op.rhs]])


def _unknown(unroller: Unroller, frame: Frame, op: Any) -> None:
    """Arithmetic on what comes out of memory."""
    frame.values.update(dict.fromkeys(op.results, UNKNOWN))


# Control flow --------------------------------------------------------------------------------------------------------


def _for(unroller: Unroller, frame: Frame, op: Any) -> None:
    bounds = [frame.uniform(frame.values[bound]) for bound in (op.lb, op.ub, op.step)]
    carried = [frame.values[value] for value in op.iter_args]
    block = op.body.block
    for iteration in range(*bounds):
        frame.values.update(zip(block.args, [iteration, *carried], strict=True))
        carried = unroller.run(frame, block)
    frame.values.update(zip(op.results, carried, strict=True))


def _if(unroller: Unroller, frame: Frame, op: Any) -> None:
    """Where the lanes differ, those that take the first arm go first."""
    condition = frame.values[op.cond]
    lanes = condition if isinstance(condition, tuple) else (number(condition),) * frame.lanes
    results: list[Any] | None = None
    for region, taken in ((op.true_region, True), (op.false_region, False)):
        active = tuple(lane for lane in frame.active if bool(number(lanes[lane])) is taken)
        if active:
            found = unroller.run(replace(frame, active=active), region.first_block)
            results = found if results is None else [UNKNOWN] * len(found)
    frame.values.update(zip(op.results, results or [], strict=True))


def _while(unroller: Unroller, frame: Frame, op: Any) -> None:
    """A loop that spins until a test says yes. A turn that does nothing else makes no difference, one that does may."""
    inner = [each for region in op.regions for each in region.walk()]
    does_nothing = all(each.name.startswith(PURE) or each.name in TESTS for each in inner)
    spinning = replace(frame, refusals=[] if does_nothing else [0])
    carried = [frame.values[value] for value in op.arguments]
    before, after = op.before_region.block, op.after_region.block
    for _ in range(MOST_TURNS):
        frame.values.update(zip(before.args, carried, strict=True))
        goes_on, *carried = unroller.run(spinning, before)
        if not frame.uniform(goes_on):
            frame.values.update(zip(op.results, carried, strict=True))
            return
        frame.values.update(zip(after.args, carried, strict=True))
        carried = unroller.run(spinning, after)
    raise AssertionError(f"a loop makes more than {MOST_TURNS} turns")


def _call(unroller: Unroller, frame: Frame, op: Any) -> None:
    function = unroller.functions[op.callee.string_value()]
    results = unroller.call(frame, function, [frame.values[argument] for argument in op.arguments])
    frame.values.update(zip(op.results, results, strict=True))


def _body(unroller: Unroller, frame: Frame, op: Any) -> None:
    unroller.run(frame, op.regions[0].first_block)


def _agents(unroller: Unroller, frame: Frame, op: Any) -> None:
    """Fork the warps of one agent for each region and number in its group; join them all."""
    warps = op.properties.get("num_warps")
    counts = list(warps.get_values()) if warps is not None else [0] * len(op.bodies)
    groups = list(zip(op.bodies, op.group_sizes, counts, strict=True))
    block = unroller.new(frame, "blocks"), sum(size * (LANES * count or 1) for _, size, count in groups)
    agents: list[tuple[Frame, Region]] = []
    first_tid = 0
    for place, (region, size, count) in enumerate(groups):
        captured = [frame.values[value] for value in op.operands]
        for member in range(size):
            arguments = captured if len(region.block.args) == len(captured) else [member, *captured]
            values = dict(zip(region.block.args, arguments[: len(region.block.args)], strict=True))
            for warp in range(count or 1):
                name = f"agent {place}.{member}" + (f", warp {warp}" if count > 1 else "")
                _, agent = unroller.begin_thread(name, frame, frame.values | values)
                agent.block, agent.first_tid = block, first_tid
                if count:
                    agent = of_warp(agent, (block[0], place, member), count, first_tid)
                agents.append((agent, region))
                first_tid += LANES if count else 1
    forked = tuple(agent.number for agent, _ in agents)
    frame.emit(steps.Fork(forked), op)
    for agent, region in agents:
        unroller.run_thread(agent, region.block)
    frame.emit(steps.Join(forked), op)


# Memory --------------------------------------------------------------------------------------------------------------


def _alloc(unroller: Unroller, frame: Frame, op: Any) -> None:
    frame.values[op.results[0]] = unroller.argument(op.results[0].type, (frame.number, frame.count("objects")))


def _load(unroller: Unroller, frame: Frame, op: Any) -> None:
    indices = [number(frame.values[index]) for index in op.indices]
    unroller.access(frame, op, reads=unroller.element(frame.values[op.memref], indices))
    frame.values[op.res] = UNKNOWN


def _store(unroller: Unroller, frame: Frame, op: Any) -> None:
    indices = [number(frame.values[index]) for index in op.indices]
    unroller.access(frame, op, writes=unroller.element(frame.values[op.memref], indices))


def _dealloc(unroller: Unroller, frame: Frame, op: Any) -> None:
    """As bad as writing all of the buffer that anybody has touched so far."""
    array: Array = frame.values[op.memref]
    cells = unroller.numbering.numbers.get("cells", {}).items()
    unroller.access(frame, op, writes=sum(1 << bit for (owner, _), bit in cells if owner == array.number))


def _size(type_: Any) -> int:
    if isinstance(type_, llvm.LLVMArrayType):
        return type_.size.data * _size(type_.type)
    return type_.width.data // 8 if isinstance(type_, IntegerType) else type_.size


def _element_pointer(unroller: Unroller, frame: Frame, op: Any) -> None:
    (constant,) = op.rawConstantIndices.get_values()
    index = frame.values[op.ssa_indices[0]] if constant == DYNAMIC_INDEX else constant
    base: Pointer = frame.values[op.ptr]
    size = _size(op.elem_type)
    offset = by_lane(frame, lambda start, steps_: start + steps_ * size, [base.offset, index])
    frame.values[op.result] = base._replace(offset=offset)


def _pointer_load(unroller: Unroller, frame: Frame, op: Any) -> None:
    result = op.dereferenced_value
    unroller.access(frame, op, reads=unroller.bytes(frame, frame.values[op.ptr], _size(result.type)))
    frame.values[result] = UNKNOWN


def _pointer_store(unroller: Unroller, frame: Frame, op: Any) -> None:
    unroller.access(frame, op, writes=unroller.bytes(frame, frame.values[op.ptr], _size(op.value.type)))


# Tokens --------------------------------------------------------------------------------------------------------------


def _task(unroller: Unroller, frame: Frame, op: Any) -> None:
    operands = [frame.values[value] for value in op.body_operands]
    dependencies = [frame.values[value] for value in op.dependencies]
    block = op.body.block
    values = frame.values | dict(zip(block.args, [token.payload for token in operands], strict=True))
    gates = tuple(token.thread for token in [*dependencies, *operands])
    thread, task = unroller.begin_thread(f"task {len(unroller.program.threads)}", frame, values, gates)
    task.thread.is_empty = _is_empty(block)
    frame.emit(steps.Fork((thread,)), op)
    yielded = unroller.run(task, block)
    task.emit(steps.Finish(), op)
    tokens = [Token(thread, payload) for payload in [UNKNOWN, *yielded]]
    frame.values.update(zip(op.results, tokens, strict=True))


def _is_empty(block: Block) -> bool:
    return all(inner.name in ("async.execute", *TERMINATORS) for inner in block.walk())


def _call_task(unroller: Unroller, frame: Frame, op: Any) -> None:
    """A call that begins at once, as a thread that sees its arguments only; all its results come with its end."""
    block = unroller.tasks[op.callee.string_value()].body.block
    arguments = [frame.values[operand] for operand in op.operands]
    values = dict(zip(block.args, arguments, strict=True))
    thread, task = unroller.begin_thread(f"task {len(unroller.program.threads)}", frame, values)
    task.thread.is_empty = _is_empty(block)
    frame.emit(steps.Fork((thread,)), op)
    returned = unroller.run(task, block)
    task.emit(steps.Finish(), op)
    payloads = [UNKNOWN] * (len(op.results) - len(returned)) + returned
    frame.values.update(zip(op.results, [Token(thread, payload) for payload in payloads], strict=True))


def _await(unroller: Unroller, frame: Frame, op: Any) -> None:
    token = frame.values[op.operands[0]]
    frame.emit(steps.Join((token.thread,)), op)
    frame.values.update(dict.fromkeys(op.results, token.payload))


def _create_group(unroller: Unroller, frame: Frame, op: Any) -> None:
    group = frame.values[op.results[0]] = unroller.new(frame, "groups")
    unroller.program.groups[group] = number(frame.values[op.operands[0]])


def _add_to_group(unroller: Unroller, frame: Frame, op: Any) -> None:
    token, group = (frame.values[operand] for operand in op.operands)
    frame.emit(steps.AddToGroup(group, token.thread), op)
    frame.values[op.results[0]] = UNKNOWN


def _await_all(unroller: Unroller, frame: Frame, op: Any) -> None:
    frame.emit(steps.JoinGroup(frame.values[op.operands[0]]), op)


# Queues --------------------------------------------------------------------------------------------------------------


def _known(frame: Frame, value: int | SSAValue) -> int:
    return value if isinstance(value, int) else number(frame.values[value])


def _commit(unroller: Unroller, frame: Frame, op: Any) -> None:
    queue = _known(frame, op.queue)
    outer, frame.batch = frame.batch, unroller.new(frame, "batches")
    unroller.run(frame, op.body.first_block)
    frame.emit(steps.Commit(queue, frame.batch), op)
    frame.batch = outer


def _scope(unroller: Unroller, frame: Frame, op: Any) -> None:
    operation = steps.Operation(op, batch=frame.batch)
    frame.recording = operation
    unroller.run(frame, op.body.first_block)
    frame.recording = None
    unroller.issue(frame, op, operation)


def _wait_queue(unroller: Unroller, frame: Frame, op: Any) -> None:
    count = max(_known(frame, op.count), 0)
    frame.emit(steps.WaitQueue(_known(frame, op.queue), count), op)
    unroller.run(frame, op.body.first_block)


# Marks ---------------------------------------------------------------------------------------------------------------


def moved(pointer: Pointer, op: Any) -> Pointer:
    """The address, with the offset of the instruction."""
    offset = op.properties.get("offset")
    return pointer if offset is None else pointer._replace(offset=pointer.offset + offset.value.data)


def _transfer(unroller: Unroller, frame: Frame, op: Any) -> None:
    size = op.size.value.data
    reads = unroller.bytes(frame, moved(frame.values[op.global_ptr], op), size)
    writes = unroller.bytes(frame, moved(frame.values[op.lds_ptr], op), size)
    unroller.issue(frame, op, steps.Operation(op, reads, writes))


def _mark(unroller: Unroller, frame: Frame, op: Any) -> None:
    frame.marks.append(len(frame.issued))


def _wait_marks(unroller: Unroller, frame: Frame, op: Any) -> None:
    count = op.count.value.data
    if count >= len(frame.marks):
        return
    covered = frame.issued[: frame.marks[len(frame.marks) - count - 1]]
    frame.emit(steps.WaitOperations(sum(1 << operation for operation in covered)), op)


TERMINATORS = frozenset(
    {
        "func.return",
        "scf.yield",
        "scf.condition",
        "async.yield",
        "async.return",
        "nv_tileaa.yield",
        "nv_tileas.async.pipeline.yield",
    }
)
ARITHMETIC = ("addf", "subf", "mulf", "divf", "maximumf", "extf", "truncf")

MEANINGS: dict[str, Callable[[Unroller, Frame, Any], None]] = {
    "arith.constant": _constant,
    "llvm.mlir.constant": _constant,
    "arith.addi": _computes(lambda a, b: a + b),
    "arith.subi": _computes(lambda a, b: a - b),
    "arith.muli": _computes(lambda a, b: a * b),
    "arith.divui": _computes(lambda a, b: a // b),
    "arith.remui": _computes(lambda a, b: a % b),
    "arith.andi": _computes(lambda a, b: a & b),
    "arith.xori": _computes(lambda a, b: a ^ b),
    "arith.select": _computes(lambda c, a, b: a if c else b),
    "arith.minui": _computes(min),
    "arith.ceildivui": _computes(lambda a, b: -(-a // b)),
    "arith.index_cast": _computes(lambda a: a),
    "arith.cmpi": _compare,
    "scf.for": _for,
    "scf.if": _if,
    "scf.while": _while,
    "func.call": _call,
    "nv_tileaa.execute": _agents,
    "nv_tileas.async.pipeline.agent_switch": _agents,
    "memref.alloc": _alloc,
    "memref.load": _load,
    "memref.store": _store,
    "llvm.getelementptr": _element_pointer,
    "llvm.load": _pointer_load,
    "llvm.store": _pointer_store,
    "async.execute": _task,
    "async.call": _call_task,
    "async.await": _await,
    "async.create_group": _create_group,
    "async.add_to_group": _add_to_group,
    "async.await_all": _await_all,
    "async_queue.commit": _commit,
    "async_queue.scope": _scope,
    "async_queue.wait": _wait_queue,
    "async_queue.block": _body,
    "rocdl.global.load.async.lds": _transfer,
    "rocdl.asyncmark": _mark,
    "rocdl.wait.asyncmark": _wait_marks,
    "memref.dealloc": _dealloc,
    **{f"arith.{name}": _unknown for name in ARITHMETIC},
}
