"""Rings: their stages count from the first that is free, and their slots may be told by their turns."""

from __future__ import annotations

from tileas_xdsl.checker.snapshot.snapshot import Painter, draws_thing, draws_value
from tileas_xdsl.machine.parts.rings import Ring, Slot, StageIndex, StageToken


@draws_thing(Ring)
def _ring(painter: Painter, ring: Ring) -> None:
    """Stages count from the first free one."""
    free = _first_free(ring)
    painter.rings.append((len(painter.numbers), ring))
    painter.number(free)
    painter.literal((id(ring.op), ring.depth, ring.consumers, None if _turns(painter, ring) else free % ring.turns))
    painter.value(ring.buffer)
    for k in (ring.produced, *(ring.consumed.get(agent.number, 0) for agent in painter.machine.live)):
        _paint_count(painter, ring, k, free)
    painter.literal(str(sorted(k - free for k in ring.acquired if k not in ring.committed)))
    painter.literal(str([k - free for k in ring.left]))
    for agent, k in sorted(ring.held):
        painter.thing(painter.machine.agents[agent])
        painter.literal(k - free)
    for k, works in ring.works.items():
        if k not in ring.committed:
            painter.literal(k - free)
            painter.works(works)
    for place, slot in _slots_in_order(painter, ring, free):
        painter.literal((place, None if slot.live is None else slot.live - free, slot.releases))
        painter.thing(slot.full)
        painter.thing(slot.empty)
        painter.sequence(slot.storage)


def _turns(painter: Painter, ring: Ring) -> bool:
    """Whether a slot is told by its turn, not by its number."""
    return painter.as_slots_turn and ring.has_equal_slots


def note_turns(painter: Painter, ring: Ring) -> None:
    """From which turn of each slot the parities of its barriers count."""
    if not _turns(painter, ring) or ring.depth is None:
        return
    free = _first_free(ring)
    for place, slot in _slots_in_order(painter, ring, free):
        for barrier in (slot.full, slot.empty):
            painter.turns[id(barrier)] = (free + place) // ring.depth


def _slots_in_order(painter: Painter, ring: Ring, free: int) -> list[tuple[int, Slot]]:
    """The slots with their numbers, or with the places in which their turns come."""
    if not _turns(painter, ring):
        return sorted(ring.slots.items())
    present = ((number, slot) for number, slot in ring.slots.items() if not ring.is_past(number))
    return sorted((ring.slot_number(number - free), slot) for number, slot in present)


def _paint_count(painter: Painter, ring: Ring, k: int, free: int) -> None:
    """A count of stages, for those who do not name theirs. Where all do it is far behind, or stays at 0."""
    painter.number(k)
    follows = free - k <= ring.turns and (k > 0 or not _turns(painter, ring))
    painter.literal((None if _turns(painter, ring) else k % ring.turns, k - free if follows else None))


@draws_value(Slot)
def _slot(painter: Painter, slot: Slot) -> None:
    """A slot that code at hand refers to: it is drawn with its ring."""
    painter.thing(slot.full)


def _first_free(ring: Ring) -> int:
    return max(max(ring.committed, default=-1), max(ring.acquired, default=-1)) + 1


def paint_stage(painter: Painter, ring: Ring, k: int) -> None:
    painter.thing(ring)
    painter.literal((k - _first_free(ring), k in ring.committed))


@draws_value(StageToken)
def _stage_token(painter: Painter, token: StageToken) -> None:
    painter.literal(token.side)
    if token.ring is not None and token.k is not None:
        paint_stage(painter, token.ring, token.k)
    else:
        painter.value(token.ring)
    painter.thing(token.event)


@draws_value(StageIndex)
def _stage_index(painter: Painter, index: StageIndex) -> None:
    paint_stage(painter, index.ring, index.k)
