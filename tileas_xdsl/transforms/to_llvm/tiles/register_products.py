"""
Products by `wgmma` of an A that is in registers, where each thread holds just what the instructions take of it.

    %w = convert_layout %p : acc -> a            the same registers by other names: the weights of attention
    %o, %done = async.dot %w, %v, %kept          for each 64 rows one op of the fixed form; commit_group

The form is `dialects.nvvm.register_products`: it fences what was written before, takes the sums by one name and gives
them by another, so they have to be there. Sums that products hand to one another while these go on cannot be moved;
there A goes through shared memory (`staged`), as it does where threads hold other parts of it, and where the next turn
of a loop makes its A while the product of this one goes on. (PTX ISA, "Register Fragments for
wgmma.mma_async.m64nNk16".)

What of a product by `wgmma` is in registers while it goes on, as names of tiles tell: its sums, and an A.

    %d, %done = async.dot %w, %v, %c        %c: may another product still be adding to it?
    async.wait %done                        up to here %w is read: is it sure that nothing is written there before?

Both are asked of names, through loops and branches. What is not seen is answered for the worse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import i32
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tileas_xdsl.analysis.threads.products import Product
from tileas_xdsl.analysis.threads.tiles import tile_of
from tileas_xdsl.analysis.value_flow import carried_to, handed_by
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.layout import form_of
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp, ViewOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.dialects.nvvm.matrix_attributes import WGMMAType
from tileas_xdsl.dialects.nvvm.register_products import K, RegisterProduct
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.forms import Mma
from tileas_xdsl.layouts.fragments import fragment
from tileas_xdsl.transforms.to_llvm.tiles.accumulators import columns_of_all, rows_of_all
from tileas_xdsl.transforms.to_llvm.tiles.operands import Descriptors, Fragments, Matrix
from tileas_xdsl.transforms.to_llvm.tiles.packing import cast_bits
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads
from tileas_xdsl.transforms.to_llvm.tiles.values import Accumulators, Registers

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


def takes_registers(op: Product) -> bool:
    """Whether the form does a product: its A lies as the instructions take it, and its sums are there by then."""
    form, a = form_of(op.c.type), tile_of(op.a.type)
    if not isinstance(form, Mma) or a is None or not a.in_registers or a.bits * K != 256:
        return False
    try:
        wanted = fragment(form.shape, "a", a.bits, form.warps, (a.layout.shape[0], a.layout.shape[1]))
    except LayoutError:
        return False
    return a.layout == wanted and keeps_its_registers(op) and finds_its_sums(op)


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
    columns = range(0, held.tile.layout.shape[1], columns_of_all(form))
    sums: list[SSAValue] = []
    for struct, (row, column) in zip(held.structs, [(r, c) for r in rows for c in columns], strict=True):
        parts = [_words(threads, a, fragments.numbers(row, step)) for step in range(len(steps))]
        words = [descriptors.at(column, k) for k in steps]
        sums.append(threads.result(product.built(struct, parts, words)))
    return Accumulators(held.tile, tuple(sums))


def _words(threads: Threads, a: Registers, numbers: Sequence[int]) -> list[SSAValue]:
    """The registers of A for one instruction: pairs of neighbours in K, as bits."""
    return [cast_bits(threads, a.values[number // a.tile.packed], i32) for number in numbers[:: a.tile.packed]]
