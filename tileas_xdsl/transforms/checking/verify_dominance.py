"""Check that definitions dominate uses. xDSL does not; MLIR does, and rejects what we print otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tileas_xdsl.analysis.dominance import verify_dominance


@dataclass(frozen=True)
class VerifyDominancePass(ModulePass):
    """
    Check that every definition dominates its uses.

    Rewrites: nothing.
    Requires: nothing.
    Refuses: a module in which some operand is not visible at its use; the message names op, operand and definition.
    """

    name = "verify-dominance"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_dominance(op)
