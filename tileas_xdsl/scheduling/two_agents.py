"""
The same loop for two agents: one fills the rings, the other one computes.

    acquire, produce, commit     the producer's
    wait, read, product, store   the computing agent's
    row * 64, the loop itself    both, in the same cycle: each repeats it

Each agent is a slot of its own, so what one does no longer keeps the other; which step comes before which stays as it
was. A signal between agents takes no longer than the step that gives it, as in the timed machine. Of all assignments
this is the one that is asked about: a rule of the lowering, not of the machine. Two computing agents would have to hand
register values to each other, which the problem does not have.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from xdsl.ir import Operation

from tileas_xdsl.analysis.loop_values import LoopValues
from tileas_xdsl.analysis.memory.effects import has_no_effects
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp
from tileas_xdsl.scheduling.loop_problem import LoopProblem
from tileas_xdsl.scheduling.modulo.problem import TimedOp
from tileas_xdsl.targets.machine_model import SlotUse
from tileas_xdsl.targets.machine_models import AGENT

PRODUCER, COMPUTING = 0, 1
"""The numbers of the agents, in the order in which they get their warps."""

SLOTS = ("producer agent", "computing agent")
"""What each agent is called as a slot."""


@dataclass(frozen=True)
class SharedLoop:
    """A loop whose steps two agents share."""

    problem: LoopProblem
    agents: tuple[int | None, ...]
    """For each op of the loop the agent that runs it; None where both do."""


class OneAgentError(Exception):
    """The loop cannot be shared: the text says why."""


def for_two_agents(found: LoopProblem) -> SharedLoop:
    """The problem of `found` for a producer and a computing agent. Raises `OneAgentError`."""
    agents = agents_of(found)
    ops = [_kept_by(op, agent) for op, agent in zip(found.problem.ops, agents, strict=False)]
    # What stands for the loop's own arithmetic keeps both agents as well; the works of engines keep none.
    ops += [_kept_by(op, None) for op in found.problem.ops[len(agents) :]]
    return SharedLoop(replace(found, problem=replace(found.problem, ops=tuple(ops))), agents)


def agents_of(found: LoopProblem) -> tuple[int | None, ...]:
    """
    Who runs each op of the loop: the agent on its side of a ring, and the computing agent what else has an effect;
    all that these need and that has none, whoever needs it. Raises `OneAgentError`.
    """
    values = LoopValues(found.loop)
    own = {op: _owner(op) for op in values.ops}
    if PRODUCER not in own.values():
        raise OneAgentError("no op of the loop fills a ring")
    filling = _needed(values, (op for op, owner in own.items() if owner == PRODUCER))
    wrong = next((op for op in values.ops if op in filling and own[op] == COMPUTING), None)
    if wrong is not None:
        raise OneAgentError(f"what fills a ring needs what '{op_name(wrong)}' of the computing agent makes")
    leaving = (
        value.owner
        for value, result in zip(values.yielded, found.loop.results, strict=True)
        if result.first_use is not None and isinstance(value.owner, Operation) and value.owner in values.position
    )
    computing = _needed(values, (*(op for op, owner in own.items() if owner == COMPUTING), *leaving))
    return tuple(_runs(own[op], op in filling, op in computing) for op in values.ops)


def _owner(op: Operation) -> int | None:
    """The agent that has to run `op`; None where any may, since it has no effect."""
    if isinstance(op, ClassifiedOp):
        return PRODUCER if op.side == "producer" else COMPUTING
    return None if has_no_effects(op) else COMPUTING


def _runs(owner: int | None, fills: bool, computes: bool) -> int | None:
    if owner is not None or (fills and computes):
        return owner
    return PRODUCER if fills else COMPUTING


def _needed(values: LoopValues, ops: Iterable[Operation]) -> set[Operation]:
    """`ops`, and all ops of the body from which their operands are computed, in this iteration or earlier ones."""
    needed: set[Operation] = set()
    waiting = list(ops)
    while waiting:
        op = waiting.pop()
        if op in needed:
            continue
        needed.add(op)
        origins = (values.origin_of(value) for value in values.read_by(op))
        waiting += [origin.result.op for origin in origins if origin.result is not None]
    return needed


def _kept_by(op: TimedOp, agent: int | None) -> TimedOp:
    """`op` with what it takes of the one agent taken of `agent` instead, or of both."""
    names = SLOTS if agent is None else (SLOTS[agent],)
    uses: list[SlotUse] = []
    for use in op.uses:
        uses += [replace(use, slot=name) for name in names] if use.slot == AGENT else [use]
    return replace(op, uses=tuple(uses))
