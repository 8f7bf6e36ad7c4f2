"""
How to draw an agent: its standings, its knowledge, and the parts of the state that it owns.

Standings are data (`machine.core.standings`): continuations with what they need to go on, and positions in blocks. Of
the SSA values of an activation only the live ones are drawn (`liveness`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from tileas_xdsl.checker.snapshot.canvas import PartCanvas
from tileas_xdsl.checker.snapshot.liveness import Frame, Liveness
from tileas_xdsl.checker.snapshot.put_off import PutOff
from tileas_xdsl.checker.snapshot.snapshot import Drawing, UnknownStateError, draws_thing, draws_value
from tileas_xdsl.machine.core.agents import Activation, Agent, Team
from tileas_xdsl.machine.core.loops.open_comparisons import Comparison
from tileas_xdsl.machine.core.loops.open_counts import OpenBound, OpenTurns
from tileas_xdsl.machine.core.loops.turns import LoopTurn
from tileas_xdsl.machine.core.standings import Position, Standing
from tileas_xdsl.machine.meanings.memref import EndOnStack
from tileas_xdsl.machine.meanings.scf import WhileTurn
from tileas_xdsl.machine.parts.divergence import Arms
from tileas_xdsl.machine.parts.jumps import BlockTurn, JumpSides, run_from_head
from tileas_xdsl.machine.parts.tasks import Seat


@draws_thing(Agent)
def _agent(drawing: Drawing, agent: Agent) -> None:
    drawing.literal((agent.hardware, agent.active, agent.left, agent.finished, agent.delegates, agent.block))
    drawing.literal((len(agent.cohort), id(agent.started_by)))
    if agent.team is not None:
        drawing.thing(agent.team)
    for other in agent.cohort:
        drawing.thing(other)
    drawing.moment(agent.number, agent.moment)
    drawing.clock(agent.clock)
    drawing.fenced(agent.fenced)
    if agent.finished:
        drawing.value(agent.final_knowledge)
        return
    if agent.resource is not None:
        raise UnknownStateError("a resource that is held")
    drawing.value(agent.waiting_for)
    observed = _transfers_left_out(drawing, agent)
    drawing.works(agent.transfers[observed:])
    for part in agent.parts:
        drawing.literal(type(part).__name__)
        part.draw(PartCanvas(drawing, PutOff(drawing)), agent)
    _draw_standings(drawing, agent)


@draws_thing(Team)
def _team(drawing: Drawing, team: Team) -> None:
    """
    By how often each warp has executed an op, compared with the first of them. A warp may do so alone, and so more and
    more often: these are numbers that may move on. `proof.separation` looks after the stores that they make one.
    """
    for op in team.ops():
        drawing.literal(id(op))
        first, *others = (team.times(member, op) for member in team.members)
        for times in others:
            drawing.number(times - first)


def _transfers_left_out(drawing: Drawing, agent: Agent) -> int:
    """The number of the agent's oldest transfers that are settled, or that it has seen complete."""
    left_out = agent.transfers_observed
    while left_out < len(agent.transfers) and drawing.is_settled(agent.transfers[left_out]):
        left_out += 1
    return left_out


# Where an agent stands in the code ------------------------------------------------------------------------------------

Frames = list[Frame]
"""The blocks that one activation is in, outermost first; and those in which it is to begin, without a present op."""


def _draw_standings(drawing: Drawing, agent: Agent) -> None:
    for standing in agent.standings:
        if isinstance(standing, Position):
            drawing.literal((id(standing.block), id(standing.op)))
            continue
        drawing.literal((standing.step.name, id(standing.op)))
        for value in standing.data:
            if not isinstance(value, Activation):
                drawing.value(value)
        _draw_residues_of_carried(drawing, standing.data)
    liveness = drawing.machine.code.kept(Liveness)
    for activation, frames in activations(agent):
        # An agent that has not begun yet has what its regions capture, and nothing else.
        has_begun = bool(frames) or agent.parent is None
        alive = liveness.alive(activation.values, frames) if has_begun else activation.values
        for name in alive:
            drawing.literal(id(name))
            drawing.value(activation.values[name])
            drawing.residue(name, activation.values[name])
        _draw_activation(drawing, agent, activation)


def _draw_residues_of_carried(drawing: Drawing, data: Sequence[Any]) -> None:
    """At the head of a loop the values that it carries go by the names of the arguments of its body."""
    if len(data) == 2 and isinstance(data[0], tuple) and isinstance(turn := data[1], LoopTurn):
        carried = cast("tuple[object, ...]", data[0])
        for name, value in zip(turn.body.args[1:], carried, strict=True):
            drawing.residue(name, value)


