"""What the ops of `scf` do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import control, terminators
from tileas_xdsl.machine.core.opaque_numbers import turns_over_blocks
from tileas_xdsl.machine.core.standings import Answer, Pause, Request, continuation
from tileas_xdsl.machine.core.threads.hardware import PerThread
from tileas_xdsl.machine.core.violations import NoStepError, UnsupportedError
from tileas_xdsl.machine.parts.divergence import branch

terminators(scf.YieldOp)
terminators(scf.ConditionOp, deciding=1)


@continuation
def _give_results(_agent: Agent, op: Operation, values: tuple[Any, ...]) -> Answer:
    """
    What was run yields the results of `op`.

    Raises `UnsupportedError` where there are not as many as results, which xDSL does not verify.
    """
    if len(values) != len(op.results):
        raise UnsupportedError(op, f"has {len(op.results)} results, and what is run yields {len(values)} values")
    return values[0] if len(op.results) == 1 else values


@control(scf.ForOp, may_move=("lb", "ub", "iter_args"), deciding=3)
def _for(agent: Agent, op: scf.ForOp, lower: Any, upper: Any, step: Any, *inits: Any) -> Answer:
    if op in agent.machine.grid.loops:
        return agent.run_iterations(op.body.block, turns_over_blocks(agent.machine, lower, step), inits).then(
            _give_results
        )
    low = agent.known(lower, op, "takes as its lower bound")
    high = agent.known(upper, op, "takes as its upper bound")
    stride = agent.known(step, op, "takes as its step")
    if stride <= 0:
        raise NoStepError(
            op, f"has step {stride}; a loop needs a positive one: if it is an argument, fix it with --arg"
        )
    return agent.run_iterations(op.body.block, range(low, high, stride), inits).then(_give_results)


@control(scf.IfOp, deciding=1)
def _if(agent: Agent, op: scf.IfOp, condition: Any) -> Answer:
    if isinstance(condition, PerThread):
        return branch(agent, op, condition)
    taken = op.true_region if agent.known(condition, op, "branches on") else op.false_region
    return agent.run_region(taken).then(_give_results)


@dataclass(frozen=True)
class WhileTurn:
    """Turn `number` of a `while` loop."""

    outside: tuple[int, ...]
    """The iterations of the loops around it."""
    turns: Any
    """What the observer of the execution notes of the loop."""
    number: int = 0


@control(scf.WhileOp, may_move=("arguments",))
def _while(agent: Agent, op: scf.WhileOp, *inits: Any) -> Answer:
    observer = agent.machine.observer
    turns = observer.loop(agent, op.before_region.block, None) if observer.watches_steps else None
    return _begin_turn(agent, op, inits, WhileTurn(agent.iteration, turns))


def _begin_turn(agent: Agent, op: scf.WhileOp, values: tuple[Any, ...], turn: WhileTurn) -> Request:
    agent.machine.check_budget(op)
    agent.begin_iteration(op.before_region.block, turn.outside, turn.number)
    if turn.turns is not None and turn.turns.begins():
        return Pause().then(_run_before, values, turn)
    return agent.run_region(op.before_region, values).then(_decide, turn)


@continuation
def _run_before(agent: Agent, op: scf.WhileOp, _: None, values: tuple[Any, ...], turn: WhileTurn) -> Answer:
    return agent.run_region(op.before_region, values).then(_decide, turn)


@continuation
def _decide(agent: Agent, op: scf.WhileOp, yielded: tuple[Any, ...], turn: WhileTurn) -> Answer:
    go_on, *values = yielded
    if agent.known(go_on, op, "branches on"):
        return agent.run_region(op.after_region, values).then(_turn_over, turn)
    agent.end_loop(op.before_region.block, turn.outside)
    return _give_results(agent, op, tuple(values))


@continuation
def _turn_over(agent: Agent, op: scf.WhileOp, values: tuple[Any, ...], turn: WhileTurn) -> Answer:
    return _begin_turn(agent, op, values, WhileTurn(turn.outside, turn.turns, turn.number + 1))


@control(scf.IndexSwitchOp, deciding=1)
def _index_switch(agent: Agent, op: scf.IndexSwitchOp, selector: Any) -> Answer:
    chosen = agent.known(selector, op, "branches on")
    cases = [int(case) for case in op.cases.get_values()]
    region = op.case_regions[cases.index(chosen)] if chosen in cases else op.default_region
    return agent.run_region(region).then(_give_results)


@control(scf.ExecuteRegionOp)
def _execute_region(agent: Agent, op: scf.ExecuteRegionOp) -> Answer:
    return agent.run_region(op.region).then(_give_results)
