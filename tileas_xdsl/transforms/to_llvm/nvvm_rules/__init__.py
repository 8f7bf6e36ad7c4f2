"""
What each op of `nvvm` is in LLVM: the table of `convert-nvvm-to-llvm`, one file a family.

A rule is one short function from an op to the value of its result. Most ops are one intrinsic; PTX that no intrinsic
stands for is inline assembly. Sources: LLVM, "User Guide for NVPTX Back-end"; the PTX ISA.
"""

from __future__ import annotations

from tileas_xdsl.transforms.to_llvm.nvvm_rules import (
    approximations,
    barriers,
    copies,
    mbarriers,
    products,
    tensor_memory,
    threads,
    warp_matrices,
)
from tileas_xdsl.transforms.to_llvm.nvvm_rules.accumulators import tie_accumulators
from tileas_xdsl.transforms.to_llvm.nvvm_rules.approximations import is_approximate
from tileas_xdsl.transforms.to_llvm.nvvm_rules.emitting import REFUSALS, RULES, Emitter
from tileas_xdsl.transforms.to_llvm.nvvm_rules.tensor_memory import tie_loads

FAMILIES = (approximations, barriers, copies, mbarriers, products, tensor_memory, threads, warp_matrices)
"""The modules whose rules are registered when they are imported."""

__all__ = ["FAMILIES", "REFUSALS", "RULES", "Emitter", "is_approximate", "tie_accumulators", "tie_loads"]
