"""
What a program does with the answer of a test: "is the phase over?", to which a barrier may always answer no.

    %ok = nvvm.mbarrier.test.wait %bar, %parity : !llvm.ptr<3>, i32 -> i1

Three uses are no questions at all. Where the answer is *unused*, no promises least and stands for both. A loop that
*spins* until the answer is yes, and does nothing else, is a wait. A test that *peeks* decides only whether to wait for
the same phase next: either way the program goes on behind that wait, so that no stands for both.

    scf.while : () -> () { ... %go_on = arith.xori %ok, %true  scf.condition(%go_on) } do { scf.yield }     // spins
    ^again:  ...  cf.cond_br %ok, ^behind, ^again                                                           // spins
    scf.if %ok { } else { nvvm.mbarrier.try_wait.parity %bar, %parity, %ticks }                             // peeks

Anything else *branches*: what follows depends on timing.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from enum import Enum, auto

from xdsl.dialects import arith, cf, llvm, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import is_side_effect_free

from tileas_xdsl.analysis.value_flow import handed_on_by
from tileas_xdsl.dialects.nvvm.mbarrier import MBarrierTryWaitParityOp, WaitOp
from tileas_xdsl.dialects.nvvm.thread import NanosleepOp


class AnswerUse(Enum):
    """What is done with the answer of a test."""

    UNUSED = auto()
    SPINS = auto()
    PEEKS = auto()
    BRANCHES = auto()


def use_of_answer(test: WaitOp) -> AnswerUse:
    """What the program does with the result of `test`."""
    users = [use.operation for use in test.res.uses]
    if not users:
        return AnswerUse.UNUSED
    if len(users) > 1:
        return AnswerUse.BRANCHES
    (user,) = users
    is_inverted = _inverts(user)
    if is_inverted:
        if user.parent_block() is not test.parent_block() or not user.results[0].has_one_use():
            return AnswerUse.BRANCHES
        user = next(iter(user.results[0].uses)).operation
    if (is_inverted and _spins(test, user)) or _spins_between_blocks(test, user, is_inverted):
        return AnswerUse.SPINS
    if isinstance(user, scf.IfOp) and _peeks(test, user, is_inverted):
        return AnswerUse.PEEKS
    return AnswerUse.BRANCHES


def _inverts(op: Operation) -> bool:
    """Whether the result of `op` is true just where one of its operands is false."""
    return isinstance(op, arith.XOrIOp) and any(_is_true(operand) for operand in op.operands)


def _is_true(value: SSAValue) -> bool:
    constant = value.owner
    if not isinstance(constant, arith.ConstantOp) or not isinstance(constant.value, IntegerAttr):
        return False
    return constant.value.value.data in (1, -1) and str(value.type) == "i1"


def _spins(test: WaitOp, condition: Operation) -> bool:
    """
    Whether `condition` ends the head of a `while` loop that does nothing but `test`, and begins each turn with the
    values of the first.
    """
    loop = test.parent_op()
    if not isinstance(loop, scf.WhileOp):
        return False
    before, after = _only_block(loop.before_region.blocks), _only_block(loop.after_region.blocks)
    if before is None or after is None or condition is not before.last_op:
        return False
    handed_on = list(handed_on_by(condition)) == list(before.args)
    last = after.last_op
    handed_back = last is not None and list(last.operands) == list(after.args)
    others = [op for op in before.ops if op not in (test, condition)] + [op for op in after.ops if op is not last]
    return handed_on and handed_back and _do_nothing(others)


def _spins_between_blocks(test: WaitOp, branch: Operation, is_inverted: bool) -> bool:
    """
    Whether `branch` ends a block that does nothing but `test`, and leads back to it with the same values where that
    says no: at once, or by way of a block that does nothing.
    """
    block = test.parent
    if block is None or branch.parent is not block or not isinstance(branch, cf.ConditionalBranchOp | llvm.CondBrOp):
        return False
    said_no = (branch.then_block, list(branch.then_arguments))
    if not is_inverted:
        said_no = (branch.else_block, list(branch.else_arguments))
    goes_on = branch.else_block if is_inverted else branch.then_block
    if goes_on is block or not _do_nothing(op for op in block.ops if op not in (test, branch)):
        return False
    between, arguments = said_no
    if between is not block:
        back = between.last_op
        if not isinstance(back, cf.BranchOp | llvm.BrOp) or back.successor is not block or between.args:
            return False
        if not _do_nothing(op for op in between.ops if op is not back):
            return False
        arguments = list(back.arguments)
    return len(arguments) == len(block.args) and all(map(operator.is_, arguments, block.args))


def _only_block(blocks: Iterable[Block]) -> Block | None:
    found = list(blocks)
    return found[0] if len(found) == 1 else None


def _peeks(test: WaitOp, branch: scf.IfOp, is_inverted: bool) -> bool:
    """Whether `branch`, next after `test` but for what has no effect, waits for the same phase where that says no."""
    if branch.results or branch.parent is not test.parent or not _do_nothing(_between(test, branch)):
        return False
    if not test.waits_for_parity or test.relaxed.value.data:
        return False
    yes, no = (branch.false_region, branch.true_region) if is_inverted else (branch.true_region, branch.false_region)
    if any(not _do_nothing([op]) for block in yes.blocks for op in block.ops if op is not block.last_op):
        return False
    block = _only_block(no.blocks)
    waits = [op for op in block.ops if isinstance(op, MBarrierTryWaitParityOp)] if block is not None else []
    if block is None or len(waits) != 1:
        return False
    (wait,) = waits
    others = [op for op in block.ops if op not in (wait, block.last_op)]
    return _do_nothing(others) and all(map(_same, test.operands[:2], wait.operands[:2]))


def _between(first: Operation, last: Operation) -> list[Operation]:
    found: list[Operation] = []
    op = first.next_op
    while op is not None and op is not last:
        found.append(op)
        op = op.next_op
    return found


def _do_nothing(ops: Iterable[Operation]) -> bool:
    return all(isinstance(op, NanosleepOp) or (not op.regions and is_side_effect_free(op)) for op in ops)


def _same(one: SSAValue, other: SSAValue) -> bool:
    """Whether the two are computed alike from the same values, by ops without effects."""
    if one is other:
        return True
    if isinstance(one, BlockArgument) or isinstance(other, BlockArgument):
        return False
    assert isinstance(one, OpResult)
    assert isinstance(other, OpResult)
    mine, theirs = one.op, other.op
    alike = type(mine) is type(theirs) and mine.properties == theirs.properties and mine.attributes == theirs.attributes
    if not alike or one.index != other.index or not _do_nothing([mine]):
        return False
    return len(mine.operands) == len(theirs.operands) and all(map(_same, mine.operands, theirs.operands))
