"""
What MLIR refuses on a function of `func`: the marks of a kernel of the `nvvm` and `rocdl` dialects.

    func.func @k() attributes {nvvm.kernel}     refused
    llvm.func @k() attributes {nvvm.kernel}     a kernel

Sources: `NVVMDialect::verifyOperationAttribute` and `ROCDLDialect::verifyOperationAttribute` of LLVM 22.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import Dialect
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.extensions import give_check

MARKS_OF_LLVM_FUNCTIONS = ("nvvm.kernel", "rocdl.kernel")


def _verify_marks(op: func.FuncOp) -> None:
    for mark in MARKS_OF_LLVM_FUNCTIONS:
        if mark in op.attributes:
            raise VerifyException(f"cannot be marked {mark}, which is for llvm.func")


def extended(dialect: Dialect) -> Dialect:
    """xDSL's `func`, whose functions refuse what MLIR refuses."""
    give_check(func.FuncOp, _verify_marks)
    return dialect
