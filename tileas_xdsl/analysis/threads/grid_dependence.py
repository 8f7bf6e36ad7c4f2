"""
Where a kernel waits for the grids before it: `nvvm.griddepcontrol wait`, `tt.grid_dependency_wait`.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation
from xdsl.traits import SymbolTable

from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.nvvm.attributes import GridDepAction
from tileas_xdsl.dialects.nvvm.barrier import GriddepcontrolOp

TRITON_WAIT = "tt.grid_dependency_wait"


def first_wait_of(kernel: Operation) -> Operation | None:
    """The first op of `kernel`, or of a function called there, that waits for earlier grids; None if none does."""
    return next((op for op in _ops_run_by(kernel, set()) if waits_for_grids(op)), None)


def waits_for_grids(op: Operation) -> bool:
    """Whether `op` waits for earlier grids."""
    if isinstance(op, GriddepcontrolOp):
        return op.kind.data is GridDepAction.WAIT
    return op_name(op) == TRITON_WAIT


def _ops_run_by(function: Operation, seen: set[Operation]) -> Iterator[Operation]:
    seen.add(function)
    for op in function.walk():
        yield op
        symbol = getattr(op, "callee", None)
        callee = None if symbol is None else SymbolTable.lookup_symbol(op, symbol)
        if callee is not None and callee not in seen:
            yield from _ops_run_by(callee, seen)
