"""
Buffer assignment: where the slots of every ring lie, and which named barrier stands for it.

    %p, %c = create_pipeline {numStages = 2, nv_tileas.depth = 3}
      ->  the same, with nv_tileas.buffer = {class = "smem", stages = 3, footprint = 16384, ...}

Four phases, the first three of which can fail, before anything is written:

1. lifetimes: from the first to the last op of the function that works on the ring;
2. named barriers: 32 of them; the lowest that is unbound, else the lowest whose rings are over;
3. class and place: tensor memory for tiles that lie there, shared memory for others; an offset, or a handle;
4. sharing: rings of one class, element type and footprint whose lifetimes do not meet take the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i32
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from tileas_xdsl.analysis.pipeline_root import PipelineRoots
from tileas_xdsl.analysis.target import model_of_target
from tileas_xdsl.diagnostics import (
    ErrorCollector,
    RefusedError,
    clear_status,
    mark_soft_failure,
    refuse,
    remark,
)
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumerReleaseOp, CreatePipelineOp, ProducerCommitOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, FutureWaitOp, ToAsyncOp, TokenToAsyncOp
from tileas_xdsl.dialects.tiles.types import element_type_of
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.scheduling.loop_problem import payload_of
from tileas_xdsl.scheduling.op_times import memory_space, tile_bytes
from tileas_xdsl.targets.chips import DEFAULT_NAME
from tileas_xdsl.targets.machine_model import MachineModel

BUFFER, DEPTH = "nv_tileas.buffer", "nv_tileas.depth"

NO_LIFETIME = "fails to resolve lifetime"
NO_BARRIER = "fails to assign named barrier"
NO_SHARED_MEMORY = "fails to assign smem buffer"
NO_TENSOR_MEMORY = "fails to assign tmem buffer"
SHARED = "share pipeline buffer"
AWAITED = "mbarrier has wait-like users, cannot share pipeline buffer."
DIFFERENT = "unable to merge two different pipelines: "
"""TileAS' own texts, byte for byte (docs/verbatim.md)."""

UNLIMITED = "TILE_AS_DEBUG_UNLIMITED_SMEM"
"""Environment switch: `1` lifts the limit of shared memory."""

NAMED_BARRIERS = 32
ALIGNMENT = 128
"""Bytes to which offsets in shared memory are rounded up: what a TMA transfer with a swizzle asks for."""


