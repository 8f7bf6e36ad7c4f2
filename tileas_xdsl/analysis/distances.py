"""
The number of iterations between two accesses that may touch the same bytes.

Input: two places (`analysis/memory/places.py`) that the body of one loop accesses. Output: the smallest distance at
which the second may touch what the first touched:

    %a = memref.load %A[%i]               store at j = load at j + d      when j + 3 = j + d, so at distance 3
    memref.store %x, %A[%i + 3]

    %v = subview %ring[%i mod 4]          slots of one ring               when d is a multiple of 4
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd, lcm

from tileas_xdsl.analysis.induction import RotatingIndex
from tileas_xdsl.analysis.memory.places import AccessPlace, IndexSpan, byte_span


def smallest_distance(source: AccessPlace, sink: AccessPlace, least: int, trips: int | None) -> int | None:
    """
    The smallest `d >= least` such that `source` in some iteration `j` and `sink` in iteration `j + d` may touch the
    same bytes, given that their objects may alias; None where there is no such `d`.

    `trips` is the trip count of the loop, if known. Exact for single elements at linear subscripts on one axis, for any
    extents at equal rates, and for slots of one ring; otherwise at most the true distance.
    """
    if trips is not None and least >= trips:
        return None
    objects = {source.objects, sink.objects}
    if len(objects) > 1 or len(source.objects) != 1:
        return least
    (target,) = source.objects
    if target.is_anything:
        return least
    if target.fresh and least > 0:
        return None
    return _common_distance(_comparable_spans(source, sink), least, trips)


def _comparable_spans(source: AccessPlace, sink: AccessPlace) -> list[tuple[IndexSpan, IndexSpan]]:
    """
    The pairs of spans to compare: axis by axis where both places have one frame, else as bytes. Unknown axes are left
    out.
    """
    if source.frame is not None and source.frame == sink.frame:
        return [(a, b) for a, b in zip(source.spans, sink.spans, strict=True) if a is not None and b is not None]
    bytes_of_source, bytes_of_sink = byte_span(source), byte_span(sink)
    if bytes_of_source is None or bytes_of_sink is None:
        return []
    return [(bytes_of_source, bytes_of_sink)]


def _common_distance(axes: Sequence[tuple[IndexSpan, IndexSpan]], least: int, trips: int | None) -> int | None:
    """The smallest distance at which the spans may overlap on every axis."""
    most = None if trips is None else trips - 1
    comparable = [pair for pair in axes if pair[0].index.terms == pair[1].index.terms]
    rings = [ring for source, sink in comparable if (ring := _ring(source, sink)) is not None]
    known = [(_without_turn(source), _without_turn(sink)) for source, sink in comparable]
    for source, sink in known:
        if source.index.rate == sink.index.rate:
            interval = _meeting_interval(source, sink, least)
            if interval is None:
                return None
            least = max(least, interval[0])
            most = interval[1] if most is None else most if interval[1] is None else min(most, interval[1])
    if most is not None and least > most:
        return None
    for source, sink in known:
        if source.index.rate != sink.index.rate:
            first = _crossing_distance(source, sink, least, most, trips)
            if first is None:
                return None
            least = first
    return _first_common_turn(rings, least, most)


def _meeting_interval(source: IndexSpan, sink: IndexSpan, least: int) -> tuple[int, int | None] | None:
    """
    The distances at which two spans that move at one rate overlap: an interval; None as upper end means unbounded.
    """
    low = source.index.low - (sink.index.high + sink.extent - 1)
    high = (source.index.high + source.extent - 1) - sink.index.low
    per_iteration, per_step = source.index.rate
    if per_iteration and per_step:
        return least, None
    if per_step:
        return _meeting_at_unknown_step(low, high, per_step, least)
    if per_iteration == 0:
        return (least, None) if low <= 0 <= high else None
    if per_iteration < 0:
        low, high, per_iteration = -high, -low, -per_iteration
    first, last = -(-low // per_iteration), high // per_iteration
    return (first, last) if first <= last else None


def _meeting_at_unknown_step(low: int, high: int, per_step: int, least: int) -> tuple[int, int | None] | None:
    """
    The distances at which two spans overlap that move by `per_step` times a loop step of which only the sign is known.
    """
    if per_step < 0:
        low, high, per_step = -high, -low, -per_step
    if least == 0 and low <= 0 <= high:
        return 0, None
    # At distance d >= 1 the spans have moved by a positive multiple of per_step, of at least d times as much.
    if high // per_step < max(1, -(-low // per_step)):
        return None
    return max(1, least), high // per_step


def _crossing_distance(
    source: IndexSpan, sink: IndexSpan, least: int, most: int | None, trips: int | None
) -> int | None:
    """
    The smallest distance in `[least, most]` at which two spans that move at different rates overlap in some iteration.

    Exact for single elements; for larger spans the answer is `least`. With rates `r` and `s` and offsets `a` and `b`,
    `r j + a = s (j + d) + b` must have a solution with `j >= 0` and `j + d < trips`.
    """
    points = source.extent == sink.extent == 1 and all(i.low == i.high for i in (source.index, sink.index))
    if not points or source.index.per_step or sink.index.per_step:
        return least
    rate, offset = sink.index.per_iteration, sink.index.low - source.index.low
    slope = source.index.per_iteration - rate
    # j = (rate * d + offset) / slope is whole for d in one residue class modulo `period`, or for none.
    divisor = gcd(rate, slope)
    if offset % divisor:
        return None
    period = abs(slope) // divisor
    residue = -offset // divisor * pow(rate // divisor, -1, period) % period
    # Where j grows with d, it is non-negative from some d on; where it falls, up to some d.
    start = max(least, -(offset // rate)) if rate * slope > 0 else least
    distance = start + (residue - start) % period
    last_involved = (rate * distance + offset) // slope + distance
    if trips is not None and last_involved >= trips:
        # It is j + d, and may fall as d grows: then a larger distance may fit into a short loop.
        gain = -(rate * period // slope + period)
        if gain <= 0:
            return None
        distance += -((trips - 1 - last_involved) // gain) * period
    iteration = (rate * distance + offset) // slope
    return None if iteration < 0 or (most is not None and distance > most) else distance


# Rings ----------------------------------------------------------------------------------------------------------------

LARGEST_PERIOD = 4096
"""Rings whose common period exceeds this many iterations are assumed to overlap at once, which is safe."""


@dataclass(frozen=True)
class _Ring:
    """The distances at which two turns on one ring may overlap: those in `distances` modulo `period`."""

    period: int
    distances: frozenset[int]


def _without_turn(span: IndexSpan) -> IndexSpan:
    return replace(span, index=span.index.without_turn)


def _ring(source: IndexSpan, sink: IndexSpan) -> _Ring | None:
    """
    The distances at which two slots of one ring may overlap; None where the spans are not slots of one ring.

    With turn numbers `a j + b` and `a (j + d) + c`, the slots are `delta` apart when `b - c - a d` leaves the remainder
    `delta`. They overlap for those `delta` at which the rest of the subscripts, which does not move, overlaps.
    """
    one, other = source.index.turn, sink.index.turn
    if one is None or other is None or (one.slots, one.scale) != (other.slots, other.scale) or one.scale == 0:
        return None
    if any(source.index.rate) or any(sink.index.rate) or one.number.per_step or other.number.per_step:
        return None
    if one.number.terms != other.number.terms or one.number.per_iteration != other.number.per_iteration:
        return None
    if one.slots > LARGEST_PERIOD:
        return None
    ahead = _apart(source, sink, one, min(one.least, other.least))
    offset, pace, slots = one.number.low - other.number.low, one.number.per_iteration, one.slots
    met = frozenset(d for d in range(slots) if (offset - pace * d) % slots in ahead)
    return _Ring(slots, met)


def _apart(source: IndexSpan, sink: IndexSpan, turn: RotatingIndex, least: int) -> frozenset[int]:
    """By how many slots, modulo the number of slots, the source may be ahead of the sink where the two overlap."""
    low = sink.index.low - (source.index.high + source.extent - 1)
    high = (sink.index.high + sink.extent - 1) - source.index.low
    if turn.scale < 0:
        low, high = -high, -low
    scale = abs(turn.scale)
    furthest = turn.slots - 1 - least
    first, last = max(-(-low // scale), -furthest), min(high // scale, furthest)
    if last - first >= turn.slots:
        return frozenset(range(turn.slots))
    return frozenset(delta % turn.slots for delta in range(first, last + 1))


def _first_common_turn(rings: Sequence[_Ring], least: int, most: int | None) -> int | None:
    """The smallest distance in `[least, most]` at which the turns meet on every ring."""
    if not rings:
        return least
    period = lcm(*(ring.period for ring in rings))
    if period > LARGEST_PERIOD:
        return least
    end = least + period if most is None else min(least + period, most + 1)
    meets = (d for d in range(least, end) if all(d % ring.period in ring.distances for ring in rings))
    return next(meets, None)
