"""The ops of `tcgen05`, and addresses as numbers, as steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import VectorType

from tests.checker.explorer import steps
from tests.checker.explorer.meanings import load_from_pointer
from tests.checker.explorer.tensor_core import (
    COLUMNS,
    COMMIT,
    COPY,
    LEAST,
    LOAD,
    PRODUCT,
    SHIFT,
    SMALL_COPY,
    STORE,
    are_in_order,
)
from tests.checker.explorer.unroll import UNKNOWN, Frame, Pointer, UnansweredError, Unroller, by_lane, number

Meaning = Callable[[Unroller, Frame, Any], None]

LANE_STEP = 1 << 16
LANES_OF_WARP = 32
QUARTERS = range(4)
"""A warp reaches one quarter of the lanes."""
SPACE = 6
ROWS = 128
"""Of the sum of a product."""
SWIZZLED_ROW = 128
"""How far rows of an operand are apart."""
COLUMNS_OF_A = 8
COPIES = {
    "shape_128x256b": (128, 8),
    "shape_4x256b": (4, 8),
    "shape_128x128b": (128, 4),
    "shape_64x128b": (64, 4),
    "shape_32x128b": (32, 4),
}
"""Rows in shared memory, and columns in tensor memory."""


@dataclass(frozen=True)
class Address:
    """An address of shared memory as a number, or a descriptor of a matrix that lies there."""

    pointer: Pointer


# Addresses ------------------------------------------------------------------------------------------------------------


def _to_number(unroller: Unroller, frame: Frame, op: Any) -> None:
    frame.values[op.results[0]] = Address(frame.values[op.operands[0]])


def _descriptor(unroller: Unroller, frame: Frame, op: Any) -> None:
    frame.values[op.results[0]] = frame.values[op.operands[0]]


def _shift_right(unroller: Unroller, frame: Frame, op: Any) -> None:
    """An address in units of 16 bytes is that of the same place."""
    value, by = (frame.values[operand] for operand in op.operands)
    is_address = isinstance(value, Address)
    frame.values[op.results[0]] = value if is_address else by_lane(frame, lambda a, b: a >> b, [value, by])


def _to_pointer(unroller: Unroller, frame: Frame, op: Any) -> None:
    """A number is an address of tensor memory."""
    value = frame.values[op.operands[0]]
    if value is UNKNOWN:
        frame.emit(steps.Undefined("an address that nobody has written"), op)
        raise UnansweredError
    address = frame.uniform(value)
    frame.values[op.results[0]] = Pointer(_memory_of_block(unroller, frame), address, SPACE)


def _memory_of_block(unroller: Unroller, frame: Frame) -> int:
    return unroller.numbering.number("objects", ("tensor memory", frame.rank))


def _global(unroller: Unroller, frame: Frame, op: Any) -> None:
    name = op.global_name.string_value()
    key = ("global", name, frame.rank)
    frame.values[op.results[0]] = Pointer(
        unroller.numbering.number("objects", key), 0, op.results[0].type.addr_space.data
    )


def _load(unroller: Unroller, frame: Frame, op: Any) -> None:
    """What `alloc` has written there is the address of the columns."""
    load_from_pointer(unroller, frame, op)
    place: Pointer = frame.values[op.ptr]
    key = (place.number, place.offset)
    if key not in unroller.addresses:
        return
    address = frame.values[op.results[0]] = unroller.addresses[key]
    if address is UNKNOWN:
        frame.emit(steps.Unknown(), op)
        raise UnansweredError


# Columns --------------------------------------------------------------------------------------------------------------


def _columns(unroller: Unroller, frame: Frame) -> int:
    memory = unroller.numbering.number("tensor memories", frame.rank)
    unroller.program.tensor_memories.add(memory)
    return memory


def _is_whole(frame: Frame, op: Any) -> bool:
    if len(frame.active) < frame.lanes:
        frame.emit(steps.Undefined("some threads of a warp execute it"), op)
    return len(frame.active) == frame.lanes


def _allocate(unroller: Unroller, frame: Frame, op: Any) -> None:
    """Columns begin at a multiple of what is allocated at least, and not behind all that is ever allocated."""
    if not _is_whole(frame, op):
        return
    place: Pointer = frame.values[op.operands[0]]
    assert isinstance(place.offset, int)
    key = (place.number, place.offset)
    unroller.addresses.setdefault(key, UNKNOWN)
    count = frame.uniform(frame.values[op.operands[1]])
    memory, object_ = _columns(unroller, frame), _memory_of_block(unroller, frame)
    starts = _possible_starts(op, count)
    start = starts[unroller.answer(frame, op, len(starts))] if len(starts) > 1 else 0
    unroller.addresses[key] = start
    cells = _cells(unroller, Pointer(object_, start, SPACE), count)
    frame.emit(steps.Allocate(memory, count, start, cells), op)
    unroller.access(frame, op, writes=unroller.bytes(frame, place, 4))


def _possible_starts(op: Any, count: int) -> list[int]:
    """Columns begin where others that were allocated before end."""
    module = op
    while module.parent_op() is not None:
        module = module.parent_op()
    counts = [_constant(each.operands[1]) for each in module.walk() if each.name == op.name]
    sums = {0}
    for each in counts:
        sums |= {start + each for start in sums}
    return sorted(start for start in sums if start + max(count, LEAST) <= COLUMNS)


def _constant(value: Any) -> int:
    """A number of columns, which the program gives as a constant."""
    return value.owner.value.value.data


def _free(unroller: Unroller, frame: Frame, op: Any) -> None:
    if not _is_whole(frame, op):
        return
    place: Pointer = frame.values[op.operands[0]]
    count = frame.uniform(frame.values[op.operands[1]])
    start = frame.uniform(place.offset)
    frame.emit(steps.Free(_columns(unroller, frame), count, start, _cells(unroller, place, count)), op)


def _relinquish(unroller: Unroller, frame: Frame, op: Any) -> None:
    if _is_whole(frame, op):
        frame.emit(steps.Relinquish(_columns(unroller, frame)), op)


def _cells(unroller: Unroller, place: Pointer, columns: int, quarters: range = QUARTERS) -> int:
    """The cells of so many columns, in so many quarters of the lanes."""
    first = number(place.offset) % LANE_STEP
    return sum(
        unroller.cell(place.number, (quarter, column))
        for quarter in quarters
        for column in range(first, min(first + columns, COLUMNS))
    )


def _allocated(unroller: Unroller, frame: Frame, *touched: tuple[Pointer, int]) -> frozenset[int]:
    """Of the columns that are touched those of the memory of the block, which are to be allocated."""
    own = _memory_of_block(unroller, frame)
    return frozenset(
        column
        for place, count in touched
        if place.number == own
        for column in range(number(place.offset) % LANE_STEP, number(place.offset) % LANE_STEP + count)
    )


# Works ----------------------------------------------------------------------------------------------------------------

Region = tuple[Pointer, int]
"""So many columns of all lanes from a place on."""


def _start(
    unroller: Unroller,
    frame: Frame,
    op: Any,
    sort: str,
    *,
    reads: Sequence[Region] = (),
    writes: Sequence[Region] = (),
    shared: int = 0,
    accumulator: object = None,
    barrier: int | None = None,
) -> None:
    """
    Let one thread start a work, behind those of its own with which it forms a pipeline.

    `reads` and `writes` are in tensor memory; `shared` is what it reads of shared memory; `barrier` is told of its end.
    """
    assert len(frame.active) == 1, f"{op.name} is for one thread"
    read, written = (sum({_cells(unroller, *region) for region in regions}) for regions in (reads, writes))
    needed = _allocated(unroller, frame, *reads, *writes)
    memory = _columns(unroller, frame) if needed else 0
    work = steps.TensorWork(sort, memory, read, written, needed, accumulator)
    operation = steps.Operation(op, shared, 0, is_async_proxy=True, tensor=work, barrier=barrier)
    operation.arrivals = 0 if barrier is None else 1
    own = unroller.tensor_works.setdefault(frame.number, [])
    tensors = {each: unroller.program.operations[each].tensor for each in own}
    operation.after = tuple(each for each, tensor in tensors.items() if tensor and are_in_order(tensor, work))
    own.append(unroller.issue(frame, op, operation))


def _multiply(unroller: Unroller, frame: Frame, op: Any) -> None:
    d, a, b, word, *_ = (frame.values[operand] for operand in op.operands)
    shape = frame.uniform(word)
    rows, columns = (shape >> 24 & 31) << 4, (shape >> 17 & 63) << 3
    assert rows == ROWS, "a product of 128 rows"
    in_tensor_memory = isinstance(a, Pointer)
    _start(
        unroller,
        frame,
        op,
        PRODUCT,
        reads=[(a, COLUMNS_OF_A)] if in_tensor_memory else (),
        writes=[(d, columns)],
        shared=_matrix(unroller, frame, b, columns) | (0 if in_tensor_memory else _matrix(unroller, frame, a, rows)),
        accumulator=(d.number, d.offset, rows, columns),
    )


def _matrix(unroller: Unroller, frame: Frame, matrix: Address, rows: int) -> int:
    """The bytes of a matrix in shared memory, and what lies between its rows."""
    return unroller.bytes(frame, matrix.pointer, rows * SWIZZLED_ROW)


def _copy(unroller: Unroller, frame: Frame, op: Any) -> None:
    place, matrix = (frame.values[operand] for operand in op.operands)
    shape = str(op.shape.data)
    rows, columns = COPIES[shape]
    sort = SMALL_COPY if shape == "shape_4x256b" else COPY
    _start(unroller, frame, op, sort, writes=[(place, columns)], shared=_matrix(unroller, frame, matrix, rows))


def _shift(unroller: Unroller, frame: Frame, op: Any) -> None:
    _start(unroller, frame, op, SHIFT, writes=[(frame.values[op.operands[0]], COLUMNS_OF_A)])


def _commit(unroller: Unroller, frame: Frame, op: Any) -> None:
    _start(unroller, frame, op, COMMIT, barrier=unroller.barrier_at(frame, frame.values[op.operands[0]]))


def _transfer(sort: str) -> Meaning:
    """A load or store of registers, of shape 32x32b: a column for each register."""

    def meaning(unroller: Unroller, frame: Frame, op: Any) -> None:
        if not _is_whole(frame, op):
            return
        assert str(op.shape.data) == "shape_32x32b", "a transfer of another shape"
        place: Pointer = frame.values[op.operands[0]]
        type_ = op.results[0].type if sort == LOAD else op.operands[1].type
        columns = type_.get_shape()[0] if isinstance(type_, VectorType) else 1
        quarter = number(place.offset) // LANE_STEP // LANES_OF_WARP
        if place.number == _memory_of_block(unroller, frame) and quarter != _quarter_of_warp(frame):
            frame.emit(steps.Undefined("a warp reaches lanes of another one"), op)
            return
        cells = _cells(unroller, place, columns, range(quarter, quarter + 1))
        needed = _allocated(unroller, frame, (place, columns))
        reads, writes = (cells, 0) if sort == LOAD else (0, cells)
        work = steps.TensorWork(sort, _columns(unroller, frame) if needed else 0, reads, writes, needed)
        issued = unroller.issue(frame, op, steps.Operation(op, tensor=work))
        frame.groups.setdefault(sort, []).append(1 << issued)
        frame.values.update(dict.fromkeys(op.results, UNKNOWN))

    return meaning


def _quarter_of_warp(frame: Frame) -> int:
    """The lanes that a warp may reach: those of its number in its warpgroup."""
    return (frame.first_tid or 0) // LANES_OF_WARP % len(QUARTERS)


def _wait(unroller: Unroller, frame: Frame, op: Any) -> None:
    if _is_whole(frame, op):
        issued = frame.groups.get(str(op.kind.data), [])
        frame.emit(steps.WaitOperations(sum(issued)), op)


def _fence(unroller: Unroller, frame: Frame, op: Any) -> None:
    is_before = str(op.kind.data) == "before"
    frame.emit(steps.FenceBefore() if is_before else steps.FenceAfter(), op)


MEANINGS: dict[str, Meaning] = {
    "llvm.ptrtoint": _to_number,
    "llvm.inttoptr": _to_pointer,
    "llvm.lshr": _shift_right,
    "llvm.mlir.addressof": _global,
    "llvm.load": _load,
    "nvvm.tcgen05.alloc": _allocate,
    "nvvm.tcgen05.dealloc": _free,
    "nvvm.tcgen05.relinquish_alloc_permit": _relinquish,
    "nvvm.tcgen05.mma_smem_desc": _descriptor,
    "nvvm.tcgen05.mma": _multiply,
    "nvvm.tcgen05.cp": _copy,
    "nvvm.tcgen05.shift": _shift,
    "nvvm.tcgen05.commit": _commit,
    "nvvm.tcgen05.ld": _transfer(LOAD),
    "nvvm.tcgen05.st": _transfer(STORE),
    "nvvm.tcgen05.wait": _wait,
    "nvvm.tcgen05.fence": _fence,
}
