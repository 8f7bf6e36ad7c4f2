"""Small texts of PTX, and what becomes of them."""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.readers.ptx.launch import Launch
from tileas_xdsl.readers.ptx.reading import read_ptx

KERNELS = Path(__file__).parent / "kernels"
REGISTERS = """
  .reg .pred %p<16>;
  .reg .b16 %h<16>;
  .reg .b32 %r<64>;
  .reg .b64 %d<64>;
  .reg .b128 %q<2>;
  .reg .f32 %f<16>;"""


def text_of(
    body: str, *, target: str = "sm_90a", parameters: str = ".param .u32 n", block: str = ".reqntid 128"
) -> str:
    """A kernel `k` with 4096 bytes of shared memory `s`; its first line is line 5 of the text."""
    head = f".version 8.0\n.target {target}\n.address_size 64\n.visible .entry k({parameters}) {block} {{\n"
    return f"{head}{body}{REGISTERS}\n  .shared .align 128 .b8 s[4096];\n}}\n"


def module_of(body: str, launch: Launch | None = None, *, strict_tcgen05: bool = False, **of: str) -> ModuleOp:
    """The verified module of a kernel. What is not said of the launch is not known."""
    known = launch or Launch()
    module = read_ptx(text_of(body, **of), "k.ptx", lambda _: known, strict_tcgen05=strict_tcgen05).module
    module.verify()
    return module


def ops_of(body: str, launch: Launch | None = None, *, strict_tcgen05: bool = False, **of: str) -> list[str]:
    """The names of the ops of a kernel, in order, without those that only make numbers and pointers."""
    quiet = ("llvm.inttoptr", "llvm.ptrtoint", "llvm.getelementptr", "llvm.mlir.addressof", "llvm.mlir.undef")
    skipped = (*quiet, "builtin.module", "llvm.mlir.global", "func.func", "func.return", "arith.constant", "cf.br")
    module = module_of(body, launch, strict_tcgen05=strict_tcgen05, **of)
    return [op.name for op in module.walk() if op.name not in skipped]


def verdict(body: str, *counts: int, **of: str) -> Report:
    """What a check of the kernel says."""
    return check(module_of(body, **of), trip_counts=counts or (0, 1, 2, 3), judge_waits=False)
