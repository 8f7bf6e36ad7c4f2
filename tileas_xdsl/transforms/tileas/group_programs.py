"""
Programs in groups of rows: neighbours in time read the same rows and columns of tiles.

    %row = get_program_id {axis = 0}         rows of 6 x 4 programs in groups of 2: the numbers are the order in time
    %col = get_program_id {axis = 1}            0  6 12 18          0  2  4  6
                                                1  7 13 19    ->    1  3  5  7
                                                2  8 14 20          8 10 12 14
                                                3  9 15 21          9 11 13 15
                                                ...                 ...

Blocks start in the order of their numbers along x first. As many as run at a time then read few rows and few columns of
tiles, so that more of what they read lies in the cache (Triton, "Matrix Multiplication", L2 cache optimizations). The
grid stays as it is, and each program is still computed once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from tileas_xdsl.dialects.nv_tileaa.control import GetNumProgramsOp, GetProgramIdOp
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.transforms.rewriting.grid_order import in_groups

ROWS, COLUMNS = 0, 1
"""The axes of a grid whose programs are put in another order."""


@dataclass(frozen=True)
class GroupProgramsPass(ModulePass):
    """
    Give the programs of a grid another order in time: down the rows of a group, then on to the next column.

    Rewrites
        `nv_tileaa.get_program_id` along the axes 0 and 1 of a function that asks for both: the ids become numbers
        computed from both and from `nv_tileaa.get_num_programs`, of the same types. The last group has the rows that
        are left.

    Requires
        No program waits for another one.

    Refuses
        A group of fewer than one row. A function that asks for one axis alone, or for ids of other types than integers
        of one width, stays as it is.

    Choices
        The numbers are computed where the ids were asked for, so a persistent loop computes them for each program.
    """

    name = "tileas-group-programs"

    DESCRIPTION: ClassVar[str] = "Let programs that run at a time share rows and columns of tiles"

    rows: int = field(default=8, metadata={"help": "rows of programs in a group; 1 or more"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.rows < 1:
            raise PassFailedException(f"{self.name}: rows={self.rows}: a group has one row or more")
        for function in functions_in(op):
            for query in _queries(function):
                _regroup(query, self.rows)


def _queries(function: Operation) -> list[GetProgramIdOp]:
    """The ids to compute anew; none where the function does not ask for rows and columns by one type."""
    asked = [op for op in function.walk() if isinstance(op, GetProgramIdOp) and op.axis.value.data in (ROWS, COLUMNS)]
    kinds = {op.result.type for op in asked}
    if {op.axis.value.data for op in asked} != {ROWS, COLUMNS} or len(kinds) != 1:
        return []
    return asked if isinstance(next(iter(kinds)), IndexType | IntegerType) else []


def _regroup(query: GetProgramIdOp, rows: int) -> None:
    """Replace `query` by what is to be asked for now."""
    made = _Numbers(query)
    across, down = made.programs(COLUMNS), made.programs(ROWS)
    number = made(arith.AddiOp, made(arith.MuliOp, made.id(COLUMNS), down), made.id(ROWS))
    row, column = in_groups(number, (down, across), rows, made)
    found = row if query.axis.value.data == ROWS else column
    found.name_hint = query.result.name_hint
    Rewriter.replace_op(query, [], [found])


class _Numbers:
    """Builds numbers of the type of a query, in front of it."""

    def __init__(self, query: GetProgramIdOp) -> None:
        self._query = query

    def __call__(self, kind: type[arith.SignlessIntegerBinaryOperation], left: SSAValue, right: SSAValue) -> SSAValue:
        return self._insert(kind(left, right))

    def id(self, axis: int) -> SSAValue:
        return self._insert(GetProgramIdOp(axis, self._query.result.type, self._query.program))

    def programs(self, axis: int) -> SSAValue:
        return self._insert(GetNumProgramsOp(axis, self._query.result.type))

    def constant(self, number: int) -> SSAValue:
        kind = self._query.result.type
        assert isinstance(kind, IndexType | IntegerType)
        return self._insert(arith.ConstantOp(IntegerAttr(number, kind)))

    def _insert(self, op: Operation) -> OpResult:
        Rewriter.insert_op(op, InsertPoint.before(self._query))
        return op.results[0]
