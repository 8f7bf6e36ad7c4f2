"""
Agents: where each stands in the code, what it knows, and what it keeps for itself.

Where an agent stands is what its standings say: continuations with what they need to go on, and positions in blocks
with the values that are still to be used.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation

from tileas_xdsl.checker.snapshot.canvas import PartCanvas
from tileas_xdsl.checker.snapshot.put_off import PutOff
from tileas_xdsl.checker.snapshot.settled import is_settled
from tileas_xdsl.checker.snapshot.snapshot import Painter, UnknownStateError, draws_thing, draws_value
from tileas_xdsl.machine.core.agents import Activation, Agent, Iteration
from tileas_xdsl.machine.core.standings import Position
from tileas_xdsl.machine.meanings.memref import EndOnStack
from tileas_xdsl.machine.meanings.scf import WhileTurn
from tileas_xdsl.machine.parts.forks import Seat


@draws_thing(Agent)
def _agent(painter: Painter, agent: Agent) -> None:
    painter.literal((agent.threads, agent.first_thread, agent.finished, agent.delegates))
    painter.literal((len(agent.cohort), id(agent.started_by)))
    for other in agent.cohort:
        painter.thing(other)
    painter.moment(agent.number, agent.moment)
    painter.clock(agent.clock)
    painter.fenced(agent.fenced)
    if agent.finished:
        painter.value(agent.last_words)
        return
    if agent.resource is not None:
        raise UnknownStateError("a resource that is held")
    painter.value(agent.waiting_for)
    observed = _transfers_left_out(painter, agent)
    painter.works(agent.transfers[observed:])
    for part in agent.parts:
        painter.literal(type(part).__name__)
        part.draw(PartCanvas(painter, PutOff(painter)), agent)
    _paint_standings(painter, agent)


def _transfers_left_out(painter: Painter, agent: Agent) -> int:
    """How many of the oldest transfers a wait for marks would tell nobody anything of."""
    left_out = agent.transfers_observed
    while left_out < len(agent.transfers) and is_settled(agent.transfers[left_out], painter.witnesses):
        left_out += 1
    return left_out


# Where an agent stands in the code ------------------------------------------------------------------------------------

Frames = list[tuple[Block, Operation]]
"""The blocks that one activation runs, and the op of each at which it is."""


def _paint_standings(painter: Painter, agent: Agent) -> None:
    for standing in agent.standings:
        if isinstance(standing, Position):
            painter.literal((id(standing.block), id(standing.op)))
            continue
        painter.literal((standing.step.name, id(standing.op)))
        for value in standing.data:
            if not isinstance(value, Activation):
                painter.value(value)
    for activation, frames in _activations(agent):
        for name in painter.unsettled.liveness.alive(activation.values, frames):
            painter.literal(id(name))
            painter.value(activation.values[name])
        _paint_activation(painter, agent, activation)


def _activations(agent: Agent) -> Iterator[tuple[Activation, Frames]]:
    """The calls of the agent, innermost first: one ends where its caller's activation is put back."""
    activation, frames = agent.activation, Frames()
    for standing in reversed(agent.standings):
        if isinstance(standing, Position):
            frames.insert(0, (standing.block, standing.op))
        elif (caller := next((value for value in standing.data if isinstance(value, Activation)), None)) is not None:
            yield activation, frames
            activation, frames = caller, Frames()
    yield activation, frames


def _paint_activation(painter: Painter, agent: Agent, activation: Activation) -> None:
    """Its marks count from the youngest transfer; older ones tell nobody anything."""
    painter.activations.add(id(activation))
    observed = _transfers_left_out(painter, agent)
    outstanding = len(agent.transfers)
    marks = activation.marks.positions
    painter.literal(tuple(outstanding - position for position in marks if position > observed))
    painter.sequence(activation.endings)


@draws_value(Iteration)
def _iteration(painter: Painter, iteration: Iteration) -> None:
    painter.value(iteration.inductions)
    painter.number(iteration.inductions[iteration.number])


@draws_value(WhileTurn)
def _while_turn(_painter: Painter, _turn: WhileTurn) -> None:
    """How many turns came before makes no difference to those that come."""


@draws_value(Seat)
def _seat(painter: Painter, seat: Seat) -> None:
    painter.literal((id(seat.region), seat.number))


@draws_value(EndOnStack)
def _end_on_stack(painter: Painter, end: EndOnStack) -> None:
    painter.literal(id(end.op))
    painter.value(end.view)