@dataclass(frozen=True)
class RingRecord:
    """What is decided of one ring. Positions count the ops of the function in program order."""

    op: CreatePipelineOp
    name: str
    space: str
    """`shared`, `tensor` or `register`."""
    element: Attribute | None
    footprint: int
    """Bytes of one slot."""
    stages: int
    first: int
    last: int
    is_awaited: bool = False
    """Whether somebody waits for a transfer into it otherwise than by taking the stage."""
    barrier: int = 0
    offset: int = 0
    parent: int | None = None
    """The number of the ring whose bytes this one shares."""

    @property
    def bytes(self) -> int:
        return self.stages * self.footprint

    def meets(self, other: RingRecord) -> bool:
        """Whether both are alive at some point of the function."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class AssignBuffersPass(ModulePass):
    """
    Give the slots of every ring their places.

    Rewrites
        `nv_tileas.buffer` on every `create_pipeline`, and nothing else.

    Requires
        Rings that are filled and emptied. Their depth is `nv_tileas.depth`, if a schedule has set it, or `numStages`.

    Refuses
        With TileAS' own texts, and bit 2 of this pass's status: a ring that is filled and never emptied, or the other
        way round; more than 32 rings at once; rings that take more shared or tensor memory than there is, with the
        bytes that are missing and the rings that hold them. And a `nv_tileas.depth` that is no number of slots.
    """

    name = "tileas-assign-buffers"

    DESCRIPTION: ClassVar[str] = "Give the slots of every ring a place in memory and a named barrier"

    compute_capability: str = field(default=DEFAULT_NAME, metadata={"help": "the target, where the IR names none"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        errors = ErrorCollector()
        for function in functions_in(op):
            clear_status(function, self.name)
            try:
                records = plan_buffers(function, model_of_target(function, self.compute_capability))
            except RefusedError as refusal:
                for diagnostic in refusal.diagnostics:
                    mark_soft_failure(function, self.name, diagnostic, errors)
                continue
            _announce(records)
            for record in records:
                record.op.attributes[BUFFER] = as_attribute(record, records)
        errors.raise_if_any()


def plan_buffers(function: Operation, model: MachineModel) -> list[RingRecord]:
    """The records of all rings of `function`, in program order. Raises `RefusedError`; changes nothing."""
    rings = lifetimes(function)
    rings = bind_barriers(rings)
    return place(share(rings), model)


# Phase 1 --------------------------------------------------------------------------------------------------------------


def lifetimes(function: Operation) -> list[RingRecord]:
    """The rings with their lifetimes. A ring in a loop that is around its turns lives as long as that loop."""
    roots = PipelineRoots()
    position: dict[Operation, int] = {}
    turns: dict[CreatePipelineOp, list[ClassifiedOp]] = {}
    for number, op in enumerate(function.walk()):
        position[op] = number
        if isinstance(op, CreatePipelineOp):
            turns.setdefault(op, [])
        elif isinstance(op, ClassifiedOp):
            for root in _roots_of(op, roots):
                turns.setdefault(root, []).append(op)
    return [_lifetime(op, uses, position) for op, uses in turns.items()]


def _roots_of(op: ClassifiedOp, roots: PipelineRoots) -> list[CreatePipelineOp]:
    found = [roots.of(token) for token in op.tokens] if isinstance(op, ProducerCommitOp | ConsumerReleaseOp) else []
    found = found or [roots.of_op(op)]
    return list(dict.fromkeys(root.op for root in found if root is not None and isinstance(root.op, CreatePipelineOp)))


def _lifetime(op: CreatePipelineOp, uses: Sequence[ClassifiedOp], position: dict[Operation, int]) -> RingRecord:
    sides = {use.side for use in uses}
    if len(sides) == 1:
        missing = "consumer" if "producer" in sides else "producer"
        refuse(op, NO_LIFETIME, f"its ring has no {missing}: let something take its other side", verbatim=True)
    ends = [_end_of_scope(use, op, position) for use in uses]
    payload = next((types for use in uses if (types := payload_of(use))), ())
    footprint = sum(tile_bytes(type_) for type_ in payload)
    stages = _stages(op)
    space = memory_space(payload[0]) if payload else "register"
    element = element_type_of(payload[0]) if payload else None
    first = min((position[use] for use in uses), default=position[op])
    name = (op.producer.name_hint or "an unnamed ring").removesuffix("_ring")
    last = max(ends, default=position[op])
    return RingRecord(op, name, space, element, footprint, stages, first, last, any(map(_is_awaited, uses)))


def _is_awaited(turn: Operation) -> bool:
    """Whether a wait of its own takes a token of `turn`."""
    users = [use.operation for result in turn.results for use in result.uses]
    for user in users:
        if isinstance(user, ToAsyncOp | TokenToAsyncOp):
            users += [use.operation for use in user.results[0].uses]
    return any(isinstance(user, AsyncWaitOp | FutureWaitOp) for user in users)


def _stages(op: CreatePipelineOp) -> int:
    """The depth that a schedule has given the ring, else its own."""
    if (given := op.attributes.get(DEPTH)) is None:
        return op.depth
    if not isinstance(given, IntegerAttr) or given.value.data < 1:
        refuse(op, f"has {DEPTH} = {given}, which is no number of slots", "schedule the loop again, or take it away")
    return given.value.data


def _end_of_scope(use: Operation, op: CreatePipelineOp, position: dict[Operation, int]) -> int:
    """The position of the last op inside the op beside `op` that holds `use`."""
    node = use
    while (parent := node.parent_op()) is not None and node.parent_block() is not op.parent_block():
        node = parent
    return max(position.get(inner, 0) for inner in node.walk())


# Phase 2 --------------------------------------------------------------------------------------------------------------


def bind_barriers(rings: Sequence[RingRecord]) -> list[RingRecord]:
    """Each ring gets the lowest barrier that is unbound, else the lowest whose rings it does not meet."""
    bound: list[list[RingRecord]] = []
    found: list[RingRecord] = []
    for ring in rings:
        if len(bound) < NAMED_BARRIERS:
            bound.append([])
            index = len(bound) - 1
        else:
            free = (number for number, others in enumerate(bound) if not any(map(ring.meets, others)))
            index = next(free, -1)
            if index < 0:
                refuse(ring.op, NO_BARRIER, f"at most {NAMED_BARRIERS} rings may be alive at once", verbatim=True)
        bound[index].append(ring)
        found.append(replace(ring, barrier=index))
    return found


# Phases 4 and 3 -------------------------------------------------------------------------------------------------------


def share(rings: Sequence[RingRecord]) -> list[RingRecord]:
    """
    Rings of one kind that are never alive together take the bytes of the first of them. A remark says why two that are
    alike do not.
    """
    found: list[RingRecord] = []
    for ring in rings:
        parent: int | None = None
        for number, other in enumerate(found):
            if not _are_alike(ring, other, number, found):
                continue
            if (reason := _reason_against(ring, other)) is None:
                parent = number
                break
            remark(ring.op, reason, f"'{ring.name}' keeps bytes of its own", verbatim=True)
        found.append(replace(ring, parent=parent))
    return found


def _are_alike(ring: RingRecord, other: RingRecord, number: int, found: Sequence[RingRecord]) -> bool:
    """Whether the two are of one kind, and none that has the bytes of `other` lives when `ring` does."""
    if other.parent is not None or ring.space == "register" or ring.op.buffers or other.op.buffers:
        return False
    if (ring.space, ring.element, ring.footprint) != (other.space, other.element, other.footprint):
        return False
    return not any(map(ring.meets, (member for member in found if member is other or member.parent == number)))


def _reason_against(ring: RingRecord, other: RingRecord) -> str | None:
    """TileAS' text for two rings that are alike and cannot share; None where they can."""
    if ring.op.parent_block() is not other.op.parent_block():
        return f"{DIFFERENT}'{other.name}' and '{ring.name}' are not made in one block"
    return AWAITED if ring.is_awaited or other.is_awaited else None


