"""
Tiles are for all threads of an agent: what tells threads apart decides nothing about them, but that one starts TMA.

    %is_first = arith.cmpi eq, %thread, %c0
    scf.if %is_first { nv_tileas.async.tiled_load %x[%i], %slot }        the others would not copy their parts
    nv_tileaa.tiled_store %x[%thread], %v                                each would store a part of another tile

What follows from the number of a thread is followed forward, through branches and loops.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, scf
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.analysis.thread_blocks import OF_ONE_THREAD, is_for_tiles
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.diagnostics import refuse as refuse_op
from tileas_xdsl.dialects.nvvm.registers import ThreadIdXOp

TOGETHER = "let all threads of the agent do it, at one place"


def refuse_parted_tiles(function: func.FuncOp) -> None:
    """Raises `RefusedError` on the first op on tiles that some threads do, or each at a place of its own."""
    numbers = [op.results[0] for op in function.body.walk() if isinstance(op, ThreadIdXOp)]
    for user in _users_of_what_follows(numbers):
        if isinstance(user, scf.IfOp | scf.ForOp | scf.WhileOp):
            parted = next((op for op in user.walk() if is_for_tiles(op) and op_name(op) not in OF_ONE_THREAD), None)
            if parted is not None:
                refuse_op(parted, "is done by some threads of an agent, and tiles by all of them", TOGETHER)
        elif is_for_tiles(user):
            refuse_op(user, "takes a number that differs between threads", TOGETHER)


def _users_of_what_follows(values: Sequence[SSAValue]) -> dict[Operation, None]:
    """The ops that take one of `values`, or what may be another value where one of them is."""
    seen, worklist = set(values), list(values)
    users: dict[Operation, None] = {}
    while worklist:
        for use in worklist.pop().uses:
            users[use.operation] = None
            found = [value for value in _follows(use.operation) if value not in seen]
            seen.update(found)
            worklist += found
    return users


def _follows(op: Operation) -> list[SSAValue]:
    """What may be another value where an operand of `op` is."""
    around = op.parent_op() if isinstance(op, scf.YieldOp | scf.ConditionOp) else op
    if around is None:
        return []
    arguments = [argument for region in around.regions for block in region.blocks for argument in block.args]
    return [*around.results, *arguments]
