"""What the ops of `cf` do: branches between blocks, and assertions that stop the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import cf

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import ASSERTION_HOLDS
from tileas_xdsl.machine.core.code import per_op
from tileas_xdsl.machine.core.meaning import effect, jump
from tileas_xdsl.machine.core.standings import Answer
from tileas_xdsl.machine.core.values import UNKNOWN, unsigned
from tileas_xdsl.machine.core.violations import MistakeError
from tileas_xdsl.machine.parts.jumps import branch_to, jump_to


@jump(cf.BranchOp, may_move=("arguments",))
def _branch(agent: Agent, op: cf.BranchOp, *arguments: Any) -> Answer:
    return jump_to(agent, op, (op.successor, arguments))


@jump(cf.ConditionalBranchOp, may_move=("then_arguments", "else_arguments"), deciding=1)
def _conditional_branch(agent: Agent, op: cf.ConditionalBranchOp, condition: Any, *arguments: Any) -> Answer:
    middle = len(op.then_arguments)
    targets = (op.then_block, arguments[:middle]), (op.else_block, arguments[middle:])
    return branch_to(agent, op, condition, targets)


@per_op
def _cases(op: cf.SwitchOp) -> dict[int, int]:
    """Value of the flag, as an unsigned number -> number of the case."""
    if op.case_values is None:
        return {}
    kind = op.flag.type
    values = [unsigned(int(value), kind) for value in op.case_values.get_values()]
    # The first of equal cases is the one that is taken.
    return {value: case for case, value in reversed(list(enumerate(values)))}


@jump(cf.SwitchOp, deciding=1)
def _switch(agent: Agent, op: cf.SwitchOp, flag: Any, *arguments: Any) -> Answer:
    value = unsigned(agent.known(flag, op, "branches on"), op.flag.type)
    case = _cases(agent, op).get(value)
    defaults = len(op.default_operands)
    if case is None:
        return jump_to(agent, op, (op.default_block, arguments[:defaults]))
    sizes: Sequence[int] = [int(size) for size in op.case_operand_segments.get_values()]
    start = defaults + sum(sizes[:case])
    return jump_to(agent, op, (op.case_blocks[case], arguments[start : start + sizes[case]]))


@effect(cf.AssertOp)
def _assert(agent: Agent, op: cf.AssertOp, condition: Any) -> None:
    """A condition on data that is not computed when checking is taken to hold."""
    if condition is UNKNOWN:
        agent.assume(ASSERTION_HOLDS)
    elif not agent.known(condition, op, "asserts"):
        raise MistakeError(op, f'fails{agent.in_iteration}: "{op.msg.data}"; a condition that holds')
