"""
Loads of fragments come down to where they are used, where otherwise too many registers would wait for their products.

    %a0, %a1, .. = ldmatrix     all of A                 %a0 = ldmatrix; %b0 = ldmatrix
    %b0, %b1, .. = ldmatrix     all of B          ->     %d0 = mma.sync %a0, %b0, ..
    mbarrier.arrive             the slot is free         %a1 = ldmatrix; ..
    %d0 = mma.sync %a0, %b0, ..                          mbarrier.arrive

A slot is given back as soon as it is read, which lets the producer go on; where the fragments of a slot do not fit into
registers beside the accumulator, that would cost more than it gains, so it is given back behind the products. Loads
pass nothing else that synchronises, stores or branches: they read what they read before.

Numbers that nobody needs yet come behind the first product that a turn has to start soon:

    %next = addi %slot, 1; ..             mbarrier.try_wait
    mbarrier.try_wait              ->     wgmma
    wgmma                                 %next = addi %slot, 1; ..
    wgmma                                 wgmma

Between the last product of a turn and the first one of the next turn the tensor core has little left to do. So threads
compute the next slot while it multiplies, and not in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from tileas_xdsl.dialects.extensions.llvm_values import ExtractElementOp
from tileas_xdsl.dialects.nvvm.mbarrier import MBarrierArriveOp, MBarrierTryWaitParityOp
from tileas_xdsl.dialects.nvvm.warp_matrix import LdMatrixOp, MmaSyncOp
from tileas_xdsl.dialects.nvvm.wgmma import WgmmaMmaAsyncOp

PARTS = (llvm.ExtractValueOp, llvm.BitcastOp, llvm.InsertElementOp, ExtractElementOp)
"""What takes apart and puts together what is loaded."""
MOST_REGISTERS = 255
"""Of a thread (CUDA C++ Programming Guide, technical specifications)."""
FOR_ADDRESSES = 32
"""About as many registers are kept for addresses, counts and what is under way."""


def sink_loads(root: Operation) -> None:
    """Move loads of fragments down to their uses, in each block of `root` whose products want too many registers."""
    for op in root.walk():
        for region in op.regions:
            for block in region.blocks:
                if _registers(block) > MOST_REGISTERS - FOR_ADDRESSES:
                    _release_late(block)
                    _sink(block)


def _registers(block: Block) -> int:
    """The registers of all fragments that a block loads, and of the sums that its products begin with."""
    loaded = sum(op.num.value.data for op in block.ops if isinstance(op, LdMatrixOp))
    products = [op for op in block.ops if isinstance(op, MmaSyncOp)]
    if not loaded or not products:
        return 0
    made: set[object] = {result for op in products for result in op.results}
    sums = {operand for op in products for operand in op.c if not _comes_from(operand.owner, made)}
    return loaded + len(sums)


def _comes_from(owner: Operation | Block, made: set[object]) -> bool:
    return isinstance(owner, llvm.ExtractValueOp) and owner.container in made


def _release_late(block: Block) -> None:
    """Move arrivals between loads and their products behind the products."""
    for stretch in _stretches(block, MBarrierArriveOp):
        products = [op for op in stretch if isinstance(op, MmaSyncOp)]
        if not products:
            continue
        last = stretch.index(products[-1])
        point = InsertPoint.after(products[-1])
        for arrival in [op for op in stretch[:last] if isinstance(op, MBarrierArriveOp)]:
            arrival.detach()
            Rewriter.insert_op(arrival, point)


def _sink(block: Block) -> None:
    """From the last op to the first, so that what uses a load has moved before."""
    stretch = {op: number for number, ops in enumerate(_stretches(block)) for op in ops}
    place = {op: number for number, op in enumerate(block.ops)}
    for op in reversed(list(block.ops)):
        if not isinstance(op, (LdMatrixOp, *PARTS)):
            continue
        users = [block.find_ancestor_op_in_block(use.operation) for result in op.results for use in result.uses]
        known = [user for user in users if user is not None]
        if not known or len(known) < len(users):
            continue
        first = _first(known, place)
        if isinstance(op, LdMatrixOp) and stretch[first] != stretch[op]:
            continue
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(first))
        place[op], stretch[op] = place[first], stretch[first]


def _first(ops: Sequence[Operation], place: Mapping[Operation, int]) -> Operation:
    """The first of some ops of a block; those that have moved have the place of the op in front of which they stand."""
    least = min(place[op] for op in ops)
    return reduce(
        lambda one, other: other if other.is_before_in_block(one) else one, (o for o in ops if place[o] == least)
    )


def _stretches(block: Block, *passed: type[Operation]) -> Iterator[list[Operation]]:
    """Ops between which nothing changes what is loaded, or when: cut where one has effects that is not `passed`."""
    found: list[Operation] = []
    for op in list(block.ops):
        if not isinstance(op, (LdMatrixOp, MmaSyncOp, *passed)) and not is_side_effect_free(op):
            yield found
            found = []
        found.append(op)
    yield found


# Numbers --------------------------------------------------------------------------------------------------------------


def delay_numbers(root: Operation) -> None:
    """Move such numbers, in each block of `root` that waits at a barrier and then starts a product of a warpgroup."""
    for op in root.walk():
        for region in op.regions:
            for block in region.blocks:
                _delay(block)


def _delay(block: Block) -> None:
    waits = [op for op in block.ops if isinstance(op, MBarrierTryWaitParityOp)]
    started = waits[-1] if waits else None
    while started is not None and not isinstance(started, WgmmaMmaAsyncOp):
        started = started.next_op
    if started is None:
        return
    behind, op = InsertPoint.after(started), waits[-1].prev_op
    while op is not None:
        before = op.prev_op
        if _is_number(op) and _is_needed_behind(op, started):
            op.detach()
            Rewriter.insert_op(op, behind)
            behind = InsertPoint.before(op)
        op = before


def _is_number(op: Operation) -> bool:
    if op.regions or not is_side_effect_free(op):
        return False
    return all(isinstance(result.type, IndexType | IntegerType) for result in op.results)


def _is_needed_behind(op: Operation, point: Operation) -> bool:
    """Whether all that use an op stand behind `point`, in its block or within what stands there."""
    block = point.parent
    assert block is not None
    users = [block.find_ancestor_op_in_block(use.operation) for result in op.results for use in result.uses]
    return bool(users) and all(user is not None and point.is_before_in_block(user) for user in users)
