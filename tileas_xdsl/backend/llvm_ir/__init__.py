"""
MLIR's `llvm` dialect as the text of LLVM IR: one file for types and literals, attributes, instructions, and the module.

The text is that of LLVM 22. It declares no intrinsics: LLVM's parser does, and knows their attributes. Constants stand
where they are used, and values keep their names.
"""

from __future__ import annotations

from tileas_xdsl.backend.llvm_ir.module import llvm_ir_of

__all__ = ["llvm_ir_of"]
