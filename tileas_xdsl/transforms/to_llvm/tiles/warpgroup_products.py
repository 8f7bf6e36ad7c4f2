"""
Products by `wgmma`: a warpgroup multiplies tiles of shared memory into its registers, while it goes on.

    %sum, %done = async.dot %a, %b, %acc       wgmma.fence, a chain of mma_async for each 64 rows, commit_group
    async.wait %done                           wgmma.wait_group N: N groups were committed since that of %done

A product that adds to a constant of zeros has a first instruction that does not add (PTX ISA, `scale-d`). N is the age
of the token: the least number of groups on any path from its product to the wait. A product that is no async one waits
for itself. An A that is in registers stays there where it can (`register_products`), and else has been staged in shared
memory, in the form in which the tensor core finds it there. (PTX ISA, "Asynchronous Warpgroup Level Matrix
Multiply-Accumulate Instructions".)
"""

from __future__ import annotations

from functools import cache

from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, DenseIntOrFPElementsAttr, Float16Type, Float32Type, IntAttr, TensorType
from xdsl.dialects.llvm import ExtractValueOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from tileas_xdsl.analysis.threads.products import QUEUE, Product, is_in_tensor_memory, is_of_warpgroup
from tileas_xdsl.analysis.threads.stores import stores_behind, waits_at_once
from tileas_xdsl.analysis.threads.tiles import Tile, tile_of
from tileas_xdsl.diagnostics import refuse as refuse_op
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr, form_of
from tileas_xdsl.dialects.nv_tileas.memory import AsyncTiledLoadOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.dialects.nvvm.matrix_attributes import MMALayout, MMAShapeAttr, WGMMAType
from tileas_xdsl.dialects.nvvm.wgmma import (
    WgmmaFenceAlignedOp,
    WgmmaGroupSyncAlignedOp,
    WgmmaMmaAsyncOp,
    WgmmaWaitGroupSyncOp,
)
from tileas_xdsl.layouts.access import LaneAccess, accesses
from tileas_xdsl.layouts.defaults import in_shared_memory
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.forms import Mma
from tileas_xdsl.transforms.to_llvm.tiles import tensor_memory
from tileas_xdsl.transforms.to_llvm.tiles.accumulators import columns_of_all, rows_of_all, unwritten
from tileas_xdsl.transforms.to_llvm.tiles.copies import await_loads
from tileas_xdsl.transforms.to_llvm.tiles.operands import Descriptors, Matrix
from tileas_xdsl.transforms.to_llvm.tiles.register_products import multiply_registers, takes_registers
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads, refusal, rule
from tileas_xdsl.transforms.to_llvm.tiles.tensor_copies import await_stores
from tileas_xdsl.transforms.to_llvm.tiles.values import Accumulators, Nothing


@cache
def staged_tile(tile: Tile) -> Tile:
    """The same tile in shared memory, as TMA would write it."""
    layout = LayoutAttr.of("smem", form=in_shared_memory(tile.layout.shape, tile.bits))
    found = tile_of(TensorType(tile.element, tile.type.get_shape(), layout))
    assert found is not None
    return found


def _access(tile: Tile) -> LaneAccess | None:
    found = accesses(tile.layout, staged_tile(tile).layout, tile.bits, matrix=True)
    return next((each for each in found if not each.needs_select), None)


def no_staging(tile: Tile) -> str | None:
    """Why an operand in registers cannot go through shared memory."""
    try:
        access = _access(tile)
    except LayoutError as error:
        return f"has an A in registers that cannot be stored: {error}"
    return None if access is not None else "has an A in registers of which lanes would store different ones at once"


FACTORS: dict[type[Attribute], WGMMAType] = {Float16Type: WGMMAType.F16, BFloat16Type: WGMMAType.BF16}
"""Element types of A and B."""


# Waits ----------------------------------------------------------------------------------------------------------------


@rule(AsyncWaitOp)
def _wait(op: AsyncWaitOp, threads: Threads) -> None:
    if stores := stores_behind(op.token):
        if not all(map(waits_at_once, stores)):
            await_stores(op, threads)
        return
    if isinstance(op.token.owner, AsyncTiledLoadOp):
        await_loads(threads)
        return
    age = threads.ages.age(op.token, op)
    if age is None:
        return
    if age.queue != QUEUE:
        refuse_op(op, "waits for something else than a product", "let pipelines hand over what is loaded")
    if threads.tensor is not None:
        tensor_memory.await_products(op, threads)
        return
    await_products(threads, age.count)


def await_products(threads: Threads, count: int) -> None:
    """
    Wait until no more than `count` groups are on their way. A wait right behind another one takes its place: ptxas lets
    products go on one by one where it meets two in a row. Where a sum is taken apart between them, the first one is for
    that sum, and stays.
    """
    before = threads.block.last_op
    while before is not None and is_side_effect_free(before) and not isinstance(before, ExtractValueOp):
        before = before.prev_op
    if isinstance(before, WgmmaWaitGroupSyncOp):
        count = min(count, before.group.value.data)
        Rewriter.erase_op(before)
    threads.insert(WgmmaWaitGroupSyncOp(count))


# Products -------------------------------------------------------------------------------------------------------------


@rule(AsyncDotOp)
def _async_dot(op: AsyncDotOp, threads: Threads) -> None:
    if is_in_tensor_memory(op):
        tensor_memory.multiply(op, threads)
        return
    multiply(op, threads)
    threads.give(op.done, Nothing())


