"""What the ops of `scf` do."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import scf

from tileas_xdsl.machine.core.agents import Agent, Suspension
from tileas_xdsl.machine.core.meaning import control, terminators
from tileas_xdsl.machine.core.violations import NoStepError, UnsupportedError

terminators(scf.YieldOp)
terminators(scf.ConditionOp, deciding=1)


def results_of(op: Any, values: tuple[Any, ...]) -> Any:
    """
    `values` as a meaning returns them: alone where the op has one result.

    Raises `UnsupportedError` where there are not as many as results, which xDSL does not verify.
    """
    if len(values) != len(op.results):
        raise UnsupportedError(op, f"has {len(op.results)} results, and what is run yields {len(values)} values")
    return values[0] if len(op.results) == 1 else values


@control(scf.ForOp, may_move=("lb", "ub", "iter_args"), deciding=3)
def _for(agent: Agent, op: scf.ForOp, lower: Any, upper: Any, step: Any, *inits: Any) -> Suspension:
    low = agent.known(lower, op, "takes as its lower bound")
    high = agent.known(upper, op, "takes as its upper bound")
    stride = agent.known(step, op, "takes as its step")
    if stride <= 0:
        raise NoStepError(
            op, f"has step {stride}; a loop needs a positive one: if it is an argument, fix it with --arg"
        )
    values = yield from agent.run_iterations(op.body.block, range(low, high, stride), inits)
    return results_of(op, values)


@control(scf.IfOp, deciding=1)
def _if(agent: Agent, op: scf.IfOp, condition: Any) -> Suspension:
    taken = op.true_region if agent.known(condition, op, "branches on") else op.false_region
    with agent.as_elected(condition):
        values = yield from agent.run_region(taken)
    return results_of(op, values)


@control(scf.WhileOp, may_move=("arguments",))
def _while(agent: Agent, op: scf.WhileOp, *inits: Any) -> Suspension:
    outside = agent.iteration
    values = inits
    number = 0
    observer = agent.machine.observer
    turns = observer.loop(agent, op.before_region.block, None) if observer.watches_steps else None
    while True:
        agent.machine.check_budget(op)
        agent.begin_iteration(op.before_region.block, outside, number)
        if turns is not None and turns.begins():
            yield None
        go_on, *values = yield from agent.run_region(op.before_region, values)
        if not agent.known(go_on, op, "branches on"):
            break
        values = yield from agent.run_region(op.after_region, values)
        number += 1
    agent.end_loop(op.before_region.block, outside)
    return results_of(op, tuple(values))


@control(scf.IndexSwitchOp, deciding=1)
def _index_switch(agent: Agent, op: scf.IndexSwitchOp, selector: Any) -> Suspension:
    chosen = agent.known(selector, op, "branches on")
    cases = [int(case) for case in op.cases.get_values()]
    region = op.case_regions[cases.index(chosen)] if chosen in cases else op.default_region
    values = yield from agent.run_region(region)
    return results_of(op, values)


@control(scf.ExecuteRegionOp)
def _execute_region(agent: Agent, op: scf.ExecuteRegionOp) -> Suspension:
    values = yield from agent.run_region(op.region)
    return results_of(op, values)
