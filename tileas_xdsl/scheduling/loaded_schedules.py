"""
Schedules whose loads come in time if all multiprocessors load at once.

    before, 3 slots     load i+2 | product i                 load and product are two turns apart
    after, 4 slots      load i+3 | product i                 everything but the loads, and what they need, one later

The interval and the row of each op stay, so nothing competes that did not before; only stages and slots become more, as
far as memory and the limit of stages allow. Rings that are filled in turn are as deep as the shallowest of them, so the
loads then begin as late as gives all of them as many slots.

How long a turn of a ring takes if all multiprocessors load at once, and how many slots it needs then.

    slot 0   load ............... | product | wait | load ............ | product
    slot 1        load ............... | product | wait | load ...

A load takes the longer, the more bytes are on their way: `WarpTiming.loaded`. A slot whose product is waited for at
once is free after its own product; one that is released behind the next product (`wait_group 1`) is free when that has
been handed over. Then it is loaded again:

    released late    (slots - 1) turns = latency        else    slots turns = one turn alone + latency

and no turn is shorter than its product.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, product

from xdsl.dialects import scf
from xdsl.dialects.builtin import ShapedType
from xdsl.ir import Attribute, OpResult, SSAValue

from tileas_xdsl.dialects.nv_tileaa.memory import TiledStoreOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumerWaitOp, ProduceOneAsyncOp
from tileas_xdsl.dialects.nv_tileas.structure import CopyOp
from tileas_xdsl.interfaces import enclosing_function
from tileas_xdsl.scheduling.loop_problem import LoopProblem
from tileas_xdsl.scheduling.modulo.problem import NO_LIMIT, ModuloProblem, RingDemand
from tileas_xdsl.scheduling.modulo.schedule import ModuloSchedule
from tileas_xdsl.scheduling.modulo.validator import faults
from tileas_xdsl.scheduling.op_times import is_array, memory_space, tile_bytes
from tileas_xdsl.targets.warp_timing import WarpTiming

MOST_ROUNDS = 40
"""Rounds after which bytes on their way and cycles of a turn agree."""
NEARLY = 1.02
"""A turn is as short as its product if it is at most 2 % longer."""


@dataclass(frozen=True)
class Ring:
    """A ring of slots that products consume."""

    slots: int
    slot_bytes: int
    product: float
    """Cycles of the tensor cores for all products of a slot."""
    released_late: bool
    """Whether a slot is released behind the product that follows."""
    consumers: int = 1
    """Warpgroups that consume each slot together. One hides what another waits for."""


def latency_under_load(size: float, timing: WarpTiming) -> float:
    """Cycles from the issue of loads to their data, with `size` bytes on their way to each multiprocessor."""
    points = timing.loaded
    if size >= points[-1][0]:
        return points[-1][1]
    for (less, fast), (more, slow) in pairwise(points):
        if size <= more:
            return fast + (slow - fast) * max(size - less, 0) / (more - less)
    return points[0][1]


def period_under_load(ring: Ring, timing: WarpTiming) -> float:
    """Cycles of a turn, all multiprocessors busy with the same."""
    alone = ring.product
    if not ring.released_late and ring.consumers == 1:
        alone += timing.wgmma_drain + timing.hand_over
    period = alone
    for _ in range(MOST_ROUNDS):
        # At most the slots that no product holds are on their way.
        latency = timing.hand_over + latency_under_load(ring.slot_bytes * _on_the_way(ring, period, timing), timing)
        if ring.released_late:
            found = latency / (ring.slots - 1) if ring.slots > 1 else latency + ring.product
        else:
            found = (ring.product + timing.wgmma_drain + timing.hand_over + latency) / ring.slots
        period += (max(alone, found) - period) / 2
    return period


def _on_the_way(ring: Ring, period: float, timing: WarpTiming) -> float:
    """The slots that are being loaded at a time."""
    if ring.released_late:
        return max(ring.slots - 1, 1)
    held = (ring.product + timing.wgmma_drain) / period
    return max(ring.slots - held, 1.0)


def slots_needed(ring: Ring, timing: WarpTiming, most: int) -> int:
    """The fewest slots, at most `most`, with which a turn is nearly as short as with any number."""
    best = period_under_load(replace(ring, slots=most), timing)
    for slots in range(2, most):
        if period_under_load(replace(ring, slots=slots), timing) <= NEARLY * best:
            return slots
    return most


SHARED = "shared"
BARRIER_BYTES = 256
"""What the barriers of rings take at most, beside their slots."""
SHIFT = 4
"""Cycles by which loads are moved at a time, until they are in no other op's way."""
MOST_SLOTS = 8
"""Slots beyond which no ring goes."""


