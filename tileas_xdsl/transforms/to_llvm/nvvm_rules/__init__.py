"""
Lower `nvvm` to calls of LLVM's intrinsics, and to inline PTX where there is none.

    nvvm.barrier0                             llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.all"(%c0)
    nvvm.cp.async.wait.group 1         ->     llvm.call_intrinsic "llvm.nvvm.cp.async.wait.group"(%c1)
    nvvm.mbarrier.try_wait.parity ..          llvm.inline_asm has_side_effects "{ ... mbarrier.try_wait.parity ...

MLIR's pass of this name rewrites only the ops that need PTX and leaves the others to its translation; here the whole
table is in one place, and its output is valid input for that translation too.

The table stands one file a family. A rule is one short function from an op to the value of its result. Most ops are one
intrinsic; PTX that no intrinsic stands for is inline assembly. Sources: LLVM, "User Guide for NVPTX Back-end"; the PTX
ISA.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tileas_xdsl.diagnostics import op_name, refuse
from tileas_xdsl.transforms.to_llvm.nvvm_rules import (
    approximations,
    barriers,
    copies,
    mbarriers,
    products,
    tensor_memory,
    threads,
)
from tileas_xdsl.transforms.to_llvm.nvvm_rules.accumulators import tie_accumulators
from tileas_xdsl.transforms.to_llvm.nvvm_rules.approximations import is_approximate
from tileas_xdsl.transforms.to_llvm.nvvm_rules.emitting import REFUSALS, RULES, Emitter
from tileas_xdsl.transforms.to_llvm.nvvm_rules.tensor_memory import tie_loads

FAMILIES = (approximations, barriers, copies, mbarriers, products, tensor_memory, threads)
"""The modules whose rules are registered when they are imported."""


@dataclass(frozen=True)
class ConvertNVVMToLLVMPass(ModulePass):
    """
    Lower `nvvm` to LLVM's intrinsics and inline PTX.

    Rewrites:

    - Every op of `nvvm` by its row of the table. Inline PTX keeps its place among the accesses to memory: it clobbers
      memory, which MLIR's does not.
    - A wait for `wgmma` behind which accumulators are used takes and returns them, in inline PTX: LLVM knows of no
      other dependence between the two, and may compute with them before the wait. So does a fence with those of the
      products behind it: first numbers are then in their registers before the first product starts. A wait takes the
      registers of A, too, that products read until then.
    - A wait for loads of tensor memory takes and returns the registers that they fill, for the same reason.
    - Outputs of `inline_ptx` share no registers with its inputs where the text has several instructions.
    - `llvm.intr.exp2` on f32 with the flag for approximations becomes `ex2.approx.ftz`.
    - An optional operand that is left out becomes the constant and the flag that the intrinsic has for it.

    Requires: pointers of `llvm`.
    Refuses: ops of `nvvm` that are not in the table; what no instruction does, such as a wait for -1 groups, the
    acquire of a tensor map that has not 128 bytes, or accumulators in registers that `wgmma` has not.
    """

    name = "convert-nvvm-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = [inner for inner in op.walk() if op_name(inner).startswith("nvvm.") or is_approximate(inner)]
        for inner in found:
            _refuse_what_has_no_meaning(inner)
        tie_accumulators(op)
        tie_loads(op)
        for inner in found:
            if inner.parent is not None:
                _lower(inner)


def _refuse_what_has_no_meaning(op: Operation) -> None:
    if type(op) not in RULES:
        refuse(op, "has no row in the table of instructions", "write it as nvvm.inline_ptx")
    judge = REFUSALS.get(type(op))
    problem = judge(op) if judge is not None else None
    if problem is not None:
        refuse(op, *problem)


def _lower(op: Operation) -> None:
    emit = Emitter(op)
    Rewriter.replace_op(op, [], _as_list(RULES[type(op)](op, emit)))


def _as_list(results: SSAValue | Sequence[SSAValue] | None) -> list[SSAValue]:
    if results is None:
        return []
    return [results] if isinstance(results, SSAValue) else list(results)
