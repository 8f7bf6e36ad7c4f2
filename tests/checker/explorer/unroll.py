"""
From IR to threads of steps: every loop unrolled, every call inlined, every number computed.

`unroll(module)` runs through the function `main` (or another) once, the way its threads would, and writes down what
they would do, in their order. It knows nothing of synchronisation beyond which step belongs to which thread, with one
exception: an asynchronous mark covers what *this* thread issued before, so what a wait for marks needs is a fixed set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, MemRefType, ModuleOp, TensorType
from xdsl.ir import Block, Operation, Region, SSAValue

from tests.checker.explorer import steps
from tileas_xdsl.dialects import async_

UNKNOWN = None
"""The value of everything that comes out of memory."""
BYTES_PER_CELL = 4
MOST_ELEMENTS = 1024
"""The extent of an axis that does not tell it."""
DYNAMIC_INDEX = -(2**31)
"""How `llvm.getelementptr` marks the place of an index that is an operand."""


class Array(NamedTuple):
    """A memref: an object of its own."""

    number: int
    shape: tuple[int, ...]


class Pointer(NamedTuple):
    """A place in an object: `offset` bytes from its start."""

    number: int
    offset: int


class Token(NamedTuple):
    """Completion of a task, and what it yields at one place."""

    thread: int
    payload: Any


@dataclass
class Frame:
    """One activation of a function, or a region that a thread of its own runs, while it is unrolled."""

    thread: steps.Thread
    issued: list[int]
    """The operations that the thread has issued so far; shared by the activations of one thread."""
    values: dict[SSAValue, Any]
    marks: list[int] = field(default_factory=list[int])
    """For each mark of this activation, how many operations the thread had issued by then."""
    batch: int | None = None
    """The batch of the innermost commit scope."""
    recording: steps.Operation | None = None
    """The operation to which loads and stores belong at present."""
    threads: int = 1
    """How many hardware threads this one stands for where arrivals are counted in threads."""
    block: tuple[int, int] = (0, 1)
    """The thread block that it belongs to, and how many hardware threads that has."""
    groups: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """What counters count, for each of them its operations or bit sets of operations; one for all of a thread."""

    def emit(self, step: steps.Step, op: Operation) -> None:
        self.thread.append(step, str(op).split(" {\n")[0])


class Elected(int):
    """What `elect.sync` gives: true, in a branch in which one hardware thread goes on."""


class Unroller:
    """The program so far. Every argument that is a number is `trips`."""

    def __init__(self, module: ModuleOp, trips: int | None = None) -> None:
        self.trips = trips
        self.functions = {op.sym_name.data: op for op in module.walk() if isinstance(op, func.FuncOp)}
        self.tasks = {op.sym_name.data: op for op in module.walk() if isinstance(op, async_.FuncOp)}
        """The functions whose calls are tasks."""
        self.program = steps.Program()
        self.cells: dict[tuple[int, object], int] = {}
        self.objects = 0
        self.barriers: dict[object, int] = {}
        self.queues: dict[int, int] = {}

    # Threads and blocks

    def begin_thread(self, name: str, values: dict[SSAValue, Any], gates: tuple[int, ...] = ()) -> tuple[int, Frame]:
        thread = steps.Thread(name, gates)
        self.program.threads.append(thread)
        return len(self.program.threads) - 1, Frame(thread, [], values)

    def run(self, frame: Frame, block: Block | None) -> list[Any]:
        """The steps of `block`; returns what its terminator hands on."""
        if block is None:
            return []
        for op in block.ops:
            if op.name in TERMINATORS:
                return [frame.values[operand] for operand in op.operands]
            MEANINGS[op.name](self, frame, op)
        return []

    def call(self, frame: Frame, function: func.FuncOp, arguments: list[Any]) -> list[Any]:
        """A call to a function without body does nothing."""
        block = function.body.first_block
        if block is None:
            return [UNKNOWN] * len(function.function_type.outputs)
        activation = replace(frame, values=dict(zip(block.args, arguments, strict=True)), marks=[])
        return self.run(activation, block)

    # Memory

    def new_object(self) -> int:
        self.objects += 1
        return self.objects

    def argument(self, type_: Any) -> Any:
        """Every memref and every pointer is an object of its own."""
        if isinstance(type_, MemRefType):
            return Array(self.new_object(), tuple(MOST_ELEMENTS if n < 0 else n for n in type_.get_shape()))
        if isinstance(type_, llvm.LLVMPointerType):
            return Pointer(self.new_object(), 0)
        if isinstance(type_, IndexType | IntegerType) and self.trips is not None:
            return self.trips
        if isinstance(type_, TensorType):
            return UNKNOWN
        raise ValueError(f"an argument of type {type_} has no value here")

    def cell(self, number: int, index: object) -> int:
        return 1 << self.cells.setdefault((number, index), len(self.cells))

    def element(self, array: Array, indices: list[int]) -> int:
        linear = 0
        for extent, index in zip(array.shape, indices, strict=True):
            assert 0 <= index < extent, f"index {index} of an extent {extent}"
            linear = linear * extent + index
        return self.cell(array.number, linear)

    def bytes(self, pointer: Pointer, size: int) -> int:
        first = pointer.offset // BYTES_PER_CELL
        last = (pointer.offset + size - 1) // BYTES_PER_CELL
        return sum(self.cell(pointer.number, index) for index in range(first, last + 1))

    def access(self, frame: Frame, op: Operation, *, reads: int = 0, writes: int = 0) -> None:
        if frame.recording is not None:
            frame.recording.reads |= reads
            frame.recording.writes |= writes
        else:
            frame.emit(steps.Access(reads, writes), op)

    # Asynchronous operations

    def issue(self, frame: Frame, op: Operation, operation: steps.Operation) -> None:
        self.program.operations.append(operation)
        number = len(self.program.operations) - 1
        frame.issued.append(number)
        frame.emit(steps.Issue(number), op)

    def barrier(self, key: object) -> int:
        return self.barriers.setdefault(key, len(self.barriers))

    def counter(self, start: int, *, empty_at_end: bool = False) -> int:
        """A new counter that begins at `start`."""
        counters = self.program.counters
        counters.append(start)
        if empty_at_end:
            self.program.left_over.append(len(counters) - 1)
        return len(counters) - 1

    def queue(self, number: int) -> int:
        return self.queues.setdefault(number, len(self.queues))


def unroll(module: ModuleOp, function: str = "main", trips: int | None = None) -> steps.Program:
    """The threads of `function` as steps. Raises `KeyError` for ops that the explorer does not know."""
    unroller = Unroller(module, trips)
    main = unroller.functions[function]
    block = main.body.first_block
    assert block is not None
    _, frame = unroller.begin_thread("main", {arg: unroller.argument(arg.type) for arg in block.args})
    unroller.run(frame, block)
    program = unroller.program
    for thread in program.threads:
        thread.append(steps.Finish(), f"end of {thread.name}")
    program.barriers, program.queues = len(unroller.barriers), len(unroller.queues)
    return program


def number(value: Any) -> int:
    """A value that decides what runs, or where an access goes."""
    assert isinstance(value, int), f"control flow and addresses are constants here, found {value}"
    return value


# Numbers -------------------------------------------------------------------------------------------------------------


def _constant(unroller: Unroller, frame: Frame, op: Any) -> None:
    value = op.value
    frame.values[op.results[0]] = value.value.data if isinstance(value, IntegerAttr) else UNKNOWN


def _computes(compute: Callable[..., int]) -> Callable[[Unroller, Frame, Any], None]:
    def meaning(unroller: Unroller, frame: Frame, op: Any) -> None:
        operands = [frame.values[operand] for operand in op.operands]
        known = all(isinstance(value, int) for value in operands)
        frame.values[op.results[0]] = compute(*operands) if known else UNKNOWN

    return meaning


def _compare(unroller: Unroller, frame: Frame, op: Any) -> None:
    lhs, rhs = number(frame.values[op.lhs]), number(frame.values[op.rhs])
    tests = (lhs == rhs, lhs != rhs, *(lhs < rhs, lhs <= rhs, lhs > rhs, lhs >= rhs) * 2)
    frame.values[op.result] = int(tests[op.predicate.value.data])


def _unknown(unroller: Unroller, frame: Frame, op: Any) -> None:
    """Arithmetic on what comes out of memory."""
    frame.values.update(dict.fromkeys(op.results, UNKNOWN))


# Control flow --------------------------------------------------------------------------------------------------------


def _for(unroller: Unroller, frame: Frame, op: Any) -> None:
    bounds = [number(frame.values[bound]) for bound in (op.lb, op.ub, op.step)]
    carried = [frame.values[value] for value in op.iter_args]
    block = op.body.block
    for iteration in range(*bounds):
        frame.values.update(zip(block.args, [iteration, *carried], strict=True))
        carried = unroller.run(frame, block)
    frame.values.update(zip(op.results, carried, strict=True))


def _if(unroller: Unroller, frame: Frame, op: Any) -> None:
    condition = frame.values[op.cond]
    region = op.true_region if number(condition) else op.false_region
    inside = replace(frame, threads=1) if isinstance(condition, Elected) else frame
    frame.values.update(zip(op.results, unroller.run(inside, region.first_block), strict=True))


def _call(unroller: Unroller, frame: Frame, op: Any) -> None:
    function = unroller.functions[op.callee.string_value()]
    results = unroller.call(frame, function, [frame.values[argument] for argument in op.arguments])
    frame.values.update(zip(op.results, results, strict=True))


def _body(unroller: Unroller, frame: Frame, op: Any) -> None:
    unroller.run(frame, op.regions[0].first_block)


def _agents(unroller: Unroller, frame: Frame, op: Any) -> None:
    """Fork one agent for each region and number in its group; join them all."""
    agents: list[tuple[int, Frame, Region]] = []
    warps = op.properties.get("num_warps")
    sizes = [32 * count for count in warps.get_values()] if warps is not None else [1] * len(op.bodies)
    block = unroller.new_object(), sum(t * n for t, n in zip(sizes, op.group_sizes, strict=True))
    for place, (region, size) in enumerate(zip(op.bodies, op.group_sizes, strict=True)):
        entry = region.block
        captured = [frame.values[value] for value in op.operands]
        for member in range(size):
            arguments = captured if len(entry.args) == len(captured) else [member, *captured]
            values = frame.values | dict(zip(entry.args, arguments[: len(entry.args)], strict=True))
            number, agent = unroller.begin_thread(f"agent {place}.{member}", values)
            agent.threads, agent.block = sizes[place], block
            agents.append((number, agent, region))
    forked = tuple(number for number, _, _ in agents)
    frame.emit(steps.Fork(forked), op)
    for _, agent, region in agents:
        unroller.run(agent, region.block)
    frame.emit(steps.Join(forked), op)


# Memory --------------------------------------------------------------------------------------------------------------


def _alloc(unroller: Unroller, frame: Frame, op: Any) -> None:
    frame.values[op.results[0]] = unroller.argument(op.results[0].type)


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
    cells = [1 << bit for (number, _), bit in unroller.cells.items() if number == array.number]
    unroller.access(frame, op, writes=sum(cells))


def _size(type_: Any) -> int:
    if isinstance(type_, llvm.LLVMArrayType):
        return type_.size.data * _size(type_.type)
    return type_.width.data // 8 if isinstance(type_, IntegerType) else type_.size


def _element_pointer(unroller: Unroller, frame: Frame, op: Any) -> None:
    (constant,) = op.rawConstantIndices.get_values()
    index = number(frame.values[op.ssa_indices[0]]) if constant == DYNAMIC_INDEX else constant
    base: Pointer = frame.values[op.ptr]
    frame.values[op.result] = base._replace(offset=base.offset + index * _size(op.elem_type))


def _pointer_load(unroller: Unroller, frame: Frame, op: Any) -> None:
    result = op.dereferenced_value
    unroller.access(frame, op, reads=unroller.bytes(frame.values[op.ptr], _size(result.type)))
    frame.values[result] = UNKNOWN


def _pointer_store(unroller: Unroller, frame: Frame, op: Any) -> None:
    unroller.access(frame, op, writes=unroller.bytes(frame.values[op.ptr], _size(op.value.type)))


# Tokens --------------------------------------------------------------------------------------------------------------


def _task(unroller: Unroller, frame: Frame, op: Any) -> None:
    operands = [frame.values[value] for value in op.body_operands]
    dependencies = [frame.values[value] for value in op.dependencies]
    block = op.body.block
    values = frame.values | dict(zip(block.args, [token.payload for token in operands], strict=True))
    gates = tuple(token.thread for token in [*dependencies, *operands])
    thread, task = unroller.begin_thread(f"task {len(unroller.program.threads)}", values, gates)
    task.thread.is_empty = _is_empty(block)
    frame.emit(steps.Fork((thread,)), op)
    yielded = unroller.run(task, block)
    tokens = [Token(thread, payload) for payload in [UNKNOWN, *yielded]]
    frame.values.update(zip(op.results, tokens, strict=True))


def _is_empty(block: Block) -> bool:
    return all(inner.name in ("async.execute", *TERMINATORS) for inner in block.walk())


def _call_task(unroller: Unroller, frame: Frame, op: Any) -> None:
    """A call that begins at once, as a thread that sees its arguments only; all its results come with its end."""
    block = unroller.tasks[op.callee.string_value()].body.block
    arguments = [frame.values[operand] for operand in op.operands]
    values = dict(zip(block.args, arguments, strict=True))
    thread, task = unroller.begin_thread(f"task {len(unroller.program.threads)}", values)
    task.thread.is_empty = _is_empty(block)
    frame.emit(steps.Fork((thread,)), op)
    returned = unroller.run(task, block)
    payloads = [UNKNOWN] * (len(op.results) - len(returned)) + returned
    frame.values.update(zip(op.results, [Token(thread, payload) for payload in payloads], strict=True))


def _await(unroller: Unroller, frame: Frame, op: Any) -> None:
    token = frame.values[op.operands[0]]
    frame.emit(steps.Join((token.thread,)), op)
    frame.values.update(dict.fromkeys(op.results, token.payload))


def _create_group(unroller: Unroller, frame: Frame, op: Any) -> None:
    frame.values[op.results[0]] = len(unroller.program.groups)
    unroller.program.groups.append(number(frame.values[op.operands[0]]))


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
    queue = unroller.queue(_known(frame, op.queue))
    outer, frame.batch = frame.batch, unroller.program.batches
    unroller.program.batches += 1
    unroller.run(frame, op.body.first_block)
    frame.emit(steps.Commit(queue, frame.batch), op)
    frame.batch = outer


def _scope(unroller: Unroller, frame: Frame, op: Any) -> None:
    operation = steps.Operation(str(op), batch=frame.batch)
    frame.recording = operation
    unroller.run(frame, op.body.first_block)
    frame.recording = None
    unroller.issue(frame, op, operation)


def _wait_queue(unroller: Unroller, frame: Frame, op: Any) -> None:
    count = max(_known(frame, op.count), 0)
    frame.emit(steps.WaitQueue(unroller.queue(_known(frame, op.queue)), count), op)
    unroller.run(frame, op.body.first_block)


# Marks ---------------------------------------------------------------------------------------------------------------


def moved(pointer: Pointer, op: Any) -> Pointer:
    """The address, with the offset of the instruction."""
    offset = op.properties.get("offset")
    return pointer if offset is None else pointer._replace(offset=pointer.offset + offset.value.data)


def _transfer(unroller: Unroller, frame: Frame, op: Any) -> None:
    size = op.size.value.data
    reads = unroller.bytes(moved(frame.values[op.global_ptr], op), size)
    writes = unroller.bytes(moved(frame.values[op.lds_ptr], op), size)
    unroller.issue(frame, op, steps.Operation(str(op), reads, writes))


def _mark(unroller: Unroller, frame: Frame, op: Any) -> None:
    frame.marks.append(len(frame.issued))


def _wait_marks(unroller: Unroller, frame: Frame, op: Any) -> None:
    count = op.count.value.data
    if count >= len(frame.marks):
        return
    covered = frame.issued[: frame.marks[len(frame.marks) - count - 1]]
    frame.emit(steps.WaitOperations(sum(1 << operation for operation in covered)), op)


# Barriers ------------------------------------------------------------------------------------------------------------


def _init(unroller: Unroller, frame: Frame, op: Any) -> None:
    pointer, count = (frame.values[operand] for operand in op.operands[:2])
    frame.emit(steps.Init(unroller.barrier(pointer), number(count)), op)


def _arrive(unroller: Unroller, frame: Frame, op: Any) -> None:
    pointer, *count = (frame.values[operand] for operand in op.operands)
    each = number(count[0]) if count else 1
    frame.emit(steps.Arrive(unroller.barrier(pointer), each * frame.threads, 0), op)
    frame.values.update(dict.fromkeys(op.results, UNKNOWN))


def _arrive_expect(unroller: Unroller, frame: Frame, op: Any) -> None:
    pointer, size = (frame.values[operand] for operand in op.operands)
    frame.emit(steps.Arrive(unroller.barrier(pointer), frame.threads, number(size) * frame.threads), op)
    frame.values.update(dict.fromkeys(op.results, UNKNOWN))


def _expect(unroller: Unroller, frame: Frame, op: Any) -> None:
    pointer, size = (frame.values[operand] for operand in op.operands)
    frame.emit(steps.Arrive(unroller.barrier(pointer), 0, number(size) * frame.threads), op)


def _wait_parity(unroller: Unroller, frame: Frame, op: Any) -> None:
    pointer, parity, _ticks = (frame.values[operand] for operand in op.operands)
    frame.emit(steps.WaitPhase(unroller.barrier(pointer), number(parity)), op)


def _bulk_copy(unroller: Unroller, frame: Frame, op: Any) -> None:
    destination, source, barrier, size = (frame.values[operand] for operand in op.operands)
    copy = steps.Operation(str(op), unroller.bytes(source, size), unroller.bytes(destination, size))
    copy.barrier, copy.size = unroller.barrier(barrier), size
    unroller.issue(frame, op, copy)


def _nothing(unroller: Unroller, frame: Frame, op: Any) -> None:
    """Fences order proxies, of which the explorer knows nothing."""


TERMINATORS = frozenset(
    {"func.return", "scf.yield", "async.yield", "async.return", "nv_tileaa.yield", "nv_tileas.async.pipeline.yield"}
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
    "nvvm.mbarrier.init": _init,
    "nvvm.mbarrier.arrive": _arrive,
    "nvvm.mbarrier.arrive.expect_tx": _arrive_expect,
    "nvvm.mbarrier.expect_tx": _expect,
    "nvvm.mbarrier.try_wait.parity": _wait_parity,
    "nvvm.cp.async.bulk.shared.cluster.global": _bulk_copy,
    "nvvm.fence.mbarrier.init": _nothing,
    "nvvm.fence.proxy": _nothing,
    "memref.dealloc": _dealloc,
    **{f"arith.{name}": _unknown for name in ARITHMETIC},
}
