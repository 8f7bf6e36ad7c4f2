"""`xdsl-opt -t 'ptx{arch=sm_90a}'`: a module of the `llvm` dialect as PTX."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.target import Target

from tileas_xdsl.backend.blame import culprit, has_code
from tileas_xdsl.backend.code_generation import CodeGenerationError, MissingLLVMError, ptx_of
from tileas_xdsl.backend.llvm_ir import llvm_ir_of
from tileas_xdsl.backend.nvptx import CodeTarget
from tileas_xdsl.backend.shared_memory import refuse_too_much
from tileas_xdsl.diagnostics import Error, refuse


class NoPTXError(PassFailedException, Error):
    """There is no PTX of the module, and no op alone is to blame."""


@dataclass(frozen=True)
class PTXTarget(Target):
    """
    Write PTX for `arch`.

    Requires: only ops of `llvm`; llvmlite (`pip install 'tileas-xdsl[ptx]'`).
    Refuses: what `llvm-ir` refuses; kernels with more than 48 KiB of shared memory whose size is known; ops that the
    chip has no instruction for, by name; chips that are not known.
    """

    name = "ptx"

    arch: str = field(default="sm_90a", metadata={"help": "the chip"})

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(ptx_of_module(module, self.arch))


def ptx_of_module(module: ModuleOp, arch: str) -> str:
    """The PTX of a module of `llvm` for the chip `arch`; an op without an instruction there is refused by name."""
    chip = CodeTarget(arch)
    if chip.problem is not None:
        raise NoPTXError(f"error: {chip.problem}")
    text = llvm_ir_of(module, names_structs=True)
    refuse_too_much(module)
    try:
        return ptx_of(text, chip)
    except MissingLLVMError as error:
        raise NoPTXError(f"error: {error}") from None
    except CodeGenerationError as error:
        found = culprit(module, chip)
        if found is None:
            raise NoPTXError(f"error: LLVM writes no PTX for {arch}: {error}") from None
        op, reason = found
        refuse(op, f"has no instruction on {arch}: {reason}", _way_out(op, chip))


def _way_out(op: Operation, chip: CodeTarget) -> str:
    """What to do about an op without an instruction: some are of one chip alone, and of no later one."""
    own = chip.with_own_instructions
    if own is not None and has_code(op, own):
        return f"use {own.name}: it has the instructions of that chip alone"
    return "lower it to ops that have, or take another target"
