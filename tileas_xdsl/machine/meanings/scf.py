"""What the ops of `scf` do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Operation

from tileas_xdsl.dialects.extensions import DYNAMIC
from tileas_xdsl.dialects.extensions.scf import ForallOp, InParallelOp
from tileas_xdsl.dialects.extensions.unsigned_for import UnsignedForOp
from tileas_xdsl.dialects.nv_tileas import MASKED
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.code import per_op
from tileas_xdsl.machine.core.handles import unknown_outcome
from tileas_xdsl.machine.core.loops.open_counts import OpenCounts
from tileas_xdsl.machine.core.meaning import Kind, control, meaning_of, suspends, terminators
from tileas_xdsl.machine.core.op_facts import ALL_OPERANDS
from tileas_xdsl.machine.core.opaque_numbers import turns_over_blocks
from tileas_xdsl.machine.core.standings import Answer, Done, Pause, Request, continuation
from tileas_xdsl.machine.core.threads.by_thread import per_thread
from tileas_xdsl.machine.core.threads.hardware import PerThread, of_threads
from tileas_xdsl.machine.core.values import UNKNOWN, unsigned, wrap
from tileas_xdsl.machine.core.violations import NoStepError, UnsupportedError
from tileas_xdsl.machine.parts.divergence import acts, branch
from tileas_xdsl.machine.parts.independent_turns import run_turns

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
    if op in agent.grid.loops:
        return agent.run_iterations(op.body.block, turns_over_blocks(agent.machine, lower, step), inits).then(
            _give_results
        )
    low = agent.known(lower, op, "takes as its lower bound")
    if op in (opened := agent.shared(OpenCounts)).loops:
        turns = opened.begin(agent, op, low, agent.known(step, op, "takes as its step"))
        return agent.run_iterations(op.body.block, turns, inits).then(_give_results)
    high = agent.known(upper, op, "takes as its upper bound")
    stride = agent.known(step, op, "takes as its step")
    if stride <= 0:
        raise NoStepError(
            op, f"has step {stride}; a loop needs a positive one: if it is an argument, fix it with --arg"
        )
    return agent.run_iterations(op.body.block, range(low, high, stride), inits).then(_give_results)


@control(UnsignedForOp, may_move=("iter_args",), deciding=3)
def _unsigned_for(agent: Agent, op: UnsignedForOp, lower: Any, upper: Any, step: Any, *inits: Any) -> Answer:
    kind = op.lb.type
    low, high, stride = (
        unsigned(agent.known(value, op, f"takes as its {name}"), kind)
        for value, name in ((lower, "lower bound"), (upper, "upper bound"), (step, "step"))
    )
    if stride == 0:
        raise NoStepError(op, "has step 0; a loop needs another one: if it is an argument, fix it with --arg")
    numbers = [wrap(number, kind) for number in range(low, high, stride)]
    return agent.run_iterations(op.body.block, numbers, inits).then(_give_results)


@control(scf.IfOp, deciding=1)
def _if(agent: Agent, op: scf.IfOp, condition: Any) -> Answer:
    if MASKED in op.attributes and _is_unknown_somewhere(agent, condition) and _only_accesses(agent, op):
        return _branch(agent, op, _set_where_unknown(agent, condition)).then(_loaded_by_mask)
    return _branch(agent, op, condition)


def _branch(agent: Agent, op: scf.IfOp, condition: Any) -> Request:
    if isinstance(condition, PerThread):
        return branch(agent, op, condition)
    taken = op.true_region if agent.known(condition, op, "branches on") else op.false_region
    return agent.run_region(taken).then(_give_results)


def _is_unknown_somewhere(agent: Agent, mask: Any) -> bool:
    return any(each is UNKNOWN for each in of_threads(mask, agent.size))


def _set_where_unknown(agent: Agent, mask: Any) -> Any:
    if not isinstance(mask, PerThread):
        return True
    return per_thread(agent, [True if value is UNKNOWN else value for value in mask.values], mask.varies)


@per_op
def _only_accesses(op: scf.IfOp) -> bool:
    """
    Whether all that a branch does is to access memory, and only where it is taken. To take it then only adds accesses;
    an arrival, say, might never come.
    """
    others = (inner for inner in op.true_region.walk() if not _is_access(inner))
    return not acts(others) and not acts(op.false_region.walk())


def _is_access(op: Operation) -> bool:
    meaning = meaning_of(op)
    return meaning is not None and meaning.kind is Kind.EFFECT


@continuation
def _loaded_by_mask(_agent: Agent, op: Operation, _: Any) -> Answer:
    """What is behind the branch is not known, since the mask is not."""
    return unknown_outcome(op)


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
    observer = agent.observer
    turns = observer.loop(agent, op.before_region.block, None) if observer.watches_steps else None
    return _begin_turn(agent, op, inits, WhileTurn(agent.iteration, turns))


def _begin_turn(agent: Agent, op: scf.WhileOp, values: tuple[Any, ...], turn: WhileTurn) -> Request:
    agent.check_budget(op)
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


# Loops whose turns are independent ------------------------------------------------------------------------------------

terminators(scf.ReduceOp, scf.ReduceReturnOp)
terminators(InParallelOp)


@suspends(ForallOp, deciding=ALL_OPERANDS, may_move=("lower", "upper", "step"))
def _forall(agent: Agent, op: ForallOp, *operands: Any) -> Answer:
    if op.outputs:
        raise UnsupportedError(op, "puts together tensors, which has no meaning here; bufferize it first")
    given = iter(operands)
    axes = [
        [next(given) if int(number) == DYNAMIC else int(number) for number in static.get_values()]
        for static in (op.static_lower, op.static_upper, op.static_step)
    ]
    return run_turns(agent, op, op.body, *axes)


@suspends(scf.ParallelOp, deciding=ALL_OPERANDS, may_move=("lowerBound", "upperBound", "step", "initVals"))
def _parallel(agent: Agent, op: scf.ParallelOp, *operands: Any) -> Answer:
    rank = len(op.lowerBound)
    lower, upper, step = (operands[rank * axis : rank * (axis + 1)] for axis in range(3))
    return run_turns(agent, op, op.body, lower, upper, step).then(_reduce, operands[3 * rank :], 0)


@continuation
def _reduce(agent: Agent, op: scf.ParallelOp, turns: Sequence[Agent], reduced: tuple[Any, ...], done: int) -> Answer:
    """Turns after the first `done` are to be taken up in `reduced`, in their order: another one is as right."""
    if not reduced or done == len(turns):
        return _give_results(agent, op, reduced)
    return _combine(agent, op, turns, reduced, (done, 0), ())


def _combine(
    agent: Agent,
    op: scf.ParallelOp,
    turns: Sequence[Agent],
    reduced: tuple[Any, ...],
    at: tuple[int, int],
    new: tuple[Any, ...],
) -> Request:
    """Combine value number `at[1]` of turn number `at[0]`, after those in `new`."""
    last = op.body.block.last_op
    assert isinstance(last, scf.ReduceOp)
    turn, place = at
    values: Any = turns[turn].outcome
    if place == len(reduced):
        return Done(turns).then(_reduce, new, turn + 1)
    return agent.run_region(last.reductions[place], [reduced[place], values[place]]).then(
        _combined, turns, reduced, at, new
    )


@continuation
def _combined(
    agent: Agent,
    op: scf.ParallelOp,
    value: tuple[Any, ...],
    turns: Sequence[Agent],
    reduced: tuple[Any, ...],
    at: tuple[int, int],
    new: tuple[Any, ...],
) -> Answer:
    return _combine(agent, op, turns, reduced, (at[0], at[1] + 1), (*new, value[0]))
