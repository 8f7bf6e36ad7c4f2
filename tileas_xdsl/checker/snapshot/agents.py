"""
Agents: where each stands in the code, what it knows, and what it keeps for itself.

Where an agent stands is in the frames of the generators that run it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, FunctionType, GeneratorType, MethodType
from typing import Any, cast

from xdsl.ir import Block, Operation, SSAValue

from tileas_xdsl.checker.snapshot.canvas import PartCanvas
from tileas_xdsl.checker.snapshot.put_off import PutOff
from tileas_xdsl.checker.snapshot.rings import paint_stage
from tileas_xdsl.checker.snapshot.settled import is_settled
from tileas_xdsl.checker.snapshot.snapshot import Painter, UnknownStateError, draws_thing, draws_value
from tileas_xdsl.machine.core.agents import Activation, Agent
from tileas_xdsl.machine.parts.rings import Ring


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
    _paint_frames(painter, agent)


def _transfers_left_out(painter: Painter, agent: Agent) -> int:
    """How many of the oldest transfers a wait for marks would tell nobody anything of."""
    left_out = agent.transfers_observed
    while left_out < len(agent.transfers) and is_settled(agent.transfers[left_out], painter.witnesses):
        left_out += 1
    return left_out


# Where an agent stands in the code. A frame of the interpreter is told by its code and its place in it; iterators that
# live on its evaluation stack are told by the variables that they have set last.

RUN_BLOCK = Agent.run_block.__code__
RUN_ITERATIONS = Agent.run_iterations.__code__
CALL = Agent.call.__code__
NEEDS_NOTHING = frozenset(
    {
        ("core/agents.py", "run_region"),
        ("core/agents.py", "wait"),
        ("parts/barriers.py", "wait_for_parity"),
        ("parts/barriers.py", "wait_for_groups"),
        ("parts/barriers.py", "wait_for_queue"),
        ("parts/forks.py", "fork_and_join"),
        ("parts/forks.py", "_body"),
        ("machine/running.py", "steps"),
        ("meanings/scf.py", "_for"),
        ("meanings/scf.py", "_if"),
        ("meanings/scf.py", "_execute_region"),
        ("meanings/async_queue.py", "_block"),
        ("meanings/func.py", "_call"),
        ("meanings/llvm.py", "_call"),
        ("nv_tileaa/queues.py", "_execute"),
        ("nv_tileas/pipelines.py", "_agent_switch"),
    }
)
"""
Functions whose variables are not needed any more once they have handed over, or are held by other frames or by the
condition that the agent waits for. Of all others every variable is drawn.
"""


WHILE = ("meanings/scf.py", "_while")


@cache
def _place_of(code: CodeType) -> tuple[str, str]:
    return "/".join(Path(code.co_filename).parts[-2:]), code.co_name


NAMES_OF_STAGES = ("k", "turn", "named", "taken")


def _frames(agent: Agent) -> Iterator[tuple[FrameType, bool]]:
    """The frames of the agent's code, outermost first, and whether it is the innermost."""
    generator: Any = agent.steps
    while isinstance(generator, GeneratorType):
        inner = cast("Any", generator.gi_yieldfrom)
        frame = generator.gi_frame
        assert frame is not None
        yield frame, not isinstance(inner, GeneratorType)
        generator = inner


def _paint_frames(painter: Painter, agent: Agent) -> None:
    blocks: dict[int, tuple[dict[SSAValue, Any], list[tuple[Block, Operation]]]] = {}
    activations: list[Activation] = [agent.activation]
    observed = _transfers_left_out(painter, agent)
    for frame, is_innermost in _frames(agent):
        names = frame.f_locals
        painter.literal((id(frame.f_code), frame.f_lasti))
        if frame.f_code is RUN_BLOCK:
            values, block, op = names["values"], names["block"], names["step"].op
            painter.literal((id(block), id(op)))
            if is_innermost:
                painter.sequence(names["operands"])
            blocks.setdefault(id(values), (values, []))[1].append((block, op))
        elif frame.f_code is RUN_ITERATIONS:
            painter.value(names["inductions"])
            painter.number(names["induction"])
            if is_innermost:
                painter.sequence(names["values"])
        elif _place_of(frame.f_code) == WHILE:
            painter.sequence(names["values"])
        elif frame.f_code is CALL:
            activations.append(names["caller"])
        elif _place_of(frame.f_code) not in NEEDS_NOTHING:
            _paint_locals(painter, agent, names)
    for values, frames in blocks.values():
        for name in painter.unsettled.liveness.alive(values, frames):
            painter.literal(id(name))
            painter.value(values[name])
    for activation in activations:
        painter.activations.add(id(activation))
        outstanding = len(agent.transfers)
        marks = activation.marks.positions
        painter.literal(tuple(outstanding - position for position in marks if position > observed))
        painter.sequence(activation.endings)


def _paint_locals(painter: Painter, agent: Agent, names: dict[str, Any]) -> None:
    ring = next((value for value in names.values() if isinstance(value, Ring)), None)
    for name, value in names.items():
        if value is agent or value is painter.machine:
            continue
        painter.literal(name)
        if ring is not None and name in NAMES_OF_STAGES and isinstance(value, int):
            paint_stage(painter, ring, value)
        else:
            painter.value(value)


@draws_value(MethodType)
def _method(painter: Painter, method: MethodType) -> None:
    painter.value(method.__self__)
    painter.value(method.__func__)


@draws_thing(FunctionType)
def _function(painter: Painter, function: FunctionType) -> None:
    """A closure: its code and what it has caught."""
    painter.literal(id(function.__code__))
    for cell in function.__closure__ or ():
        contents = cell.cell_contents
        if isinstance(contents, int):
            # How much is missing yet.
            painter.literal(contents)
        elif contents is not painter.machine:
            painter.value(contents)
    painter.sequence(function.__defaults__ or ())
