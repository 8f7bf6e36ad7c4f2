"""
What the products, reductions and scans of `nv_tileas` do.

`async.dot` accumulates in place where C is storage; a C in registers is copied into fresh registers first, which then
are D. Products on one accumulator are performed in order, as the tensor core does; whoever else looks at D needs the
token.

An exclusive scan is refused: the op names no neutral element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tileas_xdsl.dialects.nv_tileas import compute
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import Event
from tileas_xdsl.machine.core.meaning import suspends, sync
from tileas_xdsl.machine.core.memory import MemoryObject, View
from tileas_xdsl.machine.core.standings import Answer
from tileas_xdsl.machine.core.state import Canvas, SharedPart
from tileas_xdsl.machine.parts.rings import StageToken
from tileas_xdsl.machine.parts.tile_works import Move, issue_move
from tileas_xdsl.machine.tiles.lanes import reduced, scanned
from tileas_xdsl.machine.tiles.numerics import element_of
from tileas_xdsl.machine.tiles.products import Factor, Scales, is_signed, product
from tileas_xdsl.machine.tiles.tiles import computes, fresh_storage, tile_shape, write_tile
from tileas_xdsl.targets.engines import Engine


def _multiplied(op: compute.AbstractDotOp, a: Any, b: Any, c: Any, extras: Sequence[Any]) -> Any:
    """
    A * B + C; `extras` are the scale tiles, then whether C is added. What a `dot` of `nv_tileaa` said of the signs of
    its integers counts where it has been kept.
    """
    *scales, accumulate = (*extras, True) if op.accumulate is None else extras
    return product(
        op,
        Factor(a, op.a.type, is_signed(op.attributes.get("signedness_a"))),
        Factor(b, op.b.type, is_signed(op.attributes.get("signedness_b"))),
        c if accumulate else None,
        op.product.type,
        Scales(*scales) if scales else None,
    )


@computes(compute.DotOp)
def _dot(_agent: Agent, op: compute.DotOp, a: Any, b: Any, c: Any, *extras: Any) -> Any:
    return _multiplied(op, a, b, c, extras)


@computes(compute.BlockScaledMmaOp)
def _block_scaled(_agent: Agent, op: compute.BlockScaledMmaOp, a: Any, b: Any, c: Any, sfa: Any, sfb: Any) -> Any:
    return product(op, Factor(a, op.a.type), Factor(b, op.b.type), c, op.d.type, Scales(sfa, sfb))


# Asynchronous products ------------------------------------------------------------------------------------------------


@dataclass
class LatestProducts(SharedPart):
    """For each accumulator, the token of the last product that adds to it."""

    done: dict[MemoryObject, Event] = field(default_factory=dict[MemoryObject, Event])

    def draw(self, canvas: Canvas) -> None:
        """Nothing here: they are drawn with their accumulators (`draw_object`)."""

    def draw_object(self, canvas: Canvas, base: MemoryObject) -> None:
        if base in self.done:
            canvas.thing(self.done[base])


@sync(compute.AsyncDotOp)
def _async_dot(agent: Agent, op: compute.AsyncDotOp, *operands: Any) -> tuple[View, StageToken]:
    machine = agent.machine
    accumulator = operands[2]
    if not isinstance(accumulator, View):
        type_ = op.d.type
        accumulator = fresh_storage(agent, op, tile_shape(type_), element_of(op, type_), "register")
        write_tile(agent, accumulator, operands[2], op)
    inputs = [*operands[:2], *operands[3:]]

    def fetch() -> list[Any]:
        return [machine.read(value) if isinstance(value, View) else value for value in inputs]

    def deliver(tiles: list[Any]) -> None:
        # The accumulator is no source that could be captured at issue: it is read where it is written.
        a, b, *extras = tiles
        machine.write(accumulator, _multiplied(op, a, b, machine.read(accumulator), extras))

    latest = machine.part(LatestProducts).done
    before = latest.get(accumulator.base)
    label = f"the product into '{accumulator.base.name}'"
    done = issue_move(
        agent,
        op,
        Move(inputs, [accumulator], fetch, deliver),
        label=label,
        engine=Engine.TENSOR_CORE,
        dependencies=[] if before is None else [before],
    )
    latest[accumulator.base] = done.event
    return accumulator, done


# Reduction and scan ---------------------------------------------------------------------------------------------------


@suspends(compute.ReduceOp)
def _reduce(agent: Agent, op: compute.ReduceOp, source: Any) -> Answer:
    return reduced(agent, op, source, op.body, op.axis.value.data)


@suspends(compute.ScanOp)
def _scan(agent: Agent, op: compute.ScanOp, source: Any) -> Answer:
    return scanned(agent, op, source, op.body, op.axis.value.data, op.inclusive)
