"""
Sub-tiles behind their loop: what is computed and stored of a tile whose halves a loop carries, half by half.

    %w = insert_slice of both halves            %r0 = divf %first, ...      %r1 = divf %second, ...
    %r = divf %w, ...                     ->    tiled_store %c[2 * %i], %r0
    tiled_store %c[%i], %r                      tiled_store %c[2 * %i + 1], %r1

So the halves never meet, and each may be the work of another agent. All that hangs on the halves is split, or nothing:
where an op needs all rows at once, the halves are put together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.dialects.nv_tileaa.memory import TiledStoreOp
from tileas_xdsl.dialects.tiles.types import extents

RowOperands = Callable[[Operation, int], Sequence[int]]
"""The operands of an op of which half of its rows needs half; none where it has no form for some of its rows."""


def plan_behind(
    loop: scf.ForOp, carried: Sequence[int], rows: int, row_operands: RowOperands
) -> dict[Operation, Sequence[int]] | None:
    """
    The ops behind `loop` that hang on its results `carried`, tiles of `rows` rows, in program order, each with its
    operands to split; None where some op needs all rows. Changes nothing.
    """
    found: dict[Operation, Sequence[int]] = {}
    waiting: list[SSAValue] = [loop.results[index] for index in carried]
    while waiting:
        for use in waiting.pop().uses:
            op = use.operation
            split = _tile_of(op) if isinstance(op, TiledStoreOp) else row_operands(op, rows)
            if use.index not in split or op.parent_block() is not loop.parent_block():
                return None
            if op not in found:
                found[op] = split
                waiting += op.results
    block = loop.parent_block()
    assert block is not None
    return {op: found[op] for op in block.ops if op in found}


def _tile_of(op: TiledStoreOp) -> Sequence[int]:
    """The operand with the tile that `op` stores, where half of it is a tile of the array, too."""
    is_plain = op.mask is None and not op.token and not op.results and isinstance(op.base.type, MemRefType)
    if not is_plain or len(op.indices) != len(extents(op.value.type)):
        return ()
    return [index for index, operand in enumerate(op.operands) if operand is op.value]


def store_halves(op: TiledStoreOp, halves: Sequence[SSAValue]) -> None:
    """Put a store of each half in front of `op`. Subscripts count tiles: the first one doubles."""
    first = op.indices[0]
    at = list(op.operands).index(first)
    two = arith.ConstantOp(IntegerAttr(len(halves), IndexType()))
    base = arith.MuliOp(first, two)
    made: list[Operation] = [two, base]
    for number, half in enumerate(halves):
        row: SSAValue = base.result
        if number:
            offset = arith.ConstantOp(IntegerAttr(number, IndexType()))
            moved = arith.AddiOp(row, offset)
            made += [offset, moved]
            row = moved.result
        operands = [half if operand is op.value else operand for operand in op.operands]
        operands[at] = row
        made.append(TiledStoreOp.create(operands=operands, properties=op.properties, attributes=op.attributes))
    for each in made:
        each.location = op.location
    Rewriter.insert_op(made, InsertPoint.before(op))
