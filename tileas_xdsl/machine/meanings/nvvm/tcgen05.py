"""
What the ops of `tcgen05` do (PTX ISA, "TensorCore 5th Generation Family Instructions").

Products, copies and shifts are works of the tensor core, of which some pairs are performed in order
(`parts.tensor_core`); `commit` lets an mbarrier track them. Loads and stores of registers are works of their own, and
`wait` waits for them. What a product touches in tensor memory is what the instruction descriptor says: M rows and N
columns of D.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.ir import Operation

from tileas_xdsl.dialects.nvvm import tcgen05, tcgen05_mma
from tileas_xdsl.dialects.nvvm.attributes import CTAGroup
from tileas_xdsl.dialects.nvvm.instruction_descriptor import A_ALONG_M, B_ALONG_N, COLUMNS, ROWS, ROWS_OF_SCALED
from tileas_xdsl.dialects.nvvm.matrix_attributes import (
    BlockScaleKind,
    Tcgen05CpShape,
    Tcgen05Fence,
    Tcgen05LdStShape,
    Tcgen05MMAKind,
    Tcgen05Wait,
)
from tileas_xdsl.layouts.descriptors import tcgen05_operand
from tileas_xdsl.layouts.tensor_memory import TransferShape
from tileas_xdsl.layouts.tensor_threads import SHAPE_OF, Cells, Words, copy_words, load_words, store_words
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import NO_FENCE_FOR_SLOT
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Touch
from tileas_xdsl.machine.core.happens_before import Proxy
from tileas_xdsl.machine.core.meaning import issues, pure, suspends, sync
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.op_facts import TakesPerThread
from tileas_xdsl.machine.core.standings import Answer, continuation
from tileas_xdsl.machine.core.threads.by_thread import per_thread_of_warp
from tileas_xdsl.machine.core.threads.hardware import WARP, PerThread
from tileas_xdsl.machine.core.values import UNKNOWN, element_type, unsigned, wrap
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError
from tileas_xdsl.machine.meanings.nvvm.synchronization import barrier_at
from tileas_xdsl.machine.parts.barrier_lives import check_init_fence, note_signal
from tileas_xdsl.machine.parts.barriers import promise_arrival, wait_for_queue
from tileas_xdsl.machine.parts.clusters import place_in_block, ranks_in
from tileas_xdsl.machine.parts.copy_groups import commit_copies, copy_groups
from tileas_xdsl.machine.parts.register_works import RegistersInFlight
from tileas_xdsl.machine.parts.tensor_core import (
    Instruction,
    must_be_one_thread,
    must_be_whole_warp,
    start_commit,
    start_pipelined,
)
from tileas_xdsl.machine.parts.tensor_memory import (
    LANE_STEP,
    LANES,
    RoomCondition,
    allocated_cells,
    check_count,
    check_lanes_of_warp,
    check_permit,
    fence_after,
    fence_before,
    give_columns_back,
    give_up_permit,
    take_columns,
    tensor_memory,
)
from tileas_xdsl.machine.tiles import tensor_products
from tileas_xdsl.machine.tiles.matrix_operands import WORD, address_in_block, operand_view
from tileas_xdsl.machine.tiles.pointers import BYTE, Addresses, Pointer
from tileas_xdsl.machine.tiles.warpgroup_products import matrix_behind


def _must_be_one_cta(op: Operation) -> None:
    group = op.properties.get("group") or op.properties.get("ctaGroup")
    if group is not None and getattr(group, "data", None) is CTAGroup.CTA_2:
        raise UnsupportedError(op, "speaks for a pair of CTAs, and one block is executed; check it with cta_1")


def _computes(agent: Agent) -> bool:
    return agent.has_data


# Allocation -----------------------------------------------------------------------------------------------------------


@suspends(tcgen05.Tcgen05AllocOp)
def _alloc(agent: Agent, op: Operation, slot: Any, columns: Any) -> Answer:
    _must_be_one_cta(op)
    must_be_whole_warp(agent, op)
    memory, count = tensor_memory(agent), agent.known(columns, op, "allocates")
    check_count(agent, op, count)
    check_permit(agent, op)
    place: Pointer = agent.known(slot, op, "writes the address to")
    return agent.wait(RoomCondition(memory, count), op).then(_take, place, count)


@continuation
def _take(agent: Agent, op: Operation, _: None, slot: Pointer, count: int) -> Answer:
    check_permit(agent, op)
    word = element_type(op.operands[1].type)
    assert word is not None
    machine = agent.machine
    machine.assume(NO_FENCE_FOR_SLOT)
    agent.store(slot.view((), word), take_columns(agent, op, count), op, Proxy.UNSPECIFIED)


@sync(tcgen05.Tcgen05RelinquishAllocPermitOp)
def _relinquish(agent: Agent, op: Operation) -> None:
    _must_be_one_cta(op)
    must_be_whole_warp(agent, op)
    give_up_permit(agent, op)


@sync(tcgen05.Tcgen05DeallocOp)
def _dealloc(agent: Agent, op: Operation, address: Any, columns: Any) -> None:
    _must_be_one_cta(op)
    must_be_whole_warp(agent, op)
    count = agent.known(columns, op, "gives back")
    check_count(agent, op, count)
    give_columns_back(agent, op, agent.known(address, op, "gives columns back at"), count)


# Order ----------------------------------------------------------------------------------------------------------------


@sync(tcgen05.Tcgen05FenceOp)
def _fence(agent: Agent, op: tcgen05.Tcgen05FenceOp) -> None:
    is_before = op.kind.data is Tcgen05Fence.BEFORE
    if is_before:
        fence_before(agent)
    else:
        fence_after(agent)
    text = "what comes before" if is_before else "what comes after"
    agent.note(op, "fence", f"orders accesses of tensor memory: {text} a synchronisation")


FAMILIES = {Tcgen05Wait.LOAD: "tcgen05.ld", Tcgen05Wait.STORE: "tcgen05.st"}
"""The families of transfers, each a queue that is waited for as a whole."""


@suspends(tcgen05.Tcgen05WaitOp)
def _wait(agent: Agent, op: tcgen05.Tcgen05WaitOp) -> Answer:
    must_be_whole_warp(agent, op)
    family = FAMILIES[op.kind.data]
    commit_copies(agent, family, op)
    return wait_for_queue(agent, copy_groups(agent, family).queue, 0, op)


@sync(tcgen05.Tcgen05CommitOp)
def _commit(agent: Agent, op: tcgen05.Tcgen05CommitOp, address: Any, *mask: Any) -> None:
    _must_be_one_cta(op)
    place: Pointer = agent.known(address, op, "uses a barrier at")
    ranks = ranks_in(agent, op, mask[0]) if mask else ()
    places = [place_in_block(agent, op, place, rank) for rank in ranks] or [place]
    for barrier in [barrier_at(agent, op, each) for each in places]:
        check_init_fence(agent, op, barrier)
        work = start_commit(agent, op)
        promise_arrival(agent, work, barrier.state, agent.threads)
        note_signal(barrier, work)


# Transfers ------------------------------------------------------------------------------------------------------------

STEPS: dict[Tcgen05LdStShape, tuple[int, int, int]] = {
    Tcgen05LdStShape.SHAPE_32X32B: (32, 1, 1),
    Tcgen05LdStShape.SHAPE_16X64B: (16, 2, 1),
    Tcgen05LdStShape.SHAPE_16X128B: (16, 4, 2),
    Tcgen05LdStShape.SHAPE_16X256B: (16, 8, 4),
    Tcgen05LdStShape.SHAPE_16X32BX2: (16, 1, 1),
}
"""Lanes, columns, and registers of a thread of one step of a transfer."""


@dataclass(frozen=True)
class Moved:
    """What one transfer of a warp moves."""

    views: list[View]
    place: Pointer
    distance: int
    """The columns between the two accesses of 16x32bx2."""


def _cells_moved(agent: Agent, op: tcgen05.LdStOp, address: Any, offset: Any, registers: int, *, packs: bool) -> Moved:
    """The cells that a warp loads or stores."""
    must_be_whole_warp(agent, op)
    place: Pointer = agent.known(address, op, "reaches tensor memory at")
    lanes, columns, each = STEPS[op.shape.data]
    width = columns * (registers // each) * (2 if packs else 1)
    is_split = op.shape.data is Tcgen05LdStShape.SHAPE_16X32BX2
    distance = agent.known(offset, op, "takes as the distance of its halves") if is_split else 0
    check_lanes_of_warp(agent, op, place, lanes)
    places = [place, place.plus(distance)] if is_split else [place]
    return Moved([allocated_cells(agent, op, each, lanes, width) for each in places], place, distance)


def _words(agent: Agent, op: tcgen05.LdStOp, moved: Moved, registers: int, *, packs: bool) -> Callable[[], Words]:
    """What reads the registers of the warp out of the cells."""
    shape, cells, place = _numbered(agent, op, moved, packs=packs)
    return lambda: load_words(cells, shape, *place, registers // shape.registers, moved.distance)


def _numbered(
    agent: Agent, op: tcgen05.LdStOp, moved: Moved, *, packs: bool
) -> tuple[TransferShape, Cells, tuple[int, int]]:
    """The shape, the cells, and lane and column of a transfer that is computed."""
    if packs:
        raise UnsupportedError(op, "packs elements of 16 bits, which the machine does not compute; check the program")
    if agent.hardware is None:
        raise UndecidedError(
            op, "is executed by a warp, and nothing says how many threads there are: give the function nvvm.reqntid"
        )
    if agent.size != WARP:
        raise UnsupportedError(op, f"takes a warp of {WARP} threads, and this one has {agent.size}")
    memory = tensor_memory(agent)
    name = op.shape.data.value.removeprefix("shape_")
    return SHAPE_OF[name], memory.words, memory.corner(op, moved.place)


def _start_transfer(
    agent: Agent,
    op: Operation,
    views: list[View],
    family: str,
    *,
    write: bool,
    fetch: Callable[[], Any] | None = None,
    deliver: Callable[[Any], None] | None = None,
) -> AsyncWork:
    touches = [Touch(view, write, Proxy.TENSOR_REGISTERS) for view in views]
    verb = "store to" if write else "load of"
    label = f"a {verb} tensor memory"
    work = agent.issue(op, touches, None, label=label, engine="tensor memory", fetch=fetch, deliver=deliver)
    copy_groups(agent, family).uncommitted.append(work)
    return work


@issues(tcgen05.Tcgen05LdOp)
def _load(agent: Agent, op: tcgen05.Tcgen05LdOp, address: Any, offset: Any = None) -> Answer:
    registers, packs = tcgen05.register_count(op.res.type), op.pack is not None
    moved = _cells_moved(agent, op, address, offset, registers, packs=packs)
    agent.makes_late_values()
    result = RegistersInFlight(op, f"{tcgen05.Tcgen05WaitOp.name} <load>")

    def deliver(words: Words) -> None:
        rows = words.view(np.int32)
        result.actual = per_thread_of_warp(agent, [int(row[0]) if len(row) == 1 else row for row in rows])

    fetch = _words(agent, op, moved, registers, packs=packs) if _computes(agent) else None
    family = FAMILIES[Tcgen05Wait.LOAD]
    work = _start_transfer(agent, op, moved.views, family, write=False, fetch=fetch, deliver=fetch and deliver)
    return result.filled_by(agent, work)


@sync(tcgen05.Tcgen05StOp, per_thread=TakesPerThread.ITSELF)
def _store(agent: Agent, op: tcgen05.Tcgen05StOp, address: Any, value: Any, offset: Any = None) -> None:
    registers, packs = tcgen05.register_count(op.val.type), op.unpack is not None
    moved = _cells_moved(agent, op, address, offset, registers, packs=packs)
    fetch = deliver = None
    if _computes(agent):
        shape, cells, place = _numbered(agent, op, moved, packs=packs)
        words, steps = _registers_of(op, value), registers // shape.registers
        fetch = partial(_same, words)
        deliver = partial(_put, cells, shape, place, steps, moved.distance)
    _start_transfer(agent, op, moved.views, FAMILIES[Tcgen05Wait.STORE], write=True, fetch=fetch, deliver=deliver)


def _same(words: Words) -> Words:
    return words


def _put(cells: Cells, shape: TransferShape, place: tuple[int, int], steps: int, distance: int, words: Words) -> None:
    store_words(cells, words, shape, *place, steps, distance)


def _registers_of(op: Operation, value: Any) -> Words:
    """The 32-bit registers that the threads of a warp give: (thread, register)."""
    rows = value.values if isinstance(value, PerThread) else (value,) * WARP
    if any(row is UNKNOWN for row in rows):
        raise UndecidedError(op, "stores registers whose numbers are not known")
    return np.array([np.atleast_1d(np.asarray(row, dtype=np.int64)) for row in rows]).astype(np.uint32)


COPIES: dict[Tcgen05CpShape, tuple[int, int, int]] = {
    Tcgen05CpShape.SHAPE_128X256B: (128, 32, 8),
    Tcgen05CpShape.SHAPE_4X256B: (4, 32, 8),
    Tcgen05CpShape.SHAPE_128X128B: (128, 16, 4),
    Tcgen05CpShape.SHAPE_64X128B: (64, 16, 4),
    Tcgen05CpShape.SHAPE_32X128B: (32, 16, 4),
}
"""Rows and bytes of a row in shared memory, and columns in tensor memory, of which all lanes count as written."""
SHIFTED_COLUMNS = 8


@sync(tcgen05.Tcgen05CpOp)
def _copy(agent: Agent, op: tcgen05.Tcgen05CpOp, address: Any, word: Any) -> None:
    _must_be_one_cta(op)
    must_be_one_thread(agent, op)
    rows, row_bytes, columns = COPIES[op.shape.data]
    number = agent.known(word, op, "reads a matrix through")
    source = operand_view(agent, op, number, tcgen05_operand, rows, row_bytes, k_major=True)
    place: Pointer = agent.known(address, op, "copies to")
    target = allocated_cells(agent, op, place, LANES, columns)
    touches = [Touch(source, False, Proxy.ASYNC), Touch(target, True, Proxy.TENSOR_CORE)]
    data = _copied(agent, op, number, place) if _computes(agent) else None
    is_small = op.shape.data is Tcgen05CpShape.SHAPE_4X256B
    instruction = Instruction.COPY_4X256B if is_small else Instruction.COPY
    start_pipelined(agent, op, instruction, touches, "a copy to tensor memory", data=data)


def _copied(
    agent: Agent, op: tcgen05.Tcgen05CpOp, word: int, place: Pointer
) -> tuple[Callable[[], Words], Callable[[Words], None]]:
    """What reads the rows that a descriptor names, and what writes them to the lanes."""
    rows, row_bytes, _ = COPIES[op.shape.data]
    if op.source_format is not None or op.shape.data is Tcgen05CpShape.SHAPE_4X256B:
        raise UnsupportedError(
            op, "unpacks elements, or copies 4 rows, which the machine does not compute; check the program instead"
        )
    memory = tensor_memory(agent)
    lane, column = memory.corner(op, place)
    if lane:
        raise UnsupportedError(op, f"copies to lane {lane}, and a copy begins at lane 0")
    words = (rows, row_bytes // 4)

    def fetch() -> Words:
        return _matrix(agent, word, np.dtype(np.uint32), words, k_major=True)

    return fetch, lambda given: copy_words(memory.words, given, op.multicast.data.value, column)


@sync(tcgen05.Tcgen05ShiftOp)
def _shift(agent: Agent, op: Operation, address: Any) -> None:
    _must_be_one_cta(op)
    must_be_one_thread(agent, op)
    rows = allocated_cells(agent, op, agent.known(address, op, "shifts"), LANES, SHIFTED_COLUMNS)
    start_pipelined(agent, op, Instruction.SHIFT, [Touch(rows, True, Proxy.TENSOR_CORE)], "a shift of rows")


@pure(tcgen05.Tcgen05MmaSmemDescOp)
def _descriptor(_agent: Agent, op: tcgen05.Tcgen05MmaSmemDescOp, *fields: int) -> int:
    word = 0b001 << 46
    for (bits, start), value in zip(op.FIELDS, fields, strict=True):
        word |= (value & ((1 << bits) - 1)) << start
    return wrap(word, op.res.type)


# Products -------------------------------------------------------------------------------------------------------------

K_BYTES = 32
"""Of one row along K, whatever the elements are."""
ELEMENTS_ALONG_K = {
    Tcgen05MMAKind.F16: 16,
    Tcgen05MMAKind.TF32: 8,
    Tcgen05MMAKind.F8F6F4: 32,
    Tcgen05MMAKind.I8: 32,
    BlockScaleKind.MXF8F6F4: 32,
    BlockScaleKind.MXF4: 64,
    BlockScaleKind.MXF4NVF4: 64,
}
COLUMNS_OF_A = 8
COLUMNS_OF_FACTORS = 4
"""The most that metadata, and scale factors of A, of one product take."""
ROWS_OF_FACTORS = 32
"""Whose scale factors are in one column."""


def _extents(op: Operation, word: int) -> tuple[int, int]:
    """Rows and columns of D, as the instruction descriptor says (PTX ISA, "Instruction descriptor")."""
    scaled = isinstance(op, tcgen05_mma.ScaledProductOp)
    rows, columns = (ROWS_OF_SCALED if scaled else ROWS).of(word), COLUMNS.of(word)
    sizes = (32, 64, 128) if isinstance(op, tcgen05_mma.WeightStationaryOp) else (128,) if scaled else (64, 128)
    if rows not in sizes or not 8 <= columns <= 256:
        words = " or ".join(map(str, sizes))
        raise UnsupportedError(
            op, f"has an instruction descriptor for {rows} x {columns}; there are {words} rows and 8 to 256 columns"
        )
    return rows, columns


@sync(
    tcgen05_mma.Tcgen05MMAOp,
    tcgen05_mma.Tcgen05MMASparseOp,
    tcgen05_mma.Tcgen05MMABlockScaleOp,
    tcgen05_mma.Tcgen05MMASparseBlockScaleOp,
    tcgen05_mma.Tcgen05MMAWsOp,
    tcgen05_mma.Tcgen05MMAWsSparseOp,
)
def _mma(agent: Agent, op: tcgen05_mma.ProductOp, d: Any, a: Any, b: Any, shape: Any, adds: Any, *rest: Any) -> None:
    _must_be_one_cta(op)
    must_be_one_thread(agent, op)
    word = unsigned(agent.known(shape, op, "takes its shape from"), op.operands[3].type)
    rows, columns = _extents(op, word)
    place: Pointer = agent.known(d, op, "adds to")
    sum_ = _sum(agent, op, place, rows, columns)
    others = [rest[number - 5] for number in op.reads]
    touches = [
        _input(agent, op, a, rows, is_transposed=bool(A_ALONG_M.of(word))),
        _input(agent, op, b, columns, is_transposed=bool(B_ALONG_N.of(word))),
        *(
            _factors(agent, op, agent.known(place, op, "reads factors or metadata at"), width)
            for place, width in zip(others, _columns_of_factors(op, columns), strict=True)
        ),
        Touch(sum_, True, Proxy.TENSOR_CORE),
    ]
    accumulator = (place.base, place.offset, rows, columns, *_kind_of(op))
    data = None
    if _computes(agent):
        corner = tensor_memory(agent).corner(op, place)
        is_added = bool(agent.known(adds, op, "decides by whether to add"))
        sum_at = tensor_products.Sum(corner, rows, columns, is_added)
        data = _computed(agent, op, word, (a, b), sum_at, others)
    label = f"a product of {rows} x {columns}"
    start_pipelined(agent, op, Instruction.PRODUCT, touches, label, accumulator, data)


def _computed(
    agent: Agent,
    op: tcgen05_mma.ProductOp,
    word: int,
    factors: tuple[Any, Any],
    sum_: tensor_products.Sum,
    others: Sequence[Any],
) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """What reads the factors of a product, and what adds it to the cells."""
    is_known = isinstance(op, tcgen05_mma.Tcgen05MMAOp | tcgen05_mma.Tcgen05MMABlockScaleOp)
    if not is_known or any(isinstance(each, Pointer) for each in factors):
        raise UnsupportedError(
            op, "has factors in tensor memory, or a sparse A, which the machine does not compute; check it instead"
        )
    kinds = tensor_products.numbers_of(op, op.kind.data, word)
    extents = [(rows, ELEMENTS_ALONG_K[op.kind.data]) for rows in (sum_.rows, sum_.columns)]
    words = [agent.known(each, op, "reads a matrix through") for each in factors]
    along_k = [not field.of(word) for field in (A_ALONG_M, B_ALONG_N)]
    cells = tensor_memory(agent).words

    matrices = list(zip(words, kinds, extents, along_k, strict=True))

    def fetch() -> Any:
        return [_matrix(agent, factor, dtype, shape, k_major=k_major) for factor, dtype, shape, k_major in matrices]

    if isinstance(op, tcgen05_mma.Tcgen05MMABlockScaleOp):
        memory = tensor_memory(agent)
        corners = [memory.corner(op, agent.known(place, op, "reads factors at")) for place in others]
        scales = tensor_products.scales_in(op, word, corners)
        return fetch, lambda given: tensor_products.add_scaled(cells, given, sum_, scales)
    return fetch, lambda given: tensor_products.add(cells, given, sum_)


def _matrix(agent: Agent, word: int, dtype: np.dtype[Any], extents: tuple[int, int], *, k_major: bool) -> Any:
    """The matrix that lies now where a descriptor leads."""
    addresses, operand = agent.shared(Addresses), tcgen05_operand(word & WORD)
    address = address_in_block(agent, operand)
    base = addresses.base(address)
    assert base is not None
    assert base.data is not None
    start = operand.address - addresses.offset(address)
    return matrix_behind(base.data, start, operand, dtype, extents, k_major=k_major)


def _kind_of(op: tcgen05_mma.ProductOp) -> tuple[str, bool, bool]:
    """What products on one accumulator have in common that form a pipeline, beside the rows and columns."""
    return cast("Any", op).kind.data.value, op.IS_SPARSE, isinstance(op, tcgen05_mma.WeightStationaryOp)


def _sum(agent: Agent, op: Operation, place: Pointer, rows: int, columns: int) -> View:
    """The cells of D. Fewer than 128 rows lie in part of the lanes of each warp, or side by side."""
    if isinstance(op, tcgen05_mma.WeightStationaryOp):
        return allocated_cells(agent, op, place, LANES, columns * rows // LANES)
    whole = allocated_cells(agent, op, place, LANES, columns)
    if rows == LANES:
        return whole
    return View(whole.base, whole.offset, (4, rows // 4, columns), (32 * LANE_STEP, LANE_STEP, 1), BYTE)


def _input(agent: Agent, op: tcgen05_mma.ProductOp, given: Any, rows: int, *, is_transposed: bool) -> Touch:
    """The read of A or B: through a descriptor, or in tensor memory."""
    known = agent.known(given, op, "reads a matrix through")
    if isinstance(known, Pointer):
        return Touch(allocated_cells(agent, op, known, LANES, COLUMNS_OF_A), False, Proxy.TENSOR_CORE)
    k = ELEMENTS_ALONG_K[cast("Any", op).kind.data]
    along_k = K_BYTES * (2 if op.IS_SPARSE else 1)
    shape = (k, rows * K_BYTES // k) if is_transposed else (rows, along_k)
    view = operand_view(agent, op, known, tcgen05_operand, *shape, k_major=not is_transposed)
    return Touch(view, False, Proxy.ASYNC)


def _columns_of_factors(op: tcgen05_mma.ProductOp, columns: int) -> Sequence[int]:
    """How many columns of tensor memory each of the other operands takes, at most."""
    if not isinstance(op, tcgen05_mma.ScaledProductOp):
        return [COLUMNS_OF_FACTORS] * len(op.reads)
    return [*[COLUMNS_OF_FACTORS] * (len(op.reads) - 1), max(COLUMNS_OF_FACTORS, -(-columns // ROWS_OF_FACTORS))]


def _factors(agent: Agent, op: Operation, place: Pointer, most: int) -> Touch:
    width = min(most, max(tensor_memory(agent).columns_left(place), 1))
    return Touch(allocated_cells(agent, op, place, LANES, width), False, Proxy.TENSOR_CORE)
