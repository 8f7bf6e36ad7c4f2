"""
Agents that become one again: their regions in order, and their loops as one loop.

    agent_switch {                            %a = constant                  what stands in front of the loops
      scf.for %i { produce }                  scf.for %i {
      wait                              ->      produce                      the bodies, in the order of the agents
    }, {                                        consume
      %a = constant                           }
      scf.for %i { consume }                  wait                           what stands behind them
      store                                   store
    }

One agent does in some order what several do at the same time, so the order has to be one in which nobody waits for what
comes later. It is, where in every turn each ring is filled once and then emptied once: then a slot is full when it is
taken, and free when it is filled.

Input: a function. Output: a plan, or the reason why there is none; the plan carried out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, i8, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.induction import have_equal_bounds
from tileas_xdsl.analysis.pipeline_root import PipelineRoot, PipelineRoots
from tileas_xdsl.analysis.value_flow import yielding
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp, ConsumeOp, ProduceOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    AgentSwitchOp,
    ConsumerWaitOp,
    CreatePipelineOp,
    ProducerAcquireOp,
    ProducerCommitOp,
)
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, FutureWaitOp, TokenToAsyncOp
from tileas_xdsl.dialects.nv_tileas.types import is_token
from tileas_xdsl.dialects.tiles.traits import Synchronizes
from tileas_xdsl.interfaces import FunctionOpInterface, end_of
from tileas_xdsl.transforms.tileas.materialize_async.plan import NOT_PIPELINABLE, TOKEN_ITER_IDX
from tileas_xdsl.transforms.tileas.materialize_schedule.warps import NoPartitionError

FOLLOWED = ("arith", "math", "memref", "nv_tileaa", "nv_tileas", "scf", "tensor", "ub", "vector")
"""Dialects of which it is known which ops wait for other agents."""


@dataclass(frozen=True, eq=False)
class Agent:
    """What one agent runs: its loop over rings, or None, and what stands in front of and behind it."""

    before: Sequence[Operation]
    loop: scf.ForOp | None
    behind: Sequence[Operation]


@dataclass(frozen=True, eq=False)
class Dissolution:
    """The plan: the switch that goes, its agents, and the rings that lead from one to another."""

    switch: AgentSwitchOp
    agents: Sequence[Agent]
    rings: Sequence[CreatePipelineOp]


def plan_dissolution(function: Operation) -> Dissolution:
    """How the agents of `function` become one. Raises `NoPartitionError` where they cannot."""
    view = FunctionOpInterface.of(function)
    assert view is not None
    switches = [op for op in function.walk() if isinstance(op, AgentSwitchOp)]
    switch = switches[0]
    if len(switches) > 1 or switch.parent_block() is not view.function_body.first_block:
        raise NoPartitionError("its agents are made in several places, or not once for each call")
    if any(size != 1 for size in switch.group_sizes) or any(region.block.args for region in switch.agent_regions):
        raise NoPartitionError("a group has several agents, or agents get values handed in")
    agents = [_agent(region) for region in switch.agent_regions]
    loops = [agent.loop for agent in agents if agent.loop is not None]
    for loop in loops[1:]:
        if not have_equal_bounds(loops[0], loop):
            raise NoPartitionError("the loops of its agents do not have the same bounds")
    return Dissolution(switch, agents, _rings_in_step(loops))


def _agent(region: Region) -> Agent:
    block = region.block
    for op in block.walk():
        require_followed(op)
    loops: dict[Operation, None] = {}
    for op in block.walk():
        if isinstance(op, ClassifiedOp) and not isinstance(op.parent_op(), ClassifiedOp):
            loop = op.parent_op()
            if not isinstance(loop, scf.ForOp) or loop.parent_block() is not block:
                raise NoPartitionError(f"'{op_name(op)}' of an agent is not in the body of its loop")
            loops[loop] = None
    if len(loops) > 1:
        raise NoPartitionError("an agent has several loops over rings")
    loop = next(iter(loops), None)
    ops = list(block.ops)
    if not isinstance(loop, scf.ForOp):
        return Agent(ops, None, ())
    at = ops.index(loop)
    return Agent(ops[:at], loop, ops[at + 1 :])


def require_followed(op: Operation) -> None:
    """Raises `NoPartitionError` for an op that may wait for another agent by something else than a ring."""
    is_wait = isinstance(op, ClassifiedOp | AsyncWaitOp | FutureWaitOp)
    synchronizes = op.has_trait(Synchronizes, value_if_unregistered=True) and not is_wait
    if synchronizes or op.name.partition(".")[0] not in FOLLOWED:
        raise NoPartitionError(f"'{op_name(op)}' of an agent may wait for another one")


# Rings ----------------------------------------------------------------------------------------------------------------


def _rings_in_step(loops: Sequence[scf.ForOp]) -> list[CreatePipelineOp]:
    """The rings of `loops`, each of them filled once and then emptied once in every turn of one loop after another."""
    roots = PipelineRoots()
    filled: dict[PipelineRoot, list[int]] = {}
    emptied: dict[PipelineRoot, list[int]] = {}
    for number, loop in enumerate(loops):
        for op in loop.body.block.ops:
            if isinstance(op, ClassifiedOp):
                _require_own_turn(op, loop)
            for sides, taken in ((filled, _fills(op)), (emptied, _empties(op))):
                if taken and (root := roots.of_op(op)) is not None:
                    sides.setdefault(root, []).append(number)
    rings: list[CreatePipelineOp] = []
    for root in dict.fromkeys([*filled, *emptied]):
        fillers, emptiers = filled.get(root, []), emptied.get(root, [])
        if len(set(emptiers)) > 1:
            raise NoPartitionError(
                "several agents empty one ring, and one agent would give each slot back several times"
            )
        if len(fillers) != 1 or len(emptiers) != 1 or fillers[0] >= emptiers[0]:
            raise NoPartitionError("a ring is not filled once and then emptied once in every turn, agent after agent")
        if isinstance(root.op, CreatePipelineOp):
            rings.append(root.op)
    return rings


def _fills(op: Operation) -> bool:
    """Whether `op` takes a slot to fill it."""
    return isinstance(op, ProduceOp | ProducerAcquireOp) and not _goes_on(op)


def _empties(op: Operation) -> bool:
    """Whether `op` takes a slot to read it."""
    return isinstance(op, ConsumeOp | ConsumerWaitOp) and not _goes_on(op)


def _goes_on(op: ClassifiedOp) -> bool:
    """Whether `op` works on the slot that another op has taken."""
    return any(isinstance(token.owner, ClassifiedOp) for token in op.tokens)


def _require_own_turn(op: ClassifiedOp, loop: scf.ForOp) -> None:
    for token in op.tokens:
        if isinstance(token, BlockArgument) and token.block is loop.body.block and is_token(token.type):
            raise NoPartitionError(f"'{op_name(op)}' of an agent works on a slot of an earlier iteration")


# Carrying it out ------------------------------------------------------------------------------------------------------


def dissolve(plan: Dissolution) -> None:
    """Replace the switch of the agents of `plan` by these agents, as one."""
    here = InsertPoint.before(plan.switch)
    loops = [agent.loop for agent in plan.agents if agent.loop is not None]
    for wait in [op for agent in plan.agents for op in agent.behind if _waits_for_fills(op, loops)]:
        Rewriter.erase_op(wait)
    _move([op for agent in plan.agents for op in agent.before], here)
    if loops:
        Rewriter.insert_op(_fused(loops), here)
    _move([op for agent in plan.agents for op in agent.behind if op.parent is not None], here)
    for loop in loops:
        Rewriter.erase_op(loop)
    Rewriter.erase_op(plan.switch)
    for ring in plan.rings:
        ring.producer_group = ring.consumer_group = IntegerAttr(0, i8)


def _waits_for_fills(op: Operation, loops: Sequence[scf.ForOp]) -> bool:
    """Whether `op` waits for the last stages that one of `loops` has filled: they are full, since they were taken."""
    if not isinstance(op, AsyncWaitOp | FutureWaitOp) or op.token.owner not in loops:
        return False
    loop = op.token.owner
    assert isinstance(loop, scf.ForOp)
    last = end_of(loop.body.block)
    filled = last.operands[loop.results.index(op.token)].owner  # pyright: ignore[reportArgumentType]
    commit = filled.token.owner if isinstance(filled, TokenToAsyncOp) else None
    return isinstance(commit, ProducerCommitOp) and commit.parent_op() is loop


def _move(ops: Sequence[Operation], here: InsertPoint) -> None:
    for op in ops:
        op.detach()
        Rewriter.insert_op(op, here)


def _fused(loops: Sequence[scf.ForOp]) -> scf.ForOp:
    """One loop that carries what `loops` carry and runs their bodies, one after the other; it stands for them all."""
    first = loops[0]
    carried = [argument for loop in loops for argument in loop.body.block.args[1:]]
    body = Block(arg_types=[first.body.block.args[0].type, *(argument.type for argument in carried)])
    yielded: list[SSAValue] = []
    for old, new in _arguments(loops, body):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    for loop in loops:
        last = end_of(loop.body.block)
        yielded += last.operands
        for op in list(loop.body.block.ops):
            if op is not last:
                op.detach()
                body.add_op(op)
    body.add_op(yielding(yielded))
    fused = scf.ForOp(first.lb, first.ub, first.step, [init for loop in loops for init in loop.iter_args], body)
    fused.location = first.location
    fused.attributes.update(_attributes(loops))
    for old, new in zip([result for loop in loops for result in loop.results], fused.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    return fused


def _arguments(loops: Sequence[scf.ForOp], body: Block) -> Iterator[tuple[SSAValue, SSAValue]]:
    """For each argument of the bodies of `loops` that which takes its place in `body`."""
    at = 1
    for loop in loops:
        index, *carried = loop.body.block.args
        yield index, body.args[0]
        for argument in carried:
            yield argument, body.args[at]
            at += 1


def _attributes(loops: Sequence[scf.ForOp]) -> dict[str, Attribute]:
    """What holds of the fused loop: the place of the newest token, and that it is not to be pipelined if one is not."""
    found: dict[str, Attribute] = {}
    at = 0
    for loop in loops:
        index = loop.attributes.get(TOKEN_ITER_IDX)
        if isinstance(index, IntegerAttr):
            found[TOKEN_ITER_IDX] = IntegerAttr(at + index.value.data, i32)
        if NOT_PIPELINABLE in loop.attributes:
            found[NOT_PIPELINABLE] = loop.attributes[NOT_PIPELINABLE]
        at += len(loop.iter_args)
    return found
