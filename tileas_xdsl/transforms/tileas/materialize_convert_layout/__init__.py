"""
TileASMaterializeConvertLayout: every conversion between layouts becomes what the threads do.

    %b = convert_layout %a : S -> D        %t = alloc_tensor : M
                                      ->   %v = view %a : S -> S
                                           copy %v, %t {atom_descriptor}
                                           %b = convert_layout %t {atom_plan = <tag = 1, smem = M, ...>} : M -> D

through shared memory (tag 1); or, within warps (tag 0),

                                           %s = shuffle %a {atom_descriptor} : S -> D
                                      ->   %b = convert_layout %s {atom_plan = <tag = 0, ...>} : D -> D

with a `copy` in place of the `shuffle` where registers are only selected, and neither where they are renamed. For a
store that TMA can do (sm_90), the tile stays in shared memory: `alloc_tensor` and `copy`. What is possible, and what it
costs, follows from the layouts (`layouts/conversion.py`); the first feasible plan by cost is taken.

`query.py` plans, `expand.py` rewrites and carries single bits and indices, `narrow.py` has the bytes of narrow floats,
`tensor_stores.py` stores by TMA.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from tileas_xdsl.analysis.target import capability_for
from tileas_xdsl.diagnostics import Diagnostic, ErrorCollector, Severity, clear_status, mark_soft_failure, remark
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.layouts.conversion import LayoutPlan
from tileas_xdsl.targets.chips import DEFAULT_NAME
from tileas_xdsl.transforms.tileas.materialize_convert_layout.expand import carried, expand, needs_carrier
from tileas_xdsl.transforms.tileas.materialize_convert_layout.query import (
    Failure,
    Options,
    PlannedStep,
    forced_conflicts,
    query,
)
from tileas_xdsl.transforms.tileas.materialize_convert_layout.tensor_stores import leave_in_shared_memory

DIAGNOSTIC = "failed to query target spec for convert_layout"
"""What TileAS says of every failure of this pass, byte for byte."""


@dataclass(frozen=True)
class MaterializeConvertLayoutPass(ModulePass):
    """
    Decompose the layout conversions of every function.

    Rewrites
        As the module's docstring shows: each `convert_layout` whose two layouts say their bits, last one first. A load
        from shared memory stays a `convert_layout`, with its plan. A conversion that has a plan is done: a second run
        changes nothing. Below 16 bytes, `reg2reg-vec-size` leaves copies of single elements, and the first op of the
        chain gets `nv_tileas.root_reg_to_reg_copy_op`. In front of a store that TMA can do, which stands in no loop or
        branch, a conversion that would go through shared memory ends there (`tensor_stores.py`). With
        `reinterpret-to-i8`, tiles of narrow floats are converted as bytes. Bits that go to
        other threads are converted as bytes, and indices as integers.

    Requires
        Verified IR. Layouts in words say nothing about threads: a conversion between two of them is left as it is.

    Refuses
        Conversions without a feasible plan, and options that allow none; the op stays as it is and its function gets
        bit 2. All functions are looked at, and the errors come together at the end.

    Choices
        A conversion between two layouts in words is left alone, for there is nothing to query; one with bits at one end
        only is a failure. The first op of a chain of copies carries the mark for unrolling. A plan that only renames
        registers is one `convert_layout`; a load from shared memory stays one, with tag 1. With `reinterpret-to-i8` a
        conversion has bytes at both ends, or at none, for it has one element type. The cap bounds the words of
        shuffles, too. The compute capability is the option's where the IR states none.

        Costs are cycles a warp issues for each byte: one for a select of a word, a shuffle, a wavefront; 30 for a
        barrier (an estimate).
    """

    name = "tileas-materialize-convert-layout"

    DESCRIPTION: ClassVar[str] = "Decompose layout conversions into copies, shuffles and shared memory"

    reg2reg_vec_size: int = field(
        default=16, metadata={"help": "cap on the width of a register-to-register copy, in bytes"}
    )
    reinterpret_to_i8: bool = field(
        default=False, metadata={"help": "convert tiles of 4-, 6- and 8-bit floats as tiles of bytes"}
    )

    compute_capability: str = field(default=DEFAULT_NAME, metadata={"help": "compute capability"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        errors = ErrorCollector()
        capabilities = [capability_for(function, self.compute_capability) for function in functions_in(op)]
        for function, capability in zip(functions_in(op), capabilities, strict=True):
            options = Options(self.reg2reg_vec_size, self.reinterpret_to_i8, capability)
            clear_status(function, self.name)
            leave_in_shared_memory(function, options)
            for conversion in _bottom_up(function):
                moved = conversion
                if needs_carrier(conversion) and not _stays_in_threads(query(conversion, options)):
                    moved = carried(conversion)
                _materialize(function, moved, options, self.name, errors)
        errors.raise_if_any()


def _bottom_up(function: Operation) -> list[ConvertLayoutOp]:
    """The conversions that have no plan yet, last one first."""
    found = [op for op in function.walk() if isinstance(op, ConvertLayoutOp) and op.atom_plan is None]
    return found[::-1]


def _stays_in_threads(found: PlannedStep | Failure | None) -> bool:
    """Whether registers only get other names."""
    move = found.move if isinstance(found, PlannedStep) else None
    return isinstance(move, LayoutPlan) and move.exchange is not None and move.exchange.is_relabelling


def _materialize(
    function: Operation, op: ConvertLayoutOp, options: Options, pass_name: str, errors: ErrorCollector
) -> None:
    found = query(op, options)
    if isinstance(found, Failure):
        diagnostic = Diagnostic(Severity.ERROR, op, DIAGNOSTIC, found.help, verbatim=True)
        mark_soft_failure(function, pass_name, diagnostic, errors)
    elif found is not None:
        _tell_of_conflicts(op, found)
        expand(op, found, options)


def _tell_of_conflicts(op: ConvertLayoutOp, step: PlannedStep) -> None:
    found = forced_conflicts(step)
    if found is not None:
        remark(op, found.message, found.way_out)
