"""
Persistent loops: an `scf.while` that computes one program after the other, as long as some have not started.

    scf.while (%id = %first, %it = %begin) {
      %more = is_valid_program_id %id
      scf.condition(%more) %id, %it
    } do {
    ^bb0(%id, %it):
      ...                                    one program
      scf.yield %next, %end                  the id of the next one, from `cancel_next_program_id`
    }

What such a loop carries goes by one number everywhere: as an operand, an argument of either block, a yielded value and
a result.
"""

from __future__ import annotations

from typing import TypeGuard

from xdsl.dialects import scf
from xdsl.ir import Operation

from tileas_xdsl.dialects.nv_tileaa import control as nv_tileaa
from tileas_xdsl.dialects.nv_tileas import control as nv_tileas

ASKS_FOR_A_PROGRAM = (
    nv_tileaa.CancelNextProgramIdOp,
    nv_tileas.CancelNextProgramIdOp,
    nv_tileas.AsyncCancelNextProgramIdOp,
)
"""
Ops that take a program over. Each agent of a block may repeat them: the answer to the k-th question of an agent is the
k-th program that the block takes over.
"""


def is_persistent_loop(op: Operation | None) -> TypeGuard[scf.WhileOp]:
    """Whether `op` is a loop of the shape above: it tests an id that it carries, and carries the same values on."""
    if not isinstance(op, scf.WhileOp) or len(op.before_region.blocks) != 1:
        return False
    block = op.before_region.block
    match tuple(block.ops):
        case (nv_tileaa.IsValidProgramIdOp() as test, scf.ConditionOp() as condition):
            return (
                test.program_id in block.args
                and condition.condition is test.result
                and tuple(condition.args) == tuple(block.args)
            )
        case _:
            return False


def carried_id(loop: scf.WhileOp) -> int:
    """Which of the values that a persistent loop carries is the id of the program."""
    block = loop.before_region.block
    test = block.first_op
    assert isinstance(test, nv_tileaa.IsValidProgramIdOp)
    return block.args.index(test.program_id)