@dataclass(frozen=True)
class _Loads:
    """The loads of a loop by the transfer engine: the ops and works that stand for them, and their rings."""

    numbers: frozenset[int]
    rings: tuple[RingDemand, ...]


def in_time_under_load(
    problem: LoopProblem,
    found: ModuloSchedule,
    timing: WarpTiming,
    *,
    warpgroups: int = 1,
    most_slots: int | None = None,
) -> ModuloSchedule:
    """
    `found` with as many turns between loads and their uses as make a turn nearly as short as it can be under load, or
    as there is room for. `warpgroups` that compute together do not keep step: each but the first has a slot more to lag
    behind. Where an agent of its own loads, `most_slots` limits the slots; else the stages of the loop are limited.
    Several warpgroups then wait for their product in the turn that starts it: one multiplies while the other one waits,
    and each slot is free a turn sooner.
    """
    loads = _loads(problem, found)
    if not loads.rings or found.peeled_stages == 1:
        return found
    late = any(isinstance(op, AsyncDotOp) for op in problem.ops)
    if most_slots is not None:
        found = replace(found, problem=replace(found.problem, most_stages=NO_LIMIT))
        found = _waiting_at_once(problem, found, loads) if warpgroups > 1 else found
    size = sum(ring.bytes for ring in loads.rings)
    slots = min(ring.copies(found.start_of, found.ii) for ring in loads.rings)

    def period(count: int) -> float:
        return period_under_load(Ring(slots=count, slot_bytes=size, product=found.ii, released_late=late), timing)

    best, better = period(max(MOST_SLOTS, slots)), found
    for more in range(1, MOST_SLOTS - slots + 1):
        if period(max(slots + more - warpgroups, 1)) <= NEARLY * best:
            break
        if most_slots is not None and slots + more > most_slots:
            break
        later = _led(found, loads.numbers, more)
        if later is None or not fits(later := _evened(later, loads), problem):
            break
        better = later
    return better


def _loads(problem: LoopProblem, found: ModuloSchedule) -> _Loads:
    numbers: set[int] = set()
    for number, op in enumerate(problem.ops):
        if isinstance(op, ProduceOneAsyncOp) and op in problem.works:
            numbers |= {number, problem.works[op]}
    # A ring is written from the acquisition of its slot on, which its load waits for.
    leading = _leading(found, numbers, found.ii)
    rings = tuple(ring for ring in problem.problem.rings if ring.space == SHARED and ring.writer in leading)
    return _Loads(frozenset(numbers), rings)


def _led(found: ModuloSchedule, loads: Collection[int], turns: int) -> ModuloSchedule | None:
    """`found` with all but the loads and what they need `turns` turns later; None if their readers are needed, too."""
    problem, shift = found.problem, turns * found.ii
    leading = _leading(found, loads, shift)
    if any(use.op in leading for ring in problem.rings if ring.writer in leading for use in ring.readers):
        return None
    if any(len({op in leading for op in group}) > 1 for group in problem.groups):
        return None
    starts = tuple(start if op in leading else start + shift for op, start in enumerate(found.starts))
    later = replace(found, starts=starts)
    return later if all(later.stage(op) < problem.stage_limit(op) for op in range(len(starts))) else None


def _waiting_at_once(problem: LoopProblem, found: ModuloSchedule, loads: _Loads) -> ModuloSchedule:
    """`found` with all in one stage that an agent does which takes stages for one product; as it is for other loops."""
    waits = [found.starts[number] for number, op in enumerate(problem.ops) if isinstance(op, ConsumerWaitOp)]
    if not waits or sum(isinstance(op, AsyncDotOp) for op in problem.ops) != 1:
        return found
    first = min(waits)
    taking = {op for op, start in enumerate(found.starts) if start >= first}
    if any(op in taking for op in (*loads.numbers, *(ring.writer for ring in loads.rings))):
        return found
    ends = [found.starts[op] + found.problem.ops[op].latency for op in taking]
    ii = max(found.ii, max(ends) - first)
    for stage, shift in product(range(1, MOST_SLOTS), range(0, ii, SHIFT)):
        later = stage * ii - first
        starts = tuple(start + (later if op in taking else shift) for op, start in enumerate(found.starts))
        if not faults(found.problem, ii, starts):
            return replace(found, ii=ii, starts=starts)
    return found


