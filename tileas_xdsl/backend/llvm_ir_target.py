"""`xdsl-opt -t llvm-ir`: a module of the `llvm` dialect as LLVM IR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from tileas_xdsl.backend.llvm_ir import llvm_ir_of


@dataclass(frozen=True)
class LLVMIRTarget(Target):
    """
    Write LLVM IR, as the text of LLVM 22.

    Requires: only ops of `llvm`; `convert-nvvm-to-llvm` and `convert-to-llvm` bring others there.
    Refuses: ops and properties that have no text, by name.
    """

    name = "llvm-ir"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(llvm_ir_of(module))
