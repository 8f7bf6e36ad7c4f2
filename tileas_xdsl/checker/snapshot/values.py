"""What has no state of its own: views, pointers, tokens, containers; and the objects in memory."""

from __future__ import annotations

from typing import Any

from tileas_xdsl.analysis.pipeline_steps import OwnSteps
from tileas_xdsl.checker.snapshot.barriers import must_be_young
from tileas_xdsl.checker.snapshot.snapshot import Painter, draws_thing, draws_value
from tileas_xdsl.machine.core.asynchronous_work import Touch
from tileas_xdsl.machine.core.memory import MemoryObject, View
from tileas_xdsl.machine.core.values import ElementType
from tileas_xdsl.machine.meanings.nv_tileaa.queues import SourceQueue
from tileas_xdsl.machine.meanings.nv_tileas.tma import Descriptor
from tileas_xdsl.machine.meanings.nvgpu import CopyToken, GroupToken
from tileas_xdsl.machine.tiles.pointers import Pointer
from tileas_xdsl.machine.tiles.tile_access import Place
from tileas_xdsl.machine.tiles.tiled_views import TiledView


@draws_thing(MemoryObject)
def _object(painter: Painter, base: MemoryObject) -> None:
    painter.literal((base.shape, base.element.dtype.str, base.space, base.lifetime_over))
    if base.family in painter.unsettled.reach.read and not painter.in_piles:
        for offset in sorted(base.cells):
            cell = base.cells[offset]
            painter.literal((offset, cell.element.dtype.str))
            painter.value(cell.value)


@draws_value(View)
def _view(painter: Painter, view: View) -> None:
    painter.thing(view.base)
    painter.literal((view.shape, view.strides, view.element.dtype.str))
    painter.number(view.offset)
    painter.number(view.origin)


@draws_value(Pointer)
def _pointer(painter: Painter, pointer: Pointer) -> None:
    painter.thing(pointer.base)
    painter.number(pointer.offset)


@draws_value(TiledView)
def _tiled_view(painter: Painter, view: TiledView) -> None:
    painter.value(view.array)
    painter.literal((view.tile, view.groups))


@draws_value(Place)
def _place(painter: Painter, place: Place) -> None:
    painter.value(place.base)
    painter.value(place.coordinates)
    painter.literal((place.counts_tiles, str(place.in_bounds)))


@draws_value(Descriptor)
def _descriptor(painter: Painter, descriptor: Descriptor) -> None:
    painter.value(descriptor.array)
    painter.literal((descriptor.box, str(descriptor.padding)))


@draws_value(Touch)
def _touch(painter: Painter, touch: Touch) -> None:
    painter.value(touch.view)
    painter.literal((touch.is_write, touch.proxy))


@draws_value(OwnSteps)
def _own_steps(painter: Painter, steps: OwnSteps) -> None:
    """What the body of an op leaves to the op."""
    painter.literal(steps)


@draws_value(ElementType)
def _element(painter: Painter, element: ElementType) -> None:
    painter.literal(element.dtype.str)


@draws_value(tuple, list)
def _sequence(painter: Painter, values: Any) -> None:
    painter.sequence(values)


@draws_value(dict)
def _mapping(painter: Painter, values: dict[object, object]) -> None:
    painter.literal(len(values))
    for key, value in values.items():
        painter.value(key)
        painter.value(value)


@draws_value(range)
def _range(painter: Painter, values: range) -> None:
    painter.number(values.start)
    painter.number(values.stop)
    painter.literal(values.step)


@draws_value(CopyToken)
def _copy_token(painter: Painter, token: CopyToken) -> None:
    """Whether its copy is in a group shows in the copies of the thread."""
    painter.thing(token.work)


@draws_value(GroupToken)
def _group_token(painter: Painter, token: GroupToken) -> None:
    """By the age of its group; only the thread that made it can wait for it, and for what it has seen it does not."""
    queue, ordinal = token.group.queue, token.group.ordinal
    has_seen = queue.observed_by(token.owner) >= ordinal
    painter.thing(token.owner)
    if not has_seen:
        must_be_young(painter, queue.committed - ordinal)
    painter.literal("seen" if has_seen else queue.committed - ordinal)


@draws_thing(SourceQueue)
def _source_queue(painter: Painter, queue: SourceQueue) -> None:
    """What it brings is not known when checking, whatever the turn."""
    painter.literal(queue.number)
