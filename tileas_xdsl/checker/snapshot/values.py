"""How to draw values without a state of their own (views, pointers, tokens, containers), and objects in memory."""

from __future__ import annotations

from typing import Any

from tileas_xdsl.checker.snapshot.barriers import must_be_young
from tileas_xdsl.checker.snapshot.snapshot import Drawing, draws_thing, draws_value
from tileas_xdsl.machine.core.asynchronous_work import Touch
from tileas_xdsl.machine.core.memory import MemoryObject, View
from tileas_xdsl.machine.core.opaque_numbers import OpaqueNumber, SumOfIds, Turn, TurnsOverBlocks
from tileas_xdsl.machine.core.threads.hardware import PerThread
from tileas_xdsl.machine.core.values import ElementType, Unknown
from tileas_xdsl.machine.parts.copy_groups import CopyToken, GroupToken
from tileas_xdsl.machine.parts.rings import SourceQueue
from tileas_xdsl.machine.tiles.pointers import Pointer
from tileas_xdsl.machine.tiles.tile_access import Place
from tileas_xdsl.machine.tiles.tiled_views import Descriptor, TiledView


@draws_thing(MemoryObject)
def _object(drawing: Drawing, base: MemoryObject) -> None:
    drawing.literal((base.shape, base.element.dtype.str, base.space, base.lifetime_over))
    if base.array is not None and isinstance(base.form, SumOfIds):
        drawing.thing(base.array)
        _form(drawing, base.form)
    if base.family in drawing.unsettled.reach.read and not drawing.gathers_leftovers:
        for offset in sorted(base.cells):
            cell = base.cells[offset]
            drawing.literal((offset, cell.element.dtype.str))
            drawing.value(cell.value)


@draws_value(OpaqueNumber)
def _opaque_number(drawing: Drawing, number: OpaqueNumber) -> None:
    drawing.number(int(number))
    _form(drawing, number.form)


@draws_value(TurnsOverBlocks)
def _turns_over_blocks(drawing: Drawing, turns: TurnsOverBlocks) -> None:
    drawing.literal(turns.start)
    drawing.value(turns.turns)


def _form(drawing: Drawing, form: SumOfIds) -> None:
    for atom, factor in form.terms:
        if isinstance(atom, Turn):
            drawing.literal(("turn", atom.start))
            drawing.number(atom.number)
        else:
            drawing.literal(atom)
        drawing.number(factor)


@draws_value(View)
def _view(drawing: Drawing, view: View) -> None:
    drawing.thing(view.base)
    drawing.literal((view.shape, view.strides, view.element.dtype.str))
    drawing.number(view.offset)
    drawing.number(view.origin)


@draws_value(Pointer)
def _pointer(drawing: Drawing, pointer: Pointer) -> None:
    drawing.thing(pointer.base)
    drawing.number(pointer.offset)
    drawing.literal(pointer.is_guess)


@draws_value(PerThread)
def _per_thread(drawing: Drawing, value: PerThread) -> None:
    """Most have integers, addresses in one object, or nothing that is known."""
    drawing.literal(value.varies)
    if value.first is not None:
        drawing.thing(value.first.base)
        drawing.row("addresses", value.offsets)
        return
    kinds, first = set(map(type, value.values)), value.values[0]
    if kinds == {int}:
        drawing.row("integers", value.values)
    elif kinds == {Pointer} and all(each.base is first.base and not each.is_guess for each in value.values):
        drawing.thing(first.base)
        drawing.row("addresses", [each.offset for each in value.values])
    elif kinds == {Unknown}:
        drawing.row("unknown", ())
    else:
        drawing.sequence(value.values)


@draws_value(TiledView)
def _tiled_view(drawing: Drawing, view: TiledView) -> None:
    drawing.value(view.array)
    drawing.literal((view.tile, view.groups))


@draws_value(Place)
def _place(drawing: Drawing, place: Place) -> None:
    drawing.value(place.base)
    drawing.value(place.coordinates)
    drawing.literal((place.counts_tiles, str(place.in_bounds)))


@draws_value(Descriptor)
def _descriptor(drawing: Drawing, descriptor: Descriptor) -> None:
    drawing.value(descriptor.array)
    drawing.literal((descriptor.box, str(descriptor.padding)))


@draws_value(Touch)
def _touch(drawing: Drawing, touch: Touch) -> None:
    drawing.value(touch.view)
    drawing.literal((touch.is_write, touch.proxy, touch.is_atomic))


@draws_value(ElementType)
def _element(drawing: Drawing, element: ElementType) -> None:
    drawing.literal(element.dtype.str)


@draws_value(tuple, list)
def _sequence(drawing: Drawing, values: Any) -> None:
    drawing.sequence(values)


@draws_value(dict)
def _mapping(drawing: Drawing, values: dict[object, object]) -> None:
    drawing.literal(len(values))
    for key, value in values.items():
        drawing.value(key)
        drawing.value(value)


@draws_value(range)
def _range(drawing: Drawing, values: range) -> None:
    drawing.number(values.start)
    drawing.number(values.stop)
    drawing.literal(values.step)


@draws_value(CopyToken)
def _copy_token(drawing: Drawing, token: CopyToken) -> None:
    """The work alone: whether the copy is in a group is drawn with the copies of the thread."""
    drawing.thing(token.work)


@draws_value(GroupToken)
def _group_token(drawing: Drawing, token: GroupToken) -> None:
    """By the age of its group, or as seen. Only the thread that made it can wait for it, and not once it was seen."""
    queue, ordinal = token.group.queue, token.group.ordinal
    has_seen = queue.observed_by(token.owner) >= ordinal
    drawing.thing(token.owner)
    if not has_seen:
        must_be_young(drawing, queue.committed - ordinal)
    drawing.literal("seen" if has_seen else queue.committed - ordinal)


@draws_thing(SourceQueue)
def _source_queue(drawing: Drawing, queue: SourceQueue) -> None:
    """By its number alone: the tiles that it brings are unknown in a check."""
    drawing.literal(queue.number)
