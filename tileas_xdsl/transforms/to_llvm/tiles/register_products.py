"""
Products by `wgmma` of an A that is in registers, where each thread holds just what the instructions take of it.

    %w = convert_layout %p : acc -> a            the same registers by other names: the weights of attention
    %o, %done = async.dot %w, %v, %kept          for each 64 rows one op of the fixed form; commit_group

The form is `dialects.nvvm.register_products`: it fences what was written before, takes the sums by one name and gives
them by another, so they have to be there. Sums that products hand to one another while these go on cannot be moved;
there A goes through shared memory (`staged`), as it does where threads hold other parts of it, and where the next turn
of a loop makes its A while the product of this one goes on. (PTX ISA, "Register Fragments for
wgmma.mma_async.m64nNk16".)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import i32
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.layout import form_of
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp, ViewOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.dialects.nvvm.matrix_attributes import WGMMAType
from tileas_xdsl.dialects.nvvm.register_products import K, RegisterProduct
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.forms import Mma
from tileas_xdsl.layouts.fragments import fragment
from tileas_xdsl.transforms.to_llvm.tiles.accumulators import rows_of_all
from tileas_xdsl.transforms.to_llvm.tiles.fragments import Fragments
from tileas_xdsl.transforms.to_llvm.tiles.operands import Descriptors, Matrix
from tileas_xdsl.transforms.to_llvm.tiles.packing import cast_bits
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads
from tileas_xdsl.transforms.to_llvm.tiles.values import Accumulators, Registers, tile_of

Product = DotOp | AsyncDotOp


def takes_registers(op: Product) -> bool:
    """Whether the form does a product: its A lies as the instructions take it, and its sums are there by then."""
    form, a = form_of(op.c.type), tile_of(op.a.type)
    if not isinstance(form, Mma) or a is None or not a.in_registers or a.bits * K != 256:
        return False
    try:
        wanted = fragment(form.shape, "a", a.bits, form.warps, (a.layout.shape[0], a.layout.shape[1]))
    except LayoutError:
        return False
    return (
        a.layout == wanted and _keeps_its_registers(op) and not any(_is_under_way(*each) for each in _makers(op.c, op))
    )


def multiply_registers(
    threads: Threads, kind: WGMMAType, a: Registers, b: tuple[Matrix, Descriptors], held: Accumulators
) -> Accumulators:
    """Start the products of one A with one B, into the sums that a tile begins with."""
    form = form_of(held.tile.type)
    assert isinstance(form, Mma)
    matrix, descriptors = b
    steps = range(0, a.tile.layout.shape[1], K)
    product = RegisterProduct(form.shape.n, kind, len(steps), matrix.is_k_major)
    fragments = Fragments.of(a.tile, form, "a", (rows_of_all(form), K))
    rows = range(held.tile.layout.shape[0] // rows_of_all(form))
    columns = range(0, held.tile.layout.shape[1], form.shape.n)
    sums: list[SSAValue] = []
    for struct, (row, column) in zip(held.structs, [(r, c) for r in rows for c in columns], strict=True):
        parts = [_words(threads, a, fragments.numbers(row, step)) for step in range(len(steps))]
        words = [descriptors.at(column, k) for k in steps]
        sums.append(threads.result(product.built(struct, parts, words)))
    return Accumulators(held.tile, tuple(sums))


def _words(threads: Threads, a: Registers, numbers: Sequence[int]) -> list[SSAValue]:
    """The registers of A for one instruction: pairs of neighbours in K, as bits."""
    return [cast_bits(threads, a.values[number // a.tile.packed], i32) for number in numbers[:: a.tile.packed]]


# Whether sums are there, and registers are kept -----------------------------------------------------------------------


def _keeps_its_registers(op: Product) -> bool:
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
            user, around = use.operation, use.operation.parent_op()
            if isinstance(user, scf.YieldOp) and isinstance(around, scf.IfOp):
                ways.append((around.results[use.index], around))
            elif isinstance(user, scf.YieldOp) and isinstance(around, scf.ForOp):
                if not _is_made_behind_a_wait(op.a, around, use.index):
                    return False
                ways.append((around.results[use.index], around))
            elif isinstance(user, scf.ForOp):
                ways.append((user.results[use.index - BOUNDS], user))
            elif not isinstance(user, AsyncWaitOp):
                return False
    return True


BOUNDS = 3
"""Operands of a loop in front of what it carries."""


def _is_made_behind_a_wait(a: SSAValue, loop: scf.ForOp, number: int) -> bool:
    """Whether each turn waits for what the turn before hands on as `number`, and makes its own A behind that."""
    while isinstance(a.owner, ConvertLayoutOp | ViewOp):
        a = a.owner.operands[0]
    body = loop.body.block
    made = body.find_ancestor_op_in_block(a.owner) if isinstance(a.owner, Operation) else None
    waits = [wait for wait in _waits_for(body.args[number + 1]) if wait.parent is body]
    return made is not None and any(wait.is_before_in_block(made) for wait in waits)


def _waits_for(token: SSAValue) -> list[Operation]:
    return [use.operation for use in token.uses if isinstance(use.operation, AsyncWaitOp)]


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
    seen: set[SSAValue] = set()
    ways = [(value, user)]
    while ways:
        value, user = ways.pop()
        if value in seen:
            continue
        seen.add(value)
        handed = _handed_on(value)
        if handed is not None:
            ways += handed
        elif isinstance(value, OpResult) and not value.op.regions:
            yield value.op, user
        else:
            yield None, user


def _handed_on(value: SSAValue) -> list[tuple[SSAValue, Operation]] | None:
    """What a loop or a branch makes a value of, and the op that hands it on; None for other values."""
    if isinstance(value, BlockArgument):
        loop, number = value.block.parent_op(), value.index - 1
    else:
        assert isinstance(value, OpResult)
        loop, number = value.op, value.index
    if isinstance(loop, scf.IfOp):
        ends = [region.block.last_op for region in loop.regions]
        return [(end.operands[number], end) for end in ends if end is not None]
    if not isinstance(loop, scf.ForOp) or number < 0:
        return None
    end = loop.body.block.last_op
    assert end is not None
    return [(loop.iter_args[number], loop), (end.operands[number], end)]
