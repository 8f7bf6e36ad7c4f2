"""
What `ldmatrix`, `stmatrix` and `mma.sync` do (PTX ISA, "Warp-level Matrix Load Instruction: ldmatrix", "Matrix
Fragments for mma").

The lanes of a warp execute them together. Which element lies in which register of which lane, `warp_fragments` knows.

What `shfl.sync` does (PTX ISA, "Data Movement and Conversion Instructions: shfl.sync"): each lane names another one and
gets what that has. It orders no accesses to memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation

from tileas_xdsl.dialects.nvvm.attributes import ShflKind
from tileas_xdsl.dialects.nvvm.matrix_attributes import MMAIntOverflow, MMALayout, MMAType
from tileas_xdsl.dialects.nvvm.thread import ShflOp
from tileas_xdsl.dialects.nvvm.warp_matrix import LdMatrixOp, MmaSyncOp, StMatrixOp
from tileas_xdsl.layouts.distributed import WARP_SIZE
from tileas_xdsl.layouts.fragments import MmaShape
from tileas_xdsl.layouts.threads import ldmatrix, stmatrix
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import effect
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.op_facts import TakesPerThread
from tileas_xdsl.machine.core.threads.by_thread import Gathered, per_thread, touch_at_once
from tileas_xdsl.machine.core.threads.hardware import PerThread
from tileas_xdsl.machine.core.values import UNKNOWN, element_type, unsigned, wrap
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError
from tileas_xdsl.machine.parts.tensor_core import must_be_whole_warp
from tileas_xdsl.machine.tiles.pointers import Pointer
from tileas_xdsl.machine.tiles.warp_fragments import matrix_of, of_lanes
from tileas_xdsl.machine.tiles.warp_fragments import places as places_of

LANES = 31
"""The bits of an operand that count: those of a lane's number."""


def _lanes(agent: Agent, value: Any) -> Sequence[Any]:
    return value.values if isinstance(value, PerThread) else (value,) * agent.size


def _numbers(agent: Agent, op: ShflOp, value: Any) -> Sequence[int]:
    """The number by which each lane names another one."""
    per_lane = value.values if isinstance(value, PerThread) else (value,)
    known = [unsigned(agent.known(each, op, "names a lane by"), op.offset.type) for each in per_lane]
    return known if len(known) == agent.size else known * agent.size


@lru_cache(maxsize=1 << 12)
def source_lane(kind: ShflKind, lane: int, offset: int, clamp: int) -> tuple[int, bool]:
    """The lane that `lane` reads, and whether the one that it names is in range; else it reads itself."""
    offset, segment, bound = offset & LANES, clamp >> 8 & LANES, clamp & LANES
    first = lane & segment
    last = first | bound & ~segment & LANES
    match kind:
        case ShflKind.UP:
            named = lane - offset
            is_there = named >= last
        case ShflKind.DOWN:
            named = lane + offset
            is_there = named <= last
        case ShflKind.BFLY:
            named = lane ^ offset
            is_there = named <= last
        case ShflKind.IDX:
            named = first | offset & ~segment & LANES
            is_there = named <= last
    return (named, True) if is_there else (lane, False)


@effect(ShflOp, per_thread=TakesPerThread.ITSELF, data=("val",))
def _shfl(agent: Agent, op: ShflOp, mask: Any, value: Any, offset: Any, clamp: Any) -> Any:
    must_be_whole_warp(agent, op)
    if agent.hardware is None:
        raise UndecidedError(
            op, "exchanges values between lanes, and nothing says how many there are: give the function nvvm.reqntid"
        )
    everybody = (1 << agent.size) - 1
    if unsigned(agent.known(mask, op, "names lanes by"), op.thread_mask.type) & everybody != everybody:
        raise UnsupportedError(op, "exchanges between some lanes of a warp; name all of them (-1)")
    values, tells_validity = _lanes(agent, value), op.return_value_and_is_valid is not None
    found: list[Any] = []
    for lane, named in enumerate(zip(_numbers(agent, op, offset), _numbers(agent, op, clamp), strict=True)):
        source, is_there = source_lane(op.kind.data, lane, *named)
        if source >= agent.size:
            raise UnsupportedError(op, f"reads lane {source} of a warp of {agent.size}")
        found.append((values[source], int(is_there)) if tells_validity else values[source])
    return per_thread(agent, found)


