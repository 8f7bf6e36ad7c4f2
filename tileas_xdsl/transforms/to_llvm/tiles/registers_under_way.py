"""
What of a product by `wgmma` is in registers while it goes on, as names of tiles tell: its sums, and an A.

    %d, %done = async.dot %w, %v, %c        %c: may another product still be adding to it?
    async.wait %done                        up to here %w is read: is it sure that nothing is written there before?

Both are asked of names, through loops and branches. What is not seen is answered for the worse.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tileas_xdsl.analysis.threads.products import Product
from tileas_xdsl.analysis.value_flow import carried_to, handed_by
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp, ViewOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp

# A --------------------------------------------------------------------------------------------------------------------


def keeps_its_registers(op: Product) -> bool:
    """
    Whether nothing is written into the registers of A until a product has been waited for. In its own block the wait
    takes them (`nvvm_rules.accumulators`); if a loop turns before, the next A has to be made behind the wait.
    """
    ways: list[tuple[SSAValue, Operation]] = [(op.done, op)] if isinstance(op, AsyncDotOp) else []
    while ways:
        token, maker = ways.pop()
        if any(wait.parent is maker.parent for wait in _waits_for(token)):
            continue
        for use in token.uses:
            names = carried_to(use)
            if names is None and isinstance(use.operation, AsyncWaitOp):
                continue
            if names is None or not isinstance(behind := names[-1], OpResult):
                return False
            if not isinstance(behind.op, scf.ForOp | scf.IfOp):
                return False
            turns = isinstance(use.operation, scf.YieldOp) and isinstance(behind.op, scf.ForOp)
            if turns and not _is_made_behind_a_wait(op.a, names[0]):
                return False
            ways.append((behind, behind.op))
    return True


def _is_made_behind_a_wait(a: SSAValue, before: SSAValue) -> bool:
    """Whether a turn waits for what it gets of the turn before, which is `before`, and makes its own A behind that."""
    while isinstance(a.owner, ConvertLayoutOp | ViewOp):
        a = a.owner.operands[0]
    body = before.owner
    assert isinstance(before, BlockArgument)
    assert not isinstance(body, Operation)
    made = body.find_ancestor_op_in_block(a.owner) if isinstance(a.owner, Operation) else None
    waits = [wait for wait in _waits_for(before) if wait.parent is body]
    return made is not None and any(wait.is_before_in_block(made) for wait in waits)


def _waits_for(token: SSAValue) -> list[Operation]:
    return [use.operation for use in token.uses if isinstance(use.operation, AsyncWaitOp)]


# Sums -----------------------------------------------------------------------------------------------------------------


def finds_its_sums(op: Product) -> bool:
    """Whether what a product adds to is there by then, whichever way it came."""
    return not any(_is_under_way(*each) for each in _makers(op.c, op))


def _is_under_way(maker: Operation | None, user: Operation) -> bool:
    """Whether the tensor core may still be writing what `maker` gives when it reaches `user`; None: who knows."""
    if maker is None:
        return True
    if not isinstance(maker, AsyncDotOp):
        return False
    block = maker.parent
    assert block is not None
    reached = block.find_ancestor_op_in_block(user)
    return reached is None or not any(
        wait.parent is block and wait.is_before_in_block(reached) for wait in _waits_for(maker.done)
    )


def _makers(value: SSAValue, user: Operation) -> Iterator[tuple[Operation | None, Operation]]:
    """The ops that make what `user` sees of a value, through loops and branches, and who takes it from each of them."""
    ways = [(value, user)]
    seen: set[tuple[SSAValue, Operation]] = set()  # one value may be taken in front of a wait and behind it
    while ways:
        if (way := ways.pop()) in seen:
            continue
        seen.add(way)
        value, user = way
        handed = handed_by(value)
        if handed is not None:
            ways += handed
        elif isinstance(value, OpResult) and not value.op.regions:
            yield value.op, user
        else:
            yield None, user