def activations(agent: Agent) -> Iterator[tuple[Activation, Frames]]:
    """
    The function activations of the agent, innermost first, each with its frames.

    A standing whose data hold an activation is that of a call: below it stand the frames of the caller.
    """
    activation, frames = agent.activation, Frames()
    for standing in reversed(agent.standings):
        if isinstance(standing, Position):
            frames.insert(0, (standing.block, standing.op))
        elif ahead := _blocks_ahead(standing, is_innermost=not frames):
            frames[:0] = ahead
        elif (caller := next((value for value in standing.data if isinstance(value, Activation)), None)) is not None:
            yield activation, frames
            activation, frames = caller, Frames()
    yield activation, frames


def _blocks_ahead(standing: Standing, *, is_innermost: bool) -> Frames:
    """The blocks that `standing` is to begin; if it is the innermost, a branch that waits has its own block."""
    match standing.data:
        case (_, BlockTurn(loop=loop)) if standing.step is run_from_head:
            return [(loop.head, None)]
        case (JumpSides() as sides,):
            return [(block, None) for block, _, _ in sides.ahead[1:]]
        case _ if is_innermost and standing.op.successors and standing.op.parent is not None:
            return [(standing.op.parent, standing.op)]
        case _:
            return []


def _draw_activation(drawing: Drawing, agent: Agent, activation: Activation) -> None:
    """Draw its marks by how many transfers are younger; marks that cover only seen transfers are left out."""
    drawing.activations.add(id(activation))
    observed = _transfers_left_out(drawing, agent)
    outstanding = len(agent.transfers)
    marks = activation.marks.positions
    drawing.literal(tuple(outstanding - position for position in marks if position > observed))
    drawing.sequence(activation.endings)


@draws_value(LoopTurn)
def _iteration(drawing: Drawing, iteration: LoopTurn) -> None:
    """Without the number of the turn where it is open how many there are, and no op takes it: but for its residue."""
    drawing.value(iteration.inductions)
    name, induction = iteration.body.args[0], iteration.inductions[iteration.number]
    if name.first_use is not None or not isinstance(iteration.inductions, OpenTurns):
        drawing.value(induction)
    drawing.residue(name, induction)


@draws_value(OpenTurns)
def _open_turns(drawing: Drawing, turns: OpenTurns) -> None:
    """The bound and the step: where the agent is, is drawn with its progress."""
    drawing.thing(turns.bound)
    drawing.literal((turns.offset, turns.step))


@draws_value(Comparison)
def _comparison(drawing: Drawing, comparison: Comparison) -> None:
    drawing.thing(comparison.bound)
    drawing.literal((comparison.equals, comparison.limit - comparison.bound.low))


@draws_thing(OpenBound)
def _bound(drawing: Drawing, bound: OpenBound) -> None:
    """By what is known of it, from what is decided on; how often its loops have turned makes no difference."""
    drawing.literal((bound.term, None if bound.high is None else bound.high - bound.low))
    for outer, induction in bound.place:
        drawing.thing(outer)
        drawing.literal(induction - outer.low)


@draws_value(WhileTurn)
def _while_turn(_drawing: Drawing, _turn: WhileTurn) -> None:
    """Nothing: the number of a turn makes no difference to the turns to come."""


@draws_value(BlockTurn)
def _block_turn(drawing: Drawing, turn: BlockTurn) -> None:
    """Which loop it is; the number of a turn makes no difference to the turns to come."""
    drawing.literal(id(turn.loop.head))


@draws_value(Seat)
def _seat(drawing: Drawing, seat: Seat) -> None:
    drawing.literal((id(seat.region), seat.number))


@draws_value(EndOnStack)
def _end_on_stack(drawing: Drawing, end: EndOnStack) -> None:
    drawing.literal(id(end.op))
    drawing.value(end.view)


@draws_value(Arms)
def _arms(drawing: Drawing, arms: Arms) -> None:
    drawing.literal((arms.outside, arms.varies, arms.running, len(arms.done)))
    for region, active in arms.ahead:
        drawing.literal((id(region), active))
    for active, values in arms.done:
        drawing.literal(active)
        drawing.value(values)


@draws_value(JumpSides)
def _jump_sides(drawing: Drawing, sides: JumpSides) -> None:
    drawing.literal((sides.outside, sides.varies))
    for block, arguments, active in sides.ahead:
        drawing.literal((id(block), active))
        drawing.value(arguments)
    for active, values in sides.done:
        drawing.literal(active)
        drawing.value(values)
