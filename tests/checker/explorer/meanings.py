"""The ops of programs without hardware barriers, as steps: numbers, control flow, memory, tokens, queues, marks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, IntegerType, i1
from xdsl.ir import Block, Region, SSAValue

from tests.checker.explorer import steps
from tests.checker.explorer.unroll import (
    LANES,
    TERMINATORS,
    UNKNOWN,
    Array,
    Frame,
    Pointer,
    Token,
    UnansweredError,
    Unroller,
    by_lane,
    moved,
    number,
    of_warp,
)

MOST_TURNS = 100
PURE = ("arith.", "scf.yield", "scf.condition", "scf.if", "llvm.getelementptr")
TESTS = ("nvvm.mbarrier.test.wait", "nvvm.mbarrier.try_wait")
DYNAMIC_INDEX = -(2**31)
"""How `llvm.getelementptr` marks the place of an index that is an operand."""

# Numbers -------------------------------------------------------------------------------------------------------------


def _constant(unroller: Unroller, frame: Frame, op: Any) -> None:
    """True is 1, whatever its sign."""
    value, is_flag = op.value, op.results[0].type == i1
    found = value.value.data if isinstance(value, IntegerAttr) else UNKNOWN
    frame.values[op.results[0]] = found & 1 if is_flag and found is not UNKNOWN else found


def _computes(compute: Callable[..., int]) -> Callable[[Unroller, Frame, Any], None]:
    def meaning(unroller: Unroller, frame: Frame, op: Any) -> None:
        frame.values[op.results[0]] = by_lane(frame, compute, [frame.values[operand] for operand in op.operands])

    return meaning


def _compare(unroller: Unroller, frame: Frame, op: Any) -> None:
    """The predicates of `arith.cmpi` and of `llvm.icmp` have the same numbers."""

    def holds(lhs: int, rhs: int) -> int:
        return int((lhs == rhs, lhs != rhs, *(lhs < rhs, lhs <= rhs, lhs > rhs, lhs >= rhs) * 2)[predicate])

    predicate = op.predicate.value.data
    frame.values[op.results[0]] = by_lane(frame, holds, [frame.values[op.lhs], frame.values[op.rhs]])


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


def _element(unroller: Unroller, frame: Frame, op: Any) -> int:
    """The cell of an element. There is none at an index from a rank that nobody has."""
    array: Array = frame.values[op.memref]
    indices = [number(frame.values[index]) for index in op.indices]
    if unroller.uses_ranks and any(index >= extent for index, extent in zip(indices, array.shape, strict=True)):
        frame.emit(steps.Undefined("an index outside of the array"), op)
        raise UnansweredError
    return unroller.element(array, indices)


def _load(unroller: Unroller, frame: Frame, op: Any) -> None:
    unroller.access(frame, op, reads=_element(unroller, frame, op))
    frame.values[op.res] = UNKNOWN


def _store(unroller: Unroller, frame: Frame, op: Any) -> None:
    unroller.access(frame, op, writes=_element(unroller, frame, op))


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


def load_from_pointer(unroller: Unroller, frame: Frame, op: Any) -> None:
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
    yielded = unroller.run_task(task, op, block)
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
    returned = unroller.run_task(task, op, block)
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
    """
    Where a rank is used, it is a number, and the run is one in which the member comes just then. A member too many,
    whose rank is the size of the group, has no meaning, nor has what the thread does then.
    """
    token, group = (frame.values[operand] for operand in op.operands)
    size = unroller.program.groups[group]
    rank = unroller.answer(frame, op, size + 1) if unroller.uses_ranks else None
    frame.emit(steps.AddToGroup(group, token.thread, rank), op)
    if rank == size:
        raise UnansweredError
    frame.values[op.results[0]] = UNKNOWN if rank is None else rank


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
    "llvm.add": _computes(lambda a, b: a + b),
    "llvm.shl": _computes(lambda a, b: a << b),
    "llvm.icmp": _compare,
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
    "llvm.load": load_from_pointer,
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
