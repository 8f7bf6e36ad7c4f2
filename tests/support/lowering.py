"""From our IR to PTX and AMD assembly, by mlir-opt, mlir-translate and llc of LLVM 22."""

from __future__ import annotations

from xdsl.ir import Operation

from tests.support.ir import print_generic
from tests.support.mlir import mlir_opt, run

PTX_PIPELINE = (
    "--expand-strided-metadata",
    "--lower-affine",
    "--convert-scf-to-cf",
    "--convert-cf-to-llvm",
    "--convert-vector-to-llvm",
    "--convert-arith-to-llvm",
    "--finalize-memref-to-llvm",
    "--convert-func-to-llvm",
    "--convert-nvvm-to-llvm",
    "--reconcile-unrealized-casts",
)
"""The passes of mlir-opt that take what is left to the dialects `llvm` and `nvvm`."""

AMD_PIPELINE = tuple(option for option in PTX_PIPELINE if "nvvm" not in option)
"""The passes of mlir-opt that take what is left to the dialects `llvm` and `rocdl`."""


def llvm_ir_of(module: Operation, pipeline: tuple[str, ...]) -> str:
    """The module as LLVM IR; fails the test where a tool refuses."""
    lowered = mlir_opt(print_generic(module), *pipeline)
    translated = run("mlir-translate", lowered, "--mlir-to-llvmir")
    assert translated.returncode == 0, f"{translated.stderr}\n--- input ---\n{lowered}"
    assert "Unknown intrinsic" not in translated.stdout
    return translated.stdout


def ptx_of(module: Operation, cpu: str = "sm_80") -> str:
    """The module as PTX."""
    return _assembled(llvm_ir_of(module, PTX_PIPELINE), "-march=nvptx64", f"-mcpu={cpu}")


def amd_assembly_of(module: Operation, cpu: str) -> str:
    """The module as AMD assembly."""
    return _assembled(llvm_ir_of(module, AMD_PIPELINE), "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={cpu}")


def _assembled(llvm_ir: str, *options: str) -> str:
    result = run("llc", llvm_ir, *options)
    assert result.returncode == 0, f"{result.stderr}\n--- input ---\n{llvm_ir}"
    return result.stdout
