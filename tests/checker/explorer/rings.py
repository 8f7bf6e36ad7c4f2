"""
Queues of tiles and TileAS pipelines, as two barriers a slot.

A queue copies: who takes from it has the tile. A pipeline with tiles in memory hands out views: the slot is read where
the view is used. Which stage an op of a pipeline works on is told by its iterator, so the slot and the parity of each
op are known beforehand. One agent fills a slot and one drains it.

A put takes the next stage of its queue. Where several agents put, which that is depends on who comes first: it is an
answer, and the run is one in which the put comes just then. Every agent that takes from a queue takes every stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, Region, SSAValue

from tests.checker.explorer import steps
from tests.checker.explorer.unroll import UNKNOWN, Array, Frame, UnansweredError, Unroller, number

Meaning = Callable[[Unroller, Frame, Any], None]
MOST_TURNS = 8
"""Of a loop whose bounds are computed."""


# Tiles of arrays ------------------------------------------------------------------------------------------------------


def _tile(unroller: Unroller, frame: Frame, op: Any, coordinates: Any) -> int:
    """One cell for each tile: those of one array do not overlap here."""
    array: Array = frame.values[op.operands[0]]
    return unroller.cell(array.number, tuple(number(frame.values[index]) for index in coordinates))


def _load_tile(unroller: Unroller, frame: Frame, op: Any) -> None:
    unroller.access(frame, op, reads=_tile(unroller, frame, op, op.operands[1:]))
    frame.values[op.results[0]] = UNKNOWN


def _store_tile(unroller: Unroller, frame: Frame, op: Any) -> None:
    read_views(unroller, frame, op)
    unroller.access(frame, op, writes=_tile(unroller, frame, op, op.operands[2:]))


# Queues ---------------------------------------------------------------------------------------------------------------


def _create_queue(unroller: Unroller, frame: Frame, op: Any) -> None:
    names = list(_names_of(op.results[0]))
    puts = _ops_on(names, "nv_tileaa.queue.put")
    most = max(sum(_times(unroller, op, put) for put in puts), 1)
    depth = getattr(op.results[0].type.depth, "data", most)
    takers = max(_agents_with(op, _ops_on(names, "nv_tileaa.queue.get")), 1)
    ring = Ring(unroller, frame, depth, takers)
    is_shared = _agents_with(op, puts) > 1
    frame.values[op.results[0]] = Queue(
        ring=ring,
        number=unroller.new(frame, "turns") if is_shared else None,
        most=most,
        not_taken=[unroller.counter(frame) for _ in range(most)],
    )


class Queue(NamedTuple):
    """A queue of tiles."""

    ring: Ring
    number: int | None
    """Of the line in which the agents wait that put into it; None where one does."""
    most: int
    """No more stages than that are put."""
    not_taken: list[int]
    """For each stage a counter that says whether it is filled, and no agent has taken it."""


def _names_of(queue: SSAValue) -> Iterator[SSAValue]:
    """The values that stand for a queue: itself, and inside agents the arguments."""
    yield queue
    for use in queue.uses:
        if use.operation.name == "nv_tileaa.execute":
            for region in use.operation.regions:
                arguments = region.block.args
                captured = len(use.operation.operands)
                if len(arguments) >= captured:
                    yield from _names_of(arguments[len(arguments) - captured + use.index])


def _ops_on(names: list[SSAValue], kind: str) -> list[Operation]:
    return [use.operation for name in names for use in name.uses if use.operation.name == kind]


def _agents_with(create: Operation, ops: list[Operation]) -> int:
    """How many agents execute some of `ops`, of those that begin behind `create`."""
    regions: dict[Region | None, int] = {}
    for op in ops:
        region, size = _agents_around(create, op)
        regions[region] = size
    return sum(regions.values())


def _agents_around(create: Operation, op: Operation) -> tuple[Region | None, int]:
    region = op.parent_region()
    while region is not None and region is not create.parent_region():
        parent = region.parent
        assert parent is not None
        if parent.name == "nv_tileaa.execute":
            return region, parent.group_sizes[parent.regions.index(region)]
        region = parent.parent_region()
    return None, 1


def _times(unroller: Unroller, create: Operation, op: Operation) -> int:
    """How often all agents together execute `op` at most."""
    times = _agents_around(create, op)[1]
    around = op.parent_op()
    while around is not None and around is not create.parent_op():
        if isinstance(around, scf.ForOp):
            bounds = [_bound(unroller, value) for value in (around.lb, around.ub, around.step)]
            times *= MOST_TURNS if None in bounds else len(range(*bounds))
        around = around.parent_op()
    return times


def _bound(unroller: Unroller, value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return unroller.trips if not isinstance(owner, Operation) else None


def _put(unroller: Unroller, frame: Frame, op: Any) -> None:
    queue: Queue = frame.values[op.operands[0]]
    ring, stage = queue.ring, _stage_to_fill(unroller, frame, op, queue)
    if queue.number is not None:
        frame.emit(steps.TakeTurn(queue.number, stage), op)
    if stage >= queue.most:
        raise UnansweredError
    frame.emit(steps.WaitPhase(ring.empty[stage % ring.depth], 1 - ring.parity(stage)), op)
    for region in op.regions:
        unroller.run(frame, region.first_block)
    unroller.access(frame, op, writes=ring.cell(unroller, stage))
    frame.emit(steps.Add(queue.not_taken[stage], 1), op)
    frame.emit(steps.Arrive(ring.full[stage % ring.depth], 1, 0), op)


def _stage_to_fill(unroller: Unroller, frame: Frame, op: Any, queue: Queue) -> int:
    """
    The stage that a put fills. One that takes its turn with others fills any after the one that its agent filled; a
    stage that none is left for never comes.
    """
    if op.index is not None:
        return number(frame.values[op.index])
    if queue.number is None:
        return frame.count(("puts", queue.ring.number))
    last = frame.counts.get(("filled", queue.number), -1)
    left = queue.most - 1 - last
    stage = last + 1 + (unroller.answer(frame, op, left) if left > 1 else 0)
    frame.counts["filled", queue.number] = stage
    return stage


def _get(unroller: Unroller, frame: Frame, op: Any) -> None:
    queue: Queue = frame.values[op.operands[0]]
    ring = queue.ring
    stage = frame.count(("gets", ring.number)) if op.index is None else number(frame.values[op.index])
    frame.emit(steps.WaitPhase(ring.full[stage % ring.depth], ring.parity(stage)), op)
    if stage < queue.most:
        frame.emit(steps.Add(queue.not_taken[stage], -1), op)
    unroller.access(frame, op, reads=ring.cell(unroller, stage))
    frame.emit(steps.Arrive(ring.empty[stage % ring.depth], 1, 0), op)
    for region in op.regions:
        unroller.run(frame, region.first_block)
    frame.values.update(dict.fromkeys(op.results, UNKNOWN))


# Pipelines ------------------------------------------------------------------------------------------------------------


class Ring:
    """One pipeline: for each slot its full and its empty barrier, and its cell."""

    def __init__(self, unroller: Unroller, frame: Frame, depth: int, takers: int = 1) -> None:
        self.depth = depth
        self.number = unroller.numbering.number("objects", (frame.number, frame.count("objects")))
        self.full = [unroller.barrier(("full", self.number, slot)) for slot in range(depth)]
        self.empty = [unroller.barrier(("empty", self.number, slot)) for slot in range(depth)]
        unroller.program.arrivals.update(dict.fromkeys(self.full, 1))
        unroller.program.arrivals.update(dict.fromkeys(self.empty, takers))
        self.not_taken = unroller.counter(frame)

    def parity(self, stage: int) -> int:
        return stage // self.depth % 2

    def cell(self, unroller: Unroller, stage: int) -> int:
        return unroller.cell(self.number, stage % self.depth)


class Turn(NamedTuple):
    """A token: of the pipeline, or of a stage that has been acquired or taken."""

    ring: Ring
    stage: int | None = None


class View(NamedTuple):
    """A tile that is read out of a slot where it is used."""

    ring: Ring
    stage: int


def read_views(unroller: Unroller, frame: Frame, op: Any) -> None:
    """Read the slots that the operands of `op` are views of."""
    values = [frame.values.get(operand) for operand in op.operands]
    reads = [value.ring.cell(unroller, value.stage) for value in values if isinstance(value, View)]
    if reads:
        unroller.access(frame, op, reads=sum(set(reads)))


def _create_pipeline(unroller: Unroller, frame: Frame, op: Any) -> None:
    ring = Ring(unroller, frame, op.num_stages.value.data)
    frame.values.update(dict.fromkeys(op.results, Turn(ring)))


def _create_iterator(unroller: Unroller, frame: Frame, op: Any) -> None:
    frame.values[op.results[0]] = 0


def _next_iterator(unroller: Unroller, frame: Frame, op: Any) -> None:
    frame.values[op.results[0]] = number(frame.values[op.operands[0]]) + 1


def _turn(frame: Frame, op: Any) -> tuple[Ring, int, bool]:
    """The pipeline and stage of an op with a token and an iterator, and whether the token was of that stage already."""
    token: Turn = frame.values[op.operands[0]]
    stage = number(frame.values[op.operands[1]])
    return token.ring, stage, token.stage is not None


def _acquire(unroller: Unroller, frame: Frame, op: Any) -> None:
    ring, stage, _ = _turn(frame, op)
    frame.emit(steps.WaitPhase(ring.empty[stage % ring.depth], 1 - ring.parity(stage)), op)
    frame.values[op.results[0]] = Turn(ring, stage)


def _write(unroller: Unroller, frame: Frame, op: Any) -> None:
    """A write does not wait for the slot: that is what the acquire does."""
    ring, stage, _ = _turn(frame, op)
    for region in op.regions:
        unroller.run(frame, region.first_block)
    unroller.access(frame, op, writes=ring.cell(unroller, stage))
    frame.values[op.results[0]] = Turn(ring, stage)


def _commit(unroller: Unroller, frame: Frame, op: Any) -> None:
    for token in (frame.values[operand] for operand in op.operands):
        frame.emit(steps.Add(token.ring.not_taken, 1), op)
        frame.emit(steps.Arrive(token.ring.full[number(token.stage) % token.ring.depth], 1, 0), op)
    frame.values.update(zip(op.results, (frame.values[operand] for operand in op.operands), strict=False))


def _take(unroller: Unroller, frame: Frame, op: Any) -> None:
    ring, stage, _ = _turn(frame, op)
    frame.emit(steps.WaitPhase(ring.full[stage % ring.depth], ring.parity(stage)), op)
    frame.emit(steps.Add(ring.not_taken, -1), op)
    frame.values[op.results[0]] = Turn(ring, stage)


def _read(unroller: Unroller, frame: Frame, op: Any) -> None:
    ring, stage, _ = _turn(frame, op)
    *tiles, token = op.results
    frame.values.update(dict.fromkeys(tiles, View(ring, stage)))
    frame.values[token] = Turn(ring, stage)


def _release(unroller: Unroller, frame: Frame, op: Any) -> None:
    for token in (frame.values[operand] for operand in op.operands):
        frame.emit(steps.Arrive(token.ring.empty[number(token.stage) % token.ring.depth], 1, 0), op)


def _compute_tiles(unroller: Unroller, frame: Frame, op: Any) -> None:
    """Reads the views that it takes; the result is a value."""
    read_views(unroller, frame, op)
    for region in op.regions:
        unroller.run(frame, region.first_block)
    frame.values.update(dict.fromkeys(op.results, UNKNOWN))


def _view_of(unroller: Unroller, frame: Frame, op: Any) -> None:
    frame.values[op.results[0]] = frame.values[op.operands[0]]


def _first_program(unroller: Unroller, frame: Frame, op: Any) -> None:
    frame.values.update(dict.fromkeys(op.results, 0))


COMPUTING = ("dot", "broadcast", "subf", "expand_dims", "fp_to_fp", "divf", "reduce", "mulf", "fma", "exp2")
HANDSHAKE: dict[str, Meaning] = {
    "create_pipeline": _create_pipeline,
    "create_iterator": _create_iterator,
    "inc_iter": _next_iterator,
    "producer_acquire": _acquire,
    "producer_write": _write,
    "producer_commit": _commit,
    "consumer_wait": _take,
    "consumer_read": _read,
    "consumer_release": _release,
}
MEANINGS: dict[str, Meaning] = {
    "nv_tileaa.tiled_load": _load_tile,
    "nv_tileaa.tiled_store": _store_tile,
    "nv_tileaa.block_tile": _view_of,
    "nv_tileaa.get_program_id": _first_program,
    "nv_tileaa.create_queue": _create_queue,
    "nv_tileaa.queue.put": _put,
    "nv_tileaa.queue.get": _get,
    "nv_tileas.convert_layout": _compute_tiles,
    **{f"nv_tileas.async.pipeline.{name}": meaning for name, meaning in HANDSHAKE.items()},
    **{f"nv_tileaa.{name}": _compute_tiles for name in COMPUTING},
}
