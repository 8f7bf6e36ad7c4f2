"""How to draw rings: stages are counted from the first free one, and slots may be numbered by their turns."""

from __future__ import annotations

from tileas_xdsl.checker.snapshot.snapshot import Drawing, draws_thing, draws_value
from tileas_xdsl.machine.parts.rings import Ring, Slot, StageIndex, StageToken


@draws_thing(Ring)
def _ring(drawing: Drawing, ring: Ring) -> None:
    """Draw the counts of both sides, the stages in use and the slots, all relative to the first free stage."""
    free = _first_free(ring)
    drawing.rings.append((len(drawing.numbers), ring))
    drawing.number(free)
    drawing.literal((id(ring.op), ring.depth, ring.consumers, None if _turns(drawing, ring) else free % ring.turns))
    drawing.value(ring.buffer)
    drawing.literal(len(ring.overlays))
    for other in ring.overlays:
        drawing.thing(other)
    for k in (ring.produced, *(ring.consumed.get(agent.number, 0) for agent in drawing.machine.live)):
        _draw_count(drawing, ring, k, free)
    drawing.moments(ring.takers)
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
        drawing.literal(_rounds_ahead(ring, slot, free + place if _turns(drawing, ring) else free))
        drawing.thing(slot.full)
        drawing.thing(slot.empty)
        drawing.sequence(slot.storage)


def _rounds_ahead(ring: Ring, slot: Slot, stage: int) -> tuple[int, ...]:
    """
    By how many rounds `stage` is ahead of the phases of a slot, which waits compare. Where slots are numbered by their
    turns it is the next stage of the slot, so that the next turn of another slot looks the same.
    """
    return tuple(ring.round(stage) - barrier.current.index for barrier in (slot.full, slot.empty))


def _turns(drawing: Drawing, ring: Ring) -> bool:
    """Whether slots are numbered by their turns: 0 is the next one to be filled."""
    return drawing.as_slots_turn and ring.has_equal_slots


def note_turns(drawing: Drawing, ring: Ring) -> None:
    """Note from which turn of each slot on the parities of its barriers are counted."""
    if not _turns(drawing, ring) or ring.depth is None:
        return
    free = _first_free(ring)
    for place, slot in _slots_in_order(drawing, ring, free):
        for barrier in (slot.full, slot.empty):
            drawing.turns[id(barrier)] = (free + place) // ring.depth


def _slots_in_order(drawing: Drawing, ring: Ring, free: int) -> list[tuple[int, Slot]]:
    """(number, slot) in order; the number is that in the ring, or that of its turn from the first free stage on."""
    if not _turns(drawing, ring):
        return sorted(ring.slots.items())
    present = ((number, slot) for number, slot in ring.slots.items() if not ring.is_past(number))
    return sorted((ring.slot_number(number - free), slot) for number, slot in present)


def _draw_count(drawing: Drawing, ring: Ring, k: int, free: int) -> None:
    """
    Draw a count of stages that one side has passed, for ops that do not name theirs.

    Where all ops name their stage the count stays at 0 or far behind, and its distance to `free` is not drawn.
    """
    drawing.number(k)
    follows = free - k <= ring.turns and (k > 0 or not _turns(drawing, ring))
    drawing.literal((None if _turns(drawing, ring) else k % ring.turns, k - free if follows else None))


@draws_value(Slot)
def _slot(drawing: Drawing, slot: Slot) -> None:
    """A reference to a slot, by its full barrier: the slot itself is drawn with its ring."""
    drawing.thing(slot.full)


def _first_free(ring: Ring) -> int:
    return max(max(ring.committed, default=-1), max(ring.acquired, default=-1)) + 1


def draw_stage(drawing: Drawing, ring: Ring, k: int) -> None:
    """Draw a reference to stage `k` of `ring`."""
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
