"""
Asynchronous work of `nv_tileas` ops: issued at the op, performed after its tokens, complete when its own token is.

Work that writes the slot of a pipeline stage which the agent is producing belongs to that stage: the stage is full only
once the work is complete.

`async.dot` accumulates in place in a C that is storage; a C in registers is copied into fresh ones first. Products on
one accumulator are ordered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Event, Touch
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.parts import rings
from tileas_xdsl.machine.parts.rings import OpenStages, StageToken
from tileas_xdsl.machine.tiles.tiles import refuse_in_scope, refuse_placeholder


@dataclass(frozen=True)
class Move:
    """What a work moves: it reads `sources` (tiles: views and values) by `fetch`, and writes `writes` by `deliver`."""

    sources: Sequence[Any]
    writes: Sequence[View]
    fetch: Callable[[], Any]
    deliver: Callable[[Any], None]


def issue_move(
    agent: Agent, op: Operation, move: Move, *, label: str, engine: str, dependencies: Sequence[Event] = ()
) -> StageToken:
    """Issue work that does `move` after `dependencies`. Returns its token."""
    refuse_in_scope(agent, op)
    refuse_placeholder(agent, op, *move.sources)
    touches = [
        *(Touch(view, False) for view in move.sources if isinstance(view, View)),
        *(Touch(view, True) for view in move.writes),
    ]
    work = agent.issue(
        op, touches, None, label=label, engine=engine, dependencies=dependencies, fetch=move.fetch, deliver=move.deliver
    )
    _attach_to_stages(agent, work, move.writes)
    return StageToken(None, "", None, agent.event_of(work, label))


def _attach_to_stages(agent: Agent, work: AsyncWork, writes: Sequence[View]) -> None:
    for ring, k in reversed(agent.part(OpenStages).stages):
        if k in ring.committed:
            continue
        storage = rings.slot_of(agent, ring, k, work.op).storage
        if any(slot.region.overlaps(view.region) for slot in storage for view in writes):
            rings.attach(agent, ring, k, work)
            return
