"""
What numbers decide in kernels of Triton: what runs, and predicates, slots, parities and counts. And what decides
nothing.

Tiles decide nothing that a check follows: where a number comes out of one, it is unknown, and the check says so.

What decides nothing is taken out of the way of a proof in the numbers of turns:

- A branch that only computes and accesses global memory: whichever side runs, nobody can tell.

- A return before anything has begun, as of the blocks of the grid that find no work:

      %none = arith.cmpi sge, %first, %T
      cf.cond_br %none, ^return, ^work          ->        cf.br ^work

  A block that returns there does nothing, which is right; so what is left is right if the rest is.

- Uses of a number that also bounds loops, in masks and in addresses of global memory:

      scf.for %i = 0 to %T                                scf.for %i = 0 to %T
        %rest = arith.subi %T, %i               ->          %rest = arith.subi %T_of_data, %i
        %mask = arith.cmpi slt, %lanes, splat(%rest)

  What may be any number may be that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects import arith, cf, scf
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Block, Operation, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.value_flow import names_behind
from tileas_xdsl.checker.proof.steps import positions_that_may_move
from tileas_xdsl.dialects.triton.partitions import WarpSpecializePartitionsOp
from tileas_xdsl.dialects.triton.tt import ReturnOp
from tileas_xdsl.dialects.triton.types import MemDescType
from tileas_xdsl.machine.core.handles import synchronises
from tileas_xdsl.machine.core.meaning import Kind, facts_of, meaning_of

IDLE = frozenset({"arith", "math", "tt", "scf"})
"""Dialects whose ops touch neither shared nor tensor memory."""
BOUNDS = 3
"""The first operands of a loop: its bounds and its step."""


def steers(
    value: SSAValue, loops: frozenset[Operation] = frozenset(), told: frozenset[Operation] = frozenset()
) -> bool:
    """
    Whether anything but bounds of `loops` and the ops `told` depends on `value`, or on numbers that are computed from
    it.
    """
    stack, seen = [value], {value}
    while stack:
        for use in stack.pop().uses:
            if use.operation in told or (use.operation in loops and use.index < BOUNDS):
                continue
            if _decides(use):
                return True
            for reached in numbers_reached(use):
                if reached not in seen:
                    seen.add(reached)
                    stack.append(reached)
    return False


def steers_through(use: Use) -> bool:
    """Whether anything depends on the value of `use` by way of that use."""
    return _decides(use) or any(map(steers, numbers_reached(use)))


def _decides(use: Use) -> bool:
    op = use.operation
    if use.index < facts_of(op).deciding:
        return True
    if isinstance(op, arith.SelectOp) and isinstance(op.result.type, MemDescType):
        return use.index == 0  # It picks the memory that is used.
    if (
        op.name.partition(".")[0] in IDLE
        or isinstance(op, WarpSpecializePartitionsOp)
        or not is_number(op.operands[use.index])
    ):
        return False
    return use.index not in positions_that_may_move(op)


def numbers_reached(use: Use) -> Iterator[SSAValue]:
    """The numbers that are computed from an operand, or are what it is handed on as."""
    return filter(is_number, _reached(use))


def _reached(use: Use) -> Iterator[SSAValue]:
    names = names_behind(use)
    yield from use.operation.results if names is None else names


def is_number(value: SSAValue) -> bool:
    """Whether `value` is one integer."""
    return isinstance(value.type, IntegerType | IndexType)


# Branches -------------------------------------------------------------------------------------------------------------


def idle_branches(function: Operation) -> Iterator[scf.IfOp]:
    """The branches that only compute, and access global memory."""
    return (op for op in function.walk() if isinstance(op, scf.IfOp) and not _is_constant(op.cond) and _is_idle(op))


def take_idle_branches(function: Operation) -> None:
    """Let the first side of idle branches run."""
    for op in list(idle_branches(function)):
        _set_condition(op, 1)


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, arith.ConstantOp)


def _is_idle(branch: scf.IfOp) -> bool:
    if any(map(is_number, branch.results)):
        return False
    return all(_does_nothing(op) for region in branch.regions for op in region.walk())


def _does_nothing(op: Operation) -> bool:
    """Of an op by itself, without those in its regions; a branch only goes on."""
    if isinstance(op, cf.ConditionalBranchOp):
        return True
    meaning = meaning_of(op)
    is_quiet = op.name.partition(".")[0] in IDLE or (meaning is not None and meaning.kind is Kind.PURE)
    return is_quiet and not synchronises(op) and not facts_of(op).calls


def _set_condition(op: Operation, taken: int) -> None:
    """Let the branch `op` go to its first side or block if `taken` is 1, and to the other one if it is 0."""
    always = arith.ConstantOp.from_int_and_width(taken, 1)
    Rewriter.insert_op(always, InsertPoint.before(op))
    op.operands[0] = always.result


# Returns --------------------------------------------------------------------------------------------------------------


def early_returns(function: Operation) -> Iterator[cf.ConditionalBranchOp]:
    """The branches to a return in front of which nothing is done, in their order."""
    block = function.regions[0].first_block
    while block is not None and all(_does_nothing(op) for each in block.ops for op in each.walk()):
        branch = block.last_op
        if not isinstance(branch, cf.ConditionalBranchOp):
            return
        returns = [_only_returns(target) for target in (branch.then_block, branch.else_block)]
        if returns.count(True) != 1:
            return
        if not _is_constant(branch.cond):
            yield branch
        block = branch.else_block if returns[0] else branch.then_block
        if len(block.predecessors()) != 1:
            return


def leave_out_early_returns(function: Operation) -> bool:
    """Let the work be done always. Returns whether there was such a branch."""
    found = list(early_returns(function))
    for branch in found:
        _set_condition(branch, int(not _only_returns(branch.then_block)))
    return bool(found)


def _only_returns(block: Block) -> bool:
    return isinstance(block.first_op, ReturnOp)


# Uses -----------------------------------------------------------------------------------------------------------------


def idle_uses(counts: Iterable[SSAValue]) -> dict[SSAValue, list[Use]]:
    """Of `counts` and the numbers computed from them, those that something depends on: the uses that decide nothing."""
    found: dict[SSAValue, list[Use]] = {}
    stack = list(counts)
    seen = set(stack)
    while stack:
        number = stack.pop()
        if not steers(number):
            continue
        uses = list(number.uses)
        if idle := [use for use in uses if not steers_through(use)]:
            found[number] = idle
        reached = [each for use in uses for each in numbers_reached(use) if each not in seen]
        seen.update(reached)
        stack.extend(reached)
    return found
