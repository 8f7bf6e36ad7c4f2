"""
Which columns of tensor memory the sums of products lie in, as `tileas-place-accumulators` has said.

    %sum, %done = async.dot %a, %b, %begun {nv_tileas.columns = [0, 128]}      column 0 and the 127 behind

All names that control flow gives a sum have its columns. Scale factors are copied into columns of their own in front of
a product, of a ring into others for each slot:

    %sum, .. = async.dot .., %sfa, %sfb {nv_tileas.scale_columns = [128, 16, 144, 16]}   of A from 128 on, of B from 144
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, IntegerAttr
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.analysis.value_flow import names_behind
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.structure import CopyOp
from tileas_xdsl.layouts.tensor_memory import COLUMNS

MOST = COLUMNS
"""The columns that a block can allocate."""
LEAST = 32
"""The fewest; their number is a power of two (PTX ISA, "tcgen05.alloc")."""
COLUMNS_OF = "nv_tileas.columns"
"""The attribute of a product, or of a copy into tensor memory, that says its first column and their number."""


SCALE_COLUMNS_OF = "nv_tileas.scale_columns"
"""The attribute of a product that says first column and number of columns of the factors of A, and the same of B."""


@dataclass(frozen=True)
class Columns:
    """Neighbouring columns, of all 128 lanes."""

    first: int
    count: int

    @property
    def end(self) -> int:
        """Behind the last one."""
        return self.first + self.count


def columns_in(function: Operation) -> dict[SSAValue, Columns]:
    """The columns of each name of a tile in tensor memory."""
    found: dict[SSAValue, Columns] = {}
    for op in function.walk():
        columns = columns_of(op)
        if columns is not None:
            _spread(op.results[0], columns, found)
    return found


class ColumnsOf:
    """The columns of the tiles of a function in tensor memory."""

    def __init__(self, function: Operation) -> None:
        self._found = columns_in(function)

    def of(self, name: SSAValue) -> Columns:
        """Those of a tile that lies there."""
        return self._found[name]


def columns_of(op: Operation) -> Columns | None:
    """What an op says of the columns of its result."""
    said = op.attributes.get(COLUMNS_OF)
    if not isinstance(op, AsyncDotOp | CopyOp) or not isinstance(said, ArrayAttr):
        return None
    first, count = cast("ArrayAttr[IntegerAttr]", said)
    return Columns(first.value.data, count.value.data)


def scale_columns_of(op: Operation) -> tuple[Columns, Columns] | None:
    """What a product says of the columns of its scale factors."""
    said = op.attributes.get(SCALE_COLUMNS_OF)
    if not isinstance(said, ArrayAttr):
        return None
    a, count_a, b, count_b = (each.value.data for each in cast("ArrayAttr[IntegerAttr]", said))
    return Columns(a, count_a), Columns(b, count_b)


def _spread(name: SSAValue, columns: Columns, found: dict[SSAValue, Columns]) -> None:
    """A name, and all that control flow makes of it."""
    if name in found:
        return
    found[name] = columns
    for use in name.uses:
        for behind in names_behind(use) or ():
            _spread(behind, columns, found)


def stores_nothing(op: CopyOp) -> bool:
    """Whether zeros are copied into tensor memory, and only products add to them: these need not add, then."""
    source = op.source.owner
    value = source.value if isinstance(source, arith.ConstantOp) else None
    if columns_of(op) is None or not isinstance(value, DenseIntOrFPElementsAttr) or not value.is_splat():
        return False
    return not any(value.get_values()) and all(isinstance(use.operation, AsyncDotOp) for use in op.outputs[0].uses)


def allocated(function: Operation) -> int:
    """How many columns a function has to allocate: 0 where it uses none."""
    scales = [columns for op in function.walk() for columns in scale_columns_of(op) or ()]
    most = max((columns.end for columns in (*columns_in(function).values(), *scales)), default=0)
    return max(LEAST, 1 << (most - 1).bit_length()) if most else 0
