"""
From LLVM IR to PTX, by LLVM itself (llvmlite), in a process of its own.

LLVM ends its process where it has no instruction for something ("Cannot select"). Here that ends a child, and the
parent asks further: each kind of op of the module on its own, until one ends its child too. That is the op to blame.

llvmlite is an extra (`pip install tileas-xdsl[ptx]`), and only the child imports it.

Sources: llvmlite, "LLVM binding layer"; LLVM, "User Guide for NVPTX Back-end".

The child is a fresh interpreter and not a fork: it starts later, and works under threads and on every system.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from tempfile import TemporaryFile

from tileas_xdsl.backend import code_generation_child
from tileas_xdsl.backend.code_generation_child import NO_LLVMLITE, SEPARATOR
from tileas_xdsl.backend.nvptx import TRIPLE, CodeTarget
from tileas_xdsl.diagnostics import Error, how_to_install


class CodeGenerationError(Error):
    """There is no PTX; the message says why, in LLVM's words where it is LLVM's reason."""


class MissingLLVMError(CodeGenerationError):
    """llvmlite is not installed."""

    def __init__(self) -> None:
        super().__init__(f"LLVM is needed to write PTX, and llvmlite is not installed: {how_to_install('ptx')}")


@dataclass(frozen=True)
class Generated:
    """What became of some texts: the PTX of those before the first that LLVM has no code for."""

    outputs: tuple[str, ...]
    reason: str | None
    """Why the next one has none; None if all have."""


def ptx_of(llvm_ir: str, chip: CodeTarget, *, level: int = 2) -> str:
    """The PTX of a module for a chip, optimised at `level`; raises `CodeGenerationError`."""
    generated = generate([llvm_ir], chip, level=level)
    if generated.reason is not None:
        raise CodeGenerationError(generated.reason)
    return generated.outputs[0]


def generate(texts: Sequence[str], chip: CodeTarget, *, level: int = 2) -> Generated:
    """Translate one text after the other in one child, up to the first that ends it."""
    program = [sys.executable, "-P", code_generation_child.__file__]  # begins sooner than by -m
    command = [*program, TRIPLE, chip.name, chip.features, str(level)]
    with TemporaryFile() as given:  # a pipe takes 512 bytes at a time, and the child would wake up for each
        given.write(SEPARATOR.join(texts).encode())
        given.seek(0)
        child = subprocess.run(command, stdin=given, capture_output=True, text=True, encoding="utf-8", check=False)
    if child.returncode == NO_LLVMLITE:
        raise MissingLLVMError
    outputs = tuple(child.stdout.split(SEPARATOR)[:-1])
    if child.returncode == 0 and len(outputs) == len(texts):
        return Generated(outputs, None)
    return Generated(outputs, _reason(child.stderr) or f"LLVM ended with status {child.returncode}")


def _reason(said: str) -> str:
    """LLVM's own sentence in what the child wrote: the line with its error, and where it says so the function."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    function = next((line for line in lines if line.startswith("In function:")), None)
    text = (errors[0] if errors else " ".join(lines[-1:])).removeprefix("LLVM ERROR: ").removeprefix("error: ")
    return f"{text} ({function[0].lower()}{function[1:]})" if function is not None else text


__all__ = ["TRIPLE", "CodeGenerationError", "Generated", "MissingLLVMError", "generate", "ptx_of"]
