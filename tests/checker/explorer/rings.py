"""
Queues of tiles, as counters of free and of filled slots, and TileAS pipelines, as two barriers a slot.

A queue copies: who takes from it has the tile. A pipeline with tiles in memory hands out views: the slot is read where
the view is used. Which stage an op works on is told by its iterator, so the slot and the parity of each op are known
beforehand. One agent fills a slot and one drains it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.checker.explorer import steps
from tests.checker.explorer.unroll import UNKNOWN, Array, Frame, Unroller, number

Meaning = Callable[[Unroller, Frame, Any], None]
MOST_STAGES = 64
"""What stands for no depth at all."""


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


class Queue(NamedTuple):
    free: int
    filled: int


def _create_queue(unroller: Unroller, frame: Frame, op: Any) -> None:
    depth = getattr(op.results[0].type.depth, "data", MOST_STAGES)
    queue = Queue(unroller.counter(frame, depth), unroller.counter(frame, 0, empty_at_end=True))
    frame.values[op.results[0]] = queue


def _put(unroller: Unroller, frame: Frame, op: Any) -> None:
    queue: Queue = frame.values[op.operands[0]]
    frame.emit(steps.Take(queue.free), op)
    for value in [unroller.run(frame, region.first_block) for region in op.regions]:
        assert value is not None
    frame.emit(steps.Add(queue.filled, 1), op)


def _get(unroller: Unroller, frame: Frame, op: Any) -> None:
    queue: Queue = frame.values[op.operands[0]]
    frame.emit(steps.Take(queue.filled), op)
    frame.emit(steps.Add(queue.free, 1), op)
    frame.values.update(dict.fromkeys(op.results, UNKNOWN))


# Pipelines ------------------------------------------------------------------------------------------------------------


class Ring:
    """One pipeline: for each slot its full and its empty barrier, and its cell."""

    def __init__(self, unroller: Unroller, frame: Frame, depth: int) -> None:
        self.depth = depth
        self.number = unroller.numbering.number("objects", (frame.number, frame.count("objects")))
        self.full = [unroller.barrier(("full", self.number, slot)) for slot in range(depth)]
        self.empty = [unroller.barrier(("empty", self.number, slot)) for slot in range(depth)]
        unroller.program.arrivals.update(dict.fromkeys([*self.full, *self.empty], 1))
        self.not_taken = unroller.counter(frame, 0, empty_at_end=True)

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
