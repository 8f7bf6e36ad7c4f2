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

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from tileas_xdsl.analysis.threads.products import Product
from tileas_xdsl.analysis.threads.tiles import tile_of
from tileas_xdsl.dialects.nv_tileas.layout import form_of
from tileas_xdsl.dialects.nvvm.matrix_attributes import WGMMAType
from tileas_xdsl.dialects.nvvm.register_products import K, RegisterProduct
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.forms import Mma
from tileas_xdsl.layouts.fragments import fragment
from tileas_xdsl.transforms.to_llvm.tiles.accumulators import rows_of_all
from tileas_xdsl.transforms.to_llvm.tiles.operands import Descriptors, Fragments, Matrix
from tileas_xdsl.transforms.to_llvm.tiles.packing import cast_bits
from tileas_xdsl.transforms.to_llvm.tiles.registers_under_way import finds_its_sums, keeps_its_registers
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads
from tileas_xdsl.transforms.to_llvm.tiles.values import Accumulators, Registers


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
