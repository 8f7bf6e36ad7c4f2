"""
Schedules whose loads come in time if all multiprocessors load at once. `loaded_rings.py` says how many slots it takes.

    before, 3 slots     load i+2 | product i                 load and product are two turns apart
    after, 4 slots      load i+3 | product i                 everything but the loads, and what they need, one later

The interval and the row of each op stay, so nothing competes that did not before; only stages and slots become more, as
far as memory and the limit of stages allow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ShapedType

from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ProduceOneAsyncOp
from tileas_xdsl.scheduling.loaded_rings import NEARLY, Ring, period_under_load
from tileas_xdsl.scheduling.loop_problem import LoopProblem
from tileas_xdsl.scheduling.modulo.problem import ModuloProblem, RingDemand
from tileas_xdsl.scheduling.modulo.schedule import ModuloSchedule
from tileas_xdsl.scheduling.op_times import tile_bytes
from tileas_xdsl.targets.warp_timing import WarpTiming

SHARED = "shared"
MOST_SLOTS = 8
"""Slots beyond which no ring goes."""


@dataclass(frozen=True)
class _Loads:
    """The loads of a loop by the transfer engine: the ops and works that stand for them, and their rings."""

    numbers: frozenset[int]
    rings: tuple[RingDemand, ...]


def in_time_under_load(problem: LoopProblem, found: ModuloSchedule, timing: WarpTiming) -> ModuloSchedule:
    """
    `found` with as many turns between loads and their uses as make a turn nearly as short as it can be under load, or
    as there is room for.
    """
    loads = _loads(problem, found)
    if not loads.rings or found.peeled_stages == 1:
        return found
    late = any(isinstance(op, AsyncDotOp) for op in problem.ops)
    size = sum(ring.bytes for ring in loads.rings)
    slots = min(ring.copies(found.start_of, found.ii) for ring in loads.rings)

    def period(count: int) -> float:
        return period_under_load(Ring(slots=count, slot_bytes=size, product=found.ii, released_late=late), timing)

    best, better = period(max(MOST_SLOTS, slots)), found
    for more in range(1, MOST_SLOTS - slots + 1):
        if period(slots + more - 1) <= NEARLY * best:
            break
        later = _led(found, loads.numbers, more)
        if later is None or not _fits(later, problem):
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


def _fits(found: ModuloSchedule, problem: LoopProblem) -> bool:
    """Whether the rings have room beside what the loop hands on, which is staged in shared memory behind it."""
    demands: ModuloProblem = found.problem
    taken = sum(ring.bytes * ring.copies(found.start_of, found.ii) for ring in demands.rings if ring.space == SHARED)
    staged = sum(_staged(problem))
    room = all(ring.copies(found.start_of, found.ii) <= ring.most_copies for ring in demands.rings)
    return room and taken + staged <= demands.space_bytes.get(SHARED, 0)


def _staged(problem: LoopProblem) -> Iterator[int]:
    return (tile_bytes(result.type) for result in problem.loop.results if isinstance(result.type, ShapedType))
