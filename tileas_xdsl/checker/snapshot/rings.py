"""Rings: their stages count from the first that is free, and their slots may be told by their turns."""

from __future__ import annotations

from tileas_xdsl.checker.snapshot.snapshot import Drawing, draws_thing, draws_value
from tileas_xdsl.machine.parts.rings import Ring, Slot, StageIndex, StageToken


@draws_thing(Ring)
def _ring(drawing: Drawing, ring: Ring) -> None:
    """Stages count from the first free one."""
    free = _first_free(ring)
    drawing.rings.append((len(drawing.numbers), ring))
    drawing.number(free)
    drawing.literal((id(ring.op), ring.depth, ring.consumers, None if _turns(drawing, ring) else free % ring.turns))
    drawing.value(ring.buffer)
    for k in (ring.produced, *(ring.consumed.get(agent.number, 0) for agent in drawing.machine.live)):
        _draw_count(drawing, ring, k, free)
    drawing.literal(str(sorted(k - free for k in ring.acquired if k not in ring.committed)))
    drawing.literal(str([k - free for k in ring.left]))
    for agent, k in sorted(ring.held):
        drawing.thing(drawing.machine.agents[agent])
        drawing.literal(k - free)
    for k, works in ring.works.items():
        if k not in ring.committed:
            drawing.literal(k - free)
            drawing.works(works)
    for place, slot in _slots_in_order(drawing, ring, free):
        drawing.literal((place, None if slot.live is None else slot.live - free, slot.releases))
        drawing.thing(slot.full)
        drawing.thing(slot.empty)
        drawing.sequence(slot.storage)


def _turns(drawing: Drawing, ring: Ring) -> bool:
    """Whether a slot is told by its turn, not by its number."""
    return drawing.as_slots_turn and ring.has_equal_slots


def note_turns(drawing: Drawing, ring: Ring) -> None:
    """From which turn of each slot the parities of its barriers count."""
    if not _turns(drawing, ring) or ring.depth is None:
        return
    free = _first_free(ring)
    for place, slot in _slots_in_order(drawing, ring, free):
        for barrier in (slot.full, slot.empty):
            drawing.turns[id(barrier)] = (free + place) // ring.depth


def _slots_in_order(drawing: Drawing, ring: Ring, free: int) -> list[tuple[int, Slot]]:
    """The slots with their numbers, or with the places in which their turns come."""
    if not _turns(drawing, ring):
        return sorted(ring.slots.items())
    present = ((number, slot) for number, slot in ring.slots.items() if not ring.is_past(number))
    return sorted((ring.slot_number(number - free), slot) for number, slot in present)


def _draw_count(drawing: Drawing, ring: Ring, k: int, free: int) -> None:
    """A count of stages, for those who do not name theirs. Where all do it is far behind, or stays at 0."""
    drawing.number(k)
    follows = free - k <= ring.turns and (k > 0 or not _turns(drawing, ring))
    drawing.literal((None if _turns(drawing, ring) else k % ring.turns, k - free if follows else None))


@draws_value(Slot)
def _slot(drawing: Drawing, slot: Slot) -> None:
    """A slot that code at hand refers to: it is drawn with its ring."""
    drawing.thing(slot.full)


def _first_free(ring: Ring) -> int:
    return max(max(ring.committed, default=-1), max(ring.acquired, default=-1)) + 1


def draw_stage(drawing: Drawing, ring: Ring, k: int) -> None:
    drawing.thing(ring)
    drawing.literal((k - _first_free(ring), k in ring.committed))


@draws_value(StageToken)
def _stage_token(drawing: Drawing, token: StageToken) -> None:
    drawing.literal(token.side)
    if token.ring is not None and token.k is not None:
        draw_stage(drawing, token.ring, token.k)
    else:
        drawing.value(token.ring)
    drawing.thing(token.event)


@draws_value(StageIndex)
def _stage_index(drawing: Drawing, index: StageIndex) -> None:
    draw_stage(drawing, index.ring, index.k)
