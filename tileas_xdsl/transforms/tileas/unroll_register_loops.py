"""
TileASUnrollRegisterLoops: whoever lowers a chain of copies between registers is told to unroll its loop.

    %c = nv_tileas.copy %a attributes {nv_tileas.root_reg_to_reg_copy_op}
->  %c = nv_tileas.copy %a attributes {nv_tileas.root_reg_to_reg_copy_op,
                                       loop_annotation = #llvm.loop_annotation<unroll = <disable = false>>}

A thread's registers have no addresses, so a loop that takes one element of a register tensor after the other has to be
unrolled; otherwise the tensor goes to local memory (CUDA C++ Programming Guide, "Local Memory").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tileas_xdsl.dialects.extensions.llvm_loops import UNROLL
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.transforms.tileas.materialize_convert_layout.expand import ROOT

LOOP_ANNOTATION = "loop_annotation"


@dataclass(frozen=True)
class UnrollRegisterLoopsPass(ModulePass):
    """
    Mark the roots of copies between registers for unrolling.

    Rewrites: `loop_annotation` on each op with `nv_tileas.root_reg_to_reg_copy_op`, which
    `tileas-materialize-convert-layout` writes; nothing else. A second run changes nothing. Requires: verified IR.
    Refuses: nothing.
    """

    name = "tileas-unroll-register-loops"

    DESCRIPTION: ClassVar[str] = "Unroll loops that access slices of register tensors"
    """TileAS' own text, byte for byte (docs/verbatim.md)."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_in(op):
            for inner in function.walk():
                if ROOT in inner.attributes:
                    inner.attributes[LOOP_ANNOTATION] = UNROLL
