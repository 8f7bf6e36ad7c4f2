"""
What MLIR refuses of branches between blocks, of `cf` and of `llvm`, and xDSL does not: arguments that the block does
not take.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import cf, llvm
from xdsl.ir import Block, Dialect, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.extensions import give_check


def _verify_jump(op: Operation) -> None:
    assert isinstance(op, cf.BranchOp | llvm.BrOp)
    _verify_target(0, op.successor, op.arguments)


def _verify_branch(op: Operation) -> None:
    assert isinstance(op, cf.ConditionalBranchOp | llvm.CondBrOp)
    _verify_target(0, op.then_block, op.then_arguments)
    _verify_target(1, op.else_block, op.else_arguments)


def _verify_target(number: int, block: Block, arguments: Sequence[SSAValue]) -> None:
    if len(arguments) != len(block.args):
        raise VerifyException(
            f"branch has {len(arguments)} operands for successor #{number}, but target block has {len(block.args)}"
        )
    for place, (given, taken) in enumerate(zip(arguments, block.args, strict=True)):
        if given.type != taken.type:
            raise VerifyException(f"type mismatch for bb argument #{place} of successor #{number}")


def check_branches_of_cf() -> None:
    give_check(cf.BranchOp, _verify_jump)
    give_check(cf.ConditionalBranchOp, _verify_branch)


def check_branches_of_llvm() -> None:
    give_check(llvm.BrOp, _verify_jump)
    give_check(llvm.CondBrOp, _verify_branch)


def extended(dialect: Dialect) -> Dialect:
    """xDSL's `cf`, whose branches refuse what MLIR refuses."""
    check_branches_of_cf()
    return dialect