def _evened(found: ModuloSchedule, loads: _Loads) -> ModuloSchedule:
    """`found` with its loads so much later that no ring has more slots than the shallowest; as it is where none can."""
    spans = [_span(ring, found) for ring in loads.rings]
    fewest = min(-(-span // found.ii) for span in spans)
    shift = max(spans) - fewest * found.ii
    leading = loads.numbers.union(ring.writer for ring in loads.rings)
    starts = tuple(start + shift if op in leading else start for op, start in enumerate(found.starts))
    return found if shift <= 0 or faults(found.problem, found.ii, starts) else replace(found, starts=starts)


def _span(ring: RingDemand, found: ModuloSchedule) -> int:
    """Cycles for which a slot of a ring is in use."""
    ends = (found.starts[use.op] + use.hold + found.ii * use.distance for use in ring.readers)
    return max(ends, default=found.starts[ring.writer]) - found.starts[ring.writer]


def _leading(found: ModuloSchedule, loads: Collection[int], shift: int) -> set[int]:
    """The loads, and what would come too late for them if it came `shift` cycles later."""
    leading = set(loads)
    grown = True
    while grown:
        needed = {
            edge.source
            for edge in found.problem.edges
            if edge.sink in leading and edge.source not in leading and edge.slack(found.start_of, found.ii) < shift
        }
        grown = bool(needed)
        leading |= needed
    return leading


def fits(found: ModuloSchedule, problem: LoopProblem) -> bool:
    """
    Whether the rings have room beside tiles from before the loop that it reads, and what is staged in shared memory
    behind the loop: beside them, or in their slots where these are empty for good by then
    (`transforms/to_llvm/place_tiles.py`).
    """
    demands: ModuloProblem = found.problem
    taken = sum(ring.bytes * ring.copies(found.start_of, found.ii) for ring in demands.rings if ring.space == SHARED)
    kept, staged = _kept(problem.loop), sum(_staged(problem.loop))
    room = all(ring.copies(found.start_of, found.ii) <= ring.most_copies for ring in demands.rings)
    needed = max(taken, staged) if _is_the_only_loop(problem.loop) else taken + staged
    return room and kept + needed + BARRIER_BYTES <= demands.space_bytes.get(SHARED, 0)


def _is_the_only_loop(loop: scf.ForOp) -> bool:
    """Whether nothing of the function loops but `loop`: behind it no ring is filled any more."""
    function = enclosing_function(loop)
    loops = (op for op in function.walk() if isinstance(op, scf.ForOp | scf.WhileOp)) if function is not None else ()
    return all(op is loop or loop.is_ancestor(op) for op in loops)


def _kept(loop: scf.ForOp) -> int:
    """The bytes of tiles in shared memory that the loop reads, and that are there before it."""
    read = dict.fromkeys(value for op in loop.body.walk() for value in op.operands)
    kept = (value for value in read if isinstance(value, OpResult) and not loop.is_ancestor(value.op))
    return sum(tile_bytes(it.type) for it in kept if not is_array(it.type) and memory_space(it.type) == SHARED)


def _staged(loop: scf.ForOp) -> Iterator[int]:
    """The bytes of what the loop hands on, each as it is stored; of what is not stored as it is."""
    for result in loop.results:
        if isinstance(result.type, ShapedType):
            yield max(map(tile_bytes, _stored_as(result)), default=tile_bytes(result.type))


def _stored_as(tile: SSAValue) -> Iterator[Attribute]:
    """The types in which a tile is stored, or staged for that, behind ops that take each element for itself."""
    for use in tile.uses:
        op = use.operation
        if isinstance(op, TiledStoreOp):
            yield tile.type
        elif isinstance(op, CopyOp) and op.destination is not None:
            yield op.destination.type
        elif not op.regions:
            yield from (found for result in op.results if _has_shape_of(result, tile) for found in _stored_as(result))


def _has_shape_of(result: SSAValue, tile: SSAValue) -> bool:
    shapes = [value.type.get_shape() for value in (result, tile) if isinstance(value.type, ShapedType)]
    return len(shapes) == 2 and shapes[0] == shapes[1]
