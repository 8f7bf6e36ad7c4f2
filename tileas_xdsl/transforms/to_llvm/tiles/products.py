"""
Products by `mma.sync`: a tile is cut into instructions of 16 x 8 x K, each warp does those of its rows and columns.

    D[128, 128] += A[128, 64] * B[64, 128], 4 warps along M        2 x 16 x 4 instructions of m16n8k16 a warp

Of f64 an instruction is 8 x 8 x 4 (PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f64").

Which registers an instruction takes is read off the layouts of the three tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IntegerType, f64, i8, i32
from xdsl.ir import Attribute, SSAValue

from tileas_xdsl.analysis.threads.products import is_of_warpgroup
from tileas_xdsl.analysis.threads.tiles import Tile, tile_of
from tileas_xdsl.dialects.extensions.llvm_values import member_of
from tileas_xdsl.dialects.nv_tileaa.attributes import Signedness
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileas.layout import form_of
from tileas_xdsl.dialects.nvvm.matrix_attributes import MMAIntOverflow, MMAType
from tileas_xdsl.dialects.nvvm.warp_matrix import MmaSyncOp
from tileas_xdsl.layouts.forms import Mma
from tileas_xdsl.transforms.to_llvm.tiles.operands import Fragments
from tileas_xdsl.transforms.to_llvm.tiles.packing import cast_bits
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads, refusal, rule
from tileas_xdsl.transforms.to_llvm.tiles.values import Registers
from tileas_xdsl.transforms.to_llvm.tiles.warpgroup_products import multiply_at_once, no_instruction

TENSOR_MEMORY = "compile it for sm_100a or sm_103a, with tiles of 32 rows and 16 columns or more"
FLOATS: dict[type[Attribute], MMAType] = {
    Float16Type: MMAType.F16,
    BFloat16Type: MMAType.BF16,
    Float32Type: MMAType.TF32,
}
"""Element types of A and B, into sums of f32. Of f32 the tensor core takes the 19 bits of a tf32."""
BYTES = {Signedness.SIGNED: MMAType.S8, Signedness.UNSIGNED: MMAType.U8}
"""Those of i8, into sums of i32."""


def _factors_of(op: DotOp) -> tuple[MMAType, MMAType] | None:
    """How mma.sync names the elements of A and B; None where it does not multiply them into this sum."""
    a, b, c = (tile_of(value.type) for value in (op.a, op.b, op.c))
    if a is None or b is None or c is None:
        return None
    if a.element == b.element == c.element == f64:
        return MMAType.F64, MMAType.F64
    if isinstance(c.element, Float32Type) and a.element == b.element and type(a.element) in FLOATS:
        return FLOATS[type(a.element)], FLOATS[type(a.element)]
    if (
        (c.element, a.element, b.element) == (i32, i8, i8)
        and op.signedness_a is not None
        and op.signedness_b is not None
    ):
        return BYTES[op.signedness_a.data], BYTES[op.signedness_b.data]
    return None


@refusal(DotOp)
def _no_instruction(op: DotOp) -> tuple[str, str] | None:
    if is_of_warpgroup(op):
        return no_instruction(op)
    tiles = [tile_of(value.type) for value in (op.a, op.b, op.c)]
    forms = [form_of(value.type) for value in (op.a, op.b, op.c)]
    if op.sfa is not None:
        return "has scale factors, which only products with sums in tensor memory take", TENSOR_MEMORY
    if len(tiles) != 3 or not all(tile is not None and tile.in_registers for tile in tiles):
        return "multiplies tiles that do not all lie in registers", "run the driver with layouts=true for sm_80"
    shapes = {form.shape for form in forms if isinstance(form, Mma)}
    operands = [form.operand for form in forms if isinstance(form, Mma)]
    if operands != ["a", "b", "acc"] or len(shapes) != 1 or next(iter(shapes)).is_wgmma:
        words = ", ".join(str(form) for form in forms)
        return (
            f"has operands in the layouts {words}, which are no fragments of one mma.sync",
            "assign layouts for sm_80",
        )
    if _factors_of(op) is None:
        return (
            f"multiplies {op.a.type} and {op.b.type} into {op.c.type}",
            "use f16, bf16 or f32 into f32, f64 into f64, or i8 into i32",
        )
    return None


@rule(DotOp)
def _dot(op: DotOp, threads: Threads) -> None:
    if is_of_warpgroup(op):
        multiply_at_once(op, threads)
        return
    a, b, c = (threads.registers(value) for value in (op.a, op.b, op.c))
    form = form_of(op.c.type)
    assert isinstance(form, Mma)
    shape, kinds = form.shape, _factors_of(op)
    assert kinds is not None
    overflow = MMAIntOverflow.WRAPPED if isinstance(c.tile.element, IntegerType) else None
    grid = Grid.of(form, a.tile, b.tile, c.tile)
    sums = list(c.values)
    for k in range(grid.steps):
        lefts = [_factor(threads, a, grid.a.numbers(m, k)) for m in range(grid.rows)]
        rights = [_factor(threads, b, grid.b.numbers(k, n)) for n in range(grid.columns)]
        for m, n in grid.order:
            numbers = grid.c.numbers(m, n)
            own = [sums[number] for number in numbers]
            extents = (shape.m, shape.n, shape.k)
            product = threads.result(MmaSyncOp(lefts[m], rights[n], own, extents, kinds, overflow=overflow))
            for position, number in enumerate(numbers):
                sums[number] = threads.result(member_of(product, position, own[position].type))
    result = tile_of(op.results[0].type)
    assert result is not None
    threads.give(op.results[0], Registers(result, tuple(sums)))


def _factor(threads: Threads, held: Registers, numbers: Sequence[int]) -> list[SSAValue]:
    """The registers of a fragment; f16 goes in as pairs, f64 as it is, everything else as bits."""
    width = held.tile.packed
    found = [held.values[number // width] for number in numbers[::width]]
    if isinstance(held.tile.element, Float16Type | Float64Type):
        return found
    return [cast_bits(threads, value, i32) for value in found]


@dataclass(frozen=True)
class Grid:
    """The instructions of a warp."""

    rows: int
    columns: int
    steps: int
    a: Fragments
    b: Fragments
    c: Fragments

    @property
    def order(self) -> Sequence[tuple[int, int]]:
        """Row and column of one product after the other; the fragments of the shorter side are those that stay."""
        if self.rows < self.columns:
            return [(m, n) for n in range(self.columns) for m in range(self.rows)]
        return [(m, n) for m in range(self.rows) for n in range(self.columns)]

    @staticmethod
    def of(form: Mma, a: Tile, b: Tile, c: Tile) -> Grid:
        """How many rows, columns and steps along K, and whose registers they take."""
        shape, (along_m, along_n) = form.shape, form.warps
        down, across = shape.m * along_m, shape.n * along_n
        m, n = c.layout.shape
        k = a.layout.shape[1]
        return Grid(
            max(1, m // down),
            max(1, n // across),
            max(1, k // shape.k),
            Fragments.of(a, form, "a", (down, shape.k)),
            Fragments.of(b, form, "b", (shape.k, across)),
            Fragments.of(c, form, "acc", (down, across)),
        )