ROWS = 8
"""Of a matrix that is moved; each has 16 bytes."""
ROW_BYTES = 16


def _must_be_warp(agent: Agent, op: Operation) -> None:
    """All 32 lanes of one warp."""
    must_be_whole_warp(agent, op)
    if agent.hardware is None:
        raise UndecidedError(
            op, "is executed by a warp, and nothing says how many threads there are: give the function nvvm.reqntid"
        )
    if agent.size != WARP_SIZE:
        raise UnsupportedError(op, f"takes a warp of {WARP_SIZE} threads, and this one has {agent.size}")


def _given(agent: Agent, columns: Sequence[Any]) -> Any:
    """Registers as the result of an op: `columns` are by register, then lane; one alone, or a struct of them."""
    if any(column is UNKNOWN for column in columns):
        return UNKNOWN
    if len(columns) == 1:
        return per_thread(agent, list(columns[0]))
    return per_thread(agent, list(zip(*columns, strict=True)))


# Moving ---------------------------------------------------------------------------------------------------------------


def _rows(agent: Agent, op: Operation, pointer: Any, matrices: int) -> list[Pointer]:
    """The rows of all matrices: the first lanes give their addresses, as many as there are rows."""
    rows: list[Pointer] = [agent.known(of_lane, op, "moves a row at") for of_lane in of_lanes(pointer)]
    del rows[ROWS * matrices :]
    wrong = next((row.offset for row in rows if row.offset % ROW_BYTES), None)
    if wrong is not None:
        raise UnsupportedError(op, f"moves a row at byte {wrong}, and rows begin at multiples of {ROW_BYTES} bytes")
    return rows


def _touched_at_once(agent: Agent, op: Operation, rows: Sequence[Pointer], *, write: bool) -> bool:
    """Whether the accesses to all rows, which hold nothing that is known, are noted in one go."""
    if any(row.base is not rows[0].base for row in rows):
        return False
    return touch_at_once(
        agent, op, rows[0].bytes(ROW_BYTES), [(n, row.offset) for n, row in enumerate(rows)], write=write
    )


def _by_lane(agent: Agent, op: Operation, rows: Sequence[Pointer], access: Callable[[int, View], Any]) -> list[Any]:
    """What `access` gives for each row, noted as one access of the warp."""
    gathered = Gathered()
    agent.gathering = gathered
    found: list[Any] = []
    try:
        for lane, row in enumerate(rows):
            gathered.lane = lane
            found.append(access(lane, row.bytes(ROW_BYTES)))
    finally:
        agent.gathering = None
    gathered.note(agent, op, same_unknown=False)
    return found


@effect(LdMatrixOp, per_thread=TakesPerThread.ITSELF)
def _ldmatrix(agent: Agent, op: LdMatrixOp, pointer: Any) -> Any:
    _must_be_warp(agent, op)
    count, transposed = op.num.value.data, op.layout.data is MMALayout.COL
    addresses = _rows(agent, op, pointer, count)
    if _touched_at_once(agent, op, addresses, write=False):
        return UNKNOWN
    rows = _by_lane(agent, op, addresses, lambda _, view: agent.load(view, op))
    if any(row is UNKNOWN for row in rows):
        return UNKNOWN
    matrices = [np.array(rows[start : start + ROWS]).view(np.uint8) for start in range(0, ROWS * count, ROWS)]
    words = [ldmatrix(matrix, transposed=transposed).view(np.int32)[:, 0] for matrix in matrices]
    return _given(agent, [[int(word) for word in column] for column in words])