def multiply_at_once(op: DotOp, threads: Threads) -> None:
    """Start a product and wait for it."""
    multiply(op, threads)
    await_products(threads, 0)


def multiply(op: Product, threads: Threads) -> None:
    """Start a product, as a group of its own."""
    form = form_of(op.c.type)
    assert isinstance(form, Mma)
    if takes_registers(op):
        _multiply_registers(op, threads)
        return
    tiles, (a, b) = (threads.tile(op.a), threads.tile(op.b)), operands(op)
    adds = not _is_zero(op.c)
    held = threads.accumulators(op.c) if adds else unwritten(threads.result, threads.registers(op.c).tile)
    assert isinstance(a, Matrix)
    assert isinstance(b, Matrix)
    left, right = (Descriptors(threads, matrix, tile, form) for matrix, tile in zip((a, b), tiles, strict=True))
    steps = range(0, a.tile.layout.shape[1], form.shape.k)
    places = [
        (row, column)
        for row in range(0, held.tile.layout.shape[0], rows_of_all(form))
        for column in range(0, held.tile.layout.shape[1], columns_of_all(form))
    ]
    threads.insert(WgmmaFenceAlignedOp())
    sums: list[SSAValue] = []
    for struct, (row, column) in zip(held.structs, places, strict=True):
        for k in steps:
            words = left.at(row, k), right.at(column, k)
            struct = _instruction(threads, form, struct, words, (a, b), accumulates=adds or k > 0)
        sums.append(struct)
    threads.insert(WgmmaGroupSyncAlignedOp())
    threads.give(_sum_of(op), Accumulators(held.tile, tuple(sums)))


def _multiply_registers(op: Product, threads: Threads) -> None:
    """Start a product whose A is in registers, and stays there."""
    a, b = threads.registers(op.a), threads.tile(op.b)
    matrix = Matrix.of(b.tile, 1)
    assert isinstance(matrix, Matrix)
    held, form = threads.accumulators(op.c), form_of(op.c.type)
    assert isinstance(form, Mma)
    factors = FACTORS[type(a.tile.element)]
    sums = multiply_registers(threads, factors, a, (matrix, Descriptors(threads, matrix, b, form)), held)
    threads.insert(WgmmaGroupSyncAlignedOp())
    threads.give(_sum_of(op), sums)


def _sum_of(op: Product) -> SSAValue:
    return op.results[0]


def operands(op: Product) -> tuple[Matrix | str, Matrix | str]:
    """A and B in shared memory, or why they cannot be read there."""
    a, b = tile_of(op.a.type), tile_of(op.b.type)
    if a is None or b is None or b.in_registers:
        return f"reads {op.b.type} by wgmma, and B has to lie in shared memory", ""
    if a.in_registers:
        return no_staging(a) or "reads an A in registers that has to be staged: run tileas-place-tiles before", ""
    return Matrix.of(a, 0), Matrix.of(b, 1)


def _instruction(
    threads: Threads,
    form: Mma,
    struct: SSAValue,
    words: tuple[SSAValue, SSAValue],
    matrices: tuple[Matrix, Matrix],
    *,
    accumulates: bool,
) -> SSAValue:
    a, b = matrices
    shape, kind = form.shape, FACTORS[type(a.tile.element)]
    layouts = (MMALayout.ROW if a.is_k_major else MMALayout.COL, MMALayout.COL if b.is_k_major else MMALayout.ROW)
    extents = MMAShapeAttr(*map(IntAttr, (shape.m, shape.n, shape.k)))
    kinds = (kind, kind, WGMMAType.F32)
    return threads.result(WgmmaMmaAsyncOp(struct, words, extents, kinds, layouts=layouts, accumulates=accumulates))


def _is_zero(value: SSAValue) -> bool:
    """Whether a product adds to nothing, which its first instruction need not read."""
    op = value.owner
    if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, DenseIntOrFPElementsAttr):
        return False
    return op.value.is_splat() and next(iter(op.value.iter_values())) == 0


# Refusals -------------------------------------------------------------------------------------------------------------


@refusal(AsyncDotOp)
def no_instruction(op: Product) -> tuple[str, str] | None:
    """Why the tensor core does no such product by itself."""
    if isinstance(op, AsyncDotOp) and is_in_tensor_memory(op):
        return tensor_memory.no_product(op)
    if not is_of_warpgroup(op):
        return "has a sum that wgmma does not compute", "run the driver with layouts=true for sm_90"
    if len(op.operands) > 3:
        return "has scale factors or a condition", "compile it for sm_100"
    kinds = [tile.element for tile in map(tile_of, (value.type for value in (op.a, op.b))) if tile is not None]
    tile = tile_of(op.c.type)
    known = len(kinds) == 2 and kinds[0] == kinds[1] and type(kinds[0]) in FACTORS
    if not known or tile is None or not isinstance(tile.element, Float32Type):
        return f"multiplies {op.a.type} and {op.b.type} into {op.c.type}", "use f16 or bf16 into f32"
    problem = _no_operands(op)
    return None if problem is None else (problem, "let the pipeline load it, or convert it into shared memory")


def _no_operands(op: Product) -> str | None:
    """Why the instructions cannot take A and B from where they are."""
    b = tile_of(op.b.type)
    if takes_registers(op) and b is not None and not b.in_registers and isinstance(Matrix.of(b, 1), Matrix):
        return None
    return next((each for each in operands(op) if isinstance(each, str)), None)