def place(rings: Sequence[RingRecord], model: MachineModel) -> list[RingRecord]:
    """Offsets in shared memory and handles in tensor memory. Refuses what does not fit."""
    stages: dict[int, int] = {}
    for number, ring in enumerate(rings):
        leader = number if ring.parent is None else ring.parent
        stages[leader] = max(stages.get(leader, 0), ring.stages)
    next_free = {"shared": 0, "tensor": 0, "register": 0}
    placed: list[RingRecord] = []
    for number, ring in enumerate(rings):
        if ring.parent is not None:
            placed.append(replace(ring, offset=placed[ring.parent].offset))
            continue
        offset = next_free.setdefault(ring.space, 0)
        placed.append(replace(ring, offset=offset))
        size = stages[number] * ring.footprint
        next_free[ring.space] = offset + (-(-size // ALIGNMENT) * ALIGNMENT if ring.space == "shared" else size)
    _refuse_overflow(placed, "shared", next_free["shared"], shared_budget(model), NO_SHARED_MEMORY)
    _refuse_overflow(placed, "tensor", next_free["tensor"], model.tensor_bytes, NO_TENSOR_MEMORY)
    return placed


def shared_budget(model: MachineModel) -> int | None:
    """The bytes of shared memory that rings may take; None with the debug switch."""
    return None if os.environ.get(UNLIMITED) == "1" else model.shared_bytes


def _refuse_overflow(rings: Sequence[RingRecord], space: str, total: int, limit: int | None, text: str) -> None:
    if limit is None or total <= limit:
        return
    holders = [ring for ring in rings if ring.space == space and ring.parent is None]
    sizes = ", ".join(f"{ring.name} {ring.stages} x {ring.footprint}" for ring in holders)
    largest = max(holders, key=lambda ring: ring.bytes)
    refuse(largest.op, text, f"{total - limit} bytes are missing: {total} of {limit} ({sizes})", verbatim=True)


# Records --------------------------------------------------------------------------------------------------------------

CLASSES = {"shared": "smem", "tensor": "tmem", "register": "rmem", "global": "gmem"}


def _announce(records: Sequence[RingRecord]) -> None:
    for record in records:
        if record.parent is not None:
            remark(record.op, SHARED, f"with the ring of {records[record.parent].name}", verbatim=True)


def as_attribute(record: RingRecord, records: Sequence[RingRecord]) -> DictionaryAttr:
    """The record as it is printed."""
    place = "handle" if record.space == "tensor" else "offset"
    entries: dict[str, Attribute] = {
        "class": StringAttr(CLASSES.get(record.space, record.space)),
        "stages": IntegerAttr(record.stages, i32),
        "footprint": IntegerAttr(record.footprint, i32),
        place: IntegerAttr(record.offset, i32),
        "barrier": IntegerAttr(record.barrier, i32),
        "lifetime": ArrayAttr([IntegerAttr(record.first, i32), IntegerAttr(record.last, i32)]),
    }
    if record.parent is not None:
        entries["shares"] = IntegerAttr(records[record.parent].barrier, i32)
    return DictionaryAttr(entries)


def assigned_depth(op: CreatePipelineOp) -> int | None:
    """The depth that a ring was given: by its buffer, else by a schedule; None where neither says."""
    record = op.attributes.get(BUFFER)
    if isinstance(record, DictionaryAttr):
        stages = record.data.get("stages")
        return stages.value.data if isinstance(stages, IntegerAttr) else None
    given = op.attributes.get(DEPTH)
    return given.value.data if isinstance(given, IntegerAttr) else None