@effect(StMatrixOp, per_thread=TakesPerThread.ITSELF, stores_data=True, data=("sources",))
def _stmatrix(agent: Agent, op: StMatrixOp, pointer: Any, *sources: Any) -> None:
    _must_be_warp(agent, op)
    rows: list[Any] = []
    for source in sources:
        words = of_lanes(source)
        if any(word is UNKNOWN for word in words):
            rows += [UNKNOWN] * ROWS
            continue
        data = np.array(words, np.int32)[:, None].view(np.uint8)
        rows += list(stmatrix(data, transposed=op.layout.data is MMALayout.COL).view(np.int8))
    addresses = _rows(agent, op, pointer, len(sources))
    if any(row is not UNKNOWN for row in rows) or not _touched_at_once(agent, op, addresses, write=True):
        _by_lane(agent, op, addresses, lambda lane, view: agent.store(view, rows[lane], op))


# Multiplying ----------------------------------------------------------------------------------------------------------

MULTIPLIED = (MMAType.TF32, MMAType.BF16, MMAType.F16, MMAType.F64, MMAType.S8, MMAType.U8)
"""Element types of A and B that have numbers here."""


def _numbers_of(kind: MMAType) -> np.dtype[Any]:
    """The dtype that the bits of a register are read as."""
    if kind is MMAType.BF16:
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    known: dict[MMAType, Any] = {
        MMAType.TF32: np.float32,
        MMAType.F16: np.float16,
        MMAType.F64: np.float64,
        MMAType.S8: np.int8,
        MMAType.U8: np.uint8,
    }
    return np.dtype(known[kind])


@effect(MmaSyncOp, per_thread=TakesPerThread.ITSELF, data=("a", "b", "c"))
def _mma(agent: Agent, op: MmaSyncOp, *operands: Any) -> Any:
    _must_be_warp(agent, op)
    if any(lane is UNKNOWN for operand in operands for lane in of_lanes(operand)):
        return UNKNOWN
    m, n, k = op.extents
    shape, kinds = MmaShape(m, n, k), (op.type_a.data, op.type_b.data)
    unknown = next((kind for kind in kinds if kind not in MULTIPLIED), None)
    if unknown is not None:
        raise UnsupportedError(op, f"multiplies elements of type {unknown.value}, which have no numbers here")
    split = len(op.a), len(op.a) + len(op.b)
    a = matrix_of(operands[: split[0]], _numbers_of(kinds[0]), shape, "a", (m, k))
    b = matrix_of(operands[split[0] : split[1]], _numbers_of(kinds[1]), shape, "b", (k, n))
    sums = places_of(shape, "acc", 32)
    c = _accumulator(operands[split[1] :], sums, (m, n))
    return _given(agent, _columns(op, _sum(op, a, b, c), sums))


def _accumulator(registers: Sequence[Any], where: Any, extents: tuple[int, int]) -> Any:
    held = [np.array([np.atleast_1d(value) for value in of_lanes(register)]) for register in registers]
    elements = np.concatenate(held, axis=1)
    matrix = np.empty(extents[0] * extents[1], elements.dtype)
    matrix[where] = elements
    return matrix.reshape(extents)


def _sum(op: MmaSyncOp, a: Any, b: Any, c: Any) -> Any:
    if c.dtype.kind == "i":
        total = np.matmul(a.astype(np.int64), b.astype(np.int64)) + c
        if op.overflow is not None and op.overflow.data is MMAIntOverflow.SATFINITE:
            return np.clip(total, -(1 << 31), (1 << 31) - 1)
        return total
    wide = np.promote_types(c.dtype, np.float32)
    with np.errstate(all="ignore"):
        return (np.matmul(a.astype(wide), b.astype(wide)) + c.astype(wide)).astype(c.dtype)


def _columns(op: MmaSyncOp, result: Any, where: Any) -> list[Any]:
    """By register of the result, what each lane has: a number, or a pair."""
    elements = result.reshape(-1)[where]
    registers = cast("Any", op.res.type).types.data
    width = elements.shape[1] // len(registers)
    if width > 1:
        return [list(elements[:, start : start + width]) for start in range(0, elements.shape[1], width)]
    if registers[0] == i32:
        return [[wrap(int(value), i32) for value in column] for column in elements.T]
    kind = element_type(registers[0])
    assert kind is not None
    return [[kind.dtype.type(value) for value in column] for column in elements.T]
